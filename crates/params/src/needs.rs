//! What else a table must say for a key to have an effect.

/// A condition on the values of other keys.
#[derive(Clone, Copy, Debug)]
pub enum Needs {
    /// None: the key has an effect in every table.
    Nothing,
    /// A key has one of these values, as they are written. A key without a value meets it.
    Is(&'static str, &'static [&'static str]),
    /// A key has none of these values.
    IsNot(&'static str, &'static [&'static str]),
    /// All of these.
    All(&'static [Needs]),
    /// One of these.
    Any(&'static [Needs]),
    /// This, and a table without it is refused; otherwise it gets advice.
    Required(&'static Needs),
}

/// A condition that does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmet {
    /// The key with another value.
    pub key: &'static str,
    /// That key and its value, in words.
    pub because: String,
    /// What must be written, in words.
    pub remedy: String,
    /// Whether the table is refused.
    pub required: bool,
}

impl Unmet {
    /// What to tell the user of a key that therefore has no effect.
    pub fn message(&self) -> String {
        format!("has no effect with {}: remove it, or write {}", self.because, self.remedy)
    }
}

impl Needs {
    /// The first part that does not hold. `value` gives the value of a key as it is written, empty if it has none.
    pub fn unmet(&self, value: &impl Fn(&str) -> String) -> Option<Unmet> {
        let unmet = |key: &'static str, now: String| Unmet {
            key,
            because: format!("{key} = {}", written(&now)),
            remedy: self.words(),
            required: false,
        };
        match *self {
            Needs::Nothing => None,
            Needs::Is(key, words) => {
                let now = value(key);
                (!now.is_empty() && !words.contains(&&*now)).then(|| unmet(key, now))
            }
            Needs::IsNot(key, words) => {
                let now = value(key);
                words.contains(&&*now).then(|| unmet(key, now))
            }
            Needs::All(parts) => {
                let first = parts.iter().find_map(|part| part.unmet(value))?;
                Some(Unmet { remedy: self.words(), ..first })
            }
            Needs::Any(parts) => {
                let unmet: Option<Vec<Unmet>> = parts.iter().map(|part| part.unmet(value)).collect();
                let first = unmet?.into_iter().next()?;
                Some(Unmet { remedy: self.words(), ..first })
            }
            Needs::Required(needs) => Some(Unmet { required: true, ..needs.unmet(value)? }),
        }
    }

    /// The condition in words, such as `recovery = "sack" or "rack" with sack = true`; empty for none.
    pub fn words(&self) -> String {
        let several =
            |words: &[&str]| words.iter().map(|word| written(word)).collect::<Vec<_>>().join(" or ");
        let joined = |parts: &[Needs], by: &str| parts.iter().map(Needs::words).collect::<Vec<_>>().join(by);
        match *self {
            Needs::Nothing => String::new(),
            Needs::Is(key, words) => format!("{key} = {}", several(words)),
            Needs::IsNot(key, words) => format!("{key} other than {}", several(words)),
            Needs::All(parts) => joined(parts, " with "),
            Needs::Any(parts) => joined(parts, ", or "),
            Needs::Required(needs) => needs.words(),
        }
    }

    /// The keys that it names.
    pub fn keys(&self) -> Vec<&'static str> {
        match *self {
            Needs::Nothing => Vec::new(),
            Needs::Is(key, _) | Needs::IsNot(key, _) => vec![key],
            Needs::All(parts) | Needs::Any(parts) => parts.iter().flat_map(Needs::keys).collect(),
            Needs::Required(needs) => needs.keys(),
        }
    }
}

/// A value as a table has it: words in quotes, switches and numbers without.
fn written(value: &str) -> String {
    let plain = matches!(value, "true" | "false") || value.parse::<f64>().is_ok();
    if plain { value.into() } else { format!("\"{value}\"") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_hold_is_told() {
        const SACKS: Needs =
            Needs::All(&[Needs::Is("recovery", &["sack", "rack"]), Needs::Is("sack", &["true"])]);
        const EITHER: Needs = Needs::Any(&[Needs::Is("tso", &["true"]), Needs::IsNot("tick", &["0s"])]);
        let value = |key: &str| match key {
            "recovery" => "rack".to_string(),
            "sack" | "tso" => "false".into(),
            "tick" => "0s".into(),
            _ => String::new(),
        };
        let sacks = SACKS.unmet(&value).unwrap();
        assert_eq!((sacks.key, &*sacks.because, sacks.required), ("sack", "sack = false", false));
        assert_eq!(sacks.remedy, "recovery = \"sack\" or \"rack\" with sack = true");
        assert!(Needs::Required(&SACKS).unmet(&value).unwrap().required);
        assert_eq!(EITHER.unmet(&value).unwrap().remedy, "tso = true, or tick other than \"0s\"");
        assert_eq!(EITHER.keys(), ["tso", "tick"]);
        assert!(Needs::Is("recovery", &["rack"]).unmet(&value).is_none());
        assert!(
            Needs::Is("unknown", &["rack"]).unmet(&value).is_none() && Needs::Nothing.unmet(&value).is_none()
        );
    }
}
