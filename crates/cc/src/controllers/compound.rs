//! Compound TCP. Tan, Song, Zhang and Sridharan, INFOCOM 2006: the window is the sum of Reno's and of a delay window, which
//! grows while the queue is short.
//!
//! Per round trip, with `diff = window (RTT - base)/RTT`: below gamma the delay window grows by `alpha window^k - 1`, otherwise
//! it shrinks by `zeta diff`. `tube`: at each loss gamma moves half of the way to 3/4 of the `diff` of a Reno flow with the loss
//! window alone, within 5 to 30. draft-sridharan-tcpm-ctcp may have another k: 3/4 is that of the paper. The delay window
//! is used outside slow start. docs/specs/controllers-2.md section 9. Status: draft.

use crate::descriptor::{Descriptor, Family, Status};
use crate::detmath::{self, exp, ln};
use crate::estimators::{MinRtt, Round};
use crate::parameters::{Params, number, switch};
use crate::slow_start::SlowStart;
use crate::window::Window;
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Restart, Timeout};
use units::{Segments, Time};

const ALPHA: f64 = 0.125;
const BETA: f64 = 0.5;
const K: f64 = 0.75;
const ZETA: f64 = 1.0;
/// Samples that a round must have.
const SAMPLES: u32 = 3;
/// Bounds of gamma with `tube`.
const GAMMA: [f64; 2] = [5.0, 30.0];

/// The sum of a loss window and a delay window.
#[derive(Clone, Debug)]
pub struct Compound {
    /// The sum of both windows.
    window: Window,
    /// The delay window, segments.
    delay: Segments,
    gamma: f64,
    tube: bool,
    low_window: Segments,
    base: MinRtt,
    least: MinRtt,
    samples: u32,
    round: Round,
    /// Part of the window that was in the queue in the last round.
    queued: f64,
    /// The delay window before the last reduction.
    before: Segments,
}

impl Algorithm for Compound {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "compound",
        summary: "Reno's window plus a delay window that grows while the queue is short",
        source: "Tan et al., INFOCOM 2006",
        family: Family::LossAndDelay,
        status: Status::Draft,
        params: &[
            crate::slow_start::PARAM,
            crate::slow_start::EXIT,
            crate::slow_start::VARIANT,
            number("gamma", "30", [0.0, 1e6], "segments", "the delay window grows below this queue"),
            switch(
                "tube",
                false,
                "gamma follows the queue that a Reno flow would have, from 5 to 30 segments",
            ),
            number(
                "low_window",
                "41",
                [1.0, 1e6],
                "segments",
                "below this window the delay window does not change",
            ),
        ],
        probes: &["delay_window", "gamma"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Compound {
        Compound {
            window: Window::new(flow).with_slow_start(SlowStart::from_params(params)),
            delay: 0.0,
            gamma: params.number("gamma"),
            tube: params.switch("tube"),
            low_window: params.number("low_window"),
            base: MinRtt::default(),
            least: MinRtt::default(),
            samples: 0,
            round: Round::default(),
            queued: 0.0,
            before: 0.0,
        }
    }
    tunable! { "gamma" => gamma }
}

/// The delay window after a round.
fn next_delay_window(window: Segments, delay: Segments, diff: Segments, gamma: f64) -> Segments {
    if diff < gamma {
        delay + (ALPHA * exp(K * ln(window)) - 1.0).max(0.0)
    } else {
        (delay - ZETA * diff).max(0.0)
    }
}

impl Compound {
    /// The end of a round.
    fn decide(&mut self) {
        let (Some(base), Some(least)) = (self.base.get(), self.least.get()) else { return };
        let samples = std::mem::take(&mut self.samples);
        self.least.reset();
        if samples < SAMPLES {
            return;
        }
        self.queued = (least - base).seconds() / least.seconds();
        let window = self.window.cwnd;
        if self.window.slow_start() || window < self.low_window {
            return;
        }
        let next = next_delay_window(window, self.delay, window * self.queued, self.gamma);
        // Whole segments move the window; the rest of the delay window stays for the next round.
        let moved = if window.fract() == 0.0 {
            detmath::floor(next) - detmath::floor(self.delay)
        } else {
            next - self.delay
        };
        self.window.set((window + moved).max(1.0));
        self.delay = next;
    }
}

impl Controller for Compound {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.base.update(rtt);
            self.least.update(rtt);
            self.samples += 1;
        }
        let grows = self.window.on_ack(ack);
        if grows {
            self.window.grow(ack);
        }
        if self.round.closed_by(ack.acked_through, ack.next).is_some() && grows {
            self.decide();
        }
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.before = self.delay;
        let loss = (event.window - self.delay).max(0.0);
        if self.tube {
            let sample = (0.75 * loss * self.queued).clamp(GAMMA[0], GAMMA[1]);
            self.gamma = (self.gamma + sample) / 2.0;
        }
        self.window.reduce(event.window, 1.0 - BETA);
        self.delay = (event.window * (1.0 - BETA) - loss / 2.0).max(0.0);
    }
    fn on_rto(&mut self, event: &Timeout) {
        self.before = self.delay;
        self.delay = 0.0;
        self.window.timeout(event, 0.5);
    }
    fn on_undo(&mut self, _now: Time) {
        self.delay = self.before;
    }
    fn on_restart(&mut self, event: &Restart) {
        self.delay = 0.0;
        self.set_window(event.window);
    }
    fn on_recovery_exit(&mut self, _now: Time) {
        self.least.reset();
        self.samples = 0;
    }
    fn set_window(&mut self, cwnd: Segments) {
        self.window.set(cwnd);
        self.delay = self.delay.min(cwnd);
    }
    fn set_ssthresh(&mut self, ssthresh: Segments) {
        self.window.ssthresh = ssthresh;
    }
    fn owns_window(&self) -> bool {
        self.window.owns_recovery()
    }
    fn cwnd(&self) -> Segments {
        self.window.cwnd
    }
    fn ssthresh(&self) -> Segments {
        self.window.ssthresh
    }
    fn probe(&self, out: &mut [f64]) {
        (out[0], out[1]) = (self.delay, self.gamma);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{congestion, ns2_flow};

    #[test]
    fn windows_of_the_model() {
        assert!((next_delay_window(100.0, 50.0, 10.0, 30.0) - 52.952847).abs() < 1e-6);
        assert_eq!(next_delay_window(100.0, 50.0, 40.0, 30.0), 10.0);
        let mut controller =
            Compound::new(&Params::new(Compound::DESCRIPTOR.params, []).unwrap(), &ns2_flow(100.0, 2.0));
        controller.delay = 40.0;
        controller.on_congestion(&congestion(100.0));
        assert_eq!((controller.cwnd() - controller.delay, controller.delay), (30.0, 20.0));
    }
}
