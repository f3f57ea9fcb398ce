//! What drawings and explanations need: satellites over time, curves and packets of a run.

mod curves;
mod flights;
mod satellites;

pub use curves::{Curves, Series};
pub use flights::{Flights, PacketFate};
pub use satellites::{PathSample, SatelliteSnapshot, SatelliteView};
