//! What drawings and explanations need: satellites over time, curves and packets of a run, causes of window changes.

mod curves;
mod flights;
mod satellites;
mod why;

pub use curves::{Curves, Series};
pub use flights::{Flights, PacketFate};
pub use satellites::{PathSample, SatelliteSnapshot, SatelliteView};
pub use why::{Explanation, Question, Unanswered, explain, reductions};
