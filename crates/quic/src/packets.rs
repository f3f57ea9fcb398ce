//! The packets of the application data space that are neither acknowledged nor lost.

use std::collections::VecDeque;
use units::{PS_PER_NS, Time};

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct SentPacket {
    /// When.
    pub at: Time,
    /// Bytes that count as in flight; zero if none do.
    pub size: u16,
    /// Whether the receiver must acknowledge it.
    pub elicits_ack: bool,
    outstanding: bool,
}

impl SentPacket {
    pub fn new(at: Time, size: u16, elicits_ack: bool) -> SentPacket {
        SentPacket { at, size, elicits_ack, outstanding: true }
    }
}

/// The packets from the oldest outstanding one on, by packet number.
#[derive(Debug, Default)]
pub(crate) struct SentPackets {
    first: u64,
    packets: VecDeque<SentPacket>,
    eliciting: u32,
    acknowledged: u64,
}

impl SentPackets {
    /// The lowest number that may be outstanding.
    pub fn first(&self) -> u64 {
        self.first
    }
    /// The number after the last packet sent.
    pub fn next(&self) -> u64 {
        self.first + self.packets.len() as u64
    }
    /// Packets outstanding that elicit an ACK.
    pub fn outstanding(&self) -> u32 {
        self.eliciting
    }

    /// Packets acknowledged so far.
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Packet `number` is sent; numbers grow, and the stack leaves some out.
    pub fn insert(&mut self, number: u64, packet: SentPacket) {
        if self.packets.is_empty() {
            self.first = number;
        }
        while self.next() < number {
            self.packets.push_back(SentPacket { outstanding: false, elicits_ack: false, size: 0, ..packet });
        }
        debug_assert_eq!(self.next(), number);
        self.eliciting += packet.elicits_ack as u32;
        self.packets.push_back(packet);
    }

    /// Removes the outstanding packets `low..=high`, the highest first, and calls `each` for them.
    pub fn acknowledge(&mut self, low: u64, high: u64, mut each: impl FnMut(u64, SentPacket)) {
        let (low, end) = (low.max(self.first), self.next().min(high.saturating_add(1)));
        for number in (low..end).rev() {
            let Some(packet) = self.packets.get_mut((number - self.first) as usize) else { return };
            if std::mem::take(&mut packet.outstanding) {
                self.eliciting -= packet.elicits_ack as u32;
                self.acknowledged += 1;
                each(number, *packet);
            }
        }
    }

    /// Removes the packets that the stack declared lost: `bytes` bytes, of which the last were sent at `sent`, in
    /// the resolution of the stack. A packet is
    /// lost by its number or by its age (RFC 9002 section 6.1), and both order packets in the same way; so those lost are
    /// always the oldest outstanding ones. Appends the numbers of those that elicit an ACK to `lost`. Returns false, and
    /// removes nothing, if these packets were not of this space.
    pub fn lose(&mut self, bytes: u64, sent: Time, lost: &mut Vec<u64>) -> bool {
        let mut left = bytes;
        let count = self.packets.iter().position(|packet| {
            left = left.wrapping_sub(if packet.outstanding { packet.size as u64 } else { 0 });
            left == 0 || left > bytes
        });
        let Some(last) = count else { return false };
        if left != 0 || self.packets[last].at.ps() / PS_PER_NS != sent.ps() / PS_PER_NS {
            return false;
        }
        for (index, packet) in self.packets.iter_mut().enumerate().take(last + 1) {
            if std::mem::take(&mut packet.outstanding) && packet.elicits_ack {
                self.eliciting -= 1;
                lost.push(self.first + index as u64);
            }
        }
        true
    }

    /// Forgets the packets before the oldest outstanding one.
    pub fn trim(&mut self) {
        while self.packets.front().is_some_and(|packet| !packet.outstanding) {
            self.packets.pop_front();
            self.first += 1;
        }
    }
}
