//! Datagrams that enter and leave the network, and the flows with ends outside the simulation.

use super::account::PortAccount;
use super::attached::{DeliveredDatagram, FlowEnd, InjectError, MOST_BYTES, PortFacts, SMALL, Waiting};
use super::endpoints::Endpoints;
use super::event_loop::Simulation;
use crate::clock::{cpu_time, wall_time};
use net::{Ecn, Packet, PacketKind};
use units::Time;

/// Of so many steps of an attached run one is measured: the measurement takes longer than a step.
const STEPS_PER_MEASUREMENT: u64 = 1024;

impl<const WINDOWS: bool, const PACKETS: bool> Simulation<WINDOWS, PACKETS> {
    /// Processes what the links have done with datagrams. To be called before the pool changes.
    #[inline]
    pub(super) fn apply_payload_changes(&mut self) {
        let changes = &mut self.network.links.payload_changes;
        self.datagrams.apply(changes);
        if !changes.datagram_drops.is_empty() {
            self.count_drops();
        }
    }

    #[cold]
    fn count_drops(&mut self) {
        for drop in self.network.links.payload_changes.datagram_drops.drain(..) {
            if let Endpoints::Attached(index) = self.endpoints[drop.flow as usize] {
                self.attached[index].ports[drop.reverse as usize].dropped[drop.reason as usize] += 1;
            }
        }
    }

    /// Sends `packet` with `bytes`. Returns whether it will arrive at the end of its first link.
    pub(super) fn send_datagram(&mut self, mut packet: Packet, bytes: &[u8]) -> bool {
        self.apply_payload_changes();
        packet.options = self.datagrams.put(bytes);
        if PACKETS {
            self.recorder.sends_datagram(&packet, bytes);
        }
        let now = self.event_queue.now();
        let sent = self.network.send(&mut self.event_queue, &mut self.recorder, now, &packet);
        if !sent {
            self.apply_payload_changes();
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
            self.apply_payload_changes();
            self.datagrams.release(packet.options);
        }
    }

    /// Whether the pool stores the bytes of the datagrams in flight, and no others; else what it stores instead.
    pub(super) fn check_datagrams(&mut self) -> Result<(), String> {
        self.apply_payload_changes();
        let stored = self.datagrams.packets();
        let under_way =
            self.event_queue.in_flight().filter(|(_, packet)| packet.kind.is_datagram()).count() as u64;
        let at_ends = self.outbox.len() as u64 + self.lent.is_some() as u64;
        let least = under_way + at_ends + self.network.radio.as_ref().map_or(0, |radio| radio.datagrams());
        let largest = least + self.network.waiting(); // other packets can wait too
        if (least..=largest).contains(&stored) {
            return Ok(());
        }
        Err(format!(
            "the bytes of {stored} datagrams are stored, and {least} to {largest} datagrams are in flight"
        ))
    }

    /// Sends a datagram at the current time from end `end` of flow `number`.
    pub(super) fn inject(
        &mut self,
        number: u32,
        end: FlowEnd,
        bytes: &[u8],
        ecn: Ecn,
    ) -> Result<(), InjectError> {
        let Some(Endpoints::Attached(index)) = self.endpoints.get(number as usize).copied() else {
            return Err(InjectError::NotAttached);
        };
        let flow = &mut self.attached[index];
        let now = self.event_queue.now();
        if now >= self.end {
            return Err(InjectError::Ended);
        }
        let most = MOST_BYTES - (flow.ends.header as usize).min(MOST_BYTES);
        if bytes.len() > most {
            return Err(InjectError::TooLong(most));
        }
        let side = end as usize;
        let kind = [PacketKind::Datagram, PacketKind::ReverseDatagram][side];
        let (size, port) = (bytes.len() as u32 + flow.ends.header, &mut flow.ports[side]);
        let packet =
            Packet { ecn, ..Packet::new(kind, number, flow.routes[side], port.sent as u32, size, now) };
        port.sent += 1;
        port.sent_bytes += bytes.len() as u64;
        if size > flow.ends.mtu {
            port.too_long += 1;
            return Ok(());
        }
        port.largest = port.largest.max(bytes.len() as u32);
        if bytes.len() < SMALL {
            port.small[0] += 1;
            port.small[1] += bytes.len() as u64;
        }
        self.network.links.timer_event();
        let accepted = self.send_datagram(packet, bytes);
        self.apply_payload_changes(); // it may have displaced others
        self.attached[index].ports[side].accepted += accepted as u64;
        Ok(())
    }

