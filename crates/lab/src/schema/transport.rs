//! The keys of TCP and QUIC flows, besides the options of the stacks.

use params::Form::{Bytes, Controller, Number, NumberOrNone, Switch, Word};
use params::{Key, by_profile, key};

const CONTROLLER: &str = "the controller: a name, a table with `kind` and its parameters (`ackclock list controllers`), or a table with `python = \"FILE.py:CLASS\"`";

pub(super) const TCP: &[Key] = &[
    key(
        "profile",
        Word(&["ns2", "linux"]),
        "\"linux\"",
        "the defaults of all other options: ns-2.35, or Linux",
    ),
    by_profile("congestion_control", Controller, ["\"reno\"", "\"cubic\""], CONTROLLER),
];

pub(super) const QUIC: &[Key] = &[
    key("congestion_control", Controller, "\"cubic\"", CONTROLLER),
    key(
        "header",
        Bytes(0, 500),
        "\"28B\"",
        "bytes on the wire besides the UDP payload: the headers of IP and UDP",
    ),
    key(
        "initial_ssthresh",
        Number(2.0, 1e9),
        "infinite",
        "slow-start threshold before the first reduction, datagrams",
    ),
    key("max_cwnd", NumberOrNone(1.0, 1e9), "0", "largest congestion window, datagrams; 0 for none"),
    key("abe", Switch, "false", "smaller reductions after ECN marks (RFC 8511)"),
];
