//! Impairments, one file for each: packet losses that do not come from the queue.

mod bernoulli;
mod gilbert_elliott;
mod scripted;

pub use bernoulli::Bernoulli;
pub use gilbert_elliott::GilbertElliott;
pub use scripted::Scripted;

use crate::model::Model;
use crate::packet::Packet;
use crate::tap::DropReason;

/// A cause of packet loss at a link besides its queue. A link can have several, which act independently.
#[derive(Clone, Debug)]
pub enum Impairment {
    /// Independent losses.
    Bernoulli(Bernoulli),
    /// Losses in bursts.
    GilbertElliott(GilbertElliott),
    /// Losses of listed packets.
    Scripted(Scripted),
}

impl Impairment {
    /// Whether it drops `packet` before the queue.
    #[inline]
    pub fn before(&mut self, packet: &Packet) -> Option<DropReason> {
        match self {
            Impairment::Scripted(scripted) => scripted.drops(packet).then_some(DropReason::List),
            _ => None,
        }
    }

    /// Whether it loses the next packet after the queue, so that the packet has used the link.
    #[inline]
    pub fn after(&mut self) -> bool {
        match self {
            Impairment::Bernoulli(b) => b.loses(),
            Impairment::GilbertElliott(g) => g.loses(),
            Impairment::Scripted(_) => false,
        }
    }
}

/// Descriptions of the impairments.
pub const IMPAIRMENTS: &[Model] = &[
    Model { name: "none", summary: "no loss", source: "" },
    Model { name: "bernoulli", summary: "independent losses, after the queue", source: "" },
    Model {
        name: "gilbert_elliott",
        summary: "losses in bursts, after the queue; starts in the good state",
        source: "Gilbert 1960, Elliott 1963",
    },
    Model {
        name: "scripted",
        summary: "drops listed data packets of a flow at this link, before the queue; ACKs are not dropped",
        source: "",
    },
];
