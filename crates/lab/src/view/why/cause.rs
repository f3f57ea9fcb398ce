//! The cause of a change, and the packet behind it.

use super::explanation::Explanation;
use super::packets::Packets;
use transport::WindowCause;

/// The same for a QUIC flow. Its ACKs name ranges of packet numbers, which are not those of the datagrams on the links: the
/// cause names the datagram that was dropped or marked last.
pub(super) fn fill_quic(explanation: &mut Explanation, packets: &Packets<'_>) {
    let change = WindowCause::ALL.into_iter().find(|cause| explanation.change == Some(cause.name()));
    match (explanation.event, change) {
        (_, Some(WindowCause::FastRetransmit)) => {
            lost_datagram(explanation, packets, "packets were declared lost (RFC 9002 section 6.1)");
        }
        (_, Some(WindowCause::Rto)) => {
            lost_datagram(explanation, packets, "persistent congestion (RFC 9002 section 7.6)");
        }
        (_, Some(WindowCause::Resume)) => resumed(explanation),
        (_, Some(WindowCause::Retreat)) => {
            lost_datagram(
                explanation,
                packets,
                "a packet of the jump was lost or marked: retreat (RFC 9959)",
            );
        }
        (_, Some(WindowCause::Ecn | WindowCause::Controller)) => {
            let acked = std::mem::replace(&mut explanation.acked, i64::MAX);
            marked(explanation, packets);
            explanation.acked = acked;
            explanation.cause = match explanation.cause.split_once(": ") {
                Some((_, mark)) => format!("an ACK frame reports marks: {mark}"),
                None if change == Some(WindowCause::Ecn) => "an ACK frame reports marks".into(),
                None => format!("an ACK arrived; {} reduced the window by itself", explanation.control),
            };
        }
        ("start" | "handoff" | "timer", _) => fill(explanation, packets),
        _ => {
            grown(explanation, packets);
            (explanation.packet, explanation.packet_events) = (None, Vec::new());
        }
    }
}

/// Explains a loss by the last datagram that a link dropped.
fn lost_datagram(explanation: &mut Explanation, packets: &Packets<'_>, cause: &str) {
    let Some(drop) = packets.last_drop_of_any(explanation.time_s) else {
        explanation.cause = format!("{cause}; no link has dropped a datagram of the flow");
        return;
    };
    let ago = 1e3 * (explanation.time_s - packets.time_s(drop));
    let (link, words) = (packets.link(drop), packets.words(drop));
    explanation.packet = Some(drop.seq);
    explanation.packet_events = packets.events_of(drop.seq, explanation.time_s, false);
    explanation.cause = format!("{cause}: {link} dropped datagram {} {ago:.3} ms before ({words})", drop.seq);
    explanation.rule = packets.rule(drop, true);
    explanation.queue = packets.queue(drop);
}

/// Fills in the cause, the packet, its events, the rule and the queue.
pub(super) fn fill(explanation: &mut Explanation, packets: &Packets<'_>) {
    let change = WindowCause::ALL.into_iter().find(|cause| explanation.change == Some(cause.name()));
    let (acked, next) = (explanation.acked, explanation.acked + 1);
    match (explanation.event, change) {
        ("start", _) => explanation.cause = "the flow started".into(),
        ("handoff", _) => explanation.cause = "a hand-off began or ended at one end of the flow".into(),
        (_, Some(WindowCause::Undo)) => {
            explanation.cause = format!(
                "the last reduction is undone: with the ACK of packet {acked} it shows that nothing was lost"
            );
        }
        (_, Some(WindowCause::Restart)) => {
            explanation.cause =
                "the application wrote after an idle time longer than the retransmission timeout".into();
        }
        (_, Some(WindowCause::Validation)) => {
            explanation.cause = "the application has not used the window for a retransmission timeout".into();
        }
        ("timer", None | Some(WindowCause::Controller)) => {
            explanation.cause = "the controller's timer expired".into();
        }
        (_, Some(WindowCause::Rto)) => {
            let cause = format!("the retransmission timer expired; packet {next} was not acknowledged");
            lost(explanation, packets, cause);
        }
        (_, Some(WindowCause::Ecn)) => marked(explanation, packets),
        ("dupack", Some(WindowCause::FastRetransmit)) => {
            lost(explanation, packets, format!("a duplicate ACK indicates that packet {next} is missing"));
        }
        (_, Some(WindowCause::FastRetransmit)) => {
            lost(
                explanation,
                packets,
                format!("after the ACK of packet {acked}, packet {next} is considered lost"),
            );
        }
        (_, Some(WindowCause::Recovery)) => recovered(explanation),
        (_, Some(WindowCause::Resume)) => resumed(explanation),
        (_, Some(WindowCause::Retreat)) => {
            let cause = format!("packet {next} of the jump was lost or marked: retreat (RFC 9959)");
            lost(explanation, packets, cause);
        }
        (_, Some(WindowCause::Controller)) => {
            // Some controllers reduce their window at the end of a round in which packets were marked.
            marked(explanation, packets);
            if explanation.packet.is_none() {
                let control = &explanation.control;
                explanation.cause =
                    format!("the ACK of packet {acked} arrived; {control} reduced the window by itself");
            }
        }
        _ => grown(explanation, packets),
    }
}

