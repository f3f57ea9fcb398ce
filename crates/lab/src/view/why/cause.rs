//! The cause of a change, and the packet behind it.

use super::explanation::Explanation;
use super::packets::Packets;
use transport::WindowCause;

/// The same for a QUIC flow. Its ACKs name ranges of packet numbers, which are not those of the datagrams on the links: the
/// cause names the datagram that was dropped or marked last.
pub(super) fn fill_quic(found: &mut Explanation, packets: &Packets<'_>) {
    let change = WindowCause::ALL.into_iter().find(|cause| found.change == Some(cause.name()));
    match (found.event, change) {
        (_, Some(WindowCause::FastRetransmit)) => {
            lost_datagram(found, packets, "packets were declared lost (RFC 9002 section 6.1)");
        }
        (_, Some(WindowCause::Rto)) => {
            lost_datagram(found, packets, "persistent congestion (RFC 9002 section 7.6)");
        }
        (_, Some(WindowCause::Ecn | WindowCause::Controller)) => {
            let acked = std::mem::replace(&mut found.acked, i64::MAX);
            marked(found, packets);
            found.acked = acked;
            found.cause = match found.cause.split_once(": ") {
                Some((_, mark)) => format!("an ACK frame reports marks: {mark}"),
                None if change == Some(WindowCause::Ecn) => "an ACK frame reports marks".into(),
                None => format!("an ACK arrived; {} reduced the window by itself", found.control),
            };
        }
        ("start" | "handoff" | "timer", _) => fill(found, packets),
        _ => {
            grown(found, packets);
            (found.packet, found.journey) = (None, Vec::new());
        }
    }
}

/// Explains a loss by the last datagram that a link dropped.
fn lost_datagram(found: &mut Explanation, packets: &Packets<'_>, cause: &str) {
    let Some(drop) = packets.last_drop_of_any(found.time_s) else {
        found.cause = format!("{cause}; no link has dropped a datagram of the flow");
        return;
    };
    let ago = 1e3 * (found.time_s - packets.time_s(drop));
    let (link, words) = (packets.link(drop), packets.words(drop));
    found.packet = Some(drop.seq);
    found.journey = packets.journey(drop.seq, found.time_s, false);
    found.cause = format!("{cause}: {link} dropped datagram {} {ago:.3} ms before ({words})", drop.seq);
    found.rule = packets.rule(drop, true);
    found.queue = packets.queue(drop);
}

/// Fills in the cause, the packet, its journey, the rule and the queue.
pub(super) fn fill(found: &mut Explanation, packets: &Packets<'_>) {
    let change = WindowCause::ALL.into_iter().find(|cause| found.change == Some(cause.name()));
    let (acked, next) = (found.acked, found.acked + 1);
    match (found.event, change) {
        ("start", _) => found.cause = "the flow started".into(),
        ("handoff", _) => found.cause = "a hand-off began or ended at one end of the flow".into(),
        (_, Some(WindowCause::Undo)) => {
            found.cause = format!(
                "the last reduction is undone: with the ACK of packet {acked} it shows that nothing was lost"
            );
        }
        (_, Some(WindowCause::Restart)) => {
            found.cause =
                "the application wrote after an idle time longer than the retransmission timeout".into();
        }
        (_, Some(WindowCause::Validation)) => {
            found.cause = "the application has not used the window for a retransmission timeout".into();
        }
        ("timer", None | Some(WindowCause::Controller)) => {
            found.cause = "the controller's timer expired".into();
        }
        (_, Some(WindowCause::Rto)) => {
            let cause = format!("the retransmission timer expired; packet {next} was not acknowledged");
            lost(found, packets, cause);
        }
        (_, Some(WindowCause::Ecn)) => marked(found, packets),
        ("dupack", Some(WindowCause::FastRetransmit)) => {
            lost(found, packets, format!("a duplicate ACK indicates that packet {next} is missing"));
        }
        (_, Some(WindowCause::FastRetransmit)) => {
            lost(
                found,
                packets,
                format!("after the ACK of packet {acked}, packet {next} is considered lost"),
            );
        }
        (_, Some(WindowCause::Recovery)) => recovered(found),
        (_, Some(WindowCause::Controller)) => {
            // Some controllers reduce their window at the end of a round in which packets were marked.
            marked(found, packets);
            if found.packet.is_none() {
                let control = &found.control;
                found.cause =
                    format!("the ACK of packet {acked} arrived; {control} reduced the window by itself");
            }
        }
        _ => grown(found, packets),
    }
}

