//! A trained policy: once an interval it observes what the sender measured, and a network chooses how the window or the rate
//! changes. The policy is a file ([`Plan`]); without `file` it is the one that ships, `trained.policy`, whose record says how
//! it was trained. An environment ([`Policy::open`]) chooses the actions itself; both observe and act with the same code.
//!
//! The interval ends by the controller's timer. Between decisions nothing changes: a loss or an echo is only counted. After a
//! retransmission timeout the window is two segments until the next ACK. A policy that sets a rate has a window of 2.5 times
//! rate and round-trip time, so that a path that fails stops the sender. The first window is that of the transport, the first
//! rate this window in a round-trip time. docs/gym.md. Status: draft.

mod action;
mod feature;
mod interval;
mod network;
mod plan;

pub use action::ActionKind;
pub use feature::Feature;
use interval::Interval;
pub use interval::Measured;
pub use plan::{Plan, action_kinds};

use crate::descriptor::{Descriptor, Family, Status};
use crate::pacing_rate::pacing_rate;
use crate::params::{Param, ParamError, ParamKind, Params};
use crate::window::impl_owned_window;
use crate::{Ack, Algorithm, Congestion, Controller, EcnResponse, FlowInfo, Sent, Signals, Timeout};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use units::{Rate, Segments, Span, Time};

/// Window after a timeout, until the next ACK, and the smallest one of a paced flow, segments.
const LEAST: [f64; 2] = [2.0, 4.0];
/// Window of a paced flow over rate and round-trip time.
const ROOM: f64 = 2.5;

/// The policy that ships.
pub fn trained() -> Arc<Plan> {
    static TRAINED: OnceLock<Arc<Plan>> = OnceLock::new();
    let read = || Plan::read(include_str!("trained.policy")).unwrap_or_else(|error| panic!("trained.policy: {error}"));
    TRAINED.get_or_init(|| Arc::new(read())).clone()
}

/// The window or rate, and the measurements since the last decision.
#[derive(Clone, Debug)]
pub struct Policy {
    plan: Arc<Plan>,
    cwnd: Segments,
    max_window: Segments,
    segment_bits: f64,
    /// The window after the next ACK; different from `cwnd` after a timeout.
    target: Segments,
    /// Segments a second; 0 before the first round-trip sample.
    rate: f64,
    /// A first rate or window that replaces the usual one.
    first: Option<f64>,
    interval: Interval,
    /// The last intervals, at most the history of the plan.
    intervals: VecDeque<Measured>,
    /// The last interval, or what the first one follows.
    last: Measured,
    in_flight: Segments,
    lost_total: u64,
    due: Time,
    /// Whether the interval that ends at `due` was measured, and the action that an environment has chosen.
    observed: bool,
    pending: Option<f64>,
    action: f64,
}

impl Algorithm for Policy {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "policy",
        summary: "a trained network chooses the window or the rate once an interval",
        source: "Jay et al. (Aurora), ICML 2019; docs/gym.md",
        family: Family::Learning,
        status: Status::Draft,
        params: &[Param {
            name: "file",
            kind: ParamKind::Policy,
            unit: "",
            doc: "the policy file (`ackclock policy`); without it the policy that ships",
        }],
        probes: &["rate", "action", "rtt", "loss"],
    };
    fn check(params: &Params) -> Result<(), ParamError> {
        if params.policy("file").is_open() {
            let reason = "the file has no [[layer]]; only an environment can use it";
            return Err(ParamError { name: "file".into(), reason: Some(reason.into()) });
        }
        Ok(())
    }
    fn new(params: &Params, flow: &FlowInfo) -> Policy {
        Policy {
            plan: params.policy("file"),
            cwnd: flow.initial_window,
            max_window: flow.max_window,
            segment_bits: flow.packet as f64 * 8.0,
            target: flow.initial_window,
            rate: 0.0,
            first: None,
            interval: Interval::default(),
            intervals: VecDeque::new(),
            last: Measured::default(),
            in_flight: 0.0,
            lost_total: 0,
            due: Time::NEVER,
            observed: false,
            pending: None,
            action: 0.0,
        }
    }
}

impl Policy {
    /// The actions come from [`Policy::act`] from now on; observations are those of `plan`. Before the first packet.
    /// `first`: the first window or rate.
    pub fn open(&mut self, plan: Arc<Plan>, first: Option<f64>) {
        (self.plan, self.first) = (plan, first);
    }

    /// When the interval ends; `Time::NEVER` before the first round-trip sample.
    pub fn due(&self) -> Time {
        self.due
    }

    /// The interval ends at `at` instead, which is later. The timer follows at the next event.
    pub fn postpone(&mut self, at: Time) {
        self.due = self.due.max(at);
    }

