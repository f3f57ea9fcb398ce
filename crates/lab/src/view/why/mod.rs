//! Explanation of a window change: the event, the ACK or loss, the packet and its links, the rule that dropped or marked
//! it, the queue; and what limits a flow while its window does not change.

mod cause;
mod explanation;
mod limit;
mod message;
mod packets;
mod sentences;

use crate::simulation::{FlowBounds, Run, Shape, WindowLog};
use packets::Packets;

pub use explanation::{Explanation, Question, Unanswered};
pub use message::{BudgetPart, MessageBudget, message_budget};
use transport::WindowCause;
use units::{Span, Time};

/// Two rows of the window trace: a change, and the row before it of the same flow.
#[derive(Clone, Copy)]
struct WindowChange {
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
    let (bounds, names) = (run.flow_bounds(), run.shape());
    let flow = question.flow.map(|name| number_of(name, &names.flows[..bounds.len()])).transpose()?;
    if bounds.is_empty() {
        let message = "the scenario has no TCP or QUIC flow and so no congestion window";
        return Err(unanswered("", message.into()));
    }
    let log = &run.logs().windows;
    let (change, last) = last_change(log, bounds.len(), question, flow).ok_or_else(|| {
        let whose = question.flow.map_or("a window".into(), |flow| format!("{flow}'s window"));
        let verb = if question.cut { "reduced" } else { "changed" };
        unanswered("at", format!("no event {verb} {whose} until {} s", question.at_s))
    })?;
    let bounds = &bounds[log.flow[change.row] as usize];
    let mut explanation = caused(run, &names, bounds, change);
    if let Some(begin) = recovery_begin(log, change) {
        cause::follow(&mut explanation, caused(run, &names, bounds, begin));
    }
    explanation.prevention = explanation.prevention();
    if !question.cut {
        let exact = run.now() <= Time::ZERO + Span::from_seconds(question.at_s);
        explanation.limit = limit::of(log, change.row, last, question.at_s, bounds, exact);
    }
    explanation.lines = sentences::of(&explanation, question.at_s);
    Ok(explanation)
}

/// Rows of the packet log that [`reductions`] may look at: some seconds.
const MOST_ROWS: usize = 2_000_000_000;

/// Explains reductions of windows in the order of time: every one, but of a recovery only the one that began it. The run
/// is as for [`explain`]. Returns the time up to which all are explained, seconds: there are at most `limit`, and fewer if the
/// packet log is long.
pub fn reductions(run: &Run, limit: usize) -> (Vec<Explanation>, f64) {
    let (bounds, names, log) = (run.flow_bounds(), run.shape(), &run.logs().windows);
    let mut latest: Vec<Option<usize>> = vec![None; bounds.len()];
    let mut explanations = Vec::new();
    let mut left = MOST_ROWS;
    for row in 0..log.time_s.len() {
        let before = latest[log.flow[row] as usize].replace(row);
        let fell = before.is_some_and(|before| log.cwnd[row] < log.cwnd[before]);
        if !fell || cause_of(log, row) == Some(WindowCause::Recovery) {
            continue;
        }
        // The packets of a reduction are looked for from the beginning of the log, for its cause, its path and its queue.
        let rows = 3 * run.logs().packets.time.partition_point(|time| time.seconds() <= log.time_s[row]);
        if explanations.len() == limit || rows > left {
            return (explanations, log.time_s[before.unwrap_or(row)]);
        }
        left -= rows;
        let bounds = &bounds[log.flow[row] as usize];
        let mut explanation = caused(run, &names, bounds, WindowChange { row, before });
        explanation.prevention = explanation.prevention();
        explanation.lines = sentences::of(&explanation, explanation.time_s);
        explanations.push(explanation);
    }
    (explanations, run.end().seconds())
}

/// A change with its cause.
fn caused(run: &Run, names: &Shape, bounds: &FlowBounds, change: WindowChange) -> Explanation {
    let log = &run.logs().windows;
    let mut explanation = outline(log, change, &names.flows, bounds);
    let packets = Packets::new(run, names, log.flow[change.row], explanation.time_s);
    if bounds.quic {
        cause::fill_quic(&mut explanation, &packets);
    } else {
        cause::fill(&mut explanation, &packets);
    }
    explanation
}

fn cause_of(log: &WindowLog, row: usize) -> Option<WindowCause> {
    WindowCause::ALL.get(log.cause[row] as usize).copied()
}

fn unanswered(part: &'static str, message: String) -> Unanswered {
    Unanswered { part, message }
}

fn number_of(name: &str, names: &[String]) -> Result<u32, Unanswered> {
    let place = names.iter().position(|listed| listed == name);
    place.map(|number| number as u32).ok_or_else(|| {
        let listed = names.iter().take(12).map(String::as_str).collect::<Vec<_>>().join(", ");
        unanswered("flow", format!("there is no TCP or QUIC flow {name}; there are {listed}"))
    })
}

/// The last change (or reduction) up to the time, and the last row of the same flow.
fn last_change(
    log: &WindowLog,
    flows: usize,
    question: Question<'_>,
    flow: Option<u32>,
) -> Option<(WindowChange, usize)> {
    let rows = log.time_s.partition_point(|time| *time <= question.at_s);
    let mut latest: Vec<Option<usize>> = vec![None; flows];
    let mut place = None;
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
            place = Some(WindowChange { row, before });
        }
    }
    let place = place?;
    Some((place, latest[log.flow[place.row] as usize]?))
}

/// The reduction that began the recovery which causes this change.
fn recovery_begin(log: &WindowLog, change: WindowChange) -> Option<WindowChange> {
    let WindowChange { row, before } = change;
    if cause_of(log, row) != Some(WindowCause::Recovery) {
        return None;
    }
    let of_flow = |row: &usize| log.flow[*row] == log.flow[change.row];
    let begins = |row: &usize| {
        matches!(cause_of(log, *row), Some(WindowCause::FastRetransmit | WindowCause::Ecn | WindowCause::Rto))
    };
    let row = (0..=before?).rev().filter(of_flow).find(begins)?;
    Some(WindowChange { row, before: (0..row).rev().find(of_flow) })
}

/// The explanation without its cause.
fn outline(log: &WindowLog, change: WindowChange, names: &[String], bounds: &FlowBounds) -> Explanation {
    let WindowChange { row, before } = change;
    let finite = |x: f64| x.is_finite().then_some(x);
    let cause = cause_of(log, row);
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
        packet_events: Vec::new(),
        rule: None,
        queue: None,
        prevention: None,
        limit: None,
        lines: Vec::new(),
    }
}
