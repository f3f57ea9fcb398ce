//! All tables of a scenario, in the order of lists and reference pages.

use super::cellular::{self, CELL, CELLULAR_RATE};
use super::change::CHANGE;
use super::flows::FLOW;
use super::links::{BACK, LINK};
use super::media::SIGNAL;
use super::radio::{MAC, MOBILITY, PROPAGATION, RADIO, RADIO_QUEUE, ROUTING};
use super::radio_traffic::RADIO_TRAFFIC;
use super::rate::SHAPER;
use super::satellites::{CONSTELLATION, HANDOFF, TERMINAL, TRANSMITTER};
use super::tcp::TCP;
use super::top::SCENARIO;
use super::topologies::TOPOLOGY;
use super::traffic::TRAFFIC;
use super::transports::QUIC;
use super::udp::UDP;
use super::wifi::{AP_QUEUE, EDCA, EDCA_CATEGORY, FIXED_RATE, WIFI, WIFI_RATE};
use net::impairment::KINDS;
use net::qdisc::disciplines;
use net::{RATES, REQUEST_GRANT, ROUTERS};
use params::{Form, Key, Table};

/// Every table of a scenario.
pub fn tables() -> impl Iterator<Item = &'static Table> {
    let rates = RATES.iter().chain([&WIFI_RATE, &CELLULAR_RATE, &REQUEST_GRANT]).map(|model| &model.table);
    let routers = ROUTERS.iter().map(|router| &router.model.table);
    let queues = disciplines().map(|discipline| &discipline.model.table);
    let losses = KINDS.iter().map(|kind| &kind.model.table);
    [&SCENARIO, &LINK, &BACK]
        .into_iter()
        .chain(queues)
        .chain(rates)
        .chain(routers)
        .chain([&SHAPER, &WIFI, &AP_QUEUE, &FIXED_RATE, &EDCA, &TOPOLOGY])
        .chain([&FLOW, &UDP, &TCP, &QUIC, &TRAFFIC, &CHANGE])
        .chain([&CONSTELLATION, &TRANSMITTER, &HANDOFF, &TERMINAL])
        .chain([&RADIO, &MOBILITY, &PROPAGATION, &ROUTING, &RADIO_TRAFFIC, &RADIO_QUEUE])
        .chain([&EDCA_CATEGORY, &CELL])
        .chain(&SIGNAL)
        .chain(&cellular::USER)
        .chain([&MAC])
        .chain(losses)
}

/// The table of the model that `kind` names, by a present or an old name.
pub(super) fn table_of_kind(kind: &str) -> Option<&'static Table> {
    let names = |table: &Table| match table.key("kind").map(|key| key.form) {
        Some(Form::Word(names)) => names,
        _ => &[],
    };
    tables().find(|table| names(table).first() == Some(&table.name) && names(table).contains(&kind))
}

/// The keys of the table called `name`: that of a model too, such as a queue discipline.
pub(crate) fn keys_of(name: &str) -> impl Iterator<Item = &'static Key> + Clone {
    tables().find(|table| table.name == name).into_iter().flat_map(Table::keys)
}
