//! Small estimators that controllers share.

mod ack_rate;
mod artt;
mod base_delay;
mod dupack_accounting;
mod extreme_over;
mod fair_share;
mod mark_fraction;
mod min_rtt;
mod response;
mod round;
mod smoothed;
mod stability_filter;

pub use ack_rate::{AckFilter, AckRate};
pub use artt::{Arima, Artt, Innovation};
pub use base_delay::QueueingDelay;
pub use dupack_accounting::DupAckAccounting;
pub use extreme_over::ExtremeOver;
pub use fair_share::{FairShareRate, share_params};
pub use mark_fraction::MarkFraction;
pub use min_rtt::MinRtt;
pub use response::Response;
pub use round::Round;
pub use smoothed::Smoothed;
pub use stability_filter::StabilityFilteredBandwidth;
