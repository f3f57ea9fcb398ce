//! The common part of BIC_AWI and BIC_DPE. Nirmala, Pujeri and Valarmathi, "Improved Binary Increase Congestion
//! Control Algorithms for Data Transfer in Satellite Network", ARPN JEAS 2015: BIC whose growth depends on the sign
//! of the change of the round-trip time, and which does not grow during a hand-off of a terminal.
//!
//! The printed pseudo-code contradicts itself; each interpretation is a parameter (docs/specs/bic-cubic.md section
//! 4). Growth is Linux's ([`crate::controllers::bic`]). Losses reduce the window during a hand-off too.

use crate::controllers::bic::{B, SEARCH_PARAMS, Search};
use crate::estimators::Smoothed;
use crate::parameters::{Params, choice, number, switch};
use crate::window::Window;
use crate::{Ack, FlowInfo, Hint, PathHint, Timeout};
use params::Key;
use units::{Span, Time};

/// The quantity that depends on the change of the round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The step: one segment if the round-trip time rises, otherwise two.
    Step,
    /// The divisor of the distance: three if the round-trip time falls, otherwise four.
    Divisor,
}

/// The parameters of both algorithms.
pub(crate) const PARAMS: [Key; 10] = [
    choice!(
        "difference",
        ["running", "printed"],
        "the change since the running average, or the variable that the pseudo-code tests, which is always 0"
    ),
    choice!(
        "signal",
        ["diff1", "diff2"],
        "the first difference, as in the code, or the second: the text's acceleration"
    ),
    choice!("rtt", ["sample", "smoothed"], "the round-trip time: the last sample, or the smoothed one"),
    switch(
        "slow_start_else",
        true,
        "no congestion avoidance step in slow start; Figure 4 has no else and runs both",
    ),
    switch("freeze", true, "no growth while either end is in a hand-off"),
    number(
        "handoff_check",
        "0.1",
        [0.0, 100.0],
        "s",
        "interval of the check of the hand-off flag (HandoffCheckInterval; not given in the paper); 0: no delay",
    ),
    choice!(
        "handoff_reset",
        ["none", "count", "count_and_window"],
        "the future work of the paper: a hand-off resets the count of ACKs, or also the window"
    ),
    SEARCH_PARAMS[0],
    SEARCH_PARAMS[1],
    SEARCH_PARAMS[2],
];

/// The internal values of both algorithms in the trace.
pub(crate) const PROBES: &[&str] = &["last_max", "cnt", "rtt_change"];

/// The state of both algorithms.
#[derive(Clone, Debug)]
pub(crate) struct HandoffBic {
    answer: Answer,
    pub window: Window,
    search: Search,
    printed: bool,
    second: bool,
    smoothed: Option<Smoothed>,
    falls_through: bool,
    freeze: bool,
    check: Span,
    drops_count: bool,
    drops_window: bool,
    /// The running average, s.
    previous: Option<f64>,
    /// The last first difference, s.
    change: f64,
    /// Start of the flow and of the periodic check.
    began: Time,
    /// Whether an end is in a hand-off, and the time of the last change.
    flag: (bool, Time),
    /// The value of the flag at the last check before its last change.
    seen: bool,
}

impl HandoffBic {
    pub fn new(answer: Answer, params: &Params, flow: &FlowInfo) -> HandoffBic {
        let reset = params.choice("handoff_reset");
        HandoffBic {
            answer,
            window: Window::new(flow),
            search: Search::new(params),
            printed: params.choice("difference") == "printed",
            second: params.choice("signal") == "diff2",
            smoothed: (params.choice("rtt") == "smoothed").then(|| Smoothed::new(0.125)),
            falls_through: !params.switch("slow_start_else"),
            freeze: params.switch("freeze"),
            check: Span::from_seconds(params.number("handoff_check")),
            drops_count: reset != "none",
            drops_window: reset == "count_and_window",
            previous: None,
            change: 0.0,
            began: Time::ZERO,
            flag: (false, Time::ZERO),
            seen: false,
        }
    }

    /// The change of the round-trip time, s, by the selected definition.
    fn difference(&mut self, rtt: Span) -> f64 {
        let sample = rtt.seconds();
        let now = self.smoothed.as_mut().map_or(sample, |mean| mean.update(sample));
        let previous = self.previous.unwrap_or(now);
        self.previous = Some((now + previous) / 2.0);
        let change = now - previous;
        let before = std::mem::replace(&mut self.change, change);
        match (self.printed, self.second) {
            (true, _) => 0.0,
            (false, true) => change - before,
            (false, false) => change,
        }
    }

    /// Whether the last periodic check before `now` found a hand-off.
    fn sees(&self, now: Time) -> bool {
        let (flag, since) = self.flag;
        let looked = match self.check.ps() {
            0 => now,
            check => self.began + Span::from_ps(now.since(self.began).ps() / check * check),
        };
        if looked >= since { flag } else { self.seen }
    }

    fn frozen(&self, now: Time) -> bool {
        self.freeze && self.sees(now)
    }

    fn set_flag(&mut self, now: Time, flag: bool) {
        self.seen = self.sees(now);
        self.flag = (flag, now);
    }

