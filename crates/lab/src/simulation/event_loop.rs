//! The event loop: packets arrive, timers expire.

use super::account::RunAccount;
use super::apps::Apps;
use super::attached::{AttachedFlow, Waiting};
use super::border::PartBorder;
use super::datagrams::DatagramPool;
use super::endpoints::{Endpoints, FlowSchedule, PathFacts, SimulationContext, TimerOwner, flow_context};
use super::per_flow::PerFlow;
use super::planned_start::PlannedStart;
use super::quic::QuicEndpoints;
use super::recorder::Recorder;
use super::satellites::{ConstellationSchedule, SatelliteEvent};
use crate::clock::{cpu_time, wall_time};
use crate::scenario::{Change, Prepared};
use engine::{EventQueue, Next};
use net::radio::RadioOutput;
use net::{Arrival, LinkId, Network, NodeId, Packet, PacketKind, Topology};
use std::collections::VecDeque;
use std::sync::Arc;
use transport::{AckOptionPool, AckOptions, FlowTimer, Receiver, ReceiverStats, Sender, UdpSource};
use units::{Span, Time};

/// The state of a simulation.
pub(super) struct Simulation<const WINDOWS: bool, const PACKETS: bool> {
    pub(super) title: String,
    pub(super) seed: u64,
    pub(super) duration: Span,
    pub(super) end: Time,
    /// Messages that start so long before the end do not count.
    pub(super) cooldown: Span,
    pub(super) event_queue: EventQueue<Packet>,
    pub(super) network: Network,
    pub(super) topology: Arc<Topology>,
    pub(super) recorder: Recorder<WINDOWS, PACKETS>,
    pub(super) ack_options: AckOptionPool,
    /// Of each flow, by number.
    pub(super) endpoints: Arc<[Endpoints]>,
    pub(super) senders: PerFlow<Sender>,
    pub(super) receivers: PerFlow<Receiver>,
    /// An empty list, to exchange for the packets that the network keeps for receivers.
    pub(super) receiving: Vec<(Time, Packet)>,
    pub(super) quic: Vec<QuicEndpoints>,
    pub(super) udp: Vec<(UdpSource, ReceiverStats)>,
    pub(super) attached: Vec<AttachedFlow>,
    pub(super) apps: Apps,
    pub(super) datagrams: DatagramPool,
    /// Datagrams that have reached ends outside and wait to be received.
    pub(super) outbox: VecDeque<Waiting>,
    /// The place of the bytes of the datagram that was received last.
    pub(super) lent: Option<u32>,
    /// Calls of [`Simulation::catch_up`].
    pub(super) steps: u64,
    pub(super) schedules: PerFlow<FlowSchedule>,
    /// The flows that start with saved values or a jump.
    pub(super) starts: Vec<PlannedStart>,
    pub(super) names: Arc<[String]>,
    pub(super) ends: Arc<[[NodeId; 2]]>,
    pub(super) paths: Arc<[PathFacts]>,
    /// Names of the duplex links in the scenario.
    pub(super) given_names: Arc<[Option<String>]>,
    /// Whether to prefetch memory for later events.
    pub(super) crowded: bool,
    pub(super) has_external: bool,
    /// For each flow, the first link of its data and of its ACKs.
    pub(super) first_links: Arc<[[LinkId; 2]]>,
    /// For each TCP and UDP flow the routes of its data and of its acknowledgements; none for the latter if it has none.
    #[cfg_attr(target_family = "wasm", expect(dead_code, reason = "for the division of a run"))]
    pub(super) routes: Vec<(u32, Option<u32>)>,
    /// Numbers of the flows, in the order of the scenario.
    pub(super) order: Arc<[u32]>,
    /// The owners of the timers after those of the flows.
    pub(super) network_timers: Vec<TimerOwner>,
    /// The future events of the satellites, if there are any.
    pub(super) satellites: Option<ConstellationSchedule>,
    pub(super) warmup: Option<Warmup>,
    /// The changes of the scenario, in the order of time, and the place of the next one.
    pub(super) changes: Vec<Change>,
    pub(super) next_change: usize,
    /// What the run has for changes.
    pub(super) prepared: Arc<Prepared>,
    /// For each link, the longest round-trip propagation delay of the flows over it.
    pub(super) round_trips: Arc<[Span]>,
    /// All events up to this time are processed; those at this time too if [`Simulation::advance`] was told so.
    pub(super) reached: Time,
    /// With several threads, what this part of the run has for packets that leave it.
    pub(super) border: Option<PartBorder>,
    /// Events that other parts of the run have processed.
    pub(super) other_events: u64,
    /// CPU time of the event loop so far, ns.
    pub(super) cpu: u64,
    pub(super) wall: u64,
}

