//! Reductions of the window, for losses and for echoes of congestion; and what else routers say.
//!
//! Explicit congestion notification (RFC 3168, and ns-2.35's reading of it): an echo reduces the window at most once
//! per window of data; the next new segment tells the receiver so (CWR), which then stops echoing.
//!
//! Where the two differ: ns-2 marks repeated segments as ECN-capable too, RFC 3168 section 6.1.5 forbids it.

use super::{LastCut, Machine, Sender};
use crate::context::Wire;
use crate::options::Dialect;
use cc::{Cause, Congestion, Controller, EchoAnswer, Phase, Signals};
use net::{Ask, Packet, QUICK_START_LEAST, Stamp};
use units::{Span, Time};

impl Sender {
    /// What a loss reduces: ns-2's `min(cwnd + inflation, window)`, or the flight (RFC 5681) without what
    /// limited transmit added.
    pub(crate) fn effective_window(&self) -> f64 {
        match self.options.dialect {
            Dialect::Ns2 => (self.controller.cwnd() + self.dupwnd as f64).min(self.options.window as f64),
            Dialect::Linux => ((self.high - self.una) as f64).min(self.controller.cwnd().max(1.0)),
        }
    }

    /// The window must shrink, for a loss of segment `lost` or for an echo: tell the controller.
    pub(crate) fn cut<W: Wire>(&mut self, wire: &W, lost: u32, cause: Cause) {
        let segment = self.segments.get(lost);
        let event = Congestion {
            now: wire.now(),
            cause,
            window: self.effective_window(),
            in_flight: (self.next - self.una) as f64,
            segment_sent: (lost < self.high).then_some(segment.sent),
            retransmitted: segment.transmits > 1,
            dupacks: self.dupacks,
        };
        self.stats.cuts += 1;
        self.will_tell();
        self.controller.on_congestion(&event);
    }

    /// Segment `lost` is given up: recovery begins, with a reduction unless an echo has had its own for this window.
    pub(crate) fn enter_recovery<W: Wire>(&mut self, wire: &W, lost: u32) {
        if !self.answered_by_ecn() {
            self.cut(wire, lost, Cause::FastRetransmit);
            self.recover = self.high - 1;
        }
        self.last_cut = LastCut::DupAck;
        self.phase = Phase::Recovery;
    }

    /// Tahoe: the third duplicate ACK goes back to the lost segment; what follows is sent again.
    pub(crate) fn restart_from(&mut self, seq: u32) {
        self.recover = self.high - 1;
        self.last_cut = LastCut::DupAck;
        self.next = seq;
    }

    pub(crate) fn leave_recovery(&mut self, now: Time) {
        if self.last_cut == LastCut::DupAck {
            self.last_cut = LastCut::Exited;
        }
        if self.phase == Phase::Recovery {
            self.phase = Phase::Open;
            self.controller.on_recovery_exit(now);
        }
    }

    /// Whether a third duplicate ACK may start a recovery: not for what was sent before the last cut. (ns-2 also
    /// refuses it before the first ACK of all.)
    pub(crate) fn may_recover(&self) -> bool {
        let first = self.last_cut == LastCut::None && self.options.dialect == Dialect::Linux;
        first
            || self.una > self.recover + 1
            || self.answered_by_ecn()
            || self.options.fast_retransmit_after_rto
            || (self.una == 1 && self.options.dialect == Dialect::Ns2)
    }

    /// What routers say by way of an ACK. Comes before anything else that the ACK does.
    #[cold]
    pub(super) fn hear<W: Wire>(&mut self, wire: &W, packet: &Packet) {
        if packet.ecn && self.answers_echoes() {
            self.on_echo(wire, packet);
        }
        if self.options.asks_for_quick_start() && self.una == 0 && packet.seq == 1 {
            self.take_quick_start(wire.now(), packet);
        }
        if self.needs.has(Signals::ROUTER_RATE)
            && let Some(rate) = packet.granted()
        {
            self.controller.on_hint(wire.now(), &cc::Hint::RouterRate(rate));
        }
        if self.needs.has(Signals::ROUTER_FEEDBACK)
            && let Some(feedback) = packet.feedback()
        {
            self.controller.on_hint(wire.now(), &cc::Hint::RouterFeedback(feedback as f64));
        }
    }

