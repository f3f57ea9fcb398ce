//! The options of QUIC flows.

use super::form::Form::{Bytes, Controller, Integer, Number, NumberOrNone, Quantity, Switch, Word};
use super::form::{Key, key};

pub(super) const QUIC: &[Key] = &[
    key(
        "congestion_control",
        Controller,
        "\"cubic\"",
        "the controller: a name, a table with `kind` and its parameters (`ackclock list controllers`), or a table with `python = \"FILE.py:CLASS\"`",
    ),
    key(
        "max_datagram_size",
        Bytes,
        "\"1472B\"",
        "largest UDP payload, 1200 to 65,527 bytes; windows count datagrams of this size",
    ),
    key("header", Bytes, "\"28B\"", "bytes on the wire besides the UDP payload: the headers of IP and UDP"),
    key(
        "receive_window",
        Bytes,
        "16777216",
        "bytes that the receiver takes beyond what its application has read",
    ),
    key(
        "initial_window",
        Number(2.0, 1e6),
        "10, or the controller's",
        "window before the first ACK, datagrams; without it the controller may specify its own (`enhanced_rcp`: 4)",
    ),
    key(
        "initial_ssthresh",
        Number(2.0, 1e9),
        "infinite",
        "slow-start threshold before the first reduction, datagrams",
    ),
    key("max_cwnd", NumberOrNone(1.0, 1e9), "0", "largest congestion window, datagrams; 0 for none"),
    key(
        "ecn",
        Switch,
        "false",
        "datagrams are ECN-capable and ACK frames count marks; on if the controller requires it",
    ),
    key("l4s", Switch, "false", "data carries ECT(1); on if the controller requires it"),
    key("abe", Switch, "false", "smaller reductions after ECN marks (RFC 8511)"),
    key(
        "pacing",
        Word(&["stack", "none", "driver"]),
        "\"stack\"",
        "what spaces datagrams: `stack`: 1.25 windows per round trip, in bursts of 10 and more; `none`: ACKs alone; `driver`: one by one at the controller's rate, always used for controllers that need pacing",
    ),
    key(
        "tls",
        Switch,
        "false",
        "TLS 1.3 in place of a session without encryption whose packets have the same sizes",
    ),
    key(
        "certificate_size",
        Bytes,
        "\"800B\"",
        "the server's certificates in the handshake, without `tls`, at most 16,000 bytes",
    ),
    key(
        "ack_every",
        Integer(1, 1 << 20),
        "2 (RFC 9000)",
        "the receiver acknowledges so many packets at once, unless the delay passes before",
    ),
    key("max_ack_delay", Quantity("25ms"), "\"25ms\" (RFC 9000)", "longest delay of an ACK, 1 ms to 16 s"),
    key(
        "packet_threshold",
        Integer(3, 1 << 20),
        "3",
        "a packet is lost if so many later ones were sent before one that is acknowledged (RFC 9002)",
    ),
    key(
        "time_threshold",
        Number(1.001, 100.0),
        "1.125",
        "a packet is lost if it is older than so many round trips (RFC 9002)",
    ),
];
