//! Drop-tail: first in, first out, with a limit on what waits.
//!
//! The packet in transmission does not count; a packet whose transmission starts at the very instant of an
//! arrival has left the queue.

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
}

impl DropTail {
    /// At most `packets` packets wait.
    pub fn packets(packets: u64) -> DropTail {
        DropTail { packets, bytes: u64::MAX, waiting: VecDeque::new(), backlog: 0 }
    }
    /// At most `bytes` bytes wait.
    pub fn bytes(bytes: u64) -> DropTail {
        DropTail { packets: u64::MAX, bytes, waiting: VecDeque::new(), backlog: 0 }
    }

    /// Packets waiting at `now`.
    pub fn length(&mut self, now: Time) -> u64 {
        while let Some(&(start, size)) = self.waiting.front()
            && start <= now
        {
            self.waiting.pop_front();
            self.backlog -= size as u64;
        }
        self.waiting.len() as u64
    }

    /// See [`super::Qdisc::admit`].
    #[inline]
    pub fn admit(&mut self, now: Time, start: Time, size: u32) -> bool {
        if start <= now {
            return true; // straight to the transmitter
        }
        if self.length(now) >= self.packets || self.backlog + size as u64 > self.bytes {
            return false;
        }
        self.waiting.push_back((start, size));
        self.backlog += size as u64;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn t(n: u64) -> Time {
        Time::from_ps(n)
    }

    #[test]
    fn counts_what_waits() {
        let mut queue = DropTail::packets(2);
        assert!(queue.admit(t(0), t(0), 100)); // in transmission until 10
        assert!(queue.admit(t(1), t(10), 100));
        assert!(queue.admit(t(2), t(20), 100));
        assert!(!queue.admit(t(3), t(30), 100));
        assert!(queue.admit(t(10), t(30), 100)); // the first to wait left at this instant
        assert!(!queue.admit(t(19), t(40), 100));
        assert_eq!(queue.length(t(30)), 0);
    }

    #[test]
    fn counts_bytes() {
        let mut queue = DropTail::bytes(150);
        assert!(queue.admit(t(0), t(0), 1000));
        assert!(queue.admit(t(1), t(10), 100));
        assert!(!queue.admit(t(2), t(20), 51));
        assert!(queue.admit(t(2), t(20), 50));
    }
}
