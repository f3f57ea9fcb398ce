//! Congestion window validation: whether the sender uses its window, and what idle times do to it (RFC 7661, RFC 5681
//! section 4.1, as in Linux).

use super::state::{Rack, State, WindowUse};
use crate::change::WindowCause;
use crate::options::{IdleRestart, Validation};
use crate::sender::Sender;
use cc::{Controller, Restart};
use units::Time;

impl WindowUse {
    #[inline]
    fn limits(&self, s: &Sender) -> bool {
        self.limited || {
            let cwnd = s.controller.cwnd();
            cwnd < s.controller.ssthresh() && cwnd < 2.0 * self.most_out as f64
        }
    }
}

impl Rack {
    /// The first window of data begins.
    pub(super) fn open_window(&mut self, s: &Sender, now: Time) {
        self.window_use = WindowUse { full_at: now, ..WindowUse::default() };
        self.high_seq = self.segments.una;
        self.detection.pending = false;
        debug_assert!(s.cwnd() > 0);
    }

    /// Whether the window may grow: it was the limit, or slow start has not used twice what was outstanding.
    pub(super) fn window_limited(&self, s: &Sender) -> bool {
        match s.options.validation {
            Validation::None => true,
            Validation::Linux => self.window_use.limits(s),
            Validation::Rfc7661 => self.pipe_ack.as_ref().is_none_or(|pipe_ack| {
                pipe_ack.validates(s.cwnd(), s.controller.cwnd() < s.controller.ssthresh())
            }),
        }
    }

    /// Called after each attempt to send. `full`: the window does not permit more.
    pub(super) fn validate_window(&mut self, s: &mut Sender, now: Time, full: bool) {
        self.expire_unvalidated(s, now);
        let out = self.segments.packets_out();
        let w = &mut self.window_use;
        if self.segments.una >= w.until || full || (!w.limited && out > w.most_out) {
            w.limited = full;
            w.most_out = out;
            w.until = self.segments.next;
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
    fn shrink_unused(&mut self, s: &mut Sender, now: Time) {
        if self.state == State::Open && !s.controller.owns_window() {
            let used = self.window_use.used.max(s.options.initial_window as u32);
            let cwnd = s.cwnd();
            if used < cwnd {
                s.cause = Some(WindowCause::Validation);
                s.controller.set_ssthresh(self.current_ssthresh(s));
                s.controller.set_window(((cwnd + used) / 2) as f64);
            }
            self.window_use.used = 0;
        }
        self.window_use.full_at = now;
    }

    /// The application writes after an idle time longer than the retransmission timeout.
    pub(super) fn restart_after_idle(&mut self, s: &mut Sender, now: Time) {
        self.expire_unvalidated(s, now);
        let rto = s.rtt.rto();
        let idle = now.since(self.last_sent);
        if self.segments.packets_out() > 0
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
        s.controller.set_ssthresh(self.current_ssthresh(s));
        s.controller.on_restart(&Restart { now, idle, window: window as f64 });
        self.window_use.changed(now);
        self.window_use.used = 0;
    }
}
