//! The keys of a scenario, its links, flows, traffic and satellites.

use super::form::Form::{
    Any, Array, Bytes, Integer, Losses, Number, PartOr, Quantity, QuantityOr, Queue, Rate, Switch, Table,
    Tables, Text, TextOrTexts, Word,
};
use super::form::{Key, key};

pub(super) const TOP: &[Key] = &[
    key("title", Text, "\"\"", "the question that the scenario examines"),
    key("duration", Quantity("60s"), "", "simulated time"),
    key("seed", Integer(0, i64::MAX as u64), "1", "seed of all random streams; `--seed` replaces it"),
    key("warmup", Quantity("5s"), "\"0s\"", "beginning of the run that the outcome excludes"),
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
    key("host_rate", Quantity("10Gbps"), "", "rate of the links of hosts"),
    key("fabric_rate", Quantity("40Gbps"), "", "rate of the other links"),
    key("delay", Quantity("1us"), "", "propagation delay of each link"),
    key("queue", Queue, "unlimited", "queue of each link"),
];

pub(super) const LINK: &[Key] = &[
    key("name", Text, "`a->b`", "name for `--set link.NAME...`; the outcome has `from->to`"),
    key("ends", Array("[\"a\", \"b\"]"), "", "the two nodes; forward is from the first to the second"),
    key("rate", Rate, "", "transmission rate; a table for a rate that varies"),
    key("shaper", Table("shaper"), "none", "token bucket in front of the transmitter"),
    key("delay", Quantity("10ms"), "Wi-Fi: 0ms", "propagation delay"),
    key("queue", Queue, "unlimited; Wi-Fi: FQ-CoDel", "queue discipline (`ackclock list queues`)"),
    key(
        "loss",
        Losses,
        "none",
        "losses and other impairments besides the queue (`ackclock list losses`); several in an array",
    ),
    key("router", Table("router"), "none", "router in front of the link that writes feedback into packets"),
    key("back", Table("back"), "as forward", "differences in the reverse direction"),
];

pub(super) const BACK: &[Key] = &[
    key("rate", Rate, "as forward", "transmission rate"),
    key("shaper", Table("shaper"), "as forward", "token bucket in front of the transmitter"),
    key("delay", Quantity("10ms"), "as forward", "propagation delay"),
    key("queue", Queue, "as forward", "queue discipline"),
    key("loss", Losses, "as forward", "losses besides the queue"),
    key("router", Table("router"), "as forward", "router in front of the reverse direction"),
];

const LIMIT: Key = key(
    "limit",
    Quantity("50p"),
    "",
    "packets, bytes or bandwidth-delay products that may wait, without the packet in transmission",
);

pub(super) const DROPTAIL: &[Key] = &[
    key("kind", Word(&["droptail"]), "", "first in, first out"),
    LIMIT,
    key(
        "departures_first",
        Switch,
        "false",
        "at one instant a departure precedes an arrival; otherwise what was scheduled first comes first, as in ns-2",
    ),
];

pub(super) const NO_LOSS: &[Key] = &[key("kind", Word(&["none"]), "", "no loss")];

pub(super) const BERNOULLI: &[Key] = &[
    key("kind", Word(&["bernoulli"]), "", "independent losses"),
    key("rate", Number(0.0, 1.0), "", "probability per packet"),
];

pub(super) const GILBERT_ELLIOTT: &[Key] = &[
    key("kind", Word(&["gilbert_elliott"]), "", "losses in bursts"),
    key("p", Number(0.0, 1.0), "", "probability of a change from the good to the bad state, per packet"),
    key("r", Number(0.0, 1.0), "", "probability of a change from the bad to the good state, per packet"),
    key("loss_good", Number(0.0, 1.0), "0", "probability of loss in the good state"),
    key("loss_bad", Number(0.0, 1.0), "1", "probability of loss in the bad state"),
];

