//! The schema against the readers and the profiles.

use super::tables::table_of;
use super::{Table, tables};
use crate::scenario::read_keys;
use crate::{FlowKind, Scenario};
use std::collections::{BTreeMap, BTreeSet};

/// Scenarios that, together, bring every reader to read every key.
const WIRED: &str = r#"
duration = "1s"
tcp = {}
quic = {}
link = [
  { name = "l", ends = ["a", "b"], rate = "1Mbps", delay = "1ms", queue = { kind = "red", limit = "9p" }, router = { kind = "rcp" }, back = { queue = { kind = "red", limit = "9p" }, router = { kind = "xcp" } } },
  { name = "m", ends = ["b", "c"], rate = "1Mbps", delay = "1ms", router = { kind = "quick_start" }, queue = { kind = "droptail", limit = "9p" }, loss = [{ kind = "none" }, { kind = "bernoulli", rate = 0 }, { kind = "gilbert_elliott", p = 0, r = 0 }, { kind = "scripted", flow = "f", packets = [] }, { kind = "blackout", times = [] }, { kind = "stall", times = [] }, { kind = "policer", rate = "1Mbps", burst = "9kB" }, { kind = "jitter", max = "1ms" }, { kind = "reorder", rate = 0, by = "1ms" }, { kind = "duplicate", rate = 0 }, { kind = "delay", steps = [["0s", "1ms"]] }] },
  { name = "n", ends = ["c", "d"], rate = { kind = "steps", steps = [["0s", "1Mbps"]] }, delay = "1ms", queue = { kind = "codel" }, back = { rate = "9Mbps", shaper = { rate = "1Mbps", burst = "9kB" }, queue = { kind = "fq_codel" } } },
  { name = "o", ends = ["d", "e"], rate = { kind = "trace", file = "traces/two-steps.down" }, delay = "1ms", queue = { kind = "fq_pie" }, back = { rate = { kind = "file", file = "traces/steps.csv" } } },
  { name = "p", ends = ["e", "g"], rate = { kind = "random_steps", interval = "15s", min = "1Mbps", max = "2Mbps" }, delay = "1ms", queue = { kind = "dualpi2" }, back = { rate = "1Mbps", queue = { kind = "pie" } } },
  { name = "w", ends = ["g", "h"], rate = { kind = "wifi", medium = "set" } },
  { name = "x", ends = ["h", "i"], rate = { kind = "cellular", medium = "c", fading = {}, shadowing = {}, blockage = {}, drx = {}, handover = { at = ["0.5s"] } }, back = { rate = { kind = "cellular" } } },
  { name = "y", ends = ["i", "j"], delay = "1ms", rate = "1Mbps", back = { rate = { kind = "request_grant", rate = "1Mbps", channel = "2Mbps" }, queue = { kind = "docsis_pie" } } },
]
wifi = [{ name = "set", ap = "g", edca = { bk = {}, be = {}, vi = {}, vo = {} } }]
cell = [{ name = "c", station = "h" }]
topology = [
  { kind = "leaf_spine", leaves = 1, spines = 1, hosts = 1, host_rate = "1Gbps", fabric_rate = "1Gbps", delay = "1us" },
  { kind = "fat_tree", k = 2, prefix = "x", host_rate = "1Gbps", fabric_rate = "1Gbps", delay = "1us" },
]
flow = [
  { name = "f", from = "a", to = "b", tcp = {} },
  { name = "u", from = "a", to = "b", udp = { rate = "1kbps" } },
  { name = "q", from = "a", to = "b", quic = {} },
]
traffic = [{ name = "t", from = "a", to = "b", load = "1kbps", size = "10kB", tcp = {} }, { name = "v", from = "a", to = "b", load = "1kbps", size = "10kB", quic = {} }]
change = [{ name = "h", at = "0.5s", set = { "flow.u.udp.rate" = "2kbps" } }, { name = "i", at = "0.6s", do = "blackout", link = "n", duration = "1ms" }]
"#;

