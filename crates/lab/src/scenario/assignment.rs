//! Values of a scenario that are replaced before it is read: `--set KEY=VALUE`, and what a program assigns.

use super::document::{TomlItem, TomlValue, parse_override};
use super::key::{key_parts, key_text, split_outside_quotes};
use crate::error::{Origin, ScenarioError, Source};
use std::sync::Arc;

/// One value that replaces another.
#[derive(Clone, Debug)]
pub enum Assignment {
    /// `KEY=VALUE`, as a user writes it. It may name everything.
    Text(String),
    /// What a program assigns. Nothing of it is parsed.
    Data {
        /// The names of the key.
        key: Vec<String>,
        /// The value.
        value: Literal,
        /// What messages name, such as `--control bbr`.
        place: String,
        /// Whether the value comes from the text: it may name what the text may. Otherwise it may name everything.
        of_text: bool,
    },
}

impl From<&String> for Assignment {
    fn from(text: &String) -> Assignment {
        Assignment::Text(text.clone())
    }
}

/// A value of TOML without its place.
#[derive(Clone, Debug)]
pub enum Literal {
    /// Text, also of a quantity such as `10ms`.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// Any other number.
    Float(f64),
    /// True or false.
    Switch(bool),
    /// An array.
    List(Vec<Literal>),
    /// Keys and their values, in order.
    Table(Vec<(String, Literal)>),
}

impl Literal {
    fn at(self, origin: &Origin) -> TomlItem {
        let value = match self {
            Literal::Text(text) => TomlValue::Text(text),
            Literal::Integer(n) => TomlValue::Integer(n),
            Literal::Float(n) => TomlValue::Float(n),
            Literal::Switch(on) => TomlValue::Switch(on),
            Literal::List(items) => TomlValue::List(items.into_iter().map(|item| item.at(origin)).collect()),
            Literal::Table(entries) => {
                TomlValue::Table(entries.into_iter().map(|(key, item)| (key, item.at(origin))).collect())
            }
        };
        TomlItem { value, origin: origin.clone() }
    }
}

impl Assignment {
    /// The names of the key, and the value with its origin. `source` is the text that is read.
    pub(super) fn read(self, source: &Arc<Source>) -> Result<(Vec<String>, TomlItem), ScenarioError> {
        match self {
            Assignment::Text(text) => read_text(&text, None),
            Assignment::Data { key, value, place, of_text } => {
                let place = if place.is_empty() {
                    format!("--set {}", key_text(key.iter().map(String::as_str)))
                } else {
                    place
                };
                let origin = Origin::Set { place: place.into(), source: of_text.then(|| source.clone()) };
                Ok((key, value.at(&origin)))
            }
        }
    }
}

/// The names of the key and the value of `KEY=VALUE`. `source` is the text that the assignment comes with, if any.
pub(super) fn read_text(
    assignment: &str,
    source: Option<&Arc<Source>>,
) -> Result<(Vec<String>, TomlItem), ScenarioError> {
    let origin = |key: &str| Origin::Set { place: format!("--set {key}").into(), source: source.cloned() };
    let Some((key, value)) = split_assignment(assignment) else {
        let message = "must be KEY=VALUE, such as duration=10s";
        return Err(ScenarioError::new(&origin(assignment), "", message));
    };
    let parts = key_parts(key).map_err(|message| ScenarioError::new(&origin(key), key, message))?;
    let value = parse_override(value, &origin(&key_text(parts.iter().map(String::as_str))))?;
    Ok((parts, value))
}

/// The texts of key and value of `KEY=VALUE`, split at the first equal sign outside quotes.
pub fn split_assignment(text: &str) -> Option<(&str, &str)> {
    let key = split_outside_quotes(text, '=').first().map_or(0, |key| key.len());
    let (key, value) = text.split_at_checked(key)?;
    Some((key.trim(), value.strip_prefix('=')?.trim()))
}
