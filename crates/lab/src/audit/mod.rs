//! The auditor: checks a run by its packet events. It shares no code with the network.
//!
//! It takes rates, delays and limits of the links from the scenario and checks that no packet vanishes, no packet
//! arrives before the propagation delay, no link sends faster than its rate, no queue exceeds its limit, cumulative
//! ACKs do not decrease, and no sender has more data in flight than its window.

mod radio;

pub(crate) use radio::RadioAuditor;

use net::{DropReason, NodeId, PacketEvent, PacketKind, PacketStep};
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use units::{Limit, PS_PER_S, Rate, Span, Time};

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When.
    pub at: Time,
    /// The rule: conservation, causality, link rate, queue bound, cumulative ack, window.
    pub rule: &'static str,
    /// What happened.
    pub what: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {:.9} s: {}", self.rule, self.at.seconds(), self.what)
    }
}

/// The properties of a link that the auditor checks.
#[derive(Clone, Debug, Default)]
pub struct AuditedLink {
    /// Its name.
    pub name: String,
    /// Numbers of the nodes at which the link may end.
    pub to: Range<u32>,
    /// Numbers of the nodes at which the link may begin.
    pub from: Range<u32>,
    /// Bits per second.
    pub rate: Rate,
    /// Smallest and largest propagation delay.
    pub delay: (Span, Span),
    /// Header bytes that the link adds to a packet.
    pub header: u32,
    /// Maximum pause of the transmitter while a packet waits, after a hand-off.
    pub pause: Span,
    /// Whether the transmitter also pauses while its terminal has no satellite.
    pub waits: bool,
    /// Limit of its queue in packets or bytes.
    pub limit: Option<Limit>,
    /// Whether the limit applies to the queue before the arrival of a packet, without that packet.
    pub limit_before: bool,
    /// Whether a discipline decides at each departure: it drops waiting packets, and flows can overtake each other.
    pub scheduled: bool,
    /// Whether it keeps the order of the packets of a flow.
    pub keeps_flow_order: bool,
    /// Whether it sends copies of packets.
    pub copies: bool,
    /// Whether the rate varies; then the times of transmissions are not checked.
    pub varies: bool,
}

/// The identity of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Id {
    flow: u32,
    seq: u32,
    kind: PacketKind,
    size: u32,
    sent: Time,
}

/// The current packets of a link.
#[derive(Default)]
struct LinkState {
    /// Packets accepted and not departed, with the times of acceptance; the first one is in transmission.
    queue: VecDeque<(Id, Time)>,
    /// Bytes of all these.
    bytes: u64,
    last_depart: Time,
    /// Packets departed and not arrived: packet, time of departure, whether it is lost.
    under_way: VecDeque<(Id, Time, bool)>,
    /// Number of accepted packets, of arrivals and of losses.
    totals: (u64, u64, u64),
}

/// The state of a flow.
struct FlowState {
    /// Its source and its destination.
    ends: [NodeId; 2],
    /// Whether a part of its path goes over the radio channel; then its packets enter and leave links at radio nodes.
    radio_nodes: bool,
    /// The receiver's window, segments.
    window: u32,
    /// The last cumulative ACK that the receiver sent.
    last_ack: u32,
    /// The highest cumulative ACK that reached the sender.
    acked: u32,
}

impl FlowState {
    /// The source and the destination of packets of this kind.
    fn ends(&self, kind: PacketKind) -> [NodeId; 2] {
        let [source, destination] = self.ends;
        if kind.is_reverse() { [destination, source] } else { [source, destination] }
    }
}

/// Audits one run.
pub struct Auditor {
    links: Vec<AuditedLink>,
    link_states: Vec<LinkState>,
    flows: Vec<FlowState>,
    /// Set if the last event was the arrival of this packet at a node that is not its destination; then the next
    /// event must be its own.
    at_node: Option<(Time, u32, Id)>,
    /// The last packet that a link accepted, with the number of the link: a copy follows it at the same time.
    accepted: Option<(Time, usize, Id)>,
    /// The time of the last event.
    clock: Time,
    violations: Vec<Violation>,
    count: u64,
}

const MOST: usize = 20;

