//! What stations carry: packets and messages, shared by the copies of them that are under way.

use super::PacketFate;
use crate::packet::Packet;
use units::Time;

/// In place of a neighbour: everybody.
pub(super) const BROADCAST: u32 = u32::MAX;
/// In place of a neighbour: nobody.
pub(super) const NOWHERE: u32 = u32::MAX - 1;

/// A route request of AODV.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    /// Who asks, its number of the request, and its own sequence number.
    pub source: u32,
    pub id: u32,
    pub source_seq: u32,
    /// What for, and the last sequence number known of it.
    pub target: u32,
    pub target_seq: Option<u32>,
    /// Hops from the source to whoever receives this.
    pub hops: u16,
    /// When it was asked.
    pub asked: Time,
}

/// A route reply of AODV, or a hello.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reply {
    /// To whom it goes.
    pub source: u32,
    /// The path to this node, its sequence number, and hops to it from whoever receives this.
    pub target: u32,
    pub target_seq: u32,
    pub hops: u16,
    /// How long the path holds.
    pub lifetime: units::Span,
    /// When it was asked for.
    pub asked: Time,
    pub hello: bool,
}

/// The contents of a frame.
#[derive(Clone, Debug)]
pub(super) enum Payload {
    /// A packet between the ends of a path.
    Data {
        packet: Packet,
        path: u32,
        delivered: bool,
        /// What the last one to drop a copy of it said.
        lost: Option<PacketFate>,
    },
    Request(Request),
    Reply(Reply),
    /// Nodes that can no more be reached, with their sequence numbers.
    Error(Vec<(u32, u32)>),
    /// Who has the address of `target`?
    ArpRequest {
        from: u32,
        target: u32,
    },
    /// `from` has.
    ArpReply {
        from: u32,
    },
}

/// A frame in the queue of a station: a copy of a payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct QueuedFrame {
    /// Place of the payload.
    pub payload: u32,
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

/// All payloads. One goes when the last copy of it is released.
#[derive(Default)]
pub(super) struct Store {
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
