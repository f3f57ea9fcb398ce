//! Scheduled links: the discipline is asked at each departure which packet leaves next.
//!
//! An item in the event queue stands for the end of the transmission, or for the next time at which the transmitter is
//! ready. If a packet arrives at that very time, the rule of [`crate::qdisc::Offer::before_departure`] defines which comes
//! first, as on other links.

use super::Network;
use super::transit::schedule;
use crate::ids::LinkId;
use crate::impairment::Effect;
use crate::links::{TransmitterState, report};
use crate::next_hop::{Hop, TransmissionStart};
use crate::packet::{Ecn, Packet};
use crate::qdisc::scheduled::{Scheduler, Waiting};
use crate::rule::Rule;
use crate::service::Service;
use crate::tap::{DropReason, PacketEvent, PacketStep, Tap};
use crate::transmitter::Transmitter;
use engine::EventQueue;
use units::Time;

impl Network {
    /// Replaces the queue of link `link` by a discipline that is asked at each departure. Call it before adding routes.
    pub fn set_scheduler(&mut self, link: LinkId, scheduler: Scheduler, transmitter: Transmitter) {
        let number = link.0 as usize;
        let route = self.routes.len() as u32;
        self.routes.extend([Hop::LOOKUP, Hop::service(link.0)]);
        let service = Service::new(scheduler, transmitter, self.links.rates[number], route);
        self.links.ensure_ingress(number).service = Some(Box::new(service));
        self.links.states[number].scheduled = true;
    }