/// The warm-up, which the outcome excludes.
#[derive(Clone)]
pub(super) struct Warmup {
    pub(super) duration: Span,
    /// What the run had counted at its end.
    pub(super) account: Option<Box<RunAccount>>,
}

impl<const WINDOWS: bool, const PACKETS: bool> Simulation<WINDOWS, PACKETS> {
    /// Processes up to `events` events, none after `until`, and measures what that costs. Returns whether the run has ended.
    pub(super) fn advance(&mut self, events: u64, until: Time) -> bool {
        let (cpu, wall) = (cpu_time(), wall_time());
        let ended = self.advance_unmeasured(events, until);
        self.cpu += cpu_time() - cpu;
        self.wall += wall_time() - wall;
        ended
    }

    /// The same without a measurement, which takes as long as some ten events.
    pub(super) fn advance_unmeasured(&mut self, events: u64, until: Time) -> bool {
        let last = self.event_queue.events().saturating_add(events);
        while let Some(change) = self.changes.get(self.next_change)
            && change.at <= until
        {
            // A change comes before all events of its time.
            let before = Time::from_ps(change.at.ps() - 1);
            let left = last - self.event_queue.events();
            self.advance_unchanged(left, before);
            if self.event_queue.events() >= last {
                return false;
            }
            self.apply_due();
        }
        let left = last - self.event_queue.events();
        self.advance_unchanged(left, until)
    }

    /// The same without changes.
    fn advance_unchanged(&mut self, events: u64, until: Time) -> bool {
        let horizon = until.min(self.end);
        if let Some(radio) = self.network.radio.as_deref_mut() {
            radio.set_horizon(horizon);
        }
        let last = self.event_queue.events().saturating_add(events);
        let mut ended = false;
        while self.event_queue.events() < last {
            if self.network.early.is_waiting() {
                self.receive_ahead();
            }
            let next = self.event_queue.pop(horizon);
            if PACKETS {
                if !self.apps.is_empty() {
                    self.audit_applications();
                }
                self.recorder.reach(self.event_queue.now());
            }
            match &next {
                Next::Item(packet) => {
                    if self.crowded {
                        self.look_ahead();
                    }
                    self.arrive(packet);
                }
                Next::Timer(id) => self.fire(*id),
                Next::Nothing => {
                    if PACKETS {
                        self.recorder.finish(horizon);
                    }
                    self.reached = self.reached.max(horizon);
                    ended = horizon == self.end;
                    break;
                }
            }
        }
        if self.network.early.is_waiting() {
            self.receive_ahead();
        }
        self.reached = self.reached.max(self.event_queue.now());
        ended
    }

    pub(super) fn failure(&self) -> Option<(&str, &cc::Failure)> {
        if !self.has_external {
            return None;
        }
        let each = self.names.iter().zip(self.senders.iter());
        let failed = each.filter_map(|(name, sender)| Some((name.as_str(), sender.controller().failure()?)));
        let each = self.names.iter().skip(self.senders.len()).zip(&self.quic);
        let quic = each.filter_map(|(name, flow)| Some((name.as_str(), flow.failure()?)));
        failed.chain(quic).min_by_key(|(_, failure)| failure.at)
    }

    /// With more flows than the caches can hold, prefetches the memory of later events.
    #[inline]
    fn look_ahead(&self) {
        self.event_queue.prefetch_ahead(24);
        if let Some(packet) = self.event_queue.ahead(16) {
            self.network.prefetch_route(packet);
            engine::prefetch(&self.first_links, packet.flow as usize);
        }
        if let Some(packet) = self.event_queue.ahead(10)
            && self.network.prefetch_link(packet)
        {
            let flow = packet.flow as usize;
            match packet.kind {
                PacketKind::Data => {
                    if let Some(receiver) = self.receivers.get(flow) {
                        engine::prefetch_item(receiver, size_of::<Receiver>());
                    }
                    self.network.links.prefetch(self.first_links[flow][1]);
                }
                PacketKind::Ack => {
                    if let Some(sender) = self.senders.get(flow) {
                        sender.prefetch();
                    }
                    self.event_queue.prefetch_timer(packet.flow * FlowTimer::COUNT);
                    self.network.links.prefetch(self.first_links[flow][0]);
                }
                PacketKind::Udp
                | PacketKind::Datagram
                | PacketKind::ReverseDatagram
                | PacketKind::Request => {}
            }
        }
    }

