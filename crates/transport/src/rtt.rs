//! Round-trip time and retransmission timeout (RFC 6298), in ticks of a clock as in BSD and ns-2.
//!
//! An exact clock has a tick of one picosecond, so both use the same arithmetic.

use crate::options::{Options, Recovery, RtoEstimator, StackProfile};
use units::{Span, Time};

/// Smoothed round-trip time, its deviation, and the timeout that follows from them.
///
/// The clock and the bounds are in the options of the flow, which each method receives: with many flows this saves
/// memory.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    /// Where within a tick the clock stood at the start of the run, ps.
    phase: u64,
    /// Eight times the smoothed round-trip time, ticks; zero before the first sample.
    srtt8: i64,
    /// Four times the deviation, ticks.
    rttvar4: i64,
    /// Linux: four times the deviation, ticks; there `rttvar4` is its maximum.
    mdev4: i64,
    /// The timeout without backoff and bounds, ps.
    current: u64,
    backoff: u64,
    /// The timeout, ps.
    rto: u64,
    /// Linux: the largest deviation of this round trip, four times, in ticks; and the segment that ends it.
    deviation_max4: i64,
    round_end: u32,
}

const MICROSECOND: u64 = 1_000_000; // ps

/// The timeout after a handshake whose SYN was lost.
const AFTER_LOST_SYN: Span = Span::from_ms(3000);

/// Lower bound of every timeout, ps.
const LEAST: u64 = MICROSECOND;

fn tick(options: &Options) -> u64 {
    let linux = options.recovery == Recovery::Rack && options.rto_estimator == RtoEstimator::Linux;
    let least = if linux { MICROSECOND } else { 1 };
    options.clock_tick.ps().max(least)
}

impl RttEstimator {
    /// `phase` is the clock's offset at the start of the run, below the tick.
    pub fn new(options: &Options, phase: Span) -> RttEstimator {
        let mut estimator = RttEstimator {
            phase: phase.ps(),
            srtt8: 0,
            rttvar4: 0,
            mdev4: 0,
            current: options.initial_rto.ps(),
            backoff: 1,
            rto: 0,
            deviation_max4: 0,
            round_end: 0,
        };
        estimator.set_rto(options);
        estimator
    }

    /// Adds a sample of an exact clock, for recovery `rack`. `una` and `next`: the oldest outstanding and the next new
    /// segment.
    pub fn sample(&mut self, options: &Options, rtt: Span, una: u32, next: u32) {
        let tick = tick(options);
        match options.rto_estimator {
            RtoEstimator::Rfc6298 => {
                self.update(options, rtt.ps() / tick);
            }
            RtoEstimator::Linux => self.update_linux(options, rtt.ps() / tick, una, next),
        }
        self.end_backoff(options);
    }

    /// The estimator of Linux: a deviation below the mean counts an eighth; the largest deviation of a round trip counts,
    /// and is never below the minimum timeout.
    fn update_linux(&mut self, options: &Options, ticks: u64, una: u32, next: u32) {
        let least = (options.min_rto.ps() / tick(options)) as i64;
        let ticks = (ticks.min(1 << 56) as i64).max(1);
        if self.srtt8 == 0 {
            self.srtt8 = ticks << 3;
            self.mdev4 = ticks << 1;
            self.rttvar4 = self.mdev4.max(least);
            self.deviation_max4 = self.rttvar4;
            self.round_end = next;
        } else {
            let mut error = ticks - (self.srtt8 >> 3);
            self.srtt8 += error;
            if error < 0 {
                error = -error - (self.mdev4 >> 2);
                if error > 0 {
                    error >>= 3;
                }
            } else {
                error -= self.mdev4 >> 2;
            }
            self.mdev4 += error;
            if self.mdev4 > self.deviation_max4 {
                self.deviation_max4 = self.mdev4;
                self.rttvar4 = self.rttvar4.max(self.deviation_max4);
            }
            if una > self.round_end {
                if self.deviation_max4 < self.rttvar4 {
                    self.rttvar4 -= (self.rttvar4 - self.deviation_max4) >> 2;
                }
                self.round_end = next;
                self.deviation_max4 = least;
            }
        }
        self.current = ((self.srtt8 >> 3) + self.rttvar4) as u64 * tick(options);
        self.set_rto(options);
    }

    /// Adds a sample for a segment sent at `sent` and acknowledged at `now`. Returns the ticks in between, at least
    /// one, as a time.
    pub fn timed(&mut self, options: &Options, sent: Time, now: Time) -> Span {
        let tick = tick(options);
        let offset = (sent.ps() + self.phase) % tick;
        self.update(options, (now.since(sent).ps() + offset) / tick)
    }

    /// Adds a sample from a timestamp, rounded to the nearest tick, at least one. Returns it.
    pub fn stamped(&mut self, options: &Options, rtt: Span) -> Span {
        let tick = tick(options);
        self.update(options, (rtt.ps() + tick / 2) / tick)
    }

