//! An explanation in words, from the change back to its cause.

use super::explanation::{Explanation, TransmissionView};
use units::significant;

/// The explanation, line by line; `at_s` is the time of the question.
pub(super) fn of(explanation: &Explanation, at_s: f64) -> Vec<String> {
    let [before, after] = explanation.cwnd;
    let [from, to] = explanation.cwnd.map(|cwnd| significant(cwnd, 6));
    let verb = match () {
        () if after < before => "fell",
        () if after > before => "rose",
        () => "unchanged, ssthresh changed",
    };
    let change = match explanation.event {
        "start" => format!("cwnd starts at {to} segments"),
        _ => format!("cwnd {verb}: {from} to {to} segments"),
    };
    let [low, high] = explanation.ssthresh.map(|x| x.map_or("infinite".into(), |x| significant(x, 6)));
    let flight = significant(explanation.in_flight, 6);
    let mut lines = vec![
        format!("{:.6} s  {} ({}): {change}", explanation.time_s, explanation.flow, explanation.control),
        format!("  ssthresh {low} to {high}, {flight} in flight, phase {}", explanation.phase),
        format!("  {}", explanation.cause),
    ];
    if explanation.packet_events.is_empty() && explanation.packet.is_some() {
        lines.push("    (no link events: packets over radio are not traced)".into());
    }
    for step in &explanation.packet_events {
        let mut waited =
            step.waited_s.map_or(String::new(), |s| format!(" {:.3} ms after its arrival", 1e3 * s));
        if let Some(transmission) = &step.transmission {
            waited += &format!(", {}", transmission.words);
        }
        let what = step.reason.map_or(step.event.into(), |reason| format!("dropped ({reason})"));
        lines.push(format!("    {:.6} s  {}: {what}{waited}", step.time_s, step.link));
    }
    if let Some(queue) = &explanation.queue {
        let total: u64 = queue.packets.iter().map(|(_, count)| count).sum();
        let each: Vec<String> =
            queue.packets.iter().map(|(flow, count)| format!("{count} of {flow}")).collect();
        let each = if each.is_empty() { "none".into() } else { each.join(", ") };
        lines.push(format!("  queue of {} at {:.6} s: {total} packets: {each}", queue.link, queue.time_s));
    }
    if let Some(limit) = &explanation.limit {
        let unchanged = 1e3 * limit.unchanged_s;
        lines.push(format!("{at_s:.6} s  cwnd unchanged for {unchanged:.3} ms: {}", limit.words));
    }
    lines
}

/// The transmission that released a packet, which came to the link at `since_s`.
pub(super) fn of_transmission(transmission: &TransmissionView, since_s: f64) -> String {
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let attempt =
        if transmission.attempt > 1 { format!(" (attempt {})", transmission.attempt) } else { String::new() };
    let what = match transmission.kind {
        "block" => format!("block of {} % of the cell", significant(100.0 * transmission.share, 3)),
        _ => format!("PPDU of {}", count(transmission.packets as usize, "packet")),
    };
    let others = count(transmission.others, "transmission");
    let waited_ms = 1e3 * (transmission.begin_s - since_s);
    format!(
        "released by a {what}{attempt} that began after {waited_ms:.3} ms, {others} of other links and {} of this one",
        transmission.earlier
    )
}
