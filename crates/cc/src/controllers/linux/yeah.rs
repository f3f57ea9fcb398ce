//! YeAH in Linux.

use super::{Change, Delays, Module, State};
use crate::window::Window;
use crate::{Ack, Sample};
use units::Time;

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

/// The module `yeah`.
#[derive(Clone, Debug)]
pub struct Yeah {
    delays: Delays,
    /// The round ends when a segment from here on is acknowledged.
    end: u64,
    /// Segments in the queue at the end of the last round.
    queue: u64,
    /// The estimated window of a Reno flow.
    reno: u64,
    slow_rounds: u32,
    fast_rounds: u32,
}

impl Yeah {
    pub fn new() -> Yeah {
        Yeah { delays: Delays::new(), end: 0, queue: 0, reno: 2, slow_rounds: 0, fast_rounds: 0 }
    }

    /// The end of a round.
    fn decide(&mut self, window: &mut Window) {
        let (base, rtt) = (self.delays.base, self.delays.least);
        let mut cwnd = window.cwnd as u64;
        self.queue = cwnd * (rtt - base) / rtt;
        if self.queue <= QUEUE && rtt - base <= base / DELAY {
            self.slow_rounds = 0;
            self.fast_rounds += 1;
            if self.fast_rounds > FAST_ROUNDS {
                (self.reno, self.fast_rounds) = (2, 0);
            }
            return;
        }
        if self.queue > QUEUE && cwnd > self.reno {
            cwnd = (cwnd - self.queue.min(cwnd / 2)).max(self.reno);
            window.set(cwnd as f64);
            window.ssthresh = window.cwnd;
        }
        self.reno = if self.reno <= 2 { (cwnd / 2).max(2) } else { self.reno + 1 };
        self.slow_rounds = self.slow_rounds.saturating_add(1);
    }
}

impl Module for Yeah {
    fn sample(&mut self, _window: &mut Window, sample: &Sample, _state: State) {
        if let Some(rtt) = sample.rtt {
            self.delays.take(rtt);
        }
    }

    fn ssthresh(&mut self, cwnd: u64, _lost: bool, _now: Time) -> u64 {
        let half = (cwnd / 2).max(2);
        let reduction =
            if self.slow_rounds < SLOW_ROUNDS { self.queue.min(half).max(cwnd / 8) } else { half };
        self.fast_rounds = 0;
        self.reno = (self.reno / 2).max(2);
        cwnd.saturating_sub(reduction).max(2)
    }

    fn state(&mut self, _window: &mut Window, Change { to, next, .. }: Change) {
        if to == State::Open {
            self.end = next;
            self.delays.clear();
        }
    }

    fn avoid(&mut self, window: &mut Window, ack: &Ack, limited: bool) {
        if !limited {
            return;
        }
        let left = window.slow_start_step(ack);
        if left > 0.0 {
            let per = if self.slow_rounds == 0 { window.cwnd.min(STEP) } else { window.cwnd };
            window.count(left, per);
        }
        if ack.acked_through.wrapping_add(1) > self.end {
            if self.delays.count >= Delays::ENOUGH {
                self.decide(window);
            }
            self.end = ack.next;
            self.delays.clear();
        }
    }

    fn transmit_start(&mut self, next: u64) {
        self.delays = Delays::new();
        self.end = next;
    }

    fn probe(&self, out: &mut [f64]) {
        out[0] = self.queue as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::linux_flow;

    /// A round with a base and a smallest round-trip time in microseconds.
    fn round(module: &mut Yeah, window: &mut Window, rtt: u64) {
        module.delays = Delays { base: 100_000, least: rtt, count: 3 };
        module.decide(window);
    }

    #[test]
    fn a_long_queue_is_drained_to_the_window_of_reno() {
        let (mut module, mut window) = (Yeah::new(), Window::new(&linux_flow(300.0, 5.0)));
        round(&mut module, &mut window, 110_000);
        assert_eq!((module.queue, module.slow_rounds, window.cwnd), (27, 0, 300.0));
        round(&mut module, &mut window, 150_000);
        assert_eq!((module.queue, module.slow_rounds, window.cwnd, module.reno), (100, 1, 200.0, 100));
        assert_eq!(module.ssthresh(200, true, Time::ZERO), 100); // the queue, at most a half
        module.slow_rounds = SLOW_ROUNDS;
        module.queue = 0;
        assert_eq!(module.ssthresh(200, true, Time::ZERO), 100);
        module.slow_rounds = 0;
        assert_eq!(module.ssthresh(200, true, Time::ZERO), 175);
    }
}
