//! Quantities: time, time spans, bytes, rates, queue limits, lengths, angles, speeds.
//!
//! Units are types, not name suffixes: a value is parsed once from text such as `"50Mbps"` or `"1bdp"` and keeps its
//! type from then on. This crate depends on no other crate.
#![forbid(unsafe_code)]

mod bytes;
mod clock;
mod digits;
mod limit;
mod parse;
mod rate;
mod space;
mod time;

pub use bytes::ByteCount;
pub use clock::VirtualClock;
pub use digits::significant;
pub use limit::Limit;
pub use parse::UnitError;
pub use rate::Rate;
pub use space::{Angle, Length, Speed};
pub use time::{PS_PER_NS, PS_PER_S, Span, Time};

/// A congestion window, segments; it may have a fraction.
pub type Segments = f64;
