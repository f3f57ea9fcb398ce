//! The keys of rates that vary, of token buckets, and of random delays.

use super::form::Form::{Array, Bytes, Number, Quantity, Switch, Text, Word};
use super::form::{Key, key};

pub(super) const TRACE: &[Key] = &[
    key("kind", Word(&["trace"]), "", "delivery opportunities of a trace in Mahimahi's format"),
    key(
        "file",
        Text,
        "",
        "the trace, relative to the scenario: in each line the time of an opportunity, ms, not decreasing; the last one is the period; gzip is allowed",
    ),
    key("unit", Bytes, "\"1504B\"", "bytes that one opportunity delivers"),
    key("repeat", Switch, "true", "the trace starts again after its last time"),
];

pub(super) const STEPS: &[Key] = &[
    key("kind", Word(&["steps"]), "", "a rate that changes at given times"),
    key(
        "steps",
        Array("[[\"0s\", \"10Mbps\"], [\"5s\", \"2Mbps\"]]"),
        "",
        "times from the start, and the rate from there on",
    ),
    key("repeat", Quantity("20s"), "none", "time after which the steps start again"),
];

pub(super) const RANDOM_STEPS: &[Key] = &[
    key(
        "kind",
        Word(&["random_steps"]),
        "",
        "a rate that is drawn anew after each interval, uniformly distributed, such as that of a Starlink terminal, whose satellite and share are assigned every 15 s",
    ),
    key("interval", Quantity("15s"), "", "time for which a rate holds, at least 1 ms"),
    key("min", Quantity("50Mbps"), "", "smallest rate"),
    key("max", Quantity("250Mbps"), "", "largest rate"),
];

pub(super) const RATE_FILE: &[Key] = &[
    key("kind", Word(&["file"]), "", "a rate that changes at the times of a file"),
    key(
        "file",
        Text,
        "",
        "the rates, relative to the scenario: in each line a time in seconds, from 0 on and increasing, a comma, and the rate from there on in bits per second; a first line `time_s,bps` and gzip are allowed",
    ),
    key("repeat", Quantity("20s"), "none", "time after which the file starts again"),
];

const BURST: Key = key("burst", Bytes, "", "largest number of tokens, at least 1500 bytes");

pub(super) const SHAPER: &[Key] =
    &[key("rate", Quantity("1Mbps"), "", "rate of the tokens; a limit in `bdp` refers to it"), BURST];

pub(super) const POLICER: &[Key] = &[
    key("kind", Word(&["policer"]), "", "drops packets for which there are no tokens, before the queue"),
    key("rate", Quantity("1Mbps"), "", "rate of the tokens"),
    BURST,
];

pub(super) const JITTER: &[Key] = &[
    key("kind", Word(&["jitter"]), "", "delays packets after their transmission by random times"),
    key(
        "distribution",
        Word(&["uniform", "normal", "pareto"]),
        "\"uniform\"",
        "distribution of the delays; `\"normal\"` is cut at zero and at 9 deviations above the mean, `\"pareto\"` (shape 3) at zero and at 30",
    ),
    key("min", Quantity("0ms"), "\"0ms\"", "`\"uniform\"`: least delay"),
    key("max", Quantity("10ms"), "none; needed with `\"uniform\"`", "`\"uniform\"`: largest delay"),
    key("mean", Quantity("10ms"), "none; needed with the others", "`\"normal\"`, `\"pareto\"`: mean delay"),
    key(
        "deviation",
        Quantity("2ms"),
        "none; needed with the others",
        "`\"normal\"`, `\"pareto\"`: standard deviation",
    ),
    key(
        "correlation",
        Number(0.0, 1.0),
        "0",
        "`\"normal\"`: correlation of the delays of two successive packets",
    ),
    key("order", Switch, "true", "no packet arrives before the one in front of it"),
];

pub(super) const DELAY: &[Key] = &[
    key(
        "kind",
        Word(&["delay"]),
        "",
        "delays packets after their transmission by a time that changes at given times",
    ),
    key(
        "steps",
        Array("[[\"0s\", \"20ms\"], [\"5s\", \"5ms\"]]"),
        "",
        "times from the start, and the additional delay of the packets that arrive at the link from there on",
    ),
    key("repeat", Quantity("20s"), "none", "time after which the steps start again"),
    key("order", Switch, "true", "no packet arrives before the one in front of it"),
];

pub(super) const REORDER: &[Key] = &[
    key("kind", Word(&["reorder"]), "", "delays a part of the packets, so that others overtake them"),
    key("rate", Number(0.0, 1.0), "", "probability per packet"),
    key("by", Quantity("5ms"), "", "the delay"),
];

pub(super) const DUPLICATE: &[Key] = &[
    key("kind", Word(&["duplicate"]), "", "sends copies of data packets"),
    key("rate", Number(0.0, 1.0), "", "probability per packet"),
];
