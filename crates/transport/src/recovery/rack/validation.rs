//! Congestion window validation: whether the sender uses its window, and what idle times do to it (RFC 7661, RFC 5681
//! section 4.1, as in Linux).

use super::reduction::threshold_to_restore;
use crate::change::WindowCause;
use crate::connection::Connection;
use crate::options::{IdleRestart, Validation};
use crate::recovery_state::rack::{Rack, Reduction, Segments, State, WindowUse, WindowValidation};
use cc::{Controller, Restart};
use units::Time;

impl WindowUse {
    #[inline]
    fn limits(&self, s: &Connection) -> bool {
        self.limited || {
            let cwnd = s.controller.cwnd();
            cwnd < s.controller.ssthresh() && cwnd < 2.0 * self.most_out as f64
        }
    }
}

impl WindowValidation {
    /// Whether the window may grow: it was the limit, or slow start has not used twice what was outstanding.
    pub(super) fn window_limited(&self, s: &Connection) -> bool {
        match s.options.validation {
            Validation::None => true,
            Validation::Linux => self.window_use.limits(s),
            Validation::Rfc7661 => self.pipe_ack.as_ref().is_none_or(|pipe_ack| {
                pipe_ack.validates(s.cwnd(), s.controller.cwnd() < s.controller.ssthresh())
            }),
        }
    }

    /// A loss or an ECN echo is about to reduce the window, with `out` segments outstanding: if the window is not validated, what
    /// was used takes its place.
    pub(super) fn discard(&mut self, s: &mut Connection, out: u32, now: Time) {
        let Some(pipe_ack) = &mut self.pipe_ack else { return };
        let (cwnd, slow_start) = (s.cwnd(), s.controller.cwnd() < s.controller.ssthresh());
        pipe_ack.turn(now, s.rtt.smoothed(&s.options));
        pipe_ack.reduced = None;
        if !s.controller.owns_window() && !pipe_ack.validates(cwnd, slow_start) {
            let used = pipe_ack.largest().max(out).min(cwnd).max(1);
            pipe_ack.reduced = Some((used, s.stats.retransmitted));
            s.controller.set_window(used as f64);
        }
    }

    /// The end of a recovery: takes what was retransmitted out of a window that was not validated, if the reduction
    /// stands. The measure begins again.
    pub(super) fn end(&mut self, s: &mut Connection, reduction: &mut Reduction, stands: bool) {
        let Some(pipe_ack) = &mut self.pipe_ack else { return };
        let reduced = pipe_ack.reduced.take().filter(|_| stands);
        pipe_ack.restart();
        if let Some((used, before)) = reduced {
            let retransmitted = (s.stats.retransmitted - before).min(used);
            let target = reduction.target as u64 * (used - retransmitted) as u64 / used as u64;
            reduction.target = (target as u32).max(1);
            s.controller.set_ssthresh((target as f64).max(2.0));
        }
    }

    /// An ACK: measures what is used.
    #[cold]
    pub(super) fn measure(&mut self, s: &Connection, segments: &Segments, now: Time) {
        let Some(pipe_ack) = &mut self.pipe_ack else { return };
        let Segments { una, next, delivered, .. } = *segments;
        pipe_ack.on_ack(now, una, next, delivered, s.rtt.smoothed(&s.options));
        if pipe_ack.validates(s.cwnd(), s.controller.cwnd() < s.controller.ssthresh()) {
            pipe_ack.validated();
        }
    }

    /// How often a window that was not validated is to be halved now: once for each five minutes.
    fn halvings(&mut self, s: &Connection, now: Time) -> u32 {
        let Some(pipe_ack) = &mut self.pipe_ack else { return 0 };
        pipe_ack.turn(now, s.rtt.smoothed(&s.options));
        if pipe_ack.validates(s.cwnd(), s.controller.cwnd() < s.controller.ssthresh()) {
            pipe_ack.validated();
            return 0;
        }
        pipe_ack.halvings(now)
    }
}

impl Rack {
    /// Called after each attempt to send. `full`: the window does not permit more.
    pub(super) fn validate_window(&mut self, s: &mut Connection, now: Time, full: bool) {
        if self.validation.pipe_ack.is_some() {
            self.halve_unvalidated(s, now);
        }
        let out = self.board.segments.packets_out();
        let w = &mut self.validation.window_use;
        if self.board.segments.una >= w.until || full || (!w.limited && out > w.most_out) {
            w.limited = full;
            w.most_out = out;
            w.until = self.board.segments.next;
        }
        if w.limits(s) {
            w.used = 0;
            w.full_at = now;
            return;
        }
        w.used = w.used.max(out);
        // Linux has one setting for this and for the restart after an idle time.
        let shrinks =
            s.options.validation == Validation::Linux && s.options.idle_restart != IdleRestart::None;
        if shrinks && now.since(w.full_at) >= s.rtt.rto() {
            self.shrink_unused(s, now);
        }
    }

    /// The application has not used the window for a whole timeout: the window moves halfway to what was used.
    fn shrink_unused(&mut self, s: &mut Connection, now: Time) {
        if self.state == State::Open && !s.controller.owns_window() {
            let used = self.validation.window_use.used.max(s.options.initial_window as u32);
            let cwnd = s.cwnd();
            if used < cwnd {
                s.cause = Some(WindowCause::Validation);
                s.controller.set_ssthresh(threshold_to_restore(self.state, s));
                s.controller.set_window(((cwnd + used) / 2) as f64);
            }
            self.validation.window_use.used = 0;
        }
        self.validation.window_use.full_at = now;
    }

    /// The application writes after an idle time longer than the retransmission timeout.
    pub(super) fn restart_after_idle(&mut self, s: &mut Connection, now: Time) {
        if self.validation.pipe_ack.is_some() {
            self.halve_unvalidated(s, now);
        }
        let rto = s.rtt.rto();
        let idle = now.since(self.last_sent);
        if self.board.segments.packets_out() > 0
            || s.controller.owns_window()
            || s.options.idle_restart == IdleRestart::None
            || s.options.validation == Validation::Rfc7661 // keeps the window
            || idle <= rto
        {
            return;
        }
        let before = s.cwnd();
        let least = (s.options.initial_window as u32).min(before);
        let mut window = before;
        match s.options.idle_restart {
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
        s.cause = Some(WindowCause::Restart);
        s.controller.set_ssthresh(threshold_to_restore(self.state, s));
        s.controller.on_restart(&Restart { now, idle, window: window as f64 });
        self.validation.window_use.changed(now);
        self.validation.window_use.used = 0;
    }

    /// Called after each attempt to send and before data is written: halves a window that was not validated.
    #[cold]
    fn halve_unvalidated(&mut self, s: &mut Connection, now: Time) {
        let times = self.validation.halvings(s, now);
        if times == 0 || self.state != State::Open || s.controller.owns_window() {
            return;
        }
        if let Some(pipe_ack) = &mut self.validation.pipe_ack {
            pipe_ack.halved(times);
        }
        let cwnd = s.cwnd();
        let least = (s.options.initial_window as u32).min(cwnd);
        s.cause = Some(WindowCause::Validation);
        s.controller.set_ssthresh(threshold_to_restore(self.state, s));
        s.controller.set_window((cwnd >> times.min(31)).max(least) as f64);
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
