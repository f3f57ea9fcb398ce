//! PCC Vivace. Dong et al., NSDI 2018, sections 3 to 5: the sender tries rates in monitor intervals of a round trip, computes
//! the utility `x^t - b x max(0, dRTT/dT) - c x L` of each (x: rate in Mb/s, L: loss), and moves its rate along the gradient.
//!
//! Starting: the rate doubles while the utility rises. Probing: pairs of intervals at `r (1 +- epsilon)` in random order give
//! the direction and the gradient. Moving: `r += m(tau) theta g`, bounded, until the utility no longer follows the rate. Where
//! the paper gives no number, those of the authors' code hold: three pairs, up if more than half agree and down if all do,
//! bounds of 0.05 and 0.1, intervals of the smallest round-trip time and at least five segments, the first rate.
//!
//! Ours: the smallest rate is two segments a round trip; the window is 2.5 times rate and round-trip time, so that a path that
//! fails stops the sender; an interval that did not send its rate is repeated; a timeout halves the rate and begins to probe.
//! The rate of an interval is measured from its second segment on, because the pacer has charged the first one at the rate
//! before. A slope of the round-trip time below `gradient_tolerance` counts as none, as in the paper.
//! docs/specs/controllers-2.md section 2. Status: draft.

mod interval;
mod steps;

use crate::descriptor::{Descriptor, Family, Status};
use crate::estimators::{ExtremeOver, Smoothed};
use crate::pacing_rate::pacing_rate;
use crate::parameters::{Params, choice, number, switch};
use crate::window::impl_owned_window;
use crate::{
    Ack, Algorithm, Congestion, Controller, Delivered, EcnResponse, FlowInfo, Handshake, Lost, Sent, Signals,
    Timeout, TransmitStart,
};
use interval::{Interval, Purpose, Slot};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use steps::{Steps, power};
use units::{Rate, Segments, Span, Time};

/// Smallest number of segments of an interval.
const LEAST_SEGMENTS: u32 = 5;
/// An interval counts if it has sent this part of its rate.
const SENT_PART: f64 = 0.9;
/// Segments and round-trip time of the first rate.
const FIRST_SEGMENTS: f64 = 10.0;
const FIRST_RTT: f64 = 0.1;
/// The smallest round-trip time is that of this time, s.
const MIN_RTT_WINDOW: f64 = 10.0;
/// Window after a timeout, until the next ACK, segments.
const AFTER_TIMEOUT: f64 = 2.0;
/// Round-trip times after which an interval without a result is given up.
const PATIENCE: f64 = 8.0;
/// Slots of the table of transmissions at the start; a power of two.
const SLOTS: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Starting,
    Probing,
    Moving,
}

/// The rate, what is in flight, and the decision under way.
#[derive(Clone, Debug)]
pub struct Vivace {
    cwnd: Segments,
    max_window: Segments,
    segment_bits: f64,
    exponent: f64,
    latency: f64,
    loss: f64,
    epsilon: f64,
    pairs: u8,
    paper_amplifier: bool,
    gradient_tolerance: f64,
    ecn: bool,
    /// Mb/s.
    rate: f64,
    mode: Mode,
    /// The intervals that are to be sent.
    plan: VecDeque<(Purpose, f64)>,
    intervals: VecDeque<Interval>,
    next_number: u32,
    slots: Vec<Slot>,
    /// Utility and rate of the last interval that counted.
    last: Option<(f64, f64)>,
    /// Utilities of the probes: of each pair that of the lower and of the higher rate.
    probes: Vec<[Option<f64>; 2]>,
    steps: Steps,
    srtt: Smoothed,
    least: ExtremeOver,
    rtt_min: f64,
    random: Xoshiro256PlusPlus,
    utility: f64,
}

