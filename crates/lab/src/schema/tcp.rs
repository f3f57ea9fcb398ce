//! The options of TCP flows.

use super::form::Form::{Array, Bytes, Controller, Integer, Number, NumberOrNone, Quantity, Switch, Word};
use super::form::{Key, by_profile, key};
use transport::{
    IdleRestart, Recovery, ReduceFrom, ReductionKind, ReorderingWindow, RtoEstimator, TimerClock, Validation,
};

/// Most segments or packets that an option takes.
const MOST: u64 = 1 << 30;

/// The names of all recoveries.
const RECOVERIES: [&str; Recovery::ALL.len()] = {
    let mut names = [""; Recovery::ALL.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = Recovery::ALL[i].1;
        i += 1;
    }
    names
};

pub(super) const TCP: &[Key] = &[
    key(
        "profile",
        Word(&["ns2", "linux"]),
        "\"linux\"",
        "the defaults of all other options: ns-2.35, or Linux",
    ),
    by_profile(
        "congestion_control",
        Controller,
        ["\"reno\"", "\"cubic\""],
        "the controller: a name, a table with `kind` and its parameters (`ackclock list controllers`), or a table with `python = \"FILE.py:CLASS\"`",
    ),
    by_profile(
        "recovery",
        Word(&RECOVERIES),
        ["\"newreno\"", "\"rack\""],
        "loss recovery (`ackclock list recoveries`); `sack` is ns-2's Sack1 or RFC 6675 by profile",
    ),
    by_profile("mss", Bytes, ["\"1000B\"", "\"1448B\""], "payload of a segment"),
    by_profile(
        "header",
        Bytes,
        ["\"40B\"", "\"52B\""],
        "bytes on the wire besides the payload; in profile `ns2` 10 more with `timestamps`",
    ),
    by_profile(
        "ack_size",
        Bytes,
        ["\"40B\"", "\"52B\""],
        "size of an ACK on the wire without SACK blocks, which take 8 bytes each",
    ),
    by_profile("receive_window", Integer(1, MOST), ["20", "1000000"], "receiver's window, segments"),
    by_profile(
        "initial_window",
        Number(1.0, 1e6),
        ["2", "10"],
        "window after the handshake, segments; without it the controller may specify its own (`enhanced_rcp`: 4)",
    ),
    by_profile(
        "initial_ssthresh",
        Number(1.0, 1e9),
        ["`receive_window`", "infinite"],
        "slow-start threshold at the start, segments",
    ),
    key(
        "max_cwnd",
        NumberOrNone(1.0, 1e9),
        "0",
        "upper bound of the congestion window, segments; 0 for none",
    ),
    key("max_burst", Integer(0, MOST), "0", "most packets sent in response to one event; 0 for no bound"),
    by_profile(
        "gso_max_segs",
        Integer(1, 65_535),
        ["1", "65535"],
        "most segments that the pacer releases at once for a controller with a quantum (`bbr`)",
    ),
    key("syn", Switch, "true", "packet 0 is a SYN without data"),
    key(
        "delay_growth",
        Switch,
        "true",
        "with a SYN (and in the recovery of ns-2's Vegas) the window is 1 until the first ACK, then `initial_window`",
    ),
    by_profile(
        "delayed_ack",
        Switch,
        ["false", "true"],
        "the receiver acknowledges every second segment (`ack_every`), or after `ack_delay`",
    ),
    by_profile(
        "ack_delay",
        Quantity("40ms"),
        ["\"100ms\"", "\"40ms\""],
        "delay of an ACK with `delayed_ack`; where it adapts, the smallest",
    ),
    by_profile(
        "ack_delay_max",
        Quantity("200ms"),
        ["\"100ms\"", "\"200ms\""],
        "largest delay of an ACK where it adapts, with recovery `rack`; equal to `ack_delay` for a fixed delay",
    ),
    by_profile(
        "quick_acks",
        Integer(0, 1 << 20),
        ["0", "16"],
        "ACKs that are not delayed at the start, and after a gap longer than the retransmission timeout",
    ),
    key("ack_every", Integer(1, 1 << 20), "2", "segments that one ACK acknowledges with `delayed_ack`"),
    by_profile(
        "ack_compression",
        Switch,
        ["false", "true"],
        "with SACK: after three duplicate ACKs the receiver combines up to 44 further ones within 5 % of a round trip, at most 1 ms, and 0.1 ms (compressed SACKs of Linux)",
    ),
    by_profile(
        "moderate_rcvbuf",
        Switch,
        ["false", "true"],
        "with `delayed_ack`: no ACK is delayed while the receive window of Linux would grow, which is so in slow start (receive buffer auto-tuning of Linux)",
    ),
    key(
        "limited_transmit",
        Switch,
        "true",
        "a new segment on each of the first two duplicate ACKs (RFC 3042)",
    ),
    key("sack", Switch, "true", "selective acknowledgements (RFC 2018), with recoveries `sack` and `rack`"),
    by_profile(
        "dsack",
        Switch,
        ["false", "true"],
        "the receiver reports duplicates (RFC 2883), with recovery `rack`",
    ),
    by_profile(
        "sack_blocks",
        Integer(1, 4),
        ["3", "with `timestamps` 3, otherwise 4"],
        "most SACK blocks of an ACK",
    ),
    key(
        "reordering_window",
        Word(ReorderingWindow::NAMES),
        "\"adaptive\"",
        "`rack`: a quarter of the smallest round-trip time, wider after DSACKs (RFC 8985 section 6.2); `static`: not wider; `none`: no reordering window",
    ),
    key(
        "tail_loss_probe",
        Switch,
        "true",
        "`rack`: probe the end of the data for a loss (RFC 8985 section 7)",
    ),
    key(
        "reduction",
        Word(ReductionKind::NAMES),
        "\"prr\"",
        "`rack`: how the window falls: proportional rate reduction of Linux, of RFC 9937, of RFC 6937 with slow start or conservative bound, or at once (RFC 6675)",
    ),
    key(
        "reduce_from",
        Word(ReduceFrom::NAMES),
        "\"cwnd\"",
        "`rack`: what a loss reduces: the window (Linux) or the flight size (RFC 5681)",
    ),
    key(
        "undo",
        Array("[\"dsack\", \"frto\"]"),
        "`[\"dsack\", \"timestamps\", \"frto\"]`",
        "`rack`: what may undo a reduction: DSACK (RFC 3708), timestamps (RFC 4015), F-RTO (RFC 5682)",
    ),
    by_profile(
        "rto_estimator",
        Word(RtoEstimator::NAMES),
        ["\"rfc6298\"", "\"linux\""],
        "`rack`: estimator of the retransmission timeout",
    ),
    key(
        "timer",
        Word(TimerClock::NAMES),
        "\"exact\"",
        "`rack`: exact timers, or jiffies of 4 ms and the timer wheel of Linux",
    ),
    key(
        "validation",
        Word(Validation::NAMES),
        "\"linux\"",
        "`rack`: a window that the application does not use does not grow, and shrinks after a timeout; `rfc7661`: it is kept for five minutes, and a loss reduces what was used (RFC 7661); `none`: it grows",
    ),
    key(
        "idle_restart",
        Word(IdleRestart::NAMES),
        "\"linux\"",
        "`rack`: the window after an idle time longer than the timeout: halved for each timeout, the initial window (RFC 5681), or unchanged",
    ),
    key("min_rto", Quantity("200ms"), "\"200ms\"", "smallest retransmission timeout"),
    by_profile("max_rto", Quantity("60s"), ["\"60s\"", "\"120s\""], "largest retransmission timeout"),
    by_profile(
        "initial_rto",
        Quantity("1s"),
        ["\"3s\"", "\"1s\""],
        "retransmission timeout before the first round-trip sample",
    ),
    by_profile(
        "clock_tick",
        Quantity("10ms"),
        ["\"10ms\"", "\"0s\""],
        "tick of the clock that measures round-trip times; 0 for an exact clock",
    ),
    key("clock_phase", Quantity("3ms"), "from the seed", "offset of that clock within a tick at the start"),
    by_profile(
        "timestamps",
        Switch,
        ["false", "true"],
        "every packet carries a timestamp, every ACK gives a round-trip sample (RFC 7323)",
    ),
    by_profile(
        "timestamp_quantum",
        Quantity("1ms"),
        ["\"0s\"", "\"1ms\""],
        "resolution of the receiver's timestamps; 0 for exact",
    ),
    key(
        "clock_rtt",
        Switch,
        "false",
        "the controller's round-trip samples are those of the retransmission clock: whole ticks of `clock_tick`",
    ),
    by_profile(
        "integer_windows",
        Switch,
        ["false", "true"],
        "reductions truncate the window to a whole number (ns-2's `precisionReduce_ false`)",
    ),
    key(
        "impatient",
        Switch,
        "true",
        "NewReno: only the first partial ACK resets the retransmission timer (RFC 6582)",
    ),
    key(
        "partial_deflation",
        Switch,
        "true",
        "NewReno: a partial ACK deflates the window by what it acknowledges",
    ),
    key(
        "fast_retransmit_after_rto",
        Switch,
        "false",
        "duplicate ACKs of segments sent before a timeout can cause a fast retransmit (ns-2's `bugFix_ false`)",
    ),
    key(
        "ecn",
        Switch,
        "false",
        "data packets are ECN-capable; an echo reduces the window at most once a round trip (RFC 3168)",
    ),
    key(
        "ecn_feedback",
        Word(&["classic", "per_packet"]),
        "\"classic\"",
        "`\"classic\"`: ACKs echo a mark until CWR (RFC 3168); `\"per_packet\"`: each ACK echoes the marks of the segments that it acknowledges (RFC 8257); dctcp and prague set it",
    ),
    key(
        "l4s",
        Switch,
        "false",
        "ECN-capable packets carry ECT(1) instead of ECT(0) (RFC 9331); prague sets it",
    ),
    key(
        "abe",
        Switch,
        "false",
        "an ECN echo multiplies the window by 0.8 instead of the controller's factor (RFC 8511)",
    ),
    key("pacing", Switch, "false", "packets are sent at the rate window over round-trip time"),
    key(
        "pacing_gain",
        Array("[2.0, 1.2]"),
        "`[2.0, 1.2]`",
        "factors of that rate, in slow start and after it",
    ),
    key(
        "quick_start",
        Quantity("1Mbps"),
        "none",
        "rate that the SYN requests from the routers of its path (RFC 4782)",
    ),
    key(
        "quick_start_window",
        Number(1.0, 1e9),
        "from the approved rate",
        "window after an approved request, segments",
    ),
];
