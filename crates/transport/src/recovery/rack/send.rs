//! What leaves the sender: lost segments first, then new data, within the window, the receiver's window and the pacer.

use super::scoreboard::Scoreboard;
use super::snapshot::State;
use super::{Rack, Resend};
use crate::connection::{Connection, LossRecovery, Transmission};
use crate::context::{FlowContext, FlowTimer};

impl Scoreboard {
    /// Whether the application has data that the receiver's window permits.
    pub(super) fn has_new_data(&self, c: &Connection) -> bool {
        self.new_segments(c) > 0
    }

    /// The new segments that the application has and the receiver's window permits; before the handshake the SYN alone.
    #[inline]
    pub(super) fn new_segments(&self, c: &Connection) -> u32 {
        let next = c.next;
        let all = if c.handshake_pending() { c.limit.min(1) } else { c.limit };
        all.saturating_sub(next).min(c.receive_window.saturating_sub(c.outstanding()))
    }
}

impl Rack {
    /// Sends again what an ACK has found lost.
    pub(super) fn resend<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W, what: Resend) {
        match what {
            Resend::Nothing => {}
            Resend::Lost => self.send_lost(c, context),
            Resend::NewData => {
                self.send_new(c, context);
                if c.next <= self.high_seq {
                    self.frto = false;
                    self.send_lost(c, context);
                }
            }
        }
    }

    /// Retransmits lost segments, oldest first, while the window exceeds what is in flight.
    pub(super) fn send_lost<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W) {
        let mut oldest = false;
        let cwnd = c.cwnd();
        while self.in_flight(c) < cwnd {
            let Some(seq) = self.board.segments.next_lost(c.una) else { break };
            if !c.may_leave(self, context) {
                break;
            }
            self.transmit_again(c, context, seq, false);
            self.reduction.transmitted(self.state.reducing() as u32);
            oldest |= seq == c.una;
        }
        if oldest {
            self.timer.restart_rto(c, context);
        }
    }

    /// Sends new data while the window exceeds what is in flight.
    pub(super) fn send_new<W: FlowContext>(&mut self, c: &mut Connection, context: &mut W) {
        if c.next >= c.limit {
            return;
        }
        if self.held_until > context.now() {
            // A retransmission that waits for the pacer has set the timer.
            if self.board.segments.lost_out <= self.board.segments.retrans_out {
                context.set_timer(FlowTimer::Pace, self.held_until);
            }
            return;
        }
        let none_outstanding = c.outstanding() == 0;
        let cwnd = c.cwnd();
        let held = self.state == State::Disorder && !c.options.limited_transmit;
        let in_flight = self.in_flight(c);
        let available = self.board.new_segments(c);
        if in_flight == 0 && available > 0 {
            c.reports.transmit_start(&mut c.controller, context.now(), self.last_sent);
        }
        let most = if held {
            0
        } else {
            available.min(cwnd.saturating_sub(in_flight)).min(c.options.most_at_once())
        };
        let mut sent = 0;
        while sent < most && c.may_leave(self, context) {
            self.transmit_new(c, context, cwnd);
            sent += 1;
        }
        if sent > 0 {
            self.reduction.transmitted(sent * self.state.reducing() as u32);
            self.arm_after_send(c, context, none_outstanding);
        }
        let full = self.in_flight(c) >= cwnd;
        if sent > 0 || full {
            self.validate_window(c, context.now(), full);
        }
    }

    /// Sends the next new segment. `permitted`: the most segments that may be in flight.
    #[inline(always)] // or each segment pays a call for it
    pub(super) fn transmit_new<W: FlowContext>(
        &mut self,
        c: &mut Connection,
        context: &mut W,
        permitted: u32,
    ) {
        let now = context.now();
        let seq = c.next;
        let in_flight = self.in_flight(c);
        self.board.segments.append(c.numbers(), now);
        c.next += 1;
        c.high = c.next;
        if W::SENDS {
            context.sending(in_flight + 1, permitted);
        }
        self.last_sent = now;
        self.report_sent(c, seq, in_flight, false);
        c.transmit(context, seq, false);
    }

    /// Sends segment `seq` again. `probe`: as a tail loss probe.
    pub(super) fn transmit_again<W: FlowContext>(
        &mut self,
        c: &mut Connection,
        context: &mut W,
        seq: u32,
        probe: bool,
    ) {
        let now = context.now();
        let in_flight = self.in_flight(c);
        self.board.segments.retransmit(seq, now, probe);
        if !probe {
            self.undo.retransmitted(now);
        }
        self.last_sent = now;
        self.report_sent(c, seq, in_flight, true);
        c.transmit(context, seq, true);
    }

    /// Reports the transmission of `seq` just now, if anyone asks for it. `before`: the segments in flight before it.
    #[inline(always)]
    fn report_sent(&self, c: &mut Connection, seq: u32, before: u32, retransmission: bool) {
        if c.reports.reports_sent() {
            let in_flight = [before, self.in_flight(c)];
            let (now, una, lost) = (self.last_sent, c.una, self.board.segments.lost);
            c.reports
                .sent(&mut c.controller, &Transmission { seq, now, retransmission, una, lost, in_flight });
        }
    }
}
