//! The auditor: checks a run by its packet events. It shares no code with the network.
//!
//! It takes rates, delays and limits of the links from the scenario and checks that no packet vanishes, no packet
//! arrives before the propagation delay, no link sends faster than its rate, no medium is used for longer than the time,
//! no queue exceeds its limit, cumulative ACKs do not decrease, and no sender has more data in flight than its window. Of
//! applications it checks bytes, times and states of messages ([`applications`](AppEvent)).

mod airtime;
mod applications;
mod media;
mod radio;
mod transmissions;
mod violation;

pub use airtime::Airtimes;
pub use applications::{
    AppEvent, AuditedApp, AuditedHop, AuditedMessage, AuditedObject, AuditedOutcome, AuditedPath,
    AuditedPlayer, AuditedPlaying, AuditedTcp,
};
pub use media::{AccessRules, AuditedMedium, CellRules, EdcaRules};
pub(crate) use radio::RadioAuditor;

use applications::Applications;
use media::MediaTimes;
use net::{DropReason, NodeId, PacketEvent, PacketKind, PacketStep, Transmission};
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use transmissions::Transmissions;
use units::{Limit, PS_PER_S, Rate, Span, Time};
pub use violation::Violation;

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
    /// Packets that changes may keep in its queue above the limit.
    pub allowance: u32,
    /// Whether the rate varies; then the times of transmissions are not checked.
    pub varies: bool,
    /// The medium that decides when its packets leave.
    pub medium: Option<AuditedMedium>,
}

/// The identity of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Id {
    flow: u32,
    seq: u32,
    kind: PacketKind,
    size: u32,
    sent: Time,
}

/// The current packets of a link.
#[derive(Clone, Default)]
struct LinkState {
    /// Packets accepted and not departed, with the times of acceptance; the first one is in transmission.
    queue: VecDeque<(Id, Time)>,
    /// Of the packets in the queue of a scheduled link: the number of their copies.
    copies: BTreeMap<Id, Copies>,
    /// Of the packets in the queue of a scheduled link: how many have a size, in bytes.
    sizes: BTreeMap<u32, u32>,
    /// Number of dropped copies in `queue`.
    dropped: usize,
    /// Bytes of all packets in the queue.
    bytes: u64,
    last_depart: Time,
    /// Packets departed and not arrived: packet, time of departure, whether it is lost.
    under_way: VecDeque<(Id, Time, bool)>,
    /// Number of accepted packets, of arrivals and of losses.
    totals: (u64, u64, u64),
}

/// The copies of a packet in a queue.
#[derive(Clone, Default)]
struct Copies {
    /// Number in the queue.
    queued: u32,
    /// How many of them the discipline has dropped. Which ones shows when one departs; until then all are in the queue.
    dropped: u32,
}

impl LinkState {
    /// Number of packets in the queue, with the one in transmission.
    fn packets(&self) -> usize {
        self.queue.len() - self.dropped
    }

    /// Bytes of the packet in transmission. Of a scheduled link any packet can be that: the largest is the weakest rule.
    fn in_transmission(&self, scheduled: bool) -> u64 {
        match scheduled {
            false => self.queue.front().map_or(0, |(first, _)| first.size as u64),
            true => self.sizes.last_key_value().map_or(0, |(size, _)| *size as u64),
        }
    }

    /// Adds a packet.
    fn accept(&mut self, id: Id, at: Time, scheduled: bool) {
        self.queue.push_back((id, at));
        self.bytes += id.size as u64;
        self.totals.0 += 1;
        if scheduled {
            self.copies.entry(id).or_default().queued += 1;
            *self.sizes.entry(id.size).or_default() += 1;
        }
    }

