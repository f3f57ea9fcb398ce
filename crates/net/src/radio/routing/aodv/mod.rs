//! Ad-hoc on-demand distance vector routing: RFC 3561, and its variant in ns-2.35 (docs/specs/manet.md section 5).

mod config;
mod links;
mod messages;
mod route;

pub use config::AodvConfig;

use super::protocol::{Deferred, Routing, RoutingContext, RoutingTimer};
use crate::radio::fate::PacketFate;
use crate::radio::message::{Request, RoutingMessage};
use crate::radio::store::{BROADCAST, QueuedFrame};
use route::{AodvRoute, RouteState};
use std::collections::{BTreeMap, VecDeque};
use units::{Span, Time};

/// A timer of AODV.
#[derive(Clone, Copy, Debug, PartialEq)]
enum AodvTimer {
    /// Expired routes are removed.
    Purge,
    /// A hello message is due.
    Hello,
    /// Neighbours without hello messages are removed.
    Neighbours,
    /// A discovery of this destination had no answer.
    Retry(u32),
    /// A local repair of the route to this destination had no success.
    Repair(u32),
}

impl From<AodvTimer> for Deferred {
    fn from(timer: AodvTimer) -> Deferred {
        let (kind, about) = match timer {
            AodvTimer::Purge => (0, 0),
            AodvTimer::Hello => (1, 0),
            AodvTimer::Neighbours => (2, 0),
            AodvTimer::Retry(to) => (3, to),
            AodvTimer::Repair(to) => (4, to),
        };
        Deferred::Timer(RoutingTimer { kind, about })
    }
}

impl From<RoutingTimer> for AodvTimer {
    fn from(timer: RoutingTimer) -> AodvTimer {
        match timer.kind {
            0 => AodvTimer::Purge,
            1 => AodvTimer::Hello,
            2 => AodvTimer::Neighbours,
            3 => AodvTimer::Retry(timer.about),
            _ => AodvTimer::Repair(timer.about),
        }
    }
}

/// AODV at one node.
#[derive(Clone)]
pub(crate) struct Aodv {
    config: AodvConfig,
    seq: u32,
    requests: u32,
    routes: BTreeMap<u32, AodvRoute>,
    /// Requests received: originator and number, and the time until which they are remembered.
    seen: BTreeMap<(u32, u32), Time>,
    /// Packets without a route: destination, and the time until which they may wait.
    buffer: VecDeque<(QueuedFrame, u32, Time)>,
    /// Neighbours known by their hello messages, and the time until which they are.
    neighbours: BTreeMap<u32, Time>,
    /// Times of the last requests sent.
    sent: VecDeque<Time>,
}

const PURGE: Span = Span::from_ms(500);
const SECOND: Span = Span::from_ms(1000);

/// Whether sequence number `a` is newer than `b`: ns-2 compares them as integers, the RFC modulo 2^32.
fn newer(ns2: bool, a: u32, b: u32) -> bool {
    if ns2 { a > b } else { (a.wrapping_sub(b) as i32) > 0 }
}

impl Routing for Aodv {
    fn start(&mut self, cx: &mut RoutingContext<'_>) {
        cx.later(cx.now + PURGE, AodvTimer::Purge);
        if self.config.hello.is_some() {
            cx.later(cx.now, AodvTimer::Hello);
            cx.later(cx.now + SECOND, AodvTimer::Neighbours);
        }
    }

    fn on_packet(&mut self, cx: &mut RoutingContext<'_>, frame: QueuedFrame) {
        self.resolve(cx, frame);
    }

    fn on_message(&mut self, cx: &mut RoutingContext<'_>, from: u32, ttl: u8, message: &RoutingMessage) {
        match message {
            RoutingMessage::Request(request) => self.on_request(cx, from, ttl, *request),
            RoutingMessage::Reply(reply) => self.on_reply(cx, from, *reply),
            RoutingMessage::Error(list) => self.on_error(cx, from, list),
        }
    }

