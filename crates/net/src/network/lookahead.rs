//! Arrivals that are computed before their time.
//!
//! A packet that is sent now reaches a link no earlier than the propagation delay of the link before it. So all arrivals up
//! to that time are known, and the link processes them at once, in their order, without an event for each. The packets that
//! have left a receiver's last link arrive in their order too: the receiver processes them at once if only its
//! acknowledgements use the link that they take. docs/adr/0006-lookahead.md has the rule and what it gains.

use super::{Arrival, Network};
use crate::ids::LinkId;
use crate::impairment::Impair;
use crate::link::{IngressState, Link};
use crate::next_hop::Hop;
use crate::packet::{Packet, PacketKind};
use crate::tap::{PacketEvent, PacketStep, Tap};
use engine::{EventQueue, LaneHint, Merge, Tie};
use units::{Span, Time};

/// The packets that will arrive at a link from several others.
#[derive(Clone)]
pub(crate) struct Lookahead {
    /// By their arrival; each with the route index of the link that it leaves.
    pending: Merge<Packet>,
    /// The least propagation delay of the links before it.
    delay: Span,
    /// The time of the earliest item in the event queue that has the link process its arrivals.
    wake_at: Time,
    /// That item.
    item: Packet,
    hint: LaneHint,
    /// Whether the link is in [`Network::ready`].
    is_ready: bool,
}

/// The link has no [`Lookahead`].
pub(crate) const NO_LOOKAHEAD: u32 = u32::MAX;

/// The delay before the link over the transmission time of a full packet: with less, an event for each packet is cheaper.
const LEAST_PACKETS: u64 = 4;
const FULL_PACKET: u64 = 1500;

/// The last link of a packet that will reach its destination.
#[derive(Clone, Copy, Default)]
pub(crate) struct LastHop {
    /// Its index in the route.
    pub route: u32,
    /// Start of the transmission.
    pub began: Time,
}

impl LastHop {
    /// The packet as it arrives over this hop.
    #[inline]
    pub fn applied_to(&self, packet: &Packet) -> Packet {
        Packet { began: self.began, route: self.route, ..*packet }
    }
}

/// From where the packets of a link come.
#[derive(Clone, Copy, Default)]
struct Sources {
    /// Routes that begin with the link.
    routes: u32,
    /// Whether it has a link before it.
    links: bool,
    /// The least delay of those; zero if its arrivals cannot be computed before their time.
    delay: Option<Span>,
}

impl Network {
    /// Lets links and receivers process arrivals before their time where it changes no result. Call it after adding the
    /// routes. `flows` has the routes of data and of acknowledgements of each flow whose receiver does nothing else than to
    /// acknowledge; those of the acknowledgements are none if it does not do that either.
    pub fn look_ahead(&mut self, flows: impl Iterator<Item = (u32, Option<u32>)>) {
        if !self.fuse_hops || self.tables.is_some() {
            return;
        }
        let sources = self.sources();
        for (number, from) in sources.iter().enumerate() {
            let full = self.rates[number].time_for(FULL_PACKET);
            let delay = from.delay.filter(|delay| *delay >= full * LEAST_PACKETS && *delay > Span::ZERO);
            let link = &self.links[number];
            if let Some(delay) = delay
                && from.routes == 0
                && !link.fused
                && self.is_computable(link)
                && false
            {
                self.add_lookahead(number as u32, delay);
            }
        }
        for (data, acknowledgements) in flows {
            self.receive_ahead(data, acknowledgements, &sources);
        }
    }

    /// Whether what the link does with a packet follows from the packets before it.
    fn is_computable(&self, link: &Link) -> bool {
        let changes = |ingress: &IngressState| ingress.impairments.iter().any(Impair::serves_changes);
        !link.scheduled && !self.ingress.get(link.ingress as usize).is_some_and(changes)
    }

