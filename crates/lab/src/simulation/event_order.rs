//! Packet events in the order of their time.
//!
//! The network reports departures, losses and arrivals over fused links before their time. The readers of events
//! (log, auditor, captures) receive them in the order of time; events at the same time in the order in which they
//! were reported.

use engine::{EventQueue, LaneHint, Next, Tie};
use net::{PacketEvent, PacketStep};
use units::Time;

/// Events that are reported and have a time in the future.
#[derive(Clone)]
pub(crate) struct EventOrder {
    ahead: EventQueue<PacketEvent>,
    /// End of the run; later events are ignored.
    end: Time,
    /// For each link, one hint per kind of step: the times of each kind do not decrease.
    hints: Vec<[LaneHint; 3]>,
    /// Number of events so far.
    added: u64,
}

impl EventOrder {
    /// An empty order for a run that ends at `end`.
    pub fn new(end: Time) -> EventOrder {
        EventOrder { ahead: EventQueue::new(), end, hints: Vec::new(), added: 0 }
    }

    /// See [`EventQueue::growth`].
    pub fn growth(&self) -> usize {
        self.ahead.growth()
    }

    /// Whether an event is within the run.
    pub fn wants(&self, event: &PacketEvent) -> bool {
        event.at <= self.end
    }

    /// Adds an event that is reported at or before its time.
    pub fn add(&mut self, event: &PacketEvent) {
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
        // An event that is reported too late keeps its time, so that the auditor detects it.
        let at = event.at.max(self.ahead.now());
        self.ahead.push(at, Tie::counted(self.added), event, &mut self.hints[link][hint], |_| {});
        self.added += 1;
    }

    /// Removes the next event before `now`. Events at `now` remain, because more of them can be reported.
    pub fn before(&mut self, now: Time) -> Option<PacketEvent> {
        if now == Time::ZERO {
            return None;
        }
        self.until(Time::from_ps(now.ps() - 1))
    }

    /// Removes the next event up to `until`.
    pub fn until(&mut self, until: Time) -> Option<PacketEvent> {
        match self.ahead.pop(until) {
            Next::Item(event) => Some(event),
            _ => None,
        }
    }
}