    fn on_link_failure(&mut self, cx: &mut RoutingContext<'_>, frame: QueuedFrame, fate: PacketFate) {
        self.route_failed(cx, frame, fate);
    }

    fn on_timer(&mut self, cx: &mut RoutingContext<'_>, timer: RoutingTimer) {
        let now = cx.now;
        match timer.into() {
            AodvTimer::Purge => {
                self.purge(cx);
                cx.later(now + PURGE, AodvTimer::Purge);
            }
            AodvTimer::Hello => self.hello(cx),
            AodvTimer::Neighbours => {
                self.purge_neighbours(cx);
                cx.later(now + SECOND, AodvTimer::Neighbours);
            }
            AodvTimer::Retry(to) => self.retry(cx, to),
            AodvTimer::Repair(to) => self.end_repair(cx, to),
        }
    }

    fn next_hop(&self, to: u32, now: Time) -> Option<u32> {
        self.usable(to, now).map(|route| route.next)
    }

    fn udp_header(&self) -> u32 {
        self.config.ip_header
    }

    fn initial_ttl(&self) -> u8 {
        self.config.net_diameter
    }
    fn copied(&self) -> Box<dyn Routing> {
        Box::new(self.clone())
    }
}

impl Aodv {
    pub fn new(config: AodvConfig) -> Aodv {
        Aodv {
            config,
            seq: 2,
            requests: 1,
            routes: BTreeMap::new(),
            seen: BTreeMap::new(),
            buffer: VecDeque::new(),
            neighbours: BTreeMap::new(),
            sent: VecDeque::new(),
        }
    }

    /// The route to `to` if it can be used now.
    fn usable(&self, to: u32, now: Time) -> Option<&AodvRoute> {
        let ns2 = self.config.ns2;
        self.routes.get(&to).filter(|r| r.state == RouteState::Up && (ns2 || r.expire > now))
    }

    /// Sends a message to neighbour `next`, with or without a random delay.
    fn send_message(
        &mut self,
        cx: &mut RoutingContext<'_>,
        next: u32,
        ttl: u8,
        jitter: bool,
        message: RoutingMessage,
    ) {
        let size = match &message {
            RoutingMessage::Request(_) => self.config.request_bytes,
            RoutingMessage::Reply(_) => self.config.reply_bytes,
            RoutingMessage::Error(list) => 4 + 8 * list.len() as u32,
        };
        cx.send_message(
            next,
            ttl,
            self.config.ip_header + size,
            jitter.then_some(self.config.jitter),
            message,
        );
    }

    /// Forwards a packet at its source or at an intermediate node. Without a route, buffers or drops the packet.
    fn resolve(&mut self, cx: &mut RoutingContext<'_>, item: QueuedFrame) {
        let (now, ns2) = (cx.now, self.config.ns2);
        let (source, to) = (item.source, item.target);
        let state = self.routes.entry(to).or_default().state;
        if self.usable(to, now).is_some() {
            return self.forward(cx, to, item, None);
        }
        if source == cx.node {
            self.keep(cx, item, to);
            return self.discover(cx, to);
        }
        if state == RouteState::Repair {
            return self.keep(cx, item, to);
        }
        // RFC 3561 section 6.11, case ii: the node increments the sequence number first.
        let route = self.routes.entry(to).or_default();
        route.seq = if ns2 { route.seq } else { route.seq.wrapping_add(1) };
        let error = RoutingMessage::Error(vec![(to, route.seq)]);
        self.send_message(cx, BROADCAST, 1, false, error);
        cx.drop(item, PacketFate::NoRoute);
    }

