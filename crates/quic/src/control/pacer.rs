//! The driver's pacer, and whether the window was used.

use units::{Rate, Span, Time};

/// Releases one packet at a time.
#[derive(Debug, Default)]
pub(super) struct Pacer {
    next: Time,
}

impl Pacer {
    /// The time at which the next packet may leave.
    pub fn next(&self) -> Time {
        self.next
    }
    /// The time from `now` until the next packet may leave.
    pub fn wait(&self, now: Time) -> Span {
        self.next.since(now)
    }
    /// A datagram of `bytes` bytes leaves at `now`.
    pub fn on_transmit(&mut self, now: Time, rate: Rate, bytes: u64) {
        self.next = self.next.max(now) + rate.time_for(bytes);
    }
}

/// Whether the window limits what is in flight (RFC 7661 section 4, as in Linux).
#[derive(Debug, Default)]
pub(super) struct WindowUse {
    limited: bool,
    /// The most packets in flight in this window of data.
    max_outstanding: u32,
    /// The first packet number of the next window of data.
    until: u64,
}

impl WindowUse {
    /// Called after each attempt to send. `acked`: one past the highest packet acknowledged.
    pub fn update(&mut self, acked: u64, next: u64, outstanding: u32, full: bool) {
        if acked >= self.until || full || (!self.limited && outstanding > self.max_outstanding) {
            self.limited = full;
            self.max_outstanding = outstanding;
            self.until = next;
        }
    }
    /// Whether the window may grow: it was the limit, or slow start has not used twice what was outstanding.
    pub fn limits(&self, cwnd: f64, ssthresh: f64) -> bool {
        self.limited || (cwnd < ssthresh && cwnd < 2.0 * self.max_outstanding as f64)
    }
}
