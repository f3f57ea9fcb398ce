//! Scheduled links: the discipline is asked at each departure which packet leaves next.
//!
//! An item in the event queue stands for the end of the transmission, or for the next time at which the transmitter is
//! ready. If a packet arrives at that very time, the rule of [`crate::qdisc::Offer::before_departure`] defines which comes
//! first, as on other links.

use super::{NO_INGRESS, Network, report};
use crate::ids::LinkId;
use crate::impairment::Effect;
use crate::link::IngressState;
use crate::next_hop::Hop;
use crate::packet::{Ecn, Packet};
use crate::qdisc::scheduled::{Point, Scheduler, Waiting};
use crate::rule::Rule;
use crate::service::Service;
use crate::tap::{DropReason, PacketEvent, PacketStep, Tap};
use crate::transmitter::Transmitter;
use engine::{EventQueue, Tie};
use units::Time;

impl Network {
    /// Replaces the queue of link `link` by a discipline that is asked at each departure. Call it before adding routes.
    pub fn set_scheduler(&mut self, link: LinkId, scheduler: Scheduler, transmitter: Transmitter) {
        let number = link.0 as usize;
        if self.links[number].ingress == NO_INGRESS {
            self.links[number].ingress = self.ingress.len() as u32;
            self.ingress.push(IngressState::default());
        }
        self.links[number].scheduled = true;
        let route = self.routes.len() as u32;
        self.routes.extend([Hop::LOOKUP, Hop::service(link.0)]);
        let service = Service::new(scheduler, transmitter, self.rates[number], route);
        self.ingress[self.links[number].ingress as usize].service = Some(Box::new(service));
    }

    /// The sender of flow `flow` limits its packets in the queue of `link`, the first of its path, which has a scheduler; `timer`
    /// wakes it.
    pub fn limit_local(&mut self, flow: u32, link: LinkId, timer: u32) {
        let ingress = &mut self.ingress[self.links[link.0 as usize].ingress as usize];
        ingress.service.iter_mut().for_each(|service| service.local = true);
        self.local.add(flow, link.0, timer);
    }

    /// When flow `flow` has at most `limit` bytes in the queue and the device of its host; `None`: now. `NEVER`: its timer is
    /// set when it is known.
    pub fn local_room(&mut self, flow: u32, limit: u64, now: Time) -> Option<Time> {
        self.local.room_at(flow, limit, now)
    }

