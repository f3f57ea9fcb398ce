//! Swift. Kumar et al., SIGCOMM 2020, section 3 and algorithm 1: the window keeps a target of delay, in data centres. Here is the
//! fabric's window; delays of the hosts are not modelled.
//!
//! The target is `base_target`, `hop_target` for each of `hops` links, and a part that shrinks with the window, so that many
//! flows with small windows get room: `a/sqrt(w) + b` between 0 and `scaling`, which it is at a window of 0.1, and 0 at 100.
//! Below the target each acknowledged segment adds `increase/w` (below one segment `increase`). Above it the window is
//! multiplied by `1 - beta (delay - target)/delay`, at least by `1 - most_decrease`, once in a round trip. A loss multiplies by
//! `1 - most_decrease`; so does a timeout, and the fifth in a row leaves the smallest window. A window below one segment is one
//! segment, paced at the window over the round-trip time.
//!
//! The constants are those of the paper for round-trip times of tens of microseconds, where it gives them, and those of the
//! specification elsewhere; a longer path needs another `base_target`. Ours: the number of links is a parameter, because a
//! sender does not know its path (Swift reads it from the TTL); the window grows only if it limits the sender; a timeout leaves
//! at most one segment; the smallest window is at least one segment in 25 ms, or a path with a long round-trip time would stop.
//! Delayed ACKs: a window of one segment has the delay of its ACK, 40 ms and more, in its samples, and falls to the smallest
//! window; set `delayed_ack = false`. docs/specs/controllers-2.md section 11. Status: draft.

use crate::descriptor::{Descriptor, Family, Status};
use crate::estimators::Smoothed;
use crate::pacing_rate::pacing_rate;
use crate::parameters::{Params, number};
use crate::window::impl_owned_window;
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Signals, Timeout};
use units::{Rate, Segments, Span, Time};

/// Smallest window, segments, and the longest time between two segments, which it is at a round-trip time of 25 us, seconds.
const LEAST_WINDOW: f64 = 0.001;
const MOST_WAIT: f64 = 0.025;
/// The windows at which the flow's part of the target is largest, and at which it is 0.
const SMALL: f64 = 0.1;
const LARGE: f64 = 100.0;
/// Timeouts in a row that leave the smallest window.
const TIMEOUTS: u32 = 5;
/// A rate that holds no packet back: ACKs clock a window of a segment or more. Bits a second.
const NOT_PACED: f64 = 1e13;

/// A window that keeps a delay.
#[derive(Clone, Debug)]
pub struct Swift {
    cwnd: Segments,
    max_window: Segments,
    segment_bits: f64,
    /// The target without the part of the flow, and the largest part of the flow, seconds.
    target: f64,
    scaling: f64,
    increase: f64,
    beta: f64,
    most_decrease: f64,
    rtt: Smoothed,
    /// When the window was reduced last.
    reduced: Option<Time>,
    timeouts: u32,
    before: Segments,
    delay: f64,
}

impl Algorithm for Swift {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "swift",
        summary: "keeps a target of delay that depends on the path and on the window",
        source: "Kumar et al., SIGCOMM 2020",
        family: Family::DataCentre,
        status: Status::Draft,
        params: &[
            number("base_target", "25e-6", [1e-6, 100.0], "s", "target of an empty path without links"),
            number("hop_target", "1e-6", [0.0, 1.0], "s", "addition for each link of the path"),
            number(
                "hops",
                "0",
                [0.0, 255.0],
                "links",
                "links of the path; 0: those that the sender knows, or 4",
            ),
            number(
                "scaling",
                "100e-6",
                [0.0, 100.0],
                "s",
                "largest addition for flows with small windows (fs_range)",
            ),
            number("increase", "1", [0.001, 1e4], "segments", "growth in a round trip below the target (ai)"),
            number(
                "beta",
                "0.8",
                [0.01, 1.0],
                "",
                "part of the relative excess of the delay that the window gives up",
            ),
            number(
                "most_decrease",
                "0.5",
                [0.01, 0.99],
                "",
                "largest part that the window gives up at once (max_mdf)",
            ),
        ],
        probes: &["target", "delay", "window"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Swift {
        let hops = match (params.number("hops"), flow.hops) {
            (0.0, 0) => 4.0,
            (0.0, links) => f64::from(links),
            (hops, _) => hops,
        };
        Swift {
            cwnd: flow.initial_window,
            max_window: flow.max_window,
            segment_bits: f64::from(flow.packet) * 8.0,
            target: params.number("base_target") + hops * params.number("hop_target"),
            scaling: params.number("scaling"),
            increase: params.number("increase"),
            beta: params.number("beta"),
            most_decrease: params.number("most_decrease"),
            rtt: Smoothed::new(0.125),
            reduced: None,
            timeouts: 0,
            before: 0.0,
            delay: f64::NAN,
        }
    }
    tunable! { "scaling" => scaling, "increase" => increase, "beta" => beta }
}

impl Swift {
    /// The target of the delay, s.
    fn target(&self) -> f64 {
        let a = self.scaling / (1.0 / SMALL.sqrt() - 1.0 / LARGE.sqrt());
        let part = a / self.cwnd.sqrt() - a / LARGE.sqrt();
        self.target + part.clamp(0.0, self.scaling)
    }