    pub fn on_open(&mut self, now: Time) {
        self.began = now;
        self.search.open(now);
    }

    pub fn on_ack(&mut self, ack: &Ack) {
        if ack.newly_acked == 0 {
            return;
        }
        if ack.phase == crate::Phase::Open {
            self.search.acked(ack.newly_acked);
        }
        if !self.window.on_ack(ack) {
            return;
        }
        // Without a round-trip sample the change is zero.
        let difference = ack.rtt.map_or(0.0, |rtt| self.difference(rtt));
        if self.frozen(ack.now) {
            return;
        }
        let cwnd = self.window.cwnd;
        if cwnd <= self.window.ssthresh {
            self.window.set(cwnd + 1.0);
            if !self.falls_through {
                return;
            }
        }
        let (step, b) = match self.answer {
            Answer::Step => (if difference > 0.0 { 1 } else { 2 }, B),
            Answer::Divisor => (1, if difference < 0.0 { B - 1 } else { B }),
        };
        self.search.update(ack.now, self.window.cwnd as u64, b);
        let grown = self.search.grow(ack.newly_acked as u64, step);
        self.window.set(self.window.cwnd + grown as f64);
    }

    pub fn on_congestion(&mut self) {
        self.window.ssthresh = self.search.reduce(self.window.cwnd as u64) as f64;
        self.window.set(self.window.ssthresh);
    }

    pub fn on_rto(&mut self, event: &Timeout) {
        if !event.repeated {
            self.on_congestion();
        }
        self.search.reset();
        self.window.set(1.0);
    }

    pub fn on_hint(&mut self, hint: &PathHint) {
        match hint.kind {
            Hint::HandoffBegins => {
                self.set_flag(hint.now, true);
                if self.drops_count {
                    self.search.forget_credit();
                }
                if self.drops_window {
                    self.window.set(1.0);
                }
            }
            Hint::HandoffEnds => self.set_flag(hint.now, false),
            Hint::RouterRate(_) | Hint::RouterFeedback(_) => {}
        }
    }

    pub fn probe(&self, out: &mut [f64]) {
        out[0] = self.search.last_max() as f64;
        out[1] = self.search.count() as f64;
        out[2] = self.change;
    }
}

