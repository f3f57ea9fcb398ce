//! Copa. Arun and Balakrishnan, NSDI 2018: the window moves towards the rate `1/(delta dq)`, where `dq` is the queueing delay,
//! and the queue of a flow stays at about `1/delta` segments. A flow that never sees an empty queue has a rival that fills
//! buffers: then `1/delta` grows by one a round trip without loss and halves with one.
//!
//! `dq` is the smallest round-trip time of half a smoothed round trip (`standing`) less that of ten seconds. Packets are paced
//! at twice the window over `standing`. Differences from the paper: an ACK against the recorded direction resets a velocity
//! above 1 (as mvfst); `velocity_bound`: a window changes by at most its size in a round trip (as genericCC); a timeout counts
//! as a loss and restarts with the smallest window (as mvfst at persistent congestion), and one that was spurious restores it;
//! the window grows only if it limits the sender. An ECN echo counts as a loss: it changes delta in the competitive mode only.
//! docs/specs/controllers-2.md section 1. Status: draft.

use crate::descriptor::{Descriptor, Family, Status};
use crate::estimators::{ExtremeOver, Smoothed};
use crate::pacing_rate::pacing_rate;
use crate::parameters::{Params, choice, number, switch};
use crate::window::impl_owned_window;
use crate::{Ack, Algorithm, Congestion, Controller, EcnResponse, FlowInfo, Signals, Timeout};
use units::{Rate, Segments, Span, Time};

/// Smallest window, segments.
const LEAST: f64 = 2.0;
/// The queue is nearly empty if it is below this part of the largest delay.
const NEARLY_EMPTY: f64 = 0.1;
/// The largest delay is that of so many round trips.
const MOST_ROUNDS: f64 = 4.0;
/// Round trips without an empty queue after which a rival is assumed.
const RIVAL_ROUNDS: f64 = 5.0;
/// Equal directions before the velocity doubles.
const EQUAL_DIRECTIONS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Auto,
    Default,
    Competitive,
}

/// The window and what decides its direction.
#[derive(Clone, Debug)]
pub struct Copa {
    cwnd: Segments,
    max_window: Segments,
    segment_bits: f64,
    mode: Mode,
    default_delta: f64,
    delta: f64,
    velocity_bound: bool,
    velocity: f64,
    /// The direction of the last round trip, and how often it was the same.
    up: Option<bool>,
    same: u32,
    /// Time and window at the last decision on the direction.
    mark: Option<(Time, Segments)>,
    slow_start: bool,
    doubled: Option<Time>,
    srtt: Smoothed,
    standing: ExtremeOver,
    least: ExtremeOver,
    largest: ExtremeOver,
    min_rtt_window: Span,
    /// Part of the smoothed round-trip time over which the smallest sample counts.
    standing_part: f64,
    rtt_standing: f64,
    rtt_min: f64,
    empty_at: Option<Time>,
    delta_at: Option<Time>,
    competitive: bool,
    lost: bool,
    /// The window before the last timeout.
    before: Segments,
}