    fn update(&mut self, options: &Options, ticks: u64) -> Span {
        let ticks = (ticks.min(1 << 56) as i64).max(1); // the sums below stay within 63 bits
        if self.srtt8 == 0 {
            self.srtt8 = ticks << 3;
            self.rttvar4 = ticks << 1;
        } else {
            let error = ticks - (self.srtt8 >> 3);
            self.srtt8 = (self.srtt8 + error).max(1);
            self.rttvar4 = (self.rttvar4 + error.abs() - (self.rttvar4 >> 2)).max(1);
        }
        let (mean, deviation) = ((self.srtt8 >> 3) as u64, self.rttvar4 as u64);
        self.current = match options.stack {
            StackProfile::Ns2 => {
                ((((self.rttvar4 << 3) + self.srtt8) >> 3) as u64).saturating_mul(tick(options))
            }
            // Linux applies the minimum to the deviation term, not to the sum.
            StackProfile::Linux => mean
                .saturating_mul(tick(options))
                .saturating_add(deviation.saturating_mul(tick(options)).max(options.min_rto.ps())),
        };
        self.set_rto(options);
        Span::from_ps((ticks as u64).saturating_mul(tick(options)))
    }

    /// The retransmission timeout with backoff, within its bounds.
    #[inline]
    pub fn rto(&self) -> Span {
        Span::from_ps(self.rto)
    }

    fn set_rto(&mut self, options: &Options) {
        let rto =
            self.current.max(options.min_rto.ps()).saturating_mul(self.backoff).min(options.max_rto.ps());
        self.rto = rto.max(2 * tick(options)).max(LEAST);
    }

    /// Doubles the timeout after its expiry.
    pub fn back_off(&mut self, options: &Options) {
        if self.backoff < 64 || self.rto() < options.max_rto {
            self.backoff = self.backoff.saturating_mul(2);
            self.set_rto(options);
        }
        // After this many backoffs ns-2 (like BSD) discards the mean and adds it to the deviation.
        if self.backoff > 8 && options.stack == StackProfile::Ns2 {
            self.rttvar4 += self.srtt8 >> 3;
            self.srtt8 = 0;
        }
    }

    /// How often the timeout was doubled since the backoff ended.
    pub fn backoff(&self) -> u32 {
        self.backoff.trailing_zeros()
    }

    /// Ends the backoff: a segment that was not retransmitted has been acknowledged.
    #[inline]
    pub fn end_backoff(&mut self, options: &Options) {
        if self.backoff != 1 {
            self.backoff = 1;
            self.set_rto(options);
        }
    }

    /// The handshake ends. Without a sample of it, because the SYN was retransmitted, the timeout of data starts at 3 s
    /// (RFC 6298 section 5.7), as in Linux.
    pub fn end_handshake(&mut self, options: &Options) {
        if self.backoff > 1 && self.srtt8 == 0 && options.stack == StackProfile::Linux {
            self.current = self.current.max(AFTER_LOST_SYN.ps());
            self.end_backoff(options);
        }
    }

