//! What limited a sender, in time: the shares of a transfer (T-RAT's question, Zhang et al. 2002, answered per round trip).

/// A limit, or what else a sender did with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Limit {
    /// Data was in flight, and the sender had less to send than its windows permit.
    Application,
    /// The receiver's window.
    ReceiveWindow,
    /// The congestion window: sends follow ACKs.
    CongestionWindow,
    /// Sends are spaced evenly, not by ACKs.
    Pacing,
    /// From the first retransmission of a loss until its data is acknowledged, and the wait for a timeout.
    Recovery,
    /// Nothing in flight for longer than a retransmission timeout.
    Idle,
    /// The file does not show it.
    #[default]
    Unknown,
}

impl Limit {
    /// All, in the order of their numbers.
    pub const ALL: [Limit; 7] = [
        Limit::Application,
        Limit::ReceiveWindow,
        Limit::CongestionWindow,
        Limit::Pacing,
        Limit::Recovery,
        Limit::Idle,
        Limit::Unknown,
    ];

    /// The name in files.
    pub fn name(self) -> &'static str {
        ["application", "receive_window", "congestion_window", "pacing", "recovery", "idle", "unknown"]
            [self as usize]
    }

    /// What it is in a sentence.
    pub fn words(self) -> &'static str {
        [
            "the application",
            "the receiver's window",
            "the congestion window",
            "pacing",
            "loss recovery",
            "idle time",
            "what the file does not show",
        ][self as usize]
    }

    /// Its label in tables and figures.
    pub fn label(self) -> &'static str {
        ["application", "receive window", "congestion window", "pacing", "loss recovery", "idle", "not shown"]
            [self as usize]
    }

    /// The rule's letter.
    pub fn letter(self) -> &'static str {
        ["L4", "L1", "L2", "L3", "R", "I", "?"][self as usize]
    }
}

/// About a round trip, with what limited the sender.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Nanoseconds.
    pub from: u64,
    /// Nanoseconds.
    pub until: u64,
    /// What limited it for the largest part.
    pub limit: Limit,
    /// New segments.
    pub sends: u32,
    /// The share of them that were sent at an ACK.
    pub by_ack: f64,
    /// The coefficient of variation of the gaps between them.
    pub variation: f64,
    /// The largest number of bytes in flight.
    pub largest: u64,
    /// The receiver's window, bytes.
    pub window: Option<u64>,
}

/// Nanoseconds under each limit, in the order of [`Limit::ALL`].
pub type Shares = [u64; Limit::ALL.len()];

/// The state of a sender at an event, for the shares.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// Nanoseconds.
    pub at: u64,
    /// Bytes in flight after the event.
    pub outstanding: u64,
    /// Bytes that the receiver permits beyond the acknowledged ones.
    pub window: Option<u64>,
    /// Bytes from the acknowledged ones to the highest sent.
    pub span: u64,
    /// Bytes of a full segment.
    pub mss: u64,
    /// Smoothed round-trip time.
    pub srtt: u64,
    /// Retransmission timeout.
    pub rto: u64,
    /// In recovery.
    pub recovery: bool,
    /// The clock's resolution.
    pub tick: u64,
    /// The unit of the receiver's window is known.
    pub scale_known: bool,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// New data; `last` if its sender had no more to send (PSH or a short segment).
    Sent {
        /// See above.
        last: bool,
    },
    /// Data again. `waited`: nanoseconds of silence before a timeout or a probe.
    SentAgain {
        /// See above.
        waited: u64,
    },
    /// An ACK; `delivered`: it reported data.
    Acked {
        /// See above.
        delivered: bool,
    },
}

/// The shares of one direction of a connection.
#[derive(Clone, Debug, Default)]
pub struct Limits {
    /// Time under each limit so far.
    pub shares: Shares,
    begun: bool,
    before: State,
    class: Limit,
    round: Counts,
    last_ack: Option<u64>,
    last_send: u64,
    ack_gap: u64,
    peak: u64,
    /// The last new segment ended a write.
    ended_write: bool,
    /// Since an ACK that permits data, none was sent, and the last segment ended a write.
    waiting: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    since: u64,
    open: u64,
    rests: u32,
    full: u32,
    sends: u32,
    at_ack: u32,
    gaps: u32,
    gap_sum: f64,
    gap_squares: f64,
    largest: u64,
    other: Shares,
}

const MIN_ROUND: u64 = 1_000_000;
const MAX_ROUNDS: usize = 500_000;

impl Limits {
    /// Accounts the time up to an event. `state` is that after it. A round that has ended goes to `rounds`.
    pub fn step(&mut self, step: Step, state: State, rounds: &mut Option<&mut Vec<Round>>) {
        if !self.begun {
            if !matches!(step, Step::Sent { .. }) {
                return;
            }
            self.begun = true;
            self.before = state;
            self.round.since = state.at;
            self.last_send = state.at;
            self.ended_write = matches!(step, Step::Sent { last: true });
            return;
        }
        // Where the time goes back, nothing is counted twice.
        let state = State { at: state.at.max(self.before.at), ..state };
        let elapsed = state.at - self.before.at;
        self.attribute(step, elapsed, state.tick);
        match step {
            Step::Sent { last } => self.sent(last, state),
            Step::SentAgain { waited } => self.move_to_recovery(waited),
            Step::Acked { delivered } => self.acked(delivered, state),
        }
        self.before = state;
        let length = state.srtt.max(MIN_ROUND);
        if state.at.saturating_sub(self.round.since) >= length
            && (self.round.sends > 0 || self.round.rests > 0)
        {
            self.end_round(state.at, rounds);
        }
    }

