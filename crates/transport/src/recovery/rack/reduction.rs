//! Window reductions: their begin, their steps, their end and their undo.

use super::Rack;
use super::prr::Reduction;
use super::snapshot::State;
use crate::change::WindowCause;
use crate::connection::{Connection, LossRecovery};
use crate::options::{ReduceFrom, ReductionKind};
use cc::{Cause, Congestion, Controller};
use units::Time;

/// The longest wait of a window of one segment is this power of two times the timeout.
const MOST_DOUBLINGS: u32 = 6;

impl Rack {
    /// The threshold that a later undo restores.
    pub(super) fn threshold_to_restore(&self, c: &Connection) -> f64 {
        let (ssthresh, cwnd) = (c.controller.ssthresh(), c.cwnd());
        if self.state.reducing() { ssthresh } else { ssthresh.max((cwnd / 2 + cwnd / 4) as f64) }
    }

    /// The window that a loss or a timeout reduces. The flight size (RFC 5681) includes what SACK reports; what limited
    /// transmit sent beyond the window does not count.
    pub(super) fn window_to_reduce(&self, c: &Connection) -> u32 {
        match c.options.reduce_from {
            ReduceFrom::Cwnd => c.cwnd(),
            ReduceFrom::Flight => c.outstanding().min(c.cwnd()),
        }
    }

    /// Lets the controller reduce the window. The window itself follows ACK by ACK.
    pub(super) fn begin_reduction(&mut self, c: &mut Connection, now: Time, cause: Cause) {
        self.high_seq = c.next;
        self.probe = None;
        self.undo.prior_cwnd = c.cwnd();
        self.validation.discard(c, now);
        let (prior_cwnd, window) = (c.cwnd(), self.window_to_reduce(c));
        let segments = &self.board.segments;
        let oldest = (c.outstanding() > 0).then(|| segments.get(c.una));
        c.notify_congestion(&Congestion {
            now,
            cause,
            window: window as f64,
            in_flight: segments.in_flight(c.outstanding()) as f64,
            segment_sent: oldest.map(|segment| segment.sent),
            retransmitted: oldest.is_some_and(|segment| segment.ever_retransmitted()),
            dupacks: c.dupacks,
        });
        let retreats = self.validation.rules.as_mut().is_some_and(|rules| rules.reduced(c, now));
        let target = c.cwnd();
        let ssthresh = c.controller.ssthresh();
        let flight = segments.in_flight(c.outstanding());
        self.reduction = Reduction { prior_cwnd, target, ssthresh, flight, delivered: 0, sent: 0 };
        let at_once = c.options.reduction == ReductionKind::AtOnce || retreats;
        if !at_once && !c.controller.owns_window() {
            c.controller.set_window(prior_cwnd as f64);
        }
    }

    /// Ends the reduction: the window takes its final value.
    pub(super) fn end_reduction(&mut self, c: &mut Connection, now: Time) {
        let stands = self.state == State::Cwr || self.undo.marker.is_some(); // it was not undone
        self.validation.end(c, &mut self.reduction, stands);
        if stands && !c.controller.owns_window() {
            c.controller.set_window(self.reduction.target as f64);
            self.validation.window_use.changed(now);
        }
        c.controller.on_recovery_exit(now);
    }

    /// Begins recovery. `ece`: this ACK carries an ECN echo, which forbids the undo.
    pub(super) fn enter_recovery(&mut self, c: &mut Connection, now: Time, ece: bool) {
        self.undo.forget_first_retransmission(&self.board.segments, c.numbers());
        self.undo.prior_ssthresh = 0.0;
        self.undo.mark(c.una, &self.board.segments, self.probe);
        if !self.state.reducing() {
            if !ece {
                self.undo.prior_ssthresh = self.threshold_to_restore(c);
            }
            self.begin_reduction(c, now, Cause::FastRetransmit);
        }
        self.state = State::Recovery;
    }

    /// Begins a reduction after an ECN echo (RFC 3168).
    pub(super) fn enter_cwr(&mut self, c: &mut Connection, now: Time) {
        self.undo.prior_ssthresh = 0.0;
        if self.state < State::Cwr {
            let was_one = c.cwnd() <= 1;
            self.reduce_once(c, now, Cause::Ecn);
            self.hold_at_one(c, now, was_one);
        }
    }

    /// An echo of a window of one segment, which a controller without a floor of two cannot halve: the next segment waits for a
    /// timeout, which doubles with each such echo in a row (RFC 3168 section 6.1.2, RFC 9438 section 4.6).
    fn hold_at_one(&mut self, c: &Connection, now: Time, was_one: bool) {
        if !was_one || self.reduction.target > 1 {
            self.echoes_at_one = 0;
            return;
        }
        let wait = c.rtt.rto() * (1 << self.echoes_at_one.min(MOST_DOUBLINGS));
        self.held_until = now + wait.min(c.options.max_rto);
        self.echoes_at_one += 1;
    }

    /// Begins a reduction that the controller asks for.
    #[cold]
    pub(super) fn reduce_for_controller(&mut self, c: &mut Connection, now: Time) {
        self.undo.prior_ssthresh = 0.0;
        self.reduce_once(c, now, Cause::Controller);
    }

    /// Begins a reduction without a loss, which nothing undoes.
    fn reduce_once(&mut self, c: &mut Connection, now: Time, cause: Cause) {
        self.undo.marker = None;
        self.begin_reduction(c, now, cause);
        self.state = State::Cwr;
    }

    /// The window of one ACK during a reduction.
    pub(super) fn reduce(&mut self, c: &mut Connection, delivered: u32, newly_lost: bool, advanced: bool) {
        if delivered == 0 || c.options.reduction == ReductionKind::AtOnce || c.controller.owns_window() {
            return;
        }
        if self.validation.rules.as_ref().is_some_and(|rules| rules.window.retreats()) {
            return;
        }
        // A window below the threshold counts as slow start: HyStart may lower the threshold, and the target with it.
        let ssthresh = c.controller.ssthresh();
        if ssthresh < self.reduction.ssthresh && ssthresh == c.controller.cwnd() {
            self.reduction.target = ssthresh as u32;
            self.reduction.ssthresh = ssthresh;
        }
        let flight = self.in_flight(c);
        let safe = advanced && !newly_lost;
        let count = self.reduction.allowance(c.options.reduction, flight, delivered, safe);
        c.controller.set_window((flight + count) as f64);
    }

    /// Undoes the last reduction. `unmark`: nothing is lost.
    pub(super) fn undo(&mut self, c: &mut Connection, now: Time, unmark: bool) {
        if unmark {
            self.board.segments.unmark_losses(c.numbers());
        }
        if self.undo.prior_ssthresh > 0.0 {
            c.cause = Some(WindowCause::Undo);
            c.controller.on_undo(now);
            if let Some(resume) =
                self.validation.rules.as_mut().and_then(|rules| rules.window.resume.as_mut())
            {
                resume.on_undo(now);
            }
            if !c.controller.owns_window() {
                let cwnd = c.cwnd().max(self.undo.prior_cwnd);
                c.controller.set_window(cwnd as f64);
            }
            if self.undo.prior_ssthresh > c.controller.ssthresh() {
                c.controller.set_ssthresh(self.undo.prior_ssthresh);
                c.cwr = false;
            }
        }
        self.validation.window_use.changed(now);
        self.undo.marker = None;
        self.board.detection.pending = true;
    }
}
