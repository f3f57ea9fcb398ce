//! Ad-hoc on-demand distance vector routing: RFC 3561, and ns-2's reading of it (docs/specs/manet.md section 5).

mod config;
mod links;

pub use config::AodvConfig;

use super::routes::{AodvRoute, NO_HOPS, State};
use super::store::{BROADCAST, NOWHERE, Payload, QueuedFrame, Reply, Request};
use super::{Clock, PacketFate, Radio, RadioStep, RadioTimer};
use engine::Stream;
use std::collections::{BTreeMap, VecDeque};
use units::{Span, Time};

/// Something that a node does later.
#[derive(Clone, Copy, Debug)]
enum DeferredAction {
    Send(QueuedFrame),
    /// Looks through its routes.
    Purge,
    Hello,
    /// Looks through its neighbours.
    Neighbours,
    /// A discovery had no answer.
    Retry(u32),
    /// A repair had no success.
    Repair(u32),
}

/// AODV at one node.
pub(super) struct Agent {
    seq: u32,
    requests: u32,
    pub routes: BTreeMap<u32, AodvRoute>,
    /// Requests seen: source and number, and until when they are remembered.
    seen: BTreeMap<(u32, u32), Time>,
    /// Packets without a route: destination, and until when they wait.
    buffer: VecDeque<(QueuedFrame, u32, Time)>,
    later: BTreeMap<(Time, u64), DeferredAction>,
    order: u64,
    /// Neighbours heard by their hellos, and until when that holds.
    neighbours: BTreeMap<u32, Time>,
    /// When the last requests were sent.
    sent: VecDeque<Time>,
    stream: Stream,
}

const PURGE: Span = Span::from_ms(500);
const SECOND: Span = Span::from_ms(1000);

/// Whether sequence number `a` is newer than `b`: ns-2 compares as they are, the RFC around the circle.
fn newer(ns2: bool, a: u32, b: u32) -> bool {
    if ns2 { a > b } else { (a.wrapping_sub(b) as i32) > 0 }
}

impl Agent {
    pub fn new(stream: Stream) -> Agent {
        Agent {
            seq: 2,
            requests: 1,
            routes: BTreeMap::new(),
            seen: BTreeMap::new(),
            buffer: VecDeque::new(),
            later: BTreeMap::new(),
            order: 0,
            neighbours: BTreeMap::new(),
            sent: VecDeque::new(),
            stream,
        }
    }

    /// The route to `to` if it can be used now.
    fn usable(&self, to: u32, now: Time, ns2: bool) -> Option<&AodvRoute> {
        self.routes.get(&to).filter(|r| r.state == State::Up && (ns2 || r.expire > now))
    }
}

impl Radio {
    fn aodv(&self) -> &AodvConfig {
        self.aodv.as_ref().unwrap_or_else(|| unreachable!("routing without AODV"))
    }

    pub(super) fn start_routing(&mut self, clock: &mut Clock) {
        let Some(aodv) = self.aodv.clone() else { return };
        for node in 0..self.agents.len() as u32 {
            self.later(clock, node, clock.now() + PURGE, DeferredAction::Purge);
            if aodv.hello.is_some() {
                self.later(clock, node, clock.now(), DeferredAction::Hello);
                self.later(clock, node, clock.now() + SECOND, DeferredAction::Neighbours);
            }
        }
    }

    fn later(&mut self, clock: &mut Clock, node: u32, at: Time, what: DeferredAction) {
        let agent = &mut self.agents[node as usize];
        agent.order += 1;
        agent.later.insert((at, agent.order), what);
        if let Some((&(first, _), _)) = agent.later.first_key_value() {
            clock.set(node, RadioTimer::Routing, first);
        }
    }

    pub(super) fn on_routing(&mut self, clock: &mut Clock, node: u32) {
        let now = clock.now();
        while let Some(entry) = self.agents[node as usize].later.first_entry() {
            if entry.key().0 > now {
                let at = entry.key().0;
                return clock.set(node, RadioTimer::Routing, at);
            }
            match entry.remove() {
                DeferredAction::Send(item) => self.message_or_packet(clock, node, item),
                DeferredAction::Purge => {
                    self.purge(clock, node);
                    self.later(clock, node, now + PURGE, DeferredAction::Purge);
                }
                DeferredAction::Hello => self.hello(clock, node),
                DeferredAction::Neighbours => {
                    self.purge_neighbours(clock, node);
                    self.later(clock, node, now + SECOND, DeferredAction::Neighbours);
                }
                DeferredAction::Retry(to) => self.retry(clock, node, to),
                DeferredAction::Repair(to) => self.end_repair(clock, node, to),
            }
        }
    }

