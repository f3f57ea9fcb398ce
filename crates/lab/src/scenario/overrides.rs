//! `--set KEY=VALUE`: one value of a scenario replaced before it is read.

use super::assign::{assign, split_outside_quotes};
use super::document::{TomlItem, TomlValue, parse_override};
use super::extends::parse_scenario;
use crate::error::{ErrorKind, Origin, ScenarioError, Source};
use crate::files::Access;
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
    pub access: Access,
}

/// Returns the document of a scenario's text, merged over its base files, with the assignments that come with it and
/// then those of the command line applied.
pub fn read_document(scenario: &ScenarioText<'_>, assignments: &[String]) -> Result<TomlItem, ScenarioError> {
    let source = Arc::new(Source { file: scenario.file.into(), access: scenario.access.clone() });
    let mut document = parse_scenario(source.clone(), scenario.text)?;
    for assignment in scenario.set {
        apply(&mut document, assignment, Some(&source))?;
    }
    if let Some(message) = scenario.access.code_refusal() {
        refuse_code(&document, "", "", message)?;
    }
    for assignment in assignments {
        apply(&mut document, assignment, None)?;
    }
    Ok(document)
}

/// Fails with `message` if a document names a controller in Python, in an axis of a study too. `path` is the key of
/// `item` with its tables, `key` the last one.
fn refuse_code(item: &TomlItem, path: &str, key: &str, message: &str) -> Result<(), ScenarioError> {
    match &item.value {
        TomlValue::List(items) => items.iter().try_for_each(|item| refuse_code(item, path, key, message)),
        TomlValue::Table(entries) => entries.iter().try_for_each(|(key, item)| {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            refuse_code(item, &path, key, message)
        }),
        // The key of an axis can have tables and several keys: "flow.f.tcp.congestion_control.python, seed".
        TomlValue::Text(_) if key.split(',').filter_map(|key| key.rsplit('.').next()).any(is_python) => {
            Err(ScenarioError::new(&item.origin, path, message).of_kind(ErrorKind::Code))
        }
        _ => Ok(()),
    }
}

fn is_python(key: &str) -> bool {
    key.trim().trim_matches('"') == "python"
}

/// Applies `KEY=VALUE` to a document. `source` is the text that the assignment comes with, if any.
fn apply(
    document: &mut TomlItem,
    assignment: &str,
    source: Option<&Arc<Source>>,
) -> Result<(), ScenarioError> {
    let equals = split_outside_quotes(assignment, '=').first().map_or(0, |key| key.len());
    let Some((key, text)) =
        assignment.split_at_checked(equals).and_then(|(key, rest)| Some((key, rest.strip_prefix('=')?)))
    else {
        let origin = Origin::Set { key: assignment.into(), source: source.cloned() };
        return Err(ScenarioError::new(&origin, "", "must be KEY=VALUE, such as duration=10s"));
    };
    let key = key.trim();
    assign(document, key, parse_override(key, text, source)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_dots_and_equal_signs_stand_in_quotes() {
        assert_eq!(
            split_outside_quotes(r#"sweep.mix."a=b;c=0.1"=2"#, '='),
            [r#"sweep.mix."a=b;c=0.1""#, "2"]
        );
        assert_eq!(split_outside_quotes(r#"sweep.mix."a=b;c=0.1""#, '.'), ["sweep", "mix", r#""a=b;c=0.1""#]);
        let mut document = TomlItem::table(Origin::command_line(""));
        apply(&mut document, r#"sweep.loss."0.1"={ "tcp.receive_window" = 3 }"#, None).unwrap();
        let TomlValue::Table(top) = &document.value else { panic!("a table") };
        let TomlValue::Table(axes) = &top[0].1.value else { panic!("a table") };
        let TomlValue::Table(labels) = &axes[0].1.value else { panic!("a table") };
        assert_eq!(labels[0].0, "0.1");
        assert!(apply(&mut document, "duration", None).is_err());
    }

    #[test]
    fn code_is_refused_in_what_comes_with_a_text() {
        let python = "flow.f.tcp.congestion_control.python=x.py:X".to_string();
        let kind = |text: &str, set: &[String], assignments: &[String], access: Access| {
            let text = ScenarioText { file: "s", text, set, access };
            read_document(&text, assignments).err().map(|error| error.kind)
        };
        let carried = || Access::Carried(Default::default());
        let table = r#"a = [{ b = { python = "x.py:X" } }]"#;
        let axis = r#"sweep = { 'seed, a."python"' = [[1, "x.py:X"]] }"#;
        for text in [table, axis] {
            assert_eq!(kind(text, &[], &[], Access::NoCode), Some(ErrorKind::Code), "{text}");
            assert_eq!(kind(text, &[], &[], carried()), Some(ErrorKind::Code), "{text}");
            assert_eq!(kind(text, &[], &[], Access::Folder), None, "{text}");
        }
        assert_eq!(kind("", std::slice::from_ref(&python), &[], carried()), Some(ErrorKind::Code));
        assert_eq!(kind("", &[], &[python], carried()), None);
        assert_eq!(kind(r#"sweep = { c = { python = { a = "x" } } }"#, &[], &[], carried()), None);
    }
}
