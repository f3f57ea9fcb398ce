//! What else decides about the window of a flow besides its controller and Linux's validation: RFC 7661, a limit by what was in
//! flight, and a start with saved values.

use super::pipe_ack::PipeAck;
use crate::connection::Connection;
use crate::options::{Options, Validation};
use crate::start::{RuleChange, WindowRules};
use cc::Ack;
use units::Time;

/// The rules of a flow that has some.
#[derive(Clone, Debug, Default)]
pub(super) struct RackRules {
    /// The measure of RFC 7661, if it validates the window.
    pub(super) pipe_ack: Option<PipeAck>,
    /// The others.
    pub(super) window: WindowRules,
}

impl RackRules {
    /// The rules that the options name.
    pub(super) fn new(options: &Options) -> Option<Box<RackRules>> {
        let pipe_ack = (options.validation == Validation::Rfc7661).then(PipeAck::default);
        let window = WindowRules::of(options.validation, options.initial_window);
        let any = pipe_ack.is_some() || window.is_some();
        any.then(|| Box::new(RackRules { pipe_ack, window: window.unwrap_or_default() }))
    }

    /// The controller has processed an ACK.
    pub(super) fn after_ack(&mut self, c: &mut Connection, ack: &Ack) {
        let more = c.limit > c.next || c.more_waiting;
        let change = self.window.after_ack(&mut c.controller, ack, more);
        apply(c, change);
    }

    /// The window was reduced. Returns whether a retreat holds it.
    pub(super) fn reduced(&mut self, c: &mut Connection, now: Time) -> bool {
        let change = self.window.reduced(&mut c.controller, now, c.next.into());
        apply(c, change);
        change.held.is_some()
    }

    /// A retransmission timeout.
    pub(super) fn timed_out(&mut self, c: &mut Connection, now: Time) {
        if let Some(pipe_ack) = &mut self.pipe_ack {
            pipe_ack.restart();
        }
        apply(c, self.window.timed_out(now));
    }
}

fn apply(c: &mut Connection, change: RuleChange) {
    if change.cause.is_some() {
        c.cause = change.cause;
    }
    if let Some(interval) = change.pace {
        c.pace_at(interval);
    }
}
