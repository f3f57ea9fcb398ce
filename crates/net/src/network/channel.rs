//! Wi-Fi channels: links whose packets leave when their channel has an access for them.

use super::{NO_INGRESS, Network, report};
use crate::ids::LinkId;
use crate::next_hop::Hop;
use crate::packet::{Packet, PacketKind};
use crate::qdisc::scheduled::{Point, Waiting};
use crate::service::Service;
use crate::tap::{DropReason, PacketEvent, PacketStep, Tap};
use crate::wifi::{
    Access, Category, Channel, ChannelOptions, DirectionOptions, Ppdu, Queues, Released, StationScheduler,
};
use engine::{EventQueue, Stream, Tie};
use units::{Span, Time};

/// The queues of the links during an access.
struct LinkQueues<'a, T: Tap> {
    network: &'a mut Network,
    tap: &'a mut T,
    now: Time,
}

impl<T: Tap> Queues for LinkQueues<'_, T> {
    fn waits(&self, link: u32) -> bool {
        let ingress = self.network.links[link as usize].ingress as usize;
        self.network.ingress[ingress].waiting() > 0
    }

    fn next(&mut self, link: u32) -> Option<Waiting> {
        self.network.take_for_channel(self.tap, link, self.now)
    }
}

impl Network {
    /// Adds a Wi-Fi channel and returns its number. Call it before adding routes.
    pub fn add_channel(&mut self, name: &str, options: ChannelOptions) -> u32 {
        let number = self.channels.len() as u32;
        let route = self.routes.len() as u32;
        self.routes.extend([Hop::LOOKUP, Hop::channel(number)]);
        let item = Packet::new(PacketKind::Udp, 0, route, 0, 0, Time::ZERO);
        self.channels.push(Channel::new(name.into(), options, item));
        number
    }

    /// Adds a device to a channel: its access parameters, how it chooses among its links, and the random numbers of its
    /// backoff. Returns its number.
    pub fn add_channel_device(
        &mut self,
        channel: u32,
        owner: (u32, Access),
        category: Category,
        scheduler: StationScheduler,
        backoff: Stream,
    ) -> u32 {
        self.channels[channel as usize].add_device(owner, category, scheduler, backoff)
    }

    /// A device of a channel transmits the packets of link `link`, whose transmitter is to be
    /// [`crate::Transmitter::Channel`]. `streams`: random numbers of errors and of samples of rates. Returns the number of
    /// the direction.
    pub fn add_channel_direction(
        &mut self,
        channel: u32,
        device: u32,
        link: LinkId,
        options: DirectionOptions,
        streams: [Stream; 2],
    ) -> u32 {
        self.channels[channel as usize].add_direction(link.0, device, options, streams)
    }

    /// Two directions of a channel are those of one station.
    pub fn pair_channel_directions(&mut self, channel: u32, down: u32, up: u32) {
        self.channels[channel as usize].pair(down, up);
    }

    /// The channels.
    pub fn channels(&self) -> &[Channel] {
        &self.channels
    }

