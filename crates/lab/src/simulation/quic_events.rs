//! The events of QUIC flows: datagrams, timers, the application, hand-offs.

use super::event_loop::Simulation;
use super::outcome::FlowOutcome;
use super::quic::QuicEndpoints;
use super::results::arrivals;
use ::quic::Deadlines;
use cc::{Controller, Hint, PathHint};
use net::{Ecn, Packet, PacketKind};
use transport::{FlowTimer, Trigger, WindowRow};
use units::{Span, Time};

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
        let endpoints = &mut self.quic[index];
        if starts {
            trigger = Trigger::Start;
            endpoints.integrated = now;
            endpoints.ends[0].open(now);
            match endpoints.setup.bytes {
                _ if written => {}
                Some(bytes) => endpoints.ends[0].write(bytes, true),
                None => endpoints.ends[0].write_endlessly(),
            }
        } else if stops {
            endpoints.ends[0].stop();
            endpoints.stopped = true;
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
            let kind = if begins { Hint::HandoffBegins } else { Hint::HandoffEnds };
            self.quic[index].controller.lock().on_hint(&PathHint { now, kind });
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
            in_flight: state.in_flight().packets,
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
        let (sent, delivered) = (flow.sent[0] as u64, flow.delivered_bytes());
        FlowOutcome {
            kind: "quic",
            transport: Some("quic"),
            control: Some(state.controller().name().into()),
            goodput_bps: delivered as f64 * 8.0 / duration,
            delivered_bytes: delivered,
            acked_packets: Some(stats.acked_packets),
            retransmitted_packets: Some(stats.lost_packets),
            timeouts: Some(stats.probe_timeouts),
            window_cuts: Some(stats.cwnd_reductions),
            persistent_congestion: Some(stats.persistent_congestion),
            ce_marks: Some(stats.ce_marks),
            connection_error: Some(flow.connection_error()),
            connection_lost: flow.connection_lost().map(|_| true),
            connection_lost_s: flow.connection_lost().map(Time::seconds),
            mean_cwnd: mean(flow.areas[0]),
            mean_ssthresh: mean(flow.areas[1]),
            final_cwnd: finite(state.controller().cwnd()),
            final_ssthresh: finite(state.controller().ssthresh()),
            mean_rtt_s: (stats.rtt_count > 0).then(|| stats.rtt_sum / stats.rtt_count as f64),
            min_rtt_s: (stats.rtt_count > 0).then(|| stats.rtt_min.seconds()),
            rtt_samples: stats.rtt_count,
            completion_s: flow.ends[0].completed().filter(|_| transfer).map(|at| at.since(start).seconds()),
            ..arrivals(self.names[number].clone(), &flow.arrived, sent, self.paths[number].empty, duration)
        }
    }
}