    /// Processes all events up to `now`, or to the end of the run, and sets the clock to that time. Returns whether the run
    /// has ended.
    pub(super) fn catch_up(&mut self, now: Time) -> bool {
        self.return_lent();
        if self.is_idle_until(now) {
            if PACKETS {
                self.recorder.finish(now);
            }
            self.reached = self.reached.max(now);
            self.event_queue.wait_until(now);
            return false;
        }
        let measured = self.steps.is_multiple_of(STEPS_PER_MEASUREMENT);
        self.steps += 1;
        let (cpu, wall) = if measured { (cpu_time(), wall_time()) } else { (0, 0) };
        let ended = self.advance_unmeasured(u64::MAX, now);
        if measured {
            let steps = self.steps.min(STEPS_PER_MEASUREMENT);
            self.cpu += (cpu_time() - cpu) * steps;
            self.wall += (wall_time() - wall) * steps;
        }
        self.event_queue.wait_until(now.min(self.end));
        self.apply_payload_changes();
        ended
    }

    /// Whether nothing happens up to `now`, which is before the end: most steps of an attached run are a timer of its stack.
    #[inline]
    fn is_idle_until(&self, now: Time) -> bool {
        self.event_queue.next_at() > now
            && now < self.end
            && self.changes.get(self.next_change).is_none_or(|change| change.at > now)
            && !self.network.early.is_waiting()
            && self.network.radio.is_none()
    }

    /// A datagram has reached an end of attached flow `index`.
    pub(super) fn attached_arrived(&mut self, index: usize, packet: &Packet) {
        let at = self.event_queue.now();
        let attached = &mut self.attached[index];
        let (side, end) = match packet.kind.is_reverse() {
            true => (1, FlowEnd::Source),
            false => (0, FlowEnd::Destination),
        };
        let port = &mut attached.ports[side];
        port.stats.arrived(packet, at);
        port.delays.record(at.since(packet.sent));
        port.marked += (packet.ecn == Ecn::Ce) as u64;
        // The packet has the low half of its number.
        let number = port.sent - (port.sent as u32).wrapping_sub(packet.seq) as u64;
        let Packet { flow, ecn, sent, options: slot, .. } = *packet;
        self.outbox.push_back(Waiting { flow, end, slot, ecn, number, sent, at });
    }

    /// Removes and returns the next datagram that has reached its end.
    pub(super) fn take_received(&mut self) -> Option<DeliveredDatagram<'_>> {
        self.return_lent();
        let Waiting { flow, end, slot, ecn, number, sent, at } = self.outbox.pop_front()?;
        self.lent = Some(slot);
        Some(DeliveredDatagram { flow, end, bytes: self.datagrams.bytes(slot), ecn, number, sent, at })
    }

    /// What an end of an attached flow has sent, without the warm-up.
    pub(super) fn port_account(&self, number: u32, end: FlowEnd) -> Option<(PortAccount, PortFacts)> {
        let Endpoints::Attached(index) = *self.endpoints.get(number as usize)? else { return None };
        let flow = &self.attached[index];
        let port = &flow.ports[end as usize];
        let facts = PortFacts { base_delay: port.base_delay, largest: port.largest, small: port.small };
        let whole = port.account(flow.ends.header);
        let warmup = self.warmup.as_ref().and_then(|warmup| warmup.account.as_deref());
        let place = self.order.iter().position(|other| *other == number)?;
        let early = warmup.and_then(|account| account.flows[place].ports.as_ref());
        Some((early.map_or_else(|| whole.clone(), |early| &whole - &early[end as usize]), facts))
    }

    /// Takes back the bytes of the datagram that was received last.
    #[inline]
    fn return_lent(&mut self) {
        if let Some(slot) = self.lent.take() {
            self.apply_payload_changes();
            self.datagrams.release(slot);
        }
    }
}
