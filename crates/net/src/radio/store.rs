//! What stations carry: packets and messages, shared by the copies of them that are under way.

use super::events::Load;
use super::fate::PacketFate;
use super::routing::Message;
use crate::packet::Packet;

/// In place of a neighbour: everybody.
pub(crate) const BROADCAST: u32 = u32::MAX;
/// In place of a neighbour: nobody.
pub(crate) const NOWHERE: u32 = u32::MAX - 1;

/// The contents of a frame.
#[derive(Clone, Debug)]
pub(crate) enum Payload {
    /// A packet between the ends of a path.
    Data {
        packet: Packet,
        path: u32,
        delivered: bool,
        /// What the last one to drop a copy of it said.
        lost: Option<PacketFate>,
    },
    /// A message of a routing protocol.
    Routing(Message),
    /// Who has the address of `target`?
    ArpRequest { from: u32, target: u32 },
    /// `from` has.
    ArpReply { from: u32 },
}

impl Payload {
    /// What observers see of it.
    pub fn load(&self) -> Load {
        match self {
            Payload::Data { packet, .. } => {
                Load::Data { flow: packet.flow, kind: packet.kind, seq: packet.seq }
            }
            Payload::ArpRequest { .. } | Payload::ArpReply { .. } => Load::Arp,
            Payload::Routing(_) => Load::Routing,
        }
    }
}

/// A frame in the queue of a station: a copy of a payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct QueuedFrame {
    /// Place of the payload.
    pub payload: u32,
    /// The ends of the path of a packet; [`BROADCAST`] for messages.
    pub source: u32,
    pub target: u32,
    /// The next hop, or [`BROADCAST`].
    pub next: u32,
    /// Size above the MAC.
    pub bytes: u32,
    /// Hops that it has made.
    pub hops: u16,
    /// Hops that it may still make.
    pub ttl: u8,
    /// Routing messages pass others in the queue.
    pub urgent: bool,
}

impl QueuedFrame {
    /// A message of a node for neighbour `next`.
    pub fn message(payload: u32, next: u32, bytes: u32, ttl: u8, urgent: bool) -> QueuedFrame {
        QueuedFrame { payload, source: BROADCAST, target: BROADCAST, next, bytes, hops: 0, ttl, urgent }
    }
}

/// All payloads. One goes when the last copy of it is released.
#[derive(Default)]
pub(crate) struct Store {
    payloads: Vec<(Payload, u32)>,
    free: Vec<u32>,
}

impl Store {
    /// Takes a payload in, held once.
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
    /// One more holds it.
    #[inline]
    pub fn retain(&mut self, place: u32) {
        self.payloads[place as usize].1 += 1;
    }
    /// One fewer holds it; whether that was the last.
    #[inline]
    pub fn release(&mut self, place: u32) -> bool {
        let holders = &mut self.payloads[place as usize].1;
        debug_assert!(*holders > 0, "let go twice");
        *holders -= 1;
        if *holders == 0 {
            self.free.push(place);
        }
        *holders == 0
    }
    /// Everything that is held.
    pub fn held(&self) -> impl Iterator<Item = &Payload> {
        self.payloads.iter().filter(|(_, holders)| *holders > 0).map(|(payload, _)| payload)
    }
}
