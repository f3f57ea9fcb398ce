//! The smallest or the largest value of a sliding time.

use std::collections::VecDeque;
use units::{Span, Time};

/// The extreme value of the last samples, in a queue of the candidates alone.
#[derive(Clone, Debug)]
pub struct ExtremeOver {
    sign: f64,
    candidates: VecDeque<(Time, f64)>,
}

impl ExtremeOver {
    /// The smallest value.
    pub fn least() -> ExtremeOver {
        ExtremeOver { sign: 1.0, candidates: VecDeque::new() }
    }
    /// The largest value.
    pub fn largest() -> ExtremeOver {
        ExtremeOver { sign: -1.0, candidates: VecDeque::new() }
    }
    /// Adds a sample and returns the extreme value of the time `length` before it. The length may change.
    pub fn add(&mut self, now: Time, value: f64, length: Span) -> f64 {
        while self.candidates.back().is_some_and(|(_, last)| self.sign * last >= self.sign * value) {
            self.candidates.pop_back();
        }
        self.candidates.push_back((now, value));
        while self.candidates.len() > 1 && self.candidates[0].0 + length < now {
            self.candidates.pop_front();
        }
        self.candidates[0].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_old_values() {
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let (mut least, mut largest) = (ExtremeOver::least(), ExtremeOver::largest());
        let length = Span::from_ms(10);
        let rows = [(0, 5.0), (4, 3.0), (8, 4.0), (14, 6.0), (15, 6.0), (30, 7.0)];
        let extremes: Vec<_> =
            rows.map(|(ms, x)| (least.add(at(ms), x, length), largest.add(at(ms), x, length))).to_vec();
        assert_eq!(extremes, [(5.0, 5.0), (3.0, 5.0), (3.0, 5.0), (3.0, 6.0), (4.0, 6.0), (7.0, 7.0)]);
    }
}