impl Algorithm for Copa {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "copa",
        summary: "moves towards the rate 1/(delta * queueing delay); competes where a rival fills the buffer",
        source: "Arun and Balakrishnan, NSDI 2018",
        family: Family::Delay,
        status: Status::Draft,
        params: &[
            number(
                "delta",
                "0.5",
                [0.001, 10.0],
                "1/segments",
                "the queue of a flow is about 1/delta segments",
            ),
            choice!(
                "mode",
                ["auto", "default", "competitive"],
                "whether the flow competes with rivals that fill buffers: if it sees none with an empty queue, never, always"
            ),
            number(
                "min_rtt_window",
                "10",
                [0.1, 1000.0],
                "s",
                "the smallest round-trip time is that of this time",
            ),
            choice!(
                "standing",
                ["half", "whole"],
                "the round-trip time is the smallest one of half a smoothed round trip, or of a whole one"
            ),
            switch("velocity_bound", true, "the window changes by at most its size in a round trip"),
        ],
        probes: &["delta", "velocity", "competitive", "queueing_delay"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Copa {
        let delta = params.number("delta");
        Copa {
            cwnd: flow.initial_window,
            max_window: flow.max_window,
            segment_bits: flow.packet as f64 * 8.0,
            mode: match params.choice("mode") {
                "default" => Mode::Default,
                "competitive" => Mode::Competitive,
                _ => Mode::Auto,
            },
            default_delta: delta,
            delta,
            velocity_bound: params.switch("velocity_bound"),
            velocity: 1.0,
            up: None,
            same: 0,
            mark: None,
            slow_start: true,
            doubled: None,
            srtt: Smoothed::new(0.125),
            standing: ExtremeOver::least(),
            least: ExtremeOver::least(),
            largest: ExtremeOver::largest(),
            min_rtt_window: Span::from_seconds(params.number("min_rtt_window")),
            standing_part: if params.choice("standing") == "whole" { 1.0 } else { 0.5 },
            rtt_standing: f64::NAN,
            rtt_min: f64::NAN,
            empty_at: None,
            delta_at: None,
            competitive: false,
            lost: false,
            before: 0.0,
        }
    }
    tunable! { "delta" => default_delta }
}

impl Copa {
    /// The queueing delay, seconds.
    fn queueing(&self) -> f64 {
        (self.rtt_standing - self.rtt_min).max(0.0)
    }

    /// Whether a rival fills the buffer, and delta.
    fn compete(&mut self, now: Time, rtt: f64, srtt: f64) {
        let rtt_max = self.largest.add(now, rtt, Span::from_seconds(MOST_ROUNDS * srtt));
        if self.queueing() < NEARLY_EMPTY * (rtt_max - self.rtt_min) || rtt_max == self.rtt_min {
            self.empty_at = Some(now);
        }
        let empty = *self.empty_at.get_or_insert(now);
        let before = self.competitive;
        self.competitive = match self.mode {
            Mode::Auto => now.since(empty).seconds() > RIVAL_ROUNDS * srtt,
            mode => mode == Mode::Competitive,
        };
        if !self.competitive {
            (self.delta, self.delta_at) = (self.default_delta, Some(now));
            return;
        }
        if !before || self.delta_at.is_none() {
            (self.delta, self.delta_at, self.lost) = (self.default_delta, Some(now), false);
        }
        if self.delta_at.is_some_and(|at| now.since(at).seconds() >= srtt) {
            let inverse = 1.0 / self.delta;
            let inverse = if self.lost { inverse / 2.0 } else { inverse + 1.0 };
            (self.delta, self.delta_at, self.lost) =
                ((1.0 / inverse).min(self.default_delta), Some(now), false);
        }
    }

    /// Once a round trip: the direction of the window, and the velocity.
    fn turn(&mut self, now: Time, srtt: f64) {
        let Some((at, cwnd)) = self.mark else {
            self.mark = Some((now, self.cwnd));
            return;
        };
        if now.since(at).seconds() < srtt {
            return;
        }
        let up = Some(self.cwnd > cwnd);
        if up == self.up {
            self.same += 1;
            if self.same >= EQUAL_DIRECTIONS {
                self.velocity *= 2.0;
            }
        } else {
            (self.velocity, self.same) = (1.0, 0);
        }
        (self.up, self.mark) = (up, Some((now, self.cwnd)));
    }

