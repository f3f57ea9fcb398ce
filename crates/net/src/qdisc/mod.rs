//! Queue disciplines, one file each.
//!
//! A discipline in this folder decides at the arrival of a packet and serves first in, first out, so the start of the
//! transmission is known at the arrival. Those in `scheduled` decide at each departure.

mod droptail;
mod fifo;
mod offer;
mod pie;
mod red;
pub mod scheduled;

pub use droptail::DropTail;
pub use offer::{Admission, Offer};
pub use pie::{Pie, PieConfig};
pub use red::{Red, RedConfig};

use crate::model::Model;
use crate::rule::Rule;

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
    /// Drops at arrival with a probability set from the delay.
    Pie(Box<Pie>),
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
            Qdisc::Pie(queue) => queue.admit(offer, ect),
        }
    }

    /// Accepts a packet that it has just refused.
    #[cold]
    pub(crate) fn accept(&mut self, offer: &Offer) {
        match self {
            Qdisc::Unlimited => {}
            Qdisc::DropTail(queue) => queue.accept(offer),
            Qdisc::Red(queue) => queue.accept(offer),
            Qdisc::Pie(queue) => queue.accept(offer),
        }
    }

    /// Why it has just marked a packet of `size` bytes, or `dropped` it.
    pub(crate) fn rule(&self, size: u32, dropped: bool) -> Option<Rule> {
        match self {
            Qdisc::Unlimited => None,
            Qdisc::DropTail(queue) => Some(queue.rule(size)),
            Qdisc::Red(queue) => Some(queue.rule(size)),
            Qdisc::Pie(queue) => Some(queue.rule(size, dropped)),
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
    Model {
        name: "codel",
        summary: "controlled delay: drops at the head while packets wait too long",
        source: "RFC 8289",
    },
    Model { name: "fq_codel", summary: "one CoDel queue for each flow, served in turns", source: "RFC 8290" },
    Model {
        name: "pie",
        summary: "proportional integral controller enhanced: drops by a probability from the delay",
        source: "RFC 8033",
    },
    Model {
        name: "fq_pie",
        summary: "one PIE queue for each flow, served in turns",
        source: "RFC 8033 and RFC 8290; as in Linux",
    },
    Model {
        name: "dualpi2",
        summary: "coupled queues for classic and low-latency (L4S) traffic",
        source: "RFC 9332; as in Linux",
    },
];
