//! Link and sending rates in bits per second.

use crate::parse::{UnitError, names, suffixed};
use crate::time::{PS_PER_S, Span};
use std::fmt;
use std::str::FromStr;

/// Bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// A rate of `bps` bits per second.
    pub const fn from_bps(bps: u64) -> Rate {
        Rate(bps)
    }
    /// Bits per second.
    pub const fn bps(self) -> u64 {
        self.0
    }
    /// The transmission time of `bytes` bytes at this rate, to the nearest picosecond; the maximum span for a rate of
    /// zero.
    #[inline]
    pub const fn time_for(self, bytes: u64) -> Span {
        if self.0 == 0 {
            return Span::from_ps(u64::MAX);
        }
        // Up to 2 million bytes fit into 64 bits; more need 128 bits.
        match (bytes * 8).checked_mul(PS_PER_S) {
            Some(bit_ps) => {
                let half = self.0 / 2;
                Span::from_ps(match bit_ps.checked_add(half) {
                    Some(sum) => sum / self.0,
                    None => bit_ps / self.0,
                })
            }
            None => {
                let ps = (bytes as u128 * 8 * PS_PER_S as u128 + self.0 as u128 / 2) / self.0 as u128;
                Span::from_ps(if ps > u64::MAX as u128 { u64::MAX } else { ps as u64 })
            }
        }
    }
    /// The number of bytes that this rate carries in `span`, rounded down.
    pub const fn bytes_in(self, span: Span) -> u64 {
        let bytes = self.0 as u128 * span.ps() as u128 / (8 * PS_PER_S as u128);
        if bytes > u64::MAX as u128 { u64::MAX } else { bytes as u64 }
    }
    /// The units in which text names it.
    pub fn units() -> Vec<&'static str> {
        [names(RATES), names(OTHER_NAMES)].concat()
    }
}

const RATES: &[(&str, u64)] =
    &[("bps", 1), ("kbps", 1_000), ("Mbps", 1_000_000), ("Gbps", 1_000_000_000), ("Tbps", 1_000_000_000_000)];

/// Other names of these units: as results have them, as iperf3 and others write them, as tc does.
const OTHER_NAMES: &[(&str, u64)] = &[
    ("b/s", 1),
    ("kb/s", 1_000),
    ("Mb/s", 1_000_000),
    ("Gb/s", 1_000_000_000),
    ("Tb/s", 1_000_000_000_000),
    ("bit/s", 1),
    ("kbit/s", 1_000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Tbit/s", 1_000_000_000_000),
    ("mbit/s", 1_000_000),
    ("gbit/s", 1_000_000_000),
    ("Kbit/s", 1_000),
    ("MBit/s", 1_000_000),
    ("GBit/s", 1_000_000_000),
    ("kbits/s", 1_000),
    ("Mbits/s", 1_000_000),
    ("Gbits/s", 1_000_000_000),
    ("Kbit", 1_000),
    ("bit", 1),
    ("kbit", 1_000),
    ("mbit", 1_000_000),
    ("Mbit", 1_000_000),
    ("gbit", 1_000_000_000),
    ("Gbit", 1_000_000_000),
    ("Kbps", 1_000),
    ("mbps", 1_000_000),
    ("gbps", 1_000_000_000),
];

impl FromStr for Rate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Rate, UnitError> {
        let expected =
            "a rate such as \"80kbps\", \"2.5Mbps\" or \"2.5 Mb/s\" (bits a second: bps, kbps, Mbps, Gbps)";
        suffixed(text, &[RATES, OTHER_NAMES].concat(), expected).map(Rate)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, size) = *RATES.iter().rev().find(|(_, size)| self.0 >= *size).unwrap_or(&RATES[0]);
        write!(f, "{}{unit}", self.0 as f64 / size as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serialisation_is_exact_to_the_picosecond() {
        assert_eq!("1Mbps".parse::<Rate>().unwrap().time_for(1040).ps(), 8_320_000_000);
        assert_eq!(Rate::from_bps(100_000_000).time_for(1000).ps(), 80_000_000);
        assert_eq!(Rate::from_bps(1_500_000).time_for(1).ps(), 5_333_333); // 5,333,333.33
        assert_eq!(Rate::from_bps(3).time_for(1 << 20).ps(), 2_796_202_666_666_666_667);
        assert_eq!(Rate::from_bps(1_000_000).time_for(1 << 22).ps(), 33_554_432_000_000);
        assert_eq!(Rate::from_bps(1).time_for(1 << 50).ps(), u64::MAX); // beyond the range: saturates
    }

    #[test]
    fn parses_and_prints() {
        assert_eq!("2.5Mbps".parse::<Rate>().unwrap().bps(), 2_500_000);
        assert_eq!(Rate::from_bps(80_000).to_string(), "80kbps");
        assert_eq!(Rate::from_bps(0).to_string(), "0bps");
        for text in ["10Mbps", "10 Mb/s", "10Mbit/s", "10 mbit", "10mbps", "10000 kbit/s"] {
            assert_eq!(text.parse(), Ok(Rate::from_bps(10_000_000)), "{text}");
        }
        for text in ["80kb", "10MBps", "10MB/s", "10M", "10"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
        assert_eq!(Rate::from_bps(8_000_000).bytes_in(Span::from_ms(1)), 1000);
    }
}
