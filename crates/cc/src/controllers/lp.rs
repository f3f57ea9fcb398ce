//! TCP-LP. Kuzmanovic and Knightly, INFOCOM 2003: a flow that yields to all others. One-way delays show congestion before a
//! loss does: then the window halves, and for three round trips, in which it does not grow, one more indication leaves one
//! segment. Otherwise it is Reno's.
//!
//! Early congestion: the smoothed one-way delay (gain 1/8) is above the smallest one by more than 0.15 of the distance to the
//! largest one, which is the second largest seen (Linux: a single outlier does not count). Variants:
//! - `paper`: the extremes are those of the connection, and the halved window is the threshold. Ours: delays count from the
//!   first loss on, because the range before it is that of the first queues of the flow itself, which it would never leave; not
//!   in the round trip after an indication, whose packets were sent before it; and not of a last segment alone, whose ACK the
//!   receiver may have delayed: this wait is no delay of the path, and it would keep the window at one segment.
//! - `linux`: an indication sets the extremes to 1 and 2 times the smoothed delay, and leaves the threshold. Here the clocks of
//!   both ends agree, as in ns-3. Those of two kernels do not, and their offset is part of these extremes: from one second
//!   on there is no second indication, and the module is Reno. So this variant is the default of no profile.
//!
//! Differences: delays count in the phase Open alone, since the transport sets the window in recovery; Linux counts them in
//! ticks of the clocks of both ends. docs/specs/controllers-2.md section 15. Status: draft.

use crate::descriptor::{Descriptor, Family, Status};
use crate::detmath;
use crate::parameters::{Params, choice, number};
use crate::slow_start::SlowStart;
use crate::window::{Window, impl_window_accessors};
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Phase, Restart, Signals, Timeout};
use units::{Span, Time};

/// Gain of the smoothed delay.
const GAIN: f64 = 0.125;
/// Round trips of the phase after an indication.
const INFERENCE: u64 = 3;

/// Smoothed one-way delay and its extremes, seconds. An unknown constant offset has no effect on the comparison, except in the
/// variant of Linux, whose largest delay is twice the smoothed one.
#[derive(Clone, Copy, Debug)]
struct Delays {
    smoothed: f64,
    least: f64,
    largest: f64,
    /// The end of the range: a single delay does not move it.
    second_largest: f64,
}

impl Delays {
    fn new(delay: f64) -> Delays {
        Delays { smoothed: delay, least: delay, largest: delay, second_largest: delay }
    }

    fn add(&mut self, delay: f64) {
        self.smoothed += GAIN * (delay - self.smoothed);
        self.least = self.least.min(delay);
        if delay > self.largest {
            (self.second_largest, self.largest) = (self.largest, delay);
        } else {
            self.second_largest = self.second_largest.max(delay);
        }
    }

    /// Whether the smoothed delay is above `part` of the range.
    fn are_above(&self, part: f64) -> bool {
        self.smoothed > self.least + part * (self.second_largest - self.least)
    }
}

/// Reno that yields.
#[derive(Clone, Debug)]
pub struct Lp {
    window: Window,
    linux: bool,
    part: f64,
    delays: Option<Delays>,
    /// The end of the round trip after an indication, and that of the phase after it.
    ignores_until: Time,
    infers_until: Time,
    /// Whether the last ACK was in that phase.
    infers: bool,
}

impl Algorithm for Lp {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "lp",
        summary: "Reno that yields: the window halves when one-way delays rise, and again to one segment",
        source: "Kuzmanovic and Knightly, INFOCOM 2003",
        family: Family::Background,
        status: Status::Draft,
        params: &[
            number(
                "part",
                "0.15",
                [0.0, 1.0],
                "",
                "part of the range of one-way delays that counts as congestion (delta)",
            ),
            choice!(
                "variant",
                ["paper", "linux"],
                "extremes of the delay as in the paper, or as Linux sets them after each indication, with clocks that agree"
            ),
            crate::slow_start::PARAM,
            crate::slow_start::EXIT,
            crate::slow_start::VARIANT,
        ],
        probes: &["smoothed_delay", "infers"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Lp {
        Lp {
            window: Window::new(flow).with_slow_start(SlowStart::from_params(params)),
            linux: params.choice("variant") == "linux",
            part: params.number("part"),
            delays: None,
            ignores_until: Time::ZERO,
            infers_until: Time::ZERO,
            infers: false,
        }
    }
    tunable! { "part" => part }
}

impl Lp {
    /// Whether the receiver may have waited before it sent this ACK: it acknowledges one segment, and nothing is left in flight.
    fn may_be_delayed(&self, ack: &Ack) -> bool {
        !self.linux && ack.in_flight == 0.0 && ack.newly_delivered <= 1
    }

