//! All tables of a scenario, in the order of lists and reference pages.

use super::app::{APPLICATIONS, LAYER};
use super::cellular::{self, CELL, CELLULAR_RATE};
use super::change::CHANGE;
use super::delay::DELAY_FILE;
use super::flows::FLOW;
use super::links::{BACK, LINK};
use super::media::SIGNAL;
use super::radio::{MAC, MOBILITY, PROPAGATION, RADIO, RADIO_QUEUE, ROUTING};
use super::radio_traffic::RADIO_TRAFFIC;
use super::rate::SHAPER;
use super::satellites::{CONSTELLATION, HANDOFF, TERMINAL, TRANSMITTER};
use super::start::RESUME;
use super::tcp::TCP;
use super::top::SCENARIO;
use super::topologies::TOPOLOGY;
use super::traffic::{PATTERN, TRAFFIC};
use super::transports::QUIC;
use super::udp::UDP;
use super::wifi::{AP_QUEUE, EDCA, EDCA_CATEGORY, FIXED_RATE, WIFI, WIFI_RATE};
use net::impairment::KINDS;
use net::qdisc::disciplines;
use net::{RATES, REQUEST_GRANT, ROUTERS};
use params::{Key, Model, Table};

/// The models of rates.
pub(crate) fn rates() -> impl Iterator<Item = &'static Model> + Clone {
    RATES.iter().chain([&WIFI_RATE, &CELLULAR_RATE, &REQUEST_GRANT])
}

/// Every table of a scenario.
pub fn tables() -> impl Iterator<Item = &'static Table> {
    let rates = rates().map(|model| &model.table);
    let routers = ROUTERS.iter().map(|router| &router.model.table);
    let queues = disciplines().map(|discipline| &discipline.model.table);
    let applications = APPLICATIONS.iter().map(|model| &model.table);
    let losses = KINDS.iter().map(|kind| &kind.model.table);
    [&SCENARIO, &LINK, &BACK]
        .into_iter()
        .chain(queues)
        .chain(rates)
        .chain(routers)
        .chain([&SHAPER, &DELAY_FILE, &WIFI, &AP_QUEUE, &FIXED_RATE, &EDCA, &TOPOLOGY])
        .chain([&FLOW])
        .chain(applications)
        .chain([&LAYER])
        .chain([&UDP, &TCP, &QUIC, &RESUME, &TRAFFIC, &PATTERN, &CHANGE])
        .chain([&CONSTELLATION, &TRANSMITTER, &HANDOFF, &TERMINAL])
        .chain([&RADIO, &MOBILITY, &PROPAGATION, &ROUTING, &RADIO_TRAFFIC, &RADIO_QUEUE])
        .chain([&EDCA_CATEGORY, &CELL])
        .chain(&SIGNAL)
        .chain(&cellular::USER)
        .chain([&MAC])
        .chain(losses)
}

/// The keys of the table called `name`: that of a model too, such as a queue discipline.
pub(crate) fn keys_of(name: &str) -> impl Iterator<Item = &'static Key> + Clone {
    tables().find(|table| table.name == name).into_iter().flat_map(Table::keys)
}

#[cfg(test)]
mod tests {
    use super::super::Scenario;
    use super::*;
    use params::{Raw, Value, reads};
    use std::path::{Path, PathBuf};

    /// The tables that are no list of options or of a model: their readers read the keys one by one.
    const READ_BY_KEY: [&Table; 20] = [
        &SCENARIO,
        &LINK,
        &BACK,
        &DELAY_FILE,
        &WIFI,
        &AP_QUEUE,
        &FIXED_RATE,
        &TOPOLOGY,
        &FLOW,
        &UDP,
        &TRAFFIC,
        &PATTERN,
        &CHANGE,
        &CONSTELLATION,
        &TRANSMITTER,
        &TERMINAL,
        &RADIO,
        &MOBILITY,
        &RADIO_TRAFFIC,
        &RADIO_QUEUE,
    ];

    /// Keys that are read before the values of their table, or that have one value only.
    const BEFORE: [&str; 22] = [
        "scenario.extends",
        "scenario.duration",
        "scenario.warmup",
        "scenario.cooldown",
        "scenario.set",
        "link.name",
        "link.count",
        "link.ends",
        "flow.name",
        "flow.count",
        "traffic.name",
        "traffic.from",
        "traffic.to",
        "change.name",
        "constellation.file",
        "mobility.file",
        "radio.profile",
        "radio.nodes",
        "radio_queue.kind",
        "fixed_rate.kind",
        "delay_file.kind",
        "delay_file.file",
    ];

    /// What no file of the repository has.
    const MORE: &str = r#"
duration = "1s"
wifi = [{ name = "w", ap = "b", ap_queue = { kind = "shared" } }]
link = [
  { ends = ["a", "b"], rate = "1Mbps", delay = { kind = "file", file = "tests/delays.csv" } },
  { ends = ["b", "c"], rate = { kind = "wifi", medium = "w", rate_control = { kind = "fixed", mcs = 1 } } },
]
topology = [{ kind = "leaf_spine", leaves = 1, spines = 1, hosts = 2, host_rate = "1Gbps", fabric_rate = "1Gbps", delay = "1us" }]
flow = [{ from = "a", to = "c" }]
traffic = [{ from = "a", to = "c", pattern = { incast = 2, size = "20kB", every = "10ms" } }]
change = [{ at = "0.5s", do = "blackout", link = "a->b", duration = "1ms" }]
"#;

    fn scenarios(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                scenarios(&path, files);
            } else if path.extension().is_some_and(|ending| ending == "toml") {
                files.push(path);
            }
        }
    }

    #[test]
    fn every_described_key_is_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut files = Vec::new();
        for folder in ["scenarios", "python/ackclock/apps/suite/definitions", "examples", "tests"] {
            scenarios(&root.join(folder), &mut files);
        }
        reads::take();
        Scenario::parse("more", MORE, &[]).unwrap();
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let _ = Scenario::parse(&file.to_string_lossy(), &text, &[]); // some files are no scenarios
        }
        let read = reads::take();
        let has_value = |key: &&Key| key.form.value(&Raw::Table) != Ok(Value::Inner);
        let mut unread = Vec::new();
        for table in READ_BY_KEY {
            let keys = table.keys().filter(has_value);
            let unread_keys = keys.filter(|key| !read.contains(&(table.name, key.name.into())));
            unread.extend(unread_keys.map(|key| format!("{}.{}", table.name, key.name)));
        }
        unread.retain(|key| !BEFORE.contains(&key.as_str()));
        assert!(unread.is_empty(), "{unread:?}");
    }
}