    /// A delay, s, reported by an ACK of `acked` segments.
    fn sample(&mut self, now: Time, delay: f64, acked: f64, may_grow: bool) {
        let target = self.target();
        self.delay = delay;
        if delay >= target {
            let factor = 1.0 - self.beta * (delay - target) / delay;
            self.reduce(now, factor.max(1.0 - self.most_decrease));
        } else if may_grow {
            let each = if self.cwnd >= 1.0 { self.increase / self.cwnd } else { self.increase };
            self.set_window(self.cwnd + each * acked);
        }
    }

    /// Multiplies the window by `factor`, if the last reduction was at least a round trip ago.
    fn reduce(&mut self, now: Time, factor: f64) {
        let rtt = Span::from_seconds(self.rtt.get().unwrap_or(0.0));
        if self.reduced.is_none_or(|at| now.since(at) >= rtt) {
            self.cwnd = (self.cwnd * factor).max(self.least_window());
            self.reduced = Some(now);
        }
    }

    /// The smallest window, segments: at least one segment in `MOST_WAIT`, also on a long path.
    fn least_window(&self) -> f64 {
        LEAST_WINDOW.max(self.rtt.get().unwrap_or(0.0) / MOST_WAIT).min(1.0)
    }
}

impl Controller for Swift {
    fn needs(&self) -> Signals {
        Signals::PACING.and(Signals::SEGMENT_COUNTS)
    }
    fn on_ack(&mut self, ack: &Ack) {
        if ack.newly_delivered > 0 {
            self.timeouts = 0;
        }
        if let Some(rtt) = ack.rtt {
            self.rtt.update(rtt.seconds());
            self.sample(ack.now, rtt.seconds(), f64::from(ack.newly_delivered), ack.window_limited);
        }
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.before = self.cwnd;
        self.reduce(event.now, 1.0 - self.most_decrease);
    }
    fn on_rto(&mut self, event: &Timeout) {
        if !event.repeated {
            self.before = self.cwnd;
        }
        self.timeouts += 1;
        if self.timeouts >= TIMEOUTS {
            (self.cwnd, self.reduced) = (self.least_window(), Some(event.now));
        } else {
            self.reduce(event.now, 1.0 - self.most_decrease);
            self.cwnd = self.cwnd.min(1.0);
        }
    }
    fn on_undo(&mut self, _now: Time) {
        self.cwnd = self.cwnd.max(self.before);
    }
    impl_owned_window!(cwnd, max_window);
    fn pacing(&self) -> Option<Rate> {
        let rtt = self.rtt.get()?;
        pacing_rate(if self.cwnd < 1.0 { self.cwnd * self.segment_bits / rtt } else { NOT_PACED })
    }
    fn probe(&self, out: &mut [f64]) {
        (out[0], out[1], out[2]) = (self.target(), self.delay, self.cwnd);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::linux_flow;

    /// With a path of five links.
    fn swift(cwnd: Segments) -> Swift {
        let params =
            Params::new(Swift::DESCRIPTOR.params, [("hops", crate::ParamValue::Number(5.0))]).unwrap();
        Swift { cwnd, ..Swift::new(&params, &linux_flow(10.0, f64::INFINITY)) }
    }

    #[test]
    fn targets_of_the_model() {
        for (cwnd, us) in [(0.1, 130.0), (1.0, 59.389_889), (4.0, 43.062_173), (100.0, 30.0)] {
            assert!((swift(cwnd).target() * 1e6 - us).abs() < 1e-6, "{cwnd}: {}", swift(cwnd).target() * 1e6);
        }
    }

    #[test]
    fn windows_of_the_model() {
        for (us, window) in [(20.0, 10.1), (40.0, 9.412_202), (100.0, 5.0)] {
            let mut swift = swift(10.0);
            swift.sample(Time::ZERO, us * 1e-6, 1.0, true);
            assert!((swift.cwnd - window).abs() < 1e-6, "{us}: {}", swift.cwnd);
        }
    }

    #[test]
    fn a_window_below_a_segment_is_paced() {
        let mut swift = swift(0.5);
        swift.rtt.update(100e-6);
        assert_eq!((swift.cwnd(), swift.pacing()), (1.0, Some(Rate::from_bps(40_000_000)))); // 1,000 bytes in 200 us
        swift.cwnd = 2.0;
        assert_eq!(swift.pacing(), Some(Rate::from_bps(NOT_PACED as u64)));
    }
}
