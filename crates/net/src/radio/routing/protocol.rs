//! The interface of a routing protocol: a state machine that writes its outputs to a list.

use crate::radio::fate::PacketFate;
use crate::radio::message::RoutingMessage;
use crate::radio::store::{Payload, QueuedFrame, Store};
use engine::Stream;
use units::{Span, Time};

/// A routing protocol at one node. It does not read a clock or send frames. Every method writes its outputs into the
/// context, and the node processes them in order after the method returns.
pub(crate) trait Routing: Send {
    /// Called once, at time zero.
    fn start(&mut self, cx: &mut RoutingContext<'_>);
    /// A packet is at this node, its source or a node on its path, and needs a next hop.
    fn on_packet(&mut self, cx: &mut RoutingContext<'_>, frame: QueuedFrame);
    /// A message with time to live `ttl` arrived from neighbour `from`.
    fn on_message(&mut self, cx: &mut RoutingContext<'_>, from: u32, ttl: u8, message: &RoutingMessage);
    /// The MAC or ARP gave up a packet for `frame.next`, for the reason `fate`.
    fn on_link_failure(&mut self, cx: &mut RoutingContext<'_>, frame: QueuedFrame, fate: PacketFate);
    /// A timer of [`RoutingContext::later`] expired.
    fn on_timer(&mut self, cx: &mut RoutingContext<'_>, timer: RoutingTimer);
    /// The next hop towards `to` at `now`; none if there is no route. For observers.
    fn next_hop(&self, to: u32, now: Time) -> Option<u32>;
    /// Bytes that it adds to a packet of UDP, whose size has no IP header.
    fn udp_header(&self) -> u32;
    /// Hops that a packet of this node may make.
    fn initial_ttl(&self) -> u8;
    /// A copy in its present state.
    fn copied(&self) -> Box<dyn Routing>;
}

impl Clone for Box<dyn Routing> {
    fn clone(&self) -> Self {
        (**self).copied()
    }
}

/// A timer of a routing protocol: the number of its kind in the protocol, and the node to which it applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RoutingTimer {
    pub kind: u8,
    pub about: u32,
}

/// An action at a later time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deferred {
    /// A frame goes to its next hop.
    Send(QueuedFrame),
    /// A timer of the routing protocol expires.
    Timer(RoutingTimer),
}

/// An output of a routing protocol.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RoutingOutput {
    /// Send a frame to its next hop.
    Send(QueuedFrame),
    /// Do something later.
    Later(Time, Deferred),
    /// Drop a packet.
    Drop(QueuedFrame, PacketFate),
    /// Drop the packets queued for this neighbour.
    DropQueued(u32),
    /// The route to the first node changed; its next hop, if there is one.
    RouteChanged(u32, Option<u32>),
}

/// What a routing protocol can use during a call.
pub(crate) struct RoutingContext<'a> {
    pub now: Time,
    /// This node.
    pub node: u32,
    /// Random numbers of this node.
    pub stream: &'a mut Stream,
    pub store: &'a mut Store,
    pub outputs: &'a mut Vec<RoutingOutput>,
}

impl RoutingContext<'_> {
    pub fn send(&mut self, frame: QueuedFrame) {
        self.outputs.push(RoutingOutput::Send(frame));
    }
    pub fn later(&mut self, at: Time, what: impl Into<Deferred>) {
        self.outputs.push(RoutingOutput::Later(at, what.into()));
    }
    pub fn drop(&mut self, frame: QueuedFrame, fate: PacketFate) {
        self.outputs.push(RoutingOutput::Drop(frame, fate));
    }
    pub fn drop_queued(&mut self, neighbour: u32) {
        self.outputs.push(RoutingOutput::DropQueued(neighbour));
    }
    pub fn route_changed(&mut self, to: u32, next: Option<u32>) {
        self.outputs.push(RoutingOutput::RouteChanged(to, next));
    }
    /// Sends a message of `bytes` to neighbour `next`: at once, or after a random time up to `jitter`.
    pub fn send_message(
        &mut self,
        next: u32,
        ttl: u8,
        bytes: u32,
        jitter: Option<Span>,
        message: RoutingMessage,
    ) {
        let payload = self.store.put(Payload::Routing(message));
        let frame = QueuedFrame::message(payload, next, bytes, ttl, true);
        match jitter {
            None => self.send(frame),
            Some(jitter) => {
                let at = self.now + jitter.part(self.stream.uniform());
                self.later(at, Deferred::Send(frame));
            }
        }
    }
}

impl From<RoutingTimer> for Deferred {
    fn from(timer: RoutingTimer) -> Deferred {
        Deferred::Timer(timer)
    }
}