impl Auditor {
    /// `ends` are the two nodes of each flow, source first. `windows` are the receive windows of the TCP flows,
    /// segments; TCP flows have the first numbers.
    pub fn new(links: Vec<AuditedLink>, ends: &[[NodeId; 2]], windows: &[u32]) -> Auditor {
        let link_states = links.iter().map(|_| LinkState::default()).collect();
        let flow = |(number, ends): (usize, &[NodeId; 2])| {
            let window = windows.get(number).copied().unwrap_or(u32::MAX);
            FlowState { ends: *ends, radio_nodes: false, window, last_ack: 0, acked: 0 }
        };
        let flows = ends.iter().enumerate().map(flow).collect();
        Auditor {
            links,
            link_states,
            flows,
            at_node: None,
            accepted: None,
            clock: Time::ZERO,
            violations: Vec::new(),
            count: 0,
        }
    }

    /// Marks that a part of the path of flow `flow` goes over the radio channel.
    pub fn expect_radio_hop(&mut self, flow: u32) {
        self.flows[flow as usize].radio_nodes = true;
    }

    fn report_violation(&mut self, at: Time, rule: &'static str, what: String) {
        self.count += 1;
        if self.violations.len() < MOST {
            self.violations.push(Violation { at, rule, what });
        }
    }

    /// Processes a step of a packet. The steps must be in the order of time, and steps at the same time in the order
    /// in which they happen.
    pub fn packet(&mut self, event: &PacketEvent) {
        let p = &event.packet;
        let id = Id { flow: p.flow, seq: p.seq, kind: p.kind, size: p.size, sent: p.sent };
        let (at, link) = (event.at, event.link.0 as usize);
        if at < self.clock {
            let clock = self.clock.seconds();
            self.report_violation(at, "causality", format!("{id:?} was reported at {clock} s, too late"));
        }
        self.clock = self.clock.max(at);
        let arrived = self.at_node.take();
        match event.step {
            PacketStep::Enqueue => {
                self.check_offered(arrived, at, link, id);
                self.enqueue(at, link, id);
            }
            PacketStep::Drop(reason) if !reason.after_queue() => self.check_offered(arrived, at, link, id),
            _ => {
                self.check_forwarded(arrived);
                match event.step {
                    PacketStep::Drop(DropReason::Aqm) => self.discard(at, link, id),
                    PacketStep::Depart => self.depart(at, link, id),
                    PacketStep::Deliver => self.deliver(at, link, id, event.node),
                    _ => self.lose(at, link, id),
                }
            }
        }
    }

    /// A packet is offered to a link, after its arrival at the node of that link (`arrived`) or by its source.
    fn check_offered(&mut self, arrived: Option<(Time, u32, Id)>, at: Time, link: usize, id: Id) {
        let from = &self.links[link].from;
        if let Some((when, node, other)) = &arrived
            && *other == id
            && *when == at
            && from.contains(node)
        {
            return;
        }
        let flow = &self.flows[id.flow as usize];
        let copied = self.links[link].copies && self.accepted == Some((at, link, id));
        let known = copied || flow.radio_nodes || id.sent == at && from.contains(&flow.ends(id.kind)[0].0);
        if !known {
            let name = self.links[link].name.clone();
            self.report_violation(
                at,
                "causality",
                format!("{id:?} is offered to {name} without a previous arrival"),
            );
        }
        self.check_forwarded(arrived);
        self.left_source(at, id);
    }

    /// Reports a packet that arrived at a node that is not its destination and was not forwarded at that time.
    fn check_forwarded(&mut self, arrived: Option<(Time, u32, Id)>) {
        if let Some((when, _, packet)) = arrived {
            self.report_violation(
                when,
                "conservation",
                format!("{packet:?} was not forwarded to its next link"),
            );
        }
    }

    /// Checks a packet that leaves its source: ACKs do not decrease, and data stays within the receive window.
    fn left_source(&mut self, at: Time, id: Id) {
        let flow = &mut self.flows[id.flow as usize];
        if flow.radio_nodes {
            return; // at this link the packet only leaves the radio channel
        }
        match id.kind {
            PacketKind::Ack => {
                let last = flow.last_ack;
                flow.last_ack = last.max(id.seq);
                if id.seq < last {
                    let what = format!("flow {} acknowledges {} after {last}", id.flow, id.seq);
                    self.report_violation(at, "cumulative ack", what);
                }
            }
            PacketKind::Data => {
                let (known, window) = (flow.acked, flow.window);
                if id.seq >= known && id.seq - known >= window {
                    let what = format!(
                        "flow {} sends {} with {known} acknowledged and a window of {window}",
                        id.flow, id.seq
                    );
                    self.report_violation(at, "window", what);
                }
            }
            PacketKind::Udp | PacketKind::Datagram | PacketKind::ReverseDatagram => {}
        }
    }

