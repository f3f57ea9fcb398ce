//! The values that a key takes, and the check of a value.

use crate::nearest::nearest;
use crate::value::{Raw, Value};
use units::{Angle, ByteCount, Length, Limit, Rate, Span, Speed};

/// The values that a key takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Form {
    /// Any text.
    Text,
    /// The name of a file.
    File,
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
    Quantity(Unit, &'static str),
    /// Text with a unit, such as the first, from the second to the third.
    Range(Unit, &'static str, &'static str, &'static str),
    /// Text with a unit, such as the first, not less than the second.
    AtLeast(Unit, &'static str, &'static str),
    /// Bytes from the first to the second: text with a unit, or a number.
    Bytes(u64, u64),
    /// As `Bytes`, or one of these words.
    BytesOr(u64, u64, &'static [&'static str]),
    /// A quantity such as the first, or one of these words.
    QuantityOr(Unit, &'static str, &'static [&'static str]),
    /// A number from the first to 1, or one of these words.
    PartOr(f64, &'static [&'static str]),
    /// One of these words, or a table of this name.
    WordOrTable(&'static [&'static str], &'static str),
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
    /// A table with `kind` and the parameters of a router.
    Router,
    /// A rate as text with a unit, or a table with `kind` for a rate that varies.
    LinkRate,
    /// A rate as text with a unit, or a table with `kind` for an application.
    Application,
    /// Sizes of messages: bytes, the name of a distribution or of its file, or an array of two sizes.
    Sizes,
    /// A delay as text with a unit, or a table of this name for a delay that varies.
    LinkDelay(&'static str),
    /// Text, or an array of text: the value is always an array.
    TextOrTexts,
    /// An array of such values; an example.
    List(&'static Form, &'static str),
    /// An array with one value of each form; an example.
    Row(&'static [Form], &'static str),
    /// Such a value, or an array of rows with a time and the value from there on, such as the example.
    OrSteps(&'static Form, &'static str),
    /// Anything; an example.
    Any(&'static str),
}

/// What a quantity measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A time span.
    Time,
    /// Bits per second.
    Rate,
    /// Bytes.
    Size,
    /// Packets, bytes or bandwidth-delay products.
    Limit,
    /// A length.
    Length,
    /// An angle.
    Angle,
    /// A speed.
    Speed,
}

/// The least quantities above zero.
const SMALLEST: [&str; 3] = ["1ps", "1bps", "1B"];

impl Unit {
    /// The quantity that a text names. Fails with a message if it names none.
    fn parse(self, text: &str) -> Result<Value, String> {
        match self {
            Unit::Time => text.parse::<Span>().map(Value::Time),
            Unit::Rate => text.parse::<Rate>().map(Value::Rate),
            Unit::Size => text.parse::<ByteCount>().map(|bytes| Value::Integer(bytes.0)),
            Unit::Limit => text.parse::<Limit>().map(Value::Limit),
            Unit::Length => text.parse::<Length>().map(Value::Length),
            Unit::Angle => text.parse::<Angle>().map(Value::Angle),
            Unit::Speed => text.parse::<Speed>().map(Value::Speed),
        }
        .map_err(|error| error.to_string())
    }

    /// The texts that name such a quantity, as a regular expression (ECMA 262).
    pub fn pattern(self) -> String {
        let units = match self {
            Unit::Time => Span::units(),
            Unit::Rate => Rate::units(),
            Unit::Size => ByteCount::units(),
            Unit::Limit => Limit::units(),
            Unit::Length => Length::units(),
            Unit::Angle => Angle::units(),
            Unit::Speed => Speed::units(),
        };
        format!(r"^\s*\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*({})\s*$", units.join("|"))
    }

    fn read(self, raw: &Raw<'_>, example: &str) -> Result<Value, String> {
        match raw {
            Raw::Text(text) => self.parse(text),
            Raw::Integer(n) => Err(format!("{n} has no unit: write it like \"{example}\"")),
            Raw::Float(n) => Err(format!("{n} has no unit: write it like \"{example}\"")),
            other => Err(format!("must be a quantity like \"{example}\", not {}", other.kind())),
        }
    }

    fn within(self, raw: &Raw<'_>, example: &str, min: &str, max: Option<&str>) -> Result<Value, String> {
        let value = self.read(raw, example)?;
        let bound =
            |text| self.parse(text).unwrap_or_else(|_| unreachable!("the range of a form is quantities"));
        let too_small = value < bound(min);
        Err(match max {
            _ if too_small && SMALLEST.contains(&min) => "must be more than zero".into(),
            Some(max) if too_small || value > bound(max) => format!("must be from {min} to {max}"),
            None if too_small => format!("must be at least {min}"),
            _ => return Ok(value),
        })
    }
}

fn not_a_list(raw: &Raw<'_>, example: &str) -> String {
    format!("must be a list, such as {example}, not {}", raw.kind())
}

/// Whether numbers of this range are parts of 1.
const fn is_part(min: f64, max: f64) -> bool {
    min >= 0.0 && max <= 1.0
}

/// The texts that name a part of 1, as a regular expression (ECMA 262).
pub const PERCENT: &str = r"^\s*(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*%\s*$";

fn number(raw: &Raw<'_>, min: f64, max: f64) -> Result<f64, String> {
    let percent =
        |text: &str| text.trim().strip_suffix('%')?.trim_end().parse::<f64>().ok().filter(|n| n.is_finite());
    let n = match raw {
        Raw::Integer(n) => *n as f64,
        Raw::Float(n) => *n,
        // A part of 1 may be written in percent.
        Raw::Text(text) if is_part(min, max) => match percent(text) {
            Some(n) => n / 100.0,
            None => {
                return Err(format!("must be a number such as 0.01, or text such as \"1%\", not \"{text}\""));
            }
        },
        other => return Err(format!("must be a number, not {}", other.kind())),
    };
    if (min..=max).contains(&n) { Ok(n) } else { Err(format!("{n} is not between {min} and {max}")) }
}

fn integer(raw: &Raw<'_>, min: u64, max: u64) -> Result<u64, String> {
    let Raw::Integer(n) = raw else { return Err(format!("must be a whole number, not {}", raw.kind())) };
    match u64::try_from(*n) {
        Ok(whole) if (min..=max).contains(&whole) => Ok(whole),
        _ => Err(format!("{n} is not between {min} and {max}")),
    }
}

/// From here on the upper bound of a number of bytes is left out of messages.
const UNBOUNDED: u64 = 1 << 40;

fn bytes(raw: &Raw<'_>, min: u64, max: u64) -> Result<u64, String> {
    let Raw::Text(text) = raw else { return integer(raw, min, max) };
    match text.parse() {
        Ok(ByteCount(bytes)) if (min..=max).contains(&bytes) => Ok(bytes),
        Ok(_) if max >= UNBOUNDED => Err(format!("must be at least {min} bytes, such as \"1000B\"")),
        Ok(_) => Err(format!("must be from {min} to {max} bytes, such as \"1000B\"")),
        Err(error) => Err(error.to_string()),
    }
}

/// The largest size of a message, bytes.
const LARGEST_MESSAGE: u64 = 1_000_000_000_000;

/// A size, the smallest and the largest size, or a name.
fn sizes(raw: &Raw<'_>) -> Result<Value, String> {
    let size = |raw: &Raw<'_>| bytes(raw, 1, LARGEST_MESSAGE).map(Value::Integer);
    match raw {
        Raw::Text(text) if !text.starts_with(|first: char| first.is_ascii_digit() || first == '-') => {
            Ok(Value::Text((*text).into()))
        }
        Raw::List(pair) => {
            let [smallest, largest] = &pair[..] else {
                return Err("must be a size, a name, or two sizes such as [\"30kB\", \"50kB\"]".into());
            };
            let (smallest, largest) = (size(smallest)?, size(largest)?);
            if smallest > largest {
                return Err("the first size must not be more than the second".into());
            }
            Ok(Value::List(vec![smallest, largest]))
        }
        _ => size(raw),
    }
}

fn word(raw: &Raw<'_>, words: &'static [&'static str]) -> Result<&'static str, String> {
    let Raw::Text(text) = raw else { return Err(format!("must be text, not {}", raw.kind())) };
    let listed = words.iter().find(|word| *word == text);
    listed
        .copied()
        .ok_or_else(|| format!("unknown value \"{text}\"; {}", nearest(text, words.iter().copied())))
}

/// What is wrong with a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormError {
    /// The element of an array that is wrong.
    pub element: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl From<String> for FormError {
    fn from(message: String) -> FormError {
        FormError { element: None, message }
    }
}

/// The rows of a value that changes at times: a row from the start on for a single value.
fn steps(form: &Form, example: &str, raw: &Raw<'_>) -> Result<Value, FormError> {
    let Raw::List(rows) = raw else {
        return Ok(Value::List(vec![Value::List(vec![Value::Time(Span::from_ps(0)), form.value(raw)?])]));
    };
    let row = |(index, row): (usize, &Raw<'_>)| {
        let error = |message: String| FormError { element: Some(index), message };
        let Raw::List(pair) = row else { return Err(error(format!("must be an array such as {example}"))) };
        let [at, value] = &pair[..] else { return Err(error(format!("must be an array such as {example}"))) };
        let at = Unit::Time.read(at, "10s").map_err(error)?;
        let value = form.value(value).map_err(|inner| error(inner.message))?;
        Ok(Value::List(vec![at, value]))
    };
    rows.iter().enumerate().map(row).collect::<Result<_, FormError>>().map(Value::List)
}

impl Form {
    /// A delay of at most eleven days.
    pub const fn delay(example: &'static str) -> Form {
        Form::Range(Unit::Time, example, "0s", "1000000s")
    }

    /// A rate of at most one byte a picosecond.
    pub const fn rate(example: &'static str) -> Form {
        Form::Range(Unit::Rate, example, "1bps", "8000Gbps")
    }

    /// Whether it is the word `name`, or a choice of words of which that is the first.
    pub fn is_name(&self, name: &str) -> bool {
        matches!(self, Form::Word([first, ..]) if *first == name)
    }

    /// Whether a number of it may be text with a percent sign.
    pub fn takes_percent(&self) -> bool {
        match *self {
            Form::Number(min, max) => is_part(min, max),
            Form::NumberOrNone(_, max) => is_part(0.0, max),
            Form::PartOr(..) => true,
            _ => false,
        }
    }

    /// The value that `raw` is. Fails with what is wrong with it.
    pub fn value(&self, raw: &Raw<'_>) -> Result<Value, FormError> {
        match *self {
            Form::List(form, example) => {
                let Raw::List(items) = raw else { return Err(not_a_list(raw, example).into()) };
                let element = |(index, item): (usize, &Raw<'_>)| {
                    let error = |error: FormError| FormError { element: Some(index), message: error.message };
                    form.value(item).map_err(error)
                };
                items.iter().enumerate().map(element).collect::<Result<_, _>>().map(Value::List)
            }
            Form::Row(forms, example) => {
                let wrong = || FormError::from(format!("must be an array such as {example}"));
                let Raw::List(items) = raw else { return Err(wrong()) };
                if items.len() != forms.len() {
                    return Err(wrong());
                }
                let element = |(index, (form, item)): (usize, (&Form, &Raw<'_>))| {
                    let of = |error: FormError| format!("value {}: {}", index + 1, error.message);
                    let wrong = |error| FormError { element: Some(index), message: of(error) };
                    form.value(item).map_err(wrong)
                };
                let values = forms.iter().zip(items).enumerate().map(element);
                values.collect::<Result<_, _>>().map(Value::List)
            }
            Form::OrSteps(form, example) => steps(form, example, raw),
            Form::TextOrTexts => {
                let single = [raw.clone()];
                let items = if let Raw::List(items) = raw { items.as_slice() } else { &single };
                if items.is_empty() {
                    return Err(String::from("must name at least one").into());
                }
                let texts = items.iter().map(|item| Form::Text.value(item));
                texts.collect::<Result<_, _>>().map(Value::List)
            }
            _ => Ok(self.single(raw)?),
        }
    }

    /// The value of a form that is no array.
    fn single(&self, raw: &Raw<'_>) -> Result<Value, String> {
        let one_of = |words: &'static [&str]| match raw {
            Raw::Text(text) => words.iter().find(|word| *word == text).map(|word| Value::Word(word)),
            _ => None,
        };
        Ok(match *self {
            Form::Text | Form::File => match raw {
                Raw::Text(text) => Value::Text((*text).into()),
                other => return Err(format!("must be text, not {}", other.kind())),
            },
            Form::Word(words) => Value::Word(word(raw, words)?),
            Form::Number(min, max) => Value::Number(number(raw, min, max)?),
            Form::NumberOrNone(min, max) => match number(raw, 0.0, max)? {
                n if n > 0.0 && n < min => {
                    return Err(format!("{n} is not 0, for none, or between {min} and {max}"));
                }
                n => Value::Number(n),
            },
            Form::Integer(min, max) => Value::Integer(integer(raw, min, max)?),
            Form::Switch => match raw {
                Raw::Switch(on) => Value::Switch(*on),
                other => return Err(format!("must be true or false, not {}", other.kind())),
            },
            Form::Quantity(unit, example) => unit.read(raw, example)?,
            Form::Range(unit, example, min, max) => unit.within(raw, example, min, Some(max))?,
            Form::AtLeast(unit, example, min) => unit.within(raw, example, min, None)?,
            Form::Bytes(min, max) => Value::Integer(bytes(raw, min, max)?),
            Form::BytesOr(min, max, words) => match one_of(words) {
                Some(word) => word,
                None => Value::Integer(bytes(raw, min, max)?),
            },
            Form::QuantityOr(unit, example, words) => match one_of(words) {
                Some(word) => word,
                None => unit.read(raw, example)?,
            },
            Form::PartOr(min, words) => match one_of(words) {
                Some(word) => word,
                None => Value::Number(number(raw, min, 1.0)?),
            },
            Form::WordOrTable(words, _) if !matches!(raw, Raw::Table) => Value::Word(word(raw, words)?),
            Form::LinkRate if !matches!(raw, Raw::Table) => return Form::rate("10Mbps").single(raw),
            Form::Application if !matches!(raw, Raw::Table) => return Form::rate("3Mbps").single(raw),
            Form::Sizes => sizes(raw)?,
            Form::LinkDelay(_) if !matches!(raw, Raw::Table) => return Form::delay("10ms").single(raw),
            _ => Value::Inner,
        })
    }

    /// A value as it would be written, for messages.
    pub fn example(&self) -> Option<String> {
        match *self {
            Form::Quantity(_, example)
            | Form::Range(_, example, ..)
            | Form::AtLeast(_, example, _)
            | Form::QuantityOr(_, example, _) => Some(format!("\"{example}\"")),
            Form::Word(words) | Form::WordOrTable(words, _) => {
                words.first().map(|word| format!("\"{word}\""))
            }
            Form::Any(example) | Form::List(_, example) | Form::Row(_, example) => Some(example.into()),
            Form::OrSteps(form, _) => form.example(),
            Form::Bytes(..) | Form::BytesOr(..) => Some("\"15kB\"".into()),
            Form::LinkRate => Some("\"10Mbps\"".into()),
            Form::Application => Some("\"3Mbps\"".into()),
            Form::Sizes => Some("\"20kB\"".into()),
            Form::LinkDelay(_) => Some("\"10ms\"".into()),
            Form::Number(min, max) => Some(if max <= 1.0 { "0.01".into() } else { min.max(1.0).to_string() }),
            Form::Integer(min, _) => Some(min.max(4).to_string()),
            _ => None,
        }
    }

    /// The least and the greatest quantity, in words; empty if the form does not say them.
    pub fn bounds(&self) -> String {
        match *self {
            Form::Range(_, _, min, max) => format!("from {min} to {max}"),
            Form::AtLeast(_, _, min) if SMALLEST.contains(&min) => "more than zero".into(),
            Form::AtLeast(_, _, min) => format!("at least {min}"),
            Form::Bytes(min, max) | Form::BytesOr(min, max, _) if min <= 1 && max >= 1 << 20 => String::new(),
            Form::Bytes(min, max) if max >= UNBOUNDED => format!("at least {min} bytes"),
            Form::Bytes(min, max) | Form::BytesOr(min, max, _) => format!("from {min} to {max} bytes"),
            _ => String::new(),
        }
    }

    fn bounds_after(&self, separator: &str) -> String {
        let bounds = self.bounds();
        if bounds.is_empty() { bounds } else { format!("{separator}{bounds}") }
    }

    /// The values in words.
    pub fn words(&self) -> String {
        let one_of =
            |words: &[&str]| words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(", ");
        match *self {
            Form::Text => "text".into(),
            Form::File => "a file".into(),
            Form::Word(words) => one_of(words),
            Form::Number(min, max) if max >= 1e9 => format!("number from {min}"),
            Form::Number(min, max) => format!("number from {min} to {max}"),
            Form::NumberOrNone(min, _) => format!("0, or number from {min}"),
            Form::Integer(min, max) if max >= 1 << 30 => format!("whole number from {min}"),
            Form::Integer(min, max) => format!("whole number from {min} to {max}"),
            Form::Switch => "true or false".into(),
            Form::Quantity(_, example) => format!("text with a unit, such as \"{example}\""),
            Form::Range(_, example, ..) | Form::AtLeast(_, example, _) => {
                format!("text with a unit, such as \"{example}\"{}", self.bounds_after(", "))
            }
            Form::Bytes(..) => format!("bytes, such as \"1000B\"{}", self.bounds_after(", ")),
            Form::BytesOr(min, max, words) => {
                format!("{}, or {}", Form::Bytes(min, max).words(), one_of(words))
            }
            Form::QuantityOr(_, example, words) => {
                format!("text with a unit, such as \"{example}\", or {}", one_of(words))
            }
            Form::PartOr(min, words) => format!("number from {min} to 1, or {}", one_of(words)),
            Form::WordOrTable(words, name) => format!("{}, or table: {name}", one_of(words)),
            Form::Table(name) => format!("table: {name}"),
            Form::Tables(name) => format!("array of tables: {name}"),
            Form::Losses => "a loss, or an array of losses".into(),
            Form::Controller => "a controller".into(),
            Form::Queue => "a queue discipline".into(),
            Form::Router => "a router".into(),
            Form::LinkRate => "text with a unit, such as \"10Mbps\", or a table with `kind`".into(),
            Form::Application => "text with a unit, such as \"3Mbps\", or a table with `kind`".into(),
            Form::Sizes => "bytes, such as \"20kB\", two sizes such as [\"30kB\", \"50kB\"], or the name of a distribution or of a file".into(),
            Form::LinkDelay(name) => {
                format!("{}, or table: {name}", Form::delay("10ms").words())
            }
            Form::TextOrTexts => "text, or an array of text".into(),
            Form::OrSteps(form, example) => format!("{}, or such as {example}", form.words()),
            Form::Any(example) | Form::List(_, example) | Form::Row(_, example) => {
                format!("such as {example}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_values_are_told() {
        let told = |form: Form, raw: Raw<'_>| form.value(&raw).unwrap_err().message;
        let range = Form::Range(Unit::Time, "5ms", "1us", "10s");
        assert_eq!(told(range, Raw::Text("20s")), "must be from 1us to 10s");
        let least = Form::AtLeast(Unit::Rate, "1Mbps", "80kbps");
        assert_eq!(told(least, Raw::Text("10kbps")), "must be at least 80kbps");
        assert_eq!(told(range, Raw::Integer(5)), "5 has no unit: write it like \"5ms\"");
        assert_eq!(told(range, Raw::Switch(true)), "must be a quantity like \"5ms\", not true or false");
        assert_eq!(told(Form::Number(0.0, 1.0), Raw::Float(f64::NAN)), "NaN is not between 0 and 1");
        assert_eq!(
            told(Form::Number(0.0, 1.0), Raw::Text("x")),
            "must be a number such as 0.01, or text such as \"1%\", not \"x\""
        );
        assert_eq!(told(Form::Number(0.0, 2.0), Raw::Text("1%")), "must be a number, not text");
        assert_eq!(told(Form::Number(0.0, 1.0), Raw::Text("101%")), "1.01 is not between 0 and 1");
        assert_eq!(told(Form::Integer(1, 4), Raw::Integer(-1)), "-1 is not between 1 and 4");
        assert_eq!(
            told(Form::NumberOrNone(1.0, 9.0), Raw::Float(0.5)),
            "0.5 is not 0, for none, or between 1 and 9"
        );
        assert_eq!(
            told(Form::Word(&["wrr", "tsfifo"]), Raw::Text("wr")),
            "unknown value \"wr\"; did you mean \"wrr\"?"
        );
        assert_eq!(told(Form::Bytes(1, 9), Raw::Text("10B")), "must be from 1 to 9 bytes, such as \"1000B\"");
        const PAIR: Form = Form::Row(&[Form::Number(0.0, 9.0), Form::Number(0.0, 9.0)], "[1, 2]");
        let short = Raw::List(vec![Raw::Integer(1)]);
        assert_eq!(told(PAIR, short.clone()), "must be an array such as [1, 2]");
        let pairs = Form::List(&PAIR, "[[1, 2]]");
        assert_eq!(told(pairs, Raw::Switch(true)), "must be a list, such as [[1, 2]], not true or false");
        let good = Raw::List(vec![Raw::Integer(1), Raw::Integer(2)]);
        assert_eq!(pairs.value(&Raw::List(vec![good, short])).unwrap_err().element, Some(1));
    }

    #[test]
    fn values_have_the_type_of_their_form() {
        let value = |form: Form, raw: Raw<'_>| form.value(&raw).unwrap();
        assert_eq!(value(Form::Bytes(1, 9999), Raw::Text("1500B")), Value::Integer(1500));
        assert_eq!(value(Form::Bytes(1, 9999), Raw::Integer(1500)), Value::Integer(1500));
        assert_eq!(value(Form::Number(0.0, 9.0), Raw::Integer(1)), Value::Number(1.0));
        assert_eq!(value(Form::PartOr(0.1, &["auto"]), Raw::Text("auto")), Value::Word("auto"));
        assert_eq!(value(Form::Number(0.0, 1.0), Raw::Text("0.3 %")), Value::Number(0.003));
        let limit = Form::QuantityOr(Unit::Limit, "5p", &["auto"]);
        assert_eq!(value(limit, Raw::Text("5p")), Value::Limit(Limit::Packets(5)));
        let texts =
            |names: &[&str]| Value::List(names.iter().map(|name| Value::Text((*name).into())).collect());
        assert_eq!(value(Form::TextOrTexts, Raw::Text("a")), texts(&["a"]));
        assert_eq!(
            value(Form::TextOrTexts, Raw::List(vec![Raw::Text("a"), Raw::Text("b")])),
            texts(&["a", "b"])
        );
        assert_eq!(value(Form::LinkRate, Raw::Table), Value::Inner);
        assert_eq!(value(Form::LinkDelay("d"), Raw::Table), Value::Inner);
    }
}
