//! What a sender shows of its state.

use super::Sender;
use crate::options::Options;
use crate::recovery_state::RecoveryState;
use crate::recovery_state::rack::Snapshot;
use cc::{AnyController, Phase};
use units::{Span, Time};

impl Sender {
    /// Number of the flow.
    pub fn flow(&self) -> u32 {
        self.flow
    }
    /// Number of the highest segment acknowledged cumulatively; -1 before the first.
    pub fn highest_ack(&self) -> i64 {
        self.una as i64 - 1
    }
    /// Data segments acknowledged cumulatively, the SYN left out.
    pub fn acked_segments(&self) -> u32 {
        self.una - self.options.syn.min(self.una > 0) as u32
    }
    /// The counts of the scoreboard; `None` unless the recovery is `rack`.
    pub fn snapshot(&self) -> Option<Snapshot> {
        match &self.recovery_state {
            RecoveryState::Rack(rack) => rack.as_ref().map(|rack| rack.snapshot()),
            _ => None,
        }
    }
    /// The retransmission timeout, with backoff.
    pub fn rto(&self) -> Span {
        self.rtt.rto()
    }
    /// How often the timeout was doubled since the last valid round-trip sample.
    pub fn backoff(&self) -> u32 {
        self.rtt.backoff()
    }
    /// The recovery phase.
    pub fn phase(&self) -> Phase {
        self.phase
    }
    /// The congestion controller.
    pub fn controller(&self) -> &AnyController {
        &self.controller
    }
    /// The congestion controller, if it is a policy.
    pub fn policy_mut(&mut self) -> Option<&mut cc::Policy> {
        match &mut self.controller {
            AnyController::Policy(policy) => Some(policy),
            _ => None,
        }
    }
    /// The time at which the last byte was acknowledged; `None` before that.
    pub fn completed(&self) -> Option<Time> {
        self.done.then_some(self.completed)
    }
    /// The round-trip sample that the controller got with the last ACK.
    pub fn rtt_given(&self) -> Option<Span> {
        self.sample
    }
    /// The smoothed round-trip time of the retransmission timer.
    pub fn smoothed_rtt(&self) -> Option<Span> {
        self.rtt.smoothed(&self.options)
    }
    /// The TCP options of the flow.
    pub fn options(&self) -> &Options {
        &self.options
    }
}
