//! Packets that were dropped, by reason.

use net::DropReason;
#[cfg(feature = "schema")]
use net::radio::PacketFate;
#[cfg(feature = "schema")]
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Serialize, Serializer};
#[cfg(feature = "schema")]
use std::borrow::Cow;

/// Packets dropped, by reason.
#[derive(Clone, Copy, Debug)]
pub struct Drops(pub(crate) [u64; DropReason::ALL.len()]);

impl std::ops::Index<DropReason> for Drops {
    type Output = u64;
    fn index(&self, reason: DropReason) -> &u64 {
        &self.0[reason as usize]
    }
}

impl Serialize for Drops {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(DropReason::ALL.iter().map(|reason| (reason.name(), self[*reason])))
    }
}

/// The counters of [`super::outcome::RadioOutcome::mac_drops`] with their meanings.
pub const MAC_DROPS: [(&str, &str); 4] = [
    ("retry", "frames dropped after the last attempt"),
    ("collision", "receptions that failed because of another signal"),
    ("busy", "requests that a busy station did not answer"),
    ("duplicate", "frames received again"),
];

#[cfg(feature = "schema")]
impl JsonSchema for Drops {
    fn schema_name() -> Cow<'static, str> {
        "Drops".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        counts(DropReason::ALL.iter().map(|reason| (reason.name(), reason.words())))
    }
}

/// The schema of counts by name, with descriptions; all of them are written.
#[cfg(feature = "schema")]
fn counts(names: impl Iterator<Item = (&'static str, &'static str)>) -> Schema {
    let count = |about| serde_json::json!({ "type": "integer", "minimum": 0, "description": about });
    let properties: serde_json::Map<_, _> =
        names.map(|(name, about)| (name.to_string(), count(about))).collect();
    let required: Vec<_> = properties.keys().cloned().collect();
    json_schema!({
        "type": "object", "properties": properties, "additionalProperties": false, "required": required
    })
}

/// The schema of the counters of a MAC.
#[cfg(feature = "schema")]
pub(super) fn mac_drops(_: &mut SchemaGenerator) -> Schema {
    counts(MAC_DROPS.into_iter())
}

/// The schema of the packets that a radio network dropped.
#[cfg(feature = "schema")]
pub(super) fn radio_drops(_: &mut SchemaGenerator) -> Schema {
    counts(PacketFate::DROPS.iter().map(|fate| (fate.name(), fate.words())))
}
