//! The radio network (docs/specs/manet.md): moving nodes, the medium between them, and at each node an 802.11 MAC, an
//! interface queue, ARP and a routing protocol. The layers are state machines. This file passes the outputs of each
//! layer to the next.
//!
//! A node has five timers (`clock.rs`). The receivers process a transmission when it begins (see `station`).
//! A transmission therefore costs one pass over the neighbours, and events only at the nodes that must act on it.

mod agent;
mod arp;
mod clock;
mod config;
mod deadlines;
mod events;
mod fate;
mod interface;
mod mac;
mod medium;
mod message;
mod mobility;
mod propagation;
mod routing;
mod station;
mod store;

pub use config::RadioConfig;
pub use events::{FrameContents, FrameKind, RadioCounts, RadioEvent, RadioOutput, RadioStep};
pub use fate::PacketFate;
pub use mac::MacConfig;
pub use mobility::{RandomWaypoint, Start, Trajectory};
pub use propagation::{Propagation, PropagationModel};
pub use routing::{AodvConfig, RoutingConfig};
pub use station::Capture;

use crate::packet::{Packet, PacketKind};
use agent::Agent;
use arp::{Arp, ArpContext, ArpOutput};
use clock::{RadioClock, RadioTimer};
use engine::{EventQueue, Stream};
use interface::{Enqueued, InterfaceQueue};
use mac::{MacContext, MacOutput};
use medium::RadioMedium;
use propagation::{Attenuation, SPEED_OF_LIGHT};
use routing::{Deferred, Routing, RoutingContext, RoutingOutput};
use station::{Frame, ReceivedSignal, Station, Timing};
use std::collections::VecDeque;
use store::{BROADCAST, Payload, QueuedFrame, Store};
use units::{PS_PER_S, Span, Time};

/// Minimum propagation delay in timeouts: that of ns-2, for 600 m.
const MARGIN: Span = Span::from_ps(2_000_000);
/// Events after which the event loop regains control.
const MAX_EVENTS_PER_CALL: u32 = 10_000;

/// A radio network during a run.
#[derive(Clone)]
pub struct Radio {
    mac: MacConfig,
    timing: Timing,
    medium: RadioMedium,
    /// The nodes in range of a transmission: kept to use its memory again.
    near: Vec<(u32, f64)>,
    attenuation: Attenuation,
    /// Transmitted power, W.
    power: f64,
    /// Maximum propagation delay in each direction, in timeouts.
    margin: Span,
    sense_threshold: f64,
    /// Square of the distance beyond which no signal is sensed, m².
    sense_range_squared: f64,
    /// Random deviations of shadowing.
    shadowing_stream: Stream,
    stations: Vec<Station>,
    queues: Vec<InterfaceQueue>,
    /// None without ARP.
    arps: Option<Vec<Arp>>,
    agents: Vec<Agent>,
    mac_outputs: Vec<MacOutput>,
    arp_outputs: Vec<ArpOutput>,
    routing_outputs: Vec<RoutingOutput>,
    store: Store,
    /// Source and destination node of each path.
    paths: Vec<(u32, u32)>,
    clock: RadioClock,
    /// The timer of the radio network in the event queue, and the end of the run.
    timer: u32,
    horizon: Time,
    outputs: VecDeque<RadioOutput>,
    counts: RadioCounts,
    watching: bool,
    events: Vec<RadioEvent>,
}

