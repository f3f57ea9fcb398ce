//! What the window trace shows, and the integrals of window and threshold.

use crate::change::WindowCause;
use crate::connection::{Connection, SenderStats};
use crate::context::Trigger;
use cc::{Controller, Phase};
use units::Time;

/// The window and the threshold of a sender as its last row of the window trace shows them.
#[derive(Clone, Debug)]
pub(super) struct WindowTrace {
    /// Window and threshold, segments.
    pub shown: (f64, f64),
    /// When they were shown first, or added to the integrals.
    pub since: Time,
    /// The phase at the last row.
    phase: Phase,
}

impl WindowTrace {
    pub fn new(controller: &impl Controller) -> WindowTrace {
        let shown = (controller.cwnd(), controller.ssthresh());
        WindowTrace { shown, since: Time::ZERO, phase: Phase::Open }
    }

    /// Adds to the integrals up to `now`.
    pub fn integrate(&mut self, stats: &mut SenderStats, now: Time) {
        let span = now.since(self.since).seconds();
        stats.cwnd_area += self.shown.0 * span;
        stats.ssthresh_area += self.shown.1 * span;
        self.since = now;
    }

    /// The cause of the change of window and threshold from `before`, if it is a reduction or its undo. Called once for each
    /// event, if the window trace is recorded. The cause of a reduction whose first step comes with a later ACK is that of
    /// this step.
    pub fn take_cause(
        &mut self,
        connection: &mut Connection,
        phase: Phase,
        trigger: Trigger,
        before: (f64, f64),
    ) -> Option<WindowCause> {
        let repairing = phase != Phase::Open || self.phase != Phase::Open;
        self.phase = phase;
        if self.shown == before && connection.cause != Some(WindowCause::Undo) {
            return None;
        }
        let (fell, threshold) = (self.shown.0 < before.0, self.shown.1 != before.1);
        match connection.cause.take() {
            Some(WindowCause::Undo) => (self.shown != before).then_some(WindowCause::Undo),
            Some(cause @ (WindowCause::Resume | WindowCause::Retreat)) => Some(cause),
            Some(cause) if fell || threshold => Some(cause),
            // The first ACK sets the initial window.
            _ if !fell || trigger == Trigger::Start || connection.una <= 1 => None,
            _ if trigger == Trigger::Handoff => Some(WindowCause::Handoff),
            _ if repairing => Some(WindowCause::Recovery),
            _ => Some(WindowCause::Controller),
        }
    }
}