pub(super) const SCRIPTED: &[Key] = &[
    key("kind", Word(&["scripted", "list"]), "", "listed packets; `list` is the old name"),
    key("flow", Text, "", "name of the flow"),
    key(
        "action",
        Word(&["drop", "mark", "delay", "duplicate"]),
        "\"drop\"",
        "what happens to the packets: dropped before the queue, marked (CE) if they are ECN-capable, delayed, or followed by a copy (data only)",
    ),
    key("by", Quantity("45ms"), "none", "additional delay, with `action = \"delay\"`"),
    key(
        "packets",
        Array("[14, 26]"),
        "none",
        "positions of its data packets by arrival at the link, from 0, the SYN included",
    ),
    key(
        "segments",
        Array("[[300, 2]]"),
        "none",
        "numbers of its data segments, from 0 without the SYN, each with the number of its transmissions, from the first one on, or with the first and the last of them (the original is 1): `[300, 2, 2]` is the second alone",
    ),
    key(
        "acks",
        Array("[3, 4]"),
        "none",
        "positions of its ACKs by arrival at the link, from 0, the ACK of the SYN included",
    ),
];

const TIMES: Key = key("times", Array("[[\"8s\", \"10s\"]]"), "", "begin and end of each");

pub(super) const BLACKOUT: &[Key] =
    &[key("kind", Word(&["blackout"]), "", "packets that arrive at given times are dropped"), TIMES];

pub(super) const STALL: &[Key] =
    &[key("kind", Word(&["stall"]), "", "no transmission begins at given times; packets wait"), TIMES];

pub(super) const RED: &[Key] = &[
    key("kind", Word(&["red"]), "", "random early detection"),
    LIMIT,
    key(
        "min",
        QuantityOr("5p", &["auto"]),
        "\"5p\"",
        "lower threshold of the average queue, in the unit of the limit; `\"auto\"`: ns-2's",
    ),
    key(
        "max",
        QuantityOr("15p", &["auto"]),
        "\"15p\"",
        "upper threshold; three times `min` if that alone is given",
    ),
    key("max_p", Number(1e-6, 1.0), "0.1", "drop probability at `max`"),
    key(
        "weight",
        PartOr(1e-9, &["auto"]),
        "0.002",
        "weight of the newest length in the average; `\"auto\"`: ns-2's",
    ),
    key("gentle", Switch, "true", "above `max` the probability rises to 1 at twice `max`"),
    key("wait", Switch, "true", "drops and marks are spaced evenly"),
    key("mean_packet", Bytes, "\"1000B\"", "packet size for byte mode, idle time and the automatic settings"),
    key("ecn", Switch, "false", "ECN-capable packets are marked instead of dropped"),
    key("mark_p", Number(0.0, 2.0), "0.1", "above this drop probability ECN-capable packets are dropped too"),
    key("adaptive", Switch, "false", "adapts `max_p` (Floyd, Gummadi and Shenker 2001)"),
    key("feng", Switch, "false", "adapts `max_p` (Feng et al. 1999)"),
    key("ns2_gentle_slope", Switch, "false", "the slope above `max` follows the initial `max_p`"),
    key("count_in_service", Switch, "false", "the averaged length includes the packet in transmission"),
];

pub(super) const ROUTER: &[Key] = &[
    key("kind", Word(&["rcp", "xcp", "quick_start"]), "", "the protocol"),
    key("alpha", Number(0.0, 10.0), "0.4", "RCP, XCP: gain of the spare capacity"),
    key("beta", Number(0.0, 10.0), "0.4 (RCP), 0.226 (XCP)", "RCP, XCP: gain of the queue"),
    key(
        "gamma",
        Number(0.0, 1.0),
        "1 (RCP), 0.1 (XCP)",
        "RCP: part of the capacity to use; XCP: part of the traffic that is redistributed",
    ),
    key("period", Quantity("10ms"), "\"10ms\"", "RCP: time between two updates of the rate, 1 to 200 ms"),
    key("initial", Number(1e-6, 1.0), "0.05", "RCP: first rate, as a part of the capacity"),
    key(
        "threshold",
        Number(0.0, 1.0),
        "0.85",
        "Quick-Start: part of the capacity up to which rates are approved",
    ),
    key(
        "window",
        Quantity("200ms"),
        "\"200ms\"",
        "Quick-Start: time over which arrivals and approvals count, at least 1 ms",
    ),
];