    /// The shares with the last round.
    pub fn finish(&mut self, rounds: &mut Option<&mut Vec<Round>>) -> Shares {
        if self.begun {
            self.end_round(self.before.at, rounds);
        }
        self.shares
    }

    /// The interval before an event.
    fn attribute(&mut self, step: Step, elapsed: u64, tick: u64) {
        let before = self.before;
        let sent_later = matches!(step, Step::Sent { .. }) && elapsed > self.near_ack(tick);
        let limit = if before.recovery {
            Limit::Recovery
        } else if before.window == Some(0) {
            Limit::ReceiveWindow
        } else if before.outstanding == 0 {
            if elapsed > before.rto { Limit::Idle } else { Limit::Application }
        } else if before.window.is_some_and(|window| before.span + before.mss > window) {
            // The window is full, whatever else holds.
            self.round.open += elapsed;
            return;
        } else if self.waiting && (sent_later || matches!(step, Step::Acked { .. })) {
            Limit::Application
        } else {
            self.round.open += elapsed;
            return;
        };
        self.round.other[limit as usize] += elapsed;
        self.shares[limit as usize] += elapsed;
    }

    /// How long after an ACK a segment counts as sent because of it.
    fn near_ack(&self, tick: u64) -> u64 {
        (self.ack_gap / 10).clamp(20_000, 100_000).max(tick.saturating_mul(3))
    }

    fn sent(&mut self, last: bool, state: State) {
        self.round.sends += 1;
        self.round.largest = self.round.largest.max(state.outstanding);
        self.peak = self.peak.max(state.outstanding);
        if self.last_ack.is_some_and(|ack| state.at.saturating_sub(ack) <= self.near_ack(state.tick)) {
            self.round.at_ack += 1;
        }
        let gap = state.at.saturating_sub(self.last_send);
        if gap > state.tick {
            self.round.gaps += 1;
            self.round.gap_sum += gap as f64;
            self.round.gap_squares += gap as f64 * gap as f64;
        }
        self.last_send = state.at;
        self.ended_write = last;
        self.waiting = false;
    }

    fn acked(&mut self, delivered: bool, state: State) {
        if !delivered {
            return;
        }
        if let Some(before) = self.last_ack {
            let gap = state.at.saturating_sub(before);
            self.ack_gap = if self.ack_gap == 0 { gap } else { self.ack_gap - self.ack_gap / 8 + gap / 8 };
        }
        self.last_ack = Some(state.at);
        // Whether the window was full before this ACK: that is the rest of the one before.
        self.round.rests += 1;
        let before = self.before;
        if before.window.is_some_and(|window| before.span + before.mss > window) {
            self.round.full += 1;
        }
        if state.recovery || before.recovery {
            self.peak = 0;
            self.waiting = false;
        } else {
            self.waiting = self.ended_write && state.outstanding + state.mss <= self.peak * 3 / 4;
        }
    }

    /// The silence before a timeout belongs to the recovery.
    fn move_to_recovery(&mut self, waited: u64) {
        let moved = waited.min(self.round.open);
        self.round.open -= moved;
        self.round.other[Limit::Recovery as usize] += moved;
        self.shares[Limit::Recovery as usize] += moved;
    }

    fn end_round(&mut self, at: u64, rounds: &mut Option<&mut Vec<Round>>) {
        let counts = std::mem::take(&mut self.round);
        self.round.since = at;
        let by_ack = counts.at_ack as f64 / f64::from(counts.sends.max(1));
        let gaps = f64::from(counts.gaps.max(1));
        let mean = counts.gap_sum / gaps;
        let deviation = (counts.gap_squares / gaps - mean * mean).max(0.0).sqrt();
        let variation = if mean > 0.0 { deviation / mean } else { f64::INFINITY };
        self.class = if counts.full * 2 > counts.rests {
            Limit::ReceiveWindow
        } else if counts.sends == 0 {
            self.class
        } else if by_ack >= 0.6 && !self.before.scale_known {
            // A receiver's window of unknown size is as likely.
            Limit::Unknown
        } else if by_ack >= 0.6 {
            Limit::CongestionWindow
        } else if counts.gaps >= 3 && variation < 0.6 {
            Limit::Pacing
        } else if counts.sends < 4 {
            self.class
        } else {
            Limit::Unknown
        };
        self.shares[self.class as usize] += counts.open;
        if let Some(rounds) = rounds.as_deref_mut().filter(|rounds| rounds.len() < MAX_ROUNDS) {
            let mut shares = counts.other;
            shares[self.class as usize] += counts.open;
            let limit =
                Limit::ALL.into_iter().max_by_key(|limit| (shares[*limit as usize], *limit == self.class));
            rounds.push(Round {
                from: counts.since,
                until: at,
                limit: limit.unwrap_or_default(),
                sends: counts.sends,
                by_ack,
                variation,
                largest: counts.largest.max(self.before.outstanding),
                window: self.before.window,
            });
        }
    }
}
