//! QUIC flows: two endpoints of a QUIC stack for each, whose datagrams cross the network.

use super::bounds::FlowBounds;
use super::build::QuicSetup;
use super::event_loop::Simulation;
use super::outcome::FlowOutcome;
use super::results::arrivals;
use ::quic::{Clock, Config, ControllerHandle, Deadlines, Endpoint, Pacing};
use cc::{Failure, PathHint};
use net::{Ecn, Packet, PacketKind};
use transport::{FlowTimer, ReceiverStats, SendLimit, Trigger, WindowRow};
use units::{Span, Time};

/// The endpoints of a QUIC flow: 0 is the sender, 1 the receiver.
pub(super) struct QuicEndpoints {
    ends: [Endpoint; 2],
    controller: ControllerHandle,
    setup: QuicSetup,
    /// Datagrams sent by sender and receiver.
    sent: [u32; 2],
    /// Datagrams that have reached the receiver.
    arrived: ReceiverStats,
    /// Time integrals of window and threshold, segment-seconds, up to `integrated`.
    areas: [f64; 2],
    /// Window and threshold, segments.
    window: [f64; 2],
    integrated: Time,
    under_handoff: bool,
    /// The failure of an external controller.
    failure: Option<Failure>,
}

impl QuicEndpoints {
    /// `seeds` are those of the stack and of the controller.
    pub fn new(setup: QuicSetup, [seed, controller]: [u64; 2]) -> QuicEndpoints {
        let controller = setup.options.control.make(&setup.options.flow_info(controller));
        let config = Config { seed, qlog: setup.qlog.clone(), ..setup.options.config.clone() };
        let (clock, handle) = (Clock::new(), ControllerHandle::new(&config, controller));
        let ends = [Endpoint::sender(&config, clock, handle.clone()), Endpoint::receiver(&config, clock)];
        QuicEndpoints {
            ends: ends
                .map(|end| end.unwrap_or_else(|error| unreachable!("the options of a scenario: {error}"))),
            controller: handle,
            sent: [0; 2],
            arrived: setup.counters.clone(),
            setup,
            areas: [0.0; 2],
            window: [0.0; 2],
            integrated: Time::ZERO,
            under_handoff: false,
            failure: None,
        }
    }

    /// Adds to the integrals up to `now`.
    fn integrate(&mut self, now: Time) {
        let span = now.since(self.integrated).seconds();
        for (area, value) in self.areas.iter_mut().zip(self.window) {
            *area += value * span;
        }
        self.integrated = now;
    }

    /// The qlogs of sender and receiver, if they are recorded; once.
    pub fn take_qlogs(&mut self) -> Option<[String; 2]> {
        let [sender, receiver] = &mut self.ends;
        Some([sender.take_qlog()?, receiver.take_qlog()?])
    }

    /// What bounds the flow besides its congestion window.
    pub fn bounds(&self) -> FlowBounds {
        let (options, state) = (&self.setup.options, self.controller.lock());
        let blocked = state.bytes_in_flight() + options.config.packet as u64 > state.window_bytes();
        let limited_by = match state.highest_acked() {
            -1 => SendLimit::Handshake,
            _ if blocked => SendLimit::CongestionWindow,
            _ if state.pacing() != Pacing::None && !self.setup.written => SendLimit::Pacing,
            _ => SendLimit::Application,
        };
        FlowBounds {
            quic: true,
            control: state.controller().name().into(),
            receive_window: options.config.receive_window as f64 / options.config.packet as f64,
            max_cwnd: (options.max_cwnd > 0.0).then_some(options.max_cwnd),
            validated: true,
            limited_by,
            completed: self.ends[0].completed(),
        }
    }

    /// Bytes in which windows are counted: a full datagram.
    pub fn segment(&self) -> u32 {
        self.setup.options.segment()
    }

    /// Payload that the receiver has read, bytes.
    pub fn delivered_bytes(&self) -> u64 {
        self.ends[1].delivered_bytes()
    }

    /// The first failure of its controller.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// What a finished transfer or a lost connection must not show, if anything.
    pub fn check(&self) -> Result<(), String> {
        if let Some(failure) = self.ends.iter().find_map(Endpoint::failure) {
            return Err(format!("flow {} has lost its connection: {failure}", self.setup.flow));
        }
        let (delivered, written) = (self.delivered_bytes(), self.setup.bytes);
        let all = self.ends[0].completed().is_some();
        match written {
            Some(bytes) if delivered > bytes || all && delivered < bytes => {
                Err(format!("flow {} has delivered {delivered} of {bytes} bytes", self.setup.flow))
            }
            _ => Ok(()),
        }
    }
}

