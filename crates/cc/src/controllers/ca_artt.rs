//! CA-ARTT. Jeyasekar, Kasmir Raja and Annie Uthra, JATIT 66(1), 2014: Vegas with a backlog that is computed from a
//! forecast of the round-trip time, `N = (cwnd/ARTT - cwnd/RTT) (ARTT - base)` (Eq. 33). ARTT comes from an
//! ARIMA(2,1,1) model of the samples (Eq. 24).
//!
//! Everything else is Vegas of the profile: as in ns-2 (rounds, slow start in every other round, fine-grained clock,
//! loss rule) in the profile ns2, as in Linux in the profile linux and over QUIC. The paper is unclear in several places;
//! each interpretation is a parameter (docs/specs/ca-artt.md sections 2, 3 and 8): `mode` (the MA term), `ar_sign`,
//! `sample`, `guard`, `ss_test`, `decide`, `rtt_stat`. With a constant round-trip time N is zero for any queue length, so
//! the window grows until a loss. Status: draft (papers/ca-artt has the effect on the paper's results).

use crate::controllers::vegas::Vegas;
use crate::descriptor::{Descriptor, Family, Status};
use crate::estimators::{Arima, Artt, Innovation, MinRtt, Round};
use crate::noise::Normal;
use crate::parameters::{ParamError, ParamValue, Params, choice, number, switch};
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Signals, Timeout, TransmitStart};
use params::Key;
use units::{Segments, Span, Time};

/// How to use a forecast below the smallest round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guard {
    /// Raise it to the smallest round-trip time: N is zero.
    Clamp,
    /// Use it: N is negative.
    Raw,
    /// Use Vegas's own backlog for this step.
    Vegas,
}

/// Vegas with a backlog from a forecast of the round-trip time.
#[derive(Clone, Debug)]
pub struct CaArtt {
    vegas: Vegas,
    artt: Artt,
    base: MinRtt,
    last: Option<f64>,
    /// The rounds of the estimator if it takes one sample per round; `None` if it takes one per ACK.
    round: Option<Round>,
    guard: Guard,
    slow_start_by_artt: bool,
    mean_rtt: bool,
    backlog: f64,
}

const fn coefficient(name: &'static str, default: &'static str, doc: &'static str) -> Key {
    number(name, default, [-10.0, 10.0], "", doc)
}

const fn threshold(name: &'static str, default: &'static str, doc: &'static str) -> Key {
    number(name, default, [0.0, 1e6], "segments", doc)
}

impl Algorithm for CaArtt {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "ca_artt",
        summary: "Vegas with a backlog from an ARIMA(2,1,1) forecast of the round-trip time",
        source: "Jeyasekar, Kasmir Raja and Annie Uthra, JATIT 66(1), 2014",
        family: Family::Delay,
        status: Status::Draft,
        params: &[
            threshold("alpha", "1", "grow below this backlog"),
            threshold("beta", "3", "shrink above this backlog"),
            threshold("gamma", "1", "leave slow start above this backlog"),
            coefficient("phi1", "-0.36251", "coefficient of the last difference (section 3.2)"),
            coefficient("phi2", "0.17573", "coefficient of the difference before it (section 3.2)"),
            coefficient("theta1", "-0.95108", "coefficient of the last innovation, sign of Eq. 17"),
            choice!(
                "mode",
                ["innovation", "zero", "noise", "literal"],
                "MA term: theta1 e(t), none, sigma times a normal deviate, or Eq. 24 as printed (unstable: needs force)"
            ),
            switch("force", false, "allow mode = \"literal\", which diverges within 20 ACKs"),
            number(
                "sigma",
                "0.075",
                [0.0, 100.0],
                "s",
                "standard deviation of the term of mode = \"noise\" (section 3.2)",
            ),
            choice!(
                "ar_sign",
                ["printed", "flipped"],
                "signs of phi1 and phi2; flipped, they fit the paper's own Table 1 better"
            ),
            choice!("sample", ["per_ack", "per_rtt"], "how often the estimator takes a sample"),
            choice!(
                "guard",
                ["clamp", "raw", "vegas"],
                "a forecast below the smallest round-trip time: raise it, use it, or use the backlog of Vegas"
            ),
            choice!("ss_test", ["artt", "vegas"], "whose backlog ends slow start"),
            choice!("decide", ["per_rtt", "per_ack"], "how often backlog and thresholds are compared"),
            choice!(
                "rtt_stat",
                ["last", "mean"],
                "round-trip time of the actual rate: the last sample, or the round's mean"
            ),
        ],
        probes: &["artt", "base_rtt", "backlog"],
    };

    fn check(params: &Params) -> Result<(), ParamError> {
        if params.choice("mode") == "literal" && !params.switch("force") {
            return Err(ParamError {
                name: "mode".into(),
                reason: Some(
                    "\"literal\" diverges (its error grows 1.6 times an ACK); write force = true to run it"
                        .into(),
                ),
            });
        }
        Ok(())
    }

    fn new(params: &Params, flow: &FlowInfo) -> CaArtt {
        let shared = ["alpha", "beta", "gamma"].map(|name| (name, ParamValue::Number(params.number(name))));
        let decide = ("decide", ParamValue::Word(params.choice("decide").into()));
        let skeleton = Params::new(Vegas::DESCRIPTOR.params, shared.into_iter().chain([decide]))
            .unwrap_or_else(|error| unreachable!("Vegas takes these too: {error:?}"));
        let sign = if params.choice("ar_sign") == "flipped" { -1.0 } else { 1.0 };
        let model = Arima {
            phi: ["phi1", "phi2"].map(|name| sign * params.number(name)),
            theta: params.number("theta1"),
        };
        let innovation = match params.choice("mode") {
            "zero" => Innovation::Zero,
            "noise" => Innovation::Noise(params.number("sigma"), Normal::new(flow.seed)),
            "literal" => Innovation::Literal,
            _ => Innovation::Forecast,
        };
        CaArtt {
            vegas: Vegas::new(&skeleton, flow),
            artt: Artt::new(model, innovation),
            base: MinRtt::default(),
            last: None,
            round: (params.choice("sample") == "per_rtt").then(Round::default),
            guard: match params.choice("guard") {
                "raw" => Guard::Raw,
                "vegas" => Guard::Vegas,
                _ => Guard::Clamp,
            },
            slow_start_by_artt: params.choice("ss_test") == "artt",
            mean_rtt: params.choice("rtt_stat") == "mean",
            backlog: f64::NAN,
        }
    }
}

