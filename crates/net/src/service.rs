//! The queue and the transmitter of a scheduled link.

use crate::qdisc::scheduled::{Scheduler, Waiting};
use crate::transmitter::Transmitter;
use units::{Rate, Time};

/// The queue and the transmitter of a scheduled link.
#[derive(Clone, Debug)]
pub(crate) struct Service {
    pub scheduler: Scheduler,
    pub transmitter: Transmitter,
    /// The mean rate of the transmitter: what counts as its full use.
    pub mean: Rate,
    pub timer: u32,
    /// Start of the current transmission.
    pub serving_since: Time,
    /// Number of waiting packets, and the sum of their times of arrival, ps.
    waiting: u64,
    arrivals: u128,
    /// The packets that the discipline has just dropped.
    pub drops: Vec<Waiting>,
}

impl Service {
    /// An empty queue in front of an idle transmitter of mean rate `mean`.
    pub fn new(scheduler: Scheduler, transmitter: Transmitter, mean: Rate, timer: u32) -> Service {
        let (serving_since, drops) = (Time::ZERO, Vec::new());
        Service { scheduler, transmitter, mean, timer, serving_since, waiting: 0, arrivals: 0, drops }
    }

    /// The time that the waiting packets have waited until `end`, ps.
    pub fn waited(&self, end: Time) -> f64 {
        (self.waiting as u128 * end.ps() as u128).saturating_sub(self.arrivals) as f64
    }

    /// Number of waiting packets.
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Counts a packet that the queue has accepted.
    pub fn arrived(&mut self, at: Time) {
        self.waiting += 1;
        self.arrivals += at.ps() as u128;
    }

    /// Counts a packet that has left the queue.
    pub fn left(&mut self, packet: &Waiting) {
        self.waiting -= 1;
        self.arrivals -= packet.arrived.ps() as u128;
    }
}
