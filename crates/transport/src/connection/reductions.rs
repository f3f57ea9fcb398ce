//! Window reductions after losses and ECN echoes, and the processing of router feedback.
//!
//! Explicit congestion notification (RFC 3168, and the variant of ns-2.35): an echo reduces the window at most once
//! per window of data. The next new segment carries CWR, and the receiver then stops the echo.
//!
//! Difference between both: ns-2 also sets ECT on retransmitted segments, which RFC 3168 section 6.1.5 forbids.

use super::{Connection, DUP_THRESH, LastReduction, LossRecovery};
use crate::change::WindowCause;
use crate::context::FlowContext;
use crate::options::{Options, Recovery, StackProfile};
use cc::{Cause, Congestion, Controller, EcnResponse, Phase, Signals};
use net::{Ecn, Packet, QUICK_START_LEAST, RateHeader, RouterReply, XcpHeader};
use units::{Rate, Span, Time};

/// The initial window, segments, after a Quick-Start request that all routers approved: the approved rate times the
/// round-trip time (RFC 4782 section 4.4). A loss in that window has the same effect as any other loss.
fn quick_start_window(options: &Options, rate: Rate, round_trip: Span) -> f64 {
    let bits = ((options.packet + options.header) * 8) as f64;
    let window = match options.quick_start_window {
        0.0 => (rate.bps() as f64 * round_trip.seconds() / bits).floor(),
        fixed => fixed,
    };
    window.min(options.window as f64)
}

impl Connection {
    /// The window that a loss reduces: `min(cwnd + inflation, window)` in ns-2, the flight size without limited
    /// transmit in RFC 5681.
    pub(crate) fn effective_window(&self) -> f64 {
        match self.options.stack {
            StackProfile::Ns2 => {
                (self.controller.cwnd() + self.dupwnd as f64).min(self.options.window as f64)
            }
            StackProfile::Linux => ((self.high - self.una) as f64).min(self.controller.cwnd().max(1.0)),
        }
    }

    /// Calls the controller to reduce the window, for a loss of segment `lost` or for an ECN echo, with `in_flight` segments in
    /// flight.
    pub(crate) fn reduce_cwnd<W: FlowContext>(
        &mut self,
        context: &W,
        in_flight: u32,
        lost: u32,
        cause: Cause,
    ) {
        let segment = self.segments.get(lost);
        let event = Congestion {
            now: context.now(),
            cause,
            window: self.effective_window(),
            in_flight: in_flight as f64,
            segment_sent: (lost < self.high).then_some(segment.sent),
            retransmitted: segment.transmits > 1,
            dupacks: self.dupacks,
        };
        self.notify_congestion(&event);
    }

    /// Starts recovery for the lost segment `lost`. Reduces the window unless an ECN echo has reduced it for this
    /// window of data.
    pub(crate) fn enter_recovery<W: FlowContext>(
        &mut self,
        recovery: &impl LossRecovery,
        context: &W,
        lost: u32,
    ) {
        if !self.reduced_by_ecn() {
            let in_flight = recovery.in_flight(self);
            self.reduce_cwnd(context, in_flight, lost, Cause::FastRetransmit);
            self.recover = self.high - 1;
        }
        self.last_reduction = LastReduction::DupAck;
        self.phase = Phase::Recovery;
    }

    /// Retransmits the first unacknowledged segment, halves the window, and inflates it by the segments that left the
    /// network.
    pub(crate) fn fast_retransmit<W: FlowContext>(&mut self, recovery: &impl LossRecovery, context: &mut W) {
        let una = self.una;
        self.enter_recovery(recovery, context, una);
        self.reset_timer(context, false);
        self.output(recovery, context, una);
        self.dupwnd = DUP_THRESH;
    }

    pub(crate) fn leave_recovery(&mut self, now: Time) {
        if self.last_reduction == LastReduction::DupAck {
            self.last_reduction = LastReduction::Exited;
        }
        if self.phase == Phase::Recovery {
            self.phase = Phase::Open;
            self.controller.on_recovery_exit(now);
        }
    }

    /// Whether a third duplicate ACK may start recovery: not for a segment that was sent before the last reduction.
    /// (In ns-2 also not before the first ACK.)
    pub(crate) fn may_recover(&self) -> bool {
        let first = self.last_reduction == LastReduction::None && self.options.stack == StackProfile::Linux;
        first
            || self.una > self.recover + 1
            || self.reduced_by_ecn()
            || self.options.fast_retransmit_after_rto
            || (self.una == 1 && self.options.stack == StackProfile::Ns2)
    }

