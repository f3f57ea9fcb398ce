//! DCTCP in Linux: alpha in 1/1024; the transport reduces the window after an echo, once per window of data.

use super::{Change, Module, State};
use crate::detmath;
use crate::window::Window;
use crate::{Ack, Sample, Signals};
use units::Time;

/// alpha of a window in which everything is marked.
const ONE: u64 = 1024;
/// The gain of alpha is two to the power of minus this.
const GAIN: u32 = 4;

/// The module `dctcp`.
#[derive(Clone, Debug)]
pub struct Dctcp {
    alpha: u64,
    /// The window of data ends when everything below here is acknowledged.
    end: u64,
    delivered: u64,
    marked: u64,
}

impl Dctcp {
    pub fn new() -> Dctcp {
        Dctcp { alpha: ONE, end: 0, delivered: 0, marked: 0 }
    }
}

impl Module for Dctcp {
    const NEEDS: Signals = Signals::ECN_PER_PACKET;

    fn sample(&mut self, _window: &mut Window, sample: &Sample, _state: State) {
        self.delivered += u64::from(sample.newly_delivered);
        self.marked += u64::from(sample.ce);
        if sample.acked_through.wrapping_add(1) < self.end {
            return;
        }
        let part = self.alpha >> GAIN;
        self.alpha -= if part == 0 { self.alpha } else { part };
        let marked = (self.marked << (10 - GAIN)) / self.delivered.max(1);
        self.alpha = (self.alpha + marked).min(ONE);
        (self.end, self.delivered, self.marked) = (sample.next, 0, 0);
    }

    fn ssthresh(&mut self, cwnd: u64, lost: bool, _now: Time) -> u64 {
        if lost { (cwnd / 2).max(2) } else { (cwnd - ((cwnd * self.alpha) >> 11)).max(2) }
    }

    fn state(&mut self, window: &mut Window, Change { from, to, .. }: Change) {
        // A loss during the reduction after an echo halves the threshold, and the window stays in its reduction.
        if (from, to) == (State::Cwr, State::Recovery) {
            window.ssthresh = detmath::floor(window.cwnd / 2.0).max(2.0);
        }
    }

    fn avoid(&mut self, window: &mut Window, ack: &Ack, limited: bool) {
        if limited {
            window.grow(ack);
        }
    }

    fn probe(&self, out: &mut [f64]) {
        out[0] = self.alpha as f64 / ONE as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, linux_flow};

    #[test]
    fn alpha_follows_the_marks_of_a_window_and_takes_half_of_it() {
        let (mut module, mut window) = (Dctcp::new(), Window::new(&linux_flow(10.0, 5.0)));
        // Windows of ten segments: none marked, then all of them.
        let alphas: Vec<u64> = [false, false, true]
            .map(|ece| {
                let sample = Sample {
                    ece,
                    ce: if ece { 10 } else { 0 },
                    ..Sample::of(&Ack { acked_through: 9, next: 10, ..ack(10) })
                };
                module.sample(&mut window, &sample, State::Open);
                module.alpha
            })
            .to_vec();
        assert_eq!(alphas, [960, 900, 908]);
        assert_eq!([true, false].map(|lost| module.ssthresh(100, lost, Time::ZERO)), [50, 56]);
    }
}
