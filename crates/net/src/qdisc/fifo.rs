//! What a first-in-first-out queue holds, told from the times at which transmissions start.
//!
//! A packet often arrives at the very instant at which a transmission ends: in slow start on a single link
//! every ACK does, and the packets that it releases find the queue one shorter or not. Both orders are
//! possible; [`Offer::before_departure`] has the rule.

use super::offer::Offer;
use std::collections::VecDeque;
use units::Time;

/// The packets that wait, the one in transmission not included.
#[derive(Clone, Debug, Default)]
pub(super) struct Fifo {
    /// What waits: when transmission will start, and the size.
    waiting: VecDeque<(Time, u32)>,
    backlog: u64,
    /// When the transmission began that is going on.
    serving_since: Time,
    /// Bytes of that packet.
    serving: u32,
}

impl Fifo {
    /// Lets go what starts transmission before `now`, or also at `now`.
    #[inline]
    fn depart(&mut self, now: Time, also_now: bool) {
        while let Some(&(start, size)) = self.waiting.front()
            && (start < now || also_now && start == now)
        {
            self.waiting.pop_front();
            self.backlog -= size as u64;
            (self.serving_since, self.serving) = (start, size);
        }
    }

    /// Brings the queue to the moment of the offer; whether the transmitter is idle then.
    #[inline]
    pub fn settle(&mut self, offer: &Offer) -> bool {
        self.depart(offer.now, false);
        let after_departure = !offer.before_departure(self.serving_since);
        self.depart(offer.now, after_departure);
        offer.free_at < offer.now || (offer.free_at == offer.now && after_departure)
    }

    /// Packets that wait.
    #[inline]
    pub fn packets(&self) -> u64 {
        self.waiting.len() as u64
    }
    /// Their bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.backlog
    }

    /// Bytes of the packet that was last in transmission.
    pub fn serving(&self) -> u32 {
        self.serving
    }

    /// Takes the packet of the offer, straight to the transmitter if that is `idle`.
    #[inline]
    pub fn take(&mut self, offer: &Offer, idle: bool) {
        if idle {
            (self.serving_since, self.serving) = (offer.now, offer.size);
        } else {
            self.waiting.push_back((offer.free_at, offer.size));
            self.backlog += offer.size as u64;
        }
    }
}
