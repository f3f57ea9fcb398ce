//! All tables of a scenario.

use super::aqm::{CODEL, DUALPI2, FQ_CODEL, FQ_PIE, PIE};
use super::form::{Key, Table};
use super::keys::{
    BACK, BERNOULLI, BLACKOUT, CHANGE, CONSTELLATION, DROPTAIL, FLOW, GILBERT_ELLIOTT, HANDOFF, LINK,
    NO_LOSS, RED, ROUTER, SCRIPTED, STALL, TERMINAL, TOP, TOPOLOGY, TRAFFIC, TRANSMITTER, UDP,
};
use super::quic::QUIC;
use super::radio::{AODV, MAC, MOBILITY, PROPAGATION, RADIO, RADIO_QUEUE, RADIO_TRAFFIC};
use super::rate::{
    DELAY, DUPLICATE, JITTER, POLICER, RANDOM_STEPS, RATE_FILE, REORDER, SHAPER, STEPS, TRACE, WIFI,
    WIFI_RATE,
};
use super::tcp::TCP;

/// Every table of a scenario.
pub const TABLES: &[Table] = &[
    Table { name: "scenario", place: "top level", keys: TOP },
    Table { name: "link", place: "`[[link]]`", keys: LINK },
    Table { name: "back", place: "`[link.back]`: the reverse direction of a link", keys: BACK },
    Table { name: "droptail", place: "`queue = { kind = \"droptail\", ... }`", keys: DROPTAIL },
    Table { name: "red", place: "`queue = { kind = \"red\", ... }`", keys: RED },
    Table { name: "codel", place: "`queue = { kind = \"codel\", ... }`", keys: CODEL },
    Table { name: "fq_codel", place: "`queue = { kind = \"fq_codel\", ... }`", keys: FQ_CODEL },
    Table { name: "pie", place: "`queue = { kind = \"pie\", ... }`", keys: PIE },
    Table { name: "fq_pie", place: "`queue = { kind = \"fq_pie\", ... }`", keys: FQ_PIE },
    Table { name: "dualpi2", place: "`queue = { kind = \"dualpi2\", ... }`", keys: DUALPI2 },
    Table { name: "trace", place: "`rate = { kind = \"trace\", ... }` of a link", keys: TRACE },
    Table { name: "steps", place: "`rate = { kind = \"steps\", ... }` of a link", keys: STEPS },
    Table {
        name: "random_steps",
        place: "`rate = { kind = \"random_steps\", ... }` of a link",
        keys: RANDOM_STEPS,
    },
    Table { name: "file", place: "`rate = { kind = \"file\", ... }` of a link", keys: RATE_FILE },
    Table { name: "wifi", place: "`rate = { kind = \"wifi\", ... }` of a link", keys: WIFI_RATE },
    Table { name: "wifi_set", place: "`[[wifi]]`: a basic service set", keys: WIFI },
    Table { name: "shaper", place: "`shaper` of a link", keys: SHAPER },
    Table { name: "router", place: "`router` of a link", keys: ROUTER },
    Table { name: "topology", place: "`[[topology]]`", keys: TOPOLOGY },
    Table { name: "flow", place: "`[[flow]]`", keys: FLOW },
    Table { name: "udp", place: "`udp` of a flow", keys: UDP },
    Table { name: "tcp", place: "`[tcp]` for all flows, and `tcp` of a flow or of traffic", keys: TCP },
    Table {
        name: "quic",
        place: "`[quic]` for all QUIC flows, and `quic` of a flow or of traffic",
        keys: QUIC,
    },
    Table { name: "traffic", place: "`[[traffic]]`", keys: TRAFFIC },
    Table { name: "change", place: "`[[change]]`", keys: CHANGE },
    Table { name: "constellation", place: "`[constellation]`", keys: CONSTELLATION },
    Table { name: "transmitter", place: "`isl`, `up` and `down` of a constellation", keys: TRANSMITTER },
    Table { name: "handoff", place: "`handoff` of a constellation", keys: HANDOFF },
    Table { name: "terminal", place: "`[[terminal]]`", keys: TERMINAL },
    Table { name: "radio", place: "`[radio]`", keys: RADIO },
    Table { name: "mobility", place: "`mobility` of a radio network", keys: MOBILITY },
    Table { name: "propagation", place: "`propagation` of a radio network", keys: PROPAGATION },
    Table { name: "mac", place: "`mac` of a radio network", keys: MAC },
    Table { name: "routing", place: "`routing` of a radio network", keys: AODV },
    Table { name: "radio_traffic", place: "`traffic` of a radio network", keys: RADIO_TRAFFIC },
    Table { name: "radio_queue", place: "`queue` of a radio network", keys: RADIO_QUEUE },
    Table { name: "none", place: "`loss = { kind = \"none\" }`", keys: NO_LOSS },
    Table { name: "bernoulli", place: "`loss = { kind = \"bernoulli\", ... }`", keys: BERNOULLI },
    Table {
        name: "gilbert_elliott",
        place: "`loss = { kind = \"gilbert_elliott\", ... }`",
        keys: GILBERT_ELLIOTT,
    },
    Table { name: "blackout", place: "`loss = { kind = \"blackout\", ... }`", keys: BLACKOUT },
    Table { name: "stall", place: "`loss = { kind = \"stall\", ... }`", keys: STALL },
    Table { name: "policer", place: "`loss = { kind = \"policer\", ... }`", keys: POLICER },
    Table { name: "jitter", place: "`loss = { kind = \"jitter\", ... }`", keys: JITTER },
    Table { name: "delay", place: "`loss = { kind = \"delay\", ... }`", keys: DELAY },
    Table { name: "reorder", place: "`loss = { kind = \"reorder\", ... }`", keys: REORDER },
    Table { name: "duplicate", place: "`loss = { kind = \"duplicate\", ... }`", keys: DUPLICATE },
    Table { name: "scripted", place: "`loss = { kind = \"scripted\", ... }`", keys: SCRIPTED },
];

/// The keys of a model of a list, such as a queue or a loss.
pub fn keys_of(model: &str) -> &'static [Key] {
    TABLES.iter().find(|table| table.name == model).map_or(&[], |table| table.keys)
}
