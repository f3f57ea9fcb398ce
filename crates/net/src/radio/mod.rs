//! The radio: moving nodes, the medium between them, 802.11, ARP, and AODV or static routing (docs/specs/manet.md).
//!
//! Every node has five timers: its backoff, the end of what it receives, the step of its frame exchange, its
//! routing, and its link layer. A transmission is told to its hearers at once (see `station`), so it costs one pass over the neighbourhood
//! and an event at those alone who have business with it.

mod aodv;
mod deadlines;
mod fate;
mod interface;
mod mac;
mod medium;
mod mobility;
mod propagation;
mod routes;
mod station;
mod store;

pub use aodv::AodvConfig;
pub use fate::PacketFate;
pub use mac::MacConfig;
pub use mobility::{RandomWaypoint, Start, Trajectory};
pub use propagation::{Model, Propagation};
pub use station::{Capture, FrameKind};

use crate::packet::{Packet, PacketKind};
use aodv::Agent;
use deadlines::Deadlines;
use engine::{EventQueue, Stream};
use interface::Interface;
use medium::Medium;
use propagation::Attenuation;
use station::{Station, Timing};
use std::collections::{BTreeMap, VecDeque};
use store::{Payload, QueuedFrame, Store};
use units::{Span, Time};

/// How packets find their path.
#[derive(Clone, Debug, PartialEq)]
pub enum Routing {
    /// Straight to the destination, which must be a neighbour.
    Static,
    /// Ad-hoc on-demand distance vector routing.
    Aodv(AodvConfig),
}

/// A radio network.
#[derive(Clone, Debug)]
pub struct RadioConfig {
    /// Where each node is, when.
    pub nodes: Vec<Trajectory>,
    /// The radio of each.
    pub propagation: Propagation,
    /// The MAC of each.
    pub mac: MacConfig,
    /// Whether addresses must be resolved before a neighbour can be sent anything.
    pub arp: bool,
    /// How many packets may wait before the MAC of a node.
    pub queue: usize,
    /// What the link layer takes for a packet on its way to the queue.
    pub link_delay: Span,
    /// How packets find their path.
    pub routing: Routing,
    /// Seed of everything random.
    pub seed: u64,
}

/// What the radio hands to whoever drives it.
#[derive(Clone, Copy, Debug)]
pub enum RadioOutput {
    /// A packet is at the end of its path. Copies of it may still be on the air.
    Delivered(Packet, u32),
    /// No copy of a packet is left.
    Gone(Packet),
}

/// What a frame carries, for observers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// It is a control frame.
    None,
    /// A flow's packet.
    Data {
        /// Which flow.
        flow: u32,
        /// Data or ACK.
        kind: PacketKind,
        /// Its number.
        seq: u32,
    },
    /// A routing message.
    Routing,
    /// An address is asked for or told.
    Arp,
}

/// A step that observers see.
#[derive(Clone, Debug, PartialEq)]
pub enum RadioStep {
    /// A frame is sent.
    Transmit {
        /// Which kind.
        kind: FrameKind,
        /// To whom; none for everybody.
        to: Option<u32>,
        /// When its last bit leaves.
        until: Time,
        /// For how long it reserves the medium from then on.
        duration: Span,
        /// It was contended for; replies and what follows a CTS are not.
        contended: bool,
        /// What it carries.
        load: Load,
    },
    /// A packet is at the end of its path.
    Deliver {
        /// Which flow's.
        flow: u32,
    },
    /// A copy of a packet is dropped.
    Drop {
        /// Which flow's.
        flow: u32,
        /// Why.
        fate: PacketFate,
    },
    /// A node's route changed: to whom, and over which neighbour if there is one.
    Route {
        /// The destination.
        to: u32,
        /// The next hop.
        next: Option<u32>,
        /// Nodes that now pass what goes there round in a circle; none, or something is wrong.
        circle: Option<Vec<u32>>,
    },
}

/// A step, when and where.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioEvent {
    /// When.
    pub at: Time,
    /// At which node.
    pub node: u32,
    /// What.
    pub step: RadioStep,
}

