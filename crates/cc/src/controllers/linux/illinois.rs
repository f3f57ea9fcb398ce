//! TCP-Illinois in Linux: alpha in 1/128, beta in 1/64, delays in microseconds.

use super::{Change, Module, State, microseconds};
use crate::window::Window;
use crate::{Ack, Sample};
use units::Time;

/// alpha: the largest, that of Reno, the smallest.
const ALPHA: [u64; 3] = [1280, 128, 38];
/// beta: the smallest and that of Reno, which is the largest.
const BETA: [u64; 2] = [8, 32];
/// Below this window the module is Reno.
const LOW_WINDOW: f64 = 15.0;
/// Rounds below the low threshold after which alpha returns to its maximum.
const ROUNDS: u32 = 5;
/// Longer round-trip times count as this, microseconds: the largest at which alpha does not overflow.
const LONGEST: u64 = (u32::MAX as u64) / ALPHA[0];

/// The module `illinois`.
#[derive(Clone, Debug)]
pub struct Illinois {
    base: u64,
    longest: u64,
    sum: u64,
    count: u64,
    /// The round ends when a segment from here on is acknowledged.
    end: u64,
    alpha: u64,
    beta: u64,
    /// Segments that the next growth counts.
    acked: u64,
    /// The delay of a round was above the low threshold since alpha was at its maximum.
    above: bool,
    low_rounds: u32,
}

/// beta for a mean delay `da` and a largest delay `dm`.
fn beta(da: u64, dm: u64) -> u64 {
    let (d2, d3) = (dm / 10, 8 * dm / 10);
    if da <= d2 {
        BETA[0]
    } else if da >= d3 || d3 <= d2 {
        BETA[1]
    } else {
        (BETA[0] * d3 + (BETA[1] - BETA[0]) * da - BETA[1] * d2) / (d3 - d2)
    }
}

impl Illinois {
    pub fn new() -> Illinois {
        Illinois {
            base: u64::MAX,
            longest: 0,
            sum: 0,
            count: 0,
            end: 0,
            alpha: ALPHA[0],
            beta: BETA[1],
            acked: 0,
            above: false,
            low_rounds: 0,
        }
    }

    fn alpha(&mut self, da: u64, dm: u64) -> u64 {
        let d1 = dm / 100;
        if da > d1 {
            self.above = true;
            let (dm, da) = (dm - d1, da - d1);
            return dm * ALPHA[0] / (dm + da * (ALPHA[0] - ALPHA[2]) / ALPHA[2]);
        }
        if self.above {
            self.low_rounds += 1;
            if self.low_rounds < ROUNDS {
                return self.alpha;
            }
        }
        (self.above, self.low_rounds) = (false, 0);
        ALPHA[0]
    }

    /// The end of a round.
    fn decide(&mut self, cwnd: f64, next: u64) {
        if cwnd < LOW_WINDOW {
            (self.alpha, self.beta) = (ALPHA[1], BETA[1]);
        } else if let Some(mean) = self.sum.checked_div(self.count) {
            let (da, dm) = (mean - self.base, self.longest - self.base);
            (self.alpha, self.beta) = (self.alpha(da, dm), beta(da, dm));
        }
        self.begin(next);
    }

    /// A round begins.
    fn begin(&mut self, next: u64) {
        (self.end, self.count, self.sum) = (next, 0, 0);
    }
}

impl Module for Illinois {
    fn sample(&mut self, _window: &mut Window, sample: &Sample, _state: State) {
        self.acked = sample.newly_acked.into();
        if let Some(rtt) = sample.rtt {
            let rtt = microseconds(rtt).min(LONGEST);
            self.base = self.base.min(rtt);
            self.longest = self.longest.max(rtt);
            self.count += 1;
            self.sum += rtt;
        }
    }

    fn ssthresh(&mut self, cwnd: u64, _lost: bool, _now: Time) -> u64 {
        (cwnd - ((cwnd * self.beta) >> 6)).max(2)
    }

    fn state(&mut self, _window: &mut Window, Change { to, next, .. }: Change) {
        if to == State::Loss {
            (self.alpha, self.beta) = (ALPHA[1], BETA[1]);
            (self.above, self.low_rounds) = (false, 0);
            self.begin(next);
        }
    }

    fn avoid(&mut self, window: &mut Window, ack: &Ack, limited: bool) {
        if ack.acked_through.wrapping_add(1) > self.end {
            self.decide(window.cwnd, ack.next);
        }
        if !limited {
            return;
        }
        if window.slow_start() {
            window.slow_start_step(ack);
            return;
        }
        window.counter += self.acked as f64;
        self.acked = 1;
        let growth = (window.counter as u64 * self.alpha) >> 7;
        let cwnd = window.cwnd as u64;
        if growth >= cwnd {
            window.set((cwnd + growth / cwnd) as f64);
            window.counter = 0.0;
        }
    }

    fn probe(&self, out: &mut [f64]) {
        (out[0], out[1]) = (self.alpha as f64 / 128.0, self.beta as f64 / 64.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_curves() {
        let mut module = Illinois::new();
        let alphas = [10_000, 50_000, 100_000].map(|da| module.alpha(da, 100_000));
        assert_eq!(alphas, [322, 74, 38]);
        assert_eq!(Illinois::new().alpha(500, 100_000), 1280);
        assert_eq!([5_000, 50_000, 90_000].map(|da| beta(da, 100_000)), [8, 21, 32]);
    }

    #[test]
    fn alpha_returns_after_five_rounds() {
        let mut module = Illinois::new();
        let mut alphas = [50_000, 0, 0, 0, 0, 0].map(|da| {
            module.alpha = module.alpha(da, 100_000);
            module.alpha
        });
        assert_eq!(alphas, [74, 74, 74, 74, 74, 1280]);
        // A round above the threshold keeps the count of rounds below it.
        alphas = [50_000, 0, 0, 50_000, 0, 0].map(|da| {
            module.alpha = module.alpha(da, 100_000);
            module.alpha
        });
        assert_eq!(module.low_rounds, 4);
        assert_eq!(alphas[5], 74);
    }
}
