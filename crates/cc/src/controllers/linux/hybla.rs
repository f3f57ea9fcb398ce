//! Hybla in Linux: rho in eighths, growth for each ACK in 1/128 of a segment, Reno outside the state Open.

use super::{Change, Module, State, microseconds};
use crate::Ack;
use crate::window::Window;
use units::{Span, Time};

/// 128 times 2^(i/8), rounded down.
const FRACTIONS: [u64; 8] = [128, 139, 152, 165, 181, 197, 215, 234];
/// The largest exponent of slow start.
const LARGEST: u64 = 16;
/// The bound of the window, segments.
const LARGEST_WINDOW: f64 = 65_535.0;
const ONE: u64 = 128;

/// The module `hybla`.
#[derive(Clone, Debug)]
pub struct Hybla {
    /// The reference round-trip time, microseconds.
    rtt0: u64,
    /// rho in eighths.
    rho8: u64,
    /// The smallest smoothed round-trip time, in eighths of a microsecond.
    least8: u64,
    /// Parts of a segment.
    parts: u64,
    enabled: bool,
}

impl Hybla {
    /// `rtt0`: the reference round-trip time, seconds.
    pub fn new(rtt0: f64) -> Hybla {
        Hybla { rtt0: (rtt0 * 1e6) as u64, rho8: 8, least8: 0, parts: 0, enabled: true }
    }

    /// `srtt8`: the smoothed round-trip time in eighths of a microsecond.
    fn measure(&mut self, srtt8: u64) {
        self.rho8 = (srtt8 / self.rtt0).max(8);
        self.least8 = srtt8;
    }
}

impl Module for Hybla {
    fn init(&mut self, window: &mut Window, _now: Time, rtt: Option<Span>) {
        window.limit(LARGEST_WINDOW);
        let Some(rtt) = rtt else { return };
        self.measure(8 * microseconds(rtt));
        window.set((self.rho8 / 8) as f64);
    }

    fn ssthresh(&mut self, cwnd: u64, _lost: bool, _now: Time) -> u64 {
        (cwnd / 2).max(2)
    }

    fn state(&mut self, _window: &mut Window, Change { to, .. }: Change) {
        self.enabled = to == State::Open;
    }

    fn avoid(&mut self, window: &mut Window, ack: &Ack, limited: bool) {
        // A transport that does not tell its estimate gives samples.
        if let Some(srtt) = ack.sender.srtt.or(ack.rtt) {
            let srtt8 = srtt.ps() / 125_000;
            if srtt8 < self.least8 || self.least8 == 0 {
                self.measure(srtt8);
            }
        }
        if !limited {
            return;
        }
        if !self.enabled {
            window.grow(ack);
            return;
        }
        let slow_start = window.slow_start();
        let increment = if slow_start {
            let increment = (FRACTIONS[(self.rho8 % 8) as usize] << (self.rho8 / 8).min(LARGEST)) - ONE;
            (window.slow_start_growth(1.0) * increment as f64) as u64
        } else {
            let increment = 2 * self.rho8 * self.rho8 / window.cwnd as u64;
            window.counter += f64::from(u8::from(increment < ONE));
            increment
        };
        let mut cwnd = window.cwnd + (increment / ONE) as f64;
        self.parts += increment % ONE;
        while self.parts >= ONE {
            cwnd += 1.0;
            self.parts -= ONE;
            window.counter = 0.0;
        }
        // A window that is too large for a part of 1/128 grows as Reno's.
        if increment == 0 && window.counter >= cwnd {
            cwnd += 1.0;
            window.counter = 0.0;
        }
        window.set(if slow_start { cwnd.min(window.ssthresh) } else { cwnd });
    }

    fn probe(&self, out: &mut [f64]) {
        out[0] = self.rho8 as f64 / 8.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, linux_flow};

    #[test]
    fn the_first_window_is_rho_and_an_ack_grows_it_by_two_to_the_rho_less_one() {
        let (mut module, mut window) = (Hybla::new(0.025), Window::new(&linux_flow(10.0, f64::INFINITY)));
        module.init(&mut window, Time::ZERO, Some(Span::from_ms(80)));
        assert_eq!((module.rho8, window.cwnd), (25, 3.0)); // 80/25 in eighths
        module.avoid(&mut window, &ack(1), true);
        assert_eq!((window.cwnd, module.parts), (3.0 + 7.0, 88)); // 8 x 139/128 - 1
        module.enabled = false;
        module.avoid(&mut window, &ack(2), true);
        assert_eq!(window.cwnd, 12.0); // as Reno
    }
}
