//! Careful Resume (RFC 9959): a flow starts with half of the window that an earlier one had on the same path, paced over a round
//! trip, confirms it, or retreats. A jump without saved values ("jumpstart", as in the stack quicly) is its simpler form.
//!
//! Written from the draft that became the RFC (version 24). What is acknowledged counts from the first packet of the jump on:
//! counted from the entry, as the body of that text says, its examples do not come out.

use cc::Ack;
use units::{Segments, Span, Time};

/// What is saved of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SavedPath {
    /// The window that the path carried, segments.
    pub cwnd: Segments,
    /// Its smallest round-trip time.
    pub rtt: Span,
}

/// The phase of a start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The initial window: the path is observed.
    Reconnaissance,
    /// The packets of the jump are sent.
    Unvalidated,
    /// They are sent, and not all of them are acknowledged.
    Validating,
    /// A loss or a mark: the window falls below what was acknowledged.
    Retreat,
    /// The controller alone decides.
    Normal,
}

impl Phase {
    /// All phases, in their order.
    pub const ALL: [Phase; 5] =
        [Phase::Reconnaissance, Phase::Unvalidated, Phase::Validating, Phase::Retreat, Phase::Normal];
}

/// Why the start has come to the phase in which the controller alone decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It has not.
    NotYet,
    /// There are no saved values: the earlier flow had not ended, or its window was too small to save.
    NothingSaved,
    /// The saved values are too old.
    Expired,
    /// The round-trip time is not that of the saved path.
    RttNotConfirmed,
    /// The jump would not exceed the window.
    Small,
    /// A loss or a mark came before the jump.
    Congestion,
    /// The whole jump is acknowledged.
    Validated,
    /// The application did not use the jump.
    RateLimited,
    /// The retreat has ended.
    Retreated,
    /// A retransmission timeout.
    Timeout,
}

impl Reason {
    /// All reasons, in their order.
    pub const ALL: [Reason; 10] = [
        Reason::NotYet,
        Reason::NothingSaved,
        Reason::Expired,
        Reason::RttNotConfirmed,
        Reason::Small,
        Reason::Congestion,
        Reason::Validated,
        Reason::RateLimited,
        Reason::Retreated,
        Reason::Timeout,
    ];
    /// Its name in outcomes.
    pub const fn name(self) -> &'static str {
        match self {
            Reason::NotYet => "not_yet",
            Reason::NothingSaved => "nothing_saved",
            Reason::Expired => "expired",
            Reason::RttNotConfirmed => "rtt_not_confirmed",
            Reason::Small => "small",
            Reason::Congestion => "congestion",
            Reason::Validated => "validated",
            Reason::RateLimited => "rate_limited",
            Reason::Retreated => "retreated",
            Reason::Timeout => "timeout",
        }
    }
}

/// What an event does to the window, segments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// The window becomes this.
    pub cwnd: Option<Segments>,
    /// The threshold becomes this.
    pub ssthresh: Option<Segments>,
}

/// What the outcome of a flow says of its start.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// When each phase began; `None` for a phase that did not come.
    pub began: [Option<Time>; Phase::ALL.len()],
    /// Why it ended.
    pub why: Reason,
    /// The saved values that were used, if there were any.
    pub saved: Option<SavedPath>,
    /// The window of the jump, segments; zero if there was none.
    pub jump: Segments,
    /// What was acknowledged (PipeSize), segments.
    pub pipe: Segments,
}

/// The start of a flow. Numbers are those of segments, or of packets of QUIC.
#[derive(Clone, Debug)]
pub struct CarefulResume {
    phase: Phase,
    /// A jump without saved values: its window.
    jumpstart: Option<Segments>,
    initial: Segments,
    max_jump: Segments,
    min_rtt: Option<Span>,
    /// Segments acknowledged so far.
    acked: u64,
    /// The first packet of the jump, and the last one.
    first: u64,
    last: u64,
    /// The window of the retreat, segments.
    held: Segments,
    outcome: Outcome,
}

