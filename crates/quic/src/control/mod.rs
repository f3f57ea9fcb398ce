//! A congestion controller of [`cc`] on the stack.
//!
//! Two sources of events. The stack's interface for controllers reports its decisions: what is in flight, losses, persistent
//! congestion. The packet keys ([`crate::observer`]) report every packet in plain text: numbers of packets sent, ACK frames
//! with their ranges and ECN counts. One [`cc::Ack`] results from each ACK frame that acknowledges something new, after the
//! stack has found the losses of this frame. Packets of the handshake count as in flight, and their loss reduces the window,
//! but their ACKs are not passed on, as those of TCP's SYN.

mod ack;
mod adapter;
mod change;
mod log;
mod loss;
mod pacer;
mod pending;
mod sent_streams;
mod stats;

pub(crate) use adapter::Factory;
pub use change::ControllerChange;
pub use stats::ControllerStats;

use crate::config::{Config, Pacing};
use crate::frames::{AckFrame, Space};
use crate::packets::{SentPacket, SentPackets};
use crate::qlog::{Metrics, Qlog};
use cc::{AnyController, Controller, Handshake, Hint, PathHint, Phase, Signals};
use log::ConnectionLog;
use pacer::{Pacer, WindowUse};
use pending::PendingAck;
use sent_streams::SentStreams;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use transport::start::{CarefulResume, Observed, Outcome, PathObserver, RuleChange, WindowRules};
use transport::{RateSampler, Validation, WindowCause};
use units::{Rate, Segments, Span, Time};

/// The smallest window, segments (RFC 9002 section 7.2), whatever the controller's window is.
const MIN_WINDOW: Segments = 2.0;

/// A controller that its connection, the packet keys and the owner of the connection share.
///
/// A caller must not hold the lock while it calls a method of [`crate::Endpoint`].
#[derive(Clone, Debug)]
pub struct ControllerHandle(Arc<Mutex<ControllerState>>);

impl ControllerHandle {
    /// Shares `controller`, for a connection with the settings `config`.
    pub fn new(config: &Config, controller: AnyController) -> ControllerHandle {
        ControllerHandle(Arc::new(Mutex::new(ControllerState::new(config, controller))))
    }
    /// Writes the events of congestion control to a qlog.
    pub(crate) fn record(&self, qlog: Option<Qlog>) {
        self.lock().qlog = ConnectionLog(qlog);
    }
    /// The controller and its state.
    pub fn lock(&self) -> MutexGuard<'_, ControllerState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a packet that leaves contains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    pub elicits_ack: bool,
    /// It counts as in flight although it may not elicit an ACK.
    pub padded: bool,
    /// It asks for an immediate ACK: the stack does so in probes only.
    pub probe: bool,
}

/// What a connection has in flight.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct InFlight {
    /// Bytes of packets that elicit an ACK or contain padding, of all spaces.
    pub bytes: u64,
    /// These bytes in segments.
    pub segments: Segments,
    /// Packets of the application data space.
    pub packets: u32,
}

/// A controller and what the adapter knows about its connection.
#[derive(Debug)]
pub struct ControllerState {
    controller: AnyController,
    needs: Signals,
    pacing: Pacing,
    ecn: bool,
    packet: u64,
    initial_window: Segments,
    in_flight: u64,
    packets: SentPackets,
    largest_acked: Option<u64>,
    rate: Option<RateSampler>,
    phase: Phase,
    /// The last packet sent before the last reduction.
    recover: Option<u64>,
    ce_count: u64,
    /// Bytes acknowledged that are not a whole segment yet.
    credit: u64,
    /// The space of the packet that the stack processes, and its ACK frames.
    receiving: Space,
    frames: std::collections::VecDeque<AckFrame>,
    /// The other end's clock in that packet.
    receiver_time: Option<Time>,
    /// Bytes that the stack reported as acknowledged since its last end of ACKs.
    acked_bytes: u64,
    pending: Option<PendingAck>,
    lost: Vec<u64>,
    srtt: Option<f64>,
    sample: Option<Span>,
    pacer: Pacer,
    /// The pacer does not permit a packet now.
    held: bool,
    /// The connection is closing.
    closing: bool,
    window_use: WindowUse,
    /// The validation of Linux decides whether the window may grow.
    validates: bool,
    /// What else decides about the window; most flows have nothing.
    rules: Option<Box<WindowRules>>,
    /// The rate, while the start of the flow sets it.
    start_interval: Option<Span>,
    last_sent: Time,
    opened: Time,
    /// The time from the first packet sent to the first one received.
    handshake_rtt: Option<Span>,
    /// A timer of the stack has expired and found no loss: a probe that leaves now counts as a probe timeout.
    probe_expected: bool,
    /// The stream data sent so far.
    streams: SentStreams,
    stats: ControllerStats,
    change: ControllerChange,
    seen: (Segments, Segments),
    cause: Option<WindowCause>,
    /// Probe timeouts since the last ACK.
    pto_count: u64,
    packet_threshold: u64,
    qlog: ConnectionLog,
}

