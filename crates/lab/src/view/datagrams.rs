//! What happened to one datagram of a flow whose ends are outside the simulation.

use super::why::Unanswered;
use crate::simulation::{FlowEnd, PacketLog, Run};
use net::DropReason;

/// A step of a datagram on a link.
#[derive(Clone, Debug, PartialEq)]
pub struct DatagramStep {
    /// When, seconds.
    pub time_s: f64,
    /// The link.
    pub link: String,
    /// `enqueued`, `drop`, `transmitted` or `delivered`.
    pub event: &'static str,
    /// Why it was dropped.
    pub reason: Option<DropReason>,
    /// Time from the queue's acceptance to the end of the transmission, seconds; of a transmission.
    pub waited_s: Option<f64>,
    /// The rule of the queue or the impairment that dropped or marked it, in words.
    pub rule: Option<String>,
}

/// What happened to a datagram.
#[derive(Clone, Debug, PartialEq)]
pub struct DatagramHistory {
    /// Its steps in the order of time; copies of it are included.
    pub steps: Vec<DatagramStep>,
    /// The same in words, one line for each step.
    pub lines: Vec<String>,
}

/// The history of datagram `number` that end `end` of flow `flow` has sent. The run records packets and rules.
pub fn datagram_history(
    run: &Run,
    flow: u32,
    end: FlowEnd,
    number: u64,
) -> Result<DatagramHistory, Unanswered> {
    let unanswered = |part, message: String| Err(Unanswered { part, message });
    let Some((port, _)) = run.port_account(flow, end) else {
        return unanswered("flow", "the ends of this flow are inside the simulation".into());
    };
    if !run.recording().packets {
        return unanswered(
            "",
            "the network records no packets; open it with `packets` and `rules` recorded".into(),
        );
    }
    if number >= port.sent {
        return unanswered("", format!("this end has sent {} datagrams, with numbers from 0", port.sent));
    }
    let (shape, logs) = (run.shape(), run.logs());
    let (log, kind) = (&logs.packets, end as u8);
    let of_datagram = |row: &usize| {
        log.flow[*row] == flow && log.kind[*row] == kind && log.seq[*row] == (number as u32) as i64
    };
    let mut accepted: Vec<(u32, f64)> = Vec::new();
    let steps: Vec<DatagramStep> = (0..log.time.len())
        .filter(of_datagram)
        .map(|row| {
            let (link, time_s, event) = (log.link[row], log.time[row].seconds(), log.event[row]);
            let since = accepted.iter().rev().find(|(other, _)| *other == link).map(|(_, at)| *at);
            if event == PacketLog::ENQUEUE {
                accepted.push((link, time_s));
            }
            let rules = logs.rules.iter().filter(|rule| {
                (rule.link, rule.flow, rule.kind, rule.seq) == (link, flow, kind, log.seq[row])
            });
            let dropped = event == PacketLog::DROP;
            let rule = rules.rev().find(|rule| rule.time == log.time[row] && rule.dropped == dropped);
            DatagramStep {
                time_s,
                link: shape.links[link as usize].clone(),
                event: ["enqueued", "drop", "transmitted", "delivered"][event as usize],
                reason: log.drop_reason(row),
                waited_s: since.filter(|_| event == PacketLog::DEPART).map(|since| time_s - since),
                rule: rule.map(|rule| rule.rule.to_string()),
            }
        })
        .collect();
    let lines = steps.iter().map(DatagramStep::line).collect();
    Ok(DatagramHistory { steps, lines })
}

impl DatagramStep {
    fn line(&self) -> String {
        let DatagramStep { time_s, link, event, .. } = self;
        let mut line = format!("{time_s:.6} s {link}: {event}");
        if let Some(waited_s) = self.waited_s {
            line += &format!(" after {:.3} ms", waited_s * 1e3);
        }
        if let Some(words) = self.rule.as_deref().or(self.reason.map(DropReason::words)) {
            line += &format!(", {words}");
        }
        line
    }
}
