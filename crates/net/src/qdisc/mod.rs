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

use crate::model::{Field, Model, field};

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
    Model {
        name: "droptail",
        summary: "first in, first out",
        source: "ns-2's limit_ q is \"(q-1)p\"",
        params: &[LIMIT],
    },
    Model {
        name: "red",
        summary: "random early detection, gentle, adaptive, with ECN marks",
        source: "Floyd and Jacobson 1993; as in ns-2.35",
        params: &[
            LIMIT,
            field(
                "min",
                "5p",
                "",
                "average below which no packet is dropped; \"auto\" as in ns-2; in bytes if the limit is",
            ),
            field("max", "15p", "", "average at which the probability is max_p; \"auto\": three times min"),
            field("max_p", "0.1", "", "probability at max [0.000001 to 1]"),
            field(
                "weight",
                "0.002",
                "",
                "weight of the current length in the average [1e-9 to 1], or \"auto\"",
            ),
            field("gentle", "true", "", "between max and twice max the probability grows to 1"),
            field("wait", "true", "", "wait between drops (ns-2's wait_)"),
            field(
                "mean_packet",
                "1000",
                "bytes",
                "size of a typical packet [1 to 65535], for byte mode, idle time and automatic settings",
            ),
            field("ecn", "false", "", "mark ECN-capable packets instead of dropping them"),
            field("mark_p", "0.1", "", "above this probability ECN-capable packets are dropped too [0 to 2]"),
            field("adaptive", "false", "", "adapt max_p so that the average stays between the thresholds"),
            field(
                "feng",
                "false",
                "",
                "max_p is divided by three when the average falls below min, doubled when it rises above max (Feng et al. 1999)",
            ),
            field("ns2_gentle_slope", "false", "", "the slope above max keeps the initial max_p, as in ns-2"),
            field("count_in_service", "false", "", "the packet in transmission counts in the average"),
        ],
    },
];

const LIMIT: Field = field(
    "limit",
    "",
    "packets, bytes or BDP",
    "limit on the waiting packets, without the packet in transmission: \"50p\", \"64kB\" or \"1bdp\"",
);
