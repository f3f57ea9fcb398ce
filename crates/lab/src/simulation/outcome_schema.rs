//! The outcome as JSON Schema (draft 2020-12).

use super::Outcome;
use schemars::generate::SchemaSettings;
use serde_json::Value;

/// The JSON Schema of an outcome: of `ackclock run --json`. Every key is required but those that are not written where they do
/// not apply.
pub fn outcome_schema() -> Value {
    let generator = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let mut schema = generator.into_root_schema_for::<Outcome>().to_value();
    schema["title"] = "Ackclock outcome".into();
    schema
}
