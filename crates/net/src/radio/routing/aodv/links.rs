//! AODV: processing of broken links and detected neighbours (route errors, local repair, hello messages).

use super::Aodv;
use super::AodvTimer;
use super::route::RouteState;
use crate::radio::fate::PacketFate;
use crate::radio::message::{Reply, RoutingMessage};
use crate::radio::routing::protocol::RoutingContext;
use crate::radio::store::{BROADCAST, NO_NEXT_HOP, QueuedFrame};
use units::{Span, Time};

impl Aodv {
    /// The MAC could not send a packet to its next hop.
    pub(super) fn route_failed(&mut self, cx: &mut RoutingContext<'_>, item: QueuedFrame, fate: PacketFate) {
        let (now, aodv) = (cx.now, self.config.clone());
        let (to, broken) = (item.target, item.next);
        let route = self.routes.entry(to).or_default();
        if !aodv.link_layer_detection {
            return cx.drop(item, fate);
        }
        // A node that is nearer to the destination than to the source repairs the route itself.
        let near = if aodv.ns2 { item.hops > route.hops } else { item.hops >= route.hops && item.hops > 0 };
        if aodv.local_repair && near && (aodv.ns2 || route.next == broken) {
            route.state = RouteState::Repair;
            if !aodv.ns2 {
                route.seq = route.seq.wrapping_add(1);
                route.next = NO_NEXT_HOP;
                cx.drop_queued(broken);
                self.neighbour_lost(cx, broken);
            }
            self.route_changed(cx, to);
            self.keep(cx, item, to);
            self.discover(cx, to);
            // ns-2 uses the absolute time at which the wait for the reply ends as a delay from now.
            let wait = self.routes.get(&to).map_or(Time::ZERO, |r| r.wait_until);
            let wait = if aodv.ns2 { now + wait.since(Time::ZERO) } else { wait.max(now) };
            return cx.later(wait, AodvTimer::Repair(to));
        }
        cx.drop(item, fate);
        cx.drop_queued(broken);
        self.neighbour_lost(cx, broken);
    }

    pub(super) fn end_repair(&mut self, cx: &mut RoutingContext<'_>, to: u32) {
        let ns2 = self.config.ns2;
        let Some(route) = self.routes.get_mut(&to) else { return };
        if ns2 && route.state != RouteState::Up {
            route.down();
            return self.route_changed(cx, to);
        }
        if route.state == RouteState::Repair {
            route.down();
            route.precursors.clear();
            let seq = route.seq;
            self.route_changed(cx, to);
            self.drop_waiting(cx, to);
            self.send_message(cx, BROADCAST, 1, false, RoutingMessage::Error(vec![(to, seq)]));
        }
    }

    /// Invalidates all routes over a neighbour, and broadcasts a route error for the nodes that used these routes.
    fn neighbour_lost(&mut self, cx: &mut RoutingContext<'_>, neighbour: u32) {
        let ns2 = self.config.ns2;
        self.seq += if ns2 { 2 } else { 0 };
        self.neighbours.remove(&neighbour);
        let (mut list, mut changed) = (Vec::new(), Vec::new());
        for (to, route) in &mut self.routes {
            route.precursors.retain(|p| *p != neighbour);
            if !route.has_valid_hop_count() || route.next != neighbour {
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
            self.route_changed(cx, to);
        }
        if !list.is_empty() {
            self.send_message(cx, BROADCAST, 1, false, RoutingMessage::Error(list));
        }
    }

    /// A message arrived from a neighbour (RFC 3561 sections 6.5 and 6.7): creates or extends the route to it.
    pub(super) fn neighbour_detected(&mut self, cx: &mut RoutingContext<'_>, neighbour: u32, until: Time) {
        let route = self.routes.entry(neighbour).or_default();
        if route.state == RouteState::Down {
            let (seq, seq_known) = (route.seq, route.seq_known);
            route.set(seq, 1, neighbour, until);
            route.seq_known = seq_known;
            self.route_changed(cx, neighbour);
        } else if route.state == RouteState::Up && route.next == neighbour {
            route.expire = route.expire.max(until);
        }
    }

    pub(super) fn hello(&mut self, cx: &mut RoutingContext<'_>) {
        let (now, aodv) = (cx.now, self.config.clone());
        let Some(interval) = aodv.hello else { return };
        // In the RFC, only nodes that are part of an active route send hello messages.
        let speaks = aodv.ns2 || self.routes.values().any(|r| r.state == RouteState::Up && r.expire > now);
        let wait = interval.ps() as f64 * (0.75 + 0.5 * cx.stream.uniform());
        let target_seq = self.seq;
        if speaks {
            let losses = aodv.allowed_hello_loss as u64 + aodv.ns2 as u64;
            let lifetime = Span::from_ps(interval.ps().saturating_mul(losses));
            let payload = Reply {
                source: BROADCAST,
                target: cx.node,
                target_seq,
                hops: 1,
                lifetime,
                asked: now,
                hello: true,
            };
            self.send_message(cx, BROADCAST, 1, !aodv.ns2, RoutingMessage::Reply(payload));
        }
        cx.later(now + Span::from_ps(wait as u64), AodvTimer::Hello);
    }

    pub(super) fn on_hello(&mut self, cx: &mut RoutingContext<'_>, from: u32, hello: &Reply) {
        let aodv = &self.config;
        let interval = aodv.hello.map_or(0, |h| h.ps()) as f64;
        let times = if aodv.ns2 { 1.5 } else { 1.0 };
        let patience = Span::from_ps((times * aodv.allowed_hello_loss as f64 * interval) as u64);
        let ns2 = aodv.ns2;
        self.neighbours.insert(from, cx.now + patience);
        if !ns2 {
            self.neighbour_detected(cx, from, cx.now + hello.lifetime);
            let route = self.routes.entry(from).or_default();
            if route.next == from {
                (route.seq, route.seq_known) = (hello.target_seq, true);
            }
        }
    }

    pub(super) fn purge_neighbours(&mut self, cx: &mut RoutingContext<'_>) {
        let now = cx.now;
        let silent = self.neighbours.iter().filter(|(_, until)| **until <= now);
        let silent: Vec<u32> = silent.map(|(neighbour, _)| *neighbour).collect();
        for neighbour in silent {
            self.neighbour_lost(cx, neighbour);
        }
    }
}