    /// Sends a packet over a route that is up, immediately or after `delay`. Each delayed packet is a separate deferred
    /// action, because the transmission of one packet may end the route.
    fn forward(&mut self, cx: &mut RoutingContext<'_>, to: u32, item: QueuedFrame, delay: Option<Span>) {
        let (now, active, ns2) = (cx.now, self.config.active_route, self.config.ns2);
        let source = item.source;
        let routes = &mut self.routes;
        let Some(route) = routes.get_mut(&to).filter(|route| route.state == RouteState::Up) else {
            return cx.drop(item, PacketFate::NoRoute);
        };
        let next = route.next;
        if ns2 {
            route.expire = now + active;
        } else {
            // The routes to the destination, to the source, and to the next hop of each are in use.
            let back = routes.get(&source).map_or(source, |route| route.next);
            for used in [to, next, source, back] {
                if let Some(route) = routes.get_mut(&used).filter(|route| route.state == RouteState::Up) {
                    route.expire = route.expire.max(now + active);
                }
            }
        }
        let item = QueuedFrame { next, ..item };
        match delay {
            Some(delay) => cx.later(now + delay, Deferred::Send(item)),
            None => cx.send(item),
        }
    }

    /// Buffers a packet that has no route yet.
    fn keep(&mut self, cx: &mut RoutingContext<'_>, item: QueuedFrame, to: u32) {
        self.forget_old(cx);
        let (room, time) = (self.config.buffer, self.config.buffer_time);
        let buffer = &mut self.buffer;
        buffer.push_back((item, to, cx.now + time));
        if buffer.len() > room
            && let Some((oldest, ..)) = buffer.pop_front()
        {
            cx.drop(oldest, PacketFate::Buffer);
        }
    }

    fn forget_old(&mut self, cx: &mut RoutingContext<'_>) {
        let (now, buffer) = (cx.now, &mut self.buffer);
        let old = |entry: &&(QueuedFrame, u32, Time)| entry.2 < now;
        let gone: Vec<QueuedFrame> = buffer.iter().filter(old).map(|(item, ..)| *item).collect();
        buffer.retain(|(.., until)| *until >= now);
        for item in gone {
            cx.drop(item, PacketFate::Timeout);
        }
    }

    /// Removes the packets that wait for a route to `to` from the buffer. Returns these packets.
    fn waiting(&mut self, cx: &mut RoutingContext<'_>, to: u32) -> Vec<QueuedFrame> {
        self.forget_old(cx);
        let buffer = &mut self.buffer;
        let items = buffer.iter().filter(|(_, target, _)| *target == to).map(|(item, ..)| *item).collect();
        buffer.retain(|(_, target, _)| *target != to);
        items
    }

    fn drop_waiting(&mut self, cx: &mut RoutingContext<'_>, to: u32) {
        for item in self.waiting(cx, to) {
            cx.drop(item, PacketFate::NoRoute);
        }
    }

    /// Sends the packets that waited for a route. The interval `gap` between packets allows ARP to resolve the address.
    fn send_buffered(&mut self, cx: &mut RoutingContext<'_>, to: u32, gap: Span) {
        let mut delay = Span::ZERO;
        for item in self.waiting(cx, to) {
            self.forward(cx, to, item, Some(delay));
            delay = delay + gap;
        }
    }

