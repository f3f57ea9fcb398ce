//! Errors in the input of a user: one message with the place, the key and a correction.

use crate::files::FileAccess;
pub(crate) use params::{meant, nearest};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A text that a scenario is read from.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// Its file, as messages name it. Paths in the text are relative to its folder.
    pub file: String,
    /// What the text may name.
    pub access: FileAccess,
}

/// The place where a value was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// In a file.
    Line {
        /// The text of the file.
        source: Arc<Source>,
        /// Counted from 1.
        line: usize,
    },
    /// In an assignment.
    Set {
        /// What messages name: `--set KEY`, or another option that assigns.
        place: Arc<str>,
        /// The text that the assignment comes with; none for one of the command line, which may name everything.
        source: Option<Arc<Source>>,
    },
}

impl Origin {
    /// An assignment of the command line.
    pub(crate) fn command_line(key: &str) -> Origin {
        Origin::Set { place: format!("--set {key}").into(), source: None }
    }

    /// What a value that was written here may name.
    pub(crate) fn access(&self) -> &FileAccess {
        match self {
            Origin::Line { source, .. } | Origin::Set { source: Some(source), .. } => &source.access,
            Origin::Set { source: None, .. } => &FileAccess::Anywhere,
        }
    }

    /// The path of a file that a value written here names: relative to the folder of its file, or, in an assignment,
    /// to the current folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        match self {
            Origin::Line { source, .. } => Path::new(&source.file).with_file_name(name),
            Origin::Set { .. } => name.into(),
        }
    }

    /// Checks that a value written here may name `path` as its base file or as code.
    pub(crate) fn check_inside(&self, path: &Path) -> Result<(), String> {
        match self {
            Origin::Line { source, .. } => source.access.check_inside(&source.file, path),
            Origin::Set { source: Some(source), .. } => source.access.check_inside(&source.file, path),
            Origin::Set { source: None, .. } => Ok(()),
        }
    }
}

/// What kind of mistake it is, where the kind decides how the error is treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorKind {
    /// Any other mistake.
    #[default]
    Other,
    /// A key that its table does not have.
    UnknownKey,
    /// A key that its table must have.
    MissingKey,
    /// A controller needs something that the scenario does not provide (a signal, a router). The scenario runs with
    /// other controllers.
    UnmetNeed,
    /// A text that may not name code names a controller in Python.
    Code,
}

/// A scenario that cannot be run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScenarioError {
    /// The file, or `--set KEY`.
    pub file: String,
    /// The line, counted from 1; none for a value of an assignment.
    pub line: Option<usize>,
    /// The key with the tables that hold it, such as `flow.fwd.tcp.window`; empty if the text is no TOML.
    pub key: String,
    /// What is wrong, and what to write instead.
    pub message: String,
    /// What kind of mistake it is.
    pub kind: ErrorKind,
    /// Messages on the other mistakes of the same file, each with its place.
    pub others: Vec<String>,
}

impl ScenarioError {
    pub(crate) fn new(origin: &Origin, key: &str, message: impl Into<String>) -> ScenarioError {
        let (file, line) = match origin {
            Origin::Line { source, line } => (source.file.clone(), Some(*line)),
            Origin::Set { place, source: None } => (place.to_string(), None),
            Origin::Set { place, source: Some(source) } => {
                (format!("{}: {}", source.file, place.trim_start_matches("--")), None)
            }
        };
        ScenarioError { file, line, key: key.into(), message: message.into(), ..ScenarioError::default() }
    }

    pub(crate) fn of_kind(self, kind: ErrorKind) -> ScenarioError {
        ScenarioError { kind, ..self }
    }

    /// Marks the error as an unmet need of a controller.
    pub(crate) fn unmet(self) -> ScenarioError {
        self.of_kind(ErrorKind::UnmetNeed)
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        // What the assignment names is not said again.
        let set = self.line.is_none().then(|| self.file.split_once("set ")).flatten();
        let named = set.and_then(|(_, set)| self.key.strip_prefix(set));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_an_assignment_is_named_once() {
        let source = Arc::new(Source { file: "link".into(), access: FileAccess::default() });
        let of_link = Origin::Set { place: "--set flow.f".into(), source: Some(source) };
        let message = |origin: &Origin| ScenarioError::new(origin, "flow.f.tcp.mss", "is wrong").to_string();
        assert_eq!(message(&Origin::command_line("flow.f")), "--set flow.f: tcp.mss: is wrong");
        assert_eq!(message(&of_link), "link: set flow.f: tcp.mss: is wrong");
    }
}
