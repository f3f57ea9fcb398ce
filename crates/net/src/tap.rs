//! Observers of packet events. The observer is a type parameter, so a run without one has no cost.

use crate::ids::LinkId;
use crate::packet::Packet;
use crate::rule::RuleEvent;
use crate::transmission::Transmission;
use units::Time;

/// Defines the enum of drop reasons with their names and descriptions. Add new reasons here.
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
            /// Its description.
            pub const fn words(self) -> &'static str {
                match self { $(DropReason::$variant => $words,)* }
            }
            /// Whether the queue dropped the packet, at its arrival or later, and not another cause.
            pub const fn by_queue(self) -> bool {
                matches!(self, DropReason::Queue | DropReason::Aqm)
            }
            /// Whether it applies after the queue has accepted the packet: by the discipline while it waits ([`DropReason::Aqm`]),
            /// or after its transmission.
            pub const fn after_queue(self) -> bool {
                match self { $(DropReason::$variant => $after_queue,)* }
            }
        }
    };
}

drop_reasons! {
    Queue "queue" "the queue was full or its discipline dropped the packet" false;
    Loss "loss" "lost on the link" true;
    List "list" "dropped by a scripted loss" false;
    Handoff "handoff" "a terminal changed its satellite" true;
    Route "route" "there was no path to its destination" false;
    Aqm "aqm" "the queue discipline dropped it after the queue had accepted it" true;
    Policer "policer" "the policer had no tokens for it" false;
    Retry "retry" "its MPDU was lost in its last attempt (Wi-Fi)" true;
    Rlc "rlc" "its transport block was lost in its last attempt (cell)" true;
    Handover "handover" "lost at a handover (cell)" true;
}

/// A step of a packet on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketStep {
    /// Accepted by the queue.
    Enqueue,
    /// Dropped.
    Drop(DropReason),
    /// The last bit of the packet left the transmitter.
    Depart,
    /// Arrived at the far end.
    Deliver,
}

/// One step of one packet. Departures, losses and arrivals over fused links are reported when the packet is enqueued,
/// with their time in the future.
#[derive(Clone, Copy, Debug)]
pub struct PacketEvent {
    /// Time of the step.
    pub at: Time,
    /// The link.
    pub link: LinkId,
    /// The step.
    pub step: PacketStep,
    /// The packet.
    pub packet: Packet,
    /// For moving links, the node at which the packet arrives; `None` otherwise, if it is the fixed end of the link.
    pub node: Option<u32>,
}

/// Receives every step of every packet.
pub trait Tap {
    /// Whether packet events are needed; if not, none is created.
    const PACKETS: bool;
    /// A step of a packet.
    fn packet(&mut self, event: &PacketEvent);
    /// Whether [`Tap::rule`] is needed; not read unless packet events are needed.
    fn wants_rules(&self) -> bool {
        false
    }
    /// A packet is dropped or marked by a rule of a queue or an impairment.
    fn rule(&mut self, _event: RuleEvent) {}
    /// Whether [`Tap::transmission`] is needed; not read unless packet events are needed.
    fn wants_transmissions(&self) -> bool {
        false
    }
    /// A transmission on a Wi-Fi channel or in a cell begins. Those of one medium come in the order of their times; their results
    /// are known at once.
    fn transmission(&mut self, _transmission: &Transmission) {}
}

/// An observer that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoTap;

impl Tap for NoTap {
    const PACKETS: bool = false;
    fn packet(&mut self, _event: &PacketEvent) {}
}