fn to_network(ecn: ::quic::Ecn) -> Ecn {
    match ecn {
        ::quic::Ecn::NotEct => Ecn::NotEct,
        ::quic::Ecn::Ect0 => Ecn::Ect0,
        ::quic::Ecn::Ect1 => Ecn::Ect1,
        ::quic::Ecn::Ce => Ecn::Ce,
    }
}

fn from_network(ecn: Ecn) -> ::quic::Ecn {
    match ecn {
        Ecn::NotEct => ::quic::Ecn::NotEct,
        Ecn::Ect0 => ::quic::Ecn::Ect0,
        Ecn::Ect1 => ::quic::Ecn::Ect1,
        Ecn::Ce => ::quic::Ecn::Ce,
    }
}

impl<const WINDOWS: bool, const PACKETS: bool> Simulation<WINDOWS, PACKETS> {
    /// Index of a flow with a number above those of the TCP flows; QUIC flows have the next numbers.
    fn quic_index(&self, flow: u32) -> usize {
        flow as usize - self.senders.len()
    }

    /// A datagram has reached an end of QUIC flow `index`.
    pub(super) fn quic_arrived(&mut self, index: usize, packet: &Packet) {
        let now = self.event_queue.now();
        let side = !packet.kind.is_reverse() as usize;
        let flow = &mut self.quic[index];
        if side == 1 {
            flow.arrived.arrived(packet, now);
        }
        let bytes = self.datagrams.bytes(packet.options);
        flow.ends[side].on_datagram(now, from_network(packet.ecn), bytes.into());
        self.release_stored(packet);
        self.quic_transmit(packet.flow, side, Trigger::Ack);
    }

    /// A timer of a QUIC flow has expired.
    pub(super) fn quic_timer(&mut self, flow: u32, timer: FlowTimer) {
        let (now, index) = (self.event_queue.now(), self.quic_index(flow));
        let side = (timer == FlowTimer::AckDelay) as usize;
        let end = &mut self.quic[index].ends[side];
        match timer {
            FlowTimer::Retransmit | FlowTimer::AckDelay => end.on_timeout(now),
            FlowTimer::Wake => end.on_wake_timer(now),
            FlowTimer::Pace | FlowTimer::Application => {}
        }
        self.quic_transmit(flow, side, Trigger::FlowTimer);
    }

    /// Processes the application timer of QUIC flow `index`: start, a write, stop.
    pub(super) fn quic_application(&mut self, flow: u32, index: usize) {
        let now = self.event_queue.now();
        let schedule = &mut self.schedules[flow as usize];
        let mut trigger = Trigger::FlowTimer;
        let starts = !std::mem::replace(&mut schedule.started, true);
        let (stops, written) = (!starts && now >= schedule.stop, schedule.writes.is_some());
        let own = &mut self.quic[index];
        if starts {
            trigger = Trigger::Start;
            own.integrated = now;
            own.ends[0].open(now);
            match own.setup.bytes {
                _ if written => {}
                Some(bytes) => own.ends[0].write(bytes, true),
                None => own.ends[0].write_endlessly(),
            }
        } else if stops {
            own.ends[0].stop();
        }
        if !stops {
            while let Some((bytes, last)) = self.due_write(flow) {
                self.quic[index].ends[0].write(bytes as u64, last);
            }
            self.set_application_timer(flow);
        }
        self.quic_transmit(flow, 0, trigger);
    }

    /// A hand-off of an end of a QUIC flow begins or ends.
    pub(super) fn quic_handoff(&mut self, flow: u32, begins: bool) {
        let (now, index) = (self.event_queue.now(), self.quic_index(flow));
        self.quic[index].under_handoff = begins;
        if self.schedules[flow as usize].started {
            let hint = if begins { PathHint::HandoffBegins } else { PathHint::HandoffEnds };
            self.quic[index].controller.lock().on_hint(now, &hint);
            self.quic_transmit(flow, 0, Trigger::Handoff);
        }
    }

