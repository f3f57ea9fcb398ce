//! Drop-tail: first in, first out, with a limit on the waiting packets; the packet in transmission does not count.

use super::discipline::{Discipline, limit};
use super::fifo::Fifo;
use super::offer::{Admission, Offer};
use super::scheduled::{Scheduler, TailDrop};
use super::{AtArrival, Qdisc};
use crate::rule::{self, Rule};
use params::{Form, key};
use units::Time;

/// A first-in-first-out queue with a limit in packets or bytes.
#[derive(Clone, Debug)]
pub struct DropTail {
    packets: u64,
    bytes: u64,
    /// At one instant a departure precedes an arrival; otherwise the event that was scheduled first comes first.
    departures_first: bool,
    queue: Fifo,
}

/// Drop-tail.
pub const DROPTAIL: Discipline = Discipline {
    model: params::model!(
        "queue",
        "droptail",
        "first in, first out",
        "ns-2's limit_ q is \"(q-1)p\"",
        [&[
            limit(""),
            key(
                "departures_first",
                Form::Switch,
                "false",
                "at one instant a departure precedes an arrival; otherwise what was scheduled first comes first, as in ns-2",
            ),
        ]]
    ),
    title: "drop-tail",
    at_arrival: Some(|values, link| {
        let departures_first = values.read("departures_first");
        Qdisc::DropTail(DropTail { departures_first, ..DropTail::new(link.packets, link.bytes) })
    }),
    at_departure: Some(|values, link| {
        let mut queue = TailDrop::new(link.packets, link.bytes);
        queue.departures_first = values.optional("departures_first") == Some(true);
        Scheduler::TailDrop(queue)
    }),
    ..Discipline::PLAIN
};

impl DropTail {
    /// At most `packets` packets and `bytes` bytes wait.
    pub fn new(packets: u64, bytes: u64) -> DropTail {
        DropTail { packets, bytes, departures_first: false, queue: Fifo::default() }
    }
}

impl AtArrival for DropTail {
    #[inline(always)] // or a packet pays a call for it
    fn admit(&mut self, offer: &Offer, _ect: bool) -> Admission {
        let cause = if self.departures_first { Time::NEVER } else { offer.cause };
        let offer = &Offer { cause, ..*offer };
        let idle = self.queue.settle(offer);
        let full = self.queue.packets() >= self.packets
            || self.queue.bytes().saturating_add(offer.size as u64) > self.bytes;
        if full && !idle {
            return Admission::Refuse;
        }
        self.queue.take(offer, idle);
        Admission::Take
    }

    fn accept(&mut self, offer: &Offer) {
        let idle = self.queue.settle(offer);
        self.queue.take(offer, idle);
    }

    fn rule(&self, size: u32, _dropped: bool) -> Option<Rule> {
        Some(Rule::Full {
            packets: self.queue.packets(),
            packet_limit: rule::limit(self.packets),
            bytes: self.queue.bytes(),
            byte_limit: rule::limit(self.bytes),
            size,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(queue: &mut DropTail, offer: &Offer) -> bool {
        queue.admit(offer, false) == Admission::Take
    }

    /// An arrival at `now` at a transmitter that is busy until `free_at`, by an event scheduled at `cause`.
    fn offer(now: u64, free_at: u64, size: u32, cause: u64) -> Offer {
        let [now, free_at, cause] = [now, free_at, cause].map(Time::from_ps);
        Offer { now, free_at, size, cause }
    }

    #[test]
    fn counts_what_waits() {
        let mut queue = DropTail::new(2, u64::MAX);
        assert!(accepts(&mut queue, &offer(1, 0, 100, 1))); // in transmission from 1 to 10
        assert!(accepts(&mut queue, &offer(2, 10, 100, 1)));
        assert!(accepts(&mut queue, &offer(3, 20, 100, 1)));
        assert!(!accepts(&mut queue, &offer(4, 30, 100, 1)));
        assert!(accepts(&mut queue, &offer(11, 30, 100, 1)));
        assert!(!accepts(&mut queue, &offer(19, 40, 100, 1)));
    }

    #[test]
    fn at_one_instant_what_was_scheduled_first_comes_first() {
        for (cause, accepted) in [(0, false), (1, true), (5, true)] {
            let mut queue = DropTail::new(1, u64::MAX);
            assert!(accepts(&mut queue, &offer(1, 0, 100, 1))); // from 1 to 10
            assert!(accepts(&mut queue, &offer(2, 10, 100, 1))); // waits until 10
            assert_eq!(accepts(&mut queue, &offer(10, 20, 100, cause)), accepted, "scheduled at {cause}");
        }
    }

    #[test]
    fn departures_come_first_if_asked_for() {
        let mut queue = DropTail { departures_first: true, ..DropTail::new(1, u64::MAX) };
        assert!(accepts(&mut queue, &offer(1, 0, 100, 0))); // from 1 to 10
        assert!(accepts(&mut queue, &offer(2, 10, 100, 0))); // waits until 10
        assert!(accepts(&mut queue, &offer(10, 20, 100, 0)));
    }

    #[test]
    fn counts_bytes() {
        let mut queue = DropTail::new(u64::MAX, 150);
        assert!(accepts(&mut queue, &offer(1, 0, 1000, 1)));
        assert!(accepts(&mut queue, &offer(2, 10, 100, 1)));
        assert!(!accepts(&mut queue, &offer(3, 20, 51, 1)));
        assert!(accepts(&mut queue, &offer(3, 20, 50, 1)));
    }
}
