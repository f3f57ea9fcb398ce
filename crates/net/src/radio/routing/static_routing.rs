//! No routing: every destination is a neighbour.

use super::protocol::{Routing, RoutingContext, RoutingTimer};
use crate::radio::fate::PacketFate;
use crate::radio::message::RoutingMessage;
use crate::radio::store::QueuedFrame;
use units::Time;

#[derive(Clone)]
pub(crate) struct StaticRouting;

impl Routing for StaticRouting {
    fn start(&mut self, _cx: &mut RoutingContext<'_>) {}
    fn on_packet(&mut self, cx: &mut RoutingContext<'_>, frame: QueuedFrame) {
        if frame.source == cx.node {
            cx.send(QueuedFrame { next: frame.target, ..frame });
        } else {
            cx.drop(frame, PacketFate::NoRoute);
        }
    }
    fn on_message(&mut self, _cx: &mut RoutingContext<'_>, _from: u32, _ttl: u8, _message: &RoutingMessage) {}
    fn on_link_failure(&mut self, cx: &mut RoutingContext<'_>, frame: QueuedFrame, fate: PacketFate) {
        cx.drop(frame, fate);
    }
    fn on_timer(&mut self, _cx: &mut RoutingContext<'_>, _timer: RoutingTimer) {}
    fn next_hop(&self, to: u32, _now: Time) -> Option<u32> {
        Some(to)
    }
    fn udp_header(&self) -> u32 {
        0
    }
    fn initial_ttl(&self) -> u8 {
        u8::MAX
    }
    fn copied(&self) -> Box<dyn Routing> {
        Box::new(self.clone())
    }
}
