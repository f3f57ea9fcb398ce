//! Typed reading of a table. A key that the reader does not read is an unknown key; its error names the nearest known
//! key.

use super::advice;
use super::document::{TomlItem, TomlValue};
use crate::error::{ErrorKind, Origin, ScenarioError, nearest};
use params::{FormError, Key, Mistake, Model, Raw, Table, Value, Values};
use std::cell::RefCell;
use std::path::PathBuf;
use std::str::FromStr;
use units::ByteCount;

type Result<T> = std::result::Result<T, ScenarioError>;

/// A table being read.
pub struct TableReader<'a> {
    path: String,
    origin: &'a Origin,
    entries: &'a [(String, TomlItem)],
    read: RefCell<Vec<&'static str>>,
}

impl<'a> TableReader<'a> {
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

    /// Converts the value of `item` by `pick`. Fails with the expected kind if `pick` returns `None`.
    fn typed<T>(
        &self,
        key: &str,
        item: &'a TomlItem,
        expected: &str,
        pick: impl Fn(&'a TomlValue) -> Option<T>,
    ) -> Result<T> {
        pick(&item.value).ok_or_else(|| {
            ScenarioError::new(
                &item.origin,
                &self.path(key),
                format!("must be {expected}, not {}", item.value.kind()),
            )
        })
    }

    pub fn text(&self, key: &'static str) -> Result<Option<&'a str>> {
        self.get(key)
            .map(|item| {
                self.typed(key, item, "text", |v| {
                    if let TomlValue::Text(t) = v { Some(t.as_str()) } else { None }
                })
            })
            .transpose()
    }

    /// The file that the value of `key` names: its path and its text.
    pub fn file(&self, key: &'static str) -> Result<Option<(PathBuf, String)>> {
        let Some((item, name)) = self.get(key).zip(self.text(key)?) else { return Ok(None) };
        let path = item.origin.path(name);
        let text = item.origin.access().read_text(&path).map_err(|message| self.error(key, message))?;
        Ok(Some((path, text)))
    }

    pub fn switch(&self, key: &'static str) -> Result<Option<bool>> {
        self.get(key)
            .map(|item| {
                self.typed(key, item, "true or false", |v| {
                    if let TomlValue::Switch(b) = v { Some(*b) } else { None }
                })
            })
            .transpose()
    }

    /// A number between `min` and `max`, both included.
    pub fn number(&self, key: &'static str, min: f64, max: f64) -> Result<Option<f64>> {
        let Some(item) = self.get(key) else { return Ok(None) };
        let n = self.typed(key, item, "a number", |v| match v {
            TomlValue::Integer(n) => Some(*n as f64),
            TomlValue::Float(n) => Some(*n),
            _ => None,
        })?;
        if (min..=max).contains(&n) {
            return Ok(Some(n));
        }
        Err(self.error(key, format!("{n} is not between {min} and {max}")))
    }

    /// Zero for none, or a number between `min` and `max`, both included.
    pub fn number_or_none(&self, key: &'static str, min: f64, max: f64) -> Result<Option<f64>> {
        match self.number(key, 0.0, max)? {
            Some(n) if n > 0.0 && n < min => {
                Err(self.error(key, format!("{n} is not 0, for none, or between {min} and {max}")))
            }
            number => Ok(number),
        }
    }

    /// A whole number between `min` and `max`, both included.
    pub fn integer(&self, key: &'static str, min: u64, max: u64) -> Result<Option<u64>> {
        let Some(item) = self.get(key) else { return Ok(None) };
        let n = self.typed(key, item, "a whole number", |v| {
            if let TomlValue::Integer(n) = v { Some(*n) } else { None }
        })?;
        match u64::try_from(n) {
            Ok(n) if (min..=max).contains(&n) => Ok(Some(n)),
            _ => Err(self.error(key, format!("{n} is not between {min} and {max}"))),
        }
    }

    /// A number of bytes between `min` and `max`, both included: `1000` or `"1000B"`.
    pub fn bytes(&self, key: &'static str, min: u64, max: u64) -> Result<Option<u64>> {
        if !matches!(self.get(key), Some(TomlItem { value: TomlValue::Text(_), .. })) {
            return self.integer(key, min, max);
        }
        match self.quantity(key, "1000B")? {
            Some(ByteCount(n)) if (min..=max).contains(&n) => Ok(Some(n)),
            _ => {
                Err(self
                    .error(key, format!("must be a number of bytes from {min} to {max}, such as \"1000B\"")))
            }
        }
    }

    /// A quantity with a unit, in quotes.
    pub fn quantity<T: FromStr>(&self, key: &'static str, example: &str) -> Result<Option<T>>
    where
        T::Err: std::fmt::Display,
    {
        let Some(item) = self.get(key) else { return Ok(None) };
        quantity(item, &self.path(key), example).map(Some)
    }

    /// The values of the keys of `table`, of which this is one; defaults under profile number `profile`. Without `kind`. Fails with the
    /// first wrong value, missing key or unknown key.
    pub fn values(&self, table: &Table, profile: usize) -> Result<Values> {
        let values = Values::new(table, profile, |key| match self.value(key)? {
            // `TableReader::kind` has read the name of a model.
            _ if key.name == "kind" && key.form.is_name(table.name) => Ok(None),
            None if key.is_required() => {
                let error = ScenarioError::new(self.origin, &self.path(key.name), key.missing());
                Err(error.of_kind(ErrorKind::MissingKey))
            }
            value => Ok(value),
        })?;
        #[cfg(test)]
        read_keys::note(&self.path, &self.read.borrow());
        self.unknown_keys().into_iter().next().map_or(Ok(values), Err)
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
        let mut candidates = models.into_iter().filter(|one| model(one).names().contains(&name));
        let named = candidates.next().ok_or_else(unknown)?;
        let present = model(&named).table.name;
        if name != present {
            advice::give(self.error("kind", format!("\"{name}\" is now called \"{present}\"")));
        }
        Ok(named)
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

    /// The value of `key`, checked against its form; none if the table does not have it, or if its form is a table.
    pub fn value(&self, key: &'static Key) -> Result<Option<Value>> {
        let Some(item) = self.get(key.name) else { return Ok(None) };
        key.form.value(&raw(&item.value)).map_err(|FormError { element, message }| {
            let element = match (&item.value, element) {
                (TomlValue::List(items), Some(index)) => items.get(index),
                _ => None,
            };
            ScenarioError::new(&element.unwrap_or(item).origin, &self.path(key.name), message)
        })
    }

    pub fn table(&self, key: &'static str) -> Result<Option<TableReader<'a>>> {
        self.get(key).map(|item| TableReader::new(self.path(key), item)).transpose()
    }

    pub fn list(&self, key: &'static str) -> Result<Option<&'a [TomlItem]>> {
        self.get(key)
            .map(|item| {
                self.typed(key, item, "a list", |v| {
                    if let TomlValue::List(l) = v { Some(l.as_slice()) } else { None }
                })
            })
            .transpose()
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

    /// Ends the reading. Fails if the table contains a key that was not read.
    pub fn finish(self) -> Result<()> {
        #[cfg(test)]
        read_keys::note(&self.path, &self.read.borrow());
        self.unknown_keys().into_iter().next().map_or(Ok(()), Err)
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

/// The two entries of an array of two. Fails with `message` if `item` is not one.
pub fn pair<'a>(item: &'a TomlItem, path: &str, message: &str) -> Result<&'a [TomlItem; 2]> {
    if let TomlValue::List(entries) = &item.value
        && let Ok(pair) = <&[TomlItem; 2]>::try_from(&entries[..])
    {
        return Ok(pair);
    }
    Err(ScenarioError::new(&item.origin, path, message))
}

/// A quantity with a unit, in quotes.
pub fn quantity<T: FromStr>(item: &TomlItem, path: &str, example: &str) -> Result<T>
where
    T::Err: std::fmt::Display,
{
    let refuse = |message: String| ScenarioError::new(&item.origin, path, message);
    match &item.value {
        TomlValue::Text(text) => text.parse().map_err(|error: T::Err| refuse(error.to_string())),
        TomlValue::Integer(n) => Err(refuse(format!("{n} has no unit: write it like \"{example}\""))),
        TomlValue::Float(n) => Err(refuse(format!("{n} has no unit: write it like \"{example}\""))),
        other => Err(refuse(format!("must be a quantity like \"{example}\", not {}", other.kind()))),
    }
}

/// The keys that readers read, for the test of the schema.
#[cfg(test)]
pub(crate) mod read_keys {
    use std::cell::RefCell;
    use std::collections::{BTreeMap, BTreeSet};

    type Keys = BTreeMap<String, BTreeSet<&'static str>>;

    thread_local! {
        static READ: RefCell<Keys> = RefCell::default();
    }

    pub fn note(path: &str, keys: &[&'static str]) {
        READ.with_borrow_mut(|read| read.entry(path.into()).or_default().extend(keys));
    }

    /// The keys read since the last call, by the path of their table.
    pub fn take() -> Keys {
        READ.take()
    }
}