    /// Removes the packet at a place of the queue.
    fn remove(&mut self, place: usize) -> Option<(Id, Time)> {
        let (id, at) = self.queue.remove(place)?;
        if let Some(copies) = self.copies.get_mut(&id) {
            copies.queued -= 1;
            if copies.queued == 0 {
                self.copies.remove(&id);
            }
            let same_size = self.sizes.get_mut(&id.size).expect("the size of a queued packet");
            *same_size -= 1;
            if *same_size == 0 {
                self.sizes.remove(&id.size);
            }
        }
        Some((id, at))
    }

    /// Removes a packet that the discipline drops. Returns whether it waited.
    fn discard(&mut self, id: Id) -> bool {
        let Some(copies) = self.copies.get_mut(&id).filter(|copies| copies.dropped < copies.queued) else {
            return false;
        };
        copies.dropped += 1;
        self.dropped += 1;
        self.bytes -= id.size as u64;
        self.settle(id);
        true
    }

    /// Forgets the dropped copies of a packet if no other copy is in the queue.
    fn settle(&mut self, id: Id) {
        let Some(copies) = self.copies.get(&id).filter(|copies| copies.queued == copies.dropped) else {
            return;
        };
        for _ in 0..copies.queued {
            let place = self.queue.iter().position(|(other, _)| *other == id);
            self.remove(place.expect("as many copies as were counted"));
            self.dropped -= 1;
        }
    }

    /// Removes the packet that departs according to the order of link `spec`, with the time of its acceptance; `id` is the
    /// one that departed.
    fn depart(&mut self, spec: &AuditedLink, id: Id) -> Option<(Id, Time)> {
        let mut place = 0;
        // A scheduled link can send any packet that waits; only one queue for each flow keeps the order of a flow.
        if spec.scheduled && spec.keeps_flow_order {
            let same_flow = |(other, _): &(Id, Time)| other.flow == id.flow && other.kind == id.kind;
            place = self.queue.iter().position(same_flow).unwrap_or(0);
            while let Some(first) =
                self.queue.get(place).map(|(first, _)| *first).filter(|first| *first != id)
                && let Some(copies) = self.copies.get_mut(&first).filter(|copies| copies.dropped > 0)
            {
                copies.dropped -= 1;
                self.dropped -= 1;
                self.remove(place);
                place = self.queue.iter().position(same_flow).unwrap_or(0);
            }
        } else if spec.scheduled {
            place = self.queue.iter().position(|(other, _)| *other == id).unwrap_or(0);
        }
        let first = self.remove(place);
        if let Some((first, _)) = first {
            self.bytes -= first.size as u64;
            self.settle(first);
        }
        first
    }
}