    #[inline]
    fn arrive(&mut self, packet: &Packet) {
        match self.network.arrive(&mut self.event_queue, &mut self.recorder, packet) {
            Arrival::Forwarded => {}
            Arrival::Dropped => self.release_stored(packet),
            Arrival::Ahead(at) => self.receive(at, packet),
            Arrival::Delivered => {
                if PACKETS {
                    self.recorder.arrived(packet, self.event_queue.now());
                }
                let flow = packet.flow as usize;
                match packet.kind {
                    PacketKind::Data => {
                        self.receivers[flow].on_data(&mut flow_context!(self, packet.flow), packet);
                        if !self.apps.is_empty() {
                            self.app_data_arrived(packet.flow);
                        }
                    }
                    PacketKind::Ack => {
                        let ack_options;
                        let options = match packet.options {
                            Packet::NO_OPTIONS => &AckOptions::NONE,
                            place => {
                                ack_options = self.ack_options.take(place);
                                &ack_options
                            }
                        };
                        self.senders[flow].on_ack(&mut flow_context!(self, packet.flow), packet, options);
                        if !self.apps.is_empty() {
                            self.app_give_data(packet.flow);
                        }
                    }
                    PacketKind::Udp => {
                        let now = self.event_queue.now();
                        if let Endpoints::Udp(index) = self.endpoints[flow] {
                            self.udp[index].1.arrived(packet, now);
                        }
                    }
                    PacketKind::Datagram | PacketKind::ReverseDatagram => self.datagram_arrived(packet),
                    PacketKind::Request => self.request_arrived(packet),
                }
            }
        }
    }

    /// Has receivers process the packets that are kept for them.
    #[inline(never)]
    fn receive_ahead(&mut self) {
        let mut packets = std::mem::take(&mut self.receiving);
        self.network.early.exchange(&mut packets);
        for (at, packet) in &packets {
            self.network.early.resume(packet);
            self.receive(*at, packet);
        }
        packets.clear();
        self.receiving = packets;
    }

    /// A packet of data arrives at its receiver at `at`, which can be in the future. A delayed ACK that is due before `at` is
    /// sent first.
    fn receive(&mut self, at: Time, packet: &Packet) {
        if let Some(border) = &mut self.border
            && border.takes(&self.network, &mut self.ack_options, at, packet)
        {
            return;
        }
        if !self.network.links.is_counted_now(at) {
            return self.network.early.hold(at, packet);
        }
        let index = packet.flow as usize;
        if self.receivers.get(index).is_some_and(Receiver::delays_acks) {
            let timer = packet.flow * FlowTimer::COUNT + FlowTimer::AckDelay as u32;
            // After merged segments (GRO) it is set again, to the end of the delay.
            loop {
                let due = self.event_queue.timer(timer);
                if due > at {
                    break;
                }
                self.event_queue.set_timer(timer, Time::NEVER);
                self.network.links.timer_event();
                self.receivers[index].on_ack_delay(&mut flow_context!(self, packet.flow, due));
            }
        }
        self.network.deliver_ahead(&mut self.recorder, at, packet);
        if PACKETS {
            self.recorder.arrived(packet, at);
        }
        if let Some(receiver) = self.receivers.get_mut(index) {
            receiver.on_data(&mut flow_context!(self, packet.flow, at), packet);
        } else if let Endpoints::Udp(index) = self.endpoints[index] {
            self.udp[index].1.arrived(packet, at);
        } else {
            debug_assert!(false, "an end that works at its time");
        }
    }

    /// A datagram has reached the end of its path.
    #[inline(never)]
    fn datagram_arrived(&mut self, packet: &Packet) {
        match self.endpoints[packet.flow as usize] {
            Endpoints::Attached(index) => self.attached_arrived(index, packet),
            Endpoints::Quic(index) => self.quic_arrived(index, packet),
            Endpoints::Tcp(_) | Endpoints::Udp(_) => self.release_stored(packet),
        }
    }

