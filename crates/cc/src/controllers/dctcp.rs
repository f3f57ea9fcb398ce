//! DCTCP (RFC 8257): Reno that reduces its window in proportion to the fraction of marked segments.
//!
//! Variants: `rfc8257` (default) reduces the window at once; `linux` counts alpha in 1/1024 and lets the transport reduce the
//! window ACK by ACK (linux/dctcp.rs). Status: draft; the variant `linux` equals the module of Linux.

use crate::controllers::linux::{self, Linux};
use crate::descriptor::{Descriptor, Family, Status};
use crate::estimators::MarkFraction;
use crate::parameters::{Params, choice, number};
use crate::slow_start::SlowStart;
use crate::window::{Window, impl_window_accessors};
use crate::{Ack, Algorithm, Congestion, Controller, EcnResponse, FlowInfo, Signals, Timeout};
use params::Key;

controller_variants! {
    /// Data center TCP.
    Dctcp {
        /// As in RFC 8257.
        Rfc(Fraction),
        /// The module of Linux.
        Linux(Linux<linux::Dctcp>),
    }
}

/// DCTCP by the rules of RFC 8257.
#[derive(Clone, Debug)]
pub struct Fraction {
    window: Window,
    fraction: MarkFraction,
    /// The observation window ends, and the next reduction is permitted, when these segments are acknowledged.
    window_end: u64,
    reduced_until: u64,
}

/// The gain of the average of marks.
pub(crate) const GAIN: Key = number(
    "gain",
    "0.0625",
    [1e-4, 1.0],
    "",
    "weight of the newest window in the average of the marked fraction (g in RFC 8257 section 3.3)",
);

impl Algorithm for Dctcp {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "dctcp",
        summary: "data center TCP: reduces the window by half of the fraction of marked segments",
        source: "RFC 8257 (2017); variant of Linux",
        family: Family::DataCentre,
        status: Status::Draft,
        params: &[
            GAIN,
            crate::slow_start::PARAM,
            crate::slow_start::EXIT,
            crate::slow_start::VARIANT,
            choice!(
                "variant",
                ["rfc8257", "linux"],
                "whether the window falls at once, or ACK by ACK with the integers of Linux, whose gain is 1/16"
            ),
        ],
        probes: &["alpha"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Dctcp {
        if params.choice("variant") == "linux" {
            return Dctcp::Linux(Linux::new(linux::Dctcp::new(), params, flow));
        }
        Dctcp::Rfc(Fraction {
            window: Window::new(flow).with_slow_start(SlowStart::from_params(params)),
            fraction: MarkFraction::new(params.number("gain")),
            window_end: 0,
            reduced_until: 0,
        })
    }
}

impl Controller for Fraction {
    fn needs(&self) -> Signals {
        Signals::ECN_PER_PACKET
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.fraction.count(ack);
        if ack.newly_acked > 0 && ack.acked_through >= self.window_end {
            self.fraction.update();
            self.window_end = ack.next;
        }
        if ack.ece && ack.acked_through >= self.reduced_until {
            self.reduced_until = ack.next;
            let cwnd = self.window.cwnd;
            self.window.reduce(cwnd, 1.0 - self.fraction.alpha() / 2.0);
        }
        if self.window.on_ack(ack) {
            self.window.grow(ack);
        }
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.window.reduce(event.window, 0.5);
    }
    fn ecn_response(&self) -> EcnResponse {
        EcnResponse::NoCwr
    }
    fn on_rto(&mut self, event: &Timeout) {
        self.window.timeout(event, 0.5);
    }
    impl_window_accessors!(window);
    fn probe(&self, out: &mut [f64]) {
        out[0] = self.fraction.alpha();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, linux_flow};

    #[test]
    fn a_marked_window_reduces_once_by_half_of_alpha() {
        let params = Params::new(Dctcp::DESCRIPTOR.params, []).unwrap();
        let mut dctcp = Dctcp::new(&params, &linux_flow(100.0, 50.0));
        let marked =
            |acked_through: u64| Ack { ece: true, ce: 1, acked_through, next: acked_through + 100, ..ack(1) };
        dctcp.on_ack(&marked(10)); // alpha is one: as a loss
        assert_eq!(dctcp.cwnd(), 50.0);
        dctcp.on_ack(&marked(50));
        assert_eq!(dctcp.cwnd(), 50.0, "once in a window of data");
        // Thirty-two windows with marks on half of the segments.
        for window in 1..=32u64 {
            dctcp.on_ack(&Ack { acked_through: 110 * window, next: 110 * window + 1, ..ack(5) });
            dctcp.on_ack(&Ack {
                ece: true,
                ce: 5,
                acked_through: 110 * window,
                next: 110 * window + 1,
                ..ack(5)
            });
        }
        let mut alpha = [f64::NAN];
        dctcp.probe(&mut alpha);
        assert!((alpha[0] - 0.5).abs() < 0.1, "{alpha:?}");
    }
}