    fn enqueue(&mut self, at: Time, link: usize, id: Id) {
        let spec = &self.links[link];
        let state = &mut self.link_states[link];
        // The first packet is in transmission. At equal times the departure is counted first, which is the weaker
        // rule.
        let in_service = match spec.scheduled {
            false => state.queue.front().map_or(0, |(first, _)| first.size as u64),
            // Any of them can be in transmission: the largest is the weakest rule.
            true => state.queue.iter().map(|(packet, _)| packet.size as u64).max().unwrap_or(0),
        };
        let (packets, bytes) = (state.queue.len().saturating_sub(1) as u64, state.bytes - in_service);
        let over = match spec.limit {
            _ if state.queue.is_empty() => false,
            Some(Limit::Packets(limit)) => packets + 1 > limit,
            Some(Limit::Bytes(limit)) if spec.limit_before => bytes >= limit,
            Some(Limit::Bytes(limit)) => bytes + id.size as u64 > limit,
            _ => false,
        };
        self.accepted = Some((at, link, id));
        state.queue.push_back((id, at));
        state.bytes += id.size as u64;
        state.totals.0 += 1;
        if over {
            let what =
                format!("{} holds {} packets, {} bytes", spec.name, packets + 1, bytes + id.size as u64);
            self.report_violation(at, "queue bound", what);
        }
    }

    fn depart(&mut self, at: Time, link: usize, id: Id) {
        let spec = &self.links[link];
        let state = &mut self.link_states[link];
        // In bits and picoseconds: the last bit leaves size / rate after the first, which does not wait.
        let taken = ((id.size + spec.header) as u128 * 8 * PS_PER_S as u128) / spec.rate.bps() as u128;
        // A scheduled link can send any packet that waits; only one queue for each flow keeps the order of a flow.
        let same = |(other, _): &(Id, Time)| match spec.keeps_flow_order {
            true => other.flow == id.flow && other.kind == id.kind,
            false => *other == id,
        };
        let place = if spec.scheduled { state.queue.iter().position(same).unwrap_or(0) } else { 0 };
        let first = state.queue.remove(place);
        let (expected, offered) = first.unwrap_or((id, Time::NEVER));
        state.bytes -= first.map_or(0, |(first, _)| first.size as u64);
        let start = offered.max(state.last_depart);
        // To the picosecond.
        let spent = at.since(start).ps() as u128;
        let exact = at >= start && spec.varies
            || at >= start
                && (spent.abs_diff(taken) <= 1
                    || spent > taken && (spec.waits || spent <= taken + spec.pause.ps() as u128));
        state.last_depart = state.last_depart.max(at);
        state.under_way.push_back((id, at, false));
        if first.is_none() || expected != id {
            self.report_violation(at, "conservation", format!("{id:?} departs in place of {first:?}"));
        } else if !exact {
            let what = format!("{} sends {} bytes in {spent} ps", spec.name, id.size);
            self.report_violation(at, "link rate", what);
        }
    }

    /// The discipline drops a waiting packet.
    fn discard(&mut self, at: Time, link: usize, id: Id) {
        let state = &mut self.link_states[link];
        let Some(place) = state.queue.iter().position(|(other, _)| *other == id) else {
            return self.report_violation(at, "conservation", format!("{id:?} is dropped and did not wait"));
        };
        state.queue.remove(place);
        state.bytes -= id.size as u64;
        state.totals.2 += 1;
    }

    fn lose(&mut self, at: Time, link: usize, id: Id) {
        let state = &mut self.link_states[link];
        match state.under_way.back_mut() {
            Some((last, _, lost)) if *last == id => {
                *lost = true;
                state.totals.2 += 1;
            }
            _ => self.report_violation(at, "conservation", format!("{id:?} is lost without having departed")),
        }
    }

