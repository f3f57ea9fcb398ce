//! Impairments, one file each: what happens to packets beyond queueing.

mod bernoulli;
mod gilbert_elliott;
mod scripted;

pub use bernoulli::Bernoulli;
pub use gilbert_elliott::GilbertElliott;
pub use scripted::List;

use crate::model::{Model, field};
use crate::packet::Packet;
use crate::tap::DropReason;

/// What becomes of a packet at a link, besides its queue.
#[derive(Clone, Debug, Default)]
pub enum Impairment {
    /// Nothing.
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
    /// Whether there is anything to ask.
    pub fn is_some(&self) -> bool {
        !matches!(self, Impairment::None)
    }

    /// Before the queue: a packet dropped here never enters it.
    #[inline]
    pub fn before(&mut self, packet: &Packet) -> Option<DropReason> {
        match self {
            Impairment::List(list) => list.drops(packet).then_some(DropReason::List),
            _ => None,
        }
    }

    /// After the queue: a packet lost here has used the link.
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

/// The impairments, for lists.
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
        summary: "drops the n-th data packets of a flow at this link, before the queue: for tests",
        source: "",
        params: &[
            field("flow", "", "", "its name"),
            field("packets", "", "", "numbers counted from 0, the SYN included"),
        ],
    },
];
