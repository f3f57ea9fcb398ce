//! H-TCP. Leith and Shorten, PFLDnet 2004, and draft-leith-tcp-htcp: the window grows faster the longer the last congestion
//! event is ago, and a loss takes the part of the window that the buffer held.
//!
//! For a time `d` since the last congestion event: `alpha = 2 (1 - beta) f(d)`, `f = 1` to one second, then
//! `1 + 10 (d - 1) + ((d - 1)/2)^2`; `beta = RTTmin/RTTmax` within [0.5, 0.8], and 0.5 if the throughput changed by more than a
//! fifth. Variants (docs/specs/controllers-2.md section 6):
//! - `paper`: real numbers, alpha for each ACK; after an idle time the window can grow fast, since the time counts on;
//! - `linux`: alpha and beta in 1/128, times in jiffies of 1 ms, at most one segment for each ACK, alpha anew only then
//!   (linux/htcp.rs).
//!
//! Differences of `paper`: a sample raises RTTmax by at most 20 ms; the scaled `f` is at least 1, as in Linux. Status: checked
//! (`linux`, equal to the module of Linux).

use crate::controllers::linux::{self, Linux};
use crate::descriptor::{Descriptor, Family, Status};
use crate::estimators::MinRtt;
use crate::parameters::{Params, switch};
use crate::slow_start::SlowStart;
use crate::window::{VARIANT, Window, impl_window_accessors, linux_variant};
use crate::{Ack, Algorithm, Congestion, Controller, FlowInfo, Phase, Timeout};
use units::{Segments, Span, Time};

/// Bounds of beta, the part of the window that remains.
const BETA: [f64; 2] = [0.5, 0.8];
/// Seconds with Reno's growth after a congestion event.
const LOW_S: f64 = 1.0;
/// Below this smallest round-trip time beta is 0.5.
const SHORT: Span = Span::from_ms(10);
/// The most by which one sample raises RTTmax.
const RISE: Span = Span::from_ms(20);
/// Relative change of the throughput beyond which beta is 0.5.
const CHANGE: f64 = 0.2;

controller_variants! {
    /// Growth that depends on the time since the last congestion event.
    Htcp {
        /// The formulas of the paper.
        Paper(Formulas),
        /// The module of Linux.
        Linux(Linux<linux::Htcp>),
    }
}

/// H-TCP by the formulas of the paper.
#[derive(Clone, Debug)]
pub struct Formulas {
    window: Window,
    scaling: bool,
    /// The end of the last congestion event.
    since: Time,
    recovering: bool,
    least: MinRtt,
    longest: Span,
    beta: f64,
    /// The last growth, segments a round trip.
    alpha: f64,
    throughput: Throughput,
    /// What a spurious reduction restores.
    before: Option<(Time, Span, Option<f64>)>,
}

/// The largest throughput of this and of the last interval between congestion events, segments/s.
#[derive(Clone, Debug, Default)]
struct Throughput {
    segments: f64,
    began: Time,
    mean: f64,
    largest: f64,
    last: Option<f64>,
}

/// `f` of a time since the congestion event, seconds.
fn growth(s: f64) -> f64 {
    let d = (s - LOW_S).max(0.0);
    1.0 + 10.0 * d + (d / 2.0) * (d / 2.0)
}

impl Algorithm for Htcp {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "htcp",
        summary: "grows faster the longer the last loss is ago; a loss takes what the buffer held",
        source: "Leith and Shorten, PFLDnet 2004; draft-leith-tcp-htcp; variant of Linux",
        family: Family::Loss,
        status: Status::Checked,
        params: &[
            crate::slow_start::PARAM,
            crate::slow_start::EXIT,
            crate::slow_start::VARIANT,
            VARIANT,
            switch("rtt_scaling", true, "the growth is multiplied by RTTmin/100 ms, within 0.1 to 2"),
        ],
        probes: &["alpha", "beta"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Htcp {
        if linux_variant(params, flow) {
            let module = linux::Htcp::new(params.switch("rtt_scaling"));
            return Htcp::Linux(Linux::new(module, params, flow));
        }
        Htcp::Paper(Formulas {
            window: Window::new(flow).with_slow_start(SlowStart::from_params(params)),
            scaling: params.switch("rtt_scaling"),
            since: Time::ZERO,
            recovering: false,
            least: MinRtt::default(),
            longest: Span::ZERO,
            beta: BETA[0],
            alpha: 1.0,
            throughput: Throughput::default(),
            before: None,
        })
    }
}

impl Throughput {
    /// Counts delivered segments; after a window and a round trip they are a sample.
    fn count(&mut self, ack: &Ack, cwnd: Segments, rtt: Span, since: Time) {
        if ack.phase > Phase::Open {
            (self.segments, self.began) = (0.0, ack.now);
            return;
        }
        self.segments += f64::from(ack.newly_delivered);
        let span = ack.now.since(self.began);
        if self.segments < cwnd - 1.0 || span < rtt || span == Span::ZERO {
            return;
        }
        let sample = self.segments / span.seconds();
        (self.segments, self.began) = (0.0, ack.now);
        if ack.now.since(since) <= rtt * 3 {
            (self.mean, self.largest) = (sample, sample);
        } else {
            self.mean = (3.0 * self.mean + sample) / 4.0;
            self.largest = self.largest.max(self.mean);
        }
    }

