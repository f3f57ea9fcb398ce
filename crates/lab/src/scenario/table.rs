//! Reading of a table against its description. A key that is not described is an unknown key; its error names the nearest one
//! that is.

use super::document::{TomlItem, TomlValue};
use super::key::key_text;
use super::reading::{Reading, Reported, Result};
use crate::error::{ErrorKind, Origin, ScenarioError, nearest};
use params::{FormError, FromValue, Key, Mistake, Model, Raw, Table, Value, Values};
use std::cell::RefCell;
use std::convert::Infallible;
use std::path::PathBuf;

/// A table being read.
pub struct TableReader<'a> {
    path: String,
    origin: &'a Origin,
    entries: &'a [(String, TomlItem)],
    read: RefCell<Vec<&'static str>>,
    reading: &'a Reading,
}

/// A table of an array whose tables have names.
pub struct NamedTable<'a> {
    pub reader: TableReader<'a>,
    /// The name, which can be wrong while the rest is right.
    pub name: Result<String>,
}

impl NamedTable<'_> {
    /// The name, if it can be read.
    pub fn known_name(&self) -> Option<&str> {
        self.name.as_deref().ok()
    }
}

impl<'a> TableReader<'a> {
    /// Reads `item`, a table `[[kind]]` with a name: that which it gives, or `default`.
    pub fn named(
        reading: &'a Reading,
        kind: &str,
        index: usize,
        item: &'a TomlItem,
        default: impl FnOnce() -> String,
    ) -> Result<NamedTable<'a>> {
        let written = TableReader::new(reading, format!("{kind}[{index}]"), item)?.text("name");
        let name = written.ok().flatten().map_or_else(default, str::to_string);
        let reader = TableReader::new(reading, key_text([kind, &name]), item)?;
        Ok(NamedTable { reader, name: written.map(|_| name) })
    }

    /// Reads `item`, which must be a table; `path` names it in messages.
    pub fn new(reading: &'a Reading, path: impl Into<String>, item: &'a TomlItem) -> Result<TableReader<'a>> {
        let path = path.into();
        match &item.value {
            TomlValue::Table(entries) => {
                Ok(TableReader { path, origin: &item.origin, entries, read: RefCell::default(), reading })
            }
            other => {
                let message = format!("must be a table, not {}", other.kind());
                Err(reading.report(ScenarioError::new(&item.origin, &path, message)))
            }
        }
    }

    /// What collects the mistakes of the table.
    pub fn reading(&self) -> &'a Reading {
        self.reading
    }

    /// The place of the table.
    pub fn origin(&self) -> &'a Origin {
        self.origin
    }

    /// The key with the tables that hold it.
    pub fn path(&self, key: &str) -> String {
        if self.path.is_empty() { key.into() } else { format!("{}.{key}", self.path) }
    }

    /// All keys of the table with their values as they are written.
    pub fn entries(&self) -> &'a [(String, TomlItem)] {
        self.entries
    }

    /// The names of all keys in the table.
    pub fn keys(&self) -> impl Iterator<Item = &'a str> {
        self.entries.iter().map(|(key, _)| key.as_str())
    }

    /// Whether the table has `key`.
    pub fn has(&self, key: &str) -> bool {
        self.keys().any(|name| name == key)
    }

    /// Whether an assignment gives the value of `key`.
    pub fn is_assigned(&self, key: &str) -> bool {
        let item = self.entries.iter().find(|(name, _)| name == key);
        item.is_some_and(|(_, item)| matches!(item.origin, Origin::Set { .. }))
    }

    /// The value of `key` as it is written.
    pub fn get(&self, key: &'static str) -> Option<&'a TomlItem> {
        self.read.borrow_mut().push(key);
        self.entries.iter().find(|(k, _)| k == key).map(|(_, item)| item)
    }

    /// What is wrong with `key`, or with the table if it does not contain `key`.
    fn of_key(&self, key: &str, message: impl Into<String>) -> ScenarioError {
        let origin =
            self.entries.iter().find(|(k, _)| k == key).map_or(self.origin, |(_, item)| &item.origin);
        ScenarioError::new(origin, &self.path(key), message)
    }

    /// Reports a mistake in `key`, or in the table if it does not contain `key`.
    pub fn error(&self, key: &str, message: impl Into<String>) -> Reported {
        self.error_of_kind(ErrorKind::Other, key, message)
    }

    /// As `error`, of another kind of mistake.
    pub fn error_of_kind(&self, kind: ErrorKind, key: &str, message: impl Into<String>) -> Reported {
        self.reading.report(self.of_key(key, message).of_kind(kind))
    }

    /// Reports a mistake in the whole table.
    #[cfg(not(feature = "quic"))]
    pub fn refused(&self, message: &str) -> Reported {
        self.reading.report(ScenarioError::new(self.origin, &self.path, message))
    }

    /// Reports a mistake in the name of the table, at the place of the table.
    pub fn name_error(&self, message: impl Into<String>) -> Reported {
        self.reading.report(ScenarioError::new(self.origin, &self.path("name"), message))
    }

    /// Gives advice on `key`.
    pub fn advise(&self, key: &str, message: impl Into<String>) {
        self.reading.advise(&self.of_key(key, message));
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
        self.file_of(key, &[])
    }

    /// The same, of files of other programs those of the permitted kinds.
    pub fn file_of(&self, key: &'static str, permitted: &[trace::Kind]) -> Result<Option<(PathBuf, String)>> {
        let Some((item, name)) = self.get(key).zip(self.text(key)?) else { return Ok(None) };
        let path = item.origin.path(name);
        let text = item
            .origin
            .access()
            .read_text_of(&path, permitted)
            .map_err(|message| self.error(key, message))?;
        Ok(Some((path, text)))
    }

    /// The values of the keys of `table`, of which this is one; defaults under profile number `profile`. Without the name of
    /// a model. Reports each wrong value, missing key and unknown key, and fails if there is one.
    pub fn values(&self, table: &'static Table, profile: usize) -> Result<Values> {
        let values = self.described(table, profile);
        self.finish().and(values)
    }

    /// As `values`, but unknown keys are permitted until `finish`.
    pub fn described(&self, table: &'static Table, profile: usize) -> Result<Values> {
        let mut read = Ok(());
        let value = |key: &'static Key| match self.value(key)? {
            // `TableReader::kind` has read the name of a model.
            _ if key.name == "kind" && key.form.is_name(table.name) => Ok(None),
            None if key.is_required() => Err(self.missing_key(key)),
            value => Ok(value),
        };
        let Ok(values) = Values::new(table, profile, |key| {
            let value = value(key).map_err(|reported| read = Err(reported));
            Ok::<_, Infallible>(value.unwrap_or(None))
        });
        read.map(|()| values)
    }

    /// Reports each key of the table that was not read, and fails if there is one.
    pub fn finish(&self) -> Result<()> {
        let mut finished = Ok(());
        for (key, item) in self.unread() {
            let mut keys: Vec<&str> = self.read.borrow().clone();
            keys.sort_unstable();
            keys.dedup();
            let message = format!("unknown key; {}", nearest(key, keys.iter().copied()));
            let error = ScenarioError::new(&item.origin, &self.path(key), message);
            finished = Err(self.reading.report(error.of_kind(ErrorKind::UnknownKey)));
        }
        finished
    }

    /// The keys that were not read, with their values.
    pub fn unread(&self) -> impl Iterator<Item = (&'a str, &'a TomlItem)> {
        let is_unread = |key: &str| !self.read.borrow().contains(&key);
        self.entries.iter().map(|(key, item)| (key.as_str(), item)).filter(move |(key, _)| is_unread(key))
    }

    /// Reports a mistake in an element of the array `key`.
    pub fn element_error(&self, key: &'static str, index: usize, message: impl Into<String>) -> Reported {
        let element = match self.get(key).map(|item| &item.value) {
            Some(TomlValue::List(items)) => items.get(index),
            _ => None,
        };
        match element {
            Some(item) => self.reading.report(ScenarioError::new(&item.origin, &self.path(key), message)),
            None => self.error(key, message),
        }
    }

    /// Reports that the table has not `key`, which it must have.
    pub fn missing_key(&self, key: &Key) -> Reported {
        let error = ScenarioError::new(self.origin, &self.path(key.name), key.missing());
        self.reading.report(error.of_kind(ErrorKind::MissingKey))
    }

    /// Reports the first of `keys` that the table has: they have no effect with `reason`, which can be the mistake.
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
        let mut read = Ok(());
        for key in keys {
            match self.value(key) {
                Ok(value) => value.iter().for_each(|value| set(key.name, value)),
                Err(reported) => read = Err(reported),
            }
        }
        read
    }

    /// Reports values that do not go together.
    pub fn mistake(&self, (key, message): Mistake) -> Reported {
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

    /// The table that is the value of `key`.
    pub fn table(&self, key: &'static str) -> Result<Option<TableReader<'a>>> {
        self.get(key).map(|item| TableReader::new(self.reading, self.path(key), item)).transpose()
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

    /// Reports that the table has not `key`, which it must have.
    pub fn missing(&self, key: &str, remedy: &str) -> Reported {
        let error = ScenarioError::new(self.origin, &self.path(key), format!("is missing: {remedy}"));
        self.reading.report(error.of_kind(ErrorKind::MissingKey))
    }
}

/// A value as forms check it.
pub(super) fn raw(value: &TomlValue) -> Raw<'_> {
    match value {
        TomlValue::Text(text) => Raw::Text(text),
        TomlValue::Integer(n) => Raw::Integer(*n),
        TomlValue::Float(n) => Raw::Float(*n),
        TomlValue::Switch(on) => Raw::Switch(*on),
        TomlValue::List(items) => Raw::List(items.iter().map(|item| raw(&item.value)).collect()),
        TomlValue::Table(_) => Raw::Table,
    }
}
