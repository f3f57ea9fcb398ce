//! Errors in the input of a user: one message with the place, the key and a correction.

use std::fmt;
use std::sync::Arc;

/// The place where a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In a file.
    Line {
        /// The file.
        file: Arc<str>,
        /// Counted from 1.
        line: usize,
    },
    /// On the command line.
    Set(Arc<str>),
}

/// A scenario that cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file, or `--set KEY`.
    pub file: String,
    /// The line, counted from 1; none for a value given on the command line.
    pub line: Option<usize>,
    /// The key with the tables that hold it, such as `flow.fwd.tcp.window`; empty if the text is no TOML.
    pub key: String,
    /// What is wrong, and what to write instead.
    pub message: String,
    /// Whether a controller needs something that the scenario does not provide (a signal, a router). The scenario
    /// runs with other controllers.
    pub unmet_need: bool,
    /// Messages on the other mistakes of the same file, each with its place.
    pub others: Vec<String>,
}

impl ScenarioError {
    pub(crate) fn new(origin: &Origin, key: &str, message: impl Into<String>) -> ScenarioError {
        let (file, line) = match origin {
            Origin::Line { file, line } => (file.to_string(), Some(*line)),
            Origin::Set(key) => (format!("--set {key}"), None),
        };
        ScenarioError {
            file,
            line,
            key: key.into(),
            message: message.into(),
            unmet_need: false,
            others: Vec::new(),
        }
    }

    /// Marks the error as an unmet need of a controller.
    pub(crate) fn unmet(self) -> ScenarioError {
        ScenarioError { unmet_need: true, ..self }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        // What `--set` names is not said again.
        let named = self.file.strip_prefix("--set ").and_then(|set| self.key.strip_prefix(set));
        let key = match named {
            Some(rest) if rest.is_empty() || rest.starts_with('.') => rest.trim_start_matches('.'),
            _ => &self.key,
        };
        if !key.is_empty() {
            write!(f, ": {key}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for ScenarioError {}

/// The name among `known` nearest to `name`, as a remark; the whole list if none is near.
pub(crate) fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let distance = |known: &str| strsim::osa_distance(&name.to_lowercase(), &known.to_lowercase());
    let best = known.iter().map(|k| (distance(k), *k)).min();
    match best {
        Some((d, k)) if d <= (k.len().max(name.chars().count()) / 3).max(1) => {
            format!("did you mean \"{k}\"?")
        }
        Some(_) if known.len() <= 12 => format!("known: {}", known.join(", ")),
        Some(_) => format!("known: {}, ...", known[..12].join(", ")),
        None => "there is none yet".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_nearest() {
        assert_eq!(nearest("vegsa", ["reno", "vegas", "cubic"]), "did you mean \"vegas\"?");
        assert_eq!(nearest("delya", ["rate", "delay"]), "did you mean \"delay\"?");
        assert_eq!(nearest("xyzzy", ["reno", "vegas"]), "known: reno, vegas");
        assert_eq!(nearest("bbr", ["bic", "reno"]), "known: bic, reno");
    }
}
