//! Hybla. Caini and Firrincieli, Int. J. Satell. Commun. Network. 22 (2004): a flow with a long round-trip time grows
//! its rate as fast as a flow with 25 ms.
//!
//! Formulas, interpretations and test vectors: docs/specs/controllers-2.md. Variants: `paper`; `linux` has rho in eighths, a first window of
//! rho segments, growth for each ACK, and is Reno outside the state Open (linux/hybla.rs); `profile`: `linux` in the profile
//! linux and over QUIC, otherwise `paper`. Status: checked (`linux`, equal to the module of Linux).

use crate::controllers::linux::{self, Linux};
use crate::descriptor::{Descriptor, Family, Status};
use crate::detmath::exp;
use crate::estimators::{MinRtt, Smoothed};
use crate::parameters::{Params, choice, number};
use crate::slow_start::SlowStart;
use crate::window::{VARIANT, Window, impl_window_accessors, linux_variant};
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Timeout};

controller_variants! {
    /// Growth in proportion to the round-trip time.
    Hybla {
        /// The formulas of the paper.
        Paper(Formulas),
        /// The module of Linux.
        Linux(Linux<linux::Hybla>),
    }
}

/// Hybla by the formulas of the paper.
#[derive(Clone, Debug)]
pub struct Formulas {
    window: Window,
    rtt0: f64,
    rho_max: f64,
    smoothed: Option<Smoothed>,
    rtt_min: MinRtt,
}

impl Algorithm for Hybla {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "hybla",
        summary: "a flow with a long round-trip time grows as fast as one with the reference round-trip time",
        source: "Caini and Firrincieli 2004; variant of Linux",
        family: Family::Loss,
        status: Status::Checked,
        params: &[
            crate::slow_start::PARAM,
            crate::slow_start::EXIT,
            crate::slow_start::VARIANT,
            VARIANT,
            number("rtt0", "0.025", [0.001, 10.0], "s", "the reference round-trip time (25 ms in the paper)"),
            choice!("rtt", ["min", "smoothed"], "which round-trip time is compared with it (variant paper)"),
            number("rho_max", "16", [1.0, 64.0], "", "bound of the exponent in slow start (variant paper)"),
        ],
        probes: &["rho"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Hybla {
        if linux_variant(params, flow) {
            let module = linux::Hybla::new(params.number("rtt0"));
            return Hybla::Linux(Linux::new(module, params, flow));
        }
        Hybla::Paper(Formulas {
            window: Window::new(flow).with_slow_start(SlowStart::from_params(params)),
            rtt0: params.number("rtt0"),
            rho_max: params.number("rho_max"),
            smoothed: (params.choice("rtt") == "smoothed").then(|| Smoothed::new(0.125)),
            rtt_min: MinRtt::default(),
        })
    }
}

impl Formulas {
    /// rho: the ratio of the round-trip time to the reference round-trip time, at least 1.
    fn rho(&self) -> f64 {
        let rtt = match &self.smoothed {
            Some(smoothed) => smoothed.get(),
            None => self.rtt_min.get().map(|rtt| rtt.seconds()),
        };
        rtt.map_or(1.0, |rtt| (rtt / self.rtt0).max(1.0))
    }
}

impl Controller for Formulas {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.rtt_min.update(rtt);
            if let Some(smoothed) = &mut self.smoothed {
                smoothed.update(rtt.seconds());
            }
        }
        if !self.window.on_ack(ack) {
            return;
        }
        let rho = self.rho();
        let acks = self.window.counts(ack);
        let cwnd = self.window.cwnd;
        if self.window.slow_start() {
            let step = exp(rho.min(self.rho_max) * std::f64::consts::LN_2) - 1.0;
            let acks = self.window.slow_start_growth(acks);
            self.window.set((cwnd + acks * step).min(self.window.ssthresh.max(cwnd + acks)));
        } else {
            self.window.additive_step(acks * rho * rho);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.window.reduce(event.window, 0.5);
    }
    fn on_rto(&mut self, event: &Timeout) {
        self.window.timeout(event, 0.5);
    }
    impl_window_accessors!(window);
    fn probe(&self, out: &mut [f64]) {
        out[0] = self.rho();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, congestion, ns2_flow};
    use units::Span;

    #[test]
    fn published_steps() {
        for (ms, slow, avoid) in
            [(10, 1.0, 0.01), (25, 1.0, 0.01), (50, 3.0, 0.04), (100, 15.0, 0.16), (60, 4.278032, 0.0576)]
        {
            let params = Params::new(Hybla::DESCRIPTOR.params, []).unwrap();
            let sample = Ack { rtt: Some(Span::from_ms(ms)), ..ack(1) };
            let mut algorithm = Hybla::new(&params, &ns2_flow(10.0, 1000.0));
            algorithm.on_ack(&sample);
            assert!((algorithm.cwnd() - 10.0 - slow).abs() < 1e-6, "{ms}");
            let mut algorithm = Hybla::new(&params, &ns2_flow(100.0, 2.0));
            algorithm.on_ack(&sample);
            assert!((algorithm.cwnd() - 100.0 - avoid).abs() < 1e-9, "{ms}");
        }
    }

    #[test]
    fn slow_start_stops_at_the_threshold_and_a_loss_halves() {
        let params = Params::new(Hybla::DESCRIPTOR.params, []).unwrap();
        let mut algorithm = Hybla::new(&params, &ns2_flow(10.0, 40.0));
        algorithm.on_ack(&Ack { rtt: Some(Span::from_ms(600)), ..ack(1) });
        assert_eq!(algorithm.cwnd(), 40.0);
        algorithm.on_congestion(&congestion(40.0));
        assert_eq!((algorithm.cwnd(), algorithm.ssthresh()), (20.0, 20.0));
    }
}
