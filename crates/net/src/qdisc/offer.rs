//! A packet that arrives at a queue, and what the discipline answers.

use units::Time;

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
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
