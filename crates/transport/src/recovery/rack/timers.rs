//! The timers: retransmission timeout (RFC 6298), tail loss probe (RFC 8985 section 7) and reordering timer. One of them
//! is set at a time.

use super::Arrival;
use super::reduction::threshold_to_restore;
use crate::connection::Connection;
use crate::context::{FlowContext, FlowTimer};
use crate::options::TimerClock;
use crate::recovery_state::rack::{Pending, Probe, Rack, Scoreboard, State, Timer};
use cc::{Controller, Timeout};
use units::{Span, Time};

/// Shortest timeout of the probe and the reordering timer.
const TIMEOUT_MIN: Span = Span::from_ms(2);
const RENEGING_MIN: Span = Span::from_ms(10);

impl Timer {
    /// Sets the timer. The engine learns of it at the end of the event, in [`Timer::apply`].
    #[inline]
    pub(super) fn set<W: FlowContext>(&mut self, s: &Connection, context: &W, pending: Pending, after: Span) {
        self.pending = pending;
        let after = match s.options.timer {
            TimerClock::Exact => after,
            TimerClock::Linux => kernel_timeout(after),
        };
        self.deadline = context.now() + after;
    }

    pub(super) fn disarm(&mut self) {
        self.pending = Pending::None;
        self.deadline = Time::NEVER;
    }

    /// Sets or stops the engine's timer after an event: one call, however often the event changed its mind.
    #[inline]
    pub(super) fn apply<W: FlowContext>(&self, context: &mut W) {
        if context.timer(FlowTimer::Retransmit) != self.deadline {
            context.set_timer(FlowTimer::Retransmit, self.deadline);
        }
    }

    /// Sets the retransmission timer to a whole timeout, after the oldest segment was retransmitted.
    pub(super) fn restart_rto<W: FlowContext>(&mut self, s: &Connection, context: &mut W) {
        if self.pending != Pending::Reordering {
            self.set(s, context, Pending::Rto, s.rtt.rto());
        }
    }

    pub(super) fn arm_reordering<W: FlowContext>(&mut self, s: &Connection, context: &mut W, wait: Span) {
        self.set(s, context, Pending::Reordering, wait + TIMEOUT_MIN);
    }

    pub(super) fn arm_reneging<W: FlowContext>(&mut self, s: &Connection, context: &mut W) {
        let half = s.rtt.smoothed(&s.options).map_or(Span::ZERO, |srtt| Span::from_ps(srtt.ps() / 2));
        self.set(s, context, Pending::Reneging, half.max(RENEGING_MIN));
    }
}

impl Scoreboard {
    /// The time until the retransmission timeout of the oldest segment; at least a microsecond.
    pub(super) fn rto_left(&self, s: &Connection, now: Time) -> Option<Span> {
        let due = self.segments.get(self.segments.una).sent + s.rtt.rto();
        (due > now).then(|| due.since(now))
    }
}

impl Rack {
    /// Sets the retransmission timer.
    pub(super) fn arm_rto<W: FlowContext>(&mut self, s: &Connection, context: &mut W) {
        if self.board.segments.packets_out() == 0 {
            return self.timer.disarm();
        }
        let elapsed = matches!(self.timer.pending, Pending::Probe | Pending::Reordering | Pending::Reneging);
        let after = if elapsed {
            self.board.rto_left(s, context.now()).unwrap_or(Span::from_ps(1_000_000))
        } else {
            s.rtt.rto()
        };
        self.timer.set(s, context, Pending::Rto, after);
    }

    /// Sets the probe timer if a probe is possible. `advanced`: an ACK has just restarted the retransmission timeout.
    pub(super) fn arm_probe<W: FlowContext>(
        &mut self,
        s: &Connection,
        context: &mut W,
        advanced: bool,
    ) -> bool {
        let out = self.board.segments.packets_out();
        let possible =
            s.options.tail_loss_probe && s.options.sack && matches!(self.state, State::Open | State::Cwr);
        if !possible || out == 0 || s.handshake_pending() {
            return false;
        }
        let timeout = match s.rtt.smoothed(&s.options) {
            Some(srtt) => srtt * 2 + if out == 1 { s.options.min_rto } else { TIMEOUT_MIN },
            None => s.options.initial_rto,
        };
        let left = if advanced { Some(s.rtt.rto()) } else { self.board.rto_left(s, context.now()) };
        self.timer.set(s, context, Pending::Probe, left.map_or(timeout, |left| timeout.min(left)));
        true
    }

    /// Sets the timer after an ACK for new data.
    pub(super) fn arm_after_ack<W: FlowContext>(&mut self, s: &Connection, context: &mut W) {
        self.rearm = false;
        if !self.arm_probe(s, context, true) {
            self.arm_rto(s, context);
        }
    }

    /// Sets the timer after new data was sent. `first`: nothing was outstanding before.
    pub(super) fn arm_after_send<W: FlowContext>(&mut self, s: &Connection, context: &mut W, first: bool) {
        if self.arm_probe(s, context, false) {
            self.rearm = false;
        } else if std::mem::take(&mut self.rearm)
            || first
            || matches!(self.timer.pending, Pending::Probe | Pending::None)
        {
            self.arm_rto(s, context);
        }
    }

