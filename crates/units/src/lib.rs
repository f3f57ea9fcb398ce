//! Quantities of the laboratory: time, spans of time, bytes, rates, queue limits, lengths, angles.
//!
//! Units are types, never suffixes: a value is parsed from text such as `"50Mbps"` or `"1bdp"` once and
//! carried as a type from there on. Depends on nothing.
#![forbid(unsafe_code)]

mod limit;
mod parse;
mod rate;
mod space;
mod time;

pub use limit::Limit;
pub use parse::UnitError;
pub use rate::Rate;
pub use space::{Angle, Length, Speed};
pub use time::{PS_PER_S, Span, Time};

/// Congestion windows are counted in segments; the fraction is kept.
pub type Segments = f64;
