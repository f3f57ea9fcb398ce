//! Lengths and angles, for orbits and areas.

use crate::parse::{UnitError, names, split};
use std::str::FromStr;

/// Units: so many base units, so many of them.
type Units = &'static [(&'static str, [f64; 2])];
const LENGTHS: Units = &[("km", [1000.0, 1.0]), ("m", [1.0, 1.0])];
const ANGLES: Units = &[("deg", [1.0, 1.0])];
const SPEEDS: Units = &[("mps", [1.0, 1.0]), ("kmph", [1.0, 3.6])];

/// The number of base units that a text names.
fn in_base(text: &str, units: Units, expected: &str) -> Result<f64, UnitError> {
    let (number, unit) = split(text, expected)?;
    let named = units.iter().find(|(name, _)| *name == unit);
    named.map(|(_, [bases, units])| number * bases / units).ok_or_else(|| UnitError::new(text, expected))
}

/// A length in metres, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Length(f64);

impl Length {
    /// Metres.
    pub const fn metres(self) -> f64 {
        self.0
    }
    /// Kilometres.
    pub fn km(self) -> f64 {
        self.0 / 1000.0
    }
    /// The units in which text names it.
    pub fn units() -> Vec<&'static str> {
        names(LENGTHS)
    }
}

impl FromStr for Length {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Length, UnitError> {
        let expected = "a length such as \"780km\" or \"250m\"";
        in_base(text, LENGTHS, expected).map(Length)
    }
}

/// An angle in degrees, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Angle(f64);

impl Angle {
    /// Degrees.
    pub const fn degrees(self) -> f64 {
        self.0
    }
    /// The units in which text names it.
    pub fn units() -> Vec<&'static str> {
        names(ANGLES)
    }
}

impl FromStr for Angle {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Angle, UnitError> {
        let expected = "an angle such as \"86.4deg\"";
        in_base(text, ANGLES, expected).map(Angle)
    }
}

/// A speed in metres per second, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Speed(f64);

impl Speed {
    /// Metres per second.
    pub const fn metres_per_second(self) -> f64 {
        self.0
    }
    /// The units in which text names it.
    pub fn units() -> Vec<&'static str> {
        names(SPEEDS)
    }
}

impl FromStr for Speed {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Speed, UnitError> {
        let expected = "a speed such as \"10mps\" or \"36kmph\"";
        in_base(text, SPEEDS, expected).map(Speed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses() {
        assert_eq!("780km".parse::<Length>().map(Length::metres), Ok(780_000.0));
        assert_eq!("1.5 m".parse::<Length>().map(Length::km), Ok(0.0015));
        assert_eq!("86.4deg".parse::<Angle>().map(Angle::degrees), Ok(86.4));
        for bad in ["780", "-1km", "7 miles"] {
            assert!(bad.parse::<Length>().is_err(), "{bad}");
        }
        assert_eq!("36kmph".parse::<Speed>().map(Speed::metres_per_second), Ok(10.0));
        assert_eq!("1.5mps".parse::<Speed>().map(Speed::metres_per_second), Ok(1.5));
        for bad in ["10", "10m", "-1mps"] {
            assert!(bad.parse::<Speed>().is_err(), "{bad}");
        }
        for bad in ["86.4", "1rad", "-3deg"] {
            assert!(bad.parse::<Angle>().is_err(), "{bad}");
        }
    }
}