pub(super) const FLOW: &[Key] = &[
    key("name", Text, "`flow0`, `flow1`, ...", "name of the flow"),
    key("from", Text, "", "node that sends data"),
    key("to", Text, "", "node that receives data"),
    key("start", Quantity("1s"), "\"0s\"", "start time"),
    key("start_jitter", Quantity("1s"), "\"0s\"", "upper bound of a random time that is added to the start"),
    key("stop", Quantity("50s"), "none", "time at which the application has no more data"),
    key("bytes", Quantity("10MB"), "unlimited", "payload to transfer; TCP and QUIC"),
    key("tcp", Table("tcp"), "`[tcp]`", "options of this flow"),
    key("quic", Table("quic"), "none", "makes it a QUIC flow, with these options after those of `[quic]`"),
    key(
        "writes",
        Array("[[\"0s\", \"10kB\"], [\"2s\", \"5kB\"]]"),
        "all data at the start",
        "TCP and QUIC: when the application writes, since the start, and how many bytes, of TCP in whole segments",
    ),
    key("udp", Table("udp"), "none", "makes it a UDP flow"),
];

pub(super) const UDP: &[Key] = &[
    key("packet", Bytes, "\"1000B\"", "size of a packet"),
    key("rate", Quantity("1Mbps"), "none; needed without a schedule", "sending rate"),
    key(
        "schedule",
        Array("[[\"0s\", \"1Mbps\"], [\"30s\", \"2Mbps\"]]"),
        "none",
        "times and the rates from then on",
    ),
    key(
        "bursts",
        Array("[[\"4.5s\", \"120ms\", \"30Mbps\"]]"),
        "none",
        "start, length and rate of each burst, above `rate` (0 without it); where bursts overlap, their rates add up",
    ),
    key("period", Quantity("1s"), "none", "time from burst to burst; the first is at the start of the flow"),
    key("burst", Quantity("30ms"), "needed with `period`", "length of a burst"),
    key(
        "peak",
        Quantity("30Mbps"),
        "needed with `period`",
        "rate in a burst; between bursts it is `rate`, or 0",
    ),
    key("jitter", Number(0.0, 1.0), "0", "each interval is random by this part of it, up or down"),
];

pub(super) const TRAFFIC: &[Key] = &[
    key("name", Text, "`traffic0-`, ...", "name of the source; its flows add a number"),
    key("from", TextOrTexts, "", "node, or nodes, that send data"),
    key("to", TextOrTexts, "", "node, or nodes, that receive data"),
    key("load", Quantity("6Mbps"), "", "mean offered payload"),
    key("size", Quantity("30kB"), "", "mean size of a flow"),
    key("shape", Number(1.01, 10.0), "all flows have one size", "shape of the Pareto distribution of sizes"),
    key("largest", Quantity("10MB"), "1,000 times `size`", "largest size with `shape`"),
    key("start", Quantity("1s"), "\"0s\"", "no flow starts earlier"),
    key("stop", Quantity("50s"), "the end", "no flow starts later"),
    key("tcp", Table("tcp"), "`[tcp]`", "options of its flows"),
    key("quic", Table("quic"), "none", "makes them QUIC flows, with these options after those of `[quic]`"),
];

