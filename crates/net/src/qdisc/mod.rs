//! Queue disciplines, one file each.
//!
//! A discipline here decides on arrival and serves first in, first out, so the time at which a packet's
//! transmission starts is known when it arrives.

mod droptail;
mod fifo;
mod red;

pub use droptail::DropTail;
pub use red::{Red, RedConfig};

use fifo::Fifo;

use units::Time;

/// The queue of a link.
#[derive(Clone, Debug, Default)]
pub enum Qdisc {
    /// Takes everything.
    #[default]
    Unlimited,
    /// Refuses what does not fit.
    DropTail(DropTail),
    /// Marks or drops before it is full.
    Red(Box<Red>),
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is taken.
    Take,
    /// It is taken, and marked: congestion experienced (RFC 3168).
    Mark,
    /// It is dropped.
    Refuse,
}

/// A packet that asks to be taken.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// The time.
    pub now: Time,
    /// When the transmitter will have sent what it has taken so far; in the past if it is idle.
    pub free_at: Time,
    /// Bytes on the wire.
    pub size: u32,
    /// When the event was scheduled that brings the packet here: the beginning of its transmission (or its
    /// cause's) over the link before. Zero if a timer brings it.
    pub cause: Time,
}

impl Offer {
    /// Whether this arrival comes before a departure of the same instant, whose transmission began at
    /// `serving_since`: events of one instant happen in the order in which they were scheduled, and an
    /// arrival or departure is scheduled when its transmission begins. (ns-2 has this order too.)
    #[inline]
    pub fn before_departure(&self, serving_since: Time) -> bool {
        self.cause < serving_since
    }
}

impl Qdisc {
    /// What becomes of a packet; `ect`: its sender knows ECN.
    #[inline]
    pub fn admit(&mut self, offer: &Offer, ect: bool) -> Verdict {
        match self {
            Qdisc::Unlimited => Verdict::Take,
            Qdisc::DropTail(queue) => {
                if queue.admit(offer) {
                    Verdict::Take
                } else {
                    Verdict::Refuse
                }
            }
            Qdisc::Red(queue) => queue.admit(offer, ect),
        }
    }
}

/// Names and parameters for lists: (name, parameters, source).
pub const QDISCS: &[(&str, &str, &str)] = &[
    (
        "droptail",
        "limit: what may wait, the packet in transmission not included: \"50p\", \"64kB\" or \"1bdp\"; no default",
        "first in, first out; ns-2's limit_ q is \"(q-1)p\"",
    ),
    (
        "red",
        "limit: as above, no default; in bytes, everything is in bytes; min = \"5p\", max = \"15p\" (or \"auto\", as ns-2 \
         sets them); max_p = 0.1; weight = 0.002 (or \"auto\"); gentle = true; wait = true; mean_packet = 1000 bytes; \
         ecn = false; mark_p = 0.1: above it ECN does not save a packet; adaptive = false; feng, \
         ns2_gentle_slope, count_in_service = false",
        "random early detection (Floyd and Jacobson 1993), gentle, adaptive, with ECN marks; as in ns-2.35",
    ),
];