/// Eq. 33: the number of queued segments, from a window and three round-trip times in seconds.
fn backlog(cwnd: Segments, artt: f64, rtt: f64, base: f64) -> f64 {
    (cwnd / artt - cwnd / rtt) * (artt - base)
}

impl CaArtt {
    fn sample(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        self.base.update(rtt);
        self.last = Some(rtt.seconds());
        let due = self.round.as_mut().is_none_or(|r| r.closed_by(ack.acked_through, ack.next).is_some());
        if due || self.artt.forecast().is_none() {
            self.artt.update(rtt.seconds());
        }
    }

    /// The backlog from the forecast; `None` if Vegas's own backlog applies.
    fn forecast_backlog(&self) -> Option<f64> {
        let base = self.base.get()?.seconds();
        let rtt = if self.mean_rtt { self.vegas.round_mean().or(self.last)? } else { self.last? };
        let forecast = self.artt.forecast()?;
        let artt = match self.guard {
            _ if !forecast.is_finite() || forecast <= 0.0 => rtt,
            Guard::Clamp => forecast.max(base),
            Guard::Vegas if forecast < base => return None,
            Guard::Raw | Guard::Vegas => forecast,
        };
        (rtt > 0.0 && artt > 0.0).then(|| backlog(self.vegas.cwnd(), artt, rtt, base))
    }
}

impl Controller for CaArtt {
    fn needs(&self) -> Signals {
        self.vegas.needs()
    }
    fn on_open(&mut self, now: Time) {
        self.vegas.on_open(now);
    }

    fn on_ack(&mut self, ack: &Ack) {
        if ack.newly_acked > 0 {
            self.sample(ack);
            let forecast = self.forecast_backlog();
            let by_artt = self.slow_start_by_artt || !self.vegas.slow_start();
            self.vegas.set_backlog_source(forecast.filter(|_| by_artt));
            self.backlog = forecast.unwrap_or(self.vegas.backlog());
        }
        self.vegas.on_ack(ack);
    }