pub(super) const CHANGE: &[Key] = &[
    key("name", Text, "`change0`, `change1`, ...", "name of the change"),
    key("at", Quantity("8s"), "", "its time; it comes before all else at that time"),
    key(
        "set",
        Any("{ \"link.bottleneck.rate\" = \"5Mbps\", \"flow.f.tcp.congestion_control\" = \"bbr\" }"),
        "nothing",
        "keys as for `--set`, and their values from then on: rate, delay, queue and loss of a link; start, stop, `udp.rate`, `tcp.receive_window` and `tcp.congestion_control` of a flow",
    ),
    key("order", Switch, "true", "packets keep their order when a delay changes"),
    key(
        "do",
        Word(&["drop_next", "keep_next", "blackout"]),
        "nothing",
        "an action at a link: drop the next packets; keep the next packets that it would drop; drop all that arrives for a time",
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
    key("count", Integer(1, 1_000_000), "1", "number of packets that an action drops or keeps"),
    key("duration", Quantity("200ms"), "needed with `blackout`", "length of a blackout"),
];

pub(super) const CONSTELLATION: &[Key] = &[
    key(
        "kind",
        Word(&["iridium", "walker", "tle"]),
        "",
        "Iridium, a Walker constellation, or two-line elements",
    ),
    key("altitude", Quantity("780km"), "\"780km\" (Iridium)", "altitude of the orbits"),
    key("inclination", Quantity("86.4deg"), "\"86.4deg\" (Iridium)", "inclination of the orbits"),
    key("planes", Integer(1, 1000), "6 (Iridium)", "number of planes"),
    key(
        "per_plane",
        Integer(1, 1000),
        "11 (Iridium)",
        "satellites in a plane; TLE: needed for inter-satellite links",
    ),
    key(
        "plane_spacing",
        Quantity("31.6deg"),
        "\"31.6deg\" (Iridium), 360 over `planes`",
        "angle between two planes",
    ),
    key("phasing", Number(0.0, 1000.0), "0; Iridium's alternates", "Walker's phasing factor F"),
    key(
        "orbit",
        Word(&["circular", "j2"]),
        "\"circular\"",
        "circular orbits, or orbits with the drift of nodes by the Earth's oblateness (J2)",
    ),
    key("file", Text, "none; needed with `kind = \"tle\"`", "TLE: the file, relative to the scenario"),
    key(
        "elevation_mask",
        Quantity("8.2deg"),
        "\"8.2deg\" (Iridium), \"25deg\"",
        "smallest elevation at which a terminal uses a satellite",
    ),
    key(
        "isl_latitude_limit",
        Quantity("60deg"),
        "\"60deg\" (Iridium), \"90deg\"",
        "beyond this latitude satellites have no links to other planes",
    ),
    key("cross_seam", Switch, "false", "links between the first and the last plane"),
    key(
        "cross_seam_longitude",
        Quantity("10deg"),
        "\"10deg\"",
        "largest difference of longitude of a link across the seam",
    ),
    key("epoch", Quantity("600s"), "\"0s\"", "time of the constellation at the start of the run"),
    key("isl", Table("transmitter"), "25 Mb/s (Iridium)", "transmitters between satellites"),
    key("bent_pipe", Switch, "false", "no links between satellites: each path goes over one satellite"),
    key("up", Table("transmitter"), "1.5 Mb/s (Iridium)", "transmitters of the terminals"),
    key("down", Table("transmitter"), "1.5 Mb/s (Iridium)", "transmitters of the satellites to terminals"),
    key("link_header", Integer(0, 1000), "16 (Iridium), 0", "bytes added to each packet on a satellite link"),
    key(
        "recompute",
        QuantityOr("1s", &["change"]),
        "\"change\"",
        "interval at which paths are computed, besides every change of a link",
    ),
    key("handoff", Table("handoff"), "ns-2's", "rules of hand-offs"),
];

pub(super) const TRANSMITTER: &[Key] = &[
    key("rate", Rate, "as `isl`, `up`, `down`", "transmission rate; a table for a rate that varies"),
    key("shaper", Table("shaper"), "none", "token bucket in front of the transmitter"),
    key("queue", Queue, "drop-tail of 49 packets", "queue discipline"),
    key("loss", Losses, "none", "losses besides the queue"),
];

pub(super) const HANDOFF: &[Key] = &[
    key(
        "rule",
        Word(&["ns2", "best", "every"]),
        "\"ns2\"",
        "the satellite that a terminal changes to: as in ns-2, or the highest; `\"every\"`: it uses all visible ones, and the shortest path decides",
    ),
    key("check", Quantity("10s"), "\"10s\"", "interval of the checks; 0 for the exact time"),
    key(
        "jitter",
        Quantity("5s"),
        "\"0s\"",
        "each check is moved by a random time up to this, earlier or later",
    ),
    key("loss", Word(&["ns2", "lossless", "drop_all_in_flight"]), "\"ns2\"", "packets that a hand-off loses"),
    key("time", Quantity("100ms"), "\"0s\"", "pause of a terminal's links after a hand-off"),
    key("guard_before", Quantity("0.5s"), "\"0.5s\"", "time by which a hand-off is announced to controllers"),
    key("guard_after", Quantity("0.5s"), "\"0.5s\"", "time until it is over for controllers"),
];

pub(super) const TERMINAL: &[Key] = &[
    key("name", Text, "", "name of the node"),
    key("lat", Number(-90.0, 90.0), "", "latitude, degrees north"),
    key("lon", Number(-360.0, 360.0), "", "longitude, degrees east"),
];
