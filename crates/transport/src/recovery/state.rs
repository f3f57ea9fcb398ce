//! The state of each recovery, which a sender holds.

use super::rack::Rack;
use crate::scoreboard::Scoreboard;

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
    Sack(Box<Sack>),
    WestwoodModule,
    /// Taken out while it processes an event.
    Rack(Option<Box<Rack>>),
}

/// State of a SACK recovery, for both profiles.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sack {
    pub board: Scoreboard,
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

/// State of the check by the fine-grained clock.
#[derive(Clone, Debug, Default)]
pub(crate) struct VegasClock {
    /// Number of new ACKs that still check the age of the next segment.
    pub checks_left: u32,
}
