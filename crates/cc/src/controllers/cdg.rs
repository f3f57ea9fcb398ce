//! CAIA delay gradient. Hayes and Armitage, Networking 2011: the window backs off with a probability that grows with the
//! gradient of the smallest and of the largest round-trip time of a round.
//!
//! The gradient is the mean over eight rounds: that of the smallest round-trip time if it is positive, otherwise that of the
//! largest. A back-off happens with probability `1 - exp(-gradient/G)`, at most once in two rounds, and never more than five
//! times without a falling gradient. A shadow window has what the back-offs took, so that a loss halves the larger one of both.
//! `tolerance`: a loss does not reduce the window while the queue does not seem to be full (the smallest round-trip time rises,
//! the largest does not). Variants (docs/specs/controllers-2.md section 10):
//! - `paper`: real numbers, G 3 ms, a back-off leaves 0.7;
//! - `linux`: the sum of the gradients in microseconds times 42e-6 (G 2.976 ms), a back-off leaves the root of 1/2.
//!
//! In the variant `linux` the transport begins the reduction of a back-off, over a round trip ([`Controller::reduce_now`]); `paper`
//! sets the window at once. A loss never raises the window, as in Linux. Status: draft: the decisions are random.

use crate::descriptor::{Descriptor, Family, Status};
use crate::detmath::exp;
use crate::estimators::Round;
use crate::parameters::{Params, switch};
use crate::slow_start::SlowStart;
use crate::window::{VARIANT, Window, impl_window_accessors, linux_variant};
use crate::{Ack, Algorithm, Cause, Congestion, Controller, FlowInfo, Phase, Restart, Timeout};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use units::Segments;

/// Rounds of the mean gradient.
const ROUNDS: usize = 8;
/// Back-offs without effect after which further ones are left out.
const INEFFECTIVE: u32 = 5;
/// The sum of the gradients at which a back-off had an effect, seconds.
const FALLS: f64 = -32e-6;
/// What a back-off leaves: of the paper and of Linux.
const BACKOFF: [f64; 2] = [0.7, std::f64::consts::FRAC_1_SQRT_2];
/// G of the paper, seconds.
const SCALE: f64 = 0.003;
/// Linux's factor of the sum in microseconds.
const LINUX_FACTOR: f64 = 42e-6;

/// Smallest and largest round-trip time of a round, or their gradients, seconds.
type Extremes = [f64; 2];

/// Back-off by the gradient of the delay.
#[derive(Clone, Debug)]
pub struct Cdg {
    window: Window,
    linux: bool,
    tolerance: bool,
    shadow: Segments,
    round: Round,
    /// Of this round and of the last one.
    extremes: Option<Extremes>,
    before: Option<Extremes>,
    gradients: VecDeque<Extremes>,
    ineffective: u32,
    /// Whether the last round had a back-off.
    rested: bool,
    full: bool,
    gradient: f64,
    /// A back-off that the transport must begin.
    asked: bool,
    random: Xoshiro256PlusPlus,
}

impl Algorithm for Cdg {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "cdg",
        summary: "backs off with a probability that grows with the gradient of the delay",
        source: "Hayes and Armitage, Networking 2011; variant of Linux",
        family: Family::Delay,
        status: Status::Draft,
        params: &[
            crate::slow_start::PARAM,
            crate::slow_start::EXIT,
            crate::slow_start::VARIANT,
            VARIANT,
            switch(
                "tolerance",
                false,
                "a loss while the queue does not seem to be full does not reduce the window",
            ),
        ],
        probes: &["gradient", "shadow"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Cdg {
        Cdg {
            window: Window::new(flow).with_slow_start(SlowStart::from_params(params)),
            linux: linux_variant(params, flow),
            tolerance: params.switch("tolerance"),
            shadow: 0.0,
            round: Round::default(),
            extremes: None,
            before: None,
            gradients: VecDeque::new(),
            ineffective: 0,
            rested: true,
            full: false,
            gradient: f64::NAN,
            asked: false,
            random: Xoshiro256PlusPlus::seed_from_u64(flow.seed),
        }
    }
}

/// The probability of a back-off for a sum of gradients, seconds.
fn probability(sum: f64, linux: bool) -> f64 {
    let exponent = if linux { sum * 1e6 * LINUX_FACTOR } else { sum / ROUNDS as f64 / SCALE };
    if sum > 0.0 { 1.0 - exp(-exponent) } else { 0.0 }
}

impl Cdg {
    /// The end of a round: the sum of the gradients, if there were two rounds with samples.
    fn sum_of_gradients(&mut self) -> Option<f64> {
        let last = self.before;
        self.before = self.extremes.take();
        let (now, last) = (self.before?, last?);
        self.gradients.push_back([now[0] - last[0], now[1] - last[1]]);
        if self.gradients.len() > ROUNDS {
            self.gradients.pop_front();
        }
        let [least, largest] = [0, 1].map(|i| self.gradients.iter().map(|g| g[i]).sum::<f64>());
        self.full = least > 0.0 && largest <= 0.0;
        Some(if least > 0.0 { least } else { largest })
    }

