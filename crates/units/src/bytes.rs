//! Numbers of bytes.

use crate::parse::{UnitError, names, split, suffixed};
use std::str::FromStr;

/// A number of bytes: `"64kB"`; 1 kB is 1,000 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ByteCount(pub u64);

pub(crate) const BYTES: &[(&str, u64)] = &[("B", 1), ("kB", 1_000), ("MB", 1_000_000), ("GB", 1_000_000_000)];

impl ByteCount {
    /// The units in which text names it.
    pub fn units() -> Vec<&'static str> {
        names(BYTES)
    }
}

/// Units with powers of 1024, which are not accepted.
const BINARY: [(&str, u64); 4] = [("KiB", 1 << 10), ("kiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)];

impl FromStr for ByteCount {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<ByteCount, UnitError> {
        let expected = "a number of bytes such as \"64kB\" or \"10MB\" (1 kB is 1,000 bytes)";
        let (number, unit) = split(text, expected)?;
        if let Some((_, size)) = BINARY.iter().find(|(name, _)| *name == unit) {
            let bytes = number * *size as f64;
            return Err(UnitError::new(text, &format!("a number of bytes; write \"{bytes}B\"")));
        }
        suffixed(text, BYTES, expected).map(ByteCount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_1024_are_refused_with_the_number_of_bytes() {
        assert_eq!("64kB".parse(), Ok(ByteCount(64_000)));
        let told = |text: &str| text.parse::<ByteCount>().unwrap_err().to_string();
        assert_eq!(told("10MiB"), "\"10MiB\" is not a number of bytes; write \"10485760B\"");
        for bad in ["50p", "1bdp", "10Mb", "10"] {
            assert!(told(bad).contains("not a number of bytes such as \"64kB\""), "{bad}");
        }
    }
}
