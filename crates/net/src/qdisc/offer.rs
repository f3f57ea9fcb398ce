//! The arrival of a packet at a queue, and the decision of the discipline.

use units::Time;

/// The decision on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admission {
    /// Accept the packet.
    Take,
    /// Accept the packet and set its CE mark (RFC 3168).
    Mark,
    /// Drop the packet.
    Refuse,
}

/// The arrival of a packet at a queue.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// Time of the arrival.
    pub now: Time,
    /// Time at which the transmitter has sent everything accepted so far; in the past if it is idle.
    pub free_at: Time,
    /// Bytes on the wire.
    pub size: u32,
    /// Scheduling time of the event that caused this arrival: the start of the transmission, over the previous link,
    /// of this packet or of the packet that triggered it. Zero if a timer caused it.
    pub cause: Time,
}

impl Offer {
    /// Whether this arrival precedes a departure at the same time whose transmission began at `serving_since`. Events
    /// at the same time are processed in scheduling order, and an arrival or departure is scheduled when its
    /// transmission begins. (ns-2 has the same order.)
    #[inline]
    pub fn before_departure(&self, serving_since: Time) -> bool {
        self.cause < serving_since
    }
}
