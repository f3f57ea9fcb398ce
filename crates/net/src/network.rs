//! The state of all links, advanced event by event.

mod account;

use crate::ids::LinkId;
use crate::link::{Beyond, IngressState, Link, LinkSpec, NO_INGRESS, Router};
use crate::packet::{Packet, PacketKind};
use crate::qdisc::{Admission, Offer};
use crate::radio::Radio;
use crate::satellites::{LinkTransit, SatelliteNetwork, Tables};
use crate::tap::{DropReason, PacketEvent, PacketStep, Tap};
use crate::topology::Route;
use engine::{EventQueue, LaneHint, large_vec, prefetch};
use units::{Rate, Span, Time};

/// The result of the arrival of a packet at the end of a link.
#[derive(Clone, Copy, Debug)]
pub enum Arrival {
    /// The packet was enqueued at its next link, or handed to the radio.
    Forwarded,
    /// The packet was dropped at its next link.
    Dropped,
    /// The packet reached its destination.
    Delivered,
}

/// All links, and the routes over them.
pub struct Network {
    links: Vec<Link>,
    rates: Vec<Rate>,
    /// The link from which the packets of each link come; `SEVERAL` if packets come from several links or from a
    /// source, `END` for none yet.
    upstream: Vec<u32>,
    guards: Vec<IngressState>,
    /// The links of all routes, each route terminated by `END`.
    routes: Vec<u32>,
    classes: Vec<(Rate, Span)>,
    horizon: Time,
    /// Counters include everything up to this time: the end of the warm-up during the warm-up, then the horizon.
    border: Time,
    /// For each link, the counts for times after the warm-up; empty if there is no warm-up.
    beyond: Vec<Beyond>,
    folding: bool,
    /// Scheduling time of the current event, see [`Offer::cause`].
    cause: Time,
    /// The current routing tables, if links move.
    tables: Option<Box<Tables>>,
    /// The radio network, if there is one.
    radio: Option<Box<Radio>>,
    /// For each radio path, the index before the route that follows it.
    landings: Vec<u32>,
    landing: LaneHint,
}

const END: u32 = u32::MAX;
const SEVERAL: u32 = u32::MAX - 1;
/// In place of a next link: the node looks up the next link.
const LOOKUP: u32 = u32::MAX - 2;
/// In place of a next link: the packet goes over the radio channel, on the path whose number is the next entry.
const RADIO: u32 = u32::MAX - 3;
/// The smallest entry that is not a link number.
const SPECIAL: u32 = RADIO;

impl Network {
    /// A network without links, for a run that ends at `horizon`, with capacity for `links` links and for routes of
    /// `hops` links in total.
    pub fn new(horizon: Time, links: usize, hops: usize) -> Network {
        let (links, routes) = (large_vec(links), large_vec(hops));
        Network {
            links,
            rates: Vec::new(),
            upstream: Vec::new(),
            guards: Vec::new(),
            routes,
            classes: Vec::new(),
            horizon,
            border: horizon,
            beyond: Vec::new(),
            folding: true,
            cause: Time::ZERO,
            tables: None,
            radio: None,
            landings: Vec::new(),
            landing: LaneHint::default(),
        }
    }

    /// Adds the radio network. Call it before adding routes.
    pub fn set_radio(&mut self, radio: Radio) {
        self.radio = Some(Box::new(radio));
    }

    /// The radio, if there is one.
    pub fn radio(&mut self) -> Option<&mut Radio> {
        self.radio.as_deref_mut()
    }

    /// Number of packets received by radio, summed over hops.
    pub fn radio_hops(&self) -> u64 {
        self.radio.as_ref().map_or(0, |radio| radio.counts().hops)
    }

