//! Reductions of the window, for losses and for echoes of congestion; and what else routers say.
//!
//! Explicit congestion notification (RFC 3168, and ns-2.35's reading of it): an echo reduces the window at most once
//! per window of data; the next new segment tells the receiver so (CWR), which then stops echoing.
//!
//! Where the two differ: ns-2 marks repeated segments as ECN-capable too, RFC 3168 section 6.1.5 forbids it.

use super::{LastReduction, RecoveryState, Sender};
use crate::context::FlowContext;
use crate::options::StackProfile;
use cc::{Cause, Congestion, Controller, EcnResponse, Phase, Signals};
use net::{Packet, QUICK_START_LEAST, RateHeader, RouterReply, XcpHeader};
use units::{Span, Time};

impl Sender {
    /// What a loss reduces: ns-2's `min(cwnd + inflation, window)`, or the flight (RFC 5681) without what
    /// limited transmit added.
    pub(crate) fn effective_window(&self) -> f64 {
        match self.options.stack {
            StackProfile::Ns2 => {
                (self.controller.cwnd() + self.dupwnd as f64).min(self.options.window as f64)
            }
            StackProfile::Linux => ((self.high - self.una) as f64).min(self.controller.cwnd().max(1.0)),
        }
    }

    /// The window must shrink, for a loss of segment `lost` or for an echo: tell the controller.
    pub(crate) fn reduce_cwnd<W: FlowContext>(&mut self, context: &W, lost: u32, cause: Cause) {
        let segment = self.segments.get(lost);
        let event = Congestion {
            now: context.now(),
            cause,
            window: self.effective_window(),
            in_flight: (self.next - self.una) as f64,
            segment_sent: (lost < self.high).then_some(segment.sent),
            retransmitted: segment.transmits > 1,
            dupacks: self.dupacks,
        };
        self.stats.cwnd_reductions += 1;
        self.set_cwr_pending();
        self.controller.on_congestion(&event);
    }

    /// Segment `lost` is given up: recovery begins, with a reduction unless an echo has had its own for this window.
    pub(crate) fn enter_recovery<W: FlowContext>(&mut self, context: &W, lost: u32) {
        if !self.reduced_by_ecn() {
            self.reduce_cwnd(context, lost, Cause::FastRetransmit);
            self.recover = self.high - 1;
        }
        self.last_reduction = LastReduction::DupAck;
        self.phase = Phase::Recovery;
    }

