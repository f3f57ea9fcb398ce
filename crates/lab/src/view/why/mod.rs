//! Explanation of a window change: the event, the ACK or loss, the packet and its links, the rule that dropped or marked
//! it, the queue; and what limits a flow while its window does not change.

mod cause;
mod limit;
mod packets;
mod sentences;

use crate::simulation::{FlowBounds, Run, WindowLog};
use packets::Packets;
use serde::{Serialize, Serializer};
use transport::WindowCause;

/// What to explain.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// Simulated time, seconds.
    pub at_s: f64,
    /// Name of the flow; `None`: the TCP flow whose window changed last.
    pub flow: Option<&'a str>,
    /// The last reduction, in place of the last change.
    pub cut: bool,
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unanswered {
    /// The part of the question: `at`, `flow`, or empty.
    pub part: &'static str,
    /// The reason.
    pub message: String,
}

/// The packets of each flow at a link at one time, with the packet in transmission.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QueueState {
    /// The link.
    pub link: String,
    /// When.
    pub time_s: f64,
    /// Packets by flow, in the order of their first packet at the link.
    #[serde(serialize_with = "as_map")]
    pub packets: Vec<(String, u64)>,
}

/// An event of a packet at a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// When.
    pub time_s: f64,
    /// The link; of an ACK with a remark.
    pub link: String,
    /// enqueued, transmitted, delivered, drop.
    pub event: &'static str,
    /// Of a drop.
    pub reason: Option<&'static str>,
    /// Of a transmission: the time since the arrival at the link.
    pub waited_s: Option<f64>,
}

/// The rule that dropped or marked a packet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RuleView {
    /// Its name.
    pub kind: &'static str,
    /// The link.
    pub link: String,
    /// When it decided.
    pub time_s: f64,
    /// The values that decided; times in seconds.
    #[serde(serialize_with = "as_map")]
    pub values: Vec<(&'static str, f64)>,
    /// One sentence.
    pub words: String,
}

/// What limits a flow while its window does not change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Limit {
    /// handshake, complete, no_acks, recovery, application, receive_window, max_cwnd, pacing, window, other.
    pub kind: &'static str,
    /// Time since the last change of the window.
    pub unchanged_s: f64,
    /// One sentence.
    pub words: String,
}

/// A change of a window and its cause. Windows in segments, times in simulated seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The flow.
    pub flow: String,
    /// Its congestion controller.
    pub control: String,
    /// When the window changed.
    pub time_s: f64,
    /// The event, as in the window trace.
    pub event: &'static str,
    /// The phase after it.
    pub phase: &'static str,
    /// The window before and after it.
    pub cwnd: [f64; 2],
    /// The threshold before and after it; `None` for infinite.
    pub ssthresh: [Option<f64>; 2],
    /// The round-trip sample.
    pub rtt_s: Option<f64>,
    /// Segments in flight after it.
    pub in_flight: f64,
    /// Number of the highest packet acknowledged.
    pub acked: i64,
    /// The cause of a reduction or its undo, as in the window trace; `None` for growth.
    pub change: Option<&'static str>,
    /// The cause in one sentence.
    pub cause: String,
    /// The packet that caused the change: the one acknowledged, lost, or marked.
    pub packet: Option<i64>,
    /// The events of that packet, of all its copies, up to the change.
    pub journey: Vec<Step>,
    /// The rule that dropped or marked it.
    pub rule: Option<RuleView>,
    /// The queue that dropped or marked it.
    pub queue: Option<QueueState>,
    /// What limits the flow since, if the window has not changed for longer than a round trip.
    pub limit: Option<Limit>,
    /// All of it in words, line by line.
    pub lines: Vec<String>,
}

