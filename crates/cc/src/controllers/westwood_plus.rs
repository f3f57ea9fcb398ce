//! Westwood+. Grieco and Mascolo, ACM CCR 34(2), 2004: Westwood with one bandwidth sample per round trip, which ACK
//! compression does not inflate.
//!
//! Variants (docs/specs/westwood.md section 4):
//! - `paper` (default): a sample is the data acknowledged in a round over the length of the round,
//!   `B = 0.9 B + 0.05 (b + b_prev)`. A loss sets window and threshold to `B RTTmin`.
//! - `linux`: intervals of at least a round-trip time and 50 ms, two averages in series with gain 1/8 in whole bytes per
//!   millisecond, the smallest round-trip time in milliseconds (reset after a timeout). A loss halves the window, the end of
//!   recovery sets window and threshold to `B RTTmin`, a timeout sets the threshold (linux/westwood.rs).
//! - `ns2`: the older module in ns-2's TCP/Linux, with the smoothed round-trip time, which reads the window at the start of
//!   recovery. A loss halves the threshold and sets the window to `B RTTmin`; the window after recovery is at least the
//!   threshold.
//!
//! Status: draft; the variant `linux` equals the module of Linux.

use crate::controllers::linux::{self, Linux};
use crate::descriptor::{Descriptor, Family, Status};
use crate::detmath;
use crate::estimators::{DupAckAccounting, MinRtt, Round, Smoothed};
use crate::parameters::{Params, choice};
use crate::slow_start::SlowStart;
use crate::window::{Window, impl_window_accessors};
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Timeout};
use units::{Segments, Span, Time};

controller_variants! {
    /// Sets the window by one bandwidth sample a round trip.
    WestwoodPlus {
        /// The paper, or ns-2's TCP/Linux.
        Filtered(Filtered),
        /// The module of Linux.
        Linux(Linux<linux::Westwood>),
    }
}

/// Westwood+ of the paper, and as in ns-2's TCP/Linux.
#[derive(Clone, Debug)]
pub struct Filtered {
    /// As in ns-2's TCP/Linux.
    ns2: bool,
    window: Window,
    credit: DupAckAccounting,
    packet: u64,
    round: Round,
    /// Start of the current sample, and the bytes acknowledged in it.
    began: Time,
    acked: u64,
    smoothed: Smoothed,
    rtt_min: MinRtt,
    reset_rtt_min: bool,
    /// The last sample, and the estimate, bit/s (`ns2`: bytes a millisecond, whole).
    sample: f64,
    estimate: f64,
    /// The first of ns-2's two averages.
    inner: f64,
    sampled: bool,
}

/// The shortest interval of a sample in ns-2.
const SHORTEST: Span = Span::from_ms(50);

impl Algorithm for WestwoodPlus {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "westwood_plus",
        summary: "Westwood with one bandwidth sample per round trip",
        source: "Grieco and Mascolo, ACM CCR 34(2), 2004; variant of Linux",
        family: Family::Loss,
        status: Status::Draft,
        params: &[
            crate::slow_start::PARAM,
            crate::slow_start::EXIT,
            crate::slow_start::VARIANT,
            choice!(
                "variant",
                ["paper", "linux", "ns2"],
                "variant of the filter, and of the time at which the window is set"
            ),
        ],
        probes: &["bwe", "sample", "rtt_min"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> WestwoodPlus {
        if params.choice("variant") == "linux" {
            return WestwoodPlus::Linux(Linux::new(linux::Westwood::new(flow.packet), params, flow));
        }
        let ns2 = params.choice("variant") == "ns2";
        WestwoodPlus::Filtered(Filtered {
            ns2,
            window: Window::new(flow).with_slow_start(SlowStart::from_params(params)),
            credit: if ns2 { DupAckAccounting::linux() } else { DupAckAccounting::new(u32::MAX) },
            packet: flow.packet as u64,
            round: Round::default(),
            began: Time::ZERO,
            acked: 0,
            smoothed: Smoothed::new(0.125),
            rtt_min: MinRtt::default(),
            reset_rtt_min: false,
            sample: 0.0,
            estimate: 0.0,
            inner: 0.0,
            sampled: false,
        })
    }
}

impl Filtered {
    /// The estimate, bit/s.
    fn bandwidth(&self) -> f64 {
        if self.ns2 { self.estimate * 8000.0 } else { self.estimate }
    }

    fn fair(&self) -> Option<Segments> {
        let rtt = self.rtt_min.get().filter(|_| self.sampled)?;
        if self.ns2 {
            let ms = rtt.ps() / 1_000_000_000;
            return Some(((self.estimate as u64 * ms / self.packet) as f64).max(2.0));
        }
        Some(detmath::floor(self.estimate * rtt.seconds() / (self.packet as f64 * 8.0)).max(2.0))
    }

    fn take_rtt(&mut self, rtt: Span) {
        let smoothed = Span::from_seconds(self.smoothed.update(rtt.seconds()));
        let seen = if self.ns2 { smoothed } else { rtt };
        if std::mem::take(&mut self.reset_rtt_min) {
            self.rtt_min.set(seen);
        }
        self.rtt_min.update(seen);
    }

