//! Points in time and time spans as integer picoseconds.

use crate::parse::{UnitError, names, suffixed};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};
use std::str::FromStr;

/// Picoseconds in a second.
pub const PS_PER_S: u64 = 1_000_000_000_000;

/// Picoseconds in a nanosecond.
pub const PS_PER_NS: u64 = 1000;

/// A point in time: picoseconds since the start of the run. The range is 213 days.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A length of time in picoseconds, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(u64);

impl Time {
    /// The start of a run.
    pub const ZERO: Time = Time(0);
    /// Later than every event: "no deadline".
    pub const NEVER: Time = Time(u64::MAX);

    /// The instant `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Time {
        Time(ps)
    }
    /// The instant `ns` nanoseconds after the start; [`Time::NEVER`] above the range.
    pub const fn from_ns(ns: u64) -> Time {
        Time(ns.saturating_mul(PS_PER_NS))
    }
    /// Picoseconds since the start.
    pub const fn ps(self) -> u64 {
        self.0
    }
    /// Nanoseconds since the start, rounded up; `u64::MAX` for [`Time::NEVER`].
    pub const fn ns(self) -> u64 {
        if self.0 == u64::MAX { u64::MAX } else { self.0.div_ceil(PS_PER_NS) }
    }
    /// Seconds since the start, rounded to the nearest `f64`.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
    /// The time since `earlier`; zero when `earlier` is later.
    pub const fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// A span of zero.
    pub const ZERO: Span = Span(0);

    /// A span of `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Span {
        Span(ps)
    }
    /// A span of whole nanoseconds.
    pub const fn from_ns(ns: u64) -> Span {
        Span(ns.saturating_mul(PS_PER_NS))
    }
    /// A span of whole microseconds.
    pub const fn from_us(us: u64) -> Span {
        Span(us.saturating_mul(PS_PER_S / 1_000_000))
    }
    /// A span of whole milliseconds.
    pub const fn from_ms(ms: u64) -> Span {
        Span(ms * (PS_PER_S / 1000))
    }
    /// A span of `s` seconds, rounded to the nearest picosecond. Negative values and NaN give zero; values above the
    /// range give the maximum.
    pub fn from_seconds(s: f64) -> Span {
        let ps = s * PS_PER_S as f64 + 0.5;
        Span(if ps >= 1.0 { ps as u64 } else { 0 }) // `as` saturates; NaN compares false
    }
    /// A part of the span, from 0 to 1, rounded down to a picosecond.
    pub fn part(self, part: f64) -> Span {
        Span((part * self.0 as f64) as u64)
    }
    /// Picoseconds.
    pub const fn ps(self) -> u64 {
        self.0
    }
    /// Nanoseconds, rounded up.
    pub const fn ns(self) -> u64 {
        self.0.div_ceil(PS_PER_NS)
    }
    /// Seconds, rounded to the nearest `f64`.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }
}

impl Add<Span> for Time {
    type Output = Time;
    #[inline]
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}
impl AddAssign<Span> for Time {
    #[inline]
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}
impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, other: Span) -> Span {
        Span(self.0.saturating_add(other.0))
    }
}
impl Sub for Span {
    type Output = Span;
    /// Saturates at zero.
    #[inline]
    fn sub(self, other: Span) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}
impl Mul<u64> for Span {
    type Output = Span;
    #[inline]
    fn mul(self, n: u64) -> Span {
        Span(self.0.saturating_mul(n))
    }
}

impl Span {
    /// The units in which text names it.
    pub fn units() -> Vec<&'static str> {
        names(SPANS)
    }
}

const SPANS: &[(&str, u64)] = &[
    ("ps", 1),
    ("ns", 1_000),
    ("us", 1_000_000),
    ("µs", 1_000_000),
    ("μs", 1_000_000),
    ("ms", 1_000_000_000),
    ("s", PS_PER_S),
    ("min", 60 * PS_PER_S),
    ("h", 3600 * PS_PER_S),
];

impl FromStr for Span {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Span, UnitError> {
        suffixed(text, SPANS, "a time such as \"10ms\" or \"1.5s\"").map(Span)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, size) = *SPANS
            .iter()
            .rev()
            .find(|(name, size)| name.is_ascii() && *size <= PS_PER_S && self.0 >= *size)
            .unwrap_or(&("s", PS_PER_S));
        write!(f, "{}{unit}", self.0 as f64 / size as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_prints() {
        assert_eq!("10ms".parse::<Span>().unwrap(), Span::from_ms(10));
        assert_eq!("1.5s".parse::<Span>().unwrap().ps(), 1_500_000_000_000);
        assert_eq!("0s".parse::<Span>().unwrap(), Span::ZERO);
        assert_eq!("8.32ms".parse::<Span>().unwrap().ps(), 8_320_000_000);
        assert_eq!("2min".parse::<Span>().unwrap().seconds(), 120.0);
        assert_eq!(Span::from_ms(10).to_string(), "10ms");
        assert_eq!(Span::from_ms(1500).to_string(), "1.5s");
        for bad in ["10", "ms", "-1s", "1e400s", "nans", "10 furlongs", "", "300000000s"] {
            assert!(bad.parse::<Span>().is_err(), "{bad}");
        }
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Time::NEVER + Span::from_ms(1), Time::NEVER);
        assert_eq!(Time::ZERO.since(Time::from_ps(5)), Span::ZERO);
        assert_eq!(Span::from_seconds(f64::NAN), Span::ZERO);
        assert_eq!(Span::from_seconds(0.1).ps(), 100_000_000_000);
    }
}
