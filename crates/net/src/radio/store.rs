//! The payloads of frames: packets and messages. All copies of a packet or message share one payload.

use super::events::FrameContents;
use super::fate::PacketFate;
use super::message::RoutingMessage;
use crate::packet::Packet;

/// The neighbour number for a broadcast.
pub(crate) const BROADCAST: u32 = u32::MAX;
/// The neighbour number for the absence of a neighbour.
pub(crate) const NO_NEXT_HOP: u32 = u32::MAX - 1;

/// The contents of a frame.
#[derive(Clone, Debug)]
pub(crate) enum Payload {
    /// A packet between the ends of a path.
    Data {
        packet: Packet,
        path: u32,
        delivered: bool,
        /// The reason of the last drop of a copy.
        lost: Option<PacketFate>,
    },
    /// A message of a routing protocol.
    Routing(RoutingMessage),
    /// An ARP request of `from` for the address of `target`.
    ArpRequest { from: u32, target: u32 },
    /// An ARP reply with the address of `from`.
    ArpReply { from: u32 },
}

impl Payload {
    /// Whether it is a packet whose bytes lie outside it.
    pub fn is_datagram(&self) -> bool {
        matches!(self, Payload::Data { packet, .. } if packet.kind.is_datagram())
    }

    /// The contents for observers.
    pub fn load(&self) -> FrameContents {
        match self {
            Payload::Data { packet, .. } => {
                FrameContents::Data { flow: packet.flow, kind: packet.kind, seq: packet.seq }
            }
            Payload::ArpRequest { .. } | Payload::ArpReply { .. } => FrameContents::Arp,
            Payload::Routing(_) => FrameContents::Routing,
        }
    }
}

/// A frame in the queue of a station: a copy of a payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QueuedFrame {
    /// Index of the payload in the [`Store`].
    pub payload: u32,
    /// The ends of the path of a packet; [`BROADCAST`] for messages.
    pub source: u32,
    pub target: u32,
    /// The next hop, or [`BROADCAST`].
    pub next: u32,
    /// Size above the MAC.
    pub bytes: u32,
    /// Number of hops so far.
    pub hops: u16,
    /// Time to live: maximum number of remaining hops.
    pub ttl: u8,
    /// The frame enters the interface queue at its head. Routing messages are priority.
    pub priority: bool,
}

impl QueuedFrame {
    /// A message of a node for neighbour `next`.
    pub fn message(payload: u32, next: u32, bytes: u32, ttl: u8, priority: bool) -> QueuedFrame {
        QueuedFrame { payload, source: BROADCAST, target: BROADCAST, next, bytes, hops: 0, ttl, priority }
    }
}

/// All payloads, with reference counts. The store frees a payload when its last copy is released.
#[derive(Clone, Default)]
pub(crate) struct Store {
    payloads: Vec<(Payload, u32)>,
    free: Vec<u32>,
}

impl Store {
    /// Stores a payload with a reference count of 1. Returns its index.
    pub fn put(&mut self, payload: Payload) -> u32 {
        match self.free.pop() {
            Some(place) => {
                self.payloads[place as usize] = (payload, 1);
                place
            }
            None => {
                self.payloads.push((payload, 1));
                self.payloads.len() as u32 - 1
            }
        }
    }
    #[inline]
    pub fn get(&self, place: u32) -> &Payload {
        &self.payloads[place as usize].0
    }
    pub fn get_mut(&mut self, place: u32) -> &mut Payload {
        &mut self.payloads[place as usize].0
    }
    /// Increments the reference count.
    #[inline]
    pub fn retain(&mut self, place: u32) {
        self.payloads[place as usize].1 += 1;
    }
    /// Decrements the reference count. Returns whether it is zero.
    #[inline]
    pub fn release(&mut self, place: u32) -> bool {
        let holders = &mut self.payloads[place as usize].1;
        debug_assert!(*holders > 0, "a payload is released more often than it is retained");
        *holders -= 1;
        if *holders == 0 {
            self.free.push(place);
        }
        *holders == 0
    }
    /// All payloads with a reference count above zero.
    pub fn held(&self) -> impl Iterator<Item = &Payload> {
        self.payloads.iter().filter(|(_, holders)| *holders > 0).map(|(payload, _)| payload)
    }
}
