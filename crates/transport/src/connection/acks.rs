//! The steps of an ACK: samples, the timer, the controller, completion; and a retransmission timeout.

use super::{Connection, LastReduction, LossRecovery};
use crate::context::{FlowContext, FlowTimer};
use crate::options::StackProfile;
use cc::{Ack, Controller, Phase, Sample, SenderState, Signals, Timeout};
use net::Packet;
use units::{Span, Time};

/// The effect of a new acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Progress {
    /// Segments newly acknowledged.
    pub acked: u32,
    /// Duplicate ACKs before it.
    pub dupacks: u32,
}

/// The segments in flight before an ACK and after it.
#[derive(Clone, Copy)]
struct Flight {
    before: u32,
    after: u32,
}

impl Flight {
    /// That of an ACK that has acknowledged `acked` new segments.
    #[inline(always)]
    fn of(recovery: &impl LossRecovery, c: &Connection, acked: u32) -> Flight {
        Flight { before: recovery.in_flight_before(c, acked), after: recovery.in_flight(c) }
    }
}

#[cold]
fn cancel_timers<W: FlowContext>(context: &mut W) {
    for timer in [FlowTimer::Retransmit, FlowTimer::Pace, FlowTimer::Wake] {
        context.set_timer(timer, Time::NEVER);
    }
}

impl Connection {
    /// Processes the acknowledgement of everything below `packet.seq`: samples, timer, completion. The caller then
    /// calls [`Connection::grow`], [`Connection::notify_growth`] or [`Connection::notify`].
    #[inline]
    pub fn new_ack<W: FlowContext>(
        &mut self,
        recovery: &impl LossRecovery,
        context: &mut W,
        packet: &Packet,
    ) -> Progress {
        let now = context.now();
        let (from, to) = (self.una, packet.seq);
        let progress = Progress { acked: to - from, dupacks: self.dupacks };
        self.reports.delivered_below(from, to, now);
        self.measure(recovery, now, packet);
        if from == 0 && self.options.syn {
            self.rtt.end_handshake(&self.options);
        }
        self.dupacks = 0;
        self.repeated_timeout = false;
        self.una = to;
        self.next = self.next.max(to);
        if self.reports.has(Signals::SAMPLES) && self.opened {
            self.notify_sample(now, packet, progress.acked);
        }
        if self.phase == Phase::Loss && to > self.recover {
            self.phase = Phase::Open;
        }
        if self.last_reduction == LastReduction::Ecn {
            self.leave_reduction(now);
        }
        if self.complete(context) {
            // No timer is set any more.
        } else if self.options.stack == StackProfile::Linux && self.una == self.high {
            context.set_timer(FlowTimer::Retransmit, Time::NEVER);
        } else {
            context.set_timer(FlowTimer::Retransmit, now + self.rtt.rto());
        }
        progress
    }

    /// Passes the measurements of an ACK of `acked` new segments to the controller, before anything follows from them.
    #[cold]
    pub fn notify_sample(&mut self, now: Time, packet: &Packet, acked: u32) {
        let in_flight = f64::from(self.next - self.una);
        self.controller.on_sample(&Sample {
            now,
            newly_acked: acked,
            newly_delivered: acked,
            rtt: self.sample.filter(|_| acked > 0),
            ece: packet.ece.is_ece() && self.options.ecn,
            acked_through: u64::from(self.una).wrapping_sub(1),
            next: self.next.into(),
            in_flight,
            prior_in_flight: in_flight + f64::from(acked),
            since_sent: None,
            sacked: 0,
            phase: self.phase,
            disorder: false,
            ce: if packet.ece.is_ece() && self.options.ecn { acked } else { 0 },
        });
    }

    /// Passes a new ACK outside recovery to the controller. The first one opens the connection.
    #[inline]
    pub fn grow<W: FlowContext>(
        &mut self,
        recovery: &impl LossRecovery,
        context: &W,
        packet: &Packet,
        progress: Progress,
    ) {
        let opening = !self.opened;
        if !(opening && self.options.syn) {
            self.notify_growth(recovery, context, packet, progress);
        }
        if opening {
            // The first ACK sets the initial window; the value of the provisional window does not matter.
            self.opened = true;
            if self.una == 1 {
                self.controller.set_window(self.initial_window);
            }
        }
    }

