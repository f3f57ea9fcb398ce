//! Between routing and MAC: address resolution, and the interface queue (docs/specs/manet.md section 4).

use super::store::{BROADCAST, Payload, QueuedFrame};
use super::{Clock, PacketFate, Radio, RadioTimer};
use std::collections::{BTreeMap, VecDeque};
use units::{Span, Time};

/// What a node knows of a neighbour's address.
#[derive(Clone, Copy, Debug, Default)]
struct Address {
    known: bool,
    requests: u8,
    /// The packet that waits for it.
    held: Option<QueuedFrame>,
}

/// A node's addresses and queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Interface {
    addresses: BTreeMap<u32, Address>,
    queue: VecDeque<QueuedFrame>,
    /// What is between routing and queue, and until when.
    descending: VecDeque<(Time, QueuedFrame)>,
}

/// Requests for an address before its packets fail.
const ARP_REQUESTS: u8 = 3;
const ARP_BYTES: u32 = 28;
const ARP_JITTER: Span = Span::from_ms(1);

impl Radio {
    /// Sends an item to its next hop, whose address may have to be asked for.
    pub(super) fn send_down(&mut self, clock: &mut Clock, node: u32, item: QueuedFrame) {
        if !self.arp || item.next == BROADCAST {
            return self.descend(clock, node, item);
        }
        let address = self.interfaces[node as usize].addresses.entry(item.next).or_default();
        if address.known {
            return self.descend(clock, node, item);
        }
        if address.requests >= ARP_REQUESTS {
            address.requests = 0;
            for item in [address.held.take(), Some(item)].into_iter().flatten() {
                self.link_failed(clock, node, item, PacketFate::Arp);
            }
            return;
        }
        address.requests += 1;
        if let Some(before) = address.held.replace(item) {
            self.drop_item(clock.now(), node, before, PacketFate::Arp);
        }
        self.send_arp(clock, node, BROADCAST, Payload::ArpRequest { from: node, target: item.next });
    }

    fn send_arp(&mut self, clock: &mut Clock, node: u32, next: u32, payload: Payload) {
        let payload = self.store.put(payload);
        let item = QueuedFrame { payload, next, bytes: ARP_BYTES, hops: 0, ttl: 1, urgent: false };
        if next == BROADCAST && !self.timing.always_back_off {
            // Without a backoff before it, two that ask at the same instant would for ever do so.
            return self.jittered(clock, node, item, ARP_JITTER);
        }
        self.descend(clock, node, item);
    }

    /// On its path to the queue an item takes the link layer's time.
    fn descend(&mut self, clock: &mut Clock, node: u32, item: QueuedFrame) {
        if self.link_delay == Span::ZERO {
            return self.enqueue(clock, node, item);
        }
        let at = clock.now() + self.link_delay;
        let descending = &mut self.interfaces[node as usize].descending;
        if descending.is_empty() {
            clock.set(node, RadioTimer::Interface, at);
        }
        descending.push_back((at, item));
    }

    pub(super) fn on_interface(&mut self, clock: &mut Clock, node: u32) {
        while let Some(&(at, item)) = self.interfaces[node as usize].descending.front() {
            if at > clock.now() {
                return clock.set(node, RadioTimer::Interface, at);
            }
            self.interfaces[node as usize].descending.pop_front();
            self.enqueue(clock, node, item);
        }
    }

    /// `neighbour` has told its address; `asks` wants to know ours.
    pub(super) fn on_arp(&mut self, clock: &mut Clock, node: u32, neighbour: u32, asks: Option<u32>) {
        if !self.arp {
            return;
        }
        let address = self.interfaces[node as usize].addresses.entry(neighbour).or_default();
        address.known = true;
        if let Some(item) = address.held.take() {
            self.descend(clock, node, item);
        }
        if let Some(asks) = asks {
            self.send_arp(clock, node, asks, Payload::ArpReply { from: node });
        }
    }

    /// Puts an item before the MAC.
    fn enqueue(&mut self, clock: &mut Clock, node: u32, item: QueuedFrame) {
        let queue = &mut self.interfaces[node as usize].queue;
        if queue.is_empty() && self.stations[node as usize].current.is_none() {
            return self.load(clock, node, item);
        }
        let refused = if item.urgent {
            queue.push_front(item);
            if queue.len() > self.queue { queue.pop_back() } else { None }
        } else if queue.len() >= self.queue {
            Some(item)
        } else {
            queue.push_back(item);
            None
        };
        if let Some(refused) = refused {
            self.drop_item(clock.now(), node, refused, PacketFate::Queue);
        }
    }

    /// The MAC has nothing left to send.
    pub(super) fn load_next(&mut self, clock: &mut Clock, node: u32) {
        if let Some(item) = self.interfaces[node as usize].queue.pop_front() {
            self.load(clock, node, item);
        }
    }

    /// Drops everything that waits for a neighbour that is gone.
    pub(super) fn drop_queued(&mut self, now: Time, node: u32, neighbour: u32) {
        let queue = &mut self.interfaces[node as usize].queue;
        let gone: Vec<QueuedFrame> = queue.iter().filter(|item| item.next == neighbour).copied().collect();
        queue.retain(|item| item.next != neighbour);
        for item in gone {
            self.drop_item(now, node, item, PacketFate::Broken);
        }
    }

    /// The link to an item's next hop failed, or its address could not be had.
    pub(super) fn link_failed(&mut self, clock: &mut Clock, node: u32, item: QueuedFrame, fate: PacketFate) {
        let data = matches!(self.store.get(item.payload), Payload::Data { .. });
        if self.aodv.is_some() && data {
            self.route_failed(clock, node, item, fate);
        } else {
            self.drop_item(clock.now(), node, item, fate);
        }
    }
}
