//! The timers: retransmission timeout (RFC 6298), tail loss probe (RFC 8985 section 7) and reordering timer. One of them
//! is set at a time.

use super::scoreboard::Scoreboard;
use super::snapshot::State;
use super::timer::{Pending, Probe, TIMEOUT_MIN};
use super::{Arrival, Rack};
use crate::connection::{Connection, LossRecovery};
use crate::context::FlowContext;
use cc::{Controller, Timeout};
use units::{Span, Time};

impl Scoreboard {
    /// The time until the retransmission timeout of the oldest segment; at least a microsecond.
    pub(super) fn rto_left(&self, c: &Connection, now: Time) -> Option<Span> {
        let due = self.segments.get(c.una).sent + c.rtt.rto();
        (due > now).then(|| due.since(now))
    }
}

impl Rack {
    /// Sets the retransmission timer.
    pub(super) fn arm_rto<W: FlowContext>(&mut self, c: &Connection, context: &mut W) {
        if c.outstanding() == 0 {
            return self.timer.disarm();
        }
        let elapsed = matches!(self.timer.pending, Pending::Probe | Pending::Reordering | Pending::Reneging);
        let after = if elapsed {
            self.board.rto_left(c, context.now()).unwrap_or(Span::from_ps(1_000_000))
        } else {
            c.rtt.rto()
        };
        self.timer.set(c, context, Pending::Rto, after);
    }

    /// Sets the probe timer if a probe is possible. `advanced`: an ACK has just restarted the retransmission timeout.
    pub(super) fn arm_probe<W: FlowContext>(
        &mut self,
        c: &Connection,
        context: &mut W,
        advanced: bool,
    ) -> bool {
        let out = c.outstanding();
        let possible =
            c.options.tail_loss_probe && c.options.sack && matches!(self.state, State::Open | State::Cwr);
        if !possible || out == 0 || c.handshake_pending() {
            return false;
        }
        let timeout = match c.rtt.smoothed(&c.options) {
            Some(srtt) => srtt * 2 + if out == 1 { c.options.min_rto } else { TIMEOUT_MIN },
            None => c.options.initial_rto,
        };
        let left = if advanced { Some(c.rtt.rto()) } else { self.board.rto_left(c, context.now()) };
        self.timer.set(c, context, Pending::Probe, left.map_or(timeout, |left| timeout.min(left)));
        true
    }

    /// Sets the timer after an ACK for new data.
    pub(super) fn arm_after_ack<W: FlowContext>(&mut self, c: &Connection, context: &mut W) {
        self.rearm = false;
        if !self.arm_probe(c, context, true) {
            self.arm_rto(c, context);
        }
    }

    /// Sets the timer after new data was sent. `first`: nothing was outstanding before.
    pub(super) fn arm_after_send<W: FlowContext>(&mut self, c: &Connection, context: &mut W, first: bool) {
        if self.arm_probe(c, context, false) {
            self.rearm = false;
        } else if std::mem::take(&mut self.rearm)
            || first
            || matches!(self.timer.pending, Pending::Probe | Pending::None)
        {
            self.arm_rto(c, context);
        }
    }

    /// The timer expired.
    pub(super) fn expire<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W) {
        if c.outstanding() == 0 {
            return self.timer.disarm();
        }
        self.timer.deadline = Time::NEVER;
        match self.timer.pending {
            Pending::None => {}
            Pending::Reordering => self.on_reordering_timer(c, context),
            Pending::Probe => self.send_probe(c, context),
            Pending::Rto | Pending::Reneging => self.on_rto(c, context),
        }
    }

    fn on_reordering_timer<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W) {
        let now = context.now();
        let before = self.in_flight(c);
        let lost = self.board.segments.lost;
        self.board.detect(c, self.state, now);
        self.board.notify_losses(c, now);
        if self.in_flight(c) != before {
            if self.state != State::Recovery {
                self.enter_recovery(c, now, false);
                self.reduce(c, 1, self.board.segments.lost > lost, false);
            }
            self.send_lost(c, context);
        }
        if self.timer.pending != Pending::Rto {
            self.arm_rto(c, context);
        }
    }

    fn send_probe<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W) {
        let new_data = self.board.has_new_data(c);
        // As in Linux: a probe with new data waits for the pacer, a repeated segment does not.
        if self.probe.is_none() && (!new_data || c.may_leave(self, context)) {
            if new_data {
                let one_more = self.in_flight(c) + 1;
                self.transmit_new(c, context, one_more);
                self.reduction.transmitted(self.state.reducing() as u32);
            } else {
                let last = c.next - 1;
                self.transmit_again(c, context, last, true);
                if c.paced {
                    let interval = c.pacing_interval(self);
                    c.pacer.charge(context.now(), interval);
                }
            }
            self.probe = Some(Probe { high: c.next, retransmission: !new_data });
            self.timer.pending = Pending::None; // the retransmission timeout counts from now
        }
        self.arm_rto(c, context);
    }

    /// A retransmission timeout.
    fn on_rto<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W) {
        let now = context.now();
        let fresh = self.state < State::Recovery;
        self.board.mark_for_rto(c, now);
        self.board.notify_losses(c, now);
        let una = c.una;
        let cut = self.state <= State::Disorder
            || self.high_seq <= una
            || (self.state == State::Loss && self.timeouts == 0);
        if cut {
            self.undo.prior_ssthresh = self.threshold_to_restore(c);
            self.undo.prior_cwnd = c.cwnd();
            self.undo.mark(c.una, &self.board.segments, self.probe);
            self.validation.discard(c, now);
        }
        c.stats.timeouts += 1;
        c.notify_timeout(&Timeout { now, window: self.window_to_reduce(c) as f64, repeated: !cut }, cut);
        if let Some(rules) = &mut self.validation.rules {
            rules.timed_out(c, now);
        }
        c.controller.set_window((self.in_flight(c) + 1) as f64);
        self.validation.window_use.changed(now);
        if self.state <= State::Disorder && self.board.segments.sacked_out >= 3 {
            self.board.reordering.distrust();
        }
        self.state = State::Loss;
        self.high_seq = c.next;
        self.probe = None;
        self.frto = self.undo.by_frto && (fresh || self.timeouts > 0);
        self.timeouts += 1;
        if c.handshake_pending() {
            c.initial_window = 1.0;
        }
        self.transmit_again(c, context, una, false);
        c.rtt.back_off(&c.options);
        self.timer.set(c, context, Pending::Rto, c.rtt.rto());
    }

    /// The end of a probe's episode (RFC 8985 section 7.4).
    pub(super) fn check_probe(&mut self, c: &mut Connection, a: &Arrival, ack: u32) {
        let Some(probe) = self.probe.filter(|probe| ack >= probe.high) else { return };
        if !probe.retransmission || a.dsack_of_probe {
            self.probe = None;
        } else if ack > probe.high {
            // The probe repaired a loss.
            self.begin_reduction(c, a.now, cc::Cause::FastRetransmit);
            self.state = State::Cwr;
            self.end_reduction(c, a.now);
            self.keep_open(c);
        } else if !a.advanced && !a.sacked {
            self.probe = None;
        }
    }
}
