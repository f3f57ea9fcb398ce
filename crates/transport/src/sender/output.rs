//! Transmission: limits by window and pacing, and the retransmission timer.

use super::Sender;
use crate::blocks::AckOptions;
use crate::context::{FlowContext, FlowTimer};
use crate::recovery::RecoveryState;
use cc::Controller;
use net::{Packet, PacketKind};
use units::{Rate, Time};

impl Sender {
    /// Limited transmit (RFC 3042): one new segment on an early duplicate ACK.
    pub(crate) fn send_one<W: FlowContext>(&mut self, context: &mut W) {
        let flight = self.next - self.una;
        let allowed = flight < self.options.window
            && flight as f64 + 1.0 <= self.controller.cwnd() + self.dupacks as f64
            && self.next < self.limit;
        if allowed && self.may_leave(context) {
            let seq = self.next;
            self.next += 1;
            self.output(context, seq);
        }
    }

    /// Whether this sender paces its packets.
    #[inline]
    pub(crate) fn paces(&self) -> bool {
        self.paced
    }

    /// Whether pacing permits a packet now. If not, sets the pacing timer.
    #[inline]
    pub(crate) fn may_leave<W: FlowContext>(&mut self, context: &mut W) -> bool {
        if !self.paces() {
            return true;
        }
        let now = context.now();
        if self.pace_at > now {
            context.set_timer(FlowTimer::Pace, self.pace_at);
            return false;
        }
        self.charge_pacer(now);
        true
    }

    /// A segment is sent at `now`: the pacer permits the next one after its time at the pacing rate.
    pub(crate) fn charge_pacer(&mut self, now: Time) {
        if self.paces()
            && let Some(rate) = self.pacing_rate()
        {
            self.pace_at = self.pace_at.max(now) + rate.time_for(self.paced_size() as u64);
        }
    }

    /// The bytes of a segment that the pacer counts: in Linux the payload.
    fn paced_size(&self) -> u32 {
        match self.recovery_state {
            RecoveryState::Rack(_) => self.options.packet,
            _ => self.wire_size,
        }
    }

    /// The controller's pacing rate; otherwise the window over the round-trip time, times 2 in slow start and 1.2
    /// after it, as in Linux.
    fn pacing_rate(&self) -> Option<Rate> {
        self.controller.pacing().or_else(|| {
            let rtt = self.rtt.smoothed(&self.options)?.seconds();
            let cwnd = self.controller.cwnd();
            let gain = self.options.pacing_gain[(cwnd >= self.controller.ssthresh() / 2.0) as usize];
            let window = match self.recovery_state {
                // As in Linux: what is outstanding, if that is more than the window.
                RecoveryState::Rack(_) => cwnd.max((self.next - self.una) as f64),
                _ => cwnd,
            };
            let bps = gain * window * self.paced_size() as f64 * 8.0 / rtt;
            (bps >= 1.0).then(|| Rate::from_bps(bps as u64))
        })
    }

    /// Sends segment `seq`. The caller moves `next`.
    #[inline]
    pub(crate) fn output<W: FlowContext>(&mut self, context: &mut W, seq: u32) {
        let now = context.now();
        let outstanding = self.high - self.una;
        let again = seq < self.high;
        if W::SENDS && !again {
            context.sending(self.in_flight(), self.allowance());
        }
        self.segments.sent(self.una, self.high, seq, now);
        if !again {
            self.high = seq + 1;
            if !self.timing {
                self.timing = true;
                self.timed_seq = seq;
                self.timed_at = now;
            }
        }
        if self.rate.is_some() {
            self.note_sent_rate(seq, now, again, outstanding);
        }
        self.transmit(context, seq, again);
        let restart = outstanding == 0 && !matches!(self.recovery_state, RecoveryState::Vegas(_));
        if restart || context.timer(FlowTimer::Retransmit) == Time::NEVER {
            context.set_timer(FlowTimer::Retransmit, now + self.rtt.rto());
        }
    }

    /// Builds the packet of segment `seq` and gives it to the network. `again`: it is a retransmission.
    #[inline]
    pub(crate) fn transmit<W: FlowContext>(&mut self, context: &mut W, seq: u32, again: bool) {
        let syn = seq == 0 && self.options.syn;
        let size = if syn { self.options.syn_size } else { self.wire_size };
        let mut packet = Packet::new(PacketKind::Data, self.flow, self.route, seq, size, context.now());
        if self.uses_router_feedback {
            packet = self.set_request_headers(packet, syn, again);
        }
        if !syn {
            self.stats.sent += 1;
            self.stats.retransmitted += again as u32;
        }
        context.send(packet, &AckOptions::NONE);
    }

    /// Restarts the retransmission timer after a fast retransmit and stops the current round-trip measurement (Karn).
    pub(crate) fn reset_timer<W: FlowContext>(&mut self, context: &mut W, back_off: bool) {
        if back_off {
            self.rtt.back_off(&self.options);
        }
        context.set_timer(FlowTimer::Retransmit, context.now() + self.rtt.rto());
        self.timing = false;
    }

    /// A partial ACK that covers the timed segment ends its measurement without a sample.
    pub(crate) fn drop_timing(&mut self, newest: u32) {
        if self.timing && newest >= self.timed_seq {
            self.timing = false;
            self.rtt.end_backoff(&self.options);
        }
    }

    pub(crate) fn opened(&self) -> bool {
        self.opened
    }
    /// Opens the connection at the second new ACK, as ns-2's Vegas does.
    pub(crate) fn open_late(&mut self) {
        self.opened = true;
        self.controller.set_window(self.initial_window);
    }
}
