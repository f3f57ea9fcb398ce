//! The events of QUIC flows: datagrams, timers, the application, hand-offs.

use super::apps::{AppPlace, Apps, LimitSpans, Piece};
use super::event_loop::Simulation;
use super::quic::{QuicApplication, QuicEndpoints};
use super::recorder::Recorder;
use crate::audit::AppEvent;
use ::quic::{Deadlines, Endpoint, StreamEvent, WriteError};
use cc::{Hint, PathHint};
use engine::EventQueue;
use net::{Ecn, Packet, PacketKind};
use transport::{FlowTimer, Trigger, WindowRow};
use units::Time;

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
        if let Some(place) = self.apps.place(packet.flow) {
            self.quic_app_arrived(packet.flow, place, side);
        }
    }

    /// A timer of a QUIC flow has expired.
    pub(super) fn quic_timer(&mut self, flow: u32, timer: FlowTimer) {
        let (now, index) = (self.event_queue.now(), self.endpoints[flow as usize].index());
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
        if !self.schedules[flow as usize].started {
            self.begin_start(flow);
        }
        let schedule = &mut self.schedules[flow as usize];
        let mut trigger = Trigger::FlowTimer;
        let starts = !std::mem::replace(&mut schedule.started, true);
        let (stops, written) = (!starts && now >= schedule.stop, schedule.writes.is_some());
        let endpoints = &mut self.quic[index];
        if starts {
            trigger = Trigger::Start;
            endpoints.integrated = now;
            endpoints.limits.since = now;
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
            while let Some((bytes, last)) = self.schedules[flow as usize].due_write(now) {
                self.quic[index].ends[0].write(bytes, last);
            }
            self.schedules[flow as usize].set_timer(&mut self.event_queue, flow);
        }
        self.quic_transmit(flow, 0, trigger);
    }

    /// The sender of a flow with an application opens its connection.
    pub(super) fn open_quic(&mut self, flow: u32, index: usize) {
        let now = self.event_queue.now();
        self.quic[index].integrated = now;
        self.quic[index].limits.since = now;
        self.quic[index].ends[0].open(now);
        self.quic_transmit(flow, 0, Trigger::Start);
    }

    /// A datagram has reached an end of a flow with an application, which may concern the application.
    fn quic_app_arrived(&mut self, flow: u32, place: AppPlace, side: usize) {
        let (now, index) = (self.event_queue.now(), self.endpoints[flow as usize].index());
        let AppPlace { app, connection, .. } = place;
        let QuicEndpoints { ends, application: streams, .. } = &mut self.quic[index];
        if side == 1 {
            ends[1].take_progress(&mut streams.progress);
            for progress in &mut streams.progress {
                progress.stream = streams.opened[progress.stream as usize];
                let (stream, bytes) = (progress.stream, progress.bytes);
                self.apps.report(now, app, AppEvent::Progress { connection, stream, bytes });
            }
        }
        if side == 0 {
            while let Some(event) = ends[0].next_stream_event() {
                match event {
                    StreamEvent::Stopped { stream, .. } => {
                        let stream = streams.opened[stream as usize];
                        self.apps.report(now, app, AppEvent::Reset { connection, stream });
                        self.apps.apps[app as usize].on_stopped(stream);
                    }
                    StreamEvent::Acknowledged { stream } => {
                        self.apps.apps[app as usize].on_acknowledged(streams.opened[stream as usize]);
                    }
                }
            }
        } else {
            let application = &mut self.apps.apps[app as usize];
            if ends[1].has_begun() {
                application.on_connected(now, connection);
            }
            for progress in streams.progress.drain(..) {
                application.on_progress(now, connection, progress.stream, progress.bytes);
                if progress.finished || progress.reset {
                    application.on_stream_end(connection, progress.stream, progress.reset);
                }
            }
            ends[1].take_datagrams(&mut streams.datagrams);
            for datagram in streams.datagrams.drain(..) {
                application.on_datagram(now, datagram.number);
            }
        }
        self.perform(app);
    }

    /// The application of a flow has written all of a stream.
    pub(super) fn finish_stream(&mut self, flow: u32, stream: u32) {
        let QuicEndpoints { ends, application, .. } = &mut self.quic[self.endpoints[flow as usize].index()];
        let Some(number) = application.numbers.get(&stream) else { return };
        match &mut application.held {
            Some(held) if held.stream == stream => held.finishes = true,
            _ => {
                // It is closed already if it was reset.
                let _ = ends[0].write_stream(*number, 0, true);
                self.quic_transmit(flow, 0, Trigger::FlowTimer);
            }
        }
    }

    /// The application of a flow resets a stream.
    pub(super) fn reset_stream(&mut self, flow: u32, stream: u32) {
        let QuicEndpoints { ends, application, .. } = &mut self.quic[self.endpoints[flow as usize].index()];
        if let Some(number) = application.numbers.get(&stream) {
            ends[0].reset_stream(*number);
            self.quic_transmit(flow, 0, Trigger::FlowTimer);
        }
    }

    /// The receiver of a flow asks for the reset of a stream.
    pub(super) fn stop_stream(&mut self, flow: u32, stream: u32) {
        let QuicEndpoints { ends, application, .. } = &mut self.quic[self.endpoints[flow as usize].index()];
        if application.numbers.get(&stream).is_some_and(|number| ends[1].stop_stream(*number)) {
            self.quic_transmit(flow, 1, Trigger::FlowTimer);
        }
    }

    /// The application of a flow sends a datagram; it is lost before the handshake is complete.
    pub(super) fn send_app_datagram(&mut self, flow: u32, number: u32, bytes: u32) {
        let index = self.endpoints[flow as usize].index();
        self.quic[index].ends[0].send_datagram(number, bytes as usize);
        self.quic_transmit(flow, 0, Trigger::FlowTimer);
    }

    /// A hand-off of an end of a QUIC flow begins or ends.
    pub(super) fn quic_handoff(&mut self, flow: u32, begins: bool) {
        let (now, index) = (self.event_queue.now(), self.endpoints[flow as usize].index());
        self.quic[index].under_handoff = begins;
        if self.schedules[flow as usize].started {
            let kind = if begins { Hint::HandoffBegins } else { Hint::HandoffEnds };
            self.quic[index].controller.lock().on_hint(&PathHint { now, kind });
            self.quic_transmit(flow, 0, Trigger::Handoff);
        }
    }

    /// Called after each event at an end: sends what may leave, sets the timers, records the window.
    pub(super) fn quic_transmit(&mut self, number: u32, side: usize, trigger: Trigger) {
        let (now, index) = (self.event_queue.now(), self.endpoints[number as usize].index());
        let mut all = std::mem::take(&mut self.quic);
        let flow = &mut all[index];
        let (route, header) = (flow.setup.routes[side], flow.setup.options.common.header);
        let kind = [PacketKind::Datagram, PacketKind::ReverseDatagram][side];
        let sent = &mut flow.sent[side];
        let mut apps = std::mem::take(&mut self.apps);
        let application = apps.place(number).filter(|_| side == 0);
        let send = |bytes: &[u8], ecn: ::quic::Ecn| {
            let size = bytes.len() as u32 + header;
            let packet =
                Packet { ecn: to_network(ecn), ..Packet::new(kind, number, route, *sent, size, now) };
            *sent += 1;
            self.send_datagram(packet, bytes);
        };
        let Deadlines { timeout, pacing, wake } = match application {
            None => flow.ends[side].transmit(now, send),
            Some(place) => {
                let streams = &mut flow.application;
                let limits = flow.limits.until(now);
                apps.apps[place.app as usize].note_ready(now, place.connection, limits);
                let write = |end: &mut Endpoint| streams.give_data(end, &mut apps, place, (now, limits));
                flow.ends[side].transmit_from(now, write, send)
            }
        };
        self.apps = apps;
        if side == 1 {
            set_timer(&mut self.event_queue, number, FlowTimer::AckDelay, timeout);
        } else {
            set_timer(&mut self.event_queue, number, FlowTimer::Retransmit, timeout);
            set_timer(&mut self.event_queue, number, FlowTimer::Pace, pacing);
            set_timer(&mut self.event_queue, number, FlowTimer::Wake, wake);
            let holds_data = application
                .is_some_and(|place| self.apps.apps[place.app as usize].has_data(place.connection));
            flow.record(&mut self.recorder, now, self.has_external, trigger);
            flow.note_limit(now, holds_data);
        }
        self.quic = all;
    }
}

