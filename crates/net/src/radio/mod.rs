//! The radio: moving nodes, the medium between them, 802.11, ARP, and AODV or static routing (specs/manet.md).
//!
//! Every node has five timers: its backoff, the end of what it receives, the step of its frame exchange, its
//! routing, and its link layer. A transmission is told to its hearers at once (see `station`), so it costs one pass over the neighbourhood
//! and an event at those alone who have business with it.

mod aodv;
mod deadlines;
mod interface;
mod mac;
mod medium;
mod mobility;
mod propagation;
mod routes;
mod station;
mod store;

pub use aodv::AodvConfig;
pub use mac::MacConfig;
pub use mobility::{RandomWaypoint, Start, Trajectory};
pub use propagation::{Model, Propagation};
pub use station::{Capture, FrameKind};

use crate::packet::{Kind, Packet};
use aodv::Agent;
use deadlines::Deadlines;
use engine::{Agenda, Stream};
use interface::Interface;
use medium::Medium;
use propagation::Attenuation;
use station::{Station, Timing};
use std::collections::{BTreeMap, VecDeque};
use store::{Body, Item, Store};
use units::{Span, Time};

/// How packets find their way.
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
    /// How packets find their way.
    pub routing: Routing,
    /// Seed of everything random.
    pub seed: u64,
}

/// What became of a packet, or of a copy of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fate {
    /// Nothing bad: it was sent on, or arrived.
    Sent,
    /// The interface queue was full.
    Queue,
    /// The MAC gave up.
    Retry,
    /// It was pushed out while its next hop's address was asked for.
    Arp,
    /// There was no route.
    Route,
    /// It waited in a queue behind a link that broke.
    Broken,
    /// It was pushed out of the buffer of packets without a route...
    Buffer,
    /// ... or waited too long there.
    Timeout,
    /// It made too many hops.
    Ttl,
    /// It came back to its source.
    Loop,
}

impl Fate {
    /// Every way to be dropped, in the order of their numbers.
    pub const DROPS: [Fate; 9] = [
        Fate::Queue,
        Fate::Retry,
        Fate::Arp,
        Fate::Route,
        Fate::Broken,
        Fate::Buffer,
        Fate::Timeout,
        Fate::Ttl,
        Fate::Loop,
    ];
    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Fate::Sent => "sent",
            Fate::Queue => "queue",
            Fate::Retry => "retry",
            Fate::Arp => "arp",
            Fate::Route => "route",
            Fate::Broken => "broken",
            Fate::Buffer => "buffer",
            Fate::Timeout => "timeout",
            Fate::Ttl => "ttl",
            Fate::Loop => "loop",
        }
    }
}

/// What the radio hands to whoever drives it.
#[derive(Clone, Copy, Debug)]
pub enum Handed {
    /// A packet is at the end of its way. Copies of it may still be on the air.
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
        kind: Kind,
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
    /// A packet is at the end of its way.
    Deliver {
        /// Which flow's.
        flow: u32,
    },
    /// A copy of a packet is dropped.
    Drop {
        /// Which flow's.
        flow: u32,
        /// Why.
        fate: Fate,
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
    /// Distinct data packets that reached the end of their way.
    pub received: u64,
    /// Hops that these had made.
    pub received_hops: u64,
    /// Packets of any kind that had to be given up, by [`Fate::DROPS`]: no copy of them arrived.
    pub dropped: [u64; Fate::DROPS.len()],
    /// The same, data packets alone.
    pub dropped_data: [u64; Fate::DROPS.len()],
    /// Packets of any kind that sources handed to it, and those that reached the end of their way.
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
enum Timer {
    Access,
    Receive,
    Exchange,
    Routing,
    Interface,
}

impl Timer {
    /// Every timer of a node, in the order of their numbers.
    const ALL: [Timer; 5] =
        [Timer::Access, Timer::Receive, Timer::Exchange, Timer::Routing, Timer::Interface];
}

/// The time, and the timers of all nodes: the agenda knows the first of them alone.
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
    fn set(&mut self, node: u32, timer: Timer, at: Time) {
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
    ways: Vec<(u32, u32)>,
    clock: Clock,
    /// Its timer in the agenda, and the end of the run.
    timer: u32,
    horizon: Time,
    handed: VecDeque<Handed>,
    counts: RadioCounts,
    watching: bool,
    events: Vec<RadioEvent>,
}

impl Radio {
    /// A network that has timer `timer` in the agenda, for a run until `horizon`.
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
            ways: Vec::new(),
            clock: Clock {
                now: Time::ZERO,
                nodes: nodes.len(),
                deadlines: Deadlines::new(Timer::ALL.len() * nodes.len()),
            },
            timer,
            horizon,
            handed: VecDeque::new(),
            counts: RadioCounts::default(),
            watching: false,
            events: Vec::new(),
        }
    }