/// What the radio counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RadioCounts {
    /// Data packets that sources handed to it.
    pub offered: u64,
    /// Distinct data packets that reached the end of their path.
    pub received: u64,
    /// Hops that these had made.
    pub received_hops: u64,
    /// Packets of any kind that had to be given up, by [`PacketFate::DROPS`]: no copy of them arrived.
    pub dropped: [u64; PacketFate::DROPS.len()],
    /// The same, data packets alone.
    pub dropped_data: [u64; PacketFate::DROPS.len()],
    /// Packets of any kind that sources handed to it, and those that reached the end of their path.
    pub packets: (u64, u64),
    /// Transmissions of routing messages asked of the link layer.
    pub routing: u64,
    /// Unicast data frames received, once each.
    pub hops: u64,
    /// Receptions addressed to a station that another signal spoilt.
    pub collisions: u64,
    /// Frames not answered because the station or its medium was busy.
    pub busy: u64,
    /// Data frames received again.
    pub duplicates: u64,
    /// Frames given up after the last attempt.
    pub retries_exhausted: u64,
}

/// ns-2's, good for 600 m.
const MARGIN: Span = Span::from_ps(2_000_000);
/// Events after which others get a look in.
const MOST_AT_ONCE: u32 = 10_000;

/// The timers of a node.
#[derive(Clone, Copy, Debug)]
enum RadioTimer {
    Access,
    Receive,
    Exchange,
    Routing,
    Interface,
}

impl RadioTimer {
    /// Every timer of a node, in the order of their numbers.
    const ALL: [RadioTimer; 5] = [
        RadioTimer::Access,
        RadioTimer::Receive,
        RadioTimer::Exchange,
        RadioTimer::Routing,
        RadioTimer::Interface,
    ];
}

/// The time, and the timers of all nodes: the event queue knows the first of them alone.
#[derive(Clone, Debug, Default)]
struct Clock {
    now: Time,
    nodes: usize,
    deadlines: Deadlines,
}

impl Clock {
    #[inline]
    fn now(&self) -> Time {
        self.now
    }
    #[inline]
    fn set(&mut self, node: u32, timer: RadioTimer, at: Time) {
        self.deadlines.set(timer as usize * self.nodes + node as usize, at);
    }
}

/// The nodes and everything that they hold.
pub struct Radio {
    mac: MacConfig,
    timing: Timing,
    medium: Medium,
    attenuation: Attenuation,
    /// Transmitted power, W.
    power: f64,
    /// How long light may take, each way, in timeouts.
    margin: Span,
    sense_threshold: f64,
    /// Square of the distance beyond which nobody hears, m².
    reach_square: f64,
    /// Draws the deviations of shadowing.
    shadows: Stream,
    stations: Vec<Station>,
    /// Of each station: the number of the last data frame heard from each other.
    heard: Vec<BTreeMap<u32, u32>>,
    interfaces: Vec<Interface>,
    arp: bool,
    queue: usize,
    link_delay: Span,
    agents: Vec<Agent>,
    /// None: static routing.
    aodv: Option<AodvConfig>,
    store: Store,
    /// Source and destination node of each way.
    paths: Vec<(u32, u32)>,
    clock: Clock,
    /// Its timer in the event_queue, and the end of the run.
    timer: u32,
    horizon: Time,
    handed: VecDeque<RadioOutput>,
    counts: RadioCounts,
    watching: bool,
    events: Vec<RadioEvent>,
}

impl Radio {
    /// A network that has timer `timer` in the event_queue, for a run until `horizon`.
    pub fn new(config: RadioConfig, timer: u32, horizon: Time) -> Radio {
        let p = &config.propagation;
        let reach = p.reach();
        let stream = |purpose: &str, node: usize| Stream::new(config.seed, purpose, &format!("n{node}"));
        let nodes = 0..config.nodes.len();
        let aodv = match config.routing {
            Routing::Static => None,
            Routing::Aodv(aodv) => Some(aodv),
        };
        Radio {
            timing: config.mac.timing(p.receive_threshold, p.capture_ratio, p.noise),
            mac: config.mac,
            attenuation: Attenuation::new(p),
            power: p.power,
            margin: Span::from_seconds(p.range() / propagation::LIGHT).max(MARGIN),
            sense_threshold: p.sense_threshold,
            reach_square: reach * reach,
            medium: Medium::new(config.nodes, reach),
            shadows: Stream::new(config.seed, "shadowing", ""),
            stations: nodes.clone().map(|n| Station::new(stream("backoff", n))).collect(),
            heard: vec![BTreeMap::new(); nodes.len()],
            interfaces: nodes.clone().map(|_| Interface::default()).collect(),
            arp: config.arp,
            queue: config.queue,
            link_delay: config.link_delay,
            agents: nodes.clone().map(|n| Agent::new(stream("aodv", n))).collect(),
            aodv,
            store: Store::default(),
            paths: Vec::new(),
            clock: Clock {
                now: Time::ZERO,
                nodes: nodes.len(),
                deadlines: Deadlines::new(RadioTimer::ALL.len() * nodes.len()),
            },
            timer,
            horizon,
            handed: VecDeque::new(),
            counts: RadioCounts::default(),
            watching: false,
            events: Vec::new(),
        }
    }