impl Algorithm for Vivace {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "vivace",
        summary: "tries rates in monitor intervals and follows the gradient of a utility of rate, latency and loss",
        source: "Dong et al., NSDI 2018 (PCC Vivace)",
        family: Family::Learning,
        status: Status::Draft,
        params: &[
            number("exponent", "0.9", [0.1, 0.99], "", "exponent of the rate in the utility"),
            number(
                "latency",
                "900",
                [0.0, 1e6],
                "",
                "weight of the slope of the round-trip time; 0 for the utility of loss alone",
            ),
            number("loss", "11.35", [0.0, 1e6], "", "weight of the loss rate"),
            number(
                "epsilon",
                "0.05",
                [0.001, 0.5],
                "",
                "a probe is faster or slower by this part of the rate",
            ),
            number("pairs", "3", [1.0, 16.0], "", "pairs of probes of a decision"),
            choice!(
                "amplifier",
                ["paper", "code"],
                "how a step grows with the number of moves: tau, and 2 tau - 3 from the fourth on; or as the authors' code"
            ),
            number(
                "gradient_tolerance",
                "0.01",
                [0.0, 10.0],
                "",
                "a smaller slope of the round-trip time counts as none",
            ),
            switch("ecn", false, "an ECN echo counts as a loss in the utility"),
        ],
        probes: &["rate", "utility"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Vivace {
        let segment_bits = f64::from(flow.packet) * 8.0;
        Vivace {
            cwnd: flow.initial_window,
            max_window: flow.max_window,
            segment_bits,
            exponent: params.number("exponent"),
            latency: params.number("latency"),
            loss: params.number("loss"),
            epsilon: params.number("epsilon"),
            pairs: params.number("pairs") as u8,
            paper_amplifier: params.choice("amplifier") == "paper",
            gradient_tolerance: params.number("gradient_tolerance"),
            ecn: params.switch("ecn"),
            rate: FIRST_SEGMENTS * segment_bits / FIRST_RTT / 1e6,
            mode: Mode::Starting,
            plan: VecDeque::new(),
            intervals: VecDeque::new(),
            next_number: 0,
            slots: vec![Slot::default(); SLOTS],
            last: None,
            probes: Vec::new(),
            steps: Steps::default(),
            srtt: Smoothed::new(0.125),
            least: ExtremeOver::least(),
            rtt_min: FIRST_RTT,
            random: Xoshiro256PlusPlus::seed_from_u64(flow.seed),
            utility: f64::NAN,
        }
    }
}

impl Vivace {
    /// The utility of a rate (Mb/s) with a slope of the round-trip time and a loss rate.
    fn utility_of(&self, rate: f64, slope: f64, loss: f64) -> f64 {
        power(rate, self.exponent) - self.latency * rate * slope.max(0.0) - self.loss * rate * loss
    }

    /// The rate, at least two segments a round trip.
    fn set_rate(&mut self, rate: f64) {
        self.rate = rate.max(2.0 * self.segment_bits / self.rtt_min / 1e6);
    }

    /// What is in flight gives no decision; the next intervals probe.
    fn probe_again(&mut self) {
        self.mode = Mode::Probing;
        self.steps = Steps::default();
        self.plan.clear();
        self.probes = vec![[None; 2]; usize::from(self.pairs)];
        for pair in 0..self.pairs {
            let first = self.random.next_u64() >> 63 == 1;
            for up in [first, !first] {
                let part = if up { 1.0 + self.epsilon } else { 1.0 - self.epsilon };
                self.plan.push_back((Purpose::Probe(pair, up), self.rate * part));
            }
        }
    }

    /// Forgets what is in flight and probes around the rate.
    fn begin_anew(&mut self) {
        self.intervals.clear();
        self.slots.fill(Slot::default());
        self.last = None;
        self.probe_again();
    }

    /// A transmission begins a new interval if the present one is complete.
    fn interval_for(&mut self, now: Time) -> u32 {
        let length = Span::from_seconds(self.rtt_min);
        let open = self
            .intervals
            .back()
            .is_some_and(|interval| interval.sent < LEAST_SEGMENTS || now.since(interval.first) < length);
        if !open {
            if self.mode == Mode::Starting && self.plan.is_empty() && self.waits_for(Purpose::Start).is_none()
            {
                self.plan.push_back((Purpose::Start, self.rate));
            }
            let (purpose, rate) = self.plan.pop_front().unwrap_or((Purpose::None, self.rate));
            let (number, sums) = (self.next_number, [0.0; 5]);
            self.next_number = self.next_number.wrapping_add(1);
            let (sent, delivered, lost) = (0, 0, 0);
            self.intervals.push_back(Interval {
                number,
                purpose,
                rate,
                first: now,
                second: now,
                last: now,
                sent,
                delivered,
                lost,
                sums,
            });
        }
        self.intervals.back().map_or(0, |interval| interval.number)
    }