    /// The smoothed round-trip time, if there was a sample.
    pub fn smoothed(&self, options: &Options) -> Option<Span> {
        (self.srtt8 > 0).then(|| Span::from_ps((self.srtt8 as u64).saturating_mul(tick(options)) / 8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLES: [u64; 4] = [100, 120, 300, 110];

    #[test]
    fn exact_clock_has_the_values_of_rfc_6298() {
        let options = Options { clock_tick: Span::ZERO, min_rto: Span::ZERO, ..Options::ns2() };
        let mut rtt = RttEstimator::new(&options, Span::ZERO);
        let expected = [(0.1, 0.05), (0.1025, 0.0425), (0.1271875, 0.08125), (0.1250390625, 0.065234375)];
        for (ms, (srtt, rttvar)) in SAMPLES.into_iter().zip(expected) {
            rtt.stamped(&options, Span::from_ms(ms));
            assert!((rtt.smoothed(&options).unwrap().seconds() - srtt).abs() < 1e-9);
            assert!((rtt.rto().seconds() - (srtt + 4.0 * rttvar)).abs() < 1e-9);
        }
        let floor = Options { min_rto: Span::from_ms(1000), ..options };
        rtt.back_off(&floor);
        rtt.end_backoff(&floor);
        assert_eq!(rtt.rto(), Span::from_ms(1000));
    }

    #[test]
    fn ticks_have_the_values_of_ns2() {
        let options = Options { min_rto: Span::ZERO, ..Options::ns2() };
        let mut rtt = RttEstimator::new(&options, Span::ZERO);
        let expected = [(80, 20, 300), (82, 17, 270), (102, 33, 450), (101, 26, 380)];
        for (ms, (srtt8, rttvar4, rto)) in SAMPLES.into_iter().zip(expected) {
            rtt.stamped(&options, Span::from_ms(ms));
            assert_eq!((rtt.srtt8, rtt.rttvar4, rtt.rto()), (srtt8, rttvar4, Span::from_ms(rto)));
        }
    }

    #[test]
    fn a_timed_segment_counts_the_ticks_that_passed() {
        let mut rtt = RttEstimator::new(&Options::ns2(), Span::from_ms(4));
        // Sent at 3 ms on a clock 4 ms ahead: 7 ms into a tick; 14 ms later two ticks have passed.
        rtt.timed(&Options::ns2(), Time::ZERO + Span::from_ms(3), Time::ZERO + Span::from_ms(17));
        assert_eq!(rtt.srtt8, 2 << 3);
    }

    #[test]
    fn backs_off_to_the_maximum_and_returns() {
        let options = Options::ns2();
        let mut rtt = RttEstimator::new(&options, Span::ZERO);
        assert_eq!(rtt.rto(), Span::from_ms(3000));
        for seconds in [6, 12, 24, 48, 60, 60] {
            rtt.back_off(&options);
            assert_eq!(rtt.rto(), Span::from_ms(seconds * 1000));
        }
        rtt.end_backoff(&options);
        rtt.stamped(&options, Span::from_ms(10));
        assert_eq!(rtt.rto(), Span::from_ms(200));
    }

    #[test]
    fn the_estimator_of_linux() {
        let options = Options::linux();
        let mut rtt = RttEstimator::new(&options, Span::ZERO);
        let sample = |rtt: &mut RttEstimator, ms, una, next| {
            rtt.sample(&options, Span::from_ms(ms), una, next);
            (rtt.smoothed(&options).unwrap(), rtt.rto())
        };
        let us = |n| Span::from_ps(n * MICROSECOND);
        // The first sample: four deviations of 50 ms are 200 ms.
        assert_eq!(sample(&mut rtt, 100, 0, 10), (us(100_000), us(300_000)));
        // An error of 100 ms: the deviation becomes 50 + (100 - 50) / 4 = 62.5 ms.
        assert_eq!(sample(&mut rtt, 200, 1, 11), (us(112_500), us(362_500)));
        // Below the mean by 62.5 ms: as much as the deviation, which stays.
        assert_eq!(sample(&mut rtt, 50, 2, 12), (us(104_687) + Span::from_ps(500_000), us(354_687)));
        // Below it by more: an eighth of the excess counts. The largest deviation of the round trip stays.
        assert_eq!(sample(&mut rtt, 10, 3, 13).1, us(346_874));
        assert!(rtt.mdev4 > 250_000 && rtt.rttvar4 == rtt.mdev4, "{rtt:?}");
        // Samples without deviation: it falls, and after the round trip a quarter of the difference.
        for n in 0..40 {
            sample(&mut rtt, 93, 4 + n / 8, 14);
        }
        let before = rtt.rttvar4;
        sample(&mut rtt, 93, 11, 20);
        assert_eq!(rtt.rttvar4, before); // the largest of this round trip was the same
        sample(&mut rtt, 93, 21, 30);
        assert_eq!(rtt.rttvar4, before - ((before - 200_000) >> 2));
        assert_eq!(rtt.rto(), Span::from_ps((((rtt.srtt8 >> 3) + rtt.rttvar4) as u64) * MICROSECOND));
    }

    #[test]
    fn rfc_6298_with_recovery_rack_and_linux() {
        let options = Options { rto_estimator: RtoEstimator::Rfc6298, ..Options::linux() };
        let mut rtt = RttEstimator::new(&options, Span::ZERO);
        rtt.sample(&options, Span::from_ms(100), 0, 10);
        assert_eq!(rtt.rto(), Span::from_ms(300)); // the minimum is that of the deviation
        rtt.sample(&options, Span::from_ms(300), 1, 11);
        // Mean 125 ms; deviation 50 + (200 - 50) / 4 = 87.5 ms.
        assert_eq!(rtt.rto(), Span::from_ms(475));
    }

    #[test]
    fn backoffs_are_counted_and_forget_the_mean_in_ns2() {
        let options = Options { max_rto: Span::from_ms(1_000_000), ..Options::ns2() };
        let mut rtt = RttEstimator::new(&options, Span::ZERO);
        rtt.stamped(&options, Span::from_ms(100));
        for n in 1..=3 {
            rtt.back_off(&options);
            assert_eq!(rtt.backoff(), n);
        }
        assert!(rtt.smoothed(&options).is_some());
        let (mean, deviation) = (rtt.srtt8, rtt.rttvar4);
        rtt.back_off(&options); // the fourth
        assert_eq!((rtt.smoothed(&options), rtt.rttvar4), (None, deviation + (mean >> 3)));
        let linux = Options::linux();
        let mut rtt = RttEstimator::new(&linux, Span::ZERO);
        rtt.sample(&linux, Span::from_ms(100), 0, 1);
        for _ in 0..20 {
            rtt.back_off(&linux);
        }
        assert_eq!((rtt.rto(), rtt.smoothed(&linux)), (Span::from_ms(120_000), Some(Span::from_ms(100))));
        // 300 ms doubled nine times is more than 120 s: at the bound nothing is doubled any more.
        assert_eq!(rtt.backoff(), 9);
        rtt.end_backoff(&linux);
        assert_eq!((rtt.rto(), rtt.backoff()), (Span::from_ms(300), 0));
    }
}
