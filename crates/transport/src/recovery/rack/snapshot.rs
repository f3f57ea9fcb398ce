//! What a sender with recovery `rack` shows of its state.

use cc::Phase;
use units::Span;

/// The state of the sender, in the order of Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Nothing unusual is outstanding.
    Open,
    /// Something is reported or was retransmitted, nothing is given up.
    Disorder,
    /// The window is being reduced after an ECN echo.
    Cwr,
    /// Losses are under repair.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

impl State {
    /// Its name in replays.
    pub const fn name(self) -> &'static str {
        match self {
            State::Open => "open",
            State::Disorder => "disorder",
            State::Cwr => "cwr",
            State::Recovery => "recovery",
            State::Loss => "loss",
        }
    }
    pub(super) fn phase(self) -> Phase {
        match self {
            State::Open | State::Disorder => Phase::Open,
            State::Cwr => Phase::Cwr,
            State::Recovery => Phase::Recovery,
            State::Loss => Phase::Loss,
        }
    }
    /// Whether the window is being reduced.
    pub(super) fn reducing(self) -> bool {
        matches!(self, State::Cwr | State::Recovery)
    }
}

/// What a sender with recovery `rack` shows of its state, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Snapshot {
    /// The state.
    pub state: State,
    /// Outstanding segments.
    pub packets_out: u32,
    /// Reported segments; without SACK, duplicate ACKs.
    pub sacked_out: u32,
    /// Segments given up.
    pub lost_out: u32,
    /// Retransmissions in flight.
    pub retrans_out: u32,
    /// Segments delivered since the start.
    pub delivered: u64,
    /// The degree of reordering.
    pub reordering: u32,
    /// How often reordering was seen.
    pub reordering_seen: u32,
    /// Segments reported as duplicates.
    pub dsacks: u64,
    /// Segments that ACKs with an ECN echo delivered; with accurate feedback the CE packets that the receiver has counted.
    pub delivered_ce: u64,
    /// The smallest round-trip time.
    pub min_rtt: Option<Span>,
    /// The timer that is set will only set another one: a probe is outstanding already.
    pub timer_is_silent: bool,
}
