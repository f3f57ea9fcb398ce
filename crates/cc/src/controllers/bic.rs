//! BIC. Xu, Harfoush and Rhee, "Binary Increase Congestion Control (BIC) for Fast Long-Distance Networks", INFOCOM
//! 2004: after a loss the window does a binary search for the window at which the loss happened, then probes above
//! it.
//!
//! Two variants (docs/specs/bic-cubic.md section 1):
//! - `linux` (default): whole segments, as in Linux 2.6.22, which ns-2.35 runs. `counting` selects the counter of
//!   later kernels. `delayed_ack` selects the estimate of packets per ACK: the integer arithmetic of Linux gives
//!   31/16 instead of 1 if every packet is acknowledged, so the window grows nearly twice as fast as specified.
//! - `paper`: the real-number algorithm of the 2004 paper.
//!
//! Status: draft; with `counting = "current"` it equals the module of Linux 6.12.

use crate::descriptor::{Descriptor, Family, Status};
use crate::parameters::{Params, choice};
use crate::slow_start::SlowStart;
use crate::window::{Window, impl_window_accessors};
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Sample, Signals, Timeout};
use params::Key;
use units::Time;

/// Maximum increase, segments per round trip (Linux).
const MAX_INCREMENT: u64 = 16;
/// At or below this window the algorithm is Reno.
pub(crate) const LOW_WINDOW: u64 = 14;
/// Numerator and denominator of the part of the window that remains after a loss.
const KEPT: u64 = 819;
const WHOLE: u64 = 1024;
/// Factor that slows the growth close to the maximum.
const SMOOTH: u64 = 20;
/// Divisor of the distance to the maximum.
pub(crate) const B: u64 = 4;
/// The count is updated for a new window, or after this time (ms): HZ/32 ticks of a millisecond.
const FRESH_MS: u64 = 31;

/// The estimate of the number of packets per ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckRatio {
    /// Linux's fixed-point estimate in sixteenths, truncated.
    Linux,
    /// Exponentially weighted mean with gain 1/16.
    Exact,
    /// Always one.
    Off,
}

/// The parameters of the Linux variant, shared by the algorithms that use it.
pub(crate) const SEARCH_PARAMS: [Key; 3] = [
    choice!(
        "delayed_ack",
        ["linux_int", "exact", "off"],
        "packets per ACK: the truncated estimate of Linux, an exact mean, or one"
    ),
    choice!(
        "counting",
        ["ns2", "current"],
        "what a step counts: one ACK more than the count (Linux 2.6.22), or segments as in later kernels (of bic also in slow start)"
    ),
    choice!(
        "update",
        ["linux", "seed_literal"],
        "the search of Linux, or Figure 2 of Nirmala et al. 2015 as printed"
    ),
];

/// Linux's binary search: the number of ACKs per growth step. Windows are whole segments.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    ratio: AckRatio,
    current: bool,
    /// Use the count of the printed figure instead of Linux's.
    printed: bool,
    /// Packets per ACK, in sixteenths.
    delayed: u64,
    mean: f64,
    count: u64,
    /// The window at the last loss, or less with fast convergence; zero before the first loss.
    last_max: u64,
    last_cwnd: u64,
    last_ms: u64,
    /// Start of the flow: ticks are counted from here.
    began: Time,
    /// ACKs counted towards the next step.
    credit: u64,
}

impl Search {
    pub fn new(params: &Params) -> Search {
        Search {
            ratio: match params.choice("delayed_ack") {
                "exact" => AckRatio::Exact,
                "off" => AckRatio::Off,
                _ => AckRatio::Linux,
            },
            current: params.choice("counting") == "current",
            printed: params.choice("update") == "seed_literal",
            delayed: 32,
            mean: 2.0,
            count: 0,
            last_max: 0,
            last_cwnd: 0,
            last_ms: 0,
            began: Time::ZERO,
            credit: 0,
        }
    }

    /// Starts the clock at the start of the flow.
    pub fn open(&mut self, now: Time) {
        self.began = now;
    }