/// A start with saved values came to another phase.
fn resumed(explanation: &mut Explanation) {
    let [before, after] = explanation.cwnd;
    let acked = explanation.acked;
    let what = if after > before {
        "the path is confirmed, and the window jumps (RFC 9959, unvalidated phase)"
    } else {
        "the jump is sent, or was not used, and the window becomes what is in flight or acknowledged (RFC 9959, validating phase)"
    };
    explanation.cause = format!("the ACK of packet {acked} arrived; {what}");
}

/// A change by recovery itself.
fn recovered(explanation: &mut Explanation) {
    let acked = explanation.acked;
    let what = match explanation.phase {
        "open" => "ended recovery, and the window takes its final value",
        "cwr" => "arrived; the reduction after an ECN echo goes on",
        _ => "arrived; recovery lets the window follow what has left the network",
    };
    explanation.cause = format!("the ACK of packet {acked} {what}");
}

/// Adds to a change by recovery the explanation of the reduction that began it.
pub(super) fn follow(explanation: &mut Explanation, begin: Explanation) {
    let Explanation { time_s, cause, .. } = &begin;
    explanation.cause = format!("{}; it began at {time_s:.6} s: {cause}", explanation.cause);
    (explanation.packet, explanation.packet_events) = (begin.packet, begin.packet_events);
    (explanation.rule, explanation.queue) = (begin.rule, begin.queue);
}

fn grown(explanation: &mut Explanation, packets: &Packets<'_>) {
    let acked = explanation.acked;
    let rtt = match explanation.rtt_s {
        None => "no sample".into(),
        Some(rtt) => format!("round-trip time {:.3} ms", 1e3 * rtt),
    };
    let slow_start = explanation.ssthresh[0].is_none_or(|threshold| explanation.cwnd[0] < threshold);
    let part = match explanation.phase {
        "recovery" | "cwr" => "recovery",
        _ if slow_start => "slow start",
        _ => "congestion avoidance",
    };
    let what = match explanation.event {
        "dupack" => format!("a duplicate ACK of packet {acked} arrived"),
        "rto" => format!("a timer of the sender expired after the ACK of packet {acked}"),
        _ => format!("the ACK of packet {acked} arrived"),
    };
    explanation.cause = format!("{what} ({rtt}; {part})");
    if explanation.event == "ack" {
        explanation.packet = Some(acked);
        explanation.packet_events = packets.events_of(acked, f64::INFINITY, true);
    }
}

/// Explains a loss by the events of the first unacknowledged packet.
fn lost(explanation: &mut Explanation, packets: &Packets<'_>, cause: String) {
    let seq = explanation.acked + 1;
    explanation.packet = Some(seq);
    explanation.packet_events = packets.events_of(seq, explanation.time_s, false);
    let Some(drop) = packets.last_drop(seq, explanation.time_s) else {
        let late =
            "no link dropped a copy of it: the packet or its ACKs arrived late or were lost over radio";
        explanation.cause = match packets.dropped_acks() {
            0 => format!("{cause}; {late}"),
            dropped => format!("{cause}; {dropped} of the flow's ACKs were dropped so far"),
        };
        return;
    };
    let ago = 1e3 * (explanation.time_s - packets.time_s(drop));
    let (link, words) = (packets.link(drop), packets.words(drop));
    explanation.cause = format!("{cause}: {link} dropped it {ago:.3} ms before ({words})");
    explanation.rule = packets.rule(drop, true);
    explanation.queue = packets.queue(drop);
}

/// Explains an ECN echo by the packet that was marked last.
fn marked(explanation: &mut Explanation, packets: &Packets<'_>) {
    let acked = explanation.acked;
    let after_s = explanation.time_s - 2.0 * explanation.rtt_s.unwrap_or(1.0);
    let Some(mark) = packets.last_mark(acked, after_s) else {
        explanation.cause = format!("the ACK of packet {acked} echoes congestion");
        return;
    };
    let seq = mark.seq;
    explanation.packet = Some(seq);
    explanation.packet_events = packets.events_of(seq, explanation.time_s, false);
    explanation.cause =
        format!("the ACK of packet {acked} echoes congestion: {} marked packet {seq}", packets.link(mark));
    explanation.rule = packets.rule(mark, false);
    if let Some(rule) = &explanation.rule {
        explanation.cause += &format!(" ({})", rule.words);
    }
    explanation.queue = packets.queue(mark);
}
