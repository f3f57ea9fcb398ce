//! Transmission over a link.

use super::{Links, carry_waited};
use crate::ids::LinkId;
use crate::impairment::Effect;
use crate::link::Link;
use crate::packet::Packet;
use crate::tap::{PacketEvent, PacketStep, Tap};
use units::{Rate, Span, Time};

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

impl Sending {
    /// Reports the passage of `packet` through link `id`.
    pub(crate) fn report<T: Tap>(&self, tap: &mut T, id: u32, packet: &Packet) {
        let event = |at, step| PacketEvent { at, link: LinkId(id), step, packet: *packet, node: None };
        tap.packet(&event(self.accepted, PacketStep::Enqueue));
        tap.packet(&event(self.depart, PacketStep::Depart));
    }
}

impl Link {
    /// When it sends `size` bytes that it accepts at `now`, after all earlier ones. `rate` is called only for a new size.
    #[inline(always)] // or a packet pays a call for it
    pub(crate) fn sending(&mut self, now: Time, size: u32, rate: impl FnOnce() -> Rate) -> Sending {
        let start = now.max(self.free_at);
        let transmission = self.transmission_time(size, rate);
        let depart = start + transmission;
        Sending { accepted: now, start, transmission, depart, arrival: depart + self.delay }
    }

    /// Transmits a packet that departs not later than [`Links::simple_until`]. Returns whether the sum of waiting times has
    /// passed 2^64 ps: [`carry_waited`].
    #[inline(always)] // or a packet pays a call for it
    pub(crate) fn transmit(&mut self, sending: &Sending) -> bool {
        let Sending { accepted, start, transmission, depart, .. } = *sending;
        self.free_at = depart;
        self.accepted += 1;
        self.busy = self.busy + transmission;
        start > accepted && self.add_waited(start.since(accepted))
    }
}

impl Links {
    /// When link `id` sends `size` bytes that it accepts at `now`, after all earlier ones.
    #[inline(always)] // or a packet pays a call for it
    pub(crate) fn sending(&mut self, id: u32, now: Time, size: u32) -> Sending {
        self.states[id as usize].sending(now, size, || self.rates[id as usize])
    }

    /// Transmits a packet over link `id` at these times, also after [`Links::simple_until`].
    #[inline]
    pub(crate) fn transmit<T: Tap>(&mut self, tap: &mut T, id: u32, sending: &Sending, packet: &Packet) {
        let link = &mut self.states[id as usize];
        if sending.depart <= self.simple_until {
            if link.transmit(sending) {
                carry_waited(&mut self.waited_carries, id);
            }
        } else {
            link.free_at = sending.depart;
            link.accepted += 1;
            self.transmit_late(id, sending.accepted, sending.start, sending.depart);
        }
        if T::PACKETS {
            sending.report(tap, id, packet);
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
        self.transmit(tap, id, &sending, packet);
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
