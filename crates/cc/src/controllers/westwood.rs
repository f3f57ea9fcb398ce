//! Westwood. Mascolo, Casetti, Gerla, Sanadidi, Wang, MobiCom 2001: a loss sets the window to the bandwidth-delay
//! product of the estimated bandwidth, `B RTTmin`, instead of a half.
//!
//! The estimator, its filters and the count of duplicate ACKs are those of the UCLA module for ns-2 (version 1.3,
//! 2002). The module's agent `Westwood` is `recovery = "westwood_module"` with `clock_rtt = true`,
//! `filter = "type1"`, `tau = 1`, `fr_a = true`; its agent `WestwoodNR` is `recovery = "newreno"`. With `reno` and
//! `newreno` the transport inflates the window and guards against repeated fast retransmits as for every controller,
//! and an ECN echo has the effect of a loss. Status: draft.

use crate::descriptor::{Descriptor, Family, Status};
use crate::detmath;
use crate::estimators::{AckFilter, AckRate, DupAckAccounting, MinRtt};
use crate::parameters::{Params, choice, number, switch};
use crate::slow_start::SlowStart;
use crate::window::{Window, impl_window_accessors};
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Timeout};
use units::{Segments, Span, Time};

/// Sets the window by a bandwidth estimate.
#[derive(Clone, Debug)]
pub struct Westwood {
    window: Window,
    rate: AckRate,
    credit: DupAckAccounting,
    rtt_min: MinRtt,
    rtt_quantum: Span,
    segment_bits: f64,
    floor_dup: bool,
    /// The module's divisor of the window after a timeout, 1 to 4; `None` if it is not used.
    divisor: Option<f64>,
}

/// Increase of the module's divisor at a loss in slow start, by duplicate ACKs and by a timeout, and its maximum.
const DIVISOR_STEP_DUP: f64 = 0.25;
const DIVISOR_STEP_RTO: f64 = 1.0;
const DIVISOR_MOST: f64 = 4.0;

impl Algorithm for Westwood {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "westwood",
        summary: "after a loss the window is the estimated bandwidth times the smallest round-trip time",
        source: "Mascolo et al., MobiCom 2001; the UCLA module for ns-2 (2002)",
        family: Family::Loss,
        status: Status::Draft,
        params: &[
            crate::slow_start::PARAM,
            crate::slow_start::EXIT,
            crate::slow_start::VARIANT,
            choice!(
                "filter",
                ["tustin", "type0", "type1", "type2"],
                "low-pass filter of the samples: Tustin's with virtual samples (type 3), or another one of the module"
            ),
            number(
                "tau",
                "0.5",
                [0.001, 100.0],
                "s",
                "cutoff of Tustin's filter is 1/tau (0.5 s in the paper, 1 s later)",
            ),
            number(
                "rtt_quantum",
                "0",
                [0.0, 10.0],
                "s",
                "round-trip times are rounded up to a multiple of it; the option clock_rtt has the clock of ns-2",
            ),
            switch(
                "floor_dup",
                true,
                "at least two segments after a fast retransmit, as after a timeout; one in the paper",
            ),
            switch(
                "fr_a",
                false,
                "the module's divisor of the window after a timeout: it grows at losses in slow start, up to 4",
            ),
        ],
        probes: &["bwe", "sample", "rtt_min", "w_bw", "unacc", "virtual_samples"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Westwood {
        let filter = match params.choice("filter") {
            "type0" => AckFilter::Ewma,
            "type1" => AckFilter::Fixed { keep: 0.9047, new: 0.0476 },
            "type2" => AckFilter::Fixed { keep: 0.93548, new: 0.03225 },
            _ => AckFilter::Tustin(params.number("tau")),
        };
        Westwood {
            window: Window::new(flow).with_slow_start(SlowStart::from_params(params)),
            rate: AckRate::new(filter),
            credit: DupAckAccounting::new(2),
            rtt_min: MinRtt::default(),
            rtt_quantum: Span::from_seconds(params.number("rtt_quantum")),
            segment_bits: flow.packet as f64 * 8.0,
            floor_dup: params.switch("floor_dup"),
            divisor: params.switch("fr_a").then_some(0.0),
        }
    }
}

impl Westwood {
    /// The window for the bandwidth estimate, whole segments; `None` before the first round-trip sample.
    fn fair(&self) -> Option<Segments> {
        self.fair_over(1.0)
    }

    /// The same window divided by `divisor`.
    fn fair_over(&self, divisor: f64) -> Option<Segments> {
        let rtt = self.rtt_min.get()?.seconds();
        Some(detmath::floor(self.rate.estimate() * rtt / self.segment_bits / divisor))
    }