    /// A one-way delay, s, of an ACK with a round-trip time.
    fn sample(&mut self, now: Time, delay: f64, rtt: Span) {
        let delays = self.delays.get_or_insert_with(|| Delays::new(delay));
        delays.add(delay);
        let counts = self.linux || !self.window.slow_start() && now >= self.ignores_until;
        if !counts || !delays.are_above(self.part) {
            return;
        }
        if self.linux {
            let smoothed = delays.smoothed;
            (delays.least, delays.largest, delays.second_largest) =
                (smoothed, 2.0 * smoothed, 2.0 * smoothed);
        }
        let left =
            if now < self.infers_until { 1.0 } else { detmath::floor(self.window.cwnd / 2.0).max(1.0) };
        self.window.set(left);
        if !self.linux {
            self.window.ssthresh = left.max(2.0);
        }
        (self.ignores_until, self.infers_until) = (now + rtt, now + Span::from_ps(INFERENCE * rtt.ps()));
    }
}

impl Controller for Lp {
    fn needs(&self) -> Signals {
        Signals::RECEIVER_TIME
    }
    fn on_ack(&mut self, ack: &Ack) {
        if ack.phase == Phase::Open
            && !self.may_be_delayed(ack)
            && let (Some(delay), Some(rtt)) = (ack.one_way_delay(), ack.rtt)
        {
            self.sample(ack.now, delay, rtt);
        }
        self.infers = ack.now < self.infers_until;
        if self.window.on_ack(ack) && !self.infers {
            self.window.grow(ack);
        }
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.window.reduce(event.window, 0.5);
    }
    fn on_rto(&mut self, event: &Timeout) {
        self.window.timeout(event, 0.5);
    }
    fn on_restart(&mut self, event: &Restart) {
        self.infers_until = Time::ZERO;
        self.window.set(event.window);
    }
    impl_window_accessors!(window);
    fn probe(&self, out: &mut [f64]) {
        out[0] = self.delays.map_or(f64::NAN, |delays| delays.smoothed);
        out[1] = f64::from(u8::from(self.infers));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, linux_flow, ns2_flow};

    #[test]
    fn delays_of_the_model() {
        for (smoothed, above) in [(0.0249, true), (0.0246, true), (0.0244, false)] {
            let delays = Delays { smoothed, least: 0.02, largest: 0.05, second_largest: 0.05 };
            assert_eq!(delays.are_above(0.15), above, "{smoothed}");
        }
    }

    #[test]
    fn the_largest_delay_that_counts_is_the_second_largest() {
        let mut delays = Delays::new(0.02);
        for delay in [0.03, 0.09, 0.05] {
            delays.add(delay);
        }
        assert_eq!((delays.least, delays.second_largest, delays.largest), (0.02, 0.05, 0.09));
    }

    #[test]
    fn a_second_indication_within_three_round_trips_leaves_one_segment() {
        for (variant, before, ssthresh) in [("paper", 30.0, 20.0), ("linux", f64::INFINITY, f64::INFINITY)] {
            let values = [("variant", crate::ParamValue::Word(variant.into()))];
            let params = Params::new(Lp::DESCRIPTOR.params, values).unwrap();
            let mut lp = Lp::new(&params, &linux_flow(40.0, before));
            lp.delays = Some(Delays { smoothed: 0.05, least: 0.02, largest: 0.05, second_largest: 0.05 });
            let at = |ms: u64| Time::ZERO + Span::from_ms(ms);
            lp.sample(at(0), 0.05, Span::from_ms(100));
            assert_eq!((lp.cwnd(), lp.ssthresh(), lp.infers_until), (20.0, ssthresh, at(300)), "{variant}");
            lp.delays = Some(Delays { smoothed: 0.05, least: 0.02, largest: 0.05, second_largest: 0.05 });
            lp.sample(at(299), 0.05, Span::from_ms(100));
            assert_eq!((lp.cwnd(), lp.infers_until), (1.0, at(599)), "{variant}");
        }
    }

    #[test]
    fn the_paper_is_the_default_of_every_profile() {
        let params = Params::new(Lp::DESCRIPTOR.params, []).unwrap();
        for flow in [linux_flow(10.0, f64::INFINITY), ns2_flow(10.0, f64::INFINITY)] {
            assert!(!Lp::new(&params, &flow).linux);
        }
    }

    #[test]
    fn the_wait_of_a_delayed_ack_is_no_delay_of_the_path() {
        let params = Params::new(Lp::DESCRIPTOR.params, []).unwrap();
        // The segment of a window of one, 20 ms and the receiver's 40 ms; one of many; the two of a window of two.
        for (acked, in_flight, counts) in [(1, 0.0, false), (1, 3.0, true), (2, 0.0, true)] {
            let mut lp = Lp::new(&params, &linux_flow(1.0, 1.0));
            lp.on_ack(&Ack {
                now: Time::ZERO + Span::from_ms(80),
                rtt: Some(Span::from_ms(80)),
                receiver_time: Some(Time::ZERO + Span::from_ms(60)),
                in_flight,
                ..ack(acked)
            });
            assert_eq!(lp.delays.is_some(), counts, "{acked} of {in_flight}");
        }
    }
}
