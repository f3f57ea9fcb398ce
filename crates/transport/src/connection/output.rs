//! Transmission: limits by window and pacing, and the retransmission timer.

use super::{Connection, LossRecovery, Transmission};
use crate::blocks::AckOptions;
use crate::context::{FlowContext, FlowTimer};
use crate::options::{Options, Recovery};
use cc::{Controller, Signals};
use net::{Packet, PacketKind};
use units::{PS_PER_S, Rate, Span, Time};

/// The largest burst of TSO, bytes of payload, and the smallest one, segments.
const TSO_BYTES: u64 = 65_494;
const TSO_LEAST: u64 = 2;

/// Segments, one of which takes `interval` at the pacing rate, in a burst that the network card cuts into packets (TSO), as Linux
/// sizes it: 2^-shift s.
#[inline(never)] // keeps the path without it short
fn burst_segments(interval: Span, options: &Options) -> u32 {
    let segment = options.packet as u64;
    // Of a segment of 18 MB, the most that 64 bits can count, a burst has the least number.
    let each_second = segment.saturating_mul(PS_PER_S) / interval.ps().max(1);
    ((each_second >> options.pacing_shift).min(TSO_BYTES) / segment).max(TSO_LEAST) as u32
}

impl Connection {
    /// Limited transmit (RFC 3042): one new segment on an early duplicate ACK.
    pub(crate) fn send_one<W: FlowContext>(&mut self, recovery: &impl LossRecovery, context: &mut W) {
        let flight = self.next - self.una;
        let allowed = flight < self.options.window
            && flight as f64 + 1.0 <= self.controller.cwnd() + self.dupacks as f64
            && self.next < self.limit;
        if allowed && self.may_leave(recovery, context) {
            let seq = self.next;
            self.next += 1;
            self.output(recovery, context, seq);
        }
    }

    /// Whether pacing permits a packet now. If not, sets the pacing timer.
    #[inline]
    pub(crate) fn may_leave<W: FlowContext>(
        &mut self,
        recovery: &impl LossRecovery,
        context: &mut W,
    ) -> bool {
        if self.options.small_queues && !self.has_local_room(recovery, context) {
            return false;
        }
        if !self.paced {
            return true;
        }
        let now = context.now();
        if let Some(at) = self.pacer.next_after(now) {
            context.set_timer(FlowTimer::Pace, at);
            return false;
        }
        let interval = self.pacing_interval(recovery);
        if !self.pacer.continues(now) {
            self.pacer.begin(now, self.burst(interval));
        }
        self.pacer.take(now, interval);
        true
    }

    /// Segments that the pacer releases at once if one of them takes `interval`.
    fn burst(&self, interval: Option<Span>) -> u32 {
        let quantum = self.controller.send_quantum().clamp(1, self.options.gso_max_segs);
        match interval {
            Some(interval) if self.options.tso => quantum.max(burst_segments(interval, &self.options)),
            _ => quantum,
        }
    }

    /// Whether the queue and the device of the host have room for a packet. If not, the pacing timer is set when they have.
    /// As in Linux a packet leaves in any case if nothing is outstanding.
    #[inline(never)] // keeps the path without it short
    fn has_local_room<W: FlowContext>(&mut self, recovery: &impl LossRecovery, context: &mut W) -> bool {
        self.host_full = false;
        let idle = recovery.outstanding_for_pacing(self) == 0;
        let Some(interval) = self.pacing_interval(recovery).filter(|_| !idle) else { return true };
        let burst = burst_segments(interval, &self.options);
        let each_second = PS_PER_S / interval.ps().max(1);
        let segments = (each_second >> self.options.pacing_shift).max(2 * burst as u64);
        let room = context.local_room(segments * self.wire_size as u64);
        if let Some(at) = room.filter(|at| *at < Time::NEVER) {
            context.set_timer(FlowTimer::Pace, at);
        }
        self.host_full = room.is_some();
        !self.host_full
    }

