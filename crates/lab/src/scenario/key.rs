//! Keys of values in a scenario: names joined by dots, such as `link.bottleneck.rate`.

use std::borrow::Cow;
use std::fmt::Write;
use toml::de::DeValue;

/// The names of a key, from the text that a user writes. A name that has a dot, an equal sign, a comma or a quote, or that
/// begins or ends with a space, stands in quotes: in double quotes with the escapes of TOML, or in single quotes without
/// any. Every other name stands as it is. Fails with a message.
pub fn key_parts(text: &str) -> Result<Vec<String>, String> {
    split_outside_quotes(text, '.').into_iter().map(|part| name(part.trim())).collect()
}

fn name(part: &str) -> Result<String, String> {
    if part.is_empty() {
        return Err("a key is names joined by dots, such as link.bottleneck.rate".into());
    }
    if !part.starts_with(['"', '\'']) {
        return Ok(part.into());
    }
    match DeValue::parse(part).map(|value| value.into_inner()) {
        Ok(DeValue::String(name)) if !part.contains('\n') => Ok(name.into()),
        _ => Err(format!(
            "{part} is no name in quotes; write \"...\", with \\\" for a quote and \\\\ for a backslash"
        )),
    }
}

/// The text of a key, of which [`key_parts`] gives the same names.
pub fn key_text<'a>(parts: impl IntoIterator<Item = &'a str>) -> String {
    parts.into_iter().map(quoted).collect::<Vec<_>>().join(".")
}

/// A name in double quotes if it needs them.
fn quoted(name: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_alphanumeric() || "_-[]:>+".contains(c);
    if !name.is_empty() && name.chars().all(plain) {
        return name.into();
    }
    let mut text = String::from('"');
    for c in name.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => write!(text, "\\U{:08x}", u32::from(c)).unwrap_or_default(),
            c => text.push(c),
        }
    }
    text.push('"');
    text.into()
}

/// Splits a text at separators outside quotes. Quotes are those at the beginning of a name, which is after the beginning, a
/// dot, a comma, and spaces.
pub fn split_outside_quotes(text: &str, separator: char) -> Vec<&str> {
    let (mut quote, mut escaped, mut begins) = (None, false, true);
    text.split(move |c: char| {
        match quote {
            Some('"') if escaped || c == '\\' => escaped = !escaped,
            Some(open) => {
                if c == open {
                    quote = None;
                }
            }
            None if begins && matches!(c, '"' | '\'') => quote = Some(c),
            None => {
                begins = matches!(c, '.' | ',') || begins && c.is_whitespace();
                return c == separator;
            }
        }
        begins = false;
        false
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_quotes_hold_anything() {
        assert_eq!(
            split_outside_quotes(r#"sweep.mix."a=b;c=0.1"=2"#, '='),
            [r#"sweep.mix."a=b;c=0.1""#, "2"]
        );
        assert_eq!(split_outside_quotes(r#"flow.x.start="a=b""#, '=')[0], "flow.x.start");
        assert_eq!(key_parts(r#" flow . "a.\"b=c\\" . 'd.e\' "#).unwrap(), ["flow", "a.\"b=c\\", "d.e\\"]);
        assert_eq!(key_parts(r#"flow.f".tcp"#).unwrap(), ["flow", "f\"", "tcp"]);
        for wrong in ["", "a..b", r#""a"b"#, r#""a"#, r#"a."\q""#, "\"\"\"\na\"\"\""] {
            assert!(key_parts(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_text_of_a_key_has_its_names() {
        let letters = ['a', '.', '"', '\'', '\\', '=', ',', ' ', '#', 'ä', '\n', '[', '\u{7f}', '\u{85}'];
        for first in letters {
            for second in letters {
                for third in letters {
                    let parts = ["flow".to_string(), [first, second, third].iter().collect(), "x".into()];
                    let text = key_text(parts.iter().map(String::as_str));
                    assert_eq!(key_parts(&text).as_ref().map(Vec::as_slice), Ok(&parts[..]), "{text}");
                    let assigned = format!("{text}=\"a=b.c,d\"");
                    assert_eq!(split_outside_quotes(&assigned, '=')[0], text);
                    let axis = format!("{text}, {text}");
                    assert_eq!(split_outside_quotes(&axis, ',').len(), 2, "{axis}");
                }
            }
        }
    }
}
