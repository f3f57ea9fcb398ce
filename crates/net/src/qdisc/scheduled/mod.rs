//! Queue disciplines that decide at each departure which packet leaves next, and which are dropped or marked before it.
//!
//! A link with such a discipline has one event more for each packet: the end of the transmission before it.

mod codel;
mod dualpi2;
mod fair;
mod tail;

pub use codel::{Codel, CodelConfig};
pub use dualpi2::{DualPi2, DualPi2Config, DualPi2Scheduler, LowLatency, Ramp};
pub use fair::{FairConfig, FairQueue, PerFlow};
pub use tail::TailDrop;

use crate::impairment::Effect;
use crate::packet::{Ecn, Packet};
use crate::rule::Rule;
use units::{Span, Time};

/// A packet in a queue.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// The packet.
    pub packet: Packet,
    /// When it arrived at the queue.
    pub arrived: Time,
    /// What impairments do to it after its transmission.
    pub(crate) effect: Effect,
    /// The discipline has marked it (CE).
    pub marked: bool,
}

impl Waiting {
    /// Time since its arrival.
    pub fn sojourn(&self, now: Time) -> Span {
        now.since(self.arrived)
    }
    /// Sets the CE mark if the packet is ECN-capable. Returns whether it is.
    pub(crate) fn mark(&mut self) -> bool {
        let capable = self.packet.ecn.capable();
        if capable {
            self.packet.ecn = Ecn::Ce;
            self.marked = true;
        }
        capable
    }
}

/// Where a discipline has dropped or marked a packet.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Point {
    /// It refused the packet at its arrival.
    Arrival,
    /// It dropped the packet at the arrival of another one, together with `others`.
    Limit { others: u32 },
    /// It dropped the packet at a departure, and `later` others after it.
    Departure { later: u32 },
    /// It marked the packet that departs.
    Mark,
}

/// The discipline of a scheduled link.
#[derive(Clone, Debug)]
pub enum Scheduler {
    /// First in, first out, with a limit.
    TailDrop(TailDrop),
    /// CoDel (RFC 8289).
    Codel(Codel),
    /// One queue for each flow, served in deficit round robin (RFC 8290).
    Fair(FairQueue),
    /// A queue for classic and one for low-latency traffic (RFC 9332).
    DualPi2(DualPi2),
}

impl Scheduler {
    /// Offers a packet at its arrival, to a transmitter that is `idle` or not. Returns whether the queue has accepted it.
    /// `drops` receives packets that were accepted before and are dropped now; the packet itself can be among them.
    #[inline(always)] // or a packet pays a call and a copy for it
    pub fn enqueue(&mut self, packet: Waiting, idle: bool, drops: &mut Vec<Waiting>) -> bool {
        match self {
            Scheduler::TailDrop(queue) => queue.enqueue(packet, idle),
            Scheduler::Codel(queue) => queue.enqueue(packet, idle),
            Scheduler::Fair(queue) => queue.enqueue(packet, idle, drops),
            Scheduler::DualPi2(queue) => queue.enqueue(packet, idle),
        }
    }

    /// Removes the packet whose transmission starts now. `drops` receives the packets that are dropped before it.
    #[inline(always)] // or a packet pays a call and a copy for it
    pub fn dequeue(&mut self, now: Time, drops: &mut Vec<Waiting>) -> Option<Waiting> {
        match self {
            Scheduler::TailDrop(queue) => queue.dequeue(),
            Scheduler::Codel(queue) => queue.dequeue(now, drops),
            Scheduler::Fair(queue) => queue.dequeue(now, drops),
            Scheduler::DualPi2(queue) => queue.dequeue(now, drops),
        }
    }

    /// Removes all packets, in the order of their arrival, for a discipline that takes its place.
    pub(crate) fn drain(&mut self) -> Vec<Waiting> {
        let mut packets: Vec<Waiting> = match self {
            Scheduler::TailDrop(queue) => queue.drain().collect(),
            Scheduler::Codel(queue) => queue.drain(),
            Scheduler::Fair(queue) => queue.drain(),
            Scheduler::DualPi2(queue) => queue.drain(),
        };
        packets.sort_by_key(|packet| packet.arrived);
        packets
    }

    /// Why it has just dropped or marked `packet` at this `point`.
    pub(crate) fn rule(&self, packet: &Waiting, now: Time, point: Point) -> Option<Rule> {
        match self {
            Scheduler::TailDrop(queue) => Some(queue.rule(packet.packet.size)),
            Scheduler::Codel(queue) => queue.rule(packet, now, point),
            Scheduler::Fair(queue) => queue.rule(packet, now, point),
            Scheduler::DualPi2(queue) => queue.rule(packet, now, point),
        }
    }

    /// Why it has marked `packet` at its arrival, if it has.
    pub(crate) fn mark_at_arrival(&self, packet: &Waiting) -> Option<Rule> {
        if let Scheduler::Fair(queue) = self { queue.mark_at_arrival(packet) } else { None }
    }

    /// Records the waiting times of low-latency packets that arrive from `from` on, if there is a queue for them.
    pub(crate) fn record_sojourns(&mut self, from: Time) {
        if let Scheduler::DualPi2(queue) = self {
            queue.record_sojourns(from);
        }
    }

    /// What the low-latency queue has done, if there is one.
    pub fn low_latency(&self) -> Option<&LowLatency> {
        if let Scheduler::DualPi2(queue) = self { Some(queue.low_latency()) } else { None }
    }
}
