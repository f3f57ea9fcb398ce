//! The descriptions as JSON Schema (draft 2020-12).

use super::form::{Form, Key, Table};
use super::tables::TABLES;
use crate::catalog;
use crate::simulation::Outcome;
use serde_json::{Map, Value, json};

/// Tables whose keys without a default are always required. Elsewhere `kind` alone is.
const COMPLETE: [&str; 5] = ["scenario", "flow", "traffic", "terminal", "radio"];

/// The JSON Schema of a scenario file.
pub fn scenario_schema() -> Value {
    let mut defs: Map<String, Value> =
        TABLES.iter().map(|table| (table.name.into(), object(table))).collect();
    defs.insert("loss".into(), any_model("losses"));
    defs.insert(
        "radio_queue".into(),
        json!({
            "type": "object",
            "properties": { "kind": { "const": "droptail" }, "limit": value(&Form::Quantity("49p")) },
            "additionalProperties": false,
        }),
    );
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Ackclock scenario",
        "$ref": "#/$defs/scenario",
        "$defs": defs,
    })
}

/// The JSON Schema of an outcome: of `ackclock run --json`.
pub fn outcome_schema() -> Value {
    let mut schema = schemars::schema_for!(Outcome).to_value();
    schema["title"] = "Ackclock outcome".into();
    schema
}

fn object(table: &Table) -> Value {
    let mut properties: Map<String, Value> =
        table.keys.iter().map(|key| (key.name.to_string(), described(key))).collect();
    for (old, new) in crate::scenario::old_names(table.name) {
        properties
            .insert(old.into(), json!({ "deprecated": true, "description": format!("old name of `{new}`") }));
    }
    let complete = COMPLETE.contains(&table.name);
    let required =
        table.keys.iter().filter(|key| key.defaults[0].is_empty() && (complete || key.name == "kind"));
    json!({
        "type": "object",
        "description": format!("Table {}.", table.place),
        "properties": properties,
        "required": required.map(|key| key.name).collect::<Vec<_>>(),
        "additionalProperties": false,
    })
}

fn described(key: &Key) -> Value {
    let mut schema = value(&key.form);
    let [first, second] = key.defaults;
    let default = match (first, second) {
        ("", _) => String::new(),
        _ if first == second => format!(" Default: {first}."),
        _ => format!(" Default: {first} (profile `ns2`), {second} (otherwise)."),
    };
    schema["description"] = format!("{}.{default}", capitalised(key.doc)).into();
    schema
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn reference(table: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{table}") })
}

fn value(form: &Form) -> Value {
    match *form {
        Form::Text => json!({ "type": "string" }),
        Form::Word(words) => json!({ "enum": words }),
        Form::Number(min, max) => json!({ "type": "number", "minimum": min, "maximum": max }),
        Form::Integer(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Form::Switch => json!({ "type": "boolean" }),
        Form::Quantity(example) => json!({ "type": "string", "examples": [example] }),
        Form::Bytes => json!({ "type": ["string", "integer"], "examples": ["1000B"] }),
        Form::QuantityOr(example, words) => {
            let examples: Vec<&str> = words.iter().copied().chain([example]).collect();
            json!({ "type": "string", "examples": examples })
        }
        Form::PartOr(words) => {
            json!({ "anyOf": [{ "type": "number", "minimum": 0, "maximum": 1 }, { "enum": words }] })
        }
        Form::Table(name) => reference(name),
        Form::Tables("link") => json!({
            "type": "array",
            "items": { "allOf": [reference("link"), { "required": ["ends", "rate", "delay"] }] },
        }),
        Form::Tables(name) => json!({ "type": "array", "items": reference(name) }),
        Form::TableOrTables(name) => {
            json!({ "anyOf": [reference(name), { "type": "array", "items": reference(name) }] })
        }
        Form::Controller => controller(),
        Form::Model(list) => any_model(list),
        Form::TextOrTexts => {
            json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] })
        }
        Form::Array(example) => json!({ "type": "array", "examples": [example] }),
        Form::Any(example) => json!({ "examples": [example] }),
    }
}

/// A table with `kind` and the parameters of a model of a list.
fn any_model(list: &str) -> Value {
    let models = catalog::list(list).unwrap_or_default();
    let each = models.iter().map(|entry| match entry.name.as_str() {
        "red" => reference("red"),
        _ => model(entry, entry.params.iter().filter(|param| param.default.is_empty())),
    });
    json!({ "anyOf": each.collect::<Vec<_>>() })
}

fn model<'a>(entry: &'a catalog::Entry, required: impl Iterator<Item = &'a catalog::Parameter>) -> Value {
    let mut properties: Map<String, Value> = entry.params.iter().map(parameter).collect();
    properties.insert("kind".into(), json!({ "const": entry.name }));
    let required: Vec<&str> = required.map(|param| param.name.as_str()).chain(["kind"]).collect();
    json!({
        "type": "object",
        "description": entry.summary,
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

fn parameter(param: &catalog::Parameter) -> (String, Value) {
    let unit = if param.unit.is_empty() { String::new() } else { format!(" ({})", param.unit) };
    (
        param.name.clone(),
        json!({ "description": format!("{}{unit}. Default: {}.", param.doc, param.default) }),
    )
}

fn controller() -> Value {
    let controllers = catalog::list("controllers").unwrap_or_default();
    let names: Vec<&str> = controllers.iter().map(|entry| entry.name.as_str()).collect();
    let mut forms = vec![
        json!({ "enum": names }),
        json!({
            "type": "object",
            "description": "A controller written in Python, and its arguments.",
            "properties": { "python": { "type": "string", "examples": ["mine.py:Mine"] } },
            "required": ["python"],
        }),
    ];
    forms.extend(controllers.iter().map(|entry| {
        let mut form = model(entry, [].into_iter());
        form["properties"]["fit"] = json!({ "type": "string", "description": "File with parameters." });
        form
    }));
    json!({ "anyOf": forms })
}
