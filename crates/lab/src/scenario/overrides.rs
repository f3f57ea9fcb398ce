//! The document of a scenario's text, after the assignments that come with it.

use super::assign::assign_parts;
use super::assignment::read_text;
use super::document::{TomlItem, TomlValue};
use super::extends::parse_scenario;
use super::key::{key_parts, split_outside_quotes};
use super::language::Language;
use super::mention::Mention;
use crate::error::{ErrorKind, ScenarioError, Source};
use crate::files::FileAccess;
use std::sync::Arc;

/// A scenario as it is written: its text, and the assignments that come with it.
#[derive(Clone, Debug, Default)]
pub struct ScenarioText<'a> {
    /// The file in messages. Paths in the text are relative to its folder.
    pub file: &'a str,
    /// TOML.
    pub text: &'a str,
    /// `KEY=VALUE` assignments that come with the text, such as those of a link.
    pub set: &'a [String],
    /// What the text and its assignments may name. Those of the command line may name everything.
    pub access: FileAccess,
    /// Whether native libraries that it or the command line names may run (`--allow-code`).
    pub libraries: bool,
}

/// The document of a scenario's text, merged over its base files, with the assignments that come with it. Adds what the text
/// and its base files mention to `mentions`.
pub(super) fn read_text_alone(
    scenario: &ScenarioText<'_>,
    source: &Arc<Source>,
    mentions: &mut Vec<Mention>,
) -> Result<TomlItem, ScenarioError> {
    let mut document = parse_scenario(source.clone(), scenario.text, mentions)?;
    for assignment in scenario.set {
        let (key, value) = read_text(assignment, Some(source))?;
        assign_parts(&mut document, &key, value)?;
    }
    if let Some(message) = scenario.access.code_refusal() {
        refuse_code(&document, "", "", &CODE, message)?;
    }
    Ok(document)
}

/// The languages whose controllers run as they are.
pub(super) const CODE: [Language; 2] = [Language::Python, Language::Library];

/// Fails with `message` if a document names a controller of one of the languages, in an axis of a study too. `path` is the key of
/// `item` with its tables, `key` the last one.
pub(super) fn refuse_code(
    item: &TomlItem,
    path: &str,
    key: &str,
    languages: &[Language],
    message: &str,
) -> Result<(), ScenarioError> {
    let is_code = |key: &str| {
        let names = |key: &str| Language::of_key(key).is_some_and(|language| languages.contains(&language));
        names(key) || key_parts(key).is_ok_and(|parts| parts.last().is_some_and(|part| names(part)))
    };
    match &item.value {
        TomlValue::List(items) => {
            items.iter().try_for_each(|item| refuse_code(item, path, key, languages, message))
        }
        TomlValue::Table(entries) => entries.iter().try_for_each(|(key, item)| {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            refuse_code(item, &path, key, languages, message)
        }),
        // The key of an axis can have tables and several keys: "flow.f.tcp.congestion_control.python, seed".
        TomlValue::Text(_) if split_outside_quotes(key, ',').into_iter().any(is_code) => {
            Err(ScenarioError::new(&item.origin, path, message).of_kind(ErrorKind::Code))
        }
        _ => Ok(()),
    }
}
