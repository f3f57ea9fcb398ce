//! Reading of a table against its description. A key that is not described is an unknown key; its error names the nearest one
//! that is.

use super::document::{TomlItem, TomlValue};
use super::key::key_text;
use crate::error::{ErrorKind, Origin, ScenarioError, nearest};
use params::{FormError, FromValue, Key, Mistake, Model, Raw, Table, Value, Values};
use std::cell::RefCell;
use std::path::PathBuf;

type Result<T> = std::result::Result<T, ScenarioError>;

/// A table being read.
pub struct TableReader<'a> {
    path: String,
    origin: &'a Origin,
    entries: &'a [(String, TomlItem)],
    read: RefCell<Vec<&'static str>>,
}

impl<'a> TableReader<'a> {
    /// Reads `item`, a table `[[kind]]` with a name: that which it gives, or `default`. Returns the name too.
    pub fn named(
        kind: &str,
        index: usize,
        item: &'a TomlItem,
        default: impl FnOnce() -> String,
    ) -> Result<(TableReader<'a>, String)> {
        let name = TableReader::new(format!("{kind}[{index}]"), item)?.text("name")?;
        let name = name.map_or_else(default, str::to_string);
        Ok((TableReader::new(key_text([kind, &name]), item)?, name))
    }

    /// Reads `item`, which must be a table; `path` names it in messages.
    pub fn new(path: impl Into<String>, item: &'a TomlItem) -> Result<TableReader<'a>> {
        let path = path.into();
        match &item.value {
            TomlValue::Table(entries) => {
                Ok(TableReader { path, origin: &item.origin, entries, read: RefCell::default() })
            }
            other => {
                Err(ScenarioError::new(&item.origin, &path, format!("must be a table, not {}", other.kind())))
            }
        }
    }

    pub fn path(&self, key: &str) -> String {
        if self.path.is_empty() { key.into() } else { format!("{}.{key}", self.path) }
    }

    /// The names of all keys in the table.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.entries.iter().map(|(key, _)| key.as_str())
    }

    /// Whether the table has `key`.
    pub fn has(&self, key: &str) -> bool {
        self.keys().any(|name| name == key)
    }