    fn message_or_packet(&mut self, clock: &mut Clock, node: u32, item: QueuedFrame) {
        self.counts.routing += item.urgent as u64;
        self.send_down(clock, node, item);
    }

    /// Sends a message of AODV, `jitter` and the TTL as given.
    fn send_message(
        &mut self,
        clock: &mut Clock,
        node: u32,
        next: u32,
        ttl: u8,
        jitter: bool,
        payload: Payload,
    ) {
        let aodv = self.aodv();
        let bytes = aodv.ip_header
            + match &payload {
                Payload::Request(_) => aodv.request_bytes,
                Payload::Error(list) => 4 + 8 * list.len() as u32,
                _ => aodv.reply_bytes,
            };
        let most = aodv.jitter;
        let item = QueuedFrame { payload: self.store.put(payload), next, bytes, hops: 0, ttl, urgent: true };
        if !jitter {
            return self.message_or_packet(clock, node, item);
        }
        self.jittered(clock, node, item, most);
    }

    /// Sends an item down after up to `most`, at random.
    pub(super) fn jittered(&mut self, clock: &mut Clock, node: u32, item: QueuedFrame, most: Span) {
        let part = self.agents[node as usize].stream.uniform();
        let delay = Span::from_ps((part * most.ps() as f64) as u64);
        self.later(clock, node, clock.now() + delay, DeferredAction::Send(item));
    }

    fn target_of(&self, item: &QueuedFrame) -> u32 {
        match self.store.get(item.payload) {
            Payload::Data { path, .. } => self.paths[*path as usize].1,
            _ => BROADCAST,
        }
    }

    fn source_of(&self, item: &QueuedFrame) -> u32 {
        match self.store.get(item.payload) {
            Payload::Data { path, .. } => self.paths[*path as usize].0,
            _ => BROADCAST,
        }
    }

    /// A packet wants to go on from `node`, its source or one on its way.
    pub(super) fn resolve(&mut self, clock: &mut Clock, node: u32, item: QueuedFrame) {
        let (now, ns2) = (clock.now(), self.aodv().ns2);
        let (source, to) = (self.source_of(&item), self.target_of(&item));
        let agent = &mut self.agents[node as usize];
        let state = agent.routes.entry(to).or_default().state;
        if agent.usable(to, now, ns2).is_some() {
            return self.forward(clock, node, to, item, None);
        }
        if source == node {
            self.keep(now, node, item, to);
            return self.discover(clock, node, to);
        }
        if state == State::Repair {
            return self.keep(now, node, item, to);
        }
        // RFC 3561 section 6.11, case ii: the number goes up first.
        let route = self.agents[node as usize].routes.entry(to).or_default();
        route.seq = if ns2 { route.seq } else { route.seq.wrapping_add(1) };
        let error = Payload::Error(vec![(to, route.seq)]);
        self.send_message(clock, node, BROADCAST, 1, false, error);
        self.drop_item(now, node, item, PacketFate::AodvRoute);
    }

    /// Sends a packet over a route that is up: at once, or after a delay. What is sent by and by sets out on its own: sending
    /// one may end the route.
    fn forward(&mut self, clock: &mut Clock, node: u32, to: u32, item: QueuedFrame, delay: Option<Span>) {
        let (now, active, ns2) = (clock.now(), self.aodv().active_route, self.aodv().ns2);
        let source = self.source_of(&item);
        let routes = &mut self.agents[node as usize].routes;
        let Some(route) = routes.get_mut(&to).filter(|route| route.state == State::Up) else {
            return self.drop_item(now, node, item, PacketFate::AodvRoute);
        };
        let next = route.next;
        if ns2 {
            route.expire = now + active;
        } else {
            // The path onward, the path back, and the neighbours on both are in use.
            let back = routes.get(&source).map_or(source, |route| route.next);
            for used in [to, next, source, back] {
                if let Some(route) = routes.get_mut(&used).filter(|route| route.state == State::Up) {
                    route.expire = route.expire.max(now + active);
                }
            }
        }
        let item = QueuedFrame { next, ..item };
        match delay {
            Some(delay) => self.later(clock, node, now + delay, DeferredAction::Send(item)),
            None => self.send_down(clock, node, item),
        }
    }

