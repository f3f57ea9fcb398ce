//! The keys of the tables of a policy file.

use toml::{Table, Value};

/// Refuses a key that is not in `known`; `place` comes before it.
pub(crate) fn refuse_unknown(table: &Table, known: &[&str], place: &str) -> Result<(), String> {
    match table.keys().find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("{place}{key}: there is no such key; there are {}", known.join(", "))),
        None => Ok(()),
    }
}

/// A finite number between bounds, or the default if the key is missing.
pub(crate) fn number(
    table: &Table,
    (place, key): (&str, &str),
    default: f64,
    (least, largest): (f64, f64),
) -> Result<f64, String> {
    let value = match table.get(key) {
        None => return Ok(default),
        Some(Value::Integer(n)) => Some(*n as f64),
        Some(Value::Float(n)) => Some(*n),
        Some(_) => None,
    };
    value
        .filter(|n| (least..=largest).contains(n))
        .ok_or_else(|| format!("{place}.{key}: must be a number from {least} to {largest}"))
}
