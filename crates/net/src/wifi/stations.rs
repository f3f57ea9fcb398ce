//! Which station an access point serves next.

use std::collections::VecDeque;
use units::Span;

/// The scheduler of an access point over its stations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StationScheduler {
    /// Deficit round robin in airtime, as in mac80211.
    Airtime {
        /// The airtime that a station of weight 1 gets in a round.
        quantum: Span,
    },
    /// One PPDU for each station in turn.
    RoundRobin,
    /// One queue of at most so many packets for all stations: its head decides.
    Shared {
        /// Packets that wait.
        limit: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum List {
    None,
    New,
    Old,
}

#[derive(Clone, Debug)]
struct Station {
    deficit: i64,
    quantum: i64,
    list: List,
}

/// The stations of an access point, numbered from 0; a station has only one.
#[derive(Clone, Debug)]
pub struct Stations {
    scheduler: StationScheduler,
    stations: Vec<Station>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Of a shared queue: the stations of its packets in order.
    order: VecDeque<u32>,
}

impl Stations {
    pub fn new(scheduler: StationScheduler) -> Stations {
        Stations {
            scheduler,
            stations: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            order: VecDeque::new(),
        }
    }

    /// Adds a station with a weight.
    pub fn add(&mut self, weight: f64) {
        let quantum = match self.scheduler {
            StationScheduler::Airtime { quantum } => (quantum.ps() as f64 * weight) as i64,
            _ => 0,
        };
        self.stations.push(Station { deficit: quantum, quantum: quantum.max(1), list: List::None });
    }

    /// Whether the shared queue is full.
    pub fn full(&self) -> bool {
        matches!(self.scheduler, StationScheduler::Shared { limit } if self.order.len() as u64 >= limit)
    }

    /// A packet for a station waits.
    pub fn arrived(&mut self, station: u32) {
        if matches!(self.scheduler, StationScheduler::Shared { .. }) {
            return self.order.push_back(station);
        }
        let place = &mut self.stations[station as usize];
        if place.list == List::None {
            place.list = List::New;
            self.new.push_back(station);
        }
    }

    /// `count` packets of a station have left its queue.
    pub fn left(&mut self, station: u32, count: usize) {
        if matches!(self.scheduler, StationScheduler::Shared { .. }) {
            let mut remaining = count;
            self.order.retain(|other| {
                let gone = *other == station && remaining > 0;
                remaining -= usize::from(gone);
                !gone
            });
        }
    }

    /// The station whose turn it is; `ready` says whether a station has something to send.
    pub fn pick(&mut self, ready: impl Fn(u32) -> bool) -> Option<u32> {
        if matches!(self.scheduler, StationScheduler::Shared { .. }) {
            // What must be sent again comes first.
            let repeating = (0..self.stations.len() as u32)
                .find(|station| ready(*station) && !self.order.contains(station));
            return repeating.or_else(|| self.order.iter().copied().find(|station| ready(*station)));
        }
        loop {
            let from_new = !self.new.is_empty();
            let queue = if from_new { &mut self.new } else { &mut self.old };
            let station = *queue.front()?;
            let place = &mut self.stations[station as usize];
            if !ready(station) {
                queue.pop_front();
                // A new station that ran empty takes one turn among the old ones.
                place.list = if from_new { List::Old } else { List::None };
                if from_new {
                    self.old.push_back(station);
                }
            } else if matches!(self.scheduler, StationScheduler::Airtime { .. }) && place.deficit < 0 {
                queue.pop_front();
                place.deficit += place.quantum;
                place.list = List::Old;
                self.old.push_back(station);
            } else {
                return Some(station);
            }
        }
    }

    /// A station has used the channel for `airtime`.
    pub fn charge(&mut self, station: u32, airtime: Span) {
        if matches!(self.scheduler, StationScheduler::Airtime { .. }) {
            self.stations[station as usize].deficit -= airtime.ps() as i64;
        }
    }

    /// The same, if packets for the station wait: one that only receives gets no debt for a time in which it asks for nothing.
    pub fn charge_waiting(&mut self, station: u32, airtime: Span) {
        if self.stations[station as usize].list != List::None {
            self.charge(station, airtime);
        }
    }

    /// A station has had its turn.
    pub fn served(&mut self, station: u32) {
        if matches!(self.scheduler, StationScheduler::RoundRobin) {
            let queue = if self.new.front() == Some(&station) { &mut self.new } else { &mut self.old };
            if queue.front() == Some(&station) {
                queue.pop_front();
                self.old.push_back(station);
                self.stations[station as usize].list = List::Old;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn airtime_is_equal_although_exchanges_are_not() {
        let mut stations = Stations::new(StationScheduler::Airtime { quantum: Span::from_ps(256_000_000) });
        (0..3).for_each(|_| stations.add(1.0));
        (0..3).for_each(|station| stations.arrived(station));
        let cost = [300, 300, 3000].map(|us| Span::from_ps(us * 1_000_000));
        let mut used = [0u64; 3];
        for _ in 0..3000 {
            let station = stations.pick(|_| true).unwrap();
            stations.charge(station, cost[station as usize]);
            used[station as usize] += cost[station as usize].ps();
        }
        let mean = used.iter().sum::<u64>() / 3;
        assert!(used.iter().all(|one| one.abs_diff(mean) < mean / 50), "{used:?}");
    }

    #[test]
    fn the_head_of_a_shared_queue_decides() {
        let mut stations = Stations::new(StationScheduler::Shared { limit: 4 });
        (0..2).for_each(|_| stations.add(1.0));
        for station in [1, 0, 1, 1] {
            stations.arrived(station);
        }
        assert!(stations.full());
        assert_eq!(stations.pick(|_| true), Some(1));
        stations.left(1, 3);
        assert_eq!((stations.pick(|station| station == 0), stations.full()), (Some(0), false));
    }
}
