//! TCP-Illinois. Liu, Basar and Srikant, Performance Evaluation 65, 2008: the queueing delay decides how fast the window
//! grows (`alpha`, from 10 at an empty queue to 0.3 at the largest delay) and what a loss takes (`beta`, from 1/8 to 1/2).
//!
//! Variants (docs/specs/controllers-2.md section 5):
//! - `paper`: real numbers; below 10 segments alpha is 1 and beta 1/2.
//! - `linux`: alpha in 1/128 and beta in 1/64, delays in microseconds; below 15 segments alpha is 1 and beta 1/2.
//!
//! Once the delay of a round was above the low threshold, alpha returns to its maximum only after five rounds below it in
//! a row. Round-trip times above 3.3 s count as that. Differences of Linux's growth from `linux`: a step drops the rest of its
//! counter, and a round above the threshold keeps the count of rounds below it. Status: draft.

use crate::descriptor::{Descriptor, Family, Status};
use crate::estimators::{MinRtt, Round};
use crate::parameters::Params;
use crate::slow_start::SlowStart;
use crate::window::{VARIANT, Window, impl_window_accessors, linux_variant};
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Timeout};
use units::{Segments, Span};

/// Largest and smallest growth, segments a round trip.
const ALPHA: [f64; 2] = [10.0, 0.3];
/// Smallest and largest part of the window that a loss takes.
const BETA: [f64; 2] = [0.125, 0.5];
/// The thresholds of the delay, as parts of the largest one.
const DELAYS: [f64; 3] = [0.01, 0.1, 0.8];
/// Rounds below the low threshold after which alpha returns to its maximum.
const ROUNDS: u32 = 5;
/// Longer round-trip times count as this.
const LONGEST: Span = Span::from_ms(3300);
const PS_PER_US: u64 = 1_000_000;

/// Growth and reduction that depend on the delay.
#[derive(Clone, Debug)]
pub struct Illinois {
    window: Window,
    linux: bool,
    base: MinRtt,
    longest: Span,
    round: Round,
    sum: Span,
    samples: u64,
    alpha: f64,
    beta: f64,
    /// The delay of a round was above the low threshold since alpha was at its maximum.
    above: bool,
    /// Rounds below the low threshold since then.
    low_rounds: u32,
}

/// alpha for the mean delay `da` of a round and the largest delay `dm`, seconds.
fn alpha(da: f64, dm: f64) -> f64 {
    let d1 = DELAYS[0] * dm;
    if da <= d1 {
        return ALPHA[0];
    }
    let k = (dm - d1) / (ALPHA[0] - ALPHA[1]);
    k * ALPHA[1] * ALPHA[0] / (k * ALPHA[1] - d1 + da)
}

/// beta for the same delays.
fn beta(da: f64, dm: f64) -> f64 {
    let (d2, d3) = (DELAYS[1] * dm, DELAYS[2] * dm);
    if da <= d2 {
        BETA[0]
    } else if da >= d3 {
        BETA[1]
    } else {
        BETA[0] + (BETA[1] - BETA[0]) * (da - d2) / (d3 - d2)
    }
}

/// alpha in 1/128 for delays in microseconds.
fn alpha_linux(da: u64, dm: u64) -> u64 {
    let d1 = dm / 100;
    if da <= d1 {
        return 1280;
    }
    let (dm, da) = (dm - d1, da - d1);
    dm * 1280 / (dm + da * (1280 - 38) / 38)
}

/// beta in 1/64 for delays in microseconds.
fn beta_linux(da: u64, dm: u64) -> u64 {
    let (d2, d3) = (dm / 10, 8 * dm / 10);
    if da <= d2 {
        8
    } else if da >= d3 || d3 <= d2 {
        32
    } else {
        (8 * d3 - 32 * d2 + (32 - 8) * da) / (d3 - d2)
    }
}

impl Algorithm for Illinois {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "illinois",
        summary: "the queueing delay decides growth and reduction",
        source: "Liu, Basar and Srikant, Performance Evaluation 65, 2008; variant of Linux",
        family: Family::LossAndDelay,
        status: Status::Draft,
        params: &[crate::slow_start::PARAM, VARIANT],
        probes: &["alpha", "beta"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Illinois {
        Illinois {
            window: Window::new(flow).with_slow_start(SlowStart::from_params(params)),
            linux: linux_variant(params, flow),
            base: MinRtt::default(),
            longest: Span::ZERO,
            round: Round::default(),
            sum: Span::ZERO,
            samples: 0,
            alpha: ALPHA[0],
            beta: BETA[1],
            above: false,
            low_rounds: 0,
        }
    }
}

impl Illinois {
    /// The end of a round: new alpha and beta.
    fn decide(&mut self) {
        let Some(base) = self.base.get() else { return };
        let mean = Span::from_ps(self.sum.ps() / self.samples.max(1));
        let samples = std::mem::take(&mut self.samples);
        self.sum = Span::ZERO;
        if self.window.cwnd < if self.linux { 15.0 } else { 10.0 } {
            (self.alpha, self.beta) = (1.0, BETA[1]);
        } else if samples > 0 {
            let (da, dm) = (mean - base, self.longest - base);
            let wanted = if self.linux {
                self.beta = beta_linux(da.ps() / PS_PER_US, dm.ps() / PS_PER_US) as f64 / 64.0;
                alpha_linux(da.ps() / PS_PER_US, dm.ps() / PS_PER_US) as f64 / 128.0
            } else {
                self.beta = beta(da.seconds(), dm.seconds());
                alpha(da.seconds(), dm.seconds())
            };
            self.alpha = self.permitted(wanted);
        }
    }