    /// Processes the router feedback of an ACK, before the other steps of ACK processing.
    #[cold]
    pub(crate) fn process_router_feedback<W: FlowContext>(
        &mut self,
        context: &W,
        packet: &Packet,
        reply: RouterReply,
    ) {
        if self.options.requests_quick_start()
            && self.quick_start_path
            && self.una == 0
            && packet.seq == 1
            && let RouterReply::Rate(rate) = reply
            && rate >= QUICK_START_LEAST
        {
            let round_trip = context.now().since(self.segments.get(0).sent);
            let window = quick_start_window(&self.options, rate, round_trip);
            self.initial_window = self.initial_window.max(window);
        }
        if self.reports.has(Signals::ROUTER_RATE)
            && let RouterReply::Rate(rate) = reply
        {
            let kind = cc::Hint::RouterRate(rate);
            self.controller.on_hint(&cc::PathHint { now: context.now(), kind });
        }
        if self.reports.has(Signals::ROUTER_FEEDBACK)
            && let RouterReply::Feedback(feedback) = reply
        {
            let kind = cc::Hint::RouterFeedback(feedback as f64);
            self.controller.on_hint(&cc::PathHint { now: context.now(), kind });
        }
    }

    /// Sets the fields of a data packet that routers and the receiver process: ECT, CWR, and the rate or feedback
    /// request.
    #[cold]
    pub(super) fn set_request_headers(
        &mut self,
        mut packet: Packet,
        syn: bool,
        retransmission: bool,
    ) -> Packet {
        let capable =
            self.options.ecn && !(syn || retransmission && self.options.stack == StackProfile::Linux);
        packet.ecn = match (capable, self.options.l4s) {
            (false, _) => Ecn::NotEct,
            (true, false) => Ecn::Ect0,
            (true, true) => Ecn::Ect1,
        };
        packet.cwr = self.options.ecn && !retransmission && std::mem::take(&mut self.cwr);
        let round_trip = || self.rtt.smoothed(&self.options).unwrap_or(Span::ZERO);
        if self.reports.has(Signals::ROUTER_RATE) {
            packet.set_rate_header(RateHeader::request(round_trip()));
        } else if syn && self.options.requests_quick_start() {
            packet.set_rate_header(RateHeader::request(Span::ZERO).at_most(self.options.quick_start));
        }
        if self.reports.has(Signals::ROUTER_FEEDBACK) {
            let round_trip = round_trip();
            let spacing = Span::from_seconds(round_trip.seconds() / self.controller.cwnd());
            packet.set_xcp_header(XcpHeader { round_trip, spacing, feedback: i32::MAX });
        }
        packet
    }

    /// Processes the ECN echo of an ACK, with `in_flight` segments in flight, before the other steps of ACK processing.
    #[cold]
    pub(crate) fn process_echo<W: FlowContext>(&mut self, context: &W, in_flight: u32, packet: &Packet) {
        // The recovery `rack` reduces the window by itself.
        let rack = self.options.recovery == Recovery::Rack;
        if !self.options.answers_echoes() || rack && self.controller.ecn_response() == EcnResponse::Reduce {
            return;
        }
        let beyond = packet.seq > self.recover + 1;
        if self.controller.ecn_response() != EcnResponse::Reduce {
            self.cause = Some(WindowCause::Ecn); // if the controller reduces its window
            if packet.seq > self.answered {
                self.answered = self.high;
                self.set_cwr_pending();
            }
            return;
        }
        let first = self.last_reduction == LastReduction::None && self.options.stack == StackProfile::Linux;
        if beyond || first || self.last_reduction == LastReduction::Timeout {
            self.recover = self.high - 1;
            self.last_reduction = LastReduction::Ecn;
            // A window of one cannot be halved: the second such echo in a row backs the timer off. (RFC 3168 section
            // 6.1.2 specifies something similar; the window of Linux stays at two.)
            let least = self.options.stack == StackProfile::Ns2 && self.controller.cwnd() <= 1.0;
            if least && self.echoed_at_one {
                self.rtt.back_off(&self.options);
            }
            self.echoed_at_one = least;
            let una = self.una;
            self.reduce_cwnd(context, in_flight, una, Cause::Ecn);
        }
    }

    /// Sets CWR on the next new segment; accurate feedback has none.
    pub(super) fn set_cwr_pending(&mut self) {
        self.cwr = self.options.answers_echoes()
            && !self.options.has_accurate_ecn()
            && self.controller.ecn_response() != EcnResponse::NoCwr;
    }

    /// Whether an ECN echo has reduced the window for the outstanding data: a loss in it is repaired without another
    /// reduction. (ns-2 also includes the first segment sent after the echo.)
    pub(crate) fn reduced_by_ecn(&self) -> bool {
        let last = self.recover + (self.options.stack == StackProfile::Ns2) as u32;
        self.last_reduction == LastReduction::Ecn && self.una <= last
    }

