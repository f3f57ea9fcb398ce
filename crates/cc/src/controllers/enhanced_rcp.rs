//! Enhanced RCP. Mehta Ishani, Kar, Gonsai 2015: TCP that adds the window growth of the last round trip to the halved
//! window after a loss, and that raises its window to the rate that RCP would grant.
//!
//! The text, the algorithm and the code of the paper differ; each is a profile (docs/specs/rcp.md section 4):
//! - `text` (default): a loss sets the window to `max(2, W/2 + K)`. After a loss, and once per round trip, if
//!   `(a C - a y)/N` needs a larger window than the present one, the window grows towards it by one segment per ACK.
//! - `algorithm_literal`: the window always grows by one segment per ACK; a loss acts as above. The rate is compared
//!   with the window without a conversion of units and has no effect.
//! - `code_literal`: a loss sets the window to `W/2 + (W/2 - 1)`, that is `W - 1`. The threshold is W - 1 at the
//!   first reduction, in slow start and after a timeout, otherwise W/2.
//!
//! The initial window of the paper is four segments, unless the scenario gives one. If every router approves a
//! Quick-Start request, the code starts with 9999 segments: set `initial_window = 9999`, or `quick_start_window = 9999` with a
//! request. Status: draft.

use crate::descriptor::{Descriptor, Family, Status};
use crate::detmath;
use crate::estimators::{FairShareRate, Response, share_params};
use crate::parameters::{Params, choice, number};
use crate::window::{Window, impl_window_accessors};
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Timeout};
use params::Key;
use units::{Segments, Time};

/// Which version of Enhanced RCP to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Profile {
    Text,
    Algorithm,
    Code,
}

/// K: the amount that a reduction adds to the half window.
#[derive(Clone, Copy, Debug)]
enum Back {
    /// The growth of the window in the last round trip.
    Epoch,
    /// Half of the window minus one segment.
    Code,
    Constant(f64),
    /// The part that HighSpeed TCP keeps above a half.
    HighSpeed,
}

/// TCP with smaller window reductions and a target rate.
#[derive(Clone, Debug)]
pub struct EnhancedRcp {
    window: Window,
    profile: Profile,
    back: Back,
    response: Response,
    share: FairShareRate,
    /// The window at the start of the current round trip, and its growth in the last round trip.
    at_round: Segments,
    gained: Segments,
    target: Segments,
    cut_before: bool,
}

const SHARE: [Key; 3] = share_params("0.1");

impl Algorithm for EnhancedRcp {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "enhanced_rcp",
        summary: "TCP that adds its last growth to the halved window, and raises its window to the rate of RCP",
        source: "Mehta Ishani, Kar, Gonsai 2015 (docs/specs/rcp.md section 4)",
        family: Family::Model,
        status: Status::Draft,
        params: &[
            choice!(
                "profile",
                ["text", "algorithm_literal", "code_literal"],
                "the paper's text, its algorithm, or its code"
            ),
            choice!(
                "k_mode",
                ["epoch", "code", "const", "hstcp"],
                "K: growth of the last round trip, W/2 - 1, a constant, or what RFC 3649 keeps above a half"
            ),
            number("k", "1", [0.0, 1e6], "segments", "the constant K"),
            SHARE[0],
            SHARE[1],
            SHARE[2],
        ],
        probes: &["target", "own_rate"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> EnhancedRcp {
        EnhancedRcp {
            window: Window::new(flow),
            profile: match params.choice("profile") {
                "algorithm_literal" => Profile::Algorithm,
                "code_literal" => Profile::Code,
                _ => Profile::Text,
            },
            back: match params.choice("k_mode") {
                "code" => Back::Code,
                "const" => Back::Constant(params.number("k")),
                "hstcp" => Back::HighSpeed,
                _ => Back::Epoch,
            },
            response: Response::standard(),
            share: FairShareRate::new(params, flow),
            at_round: flow.initial_window,
            gained: 1.0,
            target: 0.0,
            cut_before: false,
        }
    }
}

impl EnhancedRcp {
    /// K for a reduction from window `w`, segments.
    fn k(&self, w: Segments) -> Segments {
        match self.back {
            Back::Epoch => self.gained,
            Back::Code => w / 2.0 - 1.0,
            Back::Constant(k) => k,
            Back::HighSpeed => (0.5 - self.response.cut(w)) * w,
        }
    }

    fn aim(&mut self) {
        self.target = self.share.window(self.share.spare_rate()).unwrap_or(0.0);
    }
}

impl Controller for EnhancedRcp {
    fn initial_window(&self) -> Option<Segments> {
        Some(4.0)
    }
    fn on_open(&mut self, now: Time) {
        self.share.open(now);
    }

