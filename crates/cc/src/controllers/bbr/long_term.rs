//! Long-term bandwidth sampling of BBR version 1: it finds a token-bucket policer, and the rate that it lets through.
//!
//! A sampling interval begins and ends with a loss and lasts 4 to 16 rounds. If at least a fifth of its segments was lost,
//! its delivery rate is a sample; if two samples in a row agree, their mean replaces the largest delivery rate for 48
//! rounds. Constants and order are those of Linux.

use crate::Ack;
use units::Time;

/// Rounds of a sampling interval.
const FEWEST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 4 * FEWEST_ROUNDS;
/// Part of the delivered segments whose loss shows a policer.
const LOSS_RATIO: f64 = 50.0 / 256.0;
/// Two rates agree if they differ by no more than this part, or by no more than so many bit/s.
const NEAR: f64 = 1.0 / 8.0;
const NEAR_BPS: f64 = 4000.0;
/// Rounds for which the rate is used before the path is probed again.
const ROUNDS_IN_USE: u32 = 48;
const PS_PER_MS: u64 = 1_000_000_000;

/// The totals of a connection at one time.
#[derive(Clone, Copy, Debug, Default)]
struct Totals {
    delivered: u64,
    lost: u64,
    /// When the last segment was delivered, whole milliseconds.
    ms: u64,
}

/// What an ACK or a retransmission timeout contributes.
#[derive(Clone, Copy, Debug)]
struct Sample {
    totals: Totals,
    app_limited: bool,
    round_start: bool,
    losses: bool,
}

/// The state of the sampling.
#[derive(Clone, Debug, Default)]
pub(super) struct LongTerm {
    /// The rate of the last sample, or the rate in use, segments/s; zero if there is none.
    bandwidth: f64,
    in_use: bool,
    sampling: bool,
    /// Rounds of the interval, or rounds in use.
    rounds: u32,
    began: Totals,
    /// When the last segment was delivered.
    delivered_at: Time,
    /// Retransmission timeouts since the last ACK: their totals are known at the next one.
    timeouts: u8,
    segment_bits: f64,
}

impl LongTerm {
    pub fn new(segment_bits: f64) -> LongTerm {
        LongTerm { segment_bits, ..LongTerm::default() }
    }

    /// The rate in use, segments/s, if a policer was found.
    pub fn bandwidth(&self) -> Option<f64> {
        self.in_use.then_some(self.bandwidth)
    }

    /// Forgets everything: after a reduction that was spurious, or where the application limits the rate.
    pub fn reset(&mut self) {
        (self.bandwidth, self.in_use, self.sampling, self.timeouts) = (0.0, false, false, 0);
    }

    /// Notes a retransmission timeout.
    pub fn on_rto(&mut self) {
        self.timeouts = self.timeouts.saturating_add(1);
    }

    /// Processes an ACK with a rate sample. Returns whether the rate has been in use for so long that the path is to be
    /// probed anew.
    #[inline]
    pub fn update(&mut self, ack: &Ack, app_limited: bool, round_start: bool, probing: bool) -> bool {
        let expired = self.timeouts > 0 && self.after_timeouts(ack, probing);
        if ack.newly_delivered > 0 {
            self.delivered_at = ack.now;
        }
        if self.in_use {
            return probing && round_start && self.expires() || expired;
        }
        if self.sampling || ack.newly_lost > 0 {
            let totals = self.totals(ack.delivered_total, ack.lost_total);
            self.sample(Sample { totals, app_limited, round_start, losses: ack.newly_lost > 0 });
        }
        expired
    }

    fn totals(&self, delivered: u64, lost: u64) -> Totals {
        Totals { delivered, lost, ms: self.delivered_at.ps() / PS_PER_MS }
    }

    /// Each timeout counts as the start of a round with a loss. Returns whether the rate has been in use long enough.
    #[cold]
    fn after_timeouts(&mut self, ack: &Ack, probing: bool) -> bool {
        let before = ack.delivered_total - u64::from(ack.newly_delivered);
        let totals = self.totals(before, ack.lost_total - u64::from(ack.newly_lost));
        let mut expired = false;
        for _ in 0..std::mem::take(&mut self.timeouts) {
            if self.in_use {
                expired |= probing && self.expires();
            } else {
                self.sample(Sample { totals, app_limited: false, round_start: true, losses: true });
            }
        }
        expired
    }

    /// Another round begins with the rate in use. Returns whether it was in use long enough.
    fn expires(&mut self) -> bool {
        self.rounds += 1;
        let expired = self.rounds >= ROUNDS_IN_USE;
        if expired {
            self.reset();
        }
        expired
    }

    fn begin(&mut self, totals: Totals) {
        (self.began, self.rounds) = (totals, 0);
    }

    fn sample(&mut self, sample: Sample) {
        if !self.sampling {
            if !sample.losses {
                return;
            }
            self.begin(sample.totals);
            self.sampling = true;
        }
        if sample.app_limited {
            return self.reset();
        }
        self.rounds += u32::from(sample.round_start);
        if self.rounds < FEWEST_ROUNDS {
            return;
        }
        if self.rounds > MOST_ROUNDS {
            return self.reset(); // losses are too far apart
        }
        let delivered = (sample.totals.delivered - self.began.delivered) as f64;
        let lost = (sample.totals.lost - self.began.lost) as f64;
        let ms = sample.totals.ms.saturating_sub(self.began.ms);
        if sample.losses && delivered > 0.0 && lost >= LOSS_RATIO * delivered && ms > 0 {
            self.end_interval(sample.totals, 1000.0 * delivered / ms as f64);
        }
    }

