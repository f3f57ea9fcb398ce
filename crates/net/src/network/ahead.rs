//! Receivers that process packets before their time.
//!
//! The packets of a flow leave the last link of their route in the order in which they arrive, and their arrivals are known
//! when they leave. If only the acknowledgements of one receiver use the link that they take first, nothing else can come
//! between: the receiver processes a packet as soon as its arrival is known, and the packet costs no event.
//! docs/adr/0006-ahead.md has what this gains, and what was tried with links.

use super::{Arrival, Network};
use crate::ids::LinkId;
use crate::impairment::Impair;
use crate::next_hop::{Hop, LastHop};
use crate::packet::Packet;
use crate::tap::{PacketEvent, PacketStep, Tap};
use units::Time;

/// The packets that receivers process before their time.
#[derive(Clone, Default)]
pub struct EarlyArrivals {
    /// Arrivals at receivers that are not processed yet.
    received: Vec<(Time, Packet)>,
    /// Arrivals at receivers after the part of the run that is counted now.
    pub(super) held: Vec<(Time, Packet)>,
    /// Of the last packet that was [`Arrival::Ahead`].
    pub(super) last_hop: LastHop,
}

impl EarlyArrivals {
    /// Keeps a packet that is [`Arrival::Ahead`] for [`EarlyArrivals::exchange`].
    #[inline]
    pub(super) fn keep(&mut self, arrival: Arrival, packet: &Packet) {
        if let Arrival::Ahead(at) = arrival {
            self.received.push((at, self.last_hop.applied_to(packet)));
        }
    }

    /// Whether packets are kept for receivers. Those process them before the clock advances.
    #[inline]
    pub fn is_waiting(&self) -> bool {
        !self.received.is_empty()
    }

    /// Exchanges the packets that are kept for receivers, in their order and with the times of their arrival, which can be in
    /// the future, for an empty list.
    #[inline]
    pub fn exchange(&mut self, list: &mut Vec<(Time, Packet)>) {
        debug_assert!(list.is_empty());
        std::mem::swap(&mut self.received, list);
    }

    /// Makes the last hop of a packet that was kept for its receiver that of [`Arrival::Ahead`].
    #[inline]
    pub fn resume(&mut self, packet: &Packet) {
        self.last_hop = LastHop { route: packet.route, began: packet.began };
    }

    /// Holds a packet that was [`Arrival::Ahead`] and arrives after the part of the run that is counted now.
    #[cold]
    pub fn hold(&mut self, at: Time, packet: &Packet) {
        self.held.push((at, self.last_hop.applied_to(packet)));
    }

    /// Bytes that the next reallocation of the packets that are held takes if many more are held.
    pub fn growth(&self) -> usize {
        let soon = 4 * self.held.len() >= 3 * self.held.capacity();
        if soon { 2 * size_of::<(Time, Packet)>() * self.held.capacity() } else { 0 }
    }

    /// Has the receivers process the packets that were held.
    pub(super) fn release(&mut self) {
        self.received.append(&mut self.held);
    }
}

impl Network {
    /// Completes the routes: call it after adding all of them. `flows` has, for each flow whose receiver does nothing but acknowledge,
    /// the routes of its data and of its acknowledgements; none for the latter if it does not acknowledge either.
    pub fn complete_routes(&mut self, flows: impl Iterator<Item = (u32, Option<u32>)>) {
        self.upstream = Vec::new(); // the routes have what follows from it
        let mut after_link = false;
        for hop in &mut self.routes {
            let link = hop.as_link();
            if after_link && link.is_some_and(|link| self.links.states[link as usize].fused) {
                *hop = hop.fused(); // computed with the link before it
            }
            after_link = link.is_some();
        }
        if !self.fuse_hops || self.tables.is_some() {
            return;
        }
        // For each link, how often it is in a route.
        let mut users = vec![0; self.links.states.len()];
        for link in self.routes.iter().filter_map(|hop| hop.as_link()) {
            users[link as usize] += 1;
        }
        for (data, acknowledgements) in flows {
            self.receive_ahead(data, acknowledgements, &users);
        }
    }

    /// Has the receiver at the end of route `data` process packets before their time, if only its acknowledgements use their
    /// first link, which takes them at any time, and if the last link delivers in order.
    fn receive_ahead(&mut self, data: u32, acknowledgements: Option<u32>, users: &[u32]) {
        let links = |route: u32| self.routes[route as usize..].iter().map_while(|hop| hop.as_link());
        // A change of the scenario can concern what the link does with a packet.
        let changes = |link| self.links.has_impairment(link, Impair::serves_changes);
        let takes = |first| {
            users[first as usize] == 1 && !self.links.states[first as usize].scheduled && !changes(first)
        };
        let alone = acknowledgements.is_none_or(|route| links(route).next().is_some_and(takes));
        let count = links(data).count();
        let fixed_delay = |last| !changes(last) && !self.links.has_impairment(last, Impair::displaces);
        let in_order = links(data).last().is_some_and(fixed_delay);
        let end = data as usize + count;
        if alone && in_order && self.routes[end] == Hop::DELIVER {
            self.routes[end] = Hop::DELIVER_AHEAD;
        }
    }

    /// Makes the arrival of `packet` at the end of its route at `at`, which can be in the future, the current event.
    #[inline]
    pub fn deliver_ahead<T: Tap>(&mut self, tap: &mut T, at: Time, packet: &Packet) {
        if T::PACKETS {
            self.report_arrival(tap, at, &self.early.last_hop.applied_to(packet));
        }
        self.links.cause = self.early.last_hop.began;
    }

    /// Reports the arrival of a packet at the end of its link.
    #[inline]
    pub(super) fn report_arrival<T: Tap>(&self, tap: &mut T, at: Time, packet: &Packet) {
        if T::PACKETS
            && let Some(link) = self.routes[packet.route as usize].as_link()
        {
            let node = self.tables.as_ref().map(|tables| tables.arrival(packet.route).1);
            report_delivery(tap, at, link, node, packet);
        }
    }
}

/// Reports the arrival of a packet at the end of a link, at `node` if the link moves.
pub(super) fn report_delivery<T: Tap>(tap: &mut T, at: Time, link: u32, node: Option<u32>, packet: &Packet) {
    let (link, step) = (LinkId(link), PacketStep::Deliver);
    tap.packet(&PacketEvent { at, link, step, packet: *packet, node });
}
