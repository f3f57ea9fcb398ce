//! The keys of queue disciplines that control the delay.

use super::form::Form::{Bytes, Integer, Number, Quantity, Switch, Word};
use super::form::{Key, key};

const fn limit(default: &'static str) -> Key {
    key(
        "limit",
        Quantity("1000p"),
        default,
        "packets, bytes or bandwidth-delay products that may wait, without the packet in transmission",
    )
}

const CODEL_TARGET: Key = key("target", Quantity("5ms"), "\"5ms\"", "acceptable waiting time");
const INTERVAL: Key = key(
    "interval",
    Quantity("100ms"),
    "\"100ms\"",
    "time for which packets wait longer than `target` before the first drop; about the largest round-trip time",
);
const CE_THRESHOLD: Key = key(
    "ce_threshold",
    Quantity("1ms"),
    "\"0ms\"",
    "ECN-capable packets that wait longer are marked, besides CoDel's marks; `\"0ms\"`: none",
);
const ECN_DOC: &str = "ECN-capable packets are marked instead of dropped";
const FLOWS: Key = key(
    "flows",
    Integer(0, 65_536),
    "1024",
    "number of queues, to which flows are hashed; 0: one for each flow",
);
const QUANTUM: Key = key("quantum", Bytes, "\"1514B\"", "bytes that a queue may send in its turn");
const MEMORY: Key = key("memory", Bytes, "\"32000000B\"", "bytes that may wait in all queues");
const PIE_TARGET: Key = key("target", Quantity("15ms"), "\"15ms\"", "delay at which the controller aims");
const PIE_INTERVAL: Key =
    key("update_interval", Quantity("15ms"), "\"15ms\"", "time between two updates of the probability");
const PIE_ALPHA: Key =
    key("alpha", Number(0.0, 100.0), "0.125", "gain for the distance of the delay from `target`, 1/s");
const PIE_BETA: Key = key("beta", Number(0.0, 100.0), "1.25", "gain for the change of the delay, 1/s");
const MAX_BURST: Key =
    key("max_burst", Quantity("150ms"), "\"150ms\"", "time after an empty queue in which nothing is dropped");
const MEAN_PACKET: Key = key(
    "mean_packet",
    Bytes,
    "\"1000B\"",
    "size of a typical packet; behind no more than two of them no packet is dropped",
);
const MARK_P: Key =
    key("mark_p", Number(0.0, 1.0), "0.1", "above this drop probability ECN-capable packets are dropped too");
const DERANDOMISE: Key =
    key("derandomise", Switch, "false", "drops are spread evenly (RFC 8033 section 5.4)");

pub(super) const CODEL: &[Key] = &[
    key("kind", Word(&["codel"]), "", "controlled delay (RFC 8289)"),
    limit("\"1000p\""),
    CODEL_TARGET,
    INTERVAL,
    key("ecn", Switch, "false", ECN_DOC),
    CE_THRESHOLD,
];

pub(super) const FQ_CODEL: &[Key] = &[
    key("kind", Word(&["fq_codel"]), "", "one CoDel queue for each flow (RFC 8290)"),
    limit("\"10240p\""),
    FLOWS,
    QUANTUM,
    MEMORY,
    CODEL_TARGET,
    INTERVAL,
    key("ecn", Switch, "true", ECN_DOC),
    CE_THRESHOLD,
];

pub(super) const PIE: &[Key] = &[
    key("kind", Word(&["pie"]), "", "proportional integral controller enhanced (RFC 8033)"),
    limit("\"1000p\""),
    PIE_TARGET,
    PIE_INTERVAL,
    PIE_ALPHA,
    PIE_BETA,
    MAX_BURST,
    MEAN_PACKET,
    key("ecn", Switch, "false", ECN_DOC),
    MARK_P,
    DERANDOMISE,
    key(
        "delay",
        Word(&["timestamp", "rate"]),
        "\"timestamp\"",
        "the delay that the controller holds: `\"timestamp\"`: the waiting time of the packet at the head; `\"rate\"`: the backlog over the measured departure rate (RFC 8033 section 5.2)",
    ),
];

pub(super) const FQ_PIE: &[Key] = &[
    key("kind", Word(&["fq_pie"]), "", "one PIE queue for each flow"),
    limit("\"10240p\""),
    FLOWS,
    QUANTUM,
    MEMORY,
    PIE_TARGET,
    PIE_INTERVAL,
    PIE_ALPHA,
    PIE_BETA,
    MAX_BURST,
    MEAN_PACKET,
    key("ecn", Switch, "false", ECN_DOC),
    MARK_P,
    DERANDOMISE,
];

pub(super) const DUALPI2: &[Key] = &[
    key("kind", Word(&["dualpi2"]), "", "coupled queues for classic and low-latency traffic (RFC 9332)"),
    limit("\"10000p\""),
    key("target", Quantity("15ms"), "\"15ms\"", "delay of the classic queue at which the controller aims"),
    key("update_interval", Quantity("16ms"), "\"16ms\"", "time between two updates of the probability"),
    key("alpha", Number(0.0, 100.0), "0.16", "gain for the distance of the delay from `target`, 1/s"),
    key("beta", Number(0.0, 100.0), "3.2", "gain for the change of the delay, 1/s"),
    key(
        "coupling",
        Number(0.0, 100.0),
        "2",
        "ratio of the marking probability of low-latency packets to the square root of the classic one",
    ),
    key("step", Quantity("1ms"), "\"1ms\"", "low-latency packets that wait longer are marked"),
    key(
        "ramp",
        Quantity("0.4ms"),
        "\"0ms\"",
        "range above `step` in which the probability of these marks rises from 0 to 1",
    ),
    key(
        "scheduler",
        Word(&["wrr", "tsfifo"]),
        "\"wrr\"",
        "`\"wrr\"`: weighted round robin as in Linux; `\"tsfifo\"`: time-shifted first in, first out as in RFC 9332",
    ),
    key(
        "classic_share",
        Number(0.0, 1.0),
        "0.1",
        "`\"wrr\"`: part of the link for the classic queue if both have packets",
    ),
    key(
        "shift",
        Quantity("30ms"),
        "30 ms with `tsfifo`",
        "`\"tsfifo\"`: time by which low-latency packets are preferred",
    ),
];
