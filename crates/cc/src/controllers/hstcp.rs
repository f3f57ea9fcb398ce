//! HighSpeed TCP. RFC 3649: above 38 segments the window grows faster and a loss reduces it by less, so it can be
//! large at the low loss rates of fast networks.
//!
//! `a(w)` and `b(w)` follow the equations of the RFC. `p(w)` is a straight line between (38, 1e-3) and (83000, 1e-7)
//! on logarithmic scales. Up to 38 segments the algorithm is Reno. Limited slow start (RFC 3742) is not included.
//!
//! Variants: `paper` as above; `linux` counts ACKs, takes b(w) from a table, and reduces by b(w) at a timeout too
//! (linux/highspeed.rs); `profile`: `linux` in the profile linux and over QUIC, otherwise `paper`. Status: checked (`linux`, equal
//! to the module of Linux).

use crate::controllers::linux::{HighSpeed, Linux};
use crate::descriptor::{Descriptor, Family, Status};
use crate::estimators::Response;
use crate::parameters::{Params, number};
use crate::slow_start::SlowStart;
use crate::window::{VARIANT, Window, impl_window_accessors, linux_variant};
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Timeout};

controller_variants! {
    /// Increase and decrease that depend on the window.
    Hstcp {
        /// The equations of the RFC.
        Paper(Equations),
        /// The module of Linux.
        Linux(Linux<HighSpeed>),
    }
}

/// HighSpeed TCP by the equations of the RFC.
#[derive(Clone, Debug)]
pub struct Equations {
    window: Window,
    response: Response,
}

impl Algorithm for Hstcp {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "hstcp",
        summary: "above a low window, increase and decrease depend on the window",
        source: "RFC 3649 (2003); variant of Linux",
        family: Family::Loss,
        status: Status::Checked,
        params: &[
            crate::slow_start::PARAM,
            crate::slow_start::EXIT,
            crate::slow_start::VARIANT,
            VARIANT,
            number("low_window", "38", [1.0, 1e6], "segments", "up to this window the algorithm is Reno"),
            number("high_window", "83000", [2.0, 1e9], "segments", "the window at the lowest loss rate"),
            number("low_p", "1e-3", [1e-9, 0.5], "", "loss rate at the low window (ns-2 has 1.5/38^2)"),
            number("high_p", "1e-7", [1e-15, 0.5], "", "loss rate at the high window"),
            number(
                "high_decrease",
                "0.1",
                [0.001, 0.5],
                "",
                "b(w) at the high window: the part by which a loss reduces the window",
            ),
        ],
        probes: &["a", "b"],
    };
    fn check(params: &Params) -> Result<(), crate::ParamError> {
        let reason = if params.number("high_window") <= params.number("low_window") {
            "must be above low_window"
        } else if params.number("high_p") >= params.number("low_p") {
            return Err(crate::ParamError {
                name: "high_p".into(),
                reason: Some("must be below low_p".into()),
            });
        } else {
            return Ok(());
        };
        Err(crate::ParamError { name: "high_window".into(), reason: Some(reason.into()) })
    }
    fn new(params: &Params, flow: &FlowInfo) -> Hstcp {
        if linux_variant(params, flow) {
            return Hstcp::Linux(Linux::new(HighSpeed::default(), params, flow));
        }
        let [low, high, low_p, high_p, least] =
            ["low_window", "high_window", "low_p", "high_p", "high_decrease"].map(|key| params.number(key));
        Hstcp::Paper(Equations {
            window: Window::new(flow).with_slow_start(SlowStart::from_params(params)),
            response: Response::new(low, high, low_p, high_p, least),
        })
    }
}

impl Controller for Equations {
    fn on_ack(&mut self, ack: &Ack) {
        if !self.window.on_ack(ack) {
            return;
        }
        let left = self.window.slow_start_step(ack);
        if left > 0.0 {
            let gain = self.response.gain(self.window.cwnd);
            self.window.additive_step(left * gain);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.window.reduce(event.window, 1.0 - self.response.cut(event.window));
    }
    fn on_rto(&mut self, event: &Timeout) {
        self.window.timeout(event, 0.5);
    }
    impl_window_accessors!(window);
    fn probe(&self, out: &mut [f64]) {
        out[0] = self.response.gain(self.window.cwnd);
        out[1] = self.response.cut(self.window.cwnd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, congestion, linux_flow, ns2_flow};

    #[test]
    fn published_response() {
        let response = Response::standard();
        for (w, b, a) in [
            (38.0, 0.5, 1.0),
            (118.0, 0.4411, 2.03),
            (221.0, 0.4084, 3.04),
            (1058.0, 0.3269, 8.14),
            (83_000.0, 0.1, 72.5),
        ] {
            assert!((response.cut(w) - b).abs() < 1e-4, "{w}");
            assert!((response.gain(w) - a).abs() < 0.02, "{w}: {}", response.gain(w));
        }
    }

    #[test]
    fn a_round_trip_gains_a_and_a_loss_takes_b() {
        for flow in [ns2_flow(1058.0, 2.0), linux_flow(1058.0, 2.0)] {
            let mut algorithm = Hstcp::new(&Params::new(Hstcp::DESCRIPTOR.params, []).unwrap(), &flow);
            (0..1058).for_each(|_| algorithm.on_ack(&ack(1)));
            assert!((algorithm.cwnd() - 1066.1).abs() < 0.5, "{}", algorithm.cwnd());
        }
        let mut algorithm =
            Hstcp::new(&Params::new(Hstcp::DESCRIPTOR.params, []).unwrap(), &ns2_flow(1058.0, 2.0));
        algorithm.on_congestion(&congestion(1058.0));
        assert!((algorithm.cwnd() - 1058.0 * (1.0 - 0.3269)).abs() < 0.5);
        algorithm.set_window(20.0);
        algorithm.on_congestion(&congestion(20.0));
        assert_eq!(algorithm.cwnd(), 10.0);
    }
}
