//! Small estimators that controllers share.

mod min_rtt;
mod round;
mod smoothed;

pub use min_rtt::MinRtt;
pub use round::Round;
pub use smoothed::Smoothed;