    /// The handshake's answer to a Quick-Start request: if all routers approved, the initial window is the approved rate
    /// times the round-trip time (RFC 4782 section 4.4). A loss in that window is answered as any other.
    fn take_quick_start(&mut self, now: Time, packet: &Packet) {
        let approved = packet.granted().filter(|rate| self.quick_start_path && *rate >= QUICK_START_LEAST);
        let Some(rate) = approved else { return };
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
    pub(super) fn ask(&mut self, mut packet: Packet, syn: bool, again: bool) -> Packet {
        packet.ecn = self.options.ecn && !(syn || again && self.options.dialect == Dialect::Linux);
        packet.cwr = self.options.ecn && !again && std::mem::take(&mut self.cwr);
        let round_trip = || self.rtt.smoothed(&self.options).unwrap_or(Span::ZERO);
        if self.needs.has(Signals::ROUTER_RATE) {
            packet.put_stamp(Stamp::asking(round_trip()));
        } else if syn && self.options.asks_for_quick_start() {
            packet.put_stamp(Stamp::asking(Span::ZERO).at_most(self.options.quick_start));
        }
        if self.needs.has(Signals::ROUTER_FEEDBACK) {
            let round_trip = round_trip();
            let spacing = Span::from_seconds(round_trip.seconds() / self.controller.cwnd());
            packet.put_ask(Ask { round_trip, spacing, feedback: i32::MAX });
        }
        packet
    }

    /// An ACK echoes congestion.
    fn on_echo<W: Wire>(&mut self, wire: &W, packet: &Packet) {
        let beyond = packet.seq > self.recover + 1;
        if self.controller.echo_answer() != EchoAnswer::Reduce {
            if packet.seq > self.answered {
                self.answered = self.high;
                self.will_tell();
            }
            return;
        }
        let first = self.last_cut == LastCut::None && self.options.dialect == Dialect::Linux;
        if beyond || first || self.last_cut == LastCut::Timeout {
            self.recover = self.high - 1;
            self.last_cut = LastCut::Ecn;
            // With a window of one there is nothing to halve: the second such echo in a row slows the timer down
            // (RFC 3168 section 6.1.2 asks for something like it; Linux's window stays at two).
            let least = self.options.dialect == Dialect::Ns2 && self.controller.cwnd() <= 1.0;
            if least && self.echoed_at_one {
                self.rtt.back_off(&self.options);
            }
            self.echoed_at_one = least;
            let una = self.una;
            self.cut(wire, una, Cause::Ecn);
        }
    }

    /// Whether an echo of congestion means anything to this sender.
    fn answers_echoes(&self) -> bool {
        self.options.ecn && !matches!(self.machine, Machine::WestwoodModule)
    }

    /// The next new segment tells the receiver of a reduction.
    pub(super) fn will_tell(&mut self) {
        self.cwr = self.answers_echoes() && self.controller.echo_answer() != EchoAnswer::Ignore;
    }

    /// Whether an echo has reduced the window for what is outstanding now: a loss among it is repaired without
    /// another reduction. (ns-2 also counts what is sent first after it.)
    pub(crate) fn answered_by_ecn(&self) -> bool {
        let last = self.recover + (self.options.dialect == Dialect::Ns2) as u32;
        self.last_cut == LastCut::Ecn && self.una <= last
    }

    /// Everything sent before an echo reduced the window is acknowledged.
    #[cold]
    pub(super) fn leave_reduction(&mut self, now: Time) {
        if !self.answered_by_ecn() {
            self.last_cut = LastCut::Exited;
            self.controller.on_recovery_exit(now);
        }
    }
}
