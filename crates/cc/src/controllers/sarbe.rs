//! SARBE+ECN. Le Tuan Anh, Hong, Doo, "Combining Bandwidth Estimate and Explicit Congestion Notification for
//! Improving TCP over Heterogeneous Networks": uses ECN to distinguish random losses from congestion losses, and sets
//! thresholds from a bandwidth estimate that uses the receiver's timestamps.
//!
//! - A1: an ECN echo in slow start sets the threshold to `oCwnd = eBw RTTmin`.
//! - A2: a loss sets the threshold to oCwnd. If congestion was echoed, it sets the window to oCwnd too; otherwise the
//!   window does not change.
//! - B: a timeout sets the threshold to oCwnd and the window to one segment.
//!
//! Growth is Reno's. An echo in congestion avoidance has no effect, unlike in RFC 3168. On a path with random losses
//! and congestion but without ECN, only a timeout reduces the window. Interpretations are parameters
//! (docs/specs/sarbe-ecn.md section 8). The transport sets CWR once per window of data. Status: draft.

use crate::descriptor::{Descriptor, Family, Status};
use crate::detmath;
use crate::estimators::{DupAckAccounting, MinRtt, StabilityFilteredBandwidth};
use crate::parameters::{ParamError, Params, choice, number, switch};
use crate::window::{Window, impl_window_accessors};
use crate::{Ack, Algorithm, Cause, Congestion, Controller, EcnResponse, FlowInfo, Signals, Timeout};
use units::{Segments, Span, Time};

/// Reno that distinguishes losses by ECN.
#[derive(Clone, Debug)]
pub struct Sarbe {
    window: Window,
    rate: StabilityFilteredBandwidth,
    duplicates: Duplicates,
    credit: DupAckAccounting,
    rtt_min: MinRtt,
    last_rtt: Span,
    segment_bits: f64,
    latched: bool,
    floor: bool,
    keep_at_exit: bool,
    rfc3168: bool,
    sets_cwr: bool,
    a1_on_dup: bool,
    /// Time of the last ECN echo.
    echoed: Option<Time>,
    /// Whether the current ACK carries an ECN echo.
    echoing: bool,
    /// The window at the start of recovery.
    entered: Option<Segments>,
}

/// How a duplicate ACK counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Duplicates {
    Credited,
    Zero,
    Skipped,
}

impl Algorithm for Sarbe {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "sarbe",
        summary: "keeps the window at a loss without an ECN echo; thresholds from a bandwidth estimate",
        source: "Le Tuan Anh, Hong and Doo (2004)",
        family: Family::Loss,
        status: Status::Draft,
        params: &[
            number(
                "gain",
                "0.8",
                [0.0, 0.999],
                "",
                "gain of the instability (Eq. 2; 0.8 in the paper, 0.6 in SANE)",
            ),
            number(
                "instabilities",
                "8",
                [1.0, 1000.0],
                "samples",
                "N of Eq. 3: number of instability values",
            ),
            choice!(
                "window",
                ["n_plus_1", "n"],
                "the maximum over N + 1 instabilities, as in the formula, or over N, as in the text"
            ),
            choice!(
                "dup",
                ["westwood", "zero", "skip"],
                "a duplicate ACK counts as a segment (the cumulative ACK then excludes it), as none, or is no sample"
            ),
            choice!(
                "ece",
                ["latched", "this_ack"],
                "the echo that makes a loss a congestion loss: any of the last round trip, or that of the last ACK"
            ),
            choice!(
                "exit",
                ["keep", "ssthresh"],
                "the window after recovery: the one at its start, or the threshold"
            ),
            choice!(
                "ca_ece",
                ["none", "rfc3168"],
                "an echo in congestion avoidance: no effect, or one halving per window of data"
            ),
            choice!(
                "cwr",
                ["on_action", "never"],
                "CWR: at every action on an echo and at least once per window of data, or never"
            ),
            switch("a1_on_dup", false, "a duplicate ACK with an echo also sets the threshold in slow start"),
            switch("floor_ocwnd", true, "the optimal window is at least two segments"),
        ],
        probes: &["bwe", "sample", "instability", "opt_cwnd", "rtt_min"],
    };
    fn check(params: &Params) -> Result<(), ParamError> {
        if params.choice("cwr") == "never" && params.choice("ca_ece") == "rfc3168" {
            let reason = "\"rfc3168\" sets CWR at its reductions; cwr must not be \"never\"";
            return Err(ParamError { name: "ca_ece".into(), reason: Some(reason.into()) });
        }
        Ok(())
    }
    fn new(params: &Params, flow: &FlowInfo) -> Sarbe {
        let extra = (params.choice("window") == "n_plus_1") as usize;
        Sarbe {
            window: Window::new(flow),
            rate: StabilityFilteredBandwidth::new(
                params.number("gain"),
                params.number("instabilities") as usize + extra,
            ),
            duplicates: match params.choice("dup") {
                "zero" => Duplicates::Zero,
                "skip" => Duplicates::Skipped,
                _ => Duplicates::Credited,
            },
            credit: DupAckAccounting::new(u32::MAX),
            rtt_min: MinRtt::default(),
            last_rtt: Span::ZERO,
            segment_bits: flow.packet as f64 * 8.0,
            latched: params.choice("ece") == "latched",
            floor: params.switch("floor_ocwnd"),
            keep_at_exit: params.choice("exit") == "keep",
            rfc3168: params.choice("ca_ece") == "rfc3168",
            sets_cwr: params.choice("cwr") == "on_action",
            a1_on_dup: params.switch("a1_on_dup"),
            echoed: None,
            echoing: false,
            entered: None,
        }
    }
}

