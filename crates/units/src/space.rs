//! Lengths and angles, for orbits and areas.

use crate::parse::{UnitError, split};
use std::str::FromStr;

/// A length in metres, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Length(f64);

impl Length {
    /// A length of `metres` metres.
    pub const fn from_metres(metres: f64) -> Length {
        Length(metres)
    }
    /// Metres.
    pub const fn metres(self) -> f64 {
        self.0
    }
    /// Kilometres.
    pub fn km(self) -> f64 {
        self.0 / 1000.0
    }
}

impl FromStr for Length {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Length, UnitError> {
        let expected = "a length such as \"780km\" or \"250m\"";
        match split(text, expected)? {
            (n, "km") => Ok(Length(n * 1000.0)),
            (n, "m") => Ok(Length(n)),
            _ => Err(UnitError::new(text, expected)),
        }
    }
}

/// An angle in degrees, never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Angle(f64);

impl Angle {
    /// An angle of `degrees` degrees.
    pub const fn from_degrees(degrees: f64) -> Angle {
        Angle(degrees)
    }
    /// Degrees.
    pub const fn degrees(self) -> f64 {
        self.0
    }
}

impl FromStr for Angle {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Angle, UnitError> {
        let expected = "an angle such as \"86.4deg\"";
        match split(text, expected)? {
            (n, "deg") => Ok(Angle(n)),
            _ => Err(UnitError::new(text, expected)),
        }
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
}

impl FromStr for Speed {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Speed, UnitError> {
        let expected = "a speed such as \"10mps\" or \"36kmph\"";
        match split(text, expected)? {
            (n, "mps") => Ok(Speed(n)),
            (n, "kmph") => Ok(Speed(n / 3.6)),
            _ => Err(UnitError::new(text, expected)),
        }
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
