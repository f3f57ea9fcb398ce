//! What a table of a scenario may hold, described once, beside the code that uses it: keys with the values that they take,
//! defaults and meaning.
//!
//! Readers, JSON Schemas, the reference pages and completion use the descriptions: ranges and defaults stand nowhere
//! else.
#![forbid(unsafe_code)]

mod form;
mod named;
mod nearest;
mod needs;
mod options;
mod value;
mod values;

pub use form::{Form, FormError, PERCENT, Unit};
pub use nearest::{meant, nearest};
pub use needs::{Needs, Unmet};
pub use value::{FromValue, Raw, Value};
pub use values::Values;
#[cfg(debug_assertions)]
pub use values::reads;

/// A table of a scenario.
#[derive(Debug)]
pub struct Table {
    /// Its name among the tables of the schema.
    pub name: &'static str,
    /// Where it stands in a scenario.
    pub place: &'static str,
    /// Its keys, in groups that tables can have in common.
    pub groups: &'static [&'static [Key]],
}

impl Table {
    /// A table called `name` that stands in a scenario at `place`.
    pub const fn new(name: &'static str, place: &'static str, groups: &'static [&'static [Key]]) -> Table {
        Table { name, place, groups }
    }

    /// Its keys.
    pub fn keys(&self) -> impl Iterator<Item = &'static Key> + Clone {
        self.groups.iter().copied().flatten()
    }

    /// The key called `name`.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys().find(|key| key.name == name)
    }
}

/// A model that a table names by its `kind`: a queue discipline, an impairment, a router, a rate.
#[derive(Debug)]
pub struct Model {
    /// Its table; the name is that of `kind`.
    pub table: Table,
    /// One line that describes it, for lists.
    pub summary: &'static str,
    /// The source of its rules; empty for none.
    pub source: &'static str,
}

/// The model called `$name` of the key `$key` of a scenario, with groups of keys besides `kind`.
#[macro_export]
macro_rules! model {
    ($key:literal, $name:literal, $summary:expr, $source:expr, [$($group:expr),* $(,)?]) => {
        $crate::Model {
            table: $crate::Table {
                name: $name,
                place: concat!("`", $key, " = { kind = \"", $name, "\", ... }`"),
                groups: &[&[$crate::key("kind", $crate::Form::Word(&[$name]), "", $summary)], $($group),*],
            },
            summary: $summary,
            source: $source,
        }
    };
}

/// A mistake in the values of a table: the key, and what is wrong.
pub type Mistake = (&'static str, String);

/// A key of a table, or a parameter of a controller.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// The values that it takes.
    pub form: Form,
    /// Its default under the profiles `ns2` and `linux` (`ns2` and `std` in `[radio]`), as the value would be written or in
    /// words; empty if it is required.
    pub defaults: [&'static str; 2],
    /// The unit of a number, which text with a unit may replace if it is `s` or `bit/s`; empty for none.
    pub unit: &'static str,
    /// Its meaning, and the source of the default.
    pub doc: &'static str,
    /// What the table must also say, or the key has no effect.
    pub needs: Needs,
}

/// A key with one default; `default` is empty if the key is required.
pub const fn key(name: &'static str, form: Form, default: &'static str, doc: &'static str) -> Key {
    by_profile(name, form, [default, default], doc)
}

/// A key whose default depends on the profile: `ns2`, then `linux` or `std`.
pub const fn by_profile(
    name: &'static str,
    form: Form,
    defaults: [&'static str; 2],
    doc: &'static str,
) -> Key {
    Key { name, form, defaults, unit: "", doc, needs: Needs::Nothing }
}

impl Key {
    /// Whether a table must have it.
    pub fn is_required(&self) -> bool {
        self.defaults[0].is_empty()
    }

    /// Its default under profile number `profile`; none if it is required, or if the default is in words.
    pub fn default(&self, profile: usize) -> Option<Value> {
        let text = self.defaults[profile];
        let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        let raw = match (quoted, text) {
            (Some(text), _) if !text.contains('"') => Raw::Text(text),
            (_, "true") => Raw::Switch(true),
            (_, "false") => Raw::Switch(false),
            _ => match (text.parse(), text.parse()) {
                (Ok(number), _) => Raw::Integer(number),
                (_, Ok(number)) if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
                    Raw::Float(number)
                }
                _ => return None,
            },
        };
        // A default that is text, not written as a value, begins with no quote.
        self.form.value(&raw).ok()
    }

    /// Whether a number of it may be text with a unit.
    pub fn takes_text(&self) -> bool {
        ["s", "bit/s"].contains(&self.unit)
    }

    /// What is missing without it, in words.
    pub fn missing(&self) -> String {
        let meaning = self.doc.split([':', ';']).next().unwrap_or(self.doc).trim();
        match self.form.example() {
            Some(example) => format!("is missing: {meaning}, such as {} = {example}", self.name),
            None => format!("is missing: {meaning}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Span;

    #[test]
    fn defaults_are_values_or_words() {
        let of = |form, default| key("k", form, default, "").default(0);
        let time = Form::Quantity(Unit::Time, "5ms");
        assert_eq!(of(time, "\"5ms\""), Some(Value::Time(Span::from_ms(5))));
        assert_eq!(of(Form::Number(0.0, 1.0), "0.125"), Some(Value::Number(0.125)));
        assert_eq!(of(Form::Number(0.0, 1.0), "infinite"), None);
        assert_eq!(of(Form::Number(-1.0, 1e9), "10, or the controller's"), None);
        assert_eq!(of(Form::Switch, "true"), Some(Value::Switch(true)));
        assert_eq!(of(time, "\"5ms\" (Iridium), \"6ms\""), None);
        assert_eq!(of(time, ""), None);
    }

    #[test]
    fn what_is_missing_has_an_example() {
        let delay =
            key("delay", Form::Quantity(Unit::Time, "10ms"), "", "propagation delay; Wi-Fi needs none");
        assert_eq!(delay.missing(), "is missing: propagation delay, such as delay = \"10ms\"");
        assert_eq!(key("from", Form::Text, "", "the sender").missing(), "is missing: the sender");
    }
}