    /// Sends a route request, unless a route exists or a request is pending.
    fn discover(&mut self, cx: &mut RoutingContext<'_>, to: u32) {
        let (now, aodv) = (cx.now, self.config.clone());
        let route = self.routes.entry(to).or_default();
        if route.state == RouteState::Up && (aodv.ns2 || route.expire > now) || route.wait_until > now {
            return;
        }
        if route.attempts > aodv.retries {
            route.wait_until = if aodv.ns2 { now + aodv.max_wait } else { now };
            route.attempts = 0;
            if !aodv.ns2 {
                route.last_ttl = 0;
            }
            return self.drop_waiting(cx, to);
        }
        if aodv.rate_limit > 0 {
            let recent = |at: &Time| now.since(*at) < SECOND;
            while self.sent.front().is_some_and(|at| !recent(at)) {
                self.sent.pop_front();
            }
            if self.sent.len() >= aodv.rate_limit as usize {
                route.wait_until = now + Span::from_ms(100);
                return cx.later(now + Span::from_ms(100), AodvTimer::Retry(to));
            }
            self.sent.push_back(now);
        }
        // ns-2 starts from the last TTL or the last hop count. A new route has an infinite hop count, so its first
        // request reaches the whole network.
        let last = if aodv.ns2 { route.last_ttl.max(route.last_hops) } else { route.last_ttl };
        let repair = route.state == RouteState::Repair && !aodv.ns2;
        let ttl = if repair {
            route.attempts = aodv.retries + 1;
            (route.hops as u8).saturating_add(2).min(aodv.net_diameter)
        } else if last == 0 {
            aodv.ttl_start
        } else if last < aodv.ttl_threshold as u16 {
            (last as u8).saturating_add(aodv.ttl_increment)
        } else {
            route.attempts += 1;
            aodv.net_diameter
        };
        route.last_ttl = ttl as u16;
        let wait = if aodv.ns2 {
            let per_hop = route.per_hop().unwrap_or(aodv.node_traversal).ps();
            per_hop.saturating_mul(2 * ttl as u64 * route.attempts.max(1) as u64)
        } else {
            // The wait allows for two extra hops. Each repetition of a network-wide request doubles the wait.
            let doubled = route.attempts.saturating_sub(1).min(8);
            let rings = 2 * (ttl as u64 + 2);
            aodv.node_traversal.ps().saturating_mul(rings << if repair { 0 } else { doubled })
        };
        route.wait_until = now + Span::from_ps(wait.min(aodv.max_wait.ps()));
        if aodv.ns2 {
            route.expire = Time::ZERO;
        }
        let (retry_at, target_seq) = (route.wait_until, (aodv.ns2 || route.seq_known).then_some(route.seq));
        self.seq += if aodv.ns2 { 2 } else { 1 };
        let id = self.requests;
        self.requests += 1;
        if !aodv.ns2 {
            self.seen.insert((cx.node, id), now + aodv.reverse_route);
            cx.later(retry_at, AodvTimer::Retry(to));
        }
        let source_seq = self.seq;
        let request =
            Request { source: cx.node, id, source_seq, target: to, target_seq, hops: 1, asked: now };
        // Without jitter, two nodes that send at the same instant would do so in every attempt (RFC 5148). ns-2 relies
        // on the backoff of the MAC.
        self.send_message(cx, BROADCAST, ttl, !aodv.ns2, RoutingMessage::Request(request));
    }

    fn retry(&mut self, cx: &mut RoutingContext<'_>, to: u32) {
        if self.buffer.iter().any(|(_, target, _)| *target == to) {
            self.discover(cx, to);
        }
    }

    fn purge(&mut self, cx: &mut RoutingContext<'_>) {
        let (now, ns2, gap) = (cx.now, self.config.ns2, self.config.release_gap);
        self.seen.retain(|_, until| *until > now);
        let destinations: Vec<u32> = self.routes.keys().copied().collect();
        let mut delay = Span::ZERO;
        for to in destinations {
            let Some(route) = self.routes.get_mut(&to) else { continue };
            if route.state == RouteState::Up && route.expire < now {
                route.seq = route.seq.wrapping_add(1);
                route.down();
                self.route_changed(cx, to);
                self.drop_waiting(cx, to);
            } else if route.state == RouteState::Up {
                for item in self.waiting(cx, to) {
                    self.forward(cx, to, item, Some(delay));
                    delay = delay + gap;
                }
            } else if ns2 && self.buffer.iter().any(|(_, target, _)| *target == to) {
                self.discover(cx, to);
            }
        }
    }

    fn route_changed(&self, cx: &mut RoutingContext<'_>, to: u32) {
        let route = self.routes.get(&to).filter(|route| route.state == RouteState::Up);
        cx.route_changed(to, route.map(|route| route.next));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Packet, PacketKind};
    use crate::radio::message::Reply;
    use crate::radio::routing::protocol::RoutingOutput;
    use crate::radio::store::{Payload, Store};
    use engine::Stream;

    /// AODV at node 0, with what it needs.
    struct Node {
        aodv: Aodv,
        store: Store,
        stream: Stream,
        now: Time,
    }

    impl Node {
        fn new() -> Node {
            let stream = Stream::new(1, "aodv", "test");
            Node {
                aodv: Aodv::new(AodvConfig::with_defaults(0)),
                store: Store::default(),
                stream,
                now: Time::ZERO,
            }
        }

