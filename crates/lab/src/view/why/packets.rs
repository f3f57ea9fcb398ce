//! The packets of a flow up to a time: their events, the rules that dropped or marked them, the queues they met.

use super::explanation::{LinkEvent, QueueState, RuleView, TransmissionView};
use super::sentences;
use crate::simulation::{Logs, PacketLog, RuleRow, Run, Shape, TransmissionLog};
use net::DropReason;

const DATA: u8 = 0;
const ACK: u8 = 1;

/// The packet events of a run, seen from one flow at one time.
pub(super) struct Packets<'a> {
    log: &'a PacketLog,
    transmissions: &'a TransmissionLog,
    rules: &'a [RuleRow],
    names: &'a Shape,
    flow: u32,
    /// Number of the events up to the time.
    events: usize,
}

/// A drop or a mark of a packet: the row of its event.
#[derive(Clone, Copy)]
pub(super) struct CongestionSignal {
    row: usize,
    /// Number of the packet.
    pub seq: i64,
}

impl<'a> Packets<'a> {
    pub fn new(run: &'a Run, names: &'a Shape, flow: u32, until_s: f64) -> Packets<'a> {
        let Logs { packets: log, transmissions, rules, .. } = run.logs();
        let events = log.time.partition_point(|time| time.seconds() <= until_s);
        Packets { log, transmissions, rules, names, flow, events }
    }

    fn of_flow(&self, kind: u8) -> impl DoubleEndedIterator<Item = usize> + '_ {
        (0..self.events).filter(move |row| self.log.flow[*row] == self.flow && self.log.kind[*row] == kind)
    }

    pub fn link(&self, signal: CongestionSignal) -> &str {
        &self.names.links[self.log.link[signal.row] as usize]
    }

    pub fn time_s(&self, signal: CongestionSignal) -> f64 {
        self.log.time[signal.row].seconds()
    }

    /// The description of a drop: of the rule, or of the reason.
    pub fn words(&self, drop: CongestionSignal) -> String {
        match self.rule(drop, true) {
            Some(rule) => rule.words,
            None => self.log.drop_reason(drop.row).map_or(String::new(), |reason| reason.words().into()),
        }
    }

    /// Number of ACKs of the flow that were dropped.
    pub fn dropped_acks(&self) -> usize {
        self.of_flow(ACK).filter(|row| self.log.event[*row] == PacketLog::DROP).count()
    }

    /// The last drop of packet `seq` before time `before_s`.
    pub fn last_drop(&self, seq: i64, before_s: f64) -> Option<CongestionSignal> {
        let drop = |row: &usize| {
            self.log.seq[*row] == seq
                && self.log.event[*row] == PacketLog::DROP
                && self.log.time[*row].seconds() < before_s
        };
        self.of_flow(DATA).rev().find(drop).map(|row| CongestionSignal { row, seq })
    }

    /// The last drop of a data packet before time `before_s`.
    pub fn last_drop_of_any(&self, before_s: f64) -> Option<CongestionSignal> {
        let drop =
            |row: &usize| self.log.event[*row] == PacketLog::DROP && self.log.time[*row].seconds() < before_s;
        self.of_flow(DATA).rev().find(drop).map(|row| CongestionSignal { row, seq: self.log.seq[row] })
    }

    /// The first mark of the last marked packet up to number `acked` that arrived after time `after_s`.
    pub fn last_mark(&self, acked: i64, after_s: f64) -> Option<CongestionSignal> {
        let arrived = self.of_flow(DATA).rev().find(|row| {
            self.log.marked[*row]
                && self.log.event[*row] == PacketLog::DELIVER
                && self.log.seq[*row] <= acked
                && self.log.time[*row].seconds() > after_s
        })?;
        let seq = self.log.seq[arrived];
        let row = self.of_flow(DATA).find(|row| self.log.marked[*row] && self.log.seq[*row] == seq)?;
        Some(CongestionSignal { row, seq })
    }

    /// The rule of a drop or a mark of a data packet.
    pub fn rule(&self, signal: CongestionSignal, dropped: bool) -> Option<RuleView> {
        let log = self.log;
        let (time, link) = (log.time[signal.row], log.link[signal.row]);
        let rule_of = self.rules.iter().rev().find(|rule| {
            rule.link == link
                && rule.flow == self.flow
                && rule.kind == DATA
                && rule.seq == signal.seq
                && rule.dropped == dropped
                && rule.time <= time
        })?;
        Some(RuleView {
            kind: rule_of.rule.name(),
            link: self.names.links[link as usize].clone(),
            time_s: rule_of.time.seconds(),
            values: rule_of.rule.values(),
            words: rule_of.rule.to_string(),
        })
    }

    /// Events of a packet before `before_s`, and of its ACK with `both_ways`. What is sent in response to a change is not
    /// part of its cause.
    pub fn events_of(&self, seq: i64, before_s: f64, both_ways: bool) -> Vec<LinkEvent> {
        let log = self.log;
        let mut arrived: Vec<(u32, f64)> = Vec::new();
        let mut steps = Vec::new();
        for row in 0..self.events {
            let of_packet =
                log.flow[row] == self.flow && log.seq[row] == seq && (both_ways || log.kind[row] == DATA);
            let time_s = log.time[row].seconds();
            if !of_packet || time_s >= before_s {
                continue;
            }
            let link = log.link[row];
            let since = arrived.iter().rev().find(|(at, _)| *at == link).map_or(time_s, |(_, time)| *time);
            if log.event[row] == PacketLog::ENQUEUE {
                arrived.push((link, time_s));
            }
            let sent = log.event[row] == PacketLog::DEPART;
            let remark = if log.kind[row] == ACK { " (its ACK)" } else { "" };
            steps.push(LinkEvent {
                time_s,
                link: format!("{}{remark}", self.names.links[link as usize]),
                event: ["enqueued", "drop", "transmitted", "delivered"][log.event[row] as usize],
                reason: log.drop_reason(row).map(DropReason::name),
                waited_s: sent.then_some(time_s - since),
                transmission: if sent { self.transmission(row, since) } else { None },
            });
        }
        steps
    }

    /// The transmission at whose end the packet of `row` was released, which came to the link at `since_s`.
    fn transmission(&self, row: usize, since_s: f64) -> Option<TransmissionView> {
        let (log, link, at) = (self.transmissions, self.log.link[row], self.log.time[row]);
        let (channel, _) = self.names.channels[link as usize]?;
        let begun = log.begin.partition_point(|begin| *begin < at);
        let of_link = |row: &usize| log.link[*row] == link && log.end[*row] >= at && log.packets[*row] > 0;
        let row = (log.first_row(at)..begun).rev().find(of_link)?;
        let before = (0..row).rev().take_while(|before| log.begin[*before].seconds() >= since_s);
        let shares = |before: &usize| {
            self.names.channels[log.link[*before] as usize].is_some_and(|(other, _)| other == channel)
        };
        let (earlier, others): (Vec<usize>, Vec<usize>) =
            before.filter(shares).partition(|before| log.link[*before] == link);
        let mut view = TransmissionView {
            kind: net::Content::KINDS[log.kind[row] as usize],
            begin_s: log.begin[row].seconds(),
            packets: log.packets[row],
            attempt: log.attempt[row],
            share: log.share[row],
            others: others.len(),
            earlier: earlier.len(),
            words: String::new(),
        };
        view.words = sentences::of_transmission(&view, since_s);
        Some(view)
    }

    /// Packets of each flow that the link of a drop or mark holds at that time: enqueued, and neither sent nor dropped.
    /// `None` if its queue had no part in it.
    pub fn queue(&self, signal: CongestionSignal) -> Option<QueueState> {
        let log = self.log;
        let why = log.drop_reason(signal.row);
        if why.is_some_and(|reason| !matches!(reason, DropReason::Queue | DropReason::Aqm)) {
            return None;
        }
        let (link, time) = (log.link[signal.row], log.time[signal.row]);
        let mut counts: Vec<(u32, i64)> = Vec::new();
        for row in (0..self.events).filter(|row| log.link[*row] == link && log.time[*row] <= time) {
            let change = PacketLog::change(log.event[row], log.reason[row]);
            match counts.iter_mut().find(|(flow, _)| *flow == log.flow[row]) {
                Some((_, count)) => *count += change,
                None => counts.push((log.flow[row], change)),
            }
        }
        let waiting = counts.into_iter().filter(|(_, count)| *count > 0);
        Some(QueueState {
            link: self.names.links[link as usize].clone(),
            time_s: time.seconds(),
            packets: waiting
                .map(|(flow, count)| (self.names.flows[flow as usize].clone(), count as u64))
                .collect(),
        })
    }
}
