//! A node's routing table under AODV.

use crate::radio::store::NO_NEXT_HOP;
use units::{Span, Time};

/// Whether a route can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum RouteState {
    Up,
    #[default]
    Down,
    /// This node repairs the route. Packets wait.
    Repair,
}

/// Hops of a route that is down.
pub(super) const NO_HOPS: u16 = 255;

/// The routing table entry for a destination.
#[derive(Clone, Debug)]
pub(super) struct AodvRoute {
    pub state: RouteState,
    /// Sequence number, and whether it is known (in ns-2, zero means unknown).
    pub seq: u32,
    pub seq_known: bool,
    pub hops: u16,
    pub next: u32,
    pub expire: Time,
    /// Hops when it last was up.
    pub last_hops: u16,
    /// Neighbours that use it, in order.
    pub precursors: Vec<u32>,
    /// The current discovery: the number of network-wide attempts, the time of the next attempt, and the last TTL.
    pub attempts: u32,
    pub wait_until: Time,
    pub last_ttl: u16,
    /// Time per hop of the last discoveries, and the index of the next entry.
    latency: [Span; 3],
    at: usize,
}

impl Default for AodvRoute {
    fn default() -> AodvRoute {
        AodvRoute {
            state: RouteState::Down,
            seq: 0,
            seq_known: false,
            hops: NO_HOPS,
            next: NO_NEXT_HOP,
            expire: Time::ZERO,
            last_hops: NO_HOPS,
            precursors: Vec::new(),
            attempts: 0,
            wait_until: Time::ZERO,
            last_ttl: 0,
            latency: [Span::ZERO; 3],
            at: 0,
        }
    }
}

impl AodvRoute {
    pub fn set(&mut self, seq: u32, hops: u16, next: u32, expire: Time) {
        (self.seq, self.seq_known, self.hops) = (seq, true, hops);
        (self.next, self.expire, self.state) = (next, expire, RouteState::Up);
    }

    /// Takes it down; its sequence number stays.
    pub fn down(&mut self) {
        if self.state != RouteState::Down {
            self.last_hops = self.hops;
        }
        (self.hops, self.state, self.next, self.expire) =
            (NO_HOPS, RouteState::Down, NO_NEXT_HOP, Time::ZERO);
    }

    /// Whether the route has a valid hop count: it is up or under repair.
    pub fn has_valid_hop_count(&self) -> bool {
        self.hops != NO_HOPS
    }

    pub fn add_precursor(&mut self, neighbour: u32) {
        if let Err(place) = self.precursors.binary_search(&neighbour) {
            self.precursors.insert(place, neighbour);
        }
    }

    /// The discovery has succeeded.
    pub fn discovered(&mut self, hops: u16) {
        (self.attempts, self.wait_until, self.last_ttl) = (0, Time::ZERO, hops);
    }

    pub fn record_latency(&mut self, per_hop: Span) {
        self.latency[self.at] = per_hop;
        self.at = (self.at + 1) % self.latency.len();
    }

    /// Mean time per hop of the last discoveries; none if there was none.
    pub fn per_hop(&self) -> Option<Span> {
        let latencies = self.latency.iter().filter(|l| **l > Span::ZERO);
        let count = latencies.clone().count() as u64;
        (count > 0).then(|| Span::from_ps(latencies.map(|l| l.ps()).sum::<u64>() / count))
    }
}