    /// Enqueues a packet at the scheduled link with index `route` of its route. Returns whether the queue has accepted it.
    #[inline(never)]
    pub(super) fn enqueue_scheduled<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        route: u32,
        packet: &Packet,
    ) -> bool {
        let (id, now) = (self.routes[route as usize].index() as u32, event_queue.now());
        let ingress = self.links.states[id as usize].ingress as usize;
        let mut packet = Packet { route, ..*packet };
        let mut effect = if self.links.copying { self.links.effect } else { Effect::default() };
        if !self.links.ingress[ingress].impairments.is_empty() {
            let refused = self.links.ingress[ingress].impair(now, &packet, self.links.copying, &mut effect);
            if let Some(reason) = refused
                && !self.links.ingress[ingress].keeps(&packet, reason)
            {
                self.links.drop_packet(tap, id, now, &packet, reason);
                return false;
            }
            if effect.mark && !self.links.ingress[ingress].unmarks(&packet) {
                if T::PACKETS {
                    report(tap, id, now, false, &packet, || Some(Rule::Script));
                }
                packet.ecn = Ecn::Ce;
            }
        }
        let Some(mut service) = self.links.ingress[ingress].service.take() else { return false };
        let waiting = Waiting { packet, arrived: now, effect, marked: None };
        let accepted = if let Transmitter::Medium(direction) = service.transmitter {
            self.offer_to_medium(event_queue, tap, &mut service, id, direction, waiting)
        } else {
            self.offer(event_queue, tap, &mut service, id, waiting)
        };
        self.links.ingress[ingress].service = Some(service);
        if accepted && effect.duplicate {
            (self.links.copying, self.links.effect) = (true, effect);
            let copied = self.enqueue_scheduled(event_queue, tap, route, &packet);
            if copied {
                self.links.payload_changes.note_copy(&packet);
            }
            self.links.copying = false;
        }
        accepted
    }

    /// Offers a packet to the discipline, and starts its transmission if the transmitter is idle.
    #[inline(always)] // or a packet pays a call for it
    fn offer<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        service: &mut Service,
        id: u32,
        packet: Waiting,
    ) -> bool {
        let now = packet.arrived;
        let cause = if service.departures_first { Time::NEVER } else { self.links.cause };
        let after_departure = cause >= service.serving_since;
        if after_departure && service.due == now {
            self.start_at_arrival(event_queue, tap, service, id);
        }
        let link = &self.links.states[id as usize];
        let free = link.free_at < now || link.free_at == now && after_departure;
        let idle = free && service.waiting() == 0;
        let transmitter = if idle { TransmitterState::Idle } else { TransmitterState::Busy };
        if !self.links.admit_scheduled(tap, service, id, packet, transmitter) {
            return false;
        }
        if service.due == Time::NEVER && service.waiting() > 0 {
            let ready = service.transmitter.ready_at(now.max(self.links.states[id as usize].free_at));
            if idle && ready == now {
                self.start_at_arrival(event_queue, tap, service, id);
            } else {
                service.schedule(event_queue, ready);
            }
        }
        true
    }

    /// Starts the transmission of the next packet of link `id`, if its time has come; the item can be void.
    #[inline(never)] // keeps the path of links that are not scheduled short
    pub(super) fn serve<T: Tap>(&mut self, event_queue: &mut EventQueue<Packet>, tap: &mut T, id: u32) {
        let ingress = self.links.states[id as usize].ingress as usize;
        let Some(mut service) = self.links.ingress[ingress].service.take() else { return };
        if service.due == event_queue.now() {
            self.start(event_queue, tap, &mut service, id);
        }
        self.links.ingress[ingress].service = Some(service);
    }

    /// Starts a transmission at the arrival of a packet, which is rare on a busy link.
    #[inline(never)]
    fn start_at_arrival<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        service: &mut Service,
        id: u32,
    ) {
        self.start(event_queue, tap, service, id);
    }

    /// Starts the transmission of the next packet now.
    #[inline(always)] // or each departure pays a call for it
    fn start<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        service: &mut Service,
        id: u32,
    ) {
        let now = event_queue.now();
        let ingress = self.links.states[id as usize].ingress as usize;
        let impaired = !self.links.ingress[ingress].impairments.is_empty();
        let mut resumed = if impaired { self.links.ingress[ingress].after_stalls(now) } else { now };
        if let Some(tables) = &mut self.tables {
            resumed = tables.terminal_ready(id, resumed);
        }
        if resumed > now {
            return service.schedule(event_queue, resumed);
        }
        service.due = Time::NEVER;
        let Some(mut next) = self.links.take_waiting(tap, service, id, 0, now, impaired) else {
            return self.links.local.wake(event_queue);
        };
        service.left(&next);
        if next.marked.is_some() {
            self.links.leave_marked(tap, service, id, now, &mut next, impaired);
        }
        service.serving_since = now;
        // After a hand-off of its terminal the packet waits at the transmitter.
        let (mut header, mut begin, mut by_table) = (0, now, None);
        if let Some(tables) = &mut self.tables {
            let hop = tables.hop_of(next.packet.route);
            (header, begin) = (tables.header(hop.port), tables.not_before(hop.port, now));
            by_table = Some(hop);
        }
        let link = &mut self.links.states[id as usize];
        let size = next.packet.size + header;
        let busy = link.transmission_time(size, || service.nominal);
        let depart = match service.transmitter {
            Transmitter::Constant(_) => begin + busy,
            ref mut varying => varying.transmit(begin, size),
        };
        if service.waiting() > 0 {
            let ready = service.transmitter.ready_at(depart);
            service.schedule(event_queue, ready);
        }
        link.free_at = depart;
        if depart <= self.links.border {
            link.busy = link.busy + busy;
        } else {
            let transmitter = &service.transmitter;
            self.links.count_late(id, busy, |end| transmitter.busy_after(end, depart, size, busy));
        }
        if service.local {
            self.links.local.leaves(id, next.packet.flow, next.packet.size, depart);
            self.links.local.wake(event_queue);
        }
        self.links.count_sojourn(id, next.arrived, begin);
        if T::PACKETS {
            let step = PacketStep::Depart;
            tap.packet(&PacketEvent { at: depart, link: LinkId(id), step, packet: next.packet, node: None });
        }
        let ingress = &mut self.links.ingress[ingress];
        if impaired && ingress.loses() && !ingress.keeps(&next.packet, DropReason::Loss) {
            self.links.lose(tap, id, &next.packet, DropReason::Loss);
            return self.links.payload_changes.note_drop(&next.packet);
        }
        if !next.effect.displaces() {
            let Some(hop) = by_table else {
                let transmission = TransmissionStart { route: next.packet.route, id, start: now };
                let arrival = self.propagate(event_queue, tap, transmission, &next.packet);
                return self.early.keep(arrival, &next.packet);
            };
            if !self.propagate_by_table(event_queue, tap, hop, begin, &next.packet, None) {
                self.links.payload_changes.note_drop(&next.packet);
            }
            return;
        }
        let arrival = self.links.displace(id, depart, &next.effect);
        let transmission = TransmissionStart { route: next.packet.route, id, start: now };
        schedule(&mut self.links.states[id as usize].hint, event_queue, transmission, arrival, &next.packet);
    }
}
