//! What a radio network hands out: packets at the end of their paths, steps for observers, counts.

use super::fate::PacketFate;
use crate::packet::{Packet, PacketKind};
use units::{Span, Time};

/// The kinds of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Request to send.
    Rts,
    /// Clear to send.
    Cts,
    /// Data, unicast or broadcast.
    Data,
    /// Acknowledgement.
    Ack,
}

/// What the radio hands to whoever drives it.
#[derive(Clone, Copy, Debug)]
pub enum RadioOutput {
    /// A packet is at the end of its path. Copies of it may still be on the air.
    Delivered(Packet, u32),
    /// No copy of a packet is left.
    Gone(Packet),
}

/// What a frame carries, for observers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// It is a control frame.
    None,
    /// A flow's packet.
    Data {
        /// Which flow.
        flow: u32,
        /// Data or ACK.
        kind: PacketKind,
        /// Its number.
        seq: u32,
    },
    /// A routing message.
    Routing,
    /// An address is asked for or told.
    Arp,
}

/// A step that observers see.
#[derive(Clone, Debug, PartialEq)]
pub enum RadioStep {
    /// A frame is sent.
    Transmit {
        /// Which kind.
        kind: FrameKind,
        /// To whom; none for everybody.
        to: Option<u32>,
        /// When its last bit leaves.
        until: Time,
        /// For how long it reserves the medium from then on.
        duration: Span,
        /// It was contended for; replies and what follows a CTS are not.
        contended: bool,
        /// What it carries.
        load: Load,
    },
    /// A packet is at the end of its path.
    Deliver {
        /// Which flow's.
        flow: u32,
    },
    /// A copy of a packet is dropped.
    Drop {
        /// Which flow's.
        flow: u32,
        /// Why.
        fate: PacketFate,
    },
    /// A node's route changed: to whom, and over which neighbour if there is one.
    Route {
        /// The destination.
        to: u32,
        /// The next hop.
        next: Option<u32>,
        /// Nodes that now pass what goes there round in a circle; none, or something is wrong.
        circle: Option<Vec<u32>>,
    },
}

/// A step, when and where.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioEvent {
    /// When.
    pub at: Time,
    /// At which node.
    pub node: u32,
    /// What.
    pub step: RadioStep,
}

/// What the radio counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RadioCounts {
    /// Data packets that sources handed to it.
    pub offered: u64,
    /// Distinct data packets that reached the end of their path.
    pub received: u64,
    /// Hops that these had made.
    pub received_hops: u64,
    /// Packets of any kind that had to be given up, by [`PacketFate::DROPS`]: no copy of them arrived.
    pub dropped: [u64; PacketFate::DROPS.len()],
    /// The same, data packets alone.
    pub dropped_data: [u64; PacketFate::DROPS.len()],
    /// Packets of any kind that sources handed to it, and those that reached the end of their path.
    pub packets: (u64, u64),
    /// Transmissions of routing messages asked of the link layer.
    pub routing: u64,
    /// Unicast data frames received, once each.
    pub hops: u64,
    /// Receptions addressed to a station that another signal spoilt.
    pub collisions: u64,
    /// Frames not answered because the station or its medium was busy.
    pub busy: u64,
    /// Data frames received again.
    pub duplicates: u64,
    /// Frames given up after the last attempt.
    pub retries_exhausted: u64,
}