    fn on_transmit_start(&mut self, event: &TransmitStart) {
        self.vegas.on_transmit_start(event);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.vegas.on_congestion(event);
    }
    fn on_rto(&mut self, event: &Timeout) {
        self.vegas.on_rto(event);
    }
    fn set_window(&mut self, cwnd: Segments) {
        self.vegas.set_window(cwnd);
    }
    fn set_ssthresh(&mut self, ssthresh: Segments) {
        self.vegas.set_ssthresh(ssthresh);
    }
    fn cwnd(&self) -> Segments {
        self.vegas.cwnd()
    }
    fn ssthresh(&self) -> Segments {
        self.vegas.ssthresh()
    }
    fn fine_timeout(&self) -> Option<Span> {
        self.vegas.fine_timeout()
    }
    fn probe(&self, out: &mut [f64]) {
        out[0] = self.artt.forecast().unwrap_or(f64::NAN);
        out[1] = self.base.get().map_or(f64::NAN, Span::seconds);
        out[2] = self.backlog;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, ns2_flow};

    fn algorithm(values: &[(&'static str, &str)]) -> CaArtt {
        let values = values.iter().map(|(name, word)| (*name, ParamValue::Word((*word).into())));
        CaArtt::new(&Params::new(CaArtt::DESCRIPTOR.params, values).unwrap(), &ns2_flow(20.0, 2.0))
    }

    /// `algorithm` after an ACK with each of these samples, ms.
    fn fed(values: &[(&'static str, &str)], samples: &[u64]) -> CaArtt {
        let mut algorithm = algorithm(values);
        algorithm.on_open(Time::ZERO);
        for (i, ms) in samples.iter().enumerate() {
            let now = Time::ZERO + Span::from_ms(1000 + 10 * i as u64);
            let i = i as u64;
            let next = i + 1 + algorithm.cwnd() as u64;
            algorithm.on_ack(&Ack { now, rtt: Some(Span::from_ms(*ms)), acked_through: i, next, ..ack(1) });
        }
        algorithm
    }

    #[test]
    fn published_backlogs() {
        for (artt, rtt, expected) in
            [(110.0, 125.0, 0.218182), (95.0, 120.0, -0.219298), (12000f64.sqrt(), 120.0, 0.151829)]
        {
            assert!((backlog(20.0, artt / 1e3, rtt / 1e3, 0.1) - expected).abs() < 1e-6, "{artt}");
        }
    }

    #[test]
    fn guards() {
        // The forecast after 100, 100, 100, 110 is 96.8641, below the smallest, 100.
        let samples = [100, 100, 100, 110];
        let n = |guard| fed(&[("guard", guard)], &samples).forecast_backlog();
        assert_eq!(n("clamp"), Some(0.0));
        let cwnd = fed(&[("guard", "raw")], &samples).cwnd();
        assert!(
            (n("raw").unwrap() - backlog(cwnd, 0.0968641, 0.11, 0.1)).abs() < 1e-5 && n("raw").unwrap() < 0.0
        );
        assert_eq!(n("vegas"), None);
    }

    #[test]
    fn the_printed_equation_must_be_forced() {
        let literal = [("mode", ParamValue::Word("literal".into()))];
        let params = Params::new(CaArtt::DESCRIPTOR.params, literal.clone()).unwrap();
        assert!(CaArtt::check(&params).unwrap_err().reason.unwrap().contains("force = true"));
        let forced = literal.into_iter().chain([("force", ParamValue::Switch(true))]);
        assert_eq!(CaArtt::check(&Params::new(CaArtt::DESCRIPTOR.params, forced).unwrap()), Ok(()));
        // It runs: the guard takes the sample in place of what is not finite.
        let samples: Vec<u64> = (0..3000).map(|i| 100 + i % 7).collect();
        assert_eq!(fed(&[("mode", "literal")], &samples).forecast_backlog(), Some(0.0));
    }

    #[test]
    fn signs_modes_and_sampling() {
        let samples = [100, 100, 100, 110];
        let artt = |values: &[(&'static str, &str)]| fed(values, &samples).artt.forecast().unwrap() * 1e3;
        assert!((artt(&[("mode", "zero")]) - 106.3749).abs() < 1e-4);
        // (1 + 0.36251) 110 - (0.17573 + 0.36251) 100 + 0.17573 100
        assert!((artt(&[("mode", "zero"), ("ar_sign", "flipped")]) - 113.6251).abs() < 1e-4);
        assert!((artt(&[("mode", "noise")]) - 106.3749).abs() > 1e-3);
        assert!((artt(&[("sample", "per_rtt")]) - 100.0).abs() < 1e-9); // a round is 21 segments: one sample
    }

    #[test]
    fn a_constant_round_trip_time_lets_the_window_grow_whatever_the_queue() {
        let algorithm = fed(&[], &[100; 400]);
        assert_eq!(algorithm.forecast_backlog(), Some(0.0));
        assert!(algorithm.cwnd() > 25.0, "{}", algorithm.cwnd());
    }
}
