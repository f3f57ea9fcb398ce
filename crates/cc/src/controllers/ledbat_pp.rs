//! LEDBAT++. draft-irtf-iccrg-ledbat-plus-plus: LEDBAT on round-trip times, slower than Reno on short paths, with a
//! multiplicative decrease above the target and slowdowns in which the base delay can be measured.
//!
//! For each acknowledged segment the window grows by `GAIN/cwnd`, `GAIN = 1/min(16, ceil(2 target/base))`; above the target it
//! changes by `max(GAIN - cwnd (q/target - 1), -cwnd/2)/cwnd`. A slowdown sets two segments for two round trips and then
//! returns by slow start; the next one comes after nine times its duration. Readings: a loss in a slowdown halves the window to
//! which it returns (the draft's wording is not known); a slowdown that is due while the application limits the flow, or at the
//! smallest window, is put off; an idle time of four round trips ends a slowdown and sets two segments; the window stays in
//! recovery. docs/specs/controllers-2.md section 4. Status: draft.

use crate::descriptor::{Descriptor, Family, Status};
use crate::detmath;
use crate::estimators::{QueueingDelay, Smoothed};
use crate::parameters::{Params, number};
use crate::window::impl_owned_window;
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Signals, Timeout, TransmitStart};
use units::{Segments, Span, Time};

/// Smallest window, segments.
const LEAST: f64 = 2.0;
/// Smoothed round trips that a slowdown holds the smallest window, and after the first slow start before the first slowdown.
const FREEZE: f64 = 2.0;
/// A slowdown comes after so many times the duration of the last one.
const RATIO: f64 = 9.0;
/// Part of the target at which the first slow start ends.
const FIRST_PART: f64 = 0.75;
/// Smoothed round trips without a transmission that end a slowdown.
const IDLE: f64 = 4.0;
/// Minutes of the base delay.
const HISTORY: usize = 10;
/// The round-trip time is the smallest of so many samples.
const FILTER: usize = 4;

/// A window that keeps a queueing delay and yields.
#[derive(Clone, Debug)]
pub struct LedbatPp {
    cwnd: Segments,
    ssthresh: Segments,
    max_window: Segments,
    target: f64,
    delays: QueueingDelay,
    srtt: Smoothed,
    base_rtt: f64,
    queueing: f64,
    /// Whether the first slow start lasts.
    initial: bool,
    /// When the next slowdown is due.
    slowdown_at: Option<Time>,
    /// When the present slowdown began.
    began: Option<Time>,
    frozen_until: Time,
    /// Window and threshold that a spurious reduction restores.
    before: Option<(Segments, Segments)>,
}

impl Algorithm for LedbatPp {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "ledbat_pp",
        summary: "LEDBAT on round-trip times, with multiplicative decrease and slowdowns",
        source: "draft-irtf-iccrg-ledbat-plus-plus-01 (2020)",
        family: Family::Background,
        status: Status::Draft,
        params: &[number("target", "0.06", [0.001, 10.0], "s", "queueing delay that the flow keeps")],
        probes: &["queueing_delay"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> LedbatPp {
        LedbatPp {
            cwnd: flow.initial_window,
            ssthresh: f64::INFINITY,
            max_window: flow.max_window,
            target: params.number("target"),
            delays: QueueingDelay::new(HISTORY, FILTER),
            srtt: Smoothed::new(0.125),
            base_rtt: f64::NAN,
            queueing: 0.0,
            initial: true,
            slowdown_at: None,
            began: None,
            frozen_until: Time::ZERO,
            before: None,
        }
    }
}

/// 1/GAIN for a base round-trip time.
fn divisor(target: f64, base: f64) -> f64 {
    detmath::ceil(2.0 * target / base - 1e-9).clamp(1.0, 16.0)
}

/// The change of a window for one acknowledged segment in congestion avoidance.
fn change(cwnd: Segments, queueing: f64, target: f64, base: f64) -> Segments {
    let gain = 1.0 / divisor(target, base);
    if queueing <= target {
        return gain / cwnd;
    }
    (gain - cwnd * (queueing / target - 1.0)).max(-cwnd / 2.0) / cwnd
}

impl LedbatPp {
    fn round_trips(&self, count: f64) -> Span {
        Span::from_seconds(count * self.srtt.get().unwrap_or(0.0))
    }

    /// A slow start ended at `now`: the time of the next slowdown.
    fn ramped(&mut self, now: Time) {
        self.initial = false;
        if let Some(began) = self.began.take() {
            self.slowdown_at = Some(now + Span::from_seconds(RATIO * now.since(began).seconds()));
        } else if self.slowdown_at.is_none() {
            self.slowdown_at = Some(now + self.round_trips(FREEZE));
        }
    }