    /// The timer expired.
    pub(super) fn expire<W: FlowContext>(&mut self, s: &mut Connection, context: &mut W) {
        if self.board.segments.packets_out() == 0 {
            return self.timer.disarm();
        }
        self.timer.deadline = Time::NEVER;
        match self.timer.pending {
            Pending::None => {}
            Pending::Reordering => self.on_reordering_timer(s, context),
            Pending::Probe => self.send_probe(s, context),
            Pending::Rto | Pending::Reneging => self.on_rto(s, context),
        }
    }

    fn on_reordering_timer<W: FlowContext>(&mut self, s: &mut Connection, context: &mut W) {
        let now = context.now();
        let before = self.board.segments.in_flight();
        let lost = self.board.segments.lost;
        self.board.detect(s, self.state, now);
        self.board.notify_losses(s, now);
        if self.board.segments.in_flight() != before {
            if self.state != State::Recovery {
                self.enter_recovery(s, now, false);
                self.reduce(s, 1, self.board.segments.lost > lost, false);
            }
            self.send_lost(s, context);
        }
        if self.timer.pending != Pending::Rto {
            self.arm_rto(s, context);
        }
    }

    fn send_probe<W: FlowContext>(&mut self, s: &mut Connection, context: &mut W) {
        let new_data = self.board.has_new_data(s);
        // As in Linux: a probe with new data waits for the pacer, a repeated segment does not.
        if self.probe.is_none() && (!new_data || s.may_leave(context)) {
            if new_data {
                let one_more = self.board.segments.in_flight() + 1;
                self.transmit_new(s, context, one_more);
                self.reduction.transmitted(self.state.reducing() as u32);
            } else {
                let last = self.board.segments.next - 1;
                self.transmit_again(s, context, last, true);
                if s.paced {
                    s.pacer.charge(context.now(), s.pacing_interval());
                }
            }
            self.probe = Some(Probe { high: self.board.segments.next, retransmission: !new_data });
            self.timer.pending = Pending::None; // the retransmission timeout counts from now
        }
        self.arm_rto(s, context);
    }

    /// A retransmission timeout.
    fn on_rto<W: FlowContext>(&mut self, s: &mut Connection, context: &mut W) {
        let now = context.now();
        let fresh = self.state < State::Recovery;
        self.board.mark_for_rto(s, now);
        self.board.notify_losses(s, now);
        let una = self.board.segments.una;
        let cut = self.state <= State::Disorder
            || self.high_seq <= una
            || (self.state == State::Loss && self.timeouts == 0);
        if cut {
            self.undo.prior_ssthresh = threshold_to_restore(self.state, s);
            self.undo.prior_cwnd = s.cwnd();
            self.undo.mark(&self.board.segments, self.probe);
            self.validation.discard(s, self.board.segments.packets_out(), now);
        }
        s.stats.timeouts += 1;
        s.notify_timeout(&Timeout { now, window: self.window_to_reduce(s) as f64, repeated: !cut }, cut);
        if let Some(pipe_ack) = &mut self.validation.pipe_ack {
            pipe_ack.restart();
        }
        s.controller.set_window((self.board.segments.in_flight() + 1) as f64);
        self.validation.window_use.changed(now);
        if self.state <= State::Disorder && self.board.segments.sacked_out >= 3 {
            self.board.reordering.distrust();
        }
        self.state = State::Loss;
        self.high_seq = self.board.segments.next;
        self.probe = None;
        self.frto = self.undo.by_frto && (fresh || self.timeouts > 0);
        self.timeouts += 1;
        if s.handshake_pending() {
            s.initial_window = 1.0;
        }
        self.transmit_again(s, context, una, false);
        s.rtt.back_off(&s.options);
        self.timer.set(s, context, Pending::Rto, s.rtt.rto());
    }

    /// The end of a probe's episode (RFC 8985 section 7.4).
    pub(super) fn check_probe(&mut self, s: &mut Connection, a: &Arrival, ack: u32) {
        let Some(probe) = self.probe.filter(|probe| ack >= probe.high) else { return };
        if !probe.retransmission || a.dsack_of_probe {
            self.probe = None;
        } else if ack > probe.high {
            // The probe repaired a loss.
            self.begin_reduction(s, a.now, cc::Cause::FastRetransmit);
            self.state = State::Cwr;
            self.end_reduction(s, a.now);
            self.keep_open();
        } else if !a.advanced && !a.sacked {
            self.probe = None;
        }
    }
}

/// A timeout as a Linux kernel with 250 Hz keeps it: rounded up to jiffies of 4 ms, plus one tick; beyond 63 ticks rounded
/// up to the granularity of the timer wheel's level.
fn kernel_timeout(after: Span) -> Span {
    const JIFFY: u64 = 4_000_000_000;
    let ticks = after.ps().div_ceil(JIFFY) + 1;
    let mut granularity = 1;
    let mut reach = 63;
    while ticks > reach {
        granularity *= 8;
        reach *= 8;
    }
    Span::from_ps(ticks.div_ceil(granularity) * granularity * JIFFY)
}
