//! An explanation in words, from the change back to its cause.

use super::explanation::{Carrier, Explanation};
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
    if explanation.journey.is_empty() && explanation.packet.is_some() {
        lines.push("    (no link events: packets over radio are not traced)".into());
    }
    for step in &explanation.journey {
        let mut waited =
            step.waited_s.map_or(String::new(), |s| format!(" {:.3} ms after its arrival", 1e3 * s));
        if let Some(carrier) = &step.carrier {
            waited += &format!("; {}", words(carrier));
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

/// The transmission of a packet in words.
fn words(carrier: &Carrier) -> String {
    let count = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    let (what, size) = match carrier.kind {
        "block" => ("block", format!("{} % of the cell", significant(100.0 * carrier.share, 3))),
        _ => ("PPDU", count(carrier.packets as usize, "packet")),
    };
    let attempt = if carrier.attempt > 1 { format!(", attempt {}", carrier.attempt) } else { String::new() };
    let other = count(carrier.others, "transmission");
    format!(
        "in a {what} of {size}{attempt}, after {other} of other links and {} of this one",
        carrier.earlier
    )
}
