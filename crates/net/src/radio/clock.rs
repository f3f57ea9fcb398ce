//! The time of a radio network, and the timers of its nodes.

use super::deadlines::DeadlineTable;
use units::Time;

/// The timers of a node.
#[derive(Clone, Copy, Debug)]
pub(super) enum RadioTimer {
    /// The end of a backoff.
    Access,
    /// The end of a signal that is addressed to the node.
    Receive,
    /// The next step of a frame exchange.
    Exchange,
    /// A deferred action of routing or ARP.
    Routing,
    /// A frame reaches the interface queue.
    Interface,
}

impl RadioTimer {
    /// Every timer of a node, in the order of their numbers.
    pub const ALL: [RadioTimer; 5] = [
        RadioTimer::Access,
        RadioTimer::Receive,
        RadioTimer::Exchange,
        RadioTimer::Routing,
        RadioTimer::Interface,
    ];
}

/// The time, and the timers of all nodes: the event queue has one timer for the first of them.
#[derive(Clone, Debug, Default)]
pub(super) struct RadioClock {
    pub now: Time,
    /// The timers of one kind have `1 << bits` places: a node and a timer follow from a place without a division.
    bits: u32,
    deadlines: DeadlineTable,
}

impl RadioClock {
    pub fn new(nodes: usize) -> RadioClock {
        let bits = nodes.next_power_of_two().trailing_zeros();
        RadioClock { now: Time::ZERO, bits, deadlines: DeadlineTable::new(RadioTimer::ALL.len() << bits) }
    }
    #[inline]
    pub fn now(&self) -> Time {
        self.now
    }
    #[inline]
    pub fn set(&mut self, node: u32, timer: RadioTimer, at: Time) {
        self.deadlines.set(((timer as usize) << self.bits) + node as usize, at);
    }
    #[inline]
    pub fn stop(&mut self, node: u32, timer: RadioTimer) {
        self.deadlines.remove(((timer as usize) << self.bits) + node as usize);
    }
    /// The first timer: its time, node and kind.
    #[inline]
    pub fn first(&mut self) -> Option<(Time, u32, RadioTimer)> {
        let (at, place) = self.deadlines.first()?;
        let kind = place >> self.bits;
        Some((at, (place - (kind << self.bits)) as u32, RadioTimer::ALL[kind]))
    }
    /// A time that is not later than the first timer.
    pub fn bound(&self) -> Time {
        self.deadlines.bound().max(self.now)
    }
}