    /// Offers a packet to the queue of a direction: its link, its channel and its number there.
    #[inline(never)]
    pub(super) fn offer_to_channel<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        service: &mut Service,
        (id, channel, direction): (u32, u32, u32),
        packet: &Waiting,
    ) -> bool {
        let now = packet.arrived;
        let full = self.channels[channel as usize].refuses(direction);
        let taken = !full && service.scheduler.enqueue(*packet, false, &mut service.drops);
        if !taken && !self.accept_kept(service, id, *packet) {
            if T::PACKETS && !full {
                let rule = || service.scheduler.discipline().rule(packet, now, Point::Arrival);
                report(tap, (id, now, true), &packet.packet, rule);
            }
            self.drop_packet(tap, id, now, &packet.packet, DropReason::Queue);
            return false;
        }
        service.arrived(now);
        self.links[id as usize].accepted += 1;
        if T::PACKETS {
            let step = PacketStep::Enqueue;
            tap.packet(&PacketEvent { at: now, link: LinkId(id), step, packet: packet.packet, node: None });
            report(tap, (id, now, false), &packet.packet, || {
                service.scheduler.discipline().mark_at_arrival(packet)
            });
        }
        if !service.drops.is_empty() {
            self.discard(tap, service, id, now, true);
        }
        if service.waiting() > 0 {
            let channel = &mut self.channels[channel as usize];
            channel.arrived(direction, now);
            schedule(event_queue, channel);
        }
        true
    }

    /// The next access to a channel, if its time has come; the item can be void.
    #[inline(never)] // keeps the path of other scheduled links short
    pub(super) fn access<T: Tap>(&mut self, event_queue: &mut EventQueue<Packet>, tap: &mut T, number: u32) {
        let now = event_queue.now();
        if self.channels[number as usize].due != now {
            return;
        }
        let mut channels = std::mem::take(&mut self.channels);
        let channel = &mut channels[number as usize];
        channel.due = Time::NEVER;
        let mut queues = LinkQueues { network: self, tap, now };
        let mut ppdus: Vec<(u32, Option<Ppdu>, Span)> = Vec::new();
        let devices = channel.begin(now);
        for device in devices.iter().copied() {
            if channel.gives_way(device, ppdus.iter().map(|(other, ..)| *other)) {
                continue;
            }
            if let Some(request) = channel.request(device) {
                ppdus.push((device, None, request));
            } else if let Some(ppdu) = channel.build(device, now, &mut queues) {
                ppdus.push((device, Some(ppdu), Span::ZERO));
            }
        }
        let (mut released, mut usage) = (Vec::new(), Vec::new());
        if ppdus.is_empty() {
            channel.cancel();
        } else {
            channel.access(now, ppdus, &mut released, &mut usage);
        }
        for device in devices {
            channel.contend(device, &queues);
        }
        schedule(event_queue, channel);
        self.channels = channels;
        for (link, airtime) in usage {
            let end = now + airtime;
            if end <= self.border {
                let link = &mut self.links[link as usize];
                link.busy = link.busy + airtime;
            } else {
                self.count_late(link, airtime, |from| end.since(from.max(now).min(end)));
            }
        }
        for (link, end, released) in released {
            self.release(event_queue, tap, link, (now, end), &released);
        }
    }

    /// A packet leaves a receiver at `end`, after an access that began at `start`.
    fn release<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        id: u32,
        (start, end): (Time, Time),
        released: &Released,
    ) {
        let packet = &released.packet.packet;
        self.links[id as usize].free_at = end;
        if T::PACKETS {
            let step = PacketStep::Depart;
            tap.packet(&PacketEvent { at: end, link: LinkId(id), step, packet: *packet, node: None });
        }
        let ingress = &mut self.ingress[self.links[id as usize].ingress as usize];
        let impaired = !ingress.impairments.is_empty();
        let lost = !released.delivered || impaired && ingress.loses();
        if lost && !ingress.keeps(packet, DropReason::Loss) {
            self.lose(tap, id, packet, DropReason::Loss);
            return self.forget_options(packet);
        }
        let effect = &released.packet.effect;
        if !effect.displaces() {
            let arrival = self.propagate(event_queue, tap, (packet.route, id, start), packet);
            return self.keep_received(arrival, packet);
        }
        let link = &mut self.links[id as usize];
        let arrival = ingress.displaced(end + link.delay, effect);
        let tie = Tie::scheduled(arrival, start, id + 1);
        event_queue.push(arrival, tie, packet, &mut link.hint, |packet| packet.began = start);
    }

    /// Takes the next packet from the queue of link `id` for a transmission that begins now.
    fn take_for_channel<T: Tap>(&mut self, tap: &mut T, id: u32, now: Time) -> Option<Waiting> {
        let ingress = self.links[id as usize].ingress;
        debug_assert!(ingress != NO_INGRESS);
        let mut service = self.ingress[ingress as usize].service.take()?;
        let next = service.scheduler.dequeue(now, &mut service.drops);
        if !service.drops.is_empty() {
            self.discard(tap, &mut service, id, now, false);
        }
        if let Some(next) = &next {
            service.left(next);
            self.count_sojourn(id, next.arrived, now);
            self.ingress[ingress as usize].marked += next.marked as u64;
            if T::PACKETS && next.marked {
                let rule = || service.scheduler.discipline().rule(next, now, Point::Mark);
                report(tap, (id, now, false), &next.packet, rule);
            }
        }
        self.ingress[ingress as usize].service = Some(service);
        next
    }
}

/// Puts the next access into the event queue, if it is earlier than the one that is there.
fn schedule(event_queue: &mut EventQueue<Packet>, channel: &mut Channel) {
    if let Some(at) = channel.next_access()
        && at < channel.due
    {
        channel.due = at;
        let tie = Tie::scheduled(at, event_queue.now(), 0);
        event_queue.push(at, tie, &channel.item, &mut channel.hint, |_| {});
    }
}