    fn fire(&mut self, id: u32) {
        self.network.links.timer_event();
        let flow = id / FlowTimer::COUNT;
        let index = flow as usize;
        if index >= self.schedules.len() {
            return self.network_event(id);
        }
        let timer = FlowTimer::from_number(id % FlowTimer::COUNT);
        if index >= self.senders.len() && timer != FlowTimer::Application {
            return self.quic_timer(flow, timer);
        }
        match timer {
            FlowTimer::Retransmit => {
                if !self.apps.is_empty() {
                    self.app_write_ahead(flow);
                }
                self.senders[index].on_retransmit_timer(&mut flow_context!(self, flow));
            }
            FlowTimer::AckDelay => self.receivers[index].on_ack_delay(&mut flow_context!(self, flow)),
            FlowTimer::Pace => self.senders[index].on_pace_timer(&mut flow_context!(self, flow)),
            FlowTimer::Wake => self.senders[index].on_wake_timer(&mut flow_context!(self, flow)),
            FlowTimer::Application => return self.application(flow),
        }
        if !self.apps.is_empty() {
            self.app_give_data(flow);
        }
    }

    /// Processes a timer that belongs to no flow.
    #[cold]
    fn network_event(&mut self, id: u32) {
        match self.network_timers[(id - self.first_network_timer()) as usize] {
            TimerOwner::Satellites => self.satellite_event(),
            TimerOwner::Warmup => self.end_warmup(),
            TimerOwner::Radio => self.radio_event(),
        }
    }

    /// Number of the first timer after those of the flows.
    fn first_network_timer(&self) -> u32 {
        self.schedules.len() as u32 * FlowTimer::COUNT
    }

    fn radio_event(&mut self) {
        let Some(radio) = self.network.radio.as_deref_mut() else { return };
        radio.on_timer(&mut self.event_queue);
        if PACKETS {
            let events = radio.events();
            self.recorder.radio(&events);
        }
        while let Some(handed) = self.network.radio.as_deref_mut().and_then(net::radio::Radio::poll_output) {
            match handed {
                // Copies of the packet can still be in the radio network: their options stay stored.
                RadioOutput::Delivered(mut packet, path) => {
                    if packet.has_options() {
                        let options = self.ack_options.get(packet.options);
                        packet.options = self.ack_options.put(&options);
                        if PACKETS {
                            self.recorder.record_options(packet.options, &options);
                        }
                    } else if packet.kind.is_datagram() {
                        self.datagrams.retain(packet.options);
                    }
                    self.network.deliver_from_radio(&mut self.event_queue, &packet, path);
                }
                RadioOutput::Gone(packet) => self.release_stored(&packet),
            }
        }
    }

    /// Processes satellite events: path changes, and hand-offs of flows.
    #[cold]
    fn satellite_event(&mut self) {
        let (now, timer) = (self.event_queue.now(), self.first_network_timer());
        loop {
            let Some(satellites) = &mut self.satellites else { return };
            let Some(&(at, event)) = satellites.events.get(satellites.next) else {
                return self.event_queue.set_timer(timer, Time::NEVER);
            };
            if at > now {
                return self.event_queue.set_timer(timer, at);
            }
            satellites.next += 1;
            match event {
                SatelliteEvent::Reroute => self.network.reroute(now),
                SatelliteEvent::Begins(flow) | SatelliteEvent::Ends(flow)
                    if flow as usize >= self.senders.len() =>
                {
                    self.quic_handoff(flow, matches!(event, SatelliteEvent::Begins(_)))
                }
                SatelliteEvent::Begins(flow) => {
                    self.senders[flow as usize].on_handoff(&mut flow_context!(self, flow), true)
                }
                SatelliteEvent::Ends(flow) => {
                    self.senders[flow as usize].on_handoff(&mut flow_context!(self, flow), false)
                }
            }
        }
    }

    /// Processes the application timer of a flow: start, a write, stop, or the next UDP packet.
    fn application(&mut self, flow: u32) {
        if let Some(place) = self.apps.place(flow) {
            return self.app_timer(flow, place);
        }
        let index = match self.endpoints[flow as usize] {
            Endpoints::Tcp(index) => index,
            Endpoints::Quic(index) => return self.quic_application(flow, index),
            Endpoints::Udp(index) => return self.udp[index].0.on_timer(&mut flow_context!(self, flow)),
            Endpoints::Attached(_) => return,
        };
        let schedule = &mut self.schedules[flow as usize];
        if !schedule.started {
            schedule.started = true;
            self.begin_start(flow);
            self.senders[index].on_start(&mut flow_context!(self, flow));
        } else if self.event_queue.now() >= schedule.stop {
            return self.senders[index].on_stop(&mut flow_context!(self, flow));
        }
        // The data that the application writes now.
        while let Some((bytes, last)) = self.schedules[flow as usize].due_write(self.event_queue.now()) {
            self.senders[index].on_write_bytes(&mut flow_context!(self, flow), bytes, last);
        }
        self.schedules[flow as usize].set_timer(&mut self.event_queue, flow);
    }
}