    pub fn get(&self, key: &'static str) -> Option<&'a TomlItem> {
        self.read.borrow_mut().push(key);
        self.entries.iter().find(|(k, _)| k == key).map(|(_, item)| item)
    }

    /// An error about `key`, or about the table if it does not contain `key`.
    pub fn error(&self, key: &str, message: impl Into<String>) -> ScenarioError {
        let origin =
            self.entries.iter().find(|(k, _)| k == key).map_or(self.origin, |(_, item)| &item.origin);
        ScenarioError::new(origin, &self.path(key), message)
    }

    /// The text of `key`, such as a name that messages or other keys need first.
    pub fn text(&self, key: &'static str) -> Result<Option<&'a str>> {
        let Some(item) = self.get(key) else { return Ok(None) };
        match &item.value {
            TomlValue::Text(text) => Ok(Some(text)),
            other => Err(self.error(key, format!("must be text, not {}", other.kind()))),
        }
    }

    /// The file that the value of `key` names: its path and its text.
    pub fn file(&self, key: &'static str) -> Result<Option<(PathBuf, String)>> {
        let Some((item, name)) = self.get(key).zip(self.text(key)?) else { return Ok(None) };
        let path = item.origin.path(name);
        let text = item.origin.access().read_text(&path).map_err(|message| self.error(key, message))?;
        Ok(Some((path, text)))
    }

    /// The values of the keys of `table`, of which this is one; defaults under profile number `profile`. Without the name of
    /// a model. Fails with the first wrong value, missing key or unknown key.
    pub fn values(&self, table: &'static Table, profile: usize) -> Result<Values> {
        let values = self.described(table, profile)?;
        self.finish()?;
        Ok(values)
    }

    /// As `values`, but unknown keys are permitted until `finish`.
    pub fn described(&self, table: &'static Table, profile: usize) -> Result<Values> {
        Values::new(table, profile, |key| match self.value(key)? {
            // `TableReader::kind` has read the name of a model.
            _ if key.name == "kind" && key.form.is_name(table.name) => Ok(None),
            None if key.is_required() => Err(self.missing_key(key)),
            value => Ok(value),
        })
    }

    /// Fails if the table has a key that was not read.
    pub fn finish(&self) -> Result<()> {
        self.unknown_keys().into_iter().next().map_or(Ok(()), Err)
    }

    /// An error about an element of the array `key`.
    pub fn element_error(
        &self,
        key: &'static str,
        index: usize,
        message: impl Into<String>,
    ) -> ScenarioError {
        let element = match self.get(key).map(|item| &item.value) {
            Some(TomlValue::List(items)) => items.get(index),
            _ => None,
        };
        match element {
            Some(item) => ScenarioError::new(&item.origin, &self.path(key), message),
            None => self.error(key, message),
        }
    }

    /// An error about `key`, which must be in the table and is not.
    pub fn missing_key(&self, key: &Key) -> ScenarioError {
        let error = ScenarioError::new(self.origin, &self.path(key.name), key.missing());
        error.of_kind(ErrorKind::MissingKey)
    }

    /// Fails if the table has one of `keys`, which have no effect with `reason`.
    pub fn refuse(&self, keys: &[&'static str], reason: &str) -> Result<()> {
        let useless = keys.iter().find(|key| self.has(key));
        let message = || format!("has no effect with {reason}; leave it out");
        useless.map_or(Ok(()), |key| Err(self.error(key, message())))
    }

    /// The model that `kind` names among `models`, which are called `what` in messages. `model` gives the description of
    /// one.
    pub fn kind<M>(
        &self,
        what: &str,
        models: impl Iterator<Item = M> + Clone,
        model: impl Fn(&M) -> &'static Model,
    ) -> Result<M> {
        let names = models.clone().map(|one| model(&one).table.name);
        let example = names.clone().next().unwrap_or_default();
        let name = self.need("kind", self.text("kind")?, &format!("such as kind = \"{example}\""))?;
        let unknown = || self.error("kind", format!("unknown {what} \"{name}\"; {}", nearest(name, names)));
        models.into_iter().find(|one| model(one).table.name == name).ok_or_else(unknown)
    }

    /// Gives `set` the values of those of `keys` that the table has, in the order of `keys`.
    pub fn each(&self, keys: &'static [Key], mut set: impl FnMut(&'static str, &Value)) -> Result<()> {
        for key in keys {
            if let Some(value) = self.value(key)? {
                set(key.name, &value);
            }
        }
        Ok(())
    }

    /// An error about values that do not go together.
    pub fn mistake(&self, (key, message): Mistake) -> ScenarioError {
        self.error(key, message)
    }

    /// The value of `key`, checked against its form; none if the table does not have it.
    pub fn value(&self, key: &'static Key) -> Result<Option<Value>> {
        let Some(item) = self.get(key.name) else { return Ok(None) };
        key.form.value(&raw(&item.value)).map(Some).map_err(|FormError { element, message }| match element {
            Some(index) => self.element_error(key.name, index, message),
            None => self.error(key.name, message),
        })
    }

    /// The value of `key` alone, or its default.
    pub fn read<T: FromValue>(&self, key: &'static Key) -> Result<T> {
        let value = self.value(key)?.or_else(|| key.default(0));
        value.as_ref().and_then(T::from_value).or_else(T::absent).ok_or_else(|| self.missing_key(key))
    }

    pub fn table(&self, key: &'static str) -> Result<Option<TableReader<'a>>> {
        self.get(key).map(|item| TableReader::new(self.path(key), item)).transpose()
    }

    /// The tables of the array `key`, as they are written; empty without the key.
    pub fn list(&self, key: &'static str) -> Result<&'a [TomlItem]> {
        match self.get(key).map(|item| &item.value) {
            None => Ok(&[]),
            Some(TomlValue::List(items)) => Ok(items),
            Some(other) => Err(self.error(key, format!("must be a list, not {}", other.kind()))),
        }
    }

    /// The value of `key`, which must be there. The message says the key once, before `remedy`.
    pub fn need<T>(&self, key: &str, value: Option<T>, remedy: &str) -> Result<T> {
        value.ok_or_else(|| {
            let remedy = remedy.replace(&format!("{key} = "), "");
            let write = if remedy.starts_with("such as") { "write a value " } else { "" };
            self.missing(key, &format!("{write}{remedy}"))
        })
    }

    /// The error about `key`, which must be in the table and is not.
    pub fn missing(&self, key: &str, remedy: &str) -> ScenarioError {
        let error = ScenarioError::new(self.origin, &self.path(key), format!("is missing: {remedy}"));
        error.of_kind(ErrorKind::MissingKey)
    }

    /// An error for each key of the table that was not read.
    pub fn unknown_keys(&self) -> Vec<ScenarioError> {
        let read = self.read.borrow();
        let mut keys: Vec<&str> = read.clone();
        keys.sort_unstable();
        keys.dedup();
        let unknown = self.entries.iter().filter(|(key, _)| !read.contains(&key.as_str()));
        let refuse = |(key, item): &(String, TomlItem)| {
            let message = format!("unknown key; {}", nearest(key, keys.iter().copied()));
            ScenarioError::new(&item.origin, &self.path(key), message).of_kind(ErrorKind::UnknownKey)
        };
        unknown.map(refuse).collect()
    }
}

/// A value as forms check it.
fn raw(value: &TomlValue) -> Raw<'_> {
    match value {
        TomlValue::Text(text) => Raw::Text(text),
        TomlValue::Integer(n) => Raw::Integer(*n),
        TomlValue::Float(n) => Raw::Float(*n),
        TomlValue::Switch(on) => Raw::Switch(*on),
        TomlValue::List(items) => Raw::List(items.iter().map(|item| raw(&item.value)).collect()),
        TomlValue::Table(_) => Raw::Table,
    }
}
