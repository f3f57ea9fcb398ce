//! Flows whose ends are outside the simulation: their datagrams enter and leave the network while it runs, for example in
//! real time between two network namespaces or UDP sockets.

use super::event_loop::Simulation;
use super::outcome::FlowOutcome;
use super::results::arrivals;
use net::{Ecn, Packet, PacketKind};
use transport::ReceiverStats;
use units::Time;

/// The flows of a run whose ends are outside the simulation. They keep their name and their path; what their tables say
/// about their traffic is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Only the first flow of the scenario; otherwise all flows.
    pub first_only: bool,
    /// Bytes that a datagram has on the wire besides those handed to [`crate::Run::inject`]: 0 for IP packets, 28 for UDP
    /// payload.
    pub header: u32,
}

/// One of the two ends of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowEnd {
    /// The node `from`.
    Source,
    /// The node `to`.
    Destination,
}

/// A datagram that has reached an end of an attached flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveredDatagram {
    /// Number of the flow, as in [`crate::Run::flow_names`].
    pub flow: u32,
    /// The end that it has reached.
    pub end: FlowEnd,
    /// What was given to [`crate::Run::inject`].
    pub bytes: Vec<u8>,
    /// Its ECN field.
    pub ecn: Ecn,
    /// When it was sent.
    pub sent: Time,
    /// When it has arrived.
    pub at: Time,
}

/// A flow with ends outside.
pub(super) struct AttachedFlow {
    pub flow: u32,
    /// Routes from the source and from the destination.
    pub routes: [u32; 2],
    pub header: u32,
    /// Datagrams sent by the source and by the destination.
    pub sent: [u32; 2],
    /// Datagrams that have reached the destination.
    pub stats: ReceiverStats,
}

impl<const WINDOWS: bool, const PACKETS: bool> Simulation<WINDOWS, PACKETS> {
    /// Sends a datagram at the current time from end `end` of flow `number`. Returns whether the network has accepted it.
    pub(super) fn inject(&mut self, number: u32, end: FlowEnd, bytes: &[u8], ecn: Ecn) -> bool {
        let Some(flow) = self.attached.iter_mut().find(|flow| flow.flow == number) else { return false };
        let side = end as usize;
        let kind = [PacketKind::Datagram, PacketKind::ReverseDatagram][side];
        let size = bytes.len() as u32 + flow.header;
        let packet = Packet {
            ecn,
            ..Packet::new(kind, number, flow.routes[side], flow.sent[side], size, self.event_queue.now())
        };
        flow.sent[side] += 1;
        self.network.timer_event();
        self.send_datagram(packet, bytes)
    }

    /// Processes all events up to `now`, or to the end of the run, and sets the clock to that time. Returns whether the run
    /// has ended.
    pub(super) fn catch_up(&mut self, now: Time) -> bool {
        let ended = self.advance(u64::MAX, now);
        self.event_queue.wait_until(now.min(self.end));
        ended
    }

    /// A datagram has reached an end of attached flow `index`.
    pub(super) fn attached_arrived(&mut self, index: usize, packet: &Packet) {
        let at = self.event_queue.now();
        let flow = &mut self.attached[index];
        let end = if packet.kind.is_reverse() { FlowEnd::Source } else { FlowEnd::Destination };
        if end == FlowEnd::Destination {
            flow.stats.arrived(packet, at);
        }
        let bytes = self.datagrams.bytes(packet.options).to_vec();
        let Packet { flow, ecn, sent, .. } = *packet;
        self.outbox.push(DeliveredDatagram { flow, end, bytes, ecn, sent, at });
        self.release_stored(packet);
    }

    /// The outcome of attached flow `index`, over `duration` seconds. The network does not know what the bytes mean: goodput
    /// and delivered bytes are those of the datagrams, without the header that the network adds.
    pub(super) fn attached_outcome(&self, index: usize, duration: f64) -> FlowOutcome {
        let flow = &self.attached[index];
        let number = flow.flow as usize;
        let (sent, stats) = (flow.sent[0] as u64, &flow.stats);
        let delivered = stats.wire_bytes - stats.packets * flow.header as u64;
        FlowOutcome {
            kind: "attached",
            sent_packets: sent,
            goodput_bps: delivered as f64 * 8.0 / duration,
            delivered_bytes: delivered,
            delivery_ratio: (sent > 0).then(|| stats.packets as f64 / sent as f64),
            ..arrivals(self.names[number].clone(), stats, self.bases[number], duration)
        }
    }
}