/// The window that a retreat leaves is this part of what was acknowledged, and so is the threshold at its end.
const RETREAT: f64 = 0.5;
/// The least window of a retreat, segments.
const LEAST: Segments = 2.0;
/// The round-trip time may be so many times the saved one.
const LONGEST: u64 = 10;

impl CarefulResume {
    /// With the values of an earlier flow, or the reason why there are none. `initial`: the initial window; `max_jump`: the
    /// largest window of the jump, segments.
    pub fn new(
        saved: Result<SavedPath, Reason>,
        initial: Segments,
        max_jump: Segments,
        now: Time,
    ) -> CarefulResume {
        let mut start = CarefulResume { max_jump, ..CarefulResume::observing(saved.ok(), initial, now) };
        if let Err(reason) = saved {
            start.leave(reason, now);
        }
        start
    }

    /// Without knowledge of the path: a jump to `window` segments after the first round trip.
    pub fn jumpstart(window: Segments, initial: Segments, now: Time) -> CarefulResume {
        CarefulResume { jumpstart: Some(window), ..CarefulResume::observing(None, initial, now) }
    }

    /// At the begin of the first phase.
    fn observing(saved: Option<SavedPath>, initial: Segments, now: Time) -> CarefulResume {
        let (began, why) = ([None; Phase::ALL.len()], Reason::NotYet);
        let mut start = CarefulResume {
            phase: Phase::Reconnaissance,
            jumpstart: None,
            initial,
            max_jump: f64::INFINITY,
            min_rtt: None,
            acked: 0,
            first: 0,
            last: 0,
            held: 0.0,
            outcome: Outcome { began, why, saved, jump: 0.0, pipe: 0.0 },
        };
        start.enter(Phase::Reconnaissance, now);
        start
    }

    /// What the outcome of the flow says of it.
    pub fn outcome(&self) -> &Outcome {
        &self.outcome
    }

    /// The phase.
    pub fn phase(&self) -> Phase {
        self.phase
    }

    fn enter(&mut self, phase: Phase, now: Time) {
        self.phase = phase;
        self.outcome.began[phase as usize] = Some(now);
    }

    fn leave(&mut self, why: Reason, now: Time) {
        self.enter(Phase::Normal, now);
        self.outcome.why = why;
    }

    /// The time of a segment while the jump is sent: its window over the smallest round-trip time.
    pub fn pacing_interval(&self) -> Option<Span> {
        let rtt = self.min_rtt.filter(|_| self.phase == Phase::Unvalidated)?;
        Some(Span::from_seconds(rtt.seconds() / self.outcome.jump.max(1.0)))
    }