    /// Tahoe: the third duplicate ACK goes back to the lost segment; what follows is sent again.
    pub(crate) fn restart_from(&mut self, seq: u32) {
        self.recover = self.high - 1;
        self.last_reduction = LastReduction::DupAck;
        self.next = seq;
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

    /// Whether a third duplicate ACK may start a recovery: not for what was sent before the last cut. (ns-2 also
    /// refuses it before the first ACK of all.)
    pub(crate) fn may_recover(&self) -> bool {
        let first = self.last_reduction == LastReduction::None && self.options.stack == StackProfile::Linux;
        first
            || self.una > self.recover + 1
            || self.reduced_by_ecn()
            || self.options.fast_retransmit_after_rto
            || (self.una == 1 && self.options.stack == StackProfile::Ns2)
    }

    /// What routers say by way of an ACK. Comes before anything else that the ACK does.
    #[cold]
    pub(super) fn process_ecn_and_router_feedback<W: FlowContext>(
        &mut self,
        context: &W,
        packet: &Packet,
        reply: RouterReply,
    ) {
        if packet.ecn && self.answers_echoes() {
            self.on_echo(context, packet);
        }
        if self.options.requests_quick_start() && self.una == 0 && packet.seq == 1 {
            self.take_quick_start(context.now(), reply);
        }
        if self.needs.has(Signals::ROUTER_RATE)
            && let RouterReply::Rate(rate) = reply
        {
            self.controller.on_hint(context.now(), &cc::PathHint::RouterRate(rate));
        }
        if self.needs.has(Signals::ROUTER_FEEDBACK)
            && let RouterReply::Feedback(feedback) = reply
        {
            self.controller.on_hint(context.now(), &cc::PathHint::RouterFeedback(feedback as f64));
        }
    }

    /// The handshake's answer to a Quick-Start request: if all routers approved, the initial window is the approved rate
    /// times the round-trip time (RFC 4782 section 4.4). A loss in that window is answered as any other.
    fn take_quick_start(&mut self, now: Time, reply: RouterReply) {
        let RouterReply::Rate(rate) = reply else { return };
        if !self.quick_start_path || rate < QUICK_START_LEAST {
            return;
        }
        let segment = self.segments.get(0);
        let round_trip = now.since(segment.sent).seconds();
        let bits = ((self.options.packet + self.options.header) * 8) as f64;
        let window = match self.options.quick_start_window {
            0.0 => (rate.bps() as f64 * round_trip / bits).floor(),
            fixed => fixed,
        };
        self.initial_window = self.initial_window.max(window.min(self.options.window as f64));
    }

    /// What a data packet says to routers: whether it may be marked, whether it tells of a reduction, what it asks for.
    #[cold]
    pub(super) fn set_request_headers(&mut self, mut packet: Packet, syn: bool, again: bool) -> Packet {
        packet.ecn = self.options.ecn && !(syn || again && self.options.stack == StackProfile::Linux);
        packet.cwr = self.options.ecn && !again && std::mem::take(&mut self.cwr);
        let round_trip = || self.rtt.smoothed(&self.options).unwrap_or(Span::ZERO);
        if self.needs.has(Signals::ROUTER_RATE) {
            packet.set_rate_header(RateHeader::request(round_trip()));
        } else if syn && self.options.requests_quick_start() {
            packet.set_rate_header(RateHeader::request(Span::ZERO).at_most(self.options.quick_start));
        }
        if self.needs.has(Signals::ROUTER_FEEDBACK) {
            let round_trip = round_trip();
            let spacing = Span::from_seconds(round_trip.seconds() / self.controller.cwnd());
            packet.set_xcp_header(XcpHeader { round_trip, spacing, feedback: i32::MAX });
        }
        packet
    }

    /// An ACK echoes congestion.
    fn on_echo<W: FlowContext>(&mut self, context: &W, packet: &Packet) {
        let beyond = packet.seq > self.recover + 1;
        if self.controller.ecn_response() != EcnResponse::Reduce {
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
            // With a window of one there is nothing to halve: the second such echo in a row slows the timer down
            // (RFC 3168 section 6.1.2 asks for something like it; Linux's window stays at two).
            let least = self.options.stack == StackProfile::Ns2 && self.controller.cwnd() <= 1.0;
            if least && self.echoed_at_one {
                self.rtt.back_off(&self.options);
            }
            self.echoed_at_one = least;
            let una = self.una;
            self.reduce_cwnd(context, una, Cause::Ecn);
        }
    }

    /// Whether an echo of congestion means anything to this sender.
    fn answers_echoes(&self) -> bool {
        self.options.ecn && !matches!(self.recovery_state, RecoveryState::WestwoodModule)
    }

    /// The next new segment tells the receiver of a reduction.
    pub(super) fn set_cwr_pending(&mut self) {
        self.cwr = self.answers_echoes() && self.controller.ecn_response() != EcnResponse::NoCwr;
    }

    /// Whether an echo has reduced the window for what is outstanding now: a loss among it is repaired without
    /// another reduction. (ns-2 also counts what is sent first after it.)
    pub(crate) fn reduced_by_ecn(&self) -> bool {
        let last = self.recover + (self.options.stack == StackProfile::Ns2) as u32;
        self.last_reduction == LastReduction::Ecn && self.una <= last
    }

    /// Everything sent before an echo reduced the window is acknowledged.
    #[cold]
    pub(super) fn leave_reduction(&mut self, now: Time) {
        if !self.reduced_by_ecn() {
            self.last_reduction = LastReduction::Exited;
            self.controller.on_recovery_exit(now);
        }
    }
}
