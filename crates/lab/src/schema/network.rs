//! The keys of a scenario, its links, flows, traffic and changes.

use net::wifi::Access;
use params::Form::{
    Any, Array, AtLeast, Bytes, Integer, LinkRate, List, Losses, Number, Quantity, Queue, Range, Router, Row,
    Switch, Table, Tables, Text, TextOrTexts, Word,
};
use params::{Form, Key, Unit, key};

/// The actions of a change at a link (`do`).
pub(crate) const ACTIONS: [&str; 4] = ["drop_next", "keep_next", "unmark_next", "blackout"];

pub(super) const TOP: &[Key] = &[
    key("title", Text, "\"\"", "the question that the scenario examines"),
    key("duration", Quantity(Unit::Time, "60s"), "", "simulated time"),
    key("seed", Integer(0, i64::MAX as u64), "1", "seed of all random streams; `--seed` replaces it"),
    key("warmup", Quantity(Unit::Time, "5s"), "\"0s\"", "beginning of the run that the outcome excludes"),
    key("delays", Switch, "false", "the outcome has quantiles of the one-way delay and of waiting times"),
    key("extends", Text, "none", "base file, relative to this file; tables are merged key by key"),
    key(
        "sweep",
        Any("{ \"link.l.rate\" = [\"1Mbps\", \"2Mbps\"], seed = [1, 2] }"),
        "none",
        "axes of a study: key and values",
    ),
    key("link", Tables("link"), "none", "the links"),
    key("flow", Tables("flow"), "none", "the flows"),
    key("traffic", Tables("traffic"), "none", "generators of TCP or QUIC flows"),
    key("change", Tables("change"), "none", "what changes during the run"),
    key("tcp", Table("tcp"), "profile `linux`", "options of every TCP flow"),
    key("quic", Table("quic"), "none", "options of every QUIC flow"),
    key("constellation", Table("constellation"), "none", "satellites"),
    key("terminal", Tables("terminal"), "none", "terminals of the satellites on the ground"),
    key("radio", Table("radio"), "none", "a network of radio nodes"),
    key("topology", Tables("topology"), "none", "leaf-spine and fat-tree networks, in place of many links"),
    key(
        "routing",
        Word(&["shortest", "ecmp"]),
        "\"shortest\"",
        "`\"ecmp\"`: each flow takes one of all paths with the fewest links, by a hash of flow, node and seed",
    ),
    key("wifi", Tables("wifi_set"), "none", "basic service sets of Wi-Fi"),
    key("cell", Tables("cell"), "none", "cells of mobile networks"),
];

pub(super) const TOPOLOGY: &[Key] = &[
    key(
        "kind",
        Word(&["leaf_spine", "fat_tree"]),
        "",
        "hosts h0, h1, ..., then leaves l and spines s, or edges e, aggregations a and cores c",
    ),
    key("prefix", Text, "\"\"", "begin of the names of its nodes"),
    key("leaves", Integer(1, 100_000), "none; needed with `\"leaf_spine\"`", "leaf switches"),
    key("spines", Integer(1, 100_000), "none; needed with `\"leaf_spine\"`", "spine switches"),
    key("hosts", Integer(1, 100_000), "none; needed with `\"leaf_spine\"`", "hosts of each leaf"),
    key("k", Integer(1, 100_000), "none; needed with `\"fat_tree\"`", "ports of a switch, an even number"),
    key("host_rate", Form::rate("10Gbps"), "", "rate of the links of hosts"),
    key("fabric_rate", Form::rate("40Gbps"), "", "rate of the other links"),
    key("delay", Form::delay("1us"), "", "propagation delay of each link"),
    key("queue", Queue, "unlimited", "queue of each link"),
];

pub(super) const LINK: &[Key] = &[
    key("name", Text, "`a->b`", "name for `--set link.NAME...`; the outcome has `from->to`"),
    key("ends", Array("[\"a\", \"b\"]"), "", "the two nodes; forward is from the first to the second"),
    key("rate", LinkRate, "", "transmission rate; a table for a rate that varies"),
    key("shaper", Table("shaper"), "none", "token bucket in front of the transmitter"),
    key("delay", Form::delay("10ms"), "Wi-Fi, cellular: 0ms", "propagation delay"),
    key(
        "queue",
        Queue,
        "unlimited; Wi-Fi: FQ-CoDel; cellular: drop-tail, 1,000 packets",
        "queue discipline (`ackclock list queues`)",
    ),
    key(
        "loss",
        Losses,
        "none",
        "losses and other impairments besides the queue (`ackclock list losses`); several in an array",
    ),
    key("router", Router, "none", "router in front of the link that writes feedback into packets"),
    key("back", Table("back"), "as forward", "differences in the reverse direction"),
];

pub(super) const BACK: &[Key] = &[
    key("rate", LinkRate, "as forward", "transmission rate"),
    key("shaper", Table("shaper"), "as forward", "token bucket in front of the transmitter"),
    key("delay", Form::delay("10ms"), "as forward", "propagation delay"),
    key("queue", Queue, "as forward", "queue discipline"),
    key("loss", Losses, "as forward", "losses besides the queue"),
    key("router", Router, "as forward", "router in front of the reverse direction"),
];

