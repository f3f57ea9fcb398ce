//! Renamed keys: the old names are accepted, with advice.

use super::advice;
use super::document::{TomlItem, TomlValue};
use crate::error::ScenarioError;

/// Table, its key before, its key now.
const RENAMED: &[(&str, &str, &str)] = &[
    ("tcp", "control", "congestion_control"),
    ("tcp", "window", "receive_window"),
    ("tcp", "packet", "mss"),
    ("routing", "reading", "variant"),
];

/// The current name of `key` in a table `table`, if `key` is an old name.
fn current_name(table: &str, key: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(of, old, _)| *of == table && *old == key).map(|(.., new)| *new)
}

/// The old names of keys of a table, with the present ones.
pub(crate) fn old_names(table: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    RENAMED.iter().filter(move |(of, ..)| *of == table).map(|(_, old, new)| (*old, *new))
}

/// Gives the keys of `item` and of all tables in it their present names; `path` is the key of `item`. Two names of one key are
/// refused.
pub(super) fn rename_keys(item: &mut TomlItem, path: &str) -> Result<(), ScenarioError> {
    let table = path.rsplit('.').next().unwrap_or("");
    match &mut item.value {
        TomlValue::List(items) => items.iter_mut().try_for_each(|item| rename_keys(item, path)),
        TomlValue::Table(entries) => {
            for i in 0..entries.len() {
                if let Some(new) = current_name(table, &entries[i].0) {
                    let old = std::mem::replace(&mut entries[i].0, new.into());
                    let said =
                        |message| ScenarioError::new(&entries[i].1.origin, &format!("{path}.{old}"), message);
                    if entries.iter().filter(|(key, _)| key == new).count() > 1 {
                        return Err(said(format!(
                            "is the same as \"{new}\", which is there too: give one of them"
                        )));
                    }
                    advice::give(said(format!("is called \"{new}\" now")));
                }
                let (key, item) = &mut entries[i];
                let inner = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                rename_keys(item, &inner)?;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Replaces the old names in the parts of an assignment's key.
pub(super) fn rename_parts(parts: &mut [&str], value: &TomlItem, key: &str) {
    for i in 1..parts.len() {
        if let Some(new) = current_name(parts[i - 1], parts[i]) {
            let message = format!("\"{}\" is called \"{new}\" now", parts[i]);
            advice::give(ScenarioError::new(&value.origin, key, message));
            parts[i] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::document::parse;
    use super::super::{Scenario, advised};

    #[test]
    fn old_names_are_taken_with_advice() {
        let text = |tcp: &str| {
            format!(
                "duration = \"1s\"\n[[link]]\nends = [\"a\", \"b\"]\nrate = \"1Mbps\"\ndelay = \"1ms\"\n\
                 [[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\ntcp = {{ {tcp} }}\n"
            )
        };
        let read = |tcp: &str, set: &str| {
            let sets: Vec<String> =
                Some(set).filter(|set| !set.is_empty()).map(str::to_string).into_iter().collect();
            let (found, advice) = advised(|| Scenario::parse("s", &text(tcp), &sets));
            (found.map(|scenario| format!("{:?}", scenario.flows)).map_err(|e| e.to_string()), advice)
        };
        let (new, none) = read("congestion_control = \"vegas\", receive_window = 9, mss = 500", "");
        let (old, three) = read("control = \"vegas\", window = 9, packet = 500", "");
        assert_eq!((&new, none.len(), three.len()), (&old, 0, 3));
        assert_eq!(three[0], "s:10: flow.tcp.control: is called \"congestion_control\" now");
        let (set, one) =
            read("congestion_control = \"reno\", receive_window = 9, mss = 500", "flow.f.tcp.control=vegas");
        assert_eq!((&set, one.len()), (&new, 1));
        let (table, two) =
            read("", "flow.f.tcp={ congestion_control = \"vegas\", window = 9, packet = 500 }");
        assert_eq!((&table, two.len()), (&new, 2));
        let (both, _) = read("window = 9, receive_window = 8", "");
        assert!(both.unwrap_err().contains("is the same as \"receive_window\", which is there too"));
        assert!(parse(Default::default(), "window = 3").is_ok());
    }
}
