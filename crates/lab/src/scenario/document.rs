//! A scenario's text as a tree in which every value has its place in the text.

use crate::error::{Origin, ScenarioError, Source};
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value with its origin.
#[derive(Clone, Debug)]
pub struct TomlItem {
    pub value: TomlValue,
    pub origin: Origin,
}

/// A TOML value. Dates are not supported.
#[derive(Clone, Debug)]
pub enum TomlValue {
    Text(String),
    Integer(i64),
    Float(f64),
    Switch(bool),
    List(Vec<TomlItem>),
    Table(Vec<(String, TomlItem)>),
}

impl TomlValue {
    /// The kind of the value, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            TomlValue::Text(_) => "text",
            TomlValue::Integer(_) | TomlValue::Float(_) => "a number",
            TomlValue::Switch(_) => "true or false",
            TomlValue::List(_) => "a list",
            TomlValue::Table(_) => "a table",
        }
    }
}

impl TomlItem {
    pub fn table(origin: Origin) -> TomlItem {
        TomlItem { value: TomlValue::Table(Vec::new()), origin }
    }

    /// The text of the key `name` of a table.
    pub fn name(&self) -> Option<&str> {
        let TomlValue::Table(entries) = &self.value else { return None };
        match &entries.iter().find(|(key, _)| key == "name")?.1.value {
            TomlValue::Text(name) => Some(name),
            _ => None,
        }
    }
}

/// Parses the text of a whole document.
pub fn parse(source: Arc<Source>, text: &str) -> Result<TomlItem, ScenarioError> {
    let lines = Lines::new(source.clone(), text);
    let table = DeTable::parse(text).map_err(|error| lines.syntax(&error))?;
    let value = lines.table(table.get_ref())?;
    Ok(TomlItem { value, origin: Origin::Line { source, line: 1 } })
}

/// Parses the value of `--set key=value`. A value that is not TOML is text, so `10ms` needs no quotes.
pub fn parse_override(text: &str, origin: &Origin) -> Result<TomlItem, ScenarioError> {
    let lines = Lines::new(Arc::new(Source { file: "--set".into(), ..Source::default() }), text);
    let mut item = match DeValue::parse(text.trim()) {
        Ok(value) => lines.item(&value)?,
        Err(_) => TomlItem { value: TomlValue::Text(text.trim().into()), origin: origin.clone() },
    };
    rename(&mut item, origin);
    Ok(item)
}

fn rename(item: &mut TomlItem, origin: &Origin) {
    item.origin = origin.clone();
    match &mut item.value {
        TomlValue::List(items) => items.iter_mut().for_each(|i| rename(i, origin)),
        TomlValue::Table(entries) => entries.iter_mut().for_each(|(_, i)| rename(i, origin)),
        _ => {}
    }
}

struct Lines<'a> {
    source: Arc<Source>,
    text: &'a str,
    /// Offsets of the newlines.
    ends: Vec<usize>,
}

impl<'a> Lines<'a> {
    fn new(source: Arc<Source>, text: &'a str) -> Lines<'a> {
        Lines {
            source,
            text,
            ends: text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(i, _)| i).collect(),
        }
    }

    fn at(&self, offset: usize) -> Origin {
        Origin::Line { source: self.source.clone(), line: self.ends.partition_point(|end| *end < offset) + 1 }
    }

    fn syntax(&self, error: &toml::de::Error) -> ScenarioError {
        if let Some(kind) = trace::sniff(self.text.as_bytes()) {
            let message = format!("is {}, and no scenario (TOML); {}", kind.words(), kind.remedy());
            return ScenarioError::new(&self.at(0), "", message);
        }
        let offset = error.span().map_or(0, |span| span.start);
        let mut message = format!("not TOML: {}", error.message());
        if message.contains("must be quoted") {
            message.push_str(" (write text and quantities in quotes, such as \"10ms\")");
        }
        ScenarioError::new(&self.at(offset), "", message)
    }

    fn table(&self, table: &DeTable<'_>) -> Result<TomlValue, ScenarioError> {
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let entries: Result<Vec<_>, _> = entries
            .into_iter()
            .map(|(key, value)| {
                let mut item = self.item(value)?;
                if matches!(item.value, TomlValue::Table(_)) {
                    item.origin = self.at(key.span().start);
                }
                Ok((key.get_ref().to_string(), item))
            })
            .collect();
        Ok(TomlValue::Table(entries?))
    }

    fn item(&self, spanned: &Spanned<DeValue<'_>>) -> Result<TomlItem, ScenarioError> {
        let origin = self.at(spanned.span().start);
        let refuse = |what: &str| ScenarioError::new(&origin, "", what.to_string());
        let value = match spanned.get_ref() {
            DeValue::String(text) => TomlValue::Text(text.to_string()),
            DeValue::Integer(n) => TomlValue::Integer(
                i64::from_str_radix(n.as_str(), n.radix()).map_err(|_| refuse("the number is too large"))?,
            ),
            DeValue::Float(n) => TomlValue::Float(n.as_str().parse().map_err(|_| refuse("not a number"))?),
            DeValue::Boolean(on) => TomlValue::Switch(*on),
            DeValue::Datetime(_) => {
                return Err(refuse("a scenario has no dates; write a number or a text in quotes"));
            }
            DeValue::Array(items) => {
                TomlValue::List(items.iter().map(|i| self.item(i)).collect::<Result<_, _>>()?)
            }
            DeValue::Table(table) => self.table(table)?,
        };
        Ok(TomlItem { value, origin })
    }
}
