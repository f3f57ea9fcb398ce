//! AODV: processing of received messages.

use super::route::{AodvRoute, RouteState};
use super::{Aodv, newer};
use crate::radio::message::{Reply, Request, RoutingMessage};
use crate::radio::routing::protocol::RoutingContext;
use crate::radio::store::{BROADCAST, NO_NEXT_HOP};
use units::{Span, Time};

impl Aodv {
    pub(super) fn on_request(&mut self, cx: &mut RoutingContext<'_>, from: u32, ttl: u8, request: Request) {
        let Request { source, id, target, hops, .. } = request;
        if source == cx.node || self.seen.contains_key(&(source, id)) {
            return;
        }
        let (now, aodv) = (cx.now, self.config.clone());
        self.seen.insert((source, id), now + aodv.reverse_route);
        if !aodv.ns2 {
            self.neighbour_detected(cx, from, now + aodv.active_route);
        }
        // The path back.
        let holds = now + aodv.reverse_route;
        let back = self.routes.entry(source).or_default();
        back.expire = back.expire.max(holds);
        let better = newer(aodv.ns2, request.source_seq, back.seq)
            || request.source_seq == back.seq && hops < back.hops
            || !aodv.ns2
                && (!back.seq_known || back.state != RouteState::Up && request.source_seq == back.seq);
        if better {
            let expire = back.expire;
            back.set(request.source_seq, hops, from, expire);
            if back.wait_until > Time::ZERO {
                back.discovered(hops);
                back.expire = now + aodv.active_route;
            }
            self.route_changed(cx, source);
            self.send_buffered(cx, source, Span::ZERO);
        }
        if target == cx.node {
            let asked = request.target_seq.unwrap_or(self.seq);
            if aodv.ns2 {
                self.seq = self.seq.max(asked) + 1;
                self.seq += self.seq % 2;
            } else if newer(false, asked, self.seq) {
                self.seq = asked;
            }
            let seq = self.seq;
            return self.reply(cx, &request, 1, seq, aodv.my_route);
        }
        let usable = |r: &&AodvRoute| {
            if aodv.ns2 {
                r.has_valid_hop_count()
            } else {
                r.state == RouteState::Up && r.expire > now && r.seq_known
            }
        };
        let fresh = |r: &&AodvRoute| request.target_seq.is_none_or(|asked| !newer(aodv.ns2, asked, r.seq));
        let present = self.routes.get(&target);
        if let Some(route) = present.filter(usable).filter(fresh).filter(|r| aodv.ns2 || r.next != from) {
            let (hops, seq, onward) = (route.hops + 1, route.seq, route.next);
            let mut lifetime = route.expire.since(now);
            if aodv.ns2 {
                lifetime = Span::from_ms(lifetime.ps() / 1_000_000_000_000 * 1000); // ns-2 sends whole seconds
            }
            let back = self.routes.get(&source).map_or(from, |back| back.next);
            for (to, neighbour) in [(target, back), (source, onward)] {
                if let Some(route) = self.routes.get_mut(&to) {
                    route.add_precursor(neighbour);
                }
            }
            return self.reply(cx, &request, hops, seq, lifetime);
        }
        let target_seq = match (request.target_seq, present) {
            (Some(asked), Some(route)) if newer(aodv.ns2, route.seq, asked) => Some(route.seq),
            (None, Some(route)) if route.seq_known => Some(route.seq),
            (asked, _) => asked,
        };
        if ttl > 1 {
            let onward = Request { hops: hops + 1, target_seq, ..request };
            self.send_message(cx, BROADCAST, ttl - 1, true, RoutingMessage::Request(onward));
        }
    }

    /// Replies to a request: `hops` is the number of hops from the receiver of the reply to the target, `lifetime` that of the
    /// route.
    fn reply(
        &mut self,
        cx: &mut RoutingContext<'_>,
        request: &Request,
        hops: u16,
        target_seq: u32,
        lifetime: Span,
    ) {
        let Request { source, target, asked, .. } = *request;
        let Some(back) = self.routes.get(&source) else { return };
        let next = back.next;
        if next == NO_NEXT_HOP {
            return; // in ns-2, the node may have a newer route than the path of the request, and that route is down
        }
        let reply = Reply { source, target, target_seq, hops, lifetime, asked, hello: false };
        self.send_message(cx, next, self.config.net_diameter, false, RoutingMessage::Reply(reply));
    }

    pub(super) fn on_reply(&mut self, cx: &mut RoutingContext<'_>, from: u32, reply: Reply) {
        let (now, ns2, gap) = (cx.now, self.config.ns2, self.config.release_gap);
        if reply.hello {
            return self.on_hello(cx, from, &reply);
        }
        let Reply { source, target, target_seq: seq, hops, .. } = reply;
        if !ns2 {
            self.neighbour_detected(cx, from, now + self.config.active_route);
        }
        let route = self.routes.entry(target).or_default();
        let better = newer(ns2, seq, route.seq)
            || seq == route.seq && (hops < route.hops || !ns2 && route.state != RouteState::Up)
            || !ns2 && !route.seq_known;
        if better && target != cx.node {
            route.set(seq, hops, from, now + reply.lifetime);
            route.discovered(hops);
            if source == cx.node {
                route.record_latency(Span::from_ps(now.since(reply.asked).ps() / hops.max(1) as u64));
            }
            self.route_changed(cx, target);
            self.send_buffered(cx, target, gap);
        }
        if source == cx.node || !better {
            return;
        }
        let Some(back) = self.routes.get(&source).filter(|back| back.has_valid_hop_count()) else { return };
        let next = back.next;
        if let Some(route) = self.routes.get_mut(&target) {
            route.add_precursor(next);
        }
        if !ns2 && let Some(route) = self.routes.get_mut(&from) {
            route.add_precursor(next);
        }
        if let Some(back) = self.routes.get_mut(&source) {
            let active = self.config.active_route;
            back.expire = if ns2 { now + active } else { back.expire.max(now + active) };
        }
        let onward = Reply { hops: hops + 1, ..reply };
        self.send_message(cx, next, self.config.net_diameter, false, RoutingMessage::Reply(onward));
    }

    pub(super) fn on_error(&mut self, cx: &mut RoutingContext<'_>, from: u32, list: &[(u32, u32)]) {
        let ns2 = self.config.ns2;
        let mut onward = Vec::new();
        for &(to, seq) in list {
            let Some(route) = self.routes.get_mut(&to) else { continue };
            if !route.has_valid_hop_count() || route.next != from || ns2 && route.seq > seq {
                continue;
            }
            route.seq = if newer(ns2, seq, route.seq) { seq } else { route.seq };
            route.down();
            if !route.precursors.is_empty() {
                route.precursors.clear();
                onward.push((to, seq));
            }
            self.route_changed(cx, to);
            if ns2 {
                cx.drop_queued(from);
            }
        }
        if !onward.is_empty() {
            self.send_message(cx, BROADCAST, 1, true, RoutingMessage::Error(onward));
        }
    }
}