    /// The interval in flight with a purpose.
    fn waits_for(&self, purpose: Purpose) -> Option<&Interval> {
        self.intervals.iter().find(|interval| interval.purpose == purpose)
    }

    /// Takes the transmission of a segment out of the table, if it is there.
    fn take(&mut self, segment: u64) -> Option<Slot> {
        let place = segment as usize & (self.slots.len() - 1);
        let slot = self.slots[place];
        if slot.segment != segment + 1 {
            return None;
        }
        self.slots[place] = Slot::default();
        Some(slot)
    }

    /// Notes a transmission. A table with too few places grows.
    fn put(&mut self, segment: u64, slot: Slot, in_flight: u32) {
        if in_flight as usize * 2 > self.slots.len() {
            let old = std::mem::take(&mut self.slots);
            self.slots = vec![Slot::default(); old.len() * 2];
            for slot in old.into_iter().filter(|slot| slot.segment > 0) {
                let place = (slot.segment - 1) as usize & (self.slots.len() - 1);
                self.slots[place] = slot;
            }
        }
        let place = segment as usize & (self.slots.len() - 1);
        self.slots[place] = slot;
    }

    fn interval(&mut self, number: u32) -> Option<&mut Interval> {
        self.intervals.iter_mut().find(|interval| interval.number == number)
    }

    /// Uses the intervals at the front whose segments are all delivered or lost; the last one is still sent. An interval
    /// whose end nobody reports, such as that of a SYN that was sent twice, is sent again after a while.
    fn settle(&mut self, now: Time) {
        let patience =
            Span::from_seconds(PATIENCE * self.srtt.get().unwrap_or(self.rtt_min).max(self.rtt_min));
        while self.intervals.len() > 1 {
            let first = &self.intervals[0];
            let complete = first.delivered + first.lost >= first.sent;
            if !complete && now.since(first.last) < patience {
                return;
            }
            match self.intervals.pop_front() {
                Some(interval) if complete => self.result(&interval),
                Some(interval) => self.repeat(&interval),
                None => {}
            }
        }
    }

    /// Processes the result of an interval.
    fn result(&mut self, interval: &Interval) {
        if interval.purpose == Purpose::None {
            return;
        }
        let rate = interval.measured(self.segment_bits);
        if rate < SENT_PART * interval.rate {
            return self.repeat(interval);
        }
        let slope = interval.slope();
        let slope = if slope < self.gradient_tolerance { 0.0 } else { slope };
        let utility = self.utility_of(rate, slope, f64::from(interval.lost) / f64::from(interval.sent));
        self.utility = utility;
        match (interval.purpose, self.mode) {
            (Purpose::Start, Mode::Starting) => self.started(utility, interval.rate),
            (Purpose::Probe(pair, up), Mode::Probing) => {
                self.probes[usize::from(pair)][usize::from(up)] = Some(utility);
                self.decide();
            }
            (Purpose::Move, Mode::Moving) => self.moved(utility, interval.rate),
            _ => {}
        }
    }

    /// The sender had less to send than the rate: the interval is sent again.
    fn repeat(&mut self, interval: &Interval) {
        match (interval.purpose, self.mode) {
            (Purpose::Start, Mode::Starting)
            | (Purpose::Move, Mode::Moving)
            | (Purpose::Probe(..), Mode::Probing) => {
                self.plan.push_back((interval.purpose, interval.rate));
            }
            _ => {}
        }
    }

    fn started(&mut self, utility: f64, rate: f64) {
        if self.last.is_none_or(|(before, _)| utility > before) {
            self.last = Some((utility, rate));
            self.set_rate(2.0 * rate);
        } else {
            self.set_rate(rate / 2.0);
            self.probe_again();
        }
    }

