//! The state of all links, advanced event by event.

mod ahead;
pub mod cut;
mod forward;
mod medium;
mod service;
mod transit;

use crate::ids::LinkId;
use crate::link::{IngressState, LinkAccount, LinkSpec, NO_INGRESS};
use crate::links::Links;
use crate::medium::Medium;
use crate::next_hop::{Hop, LinkEntry, PathSegment, Upstream, places};
use crate::packet::Packet;
use crate::radio::Radio;
use crate::satellites::{SatelliteNetwork, Tables};
use crate::tap::Tap;
pub use ahead::EarlyArrivals;
use engine::{EventQueue, LaneHint, Tie, large_vec, prefetch};
use units::{Span, Time};

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

/// All links, and the routes over them.
#[derive(Clone)]
pub struct Network {
    /// The links.
    pub links: Links,
    /// For each link, the links from which its packets come.
    upstream: Vec<Upstream>,
    /// The next hops of all routes.
    routes: Vec<Hop>,
    /// Whether packets pass some links and reach receivers without an event.
    fuse_hops: bool,
    /// The current routing tables, if links move.
    tables: Option<Box<Tables>>,
    /// The radio network, if there is one. Set it before adding routes.
    pub radio: Option<Box<Radio>>,
    /// For each radio path, the index before the route that follows it.
    radio_route_ends: Vec<u32>,
    radio_hint: LaneHint,
    /// What several links share as their transmitter ([`Network::add_medium`]). Change them before the run only.
    pub media: Vec<Medium>,
    /// The packets that receivers process before their time.
    pub early: EarlyArrivals,
    /// For each link, its packets that are in the event queues of other parts of the run; empty if there are none.
    elsewhere: Vec<u64>,
}

impl Network {
    /// A network without links, for a run that ends at `horizon`, with capacity for `links` links and for routes of
    /// `hops` links in total. Without `fuse_hops` every hop and every arrival at a receiver is an event: a run is slower and has
    /// the same results.
    pub fn new(horizon: Time, links: usize, hops: usize, fuse_hops: bool) -> Network {
        Network {
            links: Links::new(horizon, links),
            upstream: Vec::new(),
            routes: large_vec(hops),
            fuse_hops,
            tables: None,
            radio: None,
            radio_route_ends: Vec::new(),
            radio_hint: LaneHint::default(),
            media: Vec::new(),
            early: EarlyArrivals::default(),
            elsewhere: Vec::new(),
        }
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
        for link in 0..self.links.states.len() {
            self.links.ensure_ingress(link);
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

    /// Adds a link. Link numbers are consecutive from 0.
    pub fn add_link(&mut self, spec: LinkSpec) -> LinkId {
        self.upstream.push(Upstream::Unknown);
        self.links.add(spec)
    }

    /// Adds the route along a path, whose segments alternate between links and others; no links follow satellites. Returns
    /// the value for [`Packet::route`] at the source. Add all routes before the first [`Network::reroute`].
    pub fn add_route(&mut self, path: &[PathSegment]) -> u32 {
        // From the end: the other segments name the place at which the route goes on.
        let (mut links, mut last) = (&[][..], Hop::DELIVER);
        for segment in path.iter().rev() {
            match *segment {
                PathSegment::Links(ref route) => links = &route[..],
                PathSegment::Radio { from, to } => {
                    let after = self.add_hops(Some(Hop::LOOKUP), links, last);
                    self.radio_route_ends.push(after);
                    let path = self.radio.as_mut().map_or(0, |radio| radio.add_path(from, to));
                    (links, last) = (&[], Hop::radio(path));
                }
                PathSegment::Satellites { from, to } => {
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
        debug_assert!(
            links.is_empty() || !self.upstream.is_empty(),
            "a route after Network::complete_routes"
        );
        let start = self.routes.len() as u32;
        self.routes.extend(before);
        let mut from = Upstream::Several;
        for LinkId(id) in links.iter().copied() {
            let upstream = &mut self.upstream[id as usize];
            *upstream =
                if *upstream == Upstream::Unknown || *upstream == from { from } else { Upstream::Several };
            let link = &mut self.links.states[id as usize];
            link.fused = self.fuse_hops && *upstream != Upstream::Several && link.ingress == NO_INGRESS;
            // Over a link that reorders, packets do not arrive in the order in which they were sent.
            let ingress = self.links.ingress.get(link.ingress as usize);
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

    /// The second call: prefetches the next link of `packet`. Returns whether the event of the packet is its delivery, or
    /// includes it.
    #[inline]
    pub fn prefetch_link(&self, packet: &Packet) -> bool {
        let at = packet.route as usize + 1;
        let Some(next) = self.routes[at].as_link() else { return true };
        prefetch(&self.links.states, next as usize);
        // The link after that may be fused into the same step.
        let second = self.routes[at + 1];
        prefetch(&self.links.states, second.index());
        second == Hop::DELIVER_AHEAD
            || second.as_link().is_some() && self.routes[at + 2] == Hop::DELIVER_AHEAD
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
        self.early.keep(arrival, packet);
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
        self.links.cause = packet.began;
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
        let Some(link) = self.links.states.get(hop.index()) else {
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
            let Some(accepted) = self.links.admit(tap, id, now, packet) else { return Arrival::Dropped };
            if accepted.changed || accepted.lost || accepted.displaced {
                let entry = LinkEntry { at: now, route, id };
                return self.enqueue_impaired(event_queue, tap, entry, packet, accepted);
            }
        }
        self.pass(event_queue, tap, LinkEntry { at: now, route, id }, packet)
    }

    /// Number of packets that wait in queues that decide at each departure, or that a medium holds.
    pub fn waiting(&self) -> u64 {
        let on_media = self.media.iter().flat_map(Medium::outstanding).map(|(_, count)| count);
        self.links.ingress.iter().map(IngressState::waiting).chain(on_media).sum()
    }

    /// The account of every link over the first `duration` of the run, in the order of their numbers: the whole run or the
    /// warm-up. `event_queue` contains the packets in flight.
    pub fn account(
        &self,
        event_queue: &EventQueue<Packet>,
        duration: Span,
    ) -> impl Iterator<Item = LinkAccount> + '_ {
        let mut in_flight = cut::in_flight(self, event_queue);
        for (count, elsewhere) in in_flight.iter_mut().zip(&self.elsewhere) {
            *count += elsewhere;
        }
        for (link, count) in self.media.iter().flat_map(Medium::outstanding) {
            in_flight[link as usize] += count;
        }
        self.links.account(in_flight, duration)
    }

    /// Ends the warm-up. Call it after [`Network::account`] for the warm-up.
    pub fn end_warmup(&mut self) {
        self.links.end_warmup();
        self.early.release();
    }
}