    /// A sample of the round-trip time with `acked` acknowledged segments. `may_grow`: the window limits the sender.
    fn sample(&mut self, now: Time, rtt: f64, acked: f64, may_grow: bool) {
        let srtt = self.srtt.update(rtt);
        self.rtt_standing = self.standing.add(now, rtt, Span::from_seconds(self.standing_part * srtt));
        self.rtt_min = self.least.add(now, rtt, self.min_rtt_window);
        self.compete(now, rtt, srtt);
        // The rate 1/(delta dq) is infinite on an empty queue.
        let grow = self.cwnd * self.delta * self.queueing() <= self.rtt_standing;
        if self.slow_start && grow {
            let due = self.doubled.is_some_and(|at| now.since(at).seconds() >= srtt);
            if due && may_grow {
                self.set_window(2.0 * self.cwnd);
            }
            if due || self.doubled.is_none() {
                self.doubled = Some(now);
            }
            return;
        }
        self.slow_start = false;
        self.turn(now, srtt);
        if self.velocity > 1.0 && self.up.is_some_and(|up| up != grow) {
            (self.velocity, self.same, self.up, self.mark) = (1.0, 0, Some(grow), Some((now, self.cwnd)));
        }
        let bound = if self.velocity_bound { (self.cwnd * self.delta).max(1.0) } else { f64::INFINITY };
        let step = acked * self.velocity.min(bound) / (self.delta * self.cwnd);
        if !grow {
            self.cwnd = (self.cwnd - step).max(LEAST);
        } else if may_grow {
            self.set_window(self.cwnd + step);
        }
    }
}

impl Controller for Copa {
    fn needs(&self) -> Signals {
        Signals::PACING.and(Signals::SEGMENT_COUNTS)
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.lost |= ack.ece;
        if let Some(rtt) = ack.rtt {
            self.sample(ack.now, rtt.seconds(), f64::from(ack.newly_delivered), ack.window_limited);
        }
    }
    fn on_congestion(&mut self, _event: &Congestion) {
        self.lost = true;
    }
    fn ecn_response(&self) -> EcnResponse {
        EcnResponse::CwrOnly
    }
    fn on_rto(&mut self, event: &Timeout) {
        if !event.repeated {
            self.before = self.cwnd;
        }
        (self.cwnd, self.velocity, self.same, self.slow_start) = (LEAST, 1.0, 0, false);
        self.lost = true;
    }
    fn on_undo(&mut self, _now: Time) {
        self.cwnd = self.cwnd.max(self.before);
    }
    impl_owned_window!(cwnd, max_window);
    fn pacing(&self) -> Option<Rate> {
        pacing_rate(2.0 * self.cwnd / self.rtt_standing * self.segment_bits)
    }
    fn probe(&self, out: &mut [f64]) {
        (out[0], out[1]) = (self.delta, self.velocity);
        (out[2], out[3]) = (f64::from(u8::from(self.competitive)), self.queueing());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::linux_flow;

    fn copa() -> Copa {
        Copa::new(&Params::new(Copa::DESCRIPTOR.params, []).unwrap(), &linux_flow(100.0, f64::INFINITY))
    }
    fn at(s: f64) -> Time {
        Time::ZERO + Span::from_seconds(s)
    }

    #[test]
    fn the_window_moves_towards_the_target() {
        for (standing, cwnd, pacing) in [(0.104, 99.98, 1922.7), (0.101, 100.02, 1980.6)] {
            let mut controller = copa();
            controller.slow_start = false;
            controller.sample(at(1.0), 0.1, 0.0, true);
            controller.sample(at(1.2), standing, 1.0, true);
            assert!((controller.cwnd - cwnd).abs() < 1e-9, "{standing}: {}", controller.cwnd);
            let rate = 2.0 * controller.cwnd / controller.rtt_standing;
            assert!((rate - pacing).abs() < 0.1, "{standing}: {rate}");
        }
    }

    #[test]
    fn the_velocity_doubles_from_the_third_equal_direction() {
        let mut controller = copa();
        let mut velocities = Vec::new();
        for n in 0..8 {
            controller.cwnd += 1.0;
            controller.turn(at(0.101 * n as f64), 0.1);
            velocities.push(controller.velocity);
        }
        assert_eq!(velocities, [1.0, 1.0, 1.0, 1.0, 2.0, 4.0, 8.0, 16.0]);
        controller.cwnd -= 5.0;
        controller.turn(at(0.9), 0.1);
        assert_eq!((controller.velocity, controller.up), (1.0, Some(false)));
    }

    #[test]
    fn delta_competes_with_a_rival_that_fills_the_buffer() {
        let mut controller = copa();
        (controller.rtt_min, controller.rtt_standing) = (0.1, 0.15);
        let mut inverses = Vec::new();
        for k in 0..14 {
            controller.lost |= k == 11;
            controller.compete(at(0.1 * k as f64 + 1e-9 * k as f64), 0.2 + 1e-6 * (k % 2) as f64, 0.1);
            inverses.push((1e6 / controller.delta).round() / 1e6);
        }
        assert_eq!(inverses, [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 3.5, 4.5, 5.5]);
    }
}
