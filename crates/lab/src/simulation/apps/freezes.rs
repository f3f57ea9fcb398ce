//! Freezes of a video: gaps between shown frames that a viewer notices, by the rule of the statistics of WebRTC.

use std::collections::VecDeque;
use units::{Span, Time};

/// Gaps whose mean is what a viewer expects.
const MEAN_OF: usize = 30;
/// A freeze is at least the mean gap times this, and at least the mean gap and this longer.
const FACTOR: u128 = 3;
const LONGER: Span = Span::from_ms(150);
/// Times are rounded to picoseconds: gaps that differ by less are equal.
const TOLERANCE: Span = Span::from_ns(1);

/// The gaps so far.
#[derive(Clone, Debug, Default)]
pub struct Freezes {
    shown: Option<Time>,
    gaps: VecDeque<Span>,
    count: u64,
    total: Span,
}

impl Freezes {
    /// A frame is shown at `at`, not before the last one.
    pub fn on_shown(&mut self, at: Time) {
        let Some(before) = self.shown.replace(at) else {
            return;
        };
        let gap = at.since(before);
        if self.is_freeze(gap) {
            self.count += 1;
            self.total = self.total + gap;
        }
        if self.gaps.len() == MEAN_OF {
            self.gaps.pop_front();
        }
        self.gaps.push_back(gap);
    }

    /// Whether a gap is long after the last ones. Both sides are times the number of gaps, and exact.
    fn is_freeze(&self, gap: Span) -> bool {
        let count = self.gaps.len() as u128;
        let sum: u128 = self.gaps.iter().map(|gap| u128::from(gap.ps())).sum();
        let least = (FACTOR * sum).max(sum + count * u128::from(LONGER.ps()));
        count > 0 && count * u128::from((gap + TOLERANCE).ps()) >= least
    }

    /// How many there were.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The sum of their gaps.
    pub fn total(&self) -> Span {
        self.total
    }
}

#[cfg(test)]
mod tests {
    use super::super::sources::Interval;
    use super::*;

    fn freezes(shown: impl IntoIterator<Item = Span>) -> (u64, f64) {
        let mut freezes = Freezes::default();
        shown.into_iter().for_each(|at| freezes.on_shown(Time::ZERO + at));
        (freezes.count(), freezes.total().seconds())
    }

    #[test]
    fn a_long_gap_is_a_freeze() {
        let frame = |k| Interval::per_second(30).times(k);
        let late = (0..10).map(|k| Span::from_ms(1300) + frame(k));
        let (count, total) = freezes((0..=30).map(frame).chain(late));
        assert!(count == 1 && (total - 0.3).abs() < 1e-9, "{count} {total}");
        // 100 ms are three mean gaps, but no 150 ms more than one.
        let short = [1100, 1150].map(Span::from_ms);
        assert_eq!(freezes((0..=30).map(frame).chain(short)), (0, 0.0));
        assert_eq!(freezes([Span::ZERO, Span::from_ms(5000)]), (0, 0.0));
    }

    #[test]
    fn a_gap_of_just_three_means_is_a_freeze() {
        // 12 frames a second: a gap of three frames is 250 ms, 250 ms and 233 ms are needed.
        let frame = |k| Interval::per_second(12).times(k);
        let (count, total) = freezes((0..=20).chain([23]).map(frame));
        assert!(count == 1 && (total - 0.25).abs() < 1e-9);
        // The mean is that of the last 30 gaps: after 30 of a second, a second is none.
        let slow = (21..=51).map(|s| Span::from_ms(1000 * s)).chain([Span::from_ms(53_900)]);
        assert_eq!(freezes((0..=20).map(frame).chain(slow)).0, 1);
    }
}