impl Radio {
    /// A network that has timer `timer` in the event queue, for a run until `horizon`.
    pub fn new(config: RadioConfig, timer: u32, horizon: Time) -> Radio {
        let p = &config.propagation;
        let reach = p.reach();
        let stream = |purpose: &str, node: usize| Stream::new(config.seed, purpose, &format!("n{node}"));
        let nodes = 0..config.nodes.len();
        let queue = || InterfaceQueue::new(config.queue, config.link_delay);
        Radio {
            timing: config.mac.timing(p.receive_threshold, p.capture_ratio, p.noise),
            mac: config.mac,
            attenuation: Attenuation::new(p),
            power: p.power,
            margin: Span::from_seconds(p.range() / SPEED_OF_LIGHT).max(MARGIN),
            sense_threshold: p.sense_threshold,
            sense_range_squared: reach * reach,
            medium: RadioMedium::new(config.nodes, reach),
            near: Vec::new(),
            shadowing_stream: Stream::new(config.seed, "shadowing", ""),
            stations: nodes.clone().map(|n| Station::new(stream("backoff", n))).collect(),
            queues: nodes.clone().map(|_| queue()).collect(),
            arps: config.arp.then(|| vec![Arp::default(); nodes.len()]),
            agents: nodes.clone().map(|n| Agent::new(&config.routing, stream("aodv", n))).collect(),
            mac_outputs: Vec::new(),
            arp_outputs: Vec::new(),
            routing_outputs: Vec::new(),
            store: Store::default(),
            paths: Vec::new(),
            clock: RadioClock::new(nodes.len()),
            timer,
            horizon,
            outputs: VecDeque::new(),
            counts: RadioCounts::default(),
            watching: false,
            events: Vec::new(),
        }
    }

    /// Adds a path from node to node. Returns the number for [`Radio::send`].
    pub fn add_path(&mut self, from: u32, to: u32) -> u32 {
        self.paths.push((from, to));
        self.paths.len() as u32 - 1
    }

    /// Records every step from now on, for [`Radio::events`].
    pub fn watch(&mut self) {
        self.watching = true;
    }

    /// Sets the first timers. Call it once, at time zero.
    pub fn start(&mut self, event_queue: &mut EventQueue<Packet>) {
        let mut clock = std::mem::take(&mut self.clock);
        for node in 0..self.agents.len() as u32 {
            self.route(&mut clock, node, &mut |protocol, cx| protocol.start(cx));
        }
        self.rest(event_queue, clock);
    }

    /// Stores the clock. The event queue calls the radio at its first deadline, or before.
    fn rest(&mut self, event_queue: &mut EventQueue<Packet>, clock: RadioClock) {
        event_queue.set_timer(self.timer, clock.bound());
        self.clock = clock;
    }

    /// Sends a packet at the beginning of a path.
    pub fn send(&mut self, event_queue: &mut EventQueue<Packet>, packet: &Packet, path: u32) {
        let mut clock = std::mem::take(&mut self.clock);
        clock.now = event_queue.now();
        self.enqueue_at_source(&mut clock, packet, path);
        self.rest(event_queue, clock);
        if !self.outputs.is_empty() {
            event_queue.set_timer(self.timer, event_queue.now()); // the event loop polls the outputs then
        }
    }

    fn enqueue_at_source(&mut self, clock: &mut RadioClock, packet: &Packet, path: u32) {
        self.counts.packets.0 += 1;
        self.counts.offered += !packet.kind.is_reverse() as u64;
        let payload = self.store.put(Payload::Data { packet: *packet, path, delivered: false, lost: None });
        let (from, to) = self.paths[path as usize];
        let protocol = &self.agents[from as usize].protocol;
        // The sizes of TCP segments and of datagrams with contents include the header. The size of a UDP packet does not.
        let header = if packet.kind == PacketKind::Udp { protocol.udp_header() } else { 0 };
        let item = QueuedFrame {
            payload,
            source: from,
            target: to,
            next: to,
            bytes: packet.size + header,
            hops: 0,
            ttl: protocol.initial_ttl(),
            priority: false,
        };
        if from == to {
            self.deliver(clock.now(), from, &item);
            return self.release(item, PacketFate::Sent);
        }
        self.route(clock, from, &mut |protocol, cx| protocol.on_packet(cx, item));
    }

    /// Sets the time after which no event is processed in [`Radio::on_timer`].
    pub fn set_horizon(&mut self, horizon: Time) {
        self.horizon = horizon;
    }

