//! Veno in Linux: the backlog in half segments, compared for each ACK; above beta one segment in every other round.

use super::{Change, Delays, Module, State};
use crate::window::Window;
use crate::{Ack, Sample};
use units::Time;

/// The module `veno`.
#[derive(Clone, Debug)]
pub struct Veno {
    /// The backlog at or above which a loss is a congestion loss, in half segments.
    beta: f64,
    delays: Delays,
    /// Samples of the connection: the count of the module never starts anew.
    samples: u32,
    enabled: bool,
    /// A round above beta grows the window.
    grows: bool,
    /// The backlog in half segments.
    backlog: u64,
}

impl Veno {
    /// `beta`: segments.
    pub fn new(beta: f64) -> Veno {
        Veno { beta: 2.0 * beta, delays: Delays::new(), samples: 0, enabled: true, grows: true, backlog: 0 }
    }

    /// Sets the backlog at or above which a loss is a congestion loss, segments.
    pub fn set_beta(&mut self, beta: f64) {
        self.beta = 2.0 * beta;
    }

    fn below(&self) -> bool {
        (self.backlog as f64) < self.beta
    }

    fn enable(&mut self) {
        self.enabled = true;
        self.delays.least = Delays::NONE;
    }

    /// Congestion avoidance with a backlog.
    fn grow(&mut self, window: &mut Window, left: f64) {
        if self.below() {
            window.additive_step(left);
        } else if window.counter < window.cwnd {
            window.counter += left;
        } else {
            if self.grows {
                window.set(window.cwnd + 1.0);
            }
            self.grows = !self.grows;
            window.counter = 0.0;
        }
    }
}

impl Module for Veno {
    fn sample(&mut self, _window: &mut Window, sample: &Sample, _state: State) {
        if let Some(rtt) = sample.rtt {
            self.delays.take(rtt);
            self.samples = self.samples.saturating_add(1);
        }
    }

    fn ssthresh(&mut self, cwnd: u64, _lost: bool, _now: Time) -> u64 {
        if self.below() { (cwnd * 4 / 5).max(2) } else { (cwnd / 2).max(2) }
    }

    fn state(&mut self, _window: &mut Window, Change { to, .. }: Change) {
        match to {
            State::Open => self.enable(),
            _ => self.enabled = false,
        }
    }

    fn avoid(&mut self, window: &mut Window, ack: &Ack, limited: bool) {
        if !limited {
            return;
        }
        if !self.enabled {
            window.grow(ack);
            return;
        }
        if self.samples < Delays::ENOUGH {
            window.grow(ack);
        } else {
            let doubled = 2 * window.cwnd as u64;
            self.backlog = doubled - doubled * self.delays.base / self.delays.least;
            let left = window.slow_start_step(ack);
            if left > 0.0 {
                self.grow(window, left);
            }
        }
        self.delays.least = Delays::NONE;
    }

    fn transmit_start(&mut self, _next: u64) {
        self.delays.base = Delays::NONE;
        self.grows = true;
        self.enable();
    }

    fn probe(&self, out: &mut [f64]) {
        out[0] = if self.delays.base == Delays::NONE { f64::NAN } else { self.delays.base as f64 / 1e6 };
        out[1] = self.backlog as f64 / 2.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, linux_flow};
    use units::Span;

    #[test]
    fn the_backlog_in_half_segments() {
        // 20 segments, base 100001 us, sample 120001 us: a doubled target of 33, so a difference of 7, which is not below 6.
        let (mut module, mut window) = (Veno::new(3.0), Window::new(&linux_flow(20.0, 20.0)));
        for _ in 0..3 {
            module.delays.take(Span::from_ms(120));
        }
        (module.samples, module.delays.base) = (3, 100_001);
        module.avoid(&mut window, &ack(1), true);
        assert_eq!((module.backlog, module.ssthresh(20, true, Time::ZERO)), (7, 10));
        // Before three samples the backlog is zero.
        assert_eq!(Veno::new(3.0).ssthresh(20, true, Time::ZERO), 16);
    }

    #[test]
    fn above_beta_the_window_grows_in_every_other_round() {
        let (mut module, mut window) = (Veno::new(3.0), Window::new(&linux_flow(10.0, 5.0)));
        module.backlog = 6;
        let windows: Vec<f64> = (0..45)
            .map(|_| {
                module.grow(&mut window, 1.0);
                window.cwnd
            })
            .collect();
        // Ten ACKs count, the eleventh grows; the next round of eleven does not.
        assert_eq!([windows[9], windows[10], windows[22], windows[34]], [10.0, 11.0, 11.0, 12.0]);
        assert_eq!((module.ssthresh(50, true, Time::ZERO), module.below()), (25, false));
        module.backlog = 5;
        assert_eq!(module.ssthresh(50, true, Time::ZERO), 40);
    }
}
