//! Parameters of controllers: keys as those of tables, declared once with values, unit, default and source.

use crate::policy::Plan;
use params::{Form, Key, Raw, Values};
use std::fmt;
use std::sync::Arc;

/// A number from `min` to `max`, in `unit`; `default` as it would be written.
pub(crate) const fn number(
    name: &'static str,
    default: &'static str,
    [min, max]: [f64; 2],
    unit: &'static str,
    doc: &'static str,
) -> Key {
    Key { unit, ..params::key(name, Form::Number(min, max), default, doc) }
}

/// On or off.
pub(crate) const fn switch(name: &'static str, default: bool, doc: &'static str) -> Key {
    params::key(name, Form::Switch, if default { "true" } else { "false" }, doc)
}

/// One of several words; the first is the default.
macro_rules! choice {
    ($name:literal, [$first:literal $(, $word:literal)* $(,)?], $doc:expr $(,)?) => {
        params::key(
            $name,
            params::Form::Word(&[$first $(, $word)*]),
            concat!("\"", $first, "\""),
            $doc,
        )
    };
}
pub(crate) use choice;

/// A value for a parameter.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamValue {
    /// A number.
    Number(f64),
    /// A switch.
    Switch(bool),
    /// A word.
    Word(String),
    /// What a policy file says.
    Policy(Arc<Plan>),
}

impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamValue::Number(n) => write!(f, "{n}"),
            ParamValue::Switch(b) => write!(f, "{b}"),
            ParamValue::Word(w) => write!(f, "\"{w}\""),
            ParamValue::Policy(_) => f.write_str("a policy"),
        }
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
    /// That of the one parameter that is a file.
    policy: Option<Arc<Plan>>,
}

impl Params {
    /// Checks `values` against the declarations in `declared` and fills in defaults. Fails on the first unknown name and on
    /// the first invalid value.
    pub fn new<'a>(
        declared: &'static [Key],
        values: impl IntoIterator<Item = (&'a str, ParamValue)>,
    ) -> Result<Params, ParamError> {
        let has_policy = declared.iter().any(|key| key.form == Form::File);
        let mut params =
            Params { values: Values::defaults(declared, 0), policy: has_policy.then(crate::policy::trained) };
        for (name, value) in values {
            let refuse = |reason| ParamError { name: name.into(), reason };
            let key = declared.iter().find(|key| key.name == name).ok_or_else(|| refuse(None))?;
            let raw = match &value {
                ParamValue::Number(n) => Raw::Float(*n),
                ParamValue::Switch(on) => Raw::Switch(*on),
                ParamValue::Word(word) => Raw::Text(word),
                ParamValue::Policy(plan) if key.form == Form::File => {
                    params.policy = Some(plan.clone());
                    continue;
                }
                ParamValue::Policy(_) => Raw::Table,
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

    /// The policy of a controller that has one.
    pub fn policy(&self) -> Arc<Plan> {
        self.policy.clone().unwrap_or_else(|| panic!("no parameter is a policy file"))
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
            for key in controller.params.iter().filter(|key| key.form != Form::File) {
                assert!(key.default(0).is_some(), "{}: {}", controller.name, key.name);
            }
        }
    }
}
