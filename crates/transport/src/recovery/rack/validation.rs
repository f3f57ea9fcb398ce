//! Congestion window validation: whether the sender uses its window, and what idle times do to it (RFC 7661, RFC 5681
//! section 4.1, as in Linux).

use super::Rack;
use super::snapshot::State;
use crate::change::WindowCause;
use crate::connection::{Connection, LossRecovery};
use crate::options::{IdleRestart, Validation};
use cc::{Controller, Restart};
use units::Time;

impl Rack {
    /// Called after each attempt to send. `full`: the window does not permit more.
    pub(super) fn validate_window(&mut self, c: &mut Connection, now: Time, full: bool) {
        if self.validation.rules.is_some() {
            self.apply_rules(c, now);
        }
        let out = c.outstanding();
        let w = &mut self.validation.window_use;
        if c.una >= w.until || full || (!w.limited && out > w.most_out) {
            w.limited = full;
            w.most_out = out;
            w.until = c.next;
        }
        if w.limits(c) {
            w.used = 0;
            w.full_at = now;
            return;
        }
        w.used = w.used.max(out);
        // Linux has one setting for this and for the restart after an idle time.
        let shrinks =
            c.options.validation == Validation::Linux && c.options.idle_restart != IdleRestart::None;
        if shrinks && now.since(w.full_at) >= c.rtt.rto() {
            self.shrink_unused(c, now);
        }
    }

    #[cold]
    fn apply_rules(&mut self, c: &mut Connection, now: Time) {
        let in_flight = self.in_flight(c);
        if let Some(rules) = &mut self.validation.rules {
            rules.window.sent(&c.controller, in_flight);
        }
        if self.validation.pipe_ack().is_some() {
            self.halve_unvalidated(c, now);
        }
    }

    /// The application has not used the window for a whole timeout: the window moves halfway to what was used.
    fn shrink_unused(&mut self, c: &mut Connection, now: Time) {
        if self.state == State::Open && !c.controller.owns_window() {
            let used = self.validation.window_use.used.max(c.options.initial_window as u32);
            let cwnd = c.cwnd();
            if used < cwnd {
                c.cause = Some(WindowCause::Validation);
                c.controller.set_ssthresh(self.threshold_to_restore(c));
                c.controller.set_window(((cwnd + used) / 2) as f64);
            }
            self.validation.window_use.used = 0;
        }
        self.validation.window_use.full_at = now;
    }

    /// The application writes after an idle time longer than the retransmission timeout.
    pub(super) fn restart_after_idle(&mut self, c: &mut Connection, now: Time) {
        if self.validation.pipe_ack().is_some() {
            self.halve_unvalidated(c, now);
        }
        let rto = c.rtt.rto();
        let idle = now.since(self.last_sent);
        if c.outstanding() > 0
            || c.controller.owns_window()
            || c.options.idle_restart == IdleRestart::None
            || c.options.validation == Validation::Rfc7661 // keeps the window
            || idle <= rto
        {
            return;
        }
        let before = c.cwnd();
        let least = (c.options.initial_window as u32).min(before);
        let mut window = before;
        match c.options.idle_restart {
            IdleRestart::Rfc5681 => window = least,
            _ => {
                let mut left = idle.ps();
                while left > rto.ps() && window > least {
                    left -= rto.ps();
                    window /= 2;
                }
                window = window.max(least);
            }
        }
        c.cause = Some(WindowCause::Restart);
        c.controller.set_ssthresh(self.threshold_to_restore(c));
        c.controller.on_restart(&Restart { now, idle, window: window as f64 });
        self.validation.window_use.changed(now);
        self.validation.window_use.used = 0;
    }

    /// Called after each attempt to send and before data is written: halves a window that was not validated.
    #[cold]
    fn halve_unvalidated(&mut self, c: &mut Connection, now: Time) {
        let times = self.validation.halvings(c, now);
        if times == 0 || self.state != State::Open || c.controller.owns_window() {
            return;
        }
        if let Some(pipe_ack) = self.validation.pipe_ack_mut() {
            pipe_ack.halved(times);
        }
        let cwnd = c.cwnd();
        let least = (c.options.initial_window as u32).min(cwnd);
        c.cause = Some(WindowCause::Validation);
        c.controller.set_ssthresh(self.threshold_to_restore(c));
        c.controller.set_window((cwnd >> times.min(31)).max(least) as f64);
    }
}

#[cfg(test)]
mod tests {
    use crate::options::{Options, Validation};
    use crate::testing::{Driver, block, ms, sender};

