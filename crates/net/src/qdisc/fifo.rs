//! The packets in a first-in-first-out queue, derived from the start times of their transmissions.
//!
//! A packet often arrives at the exact time at which a transmission ends: in slow start on a single link every ACK
//! does. Then the packets that the ACK releases arrive before or after the departure of that instant, and find the
//! queue longer or shorter by one packet. [`Offer::before_departure`] defines the order.

use super::offer::Offer;
use std::collections::VecDeque;
use units::Time;

/// The waiting packets, without the packet in transmission.
#[derive(Clone, Debug, Default)]
pub(super) struct Fifo {
    /// For each waiting packet, the start of its transmission and its size.
    waiting: VecDeque<(Time, u32)>,
    backlog: u64,
    /// Start of the current transmission.
    serving_since: Time,
    /// Bytes of that packet.
    serving: u32,
}

impl Fifo {
    /// Removes packets whose transmission starts before `now`, or, with `also_now`, at `now`.
    #[inline]
    pub(super) fn depart(&mut self, now: Time, also_now: bool) {
        self.depart_with(now, also_now, |_, _, _| {});
    }

    /// The same, and calls `departed` for each with the start of its transmission, its bytes, and the bytes behind it.
    #[inline]
    pub(super) fn depart_with(
        &mut self,
        now: Time,
        also_now: bool,
        mut departed: impl FnMut(Time, u32, u64),
    ) {
        while let Some(&(start, size)) = self.waiting.front()
            && (start < now || also_now && start == now)
        {
            self.waiting.pop_front();
            self.backlog -= size as u64;
            (self.serving_since, self.serving) = (start, size);
            departed(start, size, self.backlog);
        }
    }

    /// Advances the queue to the time of the offer. Returns whether the transmitter is idle then.
    #[inline]
    pub fn settle(&mut self, offer: &Offer) -> bool {
        self.settle_with(offer, |_, _, _| {})
    }

    /// The same, and calls `departed` as [`Fifo::depart_with`].
    #[inline]
    pub(super) fn settle_with(&mut self, offer: &Offer, mut departed: impl FnMut(Time, u32, u64)) -> bool {
        self.depart_with(offer.now, false, &mut departed);
        let after_departure = !offer.before_departure(self.serving_since);
        self.depart_with(offer.now, after_departure, &mut departed);
        offer.free_at < offer.now || (offer.free_at == offer.now && after_departure)
    }

    /// Number of waiting packets.
    #[inline]
    pub fn packets(&self) -> u64 {
        self.waiting.len() as u64
    }
    /// Bytes of the waiting packets.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.backlog
    }

    /// Bytes of the last packet in transmission.
    pub fn serving(&self) -> u32 {
        self.serving
    }

    /// Accepts the packet; if the transmitter is `idle`, its transmission starts at once.
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
