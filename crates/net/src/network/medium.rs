//! Media: links whose packets leave when the medium that they share serves them.

use super::Network;
use super::transit::schedule;
use crate::ids::LinkId;
use crate::links::{Links, TransmitterState};
use crate::medium::{Medium, MediumKind};
use crate::next_hop::{Hop, TransmissionStart};
use crate::packet::{Packet, PacketKind};
use crate::qdisc::scheduled::Waiting;
use crate::service::Service;
use crate::tap::{DropReason, PacketEvent, PacketStep, Tap};
use crate::transmitter::MediumDirection;
use crate::turn::{Queues, Released};
use engine::EventQueue;
use units::Time;

/// The queues of the links while a medium serves them.
pub(super) struct LinkQueues<'a, T: Tap> {
    pub links: &'a mut Links,
    pub tap: &'a mut T,
    pub now: Time,
}

impl<T: Tap> LinkQueues<'_, T> {
    fn service(&self, link: u32) -> Option<&Service> {
        let ingress = self.links.states[link as usize].ingress as usize;
        self.links.ingress[ingress].service.as_deref()
    }
}

impl<T: Tap> Queues for LinkQueues<'_, T> {
    fn waiting(&self, link: u32) -> u64 {
        self.service(link).map_or(0, Service::waiting)
    }

    fn bytes(&self, link: u32) -> u64 {
        self.service(link).map_or(0, |service| service.bytes())
    }

    fn waits(&self, link: u32, place: usize) -> bool {
        self.service(link).is_some_and(|service| service.waits(place))
    }

    fn next_of(&mut self, link: u32, place: usize) -> Option<Waiting> {
        self.links.take_for_medium(self.tap, link, place, self.now)
    }
}

impl Network {
    /// Adds a medium and returns its number. Call it before adding routes.
    pub fn add_medium(&mut self, kind: MediumKind) -> u32 {
        let number = self.media.len() as u32;
        let route = self.routes.len() as u32;
        self.routes.extend([Hop::LOOKUP, Hop::medium(number)]);
        self.media.push(Medium::new(kind, Packet::new(PacketKind::Udp, 0, route, 0, 0, Time::ZERO)));
        number
    }

    /// Offers a packet to the queue of link `id`, which transmits as a direction of a medium.
    #[inline(never)]
    pub(super) fn offer_to_medium<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        service: &mut Service,
        id: u32,
        direction: MediumDirection,
        packet: Waiting,
    ) -> bool {
        let place = service.scheduler.place(&packet.packet);
        let MediumDirection { medium, first } = direction;
        let direction = first + place as u32;
        let full = self.media[medium as usize].refuses(direction);
        let transmitter = if full { TransmitterState::Full } else { TransmitterState::Busy };
        if !self.links.admit_scheduled(tap, service, id, packet, transmitter) {
            return false;
        }
        if service.waits(place) {
            let medium = &mut self.media[medium as usize];
            medium.arrived(direction, packet.arrived);
            medium.schedule(event_queue);
        }
        true
    }

    /// Serves the links of medium `number`, if its time has come; the item can be void.
    #[inline(never)] // keeps the path of other scheduled links short
    pub(super) fn serve_medium<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        number: u32,
    ) {
        let now = event_queue.now();
        if self.media[number as usize].due != now {
            return;
        }
        let mut media = std::mem::take(&mut self.media);
        let medium = &mut media[number as usize];
        medium.due = Time::NEVER;
        let observed = T::PACKETS && tap.wants_transmissions();
        let turn = medium.serve(now, &mut LinkQueues { links: &mut self.links, tap, now }, observed);
        medium.schedule(event_queue);
        self.media = media;
        turn.transmissions.iter().flatten().for_each(|transmission| tap.transmission(transmission));
        for (link, used) in turn.usage {
            self.links.count_usage(link, now, used);
        }
        for (link, end, released) in turn.released {
            self.release(event_queue, tap, link, now, end, &released);
        }
        self.links.local.wake(event_queue);
    }

    /// A packet leaves a receiver at `end`, after a transmission that began at `start`.
    fn release<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        id: u32,
        start: Time,
        end: Time,
        released: &Released,
    ) {
        let packet = &released.packet.packet;
        self.links.states[id as usize].free_at = end;
        if T::PACKETS {
            let step = PacketStep::Depart;
            tap.packet(&PacketEvent { at: end, link: LinkId(id), step, packet: *packet, node: None });
        }
        let ingress = &mut self.links.ingress[self.links.states[id as usize].ingress as usize];
        if ingress.service.as_ref().is_some_and(|service| service.local) {
            self.links.local.leaves(id, packet.flow, packet.size, end);
        }
        let impaired = !ingress.impairments.is_empty();
        let lost = released.lost.or_else(|| (impaired && ingress.loses()).then_some(DropReason::Loss));
        if let Some(reason) = lost.filter(|reason| !ingress.keeps(packet, *reason)) {
            self.links.lose(tap, id, packet, reason);
            return self.links.payload_changes.note_drop(packet);
        }
        if let Some(sojourns) = &mut self.links.sojourns {
            sojourns.record_delay(id, released.packet.arrived, end);
        }
        let effect = &released.packet.effect;
        let transmission = TransmissionStart { route: packet.route, id, start };
        if !effect.displaces() {
            let arrival = self.propagate(event_queue, tap, transmission, packet);
            return self.early.keep(arrival, packet);
        }
        let arrival = self.links.displace(id, end, effect);
        schedule(&mut self.links.states[id as usize].hint, event_queue, transmission, arrival, packet);
    }
}
