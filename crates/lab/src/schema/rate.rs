//! The keys of rates that vary, of token buckets, and of random delays.

use super::form::Form::{Any, Array, Bytes, Integer, Number, Quantity, Switch, Text, Word};
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

pub(super) const WIFI_RATE: &[Key] = &[
    key("kind", Word(&["wifi"]), "", "the transmitter is a Wi-Fi channel that several links share"),
    key("medium", Text, "", "name of the `[[wifi]]`; in `back` that of the link"),
    key("snr", Number(-20.0, 80.0), "40", "signal-to-noise ratio at the receiver, dB"),
    key("streams", Integer(1, 8), "those of the `[[wifi]]`", "spatial streams of the station"),
    key("errors", Number(0.0, 1.0), "by SNR", "error probability of each MPDU, in place of that by SNR"),
    key(
        "rate_control",
        Any("\"minstrel\""),
        "\"minstrel\"",
        "`\"minstrel\"`, `\"ideal\"` (the MCS with the largest throughput at the SNR), or `{ kind = \"fixed\", mcs = 7 }`",
    ),
    key("weight", Number(0.01, 100.0), "1", "share of the station in the airtime scheduler"),
    key(
        "access",
        Word(&["bk", "be", "vi", "vo"]),
        "\"be\"",
        "access category of the packets of this direction: background, best effort, video, voice",
    ),
];

pub(super) const WIFI: &[Key] = &[
    key("name", Text, "", "name for `medium` of links"),
    key("ap", Text, "", "node of the access point"),
    key("standard", Word(&["n", "ac", "ax"]), "\"ac\"", "802.11n, ac or ax"),
    key("width", Word(&["20MHz", "40MHz", "80MHz", "160MHz"]), "80 MHz; n: 20 MHz", "channel width"),
    key("streams", Integer(1, 8), "2", "spatial streams"),
    key("guard", Quantity("0.8us"), "0.8us", "guard interval: 0.4 or 0.8 us; ax: 0.8, 1.6 or 3.2 us"),
    key("channel", Text, "its own", "sets with the same text share the channel, and all hear all"),
    key(
        "scheduler",
        Word(&["airtime", "round_robin"]),
        "\"airtime\"",
        "which station the access point serves next",
    ),
    key(
        "ap_queue",
        Any("{ kind = \"shared\", limit = \"1000p\" }"),
        "{ kind = \"per_station\" }",
        "one queue for each station, the queues of the links, or one for all",
    ),
    key("quantum", Quantity("256us"), "256us", "airtime of a station in a round"),
    key("charge", Word(&["down", "both"]), "\"down\"", "whether a station also pays for what it sends"),
    key("window", Integer(1, 256), "64; ax: 256", "block ACK window; 1: no aggregation"),
    key("max_ppdu", Quantity("5.484ms"), "5.484ms", "longest transmission of data"),
    key("control_rate", Word(&["6Mbps", "12Mbps", "24Mbps"]), "24Mbps", "largest rate of control frames"),
    key(
        "rts_threshold",
        Any("\"none\""),
        "\"none\"",
        "bytes of data from which RTS and CTS come before them",
    ),
    key("eifs", Switch, "true", "after a collision everyone waits EIFS; otherwise AIFS, as in ns-3"),
    key("bar", Switch, "false", "a missing block ACK is requested in an access of its own, as in ns-3"),
    key("retry_limit", Integer(0, 255), "7", "repetitions of an MPDU; then it is lost"),
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
        "0 with `\"normal\"`",
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