    /// Adds a way from node to node; what to give to [`Radio::send`].
    pub fn add_way(&mut self, from: u32, to: u32) -> u32 {
        self.ways.push((from, to));
        self.ways.len() as u32 - 1
    }

    /// From now on every step is written down, for [`Radio::events`].
    pub fn watch(&mut self) {
        self.watching = true;
    }

    /// Sets the first timers. Call once, at time zero.
    pub fn start(&mut self, agenda: &mut Agenda<Packet>) {
        let mut clock = std::mem::take(&mut self.clock);
        self.start_routing(&mut clock);
        self.rest(agenda, clock);
    }

    /// Gives the clock back; the agenda wakes the radio at its first deadline, or before.
    fn rest(&mut self, agenda: &mut Agenda<Packet>, clock: Clock) {
        agenda.set_timer(self.timer, clock.deadlines.bound().max(clock.now));
        self.clock = clock;
    }

    /// A packet sets out at the beginning of a way.
    pub fn send(&mut self, agenda: &mut Agenda<Packet>, packet: &Packet, way: u32) {
        let mut clock = std::mem::take(&mut self.clock);
        clock.now = agenda.now();
        self.set_out(&mut clock, packet, way);
        self.rest(agenda, clock);
        if !self.handed.is_empty() {
            agenda.set_timer(self.timer, agenda.now()); // whoever drives the radio asks for them then
        }
    }

    fn set_out(&mut self, clock: &mut Clock, packet: &Packet, way: u32) {
        self.counts.packets.0 += 1;
        self.counts.offered += (packet.kind != Kind::Ack) as u64;
        let body = self.store.put(Body::Data { packet: *packet, way, delivered: false, lost: None });
        let (from, to) = self.ways[way as usize];
        // What UDP sends has no header yet; TCP's segments have theirs.
        let header =
            if packet.kind == Kind::Udp { self.aodv.as_ref().map_or(0, |aodv| aodv.ip_header) } else { 0 };
        let bytes = packet.size + header;
        let item = Item { body, next: to, bytes, hops: 0, ttl: u8::MAX, urgent: false };
        if from == to {
            self.deliver(clock.now(), from, &item);
            return self.let_go(item, Fate::Sent);
        }
        match &self.aodv {
            None => self.send_down(clock, from, item),
            Some(aodv) => {
                let item = Item { ttl: aodv.net_diameter, ..item };
                self.resolve(clock, from, item);
            }
        }
    }

    /// The radio's timer has fired. It goes on from event to event for as long as nothing else happens and nothing is handed
    /// out.
    pub fn on_timer(&mut self, agenda: &mut Agenda<Packet>) {
        let mut clock = std::mem::take(&mut self.clock);
        clock.now = agenda.now();
        for _ in 0..MOST_AT_ONCE {
            let Some((at, place)) = clock.deadlines.first() else { break };
            if at > clock.now {
                if at > self.horizon || !agenda.pass(at) {
                    break;
                }
                clock.now = at;
            }
            let (timer, node) = (place / clock.nodes, (place % clock.nodes) as u32);
            clock.deadlines.set(place, Time::NEVER);
            match Timer::ALL[timer] {
                Timer::Access => self.on_access(&mut clock, node),
                Timer::Receive => self.on_receive(&mut clock, node),
                Timer::Exchange => self.on_exchange(&mut clock, node),
                Timer::Routing => self.on_routing(&mut clock, node),
                Timer::Interface => self.on_interface(&mut clock, node),
            }
            if !self.handed.is_empty() {
                break; // it arrives before anything else happens
            }
        }
        self.rest(agenda, clock);
    }

