//! The keys of the tables of a policy file.

use std::ops::RangeInclusive;
use toml::{Table, Value};

/// Refuses a key that is not in `keys`; `place` comes before it.
pub(crate) fn refuse_unknown(table: &Table, keys: &[&str], place: &str) -> Result<(), String> {
    match table.keys().find(|key| !keys.contains(&key.as_str())) {
        Some(key) => Err(format!("{place}{key}: there is no such key; there are {}", keys.join(", "))),
        None => Ok(()),
    }
}

/// A number within bounds, or the default if the key is missing; `place` is the name of the table.
pub(crate) fn number(
    table: &Table,
    place: &str,
    key: &str,
    default: f64,
    bounds: RangeInclusive<f64>,
) -> Result<f64, String> {
    let value = match table.get(key) {
        None => return Ok(default),
        Some(Value::Integer(n)) => Some(*n as f64),
        Some(Value::Float(n)) => Some(*n),
        Some(_) => None,
    };
    value
        .filter(|n| bounds.contains(n))
        .ok_or_else(|| format!("{place}.{key}: must be a number from {} to {}", bounds.start(), bounds.end()))
}
