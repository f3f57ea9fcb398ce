//! Connects applications to the simulation: packets and timers in, packets and data out.

use super::apps::{Action, AppPlace, OPENING_SIZE, SenderView};
use super::endpoints::{Endpoints, SimulationContext, flow_context};
use super::event_loop::Simulation;
use crate::audit::AppEvent;
use cc::Controller;
use net::{Packet, PacketKind};
use transport::{AckOptions, FlowContext, FlowTimer, Trigger};

impl<const WINDOWS: bool, const PACKETS: bool> Simulation<WINDOWS, PACKETS> {
    /// The application timer of a flow has expired.
    pub(super) fn app_timer(&mut self, flow: u32, AppPlace { app, .. }: AppPlace) {
        let now = self.event_queue.now();
        let application = &self.apps.apps[app as usize];
        let view = if application.needs_view() { self.sender_view(flow) } else { SenderView::default() };
        self.apps.apps[app as usize].on_timer(now, &view);
        self.perform(app);
    }

    /// What an application can see of its sender.
    fn sender_view(&self, flow: u32) -> SenderView {
        match self.endpoints[flow as usize] {
            Endpoints::Tcp(index) => {
                let sender = &self.senders[index];
                let packet = sender.options().packet;
                SenderView {
                    window: sender.controller().cwnd() * f64::from(packet),
                    smoothed_rtt: sender.smoothed_rtt(),
                    pacing: sender.controller().pacing(),
                    unsent: sender.bytes_below(sender.written()) - sender.bytes_below(sender.next()),
                }
            }
            Endpoints::Quic(index) => self.quic[index].sender_view(),
            Endpoints::Udp(_) | Endpoints::Attached(_) => SenderView::default(),
        }
    }

    /// A request has reached the server of a flow.
    pub(super) fn request_arrived(&mut self, packet: &Packet) {
        let Some(AppPlace { app, .. }) = self.apps.place(packet.flow) else { return };
        let now = self.event_queue.now();
        if packet.seq == Packet::OPENING {
            self.begin_connection(packet.flow);
        } else {
            self.apps.apps[app as usize].on_request(now, packet.seq);
        }
        self.perform(app);
    }

    /// Data of a TCP flow has reached its receiver, which has processed it.
    pub(super) fn app_data_arrived(&mut self, flow: u32) {
        let Some(AppPlace { app, connection, .. }) = self.apps.place(flow) else { return };
        let now = self.event_queue.now();
        let in_order = self.receivers[flow as usize].in_order();
        if in_order == 0 {
            return;
        }
        let bytes = self.senders[flow as usize].bytes_below(in_order);
        self.apps.report(now, app, AppEvent::Progress { connection, stream: 0, bytes });
        let application = &mut self.apps.apps[app as usize];
        application.on_connected(now, connection);
        application.on_progress(now, connection, 0, bytes);
        self.perform(app);
    }

    /// Gives the auditor the events of the applications.
    pub(super) fn audit_applications(&mut self) {
        if let Some(auditor) = self.recorder.auditor() {
            for (at, app, event) in self.apps.take_events() {
                auditor.application(at, app, event);
            }
        }
    }

    /// Does what an application asks for, and sets its timer.
    pub(super) fn perform(&mut self, app: u32) {
        while let Some(action) = self.apps.apps[app as usize].take_action() {
            let application = &self.apps.apps[app as usize];
            match action {
                Action::Open(connection) => {
                    let flow = application.flow(connection);
                    if self.has_handshake(flow) {
                        self.send_request(flow, Packet::OPENING, None);
                    } else {
                        self.begin_connection(flow);
                        let now = self.event_queue.now();
                        self.apps.apps[app as usize].on_connected(now, connection);
                    }
                }
                Action::Begin(connection) => {
                    let flow = application.flow(connection);
                    self.begin_connection(flow);
                    if !self.has_handshake(flow) {
                        let now = self.event_queue.now();
                        self.apps.apps[app as usize].on_connected(now, connection);
                    }
                }
                Action::Request { connection, number } => {
                    let (flow, size) = (application.flow(connection), application.request_size(number));
                    let (bytes, object) = (application.message_bytes(number), application.object(number));
                    let event = AppEvent::Request { connection, message: number, bytes, object };
                    self.apps.report(self.event_queue.now(), app, event);
                    self.send_request(flow, number, Some(size));
                }
                Action::Data(connection) => {
                    let flow = application.flow(connection);
                    self.app_give_data(flow);
                }
                Action::Finish { connection, stream } => {
                    let flow = application.flow(connection);
                    self.finish_stream(flow, stream);
                }
                Action::Reset { connection, stream } => {
                    let flow = application.flow(connection);
                    let event = AppEvent::Reset { connection, stream };
                    self.apps.report(self.event_queue.now(), app, event);
                    self.reset_stream(flow, stream);
                }
                Action::StopSending { connection, stream } => {
                    let flow = application.flow(connection);
                    let event = AppEvent::Stop { connection, stream };
                    self.apps.report(self.event_queue.now(), app, event);
                    self.stop_stream(flow, stream);
                }
                Action::Datagram { connection, number, bytes } => {
                    let flow = application.flow(connection);
                    self.send_app_datagram(flow, number, bytes);
                }
            }
        }
        let application = &self.apps.apps[app as usize];
        let (at, flow) = (application.next_at(), application.flow(0));
        let timer = flow * FlowTimer::COUNT + FlowTimer::Application as u32;
        if self.event_queue.timer(timer) != at {
            self.event_queue.set_timer(timer, at);
        }
    }

