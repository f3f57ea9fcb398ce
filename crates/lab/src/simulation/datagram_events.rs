//! Datagrams that enter and leave the network, and the flows with ends outside the simulation.

use super::attached::{DeliveredDatagram, FlowEnd};
use super::event_loop::Simulation;
use net::{Ecn, Packet, PacketKind};
use units::Time;

impl<const WINDOWS: bool, const PACKETS: bool> Simulation<WINDOWS, PACKETS> {
    /// Sends `packet` with `bytes`. Returns whether it will arrive at the end of its first link.
    pub(super) fn send_datagram(&mut self, mut packet: Packet, bytes: &[u8]) -> bool {
        self.datagrams.apply(&mut self.network.links.payload_changes);
        packet.options = self.datagrams.put(bytes);
        if PACKETS {
            self.recorder.sends_datagram(&packet, bytes);
        }
        let now = self.event_queue.now();
        let sent = self.network.send(&mut self.event_queue, &mut self.recorder, now, &packet);
        if !sent {
            self.datagrams.apply(&mut self.network.links.payload_changes);
            self.datagrams.release(packet.options);
        }
        sent
    }

    /// Releases the stored options or bytes of a packet that is no longer in flight.
    #[inline(never)]
    pub(super) fn release_stored(&mut self, packet: &Packet) {
        if packet.has_options() {
            self.ack_options.take(packet.options);
        } else if packet.kind.is_datagram() {
            self.datagrams.apply(&mut self.network.links.payload_changes);
            self.datagrams.release(packet.options);
        }
    }

    /// Whether the pool stores the bytes of the datagrams in flight, and no others; else what it stores instead.
    pub(super) fn check_datagrams(&mut self) -> Result<(), String> {
        self.datagrams.apply(&mut self.network.links.payload_changes);
        let stored = self.datagrams.packets();
        let under_way =
            self.event_queue.in_flight().filter(|(_, packet)| packet.kind.is_datagram()).count() as u64;
        let least = under_way + self.network.radio.as_ref().map_or(0, |radio| radio.datagrams());
        let largest = least + self.network.waiting(); // other packets can wait too
        if (least..=largest).contains(&stored) {
            return Ok(());
        }
        Err(format!(
            "the bytes of {stored} datagrams are stored, and {least} to {largest} datagrams are in flight"
        ))
    }

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
        self.network.links.timer_event();
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
}
