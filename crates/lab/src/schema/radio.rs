//! The keys of radio networks, besides those of their models.

use params::Form::{Array, Bytes, Integer, Number, Quantity, Switch, Table, Text, Word};
use params::{Key, Unit, by_profile, key};

pub(super) const RADIO: &[Key] = &[
    key("profile", Word(&["std", "ns2"]), "\"std\"", "defaults as in the standards, or as in ns-2.35"),
    key("nodes", Integer(1, 10_000), "", "number of nodes, named n0, n1, ..."),
    key("area", Array("[\"600m\", \"600m\"]"), "none", "sides of the rectangle in which nodes move"),
    key("mobility", Table("mobility"), "", "positions and movement of the nodes"),
    key(
        "propagation",
        Table("propagation"),
        "two-ray ground, ns-2's WaveLAN card",
        "propagation model and thresholds",
    ),
    key("mac", Table("mac"), "802.11 at 1 Mb/s", "the 802.11 MAC"),
    key("arp", Switch, "true", "addresses of neighbours are resolved before the first packet"),
    key(
        "queue",
        Table("radio_queue"),
        "49 packets",
        "interface queue of each node: `{ kind = \"droptail\", limit = \"49p\" }`",
    ),
    by_profile(
        "link_delay",
        Quantity(Unit::Time, "25us"),
        ["\"25us\"", "\"0s\""],
        "delay between link layer and interface queue",
    ),
    key("routing", Table("routing"), "AODV", "routing protocol"),
    key("traffic", Table("radio_traffic"), "none", "generator of flows"),
];

pub(super) const MOBILITY: &[Key] = &[
    key(
        "kind",
        Word(&["random_waypoint", "static", "ns2"]),
        "",
        "random waypoint, fixed positions, or a movement file",
    ),
    key(
        "max_speed",
        Quantity(Unit::Speed, "10mps"),
        "none; needed with `kind = \"random_waypoint\"`",
        "random waypoint: largest speed",
    ),
    key(
        "min_speed",
        Quantity(Unit::Speed, "1mps"),
        "1 m/s, at most `max_speed`",
        "random waypoint: smallest speed",
    ),
    key("pause", Quantity(Unit::Time, "2s"), "\"0s\"", "random waypoint: pause between two trips"),
    key(
        "init",
        Word(&["steady", "cmu"]),
        "\"steady\"",
        "random waypoint: start in the steady state, or as setdest does",
    ),
    key(
        "positions",
        Array("[[0, 0], [150, 0]]"),
        "none; needed with `kind = \"static\"`",
        "static: positions of all nodes, m",
    ),
    key(
        "file",
        Text,
        "none; needed with `kind = \"ns2\"`",
        "ns2: movement file of setdest or BonnMotion, plain or gzip",
    ),
];

pub(super) const PROPAGATION: &[Key] = &[
    key("kind", Word(&["two_ray", "friis", "shadowing"]), "\"two_ray\"", "path loss model"),
    key("exponent", Number(1.0, 10.0), "2", "shadowing: path loss exponent"),
    key("deviation_db", Number(0.0, 30.0), "4", "shadowing: standard deviation, dB"),
    key("reference_distance", Number(0.01, 1000.0), "1", "shadowing: free space up to this distance, m"),
];

pub(super) const AODV: &[Key] = &[
    key("kind", Word(&["aodv", "static"]), "\"aodv\"", "AODV, or neighbours only"),
    by_profile(
        "variant",
        Word(&["rfc", "ns2"]),
        ["\"ns2\"", "\"rfc\""],
        "AODV as in RFC 3561, or as in ns-2.35",
    ),
];

pub(super) const RADIO_TRAFFIC: &[Key] = &[
    key("kind", Word(&["cbrgen", "none"]), "", "the CMU traffic generator"),
    key(
        "type",
        Word(&["cbr", "tcp"]),
        "\"cbr\"",
        "constant bit rate over UDP, or TCP flows with the options of `[tcp]`",
    ),
    key("seed", Integer(1, 4_294_944_442), "1", "seed of the generator"),
    key(
        "connections",
        Integer(1, 1_000_000),
        "none; needed with `kind = \"cbrgen\"`",
        "largest number of flows",
    ),
    key("packet", Bytes(1, 65_000), "\"512B\"", "size of a packet"),
    key("rate", Number(1e-3, 1e6), "4", "packets a second"),
];

pub(super) const RADIO_QUEUE: &[Key] = &[
    key("kind", Word(&["droptail"]), "\"droptail\"", "first in, first out"),
    key("limit", Quantity(Unit::Limit, "49p"), "\"49p\"", "packets that may wait"),
];
