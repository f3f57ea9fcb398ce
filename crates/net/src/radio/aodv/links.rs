//! What AODV does when links break or neighbours are heard: errors, local repair, hellos.

use super::DeferredAction;
use crate::radio::routes::State;
use crate::radio::store::{BROADCAST, NOWHERE, Payload, QueuedFrame, Reply};
use crate::radio::{Clock, PacketFate, Radio};
use units::{Span, Time};

impl Radio {
    /// The MAC could not send a packet to its next hop.
    pub(in crate::radio) fn route_failed(
        &mut self,
        clock: &mut Clock,
        node: u32,
        item: QueuedFrame,
        fate: PacketFate,
    ) {
        let (now, aodv) = (clock.now(), self.aodv().clone());
        let (to, broken) = (self.target_of(&item), item.next);
        let route = self.agents[node as usize].routes.entry(to).or_default();
        if !aodv.link_layer_detection {
            return self.drop_item(now, node, item, fate);
        }
        // Nearer to the destination than to the source: look for another path from here.
        let near = if aodv.ns2 { item.hops > route.hops } else { item.hops >= route.hops && item.hops > 0 };
        if aodv.local_repair && near && (aodv.ns2 || route.next == broken) {
            route.state = State::Repair;
            if !aodv.ns2 {
                route.seq = route.seq.wrapping_add(1);
                route.next = NOWHERE;
                self.drop_queued(now, node, broken);
                self.neighbour_lost(clock, node, broken);
            }
            self.route_changed(now, node, to);
            self.keep(now, node, item, to);
            self.discover(clock, node, to);
            // ns-2 waits for the time of day at which the request ends, counted from now.
            let wait = self.agents[node as usize].routes.get(&to).map_or(Time::ZERO, |r| r.wait_until);
            let wait = if aodv.ns2 { now + wait.since(Time::ZERO) } else { wait.max(now) };
            return self.later(clock, node, wait, DeferredAction::Repair(to));
        }
        self.drop_item(now, node, item, fate);
        self.drop_queued(now, node, broken);
        self.neighbour_lost(clock, node, broken);
    }

    pub(super) fn end_repair(&mut self, clock: &mut Clock, node: u32, to: u32) {
        let (now, ns2) = (clock.now(), self.aodv().ns2);
        let Some(route) = self.agents[node as usize].routes.get_mut(&to) else { return };
        if ns2 && route.state != State::Up {
            route.down();
            return self.route_changed(now, node, to);
        }
        if route.state == State::Repair {
            route.down();
            route.precursors.clear();
            let seq = route.seq;
            self.route_changed(now, node, to);
            self.drop_waiting(now, node, to);
            self.send_message(clock, node, BROADCAST, 1, false, Payload::Error(vec![(to, seq)]));
        }
    }

    /// All routes over a neighbour end, and who used them is told.
    fn neighbour_lost(&mut self, clock: &mut Clock, node: u32, neighbour: u32) {
        let (now, ns2) = (clock.now(), self.aodv().ns2);
        let agent = &mut self.agents[node as usize];
        agent.seq += if ns2 { 2 } else { 0 };
        agent.neighbours.remove(&neighbour);
        let (mut list, mut changed) = (Vec::new(), Vec::new());
        for (to, route) in &mut agent.routes {
            route.precursors.retain(|p| *p != neighbour);
            if !route.leads_on() || route.next != neighbour {
                continue;
            }
            route.seq = route.seq.wrapping_add(1);
            route.down();
            changed.push(*to);
            if ns2 || !route.precursors.is_empty() {
                list.push((*to, route.seq));
            }
        }
        for to in changed {
            self.route_changed(now, node, to);
        }
        if !list.is_empty() {
            self.send_message(clock, node, BROADCAST, 1, false, Payload::Error(list));
        }
    }

    /// A neighbour was heard (RFC 3561 sections 6.5 and 6.7): there is a route to it.
    pub(super) fn hear_neighbour(&mut self, now: Time, node: u32, neighbour: u32, until: Time) {
        let route = self.agents[node as usize].routes.entry(neighbour).or_default();
        if route.state == State::Down {
            let (seq, known) = (route.seq, route.seq_known);
            route.set(seq, 1, neighbour, until);
            route.seq_known = known;
            self.route_changed(now, node, neighbour);
        } else if route.state == State::Up && route.next == neighbour {
            route.expire = route.expire.max(until);
        }
    }

    pub(super) fn hello(&mut self, clock: &mut Clock, node: u32) {
        let (now, aodv) = (clock.now(), self.aodv().clone());
        let Some(interval) = aodv.hello else { return };
        let agent = &mut self.agents[node as usize];
        // The RFC has only those tell of themselves who are part of a route.
        let speaks = aodv.ns2 || agent.routes.values().any(|r| r.state == State::Up && r.expire > now);
        let wait = interval.ps() as f64 * (0.75 + 0.5 * agent.stream.uniform());
        let target_seq = agent.seq;
        if speaks {
            let losses = aodv.allowed_hello_loss as u64 + aodv.ns2 as u64;
            let lifetime = Span::from_ps(interval.ps().saturating_mul(losses));
            let payload = Reply {
                source: BROADCAST,
                target: node,
                target_seq,
                hops: 1,
                lifetime,
                asked: now,
                hello: true,
            };
            self.send_message(clock, node, BROADCAST, 1, !aodv.ns2, Payload::Reply(payload));
        }
        self.later(clock, node, now + Span::from_ps(wait as u64), DeferredAction::Hello);
    }

    pub(super) fn on_hello(&mut self, now: Time, node: u32, from: u32, hello: &Reply) {
        let aodv = self.aodv();
        let interval = aodv.hello.map_or(0, |h| h.ps()) as f64;
        let times = if aodv.ns2 { 1.5 } else { 1.0 };
        let patience = Span::from_ps((times * aodv.allowed_hello_loss as f64 * interval) as u64);
        let ns2 = aodv.ns2;
        self.agents[node as usize].neighbours.insert(from, now + patience);
        if !ns2 {
            self.hear_neighbour(now, node, from, now + hello.lifetime);
            let route = self.agents[node as usize].routes.entry(from).or_default();
            if route.next == from {
                (route.seq, route.seq_known) = (hello.target_seq, true);
            }
        }
    }

    pub(super) fn purge_neighbours(&mut self, clock: &mut Clock, node: u32) {
        let now = clock.now();
        let silent = self.agents[node as usize].neighbours.iter().filter(|(_, until)| **until <= now);
        let silent: Vec<u32> = silent.map(|(neighbour, _)| *neighbour).collect();
        for neighbour in silent {
            self.neighbour_lost(clock, node, neighbour);
        }
    }
}
