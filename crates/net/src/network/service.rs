//! Scheduled links: the discipline is asked at each departure which packet leaves next.
//!
//! A timer stands for the end of the transmission, or for the next time at which the transmitter is ready. If a packet
//! arrives at that very time, the rule of [`crate::qdisc::Offer::before_departure`] defines which comes first, as on other
//! links.

use super::Network;
use crate::ids::LinkId;
use crate::link::IngressState;
use crate::packet::{Ecn, Packet};
use crate::qdisc::scheduled::{Scheduler, Waiting};
use crate::service::Service;
use crate::tap::{DropReason, PacketEvent, PacketStep, Tap};
use crate::transmitter::Transmitter;
use engine::EventQueue;
use units::{Span, Time};

impl Network {
    /// Replaces the queue of link `link` by a discipline that is asked at each departure. `timer` is a timer of the event
    /// queue; when it expires, call [`Network::serve`]. Call it before adding routes.
    pub fn set_scheduler(
        &mut self,
        link: LinkId,
        scheduler: Scheduler,
        transmitter: Transmitter,
        timer: u32,
    ) {
        let number = link.0 as usize;
        if self.links[number].ingress == super::NO_INGRESS {
            self.links[number].ingress = self.ingress.len() as u32;
            self.ingress.push(IngressState::default());
        }
        self.ingress[self.links[number].ingress as usize].service =
            Some(Box::new(Service::new(scheduler, transmitter, self.rates[number], timer)));
    }

    fn service(&mut self, id: u32) -> (&mut Service, &mut crate::link::Link) {
        let link = &mut self.links[id as usize];
        let service = self.ingress[link.ingress as usize].service.as_deref_mut();
        (service.unwrap_or_else(|| unreachable!("the link is scheduled")), link)
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
        let (id, now, cause) = (self.routes[route as usize].index() as u32, event_queue.now(), self.cause);
        let mut packet = Packet { route, ..*packet };
        let ingress = &mut self.ingress[self.links[id as usize].ingress as usize];
        if let Some(reason) = ingress.impair(now, &packet, self.copying, &mut self.effect) {
            self.drop_packet(tap, id, now, &packet, reason);
            return false;
        }
        let effect = self.effect;
        if effect.mark {
            packet.ecn = Ecn::Ce;
        }
        let (service, _) = self.service(id);
        let after_departure = cause >= service.serving_since;
        if after_departure && event_queue.timer(service.timer) == now {
            self.serve(event_queue, tap, LinkId(id));
        }
        let (service, link) = self.service(id);
        let free = link.free_at < now || link.free_at == now && cause >= service.serving_since;
        let idle = free && service.waiting() == 0;
        let waiting =
            Waiting { packet, arrived: now, late: effect.delay, ordered: effect.ordered, marked: false };
        if !service.scheduler.enqueue(waiting, idle, &mut service.drops) {
            self.drop_packet(tap, id, now, &packet, DropReason::Queue);
            return false;
        }
        service.arrived(now);
        link.accepted += 1;
        if T::PACKETS {
            let step = PacketStep::Enqueue;
            tap.packet(&PacketEvent { at: now, link: LinkId(id), step, packet, node: None });
        }
        self.discard(tap, id, now);
        let (service, link) = self.service(id);
        if event_queue.timer(service.timer) == Time::NEVER {
            let ready = service.transmitter.ready_at(now.max(link.free_at));
            if idle && ready == now {
                self.serve(event_queue, tap, LinkId(id));
            } else {
                event_queue.set_timer(service.timer, ready);
            }
        }
        if effect.duplicate {
            self.copying = true;
            self.enqueue_scheduled(event_queue, tap, route, &packet);
            self.copying = false;
        }
        true
    }

    /// Accounts and reports the packets that the discipline of link `id` has dropped.
    fn discard<T: Tap>(&mut self, tap: &mut T, id: u32, now: Time) {
        let (service, _) = self.service(id);
        if service.drops.is_empty() {
            return;
        }
        let mut drops = std::mem::take(&mut service.drops);
        for dropped in drops.drain(..) {
            let (service, link) = self.service(id);
            service.left(&dropped);
            link.waited += dropped.sojourn(now).ps() as f64;
            self.drop_packet(tap, id, now, &dropped.packet, DropReason::Aqm);
            self.forget_options(&dropped.packet);
        }
        self.service(id).0.drops = drops;
    }

    /// Keeps the options of a packet that was dropped after its queue had accepted it.
    fn forget_options(&mut self, packet: &Packet) {
        if packet.has_options() {
            self.dropped_options.push(packet.options);
        }
    }

    /// The options of a packet that was dropped in a scheduled queue; to be called until there are no more.
    pub fn dropped_options(&mut self) -> Option<u32> {
        self.dropped_options.pop()
    }

    /// Starts the transmission of the next packet of scheduled link `link`, whose timer has expired.
    pub fn serve<T: Tap>(&mut self, event_queue: &mut EventQueue<Packet>, tap: &mut T, link: LinkId) {
        let (id, now) = (link.0, event_queue.now());
        let ingress = &self.ingress[self.links[id as usize].ingress as usize];
        let resumed = ingress.after_stalls(now);
        let (service, _) = self.service(id);
        let timer = service.timer;
        if resumed > now {
            return event_queue.set_timer(timer, resumed);
        }
        let next = service.scheduler.dequeue(now, &mut service.drops);
        self.discard(tap, id, now);
        let Some(next) = next else { return event_queue.set_timer(timer, Time::NEVER) };
        let (service, state) = self.service(id);
        service.left(&next);
        service.serving_since = now;
        let depart = service.transmitter.transmit(now, next.packet.size);
        let busy = match service.transmitter.constant() {
            true => depart.since(now),
            false => service.mean.time_for(next.packet.size as u64),
        };
        state.free_at = depart;
        state.waited += next.sojourn(now).ps() as f64;
        let again = service.waiting() > 0;
        event_queue.set_timer(timer, if again { service.transmitter.ready_at(depart) } else { Time::NEVER });
        self.count_busy(id, now, depart, busy);
        let ingress = &mut self.ingress[self.links[id as usize].ingress as usize];
        ingress.marked += next.marked as u64;
        let lost = ingress.loses();
        if T::PACKETS {
            let step = PacketStep::Depart;
            tap.packet(&PacketEvent { at: depart, link, step, packet: next.packet, node: None });
        }
        if lost {
            self.lose(tap, id, &next.packet, DropReason::Loss);
            return self.forget_options(&next.packet);
        }
        let state = &mut self.links[id as usize];
        let arrival = ingress.in_order(depart + state.delay + next.late, next.ordered);
        event_queue.push(arrival, &next.packet, &mut state.hint, |packet| {
            packet.began = now;
        });
    }

    /// Counts the transmission of a packet: `busy` of the time from `start` to `depart`.
    fn count_busy(&mut self, id: u32, start: Time, depart: Time, busy: Span) {
        let link = &mut self.links[id as usize];
        if depart <= self.border {
            link.busy = link.busy + busy;
            return;
        }
        let before = |end: Time| {
            let whole = depart.since(start).ps().max(1);
            Span::from_ps(
                (busy.ps() as u128 * end.since(start.min(end)).ps().min(whole) as u128 / whole as u128)
                    as u64,
            )
        };
        let counted = before(self.horizon);
        link.busy = link.busy + counted;
        if let Some(beyond) = self.beyond.get_mut(id as usize) {
            beyond.busy = beyond.busy + (counted - before(self.border));
        }
    }
}
