//! The state of all links, advanced event by event.

mod account;
mod ahead;
mod change;
pub mod cut;
mod forward;
mod medium;
mod service;
mod transit;

use crate::ids::LinkId;
use crate::impairment::Effect;
use crate::link::{Accepted, Beyond, IngressState, Link, LinkSpec, NO_INGRESS, Router};
use crate::local::LocalQueues;
use crate::medium::Medium;
use crate::next_hop::{Hop, LastHop, Segment, Upstream, places};
use crate::packet::{Ecn, Packet};
use crate::qdisc::{Admission, Offer};
use crate::radio::Radio;
use crate::rule::{Rule, RuleEvent};
use crate::satellites::{SatelliteNetwork, Tables};
use crate::service::Unsent;
use crate::sojourn::Sojourns;
use crate::tap::{DropReason, PacketEvent, PacketStep, Tap};
pub use change::NotPrepared;
use engine::{EventQueue, LaneHint, Tie, large_vec, prefetch};
use std::collections::BTreeMap;
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
    /// The packet will reach its destination at this time, and can be processed at once: see [`Network::complete_routes`].
    Ahead(Time),
}

/// The datagrams that the network has copied or dropped and not yet reported otherwise, by the index of their bytes.
#[derive(Clone, Debug, Default)]
pub struct DatagramChanges {
    /// One entry per copy; it shares the bytes. To be processed before `dropped`.
    pub copied: Vec<u32>,
    /// Datagrams that were dropped after their queue had accepted them.
    pub dropped: Vec<u32>,
}

/// All links, and the routes over them.
#[derive(Clone)]
pub struct Network {
    links: Vec<Link>,
    rates: Vec<Rate>,
    /// For each link, the links from which its packets come.
    upstream: Vec<Upstream>,
    ingress: Vec<IngressState>,
    /// The next hops of all routes.
    routes: Vec<Hop>,
    classes: Vec<(Rate, Span)>,
    horizon: Time,
    /// Counters include everything up to this time: the end of the warm-up during the warm-up, then the horizon.
    border: Time,
    /// Transmissions that end until then are counted at once: the border, or zero if waiting times are recorded.
    simple_until: Time,
    /// For each link, the counts for times after the warm-up; empty if there is no warm-up.
    beyond: Vec<Beyond>,
    /// Of links with a backlog at the end of the run, the packets whose transmission begins after it.
    unsent: BTreeMap<u32, Unsent>,
    /// Waiting times, if they are recorded.
    sojourns: Option<Box<Sojourns>>,
    fuse_hops: bool,
    /// Scheduling time of the current event, see [`Offer::cause`].
    cause: Time,
    /// The current routing tables, if links move.
    tables: Option<Box<Tables>>,
    /// The radio network, if there is one.
    radio: Option<Box<Radio>>,
    /// For each radio path, the index before the route that follows it.
    radio_route_ends: Vec<u32>,
    radio_hint: LaneHint,
    /// The packet that is enqueued is a copy, to which no script applies.
    copying: bool,
    /// What the impairments of a link do to the packet that it accepts.
    effect: Effect,
    /// Options of packets that were dropped after their queue had accepted them.
    dropped_options: Vec<u32>,
    datagram_changes: DatagramChanges,
    /// What several links share as their transmitter.
    media: Vec<Medium>,
    /// The senders that limit their packets in the queues of their hosts.
    local: LocalQueues,
    /// Arrivals at receivers that are not processed yet.
    received: Vec<(Time, Packet)>,
    /// Arrivals at receivers after [`Network::border`].
    held: Vec<(Time, Packet)>,
    /// Of the last packet that was [`Arrival::Ahead`].
    last_hop: LastHop,
    /// For each link, its packets that are in the event queues of other parts of the run; empty if there are none.
    elsewhere: Vec<u64>,
}