const ORBITS: [&str; 3] = [
    r#"kind = "iridium""#,
    r#"kind = "walker", altitude = "550km", inclination = "53deg", planes = 3, per_plane = 3"#,
    r#"kind = "tle", file = "iridium-66.tle""#,
];

const RADIOS: [&str; 3] = [
    r#"area = ["99m", "99m"], mobility = { kind = "random_waypoint", max_speed = "1mps" }, propagation = { kind = "shadowing" }"#,
    r#"mobility = { kind = "static", positions = [[0, 0], [1, 0]] }, routing = { kind = "aodv" }, mac = {}, queue = {}"#,
    r#"mobility = { kind = "ns2", file = "missing.tcl" }"#,
];

fn orbits(kind: &str) -> String {
    let link = r#"{ rate = "1Mbps" }"#;
    format!(
        r#"
duration = "1s"
flow = [{{ from = "a", to = "b" }}]
constellation = {{ {kind}, isl = {link}, up = {link}, down = {link}, handoff = {{}} }}
terminal = [{{ name = "a", lat = 0, lon = 0 }}, {{ name = "b", lat = 1, lon = 1 }}]
"#
    )
}

fn radio(about: &str) -> String {
    let traffic = r#"{ kind = "cbrgen", connections = 1 }"#;
    format!("duration = \"999s\"\nradio = {{ nodes = 2, traffic = {traffic}, {about} }}\n")
}

/// The keys that readers read, by table of the schema. Tables that an error keeps from their end are not among them.
fn keys_read() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    read_keys::take();
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/x.toml");
    Scenario::parse(folder, WIRED, &[]).unwrap();
    for kind in ORBITS {
        Scenario::parse(folder, &orbits(kind), &[]).unwrap();
    }
    for about in RADIOS {
        // The last names a movement file that is not there; what comes before it has been read.
        let _ = Scenario::parse(folder, &radio(about), &[]);
    }
    let mut names: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (path, keys) in read_keys::take() {
        let table = match path.as_str() {
            "" => "scenario",
            "link.l.queue" | "link.l.back.queue" => "red",
            "link.m.queue" => "droptail",
            "link.n.queue" => "codel",
            "link.n.back.queue" => "fq_codel",
            "link.o.queue" => "fq_pie",
            "link.p.back.queue" => "pie",
            "link.p.queue" => "dualpi2",
            "link.y.back.queue" => "docsis_pie",
            "link.n.rate" => "steps",
            "link.o.rate" => "trace",
            "link.p.rate" => "random_steps",
            "link.o.back.rate" => "file",
            "link.w.rate" => "wifi",
            "link.x.rate" | "link.x.back.rate" => "cellular",
            "link.y.back.rate" => "request_grant",
            path if path.starts_with("link.x.rate.") => super::of_user(&path["link.x.rate.".len()..]).name,
            path if path.starts_with("cell[") => "cell",
            path if path.ends_with(".edca") => "edca",
            path if path.contains(".edca.") => "edca_category",
            path if path.starts_with("wifi[") => "wifi_set",
            path if path.starts_with("topology[") => "topology",
            path if path.ends_with(".shaper") => "shaper",
            path if path.contains(".loss") => [
                "none",
                "bernoulli",
                "gilbert_elliott",
                "scripted",
                "blackout",
                "stall",
                "policer",
                "jitter",
                "reorder",
                "duplicate",
                "delay",
            ][path[path.rfind('[').unwrap() + 1..path.len() - 1].parse::<usize>().unwrap()],
            path if path.ends_with(".back") => "back",
            "link.l.router" => "rcp",
            "link.l.back.router" => "xcp",
            "link.m.router" => "quick_start",
            "flow.f" | "flow.u" | "flow.q" => "flow",
            "flow.u.udp" => "udp",
            "tcp" | "flow.f.tcp" | "traffic.t.tcp" => "tcp",
            "quic" | "flow.q.quic" | "traffic.v.quic" => "quic",
            "traffic.t" | "traffic.v" => "traffic",
            "change.h" | "change.i" => "change",
            "constellation.isl" | "constellation.up" | "constellation.down" => "transmitter",
            "constellation.handoff" => "handoff",
            path if path.starts_with("terminal") => "terminal",
            path if path.starts_with("link") => "link",
            "radio.traffic" => "radio_traffic",
            "radio.queue" => "radio_queue",
            path => tables()
                .map(|t| t.name)
                .find(|name| path == *name || path == format!("radio.{name}"))
                .unwrap_or(""),
        };
        names.entry(table).or_default().extend(keys);
    }
    names
}