    /// Keeps a packet that has no route yet.
    fn keep(&mut self, now: Time, node: u32, item: QueuedFrame, to: u32) {
        self.forget_old(now, node);
        let (room, time) = (self.aodv().buffer, self.aodv().buffer_time);
        let buffer = &mut self.agents[node as usize].buffer;
        buffer.push_back((item, to, now + time));
        if buffer.len() > room
            && let Some((oldest, ..)) = buffer.pop_front()
        {
            self.drop_item(now, node, oldest, PacketFate::Buffer);
        }
    }

    fn forget_old(&mut self, now: Time, node: u32) {
        let buffer = &mut self.agents[node as usize].buffer;
        let old = |entry: &&(QueuedFrame, u32, Time)| entry.2 < now;
        let gone: Vec<QueuedFrame> = buffer.iter().filter(old).map(|(item, ..)| *item).collect();
        buffer.retain(|(.., until)| *until >= now);
        for item in gone {
            self.drop_item(now, node, item, PacketFate::Timeout);
        }
    }

    /// Takes everything that waits for a route to `to`.
    fn waiting(&mut self, now: Time, node: u32, to: u32) -> Vec<QueuedFrame> {
        self.forget_old(now, node);
        let buffer = &mut self.agents[node as usize].buffer;
        let found = buffer.iter().filter(|(_, target, _)| *target == to).map(|(item, ..)| *item).collect();
        buffer.retain(|(_, target, _)| *target != to);
        found
    }

    fn drop_waiting(&mut self, now: Time, node: u32, to: u32) {
        for item in self.waiting(now, node, to) {
            self.drop_item(now, node, item, PacketFate::AodvRoute);
        }
    }

    /// Sends what waited for a route; the packets follow each other at a distance that gives ARP its time.
    fn send_buffered(&mut self, clock: &mut Clock, node: u32, to: u32, gap: Span) {
        let mut delay = Span::ZERO;
        for item in self.waiting(clock.now(), node, to) {
            self.forward(clock, node, to, item, Some(delay));
            delay = delay + gap;
        }
    }

