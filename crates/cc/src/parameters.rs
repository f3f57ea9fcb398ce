//! Parameters of controllers: keys as those of tables, declared once with values, unit, default and source.

use params::{Raw, Values};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// A number from `min` to `max`, in `unit`; `default` as it would be written.
pub const fn number(
    name: &'static str,
    default: &'static str,
    [min, max]: [f64; 2],
    unit: &'static str,
    doc: &'static str,
) -> Key {
    Key { unit, ..params::key(name, Form::Number(min, max), default, doc) }
}

/// On or off.
pub const fn switch(name: &'static str, default: bool, doc: &'static str) -> Key {
    params::key(name, Form::Switch, if default { "true" } else { "false" }, doc)
}

/// One of several words; the first is the default.
#[macro_export]
macro_rules! choice {
    ($name:literal, [$first:literal $(, $word:literal)* $(,)?], $doc:expr $(,)?) => {
        $crate::parameters::key(
            $name,
            $crate::parameters::Form::Word(&[$first $(, $word)*]),
            concat!("\"", $first, "\""),
            $doc,
        )
    };
}
pub use choice;
pub use params::{Form, Key};

#[doc(hidden)]
pub use params::key;

/// A value for a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamValue {
    /// A number.
    Number(f64),
    /// A switch.
    Switch(bool),
    /// A word.
    Word(String),
    /// The content of a file.
    File(FileContent),
}

impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamValue::Number(n) => write!(f, "{n}"),
            ParamValue::Switch(b) => write!(f, "{b}"),
            ParamValue::Word(w) => write!(f, "\"{w}\""),
            ParamValue::File(_) => f.write_str("a file"),
        }
    }
}

/// The content of a file that a parameter names, in the form in which its controller uses it. Files of the same text are
/// equal.
#[derive(Clone)]
pub struct FileContent {
    text: Arc<str>,
    content: Arc<dyn Any + Send + Sync>,
}

impl FileContent {
    /// What `content` was read from is `text`.
    pub fn new<T: Send + Sync + 'static>(text: &str, content: T) -> FileContent {
        FileContent { text: text.into(), content: Arc::new(content) }
    }

    /// The content, if it is of type `T`.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.content.clone().downcast().ok()
    }
}

impl PartialEq for FileContent {
    fn eq(&self, other: &FileContent) -> bool {
        self.text == other.text
    }
}

/// The text, which is part of the identity of a run.
impl fmt::Debug for FileContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A refused parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamError {
    /// Its name.
    pub name: String,
    /// What is wrong with the value; `None` if there is no such parameter.
    pub reason: Option<String>,
}

/// The values of all parameters of one controller, defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    values: Values,
    /// That of the parameter that is a file, if there is one and it has a value.
    file: Option<FileContent>,
}

impl Params {
    /// Checks `values` against the declarations in `declared` and fills in defaults. Fails on the first unknown name and on
    /// the first invalid value.
    pub fn new<'a>(
        declared: &'static [Key],
        values: impl IntoIterator<Item = (&'a str, ParamValue)>,
    ) -> Result<Params, ParamError> {
        let mut params = Params { values: Values::defaults(declared, 0), file: None };
        for (name, value) in values {
            let refuse = |reason| ParamError { name: name.into(), reason };
            let key = declared.iter().find(|key| key.name == name).ok_or_else(|| refuse(None))?;
            let raw = match &value {
                ParamValue::Number(n) => Raw::Float(*n),
                ParamValue::Switch(on) => Raw::Switch(*on),
                ParamValue::Word(word) => Raw::Text(word),
                ParamValue::File(content) if key.form == Form::File => {
                    params.file = Some(content.clone());
                    continue;
                }
                ParamValue::File(_) => Raw::Table,
            };
            match key.form.value(&raw) {
                Ok(_) if key.form == Form::File => {
                    return Err(refuse(Some(format!("{value} is not the name of a policy file"))));
                }
                Ok(value) => params.values.set(key.name, value),
                Err(error) => return Err(refuse(Some(error.message))),
            }
        }
        Ok(params)
    }

    /// The number called `name`.
    ///
    /// # Panics
    /// If it is not declared as a number; so do the others.
    pub fn number(&self, name: &str) -> f64 {
        self.values.read(name)
    }

    /// The switch called `name`.
    pub fn switch(&self, name: &str) -> bool {
        self.values.read(name)
    }

    /// The word chosen for `name`.
    pub fn choice(&self, name: &str) -> &'static str {
        self.values.read(name)
    }

    /// The content of the parameter that is a file; `None` without a value.
    pub fn file<T: Send + Sync + 'static>(&self) -> Option<Arc<T>> {
        self.file.as_ref().and_then(FileContent::get)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARED: &[Key] =
        &[number("alpha", "1", [0.0, 10.0], "segments", ""), choice!("reading", ["ns2", "linux"], "")];

    #[test]
    fn defaults_and_refusals() {
        let p = Params::new(DECLARED, [("alpha", ParamValue::Number(2.0))]).unwrap();
        assert_eq!((p.number("alpha"), p.choice("reading")), (2.0, "ns2"));
        let refused = |name, value| Params::new(DECLARED, [(name, value)]).unwrap_err().reason;
        let reason = |text: &str| Some(text.to_string());
        assert_eq!(refused("alhpa", ParamValue::Number(1.0)), None);
        assert_eq!(refused("alpha", ParamValue::Number(11.0)), reason("11 is not between 0 and 10"));
        assert_eq!(refused("alpha", ParamValue::Number(f64::NAN)), reason("NaN is not between 0 and 10"));
        assert_eq!(
            refused("reading", ParamValue::Word("bsd".into())),
            reason("unknown value \"bsd\"; known: ns2, linux")
        );
        assert_eq!(refused("reading", ParamValue::Switch(true)), reason("must be text, not true or false"));
    }

    #[test]
    fn every_default_is_a_value() {
        for controller in crate::CONTROLLERS {
            let descriptor = &controller.descriptor;
            for key in descriptor.params.iter().filter(|key| key.form != Form::File) {
                assert!(key.default(0).is_some(), "{}: {}", descriptor.name, key.name);
            }
        }
    }
}
