//! Queue disciplines, one file each.
//!
//! A discipline here decides on arrival and serves first in, first out, so the time at which a packet's
//! transmission starts is known when it arrives.

mod droptail;

pub use droptail::DropTail;

use units::Time;

/// The queue of a link.
#[derive(Clone, Debug, Default)]
pub enum Qdisc {
    /// Takes everything.
    #[default]
    Unlimited,
    /// Refuses what does not fit.
    DropTail(DropTail),
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
    /// Whether a packet is taken.
    #[inline]
    pub fn admit(&mut self, offer: &Offer) -> bool {
        match self {
            Qdisc::Unlimited => true,
            Qdisc::DropTail(queue) => queue.admit(offer),
        }
    }
}

/// Names and parameters for lists: (name, parameters, source).
pub const QDISCS: &[(&str, &str, &str)] = &[(
    "droptail",
    "limit: what may wait, the packet in transmission not included: \"50p\", \"64kB\" or \"1bdp\"; no default",
    "first in, first out; ns-2's limit_ q is \"(q-1)p\"",
)];