    /// Asks for a route, unless it was just asked for.
    fn discover(&mut self, clock: &mut Clock, node: u32, to: u32) {
        let (now, aodv) = (clock.now(), self.aodv().clone());
        let agent = &mut self.agents[node as usize];
        let route = agent.routes.entry(to).or_default();
        if route.state == State::Up && (aodv.ns2 || route.expire > now) || route.wait_until > now {
            return;
        }
        if route.attempts > aodv.retries {
            route.wait_until = if aodv.ns2 { now + aodv.max_wait } else { now };
            route.attempts = 0;
            if !aodv.ns2 {
                route.last_ttl = 0;
            }
            return self.drop_waiting(now, node, to);
        }
        if aodv.rate_limit > 0 {
            let recent = |at: &Time| now.since(*at) < SECOND;
            while agent.sent.front().is_some_and(|at| !recent(at)) {
                agent.sent.pop_front();
            }
            if agent.sent.len() >= aodv.rate_limit as usize {
                route.wait_until = now + Span::from_ms(100);
                return self.later(clock, node, now + Span::from_ms(100), DeferredAction::Retry(to));
            }
            agent.sent.push_back(now);
        }
        // ns-2 begins where it last ended, and as a new route has an infinite distance, with the whole network.
        let last = if aodv.ns2 { route.last_ttl.max(route.last_hops) } else { route.last_ttl };
        let repair = route.state == State::Repair && !aodv.ns2;
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
            // Rings have two hops to spare; each time that the whole network is asked the wait doubles.
            let doubled = route.attempts.saturating_sub(1).min(8);
            let rings = 2 * (ttl as u64 + 2);
            aodv.node_traversal.ps().saturating_mul(rings << if repair { 0 } else { doubled })
        };
        route.wait_until = now + Span::from_ps(wait.min(aodv.max_wait.ps()));
        if aodv.ns2 {
            route.expire = Time::ZERO;
        }
        let (retry_at, target_seq) = (route.wait_until, (aodv.ns2 || route.seq_known).then_some(route.seq));
        agent.seq += if aodv.ns2 { 2 } else { 1 };
        let id = agent.requests;
        agent.requests += 1;
        if !aodv.ns2 {
            agent.seen.insert((node, id), now + aodv.reverse_route);
            self.later(clock, node, retry_at, DeferredAction::Retry(to));
        }
        let source_seq = self.agents[node as usize].seq;
        let request = Request { source: node, id, source_seq, target: to, target_seq, hops: 1, asked: now };
        // Two that ask at the same instant would for ever do so (RFC 5148); ns-2 leaves that to the backoff.
        self.send_message(clock, node, BROADCAST, ttl, !aodv.ns2, Payload::Request(request));
    }

    fn retry(&mut self, clock: &mut Clock, node: u32, to: u32) {
        let agent = &self.agents[node as usize];
        if agent.buffer.iter().any(|(_, target, _)| *target == to) {
            self.discover(clock, node, to);
        }
    }

    fn purge(&mut self, clock: &mut Clock, node: u32) {
        let (now, ns2, gap) = (clock.now(), self.aodv().ns2, self.aodv().release_gap);
        let agent = &mut self.agents[node as usize];
        agent.seen.retain(|_, until| *until > now);
        let known: Vec<u32> = agent.routes.keys().copied().collect();
        let mut delay = Span::ZERO;
        for to in known {
            let agent = &mut self.agents[node as usize];
            let Some(route) = agent.routes.get_mut(&to) else { continue };
            if route.state == State::Up && route.expire < now {
                route.seq = route.seq.wrapping_add(1);
                route.down();
                self.route_changed(now, node, to);
                self.drop_waiting(now, node, to);
            } else if route.state == State::Up {
                for item in self.waiting(now, node, to) {
                    self.forward(clock, node, to, item, Some(delay));
                    delay = delay + gap;
                }
            } else if ns2 && agent.buffer.iter().any(|(_, target, _)| *target == to) {
                self.discover(clock, node, to);
            }
        }
    }

    pub(super) fn on_request(&mut self, clock: &mut Clock, node: u32, from: u32, ttl: u8, request: Request) {
        let Request { source, id, target, hops, .. } = request;
        let agent = &mut self.agents[node as usize];
        if source == node || agent.seen.contains_key(&(source, id)) {
            return;
        }
        let (now, aodv) = (clock.now(), self.aodv().clone());
        self.agents[node as usize].seen.insert((source, id), now + aodv.reverse_route);
        if !aodv.ns2 {
            self.hear_neighbour(now, node, from, now + aodv.active_route);
        }
        // The path back.
        let holds = now + aodv.reverse_route;
        let back = self.agents[node as usize].routes.entry(source).or_default();
        back.expire = back.expire.max(holds);
        let better = newer(aodv.ns2, request.source_seq, back.seq)
            || request.source_seq == back.seq && hops < back.hops
            || !aodv.ns2 && (!back.seq_known || back.state != State::Up && request.source_seq == back.seq);
        if better {
            let expire = back.expire;
            back.set(request.source_seq, hops, from, expire);
            if back.wait_until > Time::ZERO {
                back.found(hops);
                back.expire = now + aodv.active_route;
            }
            self.route_changed(now, node, source);
            self.send_buffered(clock, node, source, Span::ZERO);
        }
        if target == node {
            let agent = &mut self.agents[node as usize];
            let asked = request.target_seq.unwrap_or(agent.seq);
            if aodv.ns2 {
                agent.seq = agent.seq.max(asked) + 1;
                agent.seq += agent.seq % 2;
            } else if newer(false, asked, agent.seq) {
                agent.seq = asked;
            }
            let seq = agent.seq;
            return self.reply(clock, node, &request, (1, seq, aodv.my_route));
        }
        let usable = |r: &&AodvRoute| {
            if aodv.ns2 { r.leads_on() } else { r.state == State::Up && r.expire > now && r.seq_known }
        };
        let fresh = |r: &&AodvRoute| request.target_seq.is_none_or(|asked| !newer(aodv.ns2, asked, r.seq));
        let agent = &mut self.agents[node as usize];
        let known = agent.routes.get(&target);
        if let Some(route) = known.filter(usable).filter(fresh).filter(|r| aodv.ns2 || r.next != from) {
            let (hops, seq, onward) = (route.hops + 1, route.seq, route.next);
            let mut lifetime = route.expire.since(now);
            if aodv.ns2 {
                lifetime = Span::from_ms(lifetime.ps() / 1_000_000_000_000 * 1000); // it travels in whole seconds
            }
            let back = agent.routes.get(&source).map_or(from, |back| back.next);
            for (to, neighbour) in [(target, back), (source, onward)] {
                if let Some(route) = agent.routes.get_mut(&to) {
                    route.add_precursor(neighbour);
                }
            }
            return self.reply(clock, node, &request, (hops, seq, lifetime));
        }
        let target_seq = match (request.target_seq, known) {
            (Some(asked), Some(route)) if newer(aodv.ns2, route.seq, asked) => Some(route.seq),
            (None, Some(route)) if route.seq_known => Some(route.seq),
            (asked, _) => asked,
        };
        if ttl > 1 {
            let onward = Request { hops: hops + 1, target_seq, ..request };
            self.send_message(clock, node, BROADCAST, ttl - 1, true, Payload::Request(onward));
        }
    }

    /// Replies to a request: hops to the target from who receives it, its sequence number, how long it holds.
    fn reply(&mut self, clock: &mut Clock, node: u32, request: &Request, what: (u16, u32, Span)) {
        let (hops, target_seq, lifetime) = what;
        let Request { source, target, asked, .. } = *request;
        let Some(back) = self.agents[node as usize].routes.get(&source) else { return };
        let next = back.next;
        if next == NOWHERE {
            return; // ns-2 may know of a newer path than the one that the request took, and that one is down
        }
        let reply = Reply { source, target, target_seq, hops, lifetime, asked, hello: false };
        self.send_message(clock, node, next, self.aodv().net_diameter, false, Payload::Reply(reply));
    }

    pub(super) fn on_reply(&mut self, clock: &mut Clock, node: u32, from: u32, reply: Reply) {
        let (now, ns2, gap) = (clock.now(), self.aodv().ns2, self.aodv().release_gap);
        if reply.hello {
            return self.on_hello(now, node, from, &reply);
        }
        let Reply { source, target, target_seq: seq, hops, .. } = reply;
        if !ns2 {
            self.hear_neighbour(now, node, from, now + self.aodv().active_route);
        }
        let route = self.agents[node as usize].routes.entry(target).or_default();
        let better = newer(ns2, seq, route.seq)
            || seq == route.seq && (hops < route.hops || !ns2 && route.state != State::Up)
            || !ns2 && !route.seq_known;
        if better && target != node {
            route.set(seq, hops, from, now + reply.lifetime);
            route.found(hops);
            if source == node {
                route.learn_latency(Span::from_ps(now.since(reply.asked).ps() / hops.max(1) as u64));
            }
            self.route_changed(now, node, target);
            self.send_buffered(clock, node, target, gap);
        }
        if source == node || !better {
            return;
        }
        let agent = &mut self.agents[node as usize];
        let Some(back) = agent.routes.get(&source).filter(|back| back.leads_on()) else { return };
        let next = back.next;
        if let Some(route) = agent.routes.get_mut(&target) {
            route.add_precursor(next);
        }
        if !ns2 && let Some(route) = agent.routes.get_mut(&from) {
            route.add_precursor(next);
        }
        if let Some(back) = agent.routes.get_mut(&source) {
            let active = self.aodv.as_ref().map_or(Span::ZERO, |aodv| aodv.active_route);
            back.expire = if ns2 { now + active } else { back.expire.max(now + active) };
        }
        let onward = Reply { hops: hops + 1, ..reply };
        self.send_message(clock, node, next, self.aodv().net_diameter, false, Payload::Reply(onward));
    }

    pub(super) fn on_error(&mut self, clock: &mut Clock, node: u32, from: u32, list: &[(u32, u32)]) {
        let (now, ns2) = (clock.now(), self.aodv().ns2);
        let mut onward = Vec::new();
        for &(to, seq) in list {
            let Some(route) = self.agents[node as usize].routes.get_mut(&to) else { continue };
            if !route.leads_on() || route.next != from || ns2 && route.seq > seq {
                continue;
            }
            route.seq = if newer(ns2, seq, route.seq) { seq } else { route.seq };
            route.down();
            if !route.precursors.is_empty() {
                route.precursors.clear();
                onward.push((to, seq));
            }
            self.route_changed(now, node, to);
            if ns2 {
                self.drop_queued(now, node, from);
            }
        }
        if !onward.is_empty() {
            self.send_message(clock, node, BROADCAST, 1, true, Payload::Error(onward));
        }
    }

    fn route_changed(&mut self, now: Time, node: u32, to: u32) {
        if self.watching {
            let route = self.agents[node as usize].routes.get(&to);
            let next = route.filter(|r| r.state == State::Up).map(|r| r.next);
            let circle = self.loop_from(node, to, now);
            self.tell(now, node, RadioStep::Route { to, next, circle });
        }
    }

    /// The nodes of a loop among the routes to `to`, if there is one that begins at `node`.
    fn loop_from(&self, node: u32, to: u32, now: Time) -> Option<Vec<u32>> {
        let aodv = self.aodv.as_ref()?;
        let mut path = vec![node];
        while let Some(route) = self.agents[path[path.len() - 1] as usize].usable(to, now, aodv.ns2) {
            if route.next == to || route.hops == NO_HOPS {
                return None;
            }
            if let Some(place) = path.iter().position(|n| *n == route.next) {
                return Some(path.split_off(place));
            }
            path.push(route.next);
        }
        None
    }
}
