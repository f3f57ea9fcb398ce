//! A scenario as it is written, before defaults: the document of its text, its base files and the assignments, and the
//! files that they name.

use super::assign::assign_parts;
use super::assignment::{Assignment, Literal};
use super::count;
use super::document::{TomlItem, TomlValue};
use super::key::{key_parts, split_outside_quotes};
use super::model::Scenario;
use super::overrides::{ScenarioText, read_text_alone, refuse_code};
use crate::error::{ScenarioError, Source};
use std::path::{Path, PathBuf};
use std::sync::Arc;

type Result<T> = std::result::Result<T, ScenarioError>;

/// Keys whose value is the path of a file.
const FILE: [&str; 2] = ["file", "fit"];
/// The key of a controller in Python: FILE:CLASS.
const PYTHON: &str = "python";

/// What is written of a scenario.
#[derive(Clone, Debug)]
pub struct Document {
    source: Arc<Source>,
    /// The text, merged over its base files, with the assignments.
    pub(crate) root: TomlItem,
    mentions: Vec<Mention>,
    assignments: usize,
}

/// An entry whose value is the path of a file or a controller in Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention {
    /// Where the entry is.
    pub place: MentionPlace,
    /// The last name of its key: `extends`, `file`, `fit` or `python`.
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

impl Document {
    /// Reads a scenario's text, merged over its base files, with the assignments that come with it and then those of the
    /// user and the program made.
    pub fn read(text: &ScenarioText<'_>, assignments: &[Assignment]) -> Result<Document> {
        let source = Arc::new(Source { file: text.file.into(), access: text.access.clone() });
        let mut mentions = Vec::new();
        let root = read_text_alone(text, &source, &mut mentions)?;
        Document { source, root, mentions, assignments: 0 }.assign(assignments)
    }

    /// The same with more assignments, after those that it has.
    pub fn assign(mut self, assignments: &[Assignment]) -> Result<Document> {
        let refusal = self.source.access.code_refusal();
        for assignment in assignments {
            let (key, value) = assignment.clone().read(&self.source)?;
            let name = key.last().map_or("", String::as_str);
            if let (Some(message), Assignment::Data { of_text: true, .. }) = (refusal, assignment) {
                refuse_code(&value, &key.join("."), name, message)?;
            }
            add_mentions(&mut self.mentions, &MentionPlace::Assignment(self.assignments), name, &value);
            self.assignments += 1;
            assign_parts(&mut self.root, &key, value)?;
        }
        Ok(self)
    }

    /// Reads the scenario.
    pub fn scenario(&self) -> Result<Scenario> {
        Scenario::read(&self.root)
    }

    /// The files and controllers in Python that its text, its base files and the assignments name, replaced entries too.
    pub fn mentions(&self) -> &[Mention] {
        &self.mentions
    }

    /// The controllers in Python of its flows, FILE:CLASS, each once. The files are those of [`Document::values`].
    pub fn controllers(&self) -> Result<Vec<String>> {
        let mut names = Vec::new();
        add_controllers(&mut names, "", &self.values()?);
        Ok(names)
    }

    /// The entries, with each table that has a `count` written out and without `sweep`. The paths of files are relative to
    /// the folder of the scenario where they are inside it.
    pub fn values(&self) -> Result<Literal> {
        let folder = Path::new(&self.source.file).parent().unwrap_or(Path::new(""));
        let mut values = literal("", &*count::written_out(&self.root)?, folder);
        if let Literal::Table(entries) = &mut values {
            entries.retain(|(key, _)| key != "sweep");
        }
        Ok(values)
    }
}

fn add_controllers(names: &mut Vec<String>, key: &str, value: &Literal) {
    match value {
        Literal::Text(name) if key == PYTHON && !names.contains(name) => names.push(name.clone()),
        Literal::List(items) => items.iter().for_each(|item| add_controllers(names, key, item)),
        Literal::Table(entries) => entries.iter().for_each(|(key, item)| add_controllers(names, key, item)),
        _ => {}
    }
}