    /// Adds a path from node to node; what to give to [`Radio::send`].
    pub fn add_path(&mut self, from: u32, to: u32) -> u32 {
        self.paths.push((from, to));
        self.paths.len() as u32 - 1
    }

    /// From now on every step is written down, for [`Radio::events`].
    pub fn watch(&mut self) {
        self.watching = true;
    }

    /// Sets the first timers. Call once, at time zero.
    pub fn start(&mut self, event_queue: &mut EventQueue<Packet>) {
        let mut clock = std::mem::take(&mut self.clock);
        self.start_routing(&mut clock);
        self.rest(event_queue, clock);
    }

    /// Gives the clock back; the event queue wakes the radio at its first deadline, or before.
    fn rest(&mut self, event_queue: &mut EventQueue<Packet>, clock: Clock) {
        event_queue.set_timer(self.timer, clock.deadlines.bound().max(clock.now));
        self.clock = clock;
    }

    /// A packet sets out at the beginning of a path.
    pub fn send(&mut self, event_queue: &mut EventQueue<Packet>, packet: &Packet, path: u32) {
        let mut clock = std::mem::take(&mut self.clock);
        clock.now = event_queue.now();
        self.enqueue_at_source(&mut clock, packet, path);
        self.rest(event_queue, clock);
        if !self.handed.is_empty() {
            event_queue.set_timer(self.timer, event_queue.now()); // whoever drives the radio asks for them then
        }
    }

    fn enqueue_at_source(&mut self, clock: &mut Clock, packet: &Packet, path: u32) {
        self.counts.packets.0 += 1;
        self.counts.offered += (packet.kind != PacketKind::Ack) as u64;
        let payload = self.store.put(Payload::Data { packet: *packet, path, delivered: false, lost: None });
        let (from, to) = self.paths[path as usize];
        // What UDP sends has no header yet; TCP's segments have theirs.
        let header = if packet.kind == PacketKind::Udp {
            self.aodv.as_ref().map_or(0, |aodv| aodv.ip_header)
        } else {
            0
        };
        let bytes = packet.size + header;
        let item = QueuedFrame { payload, next: to, bytes, hops: 0, ttl: u8::MAX, urgent: false };
        if from == to {
            self.deliver(clock.now(), from, &item);
            return self.release(item, PacketFate::Sent);
        }
        match &self.aodv {
            None => self.send_down(clock, from, item),
            Some(aodv) => {
                let item = QueuedFrame { ttl: aodv.net_diameter, ..item };
                self.resolve(clock, from, item);
            }
        }
    }

    /// The radio's timer has fired. It goes on from event to event for as long as nothing else happens and nothing is handed
    /// out.
    pub fn on_timer(&mut self, event_queue: &mut EventQueue<Packet>) {
        let mut clock = std::mem::take(&mut self.clock);
        clock.now = event_queue.now();
        for _ in 0..MOST_AT_ONCE {
            let Some((at, place)) = clock.deadlines.first() else { break };
            if at > clock.now {
                if at > self.horizon || !event_queue.pass(at) {
                    break;
                }
                clock.now = at;
            }
            let (timer, node) = (place / clock.nodes, (place % clock.nodes) as u32);
            clock.deadlines.set(place, Time::NEVER);
            match RadioTimer::ALL[timer] {
                RadioTimer::Access => self.on_access(&mut clock, node),
                RadioTimer::Receive => self.on_receive(&mut clock, node),
                RadioTimer::Exchange => self.on_exchange(&mut clock, node),
                RadioTimer::Routing => self.on_routing(&mut clock, node),
                RadioTimer::Interface => self.on_interface(&mut clock, node),
            }
            if !self.handed.is_empty() {
                break; // it arrives before anything else happens
            }
        }
        self.rest(event_queue, clock);
    }

