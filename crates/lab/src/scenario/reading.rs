//! What one reading of a document collects: the mistakes of all its tables, and advice on text that has a better form.
//!
//! A reader of a table reports a mistake to the [`Reading`] and gets [`Reported`] for it, which takes the place of the value.
//! What needs that value passes it on, so that no mistake follows from another.

use super::key::{key_parts, key_text};
use crate::error::{ErrorKind, ScenarioError, meant};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// The most mistakes that are told.
const MOST_MISTAKES: usize = 50;

/// The arrays of tables with names.
const NAMED: [&str; 4] = ["link", "flow", "traffic", "change"];

/// The most lines of advice.
const MOST_ADVICE: usize = 10_000;

/// The result of a reader: a value, or [`Reported`].
pub type Result<T, E = Reported> = std::result::Result<T, E>;

/// A value that cannot be read, because of a mistake that the reading has.
#[derive(Clone, Copy, Debug)]
pub struct Reported(());

/// The mistakes and the advice of the tables that are read.
#[derive(Debug, Default)]
pub struct Reading {
    mistakes: RefCell<Mistakes>,
    advice: RefCell<Advice>,
}

/// The first mistake about each key at each place.
#[derive(Debug, Default)]
struct Mistakes {
    errors: Vec<ScenarioError>,
    places: BTreeSet<(String, Option<usize>, String)>,
}

/// Lines of advice, each once, in the order in which they were given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Advice {
    lines: Vec<String>,
    seen: BTreeSet<String>,
}

impl Advice {
    /// Adds lines that are not there yet.
    pub fn extend(&mut self, lines: impl IntoIterator<Item = String>) {
        for line in lines {
            if self.lines.len() < MOST_ADVICE && self.seen.insert(line.clone()) {
                self.lines.push(line);
            }
        }
    }

    /// The lines.
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// The lines alone.
    pub fn into_lines(self) -> Vec<String> {
        self.lines
    }
}

impl Reading {
    /// Reads with `read`, and returns what it reads with the advice on it, or all mistakes: those of assignments first, then
    /// those of each file by line. A missing key is left out if an unknown key was probably meant to be it.
    pub fn of<T>(read: impl FnOnce(&Reading) -> Result<T>) -> Result<(T, Advice), ScenarioError> {
        let reading = Reading::default();
        let value = read(&reading);
        let mut errors = reading.mistakes.into_inner().errors;
        match value {
            Ok(value) if errors.is_empty() => Ok((value, reading.advice.into_inner())),
            _ => {
                drop_misspelt(&mut errors);
                errors.sort_by_key(|error| (error.line.is_some(), error.file.clone(), error.line));
                errors.truncate(MOST_MISTAKES);
                Err(joined(errors))
            }
        }
    }

    /// Adds a mistake.
    pub fn report(&self, error: ScenarioError) -> Reported {
        let mut mistakes = self.mistakes.borrow_mut();
        if mistakes.places.insert((error.file.clone(), error.line, general_key(&error.key))) {
            mistakes.errors.push(error);
        }
        Reported(())
    }

    /// Fails if there is a mistake.
    pub fn check(&self) -> Result<()> {
        if self.mistakes.borrow().errors.is_empty() { Ok(()) } else { Err(Reported(())) }
    }

    /// Adds advice.
    pub fn advise(&self, advice: &ScenarioError) {
        self.advise_all([advice.to_string()]);
    }

    /// Adds lines of advice.
    pub fn advise_all(&self, lines: impl IntoIterator<Item = String>) {
        self.advice.borrow_mut().extend(lines);
    }

    /// Passes on what another reading of a part of the document gives. Of its mistakes only the first one, as `place` says it:
    /// the others can follow from it.
    pub fn nested<T>(
        &self,
        place: impl FnOnce(ScenarioError) -> ScenarioError,
        read: impl FnOnce(&Reading) -> Result<T>,
    ) -> Result<T> {
        let inner = Reading::default();
        let value = read(&inner);
        let first = inner.mistakes.into_inner().errors.into_iter().next();
        match (value, first) {
            (Ok(value), None) => {
                self.advise_all(inner.advice.into_inner().lines);
                Ok(value)
            }
            (Err(reported), None) => Err(reported),
            (_, Some(error)) => Err(self.report(place(error))),
        }
    }
}

/// All values, of which each is read; fails if one fails.
pub fn all<T>(values: impl Iterator<Item = Result<T>>) -> Result<Vec<T>> {
    let values: Vec<Result<T>> = values.collect();
    values.into_iter().collect()
}

/// A key without the name or the number of its table in an array: several tables can come from one that is written.
fn general_key(key: &str) -> String {
    let parts = key_parts(key).unwrap_or_else(|_| vec![key.into()]);
    match &parts[..] {
        [table, rest @ ..] if table.ends_with(']') && !rest.is_empty() => {
            let array = table.split_once('[').map_or(&**table, |(array, _)| array);
            key_text(std::iter::once(array).chain(rest.iter().map(String::as_str)))
        }
        [array, _, rest @ ..] if NAMED.contains(&array.as_str()) && !rest.is_empty() => {
            key_text(std::iter::once(&**array).chain(rest.iter().map(String::as_str)))
        }
        _ => key.into(),
    }
}

/// The value without the ownership of it.
pub fn shared<T>(value: &Result<T>) -> Result<&T> {
    value.as_ref().map_err(|reported| *reported)
}

/// One error with all mistakes. Its kind is an unmet need only if all are.
fn joined(errors: Vec<ScenarioError>) -> ScenarioError {
    let is_unmet = errors.iter().all(|error| error.kind == ErrorKind::UnmetNeed);
    let mut errors = errors.into_iter();
    let Some(mut error) = errors.next() else { unreachable!("what is reported is a mistake") };
    error.others = errors.map(|other| other.to_string()).collect();
    match error.kind {
        ErrorKind::UnmetNeed if !is_unmet => error.of_kind(ErrorKind::Other),
        _ => error,
    }
}

/// Drops a missing key of a table that has an unknown key whose correction it is.
fn drop_misspelt(errors: &mut Vec<ScenarioError>) {
    let split = |error: &ScenarioError| {
        let (table, key) = error.key.rsplit_once('.').unwrap_or(("", &error.key));
        (table.to_string(), key.to_string())
    };
    let unknown: Vec<_> =
        errors.iter().filter(|error| error.kind == ErrorKind::UnknownKey).map(split).collect();
    errors.retain(|error| {
        let (table, key) = split(error);
        let is_meant = |(of, unknown): &(String, String)| *of == table && meant(unknown, [&*key]).is_some();
        error.kind != ErrorKind::MissingKey || !unknown.iter().any(is_meant)
    });
}