    /// A congestion event: whether the largest throughput is that of the interval before, within a fifth.
    fn steady(&mut self) -> bool {
        let before = self.last.replace(self.largest);
        before.is_some_and(|before| (self.largest - before).abs() <= CHANGE * before)
    }
}

impl Formulas {
    /// Segments by which the window grows in a round trip.
    fn growth_at(&self, now: Time) -> f64 {
        let (time, rtt) = (now.since(self.since), self.least.get().unwrap_or(Span::ZERO));
        let scale =
            if self.scaling && rtt > Span::ZERO { (rtt.seconds() / 0.1).clamp(0.1, 2.0) } else { 1.0 };
        2.0 * (1.0 - self.beta) * (growth(time.seconds()) * scale).max(1.0)
    }

    /// A congestion event: a new beta.
    fn congestion(&mut self, now: Time) {
        if !self.recovering {
            self.before = Some((self.since, self.longest, self.throughput.last));
        }
        (self.recovering, self.since) = (true, now);
        let (steady, least) = (self.throughput.steady(), self.least.get().unwrap_or(Span::ZERO));
        self.beta = match steady && least > SHORT && self.longest > Span::ZERO {
            true => (least.seconds() / self.longest.seconds()).clamp(BETA[0], BETA[1]),
            false => BETA[0],
        };
        if self.longest > least {
            self.longest = least + (self.longest - least).part(0.95);
        }
    }
}

impl Controller for Formulas {
    fn on_open(&mut self, now: Time) {
        (self.since, self.throughput.began) = (now, now);
    }
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.least.update(rtt);
            if ack.phase == Phase::Open && rtt > self.longest {
                let first = self.longest == Span::ZERO;
                self.longest = if first { rtt } else { rtt.min(self.longest + RISE) };
            }
        }
        self.throughput.count(ack, self.window.cwnd, self.least.get().unwrap_or(Span::ZERO), self.since);
        if self.recovering && ack.phase == Phase::Open {
            (self.recovering, self.since) = (false, ack.now);
        }
        if !self.window.on_ack(ack) {
            return;
        }
        let left = self.window.slow_start_step(ack);
        if left <= 0.0 {
            return;
        }
        self.alpha = self.growth_at(ack.now);
        self.window.additive_step(left * self.alpha);
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.congestion(event.now);
        self.window.reduce(event.window, self.beta);
    }
    fn on_rto(&mut self, event: &Timeout) {
        if self.window.reduces_at(event) {
            self.congestion(event.now);
        }
        self.window.timeout(event, self.beta);
    }
    fn on_undo(&mut self, _now: Time) {
        if let Some((since, longest, last)) = self.before.take() {
            (self.since, self.longest, self.throughput.last) = (since, longest, last);
            self.recovering = false;
        }
    }
    impl_window_accessors!(window);
    fn probe(&self, out: &mut [f64]) {
        (out[0], out[1]) = (self.alpha, self.beta);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{congestion, ns2_flow};

    fn htcp() -> Formulas {
        let params = Params::new(Htcp::DESCRIPTOR.params, []).unwrap();
        let Htcp::Paper(formulas) = Htcp::new(&params, &ns2_flow(100.0, 2.0)) else {
            panic!("the profile ns2 has the variant of the paper");
        };
        formulas
    }

    #[test]
    fn published_growth() {
        assert_eq!([0.5, 2.0, 5.0].map(growth), [1.0, 11.25, 45.0]);
        let mut controller = htcp();
        controller.beta = 0.8;
        controller.scaling = false;
        assert!((controller.growth_at(Time::ZERO + Span::from_seconds(2.0)) - 4.5).abs() < 1e-12);
    }

    #[test]
    fn beta_follows_the_buffer_and_the_throughput() {
        let mut controller = htcp();
        controller.least.update(Span::from_ms(100));
        for (longest, last, now, beta) in
            [(150, 110.0, 100.0, 2.0 / 3.0), (150, 130.0, 100.0, 0.5), (110, 100.0, 100.0, 0.8)]
        {
            controller.longest = Span::from_ms(longest);
            (controller.throughput.last, controller.throughput.largest) = (Some(last), now);
            controller.on_congestion(&congestion(100.0));
            assert!((controller.beta - beta).abs() < 1e-9, "{longest} {last}");
        }
    }
}