impl ControllerState {
    fn new(config: &Config, controller: AnyController) -> ControllerState {
        let mut state = ControllerState {
            rate: None,
            pacing: config.pacing,
            ecn: config.ecn,
            packet: config.packet as u64,
            initial_window: config.initial_window,
            seen: (controller.cwnd(), controller.ssthresh()),
            needs: Signals::NONE,
            controller,
            in_flight: 0,
            packets: SentPackets::default(),
            largest_acked: None,
            phase: Phase::Open,
            recover: None,
            ce_count: 0,
            credit: 0,
            receiving: Space::Initial,
            frames: Default::default(),
            receiver_time: None,
            acked_bytes: 0,
            pending: None,
            lost: Vec::new(),
            srtt: None,
            sample: None,
            pacer: Pacer::default(),
            held: false,
            closing: false,
            window_use: WindowUse::default(),
            validates: config.validation == Validation::Linux,
            rules: WindowRules::of(config.validation, config.initial_window).map(Box::new),
            start_interval: None,
            last_sent: Time::ZERO,
            opened: Time::ZERO,
            handshake_rtt: None,
            probe_expected: false,
            streams: SentStreams::default(),
            stats: ControllerStats::default(),
            change: ControllerChange::default(),
            cause: None,
            pto_count: 0,
            packet_threshold: config.packet_threshold as u64,
            qlog: ConnectionLog::default(),
        };
        state.renew_needs(config.pacing);
        state
    }

    // ---- what others see --------------------------------------------------------------------------------

