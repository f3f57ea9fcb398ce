//! The document of a scenario, after the assignments that replace single values of it.

use super::assign::assign_parts;
use super::assignment::{Assignment, read_text};
use super::document::{TomlItem, TomlValue};
use super::extends::parse_scenario;
use super::key::{key_parts, split_outside_quotes};
use super::written::{Document, Mention};
use crate::error::{ErrorKind, ScenarioError, Source};
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
/// then those of the user and the program applied.
pub fn read_document(
    scenario: &ScenarioText<'_>,
    assignments: &[Assignment],
) -> Result<TomlItem, ScenarioError> {
    Ok(Document::read(scenario, assignments)?.root)
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
        refuse_code(&document, "", "", message)?;
    }
    Ok(document)
}

/// Fails with `message` if a document names a controller in Python, in an axis of a study too. `path` is the key of
/// `item` with its tables, `key` the last one.
pub(super) fn refuse_code(
    item: &TomlItem,
    path: &str,
    key: &str,
    message: &str,
) -> Result<(), ScenarioError> {
    match &item.value {
        TomlValue::List(items) => items.iter().try_for_each(|item| refuse_code(item, path, key, message)),
        TomlValue::Table(entries) => entries.iter().try_for_each(|(key, item)| {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            refuse_code(item, &path, key, message)
        }),
        // The key of an axis can have tables and several keys: "flow.f.tcp.congestion_control.python, seed".
        TomlValue::Text(_) if split_outside_quotes(key, ',').into_iter().any(is_python) => {
            Err(ScenarioError::new(&item.origin, path, message).of_kind(ErrorKind::Code))
        }
        _ => Ok(()),
    }
}

fn is_python(key: &str) -> bool {
    key == "python" || key_parts(key).is_ok_and(|parts| parts.last().is_some_and(|part| part == "python"))
}

#[cfg(test)]
mod tests {
    use super::super::assignment::Literal;
    use super::super::written::literal;
    use super::*;

    #[test]
    fn names_with_dots_and_equal_signs_stand_in_quotes() {
        let read = |assignments: &[&str]| {
            let assignments: Vec<_> =
                assignments.iter().map(|text| Assignment::Text(text.to_string())).collect();
            read_document(&ScenarioText { file: "s", ..ScenarioText::default() }, &assignments)
        };
        let document = read(&[r#"sweep.loss."0.1"={ "tcp.receive_window" = 3 }"#]).unwrap();
        let TomlValue::Table(top) = &document.value else { panic!("a table") };
        let TomlValue::Table(axes) = &top[0].1.value else { panic!("a table") };
        let TomlValue::Table(labels) = &axes[0].1.value else { panic!("a table") };
        assert_eq!(labels[0].0, "0.1");
        assert!(read(&["duration"]).is_err());
    }

    #[test]
    fn what_a_program_assigns_is_not_parsed() {
        let name = r#"f".tcp.congestion_control.python=x.py:X"#;
        let text = format!("[[flow]]\nname = '{name}'\n[[flow]]\nname = 'f'\n");
        let python = Literal::Table(vec![("python".into(), Literal::Text("x.py:X".into()))]);
        let key = ["flow", name, "tcp", "congestion_control"].map(String::from).to_vec();
        let control = |value, of_text| Assignment::Data {
            key: key.clone(),
            value,
            place: "--control x".into(),
            of_text,
        };
        let read = |assignment, access| {
            read_document(&ScenarioText { file: "s", text: &text, set: &[], access }, &[assignment])
        };
        let document = read(control(Literal::Text("reno".into()), false), Access::NoCode).unwrap();
        let written = format!("{:?}", literal("", &document, std::path::Path::new("")));
        assert_eq!(written.matches("reno").count(), 1, "{written}");
        let refused =
            |of_text, access| read(control(python.clone(), of_text), access).err().map(|error| error.kind);
        assert_eq!(refused(true, Access::NoCode), Some(ErrorKind::Code));
        assert_eq!(refused(true, Access::Carried(Default::default())), Some(ErrorKind::Code));
        assert_eq!(refused(true, Access::Folder), None);
        assert_eq!(refused(false, Access::NoCode), None);
    }

    #[test]
    fn code_is_refused_in_what_comes_with_a_text() {
        let python = "flow.f.tcp.congestion_control.python=x.py:X".to_string();
        let kind = |text: &str, set: &[String], assignments: &[String], access: Access| {
            let text = ScenarioText { file: "s", text, set, access };
            let assignments: Vec<_> = assignments.iter().map(Assignment::from).collect();
            read_document(&text, &assignments).err().map(|error| error.kind)
        };
        let carried = || Access::Carried(Default::default());
        let table = r#"a = [{ b = { python = "x.py:X" } }]"#;
        let axis = r#"sweep = { 'seed, a."python"' = [[1, "x.py:X"]] }"#;
        let escaped = r#"sweep = { 'seed, a."\u0070ython"' = [[1, "x.py:X"]] }"#;
        for text in [table, axis, escaped] {
            assert_eq!(kind(text, &[], &[], Access::NoCode), Some(ErrorKind::Code), "{text}");
            assert_eq!(kind(text, &[], &[], carried()), Some(ErrorKind::Code), "{text}");
            assert_eq!(kind(text, &[], &[], Access::Folder), None, "{text}");
        }
        assert_eq!(kind("", std::slice::from_ref(&python), &[], carried()), Some(ErrorKind::Code));
        assert_eq!(kind("", &[], &[python], carried()), None);
        assert_eq!(kind(r#"sweep = { c = { python = { a = "x" } } }"#, &[], &[], carried()), None);
    }
}