    /// Processes an ACK after the controller, whose window was `before` and is `cwnd` segments. `more`: the application has
    /// more data.
    pub fn on_ack(&mut self, ack: &Ack, before: Segments, cwnd: Segments, more: bool) -> Progress {
        self.acked += u64::from(ack.newly_delivered);
        if self.phase != Phase::Normal
            && let Some(rtt) = ack.rtt
        {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        match self.phase {
            Phase::Normal => Progress::default(),
            Phase::Reconnaissance => self.observe(ack, cwnd, more),
            Phase::Unvalidated => {
                self.count(ack);
                self.send_jump(ack, (cwnd - before).max(0.0))
            }
            Phase::Validating => {
                self.count(ack);
                if ack.acked_through >= self.last {
                    self.leave(Reason::Validated, ack.now);
                }
                Progress::default()
            }
            Phase::Retreat => {
                self.count(ack);
                self.retreat(ack)
            }
        }
    }

    /// Counts what the ACK says of packets of the jump.
    fn count(&mut self, ack: &Ack) {
        let una = ack.acked_through.wrapping_add(1).saturating_sub(u64::from(ack.newly_acked));
        let earlier = self.first.saturating_sub(una).min(u64::from(ack.newly_acked));
        self.outcome.pipe += u64::from(ack.newly_delivered).saturating_sub(earlier) as f64;
    }

    /// The initial window is acknowledged: the jump, if the path is the saved one.
    fn observe(&mut self, ack: &Ack, cwnd: Segments, more: bool) -> Progress {
        if (self.acked as f64) < self.initial || !more || !ack.window_limited {
            return Progress::default();
        }
        let Some(rtt) = self.min_rtt else { return Progress::default() };
        let jump = match (self.outcome.saved, self.jumpstart) {
            (Some(saved), _) => {
                if rtt * 2 <= saved.rtt || rtt > saved.rtt * LONGEST {
                    self.leave(Reason::RttNotConfirmed, ack.now);
                    return Progress::default();
                }
                (saved.cwnd / 2.0).min(self.max_jump)
            }
            (None, jump) => jump.unwrap_or(0.0),
        };
        let jump = jump.floor();
        if jump <= cwnd {
            self.leave(Reason::Small, ack.now);
            return Progress::default();
        }
        self.outcome.jump = jump;
        self.outcome.pipe = if self.jumpstart.is_some() { 0.0 } else { ack.in_flight };
        self.first = ack.next;
        self.enter(Phase::Unvalidated, ack.now);
        Progress { cwnd: Some(jump), ssthresh: None }
    }

    /// The jump is being sent. `growth`: what the controller has added to its window.
    fn send_jump(&mut self, ack: &Ack, growth: Segments) -> Progress {
        let (jump, now) = (self.outcome.jump, ack.now);
        let since = self.outcome.began[Phase::Unvalidated as usize].unwrap_or(now);
        let flight = ack.prior_in_flight;
        let complete = flight + 1.0 > jump;
        let round = self.min_rtt.is_some_and(|rtt| now.since(since) > rtt);
        if !complete && !round && ack.acked_through < self.first {
            return Progress { cwnd: Some(jump), ssthresh: None };
        }
        self.last = ack.next.saturating_sub(1);
        if ack.in_flight < self.initial || ack.in_flight <= self.outcome.pipe {
            self.leave(Reason::RateLimited, now);
            return Progress { cwnd: Some(self.outcome.pipe.max(self.initial)), ssthresh: None };
        }
        self.enter(Phase::Validating, now);
        if ack.acked_through >= self.last {
            self.leave(Reason::Validated, now);
        }
        Progress { cwnd: Some(flight.min(jump) + growth), ssthresh: None }
    }

    fn retreat(&mut self, ack: &Ack) -> Progress {
        if self.jumpstart.is_some() {
            self.held = self.held.max((self.outcome.pipe * RETREAT).floor());
        }
        let mut progress = Progress { cwnd: Some(self.held), ssthresh: None };
        if ack.acked_through >= self.last {
            self.leave(Reason::Retreated, ack.now);
            progress.ssthresh = Some((self.outcome.pipe * RETREAT).max(LEAST));
        }
        progress
    }

    /// A loss or a mark is about to reduce the window: what it reduces, if that is not the window.
    pub fn before_reduction(&self) -> Option<Segments> {
        matches!(self.phase, Phase::Unvalidated | Phase::Validating).then(|| self.outcome.pipe.max(LEAST))
    }

    /// A loss or a mark has reduced the window. Returns the window that holds until everything sent so far, up to the packet
    /// before `next`, is acknowledged.
    pub fn on_congestion(&mut self, now: Time, next: u64) -> Option<Segments> {
        match self.phase {
            Phase::Reconnaissance => self.leave(Reason::Congestion, now),
            Phase::Unvalidated | Phase::Validating => {
                self.last = next.saturating_sub(1);
                self.enter(Phase::Retreat, now);
                let acked = if self.jumpstart.is_some() {
                    self.outcome.pipe.max(self.initial)
                } else {
                    self.outcome.pipe
                };
                self.held = (acked * RETREAT).floor().max(LEAST);
                return Some(self.held);
            }
            Phase::Retreat | Phase::Normal => {}
        }
        None
    }

    /// A retransmission timeout.
    pub fn on_rto(&mut self, now: Time) {
        if self.phase != Phase::Normal {
            self.leave(Reason::Timeout, now);
        }
    }

    /// The reduction was spurious.
    pub fn on_undo(&mut self, now: Time) {
        if self.phase == Phase::Retreat {
            self.leave(Reason::Validated, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Resume, SavedFrom, StartOptions};
    use super::*;
    use cc::testing::ack;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    /// The ACK of segment `seq` alone, with `flight` segments in flight after it.
    fn acked(ms: u64, seq: u64, flight: f64, next: u64) -> Ack {
        Ack {
            now: at(ms),
            acked_through: seq,
            in_flight: flight,
            prior_in_flight: flight + 1.0,
            next,
            rtt: Some(Span::from_ms(100)),
            ..ack(1)
        }
    }

    const SAVED: SavedPath = SavedPath { cwnd: 300.0, rtt: Span::from_ms(100) };

    /// The example of the document: 29 segments in flight when the jump begins, with segment 30.
    fn jumping() -> CarefulResume {
        let mut start = CarefulResume::new(Ok(SAVED), 10.0, f64::INFINITY, at(0));
        for n in 1..10 {
            assert_eq!(start.on_ack(&acked(100, n, 19.0, 30), 10.0, 10.0, true), Progress::default());
        }
        let last = Ack { in_flight: 29.0, ..acked(110, 0, 29.0, 30) };
        assert_eq!(start.on_ack(&last, 19.0, 20.0, true).cwnd, Some(150.0));
        assert_eq!((start.phase(), start.outcome().pipe, start.first), (Phase::Unvalidated, 29.0, 30));
        assert_eq!(start.pacing_interval(), Some(Span::from_seconds(0.1 / 150.0)));
        start
    }

    #[test]
    fn without_a_loss_the_window_doubles_from_the_jump() {
        let mut start = jumping();
        let mut window = 150.0;
        // Nothing of the 29 is acknowledged before all 150 are in flight.
        for seq in 1..=150 {
            let flight = 150.0 - seq as f64;
            let ack = acked(200, seq, flight, 151);
            let ack = Ack { in_flight: flight.max(150.0 - seq as f64), ..ack };
            if let Some(set) = start.on_ack(&ack, window, window + 1.0, false).cwnd {
                window = set;
            } else {
                window += 1.0;
            }
        }
        assert_eq!((start.phase(), start.outcome().why), (Phase::Normal, Reason::Validated));
        assert_eq!((window, start.outcome().pipe), (300.0, 150.0)); // 29, and 121 packets of the jump
    }

    #[test]
    fn an_application_that_does_not_use_the_jump_gets_what_it_used() {
        let mut start = jumping();
        let mut last = Progress::default();
        for seq in 1..=30 {
            last = start.on_ack(&acked(150, seq, 50.0 - seq as f64, 51), 150.0, 151.0, false);
        }
        assert_eq!((start.outcome().why, last.cwnd), (Reason::RateLimited, Some(30.0)));
        // Fifty packets of the jump are enough to go on.
        let mut start = jumping();
        for seq in 1..=30 {
            last = start.on_ack(&acked(150, seq, 79.0 - seq as f64, 80), 150.0, 150.0, false);
        }
        assert_eq!((start.phase(), last.cwnd), (Phase::Validating, Some(50.0)));
    }

    #[test]
    fn a_loss_of_packet_64_leaves_half_of_what_was_acknowledged() {
        let mut start = jumping();
        for seq in 1..64 {
            start.on_ack(&acked(200, seq, 150.0 - seq as f64, 151), 150.0, 151.0, false);
        }
        assert_eq!((start.outcome().pipe, start.before_reduction()), (63.0, Some(63.0)));
        let event = cc::testing::congestion(63.0);
        assert_eq!(start.on_congestion(event.now, 151), Some(31.0)); // 31.5, whole segments
        assert_eq!(start.phase(), Phase::Retreat);
        for seq in 65..150 {
            let sacked =
                Ack { newly_acked: 0, newly_delivered: 1, ..acked(300, 63, 150.0 - seq as f64, 151) };
            assert_eq!(
                start.on_ack(&sacked, 150.0, 31.0, false),
                Progress { cwnd: Some(31.0), ssthresh: None }
            );
        }
        // The retransmission and the last segment.
        let last = Ack { newly_acked: 87, newly_delivered: 1, ..acked(400, 150, 0.0, 151) };
        let end = start.on_ack(&last, 31.0, 31.0, false);
        assert_eq!((start.outcome().pipe, start.outcome().why), (149.0, Reason::Retreated));
        assert_eq!(end, Progress { cwnd: Some(31.0), ssthresh: Some(74.5) });
    }

    #[test]
    fn the_round_trip_time_confirms_the_path() {
        for (rtt_us, why) in [
            (50_000, Reason::RttNotConfirmed),
            (51_000, Reason::NotYet),
            (1_000_000, Reason::NotYet),
            (1_010_000, Reason::RttNotConfirmed),
        ] {
            let mut start = CarefulResume::new(Ok(SAVED), 10.0, f64::INFINITY, at(0));
            let rtt = Some(Span::from_us(rtt_us));
            let all = Ack { newly_delivered: 10, rtt, ..acked(1100, 10, 0.0, 11) };
            start.on_ack(&all, 10.0, 20.0, true);
            assert_eq!(start.outcome().why, why, "{rtt_us}");
        }
    }

    #[test]
    fn a_start_without_a_jump_says_why() {
        let options = |age: u64, lifetime: u64| StartOptions {
            resume: Some(Resume {
                from: SavedFrom::Values(SAVED, Span::from_ms(age)),
                max_jump: f64::INFINITY,
                lifetime: Span::from_ms(lifetime),
            }),
            jump: None,
        };
        let why = |options: &StartOptions| options.begin(at(0), 10.0, None).unwrap().outcome().why;
        assert_eq!(why(&options(11, 10)), Reason::Expired);
        assert_eq!(why(&options(10, 10)), Reason::NotYet);
        let mut of_flow = options(0, 10);
        of_flow.resume.as_mut().unwrap().from = SavedFrom::Flow("first".into());
        assert_eq!(why(&of_flow), Reason::NothingSaved);
        let small = SavedPath { cwnd: 30.0, ..SAVED };
        let mut start = CarefulResume::new(Ok(small), 10.0, f64::INFINITY, at(0));
        start.on_ack(&Ack { newly_delivered: 10, ..acked(100, 10, 0.0, 11) }, 10.0, 20.0, true);
        assert_eq!(start.outcome().why, Reason::Small);
        let mut start = CarefulResume::new(Ok(SAVED), 10.0, f64::INFINITY, at(0));
        assert_eq!(start.on_congestion(at(1), 11), None);
        assert_eq!(start.outcome().why, Reason::Congestion);
        let mut start = jumping();
        start.on_rto(at(900));
        assert_eq!((start.outcome().why, start.pacing_interval()), (Reason::Timeout, None));
        let mut bounded = CarefulResume::new(Ok(SAVED), 10.0, 40.5, at(0));
        let all = Ack { newly_delivered: 10, ..acked(100, 10, 0.0, 11) };
        assert_eq!(bounded.on_ack(&all, 10.0, 20.0, true).cwnd, Some(40.0));
    }

    #[test]
    fn a_jump_without_saved_values_keeps_half_of_what_arrives() {
        let mut start = CarefulResume::jumpstart(40.0, 10.0, at(0));
        let all = Ack { newly_delivered: 10, newly_acked: 10, ..acked(100, 10, 4.0, 15) };
        assert_eq!(start.on_ack(&all, 10.0, 20.0, true).cwnd, Some(40.0));
        for seq in 11..20 {
            start.on_ack(&acked(200, seq, 40.0, 51), 40.0, 41.0, true);
        }
        assert_eq!(start.outcome().pipe, 5.0); // packets 15 to 19
        assert_eq!(start.on_congestion(at(210), 51), Some(5.0)); // of the initial window
        let more = Ack { newly_acked: 0, newly_delivered: 20, ..acked(220, 19, 10.0, 51) };
        assert_eq!(start.on_ack(&more, 5.0, 5.0, true).cwnd, Some(12.0));
    }
}