    /// Decides at the end of a round.
    fn decide(&mut self, open: bool) {
        let rested = std::mem::replace(&mut self.rested, true);
        let Some(sum) = self.sum_of_gradients() else { return };
        self.gradient = sum / ROUNDS as f64;
        if sum <= FALLS {
            self.ineffective = 0;
        }
        if !open || !rested || sum <= 0.0 || self.draw() >= probability(sum, self.linux) {
            return;
        }
        self.ineffective += 1;
        if self.ineffective <= INEFFECTIVE {
            self.rested = false;
            self.shadow = self.shadow.max(self.window.cwnd);
            if self.linux {
                self.asked = true;
            } else {
                self.window.reduce(self.window.cwnd, BACKOFF[0]);
            }
        }
    }

    /// A number from 0 to 1.
    fn draw(&mut self) -> f64 {
        (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Forgets round-trip times and back-offs.
    fn forget(&mut self) {
        (self.extremes, self.before, self.shadow, self.ineffective, self.full) = (None, None, 0.0, 0, false);
        self.gradients.clear();
    }
}

impl Controller for Cdg {
    fn on_ack(&mut self, ack: &Ack) {
        if std::mem::take(&mut self.asked) && ack.phase == Phase::Open {
            // The transport does not begin reductions for a controller.
            self.window.reduce(self.window.cwnd, BACKOFF[1]);
        }
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.seconds();
            self.extremes = Some(self.extremes.map_or([rtt; 2], |[a, b]| [a.min(rtt), b.max(rtt)]));
        }
        if self.window.on_ack(ack) {
            let before = self.window.cwnd;
            self.window.grow(ack);
            self.shadow += (self.window.cwnd - before).max(0.0);
        }
        if self.round.closed_by(ack.acked_through, ack.next).is_some() {
            self.decide(ack.phase == Phase::Open);
        }
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.asked = false;
        if event.cause == Cause::Controller {
            self.window.reduce(event.window, BACKOFF[1]);
            return;
        }
        if self.tolerance && !self.full {
            return;
        }
        // Half of the larger window, which is at most the present one, as a part of that.
        self.shadow = (self.shadow / 2.0).min(event.window);
        let left = (self.shadow / event.window.max(1.0)).clamp(0.5, 1.0);
        self.window.reduce(event.window, left);
    }
    fn on_rto(&mut self, event: &Timeout) {
        (self.shadow, self.asked) = (0.0, false);
        self.window.timeout(event, 0.5);
    }
    fn on_restart(&mut self, event: &Restart) {
        self.forget();
        self.set_window(event.window);
    }
    impl_window_accessors!(window);
    fn reduce_now(&self) -> bool {
        self.asked
    }
    fn probe(&self, out: &mut [f64]) {
        (out[0], out[1]) = (self.gradient, self.shadow);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{congestion, ns2_flow};

    fn cdg() -> Cdg {
        Cdg::new(&Params::new(Cdg::DESCRIPTOR.params, []).unwrap(), &ns2_flow(100.0, 2.0))
    }

    #[test]
    fn published_probabilities() {
        assert!((probability(8.0 * 0.001, false) - 0.283469).abs() < 1e-6);
        assert!((probability(8.0 * 0.003, false) - 0.632121).abs() < 1e-6);
        assert!((probability(8000e-6, true) - 0.285377).abs() < 1e-6);
        assert_eq!(probability(-0.01, false), 0.0);
    }

    #[test]
    fn a_steep_gradient_backs_off_five_times_and_a_loss_halves_the_shadow() {
        let mut controller = cdg();
        for round in 0..40 {
            controller.extremes = Some([0.1 + 0.1 * f64::from(round), 0.1]);
            controller.decide(true);
        }
        let left = (0..5).fold(100.0, |window, _| window * BACKOFF[0]);
        assert!((controller.cwnd() - left).abs() < 1e-9, "{}", controller.cwnd());
        controller.on_congestion(&congestion(controller.cwnd()));
        assert!(
            (controller.cwnd() - left).abs() < 1e-9,
            "the shadow window of 100 segments leaves more than the window"
        );
    }
}