    fn deliver(&mut self, at: Time, link: usize, id: Id, node: Option<u32>) {
        let spec = &self.links[link];
        let state = &mut self.link_states[link];
        while state.under_way.front().is_some_and(|(_, _, lost)| *lost) {
            state.under_way.pop_front();
        }
        // On a fixed link packets keep their order. On a moving link, packets to different ends can overtake.
        let moves = spec.delay.0 != spec.delay.1;
        let overtaking = || state.under_way.iter().position(|(other, _, lost)| !lost && *other == id);
        let place = if moves { overtaking() } else { None };
        let first = state.under_way.remove(place.unwrap_or(0));
        state.totals.1 += 1;
        let node = node.unwrap_or(spec.to.start);
        let wrong = match first {
            Some((expected, depart, _)) if expected == id => {
                let late = at < depart + spec.delay.0 || at > depart + spec.delay.1;
                let crossed = at.since(depart).ps();
                late.then(|| ("causality", format!("{id:?} crosses {} in {crossed} ps", spec.name)))
            }
            other => {
                Some(("conservation", format!("{id:?} arrives over {} in place of {other:?}", spec.name)))
            }
        };
        let elsewhere = !spec.to.contains(&node);
        if let Some((rule, what)) = wrong {
            self.report_violation(at, rule, what);
        }
        if elsewhere {
            let what = format!("{id:?} arrives at node {node}, where {} does not end", self.links[link].name);
            self.report_violation(at, "causality", what);
        }
        let flow = &mut self.flows[id.flow as usize];
        let there = flow.ends(id.kind)[1].0 == node;
        if there && id.kind == PacketKind::Ack {
            flow.acked = flow.acked.max(id.seq);
        }
        if !there && !flow.radio_nodes {
            self.at_node = Some((at, node, id));
        }
    }

    /// A sender is about to send new data.
    pub fn sending(&mut self, at: Time, flow: u32, in_flight: u32, window: u32) {
        if in_flight > window {
            self.report_violation(
                at,
                "window",
                format!("flow {flow} has {in_flight} in flight with a window of {window}"),
            );
        }
    }

