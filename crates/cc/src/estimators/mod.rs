//! Small estimators that controllers share.

mod ack_rate;
mod artt;
mod credit;
mod min_rtt;
mod response;
mod round;
mod share;
mod smoothed;
mod stable_rate;

pub use ack_rate::{AckFilter, AckRate};
pub use artt::{Arima, Artt, Innovation};
pub use credit::Credit;
pub use min_rtt::MinRtt;
pub use response::Response;
pub use round::Round;
pub use share::{Share, share_params};
pub use smoothed::Smoothed;
pub use stable_rate::StableRate;