    /// Updates the module's divisor at a loss, before the window is reduced.
    fn move_divisor(&mut self, step: f64) {
        let slow_start = self.window.ssthresh > self.window.cwnd;
        if let Some(divisor) = &mut self.divisor {
            *divisor = if slow_start { (*divisor + step).min(DIVISOR_MOST) } else { 1.0 };
        }
    }
}

impl Controller for Westwood {
    fn on_open(&mut self, now: Time) {
        self.rate.begin(now);
    }

    fn on_ack(&mut self, ack: &Ack) {
        let acked_count = self.credit.acked_count(ack.newly_acked);
        self.rate.update(ack.now, self.segment_bits * acked_count as f64);
        if let Some(rtt) = ack.rtt {
            let quantum = self.rtt_quantum.ps().max(1);
            self.rtt_min.update(Span::from_ps(rtt.ps().div_ceil(quantum) * quantum));
        }
        if self.window.on_ack(ack) {
            self.window.grow(ack);
        }
    }

    fn on_congestion(&mut self, event: &Congestion) {
        self.move_divisor(DIVISOR_STEP_DUP);
        match self.fair() {
            Some(fair) => {
                let fair = fair.max(if self.floor_dup { 2.0 } else { 1.0 });
                self.window.ssthresh = fair;
                self.window.set(self.window.cwnd.min(fair));
            }
            None => self.window.reduce(event.window, 0.5),
        }
    }

    fn on_rto(&mut self, event: &Timeout) {
        self.move_divisor(DIVISOR_STEP_RTO);
        self.window.timeout(event, 0.5);
        if let Some(fair) = self.fair_over(self.divisor.unwrap_or(1.0).max(1.0)) {
            self.window.ssthresh = fair.max(2.0);
        }
    }

    impl_window_accessors!(window);
    fn probe(&self, out: &mut [f64]) {
        out[0] = self.rate.estimate();
        out[1] = self.rate.sample();
        out[2] = self.rtt_min.get().map_or(f64::NAN, Span::seconds);
        out[3] = self.fair().unwrap_or(f64::NAN);
        out[4] = self.credit.early() as f64;
        out[5] = self.rate.virtual_samples() as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ack, congestion, ns2_flow, timeout};

    #[test]
    fn the_window_after_a_loss_is_what_the_path_carries() {
        // An ACK every 8 ms of 8000 bits: 1 Mb/s; 80 ms: ten segments.
        let mut algorithm =
            Westwood::new(&Params::new(Westwood::DESCRIPTOR.params, []).unwrap(), &ns2_flow(40.0, 2.0));
        algorithm.on_open(Time::ZERO);
        for i in 1..2000u64 {
            let now = Time::ZERO + Span::from_ms(8 * i);
            algorithm.on_ack(&Ack {
                now,
                rtt: Some(Span::from_ms(80 + i % 3)),
                phase: crate::Phase::Recovery,
                may_grow: false,
                ..ack(1)
            });
        }
        assert!((algorithm.rate.estimate() - 1e6).abs() < 1e3);
        algorithm.on_congestion(&congestion(40.0));
        assert!((9.0..=10.0).contains(&algorithm.cwnd()) && algorithm.ssthresh() == algorithm.cwnd());
        algorithm.set_window(5.0);
        algorithm.on_congestion(&congestion(5.0)); // never raises the window
        assert_eq!(algorithm.cwnd(), 5.0);
        algorithm.on_rto(&timeout(5.0, false));
        assert_eq!(algorithm.cwnd(), 1.0);
        assert!((9.0..=10.0).contains(&algorithm.ssthresh()));
    }

    #[test]
    fn the_divisor_grows_with_losses_in_slow_start() {
        let values = [("fr_a", crate::ParamValue::Switch(true))];
        let mut algorithm =
            Westwood::new(&Params::new(Westwood::DESCRIPTOR.params, values).unwrap(), &ns2_flow(4.0, 40.0));
        for step in [1.0, 2.0, 3.0, 4.0, 4.0] {
            algorithm.window.ssthresh = 40.0;
            algorithm.on_rto(&timeout(4.0, false));
            assert_eq!(algorithm.divisor, Some(step));
        }
        algorithm.set_window(40.0);
        algorithm.window.ssthresh = 20.0; // congestion avoidance
        algorithm.on_congestion(&congestion(40.0));
        assert_eq!(algorithm.divisor, Some(1.0));
        algorithm.window.ssthresh = 80.0;
        algorithm.on_congestion(&congestion(40.0));
        assert_eq!(algorithm.divisor, Some(1.25));
    }
}
