//! Window reductions: their begin, their steps, their end and their undo.

use crate::change::WindowCause;
use crate::connection::Connection;
use crate::options::{ReduceFrom, ReductionKind};
use crate::recovery_state::rack::Reduction;
use crate::recovery_state::rack::{Rack, State};
use cc::{Cause, Congestion, Controller};
use units::Time;

/// The longest wait of a window of one segment is this power of two times the timeout.
const MOST_DOUBLINGS: u32 = 6;

/// The threshold that a later undo restores.
pub(super) fn threshold_to_restore(state: State, s: &Connection) -> f64 {
    let (ssthresh, cwnd) = (s.controller.ssthresh(), s.cwnd());
    if state.reducing() { ssthresh } else { ssthresh.max((cwnd / 2 + cwnd / 4) as f64) }
}

impl Rack {
    /// The window that a loss or a timeout reduces. The flight size (RFC 5681) includes what SACK reports; what limited
    /// transmit sent beyond the window does not count.
    pub(super) fn window_to_reduce(&self, s: &Connection) -> u32 {
        match s.options.reduce_from {
            ReduceFrom::Cwnd => s.cwnd(),
            ReduceFrom::Flight => self.board.segments.packets_out().min(s.cwnd()),
        }
    }

    /// Lets the controller reduce the window. The window itself follows ACK by ACK.
    pub(super) fn begin_reduction(&mut self, s: &mut Connection, now: Time, cause: Cause) {
        self.high_seq = self.board.segments.next;
        self.probe = None;
        self.undo.prior_cwnd = s.cwnd();
        self.validation.discard(s, self.board.segments.packets_out(), now);
        let (prior_cwnd, window) = (s.cwnd(), self.window_to_reduce(s));
        let segments = &self.board.segments;
        let oldest = (segments.packets_out() > 0).then(|| segments.get(segments.una));
        s.notify_congestion(&Congestion {
            now,
            cause,
            window: window as f64,
            in_flight: segments.in_flight() as f64,
            segment_sent: oldest.map(|segment| segment.sent),
            retransmitted: oldest.is_some_and(|segment| segment.ever_retransmitted()),
            dupacks: s.dupacks,
        });
        let target = s.cwnd();
        let ssthresh = s.controller.ssthresh();
        let flight = segments.in_flight();
        self.reduction = Reduction { prior_cwnd, target, ssthresh, flight, delivered: 0, sent: 0 };
        if s.options.reduction != ReductionKind::AtOnce && !s.controller.owns_window() {
            s.controller.set_window(prior_cwnd as f64);
        }
    }

    /// Ends the reduction: the window takes its final value.
    pub(super) fn end_reduction(&mut self, s: &mut Connection, now: Time) {
        let stands = self.state == State::Cwr || self.undo.marker.is_some(); // it was not undone
        self.validation.end(s, &mut self.reduction, stands);
        if stands && !s.controller.owns_window() {
            s.controller.set_window(self.reduction.target as f64);
            self.validation.window_use.changed(now);
        }
        s.controller.on_recovery_exit(now);
    }

    /// Begins recovery. `ece`: this ACK carries an ECN echo, which forbids the undo.
    pub(super) fn enter_recovery(&mut self, s: &mut Connection, now: Time, ece: bool) {
        self.undo.forget_first_retransmission(&self.board.segments);
        self.undo.prior_ssthresh = 0.0;
        self.undo.mark(&self.board.segments, self.probe);
        if !self.state.reducing() {
            if !ece {
                self.undo.prior_ssthresh = threshold_to_restore(self.state, s);
            }
            self.begin_reduction(s, now, Cause::FastRetransmit);
        }
        self.state = State::Recovery;
    }

    /// Begins a reduction after an ECN echo (RFC 3168).
    pub(super) fn enter_cwr(&mut self, s: &mut Connection, now: Time) {
        self.undo.prior_ssthresh = 0.0;
        if self.state < State::Cwr {
            let was_one = s.cwnd() <= 1;
            self.reduce_once(s, now, Cause::Ecn);
            self.hold_at_one(s, now, was_one);
        }
    }

    /// An echo of a window of one segment, which a controller without a floor of two cannot halve: the next segment waits for a
    /// timeout, which doubles with each such echo in a row (RFC 3168 section 6.1.2, RFC 9438 section 4.6).
    fn hold_at_one(&mut self, s: &Connection, now: Time, was_one: bool) {
        if !was_one || self.reduction.target > 1 {
            self.echoes_at_one = 0;
            return;
        }
        let wait = s.rtt.rto() * (1 << self.echoes_at_one.min(MOST_DOUBLINGS));
        self.held_until = now + wait.min(s.options.max_rto);
        self.echoes_at_one += 1;
    }

    /// Begins a reduction that the controller asks for.
    #[cold]
    pub(super) fn reduce_for_controller(&mut self, s: &mut Connection, now: Time) {
        self.undo.prior_ssthresh = 0.0;
        self.reduce_once(s, now, Cause::Controller);
    }

    /// Begins a reduction without a loss, which nothing undoes.
    fn reduce_once(&mut self, s: &mut Connection, now: Time, cause: Cause) {
        self.undo.marker = None;
        self.begin_reduction(s, now, cause);
        self.state = State::Cwr;
    }

    /// The window of one ACK during a reduction.
    pub(super) fn reduce(&mut self, s: &mut Connection, delivered: u32, newly_lost: bool, advanced: bool) {
        if delivered == 0 || s.options.reduction == ReductionKind::AtOnce || s.controller.owns_window() {
            return;
        }
        // A window below the threshold counts as slow start: HyStart may lower the threshold, and the target with it.
        let ssthresh = s.controller.ssthresh();
        if ssthresh < self.reduction.ssthresh && ssthresh == s.controller.cwnd() {
            self.reduction.target = ssthresh as u32;
            self.reduction.ssthresh = ssthresh;
        }
        let flight = self.board.segments.in_flight();
        let safe = advanced && !newly_lost;
        let count = self.reduction.allowance(s.options.reduction, flight, delivered, safe);
        s.controller.set_window((flight + count) as f64);
    }

    /// Undoes the last reduction. `unmark`: nothing is lost.
    pub(super) fn undo(&mut self, s: &mut Connection, now: Time, unmark: bool) {
        if unmark {
            self.board.segments.unmark_losses();
        }
        if self.undo.prior_ssthresh > 0.0 {
            s.cause = Some(WindowCause::Undo);
            s.controller.on_undo(now);
            if !s.controller.owns_window() {
                let cwnd = s.cwnd().max(self.undo.prior_cwnd);
                s.controller.set_window(cwnd as f64);
            }
            if self.undo.prior_ssthresh > s.controller.ssthresh() {
                s.controller.set_ssthresh(self.undo.prior_ssthresh);
                s.cwr = false;
            }
        }
        self.validation.window_use.changed(now);
        self.undo.marker = None;
        self.board.detection.pending = true;
    }
}
