//! A terminal: when it sleeps, and when it changes its cell.

use super::config::{Drx, Handover};
use units::Time;

/// A terminal and its directions, down and up.
#[derive(Clone, Debug, Default)]
pub struct User {
    pub directions: [Option<u32>; 2],
    drx: Option<Drx>,
    /// The last packet, or the on-duration that it waits for.
    last: Option<Time>,
    /// Before this time no packet goes down, because the terminal sleeps.
    awake: Time,
    handover: Option<Handover>,
    /// End of the last interruption.
    pub resumes: Time,
}

impl User {
    pub fn new(drx: Option<Drx>, handover: Option<Handover>) -> User {
        User { drx, handover, ..User::default() }
    }

    /// A packet for or from the terminal at `now`.
    pub fn active(&mut self, now: Time, down: bool) {
        let Some(drx) = &self.drx else { return };
        let within = now.ps() % drx.cycle.ps();
        let rested = self.last.is_none_or(|last| now > last && now.since(last) > drx.inactivity);
        if rested && within >= drx.on.ps() && down {
            self.awake = Time::from_ps(now.ps() - within) + drx.cycle;
            self.last = Some(self.awake);
        } else {
            self.last = self.last.max(Some(now));
        }
    }

    /// The earliest time from `now` on at which it can be served, down or up.
    pub fn ready(&self, now: Time, down: bool) -> Time {
        let now = now.max(self.resumes);
        if down { now.max(self.awake) } else { now }
    }

    /// The times of its handovers.
    pub fn handovers(&self) -> impl Iterator<Item = Time> {
        self.handover.iter().flat_map(|handover| &handover.at).map(|at| Time::ZERO + *at)
    }

    /// Begins the handover of `at`. Returns whether waiting packets go to the new cell.
    pub fn begin_handover(&mut self, at: Time) -> bool {
        let Some(handover) = &self.handover else { return true };
        self.resumes = at + handover.interruption;
        handover.mode == "lossless"
    }

    /// When a packet to the terminal that arrived at `arrived` is at the cell; none if it is lost by a handover.
    pub fn at_cell(&self, arrived: Time) -> Option<Time> {
        let Some(handover) = self.handover.as_ref().filter(|_| arrived < self.resumes) else {
            return Some(arrived);
        };
        let begin = Time::from_ps(self.resumes.ps() - handover.interruption.ps());
        match handover.mode {
            "lossless" => Some(if arrived < begin { arrived } else { arrived + handover.forwarding }),
            _ => None,
        }
    }
}
