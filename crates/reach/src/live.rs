//! The result of a flow in real time.

use crate::network::LiveNetwork;
use crate::validity::Validity;
use crate::window::WindowTrace;
use lab::{FlowOutcome, Outcome, WindowLog};
use serde::Serialize;

/// A finished run in real time.
pub struct LiveRun {
    outcome: Outcome,
    index: usize,
    trace: WindowTrace,
    validity: Validity,
    substrate: &'static str,
    end: units::Time,
}

impl LiveRun {
    /// Collects the outcome of the network.
    pub(crate) fn new(
        mut network: LiveNetwork,
        trace: WindowTrace,
        validity: Validity,
        substrate: &'static str,
    ) -> LiveRun {
        let end = network.now();
        let outcome = network.outcome();
        let index = network.flow_index(&outcome);
        LiveRun { outcome, index, trace, validity, substrate, end }
    }

    /// Completes the outcome of the flow.
    pub(crate) fn flow(&mut self, complete: impl FnOnce(&mut FlowOutcome)) {
        let duration = self.outcome.duration_s - self.outcome.warmup_s.unwrap_or(0.0);
        let flow = &mut self.outcome.flows[self.index];
        complete(flow);
        self.trace.write(flow, self.end, duration);
    }

    /// Whether it followed the wall clock closely enough.
    pub fn valid(&self) -> bool {
        self.validity.valid
    }

    /// Name of the flow.
    pub fn flow_name(&self) -> String {
        self.outcome.flows[self.index].name.clone()
    }

    /// The window trace of the flow.
    pub fn windows(&self) -> &WindowLog {
        &self.trace.log
    }

    /// The outcome as JSON, with `substrate` and `validity`.
    pub fn to_json(&self) -> String {
        #[derive(Serialize)]
        struct Whole<'a> {
            #[serde(flatten)]
            outcome: &'a Outcome,
            substrate: &'static str,
            validity: &'a Validity,
        }
        lab::to_json(&Whole { outcome: &self.outcome, substrate: self.substrate, validity: &self.validity })
    }
}
