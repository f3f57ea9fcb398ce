//! Rapid Start: the window triples in each round trip without a queue, and the first recovery lets it end at the part `beta`
//! of what was acknowledged (draft-kazuho-ccwg-rapid-start).
//!
//! Read: version 2 (2026-03) and its repository of 2026-08. The stack quicly of 2026-04 has other constants: the larger of the
//! two thresholds, and the factor 11/18 of the text before version 2.

use super::{HyStartPlusPlus, Step};
use crate::events::{Ack, Phase};
use units::{Segments, Span, Time};

/// Below this smallest round-trip time there is no Rapid Start (quicly).
const LEAST_RTT: Span = Span::from_ms(4);
/// What a round-trip time without a queue may exceed the smallest one by.
const MARGIN: Span = Span::from_ms(4);
/// The slots of a round-trip time whose minima are kept.
const SLOTS: usize = 4;
/// The window does not fall below this part of `beta` in the recovery: with two thirds of it lost.
const LEAST_PART: f64 = 1.0 / 3.0;

/// The state of Rapid Start.
#[derive(Clone, Debug)]
pub struct Rapid {
    quicly: bool,
    plus_plus: Option<HyStartPlusPlus>,
    min_rtt: Option<Span>,
    /// The smallest round-trip times of the last slots, the slot of the last sample, and when it ends; none before the first.
    slots: [Option<Span>; SLOTS],
    slot: usize,
    slot_end: Option<Time>,
    /// The growth per acknowledged segment, segments.
    per_acked: f64,
    /// The segments marked as lost since the start, as of the last ACK: a timer can mark some between two ACKs.
    lost: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Start,
    Recovery(Recovery),
    Ended,
}

/// The window of the recovery, segments.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Recovery {
    window: Segments,
    least: Segments,
    /// What each acknowledged and each lost segment takes from it.
    per_acked: f64,
    per_lost: f64,
    /// The window that remains if nothing is lost.
    whole: Segments,
    /// Segments of the window before the loss about which no ACK has said anything yet. What is sent in the recovery, which lasts
    /// a round trip longer in TCP than in QUIC, does not count.
    left: f64,
    /// An ACK of the recovery has arrived.
    begun: bool,
}

impl Recovery {
    /// A window of `cwnd` segments of which the part `beta` is to remain if nothing is lost; `silence`: the factor K of the
    /// text, which decides how long nothing is sent.
    fn new(cwnd: Segments, beta: f64, silence: f64) -> Recovery {
        let per_acked = silence * (1.0 - beta);
        let per_lost = beta + per_acked;
        let least = (cwnd * beta * LEAST_PART).max(2.0);
        let window = (cwnd * per_lost).max(least);
        let whole = (cwnd * beta).max(least);
        Recovery { window, least, per_acked, per_lost, whole, left: cwnd, begun: false }
    }

    fn on_ack(&mut self, acked: u64, lost: u64) {
        let lost = (lost as f64).min(self.left);
        let acked = (acked as f64).min(self.left - lost);
        self.left -= lost + acked;
        let falls = self.per_acked * acked + self.per_lost * lost;
        self.window = (self.window - falls).max(self.least);
    }
}

impl Rapid {
    /// `quicly`: its constants. `plus_plus`: HyStart++ slows the growth down besides.
    pub(super) fn new(quicly: bool, plus_plus: bool) -> Rapid {
        Rapid {
            quicly,
            plus_plus: plus_plus.then(HyStartPlusPlus::default),
            min_rtt: None,
            slots: [None; SLOTS],
            slot: 0,
            slot_end: None,
            per_acked: 1.0,
            lost: 0,
            state: State::Start,
        }
    }

    pub(super) fn end(&mut self) {
        self.state = State::Ended;
        if let Some(state) = &mut self.plus_plus {
            state.done = true;
        }
    }

    pub(super) fn recovers(&self) -> bool {
        matches!(self.state, State::Recovery(_))
    }

    /// The window of the recovery in progress, segments.
    pub(super) fn window(&self) -> Option<Segments> {
        if let State::Recovery(recovery) = &self.state { Some(recovery.window) } else { None }
    }

    /// The growth of the window for `acked` acknowledged segments, segments.
    pub(super) fn growth(&mut self, acked: f64) -> f64 {
        match &mut self.plus_plus {
            Some(state) if state.is_conservative() => state.growth(acked),
            _ => acked * self.per_acked,
        }
    }

