//! Scenarios that extend a base file: `extends = "base.toml"`, or one that comes with the program: `extends = "@dumbbell"`, and change single values of it: `[set]`.

use super::assign::assign_parts;
use super::document::{TomlItem, TomlValue, parse};
use super::key::key_parts;
use super::language::Language;
use super::mention::{Mention, MentionPlace, add_mentions};
use super::short::write_out_short_forms;
use crate::error::{ScenarioError, Source};
use crate::files::{FileAccess, shipped_path};
use std::sync::Arc;

/// Parses a scenario. `extends = "base.toml"` (relative to the folder of the file) merges it over the base file, which
/// may name what the text may (`@NAME`: a scenario that comes with the program): tables are merged key by key; every other value replaces that of the base. `[set]` then
/// replaces single values in what is merged, such as the rate of one link. Adds the files that the texts name to `mentions`.
pub fn parse_scenario(
    source: Arc<Source>,
    text: &str,
    mentions: &mut Vec<Mention>,
) -> Result<TomlItem, ScenarioError> {
    extended(source, text, 0, mentions)
}

const DEEPEST: u32 = 8;
const NO_BASE: &str = "is for a scenario that extends another one; write the value in its table";

fn extended(
    source: Arc<Source>,
    text: &str,
    depth: u32,
    mentions: &mut Vec<Mention>,
) -> Result<TomlItem, ScenarioError> {
    let mut document = parse(source.clone(), text)?;
    let place = MentionPlace::Text(source.file.clone());
    add_mentions(mentions, &place, "", &document);
    write_out_short_forms(&[], &mut document);
    let TomlValue::Table(entries) = &mut document.value else { return Ok(document) };
    let mut take =
        |name| entries.iter().position(|(key, _)| key == name).map(|index| entries.remove(index).1);
    let (base, set) = (take("extends"), take("set"));
    let Some(base) = base else {
        return set.map_or(Ok(document), |set| Err(ScenarioError::new(&set.origin, "set", NO_BASE)));
    };
    let refuse = |message: String| ScenarioError::new(&base.origin, "extends", message);
    let TomlValue::Text(name) = &base.value else {
        return Err(refuse(format!("must name a file, not {}", base.value.kind())));
    };
    let path = match name.strip_prefix('@') {
        Some(shipped) if !matches!(source.access, FileAccess::Carried(_)) => {
            shipped_path(shipped.trim_end_matches(".toml")).map_err(refuse)?
        }
        _ => {
            let path = base.origin.path(name);
            base.origin.check_inside(&path).map_err(refuse)?;
            path
        }
    };
    if depth == DEEPEST {
        return Err(refuse(format!("more than {DEEPEST} base files in a row")));
    }
    let text = source.access.read_text(&path).map_err(refuse)?;
    mentions.push(Mention { place, key: "extends".into(), value: name.clone(), path: path.clone() });
    let of_base = Source { file: path.to_string_lossy().into_owned(), access: source.access.clone() };
    let mut base = extended(Arc::new(of_base), &text, depth + 1, mentions)?;
    lay_over(&mut base, document);
    match set.map(|set| (set.value, set.origin)) {
        None => {}
        Some((TomlValue::Table(values), _)) => set_values(&mut base, &[], values)?,
        Some((_, origin)) => {
            return Err(ScenarioError::new(&origin, "set", "must be a table of keys and values"));
        }
    }
    Ok(base)
}

/// Assigns the values of a table. The keys of its own are whole keys with dots, those of tables in it are single names: each
/// of their values is assigned alone, but a table with `kind` or `python` is one value.
fn set_values(
    document: &mut TomlItem,
    path: &[String],
    values: Vec<(String, TomlItem)>,
) -> Result<(), ScenarioError> {
    for (key, item) in values {
        let parts = if path.is_empty() {
            key_parts(&key).map_err(|message| ScenarioError::new(&item.origin, &key, message))?
        } else {
            [path, &[key]].concat()
        };
        match item.value {
            TomlValue::Table(values)
                if !values.is_empty()
                    && !values.iter().any(|(key, _)| key == "kind" || Language::of_key(key).is_some()) =>
            {
                set_values(document, &parts, values)?
            }
            value => assign_parts(document, &parts, TomlItem { value, origin: item.origin })?,
        }
    }
    Ok(())
}

fn lay_over(base: &mut TomlItem, upper: TomlItem) {
    match (&mut base.value, upper.value) {
        (TomlValue::Table(under), TomlValue::Table(over)) => {
            for (key, item) in over {
                match under.iter_mut().find(|(k, _)| *k == key) {
                    Some((_, below)) => lay_over(below, item),
                    None => under.push((key, item)),
                }
            }
        }
        (_, value) => *base = TomlItem { value, origin: upper.origin },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::written::literal;

    const NETWORK: &str = "[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"1Mbps\"\n[[flow]]\ncount = 3\nname = \"f\"\n";
    const MIDDLE: &str =
        "extends = \"base.toml\"\n[set]\n\"link.l.rate\" = \"2Mbps\"\n\"link.l.delay\" = \"3ms\"\n";

    fn read(text: &str) -> Result<String, String> {
        let files = [("base.toml", NETWORK), ("middle.toml", MIDDLE)];
        let carried = files.map(|(name, text)| (name.to_string(), text.as_bytes().to_vec()));
        let source =
            Source { file: "top.toml".into(), access: FileAccess::Carried(carried.into_iter().collect()) };
        let document =
            parse_scenario(Arc::new(source), text, &mut Vec::new()).map_err(|error| error.to_string())?;
        Ok(format!("{:?}", literal("", &document, std::path::Path::new(""))))
    }

    #[test]
    fn values_of_a_base_file_are_set() {
        let set = read(
            "extends = \"middle.toml\"\n[set]\n\"link.l.rate\" = \"4Mbps\"\n\"flow.f1.start\" = \"1s\"\n",
        );
        let written = "[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"4Mbps\"\ndelay = \"3ms\"\n";
        let flows =
            "[[flow]]\nname = \"f0\"\n[[flow]]\nname = \"f1\"\nstart = \"1s\"\n[[flow]]\nname = \"f2\"\n";
        assert_eq!(read(&format!("{written}{flows}")), set);
    }

    #[test]
    fn tables_of_set_are_merged_but_for_models() {
        let base = "extends = \"middle.toml\"\n";
        let whole = "[set]\n\"link.l.queue\" = { kind = \"codel\" }\n\"link.l.rate\" = \"5Mbps\"\n";
        let tables = "[set]\nlink.l.queue = { kind = \"codel\" }\n[set.\"link.l\"]\nrate = \"5Mbps\"\n";
        assert_eq!(read(&format!("{base}{whole}")), read(&format!("{base}{tables}")));
        assert!(read(&format!("{base}{tables}")).unwrap().contains("delay"));
        let axes =
            read(&format!("{base}[set]\nsweep = {{ a = {{ b = {{ \"link.l.rate\" = \"1Mbps\" }} }} }}\n"))
                .unwrap();
        assert!(axes.contains("\"link.l.rate\""), "{axes}");
    }

    #[test]
    fn mistakes_of_set_are_told() {
        for (text, message) in [
            (
                "[set]\n\"link.l.rate\" = \"4Mbps\"\n",
                "top.toml:1: set: is for a scenario that extends another one",
            ),
            ("extends = \"base.toml\"\nset = 3\n", "top.toml:2: set: must be a table"),
            (
                "extends = \"base.toml\"\n[set]\n\"link.m.rate\" = \"4Mbps\"\n",
                "top.toml:3: link.m.rate: there is no \"m\"",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(message), "{error}");
        }
    }
}