    /// Decides on the direction when all probes have a result.
    fn decide(&mut self) {
        let mut utilities = Vec::with_capacity(self.probes.len());
        for [low, high] in &self.probes {
            let (Some(low), Some(high)) = (low, high) else { return };
            utilities.push((*low, *high));
        }
        let all = utilities.len();
        let ups = utilities.iter().filter(|(low, high)| high > low).count();
        let downs = utilities.iter().filter(|(low, high)| high < low).count();
        let up = if 2 * ups > all {
            true
        } else if downs == all {
            false
        } else {
            return self.probe_again();
        };
        let agreeing = || utilities.iter().filter(|(low, high)| (high > low) == up && high != low);
        let width = 2.0 * self.epsilon * self.rate;
        let gradient = agreeing().map(|(low, high)| (high - low) / width).sum::<f64>() / all as f64;
        let won = agreeing().map(|(low, high)| if up { high } else { low });
        let utility = won.clone().sum::<f64>() / won.count() as f64;
        self.set_rate(self.rate * if up { 1.0 + self.epsilon } else { 1.0 - self.epsilon });
        self.mode = Mode::Moving;
        self.last = Some((utility, self.rate));
        self.advance(gradient);
    }

    /// Moves the rate along the gradient.
    fn advance(&mut self, gradient: f64) {
        let change = self.steps.step(self.rate, gradient, self.paper_amplifier);
        self.set_rate(self.rate + change);
        self.plan.clear();
        self.plan.push_back((Purpose::Move, self.rate));
    }

    /// The result of a move: on in this direction while the utility follows the rate, otherwise back.
    fn moved(&mut self, utility: f64, rate: f64) {
        let Some((before, from)) = self.last else { return self.probe_again() };
        let gradient = if rate == from { 0.0 } else { (utility - before) / (rate - from) };
        let follows = gradient != 0.0 && self.steps.up == Some(gradient > 0.0);
        if follows {
            self.last = Some((utility, rate));
            self.advance(gradient);
        } else {
            self.set_rate(from);
            self.probe_again();
        }
    }

