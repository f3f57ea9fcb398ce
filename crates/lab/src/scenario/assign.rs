//! One value of a scenario's document replaced: by `--set`, by `[set]` of a scenario that extends another one, by an axis
//! of a study, by a change.

use super::count;
use super::document::{TomlItem, TomlValue};
use super::key::{key_parts, key_text};
use super::short::write_out_short_forms;
use crate::error::{Origin, ScenarioError, nearest};

/// Replaces the value of `key` in the document by `value`. In `link.NAME...`, `flow.NAME...` and `change.NAME...` the name
/// selects the table (a change that does not exist is added), in `loss[N]` the number selects an element of an array, from
/// 0.
pub fn assign(document: &mut TomlItem, key: &str, value: TomlItem) -> Result<(), ScenarioError> {
    let parts = key_parts(key).map_err(|message| ScenarioError::new(&value.origin, key, message))?;
    assign_parts(document, &parts, value)
}

/// The same for the names of a key.
pub fn assign_parts(
    document: &mut TomlItem,
    parts: &[String],
    mut value: TomlItem,
) -> Result<(), ScenarioError> {
    let origin = value.origin.clone();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let key = &*key_text(parts.iter().copied());
    let refuse = |message: String| ScenarioError::new(&origin, key, message);
    write_out_short_forms(&parts, &mut value);
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
