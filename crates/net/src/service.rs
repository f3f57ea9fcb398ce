//! The queue and the transmitter of a scheduled link.

use crate::packet::{Packet, PacketKind};
use crate::qdisc::scheduled::{Scheduler, Waiting};
use crate::transmitter::Transmitter;
use engine::{EventQueue, LaneHint, Tie};
use std::collections::VecDeque;
use units::{Rate, Span, Time};

/// Packets that a link has accepted and whose transmission has not begun: they wait, or were dropped.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Unsent {
    pub packets: u64,
    /// Their part of the sum of waiting times, ps.
    pub waited: u128,
}

impl Unsent {
    /// Adds a packet that has waited for `waited` ps.
    pub fn add(&mut self, waited: Span) {
        self.packets += 1;
        self.waited += waited.ps() as u128;
    }
}

/// The queue and the transmitter of a scheduled link.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    pub scheduler: Scheduler,
    pub transmitter: Transmitter,
    /// The rate by which the busy time of a varying transmitter is counted.
    pub nominal: Rate,
    /// When the next transmission can start; `NEVER` if no packet waits.
    pub due: Time,
    /// Start of the current transmission.
    pub serving_since: Time,
    /// At one instant departures precede arrivals in any case.
    pub departures_first: bool,
    /// It is the first link of senders that limit their packets in it.
    pub local: bool,
    /// The packets that the discipline has just dropped.
    pub drops: Vec<Waiting>,
    /// The packets that leave before those of the discipline: a change has kept them, or they follow one that it has kept.
    pub front: VecDeque<Waiting>,
    /// Number of waiting packets, and the sum of their times of arrival, ps.
    waiting: u64,
    arrivals: u128,
    /// The packets that the discipline has dropped after it had accepted them.
    dropped: Unsent,
    /// The item that stands in the event queue for the start of the next transmission.
    item: Packet,
    hint: LaneHint,
}

impl Service {
    /// An empty queue in front of an idle transmitter. `nominal`: the rate by which busy time is counted. `route` is the
    /// index of a route whose second hop is the service of this link.
    pub fn new(scheduler: Scheduler, transmitter: Transmitter, nominal: Rate, route: u32) -> Service {
        Service {
            departures_first: scheduler.departures_first(),
            scheduler,
            transmitter,
            nominal,
            due: Time::NEVER,
            serving_since: Time::ZERO,
            local: false,
            drops: Vec::new(),
            front: VecDeque::new(),
            waiting: 0,
            arrivals: 0,
            dropped: Unsent::default(),
            item: Packet::new(PacketKind::Udp, 0, route, 0, 0, Time::ZERO),
            hint: LaneHint::default(),
        }
    }

    /// Replaces the discipline.
    pub fn set_scheduler(&mut self, scheduler: Scheduler) {
        self.departures_first = scheduler.departures_first();
        self.scheduler = scheduler;
    }

    /// Schedules the start of the next transmission. An earlier item in the event queue becomes void.
    #[inline(never)] // four callers
    pub fn schedule(&mut self, event_queue: &mut EventQueue<Packet>, at: Time) {
        self.due = at;
        let tie = Tie::scheduled(at, self.serving_since, 0);
        event_queue.push(at, tie, &self.item, &mut self.hint, |_| {});
    }

    /// The time that the waiting packets have waited until `end`, ps.
    pub fn waited(&self, end: Time) -> u128 {
        (self.waiting as u128 * end.ps() as u128).saturating_sub(self.arrivals)
    }

    /// Bytes of the waiting packets.
    pub fn bytes(&self) -> u64 {
        let front = self.front.iter().map(|waiting| u64::from(waiting.packet.size));
        front.sum::<u64>() + self.scheduler.discipline().bytes()
    }

    /// Number of waiting packets.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Whether packets wait whose access category is the one at `place`.
    pub fn waits(&self, place: usize) -> bool {
        let leaves_first = |waiting: &Waiting| self.scheduler.place(&waiting.packet) == place;
        self.scheduler.waits(place) || self.front.iter().any(leaves_first)
    }

    /// Takes the first of the packets that leave before those of the discipline, whose access category is the one at `place`.
    pub fn pop_front(&mut self, place: usize) -> Option<Waiting> {
        let first = self.front.iter().position(|waiting| self.scheduler.place(&waiting.packet) == place)?;
        self.front.remove(first)
    }

    /// The accepted packets that are not transmitted. The time that packets wait now is not in the sum.
    pub fn unsent(&self) -> Unsent {
        Unsent { packets: self.dropped.packets + self.waiting, ..self.dropped }
    }

    /// Counts a packet that the discipline drops at `now`, after it had accepted it.
    pub fn dropped(&mut self, packet: &Waiting, now: Time) {
        self.left(packet);
        self.dropped.add(packet.sojourn(now));
    }

    /// Counts a packet that the queue has accepted.
    pub fn arrived(&mut self, at: Time) {
        self.waiting += 1;
        self.arrivals += at.ps() as u128;
    }

    /// Counts a packet that has left the queue.
    pub fn left(&mut self, packet: &Waiting) {
        self.waiting -= 1;
        self.arrivals -= packet.arrived.ps() as u128;
    }
}