/// Defines an algorithm; both differ only in `answer`.
macro_rules! algorithm {
    ($(#[$doc:meta])* $algorithm:ident, $name:literal, $summary:literal, $answer:expr) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub struct $algorithm(HandoffBic);

        impl $crate::Algorithm for $algorithm {
            const DESCRIPTOR: $crate::Descriptor = $crate::Descriptor {
                name: $name,
                summary: $summary,
                source: "Nirmala, Pujeri and Valarmathi, ARPN JEAS 2015",
                family: $crate::Family::Loss,
                status: $crate::Status::Draft,
                params: &$crate::controllers::handoff_bic::PARAMS,
                probes: $crate::controllers::handoff_bic::PROBES,
            };
            fn new(params: &$crate::Params, flow: &$crate::FlowInfo) -> $algorithm {
                $algorithm(HandoffBic::new($answer, params, flow))
            }
        }

        impl $crate::Controller for $algorithm {
            fn on_open(&mut self, now: units::Time) {
                self.0.on_open(now);
            }
            fn on_ack(&mut self, ack: &$crate::Ack) {
                self.0.on_ack(ack);
            }
            fn on_congestion(&mut self, _event: &$crate::Congestion) {
                self.0.on_congestion();
            }
            fn on_rto(&mut self, event: &$crate::Timeout) {
                self.0.on_rto(event);
            }
            fn on_hint(&mut self, hint: &$crate::PathHint) {
                self.0.on_hint(hint);
            }
            $crate::window::impl_window_accessors!(0.window);
            fn probe(&self, out: &mut [f64]) {
                self.0.probe(out);
            }
        }
    };
}
pub(crate) use algorithm;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, ns2_flow};
    use crate::{Algorithm, Controller, ParamValue};

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn algorithm(answer: Answer, values: &[(&str, ParamValue)]) -> HandoffBic {
        let values = values.iter().map(|(name, value)| (*name, value.clone()));
        let params = Params::new(&PARAMS, values).unwrap();
        HandoffBic::new(answer, &params, &ns2_flow(50.0, 2.0))
    }

    fn word(text: &str) -> ParamValue {
        ParamValue::Word(text.into())
    }

    /// ACKs with these round-trip times (ms), one a millisecond; the windows after each.
    fn windows(algorithm: &mut HandoffBic, rtts: &[u64]) -> Vec<f64> {
        let ack_at = |i: usize, rtt: u64| Ack { now: at(i as u64), rtt: Some(Span::from_ms(rtt)), ..ack(1) };
        rtts.iter()
            .enumerate()
            .map(|(i, rtt)| {
                algorithm.on_ack(&ack_at(i, *rtt));
                algorithm.window.cwnd
            })
            .collect()
    }

    #[test]
    fn the_running_average_is_taken_after_the_difference() {
        let mut algorithm = algorithm(Answer::Step, &[]);
        let differences: Vec<f64> =
            [100, 120, 100].into_iter().map(|ms| algorithm.difference(Span::from_ms(ms)) * 1e3).collect();
        // 100; 120 against 100; 100 against 110.
        for (difference, expected) in differences.iter().zip([0.0, 20.0, -10.0]) {
            assert!((difference - expected).abs() < 1e-9);
        }
        let mut second = self::algorithm(Answer::Step, &[("signal", word("diff2"))]);
        let differences: Vec<f64> =
            [100, 120, 100].into_iter().map(|ms| second.difference(Span::from_ms(ms)) * 1e3).collect();
        assert!((differences[2] + 30.0).abs() < 1e-9);
        let mut printed = self::algorithm(Answer::Step, &[("difference", word("printed"))]);
        assert_eq!(printed.difference(Span::from_ms(100)) + printed.difference(Span::from_ms(200)), 0.0);
    }

    #[test]
    fn awi_takes_two_where_dpe_divides_by_three() {
        let rising: Vec<u64> = (100..300).collect();
        let falling: Vec<u64> = (100..300).rev().collect();
        let grown = |answer, rtts: &[u64]| windows(&mut algorithm(answer, &[]), rtts)[199] - 50.0;
        // Each step is two, but the higher window needs more ACKs for it.
        assert!(grown(Answer::Step, &falling) > 1.5 * grown(Answer::Step, &rising));
        // Before the first loss the count is 20 at the most, whatever the divisor.
        assert_eq!(grown(Answer::Divisor, &falling), grown(Answer::Divisor, &rising));
        let after_loss = |rtts: &[u64]| {
            let mut algorithm = algorithm(Answer::Divisor, &[]);
            algorithm.window.set(100.0);
            algorithm.on_congestion();
            windows(&mut algorithm, rtts)[199]
        };
        assert!(after_loss(&falling) > after_loss(&rising));
    }

    #[test]
    fn the_freeze_holds_growth_and_is_seen_when_the_timer_looks() {
        let mut algorithm = algorithm(Answer::Step, &[]);
        algorithm.on_hint(&PathHint { now: at(10), kind: Hint::HandoffBegins });
        assert!(!algorithm.frozen(at(99)) && algorithm.frozen(at(100)));
        algorithm.on_hint(&PathHint { now: at(150), kind: Hint::HandoffEnds });
        assert!(algorithm.frozen(at(199)) && !algorithm.frozen(at(200)));
        // Between two looks nobody sees it.
        algorithm.on_hint(&PathHint { now: at(210), kind: Hint::HandoffBegins });
        algorithm.on_hint(&PathHint { now: at(220), kind: Hint::HandoffEnds });
        assert!((210..400).step_by(10).all(|ms| !algorithm.frozen(at(ms))));
        let mut held = self::algorithm(Answer::Step, &[("handoff_check", ParamValue::Number(0.0))]);
        held.on_hint(&PathHint { now: at(0), kind: Hint::HandoffBegins });
        assert!(windows(&mut held, &[100; 200]).iter().all(|w| *w == 50.0));
        held.on_congestion(); // losses act
        assert_eq!(held.window.cwnd, 39.0);
        let mut free = self::algorithm(Answer::Step, &[("freeze", ParamValue::Switch(false))]);
        free.on_hint(&PathHint { now: at(0), kind: Hint::HandoffBegins });
        assert!(windows(&mut free, &[100; 200])[199] > 50.0);
    }

    #[test]
    fn a_hand_off_may_drop_the_window() {
        let mut dropped = algorithm(Answer::Divisor, &[("handoff_reset", word("count_and_window"))]);
        dropped.on_hint(&PathHint { now: at(0), kind: Hint::HandoffBegins });
        assert_eq!(dropped.window.cwnd, 1.0);
    }

    #[test]
    fn without_its_else_slow_start_goes_on_to_congestion_avoidance() {
        let params = Params::new(&PARAMS, [("slow_start_else", ParamValue::Switch(false))]).unwrap();
        let mut algorithm = crate::BicAwi::new(&params, &ns2_flow(20.0, 1000.0));
        let usual = Params::new(&PARAMS, []).unwrap();
        let mut other = crate::BicAwi::new(&usual, &ns2_flow(20.0, 1000.0));
        for i in 0..100 {
            let now = Ack { now: at(i), rtt: Some(Span::from_ms(100)), ..ack(1) };
            algorithm.on_ack(&now);
            other.on_ack(&now);
        }
        assert_eq!(other.cwnd(), 120.0);
        assert!(algorithm.cwnd() > 120.0);
    }

    #[test]
    fn figure_2_to_the_letter() {
        let mut algorithm = algorithm(Answer::Divisor, &[("update", word("seed_literal"))]);
        algorithm.window.set(100.0);
        algorithm.on_congestion(); // target 100
        algorithm.window.set(80.0);
        algorithm.on_ack(&Ack { now: at(1), rtt: Some(Span::from_ms(100)), ..ack(1) });
        assert_eq!(algorithm.search.count(), 80 * 4 / 100);
    }
}