pub(super) const FLOW: &[Key] = &[
    key("name", Text, "`flow0`, `flow1`, ...", "name of the flow"),
    key("from", Text, "", "node that sends data"),
    key("to", Text, "", "node that receives data"),
    key("start", Quantity(Unit::Time, "1s"), "\"0s\"", "start time"),
    key(
        "start_jitter",
        Quantity(Unit::Time, "1s"),
        "\"0s\"",
        "upper bound of a random time that is added to the start",
    ),
    key("stop", Quantity(Unit::Time, "50s"), "none", "time at which the application has no more data"),
    key("bytes", AtLeast(Unit::Size, "10MB", "1B"), "unlimited", "payload to transfer; TCP and QUIC"),
    key("tcp", Table("tcp"), "`[tcp]`", "options of this flow"),
    key("quic", Table("quic"), "none", "makes it a QUIC flow, with these options after those of `[quic]`"),
    key(
        "writes",
        List(&WRITE, "[[\"0s\", \"10kB\"], [\"2s\", \"5kB\"]]"),
        "all data at the start",
        "TCP and QUIC: when the application writes, since the start, and how many bytes, of TCP in whole segments",
    ),
    key("udp", Table("udp"), "none", "makes it a UDP flow"),
    ACCESS,
];

const ACCESS: Key = key(
    "access",
    Word(Access::NAMES),
    "that of the link",
    "access category of the packets on Wi-Fi links: background, best effort, video, voice",
);

const WRITE: Form =
    Row(&[Quantity(Unit::Time, "2s"), AtLeast(Unit::Size, "10kB", "1B")], "[\"2s\", \"10kB\"]");

const UDP_STEP: Form = Row(&[Quantity(Unit::Time, "30s"), UDP_RATE], "[\"30s\", \"2Mbps\"]");

const BURST: Form = Row(
    &[Quantity(Unit::Time, "4.5s"), AtLeast(Unit::Time, "120ms", "1ps"), UDP_RATE],
    "[\"4.5s\", \"120ms\", \"30Mbps\"]",
);

const UDP_RATE: Form = Range(Unit::Rate, "1Mbps", "0bps", "8000Gbps");

pub(super) const UDP: &[Key] = &[
    key("packet", Bytes(1, 65_535), "\"1000B\"", "size of a packet"),
    key("rate", UDP_RATE, "none; needed without a schedule", "sending rate"),
    key(
        "schedule",
        List(&UDP_STEP, "[[\"0s\", \"1Mbps\"], [\"30s\", \"2Mbps\"]]"),
        "none",
        "times and the rates from then on",
    ),
    key(
        "bursts",
        List(&BURST, "[[\"4.5s\", \"120ms\", \"30Mbps\"]]"),
        "none",
        "start, length and rate of each burst, above `rate` (0 without it); where bursts overlap, their rates add up",
    ),
    key(
        "period",
        Quantity(Unit::Time, "1s"),
        "none",
        "time from burst to burst; the first is at the start of the flow",
    ),
    key("burst", Quantity(Unit::Time, "30ms"), "needed with `period`", "length of a burst"),
    key("peak", UDP_RATE, "needed with `period`", "rate in a burst; between bursts it is `rate`, or 0"),
    key("jitter", Number(0.0, 1.0), "0", "each interval is random by this part of it, up or down"),
];

pub(super) const TRAFFIC: &[Key] = &[
    key("name", Text, "`traffic0-`, ...", "name of the source; its flows add a number"),
    key("from", TextOrTexts, "", "node, or nodes, that send data"),
    key("to", TextOrTexts, "", "node, or nodes, that receive data"),
    key("load", AtLeast(Unit::Rate, "6Mbps", "1bps"), "", "mean offered payload"),
    key("size", AtLeast(Unit::Size, "30kB", "1B"), "", "mean size of a flow"),
    key("shape", Number(1.01, 10.0), "all flows have one size", "shape of the Pareto distribution of sizes"),
    key("largest", AtLeast(Unit::Size, "10MB", "1B"), "1,000 times `size`", "largest size with `shape`"),
    key("start", Quantity(Unit::Time, "1s"), "\"0s\"", "no flow starts earlier"),
    key("stop", Quantity(Unit::Time, "50s"), "the end", "no flow starts later"),
    key("tcp", Table("tcp"), "`[tcp]`", "options of its flows"),
    key("quic", Table("quic"), "none", "makes them QUIC flows, with these options after those of `[quic]`"),
    ACCESS,
];

pub(super) const CHANGE: &[Key] = &[
    key("name", Text, "`change0`, `change1`, ...", "name of the change"),
    key("at", Quantity(Unit::Time, "8s"), "", "its time; it comes before all else at that time"),
    key(
        "set",
        Any("{ \"link.bottleneck.rate\" = \"5Mbps\", \"flow.f.tcp.congestion_control\" = \"bbr\" }"),
        "nothing",
        "keys as for `--set`, and their values from then on: rate, delay, queue and loss of a link; start, stop, `udp.rate`, `tcp.receive_window` and `tcp.congestion_control` of a flow",
    ),
    key("order", Switch, "true", "packets keep their order when a delay changes"),
    key(
        "do",
        Word(&ACTIONS),
        "nothing",
        "an action at a link: drop the next packets; keep the next packets that it would drop; leave the next packets unmarked that it would mark; drop all that arrives for a time",
    ),
    key("link", Text, "needed with `do`", "name of the link, or a direction as `a->b`"),
    key("back", Switch, "false", "the action is at the reverse direction of the link"),
    key("flow", Text, "every flow", "the action means packets of this flow"),
    key(
        "packet",
        Integer(0, u32::MAX as u64),
        "any",
        "the action means packets with this number, as in the packet log",
    ),
    key(
        "count",
        Integer(1, 1_000_000),
        "1",
        "number of packets that an action drops, keeps or leaves unmarked",
    ),
    key("duration", Quantity(Unit::Time, "200ms"), "needed with `blackout`", "length of a blackout"),
];