impl Network {
    /// A network without links, for a run that ends at `horizon`, with capacity for `links` links and for routes of
    /// `hops` links in total.
    pub fn new(horizon: Time, links: usize, hops: usize) -> Network {
        let (links, routes) = (large_vec(links), large_vec(hops));
        Network {
            links,
            rates: Vec::new(),
            upstream: Vec::new(),
            ingress: Vec::new(),
            routes,
            classes: Vec::new(),
            horizon,
            border: horizon,
            simple_until: horizon,
            beyond: Vec::new(),
            unsent: BTreeMap::new(),
            sojourns: None,
            fuse_hops: true,
            cause: Time::ZERO,
            tables: None,
            radio: None,
            radio_route_ends: Vec::new(),
            radio_hint: LaneHint::default(),
            copying: false,
            effect: Effect::default(),
            dropped_options: Vec::new(),
            datagram_changes: DatagramChanges::default(),
            media: Vec::new(),
            local: LocalQueues::default(),
            received: Vec::new(),
            held: Vec::new(),
            last_hop: LastHop::default(),
            elsewhere: Vec::new(),
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

    /// Schedules the arrival, at the current time, of a packet that has reached the end of radio path `path`. It is
    /// then delivered or forwarded over links.
    pub fn deliver_from_radio(&mut self, event_queue: &mut EventQueue<Packet>, packet: &Packet, path: u32) {
        let place = self.radio_route_ends[path as usize];
        let now = event_queue.now();
        let tie = Tie::scheduled(now, now, path);
        event_queue.push(now, tie, packet, &mut self.radio_hint, |packet| packet.route = place);
    }

    /// Enables moving links: packets are routed by tables from now on. Call it after adding the links and before
    /// adding routes.
    pub fn set_satellites(&mut self, system: SatelliteNetwork) {
        for link in &mut self.links {
            if link.ingress == NO_INGRESS {
                link.ingress = self.ingress.len() as u32;
                self.ingress.push(IngressState::default());
            }
        }
        self.tables = Some(Box::new(Tables::new(system)));
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
    /// has the same results.
    pub fn unfuse(&mut self) {
        self.fuse_hops = false;
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
            link.ingress = self.ingress.len() as u32;
            let router = spec.router.map(|config| Box::new(Router::new(config, spec.rate)));
            let (qdisc, impairments) = (spec.qdisc, spec.impairments);
            self.ingress.push(IngressState { qdisc, impairments, router, ..IngressState::default() });
        }
        self.links.push(link);
        self.rates.push(spec.rate);
        self.upstream.push(Upstream::Unknown);
        LinkId(self.links.len() as u32 - 1)
    }

    /// Adds the route along a path, whose segments alternate between links and others; no links follow satellites. Returns
    /// the value for [`Packet::route`] at the source. Add all routes before the first [`Network::reroute`].
    pub fn add_route(&mut self, path: &[Segment]) -> u32 {
        // From the end: the other segments name the place at which the route goes on.
        let (mut links, mut last) = (&[][..], Hop::DELIVER);
        for segment in path.iter().rev() {
            match *segment {
                Segment::Links(ref route) => links = &route[..],
                Segment::Radio { from, to } => {
                    let after = self.add_hops(Some(Hop::LOOKUP), links, last);
                    self.radio_route_ends.push(after);
                    let path = self.radio.as_mut().map_or(0, |radio| radio.add_path(from, to));
                    (links, last) = (&[], Hop::radio(path));
                }
                Segment::Satellites { from, to } => {
                    let ends_here = links.is_empty() && last == Hop::DELIVER;
                    let after = (!ends_here).then(|| self.add_hops(Some(Hop::LOOKUP), links, last));
                    let entry = self.tables.as_mut().map_or(0, |tables| tables.add(from, to, after));
                    (links, last) = (&[], Hop::satellites(entry));
                }
            }
        }
        self.add_hops(None, links, last)
    }

    /// Adds hops over links, and the hop after them; `before` takes the place of the link on which a packet arrives from
    /// another segment. Returns the first index.
    fn add_hops(&mut self, before: Option<Hop>, links: &[LinkId], last: Hop) -> u32 {
        let start = self.routes.len() as u32;
        self.routes.extend(before);
        let mut from = Upstream::Several;
        for LinkId(id) in links.iter().copied() {
            let upstream = &mut self.upstream[id as usize];
            *upstream =
                if *upstream == Upstream::Unknown || *upstream == from { from } else { Upstream::Several };
            let link = &mut self.links[id as usize];
            link.fused = self.fuse_hops && *upstream != Upstream::Several && link.ingress == NO_INGRESS;
            // Over a link that reorders, packets do not arrive in the order in which they were sent.
            let ingress = self.ingress.get(link.ingress as usize);
            let reorders = ingress.is_some_and(IngressState::reorders);
            from = if reorders { Upstream::Several } else { Upstream::Link(LinkId(id)) };
        }
        self.routes.extend(links.iter().map(|link| Hop::link(link.0)));
        self.routes.push(last);
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

    /// The second call: prefetches the next link of `packet`. Returns whether the event of the packet is its delivery, or
    /// includes it.
    #[inline]
    pub fn prefetch_link(&self, packet: &Packet) -> bool {
        let at = packet.route as usize + 1;
        let Some(next) = self.routes[at].as_link() else { return true };
        prefetch(&self.links, next as usize);
        // The link after that may be fused into the same step.
        let second = self.routes[at + 1];
        prefetch(&self.links, second.index());
        second == Hop::DELIVER_AHEAD
            || second.as_link().is_some() && self.routes[at + 2] == Hop::DELIVER_AHEAD
    }

    /// Marks the current event as a timer event, not an arrival.
    #[inline]
    pub fn timer_event(&mut self) {
        self.cause = Time::ZERO;
    }

    /// Sends a packet into the first link of its route, at `now`. Returns whether it will arrive at the end of that link.
    #[inline]
    pub fn send<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        now: Time,
        packet: &Packet,
    ) -> bool {
        let arrival = self.enqueue(event_queue, tap, now, packet.route, packet);
        self.keep_received(arrival, packet);
        !matches!(arrival, Arrival::Dropped)
    }

    /// Sends a packet whose first hop is not a link.
    #[cold]
    fn enqueue_at_source<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        hop: Hop,
        packet: &Packet,
    ) -> Arrival {
        match self.forward(event_queue, tap, hop, packet) {
            Arrival::Dropped => Arrival::Dropped,
            _ => Arrival::Forwarded,
        }
    }

    /// Processes the arrival of a packet at the end of its link.
    #[inline]
    pub fn arrive<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        packet: &Packet,
    ) -> Arrival {
        self.report_arrival(tap, event_queue.now(), packet);
        self.cause = packet.began;
        let next = self.routes[packet.route as usize + 1];
        if next.as_link().is_none() {
            if let Some(link) = next.as_service() {
                self.serve(event_queue, tap, link);
                return Arrival::Forwarded;
            }
            return if next == Hop::DELIVER {
                Arrival::Delivered
            } else {
                self.forward(event_queue, tap, next, packet)
            };
        }
        self.enqueue(event_queue, tap, event_queue.now(), packet.route + 1, packet)
    }