    /// Ends the interval and returns the observation.
    pub fn observe(&mut self, now: Time) -> Vec<f32> {
        let mut measured = self.interval.measure(now, &self.last);
        (measured.in_flight, measured.cwnd) = (self.in_flight, self.cwnd);
        (measured.rate, measured.action) = (if self.plan.action.kind.paces() { self.rate } else { 0.0 }, self.action);
        self.last = measured;
        if self.intervals.len() == self.plan.history {
            self.intervals.pop_front();
        }
        self.intervals.push_back(measured);
        self.observed = true;
        self.interval.restart(now);
        self.plan.observe(&self.intervals)
    }

    /// The last interval that was observed.
    pub fn measured(&self) -> &Measured {
        &self.last
    }

    /// The action at the end of the interval that was observed.
    pub fn act(&mut self, action: f64) {
        self.pending = Some(action);
    }

    /// The first round-trip sample: the first interval begins.
    fn begin(&mut self, now: Time, rtt: Span) {
        if self.due != Time::NEVER {
            return;
        }
        (self.last.min_rtt, self.last.rtt) = (rtt.seconds(), 0.0);
        let usual = if self.plan.action.kind.paces() { self.cwnd / rtt.seconds() } else { self.cwnd };
        self.set(self.first.unwrap_or(usual));
        self.interval.restart(now);
        self.schedule(now);
    }

    fn schedule(&mut self, now: Time) {
        let length = self.plan.seconds(&self.last);
        self.due = length.map_or(Time::NEVER, |seconds| now + Span::from_seconds(seconds));
        self.observed = false;
    }

    /// Sets the rate or the window that an action has chosen.
    fn set(&mut self, value: f64) {
        let window = if self.plan.action.kind.paces() {
            self.rate = value;
            let rtt = if self.last.rtt > 0.0 { self.last.rtt } else { self.last.min_rtt };
            (ROOM * value * rtt).max(LEAST[1])
        } else {
            value
        };
        self.target = window.min(self.max_window);
        self.cwnd = self.target;
    }

    fn present(&self) -> f64 {
        if self.plan.action.kind.paces() { self.rate } else { self.target }
    }
}

impl Controller for Policy {
    fn needs(&self) -> Signals {
        Signals::PACING.and(Signals::TIMER).and(Signals::SEGMENT_COUNTS).and(Signals::SENT)
    }
    fn on_handshake(&mut self, now: Time, rtt: Span) {
        self.begin(now, rtt);
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.cwnd = self.target;
        self.in_flight = ack.in_flight;
        let interval = &mut self.interval;
        interval.acks += 1;
        interval.marked += u64::from(ack.ece);
        interval.limited += u64::from(ack.window_limited);
        interval.delivered += u64::from(ack.delivered);
        interval.lost += ack.lost_total - self.lost_total;
        self.lost_total = ack.lost_total;
        if let Some(rtt) = ack.rtt {
            interval.sample(rtt);
            self.begin(ack.now, rtt);
        }
    }
    fn on_sent(&mut self, _sent: &Sent) {
        self.interval.sent += 1;
    }
    fn on_congestion(&mut self, _event: &Congestion) {}
    fn ecn_response(&self) -> EcnResponse {
        EcnResponse::CwrOnly
    }
    fn on_rto(&mut self, _event: &Timeout) {
        self.cwnd = LEAST[0].min(self.target);
    }
    fn on_timer(&mut self, now: Time) {
        if now < self.due {
            return;
        }
        let action = if self.plan.is_open() {
            if !self.observed {
                self.observe(now);
            }
            self.pending.take()
        } else {
            let inputs = self.observe(now);
            Some(self.plan.action.chosen(&self.plan.network.evaluate(&inputs)))
        };
        if let Some(action) = action {
            self.action = action;
            self.set(self.plan.action.apply(self.present(), action));
        }
        self.schedule(now);
    }
    fn on_restart(&mut self, _event: &crate::Restart) {}
    fn set_ssthresh(&mut self, _ssthresh: Segments) {}
    impl_owned_window!(cwnd, max_window);
    fn ssthresh(&self) -> Segments {
        f64::INFINITY
    }
    fn pacing(&self) -> Option<Rate> {
        if self.plan.action.kind.paces() { pacing_rate(self.rate * self.segment_bits) } else { None }
    }
    fn wake_at(&self) -> Time {
        self.due
    }
    fn probe(&self, out: &mut [f64]) {
        out[0] = if self.plan.action.kind.paces() { self.rate } else { f64::NAN };
        (out[1], out[2]) = (self.action, self.last.rtt);
        out[3] = f64::from(self.last.feature(Feature::Loss));
    }
}

#[cfg(test)]
mod tests;
