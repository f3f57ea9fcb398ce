//! CUBIC. RFC 9438, and in the integer arithmetic of Linux (`arithmetic`).
//!
//! Difference of `arithmetic = "rfc9438"` from the RFC: the round-trip time in the target is a mean with gain 1/8 over
//! the samples that the controller receives. Reductions are real numbers, as in the RFC. In the `ns2` profile one ACK counts as one segment and the threshold is
//! truncated, as for every algorithm of that profile.
//!
//! Time in which application or receiver limit the sender (section 4.2): `rfc9438` takes all of it from the curve, `linux` the
//! idle time alone (`CA_EVENT_TX_START`), as the kernel does. While something is always in flight Linux's curve goes on: after
//! 20 s at a tenth of the window of 300 segments the window is 1,684 segments half a second later, by the RFC 378
//! (tests/test_rfc.py). Status: checked: `arithmetic = "linux"` with HyStart agrees with
//! recordings of Linux 6.18 (docs/validation-linux.md); the curve of RFC 9438 is compared with hand-computed numbers (below).

use crate::controllers::cubic_linux::{Constants, CubicLinux};
use crate::descriptor::{Descriptor, Family, Status};
use crate::detmath::cbrt;
use crate::estimators::Smoothed;
use crate::parameters::{Params, choice, number, switch};
use crate::slow_start::SlowStart;
use crate::window::{Window, impl_window_accessors};
use crate::{
    Ack, Algorithm, Cause, Congestion, Controller, FlowInfo, Growth, Sample, Signals, Timeout, TransmitStart,
};
use units::{Segments, Time};

/// RFC 8511: the part of the window that remains after an ECN echo, in 1/1024.
const BETA_ECN_LINUX: u64 = 870;

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
    /// The state of `arithmetic = "linux"`, which then replaces that of the RFC.
    linux: Option<Box<CubicLinux>>,
    /// The round-trip sample of this ACK does not count: it came too soon after a loss (Linux).
    discarded: bool,
    /// When the last ACK that permits growth arrived.
    last_ack: Option<Time>,
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
        source: "RFC 9438 (2023); variant of Linux",
        family: Family::Loss,
        status: Status::Checked,
        params: &[
            number(
                "c",
                "0.4",
                [0.001, 100.0],
                "segments/s^3",
                "steepness of the curve (RFC 9438 section 4.1)",
            ),
            number(
                "beta",
                "0.7",
                [0.1, 0.99],
                "",
                "part of the window that remains after a loss (section 4.6)",
            ),
            switch(
                "fast_convergence",
                true,
                "release bandwidth to new flows (fast convergence, section 4.7)",
            ),
            switch("reno_friendly", true, "never below Reno's window (section 4.3)"),
            choice!(
                "slow_start",
                ["profile", "standard", "hystart", "hystart_pp", "search", "rapid", "rapid_pp"],
                "what ends slow start besides a loss: nothing, HyStart as in Linux, HyStart++ (RFC 9406), or SEARCH (draft-chung-ccwg-search); Rapid Start (draft-kazuho-ccwg-rapid-start) triples the window in each round trip without a queue, `rapid_pp` with HyStart++; `profile`: `hystart` in the profile linux, otherwise `standard`"
            ),
            crate::slow_start::EXIT,
            crate::slow_start::VARIANT,
            choice!(
                "arithmetic",
                ["profile", "rfc9438", "linux"],
                "real numbers as in RFC 9438, or the integers of Linux; `profile`: `linux` in the profile linux, otherwise `rfc9438`"
            ),
            number(
                "hz",
                "1000",
                [100.0, 1000.0],
                "1/s",
                "with `arithmetic = \"linux\"`: frequency of the kernel's clock (CONFIG_HZ)",
            ),
        ],
        probes: &["w_max", "w_est", "k"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Cubic {
        let linux_profile = flow.arithmetic.growth == Growth::Counted;
        let slow_start = match params.choice("slow_start") {
            "profile" if linux_profile => "hystart",
            other => other,
        };
        let linux = match params.choice("arithmetic") {
            "profile" => linux_profile && !flow.arithmetic.rfc_variants,
            other => other == "linux",
        };
        let window = Window::new(flow).with_slow_start(SlowStart::named(slow_start, params));
        Cubic {
            linux: linux.then(|| Box::new(CubicLinux::new(constants(params)))),
            discarded: false,
            last_ack: None,
            c: params.number("c"),
            beta: params.number("beta"),
            fast_convergence: params.switch("fast_convergence"),
            reno_friendly: params.switch("reno_friendly"),
            // The RFC has real numbers; whole segments would cost a tenth of the rate at small windows.
            window: if linux { window } else { window.with_exact_reduction() },
            abe: flow.abe,
            srtt: Smoothed::new(0.125),
            w_max: 0.0,
            cwnd_prior: 0.0,
            epoch: None,
        }
    }
    const TUNABLE: &'static [&'static str] = &["c", "beta"];
    fn tune(&mut self, name: &str, value: f64) {
        match name {
            "c" => self.c = value,
            "beta" => self.beta = value,
            _ => {}
        }
        if let Some(linux) = &mut self.linux {
            linux.tune(linux_fraction(self.c), linux_fraction(self.beta));
        }
    }
}

/// A fraction in the units of Linux, 1/1024.
fn linux_fraction(value: f64) -> u64 {
    (value * 1024.0).round() as u64
}