    /// Whether a packet arrives at the end of the link when its delay after the departure is over.
    fn has_fixed_delay(&self, link: &Link) -> bool {
        let varies =
            |ingress: &IngressState| ingress.impairments.iter().any(|i| i.displaces() || i.serves_changes());
        !self.ingress.get(link.ingress as usize).is_some_and(varies)
    }

    /// For each link, from where its packets come.
    fn sources(&self) -> Vec<Sources> {
        let mut sources = vec![Sources::default(); self.links.len()];
        let mut before: Option<&Link> = None;
        for hop in &self.routes {
            let link = hop.as_link();
            if let Some(link) = link {
                let of = &mut sources[link as usize];
                if let Some(before) = before {
                    let delay = if self.has_fixed_delay(before) { before.delay } else { Span::ZERO };
                    of.delay = Some(of.delay.map_or(delay, |least| least.min(delay)));
                    of.links = true;
                } else {
                    of.routes += 1;
                }
            }
            before = link.map(|link| &self.links[link as usize]);
        }
        sources
    }

    fn add_lookahead(&mut self, link: u32, delay: Span) {
        self.links[link as usize].lookahead = self.lookahead.len() as u32;
        let route = self.routes.len() as u32;
        self.routes.extend([Hop::LOOKUP, Hop::arrivals(link)]);
        self.lookahead.push(Lookahead {
            pending: Merge::new(1),
            delay,
            wake_at: Time::NEVER,
            item: Packet::new(PacketKind::Udp, 0, route, 0, 0, Time::ZERO),
            hint: LaneHint::default(),
            is_ready: false,
        });
    }

    /// Has the receiver at the end of route `data` process packets before their time, if only its acknowledgements leave over
    /// their first link, and if both links give an order that is known.
    fn receive_ahead(&mut self, data: u32, acknowledgements: Option<u32>, sources: &[Sources]) {
        let links = |route: u32| self.routes[route as usize..].iter().map_while(|hop| hop.as_link());
        let alone = acknowledgements.is_none_or(|route| {
            links(route).next().is_some_and(|link| {
                let from = &sources[link as usize];
                from.routes == 1 && !from.links && self.is_computable(&self.links[link as usize])
            })
        });
        let count = links(data).count();
        let last = links(data).last().is_some_and(|link| self.has_fixed_delay(&self.links[link as usize]));
        let end = data as usize + count;
        if alone && last && self.routes[end] == Hop::DELIVER {
            self.routes[end] = Hop::DELIVER_AHEAD;
        }
    }

    /// Adds a packet to the arrivals of link `next`: at `arrival`, over link `id` with index `route` of its route, where its
    /// transmission began at `start`.
    #[inline(never)]
    pub(super) fn expect(
        &mut self,
        next: u32,
        arrival: Time,
        (route, id, start): (u32, u32, Time),
        packet: &Packet,
    ) {
        let ahead = &mut self.lookahead[self.links[next as usize].lookahead as usize];
        let tie = Tie::scheduled(arrival, start, id + 1);
        ahead.pending.push(arrival, tie, packet, &mut self.links[id as usize].hint, |packet| {
            packet.began = start;
            packet.route = route;
        });
        if !ahead.is_ready {
            ahead.is_ready = true;
            self.ready.push(next);
        }
    }

    /// Whether [`Network::process_known`] or [`Network::next_received`] have something to do.
    #[inline]
    pub fn has_known(&self) -> bool {
        !self.ready.is_empty() || !self.received.is_empty()
    }

    /// Processes the arrivals at links that are known. To be called after each event, before the clock advances.
    #[inline]
    pub fn process_known<T: Tap>(&mut self, event_queue: &mut EventQueue<Packet>, tap: &mut T) {
        while let Some(link) = self.ready.pop() {
            self.process_arrivals(event_queue, tap, link);
        }
    }

    /// Keeps a packet that is [`Arrival::Ahead`] for [`Network::next_received`].
    #[inline]
    pub(super) fn keep_received(&mut self, arrival: Arrival, packet: &Packet) {
        if let Arrival::Ahead(at) = arrival {
            self.received.push((at, self.last_hop.applied_to(packet)));
        }
    }