impl QuicApplication {
    /// The number of the application's stream `stream` in the stack, which opens it when its first bytes are sent: a stream that
    /// is never used would count as open for ever. None if the stack opens no more.
    fn number_of(&mut self, sender: &mut Endpoint, stream: u32) -> Option<u32> {
        if let Some(number) = self.numbers.get(&stream) {
            return Some(*number);
        }
        let number = sender.open_stream()?;
        debug_assert_eq!(number as usize, self.opened.len());
        self.opened.push(stream);
        self.numbers.insert(stream, number);
        Some(number)
    }

    /// Gives the stack of a sender what it can send of the data of its application.
    fn give_data(
        &mut self,
        sender: &mut Endpoint,
        apps: &mut Apps,
        place: AppPlace,
        (now, limits): (Time, LimitSpans),
    ) {
        let AppPlace { app, connection, .. } = place;
        while let room @ 1.. = sender.write_room() {
            let application = &mut apps.apps[app as usize];
            let next = self.held.take().or_else(|| application.take_piece(connection, room));
            let Some(piece) = next else { return };
            application.note_taken(now, &piece, limits, 0);
            let Some(number) = self.number_of(sender, piece.stream) else { return };
            match sender.write_stream(number, piece.bytes, piece.finishes) {
                Ok(taken) => {
                    apps.report(now, app, Piece { bytes: taken, ..piece }.event(connection));
                    if taken < piece.bytes {
                        self.held = Some(Piece { bytes: piece.bytes - taken, ..piece });
                    }
                }
                Err(WriteError::Blocked) => {
                    self.held = Some(piece);
                    return;
                }
                Err(WriteError::Closed) => {} // it was reset
            }
        }
    }
}