    /// The rate of the present interval, Mb/s.
    fn present_rate(&self) -> f64 {
        self.intervals.back().map_or(self.rate, |interval| interval.rate)
    }
}

impl Controller for Vivace {
    fn needs(&self) -> Signals {
        let reports = Signals::SENT.and(Signals::LOSSES).and(Signals::DELIVERIES);
        Signals::PACING.and(Signals::SEGMENT_COUNTS).and(reports)
    }
    fn on_handshake(&mut self, event: &Handshake) {
        let Some(rtt) = event.rtt else { return };
        self.intervals.clear(); // a SYN is in no interval
        self.rtt_min = rtt.seconds().max(1e-6);
        self.rate = FIRST_SEGMENTS * self.segment_bits / self.rtt_min.min(FIRST_RTT) / 1e6;
    }
    fn on_sent(&mut self, sent: &Sent) {
        let number = self.interval_for(sent.now);
        if let Some(interval) = self.intervals.back_mut() {
            interval.sent += 1;
            interval.last = sent.now;
            if interval.sent == 2 {
                interval.second = sent.now;
            }
        }
        let slot = Slot { segment: sent.seq + 1, interval: number, retransmission: sent.retransmission };
        self.put(sent.seq, slot, sent.in_flight);
    }
    fn on_delivered(&mut self, delivered: &Delivered) {
        let Some(slot) = self.take(delivered.seq) else { return };
        let Some(interval) = self.interval(slot.interval) else { return };
        interval.delivered += 1;
        if !slot.retransmission && delivered.sent >= interval.first {
            let (x, y) = (delivered.sent.since(interval.first).seconds(), delivered.rtt.seconds());
            for (sum, value) in interval.sums.iter_mut().zip([1.0, x, y, x * x, x * y]) {
                *sum += value;
            }
        }
    }
    fn on_lost(&mut self, lost: &Lost) {
        let Some(slot) = self.take(lost.seq) else { return };
        if let Some(interval) = self.interval(slot.interval) {
            interval.lost += 1;
        }
    }
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.seconds().max(1e-6);
            self.srtt.update(rtt);
            self.rtt_min = self.least.add(ack.now, rtt, Span::from_seconds(MIN_RTT_WINDOW));
        }
        if ack.ece
            && self.ecn
            && let Some(interval) = self.intervals.front_mut()
            && interval.delivered > 0
        {
            (interval.delivered, interval.lost) = (interval.delivered - 1, interval.lost + 1);
        }
        self.settle(ack.now);
        let rtt = self.srtt.get().unwrap_or(self.rtt_min);
        let window = 2.5 * self.present_rate().max(self.rate) * 1e6 * rtt / self.segment_bits;
        self.set_window(window.max(4.0));
    }
    fn on_congestion(&mut self, _event: &Congestion) {}
    fn ecn_response(&self) -> EcnResponse {
        EcnResponse::CwrOnly
    }
    fn on_rto(&mut self, event: &Timeout) {
        if !event.repeated {
            self.set_rate(self.rate / 2.0);
        }
        self.set_window(AFTER_TIMEOUT);
        self.begin_anew();
    }
    fn on_transmit_start(&mut self, event: &TransmitStart) {
        let long = 4.0 * self.srtt.get().unwrap_or(self.rtt_min);
        if event.idle.seconds() > long && !self.intervals.is_empty() {
            self.begin_anew();
        }
    }
    impl_owned_window!(cwnd, max_window);
    fn pacing(&self) -> Option<Rate> {
        pacing_rate(self.present_rate() * 1e6)
    }
    fn probe(&self, out: &mut [f64]) {
        (out[0], out[1]) = (self.present_rate() * 1e6, self.utility);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::linux_flow;

    fn vivace() -> Vivace {
        Vivace::new(&Params::new(Vivace::DESCRIPTOR.params, []).unwrap(), &linux_flow(100.0, f64::INFINITY))
    }

    #[test]
    fn the_utility_has_the_values_of_the_specification() {
        let controller = vivace();
        let utilities = [
            controller.utility_of(10.0, 0.0, 0.0),
            controller.utility_of(10.0, 0.0, 0.02),
            controller.utility_of(10.0, 0.01, 0.0),
        ];
        for (value, expected) in utilities.iter().zip([7.943282347, 5.673282347, -82.056717653]) {
            assert!((value - expected).abs() < 1e-6, "{value}");
        }
    }

    #[test]
    fn the_slope_is_that_of_least_squares() {
        let mut controller = vivace();
        let at = |ms: u64| Time::ZERO + Span::from_ms(ms);
        for (n, rtt) in [50, 51, 52, 53].into_iter().enumerate() {
            controller.on_sent(&Sent {
                now: at(10 * n as u64),
                seq: n as u64,
                in_flight: 1,
                retransmission: false,
            });
            let (sent, rtt) = (at(10 * n as u64), Span::from_ms(rtt));
            controller.on_delivered(&Delivered { now: sent + rtt, seq: n as u64, sent, rtt });
        }
        assert!((controller.intervals[0].slope() - 0.1).abs() < 1e-9, "{}", controller.intervals[0].slope());
        assert_eq!((controller.intervals[0].sent, controller.intervals[0].delivered), (4, 4));
    }

    #[test]
    fn steps_are_bounded_and_amplified() {
        let controller = vivace();
        let gradient = (controller.utility_of(10.5, 0.0, 0.0) - controller.utility_of(9.5, 0.0, 0.0))
            / (2.0 * 0.05 * 10.0);
        assert!((gradient - 0.714928204).abs() < 1e-8, "{gradient}");
        let mut steps = Steps::default();
        for expected in [0.5, 1.429856408, 1.5, 2.5, 3.5, 4.5] {
            let change = steps.step(10.0, gradient, true);
            assert!((change - expected).abs() < 1e-8, "{change}");
        }
        assert_eq!(Steps::default().step(100.0, 20.0, true), 5.0);
    }

    #[test]
    fn the_equilibria_have_their_closed_forms() {
        // dU/dx = 0 at a loss rate L: t x^(t-1) = c L.
        for (rate, loss) in [(1.0, 0.0792952), (10.0, 0.0629864), (100.0, 0.0500320)] {
            let controller = vivace();
            let slope =
                |l: f64| controller.utility_of(rate * 1.0001, 0.0, l) - controller.utility_of(rate, 0.0, l);
            assert!(slope(loss - 1e-4) > 0.0 && slope(loss + 1e-4) < 0.0, "{rate}");
        }
    }

    #[test]
    fn a_table_of_transmissions_grows_with_what_is_in_flight() {
        let mut controller = vivace();
        for seq in 0..2000 {
            controller.on_sent(&Sent {
                now: Time::ZERO,
                seq,
                in_flight: seq as u32 + 1,
                retransmission: false,
            });
        }
        assert!((0..2000).all(|seq| controller.take(seq).is_some()) && controller.take(7).is_none());
    }
}