    /// The controller, to be changed.
    pub fn controller_mut(&mut self) -> &mut AnyController {
        &mut self.controller
    }
    /// The controller.
    pub fn controller(&self) -> &AnyController {
        &self.controller
    }
    /// The controller requires other signals than it did; before the first packet. `pacing`: that of the settings.
    pub fn renew_needs(&mut self, pacing: Pacing) {
        self.needs = self.controller.needs();
        self.rate = self.needs.has(Signals::RATE).then(RateSampler::default);
        self.pacing = if self.needs.has(Signals::PACING) { Pacing::Driver } else { pacing };
    }
    /// What spaces the packets: [`Pacing::Driver`] if the controller requires it, or while the start of the flow sets the rate,
    /// otherwise as configured.
    pub fn pacing(&self) -> Pacing {
        if self.start_interval.is_some() { Pacing::Driver } else { self.pacing }
    }
    /// The flow starts with saved values or a jump. Call it before the first packet.
    pub fn begin_start(&mut self, start: CarefulResume) {
        self.rules.get_or_insert_default().resume = Some(start);
    }
    /// A later flow may use what this one observes of its path. Call it before the first packet.
    pub fn observe_path(&mut self) {
        self.rules.get_or_insert_default().observer = Some(PathObserver::default());
    }
    /// What a later flow may use of the path.
    pub fn observed(&self) -> Option<Observed> {
        self.rules.as_ref()?.observer.as_ref()?.saved(self.initial_window)
    }
    /// How the flow has started, if with saved values or a jump.
    pub fn start_outcome(&self) -> Option<&Outcome> {
        self.rules.as_ref()?.resume.as_ref().map(CarefulResume::outcome)
    }
    /// What the rules of the window have changed.
    fn apply(&mut self, change: RuleChange) {
        if change.cause.is_some() {
            self.cause = change.cause;
        }
        if let Some(interval) = change.pace {
            self.start_interval = interval;
        }
    }
    /// Bytes that may be in flight: whole segments, at least two.
    pub fn window_bytes(&self) -> u64 {
        (self.controller.cwnd().max(MIN_WINDOW) as u64).saturating_mul(self.packet)
    }
    /// What is in flight.
    pub fn in_flight(&self) -> InFlight {
        InFlight {
            bytes: self.in_flight,
            segments: self.in_flight as f64 / self.packet as f64,
            packets: self.packets.outstanding(),
        }
    }
    /// The recovery phase.
    pub fn phase(&self) -> Phase {
        self.phase
    }
    /// The highest packet number acknowledged; -1 before the first.
    pub fn highest_acked(&self) -> i64 {
        self.largest_acked.map_or(-1, |number| number as i64)
    }
    /// Whether rate samples of packets sent now count as limited by the application; `None` if the controller needs none.
    pub fn app_limited(&self) -> Option<bool> {
        self.rate.as_ref().map(|rate| rate.app_limited())
    }
    /// The smoothed round-trip time.
    pub fn smoothed_rtt(&self) -> Option<Span> {
        self.srtt.map(Span::from_seconds)
    }
    /// The controller's pacing rate, or that of the driver for a controller without one; `None` if nothing paces by it.
    pub fn pacing_rate(&self) -> Option<Rate> {
        if let Some(interval) = self.start_interval {
            return Some(Rate::from_bps((self.packet as f64 * 8.0 / interval.seconds()) as u64));
        }
        if self.pacing != Pacing::Driver {
            return None;
        }
        self.controller.pacing().or_else(|| {
            let cwnd = self.controller.cwnd();
            let gain = if cwnd < self.controller.ssthresh() / 2.0 { 2.0 } else { 1.2 };
            let bps = gain * cwnd * self.packet as f64 * 8.0 / self.srtt?;
            (bps >= 1.0).then(|| Rate::from_bps(bps as u64))
        })
    }
    /// The counters.
    pub fn stats(&self) -> &ControllerStats {
        &self.stats
    }
    /// The time of the next call of [`crate::Endpoint::on_wake_timer`]; `Time::NEVER` for none.
    pub fn wake_at(&self) -> Time {
        if self.needs.has(Signals::TIMER) { self.controller.wake_at() } else { Time::NEVER }
    }

    /// Bytes of all streams that were sent at least once.
    pub fn stream_sent(&self) -> u64 {
        self.streams.total()
    }
    /// Bytes of stream `number` that were sent at least once; zero if the stream is over.
    pub(crate) fn sent_of_stream(&self, number: u64) -> u64 {
        self.streams.of(number)
    }
    /// The streams before `number` are over.
    pub(crate) fn forget_streams_before(&mut self, number: u64) {
        self.streams.forget_before(number);
    }

    // ---- events from the owner of the connection --------------------------------------------------------

    /// Passes information from lower layers to the controller.
    pub fn on_hint(&mut self, hint: &PathHint) {
        if matches!(hint.kind, Hint::HandoffBegins | Hint::HandoffEnds) {
            self.cause = Some(WindowCause::Handoff);
        }
        self.controller.on_hint(hint);
    }
    pub(crate) fn on_open(&mut self, now: Time) {
        self.controller.on_open(now);
        self.controller.set_window(self.initial_window);
        (self.opened, self.last_sent) = (now, now);
    }
    /// The handshake is complete. Its round-trip time is known if no packet of it was sent again.
    pub(crate) fn on_handshake(&mut self, now: Time) {
        let rtt = self.handshake_rtt.filter(|_| self.stats.probe_timeouts == 0);
        self.controller.on_handshake(&Handshake { now, rtt });
    }
    pub(crate) fn on_timer(&mut self, now: Time) {
        self.controller.on_timer(now);
    }
    /// The connection is closing: nothing holds its last packet back. (The stack would hold CONNECTION_CLOSE back while the
    /// window is full, and processes no more ACKs.)
    pub(crate) fn on_close(&mut self) {
        self.closing = true;
    }
    /// A timer of the stack has expired. `losses`: it found losses.
    pub(crate) fn on_timeout(&mut self, losses: bool) {
        self.probe_expected = !losses;
    }

