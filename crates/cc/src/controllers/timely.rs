//! TIMELY. Mittal et al., SIGCOMM 2015, algorithm 1: the sending rate follows the gradient of the round-trip time, for data
//! centres.
//!
//! After each `burst` of acknowledged bytes, with `d` the smoothed difference of two round-trip times over `min_rtt`: below
//! `low` the rate grows by `step`; above `high` it is multiplied by `1 - beta (1 - high/RTT)`; between both it grows by `step` if
//! `d <= 0` (by five steps after five such bursts in a row), and is multiplied by `1 - beta d` otherwise.
//!
//! The constants are those of the paper for links of 10 Gb/s and round-trip times of tens of microseconds; a longer path needs
//! others. Ours, because the paper has a network without losses: a loss or a timeout halves the rate; the rate is at least a
//! segment a round trip; the window is twice what the rate needs, so that a path that fails stops the sender; the first rate
//! is that of the initial window; it grows only if it is used. Several flows have no unique fixed point (Zhu et al., CoNEXT 2016): they need not become
//! fair. docs/specs/controllers-2.md section 14. Status: draft.

use crate::descriptor::{Descriptor, Family, Status};
use crate::pacing_rate::pacing_rate;
use crate::parameters::{Params, number};
use crate::window::impl_owned_window;
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Handshake, Signals, Timeout};
use units::{Rate, Segments, Time};

/// Weight of the new difference of round-trip times.
const NEW: f64 = 0.875;
/// Bursts without a rising round-trip time after which the rate grows faster, and how much.
const FAST_AFTER: u32 = 5;
const FAST: f64 = 5.0;
/// The window as a multiple of rate and round-trip time, and its smallest value.
const ROOM: f64 = 2.0;
const LEAST_WINDOW: f64 = 2.0;
/// The rate grows only if this part of it was acknowledged since the last decision.
const USED: f64 = 0.5;

/// A rate that follows the gradient of the delay.
#[derive(Clone, Debug)]
pub struct Timely {
    cwnd: Segments,
    max_window: Segments,
    segment_bits: f64,
    low: f64,
    high: f64,
    min_rtt: f64,
    step: f64,
    beta: f64,
    burst: f64,
    /// Bits a second; zero before the first round-trip time.
    rate: f64,
    /// The round-trip time of the path, of the last decision, and the smoothed difference, seconds.
    path: f64,
    rtt: f64,
    difference: f64,
    calm: u32,
    /// Bits acknowledged since the last decision, and when that was.
    acked: f64,
    decided: Option<Time>,
    before: f64,
}

impl Algorithm for Timely {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "timely",
        summary: "the sending rate follows the gradient of the round-trip time",
        source: "Mittal et al., SIGCOMM 2015",
        family: Family::DataCentre,
        status: Status::Draft,
        params: &[
            number(
                "low",
                "50e-6",
                [0.0, 100.0],
                "s",
                "round-trip time below which the rate grows in any case (T_low)",
            ),
            number(
                "high",
                "500e-6",
                [1e-6, 100.0],
                "s",
                "round-trip time above which the rate falls in any case (T_high)",
            ),
            number("min_rtt", "20e-6", [1e-6, 100.0], "s", "the gradient is relative to it (D_minRTT)"),
            number("step", "10000000", [1.0, 1e12], "bit/s", "additive growth of the rate (delta)"),
            number("beta", "0.8", [0.01, 1.0], "", "multiplicative reduction"),
            number("burst", "16000", [1.0, 1e9], "bytes", "a decision follows so many acknowledged bytes"),
        ],
        probes: &["rate", "gradient"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Timely {
        Timely {
            cwnd: flow.initial_window,
            max_window: flow.max_window,
            segment_bits: f64::from(flow.packet) * 8.0,
            low: params.number("low"),
            high: params.number("high"),
            min_rtt: params.number("min_rtt"),
            step: params.number("step"),
            beta: params.number("beta"),
            burst: params.number("burst") * 8.0,
            rate: 0.0,
            path: f64::NAN,
            rtt: f64::NAN,
            difference: 0.0,
            calm: 0,
            acked: 0.0,
            decided: None,
            before: 0.0,
        }
    }
    tunable! { "low" => low, "high" => high, "step" => step, "beta" => beta }
}

impl Timely {
    /// A decision with a round-trip time, s.
    fn decide(&mut self, rtt: f64) {
        let new = if self.rtt.is_nan() { 0.0 } else { rtt - self.rtt };
        self.rtt = rtt;
        self.difference += NEW * (new - self.difference);
        let gradient = self.difference / self.min_rtt;
        let calm = (self.low..=self.high).contains(&rtt) && gradient <= 0.0;
        self.calm = if calm { self.calm + 1 } else { 0 };
        let rate = if calm && self.calm >= FAST_AFTER {
            self.rate + FAST * self.step
        } else if calm || rtt < self.low {
            self.rate + self.step
        } else if rtt > self.high {
            self.rate * (1.0 - self.beta * (1.0 - self.high / rtt))
        } else {
            self.rate * (1.0 - self.beta * gradient)
        };
        self.set_rate(rate);
    }