    pub(super) fn on_ack(&mut self, ack: &Ack, slow_start: bool, counts: bool) -> Step {
        let lost = ack.lost_total.saturating_sub(self.lost).max(ack.newly_lost.into());
        self.lost = ack.lost_total;
        match &mut self.state {
            State::Ended => Step::None,
            State::Recovery(recovery) => {
                let ends = matches!(ack.phase, Phase::Open);
                if ends && !recovery.begun {
                    recovery.window = recovery.whole; // a probe at the end of the data has repaired the loss
                } else {
                    recovery.on_ack(ack.newly_delivered.into(), lost);
                }
                recovery.begun = true;
                let window = recovery.window;
                if ends {
                    self.end();
                }
                Step::Set { cwnd: window, ssthresh: window }
            }
            State::Start => {
                let ends =
                    counts && slow_start && self.plus_plus.as_mut().is_some_and(|state| state.on_ack(ack));
                if ends || !slow_start {
                    self.end();
                    self.per_acked = 1.0;
                } else if let Some(rtt) = ack.rtt {
                    self.measure(ack.now, rtt);
                }
                if ends { Step::End } else { Step::None }
            }
        }
    }

    /// A round-trip sample decides about the growth.
    fn measure(&mut self, now: Time, rtt: Span) {
        let least = self.min_rtt.map_or(rtt, |least| least.min(rtt));
        self.min_rtt = Some(least);
        let slot = Span::from_ps((least.ps() / SLOTS as u64).max(1));
        let end = *self.slot_end.get_or_insert(now + slot);
        if now >= end {
            let passed = now.since(end).ps() / slot.ps() + 1;
            for _ in 0..passed.min(SLOTS as u64) {
                self.slot = (self.slot + 1) % SLOTS;
                self.slots[self.slot] = None;
            }
            self.slot_end = Some(end + slot * passed);
        }
        let present = &mut self.slots[self.slot];
        *present = Some(present.map_or(rtt, |smallest| smallest.min(rtt)));
        let floor = self.slots.iter().flatten().copied().fold(rtt, Span::min);
        let fast = least >= LEAST_RTT && floor <= self.limit(least);
        self.per_acked = if fast { 2.0 } else { 1.0 };
    }

    /// The largest round-trip time that shows no queue.
    fn limit(&self, least: Span) -> Span {
        let sum = least + MARGIN;
        if self.quicly {
            sum.max(Span::from_ps(least.ps() / 32 * 35))
        } else {
            sum.min(Span::from_ps(least.ps() / 10 * 11))
        }
    }

