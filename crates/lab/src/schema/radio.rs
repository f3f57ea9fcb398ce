//! The keys of radio networks.

use super::form::Form::{Array, Bytes, Integer, Number, Quantity, Switch, Table, Text, Word};
use super::form::{Key, by_profile, key};

pub(super) const RADIO: &[Key] = &[
    key("profile", Word(&["std", "ns2"]), "\"std\"", "defaults as in the standards, or as in ns-2.35"),
    key("nodes", Integer(1, 100_000), "", "number of nodes, named n0, n1, ..."),
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
        Quantity("25us"),
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
        Quantity("10mps"),
        "none; needed with `kind = \"random_waypoint\"`",
        "random waypoint: largest speed",
    ),
    key("min_speed", Quantity("1mps"), "1 m/s, at most `max_speed`", "random waypoint: smallest speed"),
    key("pause", Quantity("2s"), "\"0s\"", "random waypoint: pause between two trips"),
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
    key("power", Number(1e-12, 1e6), "0.28183815", "transmitted power, W"),
    key("frequency", Number(1e3, 1e12), "914e6", "frequency, Hz"),
    key("gain", Number(1e-3, 1e6), "1", "gain of each antenna, a factor"),
    key("system_loss", Number(1.0, 1e6), "1", "system loss, a factor"),
    key("height", Number(1e-3, 1e5), "1.5", "height of the antennas, m"),
    key("receive_threshold", Number(1e-20, 1.0), "3.652e-10", "smallest power that can be received, W"),
    key("carrier_sense_threshold", Number(1e-20, 1.0), "1.559e-11", "smallest power that is sensed, W"),
    key("capture_ratio", Number(1.0, 1e6), "10", "ratio of powers at which the stronger frame is received"),
    key("noise", Number(0.0, 1.0), "0", "power of the noise, W; with `capture = \"sinr\"`"),
];

pub(super) const MAC: &[Key] = &[
    key("rate", Quantity("2Mbps"), "\"1Mbps\"", "rate of data frames: 1, 2, 5.5 or 11 Mb/s"),
    key("basic_rate", Quantity("1Mbps"), "\"1Mbps\"", "rate of control and broadcast frames"),
    key("rts_threshold", Integer(0, 100_000), "0", "frames of at least this size use RTS and CTS, bytes"),
    key("preamble", Word(&["long", "short"]), "\"long\"", "preamble: 192 or 96 microseconds"),
    by_profile("header", Word(&["std", "ns2"]), ["\"ns2\"", "\"std\""], "MAC header of 28 bytes, or of 34"),
    by_profile(
        "backoff",
        Word(&["std", "ns2"]),
        ["\"ns2\"", "\"std\""],
        "backoff as in the standard, or before every frame",
    ),
    by_profile(
        "capture",
        Word(&["ns2", "sinr", "none"]),
        ["\"ns2\"", "\"sinr\""],
        "reception of overlapping frames",
    ),
    key("short_retry_limit", Integer(1, 255), "7", "attempts of short frames"),
    key("long_retry_limit", Integer(1, 255), "4", "attempts of long frames"),
];

pub(super) const AODV: &[Key] = &[
    key("kind", Word(&["aodv", "static"]), "\"aodv\"", "AODV, or neighbours only"),
    by_profile(
        "variant",
        Word(&["rfc", "ns2"]),
        ["\"ns2\"", "\"rfc\""],
        "AODV as in RFC 3561, or as in ns-2.35",
    ),
    by_profile(
        "active_route",
        Quantity("3s"),
        ["\"10s\"", "\"3s\""],
        "lifetime of a route after its last use",
    ),
    by_profile("my_route", Quantity("6s"), ["\"10s\"", "\"6s\""], "lifetime in a destination's own reply"),
    by_profile(
        "reverse_route",
        Quantity("6s"),
        ["\"6s\"", "\"5.6s\""],
        "lifetime of the reverse route, and time for which a request is remembered",
    ),
    by_profile("node_traversal", Quantity("40ms"), ["\"30ms\"", "\"40ms\""], "estimated time for one hop"),
    key("max_wait", Quantity("10s"), "\"10s\"", "longest wait for a reply"),
    key("buffer_time", Quantity("30s"), "\"30s\"", "time that a packet may wait for a route"),
    key("jitter", Quantity("10ms"), "\"10ms\"", "largest random delay of a broadcast"),
    key("release_gap", Quantity("10ms"), "\"10ms\"", "gap between packets that waited for a route"),
    by_profile("net_diameter", Integer(1, 200), ["30", "35"], "hops across the network"),
    by_profile("ttl_start", Integer(1, 200), ["5", "1"], "TTL of the first request"),
    key("ttl_increment", Integer(1, 200), "2", "increment of the TTL"),
    key("ttl_threshold", Integer(1, 200), "7", "largest TTL before the whole network is searched"),
    by_profile("retries", Integer(0, 100), ["3", "2"], "repetitions of a search of the whole network"),
    by_profile(
        "rate_limit",
        Integer(0, 100_000),
        ["0", "10"],
        "requests a second of one node; 0 for no limit",
    ),
    key("buffer", Integer(1, 1_000_000), "64", "packets that may wait for a route at a node"),
    key(
        "local_repair",
        Switch,
        "true",
        "a node near the destination searches a new route when a link breaks",
    ),
    key("link_layer_detection", Switch, "true", "the MAC reports broken links"),
    key("hello", Quantity("1s"), "none", "interval of hello messages, at least 10 ms"),
    by_profile("allowed_hello_loss", Integer(1, 100), ["3", "2"], "hello messages that may be missing"),
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
    key("packet", Bytes, "\"512B\"", "size of a packet"),
    key("rate", Number(1e-3, 1e6), "4", "packets a second"),
];

pub(super) const RADIO_QUEUE: &[Key] = &[
    key("kind", Word(&["droptail"]), "\"droptail\"", "first in, first out"),
    key("limit", Quantity("49p"), "\"49p\"", "packets that may wait"),
];