/// The value of `key` without its place. The paths of files are relative to `folder` where they are inside it.
pub(super) fn literal(key: &str, item: &TomlItem, folder: &Path) -> Literal {
    match &item.value {
        TomlValue::Text(name) if FILE.contains(&key) || key == PYTHON => {
            let path = item.origin.path(name);
            let inside = path.strip_prefix(folder).unwrap_or(&path);
            Literal::Text(inside.to_string_lossy().into_owned())
        }
        TomlValue::Text(text) => Literal::Text(text.clone()),
        TomlValue::Integer(n) => Literal::Integer(*n),
        TomlValue::Float(n) => Literal::Float(*n),
        TomlValue::Switch(on) => Literal::Switch(*on),
        TomlValue::List(items) => {
            Literal::List(items.iter().map(|item| literal(key, item, folder)).collect())
        }
        TomlValue::Table(entries) => {
            let value = |(key, item): &(String, TomlItem)| (key.clone(), literal(key, item, folder));
            Literal::Table(entries.iter().map(value).collect())
        }
    }
}

/// Adds the files and the code that a value names. `key` is the last name of its key.
pub(super) fn add_mentions(mentions: &mut Vec<Mention>, place: &MentionPlace, key: &str, item: &TomlItem) {
    match &item.value {
        TomlValue::Text(value) if FILE.contains(&key) || key == PYTHON => mentions.push(Mention {
            place: place.clone(),
            key: key.into(),
            value: value.clone(),
            path: item.origin.path(value),
        }),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::Access;

    const TEXT: &str = r#"
extends = "sub/base.toml"
title = "x"
rate = { kind = "trace", file = "a.txt" }
list = [1e-300, inf, -7, true]
sweep = { "l.rate.file, l.'fit'" = [["b.txt", "c.txt"]], d = { A = { "p.python" = "p.py:P" } } }
"#;

    fn read(assignments: &[&str]) -> Document {
        let files = [("sub/base.toml", "base = { file = \"e.txt\" }\nrate = { file = \"f.txt\" }\n")];
        let files = files.map(|(name, text)| (name.to_string(), text.as_bytes().to_vec()));
        let access = Access::Carried(files.into_iter().collect());
        let assignments: Vec<_> = assignments.iter().map(|text| Assignment::Text(text.to_string())).collect();
        let text = TEXT.replace("python", "note");
        Document::read(&ScenarioText { file: "s.toml", text: &text, set: &[], access }, &assignments).unwrap()
    }

    #[test]
    fn values_are_merged_and_files_have_their_paths() {
        let Literal::Table(entries) = read(&["rate.fit=g.txt", "seed=3"]).values().unwrap() else { panic!() };
        let written = format!("{entries:?}");
        for part in ["sub/e.txt", "\"a.txt\"", "\"g.txt\"", "Float(1e-300)", "Float(inf)", "Integer(-7)"] {
            assert!(written.contains(part), "{part} in {written}");
        }
        assert!(!written.contains("f.txt") && !written.contains("sweep") && !written.contains("extends"));
    }

    #[test]
    fn every_file_that_is_named_is_mentioned() {
        let document = read(&["title=y", "rate={ kind = 'trace', file = 'h.txt' }"]);
        let told = |mention: &Mention| {
            let place = match &mention.place {
                MentionPlace::Text(file) => file.clone(),
                MentionPlace::Assignment(number) => number.to_string(),
            };
            format!("{place} {} {}", mention.key, mention.path.display())
        };
        let mentions: Vec<String> = document.mentions().iter().map(told).collect();
        let of_text =
            ["s.toml file a.txt", "s.toml file b.txt", "s.toml fit c.txt", "s.toml extends sub/base.toml"];
        let of_base = ["sub/base.toml file sub/e.txt", "sub/base.toml file sub/f.txt"];
        assert_eq!(mentions, [&of_text[..], &of_base[..], &["1 file h.txt"]].concat());
    }

    #[test]
    fn code_in_an_axis_is_mentioned() {
        let text = ScenarioText {
            file: "s.toml",
            text: &TEXT.replace("extends", "title2"),
            ..ScenarioText::default()
        };
        let document = Document::read(&text, &[]).unwrap();
        assert_eq!(document.mentions().last().map(|one| one.value.as_str()), Some("p.py:P"));
    }

    #[test]
    fn later_assignments_follow_the_first_ones() {
        let both = read(&["seed=3", "seed=4"]).values().unwrap();
        let later = read(&["seed=3"]).assign(&[Assignment::Text("seed=4".into())]).unwrap();
        assert_eq!(format!("{:?}", later.values().unwrap()), format!("{both:?}"));
    }
}
