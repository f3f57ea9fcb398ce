//! The pacer of a sender.

use units::{Rate, Span, Time};

/// When packets may leave at the pacing rate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    /// When the next burst may begin.
    at: Time,
    /// When the last burst began, and the segments that it may still send at that time.
    burst_at: Time,
    burst_left: u32,
    /// What the last segment was charged.
    charged: Span,
    /// The last rate and size of a segment, and its time at this rate: most segments have those of the one before.
    rate: Rate,
    bytes: u32,
    time: Span,
}

impl Pacer {
    /// When the next segment may leave, if it may not leave at `now`.
    #[inline]
    pub fn next_after(&self, now: Time) -> Option<Time> {
        (!self.continues(now) && self.at > now).then_some(self.at)
    }

    /// Whether the burst that began at `now` has segments left.
    #[inline]
    pub fn continues(&self, now: Time) -> bool {
        self.burst_left > 0 && self.burst_at == now
    }

    /// A burst of `segments` segments begins at `now`.
    #[inline]
    pub fn begin(&mut self, now: Time, segments: u32) {
        (self.burst_at, self.burst_left) = (now, segments);
    }

    /// The time that `bytes` bytes take at `rate`.
    #[inline]
    pub fn time_for(&mut self, rate: Rate, bytes: u32) -> Span {
        if (rate, bytes) != (self.rate, self.bytes) {
            (self.rate, self.bytes, self.time) = (rate, bytes, rate.time_for(bytes.into()));
        }
        self.time
    }

    /// A segment of the burst leaves at `now`, which takes `interval` at the pacing rate.
    #[inline]
    pub fn take(&mut self, now: Time, interval: Option<Span>) {
        self.burst_left -= 1;
        self.charge(now, interval);
    }

    /// A segment leaves at `now`, which takes `interval` at the pacing rate.
    #[inline]
    pub fn charge(&mut self, now: Time, interval: Option<Span>) {
        if let Some(interval) = interval {
            self.at = self.at.max(now) + interval;
        }
        self.charged = interval.unwrap_or(Span::ZERO);
    }

    /// The segment that was charged at `now` has `missing` bytes less than `full`.
    pub fn give_back(&mut self, now: Time, missing: u32, full: u32) {
        let back = u128::from(self.charged.ps()) * u128::from(missing) / u128::from(full.max(1));
        self.at = now + (self.wait(now) - Span::from_ps(back as u64));
    }

    /// The time until the next burst may begin.
    #[inline]
    pub fn wait(&self, now: Time) -> Span {
        if self.at > now { self.at.since(now) } else { Span::ZERO }
    }
}
