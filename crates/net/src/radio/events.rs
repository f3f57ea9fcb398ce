//! Outputs of a radio network: packets at the end of their paths, steps for observers, and counters.

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

/// An output of the radio network.
#[derive(Clone, Copy, Debug)]
pub enum RadioOutput {
    /// A packet is at the end of its path. The radio network may still contain copies of the packet.
    Delivered(Packet, u32),
    /// No copy of a packet is left.
    Gone(Packet),
}

impl RadioOutput {
    pub(crate) fn packet(&self) -> &Packet {
        match self {
            RadioOutput::Delivered(packet, _) | RadioOutput::Gone(packet) => packet,
        }
    }
}

/// The contents of a frame, for observers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameContents {
    /// It is a control frame.
    None,
    /// A flow's packet.
    Data {
        /// Which flow.
        flow: u32,
        /// The kind of the packet.
        kind: PacketKind,
        /// Its number.
        seq: u32,
    },
    /// A routing message.
    Routing,
    /// An ARP request or an ARP reply.
    Arp,
}

/// A step that observers see.
#[derive(Clone, Debug, PartialEq)]
pub enum RadioStep {
    /// A frame is sent.
    Transmit {
        /// The kind of the frame.
        kind: FrameKind,
        /// The receiver, or `None` for a broadcast.
        to: Option<u32>,
        /// The end of the transmission.
        until: Time,
        /// Time for which the frame reserves the medium after its end.
        duration: Span,
        /// The station contended for the medium. It sends replies, and data after a CTS, without contention.
        contended: bool,
        /// The contents of the frame.
        load: FrameContents,
    },
    /// A packet is at the end of its path.
    Deliver {
        /// The flow of the packet.
        flow: u32,
    },
    /// A copy of a packet is dropped.
    Drop {
        /// The flow of the packet.
        flow: u32,
        /// The reason of the drop.
        fate: PacketFate,
    },
    /// A route of a node changed.
    Route {
        /// The destination.
        to: u32,
        /// The next hop, if there is a route.
        next: Option<u32>,
        /// The nodes of a routing loop towards `to`, if there is one. A loop indicates an error.
        circle: Option<Vec<u32>>,
    },
}

/// A step with its time and its node.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioEvent {
    /// Time of the step.
    pub at: Time,
    /// Node of the step.
    pub node: u32,
    /// The step.
    pub step: RadioStep,
}

/// Counters of a radio network.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RadioCounts {
    /// Data packets that sources sent.
    pub offered: u64,
    /// Distinct data packets that reached the end of their path.
    pub received: u64,
    /// Sum of the hops of these packets.
    pub received_hops: u64,
    /// Lost packets of any kind, by reason ([`PacketFate::DROPS`]). No copy of a lost packet was delivered.
    pub dropped: [u64; PacketFate::DROPS.len()],
    /// The same, data packets alone.
    pub dropped_data: [u64; PacketFate::DROPS.len()],
    /// Packets of any kind that sources sent, and packets of any kind that reached the end of their path.
    pub packets: (u64, u64),
    /// Routing messages that nodes passed to the link layer.
    pub routing: u64,
    /// Unicast data frames that stations received, without duplicates.
    pub hops: u64,
    /// Receptions addressed to a station that were lost because another signal overlapped.
    pub collisions: u64,
    /// Frames without a reply because the station or the medium was busy.
    pub busy: u64,
    /// Unicast data frames that a station received more than once.
    pub duplicates: u64,
    /// Frames that a station gave up after the last attempt.
    pub retries_exhausted: u64,
}
