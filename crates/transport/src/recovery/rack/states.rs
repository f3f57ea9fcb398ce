//! The states of the sender and their transitions on an ACK.

use super::{Arrival, Resend};
use crate::connection::Connection;
use crate::context::FlowContext;
use crate::recovery_state::rack::{Rack, State};
use units::Time;

impl Rack {
    /// Processes an ACK that is not the plain ACK of an open connection. Returns what to send again.
    pub(super) fn change_state<W: FlowContext>(
        &mut self,
        s: &mut Connection,
        context: &mut W,
        a: &mut Arrival,
    ) -> Resend {
        if a.ece {
            self.undo.prior_ssthresh = 0.0;
        }
        if self.board.reneged() {
            self.timer.arm_reneging(s, context);
            return Resend::Nothing;
        }
        if self.state == State::Open {
            self.undo.first_retransmission = None;
        } else if self.board.segments.una >= self.high_seq && self.end_state(s, a) {
            return Resend::Nothing;
        }
        match self.state {
            State::Recovery => {
                if !a.advanced {
                    self.board.count_duplicate(!s.options.sack && a.duplicate);
                } else if self.undo_partially(s, a) {
                    return Resend::Nothing;
                }
                if self.undo_by_dsack(s, a.now) {
                    self.try_to_open(s, a);
                }
                self.identify_losses(s, context, a);
                if self.state != State::Recovery {
                    if self.board.segments.lost_out == 0 {
                        return Resend::Nothing;
                    }
                    self.enter_recovery(s, a.now, a.ece);
                }
                return Resend::Lost;
            }
            State::Loss => {
                let resend = self.process_loss(s, a);
                self.identify_losses(s, context, a);
                if self.state != State::Open && !a.lost_retransmission {
                    return resend;
                }
            }
            State::Open | State::Disorder | State::Cwr => {}
        }
        if !s.options.sack {
            if a.advanced {
                self.board.segments.sacked_out = 0;
            }
            self.board.count_duplicate(a.duplicate);
        }
        if self.state <= State::Disorder {
            self.undo_by_dsack(s, a.now);
        }
        self.identify_losses(s, context, a);
        if self.board.segments.lost_out == 0 {
            self.try_to_open(s, a);
            return Resend::Nothing;
        }
        self.enter_recovery(s, a.now, a.ece);
        Resend::Lost
    }

    /// Ends a state when everything sent before it is acknowledged. Returns whether the ACK is processed.
    fn end_state(&mut self, s: &mut Connection, a: &Arrival) -> bool {
        match self.state {
            State::Cwr if self.board.segments.una > self.high_seq => {
                self.end_reduction(s, a.now);
                self.state = State::Open;
            }
            State::Recovery => {
                if !s.options.sack {
                    self.board.segments.sacked_out = 0;
                }
                if self.undo_recovery(s, a) {
                    return true;
                }
                self.end_reduction(s, a.now);
            }
            _ => {}
        }
        false
    }

    /// Without SACK, recovery ends only above `high_seq`: a duplicate ACK of `high_seq` must not start another one
    /// (RFC 6582 section 4).
    fn must_stay(&mut self, s: &Connection) -> bool {
        let stay = !s.options.sack && self.board.segments.una == self.high_seq;
        if stay && !self.board.segments.any_retransmission() {
            self.undo.first_retransmission = None;
            self.undo.complete = true;
        }
        stay
    }

    /// The end of recovery or of the loss state: undoes the reduction if it was spurious. Returns whether the state stays.
    fn undo_recovery(&mut self, s: &mut Connection, a: &Arrival) -> bool {
        if self.undo.is_possible(&s.options, a.echo) {
            self.undo(s, a.now, false);
        } else {
            self.board.reordering.recovery_ended();
        }
        if self.must_stay(s) {
            return true;
        }
        self.state = State::Open;
        false
    }

    /// A partial ACK by the late original of a segment: undoes the reduction if no retransmission is in flight. Returns
    /// whether the ACK is processed.
    fn undo_partially(&mut self, s: &mut Connection, a: &Arrival) -> bool {
        if self.undo.marker.is_none() || !self.undo.original_was_late(&s.options, a.echo) {
            return false;
        }
        self.board.reordering.see(self.board.segments.highest_sacked(), a.prior_una);
        if self.board.segments.retrans_out > 0 {
            return true;
        }
        self.undo.forget_first_retransmission(&self.board.segments);
        self.undo(s, a.now, true);
        self.keep_open();
        false
    }

    fn undo_by_dsack(&mut self, s: &mut Connection, now: Time) -> bool {
        let all = self.undo.all_duplicates();
        if all {
            self.board.reordering.recovery_undone();
            self.undo(s, now, false);
        }
        all
    }

    fn try_to_open(&mut self, s: &mut Connection, a: &Arrival) {
        self.undo.forget_first_retransmission(&self.board.segments);
        if a.ece {
            self.enter_cwr(s, a.now);
        }
        if self.state != State::Cwr {
            self.keep_open();
        }
    }

    /// Sets the state for an ACK without a loss.
    pub(super) fn keep_open(&mut self) {
        let clean = self.board.segments.sacked_out + self.board.segments.lost_out == 0
            && !self.board.segments.any_retransmission();
        let state = if clean { State::Open } else { State::Disorder };
        if state != self.state {
            self.state = state;
            self.high_seq = self.board.segments.next;
        }
    }

    fn undo_loss(&mut self, s: &mut Connection, now: Time, by_frto: bool) {
        self.undo(s, now, true);
        self.timeouts = 0;
        if !self.must_stay(s) && (by_frto || s.options.sack) {
            self.state = State::Open;
        }
    }

    /// An ACK after a retransmission timeout: F-RTO (RFC 5682, with SACK), otherwise slow start.
    fn process_loss(&mut self, s: &mut Connection, a: &Arrival) -> Resend {
        let recovered = self.board.segments.una >= self.high_seq;
        if a.advanced && self.undo.is_possible(&s.options, a.echo) {
            self.undo_loss(s, a.now, false);
            return Resend::Nothing;
        }
        if self.frto {
            if a.original {
                self.undo_loss(s, a.now, true);
                return Resend::Nothing;
            }
            if self.board.segments.next > self.high_seq {
                if a.sacked || a.duplicate {
                    self.frto = false; // the new data arrived before the old: the loss was real
                }
            } else if a.advanced && !recovered {
                self.high_seq = self.board.segments.next;
                if self.board.has_new_data(s) {
                    return Resend::NewData;
                }
                self.frto = false;
            }
        }
        if recovered {
            self.undo_recovery(s, a);
            return Resend::Nothing;
        }
        if !s.options.sack {
            // (Measured: an advance resets the count also after new data was sent.)
            if a.advanced {
                self.board.segments.sacked_out = 0;
            } else if self.board.segments.next > self.high_seq {
                self.board.count_duplicate(a.duplicate);
            }
        }
        Resend::Lost
    }
}
