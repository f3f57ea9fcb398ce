//! LEDBAT. RFC 6817 section 2.4.2: the window keeps `target` of queueing delay, so that the flow yields to flows that queue
//! more.
//!
//! For each acknowledged segment the window grows by `gain (target - q)/target/cwnd`, and stays within what was in flight plus
//! one segment. `q` is the smallest of the last four one-way delays less the smallest of ten minutes. A loss or an ECN echo
//! halves it at most once per window of data. The window stays in recovery. Differences of libutp, for which there is no
//! variant: it grows twice as fast, corrects the drift of clocks and lets the window fall below a segment. docs/specs/controllers-2.md section 3. Status: draft.

use crate::descriptor::{Descriptor, Family, Status};
use crate::estimators::QueueingDelay;
use crate::parameters::{Params, choice, number, switch};
use crate::window::impl_owned_window;
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Signals, Timeout};
use units::{Segments, Time};

/// The part of the target at which slow start ends.
const SLOW_START_PART: f64 = 0.9;

/// A window that keeps a queueing delay.
#[derive(Clone, Debug)]
pub struct Ledbat {
    cwnd: Segments,
    max_window: Segments,
    target: f64,
    gain: f64,
    allowed: Segments,
    least_window: Segments,
    by_round_trip: bool,
    slow_start: bool,
    delays: QueueingDelay,
    /// The queueing delay, seconds.
    queueing: f64,
    /// The window that a spurious reduction restores.
    before: Option<Segments>,
}

impl Algorithm for Ledbat {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "ledbat",
        summary: "keeps a target of queueing delay and yields to flows that queue more",
        source: "RFC 6817 (2012)",
        family: Family::Background,
        status: Status::Draft,
        params: &[
            number("target", "0.1", [0.001, 10.0], "s", "queueing delay that the flow keeps (TARGET)"),
            number(
                "gain",
                "1",
                [0.001, 100.0],
                "segments",
                "growth in a round trip at an empty queue (GAIN)",
            ),
            number(
                "allowed_increase",
                "1",
                [0.0, 1e6],
                "segments",
                "the window exceeds what is in flight by at most this (ALLOWED_INCREASE)",
            ),
            number(
                "min_window",
                "2",
                [1.0, 1e6],
                "segments",
                "smallest window except after a timeout (MIN_CWND)",
            ),
            number(
                "filter",
                "4",
                [1.0, 1000.0],
                "samples",
                "the delay is the smallest of so many samples (CURRENT_FILTER)",
            ),
            number(
                "base_history",
                "10",
                [1.0, 1000.0],
                "min",
                "the base delay is the smallest of this time (BASE_HISTORY)",
            ),
            choice!(
                "delay",
                ["one_way", "rtt"],
                "one-way delays by the receiver's time, or round-trip times"
            ),
            switch(
                "fast_start",
                false,
                "the window doubles in a round trip until the queueing delay is 0.9 of the target",
            ),
        ],
        probes: &["queueing_delay"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Ledbat {
        Ledbat {
            cwnd: flow.initial_window,
            max_window: flow.max_window,
            target: params.number("target"),
            gain: params.number("gain"),
            allowed: params.number("allowed_increase"),
            least_window: params.number("min_window"),
            by_round_trip: params.choice("delay") == "rtt",
            slow_start: params.switch("fast_start"),
            delays: QueueingDelay::new(
                params.number("base_history") as usize,
                params.number("filter") as usize,
            ),
            queueing: 0.0,
            before: None,
        }
    }
    tunable! { "target" => target, "gain" => gain }
}

impl Ledbat {
    /// `acked` segments with a queueing delay, and `flight` segments in flight before.
    fn step(&mut self, acked: f64, flight: Segments) {
        if self.slow_start && self.queueing < SLOW_START_PART * self.target {
            self.set_window((self.cwnd + acked).min(flight + acked + self.allowed).max(self.cwnd));
            return;
        }
        self.slow_start = false;
        let off = (self.target - self.queueing) / self.target;
        let cwnd = self.cwnd + self.gain * off * acked / self.cwnd;
        self.set_window(cwnd.min(flight + self.allowed).max(self.least_window));
    }
}

impl Controller for Ledbat {
    fn needs(&self) -> Signals {
        let time = if self.by_round_trip { Signals::NONE } else { Signals::RECEIVER_TIME };
        time.and(Signals::SEGMENT_COUNTS)
    }
    fn on_ack(&mut self, ack: &Ack) {
        let delay = if self.by_round_trip { ack.rtt.map(|rtt| rtt.seconds()) } else { ack.one_way_delay() };
        if let Some(delay) = delay {
            (_, self.queueing) = self.delays.add(ack.now, delay);
        }
        if ack.newly_delivered > 0 && ack.may_grow {
            self.step(f64::from(ack.newly_delivered), ack.prior_in_flight);
        }
    }
    fn on_congestion(&mut self, _event: &Congestion) {
        self.slow_start = false;
        self.before = Some(self.cwnd);
        self.cwnd = self.cwnd.min((self.cwnd / 2.0).max(self.least_window));
    }
    fn on_rto(&mut self, event: &Timeout) {
        if !event.repeated {
            self.before = Some(self.cwnd);
        }
        (self.cwnd, self.slow_start) = (1.0, false);
    }
    fn on_undo(&mut self, _now: Time) {
        self.cwnd = self.cwnd.max(self.before.take().unwrap_or(0.0));
    }
    impl_owned_window!(cwnd, max_window);
    fn probe(&self, out: &mut [f64]) {
        out[0] = self.queueing;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::linux_flow;

    #[test]
    fn published_steps() {
        // Window, queueing delay in s, segments in flight, window after one segment.
        for (cwnd, queueing, flight, after) in [
            (10.0, 0.0, 99.0, 10.1),
            (10.0, 0.05, 99.0, 10.05),
            (10.0, 0.1, 99.0, 10.0),
            (10.0, 0.2, 99.0, 9.9),
            (10.0, 0.5, 99.0, 9.6),
            (10.0, 0.0, 8.0, 9.0),
            (2.0, 0.5, 99.0, 2.0),
        ] {
            let params = Params::new(Ledbat::DESCRIPTOR.params, []).unwrap();
            let mut controller = Ledbat::new(&params, &linux_flow(cwnd, f64::INFINITY));
            controller.queueing = queueing;
            controller.step(1.0, flight);
            assert!(
                (controller.cwnd - after).abs() < 1e-9,
                "{cwnd} {queueing} {flight}: {}",
                controller.cwnd
            );
        }
    }
}
