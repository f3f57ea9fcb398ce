//! What keeps a sender from sending more, and for how long.

use super::Sender;
use units::{Span, Time};

/// What keeps a sender from sending more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SendLimit {
    /// The SYN is not acknowledged.
    #[default]
    Handshake,
    /// The congestion window.
    CongestionWindow,
    /// The receiver's window.
    ReceiveWindow,
    /// The pacing rate.
    Pacing,
    /// The application has no more data.
    Application,
}

impl SendLimit {
    /// Names of the limits, in the order of [`super::SenderStats::limited`].
    pub const NAMES: [&'static str; 5] =
        ["handshake", "congestion window", "receive window", "pacing", "application"];
}

impl Sender {
    /// Called after an event: if another limit holds now, adds the time since the last change to the previous one.
    #[inline(always)]
    pub(super) fn note_limit(&mut self, now: Time) {
        let limit = self.limit_now(now);
        if limit != self.limited_by {
            self.add_limited_time(now);
            self.limited_by = limit;
        }
    }

    #[inline(always)]
    fn limit_now(&self, now: Time) -> SendLimit {
        if self.next >= self.limit {
            return if self.handshake_pending() { SendLimit::Handshake } else { SendLimit::Application };
        }
        if self.next - self.una >= self.receive_window {
            return SendLimit::ReceiveWindow;
        }
        if self.paced && self.pace_at > now && self.in_flight() < self.cwnd() {
            return SendLimit::Pacing;
        }
        if self.handshake_pending() { SendLimit::Handshake } else { SendLimit::CongestionWindow }
    }

    /// Adds the time since the last change to the present limit. Nothing limits a complete flow.
    pub(super) fn add_limited_time(&mut self, now: Time) {
        if !self.done {
            let time = &mut self.stats.limited[self.limited_by as usize];
            *time = *time + now.since(self.limited_at);
            self.limited_at = now;
        }
    }

    /// What keeps the sender from sending more since its last event.
    pub fn limited_by(&self) -> SendLimit {
        self.limited_by
    }

    /// The time under each limit, seconds, in the order of [`SendLimit::NAMES`].
    pub fn limited_s(&self) -> [f64; 5] {
        self.stats.limited.map(Span::seconds)
    }
}
