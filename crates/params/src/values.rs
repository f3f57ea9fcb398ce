//! The values of a table.

use crate::value::{FromValue, Value};
use crate::{Key, Table};
use std::fmt;

/// The values of all keys of a table that have one, in the order of the keys; defaults filled in. Equal values are equal
/// whether they were written or not.
#[derive(Clone, Default)]
pub struct Values {
    entries: Vec<Entry>,
    /// The name of the table, for tests; empty for keys without one.
    #[cfg(debug_assertions)]
    table: &'static str,
}

#[derive(Clone)]
struct Entry {
    key: &'static str,
    value: Value,
    written: bool,
}

impl Values {
    /// No values.
    pub const NONE: Values = Values::of_table(Vec::new(), "");

    const fn of_table(entries: Vec<Entry>, table: &'static str) -> Values {
        #[cfg(not(debug_assertions))]
        let _ = table;
        Values {
            entries,
            #[cfg(debug_assertions)]
            table,
        }
    }

    /// The values that `written` gives for the keys of `table`, and the defaults of the others under profile number
    /// `profile`. Fails with the error of `written`.
    pub fn new<E>(
        table: &Table,
        profile: usize,
        mut written: impl FnMut(&'static Key) -> Result<Option<Value>, E>,
    ) -> Result<Values, E> {
        let mut entries = Vec::new();
        for key in table.keys() {
            let value = written(key)?;
            let is_written = value.is_some();
            let value = value.or_else(|| key.default(profile));
            entries.extend(value.map(|value| Entry { key: key.name, value, written: is_written }));
        }
        Ok(Values::of_table(entries, table.name))
    }

    /// The defaults of a table under profile number `profile`.
    pub fn of_defaults(table: &'static Table, profile: usize) -> Values {
        let Ok(values) = Values::new(table, profile, |_| Ok::<_, std::convert::Infallible>(None));
        values
    }

    /// The defaults of `keys` under profile number `profile`.
    pub fn defaults(keys: &[Key], profile: usize) -> Values {
        let default = |key: &Key| Some(Entry { key: key.name, value: key.default(profile)?, written: false });
        Values::of_table(keys.iter().filter_map(default).collect(), "")
    }

    fn entry(&self, key: &str) -> Option<&Entry> {
        #[cfg(debug_assertions)]
        reads::note(self.table, key);
        self.entries.iter().find(|entry| entry.key == key)
    }

    /// Whether the table has `key`.
    pub fn is_written(&self, key: &str) -> bool {
        self.entry(key).is_some_and(|entry| entry.written)
    }

    /// Replaces the value of `key`, or adds it.
    pub fn set(&mut self, key: &'static str, value: Value) {
        match self.entries.iter_mut().find(|entry| entry.key == key) {
            Some(entry) => entry.value = value,
            None => self.entries.push(Entry { key, value, written: false }),
        }
    }

    /// The value of `key`; none if it was not written and its default is in words, or if it is a word or a table that the
    /// key takes in place of a value.
    ///
    /// # Panics
    /// If the form of the key gives another type.
    pub fn optional<T: FromValue>(&self, key: &str) -> Option<T> {
        let value = &self.entry(key)?.value;
        match (T::from_value(value), value) {
            (Some(value), _) => Some(value),
            (None, Value::Word(_) | Value::Inner) => None,
            (None, _) => panic!("{key} is {value:?}, read as another type"),
        }
    }

    /// The value of `key`, which is required or has a default, or may be absent.
    ///
    /// # Panics
    /// If there is no value, or if the form of the key gives another type.
    pub fn read<T: FromValue>(&self, key: &str) -> T {
        match self.optional(key).or_else(T::absent) {
            Some(value) => value,
            None => panic!("{key} is read and has no value"),
        }
    }
}

impl PartialEq for Values {
    fn eq(&self, other: &Values) -> bool {
        self.entries.len() == other.entries.len()
            && self.entries.iter().zip(&other.entries).all(|(a, b)| a.key == b.key && a.value == b.value)
    }
}

impl fmt::Debug for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.entries.iter().map(|entry| (entry.key, &entry.value))).finish()
    }
}

/// The keys that this thread read, by table, in builds for tests: a key can be described and never read.
#[cfg(debug_assertions)]
pub mod reads {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    thread_local! {
        static READ: RefCell<BTreeSet<(&'static str, String)>> = const { RefCell::new(BTreeSet::new()) };
    }

    pub(super) fn note(table: &'static str, key: &str) {
        READ.with_borrow_mut(|read| read.insert((table, key.into())));
    }

    /// The tables and keys read since the last call.
    pub fn take() -> BTreeSet<(&'static str, String)> {
        READ.take()
    }
}
