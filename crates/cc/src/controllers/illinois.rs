//! TCP-Illinois. Liu, Basar and Srikant, Performance Evaluation 65, 2008: the queueing delay decides how fast the window
//! grows (`alpha`, from 10 at an empty queue to 0.3 at the largest delay) and what a loss takes (`beta`, from 1/8 to 1/2).
//!
//! Variants (docs/specs/controllers-2.md section 5):
//! - `paper`: real numbers; below 10 segments alpha is 1 and beta 1/2.
//! - `linux`: alpha in 1/128 and beta in 1/64, delays in microseconds; below 15 segments alpha is 1 and beta 1/2
//!   (linux/illinois.rs).
//!
//! Once the delay of a round was above the low threshold, alpha returns to its maximum only after five rounds below it (`paper`:
//! in a row). Round-trip times above 3.3 s count as that. Status: checked (`linux`, equal to the module of Linux).

use crate::controllers::linux::{self, Linux};
use crate::descriptor::{Descriptor, Family, Status};
use crate::estimators::{MinRtt, Round};
use crate::parameters::Params;
use crate::slow_start::SlowStart;
use crate::window::{VARIANT, Window, impl_window_accessors, linux_variant};
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Timeout};
use units::Span;

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

controller_variants! {
    /// Growth and reduction that depend on the delay.
    Illinois {
        /// The formulas of the paper.
        Paper(Curves),
        /// The module of Linux.
        Linux(Linux<linux::Illinois>),
    }
}

/// Illinois by the curves of the paper.
#[derive(Clone, Debug)]
pub struct Curves {
    window: Window,
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

impl Algorithm for Illinois {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "illinois",
        summary: "the queueing delay decides growth and reduction",
        source: "Liu, Basar and Srikant, Performance Evaluation 65, 2008; variant of Linux",
        family: Family::LossAndDelay,
        status: Status::Checked,
        params: &[crate::slow_start::PARAM, crate::slow_start::EXIT, crate::slow_start::VARIANT, VARIANT],
        probes: &["alpha", "beta"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Illinois {
        if linux_variant(params, flow) {
            return Illinois::Linux(Linux::new(linux::Illinois::new(), params, flow));
        }
        Illinois::Paper(Curves {
            window: Window::new(flow).with_slow_start(SlowStart::from_params(params)),
            base: MinRtt::default(),
            longest: Span::ZERO,
            round: Round::default(),
            sum: Span::ZERO,
            samples: 0,
            alpha: ALPHA[0],
            beta: BETA[1],
            above: false,
            low_rounds: 0,
        })
    }
}

impl Curves {
    /// The end of a round: new alpha and beta.
    fn decide(&mut self) {
        let Some(base) = self.base.get() else { return };
        let mean = Span::from_ps(self.sum.ps() / self.samples.max(1));
        let samples = std::mem::take(&mut self.samples);
        self.sum = Span::ZERO;
        if self.window.cwnd < 10.0 {
            (self.alpha, self.beta) = (1.0, BETA[1]);
        } else if samples > 0 {
            let (da, dm) = (mean - base, self.longest - base);
            self.beta = beta(da.seconds(), dm.seconds());
            self.alpha = self.permitted(alpha(da.seconds(), dm.seconds()));
        }
    }

    /// alpha, which returns to its maximum only after some rounds.
    fn permitted(&mut self, alpha: f64) -> f64 {
        if alpha < ALPHA[0] {
            (self.above, self.low_rounds) = (true, 0);
            return alpha;
        }
        self.low_rounds += u32::from(self.above);
        if self.above && self.low_rounds < ROUNDS {
            return self.alpha;
        }
        self.above = false;
        ALPHA[0]
    }
}

impl Controller for Curves {
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
        self.window.reduce(event.window, 1.0 - self.beta);
    }
    fn on_rto(&mut self, event: &Timeout) {
        self.window.timeout(event, 1.0 - self.beta);
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
    use crate::testing::{ack, congestion, ns2_flow};

    #[test]
    fn published_curves() {
        for (da, a) in [(0.0005, 10.0), (0.01, 2.538462), (0.05, 0.588118), (0.1, 0.3)] {
            assert!((alpha(da, 0.1) - a).abs() < 1e-6, "{da}");
        }
        for (da, b) in [(0.005, 0.125), (0.05, 0.339286), (0.09, 0.5)] {
            assert!((beta(da, 0.1) - b).abs() < 1e-6, "{da}");
        }
    }

    /// One ACK that ends a round and has a sample.
    fn round(controller: &mut Curves, ms: u64, number: u64) {
        controller.on_ack(&Ack {
            rtt: Some(Span::from_ms(ms)),
            acked_through: number,
            next: number,
            ..ack(1)
        });
    }

    #[test]
    fn alpha_returns_after_five_rounds() {
        let params = Params::new(Illinois::DESCRIPTOR.params, []).unwrap();
        let Illinois::Paper(mut controller) = Illinois::new(&params, &ns2_flow(100.0, 2.0)) else {
            panic!("the profile ns2 has the variant of the paper");
        };
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
}