    /// Passes an ACK that permits window growth to the controller.
    pub fn notify_growth<W: FlowContext>(
        &mut self,
        recovery: &impl LossRecovery,
        context: &W,
        packet: &Packet,
        progress: Progress,
    ) {
        let phase = if self.phase == Phase::Loss { Phase::Loss } else { Phase::Open };
        let flight = Flight::of(recovery, self, progress.acked);
        self.pass_to_controller(flight, context, packet, progress, phase);
    }

    /// Passes a duplicate ACK, already counted, to the controller.
    pub fn notify_duplicate<W: FlowContext>(
        &mut self,
        recovery: &impl LossRecovery,
        context: &W,
        packet: &Packet,
    ) {
        let progress = Progress { acked: 0, dupacks: self.dupacks };
        self.notify(recovery, context, packet, progress, self.phase);
    }

    /// Passes an ACK to the controller. In [`Phase::Recovery`] it does not permit window growth.
    pub fn notify<W: FlowContext>(
        &mut self,
        recovery: &impl LossRecovery,
        context: &W,
        packet: &Packet,
        progress: Progress,
        phase: Phase,
    ) {
        let flight = Flight::of(recovery, self, progress.acked);
        self.notify_beside_growth(flight, context, packet, progress, phase);
    }

    #[inline(never)] // keeps the paths of the recoveries short
    fn notify_beside_growth<W: FlowContext>(
        &mut self,
        flight: Flight,
        context: &W,
        packet: &Packet,
        progress: Progress,
        phase: Phase,
    ) {
        self.pass_to_controller(flight, context, packet, progress, phase);
    }

    /// Completes the flow if all data is acknowledged, and the application writes no more. Returns whether it is complete.
    #[inline]
    pub fn complete<W: FlowContext>(&mut self, context: &mut W) -> bool {
        if self.una < self.limit || self.more_to_write {
            return false;
        }
        if !self.done {
            (self.done, self.completed) = (true, context.now());
            cancel_timers(context);
        }
        true
    }

    /// A retransmission timeout (RFC 6298 section 5, RFC 5681 section 3.1): backs the timer off, lets the controller reduce
    /// its window, and goes back to the oldest segment. The caller sends.
    pub fn time_out<W: FlowContext>(&mut self, recovery: &impl LossRecovery, context: &mut W) {
        self.dupwnd = 0;
        self.dupacks = 0;
        self.recover = self.high - 1;
        if self.una == 0 && !self.opened && !recovery.has_fine_clock() {
            self.initial_window = 1.0; // the first packet was lost: the initial window is one segment
        }
        let window = self.effective_window();
        self.stats.timeouts += 1;
        self.last_reduction = LastReduction::Timeout;
        self.notify_timeout(&Timeout { now: context.now(), window, repeated: self.repeated_timeout }, true);
        self.repeated_timeout = true;
        self.phase = Phase::Loss;
        self.rtt.back_off(&self.options);
        context.set_timer(FlowTimer::Retransmit, context.now() + self.rtt.rto());
        self.timing = false;
        self.next = self.una;
    }

    /// Passes an ACK to the controller. `flight`: the segments in flight before it and after it.
    #[inline(always)] // or an ACK pays a call for it
    fn pass_to_controller<W: FlowContext>(
        &mut self,
        flight: Flight,
        context: &W,
        packet: &Packet,
        progress: Progress,
        phase: Phase,
    ) {
        let receiver_time = self.reports.receiver_time(&self.options, packet);
        let before = self.outstanding() as f64 + progress.acked as f64;
        let ece = packet.ece.is_ece() && self.options.ecn;
        let mut ack = Ack {
            now: context.now(),
            newly_acked: progress.acked,
            newly_delivered: progress.acked,
            newly_lost: 0,
            delivered_total: 0,
            lost_total: 0,
            dupacks: progress.dupacks,
            acked_through: (self.una as u64).wrapping_sub(1),
            next: self.next as u64,
            in_flight: flight.after as f64,
            prior_in_flight: flight.before as f64,
            rtt: self.sample,
            receiver_time,
            ece,
            ce: 0,
            rate: None,
            sender: SenderState::default(),
            phase,
            may_grow: progress.acked > 0 && phase != Phase::Recovery && !ece,
            paced: self.paced,
            pacing_wait: Span::ZERO,
            window_limited: before + 1.0 > self.controller.cwnd(),
        };
        if ece {
            ack.ce = progress.acked;
        }
        if progress.acked > 0 {
            ack.rate = self.reports.take_sample(); // a duplicate ACK has none
        }
        self.controller.on_ack(&ack);
    }
}
