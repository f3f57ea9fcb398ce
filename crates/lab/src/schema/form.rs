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
    /// A number from 0 to 1, or one of these words.
    PartOr(&'static [&'static str]),
    /// A table of this name.
    Table(&'static str),
    /// An array of tables of this name.
    Tables(&'static str),
    /// A table of this name, or an array of them.
    TableOrTables(&'static str),
    /// A controller: its name, or a table with its parameters.
    Controller,
    /// A table with `kind` and the parameters of one of these models, from `ackclock list`.
    Model(&'static str),
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