/// A change by recovery itself.
fn recovered(found: &mut Explanation) {
    let acked = found.acked;
    let what = match found.phase {
        "open" => "ended recovery, and the window takes its final value",
        "cwr" => "arrived; the reduction after an ECN echo goes on",
        _ => "arrived; recovery lets the window follow what has left the network",
    };
    found.cause = format!("the ACK of packet {acked} {what}");
}

/// Adds to a change by recovery the explanation of the reduction that began it.
pub(super) fn follow(found: &mut Explanation, begin: Explanation) {
    let Explanation { time_s, cause, .. } = &begin;
    found.cause = format!("{}; it began at {time_s:.6} s: {cause}", found.cause);
    (found.packet, found.journey) = (begin.packet, begin.journey);
    (found.rule, found.queue) = (begin.rule, begin.queue);
}

fn grown(found: &mut Explanation, packets: &Packets<'_>) {
    let acked = found.acked;
    let rtt = match found.rtt_s {
        None => "no sample".into(),
        Some(rtt) => format!("round-trip time {:.3} ms", 1e3 * rtt),
    };
    let slow_start = found.ssthresh[0].is_none_or(|threshold| found.cwnd[0] < threshold);
    let part = match found.phase {
        "recovery" | "cwr" => "recovery",
        _ if slow_start => "slow start",
        _ => "congestion avoidance",
    };
    let what = match found.event {
        "dupack" => format!("a duplicate ACK of packet {acked} arrived"),
        "rto" => format!("a timer of the sender expired after the ACK of packet {acked}"),
        _ => format!("the ACK of packet {acked} arrived"),
    };
    found.cause = format!("{what} ({rtt}; {part})");
    if found.event == "ack" {
        found.packet = Some(acked);
        found.journey = packets.journey(acked, f64::INFINITY, true);
    }
}

/// Explains a loss by the events of the first unacknowledged packet.
fn lost(found: &mut Explanation, packets: &Packets<'_>, cause: String) {
    let seq = found.acked + 1;
    found.packet = Some(seq);
    found.journey = packets.journey(seq, found.time_s, false);
    let Some(drop) = packets.last_drop(seq, found.time_s) else {
        let late =
            "no link dropped a copy of it: the packet or its ACKs arrived late or were lost over radio";
        found.cause = match packets.dropped_acks() {
            0 => format!("{cause}; {late}"),
            dropped => format!("{cause}; {dropped} of the flow's ACKs were dropped so far"),
        };
        return;
    };
    let ago = 1e3 * (found.time_s - packets.time_s(drop));
    let (link, words) = (packets.link(drop), packets.words(drop));
    found.cause = format!("{cause}: {link} dropped it {ago:.3} ms before ({words})");
    found.rule = packets.rule(drop, true);
    found.queue = packets.queue(drop);
}

/// Explains an ECN echo by the packet that was marked last.
fn marked(found: &mut Explanation, packets: &Packets<'_>) {
    let acked = found.acked;
    let after_s = found.time_s - 2.0 * found.rtt_s.unwrap_or(1.0);
    let Some(mark) = packets.last_mark(acked, after_s) else {
        found.cause = format!("the ACK of packet {acked} echoes congestion");
        return;
    };
    let seq = mark.seq;
    found.packet = Some(seq);
    found.journey = packets.journey(seq, found.time_s, false);
    found.cause =
        format!("the ACK of packet {acked} echoes congestion: {} marked packet {seq}", packets.link(mark));
    found.rule = packets.rule(mark, false);
    if let Some(rule) = &found.rule {
        found.cause += &format!(" ({})", rule.words);
    }
    found.queue = packets.queue(mark);
}