    /// A loss or an ECN echo in slow start: the window with which the recovery begins, segments.
    pub(super) fn begin_recovery(&mut self, cwnd: Segments, beta: f64) -> Option<Segments> {
        let fast = self.min_rtt.is_some_and(|least| least >= LEAST_RTT);
        let begins = self.state == State::Start && fast;
        self.end();
        if !begins {
            return None;
        }
        let silence = if self.quicly { 11.0 / 18.0 } else { 2.0 / 3.0 };
        let recovery = Recovery::new(cwnd, beta, silence);
        self.state = State::Recovery(recovery);
        Some(recovery.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack;

    fn at(ms: u64, rtt_ms: f64) -> Ack {
        let rtt = Some(Span::from_seconds(rtt_ms / 1e3));
        Ack { now: Time::ZERO + Span::from_ms(ms), rtt, ..ack(1) }
    }

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9
    }

    #[test]
    fn the_factors_are_those_of_the_text_and_of_quicly() {
        for (silence, beta, lost, acked) in [
            (11.0 / 18.0, 0.5, 29.0 / 36.0, 11.0 / 36.0),
            (11.0 / 18.0, 0.7, 53.0 / 60.0, 11.0 / 60.0),
            (2.0 / 3.0, 0.5, 5.0 / 6.0, 1.0 / 3.0),
            (2.0 / 3.0, 0.7, 9.0 / 10.0, 1.0 / 5.0),
        ] {
            let r = Recovery::new(900.0, beta, silence);
            assert!(close(r.per_lost, lost) && close(r.per_acked, acked), "{r:?}");
            assert!(close(r.window, 900.0 * lost));
        }
        for (beta, quicly, begins) in [(0.5, true, 29.0 / 36.0), (0.7, false, 0.9)] {
            let mut rapid = Rapid::new(quicly, false);
            rapid.on_ack(&at(100, 50.0), true, true);
            assert!(close(rapid.begin_recovery(180.0, beta).unwrap(), 180.0 * begins));
            assert_eq!(rapid.begin_recovery(180.0, beta), None); // the first recovery only
        }
    }

    #[test]
    fn the_recovery_ends_at_beta_of_what_was_acknowledged_in_any_order() {
        for silence in [11.0 / 18.0, 2.0 / 3.0] {
            for beta in [0.5, 0.7] {
                for lost in [0, 10, 20, 30] {
                    let mut r = Recovery::new(90.0, beta, silence);
                    for n in 0..90 {
                        let gone = n % 3 == 0 && n / 3 < lost;
                        r.on_ack(u64::from(!gone), u64::from(gone));
                    }
                    assert!(close(r.window, beta * (90 - lost) as f64), "{beta} {lost}");
                }
            }
        }
        let mut r = Recovery::new(300.0, 0.7, 2.0 / 3.0);
        r.on_ack(0, 250);
        assert!(close(r.window, 70.0)); // a third of beta
    }

    #[test]
    fn the_window_grows_by_two_without_a_queue() {
        let ms = Span::from_ms;
        for (least, text, quicly) in [(20, 22.0, 24.0), (40, 44.0, 44.0), (100, 104.0, 109.375)] {
            for (is_quicly, limit) in [(false, text), (true, quicly)] {
                let rapid = Rapid::new(is_quicly, false);
                assert_eq!(rapid.limit(ms(least)), Span::from_seconds(limit / 1e3));
            }
        }
        let mut rapid = Rapid::new(false, false);
        rapid.on_ack(&at(0, 40.0), true, true);
        assert_eq!(rapid.growth(3.0), 6.0);
        for (time, rtt, growth) in [
            (40, 44.0, 2.0),
            (85, 44.1, 1.0), // the samples before are older than a round trip
            (90, 40.0, 2.0),
            (95, 60.0, 2.0), // the least of the round trip counts
            (131, 60.0, 1.0),
        ] {
            rapid.on_ack(&at(time, rtt), true, true);
            assert_eq!(rapid.growth(1.0), growth, "{time} ms");
        }
        // A path of less than 4 ms has none, and no recovery of its own.
        let mut rapid = Rapid::new(false, false);
        rapid.on_ack(&at(0, 3.9), true, true);
        assert_eq!((rapid.growth(1.0), rapid.begin_recovery(100.0, 0.5)), (1.0, None));
    }

    #[test]
    fn the_last_ack_of_the_recovery_sets_the_threshold() {
        let mut rapid = Rapid::new(false, false);
        rapid.on_ack(&at(0, 40.0), true, true);
        assert!(close(rapid.begin_recovery(90.0, 0.5).unwrap(), 75.0));
        let step = |phase, acked, lost| Ack { phase, newly_delivered: acked, newly_lost: lost, ..ack(0) };
        assert!(rapid.recovers());
        let first = rapid.on_ack(&step(Phase::Recovery, 3, 30), true, true);
        assert_eq!(first, Step::Set { cwnd: 49.0, ssthresh: 49.0 });
        let Step::Set { cwnd, ssthresh } = rapid.on_ack(&step(Phase::Open, 57, 0), true, true) else {
            panic!()
        };
        assert!(close(cwnd, 30.0) && close(ssthresh, 30.0)); // half of the 60 that were acknowledged
        assert!(!rapid.recovers());
        assert_eq!(rapid.on_ack(&at(500, 40.0), false, true), Step::None);
    }

    #[test]
    fn hystart_plus_plus_slows_it_down() {
        let mut rapid = Rapid::new(false, true);
        let mut next = 1;
        let mut round = |rapid: &mut Rapid, start: u64, rtt: f64| {
            let end = next + 12;
            for seq in next..end {
                let sample = at(start + seq - next, rtt);
                rapid.on_ack(&Ack { acked_through: seq, next: end, ..sample }, true, true);
            }
            next = end;
        };
        round(&mut rapid, 0, 40.0);
        assert_eq!(rapid.growth(4.0), 8.0);
        round(&mut rapid, 100, 60.0);
        assert_eq!(rapid.growth(4.0), 1.0);
    }
}