    /// Begins a slowdown if one is due. Returns whether the window is decided.
    fn slow_down(&mut self, now: Time, limited: bool) -> bool {
        if now < self.frozen_until {
            self.cwnd = LEAST;
            return true;
        }
        if self.slowdown_at.is_none_or(|at| now < at) {
            return false;
        }
        if !limited || self.cwnd <= LEAST {
            self.slowdown_at = Some(now + self.round_trips(FREEZE * RATIO));
            return false;
        }
        (self.ssthresh, self.cwnd, self.began, self.slowdown_at) = (self.cwnd, LEAST, Some(now), None);
        self.frozen_until = now + self.round_trips(FREEZE);
        true
    }

    /// One acknowledged segment.
    fn step(&mut self, now: Time, limited: bool) {
        if self.cwnd < self.ssthresh {
            let part = if self.initial { FIRST_PART } else { 1.0 };
            if self.queueing > part * self.target {
                self.ssthresh = self.cwnd;
                self.ramped(now);
            } else {
                if limited {
                    self.set_window(self.cwnd + 1.0 / divisor(self.target, self.base_rtt));
                }
                if self.cwnd >= self.ssthresh {
                    self.cwnd = self.ssthresh;
                    self.ramped(now);
                }
                return;
            }
        } else if self.began.is_some() {
            self.ramped(now);
        }
        let change = change(self.cwnd, self.queueing, self.target, self.base_rtt);
        if change < 0.0 || limited {
            self.set_window((self.cwnd + change).max(LEAST));
        }
        if self.queueing > self.target {
            self.ssthresh = self.ssthresh.min(self.cwnd);
        }
    }
}

impl Controller for LedbatPp {
    fn needs(&self) -> Signals {
        Signals::SEGMENT_COUNTS
    }
    fn initial_window(&self) -> Option<Segments> {
        Some(LEAST)
    }
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.seconds();
            (self.base_rtt, self.queueing) = self.delays.add(ack.now, rtt);
            self.srtt.update(rtt);
        }
        if self.base_rtt.is_nan() || !ack.may_grow || self.slow_down(ack.now, ack.window_limited) {
            return;
        }
        for _ in 0..ack.newly_delivered {
            self.step(ack.now, ack.window_limited);
        }
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.before = Some((self.cwnd, self.ssthresh));
        if self.began.is_some() {
            // In a slowdown: what it returns to halves.
            self.ssthresh = (self.ssthresh / 2.0).max(LEAST);
            return;
        }
        self.cwnd = (self.cwnd / 2.0).max(LEAST);
        self.ssthresh = self.cwnd;
        if self.initial || self.slowdown_at.is_none() {
            self.ramped(event.now);
        }
    }
    fn on_rto(&mut self, event: &Timeout) {
        if !event.repeated {
            self.before = Some((self.cwnd, self.ssthresh));
            let used = if self.began.is_some() { self.cwnd.max(self.ssthresh) } else { self.cwnd };
            self.ssthresh = (used / 2.0).max(LEAST);
        }
        (self.cwnd, self.frozen_until, self.began) = (1.0, Time::ZERO, None);
        self.ramped(event.now);
    }
    fn on_undo(&mut self, _now: Time) {
        if let Some((cwnd, ssthresh)) = self.before.take() {
            (self.cwnd, self.ssthresh) = (self.cwnd.max(cwnd), ssthresh);
        }
    }
    fn on_transmit_start(&mut self, event: &TransmitStart) {
        // An idle time empties the queue by itself.
        if event.idle > self.round_trips(IDLE) {
            (self.cwnd, self.began, self.slowdown_at, self.frozen_until) = (LEAST, None, None, Time::ZERO);
        }
    }
    impl_owned_window!(cwnd, max_window, ssthresh);
    fn probe(&self, out: &mut [f64]) {
        out[0] = self.queueing;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_steps() {
        assert_eq!(
            [0.005, 0.02, 0.05, 0.12, 0.3].map(|base| divisor(0.06, base)),
            [16.0, 6.0, 3.0, 1.0, 1.0]
        );
        for (ms, expected) in
            [(30.0, 1.0 / 60.0), (60.0, 1.0 / 60.0), (66.0, -0.0833333), (90.0, -0.4833333), (300.0, -0.5)]
        {
            let step = change(20.0, ms / 1000.0, 0.06, 0.05);
            assert!((step - expected).abs() < 1e-6, "{ms}: {step}");
        }
    }
}
