//! A scenario as it is written, before defaults: the document of its text, its base files and the assignments, and the
//! files that they name.

use super::assign::assign_parts;
use super::assignment::{Assignment, Literal};
use super::count::WrittenOut;
use super::document::{TomlItem, TomlValue};
use super::language::Language;
use super::mention::{Mention, MentionPlace, add_mentions, is_data_file, is_path};
use super::model::Scenario;
use super::overrides::{CODE, ScenarioText, read_text_alone, refuse_code};
use super::reading::{Reading, Result};
use crate::error::{ScenarioError, Source};
use std::path::Path;
use std::sync::Arc;

/// What is written of a scenario.
#[derive(Clone, Debug)]
pub struct Document {
    source: Arc<Source>,
    /// Whether native libraries may run.
    libraries: bool,
    /// The text, merged over its base files, with the assignments.
    pub(crate) root: TomlItem,
    mentions: Vec<Mention>,
    assignments: usize,
}

const NO_LIBRARIES: &str = "names native code: it runs only with --allow-code";

impl Document {
    /// Reads a scenario's text, merged over its base files, with the assignments that come with it and then those of the
    /// user and the program made.
    pub fn read(text: &ScenarioText<'_>, assignments: &[Assignment]) -> Result<Document, ScenarioError> {
        let source = Arc::new(Source { file: text.file.into(), access: text.access.clone() });
        let mut mentions = Vec::new();
        let root = read_text_alone(text, &source, &mut mentions)?;
        let libraries = text.libraries;
        Document { source, libraries, root, mentions, assignments: 0 }.assign(assignments)
    }

    /// The same with more assignments, after those that it has.
    pub fn assign(mut self, assignments: &[Assignment]) -> Result<Document, ScenarioError> {
        let refusal = self.source.access.code_refusal();
        for assignment in assignments {
            let (key, value) = assignment.clone().read(&self.source)?;
            let name = key.last().map_or("", String::as_str);
            if let (Some(message), Assignment::Data { of_text: true, .. }) = (refusal, assignment) {
                refuse_code(&value, &key.join("."), name, &CODE, message)?;
            }
            add_mentions(&mut self.mentions, &MentionPlace::Assignment(self.assignments), name, &value);
            self.assignments += 1;
            assign_parts(&mut self.root, &key, value)?;
        }
        Ok(self)
    }

    /// Reads the scenario. Fails if it names a native library, in an axis too, and none may run.
    pub fn scenario(&self) -> Result<Scenario, ScenarioError> {
        if !self.libraries {
            refuse_code(&self.root, "", "", &[Language::Library], NO_LIBRARIES)?;
        }
        Scenario::read(&self.root)
    }

    /// The files and controllers in Python that its text, its base files and the assignments name, replaced entries too.
    pub fn mentions(&self) -> &[Mention] {
        &self.mentions
    }

    /// The entries, with each table that has a `count` written out and without `sweep`. The paths of files are relative to
    /// the folder of the scenario where they are inside it.
    pub fn values(&self) -> Result<Literal, ScenarioError> {
        let folder = Path::new(&self.source.file).parent().unwrap_or(Path::new(""));
        let (mut values, _) = Reading::of(|reading| {
            let WrittenOut { document, counted } = WrittenOut::new(reading, &self.root);
            counted.map(|()| literal("", &document, folder))
        })?;
        if let Literal::Table(entries) = &mut values {
            entries.retain(|(key, _)| key != "sweep");
        }
        Ok(values)
    }
}

impl Literal {
    /// The files that it names, those of sandboxed controllers too, each once.
    pub fn files(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.add_texts(&is_data_file, "", &mut names);
        for language in Language::ALL.into_iter().filter(|language| language.is_sandboxed()) {
            let mut values = Vec::new();
            self.add_texts(&|key, _| key == language.key(), "", &mut values);
            for file in values.iter().filter_map(|value| Some(language.split(value)?.0)) {
                if !names.iter().any(|name| name == file) {
                    names.push(file.to_string());
                }
            }
        }
        names
    }

    /// The controllers that run as they are, in Python and in libraries, that it names, FILE:NAME, each once.
    pub fn controllers(&self) -> Vec<String> {
        let mut names = Vec::new();
        let is_unsandboxed =
            |key: &str, _: &str| Language::of_key(key).is_some_and(|language| !language.is_sandboxed());
        self.add_texts(&is_unsandboxed, "", &mut names);
        names
    }

    /// Adds the texts for whose key and value `selects` is true and that are not in `texts`. `key` is that of this value.
    fn add_texts(&self, selects: &dyn Fn(&str, &str) -> bool, key: &str, texts: &mut Vec<String>) {
        match self {
            Literal::Text(text) if selects(key, text) && !texts.contains(text) => texts.push(text.clone()),
            Literal::List(items) => items.iter().for_each(|item| item.add_texts(selects, key, texts)),
            Literal::Table(entries) => {
                entries.iter().for_each(|(key, item)| item.add_texts(selects, key, texts));
            }
            _ => {}
        }
    }
}

