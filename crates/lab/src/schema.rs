//! The JSON Schema (draft 2020-12) of scenarios, from the descriptions of their tables.

use crate::scenario::{APPLICATIONS, Language, controllers, keys_of, rates, tables};
use params::{Form, Key, PERCENT, Table, Unit};
use serde_json::{Map, Value, json};

/// The JSON Schema of a scenario file. A file that extends another one may lack required keys.
pub fn scenario_schema() -> Value {
    let mut defs: Map<String, Value> = tables().map(|table| (table.name.into(), object(table))).collect();
    defs.insert("controller".into(), controller());
    defs.insert("queue".into(), any_of("A queue discipline.", "queues"));
    defs.insert("loss".into(), any_of("A cause of loss besides the queue.", "losses"));
    defs.insert("router".into(), any_of("A router.", "routers"));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Ackclock scenario",
        "$ref": "#/$defs/scenario",
        "if": { "not": { "required": ["extends"] } },
        "then": requirements("scenario"),
        "$defs": defs,
    })
}

fn object(table: &Table) -> Value {
    let properties: Map<String, Value> =
        table.keys().map(|key| (key.name.to_string(), described(key))).collect();
    json!({
        "type": "object",
        "description": format!("{}.", capitalised(table.place)),
        "properties": properties,
        "additionalProperties": false,
    })
}

fn described(key: &Key) -> Value {
    let mut schema = value(&key.form);
    let [first, second] = key.defaults;
    let default = match (first, second) {
        ("", _) => " Required.".into(),
        _ if first == second => format!(" Default: {first}."),
        _ => format!(" Default: {first} (profile `ns2`), {second} (otherwise)."),
    };
    let unit = if key.unit.is_empty() { String::new() } else { format!(" ({})", key.unit) };
    let bounds = key.form.bounds();
    let bounds = if bounds.is_empty() { bounds } else { format!(" ({bounds})") };
    let needs = key.needs.words();
    let needs = if needs.is_empty() { needs } else { format!(" Without effect unless {needs}.") };
    schema["description"] = format!("{}{unit}{bounds}.{default}{needs}", capitalised(key.doc)).into();
    schema
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn reference(table: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{table}") })
}

fn any_of(description: &str, list: &str) -> Value {
    let each: Vec<Value> = models(list).map(|table| reference(table.name)).collect();
    json!({ "description": description, "anyOf": each })
}

/// The models of a list of `ackclock list`.
fn models(list: &str) -> Box<dyn Iterator<Item = &'static Table>> {
    match list {
        "queues" => Box::new(net::qdisc::disciplines().map(|discipline| &discipline.model.table)),
        "losses" => Box::new(net::impairment::KINDS.iter().map(|kind| &kind.model.table)),
        "rates" => Box::new(rates().map(|model| &model.table)),
        "applications" => Box::new(APPLICATIONS.iter().map(|model| &model.table)),
        _ => Box::new(net::ROUTERS.iter().map(|router| &router.model.table)),
    }
}

fn value(form: &Form) -> Value {
    let form_of_number = number_or_other(form);
    match form.takes_percent() {
        true => json!({ "anyOf": [form_of_number, { "type": "string", "pattern": PERCENT }] }),
        false => form_of_number,
    }
}

/// The schema of a form without percentages.
fn number_or_other(form: &Form) -> Value {
    match *form {
        Form::Text | Form::File => json!({ "type": "string" }),
        Form::Word(words) => json!({ "enum": words }),
        Form::Number(min, max) => json!({ "type": "number", "minimum": min, "maximum": max }),
        Form::NumberOrNone(min, max) => {
            json!({ "anyOf": [{ "const": 0 }, { "type": "number", "minimum": min, "maximum": max }] })
        }
        Form::Integer(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Form::Switch => json!({ "type": "boolean" }),
        Form::Quantity(unit, example) | Form::Range(unit, example, ..) | Form::AtLeast(unit, example, _) => {
            quantity(unit, example)
        }
        Form::Bytes(..) => {
            let mut schema = quantity(Unit::Size, "1000B");
            schema["type"] = json!(["string", "integer"]);
            schema
        }
        Form::BytesOr(min, max, words) => {
            let number = json!({ "type": "integer", "minimum": min, "maximum": max });
            json!({ "anyOf": [{ "enum": words }, quantity(Unit::Size, "1000B"), number] })
        }
        Form::QuantityOr(unit, example, words) => {
            json!({ "anyOf": [{ "enum": words }, quantity(unit, example)] })
        }
        Form::PartOr(min, words) => {
            json!({ "anyOf": [{ "type": "number", "minimum": min, "maximum": 1 }, { "enum": words }] })
        }
        Form::WordOrTable(words, name) => json!({ "anyOf": [{ "enum": words }, reference(name)] }),
        Form::Table(name) => reference(name),
        Form::Tables(name) => json!({ "type": "array", "items": reference(name) }),
        Form::Losses => {
            let short = json!({ "type": ["string", "number"], "examples": ["0.3%"] });
            json!({ "anyOf": [reference("loss"), { "type": "array", "items": reference("loss") }, short] })
        }
        Form::Controller => reference("controller"),
        Form::Queue => json!({ "anyOf": [reference("queue"), { "type": "string", "examples": ["codel"] }] }),
        Form::Router => reference("router"),
        Form::LinkRate => {
            let kinds = models("rates").map(|table| reference(table.name));
            let either: Vec<Value> = [quantity(Unit::Rate, "10Mbps")].into_iter().chain(kinds).collect();
            json!({ "anyOf": either })
        }
        Form::Application => {
            let kinds = models("applications").map(|table| reference(table.name));
            let either: Vec<Value> = [quantity(Unit::Rate, "3Mbps")].into_iter().chain(kinds).collect();
            json!({ "anyOf": either })
        }
        Form::Sizes => json!({ "type": ["string", "integer", "array"], "examples": ["20kB", "web_search"] }),
        Form::LinkDelay(name) => json!({ "anyOf": [quantity(Unit::Time, "10ms"), reference(name)] }),
        Form::TextOrTexts => {
            json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] })
        }
        Form::List(_, example) | Form::Row(_, example) => {
            json!({ "type": "array", "examples": [example] })
        }
        Form::OrSteps(form, example) => {
            json!({ "anyOf": [value(form), { "type": "array", "examples": [example] }] })
        }
        Form::Any(example) if example.starts_with('{') => json!({ "type": "object", "examples": [example] }),
        Form::Any(example) => json!({ "examples": [example] }),
    }
}

