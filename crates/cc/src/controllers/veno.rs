//! Veno. Fu and Liew, IEEE JSAC 21(2), 2003: Reno that distinguishes random losses from congestion losses by Vegas's
//! backlog `N = cwnd (RTT - base) / RTT`, and grows at half the rate above `beta`.
//!
//! Variants (docs/specs/vegas-veno.md section 5):
//! - `paper` (default): smoothed round-trip time, base over the whole connection. A loss with N < beta keeps four
//!   fifths of the window, any other loss a half. Above beta every other ACK grows the window.
//! - `seed` (JATIT 66(1), 2014, Eq. 2): as `paper`, but every loss resets the base.
//! - `linux`: the last sample and the base, both plus one microsecond, in half segments as integers
//!   (`2 cwnd - floor(2 cwnd base / rtt)` compared with 2 beta). Reno until there are three samples, and outside the state Open.
//!   Above beta one segment in every other round. A timeout uses the backlog too. Transmission that starts with nothing in
//!   flight resets the base (linux/veno.rs).
//!
//! Slow start is Reno's; in `paper` and `seed` the timeout is Reno's too. Status: draft; the variant `linux` equals the module of
//! Linux.

use crate::controllers::linux::{self, Linux};
use crate::descriptor::{Descriptor, Family, Status};
use crate::estimators::{MinRtt, Smoothed};
use crate::parameters::{Params, choice, number};
use crate::slow_start::SlowStart;
use crate::window::{Window, impl_window_accessors};
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Timeout};
use units::{Segments, Span};

controller_variants! {
    /// Reno that distinguishes random from congestion losses.
    Veno {
        /// The formulas of the papers.
        Paper(Formulas),
        /// The module of Linux.
        Linux(Linux<linux::Veno>),
    }
}

/// Veno by the formulas of its papers.
#[derive(Clone, Debug)]
pub struct Formulas {
    beta: Segments,
    reset_base_on_loss: bool,
    window: Window,
    base: MinRtt,
    smoothed: Smoothed,
    /// Whether the next ACK grows the window while the backlog is above beta.
    turn: bool,
    backlog: f64,
}

impl Algorithm for Veno {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "veno",
        summary: "Reno that keeps four fifths of the window at a loss without backlog",
        source: "Fu and Liew, IEEE JSAC 21(2), 2003; variants of Linux and of JATIT 66(1), 2014",
        family: Family::LossAndDelay,
        status: Status::Draft,
        params: &[
            crate::slow_start::PARAM,
            crate::slow_start::EXIT,
            crate::slow_start::VARIANT,
            number(
                "beta",
                "3",
                [0.0, 1e6],
                "segments",
                "backlog at or above which a loss is a congestion loss",
            ),
            choice!("variant", ["paper", "linux", "seed"], "variant of round-trip time, base and rounding"),
            choice!(
                "base_reset_on_loss",
                ["variant", "yes", "no"],
                "reset the smallest round-trip time at every loss; the default depends on the variant (no, no, yes)"
            ),
        ],
        probes: &["base_rtt", "backlog"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Veno {
        let variant = params.choice("variant");
        let beta = params.number("beta");
        if variant == "linux" {
            return Veno::Linux(Linux::new(linux::Veno::new(beta), params, flow));
        }
        Veno::Paper(Formulas {
            beta,
            reset_base_on_loss: match params.choice("base_reset_on_loss") {
                "yes" => true,
                "no" => false,
                _ => variant == "seed",
            },
            window: Window::new(flow).with_slow_start(SlowStart::from_params(params)),
            base: MinRtt::default(),
            smoothed: Smoothed::new(0.125),
            turn: true,
            backlog: f64::NAN,
        })
    }
    const TUNABLE: &'static [&'static str] = &["beta"];
    fn tune(&mut self, _name: &str, value: f64) {
        match self {
            Veno::Paper(formulas) => formulas.beta = value,
            Veno::Linux(linux) => linux.module_mut().set_beta(value),
        }
    }
}

