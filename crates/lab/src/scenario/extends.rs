//! Scenarios that extend a base file: `extends = "base.toml"`, and change single values of it: `[set]`.

use super::assign::assign;
use super::document::{TomlItem, TomlValue, parse};
use super::renamed::rename_keys;
use crate::error::{ScenarioError, Source};
use std::sync::Arc;

/// Parses a scenario. `extends = "base.toml"` (relative to the folder of the file) merges it over the base file, which
/// may name what the text may: tables are merged key by key; every other value replaces that of the base. `[set]` then
/// replaces single values in what is merged, such as the rate of one link.
pub fn parse_scenario(source: Arc<Source>, text: &str) -> Result<TomlItem, ScenarioError> {
    extended(source, text, 0)
}

const DEEPEST: u32 = 8;
const NO_BASE: &str = "is for a scenario that extends another one; write the value in its table";
const UNQUOTED: &str = "is a table; write a whole key in quotes, such as \"link.l.rate\" = \"1Mbps\"";

fn extended(source: Arc<Source>, text: &str, depth: u32) -> Result<TomlItem, ScenarioError> {
    let mut document = parse(source.clone(), text)?;
    rename_keys(&mut document, "")?;
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
    let path = base.origin.path(name);
    base.origin.check_inside(&path).map_err(refuse)?;
    if depth == DEEPEST {
        return Err(refuse(format!("more than {DEEPEST} base files in a row")));
    }
    let text = source.access.read_text(&path).map_err(refuse)?;
    let of_base = Source { file: path.to_string_lossy().into_owned(), access: source.access.clone() };
    let mut base = extended(Arc::new(of_base), &text, depth + 1)?;
    lay_over(&mut base, document);
    set.map_or(Ok(()), |set| set_values(&mut base, set))?;
    Ok(base)
}

fn set_values(document: &mut TomlItem, set: TomlItem) -> Result<(), ScenarioError> {
    let TomlValue::Table(values) = set.value else {
        return Err(ScenarioError::new(&set.origin, "set", "must be a table of keys and values"));
    };
    for (key, value) in values {
        if matches!(value.value, TomlValue::Table(_)) && !key.contains('.') {
            return Err(ScenarioError::new(&value.origin, &format!("set.{key}"), UNQUOTED));
        }
        assign(document, &key, value)?;
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
    use crate::files::Access;
    use crate::scenario::write::toml_text;

    const NETWORK: &str = "[[link]]\nname = \"l\"\nends = [\"a\", \"b\"]\nrate = \"1Mbps\"\n[[flow]]\ncount = 3\nname = \"f\"\n";
    const MIDDLE: &str =
        "extends = \"base.toml\"\n[set]\n\"link.l.rate\" = \"2Mbps\"\n\"link.l.delay\" = \"3ms\"\n";

    fn read(text: &str) -> Result<String, String> {
        let files = [("base.toml", NETWORK), ("middle.toml", MIDDLE)];
        let carried = files.map(|(name, text)| (name.to_string(), text.as_bytes().to_vec()));
        let source =
            Source { file: "top.toml".into(), access: Access::Carried(carried.into_iter().collect()) };
        let document = parse_scenario(Arc::new(source), text).map_err(|error| error.to_string())?;
        Ok(toml_text(&document, std::path::Path::new("")))
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
    fn mistakes_of_set_are_told() {
        for (text, message) in [
            (
                "[set]\n\"link.l.rate\" = \"4Mbps\"\n",
                "top.toml:1: set: is for a scenario that extends another one",
            ),
            ("extends = \"base.toml\"\nset = 3\n", "top.toml:2: set: must be a table"),
            (
                "extends = \"base.toml\"\n[set]\nlink.l.rate = \"4Mbps\"\n",
                "top.toml:3: set.link: is a table; write",
            ),
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