    /// Called after each event at an end: sends what may leave, sets the timers, records the window.
    fn quic_transmit(&mut self, number: u32, side: usize, trigger: Trigger) {
        let (now, index) = (self.event_queue.now(), self.quic_index(number));
        let mut all = std::mem::take(&mut self.quic);
        let flow = &mut all[index];
        let (route, header) = (flow.setup.routes[side], flow.setup.options.header);
        let kind = [PacketKind::Datagram, PacketKind::ReverseDatagram][side];
        let sent = &mut flow.sent[side];
        let Deadlines { timeout, pacing, wake } = flow.ends[side].transmit(now, |bytes, ecn| {
            let size = bytes.len() as u32 + header;
            let packet =
                Packet { ecn: to_network(ecn), ..Packet::new(kind, number, route, *sent, size, now) };
            *sent += 1;
            self.send_datagram(packet, bytes);
        });
        if side == 1 {
            self.set_quic_timer(number, FlowTimer::AckDelay, timeout);
        } else {
            self.set_quic_timer(number, FlowTimer::Retransmit, timeout);
            self.set_quic_timer(number, FlowTimer::Pace, pacing);
            self.set_quic_timer(number, FlowTimer::Wake, wake);
            self.record_quic(flow, trigger);
        }
        self.quic = all;
    }

    fn set_quic_timer(&mut self, flow: u32, timer: FlowTimer, at: Time) {
        let (id, at) = (flow * FlowTimer::COUNT + timer as u32, at.max(self.event_queue.now()));
        if self.event_queue.timer(id) != at {
            self.event_queue.set_timer(id, at);
        }
    }

    /// Records what has changed at the sender.
    fn record_quic(&mut self, flow: &mut QuicEndpoints, trigger: Trigger) {
        let now = self.event_queue.now();
        let handle = flow.controller.clone();
        let mut state = handle.lock();
        let change = state.take_change();
        let starts = trigger == Trigger::Start;
        if change.window || starts {
            flow.integrate(now);
            flow.window = [change.cwnd, change.ssthresh];
        }
        if self.has_external && flow.failure.is_none() {
            flow.failure = state.controller().failure().cloned();
        }
        if !WINDOWS || !(change.window || change.acked || change.timeout || starts) {
            return;
        }
        let trigger = match trigger {
            Trigger::Start | Trigger::Handoff => trigger,
            _ if change.timeout => Trigger::Rto,
            _ if change.acked => Trigger::Ack,
            _ => Trigger::FlowTimer,
        };
        let row = WindowRow {
            flow: flow.setup.flow,
            trigger,
            rtt: change.rtt,
            changed: change.window || starts,
            cause: change.cause,
            cwnd: change.cwnd,
            ssthresh: change.ssthresh,
            highest_ack: state.highest_acked(),
            in_flight: state.packets_in_flight(),
            phase: state.phase(),
            under_handoff: flow.under_handoff,
            controller: state.controller(),
        };
        self.recorder.window(now, &row);
    }

    /// The outcome of QUIC flow `index` over the first `span` of the run.
    pub(super) fn quic_outcome(&mut self, number: usize, index: usize, span: Span) -> FlowOutcome {
        let duration = span.seconds();
        let schedule = &self.schedules[number];
        let (started, start) = (schedule.started, schedule.start);
        let transfer = schedule.writes.is_some() || self.quic[index].setup.bytes.is_some();
        let flow = &mut self.quic[index];
        if started {
            flow.integrate(Time::ZERO + span);
        }
        let state = flow.controller.lock();
        let stats = *state.stats();
        let mean = |area: f64| (started && area.is_finite()).then(|| area / duration);
        let finite = |x: f64| x.is_finite().then_some(x);
        let [sent, delivered] = [flow.sent[0] as u64, flow.delivered_bytes()];
        FlowOutcome {
            kind: "quic",
            transport: Some("quic"),
            control: Some(state.controller().name().into()),
            goodput_bps: delivered as f64 * 8.0 / duration,
            delivered_bytes: delivered,
            sent_packets: sent,
            acked_packets: Some(stats.acked_packets),
            retransmitted_packets: Some(stats.lost_packets),
            timeouts: Some(stats.probe_timeouts),
            window_cuts: Some(stats.cwnd_reductions),
            persistent_congestion: Some(stats.persistent_congestion),
            ce_marks: Some(stats.ce_marks),
            mean_cwnd: mean(flow.areas[0]),
            mean_ssthresh: mean(flow.areas[1]),
            final_cwnd: finite(state.cwnd()),
            final_ssthresh: finite(state.ssthresh()),
            mean_rtt_s: (stats.rtt_count > 0).then(|| stats.rtt_sum / stats.rtt_count as f64),
            min_rtt_s: (stats.rtt_count > 0).then(|| stats.rtt_min.seconds()),
            delivery_ratio: (sent > 0).then(|| flow.arrived.packets as f64 / sent as f64),
            rtt_samples: stats.rtt_count,
            completion_s: flow.ends[0].completed().filter(|_| transfer).map(|at| at.since(start).seconds()),
            ..arrivals(self.names[number].clone(), &flow.arrived, self.bases[number], duration)
        }
    }
}
