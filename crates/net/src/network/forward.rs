//! Hops that are not links: the radio, and satellites by routing tables.

use super::transit::schedule;
use super::{Arrival, Network, places};
use crate::next_hop::{Hop, NextHop, TransmissionStart};
use crate::packet::Packet;
use crate::satellites::{LinkTransit, TableHop};
use crate::tap::{DropReason, Tap};
use engine::EventQueue;
use units::Time;

impl Network {
    /// Forwards a packet over a hop that is not a link. The radio reports later what became of a packet.
    pub(super) fn forward<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        hop: Hop,
        packet: &Packet,
    ) -> Arrival {
        if let NextHop::Medium(medium) = hop.decode() {
            self.serve_medium(event_queue, tap, medium);
            return Arrival::Forwarded;
        }
        let Some(tables) = &self.tables else {
            if let (NextHop::Radio(path), Some(radio)) = (hop.decode(), &mut self.radio) {
                radio.send(event_queue, packet, path);
                return Arrival::Forwarded;
            }
            return Arrival::Delivered;
        };
        let (row, node) = match hop.decode() {
            NextHop::Satellites(entry) => tables.entries[entry as usize],
            NextHop::Lookup => tables.arrival(packet.route),
            NextHop::Radio(path) => {
                if let Some(radio) = &mut self.radio {
                    radio.send(event_queue, packet, path);
                }
                return Arrival::Forwarded;
            }
            NextHop::Link(_) | NextHop::Deliver | NextHop::Service(_) | NextHop::Medium(_) => {
                return Arrival::Delivered;
            }
        };
        if tables.is_target(row, node) {
            let Some(after) = tables.after(row) else { return Arrival::Delivered };
            let hop = self.routes[after as usize + 1];
            debug_assert!(hop.as_link().is_none(), "routing tables serve the links around satellites");
            return self.forward(event_queue, tap, hop, packet);
        }
        if self.enqueue_by_table(event_queue, tap, row, node, packet) {
            Arrival::Forwarded
        } else {
            Arrival::Dropped
        }
    }

    /// Enqueues a packet for destination `row` at `node`. Returns whether it will arrive at the end of a link.
    fn enqueue_by_table<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        row: u32,
        node: u32,
        packet: &Packet,
    ) -> bool {
        let now = event_queue.now();
        let Some(tables) = &mut self.tables else { return false };
        let port = match tables.port(row, node) {
            Ok(port) => port,
            Err(link) => {
                self.links.drop_packet(tap, link, now, packet, DropReason::Route);
                return false;
            }
        };
        if self.links.states[tables.outgoing[port as usize].link as usize].scheduled {
            let route = tables.outgoing[port as usize].place + 2 * row;
            return self.enqueue_scheduled(event_queue, tap, route, packet);
        }
        let (id, header) = (tables.outgoing[port as usize].link, tables.header(port));
        let link = &mut self.links.states[id as usize];
        // During the pause after a hand-off the transmitter counts as busy.
        let ready = now.max(link.free_at);
        let start = tables.not_before(port, ready);
        if start > ready {
            link.free_at = start;
        }
        let Some(accepted) = self.links.admit(tap, id, now, packet) else { return false };
        let packet = &self.links.rewritten(id, now, packet, accepted.marked);
        let (start, _) = self.links.transmit_at(tap, id, now, packet, packet.size + header);
        let lost = accepted.lost.then_some(DropReason::Loss);
        self.propagate_by_table(event_queue, tap, TableHop { port, row }, start, packet, lost)
    }

    /// Schedules the arrival of a packet whose transmission at the port of `hop` started at `start` and ends at the `free_at` of
    /// the link. Returns whether it arrives; `lost`: it does not, for this reason.
    pub(super) fn propagate_by_table<T: Tap>(
        &mut self,
        event_queue: &mut EventQueue<Packet>,
        tap: &mut T,
        hop: TableHop,
        start: Time,
        packet: &Packet,
        lost: Option<DropReason>,
    ) -> bool {
        let TableHop { mut port, row } = hop;
        let Network { tables, links, routes, .. } = self;
        let Some(tables) = tables else { return false };
        let id = tables.outgoing[port as usize].link;
        let link = &mut links.states[id as usize];
        let (rows, mut reason) = (tables.rows(), lost);
        match tables.transit(port, start, |link| places(routes, rows, link)) {
            LinkTransit::Arrives(over) => port = over,
            LinkTransit::Lost => reason = Some(DropReason::Handoff),
        }
        let arrival = link.free_at + tables.delay(port, start, link);
        if tables.lost_in_flight(port, start, arrival) {
            reason = Some(DropReason::Handoff);
        }
        if let Some(reason) = reason {
            self.links.lose(tap, id, packet, reason);
            return false;
        }
        let route = tables.outgoing[port as usize].place + 2 * row;
        schedule(&mut link.hint, event_queue, TransmissionStart { route, id, start }, arrival, packet);
        true
    }
}
