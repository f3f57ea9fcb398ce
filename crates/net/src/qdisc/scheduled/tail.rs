//! Drop-tail on a scheduled link: for links whose rate follows a trace.

use super::{Point, Scheduled, Waiting};
use crate::rule::{Rule, limit};
use std::collections::VecDeque;
use units::Time;

/// A first-in-first-out queue with a limit on the waiting packets; the packet in transmission does not count.
#[derive(Clone, Debug)]
pub struct TailDrop {
    most_packets: u64,
    most_bytes: u64,
    /// At one instant departures precede arrivals in any case.
    pub(crate) departures_first: bool,
    bytes: u64,
    waiting: VecDeque<Waiting>,
}

impl TailDrop {
    /// At most `packets` packets and `bytes` bytes wait.
    pub fn new(packets: u64, bytes: u64) -> TailDrop {
        TailDrop {
            most_packets: packets,
            most_bytes: bytes,
            departures_first: false,
            bytes: 0,
            waiting: VecDeque::new(),
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
    #[inline]
    pub(crate) fn head(&self) -> Option<&Waiting> {
        self.waiting.front()
    }

    /// Accepts the packet if there is room for it; if the transmitter is `idle`, in any case.
    #[inline]
    pub fn push(&mut self, packet: Waiting, idle: bool) -> bool {
        if !(self.has_room(packet.packet.size) || idle) {
            return false;
        }
        self.bytes += packet.packet.size as u64;
        self.waiting.push_back(packet);
        true
    }

    /// Whether a packet of `size` bytes has room.
    #[inline]
    pub(crate) fn has_room(&self, size: u32) -> bool {
        (self.waiting.len() as u64) < self.most_packets
            && self.bytes.saturating_add(size as u64) <= self.most_bytes
    }

    /// Whether at least one `part`-th of its limit is used.
    pub(crate) fn is_filled(&self, part: u64) -> bool {
        self.waiting.len() as u64 >= self.most_packets / part || self.bytes >= self.most_bytes / part
    }

    /// Why it has just refused a packet of `size` bytes.
    pub(crate) fn full(&self, size: u32) -> Rule {
        Rule::Full {
            packets: self.waiting.len() as u64,
            packet_limit: limit(self.most_packets),
            bytes: self.bytes,
            byte_limit: limit(self.most_bytes),
            size,
        }
    }

    #[inline]
    pub(crate) fn last(&self) -> Option<&Waiting> {
        self.waiting.back()
    }

    /// Removes all packets, the oldest first.
    pub(crate) fn drain(&mut self) -> Vec<Waiting> {
        self.bytes = 0;
        self.waiting.drain(..).collect()
    }

    /// Removes the oldest packet.
    #[inline]
    pub fn pop(&mut self) -> Option<Waiting> {
        let packet = self.waiting.pop_front()?;
        self.bytes -= packet.packet.size as u64;
        Some(packet)
    }
}

impl Scheduled for TailDrop {
    #[inline]
    fn enqueue(&mut self, packet: Waiting, idle: bool, _drops: &mut Vec<Waiting>) -> bool {
        self.push(packet, idle)
    }

    #[inline]
    fn dequeue(&mut self, _now: Time, _drops: &mut Vec<Waiting>) -> Option<Waiting> {
        self.pop()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn drain(&mut self) -> Vec<Waiting> {
        TailDrop::drain(self)
    }

    fn rule(&self, packet: &Waiting, _now: Time, _point: Point) -> Option<Rule> {
        Some(self.full(packet.packet.size))
    }
}
