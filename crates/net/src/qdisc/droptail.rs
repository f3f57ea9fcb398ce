//! Drop-tail: first in, first out, with a limit on what waits; the packet in transmission does not count.
//!
//! A packet often arrives at the very instant at which a transmission ends: in slow start on a single link
//! every ACK does, and the packets that it releases find the queue one shorter or not. Both orders are
//! possible; [`Offer::before_departure`] has the rule.

use super::Offer;
use std::collections::VecDeque;
use units::Time;

/// A first-in-first-out queue with a limit in packets or bytes.
#[derive(Clone, Debug)]
pub struct DropTail {
    packets: u64,
    bytes: u64,
    /// What waits: when transmission will start, and the size.
    waiting: VecDeque<(Time, u32)>,
    backlog: u64,
    /// When the transmission began that is going on.
    serving_since: Time,
}

impl DropTail {
    /// At most `packets` packets wait.
    pub fn packets(packets: u64) -> DropTail {
        DropTail { packets, bytes: u64::MAX, waiting: VecDeque::new(), backlog: 0, serving_since: Time::ZERO }
    }
    /// At most `bytes` bytes wait.
    pub fn bytes(bytes: u64) -> DropTail {
        DropTail { packets: u64::MAX, bytes, ..DropTail::packets(0) }
    }

    /// Lets go what starts transmission before `now`, or also at `now`.
    fn depart(&mut self, now: Time, also_now: bool) {
        while let Some(&(start, size)) = self.waiting.front()
            && (start < now || also_now && start == now)
        {
            self.waiting.pop_front();
            self.backlog -= size as u64;
            self.serving_since = start;
        }
    }

    /// See [`super::Qdisc::admit`].
    #[inline]
    pub fn admit(&mut self, offer: &Offer) -> bool {
        self.depart(offer.now, false);
        let after_departure = !offer.before_departure(self.serving_since);
        self.depart(offer.now, after_departure);
        if offer.free_at < offer.now || (offer.free_at == offer.now && after_departure) {
            self.serving_since = offer.now;
            return true; // straight to the transmitter
        }
        if self.waiting.len() as u64 >= self.packets || self.backlog + offer.size as u64 > self.bytes {
            return false;
        }
        self.waiting.push_back((offer.free_at, offer.size));
        self.backlog += offer.size as u64;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An arrival at `now` at a transmitter busy until `free_at`, caused by an event scheduled at `cause`.
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
    fn counts_bytes() {
        let mut queue = DropTail::bytes(150);
        assert!(queue.admit(&offer(1, 0, 1000, 1)));
        assert!(queue.admit(&offer(2, 10, 100, 1)));
        assert!(!queue.admit(&offer(3, 20, 51, 1)));
        assert!(queue.admit(&offer(3, 20, 50, 1)));
    }
}
