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
    /// What is in the queue of its host (TCP small queues).
    HostQueue,
    /// The application has no more data.
    Application,
}

impl SendLimit {
    /// Names of the limits, in the order of [`Sender::limited_s`].
    pub const NAMES: [&'static str; 6] =
        ["handshake", "congestion window", "receive window", "pacing", "host queue", "application"];
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
        if self.host_full && self.in_flight() < self.cwnd() {
            return SendLimit::HostQueue;
        }
        if self.paced && self.pace_at > now && self.in_flight() < self.cwnd() {
            return SendLimit::Pacing;
        }
        if self.handshake_pending() { SendLimit::Handshake } else { SendLimit::CongestionWindow }
    }

    /// Adds the time since the last change to the present limit. Nothing limits a complete flow.
    pub(super) fn add_limited_time(&mut self, now: Time) {
        if !self.done {
            let time = &mut self.limited[self.limited_by as usize];
            *time = *time + now.since(self.limited_at);
            self.limited_at = now;
        }
    }

    /// What keeps the sender from sending more since its last event.
    pub fn limited_by(&self) -> SendLimit {
        self.limited_by
    }

    /// The time under each limit, seconds, in the order of [`SendLimit::NAMES`].
    pub fn limited_s(&self) -> [f64; SendLimit::NAMES.len()] {
        self.limited.map(Span::seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use crate::testing::{Driver, ms, sender};

    #[test]
    fn the_time_under_each_limit() {
        let options = Options { timestamps: false, window: 30, ..Options::linux() };
        let mut d = Driver::start(sender(&options, "reno", Some(70)));
        assert_eq!(d.sender.limited_by(), SendLimit::Handshake);
        d.ack_at(100, 1, &[]); // a window of 10
        assert_eq!(d.sender.limited_by(), SendLimit::CongestionWindow);
        d.ack_at(200, 11, &[]); // 20
        d.ack_at(300, 31, &[]); // 40, more than the receiver's 30
        assert_eq!(d.sender.limited_by(), SendLimit::ReceiveWindow);
        d.ack_at(400, 61, &[]);
        assert_eq!(d.sender.limited_by(), SendLimit::Application);
        d.ack_at(500, 71, &[]); // everything is acknowledged
        assert!(d.sender.completed().is_some());
        d.sender.finish(ms(900));
        assert_eq!(d.sender.limited_s(), [0.1, 0.2, 0.1, 0.0, 0.0, 0.1]);
        assert_eq!((d.sender.acked_segments(), d.sender.highest_ack()), (70, 70));
    }

    #[test]
    fn the_application_and_the_pacer_limit_too() {
        let options = Options { timestamps: false, ..Options::linux() };
        let mut d = Driver::start({
            let mut sender = sender(&options, "reno", None);
            sender.write_in_portions();
            sender
        });
        d.ack_at(100, 1, &[]);
        assert_eq!(d.sender.limited_by(), SendLimit::Application);
        let mut d = Driver::start(sender(&Options { pacing: true, ..options }, "reno", None));
        d.ack_at(100, 1, &[]);
        assert_eq!(d.sender.limited_by(), SendLimit::Pacing);
        let gap = d.context.timer_of(crate::FlowTimer::Pace).since(ms(100));
        // Twice the window of 10 segments in a round trip of 100 ms.
        assert!(gap.seconds() > 0.0049 && gap.seconds() < 0.0051, "{gap}");
    }
}
