//! Writes a document as TOML text, one line for each key.

use super::document::{TomlItem, TomlValue};
use std::fmt::Write;
use std::path::Path;

/// Keys whose value is the path of a file.
const NAMES_FILE: [&str; 3] = ["file", "fit", "python"];

/// The document as TOML. The paths of files become relative to `folder` where they are inside it.
pub fn toml_text(document: &TomlItem, folder: &Path) -> String {
    let mut text = String::new();
    if let TomlValue::Table(entries) = &document.value {
        for (key, item) in entries {
            let _ = write!(text, "{} = ", quoted(key));
            write_value(&mut text, key, item, folder);
            text.push('\n');
        }
    }
    text
}

fn write_value(text: &mut String, key: &str, item: &TomlItem, folder: &Path) {
    match &item.value {
        TomlValue::Text(name) if NAMES_FILE.contains(&key) => {
            text.push_str(&quoted(&placed(item, name, folder)))
        }
        TomlValue::Text(value) => text.push_str(&quoted(value)),
        TomlValue::Integer(n) => text.push_str(&n.to_string()),
        TomlValue::Float(n) if n.is_nan() => text.push_str("nan"),
        TomlValue::Float(n) => {
            let _ = write!(text, "{n:?}"); // exact, and with a point or an exponent
        }
        TomlValue::Switch(on) => text.push_str(if *on { "true" } else { "false" }),
        TomlValue::List(items) => {
            text.push('[');
            for item in items {
                write_value(text, key, item, folder);
                text.push_str(", ");
            }
            text.push(']');
        }
        TomlValue::Table(entries) => {
            text.push_str("{ ");
            for (n, (key, item)) in entries.iter().enumerate() {
                let _ = write!(text, "{}{} = ", if n == 0 { "" } else { ", " }, quoted(key));
                write_value(text, key, item, folder);
            }
            text.push_str(" }");
        }
    }
}

/// The path of a file that an item names, relative to `folder`. An assignment names it from the current folder.
fn placed(item: &TomlItem, name: &str, folder: &Path) -> String {
    let path = item.origin.path(name);
    path.strip_prefix(folder).unwrap_or(&path).to_string_lossy().into_owned()
}

/// A text as a basic string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", c as u32);
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Source;
    use crate::scenario::document;
    use std::sync::Arc;

    fn parse(file: &str, text: &str) -> Result<TomlItem, crate::ScenarioError> {
        document::parse(Arc::new(Source { file: file.into(), ..Source::default() }), text)
    }

    #[test]
    fn a_document_reads_as_itself() {
        let text = "a.'b c' = 1e-300\nd = [inf, -0.1, 12345678901234567890.0, true, -7]\n\
            [[e]]\nf = \"\\\"\\\\\\n\\u007f é\"\ng = { h = [] , file = \"x/y.txt\" }\n";
        let first = parse("folder/s.toml", text).expect("TOML");
        let written = toml_text(&first, Path::new("folder"));
        let reread = parse("folder/s.toml", &written).expect("what was written is TOML");
        assert_eq!(toml_text(&reread, Path::new("folder")), written);
        assert!(written.contains("\"b c\" = 1e-300") && written.contains("\"x/y.txt\""), "{written}");
        assert!(toml_text(&first, Path::new("")).contains("\"folder/x/y.txt\""));
    }
}