    pub fn last_max(&self) -> u64 {
        self.last_max
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    /// Processes an ACK for new data outside recovery.
    pub fn acked(&mut self, packets: u32) {
        self.delayed = self.delayed + packets as u64 - (self.delayed >> 4);
        self.mean += (packets as f64 - self.mean) / 16.0;
    }

    /// ACKs per step without the correction for delayed ACKs; `b` divides the distance to the maximum.
    pub fn steps(&self, cwnd: u64, b: u64) -> u64 {
        let max = self.last_max;
        let count = if cwnd < max {
            match (max - cwnd) / b {
                distance if distance > MAX_INCREMENT => cwnd / MAX_INCREMENT,
                0 | 1 => cwnd * SMOOTH / b,
                distance => cwnd / distance,
            }
        } else if cwnd < max + b {
            cwnd * SMOOTH / b
        } else if cwnd < max + MAX_INCREMENT * (b - 1) {
            cwnd * (b - 1) / (cwnd - max)
        } else {
            cwnd / MAX_INCREMENT
        };
        if max == 0 { count.min(20) } else { count }
    }

    /// Figure 2 of Nirmala et al. as printed: three overlapping conditions, none of which covers equality.
    fn steps_as_printed(&self, cwnd: u64, b: u64) -> u64 {
        let (cwnd, b, target) = (cwnd as i64, b as i64, self.last_max as i64);
        let mut count = self.count as i64;
        if target - cwnd > b {
            count = cwnd * b / target;
        }
        if (target - cwnd).abs() < b {
            count = cwnd * SMOOTH as i64 / b;
        }
        if target - cwnd < b && cwnd != target {
            count = cwnd * (b - 1) / (cwnd - target);
        }
        count.max(1) as u64
    }

    fn per_ack(&self, count: u64) -> u64 {
        let scaled = match self.ratio {
            AckRatio::Linux => (count << 4) / self.delayed,
            AckRatio::Exact => (count as f64 / self.mean) as u64,
            AckRatio::Off => count,
        };
        scaled.max(1)
    }

    /// Updates the count for window `cwnd`.
    pub fn update(&mut self, now: Time, cwnd: u64, b: u64) {
        let ms = now.since(self.began).ps() / 1_000_000_000;
        if cwnd == self.last_cwnd && ms - self.last_ms <= FRESH_MS {
            return;
        }
        (self.last_cwnd, self.last_ms) = (cwnd, ms);
        self.count = if cwnd <= LOW_WINDOW {
            cwnd
        } else if self.printed {
            self.steps_as_printed(cwnd, b)
        } else {
            self.per_ack(self.steps(cwnd, b))
        };
    }

    /// Window growth for an ACK of `packets` packets, in steps of `step` segments.
    pub fn grow(&mut self, packets: u64, step: u64) -> u64 {
        if self.current {
            let count = self.count.max(1);
            // A count that has fallen below the credit pays one step, whatever the credit was.
            let due = self.credit >= count;
            self.credit = if due { packets } else { self.credit + packets };
            let steps = self.credit / count;
            self.credit -= steps * count;
            return (u64::from(due) + steps) * step;
        }
        if self.credit >= self.count {
            self.credit = 0;
            return step;
        }
        self.credit += 1;
        0
    }

    /// Resets the count of ACKs towards the next step.
    pub fn forget_credit(&mut self) {
        self.credit = 0;
    }

    /// Processes a loss at window `cwnd` and returns the new threshold.
    pub fn reduce(&mut self, cwnd: u64) -> u64 {
        self.last_max = if cwnd < self.last_max { cwnd * (WHOLE + KEPT) / (2 * WHOLE) } else { cwnd };
        self.last_cwnd = 0;
        if cwnd <= LOW_WINDOW { (cwnd / 2).max(2) } else { (cwnd * KEPT / WHOLE).max(2) }
    }

    /// Resets the search at a timeout. The estimate of packets per ACK remains in Linux 2.6.22.
    pub fn reset(&mut self) {
        (self.last_max, self.last_cwnd, self.last_ms, self.count) = (0, 0, 0, 0);
        if self.current {
            (self.delayed, self.mean) = (32, 2.0);
        }
    }

    /// Whether growth counts segments as in later kernels.
    pub fn is_current(&self) -> bool {
        self.current
    }
}

/// The variant of the 2004 paper. It follows docs/specs/bic-cubic.md and is not verified against the paper.
#[derive(Clone, Debug)]
struct Published {
    max_win: f64,
    /// Step above the maximum, segments per round trip.
    probe: f64,
}

const S_MAX: f64 = 32.0;
const S_MIN: f64 = 0.01;
const BETA: f64 = 0.125;

impl Published {
    fn grow(&mut self, cwnd: f64) -> f64 {
        if cwnd <= LOW_WINDOW as f64 {
            return 1.0 / cwnd;
        }
        if cwnd < self.max_win {
            self.probe = 1.0;
            return ((self.max_win - cwnd) / 2.0).clamp(S_MIN, S_MAX) / cwnd;
        }
        let step = self.probe;
        // The step doubles per round trip: this ACK adds its share.
        self.probe = (step + step / cwnd).min(S_MAX);
        step / cwnd
    }