/// The value of `key` without its place. The paths of files are relative to `folder` where they are inside it.
pub(super) fn literal(key: &str, item: &TomlItem, folder: &Path) -> Literal {
    match &item.value {
        TomlValue::Text(name) if is_path(key, name) => {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;
    use crate::files::FileAccess;

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
        let access = FileAccess::Carried(files.into_iter().collect());
        let assignments: Vec<_> = assignments.iter().map(|text| Assignment::Text(text.to_string())).collect();
        let text = TEXT.replace("python", "note");
        Document::read(
            &ScenarioText { file: "s.toml", text: &text, set: &[], access, libraries: false },
            &assignments,
        )
        .unwrap()
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

    fn document_of(text: &ScenarioText<'_>, assignments: &[Assignment]) -> Result<TomlItem, ScenarioError> {
        Document::read(text, assignments).map(|document| document.root)
    }

    #[test]
    fn names_with_dots_and_equal_signs_stand_in_quotes() {
        let read = |assignments: &[&str]| {
            let assignments: Vec<_> =
                assignments.iter().map(|text| Assignment::Text(text.to_string())).collect();
            document_of(&ScenarioText { file: "s", ..ScenarioText::default() }, &assignments)
        };
        let document = read(&[r#"sweep.loss."0.1"={ "tcp.receive_window" = 3 }"#]).unwrap();
        let TomlValue::Table(top) = &document.value else { panic!("a table") };
        let TomlValue::Table(axes) = &top[0].1.value else { panic!("a table") };
        let TomlValue::Table(labels) = &axes[0].1.value else { panic!("a table") };
        assert_eq!(labels[0].0, "0.1");
        assert!(read(&["duration"]).is_err());
    }

    #[test]
    fn what_a_program_assigns_is_not_parsed() {
        let name = r#"f".tcp.congestion_control.python=x.py:X"#;
        let text = format!("[[flow]]\nname = '{name}'\n[[flow]]\nname = 'f'\n");
        let python = Literal::Table(vec![("python".into(), Literal::Text("x.py:X".into()))]);
        let key = ["flow", name, "tcp", "congestion_control"].map(String::from).to_vec();
        let control = |value, of_text| Assignment::Data {
            key: key.clone(),
            value,
            place: "--control x".into(),
            of_text,
        };
        let read = |assignment, access| {
            document_of(
                &ScenarioText { file: "s", text: &text, set: &[], access, libraries: false },
                &[assignment],
            )
        };
        let document = read(control(Literal::Text("reno".into()), false), FileAccess::NoCode).unwrap();
        let written = format!("{:?}", literal("", &document, std::path::Path::new("")));
        assert_eq!(written.matches("reno").count(), 1, "{written}");
        let refused =
            |of_text, access| read(control(python.clone(), of_text), access).err().map(|error| error.kind);
        assert_eq!(refused(true, FileAccess::NoCode), Some(ErrorKind::Code));
        assert_eq!(refused(true, FileAccess::Carried(Default::default())), Some(ErrorKind::Code));
        assert_eq!(refused(true, FileAccess::Folder), None);
        assert_eq!(refused(false, FileAccess::NoCode), None);
    }

    #[test]
    fn code_is_refused_in_what_comes_with_a_text() {
        let python = "flow.f.tcp.congestion_control.python=x.py:X".to_string();
        let kind = |text: &str, set: &[String], assignments: &[String], access: FileAccess| {
            let text = ScenarioText { file: "s", text, set, access, libraries: false };
            let assignments: Vec<_> = assignments.iter().map(Assignment::from).collect();
            document_of(&text, &assignments).err().map(|error| error.kind)
        };
        let carried = || FileAccess::Carried(Default::default());
        let table = r#"a = [{ b = { python = "x.py:X" } }]"#;
        let axis = r#"sweep = { 'seed, a."python"' = [[1, "x.py:X"]] }"#;
        let escaped = r#"sweep = { 'seed, a."\u0070ython"' = [[1, "x.py:X"]] }"#;
        for text in [table, axis, escaped] {
            assert_eq!(kind(text, &[], &[], FileAccess::NoCode), Some(ErrorKind::Code), "{text}");
            assert_eq!(kind(text, &[], &[], carried()), Some(ErrorKind::Code), "{text}");
            assert_eq!(kind(text, &[], &[], FileAccess::Folder), None, "{text}");
        }
        assert_eq!(kind("", std::slice::from_ref(&python), &[], carried()), Some(ErrorKind::Code));
        assert_eq!(kind("", &[], &[python], carried()), None);
        assert_eq!(kind(r#"sweep = { c = { python = { a = "x" } } }"#, &[], &[], carried()), None);
    }
}
