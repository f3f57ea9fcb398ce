//! What leaves the sender: lost segments first, then new data, within the window, the receiver's window and the pacer.

use super::Resend;
use crate::connection::{Connection, Transmission};
use crate::context::{FlowContext, FlowTimer};
use crate::recovery_state::rack::{Rack, Scoreboard, Segments, State};
use units::Time;

impl Scoreboard {
    /// Whether the application has data that the receiver's window permits.
    pub(super) fn has_new_data(&self, s: &Connection) -> bool {
        self.new_segments(s) > 0
    }

    /// The new segments that the application has and the receiver's window permits; before the handshake the SYN alone.
    #[inline]
    pub(super) fn new_segments(&self, s: &Connection) -> u32 {
        let next = self.segments.next;
        let all = if s.handshake_pending() { s.limit.min(1) } else { s.limit };
        all.saturating_sub(next).min(s.receive_window.saturating_sub(self.segments.packets_out()))
    }
}

impl Rack {
    /// Sends again what an ACK has found lost.
    pub(super) fn resend<W: FlowContext>(&mut self, s: &mut Connection, context: &mut W, what: Resend) {
        match what {
            Resend::Nothing => {}
            Resend::Lost => self.send_lost(s, context),
            Resend::NewData => {
                self.send_new(s, context);
                if self.board.segments.next <= self.high_seq {
                    self.frto = false;
                    self.send_lost(s, context);
                }
            }
        }
    }

    /// Retransmits lost segments, oldest first, while the window exceeds what is in flight.
    pub(super) fn send_lost<W: FlowContext>(&mut self, s: &mut Connection, context: &mut W) {
        let mut oldest = false;
        let cwnd = s.cwnd();
        while self.board.segments.in_flight() < cwnd {
            let Some(seq) = self.board.segments.next_lost() else { break };
            if !s.may_leave(context) {
                break;
            }
            self.transmit_again(s, context, seq, false);
            self.reduction.transmitted(self.state.reducing() as u32);
            oldest |= seq == self.board.segments.una;
        }
        if oldest {
            self.timer.restart_rto(s, context);
        }
    }

    /// Sends new data while the window exceeds what is in flight.
    pub(super) fn send_new<W: FlowContext>(&mut self, s: &mut Connection, context: &mut W) {
        if self.board.segments.next >= s.limit {
            return;
        }
        if self.held_until > context.now() {
            // A retransmission that waits for the pacer has set the timer.
            if self.board.segments.lost_out <= self.board.segments.retrans_out {
                context.set_timer(FlowTimer::Pace, self.held_until);
            }
            return;
        }
        let none_outstanding = self.board.segments.packets_out() == 0;
        let cwnd = s.cwnd();
        let held = self.state == State::Disorder && !s.options.limited_transmit;
        let in_flight = self.board.segments.in_flight();
        let available = self.board.new_segments(s);
        if in_flight == 0 && available > 0 {
            s.reports.transmit_start(&mut s.controller, context.now(), self.last_sent);
        }
        let most = if held {
            0
        } else {
            available.min(cwnd.saturating_sub(in_flight)).min(s.options.most_at_once())
        };
        let mut sent = 0;
        while sent < most && s.may_leave(context) {
            self.transmit_new(s, context, cwnd);
            sent += 1;
        }
        if sent > 0 {
            self.reduction.transmitted(sent * self.state.reducing() as u32);
            self.arm_after_send(s, context, none_outstanding);
        }
        let full = self.board.segments.in_flight() >= cwnd;
        if sent > 0 || full {
            self.validate_window(s, context.now(), full);
        }
    }

    /// Sends the next new segment. `permitted`: the most segments that may be in flight.
    #[inline(always)] // or each segment pays a call for it
    pub(super) fn transmit_new<W: FlowContext>(
        &mut self,
        s: &mut Connection,
        context: &mut W,
        permitted: u32,
    ) {
        let now = context.now();
        let seq = self.board.segments.next;
        let in_flight = self.board.segments.in_flight();
        self.board.segments.append(now);
        if W::SENDS {
            context.sending(in_flight + 1, permitted);
        }
        self.last_sent = now;
        report_sent(&self.board.segments, s, seq, now, in_flight, false);
        s.transmit(context, seq, false);
    }

    pub(super) fn transmit_again<W: FlowContext>(
        &mut self,
        s: &mut Connection,
        context: &mut W,
        seq: u32,
        probe: bool,
    ) {
        let now = context.now();
        let in_flight = self.board.segments.in_flight();
        self.board.segments.retransmit(seq, now, probe);
        if !probe {
            self.undo.retransmitted(now);
        }
        self.last_sent = now;
        report_sent(&self.board.segments, s, seq, now, in_flight, true);
        s.transmit(context, seq, true);
    }
}

/// Reports a transmission, if anyone asks for it. `before`: the segments in flight before it.
#[inline(always)]
fn report_sent(
    segments: &Segments,
    s: &mut Connection,
    seq: u32,
    now: Time,
    before: u32,
    retransmission: bool,
) {
    if s.reports.reports_sent() {
        let in_flight = [before, segments.in_flight()];
        let (una, lost) = (segments.una, segments.lost);
        s.reports.sent(&mut s.controller, &Transmission { seq, now, retransmission, una, lost, in_flight });
    }
}
