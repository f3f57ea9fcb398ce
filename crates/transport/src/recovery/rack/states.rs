//! The states of the sender and their transitions on an ACK.

use super::snapshot::State;
use super::{Arrival, Rack, Resend};
use crate::connection::Connection;
use crate::context::FlowContext;
use units::Time;

impl Rack {
    /// Processes an ACK that is not the plain ACK of an open connection. Returns what to send again.
    pub(super) fn change_state<W: FlowContext>(
        &mut self,
        c: &mut Connection,
        context: &mut W,
        a: &mut Arrival,
    ) -> Resend {
        if a.ece {
            self.undo.prior_ssthresh = 0.0;
        }
        if self.board.reneged(c) {
            self.timer.arm_reneging(c, context);
            return Resend::Nothing;
        }
        if self.state == State::Open {
            self.undo.first_retransmission = None;
        } else if c.una >= self.high_seq && self.end_state(c, a) {
            return Resend::Nothing;
        }
        match self.state {
            State::Recovery => {
                if !a.advanced {
                    self.board.count_duplicate(c, !c.options.sack && a.duplicate);
                } else if self.undo_partially(c, a) {
                    return Resend::Nothing;
                }
                if self.undo_by_dsack(c, a.now) {
                    self.try_to_open(c, a);
                }
                self.identify_losses(c, context, a);
                if self.state != State::Recovery {
                    if self.board.segments.lost_out == 0 {
                        return Resend::Nothing;
                    }
                    self.enter_recovery(c, a.now, a.ece);
                }
                return Resend::Lost;
            }
            State::Loss => {
                let resend = self.process_loss(c, a);
                self.identify_losses(c, context, a);
                if self.state != State::Open && !a.lost_retransmission {
                    return resend;
                }
            }
            State::Open | State::Disorder | State::Cwr => {}
        }
        if !c.options.sack {
            if a.advanced {
                self.board.segments.sacked_out = 0;
            }
            self.board.count_duplicate(c, a.duplicate);
        }
        if self.state <= State::Disorder {
            self.undo_by_dsack(c, a.now);
        }
        self.identify_losses(c, context, a);
        if self.board.segments.lost_out == 0 {
            self.try_to_open(c, a);
            return Resend::Nothing;
        }
        self.enter_recovery(c, a.now, a.ece);
        Resend::Lost
    }

    /// Ends a state when everything sent before it is acknowledged. Returns whether the ACK is processed.
    fn end_state(&mut self, c: &mut Connection, a: &Arrival) -> bool {
        match self.state {
            State::Cwr if c.una > self.high_seq => {
                self.end_reduction(c, a.now);
                self.state = State::Open;
            }
            State::Recovery => {
                if !c.options.sack {
                    self.board.segments.sacked_out = 0;
                }
                if self.undo_recovery(c, a) {
                    return true;
                }
                self.end_reduction(c, a.now);
            }
            _ => {}
        }
        false
    }

    /// Without SACK, recovery ends only above `high_seq`: a duplicate ACK of `high_seq` must not start another one
    /// (RFC 6582 section 4).
    fn must_stay(&mut self, c: &Connection) -> bool {
        let stay = !c.options.sack && c.una == self.high_seq;
        if stay && !self.board.segments.any_retransmission(c.numbers()) {
            self.undo.first_retransmission = None;
            self.undo.complete = true;
        }
        stay
    }

    /// The end of recovery or of the loss state: undoes the reduction if it was spurious. Returns whether the state stays.
    fn undo_recovery(&mut self, c: &mut Connection, a: &Arrival) -> bool {
        if self.undo.is_possible(&c.options, a.echo) {
            self.undo(c, a.now, false);
        } else {
            self.board.reordering.recovery_ended();
        }
        if self.must_stay(c) {
            return true;
        }
        self.state = State::Open;
        false
    }

    /// A partial ACK by the late original of a segment: undoes the reduction if no retransmission is in flight. Returns
    /// whether the ACK is processed.
    fn undo_partially(&mut self, c: &mut Connection, a: &Arrival) -> bool {
        if self.undo.marker.is_none() || !self.undo.original_was_late(&c.options, a.echo) {
            return false;
        }
        self.board.reordering.see(self.board.segments.highest_sacked(c.una), a.prior_una);
        if self.board.segments.retrans_out > 0 {
            return true;
        }
        self.undo.forget_first_retransmission(&self.board.segments, c.numbers());
        self.undo(c, a.now, true);
        self.keep_open(c);
        false
    }

    fn undo_by_dsack(&mut self, c: &mut Connection, now: Time) -> bool {
        let all = self.undo.all_duplicates();
        if all {
            self.board.reordering.recovery_undone();
            self.undo(c, now, false);
        }
        all
    }

    fn try_to_open(&mut self, c: &mut Connection, a: &Arrival) {
        self.undo.forget_first_retransmission(&self.board.segments, c.numbers());
        if a.ece {
            self.enter_cwr(c, a.now);
        }
        if self.state != State::Cwr {
            self.keep_open(c);
        }
    }

    /// Sets the state for an ACK without a loss.
    pub(super) fn keep_open(&mut self, c: &Connection) {
        let clean = self.board.segments.sacked_out + self.board.segments.lost_out == 0
            && !self.board.segments.any_retransmission(c.numbers());
        let state = if clean { State::Open } else { State::Disorder };
        if state != self.state {
            self.state = state;
            self.high_seq = c.next;
        }
    }

    fn undo_loss(&mut self, c: &mut Connection, now: Time, by_frto: bool) {
        self.undo(c, now, true);
        self.timeouts = 0;
        if !self.must_stay(c) && (by_frto || c.options.sack) {
            self.state = State::Open;
        }
    }

    /// An ACK after a retransmission timeout: F-RTO (RFC 5682, with SACK), otherwise slow start.
    fn process_loss(&mut self, c: &mut Connection, a: &Arrival) -> Resend {
        let recovered = c.una >= self.high_seq;
        if a.advanced && self.undo.is_possible(&c.options, a.echo) {
            self.undo_loss(c, a.now, false);
            return Resend::Nothing;
        }
        if self.frto {
            if a.original {
                self.undo_loss(c, a.now, true);
                return Resend::Nothing;
            }
            if c.next > self.high_seq {
                if a.sacked || a.duplicate {
                    self.frto = false; // the new data arrived before the old: the loss was real
                }
            } else if a.advanced && !recovered {
                self.high_seq = c.next;
                if self.board.has_new_data(c) {
                    return Resend::NewData;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.undo_recovery(c, a);
            return Resend::Nothing;
        }
        if !c.options.sack {
            // (Measured: an advance resets the count also after new data was sent.)
            if a.advanced {
                self.board.segments.sacked_out = 0;
            } else if c.next > self.high_seq {
                self.board.count_duplicate(c, a.duplicate);
            }
        }
        Resend::Lost
    }
}
