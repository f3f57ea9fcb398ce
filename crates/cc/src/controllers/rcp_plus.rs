//! RCP+. The end-host form of the rate control protocol in the paper of Enhanced RCP (Mehta Ishani et al. 2015, Eq.
//! 4): the sender itself computes the rate that RCP routers would grant.
//!
//! Once per round trip the rate changes by `(a (C - y) - b q/d)/N`, and the window is the product of rate and
//! round-trip time. The capacity C and the number of flows N are parameters. The rate y is the rate acknowledged in
//! the last round trip. The queue comes from the round-trip time: `q/d = C (srtt - min)/min`. In the printed equation
//! the change stands in the place of the rate (docs/specs/rcp.md section 3); `equation = "absolute"` uses it as
//! printed. A loss changes only the recovery phase; after a timeout the window restarts at one segment. Status:
//! draft.

use crate::descriptor::{Descriptor, Family, Status};
use crate::estimators::{FairShareRate, share_params};
use crate::parameters::{Params, choice, number};
use crate::window::{Window, impl_window_accessors};
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Timeout};
use params::Key;
use units::Time;

/// Sets the window by a rate that the sender computes.
#[derive(Clone, Debug)]
pub struct RcpPlus {
    window: Window,
    share: FairShareRate,
    beta: f64,
    absolute: bool,
    /// Bit/s.
    rate: f64,
}

const SHARE: [Key; 3] = share_params("0.4");

impl Algorithm for RcpPlus {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "rcp_plus",
        summary: "the sender computes its rate from capacity, number of flows, its own rate and the queue",
        source: "Mehta Ishani, Kar, Gonsai 2015, Eq. 4 (docs/specs/rcp.md section 3)",
        family: Family::Model,
        status: Status::Draft,
        params: &[
            SHARE[0],
            SHARE[1],
            SHARE[2],
            number(
                "beta",
                "0.4",
                [0.0, 10.0],
                "",
                "b: part of the queue that the flows drain per round trip",
            ),
            choice!(
                "equation",
                ["increment", "absolute"],
                "whether Eq. 4 gives the change of the rate, or the rate as printed"
            ),
        ],
        probes: &["rate", "own_rate"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> RcpPlus {
        RcpPlus {
            window: Window::new(flow),
            share: FairShareRate::new(params, flow),
            beta: params.number("beta"),
            absolute: params.choice("equation") == "absolute",
            rate: 0.0,
        }
    }
}

impl RcpPlus {
    fn update_rate(&mut self) {
        let step = self.share.spare_rate() - self.beta * self.share.queue() / self.share.flows();
        self.rate = if self.absolute { step } else { self.rate + step };
        self.rate = self.rate.clamp(0.0, self.share.capacity());
    }
}

impl Controller for RcpPlus {
    fn on_open(&mut self, now: Time) {
        self.share.open(now);
    }
    fn on_ack(&mut self, ack: &Ack) {
        if self.share.take(ack) {
            self.update_rate();
            if let Some(window) = self.share.window(self.rate) {
                self.window.aim(window, ack.phase);
            }
        }
    }
    fn on_congestion(&mut self, _event: &Congestion) {}
    fn on_rto(&mut self, _event: &Timeout) {
        self.window.set(1.0);
    }
    impl_window_accessors!(window);
    fn probe(&self, out: &mut [f64]) {
        out[0] = self.rate;
        out[1] = self.share.own();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParamValue;
    use crate::estimators::Smoothed;
    use crate::testing::{ack, ns2_flow};
    use units::Span;

    fn algorithm(values: &[(&str, ParamValue)]) -> RcpPlus {
        let values = values.iter().map(|(name, value)| (*name, value.clone()));
        RcpPlus::new(&Params::new(RcpPlus::DESCRIPTOR.params, values).unwrap(), &ns2_flow(1.0, 1e9))
    }

    /// Rounds of 100 ms in which a window of segments is acknowledged.
    fn rounds(algorithm: &mut RcpPlus, count: u64) {
        algorithm.on_open(Time::ZERO);
        let mut through = 0;
        for round in 1..=count {
            let window = algorithm.cwnd() as u64;
            for i in 0..window {
                let now = Time::ZERO + Span::from_ps(round * 100_000_000_000 + i);
                let event = Ack {
                    now,
                    rtt: Some(Span::from_ms(100)),
                    acked_through: through,
                    next: through + window,
                    ..ack(1)
                };
                algorithm.on_ack(&event);
                through += 1;
            }
        }
    }

    #[test]
    fn a_flow_alone_comes_to_the_capacity() {
        // 1 Mb/s over 100 ms: 12.5 segments of 1000 bytes.
        let mut algorithm = algorithm(&[]);
        rounds(&mut algorithm, 100);
        assert!((11.0..=12.5).contains(&algorithm.cwnd()), "{}", algorithm.cwnd());
    }

    #[test]
    fn as_printed_the_rate_settles_where_it_equals_its_own_change() {
        // R = a (C - R): a third of a megabit for a = 0.5.
        let mut algorithm = algorithm(&[
            ("equation", ParamValue::Word("absolute".into())),
            ("alpha", ParamValue::Number(0.5)),
        ]);
        rounds(&mut algorithm, 100);
        assert!((2.0..=6.0).contains(&algorithm.cwnd()), "{}", algorithm.cwnd());
    }

    #[test]
    fn a_queue_is_given_back() {
        let mut algorithm = algorithm(&[]);
        rounds(&mut algorithm, 50);
        let before = algorithm.rate;
        algorithm.share.smoothed = Smoothed::new(1.0);
        algorithm.share.smoothed.update(0.2); // as much waits as the path holds
        algorithm.update_rate();
        assert!(algorithm.rate < before - 0.3e6, "{} {before}", algorithm.rate);
    }
}
