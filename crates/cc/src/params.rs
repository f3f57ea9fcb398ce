//! Parameters of models: declared once, with unit, default and source.

use crate::policy::Plan;
use std::fmt;
use std::sync::Arc;

/// What a parameter may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParamKind {
    /// A number within bounds, both included; the default first.
    Number {
        /// Default.
        default: f64,
        /// Least value allowed.
        min: f64,
        /// Greatest value allowed.
        max: f64,
    },
    /// On or off.
    Switch(bool),
    /// One of several words; the first is the default.
    Choice(&'static [&'static str]),
    /// A policy file; the default is the policy that ships.
    Policy,
}

/// A declared parameter.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name in scenarios.
    pub name: &'static str,
    /// Kind, bounds and default.
    pub kind: ParamKind,
    /// Unit, or an empty string.
    pub unit: &'static str,
    /// What it does, and where the default comes from.
    pub doc: &'static str,
}

impl Param {
    /// A number from `min` to `max`.
    pub(crate) const fn number(
        name: &'static str,
        default: f64,
        [min, max]: [f64; 2],
        unit: &'static str,
        doc: &'static str,
    ) -> Param {
        Param { name, kind: ParamKind::Number { default, min, max }, unit, doc }
    }
}

/// A value given for a parameter.
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

/// A refused parameter. An unknown name has no reason.
#[derive(Clone, Debug, PartialEq)]
pub struct ParamError {
    /// The name that was given.
    pub name: String,
    /// What is wrong with the value; `None` if there is no such parameter.
    pub reason: Option<String>,
}

/// The values of all parameters of one model, defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    values: Vec<(&'static str, ParamValue)>,
}

impl Params {
    /// Checks the values in `given` against the declarations in `declared` and fills in defaults. Fails on the first
    /// unknown name and on the first invalid value.
    pub fn new<'a>(
        declared: &'static [Param],
        given: impl IntoIterator<Item = (&'a str, ParamValue)>,
    ) -> Result<Params, ParamError> {
        let mut values: Vec<(&'static str, ParamValue)> = declared
            .iter()
            .map(|p| {
                let default = match p.kind {
                    ParamKind::Number { default, .. } => ParamValue::Number(default),
                    ParamKind::Switch(on) => ParamValue::Switch(on),
                    ParamKind::Choice(words) => ParamValue::Word(words[0].into()),
                    ParamKind::Policy => ParamValue::Policy(crate::policy::trained()),
                };
                (p.name, default)
            })
            .collect();
        for (name, value) in given {
            let refuse = |reason| Err(ParamError { name: name.into(), reason });
            let Some(index) = declared.iter().position(|p| p.name == name) else { return refuse(None) };
            match (declared[index].kind, &value) {
                (ParamKind::Number { min, max, .. }, ParamValue::Number(n)) => {
                    if !(min..=max).contains(n) {
                        return refuse(Some(format!("{n} is not between {min} and {max}")));
                    }
                }
                (ParamKind::Switch(_), ParamValue::Switch(_)) => {}
                (ParamKind::Policy, ParamValue::Policy(_)) => {}
                (ParamKind::Choice(words), ParamValue::Word(word)) => {
                    if !words.contains(&word.as_str()) {
                        return refuse(Some(format!("\"{word}\" is not one of {}", words.join(", "))));
                    }
                }
                (ParamKind::Number { .. }, _) => return refuse(Some(format!("{value} is not a number"))),
                (ParamKind::Policy, _) => {
                    return refuse(Some(format!("{value} is not the name of a policy file")));
                }
                (ParamKind::Switch(_), _) => return refuse(Some(format!("{value} is not true or false"))),
                (ParamKind::Choice(words), _) => {
                    return refuse(Some(format!("{value} is not one of {}", words.join(", "))));
                }
            }
            values[index].1 = value;
        }
        Ok(Params { values })
    }

    /// The values of a model without parameters.
    pub const fn none() -> Params {
        Params { values: Vec::new() }
    }

    fn get(&self, name: &str) -> &ParamValue {
        match self.values.iter().find(|(n, _)| *n == name) {
            Some((_, value)) => value,
            None => panic!("parameter {name} is read but not declared"),
        }
    }
    /// The number called `name`.
    pub fn number(&self, name: &str) -> f64 {
        match self.get(name) {
            ParamValue::Number(n) => *n,
            other => panic!("parameter {name} is {other}, read as a number"),
        }
    }
    /// The switch called `name`.
    pub fn switch(&self, name: &str) -> bool {
        match self.get(name) {
            ParamValue::Switch(on) => *on,
            other => panic!("parameter {name} is {other}, read as a switch"),
        }
    }
    /// The word chosen for `name`.
    pub fn choice(&self, name: &str) -> &str {
        match self.get(name) {
            ParamValue::Word(word) => word,
            other => panic!("parameter {name} is {other}, read as a word"),
        }
    }
    /// The policy chosen for `name`.
    pub fn policy(&self, name: &str) -> Arc<Plan> {
        match self.get(name) {
            ParamValue::Policy(plan) => plan.clone(),
            other => panic!("parameter {name} is {other}, read as a policy"),
        }
    }
    /// Every name with its value, in the order of declaration.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &ParamValue)> {
        self.values.iter().map(|(name, value)| (*name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DECLARED: &[Param] = &[
        Param {
            name: "alpha",
            kind: ParamKind::Number { default: 1.0, min: 0.0, max: 10.0 },
            unit: "segments",
            doc: "",
        },
        Param { name: "reading", kind: ParamKind::Choice(&["ns2", "linux"]), unit: "", doc: "" },
    ];

    #[test]
    fn defaults_and_refusals() {
        let p = Params::new(DECLARED, [("alpha", ParamValue::Number(2.0))]).unwrap();
        assert_eq!((p.number("alpha"), p.choice("reading")), (2.0, "ns2"));
        let refused = |name, value| Params::new(DECLARED, [(name, value)]).unwrap_err();
        assert_eq!(refused("alhpa", ParamValue::Number(1.0)).reason, None);
        assert_eq!(refused("alpha", ParamValue::Number(11.0)).reason.unwrap(), "11 is not between 0 and 10");
        assert_eq!(
            refused("alpha", ParamValue::Number(f64::NAN)).reason.unwrap(),
            "NaN is not between 0 and 10"
        );
        assert_eq!(
            refused("reading", ParamValue::Word("bsd".into())).reason.unwrap(),
            "\"bsd\" is not one of ns2, linux"
        );
        assert_eq!(
            refused("reading", ParamValue::Switch(true)).reason.unwrap(),
            "true is not one of ns2, linux"
        );
    }
}
