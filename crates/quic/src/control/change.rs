//! What changed since the owner of a connection last looked, for its trace.

use super::ControllerState;
use cc::{Controller, Phase};
use transport::WindowCause;
use units::{Segments, Span};

/// What changed since the last call of [`ControllerState::take_change`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ControllerChange {
    /// ACK frames acknowledged something new.
    pub acked: bool,
    /// A probe timeout or persistent congestion.
    pub timeout: bool,
    /// The round-trip sample of the last such ACK frame.
    pub rtt: Option<Span>,
    /// The window or the threshold changed.
    pub window: bool,
    /// Why, if it is a reduction.
    pub cause: Option<WindowCause>,
    /// The congestion window now, segments.
    pub cwnd: Segments,
    /// The slow-start threshold now, segments.
    pub ssthresh: Segments,
}

impl ControllerState {
    /// What changed since the last call.
    pub fn take_change(&mut self) -> ControllerChange {
        let window = (self.controller.cwnd(), self.controller.ssthresh());
        let before = std::mem::replace(&mut self.seen, window);
        let mut change = std::mem::take(&mut self.change);
        (change.cwnd, change.ssthresh) = window;
        change.window = window != before;
        let fell = window.0 < before.0;
        change.cause = match self.cause.take() {
            Some(cause @ WindowCause::Resume) if change.window => Some(cause),
            Some(cause) if fell || window.1 != before.1 => Some(cause),
            _ if !fell => None,
            _ if self.phase != Phase::Open => Some(WindowCause::Recovery),
            _ => Some(WindowCause::Controller),
        };
        change
    }
}
