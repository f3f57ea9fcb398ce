//! Counters of links over the whole run and over its warm-up. A link counts a packet when it accepts it, before the
//! departure and the arrival. The functions here subtract what happens after the end of the warm-up or of the run.

use super::Network;
use crate::link::{Beyond, IngressState, LinkAccount};
use crate::packet::Packet;
use crate::tap::DropReason;
use engine::EventQueue;
use units::{Span, Time};

impl Network {
    /// Counts a transmission that ends after the warm-up or after the run.
    #[cold]
    pub(super) fn transmit_late(&mut self, id: u32, now: Time, start: Time, depart: Time) {
        // Transmission time and waiting time before time `end`.
        let before = |end: Time| {
            let begun = start.min(end);
            let waited = if now <= end { begun.since(now).ps() as f64 } else { 0.0 };
            (depart.min(end).since(begun), waited)
        };
        let link = &mut self.links[id as usize];
        let (busy, waited) = before(self.horizon);
        link.busy = link.busy + busy;
        link.waited += waited;
        if let Some(beyond) = self.beyond.get_mut(id as usize) {
            let (early, early_wait) = before(self.border);
            beyond.accepted += (now > self.border) as u64;
            beyond.busy = beyond.busy + (busy - early);
            beyond.waited += waited - early_wait;
        }
    }

    /// Counts an arrival, at the end of link `id` in front of a fused link, that is after the end of the warm-up or
    /// of the run. Returns whether it is after the end of the run.
    #[cold]
    pub(super) fn arrives_late(&mut self, id: u32, arrival: Time) -> bool {
        if arrival <= self.horizon {
            self.beyond[id as usize].delivered += 1;
        }
        arrival > self.horizon
    }

    /// Sets the end of the warm-up, so that [`Network::account`] is valid at that time too. Call it after adding the
    /// links.
    pub fn set_warmup(&mut self, at: Time) {
        self.border = at;
        self.beyond = vec![Beyond::default(); self.links.len()];
    }

    /// Ends the warm-up. Call it after [`Network::account`] for the warm-up.
    pub fn end_warmup(&mut self) {
        self.border = self.horizon;
        self.beyond = Vec::new();
    }

    /// The account of every link over the first `duration` of the run: the whole run or the warm-up. `event_queue`
    /// contains the packets in flight.
    pub fn account(&self, event_queue: &EventQueue<Packet>, duration: Span) -> Vec<LinkAccount> {
        let mut in_flight = vec![0u64; self.links.len()];
        for (_, packet) in event_queue.in_flight() {
            // A packet that was just received by radio is on no link.
            if let Some(count) = in_flight.get_mut(self.routes[packet.route as usize].index()) {
                *count += 1;
            }
        }
        for (count, link) in in_flight.iter_mut().zip(&self.links) {
            *count += self.ingress.get(link.ingress as usize).map_or(0, IngressState::waiting);
        }
        let (seconds, end) = (duration.seconds(), Time::ZERO + duration);
        let (none, nothing) = (IngressState::default(), Beyond::default());
        self.links
            .iter()
            .zip(in_flight)
            .enumerate()
            .map(|(number, (link, flying))| {
                let beyond = self.beyond.get(number).unwrap_or(&nothing);
                let accepted = link.accepted - beyond.accepted;
                let busy = link.busy - beyond.busy;
                let ingress = self.ingress.get(link.ingress as usize).unwrap_or(&none);
                let dropped = |after: bool| -> u64 {
                    let wanted = DropReason::ALL.into_iter().filter(|reason| reason.after_queue() == after);
                    wanted.map(|reason| ingress.drops[reason as usize]).sum()
                };
                // A varying transmitter counts as busy as long as the bits take at the nominal rate.
                let varying = ingress.service.as_ref().filter(|service| !service.transmitter.constant());
                let offered =
                    varying.map_or(seconds, |s| s.transmitter.offered(end) / s.nominal.bps() as f64);
                let waiting = ingress.service.as_ref().map_or(0.0, |service| service.waited(end));
                let waited = (link.waited - beyond.waited + waiting) / units::PS_PER_S as f64;
                let delivered =
                    link.accepted - flying - dropped(true) - ingress.lost_later - beyond.delivered;
                let drops = std::array::from_fn(|reason| ingress.drops[reason] - beyond.dropped[reason]);
                let lost = dropped(true) - beyond.dropped.iter().sum::<u64>();
                LinkAccount {
                    offered: accepted + dropped(false),
                    accepted,
                    delivered,
                    dropped: drops,
                    in_flight: accepted - delivered - lost,
                    marked: ingress.marked,
                    utilisation: if offered > 0.0 { busy.seconds() / offered } else { 0.0 },
                    offered_s: offered,
                    mean_queue_packets: if seconds > 0.0 { waited / seconds } else { 0.0 },
                    low_latency: ingress.service.as_ref().and_then(|s| s.scheduler.low_latency()).cloned(),
                    mean_sojourn_s: (accepted > 0).then(|| waited / accepted as f64),
                }
            })
            .collect()
    }
}
