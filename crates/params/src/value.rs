//! Values of keys.

use units::{Angle, Length, Limit, Rate, Span, Speed};

/// A value as a file has it.
#[derive(Clone, Debug, PartialEq)]
pub enum Raw<'a> {
    /// Text.
    Text(&'a str),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Float(f64),
    /// `true` or `false`.
    Switch(bool),
    /// An array.
    List(Vec<Raw<'a>>),
    /// A table.
    Table,
}

impl Raw<'_> {
    /// The kind of the value, for messages.
    pub fn kind(&self) -> &'static str {
        match self {
            Raw::Text(_) => "text",
            Raw::Integer(_) | Raw::Float(_) => "a number",
            Raw::Switch(_) => "true or false",
            Raw::List(_) => "a list",
            Raw::Table => "a table",
        }
    }
}

/// A value that a key takes.
#[derive(Clone, Debug, PartialEq, PartialOrd)]
pub enum Value {
    /// Text.
    Text(String),
    /// One of the words of a key.
    Word(&'static str),
    /// A number.
    Number(f64),
    /// A whole number, or a number of bytes.
    Integer(u64),
    /// On or off.
    Switch(bool),
    /// A time span.
    Time(Span),
    /// A rate.
    Rate(Rate),
    /// A limit of a queue.
    Limit(Limit),
    /// A length.
    Length(Length),
    /// An angle.
    Angle(Angle),
    /// A speed.
    Speed(Speed),
    /// An array.
    List(Vec<Value>),
    /// A table, or an array of tables, with keys of its own.
    Inner,
}

/// A type that a value can be read as.
pub trait FromValue: Sized {
    /// The value as this type; none if it is of another kind.
    fn from_value(value: &Value) -> Option<Self>;

    /// The value of a key that has none, if it may be absent.
    fn absent() -> Option<Self> {
        None
    }
}

macro_rules! from_value {
    ($($type:ty: $pattern:pat => $result:expr;)*) => {
        $(impl FromValue for $type {
            fn from_value(value: &Value) -> Option<$type> {
                if let $pattern = value { $result } else { None }
            }
        })*
    };
}

from_value! {
    String: Value::Text(text) => Some(text.clone());
    &'static str: Value::Word(word) => Some(*word);
    f64: Value::Number(n) => Some(*n);
    f32: Value::Number(n) => Some(*n as f32);
    u64: Value::Integer(n) => Some(*n);
    u32: Value::Integer(n) => u32::try_from(*n).ok();
    u8: Value::Integer(n) => u8::try_from(*n).ok();
    usize: Value::Integer(n) => usize::try_from(*n).ok();
    bool: Value::Switch(on) => Some(*on);
    Span: Value::Time(span) => Some(*span);
    Rate: Value::Rate(rate) => Some(*rate);
    Limit: Value::Limit(limit) => Some(*limit);
    Length: Value::Length(length) => Some(*length);
    Angle: Value::Angle(angle) => Some(*angle);
    Speed: Value::Speed(speed) => Some(*speed);
}

impl<T: FromValue> FromValue for Vec<T> {
    fn from_value(value: &Value) -> Option<Vec<T>> {
        let Value::List(values) = value else { return None };
        values.iter().map(T::from_value).collect()
    }
}

impl<T: FromValue, const N: usize> FromValue for [T; N] {
    fn from_value(value: &Value) -> Option<[T; N]> {
        Vec::from_value(value)?.try_into().ok()
    }
}

impl<A: FromValue, B: FromValue> FromValue for (A, B) {
    fn from_value(value: &Value) -> Option<(A, B)> {
        let Value::List(values) = value else { return None };
        let [a, b] = &values[..] else { return None };
        Some((A::from_value(a)?, B::from_value(b)?))
    }
}

impl<A: FromValue, B: FromValue, C: FromValue> FromValue for (A, B, C) {
    fn from_value(value: &Value) -> Option<(A, B, C)> {
        let Value::List(values) = value else { return None };
        let [a, b, c] = &values[..] else { return None };
        Some((A::from_value(a)?, B::from_value(b)?, C::from_value(c)?))
    }
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Value) -> Option<Option<T>> {
        T::from_value(value).map(Some)
    }
    fn absent() -> Option<Option<T>> {
        Some(None)
    }
}
