//! Bandwidth from the receiver's timestamps with a stability filter: SARBE's estimator (docs/specs/sarbe-ecn.md
//! sections 1 and 2; the stability filter of Kim and Noble, SANE, 2000).

use std::collections::VecDeque;
use units::Time;

/// The estimator. Amounts are in bits, rates in bit/s.
#[derive(Clone, Debug)]
pub struct StabilityFilteredBandwidth {
    /// Gain of the filter of the instability.
    keep: f64,
    /// Number of instability values over which the maximum is taken.
    window: usize,
    last_stamp: Option<Time>,
    waiting: f64,
    sample: Option<f64>,
    recent: VecDeque<f64>,
    estimate: f64,
}

impl StabilityFilteredBandwidth {
    /// `keep` in (0, 1) is the gain of the instability, 0.8 in the paper; `window` is the number of instability
    /// values.
    pub fn new(keep: f64, window: usize) -> StabilityFilteredBandwidth {
        StabilityFilteredBandwidth {
            keep,
            window: window.max(1),
            last_stamp: None,
            waiting: 0.0,
            sample: None,
            recent: VecDeque::new(),
            estimate: 0.0,
        }
    }

    /// The estimate, bit/s; none before the second ACK.
    pub fn estimate(&self) -> Option<f64> {
        self.sample.map(|_| self.estimate)
    }
    /// The last sample, bit/s.
    pub fn sample(&self) -> Option<f64> {
        self.sample
    }
    /// The instability of the samples, bit/s.
    pub fn instability(&self) -> f64 {
        self.recent.back().copied().unwrap_or(0.0)
    }

    /// Processes an ACK for `bits` bits with the receiver's timestamp `stamp`. Bits of ACKs with an equal or older
    /// timestamp count for the next ACK with a newer one.
    pub fn update(&mut self, stamp: Time, bits: f64) {
        let Some(last) = self.last_stamp else {
            self.last_stamp = Some(stamp);
            return;
        };
        self.waiting += bits;
        if stamp <= last {
            return;
        }
        self.last_stamp = Some(stamp);
        let sample = std::mem::take(&mut self.waiting) / stamp.since(last).seconds();
        let instability = match self.sample {
            None => 0.0,
            Some(before) => self.keep * self.instability() + (1.0 - self.keep) * (sample - before).abs(),
        };
        self.recent.push_back(instability);
        if self.recent.len() > self.window {
            self.recent.pop_front();
        }
        let largest = self.recent.iter().copied().fold(0.0, f64::max);
        let hold = if largest > 0.0 { instability / largest } else { 0.0 };
        self.estimate =
            if self.sample.is_none() { sample } else { hold * self.estimate + (1.0 - hold) * sample };
        self.sample = Some(sample);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Span;

    fn ms(t: u64) -> Time {
        Time::ZERO + Span::from_ms(t)
    }

    #[test]
    fn one_late_packet_leaves_the_estimate_untouched() {
        let mut rate = StabilityFilteredBandwidth::new(0.8, 9);
        let expected =
            [(2e6, 0.0), (2e6, 0.0), (2e6, 0.0), (1e6, 2e5), (2e6, 3.6e5), (2e6, 2.88e5), (2e6, 2.304e5)];
        rate.update(ms(0), 8000.0);
        assert_eq!(rate.estimate(), None);
        for (stamp, (sample, instability)) in [4, 8, 12, 20, 24, 28, 32].into_iter().zip(expected) {
            rate.update(ms(stamp), 8000.0);
            assert!((rate.sample().unwrap() - sample).abs() < 1e-3);
            assert!((rate.instability() - instability).abs() < 1e-3, "{stamp}");
            assert!((rate.estimate().unwrap() - 2e6).abs() < 1e-3);
        }
    }

    #[test]
    fn a_step_is_followed_as_published() {
        let mut rate = StabilityFilteredBandwidth::new(0.8, 9);
        for i in 0..20 {
            rate.update(ms(4 * i), 8000.0);
        }
        for (i, expected) in [2e6, 1.8e6, 1.512e6, 1.262144e6].into_iter().enumerate() {
            rate.update(ms(76 + 8 * (i as u64 + 1)), 8000.0);
            assert!((rate.estimate().unwrap() - expected).abs() < 1.0, "{i}: {:?}", rate.estimate());
        }
    }

    #[test]
    fn a_coarse_clock_makes_fewer_samples_not_infinite_ones() {
        let mut rate = StabilityFilteredBandwidth::new(0.8, 9);
        for stamp in [0, 0, 0, 10, 10, 5, 20] {
            rate.update(ms(stamp), 8000.0);
        }
        // Two waited at stamp 0, one came with 10; then one each with 10 and 5 waited for 20.
        assert!((rate.sample().unwrap() - 2.4e6).abs() < 1e-3);
    }
}
