//! The outcome as JSON Schema (draft 2020-12).

use super::Outcome;
use super::outcome::{Drops, MAC_DROPS};
use net::DropReason;
use net::radio::PacketFate;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::Value;
use std::borrow::Cow;

/// The JSON Schema of an outcome: of `ackclock run --json`. Every key is required but those that are not written where they do
/// not apply.
pub fn outcome_schema() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<Outcome>().to_value();
    schema["title"] = "Ackclock outcome".into();
    schema
}

impl JsonSchema for Drops {
    fn schema_name() -> Cow<'static, str> {
        "Drops".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        counts(DropReason::ALL.iter().map(|reason| (reason.name(), reason.words())))
    }
}

/// The schema of counts by name, with descriptions; all of them are written.
fn counts(names: impl Iterator<Item = (&'static str, &'static str)>) -> Schema {
    let one = |about| serde_json::json!({ "type": "integer", "minimum": 0, "description": about });
    let properties: serde_json::Map<_, _> =
        names.map(|(name, about)| (name.to_string(), one(about))).collect();
    let required: Vec<_> = properties.keys().cloned().collect();
    json_schema!({
        "type": "object", "properties": properties, "additionalProperties": false, "required": required
    })
}

/// The schema of the counters of a MAC.
pub(super) fn mac_drops(_: &mut SchemaGenerator) -> Schema {
    counts(MAC_DROPS.into_iter())
}

/// The schema of the packets that a radio network dropped.
pub(super) fn radio_drops(_: &mut SchemaGenerator) -> Schema {
    counts(PacketFate::DROPS.iter().map(|fate| (fate.name(), fate.words())))
}
