//! Scalable TCP. Kelly, Computer Communication Review 33(2), 2003: a fixed part of a segment for each acknowledged one, and a
//! loss takes an eighth of the window, so that the time to recover does not depend on the rate.
//!
//! Variants (docs/specs/controllers-2.md section 7):
//! - `paper`: 0.01 segments for each acknowledged one; up to `low_window` segments the algorithm is Reno.
//! - `linux`: one segment for every min(window, 100) acknowledged ones; no low window.
//!
//! `profile`: `linux` in the profile linux and over QUIC, otherwise `paper`.
//!
//! A timeout reduces the threshold by the same part. Status: checked (`linux`, equal to the module of Linux).

use crate::descriptor::{Descriptor, Family, Status};
use crate::detmath;
use crate::parameters::{Params, number};
use crate::slow_start::SlowStart;
use crate::window::{Window, impl_window_accessors};
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Timeout};
use units::Segments;

/// Acknowledged segments for which the window of the paper grows by one segment.
const PAPER_STEP: f64 = 100.0;
/// The same in Linux, if the window is larger (50 before Linux 5.15).
const LINUX_STEP: f64 = 100.0;
/// What a loss leaves of the window.
const KEPT: f64 = 0.875;

/// Multiplicative increase, multiplicative decrease.
#[derive(Clone, Debug)]
pub struct Scalable {
    window: Window,
    linux: bool,
    low_window: Segments,
}

impl Algorithm for Scalable {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "scalable",
        summary: "grows by a fixed part of each acknowledged segment; a loss takes an eighth",
        source: "Kelly, Computer Communication Review 33(2), 2003; variant of Linux",
        family: Family::Loss,
        status: Status::Checked,
        params: &[
            crate::slow_start::PARAM,
            crate::slow_start::EXIT,
            crate::slow_start::VARIANT,
            crate::window::VARIANT,
            number(
                "low_window",
                "16",
                [1.0, 1e6],
                "segments",
                "up to this window the algorithm is Reno (variant paper)",
            ),
        ],
        probes: &[],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Scalable {
        let linux = crate::window::linux_variant(params, flow);
        Scalable {
            window: Window::new(flow).with_slow_start(SlowStart::from_params(params)),
            linux,
            low_window: if linux { 0.0 } else { params.number("low_window") },
        }
    }
}

impl Scalable {
    /// A reduction of a window. Linux takes a whole number of segments, an eighth rounded down.
    fn reduce(&mut self, used: Segments) {
        if self.linux {
            let whole = detmath::floor(used);
            self.window.reduce_to((whole - detmath::floor(whole / 8.0)).max(2.0));
        } else {
            self.window.reduce(used, if used > self.low_window { KEPT } else { 0.5 });
        }
    }
}

impl Controller for Scalable {
    fn on_ack(&mut self, ack: &Ack) {
        if !self.window.on_ack(ack) {
            return;
        }
        let left = self.window.slow_start_step(ack);
        if left <= 0.0 {
            return;
        }
        let cwnd = self.window.cwnd;
        let per = match self.linux {
            true => cwnd.min(LINUX_STEP),
            false if cwnd > self.low_window => PAPER_STEP,
            false => cwnd,
        };
        self.window.grow_by(left, per);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.reduce(event.window);
    }
    fn on_rto(&mut self, event: &Timeout) {
        if self.window.reduces_at(event) {
            self.reduce(event.window);
        }
        self.window.restart();
    }
    impl_window_accessors!(window);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, congestion, linux_flow, ns2_flow};
    use crate::{ParamValue, Params};

    fn scalable(variant: &str, flow: &FlowInfo) -> Scalable {
        let values = [("variant", ParamValue::Word(variant.into()))];
        Scalable::new(&Params::new(Scalable::DESCRIPTOR.params, values).unwrap(), flow)
    }

    #[test]
    fn published_steps() {
        let mut controller = scalable("paper", &ns2_flow(100.0, 2.0));
        (0..10).for_each(|_| controller.on_ack(&ack(1)));
        assert!((controller.cwnd() - 100.1).abs() < 1e-9, "{}", controller.cwnd());
        controller.on_congestion(&congestion(controller.cwnd()));
        assert!((controller.cwnd() - 87.5875).abs() < 1e-9, "{}", controller.cwnd());
        // At and below 16 segments Reno.
        let mut controller = scalable("paper", &ns2_flow(16.0, 2.0));
        controller.on_ack(&ack(1));
        assert_eq!(controller.cwnd(), 16.0 + 1.0 / 16.0);
        controller.on_congestion(&congestion(16.0));
        assert_eq!(controller.cwnd(), 8.0);
    }

    #[test]
    fn steps_of_linux() {
        for (cwnd, acks, after) in [(200.0, 100, 201.0), (30.0, 30, 31.0)] {
            let mut controller = scalable("linux", &linux_flow(cwnd, 2.0));
            (0..acks - 1).for_each(|_| controller.on_ack(&ack(1)));
            assert_eq!(controller.cwnd(), cwnd);
            controller.on_ack(&ack(1));
            assert_eq!(controller.cwnd(), after);
        }
        let mut controller = scalable("linux", &linux_flow(100.0, 2.0));
        controller.on_congestion(&congestion(100.0));
        assert_eq!(controller.cwnd(), 88.0, "100 - 100 / 8, in whole segments");
    }
}
