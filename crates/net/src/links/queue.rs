//! The queues of scheduled links: the discipline is asked at each departure which packet leaves next.

use super::{Links, report};
use crate::ids::LinkId;
use crate::link::NO_INGRESS;
use crate::qdisc::scheduled::{Point, Waiting};
use crate::service::Service;
use crate::tap::{DropReason, PacketEvent, PacketStep, Tap};
use units::Time;

/// The transmitter of a scheduled link as an arriving packet meets it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransmitterState {
    /// The transmitter can send the packet at once.
    Idle,
    /// Other packets are sent first.
    Busy,
    /// The queue that the stations of a device share has no room.
    Full,
}

impl Links {
    /// The sender of flow `flow` limits its packets in the queue of `link`, the first of its path, which has a scheduler; `timer`
    /// wakes it.
    pub fn limit_local(&mut self, flow: u32, link: LinkId, timer: u32) {
        let ingress = &mut self.ingress[self.states[link.0 as usize].ingress as usize];
        ingress.service.iter_mut().for_each(|service| service.local = true);
        self.local.add(flow, link.0, timer);
    }

    /// Offers a packet to the discipline of link `id`, in front of a transmitter in this state; accounts and reports what becomes
    /// of it. Returns whether it was accepted.
    #[inline(always)] // or a packet pays a call for it
    pub(crate) fn admit_scheduled<T: Tap>(
        &mut self,
        tap: &mut T,
        service: &mut Service,
        id: u32,
        packet: Waiting,
        transmitter: TransmitterState,
    ) -> bool {
        let now = packet.arrived;
        let full = transmitter == TransmitterState::Full;
        let idle = transmitter == TransmitterState::Idle;
        let accepted = !full && service.scheduler.enqueue(packet, idle, &mut service.drops);
        if !accepted && !self.accept_kept(service, id, packet) {
            if T::PACKETS && !full {
                let rule = || service.scheduler.discipline().rule(&packet, now, Point::Arrival);
                report(tap, id, now, true, &packet.packet, rule);
            }
            self.drop_packet(tap, id, now, &packet.packet, DropReason::Queue);
            return false;
        }
        service.arrived(now);
        if service.local {
            self.local.arrived(id, packet.packet.flow, packet.packet.size);
        }
        self.states[id as usize].accepted += 1;
        if T::PACKETS {
            let step = PacketStep::Enqueue;
            tap.packet(&PacketEvent { at: now, link: LinkId(id), step, packet: packet.packet, node: None });
            report(tap, id, now, false, &packet.packet, || {
                service.scheduler.discipline().mark_at_arrival(&packet)
            });
        }
        if !service.drops.is_empty() {
            self.discard(tap, service, id, now, true);
        }
        true
    }

    /// Has the discipline accept a packet that it has refused, if a change keeps the packet.
    #[cold]
    fn accept_kept(&mut self, service: &mut Service, id: u32, packet: Waiting) -> bool {
        let ingress = &mut self.ingress[self.states[id as usize].ingress as usize];
        // A queue in front of an idle transmitter takes a packet in any case.
        ingress.keeps(&packet.packet, DropReason::Queue)
            && service.scheduler.enqueue(packet, true, &mut service.drops)
    }

    /// Accounts and reports the packets that the discipline of link `id` has dropped: at the arrival of another packet,
    /// or at a departure.
    #[cold]
    pub(super) fn discard<T: Tap>(
        &mut self,
        tap: &mut T,
        service: &mut Service,
        id: u32,
        now: Time,
        at_arrival: bool,
    ) {
        let mut drops = std::mem::take(&mut service.drops);
        let ingress = &mut self.ingress[self.states[id as usize].ingress as usize];
        let mut keeps = Vec::new();
        if !ingress.impairments.is_empty() {
            keeps = drops.iter().map(|dropped| ingress.keeps(&dropped.packet, DropReason::Aqm)).collect();
        }
        let is_kept = |index: usize| keeps.get(index) == Some(&true);
        if T::PACKETS {
            let last = drops.len() as u32 - 1;
            for (index, dropped) in drops.iter().enumerate().filter(|(index, _)| !is_kept(*index)) {
                let later = last - index as u32;
                let point =
                    if at_arrival { Point::Limit { others: last } } else { Point::Departure { later } };
                let rule = || service.scheduler.discipline().rule(dropped, now, point);
                report(tap, id, now, true, &dropped.packet, rule);
            }
        }
        for (index, dropped) in drops.drain(..).enumerate() {
            if is_kept(index) {
                service.front.push_back(dropped);
                continue;
            }
            service.dropped(&dropped, now);
            if service.local {
                self.local.leaves(id, dropped.packet.flow, dropped.packet.size, now);
            }
            self.count_sojourn(id, dropped.arrived, now);
            self.drop_packet(tap, id, now, &dropped.packet, DropReason::Aqm);
            self.payload_changes.note_drop(&dropped.packet);
        }
        service.drops = drops;
    }

    /// Removes the packet that leaves the queue of link `id` now, of the access category at `place`; accounts and reports those
    /// that its discipline drops before it. `impaired`: changes can keep packets, or leave them unmarked.
    #[inline(always)] // or each departure pays a call for it
    pub(crate) fn take_waiting<T: Tap>(
        &mut self,
        tap: &mut T,
        service: &mut Service,
        id: u32,
        place: usize,
        now: Time,
        impaired: bool,
    ) -> Option<Waiting> {
        if impaired && !service.front.is_empty() {
            let front = service.pop_front(place);
            if front.is_some() {
                return front;
            }
        }
        let next = service.scheduler.dequeue(now, &mut service.drops);
        if !service.drops.is_empty() {
            self.discard(tap, service, id, now, false);
            if !service.front.is_empty() {
                service.front.extend(next);
                return service.pop_front(place);
            }
        }
        next
    }

    /// Takes the next packet from the queue of link `id` for a transmission that begins now, of the access category at `place`.
    pub(crate) fn take_for_medium<T: Tap>(
        &mut self,
        tap: &mut T,
        id: u32,
        place: usize,
        now: Time,
    ) -> Option<Waiting> {
        let ingress = self.states[id as usize].ingress;
        debug_assert!(ingress != NO_INGRESS);
        let mut service = self.ingress[ingress as usize].service.take()?;
        let impaired = !self.ingress[ingress as usize].impairments.is_empty();
        service.scheduler.select(place);
        let mut next = self.take_waiting(tap, &mut service, id, place, now, impaired);
        if let Some(next) = &mut next {
            service.left(next);
            if next.marked.is_some() {
                self.leave_marked(tap, &service, id, now, next, impaired);
            }
            self.count_sojourn(id, next.arrived, now);
        }
        self.ingress[ingress as usize].service = Some(service);
        next
    }

    /// Counts and reports the mark of a packet that leaves the queue of link `id`, unless a change takes it back.
    #[inline(never)] // keeps the path of other packets short
    pub(crate) fn leave_marked<T: Tap>(
        &mut self,
        tap: &mut T,
        service: &Service,
        id: u32,
        now: Time,
        next: &mut Waiting,
        impaired: bool,
    ) {
        let ingress = &mut self.ingress[self.states[id as usize].ingress as usize];
        if impaired && ingress.unmarks(&next.packet) {
            return next.unmark();
        }
        ingress.marked += 1;
        if T::PACKETS {
            let rule = || service.scheduler.discipline().rule(next, now, Point::Mark);
            report(tap, id, now, false, &next.packet, rule);
        }
    }
}