/// Eq. 5: whole segments.
fn optimal_window(bandwidth: f64, rtt: f64, segment_bits: f64) -> Segments {
    detmath::floor(bandwidth * rtt / segment_bits)
}

impl Sarbe {
    fn measure(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.rtt_min.update(rtt);
            self.last_rtt = rtt;
        }
        let Some(stamp) = ack.receiver_time else { return };
        let acked_count = match self.duplicates {
            Duplicates::Credited => self.credit.acked_count(ack.newly_acked),
            Duplicates::Skipped if ack.newly_acked == 0 => return,
            _ => ack.newly_acked,
        };
        self.rate.update(stamp, acked_count as f64 * self.segment_bits);
    }

    /// The window for the bandwidth estimate, segments; `None` before there is an estimate.
    fn optimal(&self) -> Option<Segments> {
        let rtt = self.rtt_min.get()?.seconds();
        let window = optimal_window(self.rate.estimate()?, rtt, self.segment_bits);
        Some(if self.floor { window.max(2.0) } else { window.max(1.0) })
    }

    fn congested(&self, now: Time) -> bool {
        if self.latched { self.echoed.is_some_and(|at| now.since(at) <= self.last_rtt) } else { self.echoing }
    }
}

impl Controller for Sarbe {
    fn needs(&self) -> Signals {
        Signals::RECEIVER_TIME
    }
    fn ecn_response(&self) -> EcnResponse {
        match (self.rfc3168, self.sets_cwr) {
            (_, false) => EcnResponse::NoCwr,
            (true, true) => EcnResponse::Reduce,
            (false, true) => EcnResponse::CwrOnly,
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.measure(ack);
        self.echoing = ack.ece;
        if ack.ece {
            self.echoed = Some(ack.now);
            if (ack.newly_acked > 0 || self.a1_on_dup)
                && self.window.slow_start()
                && let Some(optimal) = self.optimal()
            {
                self.window.ssthresh = optimal;
            }
        }
        // Growth is Reno's with and without an echo: in the paper an echo changes only the threshold.
        let grows = ack.ece && !self.rfc3168 && ack.newly_acked > 0 && ack.phase != crate::Phase::Recovery;
        let without_echo = Ack { may_grow: ack.may_grow || grows, ..*ack };
        if self.window.on_ack(&without_echo) {
            self.window.grow(&without_echo);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if event.cause == Cause::Ecn {
            self.window.reduce(event.window, 0.5);
            return;
        }
        let congested = self.congested(event.now);
        match self.optimal() {
            Some(optimal) => {
                self.window.ssthresh = optimal;
                if congested {
                    self.window.set(self.window.cwnd.min(optimal));
                }
            }
            None => self.window.reduce(event.window, 0.5),
        }
        self.entered = Some(self.window.cwnd);
        if congested {
            self.echoed = None; // the reduction has used this echo
        }
    }

    fn on_recovery_exit(&mut self, _now: Time) {
        if let Some(entered) = self.entered.take() {
            self.window.set(if self.keep_at_exit { entered } else { self.window.ssthresh });
        }
    }

    fn on_rto(&mut self, event: &Timeout) {
        self.window.timeout(event, 0.5);
        if let Some(optimal) = self.optimal() {
            self.window.ssthresh = optimal;
        }
        self.entered = None;
        self.echoed = None;
    }

    impl_window_accessors!(window);
    fn probe(&self, out: &mut [f64]) {
        out[0] = self.rate.estimate().unwrap_or(f64::NAN);
        out[1] = self.rate.sample().unwrap_or(f64::NAN);
        out[2] = self.rate.instability();
        out[3] = self.optimal().unwrap_or(f64::NAN);
        out[4] = self.rtt_min.get().map_or(f64::NAN, Span::seconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, congestion, ns2_flow, timeout};

    /// After 100 ACKs, a segment of 8000 bits every 4 ms: 2 Mb/s; 40 ms: an optimal window of ten.
    fn fed(cwnd: f64, ssthresh: f64) -> Sarbe {
        let mut algorithm =
            Sarbe::new(&Params::new(Sarbe::DESCRIPTOR.params, []).unwrap(), &ns2_flow(cwnd, ssthresh));
        for i in 0..100u64 {
            let at = Time::ZERO + Span::from_ms(1000 + 4 * i);
            let (phase, may_grow) = (crate::Phase::Recovery, false);
            algorithm.on_ack(&Ack {
                now: at,
                receiver_time: Some(at),
                rtt: Some(Span::from_ms(40)),
                phase,
                may_grow,
                ..ack(1)
            });
        }
        algorithm
    }

    #[test]
    fn published_window() {
        assert_eq!(optimal_window(2.5e6, 0.084, 8000.0), 26.0);
    }

    #[test]
    fn a_loss_without_echo_keeps_the_window_and_one_with_echo_takes_it_down() {
        let now = Time::ZERO + Span::from_ms(1400);
        let mut algorithm = fed(30.0, 2.0);
        algorithm.on_congestion(&Congestion { now, ..congestion(30.0) });
        assert_eq!((algorithm.cwnd(), algorithm.ssthresh()), (30.0, 10.0));
        algorithm.set_window(25.0); // a partial ACK deflates
        algorithm.on_recovery_exit(now);
        assert_eq!(algorithm.cwnd(), 30.0);

        let mut algorithm = fed(30.0, 2.0);
        algorithm.on_ack(&Ack { now, ece: true, ..ack(0) });
        algorithm.on_congestion(&Congestion { now: now + Span::from_ms(40), ..congestion(30.0) });
        assert_eq!((algorithm.cwnd(), algorithm.ssthresh()), (10.0, 10.0));

        let mut algorithm = fed(30.0, 2.0); // an echo of more than a round trip ago does not count
        algorithm.on_ack(&Ack { now, ece: true, ..ack(0) });
        algorithm.on_congestion(&Congestion { now: now + Span::from_ms(41), ..congestion(30.0) });
        assert_eq!(algorithm.cwnd(), 30.0);
        algorithm.on_rto(&timeout(30.0, false));
        assert_eq!((algorithm.cwnd(), algorithm.ssthresh()), (1.0, 10.0));
    }

    #[test]
    fn an_echo_ends_slow_start_and_does_nothing_after_it() {
        let mut algorithm = fed(8.0, 64.0);
        algorithm.on_ack(&Ack { ece: true, may_grow: false, ..ack(1) });
        assert_eq!((algorithm.cwnd(), algorithm.ssthresh()), (9.0, 10.0));
        let mut algorithm = fed(12.0, 2.0);
        algorithm.on_ack(&Ack { ece: true, may_grow: false, ..ack(1) });
        assert_eq!(algorithm.ssthresh(), 2.0);
        assert!(algorithm.cwnd() > 12.0);
        assert_eq!(algorithm.ecn_response(), EcnResponse::CwrOnly);
    }
}