    /// Compares the counters of each link in `accounts` (accepted, delivered, lost, in flight) with the observed
    /// events. Returns the first violations and the number of all violations.
    pub fn close(mut self, at: Time, accounts: &[net::LinkAccount]) -> (Vec<Violation>, u64) {
        let arrived = self.at_node.take();
        self.check_forwarded(arrived);
        for (link, account) in accounts.iter().enumerate() {
            let state = &mut self.link_states[link];
            let lost = state.totals.2;
            let (accepted, delivered) = (state.totals.0, state.totals.1);
            let after = net::DropReason::ALL.into_iter().filter(|reason| reason.after_queue());
            let dropped_later: u64 = after.map(|reason| account.dropped[reason as usize]).sum();
            let refused = account.dropped.iter().sum::<u64>() - dropped_later;
            let balanced = account.offered == accepted + refused
                && account.delivered == delivered
                && account.offered
                    == account.delivered + account.dropped.iter().sum::<u64>() + account.in_flight
                && accepted == delivered + lost + account.in_flight
                && dropped_later == lost;
            if !balanced {
                let what = format!(
                    "{}: {account:?}, but {accepted} accepted, {delivered} arrived, {lost} lost",
                    self.links[link].name
                );
                self.report_violation(at, "conservation", what);
            }
        }
        (self.violations, self.count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use net::{DropReason, LinkId, Packet};

    const MS: u64 = 1_000_000_000;

    /// Two links of 8 Mb/s (1 ms for 1,000 bytes) and 5 ms, one packet may wait; flow 0 goes from node 0 to node 2.
    fn auditor() -> Auditor {
        let link = |from: u32, to: u32| AuditedLink {
            name: format!("{from}->{to}"),
            from: from..from + 1,
            to: to..to + 1,
            rate: Rate::from_bps(8_000_000),
            delay: (Span::from_ms(5), Span::from_ms(5)),
            limit: Some(Limit::Packets(1)),
            ..AuditedLink::default()
        };
        Auditor::new(vec![link(0, 1), link(1, 2), link(2, 0)], &[[NodeId(0), NodeId(2)]], &[4])
    }

    /// An event of data packet `seq`, sent at `sent` ms, at `at` ps.
    fn event(at: u64, link: u32, step: PacketStep, seq: u32, sent: u64) -> PacketEvent {
        let kind = if link == 2 { PacketKind::Ack } else { PacketKind::Data };
        let packet = Packet::new(kind, 0, 0, seq, 1000, Time::from_ps(sent * MS));
        PacketEvent { at: Time::from_ps(at), link: LinkId(link), step, packet, node: None }
    }

    /// The rules that a course of events breaks.
    fn broken(events: &[PacketEvent]) -> Vec<&'static str> {
        let mut auditor = auditor();
        let mut events = events.to_vec();
        events.sort_by_key(|event| event.at); // stable
        events.iter().for_each(|event| auditor.packet(event));
        auditor.violations.iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn every_rule_can_be_broken() {
        use PacketStep::{Deliver, Depart, Drop, Enqueue};
        let sent = [event(0, 0, Enqueue, 0, 0), event(MS, 0, Depart, 0, 0)];
        let arrived = [sent[0], sent[1], event(6 * MS, 0, Deliver, 0, 0)];
        assert!(broken(&arrived).is_empty());
        let with = |more: &[PacketEvent]| broken(&[&arrived[..], more].concat());
        assert!(with(&[event(6 * MS, 1, Enqueue, 0, 0), event(7 * MS, 1, Depart, 0, 0)]).is_empty());
        assert!(with(&[event(6 * MS, 1, Drop(DropReason::Queue), 0, 0)]).is_empty());
        // Too soon, too late, over the wrong link, from nowhere, twice, never departed.
        assert_eq!(broken(&[sent[0], sent[1], event(6 * MS - 1, 0, Deliver, 0, 0)]), ["causality"]);
        assert_eq!(broken(&[sent[0], sent[1], event(6 * MS + 1, 0, Deliver, 0, 0)]), ["causality"]);
        assert_eq!(broken(&[event(0, 1, Enqueue, 0, 0)]), ["causality"]);
        assert_eq!(broken(&[event(MS, 0, Enqueue, 0, 0)]), ["causality"]);
        assert_eq!(with(&[event(6 * MS, 0, Deliver, 0, 0)])[0], "conservation");
        assert_eq!(broken(&[sent[0], event(MS, 0, Drop(DropReason::Loss), 0, 0)]), ["conservation"]);
        // Faster or slower than the rate.
        assert_eq!(broken(&[sent[0], event(MS - 2, 0, Depart, 0, 0)]), ["link rate"]);
        assert_eq!(broken(&[sent[0], event(2 * MS, 0, Depart, 0, 0)]), ["link rate"]);
        // A second one waits; a third has no room.
        let departs = |seq: u32| event((seq as u64 + 1) * MS, 0, Depart, seq, 0);
        let queued = [sent[0], sent[1], event(0, 0, Enqueue, 1, 0), departs(1)];
        assert!(broken(&queued).is_empty());
        let third = [event(0, 0, Enqueue, 2, 0), departs(2)];
        assert_eq!(broken(&[&queued[..], &third[..]].concat()), ["queue bound"]);
        // ACKs go back; data beyond the window of four.
        let ack = |at: u64, seq| {
            [
                event(at * 10 * MS, 2, Enqueue, seq, at * 10),
                event((at * 10 + 1) * MS, 2, Depart, seq, at * 10),
            ]
        };
        assert_eq!(broken(&[ack(1, 3), ack(2, 2)].concat()), ["cumulative ack"]);
        assert_eq!(broken(&[event(0, 0, Enqueue, 4, 0)]), ["window"]);
        // Told too late.
        let mut late = auditor();
        [sent[1], sent[0]].iter().for_each(|event| late.packet(event));
        assert!(late.violations.iter().any(|v| v.what.contains("too late")));
        // Out of order; at a node where the link does not end; more in flight than the window.
        let second = [event(0, 0, Enqueue, 1, 0), event(MS, 0, Depart, 1, 0)];
        assert_eq!(broken(&[sent[0], second[0], second[1]]), ["conservation"]);
        let wrong_node = PacketEvent { node: Some(7), ..arrived[2] };
        let mut astray = auditor();
        [sent[0], sent[1], wrong_node].iter().for_each(|event| astray.packet(event));
        assert!(astray.violations[0].what.contains("arrives at node 7, where 0->1 does not end"));
        let mut eager = auditor();
        eager.sending(Time::ZERO, 0, 4, 4);
        assert!(eager.violations.is_empty());
        eager.sending(Time::ZERO, 0, 5, 4);
        assert_eq!(eager.violations[0].rule, "window");
        // What passed no second link and did not stay is missed at the end.
        let mut open = auditor();
        arrived.iter().for_each(|event| open.packet(event));
        assert!(open.close(Time::from_ps(9 * MS), &[]).0.iter().any(|v| v.rule == "conservation"));
        // The network's account of a link must be what was seen.
        let accounts = |delivered: u64, in_flight: u64| {
            let first =
                net::LinkAccount { offered: 1, accepted: 1, delivered, in_flight, ..Default::default() };
            [first, net::LinkAccount::default(), net::LinkAccount::default()]
        };
        let closed = |events: &[PacketEvent], accounts: &[net::LinkAccount]| {
            let mut auditor = auditor();
            events.iter().for_each(|event| auditor.packet(event));
            auditor.close(Time::from_ps(9 * MS), accounts).1
        };
        assert_eq!(closed(&sent, &accounts(0, 1)), 0);
        assert_eq!(closed(&sent, &accounts(1, 0)), 1);
        assert_eq!(closed(&sent, &accounts(0, 0)), 1);
    }
}
