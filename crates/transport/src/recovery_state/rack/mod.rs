//! The state of recovery `rack`.

mod pipe_ack;
mod prr;
mod reordering;
mod segments;

use crate::blocks::Block;
use crate::options::{Options, Validation};
use cc::Phase;
pub(crate) use pipe_ack::PipeAck;
pub(crate) use prr::{Reduction, Undo};
pub(crate) use reordering::{Detection, Reordering};
pub(crate) use segments::Segments;
use units::{Span, Time};

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
    pub(crate) fn phase(self) -> Phase {
        match self {
            State::Open | State::Disorder => Phase::Open,
            State::Cwr => Phase::Cwr,
            State::Recovery => Phase::Recovery,
            State::Loss => Phase::Loss,
        }
    }
    /// Whether the window is being reduced.
    pub(crate) fn reducing(self) -> bool {
        matches!(self, State::Cwr | State::Recovery)
    }
}

/// The timer that is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pending {
    None,
    Rto,
    Probe,
    Reordering,
    /// The receiver has discarded reported segments.
    Reneging,
}

/// A tail loss probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// `next` after the probe.
    pub high: u32,
    /// The probe is a retransmission.
    pub retransmission: bool,
}

/// How the window was used in the last window of data.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowUse {
    /// The window was what limited the sender.
    pub(crate) limited: bool,
    /// Most segments outstanding.
    pub(crate) most_out: u32,
    /// The observation ends when this segment is acknowledged.
    pub(crate) until: u32,
    /// Most segments outstanding since the window was last full.
    pub(crate) used: u32,
    /// When the window was last full or changed by a reduction.
    pub(crate) full_at: Time,
}

impl WindowUse {
    /// The window was changed other than by growth.
    pub(crate) fn changed(&mut self, now: Time) {
        self.full_at = now;
    }
}

/// The timer of the recovery. The timer of the engine follows it at the end of an event.
#[derive(Clone, Debug)]
pub(crate) struct Timer {
    pub(crate) pending: Pending,
    /// When it expires.
    pub(crate) deadline: Time,
}

/// The segments, and the properties of the path that follow from their deliveries.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scoreboard {
    pub(crate) segments: Segments,
    pub(crate) detection: Detection,
    pub(crate) reordering: Reordering,
    pub(crate) min_rtt: Option<(Span, Time)>,
    /// Segments reported as duplicates.
    pub(crate) dsacks: u64,
    /// Segments that ACKs with an ECN echo delivered.
    pub(crate) ce_total: u64,
    /// Reused memory for the newly reported parts of SACK blocks.
    pub(crate) parts: Vec<Block>,
}

/// The smallest round-trip time is that of this many seconds, as in Linux.
const MIN_RTT_WINDOW: Span = Span::from_ms(300_000);

impl Scoreboard {
    pub(crate) fn update_min_rtt(&mut self, now: Time, rtt: Span) {
        let keep = self.min_rtt.is_some_and(|(least, at)| least < rtt && now.since(at) < MIN_RTT_WINDOW);
        if !keep {
            self.min_rtt = Some((rtt, now));
        }
    }
}

/// Whether the window is used, and what follows if it is not.
#[derive(Clone, Debug)]
pub(crate) struct WindowValidation {
    pub(crate) window_use: WindowUse,
    /// The measure of RFC 7661, if it validates the window.
    pub(crate) pipe_ack: Option<Box<PipeAck>>,
}

/// The state of the recovery.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    pub(crate) board: Scoreboard,
    pub(crate) state: State,
    /// `next` when the state was entered; most states end when it is acknowledged.
    pub(crate) high_seq: u32,
    pub(crate) reduction: Reduction,
    pub(crate) undo: Undo,
    /// F-RTO is in progress.
    pub(crate) frto: bool,
    /// Retransmission timeouts since the last new ACK.
    pub(crate) timeouts: u32,
    pub(crate) probe: Option<Probe>,
    pub(crate) timer: Timer,
    /// The ACK that is processed restarts the timer.
    pub(crate) rearm: bool,
    pub(crate) validation: WindowValidation,
    pub(crate) last_sent: Time,
    /// ECN echoes of a window of one segment in a row, and until when they hold the next segment.
    pub(crate) echoes_at_one: u32,
    pub(crate) held_until: Time,
}

impl Rack {
    /// `losses`: the controller asks for each loss.
    pub(crate) fn new(options: &Options, losses: bool) -> Rack {
        let mut board = Scoreboard::default();
        board.segments.record_losses(losses);
        Rack {
            board,
            state: State::Open,
            high_seq: 0,
            reduction: Reduction::default(),
            undo: Undo::new(options),
            frto: false,
            timeouts: 0,
            probe: None,
            timer: Timer { pending: Pending::None, deadline: Time::NEVER },
            rearm: false,
            validation: WindowValidation {
                window_use: WindowUse::default(),
                pipe_ack: (options.validation == Validation::Rfc7661).then(Box::default),
            },
            last_sent: Time::ZERO,
            echoes_at_one: 0,
            held_until: Time::ZERO,
        }
    }

    /// The counts that Linux shows in `TCP_INFO`.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let Scoreboard { segments, reordering, .. } = &self.board;
        Snapshot {
            state: self.state,
            packets_out: segments.packets_out(),
            sacked_out: segments.sacked_out,
            lost_out: segments.lost_out,
            retrans_out: segments.retrans_out,
            delivered: segments.delivered,
            reordering: reordering.degree(),
            reordering_seen: reordering.seen(),
            dsacks: self.board.dsacks,
            min_rtt: self.board.min_rtt.map(|(rtt, _)| rtt),
            timer_is_silent: self.timer.pending == Pending::Probe && self.probe.is_some(),
        }
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
    /// The smallest round-trip time.
    pub min_rtt: Option<Span>,
    /// The timer that is set will only set another one: a probe is outstanding already.
    pub timer_is_silent: bool,
}
