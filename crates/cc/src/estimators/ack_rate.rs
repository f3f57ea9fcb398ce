//! Bandwidth from the rate of ACKs after a low-pass filter: Westwood's estimator (docs/specs/westwood.md section 2).

use units::Time;

/// How samples are smoothed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AckFilter {
    /// Tustin's low-pass filter with cutoff 1/tau (s). Idle time gives samples of zero (type 3).
    Tustin(f64),
    /// `B = keep B + new (b + b_prev)`; it does not depend on the time between samples (types 1 and 2).
    Fixed {
        /// Weight of the estimate.
        keep: f64,
        /// Weight of the last two samples.
        new: f64,
    },
    /// `B = 0.9 B + 0.1 b` (type 0).
    Ewma,
}

/// The shortest remainder of an interval that is a sample of its own, in ns-2's module, s.
const SHORTEST_S: f64 = 0.01;

/// The estimator. Amounts are in bits, rates in bit/s.
#[derive(Clone, Copy, Debug)]
pub struct AckRate {
    filter: AckFilter,
    last_at: Time,
    /// Bits of ACKs that arrived at the time of the last sample.
    waiting: f64,
    sample: f64,
    estimate: f64,
    virtual_samples: u64,
}

impl AckRate {
    /// An estimator without samples. The first interval starts at time zero or at [`AckRate::begin`].
    pub const fn new(filter: AckFilter) -> AckRate {
        AckRate { filter, last_at: Time::ZERO, waiting: 0.0, sample: 0.0, estimate: 0.0, virtual_samples: 0 }
    }
    /// Starts the first interval.
    pub fn begin(&mut self, now: Time) {
        self.last_at = now;
    }
    /// The estimate, bit/s.
    pub fn estimate(&self) -> f64 {
        self.estimate
    }
    /// The last sample, bit/s.
    pub fn sample(&self) -> f64 {
        self.sample
    }

    /// Number of samples of zero for intervals without an ACK.
    pub fn virtual_samples(&self) -> u64 {
        self.virtual_samples
    }

    /// Processes an ACK for `bits` bits at `now`.
    pub fn update(&mut self, now: Time, bits: f64) {
        let mut dt = now.since(self.last_at).seconds();
        let bits = bits + self.waiting;
        if dt == 0.0 {
            self.waiting = bits; // two ACKs at one instant are one sample
            return;
        }
        self.waiting = 0.0;
        self.last_at = now;
        if let AckFilter::Tustin(tau) = self.filter {
            dt = self.silence(dt, tau);
        }
        let sample = bits / dt;
        self.estimate = match self.filter {
            AckFilter::Tustin(tau) => {
                let a = (2.0 * tau - dt) / (2.0 * tau + dt);
                a * self.estimate + (1.0 - a) * (sample + self.sample) / 2.0
            }
            AckFilter::Fixed { keep, new } => keep * self.estimate + new * (sample + self.sample),
            AckFilter::Ewma => 0.9 * self.estimate + 0.1 * sample,
        };
        self.sample = sample;
    }

    /// Adds a sample of zero for every half tau without an ACK. Returns the rest of the interval, s.
    fn silence(&mut self, mut dt: f64, tau: f64) -> f64 {
        let half = tau / 2.0;
        let mut missed = (dt / half) as u64;
        dt -= missed as f64 * half;
        if missed > 0 && dt < SHORTEST_S {
            dt = half;
            missed -= 1;
        }
        self.virtual_samples += missed;
        // After a few hundred samples of zero the estimate is practically zero.
        for _ in 0..missed.min(1000) {
            self.estimate = 0.6 * self.estimate + 0.2 * self.sample;
            self.sample = 0.0;
        }
        dt
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Span;

    fn fed(filter: AckFilter) -> Vec<f64> {
        let mut rate = AckRate::new(filter);
        [(0.1, 1.0), (0.12, 1.0), (0.14, 1.0), (0.18, 2.0), (0.78, 1.0)]
            .into_iter()
            .map(|(at, segments)| {
                rate.update(Time::ZERO + Span::from_seconds(at), 8000.0 * segments);
                rate.estimate()
            })
            .collect()
    }

    #[test]
    fn published_estimates() {
        let tustin = fed(AckFilter::Tustin(0.5));
        for (found, expected) in tustin.iter().zip([7272.727, 16399.287, 31442.452, 59793.033, 64157.221]) {
            assert!((found - expected).abs() < 1e-2, "{found} {expected}");
        }
        let fixed = fed(AckFilter::Fixed { keep: 0.9047, new: 0.0476 });
        for (found, expected) in fixed.iter().zip([3808.0, 26293.0976, 61867.3654, 94051.4055]) {
            assert!((found - expected).abs() < 1e-3, "{found} {expected}");
        }
        assert!((fed(AckFilter::Ewma)[1] - (0.9 * 8000.0 + 40_000.0)).abs() < 1e-6);
    }

    #[test]
    fn acks_of_one_instant_are_one_sample() {
        let mut rate = AckRate::new(AckFilter::Tustin(0.5));
        let at = |s| Time::ZERO + Span::from_seconds(s);
        rate.update(at(0.1), 8000.0);
        rate.update(at(0.1), 8000.0);
        rate.update(at(0.2), 8000.0);
        assert!((rate.sample() - 160_000.0).abs() < 1e-6);
    }
}