/// Serializes pairs as a map in their order.
fn as_map<K: Serialize, V: Serialize, S: Serializer>(pairs: &[(K, V)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(pairs.iter().map(|(key, value)| (key, value)))
}

/// Two rows of the window trace: a change, and the row before it of the same flow.
#[derive(Clone, Copy)]
struct Change {
    row: usize,
    before: Option<usize>,
}

/// Explains the last change of a window up to a time. The run has a window trace with a row for each ACK, and records
/// packets and rules; it stands at that time or after it. (After it, whether the application or pacing limits a flow is
/// not known.)
pub fn explain(run: &Run, question: Question<'_>) -> Result<Explanation, Unanswered> {
    let end = run.end().seconds();
    if !(0.0..=end).contains(&question.at_s) {
        return Err(unanswered("at", format!("the run lasts from 0 to {end} s")));
    }
    let (bounds, names) = (run.flow_bounds(), run.flow_names());
    let flow = question.flow.map(|name| number_of(name, &names[..bounds.len()])).transpose()?;
    if bounds.is_empty() {
        let message = "the scenario has no TCP flow and so no congestion window";
        return Err(unanswered("", message.into()));
    }
    let log = run.windows();
    let (change, last) = last_change(log, bounds.len(), question, flow).ok_or_else(|| {
        let whose = question.flow.map_or("a window".into(), |flow| format!("{flow}'s window"));
        let verb = if question.cut { "reduced" } else { "changed" };
        unanswered("at", format!("no event {verb} {whose} until {} s", question.at_s))
    })?;
    let bounds = &bounds[log.flow[change.row] as usize];
    let explained = |change: Change| {
        let mut found = outline(log, change, &names, bounds);
        let packets = Packets::new(run, &names, log.flow[change.row], found.time_s);
        cause::fill(&mut found, &packets);
        found
    };
    let mut found = explained(change);
    if let Some(begin) = recovery_begin(log, change) {
        cause::follow(&mut found, explained(begin));
    }
    if !question.cut {
        let exact = run.now().seconds() <= question.at_s;
        found.limit = limit::of(log, change.row, last, question.at_s, bounds, exact);
    }
    found.lines = sentences::of(&found, question.at_s);
    Ok(found)
}

fn unanswered(part: &'static str, message: String) -> Unanswered {
    Unanswered { part, message }
}

fn number_of(name: &str, names: &[String]) -> Result<u32, Unanswered> {
    let found = names.iter().position(|known| known == name);
    found.map(|number| number as u32).ok_or_else(|| {
        let known = names.iter().take(12).map(String::as_str).collect::<Vec<_>>().join(", ");
        unanswered("flow", format!("there is no TCP flow {name}; there are {known}"))
    })
}

/// The last change (or reduction) up to the time, and the last row of the same flow.
fn last_change(
    log: &WindowLog,
    flows: usize,
    question: Question<'_>,
    flow: Option<u32>,
) -> Option<(Change, usize)> {
    let rows = log.time_s.partition_point(|time| *time <= question.at_s);
    let mut latest: Vec<Option<usize>> = vec![None; flows];
    let mut found = None;
    for row in 0..rows {
        let before = latest[log.flow[row] as usize].replace(row);
        if flow.is_some_and(|flow| flow != log.flow[row]) {
            continue;
        }
        let changed = before.is_none_or(|before| {
            let hand_off = transport::Trigger::ALL[log.event[row] as usize] == transport::Trigger::Handoff;
            log.cwnd[row] != log.cwnd[before] || log.ssthresh[row] != log.ssthresh[before] || hand_off
        });
        let fell = before.is_some_and(|before| log.cwnd[row] < log.cwnd[before]);
        if if question.cut { fell } else { changed } {
            found = Some(Change { row, before });
        }
    }
    let found = found?;
    Some((found, latest[log.flow[found.row] as usize]?))
}

/// The reduction that began the recovery which causes this change.
fn recovery_begin(log: &WindowLog, change: Change) -> Option<Change> {
    let cause = |row: usize| WindowCause::ALL.get(log.cause[row] as usize).copied();
    let Change { row, before } = change;
    if cause(row) != Some(WindowCause::Recovery) {
        return None;
    }
    let of_flow = |row: &usize| log.flow[*row] == log.flow[change.row];
    let begins = |row: &usize| {
        matches!(cause(*row), Some(WindowCause::FastRetransmit | WindowCause::Ecn | WindowCause::Rto))
    };
    let row = (0..=before?).rev().filter(of_flow).find(begins)?;
    Some(Change { row, before: (0..row).rev().find(of_flow) })
}

/// The explanation without its cause.
fn outline(log: &WindowLog, change: Change, names: &[String], bounds: &FlowBounds) -> Explanation {
    let Change { row, before } = change;
    let finite = |x: f64| x.is_finite().then_some(x);
    let cause = WindowCause::ALL.get(log.cause[row] as usize);
    Explanation {
        flow: names[log.flow[row] as usize].clone(),
        control: bounds.control.clone(),
        time_s: log.time_s[row],
        event: transport::Trigger::ALL[log.event[row] as usize].name(),
        phase: cc::Phase::ALL[log.phase[row] as usize].name(),
        cwnd: [log.cwnd[before.unwrap_or(row)], log.cwnd[row]],
        ssthresh: [before.and_then(|before| finite(log.ssthresh[before])), finite(log.ssthresh[row])],
        rtt_s: finite(log.rtt_s[row]),
        in_flight: log.in_flight[row],
        acked: log.ack[row],
        change: cause.map(|cause| cause.name()),
        cause: String::new(),
        packet: None,
        journey: Vec::new(),
        rule: None,
        queue: None,
        limit: None,
        lines: Vec::new(),
    }
}
