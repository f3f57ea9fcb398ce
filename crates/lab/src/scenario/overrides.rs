//! `--set KEY=VALUE`: one value of a scenario replaced before it is read.

use super::count;
use super::document::{TomlItem, TomlValue, parse_override};
use super::extends::parse_scenario;
use super::renamed::{rename_keys, rename_parts};
use crate::error::{ErrorKind, Origin, ScenarioError, Source, nearest};
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

/// Applies `KEY=VALUE` to a document. In `link.NAME...`, `flow.NAME...` and `change.NAME...` the name selects the table (a
/// change that does not exist is added), in `loss[N]` the number selects an element of an array, from 0. Put a name that
/// contains dots or equal signs in double quotes. `source` is the text that the assignment comes with, if any.
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

/// Replaces the value of `key` in the document by `value`.
pub fn assign(document: &mut TomlItem, key: &str, mut value: TomlItem) -> Result<(), ScenarioError> {
    let origin = value.origin.clone();
    let refuse = |message: String| ScenarioError::new(&origin, key, message);
    let mut parts: Vec<&str> =
        split_outside_quotes(key, '.').into_iter().map(|part| part.trim().trim_matches('"')).collect();
    if parts.iter().any(|p| p.is_empty()) {
        return Err(refuse("a key is names joined by dots, such as link.bottleneck.rate".into()));
    }
    rename_parts(&mut parts, &value, key);
    rename_keys(&mut value, &parts.join("."))?;
    if let ["change", name, rest @ ..] = &parts[..] {
        add_change(document, name, &origin);
        if let (TomlValue::Table(entries), true) = (&mut value.value, rest.is_empty()) {
            entries.push(name_entry(name, &origin));
        }
    }
    let mut at = document;
    let mut rest = &parts[..];
    while let [part, tail @ ..] = rest {
        let kind = at.value.kind();
        at = match &mut at.value {
            TomlValue::List(items) => {
                if let [.., whole] = &parts[..parts.len() - rest.len()]
                    && *whole == "loss"
                {
                    let message =
                        format!("\"loss\" is an array of {}; write loss[0] for its first", items.len());
                    return Err(refuse(message));
                }
                let is_named = |item: &TomlItem| item.name() == Some(part);
                let sets_count = parts.last() == Some(&count::COUNT.name);
                if count::KINDS.contains(&parts[0]) && !sets_count && !items.iter().any(is_named) {
                    // It can be one of those for which a table stands.
                    count::write_out(parts[0], items, &mut 0)?;
                }
                let names: Vec<String> = items.iter().enumerate().map(|(i, item)| label(i, item)).collect();
                let Some(index) = names.iter().position(|name| name == part) else {
                    let remark = nearest(part, names.iter().map(String::as_str));
                    let is_numbered = |name: &String| count::is_numbered(name, part);
                    let late = sets_count && names.iter().any(is_numbered);
                    let late = if late { count::TOO_LATE } else { "" };
                    return Err(refuse(format!("there is no \"{part}\" here; {remark}{late}")));
                };
                &mut items[index]
            }
            TomlValue::Table(entries) => {
                let find = |name: &str| entries.iter().position(|(k, _)| k == name);
                let indexed = || split_index(part).and_then(|(name, n)| Some((find(name)?, n)));
                match (find(part), indexed()) {
                    (Some(entry), _) => &mut entries[entry].1,
                    (None, Some((entry, n))) => element(&mut entries[entry], n).map_err(refuse)?,
                    (None, None) => {
                        entries.push((part.to_string(), TomlItem::table(origin.clone())));
                        let last = entries.len() - 1;
                        &mut entries[last].1
                    }
                }
            }
            _ => return Err(refuse(format!("\"{part}\" is a key within {kind}, which has no keys"))),
        };
        rest = tail;
    }
    *at = value;
    Ok(())
}

/// Adds a change called `name` if the document has none.
fn add_change(document: &mut TomlItem, name: &str, origin: &Origin) {
    let TomlValue::Table(entries) = &mut document.value else { return };
    if !entries.iter().any(|(key, _)| key == "change") {
        let none = TomlItem { value: TomlValue::List(Vec::new()), origin: origin.clone() };
        entries.push(("change".into(), none));
    }
    let changes = entries.iter_mut().find(|(key, _)| key == "change").map(|(_, item)| &mut item.value);
    let Some(TomlValue::List(changes)) = changes else { return };
    if !changes.iter().enumerate().any(|(index, item)| label(index, item) == name) {
        let table = TomlValue::Table(vec![name_entry(name, origin)]);
        changes.push(TomlItem { value: table, origin: origin.clone() });
    }
}

/// The key `name` of a table.
fn name_entry(name: &str, origin: &Origin) -> (String, TomlItem) {
    ("name".into(), TomlItem { value: TomlValue::Text(name.into()), origin: origin.clone() })
}

/// The name and the index of a part such as `loss[1]`, if it has this form.
fn split_index(part: &str) -> Option<(&str, usize)> {
    let (name, index) = part.strip_suffix(']')?.rsplit_once('[')?;
    Some((name, index.parse().ok()?))
}

/// Element `index` of the array that an entry holds, or a message.
fn element((name, item): &mut (String, TomlItem), index: usize) -> Result<&mut TomlItem, String> {
    let items = if let TomlValue::List(items) = &mut item.value { &mut items[..] } else { &mut [] };
    let count = items.len();
    items.get_mut(index).ok_or_else(|| format!("\"{name}\" has no element {index}; it has {count}"))
}

/// Splits a text at separators outside double quotes.
fn split_outside_quotes(text: &str, separator: char) -> Vec<&str> {
    let mut quoted = false;
    text.split(move |c: char| {
        quoted ^= c == '"';
        c == separator && !quoted
    })
    .collect()
}

/// The name of a table in a list: its `name`, the ends of a link joined by an arrow, or the number of a flow.
fn label(index: usize, item: &TomlItem) -> String {
    let TomlValue::Table(entries) = &item.value else { return String::new() };
    let ends = entries.iter().find(|(key, _)| key == "ends").map(|(_, item)| &item.value);
    match (item.name(), ends) {
        (Some(name), _) => name.into(),
        (None, Some(TomlValue::List(ends))) => {
            let ends: Vec<&str> = ends
                .iter()
                .map(|e| if let TomlValue::Text(t) = &e.value { t.as_str() } else { "" })
                .collect();
            ends.join("->")
        }
        _ => format!("flow{index}"),
    }
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