fn quantity(unit: Unit, example: &str) -> Value {
    json!({ "type": "string", "pattern": unit.pattern(), "examples": [example] })
}

/// The keys that a table, and the tables in it, must have.
fn requirements(table: &str) -> Value {
    let keys = keys_of(table);
    let required: Vec<&str> = keys.clone().filter(|key| key.is_required()).map(|key| key.name).collect();
    let inner = keys.filter_map(|key| Some((key.name.to_string(), inner_requirements(&key.form)?)));
    json!({ "required": required, "properties": inner.collect::<Map<_, _>>() })
}

fn inner_requirements(form: &Form) -> Option<Value> {
    let of_models = |list| {
        let each = models(list).map(|table| {
            let words = table.key("kind").map(|key| value(&key.form));
            json!({ "if": { "properties": { "kind": words } }, "then": requirements(table.name) })
        });
        json!({ "required": ["kind"], "allOf": each.collect::<Vec<_>>() })
    };
    match *form {
        Form::Table(name) => Some(requirements(name)),
        Form::Tables(name) => Some(json!({ "items": requirements(name) })),
        Form::WordOrTable(_, name) | Form::LinkDelay(name) => {
            Some(json!({ "if": { "type": "object" }, "then": requirements(name) }))
        }
        Form::LinkRate => Some(json!({ "if": { "type": "object" }, "then": of_models("rates") })),
        Form::Application => Some(json!({ "if": { "type": "object" }, "then": of_models("applications") })),
        Form::Queue => Some(json!({ "if": { "type": "object" }, "then": of_models("queues") })),
        Form::Router => Some(of_models("routers")),
        Form::Losses => {
            let loss = of_models("losses");
            let table = json!({ "if": { "type": "object" }, "then": loss });
            Some(json!({ "if": { "type": "array" }, "then": { "items": loss }, "else": table }))
        }
        _ => None,
    }
}

/// A controller: its name, or a table with its parameters, or one of a file.
fn controller() -> Value {
    let descriptors = controllers().map(|registration| &registration.descriptor);
    let names: Vec<&str> = descriptors.clone().map(|descriptor| descriptor.name).collect();
    let outside = Language::ALL.map(|language| {
        let (key, about) = match language {
            Language::Python => (language.key(), "A controller written in Python, and its arguments."),
            Language::Library => (
                language.key(),
                "A controller of a native library, and its parameters; it runs only with --allow-code.",
            ),
            Language::Wasm => (language.key(), "A controller of a WebAssembly module, and its parameters."),
            Language::JavaScript => (
                language.key(),
                "A controller in JavaScript, or of a page that was saved from the laboratory.",
            ),
        };
        json!({
            "type": "object",
            "description": about,
            "properties": { (key): { "type": "string", "examples": [language.example()] } },
            "required": [key],
        })
    });
    let mut forms = vec![json!({ "enum": names })];
    forms.extend(outside);
    forms.extend(descriptors.map(|descriptor| {
        let mut properties: Map<String, Value> = descriptor.params.iter().map(parameter).collect();
        properties.insert("kind".into(), json!({ "const": descriptor.name }));
        properties.insert(
            "fit".into(),
            json!({ "type": "string", "description": "File with parameters, relative to the scenario." }),
        );
        json!({
            "type": "object",
            "description": format!("{}.", capitalised(descriptor.summary)),
            "properties": properties,
            "required": ["kind"],
            "additionalProperties": false,
        })
    }));
    json!({ "description": "A controller of congestion control.", "anyOf": forms })
}

/// A parameter of a controller: text with a unit, such as "500ms", can be a number.
fn parameter(key: &Key) -> (String, Value) {
    let mut schema = described(key);
    if key.takes_text() {
        let number = value(&key.form);
        let doc = schema["description"].take();
        schema = json!({ "anyOf": [number, { "type": "string" }], "description": doc });
    }
    (key.name.to_string(), schema)
}
