//! Drop-tail: first in, first out, with a limit on the waiting packets; the packet in transmission does not count.

use super::fifo::Fifo;
use super::offer::Offer;
use crate::rule::{Rule, limit};
use units::Time;

/// A first-in-first-out queue with a limit in packets or bytes.
#[derive(Clone, Debug)]
pub struct DropTail {
    packets: u64,
    bytes: u64,
    departures_first: bool,
    queue: Fifo,
}

impl DropTail {
    /// At most `packets` packets wait.
    pub fn packets(packets: u64) -> DropTail {
        DropTail { packets, bytes: u64::MAX, departures_first: false, queue: Fifo::default() }
    }
    /// At most `bytes` bytes wait.
    pub fn bytes(bytes: u64) -> DropTail {
        DropTail { packets: u64::MAX, bytes, departures_first: false, queue: Fifo::default() }
    }

    /// The same queue; with `departures_first`, at one instant a departure always precedes an arrival. Otherwise the event
    /// that was scheduled first comes first.
    pub fn departures_first(self, departures_first: bool) -> DropTail {
        DropTail { departures_first, ..self }
    }

    /// Accepts the packet if there is room for it. Returns whether it does.
    #[inline(always)] // or a packet pays a call for it
    pub fn admit(&mut self, offer: &Offer) -> bool {
        let cause = if self.departures_first { Time::NEVER } else { offer.cause };
        let offer = &Offer { cause, ..*offer };
        let idle = self.queue.settle(offer);
        let full = self.queue.packets() >= self.packets
            || self.queue.bytes().saturating_add(offer.size as u64) > self.bytes;
        if full && !idle {
            return false;
        }
        self.queue.take(offer, idle);
        true
    }

    /// Accepts a packet that it has just refused.
    pub(crate) fn accept(&mut self, offer: &Offer) {
        let idle = self.queue.settle(offer);
        self.queue.take(offer, idle);
    }

    /// Why it has just refused a packet of `size` bytes.
    pub(crate) fn rule(&self, size: u32) -> Rule {
        Rule::Full {
            packets: self.queue.packets(),
            packet_limit: limit(self.packets),
            bytes: self.queue.bytes(),
            byte_limit: limit(self.bytes),
            size,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An arrival at `now` at a transmitter that is busy until `free_at`, by an event scheduled at `cause`.
    fn offer(now: u64, free_at: u64, size: u32, cause: u64) -> Offer {
        let [now, free_at, cause] = [now, free_at, cause].map(Time::from_ps);
        Offer { now, free_at, size, cause }
    }

    #[test]
    fn counts_what_waits() {
        let mut queue = DropTail::packets(2);
        assert!(queue.admit(&offer(1, 0, 100, 1))); // in transmission from 1 to 10
        assert!(queue.admit(&offer(2, 10, 100, 1)));
        assert!(queue.admit(&offer(3, 20, 100, 1)));
        assert!(!queue.admit(&offer(4, 30, 100, 1)));
        assert!(queue.admit(&offer(11, 30, 100, 1)));
        assert!(!queue.admit(&offer(19, 40, 100, 1)));
    }

    #[test]
    fn at_one_instant_what_was_scheduled_first_comes_first() {
        for (cause, taken) in [(0, false), (1, true), (5, true)] {
            let mut queue = DropTail::packets(1);
            assert!(queue.admit(&offer(1, 0, 100, 1))); // from 1 to 10
            assert!(queue.admit(&offer(2, 10, 100, 1))); // waits until 10
            assert_eq!(queue.admit(&offer(10, 20, 100, cause)), taken, "scheduled at {cause}");
        }
    }

    #[test]
    fn departures_come_first_if_asked_for() {
        let mut queue = DropTail::packets(1).departures_first(true);
        assert!(queue.admit(&offer(1, 0, 100, 0))); // from 1 to 10
        assert!(queue.admit(&offer(2, 10, 100, 0))); // waits until 10
        assert!(queue.admit(&offer(10, 20, 100, 0)));
    }

    #[test]
    fn counts_bytes() {
        let mut queue = DropTail::bytes(150);
        assert!(queue.admit(&offer(1, 0, 1000, 1)));
        assert!(queue.admit(&offer(2, 10, 100, 1)));
        assert!(!queue.admit(&offer(3, 20, 51, 1)));
        assert!(queue.admit(&offer(3, 20, 50, 1)));
    }
}
