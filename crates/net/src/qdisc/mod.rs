//! Queue disciplines, one file each.
//!
//! A discipline here decides at the arrival of a packet and serves first in, first out, so the start of the
//! transmission is known at the arrival.

mod droptail;
mod fifo;
mod offer;
mod red;

pub use droptail::DropTail;
pub use offer::{Admission, Offer};
pub use red::{Red, RedConfig};

use crate::model::Model;

/// The queue of a link.
#[derive(Clone, Debug, Default)]
pub enum Qdisc {
    /// Accepts every packet.
    #[default]
    Unlimited,
    /// Drops packets above its limit.
    DropTail(DropTail),
    /// Marks or drops packets before the queue is full.
    Red(Box<Red>),
}

impl Qdisc {
    /// Decides on a packet; `ect` is true if it is ECN-capable.
    #[inline(always)] // or a packet pays a call for it
    pub fn admit(&mut self, offer: &Offer, ect: bool) -> Admission {
        match self {
            Qdisc::Unlimited => Admission::Take,
            Qdisc::DropTail(queue) => {
                if queue.admit(offer) {
                    Admission::Take
                } else {
                    Admission::Refuse
                }
            }
            Qdisc::Red(queue) => queue.admit(offer, ect),
        }
    }
}

/// Descriptions of the disciplines.
pub const QDISCS: &[Model] = &[
    Model { name: "droptail", summary: "first in, first out", source: "ns-2's limit_ q is \"(q-1)p\"" },
    Model {
        name: "red",
        summary: "random early detection, gentle, adaptive, with ECN marks",
        source: "Floyd and Jacobson 1993; as in ns-2.35",
    },
];