    /// The next packet that arrives at a receiver, with the time of its arrival, which can be in the future.
    #[inline]
    pub fn next_received(&mut self) -> Option<(Time, Packet)> {
        let next = self.received.get(self.next_received).copied();
        if let Some((_, packet)) = &next {
            self.last_hop = LastHop { route: packet.route, began: packet.began };
            self.next_received += 1;
        } else {
            self.next_received = 0;
            self.received.clear();
        }
        next
    }

    /// Whether everything up to `at` belongs to the part of the run that is counted now: the warm-up, or the rest.
    #[inline]
    pub fn counts(&self, at: Time) -> bool {
        at <= self.border
    }

    /// Makes the arrival of `packet` at the end of its route at `at`, which can be in the future, the current event.
    #[inline]
    pub fn deliver_ahead<T: Tap>(&mut self, tap: &mut T, at: Time, packet: &Packet) {
        if T::PACKETS {
            self.report_arrival(tap, at, &self.last_hop.applied_to(packet));
        }
        self.cause = self.last_hop.began;
    }

    /// Schedules the arrival of a packet that was [`Arrival::Ahead`].
    #[cold]
    pub fn deliver_later(&mut self, event_queue: &mut EventQueue<Packet>, at: Time, packet: &Packet) {
        let LastHop { route, began } = self.last_hop;
        let link = self.routes[route as usize].index();
        let tie = Tie::scheduled(at, began, link as u32 + 1);
        event_queue.push(at, tie, packet, &mut self.links[link].hint, |packet| {
            packet.began = began;
            packet.route = route;
        });
    }

    /// Reports the arrival of a packet at the end of its link.
    #[inline]
    pub(super) fn report_arrival<T: Tap>(&self, tap: &mut T, at: Time, packet: &Packet) {
        if T::PACKETS
            && let Some(link) = self.routes[packet.route as usize].as_link()
        {
            let node = self.tables.as_ref().map(|tables| tables.arrival(packet.route).1);
            tap.packet(&PacketEvent {
                at,
                link: LinkId(link),
                step: PacketStep::Deliver,
                packet: *packet,
                node,
            });
        }
    }

    /// Has link `link` process its arrivals at the time of the item that was scheduled for them.
    #[cold]
    pub(super) fn wake(&mut self, link: u32) {
        let ahead = &mut self.lookahead[self.links[link as usize].lookahead as usize];
        ahead.wake_at = Time::NEVER;
        if !ahead.is_ready {
            ahead.is_ready = true;
            self.ready.push(link);
        }
    }

    #[inline(never)]
    fn process_arrivals<T: Tap>(&mut self, event_queue: &mut EventQueue<Packet>, tap: &mut T, link: u32) {
        let index = self.links[link as usize].lookahead as usize;
        let ahead = &mut self.lookahead[index];
        ahead.is_ready = false;
        let until = (event_queue.now() + ahead.delay).min(self.border);
        while let Some((at, packet)) = self.lookahead[index].pending.pop(until) {
            self.report_arrival(tap, at, &packet);
            self.cause = packet.began;
            match self.enqueue(event_queue, tap, at, packet.route + 1, &packet) {
                Arrival::Dropped => self.forget_options(&packet),
                arrival => self.keep_received(arrival, &packet),
            }
        }
        let ahead = &mut self.lookahead[index];
        let first = ahead.pending.first_at();
        if first < ahead.wake_at {
            ahead.wake_at = first;
            let tie = Tie::scheduled(first, event_queue.now(), 0);
            event_queue.push(first, tie, &ahead.item, &mut ahead.hint, |_| {});
        }
    }

    /// The packets that wait for their arrival at a link, by the route index of the link that they leave.
    pub(super) fn expected(&self) -> impl Iterator<Item = u32> {
        self.lookahead.iter().flat_map(|ahead| ahead.pending.iter().map(|(_, packet)| packet.route))
    }
}
