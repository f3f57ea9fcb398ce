//! One queue for each access category of a direction of a Wi-Fi link.

use super::{LowLatency, Point, Scheduled, Scheduler, Waiting};
use crate::packet::Packet;
use crate::rule::Rule;
use std::sync::Arc;
use units::Time;

/// The queues of the access categories of a direction; a packet waits in that of its flow.
#[derive(Clone, Debug)]
pub struct CategoryQueues {
    /// Of each flow, by number, the place of its queue.
    places: Arc<[u8]>,
    queues: Vec<Scheduler>,
    /// The queue that is asked next.
    selected: usize,
}

impl CategoryQueues {
    /// Queues, and of each flow, by number, the place of its queue among them.
    pub fn new(queues: Vec<Scheduler>, places: Arc<[u8]>) -> CategoryQueues {
        CategoryQueues { places, queues, selected: 0 }
    }

    /// The place of the queue of a packet.
    pub(crate) fn place(&self, packet: &Packet) -> usize {
        self.places.get(packet.flow as usize).map_or(0, |place| *place as usize)
    }

    /// The queue at `place` is asked next.
    pub(crate) fn select(&mut self, place: usize) {
        self.selected = place;
    }

    /// Whether packets wait in the queue at `place`.
    pub(crate) fn waits(&self, place: usize) -> bool {
        self.queues[place].discipline().bytes() > 0
    }

    fn queue_of(&self, packet: &Waiting) -> &dyn Scheduled {
        self.queues[self.place(&packet.packet)].discipline()
    }
}

impl Scheduled for CategoryQueues {
    #[inline(never)] // keeps the path of the other disciplines short
    fn enqueue(&mut self, packet: Waiting, idle: bool, drops: &mut Vec<Waiting>) -> bool {
        let place = self.place(&packet.packet);
        self.queues[place].discipline_mut().enqueue(packet, idle, drops)
    }

    #[inline(never)] // keeps the path of the other disciplines short
    fn dequeue(&mut self, now: Time, drops: &mut Vec<Waiting>) -> Option<Waiting> {
        self.queues[self.selected].discipline_mut().dequeue(now, drops)
    }

    fn bytes(&self) -> u64 {
        self.queues.iter().map(|queue| queue.discipline().bytes()).sum()
    }

    fn drain(&mut self) -> Vec<Waiting> {
        self.queues.iter_mut().flat_map(Scheduler::drain).collect()
    }

    fn rule(&self, packet: &Waiting, now: Time, point: Point) -> Option<Rule> {
        self.queue_of(packet).rule(packet, now, point)
    }

    fn mark_at_arrival(&self, packet: &Waiting) -> Option<Rule> {
        self.queue_of(packet).mark_at_arrival(packet)
    }

    fn record_sojourns(&mut self, from: Time) {
        self.queues.iter_mut().for_each(|queue| queue.record_sojourns(from));
    }

    fn low_latency(&self) -> Option<LowLatency> {
        self.queues.iter().filter_map(Scheduler::low_latency).reduce(|sum, account| sum.with(&account))
    }
}
