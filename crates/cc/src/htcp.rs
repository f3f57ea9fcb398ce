//! H-TCP. Leith and Shorten, PFLDnet 2004, and draft-leith-tcp-htcp: the window grows faster the longer the last congestion
//! event is ago, and a loss takes the part of the window that the buffer held.
//!
//! For a time `d` since the last congestion event: `alpha = 2 (1 - beta) f(d)`, `f = 1` to one second, then
//! `1 + 10 (d - 1) + ((d - 1)/2)^2`; `beta = RTTmin/RTTmax` within [0.5, 0.8], and 0.5 if the throughput changed by more than a
//! fifth. Variants (docs/specs/controllers-2.md section 6):
//! - `paper`: real numbers, alpha for each ACK; after an idle time the window can grow fast, since the time counts on;
//! - `linux`: alpha and beta in 1/128, times in jiffies of 1 ms, at most one segment for each ACK, alpha anew only then.
//!
//! Differences: a sample raises RTTmax by at most 20 ms, Linux takes no sample above that; Linux needs one more congestion event
//! with a steady throughput before it adapts beta; the scaled `f` is at least 1 in both variants, as in Linux. Status: draft.

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
/// Linux's one in alpha and beta.
const ONE: f64 = 128.0;

/// Growth that depends on the time since the last congestion event.
#[derive(Clone, Debug)]
pub struct Htcp {
    window: Window,
    linux: bool,
    scaling: bool,
    /// The end of the last congestion event.
    since: Time,
    recovering: bool,
    least: MinRtt,
    longest: Span,
    beta: f64,
    /// The last growth, segments a round trip.
    alpha: f64,
    /// Variant `linux`: segments that were acknowledged since the window grew.
    counted: f64,
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

/// alpha of Linux in 1/128, for a time since the congestion event and a smallest round-trip time in ms; zero for none.
fn alpha_linux(ms: u64, beta128: u64, rtt_ms: u64) -> u64 {
    let mut factor = 1;
    if ms > 1000 {
        let d = ms - 1000;
        factor = 1 + (10 * d + (d / 2) * (d / 2) / 1000) / 1000;
    }
    if rtt_ms > 0 {
        let scale = (8000 / (10 * rtt_ms)).clamp(4, 80);
        factor = (factor * 8 / scale).max(1);
    }
    match 2 * factor * (128 - beta128) {
        0 => 128,
        alpha => alpha,
    }
}

impl Algorithm for Htcp {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "htcp",
        summary: "grows faster the longer the last loss is ago; a loss takes what the buffer held",
        source: "Leith and Shorten, PFLDnet 2004; draft-leith-tcp-htcp; variant of Linux",
        family: Family::Loss,
        status: Status::Draft,
        params: &[
            crate::slow_start::PARAM,
            VARIANT,
            switch("rtt_scaling", true, "the growth is multiplied by RTTmin/100 ms, within 0.1 to 2"),
        ],
        probes: &["alpha", "beta"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Htcp {
        Htcp {
            window: Window::new(flow).with_slow_start(SlowStart::from_params(params)),
            linux: linux_variant(params, flow),
            scaling: params.switch("rtt_scaling"),
            since: Time::ZERO,
            recovering: false,
            least: MinRtt::default(),
            longest: Span::ZERO,
            beta: BETA[0],
            alpha: 1.0,
            counted: 0.0,
            throughput: Throughput::default(),
            before: None,
        }
    }
}

impl Throughput {
    /// Counts delivered segments; after a window and a round trip they are a sample.
    fn count(&mut self, ack: &Ack, cwnd: Segments, rtt: Span, since: Time) {
        if ack.phase > Phase::Open {
            (self.segments, self.began) = (0.0, ack.now);
            return;
        }
        self.segments += f64::from(ack.delivered);
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

impl Htcp {
    /// Segments by which the window grows in a round trip.
    fn growth_at(&self, now: Time) -> f64 {
        let (time, rtt) = (now.since(self.since), self.least.get().unwrap_or(Span::ZERO));
        if self.linux {
            let ms = |span: Span| span.ps() / Span::from_ms(1).ps();
            return alpha_linux(ms(time), (self.beta * ONE) as u64, if self.scaling { ms(rtt) } else { 0 })
                as f64
                / ONE;
        }
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
        if self.linux {
            self.beta = (self.beta * ONE).floor() / ONE;
        }
        if self.longest > least {
            self.longest = least + (self.longest - least).part(0.95);
        }
    }
}

impl Controller for Htcp {
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
        if !self.linux {
            self.alpha = self.growth_at(ack.now);
            self.window.additive_step(left * self.alpha);
        } else if self.counted * self.alpha >= self.window.cwnd {
            // One segment at most for each ACK, and alpha anew.
            self.window.set(self.window.cwnd + 1.0);
            (self.counted, self.alpha) = (0.0, self.growth_at(ack.now));
        } else {
            self.counted += left;
        }
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
    use crate::testing::{congestion, linux_flow, ns2_flow};

    fn htcp(flow: &FlowInfo) -> Htcp {
        Htcp::new(&Params::new(Htcp::DESCRIPTOR.params, []).unwrap(), flow)
    }

    #[test]
    fn published_growth() {
        assert_eq!([0.5, 2.0, 5.0].map(growth), [1.0, 11.25, 45.0]);
        assert_eq!([500, 2000, 5000].map(|ms| alpha_linux(ms, 64, 0)), [128, 1408, 5760]);
        assert_eq!([50, 100, 200].map(|rtt| alpha_linux(5000, 64, rtt)), [2816, 5760, 11520]);
        assert_eq!(alpha_linux(2000, 102, 100), 572);
        let mut controller = htcp(&ns2_flow(100.0, 2.0));
        controller.beta = 0.8;
        controller.scaling = false;
        assert!((controller.growth_at(Time::ZERO + Span::from_seconds(2.0)) - 4.5).abs() < 1e-12);
    }

    #[test]
    fn beta_follows_the_buffer_and_the_throughput() {
        let mut controller = htcp(&ns2_flow(100.0, 2.0));
        controller.least.update(Span::from_ms(100));
        for (longest, last, now, beta) in
            [(150, 110.0, 100.0, 2.0 / 3.0), (150, 130.0, 100.0, 0.5), (110, 100.0, 100.0, 0.8)]
        {
            controller.longest = Span::from_ms(longest);
            (controller.throughput.last, controller.throughput.largest) = (Some(last), now);
            controller.on_congestion(&congestion(100.0));
            assert!((controller.beta - beta).abs() < 1e-9, "{longest} {last}");
        }
        let mut controller = htcp(&linux_flow(100.0, 2.0));
        controller.on_congestion(&congestion(100.0)); // the first event
        assert_eq!(controller.cwnd(), 50.0);
    }
}