    fn sample_paper(&mut self, ack: &Ack) {
        let ended = ack.newly_acked > 0 && self.round.closed_by(ack.acked_through, ack.next).is_some();
        let length = ack.now.since(self.began).seconds();
        if ended && length > 0.0 {
            let sample = std::mem::take(&mut self.acked) as f64 * 8.0 / length;
            self.estimate = 0.9 * self.estimate + 0.05 * (sample + self.sample);
            self.sample = sample;
            self.sampled = true;
            self.began = ack.now;
        }
    }

    fn sample_ns2(&mut self, now: Time) {
        let Some(srtt) = self.smoothed.get() else { return };
        let length = now.since(self.began);
        if length <= Span::from_seconds(srtt).max(SHORTEST) {
            return;
        }
        let ms = (length.ps() / 1_000_000_000).max(1);
        let sample = std::mem::take(&mut self.acked) / ms;
        self.average(sample as f64);
        self.began = now;
    }

    /// The two averages with gain 1/8, in whole numbers.
    fn average(&mut self, sample: f64) {
        if self.sampled {
            self.inner = detmath::floor((7.0 * self.inner + sample) / 8.0);
            self.estimate = detmath::floor((7.0 * self.estimate + self.inner) / 8.0);
        } else {
            (self.inner, self.estimate, self.sampled) = (sample, sample, true);
        }
        self.sample = sample * 8000.0;
    }
}

impl Controller for Filtered {
    fn on_open(&mut self, now: Time) {
        self.began = now;
    }

    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.take_rtt(rtt);
        }
        self.acked += self.credit.acked_count(ack.newly_acked) as u64 * self.packet;
        if self.ns2 {
            self.sample_ns2(ack.now);
        } else {
            self.sample_paper(ack);
        }
        if self.window.on_ack(ack) {
            self.window.grow(ack);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        match self.fair().filter(|_| !self.ns2) {
            Some(fair) => {
                self.window.ssthresh = fair;
                self.window.set(self.window.cwnd.min(fair));
            }
            None => self.window.reduce(event.window, 0.5),
        }
        if let Some(fair) = self.fair().filter(|_| self.ns2) {
            self.window.set(fair);
        }
    }

    fn on_recovery_exit(&mut self, _now: Time) {
        if self.ns2 {
            self.window.set(self.window.cwnd.max(self.window.ssthresh));
        }
    }

    fn on_rto(&mut self, event: &Timeout) {
        self.window.timeout(event, 0.5);
        if let Some(fair) = self.fair() {
            self.window.ssthresh = fair;
        }
        self.reset_rtt_min = self.ns2;
    }

    impl_window_accessors!(window);
    fn probe(&self, out: &mut [f64]) {
        out[0] = self.bandwidth();
        out[1] = self.sample;
        out[2] = self.rtt_min.get().map_or(f64::NAN, Span::seconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParamValue;
    use crate::testing::{ack, linux_flow, ns2_flow};

    fn algorithm(variant: &str, flow: &FlowInfo) -> Filtered {
        let values = [("variant", ParamValue::Word(variant.into()))];
        let params = Params::new(WestwoodPlus::DESCRIPTOR.params, values).unwrap();
        let WestwoodPlus::Filtered(algorithm) = WestwoodPlus::new(&params, flow) else {
            panic!("the module of Linux has its own tests");
        };
        algorithm
    }

    #[test]
    fn the_module_inside_ns2() {
        let mut algorithm = algorithm("ns2", &linux_flow(10.0, 5.0));
        algorithm.rtt_min.set(Span::from_ms(100));
        algorithm.average(100.0);
        algorithm.on_congestion(&crate::testing::congestion(30.0));
        assert_eq!((algorithm.cwnd(), algorithm.ssthresh()), (10.0, 15.0));
        algorithm.on_recovery_exit(Time::ZERO);
        assert_eq!((algorithm.cwnd(), algorithm.ssthresh()), (15.0, 15.0));
    }

    #[test]
    fn one_sample_a_round() {
        let mut algorithm = algorithm("paper", &ns2_flow(10.0, 2.0));
        algorithm.on_open(Time::ZERO);
        // Ten segments a round of 100 ms, all ACKs at once at its end: 800 kb/s all the same.
        for round in 1..200u64 {
            for i in 0..10 {
                let now = Time::ZERO + Span::from_ps(round * 100_000_000_000 + i);
                let through = 10 * (round - 1) + i;
                algorithm.on_ack(&Ack {
                    now,
                    rtt: Some(Span::from_ms(100)),
                    acked_through: through,
                    next: through + 10,
                    ..ack(1)
                });
            }
        }
        assert!((algorithm.bandwidth() - 8e5).abs() < 1e4, "{}", algorithm.bandwidth());
        assert!((9.0..=10.0).contains(&algorithm.fair().unwrap()));
    }
}