    /// The timer of the radio network expired. Processes radio events until another event of the run is earlier, or
    /// there is an output.
    pub fn on_timer(&mut self, event_queue: &mut EventQueue<Packet>) {
        let mut clock = std::mem::take(&mut self.clock);
        clock.now = event_queue.now();
        for _ in 0..MAX_EVENTS_PER_CALL {
            let Some((at, node, timer)) = clock.first() else { break };
            if at > clock.now {
                if at > self.horizon || !event_queue.pass(at) {
                    break;
                }
                clock.now = at;
            }
            clock.stop(node, timer);
            match timer {
                RadioTimer::Access => self.mac(&mut clock, node, &mut Station::on_access),
                RadioTimer::Receive => self.on_receive(&mut clock, node),
                RadioTimer::Exchange => self.mac(&mut clock, node, &mut Station::on_exchange),
                RadioTimer::Routing => self.on_deferred(&mut clock, node),
                RadioTimer::Interface => self.on_interface(&mut clock, node),
            }
            if !self.outputs.is_empty() {
                break; // a delivered packet arrives before any other event
            }
        }
        self.rest(event_queue, clock);
    }

    /// The next output, in order.
    #[inline]
    pub fn poll_output(&mut self) -> Option<RadioOutput> {
        self.outputs.pop_front()
    }

    /// The steps since the last call, in order.
    pub fn events(&mut self) -> Vec<RadioEvent> {
        std::mem::take(&mut self.events)
    }

    /// The counts so far.
    pub fn counts(&self) -> &RadioCounts {
        &self.counts
    }

    /// Number of packets that are in the network.
    pub fn in_flight(&self) -> u64 {
        let waits = |payload: &&Payload| matches!(payload, Payload::Data { delivered: false, .. });
        self.store.held().filter(waits).count() as u64
    }

    /// Number of datagrams that the network holds, copies that have reached their end included.
    pub fn datagrams(&self) -> u64 {
        let held = self.store.held().filter(|payload| payload.is_datagram()).count();
        (held + self.outputs.iter().filter(|output| output.packet().kind.is_datagram()).count()) as u64
    }

    /// The position of a node at a time that is not before that of the last call, m.
    pub fn place(&mut self, node: u32, at: Time) -> [f64; 2] {
        self.medium.place(node, at)
    }

