//! Observers of packets. A tap that is off costs nothing: it is a type parameter, not a flag.

use crate::ids::LinkId;
use crate::packet::Packet;
use units::Time;

/// Why a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The queue was full.
    Queue,
    /// A transmission error, after the queue.
    Loss,
    /// Named in a list for a test, before the queue.
    List,
    /// A terminal changed its satellite, after the queue.
    Handoff,
    /// There was no path to its destination.
    Route,
}

impl Reason {
    /// Every reason, in the order of their numbers.
    pub const ALL: [Reason; 5] = [Reason::Queue, Reason::Loss, Reason::List, Reason::Handoff, Reason::Route];
    /// Whether it strikes a packet after the queue has taken it.
    pub const fn after_queue(self) -> bool {
        matches!(self, Reason::Loss | Reason::Handoff)
    }
    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::Queue => "queue",
            Reason::Loss => "loss",
            Reason::List => "list",
            Reason::Handoff => "handoff",
            Reason::Route => "route",
        }
    }
}

/// A step of a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketStep {
    /// Accepted by the queue.
    Enqueue,
    /// Dropped.
    Drop(Reason),
    /// The last bit left.
    Depart,
    /// Arrived at the far end.
    Deliver,
}

/// One step of one packet. Departures and losses, and arrivals over fused links, are told when the packet is enqueued,
/// with the time at which they will happen.
#[derive(Clone, Copy, Debug)]
pub struct PacketEvent {
    /// When it happens.
    pub at: Time,
    /// On which link.
    pub link: LinkId,
    /// What happens.
    pub step: PacketStep,
    /// To which packet.
    pub packet: Packet,
    /// Where links move, the node at which a packet arrives; otherwise none: it is the link's end.
    pub node: Option<u32>,
}

/// Sees every step of every packet.
pub trait Tap {
    /// Whether packets are looked at; if not, no event is made.
    const PACKETS: bool;
    /// A step of a packet.
    fn packet(&mut self, event: &PacketEvent);
}

/// Sees nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTap;

impl Tap for NoTap {
    const PACKETS: bool = false;
    fn packet(&mut self, _event: &PacketEvent) {}
}