    /// Enqueues a packet at the link with index `route` of its route, at `now`.
    ///
    /// If all packets of a link come from one other link, and the link neither drops nor loses packets, they arrive
    /// in the order in which the other link sends them. Then the second link is computed at once, and the next event
    /// of the packet is its arrival at the end of the second link. A hop over such a link costs no event.
    #[inline]
    fn enqueue<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        now: Time,
        route: u32,
        packet: &Packet,
    ) -> Arrival {
        let hop = self.routes[route as usize];
        let Some(link) = self.links.get(hop.index()) else {
            return self.enqueue_at_source(event_queue, tap, hop, packet);
        };
        let id = hop.index() as u32;
        if link.ingress != NO_INGRESS {
            if link.scheduled {
                debug_assert_eq!(now, event_queue.now(), "a scheduled link processes arrivals at their time");
                return match self.enqueue_scheduled(event_queue, tap, route, packet) {
                    true => Arrival::Forwarded,
                    false => Arrival::Dropped,
                };
            }
            let Some(accepted) = self.admit(tap, id, now, packet) else { return Arrival::Dropped };
            if accepted.changed || accepted.lost || accepted.displaced {
                return self.enqueue_impaired(event_queue, tap, (now, route), packet, accepted);
            }
        }
        self.pass::<T, false>(event_queue, tap, (now, route, id), packet)
    }

    /// Passes the packet to the queue and the impairment of link `id`, which has an ingress state. Returns `None` if
    /// the packet is dropped.
    #[inline(always)] // or a packet pays a call for it
    fn admit<T: Tap>(&mut self, tap: &mut T, id: u32, now: Time, packet: &Packet) -> Option<Accepted> {
        let link = &mut self.links[id as usize];
        let ingress = &mut self.ingress[link.ingress as usize];
        let impaired = !ingress.impairments.is_empty();
        let (mut marked, mut refused) = (false, None);
        if impaired {
            let free = now.max(link.free_at);
            let resumed = ingress.after_stalls(free);
            if resumed > free {
                link.free_at = resumed;
            }
            refused = ingress.impair(now, packet, self.copying, &mut self.effect);
            refused = refused.filter(|reason| !ingress.keeps(packet, *reason));
            marked = refused.is_none() && self.effect.mark && !ingress.unmarks(packet);
            if T::PACKETS && marked {
                report(tap, (id, now, false), packet, || Some(Rule::Script));
            }
        }
        if refused.is_none() {
            let offer = Offer { now, free_at: link.free_at, size: packet.size, cause: self.cause };
            match ingress.qdisc.admit(&offer, packet.ecn.capable()) {
                Admission::Take => {}
                Admission::Mark if impaired && ingress.unmarks(packet) => {}
                Admission::Mark => {
                    ingress.marked += 1;
                    marked = true;
                    if T::PACKETS {
                        report(tap, (id, now, false), packet, || ingress.qdisc.rule(packet.size, false));
                    }
                }
                Admission::Refuse => refused = Some(DropReason::Queue),
            }
        }
        if let Some(reason) = refused {
            if reason != DropReason::Queue || !ingress.keeps(packet, reason) {
                self.drop_packet(tap, id, now, packet, reason);
                return None;
            }
            ingress.qdisc.accept(&Offer { now, free_at: link.free_at, size: packet.size, cause: self.cause });
        }
        let changed = marked | ingress.router.is_some();
        let lost = impaired && ingress.loses() && !ingress.keeps(packet, DropReason::Loss);
        let displaced = impaired && self.effect.displaces();
        Some(Accepted { marked, changed, lost, displaced })
    }

    /// Notes a copy of a datagram that will arrive.
    fn copied(&mut self, packet: &Packet, accepted: bool) {
        if packet.kind.is_datagram() && accepted {
            self.datagram_changes.copied.push(packet.options);
        }
    }

    /// Number of packets that wait in queues that decide at each departure, or that a medium holds.
    pub fn waiting(&self) -> u64 {
        let on_media = self.media.iter().flat_map(Medium::outstanding).map(|(_, count)| count);
        self.ingress.iter().map(IngressState::waiting).chain(on_media).sum()
    }

    /// What the owner of the datagrams' bytes has to process before it stores or frees any bytes.
    #[inline]
    pub fn datagram_changes(&mut self) -> &mut DatagramChanges {
        &mut self.datagram_changes
    }

    /// The packet as link `id` forwards it: with a CE mark, or with the fields that the router has set.
    #[cold]
    fn rewritten(&mut self, id: u32, now: Time, packet: &Packet, marked: bool) -> Packet {
        let link = &self.links[id as usize];
        let mut packet = Packet { ecn: if marked { Ecn::Ce } else { packet.ecn }, ..*packet };
        if let Some(router) = &mut self.ingress[link.ingress as usize].router {
            router.pass(now, link.free_at, &mut packet);
        }
        packet
    }

    /// Counts and reports a packet that is dropped before the queue of link `id` accepts it.
    #[cold]
    fn drop_packet<T: Tap>(&mut self, tap: &mut T, id: u32, now: Time, packet: &Packet, reason: DropReason) {
        let ingress = self.links[id as usize].ingress as usize;
        self.ingress[ingress].drops[reason as usize] += 1;
        if T::PACKETS {
            report(tap, (id, now, true), packet, || self.ingress[ingress].rule(now, packet, reason));
            let step = PacketStep::Drop(reason);
            tap.packet(&PacketEvent { at: now, link: LinkId(id), step, packet: *packet, node: None });
        }
    }
}

/// Reports the rule by which link `at.0` drops (`at.2`) or marks a packet at time `at.1`, to an observer that wants it.
fn report<T: Tap>(
    tap: &mut T,
    (id, at, dropped): (u32, Time, bool),
    packet: &Packet,
    rule: impl FnOnce() -> Option<Rule>,
) {
    if tap.wants_rules()
        && let Some(rule) = rule()
    {
        tap.rule(RuleEvent { at, link: LinkId(id), packet: *packet, dropped, rule });
    }
}
