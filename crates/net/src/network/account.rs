//! Accounts of links: over the whole run, and over its warm-up. A link counts a packet when it takes it, ahead of what will
//! happen to it; what lies beyond the end of the warm-up or of the run is left out here.

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
        // What of it lies before a moment: transmission, and waiting.
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

    /// An arrival at the end of link `id`, before a fused link, after the warm-up or after the run: whether it is the
    /// latter.
    #[cold]
    pub(super) fn arrives_late(&mut self, id: u32, arrival: Time) -> bool {
        if arrival <= self.horizon {
            self.beyond[id as usize].delivered += 1;
        }
        arrival > self.horizon
    }

    /// Accounts will be asked for at `at` too. Call after adding the links.
    pub fn set_warmup(&mut self, at: Time) {
        self.border = at;
        self.beyond = vec![Beyond::default(); self.links.len()];
    }

    /// The warm-up has ended, its accounts have been taken.
    pub fn end_warmup(&mut self) {
        self.border = self.horizon;
        self.beyond = Vec::new();
    }

    /// The account of every link over `duration`, from the start to the end of the run, or of the warm-up; `event_queue` holds
    /// what is in flight.
    pub fn account(&self, event_queue: &EventQueue<Packet>, duration: Span) -> Vec<LinkAccount> {
        let mut in_flight = vec![0u64; self.links.len()];
        for (_, packet) in event_queue.in_flight() {
            // One that has just come down from the air is on no link.
            if let Some(count) = in_flight.get_mut(self.routes[packet.route as usize] as usize) {
                *count += 1;
            }
        }
        let seconds = duration.seconds();
        let (none, nothing) = (IngressState::default(), Beyond::default());
        self.links
            .iter()
            .zip(in_flight)
            .enumerate()
            .map(|(number, (link, flying))| {
                let beyond = self.beyond.get(number).unwrap_or(&nothing);
                let accepted = link.accepted - beyond.accepted;
                let busy = link.busy - beyond.busy;
                let guard = self.guards.get(link.guard as usize).unwrap_or(&none);
                let dropped = |after: bool| -> u64 {
                    let wanted = DropReason::ALL.into_iter().filter(|reason| reason.after_queue() == after);
                    wanted.map(|reason| guard.drops[reason as usize]).sum()
                };
                let waited = (link.waited - beyond.waited) / units::PS_PER_S as f64;
                let delivered = link.accepted - flying - dropped(true) - guard.lost_later - beyond.delivered;
                let drops = std::array::from_fn(|reason| guard.drops[reason] - beyond.dropped[reason]);
                let lost = dropped(true) - beyond.dropped.iter().sum::<u64>();
                LinkAccount {
                    offered: accepted + dropped(false),
                    accepted,
                    delivered,
                    dropped: drops,
                    in_flight: accepted - delivered - lost,
                    marked: guard.marked,
                    utilisation: if seconds > 0.0 { busy.seconds() / seconds } else { 0.0 },
                    mean_queue_packets: if seconds > 0.0 { waited / seconds } else { 0.0 },
                    mean_sojourn_s: (accepted > 0).then(|| waited / accepted as f64),
                }
            })
            .collect()
    }
}
