//! What drawings and explanations need: satellites over time, from a scenario alone; the causes of window changes, from
//! the logs of a run.

mod satellites;
mod why;

pub use satellites::{PathSample, SatelliteSnapshot, SatelliteView};
pub use why::{Explanation, Question, Unanswered, explain};