    /// An application that writes four segments in each of 19 round trips of 100 ms: `una` is 77 at 2,000 ms.
    fn little_used(initial_window: f64, undo: bool) -> Driver {
        let mut options = Options { validation: Validation::Rfc7661, initial_window, ..Options::linux() };
        options.sack_blocks = 4;
        (options.timestamps, options.tail_loss_probe, options.undo.dsack) = (false, false, undo);
        let mut d = Driver::start({
            let mut sender = sender(&options, "reno", None);
            sender.write_in_portions();
            sender
        });
        d.ack_at(100, 1, &[]);
        let mut next = 1;
        for round in 1..20 {
            write(&mut d, 100 * round, 4);
            next += 4;
            d.ack_at(100 * (round + 1), next, &[]);
        }
        // Slow start grew the window to four times the four segments of a round trip, and by the last ACK beyond it.
        assert_eq!(d.cwnd(), if initial_window == 4.0 { 20.0 } else { 18.0 });
        assert_eq!((next, d.ssthresh()), (77, f64::INFINITY));
        d
    }

    fn write(d: &mut Driver, at: u64, segments: u32) {
        d.context.now = ms(at);
        d.sender.on_write(&mut d.context, segments, false);
    }

    #[test]
    fn a_window_that_is_not_used_is_reduced_from_what_was_used() {
        let mut d = little_used(10.0, true);
        write(&mut d, 2000, 6);
        d.ack_at(2100, 77, &[block(78, 81)]);
        assert_eq!((d.ssthresh(), d.sender.phase()), (3.0, cc::Phase::Recovery)); // half of the six outstanding
        d.ack_at(2200, 83, &[]);
        // One of the six was retransmitted: 3 * 5 / 6.
        assert_eq!((d.ssthresh(), d.sender.phase()), (2.0, cc::Phase::Open));
    }

    #[test]
    fn an_undone_recovery_leaves_window_and_threshold_as_they_were() {
        for (undo, expected) in [(true, (22.0, f64::INFINITY)), (false, (4.0, 2.0))] {
            let mut d = little_used(10.0, undo);
            write(&mut d, 2000, 6);
            d.ack_at(2100, 77, &[block(78, 81)]);
            assert_eq!((d.ssthresh(), d.sender.phase()), (3.0, cc::Phase::Recovery));
            // The original was late: the ACK that ends the recovery reports the retransmission as a duplicate. The window
            // of 18 (else 2) then grows by the four segments that this ACK reports (else by 4/2).
            d.ack_at(2200, 83, &[block(77, 78)]);
            assert_eq!((d.cwnd(), d.ssthresh(), d.sender.phase()), (expected.0, expected.1, cc::Phase::Open));
        }
    }

    #[test]
    fn an_undone_timeout_leaves_window_and_threshold_as_they_were() {
        let mut d = little_used(10.0, true);
        write(&mut d, 2000, 6);
        let (_, _, sent) = d.fire();
        assert_eq!((sent, d.cwnd(), d.ssthresh()), (vec![77], 1.0, 3.0));
        d.ack(83, &[]); // originals: F-RTO
        assert_eq!((d.cwnd(), d.ssthresh()), (24.0, f64::INFINITY)); // 18, and the six segments
    }

    #[test]
    fn an_idle_window_is_halved_for_each_five_minutes() {
        // The last sample validates the window. It is that of the interval from 2004 ms on, and too old 3 * 334 ms later.
        let used = || {
            let mut d = little_used(4.0, true);
            write(&mut d, 2000, 5);
            d.ack_at(2100, 82, &[]);
            assert_eq!(d.cwnd(), 25.0);
            d
        };
        let seconds = |n: u64| 3006 + 1000 * n;
        for (at, cwnd) in [
            (seconds(299), 25.0),
            (seconds(300) - 1, 25.0),
            (seconds(300), 12.0),
            (seconds(301), 12.0),
            (seconds(600), 6.0),
            (seconds(3900), 4.0), // the initial window
        ] {
            let mut d = used();
            write(&mut d, at, 1);
            assert_eq!(d.sent(), [82]);
            assert_eq!((d.cwnd(), d.ssthresh()), (cwnd, f64::INFINITY), "{at} ms");
        }
        // A window that is hardly used is halved after five minutes of use, and again after five more.
        let mut d = used();
        let mut halved = Vec::new();
        for segment in 0..660 {
            let before = d.cwnd();
            write(&mut d, 4000 + 1000 * segment, 1);
            if d.cwnd() < before {
                halved.push((segment, d.cwnd()));
            }
            d.ack_at(4100 + 1000 * segment, 83 + segment as u32, &[]);
        }
        assert_eq!(halved, [(300, 12.0), (600, 6.0)]);
    }
}