    /// The next of what has been handed out, in order.
    #[inline]
    pub fn next_handed(&mut self) -> Option<Handed> {
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
        let waits = |body: &&Body| matches!(body, Body::Data { delivered: false, .. });
        self.store.held().filter(waits).count() as u64
    }

    /// Place of a node at a moment not before the last one asked for, m.
    pub fn place(&mut self, node: u32, at: Time) -> [f64; 2] {
        self.medium.place(node, at)
    }

    /// A frame's contents have come to `node` from its neighbour `from`. Whoever keeps the item holds it.
    fn arrived(&mut self, clock: &mut Clock, node: u32, from: u32, item: Item) {
        match self.store.get(item.body) {
            Body::Data { way, .. } => {
                let (source, target) = self.ways[*way as usize];
                if target == node {
                    return self.deliver(clock.now(), node, &item);
                }
                self.store.hold(item.body);
                if self.aodv.is_none() || source == node {
                    return self.let_go(item, if source == node { Fate::Loop } else { Fate::Route });
                }
                if item.ttl <= 1 {
                    return self.let_go(item, Fate::Ttl);
                }
                self.resolve(clock, node, Item { ttl: item.ttl - 1, ..item });
            }
            Body::ArpRequest { from, target } => {
                let (asks, target) = (*from, *target);
                self.on_arp(clock, node, asks, (target == node).then_some(asks));
            }
            Body::ArpReply { from } => {
                let known = *from;
                self.on_arp(clock, node, known, None);
            }
            Body::Request(request) => {
                let request = *request;
                self.on_request(clock, node, from, item.ttl, request);
            }
            Body::Reply(reply) => {
                let reply = *reply;
                self.on_reply(clock, node, from, reply);
            }
            Body::Error(list) => {
                let list = list.clone();
                self.on_error(clock, node, from, &list);
            }
        }
    }

    /// A packet is at the end of its way.
    fn deliver(&mut self, now: Time, node: u32, item: &Item) {
        let Body::Data { packet, way, delivered, .. } = self.store.get_mut(item.body) else { return };
        let again = std::mem::replace(delivered, true);
        let (packet, way) = (*packet, *way);
        if !again {
            self.counts.packets.1 += 1;
            if packet.kind != Kind::Ack {
                self.counts.received += 1;
                self.counts.received_hops += item.hops as u64;
            }
        }
        self.handed.push_back(Handed::Delivered(packet, way));
        if self.watching {
            self.tell(now, node, RadioStep::Deliver { flow: packet.flow });
        }
    }

    /// Lets a copy go; what becomes of the packet if it was the last.
    fn let_go(&mut self, item: Item, fate: Fate) {
        if let Body::Data { lost, .. } = self.store.get_mut(item.body)
            && fate != Fate::Sent
        {
            *lost = Some(fate);
        }
        if !self.store.release(item.body) {
            return;
        }
        if let Body::Data { packet, delivered, lost, .. } = self.store.get(item.body) {
            self.handed.push_back(Handed::Gone(*packet));
            if let (false, Some(fate)) = (delivered, lost) {
                let place = *fate as usize - 1;
                self.counts.dropped[place] += 1;
                self.counts.dropped_data[place] += (packet.kind != Kind::Ack) as u64;
            }
        }
    }

    /// Drops a copy at a node.
    fn drop_item(&mut self, now: Time, node: u32, item: Item, fate: Fate) {
        if self.watching
            && let Body::Data { packet, .. } = self.store.get(item.body)
        {
            let flow = packet.flow;
            self.tell(now, node, RadioStep::Drop { flow, fate });
        }
        self.let_go(item, fate);
    }

    fn tell(&mut self, at: Time, node: u32, step: RadioStep) {
        self.events.push(RadioEvent { at, node, step });
    }
}