    fn reduce(&mut self, cwnd: f64) -> f64 {
        let reduced = if cwnd <= LOW_WINDOW as f64 { cwnd / 2.0 } else { cwnd * (1.0 - BETA) };
        let lower = cwnd < self.max_win && self.max_win.is_finite();
        self.max_win = if lower { (cwnd + reduced) / 2.0 } else { cwnd };
        self.probe = 1.0;
        reduced.max(2.0)
    }
}

/// Binary increase.
#[derive(Clone, Debug)]
pub struct Bic {
    window: Window,
    search: Search,
    published: Option<Published>,
}

impl Algorithm for Bic {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "bic",
        summary: "binary search for the window at which the last loss happened",
        source: "Xu, Harfoush and Rhee, INFOCOM 2004; Linux 2.6.22",
        family: Family::Loss,
        status: Status::Draft,
        params: &[
            crate::slow_start::PARAM,
            crate::slow_start::EXIT,
            crate::slow_start::VARIANT,
            choice!(
                "form",
                ["linux", "paper"],
                "whole segments as in Linux, or real numbers as in the paper of 2004"
            ),
            SEARCH_PARAMS[0],
            SEARCH_PARAMS[1],
            SEARCH_PARAMS[2],
        ],
        probes: &["last_max", "cnt"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Bic {
        let published = Published { max_win: f64::INFINITY, probe: 1.0 };
        Bic {
            window: Window::new(flow).with_slow_start(SlowStart::from_params(params)),
            search: Search::new(params),
            published: (params.choice("form") == "paper").then_some(published),
        }
    }
}

impl Bic {
    fn reduce(&mut self) {
        self.window.ssthresh = match &mut self.published {
            Some(published) => published.reduce(self.window.cwnd),
            None => self.search.reduce(self.window.cwnd as u64) as f64,
        };
        self.window.set(self.window.ssthresh);
        if self.search.is_current() {
            self.search.forget_credit();
        }
    }
}

impl Controller for Bic {
    fn on_open(&mut self, now: Time) {
        self.search.open(now);
    }

    fn needs(&self) -> Signals {
        if self.search.is_current() { Signals::SAMPLES } else { Signals::NONE }
    }

