//! Reno. RFC 5681 sections 3.1 and 3.2: slow start, additive increase, halving.
//!
//! The loss recovery decides which segments are retransmitted, and when: with `recovery = "tahoe"`, `"reno"`,
//! `"newreno"` or `"sack"` this algorithm is the TCP of that name. Status: checked, row by row against ns-2.35
//! (docs/validation.md).

use crate::descriptor::{Descriptor, Family, Status};
use crate::parameters::Params;
use crate::slow_start::SlowStart;
use crate::window::{Window, impl_window_accessors};
use crate::{Ack, Algorithm, Cause, Congestion, Controller, FlowInfo, Timeout};

/// Additive increase, multiplicative decrease.
#[derive(Clone, Debug)]
pub struct Reno {
    window: Window,
    abe: bool,
}

impl Algorithm for Reno {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "reno",
        summary: "additive increase, halving (the window algorithm of Tahoe, Reno, NewReno and SACK)",
        source: "RFC 5681 (2009)",
        family: Family::Loss,
        status: Status::Checked,
        params: &[crate::slow_start::PARAM, crate::slow_start::EXIT, crate::slow_start::VARIANT],
        probes: &[],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Reno {
        Reno { window: Window::new(flow).with_slow_start(SlowStart::from_params(params)), abe: flow.abe }
    }
}

impl Controller for Reno {
    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if self.window.on_ack(ack) {
            self.window.grow(ack);
        }
    }
    fn on_congestion(&mut self, event: &Congestion) {
        // RFC 8511: the factor is 0.8 for an ECN echo, if enabled.
        let keep = if self.abe && event.cause == Cause::Ecn { 0.8 } else { 0.5 };
        self.window.reduce(event.window, keep);
    }
    fn on_rto(&mut self, event: &Timeout) {
        self.window.timeout(event, 0.5);
    }
    impl_window_accessors!(window);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params() -> Params {
        Params::new(Reno::DESCRIPTOR.params, []).unwrap()
    }

    use crate::testing::{ack, congestion, linux_flow, ns2_flow, timeout};

    #[test]
    fn ns2_counts_acks_and_keeps_the_fraction() {
        let mut reno = Reno::new(&params(), &ns2_flow(8.0, 8.0));
        reno.on_ack(&ack(2)); // at the threshold: avoidance; one step though two segments are covered
        assert_eq!(reno.cwnd(), 8.125);
        reno.on_congestion(&congestion(9.0));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (4.5, 4.0));
        reno.on_rto(&timeout(4.5, false));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (1.0, 2.0));
    }

    #[test]
    fn linux_counts_segments_and_keeps_whole_windows() {
        let mut reno = Reno::new(&params(), &linux_flow(9.0, 10.0));
        reno.on_ack(&ack(3)); // one to the threshold, two into the counter
        assert_eq!(reno.cwnd(), 10.0);
        for _ in 0..4 {
            reno.on_ack(&ack(2));
        }
        assert_eq!(reno.cwnd(), 11.0);
        reno.on_congestion(&congestion(11.0));
        assert_eq!((reno.cwnd(), reno.ssthresh()), (5.0, 5.0));
        reno.on_rto(&timeout(5.0, true)); // the same segment again: the threshold stays
        assert_eq!((reno.cwnd(), reno.ssthresh()), (1.0, 5.0));
    }
}