impl Formulas {
    fn sample(&mut self, rtt: Span) {
        self.base.update(rtt);
        self.smoothed.update(rtt.seconds());
    }

    /// Segments queued at the bottleneck; none without samples.
    fn measure(&self, cwnd: Segments) -> Option<f64> {
        let base = self.base.get()?.seconds();
        let rtt = self.smoothed.get()?;
        (rtt > 0.0).then(|| cwnd * (rtt - base) / rtt)
    }

    /// The part of the window that remains after a loss.
    fn keep(&self, cwnd: Segments) -> f64 {
        match self.measure(cwnd) {
            Some(backlog) if backlog < self.beta => 0.8,
            _ => 0.5,
        }
    }

    fn forget(&mut self) {
        if self.reset_base_on_loss {
            self.base.reset();
        }
    }
}

impl Controller for Formulas {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.sample(rtt);
        }
        let measured = self.measure(self.window.cwnd);
        self.backlog = measured.unwrap_or(f64::NAN);
        if !self.window.on_ack(ack) {
            return;
        }
        let acked = self.window.slow_start_step(ack);
        if acked == 0.0 {
            return;
        }
        if measured.is_none_or(|backlog| backlog < self.beta) {
            self.window.additive_step(acked);
        } else {
            if self.turn {
                self.window.additive_step(acked);
            }
            self.turn = !self.turn;
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.window.reduce(event.window, self.keep(event.window));
        self.forget();
    }

    fn on_rto(&mut self, event: &Timeout) {
        self.window.timeout(event, 0.5);
        self.forget();
    }

    impl_window_accessors!(window);
    fn probe(&self, out: &mut [f64]) {
        out[0] = self.base.get().map_or(f64::NAN, Span::seconds);
        out[1] = self.backlog;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParamValue;
    use crate::testing::{ack, congestion, ns2_flow, seconds, timeout};

    fn veno(variant: &str, flow: &FlowInfo) -> Formulas {
        let values = [("variant", ParamValue::Word(variant.into()))];
        let Veno::Paper(formulas) = Veno::new(&Params::new(Veno::DESCRIPTOR.params, values).unwrap(), flow)
        else {
            panic!("the module of Linux has its own tests");
        };
        formulas
    }

    #[test]
    fn published_loss_rules() {
        // docs/specs/vegas-veno.md section 7: N = 2.9 at cwnd 20 keeps 16.
        let mut algorithm = veno("paper", &ns2_flow(20.0, 2.0));
        algorithm.base.set(seconds(0.1));
        algorithm.smoothed.update(0.1 * 20.0 / (20.0 - 2.9));
        assert!((algorithm.measure(20.0).unwrap() - 2.9).abs() < 1e-9);
        algorithm.on_congestion(&congestion(20.0));
        assert_eq!(algorithm.ssthresh(), 16.0);
        // N = 20 (1 - 100/120) = 3.33: congestion.
        let mut algorithm = veno("paper", &ns2_flow(20.0, 2.0));
        algorithm.base.set(seconds(0.1));
        algorithm.smoothed.update(0.12);
        algorithm.on_congestion(&congestion(20.0));
        assert_eq!(algorithm.ssthresh(), 10.0);
        algorithm.on_rto(&timeout(10.0, false));
        assert_eq!((algorithm.cwnd(), algorithm.ssthresh()), (1.0, 5.0));
        assert!(algorithm.base.get().is_some());
    }

    #[test]
    fn grows_on_every_other_ack_when_there_is_a_queue_and_forgets_as_the_seed_says() {
        let mut algorithm = veno("seed", &ns2_flow(10.0, 2.0));
        algorithm.base.set(seconds(0.1));
        for _ in 0..200 {
            algorithm.smoothed.update(0.2);
        }
        for _ in 0..4 {
            algorithm.on_ack(&ack(1));
        }
        let twice = 10.1 + 1.0 / 10.1;
        assert_eq!(algorithm.cwnd(), twice);
        algorithm.on_congestion(&congestion(10.0));
        assert_eq!(algorithm.base.get(), None);
    }
}