    /// Sets the rate, at least a segment a round trip, and the window.
    fn set_rate(&mut self, rate: f64) {
        if self.path.is_nan() {
            return self.rate = rate;
        }
        self.rate = rate.max(self.segment_bits / self.path.max(1e-6));
        let window = ROOM * self.rate * self.path / self.segment_bits;
        self.set_window(window.max(LEAST_WINDOW));
    }

    /// Takes a round-trip time, s; the first one gives the rate of the initial window.
    fn path(&mut self, rtt: f64) {
        self.path = rtt;
        if self.rate == 0.0 {
            self.rate = self.cwnd * self.segment_bits / rtt.max(1e-9);
        }
    }
}

impl Controller for Timely {
    fn needs(&self) -> Signals {
        Signals::PACING.and(Signals::SEGMENT_COUNTS)
    }
    fn on_handshake(&mut self, event: &Handshake) {
        if let Some(rtt) = event.rtt {
            self.path(rtt.seconds());
        }
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.acked += f64::from(ack.newly_delivered) * self.segment_bits;
        let Some(rtt) = ack.rtt.map(|rtt| rtt.seconds()) else { return };
        self.path(rtt);
        if self.acked >= self.burst {
            let seconds = self.decided.map_or(0.0, |at| ack.now.since(at).seconds());
            let used = self.acked >= USED * self.rate * seconds;
            let before = self.rate;
            self.decide(rtt);
            if !used && self.rate > before {
                self.set_rate(before);
            }
            (self.acked, self.decided) = (0.0, Some(ack.now));
        }
    }
    fn on_congestion(&mut self, _event: &Congestion) {
        self.before = self.rate;
        self.set_rate(self.rate / 2.0);
    }
    fn on_rto(&mut self, event: &Timeout) {
        if !event.repeated {
            self.before = self.rate;
            self.set_rate(self.rate / 2.0);
        }
        self.cwnd = LEAST_WINDOW;
    }
    fn on_undo(&mut self, _now: Time) {
        self.set_rate(self.rate.max(self.before));
    }
    impl_owned_window!(cwnd, max_window);
    fn pacing(&self) -> Option<Rate> {
        pacing_rate(self.rate)
    }
    fn probe(&self, out: &mut [f64]) {
        (out[0], out[1]) = (self.rate, self.difference / self.min_rtt);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::linux_flow;

    #[test]
    fn rates_of_the_model() {
        let params = Params::new(Timely::DESCRIPTOR.params, []).unwrap();
        let mut timely = Timely::new(&params, &linux_flow(10.0, f64::INFINITY));
        (timely.rate, timely.path) = (1e9, 50e-6);
        for (us, expected) in [(40.0, 1010.0), (60.0, 303.0), (58.0, 297.6975), (57.0, 307.6975)] {
            timely.decide(us * 1e-6);
            assert!((timely.rate / 1e6 - expected).abs() < 1e-6, "{us}: {}", timely.rate / 1e6);
        }
    }

    #[test]
    fn a_long_round_trip_time_lowers_the_rate_and_calm_raises_it_faster() {
        let params = Params::new(Timely::DESCRIPTOR.params, []).unwrap();
        let mut timely = Timely::new(&params, &linux_flow(10.0, f64::INFINITY));
        (timely.rate, timely.path) = (1e9, 50e-6);
        timely.decide(1e-3);
        assert!((timely.rate - 0.6e9).abs() < 1.0);
        let mut rates = Vec::new();
        timely.rtt = f64::NAN;
        timely.difference = 0.0;
        for _ in 0..6 {
            let before = timely.rate;
            timely.decide(100e-6);
            rates.push(((timely.rate - before) / 1e6).round());
        }
        assert_eq!(rates, [10.0, 10.0, 10.0, 10.0, 50.0, 50.0]);
    }

    #[test]
    fn a_loss_before_the_first_decision_halves_the_rate() {
        let params = Params::new(Timely::DESCRIPTOR.params, []).unwrap();
        let mut timely = Timely::new(&params, &linux_flow(10.0, f64::INFINITY));
        timely.path(0.01);
        assert_eq!(timely.rate, 8e6); // ten segments of 1,000 bytes in 10 ms
        timely.on_congestion(&crate::testing::congestion(10.0));
        assert_eq!((timely.rate, timely.cwnd()), (4e6, 10.0));
    }
}