    /// Adds a route over links, then by radio from node `from` to node `to`, then over links. Returns the value for
    /// [`Packet::route`] at the source.
    pub fn add_radio_route(&mut self, before: &Route, [from, to]: [u32; 2], after: &Route) -> u32 {
        self.landings.push(self.routes.len() as u32);
        self.routes.push(RADIO);
        self.add_route(after);
        let path = self.radio.as_mut().map_or(0, |radio| radio.add_path(from, to));
        let start = self.add_route(before);
        self.routes.pop();
        self.routes.extend([RADIO, path]);
        start
    }

    /// Schedules the arrival, at the current time, of a packet that has reached the end of radio path `path`. It is
    /// then delivered or forwarded over links.
    pub fn deliver_from_radio(&mut self, event_queue: &mut EventQueue<Packet>, packet: &Packet, path: u32) {
        let place = self.landings[path as usize];
        event_queue.push(event_queue.now(), packet, &mut self.landing, |packet| packet.route = place);
    }

    /// Enables moving links: packets are routed by tables from now on. Call it after adding the links and before
    /// adding routes.
    pub fn set_satellites(&mut self, system: SatelliteNetwork) {
        for link in &mut self.links {
            if link.guard == NO_INGRESS {
                link.guard = self.guards.len() as u32;
                self.guards.push(IngressState::default());
            }
        }
        self.tables = Some(Box::new(Tables::new(system)));
    }

    /// Adds a path from node `from` to node `to` over moving links. Returns the value for [`Packet::route`] at the
    /// source. Add all paths before the first [`Network::reroute`].
    pub fn add_path(&mut self, from: usize, to: usize) -> u32 {
        self.routes.push(LOOKUP);
        self.tables.as_mut().map_or(0, |tables| tables.add(from, to))
    }

    /// Recomputes all paths over the links that are up at `at`.
    pub fn reroute(&mut self, at: Time) {
        let Network { tables, routes, .. } = self;
        if let Some(tables) = tables {
            let rows = tables.rows();
            tables.reroute(at, |link| places(routes, rows, link));
        }
    }

    /// Disables fused hops, so every hop has an event of its own. Call it before adding routes. A run is slower and
    /// has the same results, except for ties between links.
    pub fn unfuse(&mut self) {
        self.folding = false;
    }

    /// Adds a link. Link numbers are consecutive from 0.
    pub fn add_link(&mut self, spec: LinkSpec) -> LinkId {
        let class = (spec.rate, spec.delay);
        let number = self.classes.iter().position(|c| *c == class).unwrap_or_else(|| {
            if self.classes.len() < 64 {
                self.classes.push(class);
            }
            self.classes.len() - 1
        });
        let mut link = Link::new(&spec, LaneHint::new(number));
        if spec.guarded() {
            link.guard = self.guards.len() as u32;
            let router = spec.router.map(|config| Box::new(Router::new(config, spec.rate)));
            let (qdisc, impairment) = (spec.qdisc, spec.impairment);
            self.guards.push(IngressState { qdisc, impairment, router, ..IngressState::default() });
        }
        self.links.push(link);
        self.rates.push(spec.rate);
        self.upstream.push(END);
        LinkId(self.links.len() as u32 - 1)
    }

    /// Adds a route. Returns the value for [`Packet::route`] at the source. A route without links delivers nothing.
    pub fn add_route(&mut self, route: &Route) -> u32 {
        let start = self.routes.len() as u32;
        let mut from = SEVERAL;
        for LinkId(id) in route.iter().copied() {
            let feeder = &mut self.upstream[id as usize];
            *feeder = if *feeder == END || *feeder == from { from } else { SEVERAL };
            let link = &mut self.links[id as usize];
            link.fused = self.folding && *feeder != SEVERAL && link.guard == NO_INGRESS;
            from = id;
        }
        self.routes.extend(route.iter().map(|link| link.0));
        self.routes.push(END);
        start
    }

    /// Prefetches the next entry of the route of `packet`: the first of two calls, some events before its event.
    #[inline]
    pub fn prefetch_route(&self, packet: &Packet) {
        prefetch(&self.routes, packet.route as usize + 1);
    }

