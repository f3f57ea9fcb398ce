//! The passage of a packet over links: its transmission, the fused links behind it, its arrival.

use super::ahead::report_delivery;
use super::{Arrival, EarlyArrivals, Network};
use crate::link::Accepted;
use crate::links::carry_waited;
use crate::next_hop::{Hop, LastHop, LinkEntry, TransmissionStart};
use crate::packet::Packet;
use crate::tap::{DropReason, Tap};
use engine::{EventQueue, LaneHint, Tie};
use units::Time;

impl Network {
    /// Transmits a packet that a link accepts and changes, loses, delays or duplicates.
    #[inline(never)]
    pub(super) fn enqueue_impaired<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        entry: LinkEntry,
        packet: &Packet,
        accepted: Accepted,
    ) -> Arrival {
        let LinkEntry { at: now, route, id } = entry;
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
        let transmission = TransmissionStart { route, id, start };
        let arrival = self.propagate(event_queue, tap, transmission, packet);
        self.early.keep(arrival, packet); // the caller has the packet as it was
        Arrival::Forwarded
    }

    /// Transmits a packet that a link accepts, and passes it on over the fused links behind it. From the first link on at whose
    /// end it arrives after `Links::simple_until`, [`Network::pass_late`] does that.
    #[inline(always)] // or a packet pays a call for it
    pub(super) fn pass<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        mut entry: LinkEntry,
        packet: &Packet,
    ) -> Arrival {
        loop {
            let LinkEntry { at, route, id } = entry;
            let hop = self.routes[route as usize + 1];
            let link = &mut self.links.states[id as usize];
            let sending = link.sending(at, packet.size, || self.links.rates[id as usize]);
            let arrival = sending.arrival;
            if arrival > self.links.simple_until {
                return self.pass_late(event_queue, tap, entry, packet);
            }
            if link.transmit(&sending) {
                carry_waited(&mut self.links.waited_carries, id);
            }
            if T::PACKETS {
                sending.report(tap, id, packet);
            }
            if !hop.is_fused() {
                let transmission = TransmissionStart { route, id, start: sending.start };
                return leave(
                    &mut link.hint,
                    &mut self.early,
                    event_queue,
                    transmission,
                    arrival,
                    hop,
                    packet,
                );
            }
            if T::PACKETS {
                report_delivery(tap, arrival, id, None, packet);
            }
            entry = LinkEntry { at: arrival, route: route + 1, id: hop.index() as u32 };
        }
    }

    /// The same for arrivals at any time.
    #[cold]
    #[inline(never)]
    pub(super) fn pass_late<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        mut entry: LinkEntry,
        packet: &Packet,
    ) -> Arrival {
        loop {
            let LinkEntry { at, route, id } = entry;
            let sending = self.links.sending(id, at, packet.size);
            let arrival = sending.arrival;
            self.links.transmit(tap, id, &sending, packet);
            let hop = self.routes[route as usize + 1];
            if !hop.is_fused() || arrival > self.links.border && self.links.arrives_late(id, arrival) {
                let transmission = TransmissionStart { route, id, start: sending.start };
                return self.leave(event_queue, transmission, arrival, hop, packet);
            }
            if T::PACKETS {
                report_delivery(tap, arrival, id, None, packet);
            }
            entry = LinkEntry { at: arrival, route: route + 1, id: hop.index() as u32 };
        }
    }

    /// Passes on a packet whose transmission ends at the `free_at` of its link.
    #[inline(never)] // three callers
    pub(super) fn propagate<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        transmission: TransmissionStart,
        packet: &Packet,
    ) -> Arrival {
        let TransmissionStart { route, id, .. } = transmission;
        let link = &self.links.states[id as usize];
        let arrival = link.free_at + link.delay;
        let hop = self.routes[route as usize + 1];
        if !hop.is_fused() || arrival > self.links.border && self.links.arrives_late(id, arrival) {
            self.links.note_repetition(id, arrival);
            return self.leave(event_queue, transmission, arrival, hop, packet);
        }
        if T::PACKETS {
            report_delivery(tap, arrival, id, None, packet);
        }
        let entry = LinkEntry { at: arrival, route: route + 1, id: hop.index() as u32 };
        self.pass(event_queue, tap, entry, packet)
    }

    /// Has a packet arrive at the end of its link: see [`leave`].
    #[inline]
    fn leave(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        transmission: TransmissionStart,
        arrival: Time,
        hop: Hop,
        packet: &Packet,
    ) -> Arrival {
        let hint = &mut self.links.states[transmission.id as usize].hint;
        leave(hint, &mut self.early, event_queue, transmission, arrival, hop, packet)
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
        let hint = &mut self.links.states[id as usize].hint;
        schedule(hint, event_queue, TransmissionStart { route, id, start }, arrival, packet);
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

/// Has a packet arrive at `arrival` at the end of its link, which has `hint`: before its time if `hop`, which is no fused link,
/// permits that, and otherwise as an event.
#[inline(always)] // or a packet pays a call for it
fn leave(
    hint: &mut LaneHint,
    early: &mut EarlyArrivals,
    event_queue: &mut EventQueue<Packet>,
    transmission: TransmissionStart,
    arrival: Time,
    hop: Hop,
    packet: &Packet,
) -> Arrival {
    if hop == Hop::DELIVER_AHEAD {
        early.last_hop = LastHop { route: transmission.route, began: transmission.start };
        return Arrival::Ahead(arrival);
    }
    schedule(hint, event_queue, transmission, arrival, packet);
    Arrival::Forwarded
}

/// Schedules the arrival, at `arrival`, of a packet at the end of its link, which has `hint`.
#[inline(always)] // or a packet pays a call for it
pub(super) fn schedule(
    hint: &mut LaneHint,
    event_queue: &mut EventQueue<Packet>,
    transmission: TransmissionStart,
    arrival: Time,
    packet: &Packet,
) {
    let TransmissionStart { route, id, start } = transmission;
    let tie = Tie::scheduled(arrival, start, id + 1);
    event_queue.push(arrival, tie, packet, hint, |packet| {
        packet.began = start;
        packet.route = route;
    });
}
