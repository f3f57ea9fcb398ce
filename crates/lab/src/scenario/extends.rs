//! Scenarios that extend a base file: `extends = "base.toml"`.

use super::document::{TomlItem, TomlValue, parse};
use super::renamed::rename_keys;
use crate::error::{ScenarioError, Source};
use std::sync::Arc;

/// Parses a scenario. `extends = "base.toml"` (relative to the folder of the file) merges it over the base file, which
/// may name what the text may: tables are merged key by key; every other value replaces that of the base.
pub fn parse_scenario(source: Arc<Source>, text: &str) -> Result<TomlItem, ScenarioError> {
    extended(source, text, 0)
}

const DEEPEST: u32 = 8;

fn extended(source: Arc<Source>, text: &str, depth: u32) -> Result<TomlItem, ScenarioError> {
    let mut document = parse(source.clone(), text)?;
    rename_keys(&mut document, "")?;
    let TomlValue::Table(entries) = &mut document.value else { return Ok(document) };
    let Some(index) = entries.iter().position(|(key, _)| key == "extends") else { return Ok(document) };
    let (_, base) = entries.remove(index);
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
    Ok(base)
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