/// The parameters in the units of Linux.
fn constants(params: &Params) -> Constants {
    Constants {
        hz: params.number("hz") as u64,
        beta: linux_fraction(params.number("beta")),
        scale: linux_fraction(params.number("c")),
        fast_convergence: params.switch("fast_convergence"),
        reno_friendly: params.switch("reno_friendly"),
    }
}

impl Cubic {
    /// Congestion avoidance by the rules of RFC 9438.
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
    fn needs(&self) -> Signals {
        if self.linux.is_some() { Signals::SAMPLES } else { Signals::NONE }
    }
    fn on_open(&mut self, now: Time) {
        if let Some(linux) = &mut self.linux {
            linux.on_open(now);
        }
    }
    fn on_sample(&mut self, sample: &Sample) {
        if let (Some(linux), Some(rtt)) = (&mut self.linux, sample.rtt) {
            self.discarded = !linux.on_rtt(sample.now, rtt);
        }
    }
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt.filter(|_| self.linux.is_none()) {
            self.srtt.update(rtt.seconds());
        }
        let counts = !std::mem::take(&mut self.discarded);
        let last = if ack.may_grow { self.last_ack.replace(ack.now) } else { None };
        let grows = self.window.on_ack_with(ack, counts);
        let left = if grows { self.window.slow_start_step(ack) } else { 0.0 };
        if left <= 0.0 {
            // Section 4.2: the time in which application or receiver limit the sender is not on the curve, nor is that in
            // which the window, lowered because it was not used, grows up to the threshold again.
            if let (Some(last), Some(epoch)) = (last, &mut self.epoch) {
                epoch.start = (epoch.start + ack.now.since(last)).min(ack.now);
            }
            return;
        }
        match &mut self.linux {
            Some(linux) => {
                let per = linux.segments_per_step(ack.now, self.window.cwnd as u64, left as u64);
                self.window.count(left, per as f64);
            }
            None => self.avoid(ack.now, left),
        }
    }
    fn on_congestion(&mut self, event: &Congestion) {
        if let Some(linux) = &mut self.linux {
            let abe = self.abe && event.cause == Cause::Ecn;
            let beta = if abe { BETA_ECN_LINUX } else { linux_fraction(self.beta) };
            let reduced = linux.reduce(event.window as u64, beta);
            self.window.reduce_to(reduced as f64);
            return;
        }
        self.remember(self.window.cwnd);
        // RFC 8511: beta is 0.85 for an ECN echo, if enabled.
        let keep = if self.abe && event.cause == Cause::Ecn { 0.85 } else { self.beta };
        self.window.reduce(event.window, keep);
        if event.cause == Cause::Ecn && event.window * keep < 2.0 && self.window.cwnd == 2.0 {
            self.window.set(1.0); // section 4.6: echoes reduce the window to one segment, losses to two
        }
    }
    fn on_rto(&mut self, event: &Timeout) {
        if let Some(linux) = &mut self.linux {
            if !event.repeated {
                let beta = linux_fraction(self.beta);
                self.window.reduce_to(linux.reduce(event.window as u64, beta) as f64);
            }
            linux.reset();
            self.window.restart();
            return;
        }
        if !event.repeated {
            self.remember(self.window.cwnd);
        }
        self.window.timeout(event, self.beta);
        // Section 4.8: the next avoidance stage starts from its own window, K = 0.
        self.w_max = 0.0;
        self.epoch = None;
    }
    fn on_recovery_exit(&mut self, _now: Time) {
        // Rapid Start knows only now what the path carries.
        if let Some(window) = self.window.recovered() {
            let reached = window / self.beta;
            (self.w_max, self.cwnd_prior, self.epoch) = (reached, reached, None);
            if let Some(linux) = &mut self.linux {
                linux.set_reached(reached as u64);
            }
        }
    }
    fn on_transmit_start(&mut self, event: &TransmitStart) {
        if let Some(linux) = &mut self.linux {
            linux.on_transmit_start(event.now, event.idle);
        } else if let Some(epoch) = &mut self.epoch {
            // Section 5.8: the curve continues where it was before the idle time.
            let sent = Time::from_ps(event.now.ps().saturating_sub(event.idle.ps()));
            // The ACKs of a limited time have moved the start already.
            let since = self.last_ack.map_or(sent, |last| last.max(sent));
            epoch.start = (epoch.start + event.now.since(since)).min(event.now);
            self.last_ack = Some(event.now);
        }
    }
    impl_window_accessors!(window);
    fn probe(&self, out: &mut [f64]) {
        if let Some(linux) = &self.linux {
            out[..3].copy_from_slice(&linux.probe());
            return;
        }
        out[0] = if self.w_max > 0.0 { self.w_max } else { f64::NAN };
        (out[1], out[2]) = self.epoch.as_ref().map_or((f64::NAN, f64::NAN), |e| (e.w_est, e.k));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parameters::ParamValue;
    use crate::testing::{ack, congestion, linux_flow, ns2_flow, timeout};

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
    fn a_reduction_is_no_whole_number() {
        let params =
            Params::new(Cubic::DESCRIPTOR.params, [("arithmetic", ParamValue::Word("rfc9438".into()))])
                .unwrap();
        let mut algorithm = Cubic::new(&params, &linux_flow(12.9, 5.0));
        algorithm.on_congestion(&congestion(12.9));
        assert_eq!((algorithm.cwnd(), algorithm.ssthresh()), (12.9 * 0.7, 12.9 * 0.7));
        algorithm.on_rto(&timeout(12.9, false));
        assert_eq!((algorithm.cwnd(), algorithm.ssthresh()), (1.0, 12.9 * 0.7));
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
