//! What keeps a sender from sending more, and for how long.

use crate::connection::Connection;
use crate::recovery::AnyRecovery;
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
    /// Names of the limits, in the order of [`crate::Sender::limited_s`].
    pub const NAMES: [&'static str; 6] =
        ["handshake", "congestion window", "receive window", "pacing", "host queue", "application"];

    /// What keeps a connection from sending more now.
    #[inline(always)]
    pub(super) fn of(connection: &Connection, recovery: &AnyRecovery, now: Time) -> SendLimit {
        let may_send = || recovery.in_flight(connection) < connection.cwnd();
        if connection.lacks_data() {
            return if connection.handshake_pending() {
                SendLimit::Handshake
            } else {
                SendLimit::Application
            };
        }
        if connection.next - connection.una >= connection.receive_window {
            return SendLimit::ReceiveWindow;
        }
        if connection.host_full && may_send() {
            return SendLimit::HostQueue;
        }
        if connection.paced && connection.pacer.wait(now) > Span::ZERO && may_send() {
            return SendLimit::Pacing;
        }
        if connection.handshake_pending() { SendLimit::Handshake } else { SendLimit::CongestionWindow }
    }
}

/// The time under each limit.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct LimitTimes {
    /// When the present limit began, or its time was added.
    pub since: Time,
    /// What keeps the sender from sending more.
    pub present: SendLimit,
    /// In the order of [`SendLimit::NAMES`].
    times: [Span; SendLimit::NAMES.len()],
}

impl LimitTimes {
    /// Another limit may hold from `now` on. Nothing limits a flow after `completed`.
    #[inline(always)]
    pub fn set(&mut self, limit: SendLimit, now: Time, completed: Time) {
        if limit != self.present {
            self.add_time(now.min(completed));
            self.present = limit;
        }
    }

    /// Adds the time up to `until` to the present limit.
    pub fn add_time(&mut self, until: Time) {
        let time = &mut self.times[self.present as usize];
        *time = *time + until.since(self.since);
        self.since = until;
    }

    /// The time under each limit up to `now`.
    pub fn until(&self, now: Time) -> [Span; SendLimit::NAMES.len()] {
        let mut times = self.times;
        times[self.present as usize] = times[self.present as usize] + now.since(self.since);
        times
    }

    /// The time under each limit, seconds.
    pub fn seconds(&self) -> [f64; SendLimit::NAMES.len()] {
        self.times.map(Span::seconds)
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
