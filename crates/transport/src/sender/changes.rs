//! Changes of a sender in the middle of a run.

use super::Sender;
use crate::context::{FlowContext, FlowTimer, Trigger};
use crate::options::Recovery;
use crate::start::{CarefulResume, Observed, Outcome};
use cc::{AnyController, Controller, Handshake, Signals};
use std::sync::Arc;
use units::Time;

impl Sender {
    /// The receiver's window becomes `segments` segments.
    pub fn change_receive_window<W: FlowContext>(&mut self, context: &mut W, segments: u32) {
        let options = &self.connection.options;
        let largest = (options.recovery == Recovery::Rack).then_some(options.window);
        // RACK bounds what an ACK may report by the largest window.
        Arc::make_mut(&mut self.connection.options).window = segments.max(largest.unwrap_or(0));
        self.set_receive_window(segments);
        self.resume(context);
    }

    /// Prepares the sender for a controller that a change of the scenario will start ([`Sender::change_controller`]), and
    /// that requires `needs`. Call it before the flow starts.
    pub fn prepare(&mut self, needs: Signals) {
        self.connection.reports.prepare(needs);
    }

    /// The flow starts with saved values or a jump (recovery `rack`). Call it before the flow starts.
    pub fn begin_start(&mut self, start: CarefulResume) {
        if let Some(rack) = self.recovery.rack_mut() {
            rack.begin_start(start);
        }
    }

    /// A later flow may use what this one observes of its path (recovery `rack`). Call it before the flow starts.
    pub fn observe_path(&mut self) {
        if let Some(rack) = self.recovery.rack_mut() {
            rack.observe_path();
        }
    }

    /// What a later flow may use of the path.
    pub fn observed(&self) -> Option<Observed> {
        self.recovery.rack()?.start().0?.saved(self.connection.options.initial_window)
    }

    /// How the flow has started, if with saved values or a jump.
    pub fn start_outcome(&self) -> Option<&Outcome> {
        Some(self.recovery.rack()?.start().1?.outcome())
    }

    /// Whether [`Sender::change_controller`] can start a controller that requires `needs`: the sender was prepared for it, and
    /// both controllers use one loss recovery.
    pub fn accepts(&self, needs: Signals) -> bool {
        let prepared = self.connection.reports.has_rate() || !needs.has(Signals::RATE);
        prepared && self.recovery.serves(&self.connection.options, needs)
    }

    /// Another controller takes over, with the window and the threshold of the previous one. With recovery `rack` it gets
    /// the smallest round-trip time of the connection as that of a handshake: BBR of Linux starts with it too. It learns the
    /// rest from the ACKs that follow, as with Linux's TCP_CONGESTION.
    pub fn change_controller<W: FlowContext>(&mut self, context: &mut W, mut controller: AnyController) {
        let (cwnd, ssthresh) = (self.connection.controller.cwnd(), self.connection.controller.ssthresh());
        if self.connection.high > 0 {
            controller.on_open(context.now());
        }
        if self.connection.opened {
            controller.set_window(cwnd);
            controller.set_ssthresh(ssthresh);
            if let Some(rtt) = self.recovery.min_rtt() {
                controller.on_handshake(&Handshake { now: context.now(), rtt: Some(rtt) });
            }
        }
        let needs = controller.needs();
        self.connection.reports.change(needs);
        self.connection.paced = self.connection.options.pacing || needs.has(Signals::PACING);
        self.recovery.change_needs(needs);
        self.connection.uses_router_feedback |=
            needs.has(Signals::ROUTER_RATE) || needs.has(Signals::ROUTER_FEEDBACK);
        self.connection.controller = controller.into();
        context.set_timer(FlowTimer::Wake, Time::NEVER);
        self.resume(context);
    }

    /// Sends what is permitted after a change of the scenario.
    fn resume<W: FlowContext>(&mut self, context: &mut W) {
        if self.connection.high > 0 && !self.connection.done {
            self.connection.sample = None;
            self.recovery.send(&mut self.connection, context);
            self.note(context, Trigger::Change);
            self.after(context);
        }
    }
}
