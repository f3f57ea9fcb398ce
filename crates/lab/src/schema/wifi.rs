//! The keys of Wi-Fi.

use super::cellular::SIGNAL_KEYS;
use net::wifi::{CategoryOptions, DirectionOptions, Standard};
use params::Form::{Any, Integer, Quantity, Range, Switch, Text, Word};
use params::{Form, Key, Model, Table, Unit, key};

/// A rate that a Wi-Fi channel decides.
pub static WIFI_RATE: Model = params::model!(
    "rate",
    "wifi",
    "the transmitter is a Wi-Fi channel that several links share",
    "",
    [DirectionOptions::KEYS, CONTROL_KEYS, SIGNAL_KEYS]
);

const CONTROL_KEYS: &[Key] = &[key(
    "rate_control",
    Any("\"minstrel\""),
    "\"minstrel\"",
    "`\"minstrel\"`, `\"ideal\"` (the MCS with the largest throughput at the SNR), or `{ kind = \"fixed\", mcs = 7 }`",
)];

pub(super) const WIFI: &[Key] = &[
    key("name", Text, "", "name for `medium` of links"),
    key("ap", Text, "", "node of the access point"),
    key("standard", Word(Standard::NAMES), "\"ac\"", "802.11n, ac or ax"),
    key("width", Word(&["20MHz", "40MHz", "80MHz", "160MHz"]), "80 MHz; n: 20 MHz", "channel width"),
    key("streams", Integer(1, 8), "2", "spatial streams"),
    key(
        "guard",
        Quantity(Unit::Time, "0.8us"),
        "\"0.8us\"",
        "guard interval: 0.4 or 0.8 us; ax: 0.8, 1.6 or 3.2 us",
    ),
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
    key(
        "quantum",
        Range(Unit::Time, "256us", "1us", "100ms"),
        "\"256us\"",
        "airtime of a station in a round",
    ),
    key("charge", Word(&["down", "both"]), "\"down\"", "whether a station also pays for what it sends"),
    key("window", Integer(1, 256), "64; ax: 256", "block ACK window; 1: no aggregation"),
    key("amsdu", Integer(1, 8), "1", "packets that share an MPDU (A-MSDU)"),
    key("security", Switch, "false", "encryption: 16 bytes more in each MPDU"),
    key("max_ppdu", Quantity(Unit::Time, "5.484ms"), "5.484ms", "longest transmission of data"),
    key("control_rate", Word(&["6Mbps", "12Mbps", "24Mbps"]), "24Mbps", "largest rate of control frames"),
    key(
        "rts_threshold",
        Any("\"none\""),
        "\"none\"",
        "bytes of data from which RTS and CTS come before them",
    ),
    key("edca", Form::Table("edca"), "the standard's", "access parameters by category"),
    key("eifs", Switch, "true", "after a collision everyone waits EIFS; otherwise AIFS, as in ns-3"),
    key("bar", Switch, "false", "a missing block ACK is requested in an access of its own, as in ns-3"),
    key("retry_limit", Integer(0, 255), "7", "repetitions of an MPDU; then it is lost"),
];

pub(super) const EDCA: &[Key] = &[
    key("bk", Form::Table("edca_category"), "the standard's", "background"),
    key("be", Form::Table("edca_category"), "the standard's", "best effort"),
    key("vi", Form::Table("edca_category"), "the standard's", "video"),
    key("vo", Form::Table("edca_category"), "the standard's", "voice"),
];

/// Parameters of an access category.
pub static EDCA_CATEGORY: Table = Table {
    name: "edca_category",
    place: "`bk`, `be`, `vi`, `vo` of `edca`",
    groups: &[CategoryOptions::KEYS],
};
