//! Packet events in the order of their time.
//!
//! The network tells departures, losses and arrivals over fused links ahead of their time. Who reads events (log,
//! auditor, capture) gets them in order, those of one instant in the order in which they were told.

use engine::{EventQueue, LaneHint, Next};
use net::{PacketEvent, PacketStep};
use units::Time;

/// Events that have been told and have not yet happened.
pub(crate) struct EventOrder {
    ahead: EventQueue<PacketEvent>,
    /// What lies beyond the end of the run is left out.
    end: Time,
    /// Of each link one for each kind of step: the times of each kind do not go back.
    hints: Vec<[LaneHint; 3]>,
}

impl EventOrder {
    /// No events yet, of a run that ends at `end`.
    pub fn new(end: Time) -> EventOrder {
        EventOrder { ahead: EventQueue::new(), end, hints: Vec::new() }
    }

    /// See [`EventQueue::growth`].
    pub fn growth(&self) -> usize {
        self.ahead.growth()
    }

    /// Whether an event lies within the run.
    pub fn wants(&self, event: &PacketEvent) -> bool {
        event.at <= self.end
    }

    /// An event, told at its time or ahead of it.
    pub fn tell(&mut self, event: &PacketEvent) {
        let link = event.link.0 as usize;
        if link >= self.hints.len() {
            self.hints.resize_with(link + 1, Default::default);
        }
        let hint = match event.step {
            PacketStep::Enqueue => 0,
            PacketStep::Depart => 1,
            PacketStep::Drop(reason) => reason.after_queue() as usize,
            PacketStep::Deliver => 2,
        };
        // One told too late keeps its own time: the auditor sees that.
        self.ahead.push(event.at.max(self.ahead.now()), event, &mut self.hints[link][hint], |_| {});
    }

    /// The next event before `now`: others of that instant may still be told.
    pub fn before(&mut self, now: Time) -> Option<PacketEvent> {
        if now == Time::ZERO {
            return None;
        }
        self.until(Time::from_ps(now.ps() - 1))
    }

    /// The next event not later than `until`.
    pub fn until(&mut self, until: Time) -> Option<PacketEvent> {
        match self.ahead.pop(until) {
            Next::Item(event) => Some(event),
            _ => None,
        }
    }
}