    /// Ends the reduction by an ECN echo when everything sent before it is acknowledged.
    #[cold]
    pub(super) fn leave_reduction(&mut self, now: Time) {
        if !self.reduced_by_ecn() {
            self.last_reduction = LastReduction::Exited;
            self.controller.on_recovery_exit(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::AckOptions;
    use crate::testing::{Driver, ms, sender};
    use net::{EcnEcho, PacketKind};

    fn echo(d: &mut Driver, next: u32) -> Vec<u32> {
        let at = d.context.now + Span::from_ms(1);
        let packet = Packet { ece: EcnEcho::ECE, ..Packet::new(PacketKind::Ack, 0, 0, next, 40, at) };
        d.context.now = at;
        d.context.sent.clear();
        d.sender.on_ack(&mut d.context, &packet, &AckOptions::NONE);
        d.context.sent.iter().map(|(packet, _)| packet.seq).collect()
    }

    fn newreno(stack: Options) -> Driver {
        let options = Options { recovery: Recovery::NewReno, ecn: true, timestamps: false, ..stack };
        Driver::new(options, 8.0)
    }

    #[test]
    fn an_echo_reduces_the_window_once_for_each_window_of_data() {
        let mut d = newreno(Options::linux());
        assert!(d.context.sent.iter().all(|(packet, _)| packet.ecn == Ecn::Ect0 && !packet.cwr));
        assert!(echo(&mut d, 1).is_empty());
        assert_eq!((d.cwnd(), d.ssthresh(), d.sender.stats().cwnd_reductions), (4.0, 4.0, 1));
        (2..=4).for_each(|next| drop(echo(&mut d, next)));
        assert_eq!(echo(&mut d, 5), [8]); // four are acknowledged since, and the window has room
        assert!(d.context.sent[0].0.cwr);
        assert_eq!(echo(&mut d, 6), [9]);
        assert!(!d.context.sent[0].0.cwr); // on one segment only
        (7..=8).for_each(|next| drop(echo(&mut d, next)));
        assert_eq!((d.cwnd(), d.sender.stats().cwnd_reductions), (4.0, 1));
        echo(&mut d, 9); // data sent after the reduction
        assert_eq!((d.cwnd(), d.sender.stats().cwnd_reductions), (2.0, 2));
    }

    #[test]
    fn a_loss_in_a_window_that_an_echo_reduced_is_only_repaired() {
        let mut d = newreno(Options::linux());
        echo(&mut d, 1);
        (0..2).for_each(|_| drop(d.ack(1, &[])));
        assert_eq!(d.ack(1, &[]), [1]);
        assert_eq!((d.cwnd(), d.sender.stats().cwnd_reductions), (4.0, 1));
    }

    #[test]
    fn retransmissions_carry_ect_only_in_ns2() {
        for (options, expected) in [(Options::linux(), Ecn::NotEct), (Options::ns2(), Ecn::Ect0)] {
            let mut d = newreno(options);
            d.ack(1, &[]);
            (0..3).for_each(|_| drop(d.ack_kept(1)));
            let retransmission =
                d.context.sent.iter().find(|(packet, _)| packet.seq == 1).expect("sent retransmission");
            assert_eq!(retransmission.0.ecn, expected);
        }
        let mut d = newreno(Options { l4s: true, ..Options::linux() });
        assert!(d.ack_kept(1).0.iter().all(|(packet, _)| packet.ecn == Ecn::Ect1));
    }

    #[test]
    fn the_window_of_quick_start_is_rate_times_round_trip() {
        let options =
            Options { quick_start: Rate::from_bps(8_000_000), timestamps: false, ..Options::linux() };
        for (fixed, rate, path, expected) in [
            (0.0, 6_000_000, true, 50.0), // 75 kB in packets of 1,500 bytes
            (33.0, 6_000_000, true, 33.0),
            (0.0, 6_000_000, false, 10.0),
            (0.0, 1, true, 10.0),
        ] {
            let options = Options { quick_start_window: fixed, recovery: Recovery::Reno, ..options.clone() };
            let mut sender = sender(&options, "reno", None);
            sender.connection.quick_start_path = path;
            let mut d = Driver::start(sender);
            let request = d.context.sent[0].0.rate_header().and_then(RateHeader::rate);
            assert_eq!(request, Some(Rate::from_bps(8_000_000)));
            d.context.now = ms(100);
            let reply = RouterReply::Rate(Rate::from_bps(rate));
            let packet = Packet::new(PacketKind::Ack, 0, 0, 1, 40, ms(100));
            d.sender.on_ack(&mut d.context, &packet, &AckOptions { reply, ..AckOptions::NONE });
            assert_eq!(d.cwnd(), expected, "{fixed} {rate} {path}");
        }
    }
}
