//! Parses text with a number and a unit.

use std::fmt;

/// The text is not a quantity of the expected kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    text: String,
    expected: String,
}

impl UnitError {
    pub(crate) fn new(text: &str, expected: &str) -> UnitError {
        UnitError { text: text.chars().take(60).collect(), expected: expected.into() }
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is not {}", self.text, self.expected)
    }
}

impl std::error::Error for UnitError {}

/// The names of units.
pub(crate) fn names<T>(units: &[(&'static str, T)]) -> Vec<&'static str> {
    units.iter().map(|(name, _)| *name).collect()
}

/// Splits `text` into a number (finite, not negative) and a unit. `expected` goes into the error.
pub(crate) fn split<'a>(text: &'a str, expected: &str) -> Result<(f64, &'a str), UnitError> {
    let text = text.trim();
    let end = text
        .char_indices()
        .find(|&(i, c)| {
            let exponent = matches!(c, 'e' | 'E')
                && text[i + 1..].starts_with(|d: char| d.is_ascii_digit() || d == '-' || d == '+');
            !(c.is_ascii_digit()
                || c == '.'
                || exponent
                || (matches!(c, '-' | '+') && (i == 0 || text[..i].ends_with(['e', 'E']))))
        })
        .map_or(text.len(), |(i, _)| i);
    let number = text[..end].parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    number.map(|n| (n, text[end..].trim_start())).ok_or_else(|| UnitError::new(text, expected))
}

/// Parses a number with one of `units` into a whole count of the smallest unit. Fails on values above the range of
/// `u64`.
pub(crate) fn suffixed(text: &str, units: &[(&str, u64)], expected: &str) -> Result<u64, UnitError> {
    let fail = || UnitError::new(text, expected);
    let (number, unit) = split(text, expected)?;
    let size = units.iter().find(|(name, _)| *name == unit).ok_or_else(fail)?.1;
    let count = number * size as f64 + 0.5;
    if count < u64::MAX as f64 { Ok(count as u64) } else { Err(fail()) }
}