/// The state of a flow.
#[derive(Clone)]
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
#[derive(Clone)]
pub struct Auditor {
    links: Vec<AuditedLink>,
    link_states: Vec<LinkState>,
    flows: Vec<FlowState>,
    /// Packets that have arrived at a node, not their destination, at the time of the last event, and were not forwarded
    /// yet: node and packet. At one time other packets can arrive, depart and be dropped before.
    at_nodes: Vec<(u32, Id)>,
    /// The last packet that a link accepted, with the number of the link: a copy follows it at the same time.
    accepted: Option<(Time, usize, Id)>,
    media: MediaTimes,
    transmissions: Transmissions,
    applications: Applications,
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
            at_nodes: Vec::new(),
            accepted: None,
            media: MediaTimes::default(),
            transmissions: Transmissions::default(),
            applications: Applications::default(),
            clock: Time::ZERO,
            violations: Vec::new(),
            count: 0,
        }
    }

    /// Marks that a part of the path of flow `flow` goes over the radio channel.
    pub fn expect_radio_hop(&mut self, flow: u32) {
        self.flows[flow as usize].radio_nodes = true;
    }

    /// The properties of link `link` change, or those of some packets that it will send.
    pub fn change_link(&mut self, link: u32, change: impl FnOnce(&mut AuditedLink)) {
        change(&mut self.links[link as usize]);
    }

    /// The receiver's window of flow `flow` is or was `segments` segments.
    pub fn allow_window(&mut self, flow: u32, segments: u32) {
        let window = &mut self.flows[flow as usize].window;
        *window = segments.max(*window);
    }

    /// Adds an application. Applications have the numbers 0, 1, 2, ... in this order.
    pub fn add_application(&mut self, app: AuditedApp) {
        self.applications.add(app);
    }

    /// The properties of link `link`.
    pub(crate) fn link(&self, link: u32) -> &AuditedLink {
        &self.links[link as usize]
    }

    /// Processes an event of application `app`. They must be in the order of time, and come before the packet events of later times.
    pub fn application(&mut self, at: Time, app: u32, event: AppEvent) {
        self.applications.push(at, app, event);
    }

    /// Compares what the outcome says of application `app` with its events; after the last event of the run.
    pub fn close_application(&mut self, app: usize, end: Time, outcome: &AuditedOutcome) {
        self.applications.close(app, end, outcome);
        self.absorb_violations();
    }

    /// Takes over the violations of the rules of applications.
    fn absorb_violations(&mut self) {
        for Violation { at, rule, what } in self.applications.take_violations() {
            self.report_violation(at, rule, what);
        }
    }

    fn report_violation(&mut self, at: Time, rule: &'static str, what: String) {
        self.count += 1;
        if self.violations.len() < MOST {
            self.violations.push(Violation { at, rule, what });
        }
    }

    /// Processes a transmission on a channel or in a cell. Those of a medium must be in the order of time.
    pub fn transmission(&mut self, transmission: &Transmission) {
        let link = &self.links[transmission.link.0 as usize];
        let Some(medium) = &link.medium else { return };
        if let Some(violation) = self.transmissions.add(medium, transmission) {
            let what = format!("{}: {violation}", link.name);
            self.report_violation(transmission.begin, "medium access", what);
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
        if at > self.clock {
            self.check_forwarded();
            self.clock = at;
            if !self.applications.is_empty() {
                self.applications.process(at);
                self.absorb_violations();
            }
        }
        match event.step {
            PacketStep::Enqueue => {
                self.check_offered(at, link, id);
                self.enqueue(at, link, id);
            }
            PacketStep::Drop(reason) if !reason.after_queue() => self.check_offered(at, link, id),
            PacketStep::Drop(DropReason::Aqm) => self.discard(at, link, id),
            PacketStep::Drop(_) => self.lose(at, link, id),
            PacketStep::Depart => self.depart(at, link, id),
            PacketStep::Deliver => self.deliver(at, link, id, event.node),
        }
    }

    /// A packet is offered to a link, after its arrival at the node of that link or by its source.
    fn check_offered(&mut self, at: Time, link: usize, id: Id) {
        let from = &self.links[link].from;
        let arrived = |(node, other): &(u32, Id)| *other == id && from.contains(node);
        if let Some(place) = self.at_nodes.iter().position(arrived) {
            self.at_nodes.swap_remove(place);
            return;
        }
        let flow = &self.flows[id.flow as usize];
        let copied = self.links[link].copies && self.accepted == Some((at, link, id));
        let expected = copied || flow.radio_nodes || id.sent == at && from.contains(&flow.ends(id.kind)[0].0);
        if !expected {
            let name = self.links[link].name.clone();
            self.report_violation(
                at,
                "causality",
                format!("{id:?} is offered to {name} without a previous arrival"),
            );
        }
        self.left_source(at, id);
    }

    /// Reports the packets that arrived at a node that is not their destination and were not forwarded at that time.
    fn check_forwarded(&mut self) {
        for (_, packet) in std::mem::take(&mut self.at_nodes) {
            let what = format!("{packet:?} was not forwarded to its next link");
            self.report_violation(self.clock, "conservation", what);
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
                let (acked, window) = (flow.acked, flow.window);
                if id.seq >= acked && id.seq - acked >= window {
                    let what = format!(
                        "flow {} sends {} with {acked} acknowledged and a window of {window}",
                        id.flow, id.seq
                    );
                    self.report_violation(at, "window", what);
                }
            }
            PacketKind::Udp | PacketKind::Datagram | PacketKind::ReverseDatagram | PacketKind::Request => {}
        }
    }

    fn enqueue(&mut self, at: Time, link: usize, id: Id) {
        let spec = &self.links[link];
        let state = &mut self.link_states[link];
        // At equal times the departure is counted first, which is the weaker rule.
        let in_service = state.in_transmission(spec.scheduled);
        let (packets, bytes) = (state.packets().saturating_sub(1) as u64, state.bytes - in_service);
        let over = match spec.limit {
            _ if state.packets() == 0 => false,
            Some(Limit::Packets(limit)) => packets + 1 > limit,
            Some(Limit::Bytes(limit)) if spec.limit_before => bytes >= limit,
            Some(Limit::Bytes(limit)) => bytes + id.size as u64 > limit,
            _ => false,
        };
        self.accepted = Some((at, link, id));
        state.accept(id, at, spec.scheduled);
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
        let transmission = ((id.size + spec.header) as u128 * 8 * PS_PER_S as u128) / spec.rate.bps() as u128;
        let first = state.depart(spec, id);
        let (expected, offered) = first.unwrap_or((id, Time::NEVER));
        let start = offered.max(state.last_depart);
        // To the picosecond.
        let spent = at.since(start).ps() as u128;
        let exact = at >= start && spec.varies
            || at >= start
                && (spent.abs_diff(transmission) <= 1
                    || spent > transmission
                        && (spec.waits || spent <= transmission + spec.pause.ps() as u128));
        state.last_depart = state.last_depart.max(at);
        state.under_way.push_back((id, at, false));
        if first.is_none() || expected != id {
            self.report_violation(at, "conservation", format!("{id:?} departs in place of {first:?}"));
        } else if !exact {
            let what = format!("{} sends {} bytes in {spent} ps", spec.name, id.size);
            self.report_violation(at, "link rate", what);
        }
        let spec = &self.links[link];
        if let Some(medium) = &spec.medium
            && let Some(what) = self.media.depart(medium, id.size, at)
        {
            let what = format!("{}: {what}", spec.name);
            self.report_violation(at, "medium", what);
        }
    }

    /// The discipline drops a waiting packet.
    fn discard(&mut self, at: Time, link: usize, id: Id) {
        let state = &mut self.link_states[link];
        if !state.discard(id) {
            return self.report_violation(at, "conservation", format!("{id:?} is dropped and did not wait"));
        }
        state.totals.2 += 1;
    }

    fn lose(&mut self, at: Time, link: usize, id: Id) {
        let state = &mut self.link_states[link];
        match state.under_way.back_mut() {
            Some((last, _, lost)) if *last == id => {
                *lost = true;
                state.totals.2 += 1;
                if let Some(medium) = &self.links[link].medium {
                    self.media.lose(medium, id.size);
                }
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
        // On a fixed link packets keep their order. Those that departed at one time arrive at one time, and their arrivals
        // are reported in any order. On a moving link, packets to different ends can overtake.
        let moves = spec.delay.0 != spec.delay.1;
        let departed = state.under_way.front().map(|(_, departed, _)| *departed);
        let mut candidates = state.under_way.iter().take_while(|(_, at, _)| moves || Some(*at) == departed);
        let place = candidates.position(|(other, _, lost)| !lost && *other == id);
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
        let at_end = flow.ends(id.kind)[1].0 == node;
        if at_end && id.kind == PacketKind::Ack {
            flow.acked = flow.acked.max(id.seq);
        }
        let seen = at_end && !flow.radio_nodes && !self.applications.is_empty();
        match id.kind {
            PacketKind::Data if seen => self.applications.data_arrived(id.flow, id.seq, id.size),
            PacketKind::Request if seen => self.applications.request_arrived(at, id.flow, id.seq),
            _ => {}
        }
        if !at_end && !flow.radio_nodes {
            self.at_nodes.push((node, id));
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
        self.check_forwarded();
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
mod tests;