    /// alpha, which returns to its maximum only after some rounds.
    fn permitted(&mut self, wanted: f64) -> f64 {
        if wanted < ALPHA[0] {
            (self.above, self.low_rounds) = (true, 0);
            return wanted;
        }
        self.low_rounds += u32::from(self.above);
        if self.above && self.low_rounds < ROUNDS {
            return self.alpha;
        }
        self.above = false;
        ALPHA[0]
    }

    /// The window after a reduction of `used`.
    fn reduce(&mut self, used: Segments) {
        if self.linux {
            let taken = (used.floor() * self.beta).floor();
            self.window.reduce_to((used.floor() - taken).max(2.0));
        } else {
            self.window.reduce(used, 1.0 - self.beta);
        }
    }
}

impl Controller for Illinois {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.min(LONGEST);
            self.base.update(rtt);
            self.longest = self.longest.max(rtt);
            self.sum = self.sum + rtt;
            self.samples += 1;
        }
        if self.round.closed_by(ack.acked_through, ack.next).is_some() {
            self.decide();
        }
        if !self.window.on_ack(ack) {
            return;
        }
        let left = self.window.slow_start_step(ack);
        if left > 0.0 {
            self.window.additive_step(left * self.alpha);
        }
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.reduce(event.window);
    }
    fn on_rto(&mut self, event: &Timeout) {
        if self.window.reduces_at(event) {
            self.reduce(event.window);
        }
        self.window.restart();
        (self.alpha, self.beta) = (1.0, BETA[1]);
        (self.above, self.low_rounds, self.samples, self.sum) = (false, 0, 0, Span::ZERO);
    }
    impl_window_accessors!(window);
    fn probe(&self, out: &mut [f64]) {
        (out[0], out[1]) = (self.alpha, self.beta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, congestion, linux_flow, ns2_flow};

    #[test]
    fn published_curves() {
        for (da, a) in [(0.0005, 10.0), (0.01, 2.538462), (0.05, 0.588118), (0.1, 0.3)] {
            assert!((alpha(da, 0.1) - a).abs() < 1e-6, "{da}");
        }
        for (da, b) in [(0.005, 0.125), (0.05, 0.339286), (0.09, 0.5)] {
            assert!((beta(da, 0.1) - b).abs() < 1e-6, "{da}");
        }
        assert_eq!([500, 10_000, 50_000, 100_000].map(|da| alpha_linux(da, 100_000)), [1280, 322, 74, 38]);
        assert_eq!([5_000, 50_000, 90_000].map(|da| beta_linux(da, 100_000)), [8, 21, 32]);
    }

    /// One ACK that ends a round and has a sample.
    fn round(controller: &mut Illinois, ms: u64, number: u64) {
        controller.on_ack(&Ack {
            rtt: Some(Span::from_ms(ms)),
            acked_through: number,
            next: number,
            ..ack(1)
        });
    }

    #[test]
    fn alpha_returns_after_five_rounds() {
        let mut controller =
            Illinois::new(&Params::new(Illinois::DESCRIPTOR.params, []).unwrap(), &ns2_flow(100.0, 2.0));
        let sent = [100, 200, 150, 100, 100, 100, 100, 100, 100].into_iter().enumerate();
        let alphas: Vec<f64> = sent
            .map(|(n, ms)| {
                round(&mut controller, ms, n as u64 + 1);
                controller.alpha
            })
            .collect();
        let low = alpha(0.05, 0.1);
        assert_eq!(alphas[2..], [low, low, low, low, low, 10.0, 10.0]);
        assert_eq!(controller.beta, 0.125);
        controller.on_congestion(&congestion(controller.cwnd()));
        assert!((controller.cwnd() - controller.ssthresh()).abs() < 1.0);
    }

    #[test]
    fn linux_takes_whole_segments() {
        let mut controller =
            Illinois::new(&Params::new(Illinois::DESCRIPTOR.params, []).unwrap(), &linux_flow(99.0, 2.0));
        controller.beta = 21.0 / 64.0;
        controller.on_congestion(&congestion(99.0));
        assert_eq!(controller.cwnd(), 99.0 - 32.0);
    }
}