        fn call(&mut self, call: impl FnOnce(&mut Aodv, &mut RoutingContext<'_>)) -> Vec<RoutingOutput> {
            let mut outputs = Vec::new();
            let Node { aodv, store, stream, now } = self;
            call(aodv, &mut RoutingContext { now: *now, node: 0, stream, store, outputs: &mut outputs });
            outputs
        }

        /// A packet of this node for node 9.
        fn packet(&mut self) -> QueuedFrame {
            let packet = Packet::new(PacketKind::Udp, 0, 0, 0, 512, self.now);
            let payload = Payload::Data { packet, path: 0, delivered: false, lost: None };
            let payload = self.store.put(payload);
            QueuedFrame { source: 0, target: 9, ..QueuedFrame::message(payload, BROADCAST, 512, 30, false) }
        }

        fn reply(&mut self, from: u32) -> Vec<RoutingOutput> {
            let (lifetime, asked) = (Span::from_ms(10_000), Time::ZERO);
            let reply = Reply { source: 0, target: 9, target_seq: 4, hops: 2, lifetime, asked, hello: false };
            self.call(|aodv, cx| aodv.on_message(cx, from, 1, &RoutingMessage::Reply(reply)))
        }
    }

    #[test]
    fn a_packet_without_a_route_waits_while_a_request_is_flooded() {
        let mut node = Node::new();
        let frame = node.packet();
        let outputs = node.call(|aodv, cx| aodv.on_packet(cx, frame));
        let [RoutingOutput::Send(request)] = outputs[..] else { panic!("{outputs:?}") };
        assert_eq!((request.next, request.priority), (BROADCAST, true));
        assert!(matches!(
            node.store.get(request.payload),
            Payload::Routing(RoutingMessage::Request(Request { source: 0, target: 9, hops: 1, .. }))
        ));
        assert_eq!(node.aodv.next_hop(9, node.now), None);
        // The node takes the route from the reply, and sends the packet to the neighbour that sent the reply.
        let outputs = node.reply(3);
        assert!(matches!(outputs[0], RoutingOutput::RouteChanged(9, Some(3))));
        assert!(matches!(
            outputs[1],
            RoutingOutput::Later(_, Deferred::Send(QueuedFrame { next: 3, target: 9, .. }))
        ));
        assert_eq!(node.aodv.next_hop(9, node.now), Some(3));
    }

    #[test]
    fn a_broken_link_ends_its_routes_and_is_reported() {
        let mut node = Node::new();
        node.reply(3);
        let frame = QueuedFrame { next: 3, ..node.packet() };
        let outputs = node.call(|aodv, cx| aodv.on_link_failure(cx, frame, PacketFate::Retry));
        assert!(matches!(outputs[0], RoutingOutput::Drop(_, PacketFate::Retry)));
        assert!(matches!(outputs[1], RoutingOutput::DropQueued(3)));
        assert!(outputs.iter().any(|output| matches!(output, RoutingOutput::RouteChanged(9, None))));
        let Some(RoutingOutput::Send(error)) = outputs.last() else { panic!("{outputs:?}") };
        assert!(
            matches!(node.store.get(error.payload), Payload::Routing(RoutingMessage::Error(list)) if list[0].0 == 9)
        );
    }

    #[test]
    fn a_request_is_answered_once() {
        let mut node = Node::new();
        let request = Request {
            source: 5,
            id: 1,
            source_seq: 2,
            target: 0,
            target_seq: None,
            hops: 1,
            asked: Time::ZERO,
        };
        let ask = |node: &mut Node| {
            node.call(|aodv, cx| aodv.on_message(cx, 5, 4, &RoutingMessage::Request(request)))
        };
        let outputs = ask(&mut node);
        let Some(RoutingOutput::Send(reply)) = outputs.last() else { panic!("{outputs:?}") };
        assert_eq!(reply.next, 5);
        assert!(ask(&mut node).is_empty());
    }
}