    // ---- sending ----------------------------------------------------------------------------------------

    /// Whether the window permits another packet.
    pub(crate) fn has_room(&self) -> bool {
        self.in_flight + self.packet <= self.window_bytes()
    }

    /// Called before each attempt to send. Returns the time until which the pacer holds the next packet; `None` if it holds
    /// none.
    pub(crate) fn before_transmit(&mut self, now: Time) -> Option<Time> {
        self.held = self.pacing() == Pacing::Driver && self.pacer.next() > now;
        (self.held && self.has_room()).then(|| self.pacer.next())
    }

    /// A datagram of `bytes` bytes has left.
    pub(crate) fn after_transmit(&mut self, now: Time, bytes: u64) {
        if let Some(rate) = self.pacing_rate() {
            self.pacer.on_transmit(now, rate, bytes);
        }
    }

    /// All that may leave has left.
    pub(crate) fn after_turn(&mut self, now: Time) {
        self.probe_expected = false;
        let acked = self.largest_acked.map_or(0, |number| number + 1);
        let full = !self.has_room();
        self.window_use.update(acked, self.packets.next(), self.packets.outstanding(), full);
        self.qlog.metrics(now, || {
            let bytes = |segments: f64| (segments * self.packet as f64) as u64;
            let ssthresh = self.controller.ssthresh();
            Metrics {
                min_rtt: (self.stats.rtt_count > 0).then_some(self.stats.rtt_min),
                smoothed_rtt: self.smoothed_rtt(),
                latest_rtt: self.sample,
                pto_count: self.pto_count,
                congestion_window: bytes(self.controller.cwnd()),
                bytes_in_flight: self.in_flight,
                packets_in_flight: self.packets.outstanding() as u64,
                ssthresh: ssthresh.is_finite().then(|| bytes(ssthresh)),
                pacing_rate: self.pacing_rate(),
            }
        });
        self.qlog.state(now, self.phase, &self.controller, self.cause);
    }

    /// A packet with data of stream `number` up to offset `end` is about to leave; [`ControllerState::on_packet_sent`] follows.
    pub(crate) fn on_stream_frame(&mut self, number: u64, end: u64) {
        self.streams.on_frame(number, end);
    }

    /// A packet of `size` bytes is about to leave.
    pub(crate) fn on_packet_sent(
        &mut self,
        space: Space,
        number: u64,
        size: usize,
        contents: Contents,
        now: Time,
    ) {
        let counted = if contents.elicits_ack || contents.padded { size as u16 } else { 0 };
        let idle = self.in_flight == 0;
        self.in_flight += counted as u64;
        let probe = contents.elicits_ack && (contents.probe || space != Space::Data);
        if probe && std::mem::take(&mut self.probe_expected) {
            self.stats.probe_timeouts += 1;
            self.pto_count += 1;
            self.change.timeout = true;
            self.qlog.probe_timeout(now);
        }
        if space != Space::Data {
            return;
        }
        let before = self.packets.outstanding();
        self.packets.insert(number, SentPacket::new(now, counted, contents.elicits_ack));
        if !contents.elicits_ack {
            return;
        }
        if idle {
            let app_limited = self.rate.as_ref().is_some_and(|rate| rate.app_limited());
            let idle = now.since(self.last_sent);
            self.controller.on_transmit_start(&cc::TransmitStart { now, idle, app_limited });
        }
        self.stats.sent_packets += 1;
        self.last_sent = now;
        if let Some(rules) = &mut self.rules {
            rules.sent(&self.controller, self.packets.outstanding());
        }
        if let Some(rate) = &mut self.rate {
            let first = self.packets.first() as u32;
            rate.on_send(first, number as u32, now, before, self.stats.lost_packets, false);
        }
        if self.needs.has(Signals::SENT) {
            let in_flight = self.packets.outstanding();
            self.controller.on_sent(&cc::Sent { now, seq: number, in_flight, retransmission: false });
        }
    }
}