/// Keys that are handled before tables are read, or in a table of another name.
fn read_elsewhere(table: &Table, key: &str) -> bool {
    matches!((table.name, key), ("scenario", "extends") | ("mobility", "file"))
}

#[test]
fn the_schema_has_the_keys_that_readers_read() {
    let read = keys_read();
    for table in tables() {
        let described: BTreeSet<&str> =
            table.keys().map(|key| key.name).filter(|key| !read_elsewhere(table, key)).collect();
        let read: BTreeSet<&str> = read
            .get(table.name)
            .unwrap_or_else(|| panic!("{} was not read", table.name))
            .iter()
            .copied()
            .filter(|key| !read_elsewhere(table, key))
            .collect();
        assert_eq!(described, read, "{}", table.name);
    }
}

#[test]
fn defaults_of_tcp_are_those_of_the_profiles() {
    let tcp = |text: &str| {
        let text = WIRED.replace("tcp = {} }", &format!("tcp = {{ {text} }} }}")).replace("traffic = ", "#");
        let text = text.replace("traces/", "../../scenarios/traces/");
        let scenario = Scenario::parse("t", &text, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
        let FlowKind::Tcp(tcp) = &scenario.flows[0].kind else { unreachable!("flow f is TCP") };
        (tcp.options.clone(), tcp.control.name().to_string())
    };
    let mut checked = 0;
    let table = table_of("tcp").unwrap();
    for (profile, name) in ["ns2", "linux"].into_iter().enumerate() {
        for key in table.keys().filter(|key| key.name != "profile") {
            let default = key.defaults[profile];
            if !default.starts_with(|c: char| c == '"' || c.is_ascii_digit())
                && !["true", "false"].contains(&default)
            {
                continue; // in words
            }
            // Other recoveries refuse the keys that only `rack` uses.
            let rack = !key.needs.is_empty();
            let recovery = if rack { ", recovery = \"rack\"" } else { "" };
            let profile = format!("profile = \"{name}\"{recovery}");
            assert_eq!(
                tcp(&profile),
                tcp(&format!("{profile}, {} = {default}", key.name)),
                "{name}: {}",
                key.name
            );
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked}");
}

/// A scenario with a queue of the kind of its table.
const QUEUE_OF_KIND: &str = "duration = \"1s\"\nlink = [{ ends = [\"a\", \"b\"], rate = \"1Mbps\", delay = \"1ms\", queue = { kind = \"KIND\", KEY } }]\nflow = [FLOW]";

/// Scenarios in which a key of a table stands in place of `KEY`; under both profiles if `PROFILE` stands there.
const PLACES: [(&str, &str); 19] = [
    ("scenario", "KEY\n\"duration\" = \"1s\"\nlink = [LINK]\nflow = [FLOW]"),
    (
        "red",
        "duration = \"1s\"\nlink = [{ ends = [\"a\", \"b\"], rate = \"1Mbps\", delay = \"1ms\", queue = { kind = \"red\", limit = \"9p\", KEY } }]\nflow = [FLOW]",
    ),
    (
        "gilbert_elliott",
        "duration = \"1s\"\nlink = [{ ends = [\"a\", \"b\"], rate = \"1Mbps\", delay = \"1ms\", loss = { kind = \"gilbert_elliott\", p = 0.1, r = 0.1, KEY } }]\nflow = [FLOW]",
    ),
    ("codel", QUEUE_OF_KIND),
    ("fq_codel", QUEUE_OF_KIND),
    ("pie", QUEUE_OF_KIND),
    ("fq_pie", QUEUE_OF_KIND),
    ("dualpi2", QUEUE_OF_KIND),
    (
        "jitter",
        "duration = \"1s\"\nlink = [{ ends = [\"a\", \"b\"], rate = \"1Mbps\", delay = \"1ms\", loss = { kind = \"jitter\", max = \"9ms\", KEY } }]\nflow = [FLOW]",
    ),
    (
        "file",
        "duration = \"1s\"\nlink = [{ ends = [\"a\", \"b\"], rate = { kind = \"file\", file = \"../../scenarios/traces/steps.csv\", KEY }, delay = \"1ms\" }]\nflow = [FLOW]",
    ),
    (
        "delay",
        "duration = \"1s\"\nlink = [{ ends = [\"a\", \"b\"], rate = \"1Mbps\", delay = \"1ms\", loss = { kind = \"delay\", steps = [[\"0s\", \"1ms\"]], KEY } }]\nflow = [FLOW]",
    ),
    (
        "trace",
        "duration = \"1s\"\nlink = [{ ends = [\"a\", \"b\"], rate = { kind = \"trace\", file = \"../../scenarios/traces/two-steps.down\", KEY }, delay = \"1ms\" }]\nflow = [FLOW]",
    ),
    ("flow", "duration = \"1s\"\nlink = [LINK]\nflow = [{ from = \"a\", to = \"b\", KEY }]"),
    (
        "udp",
        "duration = \"1s\"\nlink = [LINK]\nflow = [{ from = \"a\", to = \"b\", udp = { rate = \"1kbps\", KEY } }]",
    ),
    ("quic", "duration = \"1s\"\nlink = [LINK]\nflow = [{ from = \"a\", to = \"b\", quic = { KEY } }]"),
    (
        "radio",
        "duration = \"1s\"\nflow = [RADIO_FLOW]\nradio = { nodes = 2, PROFILE, mobility = STATIC, KEY }",
    ),
    (
        "propagation",
        "duration = \"1s\"\nflow = [RADIO_FLOW]\nradio = { nodes = 2, mobility = STATIC, propagation = { kind = \"shadowing\", KEY } }",
    ),
    (
        "mac",
        "duration = \"1s\"\nflow = [RADIO_FLOW]\nradio = { nodes = 2, PROFILE, mobility = STATIC, mac = { KEY } }",
    ),
    (
        "routing",
        "duration = \"1s\"\nflow = [RADIO_FLOW]\nradio = { nodes = 2, PROFILE, mobility = STATIC, routing = { KEY } }",
    ),
];

/// The value of a default that is written as in a file, not in words.
fn is_literal(default: &str) -> bool {
    default.starts_with(|c: char| c == '"' || c.is_ascii_digit()) && !default.contains(' ')
        || ["true", "false"].contains(&default)
}

#[test]
fn defaults_are_those_of_the_readers() {
    let mut checked = 0;
    for (name, place) in PLACES {
        let text = place
            .replace("KIND", name)
            .replace("RADIO_FLOW", "{ from = \"n0\", to = \"n1\" }")
            .replace("FLOW", "{ from = \"a\", to = \"b\" }")
            .replace("LINK", "{ ends = [\"a\", \"b\"], rate = \"1Mbps\", delay = \"1ms\" }")
            .replace("STATIC", "{ kind = \"static\", positions = [[0, 0], [1, 0]] }");
        for (number, profile) in ["ns2", "std"].into_iter().enumerate() {
            let text = text.replace("PROFILE", &format!("profile = \"{profile}\""));
            let read = |key: &str| {
                let text = text.replace("KEY", key);
                let scenario =
                    Scenario::parse("t", &text, &[]).unwrap_or_else(|error| panic!("{text}: {error}"));
                format!("{scenario:?}")
            };
            let table = table_of(name).unwrap();
            let keys = table
                .keys()
                .filter(|key| !["profile", "kind"].contains(&key.name) && is_literal(key.defaults[number]));
            // `min` alone moves `max`.
            for key in keys.filter(|key| (name, key.name) != ("red", "min")) {
                let default = key.defaults[number];
                assert_eq!(
                    read(""),
                    read(&format!("{} = {default}", key.name)),
                    "{name}, {profile}: {}",
                    key.name
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 120, "{checked}");
}
