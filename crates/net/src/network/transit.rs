//! The passage of a packet over links: its transmission, the fused links behind it, its arrival.

use super::ahead::report_delivery;
use super::{Arrival, Network};
use crate::link::Accepted;
use crate::next_hop::{Hop, LastHop};
use crate::packet::Packet;
use crate::tap::{DropReason, Tap};
use engine::{EventQueue, Tie};
use units::Time;

impl Network {
    /// Transmits a packet, accepted at `at.0` by the link with index `at.1` of its route, that the link changes, loses, delays
    /// or duplicates.
    #[inline(never)]
    pub(super) fn enqueue_impaired<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        (now, route): (Time, u32),
        packet: &Packet,
        accepted: Accepted,
    ) -> Arrival {
        let id = self.routes[route as usize].index() as u32;
        let copy;
        let mut packet = packet;
        if accepted.changed {
            copy = self.links.rewritten(id, now, packet, accepted.marked);
            packet = &copy;
        }
        if accepted.displaced && !accepted.lost {
            self.enqueue_displaced(event_queue, tap, now, route, packet);
            return Arrival::Forwarded;
        }
        let (start, _) = self.links.transmit_at(tap, id, now, packet, packet.size);
        if accepted.lost {
            self.links.lose(tap, id, packet, DropReason::Loss);
            return Arrival::Dropped;
        }
        let arrival = self.propagate(event_queue, tap, (route, id, start), packet);
        self.early.keep(arrival, packet); // the caller has the packet as it was
        Arrival::Forwarded
    }

    /// Transmits a packet that link `id`, index `route` of its route, accepts at `at`, and passes it on. Without `LATE` it
    /// leaves arrivals after `Links::simple_until` to [`Network::pass_late`], which keeps this loop short.
    #[inline(always)] // or a packet pays a call for it
    pub(super) fn pass<T: Tap, const LATE: bool>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        (mut at, mut route, mut id): (Time, u32, u32),
        packet: &Packet,
    ) -> Arrival {
        loop {
            let sending = self.links.sending(id, at, packet.size);
            let arrival = sending.arrival;
            if !LATE && arrival > self.links.simple_until {
                return self.pass_late(event_queue, tap, (at, route, id), packet);
            }
            self.links.transmit::<T, LATE>(tap, id, &sending, packet);
            let hop = self.routes[route as usize + 1];
            if !hop.is_fused() || LATE && arrival > self.links.border && self.links.arrives_late(id, arrival)
            {
                return self.leave(event_queue, (route, id, sending.start), (arrival, hop), packet);
            }
            if T::PACKETS {
                report_delivery(tap, arrival, (id, None), packet);
            }
            (at, route, id) = (arrival, route + 1, hop.index() as u32);
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn pass_late<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        at: (Time, u32, u32),
        packet: &Packet,
    ) -> Arrival {
        self.pass::<T, true>(event_queue, tap, at, packet)
    }

    /// Passes on a packet whose transmission over link `id`, index `route` of its route, started at `start` and ends at the
    /// link's `free_at`.
    #[inline(never)] // three callers
    pub(super) fn propagate<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        (route, id, start): (u32, u32, Time),
        packet: &Packet,
    ) -> Arrival {
        let link = &self.links.states[id as usize];
        let arrival = link.free_at + link.delay;
        let hop = self.routes[route as usize + 1];
        if !hop.is_fused() || arrival > self.links.border && self.links.arrives_late(id, arrival) {
            self.links.note_repetition(id, arrival);
            return self.leave(event_queue, (route, id, start), (arrival, hop), packet);
        }
        if T::PACKETS {
            report_delivery(tap, arrival, (id, None), packet);
        }
        self.pass::<T, false>(event_queue, tap, (arrival, route + 1, hop.index() as u32), packet)
    }

    /// Schedules the arrival, at `arrival`, of a packet at the end of link `id`, index `route` of its route; `hop`, which is
    /// no fused link, comes next.
    #[inline(always)] // or a packet pays a call for it
    fn leave(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        (route, id, start): (u32, u32, Time),
        (arrival, hop): (Time, Hop),
        packet: &Packet,
    ) -> Arrival {
        if hop == Hop::DELIVER_AHEAD {
            self.early.last_hop = LastHop { route, began: start };
            return Arrival::Ahead(arrival);
        }
        let tie = Tie::scheduled(arrival, start, id + 1);
        let hint = &mut self.links.states[id as usize].hint;
        event_queue.push(arrival, tie, packet, hint, |packet| {
            packet.began = start;
            packet.route = route;
        });
        Arrival::Forwarded
    }

    /// Transmits an accepted packet that an impairment delays or duplicates, at the link with index `route` of its route.
    #[cold]
    fn enqueue_displaced<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        now: Time,
        route: u32,
        packet: &Packet,
    ) {
        let (id, effect) = (self.routes[route as usize].index() as u32, self.links.effect);
        let (start, _) = self.links.transmit_at(tap, id, now, packet, packet.size);
        let depart = self.links.states[id as usize].free_at;
        let arrival = self.links.displace(id, depart, &effect);
        let link = &mut self.links.states[id as usize];
        event_queue.push(arrival, Tie::scheduled(arrival, start, id + 1), packet, &mut link.hint, |packet| {
            packet.began = start;
            packet.route = route;
        });
        if effect.duplicate {
            self.links.copying = true;
            let accepted = self.enqueue(event_queue, tap, now, route, packet);
            self.early.keep(accepted, packet);
            if !matches!(accepted, Arrival::Dropped) {
                self.links.payload_changes.note_copy(packet);
            }
            self.links.copying = false;
        }
    }
}
