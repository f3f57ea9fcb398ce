//! Packets between the queue of a user and the end of the radio part: cut into transport blocks, put together again, released
//! in order (RLC and PDCP).

use crate::qdisc::scheduled::Waiting;
use crate::tap::DropReason;
use crate::turn::Released;
use std::collections::VecDeque;
use units::{Span, Time};

/// Bytes that MAC and RLC add to a packet or to each part of one in a block.
pub const PART_HEADER: u32 = 3;
/// Bytes that PDCP adds to a packet.
pub const PACKET_HEADER: u32 = 2;

/// A part of a packet.
#[derive(Clone, Copy, Debug)]
pub struct PacketPart {
    /// Number of the packet.
    number: u32,
    bytes: u32,
}

/// A packet between the queue and the receiver.
#[derive(Clone, Debug)]
struct Place {
    packet: Waiting,
    /// Bytes that no block has carried yet, and those that have not arrived.
    unsent: u32,
    missing: u32,
    lost: Option<DropReason>,
    /// When its last byte arrived, or when the receiver knows that it is lost.
    complete: Time,
}

/// The packets of a direction between its queue and its far end.
#[derive(Clone, Debug, Default)]
pub struct Order {
    /// The packets from `first` on.
    places: VecDeque<Place>,
    first: u32,
    /// Parts to send again, with the first slot in which they can be sent.
    retransmissions: VecDeque<(u64, PacketPart)>,
    /// Time that complete packets have waited behind others.
    pub held_back: Span,
}

impl Order {
    /// Packets that have left the queue and not yet the receiver.
    pub fn outstanding(&self) -> u64 {
        self.places.len() as u64
    }

    /// The first slot in which something can be sent again.
    pub fn next_retransmission(&self) -> Option<u64> {
        self.retransmissions.front().map(|(slot, _)| *slot)
    }

    /// Bytes of the last packet that no block has carried yet.
    fn unsent(&self) -> u32 {
        self.places.back().map_or(0, |place| place.unsent)
    }

    /// Whether a block of slot `slot` can carry something without a packet from the queue.
    pub fn has_parts(&self, slot: u64) -> bool {
        self.unsent() > 0 || self.next_retransmission().is_some_and(|from| from <= slot)
    }

    /// Whether blocks have carried everything, and nothing is to be sent again.
    pub fn is_sent(&self) -> bool {
        self.unsent() == 0 && self.retransmissions.is_empty()
    }

    /// Bytes that are still to be sent, with the headers of their parts.
    pub fn bytes(&self) -> u64 {
        let retransmissions =
            self.retransmissions.iter().map(|(_, part)| (part.bytes + PART_HEADER) as u64).sum::<u64>();
        let unsent = self.unsent();
        retransmissions + if unsent > 0 { (unsent + PART_HEADER) as u64 } else { 0 }
    }

    /// A packet has left the queue.
    pub fn push(&mut self, packet: Waiting) {
        let bytes = packet.packet.size + PACKET_HEADER;
        let place = Place { packet, unsent: bytes, missing: bytes, lost: None, complete: Time::ZERO };
        self.places.push_back(place);
    }

    /// A packet has left the queue and is lost at a handover.
    pub fn push_lost(&mut self, packet: Waiting, now: Time) {
        self.places.push_back(Place {
            packet,
            unsent: 0,
            missing: 0,
            lost: Some(DropReason::Handover),
            complete: now,
        });
    }

    /// Fills a block of slot `slot`, in which `room` bytes are left, with parts that wait. Returns the room that is left.
    pub fn fill(&mut self, slot: u64, mut room: u32, parts: &mut Vec<PacketPart>) -> u32 {
        while room > PART_HEADER && self.has_parts(slot) {
            let limit = room - PART_HEADER;
            let part = match self.retransmissions.front_mut().filter(|(from, _)| *from <= slot) {
                Some((_, part)) => {
                    let bytes = part.bytes.min(limit);
                    part.bytes -= bytes;
                    let part = PacketPart { number: part.number, bytes };
                    if self.retransmissions.front().is_some_and(|(_, rest)| rest.bytes == 0) {
                        self.retransmissions.pop_front();
                    }
                    part
                }
                None => {
                    let number = self.first + self.places.len() as u32 - 1;
                    let Some(place) = self.places.back_mut() else { break };
                    let bytes = place.unsent.min(limit);
                    place.unsent -= bytes;
                    PacketPart { number, bytes }
                }
            };
            room -= part.bytes + PART_HEADER;
            parts.push(part);
        }
        room
    }

    /// A block with these parts has arrived at `now`.
    pub fn arrived(&mut self, parts: &[PacketPart], now: Time) {
        for part in parts {
            let place = &mut self.places[(part.number - self.first) as usize];
            place.missing -= part.bytes;
            if place.missing == 0 {
                place.complete = place.complete.max(now);
            }
        }
    }

    /// A block with these parts was given up: they are sent again from slot `from` on.
    pub fn send_again(&mut self, parts: Vec<PacketPart>, from: u64) {
        let first = self.retransmissions.partition_point(|(slot, _)| *slot <= from);
        for (index, part) in parts.into_iter().enumerate() {
            self.retransmissions.insert(first + index, (from, part));
        }
    }

    /// A block with these parts was given up: their packets are lost, which the receiver knows at `at`.
    pub fn lose(&mut self, parts: &[PacketPart], at: Time) {
        for part in parts {
            let place = &mut self.places[(part.number - self.first) as usize];
            place.missing -= part.bytes;
            place.lost = Some(DropReason::Rlc);
            place.complete = place.complete.max(at);
        }
    }

    /// All packets that are not complete are lost at a handover at `now`.
    pub fn lose_all(&mut self, now: Time) {
        self.retransmissions.clear();
        for place in &mut self.places {
            if place.missing > 0 {
                place.lost = Some(DropReason::Handover);
            }
            (place.unsent, place.missing, place.complete) = (0, 0, place.complete.max(now));
        }
    }

    /// Releases the packets that are complete at `now`, up to the first that is not.
    pub fn release(&mut self, now: Time, mut released: impl FnMut(Released)) {
        while let Some(place) = self.places.front() {
            if place.missing > 0 || place.complete > now {
                break;
            }
            let held = if place.lost.is_some() { Span::ZERO } else { now.since(place.complete) };
            if let Some(place) = self.places.pop_front() {
                self.first += 1;
                self.held_back = self.held_back + held;
                released(Released { packet: place.packet, lost: place.lost });
            }
        }
    }
}
