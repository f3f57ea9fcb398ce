//! The files and the code that a scenario names.

use super::document::{TomlItem, TomlValue};
use super::key::{key_parts, split_outside_quotes};
use super::language::Language;
use super::sizes::SizeTable;
use std::path::PathBuf;

/// Keys whose value is the path of a file.
const FILE: [&str; 3] = ["file", "fit", "har"];

/// Keys whose value is the path of a file or the name of a distribution of sizes.
const FILE_OR_SIZES: [&str; 2] = ["sizes", "response"];

/// Whether the value of a key is the path of a file without code.
pub(super) fn is_data_file(key: &str, value: &str) -> bool {
    FILE.contains(&key) || FILE_OR_SIZES.contains(&key) && SizeTable::is_file_name(value)
}

/// Whether the value of a key is the path of a file, or a controller in one.
pub(super) fn is_path(key: &str, value: &str) -> bool {
    is_data_file(key, value) || Language::of_key(key).is_some()
}

/// An entry whose value is the path of a file, or a controller in one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// Where the entry is.
    pub place: MentionPlace,
    /// The last name of its key: `extends`, `file`, `sizes` or another of a data file, or that of a [`Language`].
    pub key: String,
    /// Its value.
    pub value: String,
    /// Where the file is: the value, relative to the folder of the text that has it.
    pub path: PathBuf,
}

/// Where a scenario names a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MentionPlace {
    /// In a file: that of the scenario, or one that it extends.
    Text(String),
    /// In one of the assignments of the user and the program, counted from 0.
    Assignment(usize),
}

/// Adds the files and the code that a value names. `key` is the last name of its key.
pub(super) fn add_mentions(mentions: &mut Vec<Mention>, place: &MentionPlace, key: &str, item: &TomlItem) {
    match &item.value {
        TomlValue::Text(value) if is_path(key, value) => {
            let path = item.origin.path(value);
            let path = match Language::of_key(key).filter(|language| language.is_sandboxed()) {
                Some(language) => language.file_of(path),
                None => path,
            };
            mentions.push(Mention { place: place.clone(), key: key.into(), value: value.clone(), path });
        }
        TomlValue::Table(entries) => {
            for (key, item) in entries {
                add_of_key(mentions, place, key, item);
            }
        }
        TomlValue::List(items) => {
            for item in items {
                add_mentions(mentions, place, key, item);
            }
        }
        _ => {}
    }
}

/// The same for a whole key, which in an axis of a study can have tables, and several keys for rows of values.
fn add_of_key(mentions: &mut Vec<Mention>, place: &MentionPlace, key: &str, item: &TomlItem) {
    let last = |key: &str| key_parts(key).ok().and_then(|mut parts| parts.pop()).unwrap_or(key.to_string());
    let keys: Vec<String> = split_outside_quotes(key, ',').into_iter().map(last).collect();
    match (&keys[..], &item.value) {
        ([key], _) => add_mentions(mentions, place, key, item),
        (keys, TomlValue::List(rows)) => {
            for row in rows {
                let TomlValue::List(values) = &row.value else { continue };
                for (key, value) in keys.iter().zip(values) {
                    add_mentions(mentions, place, key, value);
                }
            }
        }
        (_, _) => add_mentions(mentions, place, "", item),
    }
}
