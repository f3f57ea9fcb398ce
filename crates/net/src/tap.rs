//! Observers of packets. A tap that is off costs nothing: it is a type parameter, not a flag.

use crate::ids::LinkId;
use crate::packet::Packet;
use units::Time;

/// Makes the enum of drop reasons, with their names and words: the one place where a reason is added.
macro_rules! drop_reasons {
    ($($variant:ident $name:literal $words:literal $after_queue:literal;)*) => {
        /// Why a packet was dropped.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum DropReason {
            $(#[doc = $words] $variant,)*
        }

        impl DropReason {
            /// Every reason, in the order of their numbers.
            pub const ALL: [DropReason; [$($name),*].len()] = [$(DropReason::$variant),*];
            /// Its name in outputs.
            pub const fn name(self) -> &'static str {
                match self { $(DropReason::$variant => $name,)* }
            }
            /// What it means.
            pub const fn words(self) -> &'static str {
                match self { $(DropReason::$variant => $words,)* }
            }
            /// Whether it strikes a packet after the queue has taken it.
            pub const fn after_queue(self) -> bool {
                match self { $(DropReason::$variant => $after_queue,)* }
            }
        }
    };
}

drop_reasons! {
    Queue "queue" "the queue was full or chose it" false;
    Loss "loss" "a transmission error" true;
    List "list" "named in a list" false;
    Handoff "handoff" "a terminal changed its satellite" true;
    Route "route" "there was no path to its destination" false;
}

/// A step of a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketStep {
    /// Accepted by the queue.
    Enqueue,
    /// Dropped.
    Drop(DropReason),
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