    fn on_ack(&mut self, ack: &Ack) {
        if self.share.take(ack) {
            self.gained = (self.window.cwnd - self.at_round).max(0.0);
            self.at_round = self.window.cwnd;
            self.aim();
        }
        if !self.window.on_ack(ack) {
            return;
        }
        let acks = self.window.counts(ack);
        match self.profile {
            Profile::Algorithm => self.window.set(self.window.cwnd + acks),
            Profile::Text if self.target > self.window.cwnd => {
                self.window.set((self.window.cwnd + acks).min(self.target));
            }
            _ => self.window.grow(ack),
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        let w = event.window;
        if self.profile == Profile::Code {
            let first = !std::mem::replace(&mut self.cut_before, true);
            let whole = first || self.window.slow_start();
            self.window.ssthresh = detmath::floor(if whole { w - 1.0 } else { w / 2.0 }).max(2.0);
            self.window.set((w - 1.0).max(1.0));
            return;
        }
        let cut = (w / 2.0 + self.k(w)).min(w).max(2.0);
        self.window.ssthresh = cut;
        self.window.set(cut);
        self.at_round = cut;
        self.aim();
    }

    fn on_rto(&mut self, event: &Timeout) {
        self.window.timeout(event, 0.5);
        if self.profile == Profile::Code {
            self.window.ssthresh = detmath::floor(event.window - 1.0).max(2.0);
        }
        self.at_round = self.window.cwnd;
    }

    impl_window_accessors!(window);
    fn probe(&self, out: &mut [f64]) {
        out[0] = self.target;
        out[1] = self.share.own();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParamValue;
    use crate::testing::{ack, congestion, ns2_flow, timeout};
    use units::Span;

    fn algorithm(values: &[(&str, ParamValue)], cwnd: f64, ssthresh: f64) -> EnhancedRcp {
        let values = values.iter().map(|(name, value)| (*name, value.clone()));
        let params = Params::new(EnhancedRcp::DESCRIPTOR.params, values).unwrap();
        EnhancedRcp::new(&params, &ns2_flow(cwnd, ssthresh))
    }

    fn word(text: &str) -> ParamValue {
        ParamValue::Word(text.into())
    }

    #[test]
    fn published_cuts() {
        let mut text = algorithm(&[("k_mode", word("const"))], 20.0, 2.0);
        text.on_congestion(&congestion(20.0));
        assert_eq!((text.cwnd(), text.ssthresh()), (11.0, 11.0));
        let mut code = algorithm(&[("profile", word("code_literal"))], 20.0, 2.0);
        code.on_congestion(&congestion(20.0));
        assert_eq!((code.cwnd(), code.ssthresh()), (19.0, 19.0));
        code.on_congestion(&congestion(20.0));
        assert_eq!((code.cwnd(), code.ssthresh()), (19.0, 10.0));
        code.on_rto(&timeout(20.0, false));
        assert_eq!((code.cwnd(), code.ssthresh()), (1.0, 19.0));
        let mut high = algorithm(&[("k_mode", word("hstcp"))], 1058.0, 2.0);
        high.on_congestion(&congestion(1058.0));
        assert!((high.cwnd() - 1058.0 * (1.0 - 0.3269)).abs() < 0.5);
        let mut halves = algorithm(&[("k_mode", word("code"))], 20.0, 2.0);
        halves.on_congestion(&congestion(20.0));
        assert_eq!(halves.cwnd(), 19.0);
    }

    #[test]
    fn published_rate() {
        let values = [("capacity", ParamValue::Number(400_000.0)), ("flows", ParamValue::Number(4.0))];
        let mut controller = algorithm(&values, 20.0, 2.0);
        controller.share.take(&Ack { rtt: Some(Span::from_ms(100)), ..ack(0) });
        assert!((controller.share.spare_rate() - 10_000.0).abs() < 1e-9); // the paper's 9999.999875, whose y is 0.005
        controller.aim();
        assert_eq!(controller.target, 1.0); // 0.125 segments: never above the window
    }

    #[test]
    fn the_window_follows_the_rate_and_the_algorithm_never_rests() {
        // 10 Mb/s, a tenth of it: 12.5 segments in 100 ms.
        let mut text = algorithm(&[("capacity", ParamValue::Number(1e7))], 4.0, 2.0);
        text.on_open(Time::ZERO);
        let at = |ms| Time::ZERO + Span::from_ms(ms);
        for i in 0..40u64 {
            let event = Ack {
                now: at(100 + i),
                rtt: Some(Span::from_ms(100)),
                acked_through: i,
                next: i + 1,
                ..ack(1)
            };
            text.on_ack(&event);
        }
        assert!(text.cwnd() > 10.0, "{}", text.cwnd());
        let mut literal = algorithm(&[("profile", word("algorithm_literal"))], 4.0, 2.0);
        (0..40).for_each(|_| literal.on_ack(&ack(1)));
        assert_eq!(literal.cwnd(), 44.0);
    }
}
