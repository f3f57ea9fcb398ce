//! Small estimators that controllers share.

mod artt;
mod min_rtt;
mod round;
mod smoothed;

pub use artt::{Arima, Artt, Innovation};
pub use min_rtt::MinRtt;
pub use round::Round;
pub use smoothed::Smoothed;
