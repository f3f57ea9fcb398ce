//! The limit of a queue.

use crate::bytes::{BYTES, ByteCount};
use crate::parse::{UnitError, split, suffixed};
use crate::time::Span;
use std::fmt;
use std::str::FromStr;

/// Names of packets.
const PACKETS: [&str; 3] = ["p", "packets", "packet"];
/// Names of the bandwidth-delay product.
const BDP: [&str; 2] = ["bdp", "BDP"];

/// A queue limit. It bounds the packets that wait; the packet in transmission does not count.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Limit {
    /// `"50p"`: packets.
    Packets(u64),
    /// `"64kB"`: bytes on the wire; 1 kB is 1,000 bytes.
    Bytes(u64),
    /// `"1.5bdp"`: multiples of the bandwidth-delay product, which is the rate of the link times the longest
    /// round-trip propagation delay of the flows that cross it.
    Bdp(f64),
    /// `"100ms"`: what the link sends in this time.
    Time(Span),
}

impl Limit {
    /// The units in which text names it.
    pub fn units() -> Vec<&'static str> {
        [&PACKETS[..], &BDP, &ByteCount::units(), &Span::units()].concat()
    }
}

impl FromStr for Limit {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Limit, UnitError> {
        let expected = "a queue limit such as \"50p\", \"64kB\", \"100ms\" or \"1bdp\"";
        let (number, unit) = split(text, expected)?;
        match unit {
            _ if PACKETS.contains(&unit) => match number.fract() == 0.0 && number < u64::MAX as f64 {
                true => Ok(Limit::Packets(number as u64)),
                false => Err(UnitError::new(text, "whole packets, such as \"50p\"")),
            },
            _ if BDP.contains(&unit) => Ok(Limit::Bdp(number)),
            _ if Span::units().contains(&unit) => text.parse().map(Limit::Time),
            _ => suffixed(text, BYTES, expected).map(Limit::Bytes),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Limit::Packets(n) => write!(f, "{n}p"),
            Limit::Bytes(n) => write!(f, "{n}B"),
            Limit::Bdp(n) => write!(f, "{n}bdp"),
            Limit::Time(span) => write!(f, "{span}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_prints() {
        assert_eq!("50p".parse(), Ok(Limit::Packets(50)));
        assert_eq!("64kB".parse(), Ok(Limit::Bytes(64_000)));
        assert_eq!("1.5bdp".parse(), Ok(Limit::Bdp(1.5)));
        assert_eq!(Limit::Packets(7).to_string(), "7p");
        assert_eq!("100 ms".parse(), Ok(Limit::Time(Span::from_ms(100))));
        assert_eq!(("50 packets".parse(), "2 BDP".parse()), (Ok(Limit::Packets(50)), Ok(Limit::Bdp(2.0))));
        for bad in ["50", "1.5p", "-1p", "64kb", "bdp", "infbdp"] {
            assert!(bad.parse::<Limit>().is_err(), "{bad}");
        }
    }
}
