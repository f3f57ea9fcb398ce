//! The outcome as JSON Schema (draft 2020-12).

use super::Outcome;
use serde_json::Value;

/// The JSON Schema of an outcome: of `ackclock run --json`.
pub fn outcome_schema() -> Value {
    let mut schema = schemars::schema_for!(Outcome).to_value();
    schema["title"] = "Ackclock outcome".into();
    require_all(&mut schema);
    if let Some(definitions) = schema["$defs"].as_object_mut() {
        definitions.values_mut().for_each(require_all);
    }
    schema
}

/// Keys of an outcome that are absent where they do not apply.
const ABSENT: [&str; 15] = [
    "warmup_s",
    "low_latency",
    "wifi",
    "cell",
    "grants",
    "categories",
    "p95_sojourn_s",
    "delay",
    "p99_sojourn_s",
    "transport",
    "persistent_congestion",
    "ce_marks",
    "connection_error",
    "connection_lost",
    "connection_lost_s",
];

/// Every key of an outcome is present, null where it does not apply; a run without a warm-up has no `warmup_s`, a link
/// without DualPI2 no `low_latency`, one without Wi-Fi no `wifi`, one without a cell no `cell`, one without grants no
/// `grants`, one without flows of several access categories no `categories`; quantiles of waiting times need `delays = true`; `transport`,
/// `persistent_congestion`, `ce_marks` and `connection_error` are of QUIC flows, `connection_lost` and `connection_lost_s` of
/// those that lost their connection.
fn require_all(object: &mut Value) {
    if let Some(properties) = object["properties"].as_object() {
        object["required"] =
            properties.keys().filter(|key| !ABSENT.contains(&key.as_str())).cloned().collect();
    }
}