    fn end_interval(&mut self, totals: Totals, bandwidth: f64) {
        let before = self.bandwidth;
        let apart = (bandwidth - before).abs();
        self.bandwidth = bandwidth;
        self.begin(totals);
        if before > 0.0 && (apart <= NEAR * before || apart * self.segment_bits <= NEAR_BPS) {
            self.bandwidth = (bandwidth + before) / 2.0;
            self.in_use = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::ack;
    use units::Span;

    /// One ACK each round of 100 ms: `delivered` segments, `lost` others.
    struct Path {
        long_term: LongTerm,
        ack: Ack,
    }

    impl Path {
        fn new() -> Path {
            Path { long_term: LongTerm::new(12_000.0), ack: ack(1) }
        }

        fn round(&mut self, delivered: u32, lost: u32) -> bool {
            self.ack.now += Span::from_ms(100);
            (self.ack.newly_delivered, self.ack.newly_lost) = (delivered, lost);
            self.ack.delivered_total += u64::from(delivered);
            self.ack.lost_total += u64::from(lost);
            self.long_term.update(&self.ack, false, true, true)
        }
    }

    #[test]
    fn two_agreeing_intervals_find_a_policer() {
        let agree = |first: u32, second: u32| {
            let mut path = Path::new();
            path.round(10, 5);
            // The round in which the first interval begins is its first.
            for _ in 0..3 {
                path.round(first, first / 2);
            }
            for _ in 0..4 {
                path.round(second, second / 2);
            }
            path.long_term.bandwidth()
        };
        assert_eq!(agree(100, 100), Some(1000.0));
        assert_eq!(agree(100, 112), Some(1060.0));
        assert_eq!(agree(100, 113), None);
        assert_eq!(agree(10, 11), Some(105.0));
    }

    #[test]
    fn rates_that_differ_by_a_few_kilobits_agree() {
        let mut long_term = LongTerm::new(100.0);
        long_term.end_interval(Totals::default(), 100.0);
        long_term.end_interval(Totals::default(), 140.0);
        assert_eq!(long_term.bandwidth(), Some(120.0));
    }

    #[test]
    fn few_or_rare_losses_are_no_policer() {
        let mut path = Path::new();
        for round in 0..100 {
            path.round(100, if round % 4 == 0 { 70 } else { 0 }); // 17.5 % of the delivered segments
            assert_eq!(path.long_term.bandwidth(), None);
        }
        let mut path = Path::new();
        for round in 0..100 {
            path.round(100, if round % 18 == 0 { 1000 } else { 0 });
            assert_eq!(path.long_term.bandwidth(), None);
        }
    }

    #[test]
    fn the_rate_is_used_for_48_rounds() {
        let mut path = Path::new();
        while path.long_term.bandwidth().is_none() {
            path.round(100, 30);
        }
        let rounds = (1..100).find(|_| path.round(100, 0));
        assert_eq!((rounds, path.long_term.bandwidth()), (Some(48), None));
    }

    #[test]
    fn an_application_limit_ends_the_sampling() {
        let mut path = Path::new();
        for round in 0..50 {
            path.round(100, 30);
            path.long_term.update(&Ack { newly_lost: 1, ..path.ack }, round % 3 == 2, false, true);
            assert_eq!(path.long_term.bandwidth(), None);
        }
    }

    #[test]
    fn a_timeout_begins_an_interval_with_the_losses_before_it() {
        let mut path = Path::new();
        path.round(100, 0);
        path.long_term.on_rto();
        path.ack.lost_total += 50; // marked by the timeout
        path.round(100, 0);
        assert!(path.long_term.sampling && path.long_term.rounds == 2);
        assert_eq!((path.long_term.began.lost, path.long_term.began.delivered), (50, 100));
    }

    #[test]
    fn each_timeout_counts_as_a_round() {
        let mut path = Path::new();
        path.round(100, 0);
        (0..3).for_each(|_| path.long_term.on_rto());
        path.round(100, 0);
        assert!(path.long_term.sampling && path.long_term.rounds == 4);
        // In use as well, while the path is probed.
        let mut path = Path::new();
        while path.long_term.bandwidth().is_none() {
            path.round(100, 30);
        }
        (0..40).for_each(|_| path.long_term.on_rto());
        let mut elsewhere = path.long_term.clone();
        assert!(!elsewhere.update(&path.ack, false, true, false));
        assert_eq!(elsewhere.rounds, 0);
        let rounds = (1..100).find(|_| path.round(100, 0));
        assert_eq!((rounds, path.long_term.bandwidth()), (Some(8), None));
        // The timeouts beyond the last round begin an interval.
        let mut path = Path::new();
        while path.long_term.bandwidth().is_none() {
            path.round(100, 30);
        }
        (0..50).for_each(|_| path.long_term.on_rto());
        assert!(path.round(100, 0));
        assert!(
            path.long_term.bandwidth().is_none() && path.long_term.sampling && path.long_term.rounds == 3
        );
    }

    #[test]
    fn an_undone_timeout_begins_no_interval() {
        let mut path = Path::new();
        path.round(100, 0);
        path.long_term.on_rto();
        path.long_term.reset();
        path.round(100, 0);
        assert!(!path.long_term.sampling);
    }
}
