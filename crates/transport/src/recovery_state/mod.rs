//! The state of each recovery, which a sender holds.

pub(crate) mod rack;

use crate::options::{Options, Recovery, StackProfile};
use crate::ranges::SegmentRanges;
use cc::Signals;
use rack::Rack;
use units::Span;

/// Recovery-specific state.
#[derive(Clone, Debug)]
pub(crate) enum RecoveryState {
    Tahoe,
    Reno,
    NewReno {
        /// A partial ACK has come in this recovery.
        partial: bool,
    },
    Vegas(VegasClock),
    /// ns-2's Sack1.
    Sack1(Box<Sack>),
    Rfc6675(Box<Sack>),
    WestwoodModule,
    /// Taken out while it processes an event.
    Rack(Option<Box<Rack>>),
}

impl RecoveryState {
    /// The state of a new flow. `needs`: what its controller needs.
    pub fn new(options: &Options, needs: Signals) -> RecoveryState {
        match options.recovery {
            Recovery::Tahoe => RecoveryState::Tahoe,
            Recovery::Reno if needs.has(Signals::FINE_CLOCK) => RecoveryState::Vegas(VegasClock::default()),
            Recovery::Reno => RecoveryState::Reno,
            Recovery::NewReno => RecoveryState::NewReno { partial: false },
            Recovery::Sack => match options.stack {
                StackProfile::Ns2 => RecoveryState::Sack1(Box::default()),
                StackProfile::Linux => RecoveryState::Rfc6675(Box::default()),
            },
            Recovery::WestwoodModule => RecoveryState::WestwoodModule,
            Recovery::Rack => {
                RecoveryState::Rack(Some(Box::new(Rack::new(options, needs.has(Signals::LOSSES)))))
            }
        }
    }

    /// Whether a flow with this state can take over a controller that requires `needs`; only Vegas has a clock of its own.
    pub fn serves(&self, options: &Options, needs: Signals) -> bool {
        let vegas = |state: &RecoveryState| matches!(state, RecoveryState::Vegas(_));
        vegas(self) == vegas(&RecoveryState::new(options, needs))
    }

    /// Reports the losses to the controller if it requires that.
    pub fn report_losses(&mut self, needs: Signals) {
        if let RecoveryState::Rack(Some(rack)) = self {
            rack.board.segments.record_losses(needs.has(Signals::LOSSES));
        }
    }

    /// The smallest round-trip time of the last minutes, which RACK keeps.
    pub fn min_rtt(&self) -> Option<Span> {
        match self {
            RecoveryState::Rack(Some(rack)) => rack.board.min_rtt.map(|(rtt, _)| rtt),
            _ => None,
        }
    }

    /// The scoreboard of `sack1` and `rfc6675`.
    #[inline]
    pub fn scoreboard(&self) -> Option<&Sack> {
        match self {
            RecoveryState::Sack1(sack) | RecoveryState::Rfc6675(sack) => Some(sack),
            _ => None,
        }
    }
}

/// State of a SACK recovery: of ns-2's Sack1, and of RFC 6675.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sack {
    pub board: SegmentRanges,
    pub recovering: bool,
    /// ns-2: the estimated number of segments in the network.
    pub pipe: i64,
    /// Segments in flight before the ACK that is processed.
    pub prior_in_flight: u32,
    /// One past the highest segment retransmitted in this recovery (HighRxt).
    pub retransmitted_to: u32,
    /// ns-2: no new data was acknowledged since a timeout.
    pub timed_out: bool,
    /// Whether this recovery has sent its rescue retransmission.
    pub rescued: bool,
}

impl Sack {
    pub fn mark_retransmitted(&mut self, seq: u32) {
        self.retransmitted_to = self.retransmitted_to.max(seq + 1);
    }

    /// A timeout ends the repair.
    pub fn end_repair(&mut self) {
        self.retransmitted_to = 0;
        self.recovering = false;
        self.timed_out = true;
    }
}

/// State of the check by the fine-grained clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct VegasClock {
    /// Number of new ACKs that still check the age of the next segment.
    pub checks_left: u32,
}
