//! What leaves the sender: lost segments first, then new data, within the window, the receiver's window and the pacer.

use super::Resend;
use crate::context::FlowContext;
use crate::recovery_state::rack::{Rack, State};
use crate::sender::Sender;

impl Rack {
    /// Whether the application has data that the receiver's window permits.
    pub(super) fn has_new_data(&self, s: &Sender) -> bool {
        let syn_only = s.handshake_pending() && self.segments.next > 0;
        !syn_only && self.segments.next < s.limit && self.segments.packets_out() < s.receive_window()
    }

    /// Sends again what an ACK has found lost.
    pub(super) fn resend<W: FlowContext>(&mut self, s: &mut Sender, context: &mut W, what: Resend) {
        match what {
            Resend::Nothing => {}
            Resend::Lost => self.send_lost(s, context),
            Resend::NewData => {
                self.send_new(s, context);
                if self.segments.next <= self.high_seq {
                    self.frto = false;
                    self.send_lost(s, context);
                }
            }
        }
    }

    /// Retransmits lost segments, oldest first, while the window exceeds what is in flight.
    pub(super) fn send_lost<W: FlowContext>(&mut self, s: &mut Sender, context: &mut W) {
        let mut oldest = false;
        let cwnd = s.cwnd();
        while self.segments.in_flight() < cwnd {
            let Some(seq) = self.segments.next_lost() else { break };
            if !s.may_leave(context) {
                break;
            }
            self.transmit_again(s, context, seq, false);
            self.reduction.transmitted(self.state.reducing() as u32);
            oldest |= seq == self.segments.una;
        }
        if oldest {
            self.restart_rto(s, context);
        }
    }

    /// Sends new data while the window exceeds what is in flight.
    pub(super) fn send_new<W: FlowContext>(&mut self, s: &mut Sender, context: &mut W) {
        if self.segments.next >= s.limit {
            return;
        }
        let none_outstanding = self.segments.packets_out() == 0;
        let cwnd = s.cwnd();
        let mut sent = 0;
        let held = self.state == State::Disorder && !s.options.limited_transmit;
        let most = if held { 0 } else { s.most_at_once() };
        if self.segments.in_flight() == 0 && self.has_new_data(s) {
            s.notify_transmit_start(context.now(), self.last_sent);
        }
        while sent < most && self.segments.in_flight() < cwnd && self.has_new_data(s) && s.may_leave(context)
        {
            self.transmit_new(s, context, cwnd);
            sent += 1;
        }
        if sent > 0 {
            self.reduction.transmitted(sent * self.state.reducing() as u32);
            self.arm_after_send(s, context, none_outstanding);
        }
        let full = self.segments.in_flight() >= cwnd;
        if sent > 0 || full {
            self.validate_window(s, context.now(), full);
        }
    }

    /// Sends the next new segment. `permitted`: the most segments that may be in flight.
    pub(super) fn transmit_new<W: FlowContext>(&mut self, s: &mut Sender, context: &mut W, permitted: u32) {
        let now = context.now();
        let seq = self.segments.next;
        let in_flight = self.segments.in_flight();
        self.segments.append(now);
        if W::SENDS {
            context.sending(in_flight + 1, permitted);
        }
        self.last_sent = now;
        s.rate_sent(self.segments_state(), seq, now, [in_flight, self.segments.in_flight()]);
        s.transmit(context, seq, false);
    }

    pub(super) fn transmit_again<W: FlowContext>(
        &mut self,
        s: &mut Sender,
        context: &mut W,
        seq: u32,
        probe: bool,
    ) {
        let now = context.now();
        let in_flight = self.segments.in_flight();
        self.segments.retransmit(seq, now, probe);
        if !probe {
            self.undo.retransmitted(now);
        }
        self.last_sent = now;
        s.rate_sent(self.segments_state(), seq, now, [in_flight, self.segments.in_flight()]);
        s.transmit(context, seq, true);
    }

    /// The oldest segment and the number of segments marked as lost, for the rate sampler.
    fn segments_state(&self) -> (u32, u64) {
        (self.segments.una, self.segments.lost)
    }
}
