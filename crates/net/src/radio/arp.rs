//! Address resolution at one node (docs/specs/manet.md section 4).

use super::fate::PacketFate;
use super::store::{BROADCAST, Payload, QueuedFrame, Store};
use std::collections::BTreeMap;
use units::Span;

/// The state of a neighbour's address.
#[derive(Clone, Copy, Debug, Default)]
struct Address {
    resolved: bool,
    requests: u8,
    /// The frame that waits for the address.
    held: Option<QueuedFrame>,
}

/// The ARP cache of a node.
#[derive(Clone, Debug, Default)]
pub(super) struct Arp {
    addresses: BTreeMap<u32, Address>,
}

/// An output of ARP.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ArpOutput {
    /// A frame goes to the interface queue.
    Send(QueuedFrame),
    /// A frame goes to the interface queue after a random time, with this maximum.
    SendJittered(QueuedFrame, Span),
    /// A frame is dropped.
    Drop(QueuedFrame, PacketFate),
    /// The next hop of a frame did not answer.
    Failed(QueuedFrame, PacketFate),
}

/// Requests for an address before its packets fail.
const REQUESTS: u8 = 3;
const BYTES: u32 = 28;
const JITTER: Span = Span::from_ms(1);

/// What ARP can use during a call.
pub(super) struct ArpContext<'a> {
    pub node: u32,
    /// ARP delays requests by a random time. Without a delay or a backoff, the requests of nodes that send at the same
    /// instant would collide in every attempt.
    pub jitter: bool,
    pub store: &'a mut Store,
    pub outputs: &'a mut Vec<ArpOutput>,
}

impl Arp {
    /// Sends a frame to its next hop, whose address may have to be resolved.
    pub fn send(&mut self, cx: &mut ArpContext<'_>, frame: QueuedFrame) {
        if frame.next == BROADCAST {
            return cx.outputs.push(ArpOutput::Send(frame));
        }
        let address = self.addresses.entry(frame.next).or_default();
        if address.resolved {
            return cx.outputs.push(ArpOutput::Send(frame));
        }
        if address.requests >= REQUESTS {
            address.requests = 0;
            let failed = [address.held.take(), Some(frame)].into_iter().flatten();
            return cx.outputs.extend(failed.map(|frame| ArpOutput::Failed(frame, PacketFate::Arp)));
        }
        address.requests += 1;
        if let Some(before) = address.held.replace(frame) {
            cx.outputs.push(ArpOutput::Drop(before, PacketFate::Arp));
        }
        cx.send_message(BROADCAST, Payload::ArpRequest { from: cx.node, target: frame.next });
    }

    /// A message contains the address of `neighbour`. ARP sends a reply to node `asks`, if there is one.
    pub fn on_message(&mut self, cx: &mut ArpContext<'_>, neighbour: u32, asks: Option<u32>) {
        let address = self.addresses.entry(neighbour).or_default();
        address.resolved = true;
        if let Some(frame) = address.held.take() {
            cx.outputs.push(ArpOutput::Send(frame));
        }
        if let Some(asks) = asks {
            cx.send_message(asks, Payload::ArpReply { from: cx.node });
        }
    }
}

impl ArpContext<'_> {
    fn send_message(&mut self, next: u32, payload: Payload) {
        let frame = QueuedFrame::message(self.store.put(payload), next, BYTES, 1, false);
        let jittered = next == BROADCAST && self.jitter;
        let output = if jittered { ArpOutput::SendJittered(frame, JITTER) } else { ArpOutput::Send(frame) };
        self.outputs.push(output);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(payload: u32, next: u32) -> QueuedFrame {
        QueuedFrame { source: 0, target: next, ..QueuedFrame::message(payload, next, 100, 1, false) }
    }

    fn call(
        arp: &mut Arp,
        store: &mut Store,
        call: impl FnOnce(&mut Arp, &mut ArpContext<'_>),
    ) -> Vec<ArpOutput> {
        let mut outputs = Vec::new();
        call(arp, &mut ArpContext { node: 0, jitter: false, store, outputs: &mut outputs });
        outputs
    }

    /// The first frame waits for the ARP reply. A second frame replaces it. The reply releases the second frame.
    #[test]
    fn one_frame_waits_for_an_address() {
        let (mut arp, mut store) = (Arp::default(), Store::default());
        let asked = call(&mut arp, &mut store, |arp, cx| arp.send(cx, frame(7, 3)));
        assert!(matches!(asked[..], [ArpOutput::Send(QueuedFrame { next: BROADCAST, bytes: 28, .. })]));
        let replaced = call(&mut arp, &mut store, |arp, cx| arp.send(cx, frame(8, 3)));
        assert_eq!(replaced[0], ArpOutput::Drop(frame(7, 3), PacketFate::Arp));
        let answered = call(&mut arp, &mut store, |arp, cx| arp.on_message(cx, 3, None));
        assert_eq!(answered, [ArpOutput::Send(frame(8, 3))]);
        let sent = call(&mut arp, &mut store, |arp, cx| arp.send(cx, frame(9, 3)));
        assert_eq!(sent, [ArpOutput::Send(frame(9, 3))]);
    }

    #[test]
    fn after_three_requests_frames_fail() {
        let (mut arp, mut store) = (Arp::default(), Store::default());
        for payload in 0..3 {
            call(&mut arp, &mut store, |arp, cx| arp.send(cx, frame(payload, 3)));
        }
        let failed = call(&mut arp, &mut store, |arp, cx| arp.send(cx, frame(3, 3)));
        let expected = [2, 3].map(|payload| ArpOutput::Failed(frame(payload, 3), PacketFate::Arp));
        assert_eq!(failed, expected);
    }

    #[test]
    fn a_request_is_answered_by_its_target() {
        let (mut arp, mut store) = (Arp::default(), Store::default());
        let answer = call(&mut arp, &mut store, |arp, cx| arp.on_message(cx, 5, Some(5)));
        assert!(matches!(answer[..], [ArpOutput::Send(QueuedFrame { next: 5, .. })]));
    }
}