    /// Calls the MAC of `node` and carries out its outputs, in order.
    fn mac(
        &mut self,
        clock: &mut RadioClock,
        node: u32,
        call: &mut dyn FnMut(&mut Station, &mut MacContext<'_>),
    ) {
        // An output can cause a nested call of this function. The nested call has its own list.
        let mut outputs = std::mem::take(&mut self.mac_outputs);
        let mut cx = MacContext {
            now: clock.now(),
            node,
            config: &self.mac,
            timing: &self.timing,
            margin: self.margin,
            clock,
            counts: &mut self.counts,
            outputs: &mut outputs,
        };
        call(&mut self.stations[node as usize], &mut cx);
        for output in outputs.drain(..) {
            match output {
                MacOutput::Transmit { frame, end, before } => self.transmit(clock, node, frame, end, before),
                MacOutput::Sent(frame) => self.release(frame, PacketFate::Sent),
                MacOutput::Deliver { from, frame } => {
                    self.store.retain(frame.payload);
                    self.arrived(clock, node, from, frame);
                    self.release(frame, PacketFate::Sent);
                }
                MacOutput::Failed(frame) => {
                    self.link_failed(clock, node, frame, PacketFate::Retry);
                    self.mac(clock, node, &mut Station::end_failure);
                }
                MacOutput::NextFrame => {
                    let next = self.queues[node as usize].pop();
                    self.mac(clock, node, &mut |station, cx| {
                        if let Some(frame) = next {
                            station.load(cx, frame);
                        }
                        station.count_down(cx);
                    });
                }
            }
        }
        self.mac_outputs = outputs;
    }

    /// A transmission: its signal reaches every node in range.
    fn transmit(
        &mut self,
        clock: &mut RadioClock,
        node: u32,
        frame: Frame,
        end: Time,
        before: Option<QueuedFrame>,
    ) {
        let now = clock.now();
        if self.watching {
            self.record_transmission(now, node, &frame, end);
        }
        if let Some(item) = before {
            self.release(item, PacketFate::Sent);
        }
        if let Some(item) = frame.item {
            self.store.retain(item.payload);
        }
        let mut near = std::mem::take(&mut self.near);
        self.medium.within(node, now, self.sense_range_squared, &mut near);
        for &(other, square) in &near {
            let power = if square > 0.0 {
                self.attenuation.power(square, &mut self.shadowing_stream)
            } else {
                self.power
            };
            if power < self.sense_threshold {
                continue;
            }
            let delay = Span::from_ps((square.sqrt() * (PS_PER_S as f64 / SPEED_OF_LIGHT)) as i64 as u64);
            let signal = ReceivedSignal {
                start: now + delay,
                end: end + delay,
                duration: frame.duration,
                power,
                from: node,
                bad: power < self.timing.receive_threshold,
                addressed: frame.to == other || frame.to == BROADCAST,
            };
            self.signal(clock, other, signal);
        }
        self.near = near;
    }

    /// A signal reaches the station of `node`, which has no output for it.
    #[inline]
    fn signal(&mut self, clock: &mut RadioClock, node: u32, signal: ReceivedSignal) {
        let mut cx = MacContext {
            now: clock.now(),
            node,
            config: &self.mac,
            timing: &self.timing,
            margin: self.margin,
            clock,
            counts: &mut self.counts,
            outputs: &mut self.mac_outputs,
        };
        self.stations[node as usize].on_signal(&mut cx, signal);
    }

    fn on_receive(&mut self, clock: &mut RadioClock, node: u32) {
        let mut sender = None;
        self.mac(clock, node, &mut |station, cx| sender = station.on_receive(cx));
        let Some(from) = sender else { return };
        let frame = self.stations[from as usize].last_transmission;
        self.mac(clock, node, &mut |station, cx| station.on_frame(cx, from, &frame));
    }

    /// Sends a frame to its next hop.
    fn send_down(&mut self, clock: &mut RadioClock, node: u32, frame: QueuedFrame) {
        if self.arps.is_none() {
            return self.send_to_interface(clock, node, frame);
        }
        self.resolve_address(clock, node, &mut |arp, cx| arp.send(cx, frame));
    }

    /// Calls ARP of `node` and carries out its outputs, in order.
    fn resolve_address(
        &mut self,
        clock: &mut RadioClock,
        node: u32,
        call: &mut dyn FnMut(&mut Arp, &mut ArpContext<'_>),
    ) {
        let Some(arps) = &mut self.arps else { return };
        let mut outputs = std::mem::take(&mut self.arp_outputs);
        let jitter = !self.timing.always_back_off;
        let mut cx = ArpContext { node, jitter, store: &mut self.store, outputs: &mut outputs };
        call(&mut arps[node as usize], &mut cx);
        for output in outputs.drain(..) {
            match output {
                ArpOutput::Send(frame) => self.send_to_interface(clock, node, frame),
                ArpOutput::SendJittered(frame, jitter) => {
                    let delay = jitter.part(self.agents[node as usize].stream.uniform());
                    self.defer(clock, node, clock.now() + delay, Deferred::Send(frame));
                }
                ArpOutput::Drop(frame, fate) => self.drop_item(clock.now(), node, frame, fate),
                ArpOutput::Failed(frame, fate) => self.link_failed(clock, node, frame, fate),
            }
        }
        self.arp_outputs = outputs;
    }

    /// Sends a frame to the interface queue.
    fn send_to_interface(&mut self, clock: &mut RadioClock, node: u32, frame: QueuedFrame) {
        let queue = &mut self.queues[node as usize];
        if queue.is_immediate() {
            return self.enqueue(clock, node, frame);
        }
        if let Some(at) = queue.delay(clock.now(), frame) {
            clock.set(node, RadioTimer::Interface, at);
        }
    }

    fn on_interface(&mut self, clock: &mut RadioClock, node: u32) {
        loop {
            match self.queues[node as usize].arrived(clock.now()) {
                Ok(frame) => self.enqueue(clock, node, frame),
                Err(Some(at)) => return clock.set(node, RadioTimer::Interface, at),
                Err(None) => return,
            }
        }
    }

    fn enqueue(&mut self, clock: &mut RadioClock, node: u32, frame: QueuedFrame) {
        let mac_free = self.stations[node as usize].current.is_none();
        match self.queues[node as usize].enqueue(frame, mac_free) {
            Enqueued::Load(frame) => self.mac(clock, node, &mut |station, cx| station.load(cx, frame)),
            Enqueued::Queued => {}
            Enqueued::Full(frame) => self.drop_item(clock.now(), node, frame, PacketFate::Queue),
        }
    }

    /// The link to the next hop of a frame failed, or the address of the next hop was not resolved.
    fn link_failed(&mut self, clock: &mut RadioClock, node: u32, frame: QueuedFrame, fate: PacketFate) {
        if frame.target == BROADCAST {
            return self.drop_item(clock.now(), node, frame, fate);
        }
        self.route(clock, node, &mut |protocol, cx| protocol.on_link_failure(cx, frame, fate));
    }

    /// Calls the routing protocol of `node` and carries out its outputs, in order.
    fn route(
        &mut self,
        clock: &mut RadioClock,
        node: u32,
        call: &mut dyn FnMut(&mut dyn Routing, &mut RoutingContext<'_>),
    ) {
        let mut outputs = std::mem::take(&mut self.routing_outputs);
        let Agent { protocol, stream, .. } = &mut self.agents[node as usize];
        let mut cx =
            RoutingContext { now: clock.now(), node, stream, store: &mut self.store, outputs: &mut outputs };
        call(&mut **protocol, &mut cx);
        for output in outputs.drain(..) {
            match output {
                RoutingOutput::Send(frame) => self.send_routed(clock, node, frame),
                RoutingOutput::Later(at, what) => self.defer(clock, node, at, what),
                RoutingOutput::Drop(frame, fate) => self.drop_item(clock.now(), node, frame, fate),
                RoutingOutput::DropQueued(neighbour) => {
                    for frame in self.queues[node as usize].remove(neighbour) {
                        self.drop_item(clock.now(), node, frame, PacketFate::Broken);
                    }
                }
                RoutingOutput::RouteChanged(to, next) => self.record_route(clock.now(), node, to, next),
            }
        }
        self.routing_outputs = outputs;
    }

    fn send_routed(&mut self, clock: &mut RadioClock, node: u32, frame: QueuedFrame) {
        self.counts.routing += frame.priority as u64;
        self.send_down(clock, node, frame);
    }

    fn defer(&mut self, clock: &mut RadioClock, node: u32, at: Time, what: Deferred) {
        let first = self.agents[node as usize].defer(at, what);
        clock.set(node, RadioTimer::Routing, first);
    }

    fn on_deferred(&mut self, clock: &mut RadioClock, node: u32) {
        loop {
            match self.agents[node as usize].due(clock.now()) {
                Ok(Deferred::Send(frame)) => self.send_routed(clock, node, frame),
                Ok(Deferred::Timer(timer)) => {
                    self.route(clock, node, &mut |protocol, cx| protocol.on_timer(cx, timer));
                }
                Err(Some(at)) => return clock.set(node, RadioTimer::Routing, at),
                Err(None) => return,
            }
        }
    }

    /// The contents of a frame arrived at `node` from its neighbour `from`. A copy that is kept is retained.
    fn arrived(&mut self, clock: &mut RadioClock, node: u32, from: u32, item: QueuedFrame) {
        match self.store.get(item.payload) {
            Payload::Data { .. } => {
                if item.target == node {
                    return self.deliver(clock.now(), node, &item);
                }
                self.store.retain(item.payload);
                if item.source == node {
                    return self.release(item, PacketFate::Loop);
                }
                if item.ttl <= 1 {
                    return self.release(item, PacketFate::Ttl);
                }
                let item = QueuedFrame { ttl: item.ttl - 1, ..item };
                self.route(clock, node, &mut |protocol, cx| protocol.on_packet(cx, item));
            }
            Payload::ArpRequest { from, target } => {
                let (asks, target) = (*from, *target);
                let replies = (target == node).then_some(asks);
                self.resolve_address(clock, node, &mut |arp, cx| arp.on_message(cx, asks, replies));
            }
            Payload::ArpReply { from } => {
                let resolved = *from;
                self.resolve_address(clock, node, &mut |arp, cx| arp.on_message(cx, resolved, None));
            }
            Payload::Routing(message) => {
                let message = message.clone();
                self.route(clock, node, &mut |protocol, cx| {
                    protocol.on_message(cx, from, item.ttl, &message)
                });
            }
        }
    }

    /// Delivers a packet at the end of its path.
    fn deliver(&mut self, now: Time, node: u32, item: &QueuedFrame) {
        let Payload::Data { packet, path, delivered, .. } = self.store.get_mut(item.payload) else { return };
        let repeated = std::mem::replace(delivered, true);
        let (packet, path) = (*packet, *path);
        if !repeated {
            self.counts.packets.1 += 1;
            if !packet.kind.is_reverse() {
                self.counts.received += 1;
                self.counts.received_hops += item.hops as u64;
            }
        }
        self.outputs.push_back(RadioOutput::Delivered(packet, path));
        if self.watching {
            self.record(now, node, RadioStep::Deliver { flow: packet.flow });
        }
    }

    /// Releases a copy of a packet, and the packet itself if this is the last copy.
    fn release(&mut self, item: QueuedFrame, fate: PacketFate) {
        if let Payload::Data { lost, .. } = self.store.get_mut(item.payload)
            && fate != PacketFate::Sent
        {
            *lost = Some(fate);
        }
        if !self.store.release(item.payload) {
            return;
        }
        if let Payload::Data { packet, delivered, lost, .. } = self.store.get(item.payload) {
            self.outputs.push_back(RadioOutput::Gone(*packet));
            if let (false, Some(fate)) = (delivered, lost) {
                let place = *fate as usize - 1;
                self.counts.dropped[place] += 1;
                self.counts.dropped_data[place] += !packet.kind.is_reverse() as u64;
            }
        }
    }

    /// Drops a copy at a node.
    fn drop_item(&mut self, now: Time, node: u32, item: QueuedFrame, fate: PacketFate) {
        if self.watching
            && let Payload::Data { packet, .. } = self.store.get(item.payload)
        {
            let flow = packet.flow;
            self.record(now, node, RadioStep::Drop { flow, fate });
        }
        self.release(item, fate);
    }

    fn record(&mut self, at: Time, node: u32, step: RadioStep) {
        self.events.push(RadioEvent { at, node, step });
    }

    fn record_transmission(&mut self, now: Time, node: u32, frame: &Frame, until: Time) {
        let Frame { kind, to, duration, item, .. } = *frame;
        let load = item.map_or(FrameContents::None, |item| self.store.get(item.payload).load());
        // A station sends replies, and data after a CTS, without contention.
        let follows = item.is_some_and(|item| self.mac.begins_with_rts(&item));
        let contended = kind == FrameKind::Rts || kind == FrameKind::Data && !follows;
        let to = (to != BROADCAST).then_some(to);
        self.record(now, node, RadioStep::Transmit { kind, to, until, duration, contended, load });
    }

    fn record_route(&mut self, now: Time, node: u32, to: u32, next: Option<u32>) {
        if self.watching {
            let circle = agent::route_loop(&self.agents, node, to, now);
            self.record(now, node, RadioStep::Route { to, next, circle });
        }
    }
}
