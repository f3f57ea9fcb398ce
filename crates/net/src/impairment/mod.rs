//! Impairments, one file for each: packet losses that do not come from the queue.

mod bernoulli;
mod gilbert_elliott;
mod scripted;

pub use bernoulli::Bernoulli;
pub use gilbert_elliott::GilbertElliott;
pub use scripted::List;

use crate::model::{Model, field};
use crate::packet::Packet;
use crate::tap::DropReason;

/// The impairment of a link.
#[derive(Clone, Debug, Default)]
pub enum Impairment {
    /// No impairment.
    #[default]
    None,
    /// Independent losses.
    Bernoulli(Bernoulli),
    /// Losses in bursts.
    GilbertElliott(GilbertElliott),
    /// Named packets.
    List(List),
}

impl Impairment {
    /// Whether the link has an impairment.
    pub fn is_some(&self) -> bool {
        !matches!(self, Impairment::None)
    }

    /// Called before the queue: the reason if the packet is dropped, and then it never enters the queue.
    #[inline]
    pub fn before(&mut self, packet: &Packet) -> Option<DropReason> {
        match self {
            Impairment::List(list) => list.drops(packet).then_some(DropReason::List),
            _ => None,
        }
    }

    /// Called after the queue: the reason if the packet is lost, after its transmission.
    #[inline]
    pub fn after(&mut self) -> Option<DropReason> {
        let lost = match self {
            Impairment::Bernoulli(b) => b.loses(),
            Impairment::GilbertElliott(g) => g.loses(),
            _ => false,
        };
        lost.then_some(DropReason::Loss)
    }
}

/// Descriptions of the impairments.
pub const IMPAIRMENTS: &[Model] = &[
    Model { name: "none", summary: "no loss", source: "", params: &[] },
    Model {
        name: "bernoulli",
        summary: "independent losses, after the queue",
        source: "",
        params: &[field("rate", "", "", "probability per packet [0 to 1]")],
    },
    Model {
        name: "gilbert_elliott",
        summary: "losses in bursts, after the queue; starts in the good state",
        source: "Gilbert 1960, Elliott 1963",
        params: &[
            field("p", "", "", "probability good to bad, per packet [0 to 1]"),
            field("r", "", "", "probability bad to good, per packet [0 to 1]"),
            field("loss_good", "0", "", "probability of loss in the good state [0 to 1]"),
            field("loss_bad", "1", "", "probability of loss in the bad state [0 to 1]"),
        ],
    },
    Model {
        name: "list",
        summary: "drops listed data packets of a flow at this link, before the queue; for tests",
        source: "",
        params: &[
            field("flow", "", "", "name of the flow"),
            field("packets", "", "", "positions of the packets, from 0, including the SYN"),
        ],
    },
];