fn set_timer(event_queue: &mut EventQueue<Packet>, flow: u32, timer: FlowTimer, at: Time) {
    let (id, at) = (flow * FlowTimer::COUNT + timer as u32, at.max(event_queue.now()));
    if event_queue.timer(id) != at {
        event_queue.set_timer(id, at);
    }
}

impl QuicEndpoints {
    /// Records what has changed at the sender.
    fn record<const WINDOWS: bool, const PACKETS: bool>(
        &mut self,
        recorder: &mut Recorder<WINDOWS, PACKETS>,
        now: Time,
        has_external: bool,
        trigger: Trigger,
    ) {
        let handle = self.controller.clone();
        let mut state = handle.lock();
        let change = state.take_change();
        let starts = trigger == Trigger::Start;
        if change.window || starts {
            self.integrate(now);
            self.window = [change.cwnd, change.ssthresh];
        }
        if has_external && self.failure.is_none() {
            self.failure = state.controller().failure().cloned();
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
            flow: self.setup.flow,
            trigger,
            rtt: change.rtt,
            changed: change.window || starts,
            cause: change.cause,
            cwnd: change.cwnd,
            ssthresh: change.ssthresh,
            highest_ack: state.highest_acked(),
            in_flight: state.in_flight().packets,
            phase: state.phase(),
            under_handoff: self.under_handoff,
            app_limited: state.app_limited(),
            controller: state.controller(),
        };
        recorder.window(now, &row);
    }
}
