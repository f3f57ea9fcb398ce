//! YeAH-TCP. Baiocchi, Castellani and Vacirca, PFLDnet 2007, with the constants and the order of Linux: Scalable's growth while
//! the queue of the flow is short; Reno's growth, and a window that drains its queue, while it is long.
//!
//! The queue is `window (RTT - base)/RTT` in whole segments, with the smallest round-trip time of a round and of the
//! connection. Times count in microseconds, windows in whole segments. Difference from the paper: none in its constants
//! (queue 80, delay 1/8 of the base, 16 slow and 50 fast rounds); newer kernels grow by 0.01 segments for each acknowledged one
//! as here. docs/specs/controllers-2.md section 8. Status: draft.

use crate::descriptor::{Descriptor, Family, Status};
use crate::estimators::{MinRtt, Round};
use crate::parameters::Params;
use crate::slow_start::SlowStart;
use crate::window::{Window, impl_window_accessors};
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Restart, Timeout};
use units::{Segments, Time};

/// Longest queue of the fast mode, segments.
const QUEUE: u64 = 80;
/// Largest delay of the fast mode: one part in so many of the base.
const DELAY: u64 = 8;
/// Slow rounds after which a loss halves the window.
const SLOW_ROUNDS: u32 = 16;
/// Fast rounds after which the estimate of a Reno flow starts anew.
const FAST_ROUNDS: u32 = 50;
/// Acknowledged segments for which the window of the fast mode grows by one, if it is larger.
const STEP: f64 = 100.0;
/// Samples that a round must have.
const SAMPLES: u32 = 3;
const PS_PER_US: u64 = 1_000_000;

/// Two modes, chosen by the queue.
#[derive(Clone, Debug)]
pub struct Yeah {
    window: Window,
    base: MinRtt,
    least: MinRtt,
    samples: u32,
    round: Round,
    /// Segments in the queue at the end of the last round.
    queue: u64,
    /// The estimated window of a Reno flow.
    reno: u64,
    slow_rounds: u32,
    fast_rounds: u32,
}

impl Algorithm for Yeah {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "yeah",
        summary: "Scalable while its queue is short, Reno and a drained queue while it is long",
        source: "Baiocchi, Castellani and Vacirca, PFLDnet 2007; constants of Linux",
        family: Family::LossAndDelay,
        status: Status::Draft,
        params: &[crate::slow_start::PARAM],
        probes: &["backlog"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Yeah {
        Yeah {
            window: Window::new(flow).with_slow_start(SlowStart::from_params(params)),
            base: MinRtt::default(),
            least: MinRtt::default(),
            samples: 0,
            round: Round::default(),
            queue: 0,
            reno: 2,
            slow_rounds: 0,
            fast_rounds: 0,
        }
    }
}

impl Yeah {
    /// The end of a round with a base and a smallest round-trip time in microseconds.
    fn decide(&mut self, base: u64, rtt: u64) {
        let cwnd = self.window.cwnd as u64;
        self.queue = cwnd * (rtt - base) / rtt.max(1);
        if self.queue <= QUEUE && rtt - base <= base / DELAY {
            self.slow_rounds = 0;
            self.fast_rounds += 1;
            if self.fast_rounds > FAST_ROUNDS {
                (self.reno, self.fast_rounds) = (2, 0);
            }
            return;
        }
        let mut left = cwnd;
        if self.queue > QUEUE && cwnd > self.reno {
            left = (cwnd - self.queue.min(cwnd / 2)).max(self.reno);
            self.window.set(left as f64);
            self.window.ssthresh = left as f64;
        }
        self.reno = if self.reno <= 2 { (left / 2).max(2) } else { self.reno + 1 };
        self.slow_rounds += 1;
    }

    /// The window that a loss leaves of `used`.
    fn after_loss(&mut self, used: Segments) -> Segments {
        let used = used as u64;
        let half = (used / 2).max(2);
        let taken = if self.slow_rounds < SLOW_ROUNDS { self.queue.min(half).max(used / 8) } else { half };
        self.fast_rounds = 0;
        self.reno = (self.reno / 2).max(2);
        used.saturating_sub(taken).max(2) as f64
    }

    /// Round-trip samples start anew.
    fn forget(&mut self) {
        self.least.reset();
        self.samples = 0;
    }
}

impl Controller for Yeah {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.base.update(rtt);
            self.least.update(rtt);
            self.samples += 1;
        }
        if self.window.on_ack(ack) {
            let left = self.window.slow_start_step(ack);
            if left > 0.0 {
                let cwnd = self.window.cwnd;
                self.window.grow_by(left, if self.slow_rounds == 0 { cwnd.min(STEP) } else { cwnd });
            }
        }
        if self.round.closed_by(ack.acked_through, ack.next).is_some() {
            if let (Some(base), Some(least)) = (self.base.get(), self.least.get())
                && self.samples >= SAMPLES
                && ack.may_grow
            {
                self.decide(base.ps() / PS_PER_US, least.ps() / PS_PER_US);
            }
            self.forget();
        }
    }
    fn on_congestion(&mut self, event: &Congestion) {
        let left = self.after_loss(event.window);
        self.window.reduce_to(left);
    }
    fn on_rto(&mut self, event: &Timeout) {
        if self.window.reduces_at(event) {
            let left = self.after_loss(event.window);
            self.window.reduce_to(left);
        }
        self.window.restart();
    }
    fn on_recovery_exit(&mut self, _now: Time) {
        self.forget();
    }
    fn on_restart(&mut self, event: &Restart) {
        self.forget();
        self.set_window(event.window);
    }
    impl_window_accessors!(window);
    fn probe(&self, out: &mut [f64]) {
        out[0] = self.queue as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{congestion, linux_flow};

    #[test]
    fn rounds_of_the_model() {
        // Window 400 and a base of 100 ms: round-trip time, queue, window, Reno's window, threshold of a loss.
        for (ms, queue, cwnd, reno, threshold) in
            [(150, 133, 267.0, 133, 134.0), (105, 19, 400.0, 2, 350.0), (120, 66, 400.0, 200, 334.0)]
        {
            let mut controller =
                Yeah::new(&Params::new(Yeah::DESCRIPTOR.params, []).unwrap(), &linux_flow(400.0, 2.0));
            controller.decide(100_000, ms * 1000);
            assert_eq!(
                (controller.queue, controller.cwnd(), controller.reno),
                (queue, cwnd, reno),
                "{ms} ms"
            );
            controller.on_congestion(&congestion(controller.cwnd()));
            assert_eq!(controller.ssthresh(), threshold, "{ms} ms");
        }
    }
}