    /// Whether the client of a flow learns from a handshake that the connection is open.
    fn has_handshake(&self, flow: u32) -> bool {
        match self.endpoints[flow as usize] {
            Endpoints::Tcp(index) => self.senders[index].options().syn,
            _ => true,
        }
    }

    /// The client of a flow sends a request, or without a payload the packet that opens the connection.
    fn send_request(&mut self, flow: u32, number: u32, payload: Option<u32>) {
        let Some(place) = self.apps.place(flow) else { return };
        let size = payload.map_or(OPENING_SIZE, |payload| payload + place.header);
        let now = self.event_queue.now();
        let packet = Packet::new(PacketKind::Request, flow, place.route, number, size, now);
        flow_context!(self, flow).send(packet, &AckOptions::NONE);
    }

    /// The sender of a flow opens its connection, if it has not.
    fn begin_connection(&mut self, flow: u32) {
        let schedule = &mut self.schedules[flow as usize];
        if std::mem::replace(&mut schedule.started, true) {
            return;
        }
        self.begin_start(flow);
        match self.endpoints[flow as usize] {
            Endpoints::Tcp(index) => self.senders[index].on_start(&mut flow_context!(self, flow)),
            Endpoints::Quic(index) => self.open_quic(flow, index),
            Endpoints::Udp(_) | Endpoints::Attached(_) => {}
        }
    }

    /// Gives the sender of a flow data of its application while its windows permit a segment. Called after each event at the
    /// sender.
    pub(super) fn app_give_data(&mut self, flow: u32) {
        if let Some(place) = self.apps.place(flow) {
            self.give_data(flow, place);
        }
    }

    /// The retransmission timer of a TCP flow is about to expire: its sender is given as much as it may send of new data then,
    /// a probe for a lost tail or the segments with which it finds out whether the timeout was spurious (RFC 5682).
    pub(super) fn app_write_ahead(&mut self, flow: u32) {
        const AHEAD: u32 = 2;
        let Some(AppPlace { app, connection, .. }) = self.apps.place(flow) else { return };
        let Endpoints::Tcp(index) = self.endpoints[flow as usize] else { return };
        let most = u64::from(self.senders[index].options().packet);
        while self.senders[index].written() < self.senders[index].next() + AHEAD {
            if !self.give_piece(flow, index, AppPlace { app, connection, route: 0, header: 0 }, most) {
                return;
            }
        }
    }

    /// Gives a TCP sender the next piece of an application. Returns whether there was one.
    fn give_piece(
        &mut self,
        flow: u32,
        index: usize,
        AppPlace { app, connection, .. }: AppPlace,
        most: u64,
    ) -> bool {
        let now = self.event_queue.now();
        let application = &mut self.apps.apps[app as usize];
        let Some(piece) = application.take_piece(connection, most) else { return false };
        let waiting = application.has_data(connection);
        let sender = &mut self.senders[index];
        if application.records_handovers() {
            application.note_taken(now, &piece, sender.limited_until(now), sender.written());
        }
        sender.on_write_of_waiting(&mut flow_context!(self, flow), piece.bytes, waiting);
        self.apps.report(now, app, piece.event(connection));
        true
    }

    fn give_data(&mut self, flow: u32, place: AppPlace) {
        let AppPlace { app, connection, .. } = place;
        let index = match self.endpoints[flow as usize] {
            Endpoints::Tcp(index) => index,
            Endpoints::Quic(_) => return self.quic_transmit(flow, 0, Trigger::FlowTimer),
            Endpoints::Udp(_) | Endpoints::Attached(_) => return,
        };
        let now = self.event_queue.now();
        let records = self.apps.apps[app as usize].records_handovers();
        if records {
            let limits = self.senders[index].limited_until(now);
            self.apps.apps[app as usize].note_ready(now, connection, limits);
        }
        let (most, mut bursts) = {
            let options = self.senders[index].options();
            (u64::from(options.packet), options.most_at_once())
        };
        while self.schedules[flow as usize].started && bursts > 0 && self.senders[index].takes_data() {
            if !self.give_piece(flow, index, place, most) {
                break;
            }
            bursts -= 1;
        }
        let waiting = self.apps.apps[app as usize].has_data(connection);
        self.senders[index].set_more_waiting(now, waiting);
    }
}