    /// The time of a segment at the pacing rate. The controller's rate counts the payload, or whole packets if routers grant
    /// it. Without one it is the window over the round-trip time, times 2 in slow start and 1.2 after it, as in Linux.
    pub fn pacing_interval(&mut self, recovery: &impl LossRecovery) -> Option<Span> {
        if self.start_interval.is_some() {
            return self.start_interval;
        }
        if let Some(rate) = self.controller.pacing() {
            let granted = self.reports.has(Signals::ROUTER_RATE);
            let size = if granted { self.wire_size } else { self.options.packet };
            return Some(self.pacer.time_for(rate, size));
        }
        let rtt = self.rtt.smoothed(&self.options)?.seconds();
        let cwnd = self.controller.cwnd();
        let gain = self.options.pacing_gain[(cwnd >= self.controller.ssthresh() / 2.0) as usize];
        let (window, size) = match self.options.recovery {
            // As in Linux: what is outstanding, if that is more than the window.
            Recovery::Rack => (cwnd.max(recovery.outstanding_for_pacing(self) as f64), self.options.packet),
            _ => (cwnd, self.wire_size),
        };
        let bps = gain * window * size as f64 * 8.0 / rtt;
        (bps >= 1.0).then(|| self.pacer.time_for(Rate::from_bps(bps as u64), size))
    }

    /// Sends segment `seq`. The caller moves `next`.
    #[inline]
    pub(crate) fn output<W: FlowContext>(&mut self, recovery: &impl LossRecovery, context: &mut W, seq: u32) {
        let now = context.now();
        let outstanding = self.high - self.una;
        let retransmission = seq < self.high;
        if W::SENDS && !retransmission {
            context.sending(recovery.in_flight(self), recovery.allowance(self));
        }
        self.segments.sent(self.una, self.high, seq, now);
        if !retransmission {
            self.high = seq + 1;
            if !self.timing {
                self.timing = true;
                self.timed_seq = seq;
                self.timed_at = now;
            }
        }
        if self.reports.reports_sent() {
            let in_flight = [outstanding, recovery.in_flight(self)];
            let transmission = Transmission { seq, now, retransmission, una: self.una, lost: 0, in_flight };
            self.reports.sent(&mut self.controller, &transmission);
        }
        self.transmit(context, seq, retransmission);
        let restart = outstanding == 0 && !recovery.has_fine_clock();
        if restart || context.timer(FlowTimer::Retransmit) == Time::NEVER {
            context.set_timer(FlowTimer::Retransmit, now + self.rtt.rto());
        }
    }

    /// Builds the packet of segment `seq` and gives it to the network. `retransmission`: it was sent before.
    #[inline]
    pub(crate) fn transmit<W: FlowContext>(&mut self, context: &mut W, seq: u32, retransmission: bool) {
        let syn = seq == 0 && self.options.syn;
        let mut size = if syn { self.options.syn_size } else { self.wire_size };
        if self.short.is_some() {
            size -= self.take_short(seq, context.now());
        }
        let mut packet = Packet::new(PacketKind::Data, self.flow, self.route, seq, size, context.now());
        if self.uses_router_feedback {
            packet = self.set_request_headers(packet, syn, retransmission);
        }
        if !syn {
            self.stats.sent += 1;
            self.stats.retransmitted += retransmission as u32;
        }
        context.send(packet, &AckOptions::NONE);
    }

    /// The bytes that segment `seq`, which leaves now, has less than a full one. The pacer, which was charged a full one, gets the
    /// difference back.
    #[inline(never)] // keeps the path without it short
    fn take_short(&mut self, seq: u32, now: Time) -> u32 {
        let missing = self.short.as_ref().map_or(0, |short| short.missing(seq));
        if missing > 0 && self.paced {
            self.pacer.give_back(now, missing, self.wire_size);
        }
        missing
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_have_the_sizes_of_linux() {
        let options = |pacing_shift| Options { packet: 1448, pacing_shift, ..Options::linux() };
        let bursts = |shift| {
            [1, 10, 25, 50, 100, 1000]
                .map(|mbps| burst_segments(Rate::from_bps(mbps * 1_000_000).time_for(1448), &options(shift)))
        };
        assert_eq!(bursts(10), [2, 2, 2, 4, 8, 45]);
        assert_eq!(bursts(7), [2, 6, 16, 33, 45, 45]);
    }
}
