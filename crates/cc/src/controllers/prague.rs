//! Prague: DCTCP for the Internet (draft-briscoe-iccrg-prague-congestion-control; RFC 9331 appendix A).
//!
//! It sends ECT(1), paces, averages the marks over virtual round trips of at least 25 ms, and grows more slowly on shorter
//! paths, so that a flow with a short round-trip time does not starve others. Interpretations of the expired draft: the
//! average of marks starts at one; below 25 ms the additive increase is scaled with the square of the ratio of the
//! round-trip times; an ACK with marks does not increase the window. Without the detection of classic queues: it must run
//! behind queues that mark ECT(1) separately. Status: draft.

use crate::controllers::dctcp::GAIN;
use crate::descriptor::{Descriptor, Family, Status};
use crate::estimators::MarkFraction;
use crate::pacing_rate::pacing_rate;
use crate::parameters::{Params, number};
use crate::{Ack, Algorithm, Congestion, Controller, EcnResponse, FlowInfo, Signals, Timeout};
use units::{Rate, Segments, Span, Time};

const MIN_WINDOW: f64 = 2.0;

/// Prague.
#[derive(Clone, Debug)]
pub struct Prague {
    cwnd: Segments,
    ssthresh: Segments,
    max_window: Segments,
    segment_bits: f64,
    virtual_rtt: Span,
    fraction: MarkFraction,
    srtt: Option<Span>,
    /// When the average of marks was updated, and when the window was reduced.
    updated: Time,
    reduced: Time,
}

impl Algorithm for Prague {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "prague",
        summary: "DCTCP for low-latency queues of the Internet (L4S), paced",
        source: "draft-briscoe-iccrg-prague-congestion-control-04 (2024), RFC 9331",
        family: Family::DataCentre,
        status: Status::Draft,
        params: &[
            GAIN,
            number(
                "virtual_rtt",
                "0.025",
                [0.001, 1.0],
                "s",
                "least round-trip time for growth and for the average of marks",
            ),
        ],
        probes: &["alpha", "srtt"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Prague {
        Prague {
            cwnd: flow.initial_window,
            ssthresh: flow.initial_ssthresh,
            max_window: flow.max_window,
            segment_bits: flow.packet as f64 * 8.0,
            virtual_rtt: Span::from_seconds(params.number("virtual_rtt")),
            fraction: MarkFraction::new(params.number("gain")),
            srtt: None,
            updated: Time::ZERO,
            reduced: Time::ZERO,
        }
    }
}

impl Prague {
    fn slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    fn reduce(&mut self, now: Time, keep: f64) {
        self.cwnd = (self.cwnd * keep).max(MIN_WINDOW);
        self.ssthresh = self.cwnd;
        self.reduced = now;
    }

    fn grow(&mut self, ack: &Ack, rtt: Span) {
        let acked = ack.newly_delivered as f64;
        self.cwnd = if self.slow_start() {
            (self.cwnd + acked).min(self.ssthresh.max(self.cwnd))
        } else {
            let ratio = (rtt.seconds() / self.virtual_rtt.seconds()).min(1.0);
            self.cwnd + ratio * ratio * acked / self.cwnd
        };
        self.cwnd = self.cwnd.min(self.max_window);
    }
}

impl Controller for Prague {
    fn needs(&self) -> Signals {
        Signals::ECN_PER_PACKET.and(Signals::L4S).and(Signals::PACING)
    }
    fn on_open(&mut self, now: Time) {
        (self.updated, self.reduced) = (now, now);
    }
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            let smoothed = self.srtt.map_or(rtt, |srtt| Span::from_ps((7 * srtt.ps() + rtt.ps()) / 8));
            self.srtt = Some(smoothed);
        }
        self.fraction.count(ack);
        let rtt = self.srtt.unwrap_or(self.virtual_rtt);
        if ack.now.since(self.updated) >= rtt.max(self.virtual_rtt) {
            self.fraction.update();
            self.updated = ack.now;
        }
        if ack.ece {
            if ack.now.since(self.reduced) >= rtt {
                self.reduce(ack.now, 1.0 - self.fraction.alpha() / 2.0);
            }
        } else if ack.may_grow && ack.window_limited {
            self.grow(ack, rtt);
        }
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.cwnd = event.window;
        self.reduce(event.now, 0.5);
    }
    fn ecn_response(&self) -> EcnResponse {
        EcnResponse::NoCwr
    }
    fn on_rto(&mut self, event: &Timeout) {
        if !event.repeated {
            self.ssthresh = (event.window * 0.5).max(MIN_WINDOW);
        }
        self.cwnd = 1.0;
    }
    fn set_window(&mut self, cwnd: Segments) {
        self.cwnd = cwnd.min(self.max_window);
    }
    fn set_ssthresh(&mut self, ssthresh: Segments) {
        self.ssthresh = ssthresh;
    }
    fn cwnd(&self) -> Segments {
        self.cwnd
    }
    fn ssthresh(&self) -> Segments {
        self.ssthresh
    }
    fn pacing(&self) -> Option<Rate> {
        let gain = if self.slow_start() { 2.0 } else { 1.0 };
        pacing_rate(gain * self.cwnd * self.segment_bits / self.srtt?.seconds())
    }
    fn probe(&self, out: &mut [f64]) {
        out[0] = self.fraction.alpha();
        out[1] = self.srtt.map_or(f64::NAN, Span::seconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, linux_flow};

    fn prague(cwnd: f64, ssthresh: f64) -> Prague {
        let params = Params::new(Prague::DESCRIPTOR.params, []).unwrap();
        Prague::new(&params, &linux_flow(cwnd, ssthresh))
    }

    fn at(ms: u64, rtt: u64) -> Ack {
        Ack { now: Time::ZERO + Span::from_ms(ms), rtt: Some(Span::from_ms(rtt)), ..ack(1) }
    }

    #[test]
    fn growth_is_slower_on_short_paths() {
        // Over one round trip of ten ACKs.
        let grown = |rtt: u64| {
            let mut p = prague(10.0, 10.0);
            (0..10).for_each(|n| p.on_ack(&at(100 + n, rtt)));
            p.cwnd() - 10.0
        };
        assert!((grown(25) - 1.0).abs() < 0.05 && (grown(100) - 1.0).abs() < 0.05);
        assert!((grown(5) - 0.04).abs() < 0.005);
    }

    #[test]
    fn marks_reduce_at_most_once_a_round_trip_and_do_not_grow() {
        let mut p = prague(100.0, f64::INFINITY);
        let marked = |ms| Ack { ece: true, ce: 1, ..at(ms, 20) };
        p.on_ack(&marked(100));
        assert_eq!((p.cwnd(), p.ssthresh()), (50.0, 50.0)); // alpha is still one
        p.on_ack(&marked(110));
        assert_eq!(p.cwnd(), 50.0);
        (0..40).for_each(|n| p.on_ack(&at(1000 + 30 * n, 20))); // unmarked: alpha decays
        let before = p.cwnd();
        p.on_ack(&marked(3000));
        assert!(p.cwnd() > 0.9 * before && p.cwnd() < before);
        assert!(p.pacing().is_some());
    }
}