    /// The next of what has been handed out, in order.
    #[inline]
    pub fn poll_output(&mut self) -> Option<RadioOutput> {
        self.handed.pop_front()
    }

    /// What happened since the last call, in order.
    pub fn events(&mut self) -> Vec<RadioEvent> {
        std::mem::take(&mut self.events)
    }

    /// What was counted so far.
    pub fn counts(&self) -> &RadioCounts {
        &self.counts
    }

    /// Packets that are on their way.
    pub fn in_flight(&self) -> u64 {
        let waits = |payload: &&Payload| matches!(payload, Payload::Data { delivered: false, .. });
        self.store.held().filter(waits).count() as u64
    }

    /// Place of a node at a moment not before the last one asked for, m.
    pub fn place(&mut self, node: u32, at: Time) -> [f64; 2] {
        self.medium.place(node, at)
    }

    /// A frame's contents have come to `node` from its neighbour `from`. Whoever keeps the item holds it.
    fn arrived(&mut self, clock: &mut Clock, node: u32, from: u32, item: QueuedFrame) {
        match self.store.get(item.payload) {
            Payload::Data { path, .. } => {
                let (source, target) = self.paths[*path as usize];
                if target == node {
                    return self.deliver(clock.now(), node, &item);
                }
                self.store.retain(item.payload);
                if self.aodv.is_none() || source == node {
                    return self.release(
                        item,
                        if source == node { PacketFate::Loop } else { PacketFate::AodvRoute },
                    );
                }
                if item.ttl <= 1 {
                    return self.release(item, PacketFate::Ttl);
                }
                self.resolve(clock, node, QueuedFrame { ttl: item.ttl - 1, ..item });
            }
            Payload::ArpRequest { from, target } => {
                let (asks, target) = (*from, *target);
                self.on_arp(clock, node, asks, (target == node).then_some(asks));
            }
            Payload::ArpReply { from } => {
                let known = *from;
                self.on_arp(clock, node, known, None);
            }
            Payload::Request(request) => {
                let request = *request;
                self.on_request(clock, node, from, item.ttl, request);
            }
            Payload::Reply(reply) => {
                let reply = *reply;
                self.on_reply(clock, node, from, reply);
            }
            Payload::Error(list) => {
                let list = list.clone();
                self.on_error(clock, node, from, &list);
            }
        }
    }

    /// A packet is at the end of its path.
    fn deliver(&mut self, now: Time, node: u32, item: &QueuedFrame) {
        let Payload::Data { packet, path, delivered, .. } = self.store.get_mut(item.payload) else { return };
        let again = std::mem::replace(delivered, true);
        let (packet, path) = (*packet, *path);
        if !again {
            self.counts.packets.1 += 1;
            if packet.kind != PacketKind::Ack {
                self.counts.received += 1;
                self.counts.received_hops += item.hops as u64;
            }
        }
        self.handed.push_back(RadioOutput::Delivered(packet, path));
        if self.watching {
            self.tell(now, node, RadioStep::Deliver { flow: packet.flow });
        }
    }

    /// Lets a copy go; what becomes of the packet if it was the last.
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
            self.handed.push_back(RadioOutput::Gone(*packet));
            if let (false, Some(fate)) = (delivered, lost) {
                let place = *fate as usize - 1;
                self.counts.dropped[place] += 1;
                self.counts.dropped_data[place] += (packet.kind != PacketKind::Ack) as u64;
            }
        }
    }

    /// Drops a copy at a node.
    fn drop_item(&mut self, now: Time, node: u32, item: QueuedFrame, fate: PacketFate) {
        if self.watching
            && let Payload::Data { packet, .. } = self.store.get(item.payload)
        {
            let flow = packet.flow;
            self.tell(now, node, RadioStep::Drop { flow, fate });
        }
        self.release(item, fate);
    }

    fn tell(&mut self, at: Time, node: u32, step: RadioStep) {
        self.events.push(RadioEvent { at, node, step });
    }
}