    /// Sets the timers of senders that have room. After a drop at an arrival it is called at the next departure.
    #[inline(never)] // few senders limit their packets
    pub(super) fn wake_senders(&mut self, event_queue: &mut EventQueue<Packet>) {
        let now = event_queue.now();
        for (timer, at) in self.local.woken() {
            event_queue.set_timer(timer, at.max(now).min(event_queue.timer(timer)));
        }
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
        let ingress = self.links[id as usize].ingress as usize;
        let mut packet = Packet { route, ..*packet };
        let mut effect = if self.copying { self.effect } else { Effect::default() };
        if !self.ingress[ingress].impairments.is_empty() {
            let refused = self.ingress[ingress].impair(now, &packet, self.copying, &mut effect);
            if let Some(reason) = refused
                && !self.ingress[ingress].keeps(&packet, reason)
            {
                self.drop_packet(tap, id, now, &packet, reason);
                return false;
            }
            if effect.mark && !self.ingress[ingress].unmarks(&packet) {
                if T::PACKETS {
                    report(tap, (id, now, false), &packet, || Some(Rule::Script));
                }
                packet.ecn = Ecn::Ce;
            }
        }
        let Some(mut service) = self.ingress[ingress].service.take() else { return false };
        let waiting = Waiting { packet, arrived: now, effect, marked: None };
        let accepted = if let Transmitter::Medium(medium, direction) = service.transmitter {
            self.offer_to_medium(event_queue, tap, &mut service, (id, medium, direction), waiting)
        } else {
            self.offer(event_queue, tap, &mut service, id, waiting)
        };
        self.ingress[ingress].service = Some(service);
        if accepted && effect.duplicate {
            (self.copying, self.effect) = (true, effect);
            let copied = self.enqueue_scheduled(event_queue, tap, route, &packet);
            self.copied(&packet, copied);
            self.copying = false;
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
        let after_departure = self.cause >= service.serving_since;
        if after_departure && service.due == now {
            self.start_at_arrival(event_queue, tap, service, id);
        }
        let link = &self.links[id as usize];
        let free = link.free_at < now || link.free_at == now && self.cause >= service.serving_since;
        let idle = free && service.waiting() == 0;
        if !self.admit_scheduled(tap, service, id, packet, (idle, false)) {
            return false;
        }
        if service.due == Time::NEVER && service.waiting() > 0 {
            let ready = service.transmitter.ready_at(now.max(self.links[id as usize].free_at));
            if idle && ready == now {
                self.start_at_arrival(event_queue, tap, service, id);
            } else {
                service.schedule(event_queue, ready);
            }
        }
        true
    }

    /// Offers a packet to the discipline of link `id`, in front of an `idle` transmitter or not, or to one that is `full` for
    /// another reason; accounts and reports what becomes of it. Returns whether it was accepted.
    #[inline(always)] // or a packet pays a call for it
    pub(super) fn admit_scheduled<T: Tap>(
        &mut self,
        tap: &mut T,
        service: &mut Service,
        id: u32,
        packet: Waiting,
        (idle, full): (bool, bool),
    ) -> bool {
        let now = packet.arrived;
        let accepted = !full && service.scheduler.enqueue(packet, idle, &mut service.drops);
        if !accepted && !self.accept_kept(service, id, packet) {
            if T::PACKETS && !full {
                let rule = || service.scheduler.discipline().rule(&packet, now, Point::Arrival);
                report(tap, (id, now, true), &packet.packet, rule);
            }
            self.drop_packet(tap, id, now, &packet.packet, DropReason::Queue);
            return false;
        }
        service.arrived(now);
        if service.local {
            self.local.arrived(id, packet.packet.flow, packet.packet.size);
        }
        self.links[id as usize].accepted += 1;
        if T::PACKETS {
            let step = PacketStep::Enqueue;
            tap.packet(&PacketEvent { at: now, link: LinkId(id), step, packet: packet.packet, node: None });
            report(tap, (id, now, false), &packet.packet, || {
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
        let ingress = &mut self.ingress[self.links[id as usize].ingress as usize];
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
        let ingress = &mut self.ingress[self.links[id as usize].ingress as usize];
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
                report(tap, (id, now, true), &dropped.packet, rule);
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
            self.forget_options(&dropped.packet);
        }
        service.drops = drops;
    }

    /// Removes the packet that leaves the queue of link `id` now, of the access category at `place`; accounts and reports those
    /// that its discipline drops before it. `impaired`: changes can keep packets, or leave them unmarked.
    #[inline(always)] // or each departure pays a call for it
    pub(super) fn take_waiting<T: Tap>(
        &mut self,
        tap: &mut T,
        service: &mut Service,
        (id, place): (u32, usize),
        now: Time,
        impaired: bool,
    ) -> Option<Waiting> {
        if impaired && !service.front.is_empty() {
            let kept = service.pop_front(place);
            if kept.is_some() {
                return kept;
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

    /// Counts and reports the mark of a packet that leaves the queue of link `id`, unless a change takes it back.
    #[inline(never)] // keeps the path of other packets short
    pub(super) fn leave_marked<T: Tap>(
        &mut self,
        tap: &mut T,
        service: &Service,
        (id, now): (u32, Time),
        next: &mut Waiting,
        impaired: bool,
    ) {
        let ingress = &mut self.ingress[self.links[id as usize].ingress as usize];
        if impaired && ingress.unmarks(&next.packet) {
            return next.unmark();
        }
        ingress.marked += 1;
        if T::PACKETS {
            let rule = || service.scheduler.discipline().rule(next, now, Point::Mark);
            report(tap, (id, now, false), &next.packet, rule);
        }
    }

    /// Notes the options or the bytes of a packet that was dropped after its queue had accepted it.
    pub(super) fn forget_options(&mut self, packet: &Packet) {
        if packet.has_options() {
            self.dropped_options.push(packet.options);
        } else if packet.kind.is_datagram() {
            self.datagram_changes.dropped.push(packet.options);
        }
    }

    /// The options of a packet that was dropped in a scheduled queue; to be called until there are no more.
    pub fn dropped_options(&mut self) -> Option<u32> {
        self.dropped_options.pop()
    }

    /// Starts the transmission of the next packet of link `id`, if its time has come; the item can be void.
    #[inline(never)] // keeps the path of links that are not scheduled short
    pub(super) fn serve<T: Tap>(&mut self, event_queue: &mut EventQueue<Packet>, tap: &mut T, id: u32) {
        let ingress = self.links[id as usize].ingress as usize;
        let Some(mut service) = self.ingress[ingress].service.take() else { return };
        if service.due == event_queue.now() {
            self.start(event_queue, tap, &mut service, id);
        }
        self.ingress[ingress].service = Some(service);
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
        let ingress = self.links[id as usize].ingress as usize;
        let impaired = !self.ingress[ingress].impairments.is_empty();
        let mut resumed = if impaired { self.ingress[ingress].after_stalls(now) } else { now };
        if let Some(tables) = &mut self.tables {
            resumed = tables.terminal_ready(id, resumed);
        }
        if resumed > now {
            return service.schedule(event_queue, resumed);
        }
        service.due = Time::NEVER;
        let Some(mut next) = self.take_waiting(tap, service, (id, 0), now, impaired) else {
            return self.wake_senders(event_queue);
        };
        service.left(&next);
        if next.marked.is_some() {
            self.leave_marked(tap, service, (id, now), &mut next, impaired);
        }
        service.serving_since = now;
        // After a hand-off of its terminal the packet waits at the transmitter.
        let (mut header, mut begin, mut by_table) = (0, now, None);
        if let Some(tables) = &mut self.tables {
            let (port, row) = tables.port_of(next.packet.route);
            (header, begin) = (tables.header(port), tables.not_before(port, now));
            by_table = Some((port, row));
        }
        let link = &mut self.links[id as usize];
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
        if depart <= self.border {
            link.busy = link.busy + busy;
        } else {
            let transmitter = &service.transmitter;
            self.count_late(id, busy, |end| transmitter.busy_after(end, depart, size, busy));
        }
        if service.local {
            self.local.leaves(id, next.packet.flow, next.packet.size, depart);
            self.wake_senders(event_queue);
        }
        self.count_sojourn(id, next.arrived, begin);
        if T::PACKETS {
            let step = PacketStep::Depart;
            tap.packet(&PacketEvent { at: depart, link: LinkId(id), step, packet: next.packet, node: None });
        }
        let ingress = &mut self.ingress[ingress];
        if impaired && ingress.loses() && !ingress.keeps(&next.packet, DropReason::Loss) {
            self.lose(tap, id, &next.packet, DropReason::Loss);
            return self.forget_options(&next.packet);
        }
        if !next.effect.displaces() {
            let Some((port, row)) = by_table else {
                let arrival = self.propagate(event_queue, tap, (next.packet.route, id, now), &next.packet);
                return self.keep_received(arrival, &next.packet);
            };
            if !self.propagate_by_table(event_queue, tap, (port, row, begin), &next.packet, None) {
                self.forget_options(&next.packet);
            }
            return;
        }
        let link = &mut self.links[id as usize];
        let arrival = ingress.displaced(depart + link.delay, &next.effect);
        let tie = Tie::scheduled(arrival, now, id + 1);
        event_queue.push(arrival, tie, &next.packet, &mut link.hint, |packet| packet.began = now);
    }
}
