//! CUBIC. RFC 9438.
//!
//! Differences from the RFC: no HyStart++ (slow start is RFC 5681's); the round-trip time in the target is a mean
//! with gain 1/8 over the samples that the controller receives. In the `ns2` profile one ACK counts as one segment
//! and the threshold is truncated, as for every algorithm of that profile. Status: draft: tests compare the curve
//! with hand-computed numbers (below); no comparison of whole runs yet.

use crate::descriptor::{Descriptor, Status};
use crate::detmath::cbrt;
use crate::estimators::Smoothed;
use crate::params::{Param, ParamKind, Params};
use crate::window::{Window, impl_window_accessors};
use crate::{Ack, Algorithm, Cause, Congestion, Controller, FlowInfo, Timeout};
use units::{Segments, Time};

/// Cubic growth around the window of the last loss.
#[derive(Clone, Debug)]
pub struct Cubic {
    c: f64,
    beta: f64,
    fast_convergence: bool,
    reno_friendly: bool,
    window: Window,
    abe: bool,
    srtt: Smoothed,
    /// W_max: the window before the last reduction.
    w_max: Segments,
    /// The congestion window when W_max was last set (RFC 9438: cwnd_prior).
    cwnd_prior: Segments,
    epoch: Option<Epoch>,
}

/// One congestion avoidance epoch.
#[derive(Clone, Debug)]
struct Epoch {
    start: Time,
    /// Seconds until the curve reaches its plateau.
    k: f64,
    /// The plateau, segments.
    origin: Segments,
    /// W_est: the window of Reno in this epoch, segments.
    w_est: Segments,
}

impl Epoch {
    /// W_cubic(t), RFC 9438 figure 1.
    fn curve(&self, c: f64, t: f64) -> Segments {
        let d = t - self.k;
        c * d * d * d + self.origin
    }
}

impl Algorithm for Cubic {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "cubic",
        summary: "window grows along a cubic curve around the last loss",
        source: "RFC 9438",
        status: Status::Draft,
        params: &[
            Param {
                name: "c",
                kind: ParamKind::Number { default: 0.4, min: 0.001, max: 100.0 },
                unit: "segments/s^3",
                doc: "steepness of the curve (RFC 9438 section 4.1)",
            },
            Param {
                name: "beta",
                kind: ParamKind::Number { default: 0.7, min: 0.1, max: 0.99 },
                unit: "",
                doc: "part of the window that remains after a loss (section 4.6)",
            },
            Param {
                name: "fast_convergence",
                kind: ParamKind::Switch(true),
                unit: "",
                doc: "release bandwidth to new flows (fast convergence, section 4.7)",
            },
            Param {
                name: "reno_friendly",
                kind: ParamKind::Switch(true),
                unit: "",
                doc: "never below Reno's window (section 4.3)",
            },
        ],
        probes: &["w_max", "w_est", "k"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Cubic {
        Cubic {
            c: params.number("c"),
            beta: params.number("beta"),
            fast_convergence: params.switch("fast_convergence"),
            reno_friendly: params.switch("reno_friendly"),
            window: Window::new(flow),
            abe: flow.abe,
            srtt: Smoothed::new(0.125),
            w_max: 0.0,
            cwnd_prior: 0.0,
            epoch: None,
        }
    }
}

impl Cubic {
    fn avoid(&mut self, now: Time, acked: f64) {
        let cwnd = self.window.cwnd;
        let (c, w_max) = (self.c, self.w_max);
        let epoch = self.epoch.get_or_insert_with(|| {
            let below = cwnd < w_max;
            Epoch {
                start: now,
                k: if below { cbrt((w_max - cwnd) / c) } else { 0.0 },
                origin: if below { w_max } else { cwnd },
                w_est: cwnd,
            }
        });
        let t = now.since(epoch.start).seconds();
        let target = epoch.curve(c, t + self.srtt.get().unwrap_or(0.0)).clamp(cwnd, 1.5 * cwnd);
        // Equation 4; alpha becomes 1 once the estimate has reached the window before the loss.
        let alpha =
            if epoch.w_est < self.cwnd_prior { 3.0 * (1.0 - self.beta) / (1.0 + self.beta) } else { 1.0 };
        epoch.w_est += alpha * acked / cwnd;
        let next = if self.reno_friendly && epoch.curve(c, t) < epoch.w_est {
            epoch.w_est
        } else {
            cwnd + acked * (target - cwnd) / cwnd
        };
        self.window.set(next.max(cwnd));
    }

    fn remember(&mut self, reached: Segments) {
        self.cwnd_prior = reached;
        self.w_max = if self.fast_convergence && reached < self.w_max {
            reached * (1.0 + self.beta) / 2.0
        } else {
            reached
        };
        self.epoch = None;
    }
}

impl Controller for Cubic {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.srtt.update(rtt.seconds());
        }
        if !self.window.may_grow(ack) {
            return;
        }
        let left = self.window.slow_start_step(ack);
        if left > 0.0 {
            self.avoid(ack.now, left);
        }
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.remember(self.window.cwnd);
        // RFC 8511: beta is 0.85 for an ECN echo, if enabled.
        let keep = if self.abe && event.cause == Cause::Ecn { 0.85 } else { self.beta };
        self.window.reduce(event.window, keep);
    }
    fn on_rto(&mut self, event: &Timeout) {
        if !event.repeated {
            self.remember(self.window.cwnd);
        }
        self.window.timeout(event, self.beta);
        // Section 4.8: the next avoidance stage starts from its own window, K = 0.
        self.w_max = 0.0;
        self.epoch = None;
    }
    impl_window_accessors!(window);
    fn probe(&self, out: &mut [f64]) {
        out[0] = if self.w_max > 0.0 { self.w_max } else { f64::NAN };
        (out[1], out[2]) = self.epoch.as_ref().map_or((f64::NAN, f64::NAN), |e| (e.w_est, e.k));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, congestion, ns2_flow, timeout};

    fn cubic(cwnd: f64, ssthresh: f64) -> Cubic {
        Cubic::new(&Params::new(Cubic::DESCRIPTOR.params, []).unwrap(), &ns2_flow(cwnd, ssthresh))
    }

    #[test]
    fn curve_has_the_published_values() {
        // Worked by hand from RFC 9438 with W_max 100 and a reduced window of 70.
        let mut algorithm = cubic(100.0, 50.0);
        algorithm.on_congestion(&congestion(100.0));
        assert_eq!((algorithm.cwnd(), algorithm.ssthresh()), (70.0, 70.0));
        algorithm.on_ack(&ack(1));
        let epoch = algorithm.epoch.clone().unwrap();
        assert!((epoch.k - 4.217163).abs() < 1e-6);
        for (t, w) in [(0.0, 70.0), (1.0, 86.6808), (2.0, 95.6403), (epoch.k, 100.0), (6.0, 102.2667)] {
            assert!((epoch.curve(0.4, t) - w).abs() < 1e-4, "W({t})");
        }
    }

    #[test]
    fn fast_convergence_gives_way() {
        let mut algorithm = cubic(100.0, 50.0);
        algorithm.on_congestion(&congestion(100.0));
        algorithm.on_congestion(&congestion(70.0)); // below the last maximum
        assert!((algorithm.w_max - 70.0 * 0.85).abs() < 1e-12);
        algorithm.on_rto(&timeout(49.0, false));
        assert_eq!((algorithm.cwnd(), algorithm.ssthresh(), algorithm.w_max), (1.0, 34.0, 0.0));
    }
}
