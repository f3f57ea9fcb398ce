//! The form of a description: tables, keys, the values of keys.

/// A table of a scenario.
pub struct Table {
    /// Its name among the tables of the schema.
    pub name: &'static str,
    /// Where it stands in a scenario.
    pub place: &'static str,
    /// Its keys.
    pub keys: &'static [Key],
}

/// A key of a table.
#[derive(Debug)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// The values that it takes.
    pub form: Form,
    /// Its default under the profiles `ns2` and `linux` (`ns2` and `std` in `[radio]`), as the value would be written or in
    /// words; empty if it is required.
    pub defaults: [&'static str; 2],
    /// Its meaning.
    pub doc: &'static str,
}

/// The values that a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// Any text.
    Text,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A number from the first to the second.
    Number(f64, f64),
    /// 0 for none, or a number from the first to the second.
    NumberOrNone(f64, f64),
    /// A whole number from the first to the second.
    Integer(u64, u64),
    /// `true` or `false`.
    Switch,
    /// Text with a unit, such as this.
    Quantity(&'static str),
    /// A number of bytes: text with a unit, or a number.
    Bytes,
    /// A quantity such as the first, or one of these words.
    QuantityOr(&'static str, &'static [&'static str]),
    /// A number from the first to 1, or one of these words.
    PartOr(f64, &'static [&'static str]),
    /// A table of this name.
    Table(&'static str),
    /// An array of tables of this name.
    Tables(&'static str),
    /// A table with `kind` and the parameters of a loss, or an array of such tables.
    Losses,
    /// A controller: its name, or a table with its parameters.
    Controller,
    /// A table with `kind` and the parameters of a queue discipline.
    Queue,
    /// A rate as text with a unit, or a table with `kind` for a rate that varies.
    Rate,
    /// Text, or an array of text.
    TextOrTexts,
    /// An array of values of another kind; an example.
    Array(&'static str),
    /// Anything; an example.
    Any(&'static str),
}

/// A key with one default; `default` is empty if the key is required.
pub(super) const fn key(name: &'static str, form: Form, default: &'static str, doc: &'static str) -> Key {
    Key { name, form, defaults: [default, default], doc }
}

/// A key whose default depends on the profile: `ns2`, then `linux` or `std`.
pub(super) const fn by_profile(
    name: &'static str,
    form: Form,
    defaults: [&'static str; 2],
    doc: &'static str,
) -> Key {
    Key { name, form, defaults, doc }
}

impl Form {
    /// The values in words.
    pub fn words(&self) -> String {
        let one_of =
            |words: &[&str]| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        match *self {
            Form::Text => "text".into(),
            Form::Word(words) => one_of(words),
            Form::Number(min, max) if max >= 1e9 => format!("number from {min}"),
            Form::Number(min, max) => format!("number from {min} to {max}"),
            Form::NumberOrNone(min, _) => format!("0, or number from {min}"),
            Form::Integer(min, max) if max >= 1 << 30 => format!("whole number from {min}"),
            Form::Integer(min, max) => format!("whole number from {min} to {max}"),
            Form::Switch => "true or false".into(),
            Form::Quantity(example) => format!("text with a unit, such as \"{example}\""),
            Form::Bytes => "bytes, such as \"1000B\"".into(),
            Form::QuantityOr(example, words) => {
                format!("text with a unit, such as \"{example}\", or {}", one_of(words))
            }
            Form::PartOr(min, words) => format!("number from {min} to 1, or {}", one_of(words)),
            Form::Table(name) => format!("table: {name}"),
            Form::Tables(name) => format!("array of tables: {name}"),
            Form::Losses => "a loss, or an array of losses".into(),
            Form::Controller => "a controller".into(),
            Form::Queue => "a queue discipline".into(),
            Form::Rate => {
                "text with a unit, such as \"10Mbps\", or a table: trace, steps, random_steps, file".into()
            }
            Form::TextOrTexts => "text, or an array of text".into(),
            Form::Array(example) | Form::Any(example) => format!("such as {example}"),
        }
    }
}
