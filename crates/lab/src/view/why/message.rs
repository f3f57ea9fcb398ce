//! The budget of a message: where its time went, from its start to its last byte at the client. The parts add up to it.

use super::{Unanswered, unanswered};
use crate::simulation::{Handover, MessageRow, PacketLog, PassedMessage, Run};
use serde::Serialize;
use transport::SendLimit;
use units::{Span, Time};

/// Where the time of a message went.
#[derive(Clone, Debug, Serialize)]
pub struct MessageBudget {
    /// The flow of its connection.
    pub flow: String,
    /// The message.
    pub message: MessageRow,
    /// The parts of its time in their order; those of no time are left out.
    pub parts: Vec<BudgetPart>,
    /// The sum of the parts, which is the time from its start to its last byte, seconds.
    pub total_s: f64,
}

/// A part of the time of a message.
#[derive(Clone, Debug, Serialize)]
pub struct BudgetPart {
    /// What it is.
    pub what: String,
    /// How long it took, seconds.
    pub seconds: f64,
}

/// The names of the limits of a sender in a budget, in the order of [`SendLimit::NAMES`].
const HELD: [&str; SendLimit::NAMES.len()] = [
    "held by the handshake",
    "held by the congestion window",
    "held by the receive window",
    "held by pacing",
    "held by the queue of the host",
    "at the application, behind other messages",
];

/// Collects parts without gaps.
struct Parts {
    at: Time,
    parts: Vec<(String, Span)>,
}

impl Parts {
    /// What was until `until` is `what`.
    fn until(&mut self, until: Time, what: &str) {
        if until > self.at {
            self.add(until.since(self.at), what);
        }
    }

    fn add(&mut self, span: Span, what: &str) {
        self.at += span;
        match self.parts.iter_mut().find(|(name, _)| name == what) {
            Some((_, sum)) => *sum = *sum + span,
            None => self.parts.push((what.into(), span)),
        }
    }
}

/// The budget of message `number` of the application of `flow`, whose messages have ended. The run records packets.
pub fn message_budget(run: &Run, flow: &str, number: u32) -> Result<MessageBudget, Unanswered> {
    let Some(PassedMessage { row, flow: flow_number, start, end, handover, is_tcp }) =
        run.handover(flow, number)
    else {
        return Err(unanswered("message", format!("the application of flow {flow} has no message {number}")));
    };
    if end == Time::NEVER {
        let message = format!("message {number} of {flow} is {} and has no time", row.state);
        return Err(unanswered("message", message));
    }
    let mut parts = Parts { at: start, parts: Vec::new() };
    let Handover { requested, ready, taken, limits, segment } = handover;
    if requested < Time::NEVER {
        parts.until(requested, "the request on its way");
        parts.until(ready, "at the server");
    }
    parts.until(ready, "at the server");
    if taken < Time::NEVER {
        for (limit, what) in HELD.iter().enumerate() {
            let held = limits[1][limit] - limits[0][limit];
            let left = taken.since(parts.at.min(taken));
            if held.min(left) > Span::ZERO {
                parts.add(held.min(left), what);
            }
        }
        parts.until(taken, HELD[0]);
    }
    if is_tcp {
        follow_segment(run, flow_number, segment, end, &mut parts);
        parts.until(end, "behind an earlier byte");
    } else {
        parts.until(end, "in the transport and the network");
    }
    let seconds = |(what, span): (String, Span)| BudgetPart { what, seconds: span.seconds() };
    Ok(MessageBudget {
        flow: flow.into(),
        message: row,
        parts: parts.parts.into_iter().map(seconds).collect(),
        total_s: end.since(start).seconds(),
    })
}

/// Adds what happened to a segment from the moment at which the transport had it to its arrival.
fn follow_segment(run: &Run, flow: u32, segment: u32, end: Time, parts: &mut Parts) {
    let log = &run.logs().packets;
    let rows: Vec<usize> = (0..log.time.len())
        .filter(|row| {
            log.flow[*row] == flow
                && log.kind[*row] == 0
                && log.seq[*row] == i64::from(segment)
                && log.time[*row] <= end
        })
        .collect();
    let Some(first) = rows.iter().find(|row| log.event[**row] == PacketLog::ENQUEUE) else { return };
    parts.until(log.time[*first], "held by pacing");
    // The copy that arrived: the last that was sent before the first arrival at the last link.
    let entry = log.link[*first];
    let Some(last_link) =
        rows.iter().rev().find(|row| log.event[**row] == PacketLog::DELIVER).map(|row| log.link[*row])
    else {
        return;
    };
    let arrived =
        rows.iter().find(|row| log.event[**row] == PacketLog::DELIVER && log.link[**row] == last_link);
    let Some(arrived) = arrived.map(|row| log.time[*row]) else { return };
    // From the arrival back over the links.
    let (mut steps, mut at, mut link) = (Vec::new(), arrived, last_link);
    loop {
        let before = |event: u8| {
            rows.iter()
                .rev()
                .find(|row| log.event[**row] == event && log.link[**row] == link && log.time[**row] <= at)
        };
        let (Some(depart), Some(enqueue)) = (before(PacketLog::DEPART), before(PacketLog::ENQUEUE)) else {
            break;
        };
        let (depart, enqueue) = (log.time[*depart], log.time[*enqueue]);
        steps.push((enqueue, depart, at, link));
        at = enqueue;
        if link == entry {
            break;
        }
        let previous = rows.iter().rev().find(|row| {
            log.event[**row] == PacketLog::DELIVER && log.link[**row] != link && log.time[**row] == at
        });
        let Some(previous) = previous else { break };
        link = log.link[*previous];
    }
    parts.until(at, "repeated after a loss");
    let size = rows.first().map_or(0, |row| log.size[*row].max(0) as u64);
    for (enqueue, depart, deliver, link) in steps.into_iter().rev() {
        parts.until(enqueue, "between links");
        let transmission = run.transmission_time(link, size);
        let waits = depart.since(enqueue);
        let transmission = transmission.map_or(Span::ZERO, |time| time.min(waits));
        let queue = format!("in the queue of {}", run.shape().links[link as usize]);
        if waits > transmission {
            parts.add(waits - transmission, &queue);
        }
        parts.until(depart, "in transmission");
        parts.until(deliver, "in flight");
    }
}