    fn on_sample(&mut self, sample: &Sample) {
        if sample.phase == crate::Phase::Open && !sample.disorder && self.search.is_current() {
            self.search.acked(sample.newly_acked);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        if ack.newly_acked > 0 && ack.phase == crate::Phase::Open && !self.search.is_current() {
            self.search.acked(ack.newly_acked);
        }
        if !self.window.on_ack(ack) {
            return;
        }
        if self.search.is_current() && self.published.is_none() {
            let left = self.window.slow_start_step(ack);
            if left > 0.0 {
                self.search.update(ack.now, self.window.cwnd as u64, B);
                let step = self.search.grow(left as u64, 1);
                self.window.set(self.window.cwnd + step as f64);
            }
            return;
        }
        let cwnd = self.window.cwnd;
        if cwnd <= self.window.ssthresh {
            self.window.set(cwnd + 1.0);
        } else if let Some(published) = &mut self.published {
            let step = published.grow(cwnd);
            self.window.set(cwnd + step);
        } else {
            self.search.update(ack.now, cwnd as u64, B);
            let step = self.search.grow(ack.newly_acked as u64, 1);
            self.window.set(cwnd + step as f64);
        }
    }

    fn on_congestion(&mut self, _event: &Congestion) {
        self.reduce();
    }

    fn on_rto(&mut self, event: &Timeout) {
        if !event.repeated {
            self.reduce();
        }
        self.search.reset();
        if let Some(published) = &mut self.published {
            *published = Published { max_win: f64::INFINITY, probe: 1.0 };
        }
        self.window.set(1.0);
    }

    impl_window_accessors!(window);
    fn probe(&self, out: &mut [f64]) {
        let max = self.search.last_max as f64;
        out[0] = self.published.as_ref().map_or(max, |p| p.max_win);
        out[1] = self.search.count as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParamValue;
    use crate::testing::{ack, congestion, ns2_flow, timeout};
    use units::Span;

    fn search(ratio: &str) -> Search {
        let values = [("delayed_ack", ParamValue::Word(ratio.into()))];
        Search::new(&Params::new(Bic::DESCRIPTOR.params, values).unwrap())
    }

    #[test]
    fn published_counts() {
        let cases = [
            (10, 100, 10, 10, 10),
            (80, 100, 16, 8, 13),
            (90, 100, 45, 22, 30),
            (95, 100, 475, 237, 633),
            (100, 100, 500, 250, 666),
            (103, 100, 515, 257, 68),
            (104, 100, 78, 39, 52),
            (120, 100, 18, 9, 12),
            (150, 100, 9, 4, 9),
            (400, 1000, 25, 12, 25),
            (900, 1000, 56, 28, 56),
        ];
        for (cwnd, last_max, off, linux, third) in cases {
            for (ratio, b, expected) in [("off", 4, off), ("linux_int", 4, linux), ("off", 3, third)] {
                let mut state = Search { last_max, ..search(ratio) };
                state.update(Time::ZERO, cwnd, b);
                assert_eq!(state.count, expected, "{cwnd} of {last_max}, {ratio}, {b}");
            }
        }
    }

    #[test]
    fn published_losses() {
        for (cwnd, last_max, then, threshold) in
            [(100, 0, 100, 79), (80, 100, 71, 63), (110, 100, 110, 87), (10, 0, 10, 5)]
        {
            let mut state = Search { last_max, ..search("linux_int") };
            assert_eq!(state.reduce(cwnd), threshold, "{cwnd} of {last_max}");
            assert_eq!(state.last_max, then);
        }
    }

    #[test]
    fn an_ack_for_every_packet_leaves_the_ratio_at_31() {
        let mut state = search("linux_int");
        (0..1000).for_each(|_| state.acked(1));
        assert_eq!(state.delayed, 31);
        assert!((state.mean - 1.0).abs() < 1e-6);
        // An ACK for two packets: 32 sixteenths stay.
        let mut state = search("linux_int");
        (0..1000).for_each(|_| state.acked(2));
        assert_eq!(state.delayed, 32);
    }

    #[test]
    fn a_step_takes_one_ack_more_than_the_count_or_as_many_segments() {
        let mut state = Search { count: 3, ..search("off") };
        let steps: Vec<_> = (0..8).map(|_| state.grow(1, 1)).collect();
        assert_eq!(steps, [0, 0, 0, 1, 0, 0, 0, 1]);
        let mut state = Search { count: 3, current: true, ..search("off") };
        let steps: Vec<_> = (0..6).map(|_| state.grow(1, 1)).collect();
        assert_eq!(steps, [0, 0, 1, 0, 0, 1]);
        assert_eq!(state.grow(7, 1), 2);
    }

    #[test]
    fn the_count_stays_for_a_while_at_one_window() {
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        let mut state = Search { last_max: 100, ..search("off") };
        state.update(at(0), 80, B);
        state.last_max = 1000;
        state.update(at(31), 80, B);
        assert_eq!(state.count, 16);
        state.update(at(32), 80, B);
        assert_eq!(state.count, 5);
    }

    #[test]
    fn a_window_over_its_life() {
        let mut algorithm =
            Bic::new(&Params::new(Bic::DESCRIPTOR.params, []).unwrap(), &ns2_flow(10.0, 10.0));
        algorithm.on_ack(&ack(1)); // at the threshold it is slow start still
        assert_eq!(algorithm.cwnd(), 11.0);
        algorithm.set_window(100.0);
        algorithm.on_congestion(&congestion(100.0));
        assert_eq!((algorithm.cwnd(), algorithm.ssthresh()), (79.0, 79.0));
        algorithm.on_rto(&timeout(79.0, false));
        assert_eq!((algorithm.cwnd(), algorithm.ssthresh(), algorithm.search.last_max), (1.0, 63.0, 0));
    }

    #[test]
    fn the_form_of_2004_halves_the_distance() {
        let values = [("form", ParamValue::Word("paper".into()))];
        let mut algorithm =
            Bic::new(&Params::new(Bic::DESCRIPTOR.params, values).unwrap(), &ns2_flow(80.0, 2.0));
        algorithm.on_congestion(&congestion(80.0));
        assert_eq!(algorithm.cwnd(), 70.0);
        (0..70).for_each(|_| algorithm.on_ack(&ack(1)));
        assert!((algorithm.cwnd() - 74.0).abs() < 0.5, "{}", algorithm.cwnd());
        // Beyond the maximum it grows faster and faster, by 32 a round trip at the most.
        algorithm.set_window(81.0);
        let mut rounds = Vec::new();
        for _ in 0..8 {
            let before = algorithm.cwnd();
            (0..before as u64).for_each(|_| algorithm.on_ack(&ack(1)));
            rounds.push(algorithm.cwnd() - before);
        }
        assert!(rounds.windows(2).all(|pair| pair[1] >= 0.99 * pair[0]) && rounds[7] <= 32.1, "{rounds:?}");
    }
}
