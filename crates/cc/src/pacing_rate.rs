//! The pacing rate of a controller.

use units::Rate;

/// `bps` bits a second in whole bits; none below one.
pub fn pacing_rate(bps: f64) -> Option<Rate> {
    (bps >= 1.0).then(|| Rate::from_bps(bps as u64))
}