    /// Prefetches the first link of a route.
    #[inline]
    pub fn prefetch_first_link(&self, link: LinkId) {
        prefetch(&self.links, link.0 as usize);
    }

    /// The second call: prefetches the next link of `packet`. Returns true if there is none, so the packet will be
    /// delivered.
    #[inline]
    pub fn prefetch_link(&self, packet: &Packet) -> bool {
        let next = self.routes[packet.route as usize + 1];
        if next >= SPECIAL {
            return true;
        }
        prefetch(&self.links, next as usize);
        // The link after that may be fused into the same step.
        prefetch(&self.links, self.routes[packet.route as usize + 2] as usize);
        false
    }

    /// Marks the current event as a timer event, not an arrival.
    #[inline]
    pub fn timer_event(&mut self) {
        self.cause = Time::ZERO;
    }

    /// Sends a packet into the first link of its route. Returns whether it will arrive at the end of that link.
    #[inline]
    pub fn send<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        packet: &Packet,
    ) -> bool {
        self.enqueue(event_queue, tap, packet.route, packet)
    }

    #[cold]
    fn enqueue_at_source<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        packet: &Packet,
    ) -> bool {
        if let Some(radio) = &mut self.radio {
            radio.send(event_queue, packet, self.routes[packet.route as usize + 1]);
            return true; // the radio reports its delivery or loss
        }
        let Some(tables) = &self.tables else { unreachable!("a route over a link that does not exist") };
        let (row, node) = tables.sources[packet.route as usize];
        self.enqueue_by_table(event_queue, tap, row, node, packet)
    }

    /// Processes the arrival of a packet at the end of its link.
    #[inline]
    pub fn arrive<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        packet: &Packet,
    ) -> Arrival {
        if T::PACKETS {
            let link = self.routes[packet.route as usize];
            if link < SPECIAL {
                let (link, step) = (LinkId(link), PacketStep::Deliver);
                let node = self.tables.as_ref().map(|tables| tables.arrival(packet.route).1);
                tap.packet(&PacketEvent { at: event_queue.now(), link, step, packet: *packet, node });
            }
        }
        self.cause = packet.began;
        let next = self.routes[packet.route as usize + 1];
        if next >= SPECIAL {
            return if next == END { Arrival::Delivered } else { self.forward(event_queue, tap, packet) };
        }
        if self.enqueue(event_queue, tap, packet.route + 1, packet) {
            Arrival::Forwarded
        } else {
            Arrival::Dropped
        }
    }

    /// Enqueues a packet at the link with index `route` of its route. Returns whether it will arrive at the end of a
    /// link.
    ///
    /// If all packets of a link come from one other link, and the link neither drops nor loses packets, they arrive
    /// in the order in which the other link sends them. Then the second link is computed at once, and the next event
    /// of the packet is its arrival at the end of the second link. A hop over such a link costs no event.
    #[inline]
    fn enqueue<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        mut route: u32,
        packet: &Packet,
    ) -> bool {
        let now = event_queue.now();
        let mut id = self.routes[route as usize];
        // If links move, the route entry at a source is not a link: the path is looked up.
        let Some(link) = self.links.get(id as usize) else {
            return self.enqueue_at_source(event_queue, tap, packet);
        };
        let mut lost = false;
        let copy;
        let mut packet = packet;
        if link.guard != NO_INGRESS {
            let Some(taken) = self.admit(tap, id, now, packet) else { return false };
            lost = taken.lost;
            if taken.changed {
                copy = self.rewritten(id, now, packet, taken.marked);
                packet = &copy;
            }
        }
        let mut start = self.transmit(tap, id, now, packet, 0);
        if lost {
            self.lose(tap, id, packet, DropReason::Loss);
            return false;
        }
        loop {
            let link = &mut self.links[id as usize];
            let arrival = link.free_at + link.delay;
            let next = self.routes[route as usize + 1];
            if next >= SPECIAL
                || !self.links[next as usize].fused
                || arrival > self.border && self.arrives_late(id, arrival)
            {
                let link = &mut self.links[id as usize];
                event_queue.push(arrival, packet, &mut link.hint, |packet| {
                    packet.began = start;
                    packet.route = route;
                });
                return true;
            }
            if T::PACKETS {
                tap.packet(&PacketEvent {
                    at: arrival,
                    link: LinkId(id),
                    step: PacketStep::Deliver,
                    packet: *packet,
                    node: None,
                });
            }
            route += 1;
            id = next;
            start = self.transmit(tap, id, arrival, packet, 0);
        }
    }

    /// Passes the packet to the queue and the impairment of link `id`, which has an ingress state. Returns `None` if
    /// the packet is dropped.
    #[inline(always)] // or a packet pays a call for it
    fn admit<T: Tap>(&mut self, tap: &mut T, id: u32, now: Time, packet: &Packet) -> Option<Taken> {
        let link = &self.links[id as usize];
        let guard = &mut self.guards[link.guard as usize];
        let offer = Offer { now, free_at: link.free_at, size: packet.size, cause: self.cause };
        let mut refused = guard.impairment.before(packet);
        let mut marked = false;
        if refused.is_none() {
            match guard.qdisc.admit(&offer, packet.kind == PacketKind::Data && packet.ecn) {
                Admission::Take => {}
                Admission::Mark => {
                    guard.marked += 1;
                    marked = true;
                }
                Admission::Refuse => refused = Some(DropReason::Queue),
            }
        }
        if let Some(reason) = refused {
            self.refuse(tap, id, now, packet, reason);
            return None;
        }
        let changed = marked | guard.router.is_some();
        Some(Taken { marked, changed, lost: guard.impairment.after().is_some() })
    }

    /// The packet as link `id` forwards it: with a CE mark, or with the fields that the router has set.
    #[cold]
    fn rewritten(&mut self, id: u32, now: Time, packet: &Packet, marked: bool) -> Packet {
        let link = &self.links[id as usize];
        let mut packet = Packet { marked: marked || packet.marked, ..*packet };
        if let Some(router) = &mut self.guards[link.guard as usize].router {
            router.pass(now, link.free_at, &mut packet);
        }
        packet
    }

    /// Counts and reports a packet that is dropped before the queue of link `id` accepts it.
    #[cold]
    fn refuse<T: Tap>(&mut self, tap: &mut T, id: u32, now: Time, packet: &Packet, reason: DropReason) {
        let guard = self.links[id as usize].guard as usize;
        self.guards[guard].drops[reason as usize] += 1;
        if T::PACKETS {
            let step = PacketStep::Drop(reason);
            tap.packet(&PacketEvent { at: now, link: LinkId(id), step, packet: *packet, node: None });
        }
    }

    /// Transmits a packet that link `id` accepts at `now`, after all earlier ones; the link adds `header` bytes.
    /// Returns the start of its transmission. It ends at the link's `free_at`.
    #[inline(always)] // or a packet pays a call for it
    fn transmit<T: Tap>(&mut self, tap: &mut T, id: u32, now: Time, packet: &Packet, header: u32) -> Time {
        let link = &mut self.links[id as usize];
        let start = now.max(link.free_at);
        let transmission = link.transmission_time(packet.size + header, || self.rates[id as usize]);
        let depart = start + transmission;
        link.free_at = depart;
        link.accepted += 1;
        if depart <= self.border {
            link.busy = link.busy + transmission;
            link.waited += start.since(now).ps() as f64;
        } else {
            self.transmit_late(id, now, start, depart);
        }
        if T::PACKETS {
            tap.packet(&PacketEvent {
                at: now,
                link: LinkId(id),
                step: PacketStep::Enqueue,
                packet: *packet,
                node: None,
            });
            tap.packet(&PacketEvent {
                at: depart,
                link: LinkId(id),
                step: PacketStep::Depart,
                packet: *packet,
                node: None,
            });
        }
        start
    }

    #[cold]
    fn lose<T: Tap>(&mut self, tap: &mut T, id: u32, packet: &Packet, reason: DropReason) {
        let link = &self.links[id as usize];
        let (guard, depart) = (&mut self.guards[link.guard as usize], link.free_at);
        if depart <= self.horizon {
            guard.drops[reason as usize] += 1;
            if let Some(beyond) = self.beyond.get_mut(id as usize)
                && depart > self.border
            {
                beyond.dropped[reason as usize] += 1;
            }
        } else {
            guard.lost_later += 1;
        }
        if T::PACKETS {
            tap.packet(&PacketEvent {
                at: depart,
                link: LinkId(id),
                step: PacketStep::Drop(reason),
                packet: *packet,
                node: None,
            });
        }
    }

    /// Hands a packet at the end of its link to the radio, or looks up its next link.
    fn forward<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        packet: &Packet,
    ) -> Arrival {
        if let Some(radio) = &mut self.radio {
            radio.send(event_queue, packet, self.routes[packet.route as usize + 2]);
            return Arrival::Forwarded;
        }
        self.arrive_by_table(event_queue, tap, packet)
    }

    fn arrive_by_table<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        packet: &Packet,
    ) -> Arrival {
        let Some(tables) = &self.tables else { return Arrival::Delivered };
        let (row, node) = tables.arrival(packet.route);
        if tables.is_target(row, node) {
            return Arrival::Delivered;
        }
        if self.enqueue_by_table(event_queue, tap, row, node, packet) {
            Arrival::Forwarded
        } else {
            Arrival::Dropped
        }
    }

    /// Enqueues a packet for destination `row` at `node`. Returns whether it will arrive at the end of a link.
    fn enqueue_by_table<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        row: u32,
        node: u32,
        packet: &Packet,
    ) -> bool {
        let now = event_queue.now();
        let Some(tables) = &mut self.tables else { return false };
        let mut port = match tables.port(row, node) {
            Ok(port) => port,
            Err(link) => {
                self.refuse(tap, link, now, packet, DropReason::Route);
                return false;
            }
        };
        let (id, header) = (tables.outgoing[port as usize].link, tables.header(port));
        let link = &mut self.links[id as usize];
        // During the pause after a hand-off the transmitter counts as busy.
        let ready = now.max(link.free_at);
        let start = tables.not_before(port, ready);
        if start > ready {
            link.free_at = start;
        }
        let Some(taken) = self.admit(tap, id, now, packet) else { return false };
        let packet = &self.rewritten(id, now, packet, taken.marked);
        let start = self.transmit(tap, id, now, packet, header);
        let Network { tables, links, routes, .. } = self;
        let (Some(tables), link) = (tables, &mut links[id as usize]) else { return false };
        let rows = tables.rows();
        let mut reason = taken.lost.then_some(DropReason::Loss);
        match tables.fate(port, start, |link| places(routes, rows, link)) {
            LinkTransit::Arrives(over) => port = over,
            LinkTransit::Lost => reason = Some(DropReason::Handoff),
        }
        let arrival = link.free_at + tables.delay(port, start, link);
        if tables.lost_in_flight(port, start, arrival) {
            reason = Some(DropReason::Handoff);
        }
        if let Some(reason) = reason {
            self.lose(tap, id, packet, reason);
            return false;
        }
        let route = tables.outgoing[port as usize].place + 2 * row;
        event_queue.push(arrival, packet, &mut link.hint, |packet| {
            packet.began = start;
            packet.route = route;
        });
        true
    }
}

/// The result for a packet that a queue has accepted.
struct Taken {
    marked: bool,
    /// Whether the link changes the packet (mark or router fields).
    changed: bool,
    lost: bool,
}

/// Adds the route entries of a new port over `link`: for each destination the link, then the entry for a lookup.
/// Returns the index of the first.
fn places(routes: &mut Vec<u32>, rows: u32, link: u32) -> u32 {
    let first = routes.len() as u32;
    for _ in 0..rows {
        routes.extend([link, LOOKUP]);
    }
    first
}
