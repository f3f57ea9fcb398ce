//! All tables of a scenario.

use super::{cellular, network, radio, satellites, transport, wifi};
use net::impairment::KINDS;
use net::qdisc::disciplines;
use net::radio::{AodvConfig, MacConfig, Propagation};
use net::{RATES, REQUEST_GRANT, ROUTERS, TokenBucket};
use params::{Form, Key, Table};

const fn table(name: &'static str, place: &'static str, groups: &'static [&'static [Key]]) -> Table {
    Table { name, place, groups }
}

#[cfg(feature = "quic")]
const QUIC: &[Key] = ::quic::Config::KEYS;
#[cfg(not(feature = "quic"))]
const QUIC: &[Key] = &[];

const NETWORK: &[Table] = &[
    table("scenario", "top level", &[network::TOP]),
    table("link", "`[[link]]`", &[network::LINK]),
    table("back", "`[link.back]`: the reverse direction of a link", &[network::BACK]),
];

const OTHERS: &[Table] = &[
    table("wifi_set", "`[[wifi]]`: a basic service set", &[wifi::WIFI]),
    table("edca", "`edca` of a basic service set", &[wifi::EDCA]),
    table("topology", "`[[topology]]`", &[network::TOPOLOGY]),
    table("flow", "`[[flow]]`", &[network::FLOW]),
    table("udp", "`udp` of a flow", &[network::UDP]),
    table(
        "tcp",
        "`[tcp]` for all flows, and `tcp` of a flow or of traffic",
        &[transport::TCP, ::transport::Options::KEYS],
    ),
    table(
        "quic",
        "`[quic]` for all QUIC flows, and `quic` of a flow or of traffic",
        &[transport::QUIC, QUIC],
    ),
    table("traffic", "`[[traffic]]`", &[network::TRAFFIC]),
    table("change", "`[[change]]`", &[network::CHANGE]),
    table("constellation", "`[constellation]`", &[satellites::CONSTELLATION]),
    table("transmitter", "`isl`, `up` and `down` of a constellation", &[satellites::TRANSMITTER]),
    table("handoff", "`handoff` of a constellation", &[satellites::HANDOFF]),
    table("terminal", "`[[terminal]]`", &[satellites::TERMINAL]),
    table("radio", "`[radio]`", &[radio::RADIO]),
    table("mobility", "`mobility` of a radio network", &[radio::MOBILITY]),
    table("propagation", "`propagation` of a radio network", &[radio::PROPAGATION, Propagation::KEYS]),
    table("routing", "`routing` of a radio network", &[radio::AODV, AodvConfig::KEYS]),
    table("radio_traffic", "`traffic` of a radio network", &[radio::RADIO_TRAFFIC]),
    table("radio_queue", "`queue` of a radio network", &[radio::RADIO_QUEUE]),
];

/// A token bucket in front of a transmitter.
pub static SHAPER: Table = table("shaper", "`shaper` of a link", &[TokenBucket::KEYS]);

/// The MAC of radio nodes.
pub static MAC: Table = table("mac", "`mac` of a radio network", &[MacConfig::KEYS, MacConfig::VARIANTS]);

/// Every table of a scenario.
pub fn tables() -> impl Iterator<Item = &'static Table> {
    let rates = RATES
        .iter()
        .chain([&wifi::WIFI_RATE, &cellular::CELLULAR_RATE, &REQUEST_GRANT])
        .map(|model| &model.table);
    let routers = ROUTERS.iter().map(|router| &router.model.table);
    let queues = disciplines().map(|discipline| &discipline.model.table);
    let losses = KINDS.iter().map(|kind| &kind.model.table);
    NETWORK
        .iter()
        .chain(queues)
        .chain(rates)
        .chain(routers)
        .chain([&SHAPER])
        .chain(OTHERS)
        .chain([&wifi::EDCA_CATEGORY, &cellular::CELL])
        .chain(&cellular::USER)
        .chain([&MAC])
        .chain(losses)
}

/// The table called `name`: that of a model too, such as a queue discipline.
pub fn table_of(name: &str) -> Option<&'static Table> {
    tables().find(|table| table.name == name)
}

/// The table of the model that `kind` names, by a present or an old name.
pub fn table_of_kind(kind: &str) -> Option<&'static Table> {
    let names = |table: &Table| match table.key("kind").map(|key| key.form) {
        Some(Form::Word(names)) => names,
        _ => &[],
    };
    tables().find(|table| names(table).first() == Some(&table.name) && names(table).contains(&kind))
}

/// The keys of a table.
pub fn keys_of(name: &str) -> impl Iterator<Item = &'static Key> + Clone {
    table_of(name).into_iter().flat_map(Table::keys)
}
