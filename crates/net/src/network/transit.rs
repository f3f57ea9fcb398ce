//! The passage of a packet over links: its transmission, the fused links behind it, its arrival.

use super::ahead::report_delivery;
use super::{Arrival, Network, report};
use crate::ids::LinkId;
use crate::link::Accepted;
use crate::next_hop::{Hop, LastHop};
use crate::packet::Packet;
use crate::tap::{DropReason, PacketEvent, PacketStep, Tap};
use engine::{EventQueue, Tie};
use units::{Span, Time};

/// The times of a packet on a link.
struct Sending {
    accepted: Time,
    /// Start of the transmission.
    start: Time,
    transmission: Span,
    /// End of the transmission.
    depart: Time,
    arrival: Time,
}

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
            copy = self.rewritten(id, now, packet, accepted.marked);
            packet = &copy;
        }
        if accepted.displaced && !accepted.lost {
            self.enqueue_displaced(event_queue, tap, now, route, packet);
            return Arrival::Forwarded;
        }
        let (start, _) = self.transmit_at(tap, id, now, packet, packet.size);
        if accepted.lost {
            self.lose(tap, id, packet, DropReason::Loss);
            return Arrival::Dropped;
        }
        let arrival = self.propagate(event_queue, tap, (route, id, start), packet);
        self.keep_received(arrival, packet); // the caller has the packet as it was
        Arrival::Forwarded
    }

    /// Transmits a packet that link `id`, index `route` of its route, accepts at `at`, and passes it on. Without `LATE` it
    /// leaves arrivals after [`Network::simple_until`] to [`Network::pass_late`], which keeps this loop short.
    #[inline(always)] // or a packet pays a call for it
    pub(super) fn pass<T: Tap, const LATE: bool>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        (mut at, mut route, mut id): (Time, u32, u32),
        packet: &Packet,
    ) -> Arrival {
        loop {
            let sending = self.sending(id, at, packet.size);
            let arrival = sending.arrival;
            if !LATE && arrival > self.simple_until {
                return self.pass_late(event_queue, tap, (at, route, id), packet);
            }
            self.transmit::<T, LATE>(tap, id, &sending, packet);
            let hop = self.routes[route as usize + 1];
            if !hop.is_fused() || LATE && arrival > self.border && self.arrives_late(id, arrival) {
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
        let link = &self.links[id as usize];
        let arrival = link.free_at + link.delay;
        let hop = self.routes[route as usize + 1];
        if !hop.is_fused() || arrival > self.border && self.arrives_late(id, arrival) {
            self.note_repetition(id, arrival);
            return self.leave(event_queue, (route, id, start), (arrival, hop), packet);
        }
        if T::PACKETS {
            report_delivery(tap, arrival, (id, None), packet);
        }
        self.pass::<T, false>(event_queue, tap, (arrival, route + 1, hop.index() as u32), packet)
    }

    /// Packets that leave a transmitter together arrive together: notes whether the last packet of link `id` has arrived at
    /// `arrival` too, so that the next one follows it.
    #[inline]
    pub(super) fn note_repetition(&mut self, id: u32, arrival: Time) {
        let link = &mut self.links[id as usize];
        if let Some(ingress) = self.ingress.get_mut(link.ingress as usize) {
            link.hint.set_repeats(ingress.last_arrival == arrival);
            ingress.last_arrival = arrival;
        }
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
            self.last_hop = LastHop { route, began: start };
            return Arrival::Ahead(arrival);
        }
        let tie = Tie::scheduled(arrival, start, id + 1);
        let hint = &mut self.links[id as usize].hint;
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
        let (id, effect) = (self.routes[route as usize].index() as u32, self.effect);
        let (start, arrival) = self.transmit_at(tap, id, now, packet, packet.size);
        let link = &mut self.links[id as usize];
        let arrival = self.ingress[link.ingress as usize].displaced(arrival, &effect);
        event_queue.push(arrival, Tie::scheduled(arrival, start, id + 1), packet, &mut link.hint, |packet| {
            packet.began = start;
            packet.route = route;
        });
        if effect.duplicate {
            self.copying = true;
            let accepted = self.enqueue(event_queue, tap, now, route, packet);
            self.keep_received(accepted, packet);
            self.copied(packet, !matches!(accepted, Arrival::Dropped));
            self.copying = false;
        }
    }

    /// When link `id` sends `size` bytes that it accepts at `now`, after all earlier ones.
    #[inline(always)] // or a packet pays a call for it
    fn sending(&mut self, id: u32, now: Time, size: u32) -> Sending {
        let link = &mut self.links[id as usize];
        let start = now.max(link.free_at);
        let transmission = link.transmission_time(size, || self.rates[id as usize]);
        let depart = start + transmission;
        Sending { accepted: now, start, transmission, depart, arrival: depart + link.delay }
    }

    /// Transmits a packet over link `id` at these times. `LATE`: it may depart after [`Network::simple_until`].
    #[inline(always)] // or a packet pays a call for it
    fn transmit<T: Tap, const LATE: bool>(
        &mut self,
        tap: &mut T,
        id: u32,
        sending: &Sending,
        packet: &Packet,
    ) {
        let Sending { accepted, start, transmission, depart, .. } = *sending;
        let link = &mut self.links[id as usize];
        link.free_at = depart;
        link.accepted += 1;
        if !LATE || depart <= self.simple_until {
            link.busy = link.busy + transmission;
            if start > accepted {
                link.waited += start.since(accepted).ps() as i64 as f64; // one instruction: a wait is far below 2^63 ps
            }
        } else {
            self.transmit_late(id, accepted, start, depart);
        }
        if T::PACKETS {
            let event = |at, step| PacketEvent { at, link: LinkId(id), step, packet: *packet, node: None };
            tap.packet(&event(accepted, PacketStep::Enqueue));
            tap.packet(&event(depart, PacketStep::Depart));
        }
    }

    /// Transmits a packet of `size` bytes on the link that link `id` accepts at `now`. Returns the start of its transmission,
    /// which ends at the link's `free_at`, and its arrival.
    pub(super) fn transmit_at<T: Tap>(
        &mut self,
        tap: &mut T,
        id: u32,
        now: Time,
        packet: &Packet,
        size: u32,
    ) -> (Time, Time) {
        let sending = self.sending(id, now, size);
        self.transmit::<T, true>(tap, id, &sending, packet);
        (sending.start, sending.arrival)
    }

    #[cold]
    pub(super) fn lose<T: Tap>(&mut self, tap: &mut T, id: u32, packet: &Packet, reason: DropReason) {
        let link = &self.links[id as usize];
        let (ingress, depart) = (&mut self.ingress[link.ingress as usize], link.free_at);
        if depart <= self.horizon {
            ingress.drops[reason as usize] += 1;
            if let Some(beyond) = self.beyond.get_mut(id as usize)
                && depart > self.border
            {
                beyond.dropped[reason as usize] += 1;
            }
        } else {
            ingress.lost_later += 1;
        }
        if T::PACKETS {
            report(tap, (id, depart, true), packet, || ingress.rule(depart, packet, reason));
            tap.packet(&PacketEvent {
                at: depart,
                link: LinkId(id),
                step: PacketStep::Drop(reason),
                packet: *packet,
                node: None,
            });
        }
    }
}
