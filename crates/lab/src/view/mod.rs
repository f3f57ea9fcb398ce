//! What drawings and explanations need: satellites over time, from a scenario alone.

mod satellites;

pub use satellites::{PathSample, SatelliteSnapshot, SatelliteView};
