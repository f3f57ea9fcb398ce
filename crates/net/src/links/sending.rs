//! Transmission over a link.

use super::Links;
use crate::ids::LinkId;
use crate::impairment::Effect;
use crate::packet::Packet;
use crate::tap::{PacketEvent, PacketStep, Tap};
use units::{Span, Time};

/// The times of a packet on a link.
pub(crate) struct Sending {
    pub accepted: Time,
    /// Start of the transmission.
    pub start: Time,
    pub transmission: Span,
    /// End of the transmission.
    pub depart: Time,
    pub arrival: Time,
}

impl Links {
    /// When link `id` sends `size` bytes that it accepts at `now`, after all earlier ones.
    #[inline(always)] // or a packet pays a call for it
    pub(crate) fn sending(&mut self, id: u32, now: Time, size: u32) -> Sending {
        let link = &mut self.states[id as usize];
        let start = now.max(link.free_at);
        let transmission = link.transmission_time(size, || self.rates[id as usize]);
        let depart = start + transmission;
        Sending { accepted: now, start, transmission, depart, arrival: depart + link.delay }
    }

    /// Transmits a packet over link `id` at these times. `LATE`: it may depart after [`Links::simple_until`].
    #[inline(always)] // or a packet pays a call for it
    pub(crate) fn transmit<T: Tap, const LATE: bool>(
        &mut self,
        tap: &mut T,
        id: u32,
        sending: &Sending,
        packet: &Packet,
    ) {
        let Sending { accepted, start, transmission, depart, .. } = *sending;
        let link = &mut self.states[id as usize];
        link.free_at = depart;
        link.accepted += 1;
        if !LATE || depart <= self.simple_until {
            link.busy = link.busy + transmission;
            if start > accepted && link.add_waited(start.since(accepted)) {
                self.carry_waited(id);
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
    pub(crate) fn transmit_at<T: Tap>(
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

    /// The arrival at the end of link `id`, at `depart` plus the link's delay and what an impairment adds. Packets that leave a
    /// transmitter together arrive in their order here too.
    pub(crate) fn displace(&mut self, id: u32, depart: Time, effect: &Effect) -> Time {
        let link = &mut self.states[id as usize];
        let (arrival, repeats) = self.ingress[link.ingress as usize].displaced(depart + link.delay, effect);
        link.hint.set_repeats(repeats);
        arrival
    }

    /// Packets that leave a transmitter together arrive together: notes whether the last packet of link `id` has arrived at
    /// `arrival` too, so that the next one follows it.
    #[inline]
    pub(crate) fn note_repetition(&mut self, id: u32, arrival: Time) {
        let link = &mut self.states[id as usize];
        if let Some(ingress) = self.ingress.get_mut(link.ingress as usize) {
            link.hint.set_repeats(ingress.last_arrival == arrival);
            ingress.last_arrival = arrival;
        }
    }
}
