//! Vegas. Brakmo and Peterson, IEEE JSAC 13(8), 1995: keeps between `alpha` and `beta` segments queued.
//!
//! Implementations of Vegas differ; `variant` selects one. The default is `linux` in the profile linux and over QUIC,
//! otherwise `ns2`:
//! - `ns2`: ns-2.35's agent. Mean of the round-trip samples of a round; the backlog is (expected - actual) * base,
//!   rounded, with the actual rate from the segments sent in the round. Below `alpha` the window grows by 1/cwnd per ACK
//!   for the whole next round, if the window is nearly full. The base is also raised if at most one segment was in
//!   flight. A loss reduces the window to 3/4 (1/2 for a segment that was lost again), but only if the lost segment was
//!   sent after the last change. It decides in every phase, so a delayed ACK counts as a queue: with a receiver that
//!   delays ACKs by up to 200 ms the window can stay below two segments after a burst of other traffic (4 % of the path
//!   used for ten seconds, docs/specs/vegas-veno.md section 3).
//! - `brakmo`: backlog cwnd * (1 - base/rtt) without rounding, one segment up or down per round in the phase open; in
//!   other phases the window grows as Reno's.
//! - `linux`: the smallest sample of the round, backlog floor(cwnd * (rtt - base) / base), one segment up or down per
//!   round in the phase open. In other phases, and after a round with fewer than three samples, the window grows as
//!   Reno's; a loss halves it. The base is measured anew when transmission starts with nothing in flight. It does not decide
//!   after a SACK that reports a gap either (state Disorder), and an unused window grows.
//!
//! The transport does the retransmission on the first duplicate ACK (the paper's third technique): with
//! `recovery = "reno"` it uses [`Controller::fine_timeout`]. Status: checked (`ns2`, row by row against ns-2.35;
//! `linux`, row by row against the module of Linux); the variant `brakmo` is a draft.

use crate::controllers::linux::State;
use crate::descriptor::{Descriptor, Family, Status};
use crate::detmath;
use crate::estimators::{MinRtt, Round, Smoothed};
use crate::flow::Growth;
use crate::parameters::{Params, choice, number, switch};
use crate::window::{Window, impl_window_accessors};
use crate::{
    Ack, Algorithm, Cause, Congestion, Controller, FlowInfo, Phase, Signals, Timeout, TransmitStart,
};
use units::{Segments, Span, Time};

const PS_PER_US: u64 = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    Ns2,
    Brakmo,
    Linux,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Statistic {
    Mean,
    Min,
    Smoothed,
    Last,
}

/// Compares the expected with the actual rate.
#[derive(Clone, Debug)]
pub struct Vegas {
    alpha: Segments,
    beta: Segments,
    gamma: Segments,
    variant: Variant,
    statistic: Statistic,
    per_ack: bool,
    reset_base_on_loss: bool,
    fine_clock: bool,
    window: Window,
    opened: Time,
    base: MinRtt,
    round: Round,
    round_began: Time,
    samples: Samples,
    /// Growth per ACK until the round ends, segments.
    increment: Segments,
    /// Whether slow start grows the window in this round; it does so in every other round.
    doubling: bool,
    /// Variant `linux`: the state of the sender, and whether the window grows as Reno's until it is open again.
    state: State,
    interrupted: bool,
    backlog: f64,
    /// A backlog that replaces Vegas's own (see [`Vegas::set_backlog_source`]).
    assumed_backlog: Option<f64>,
    fine: FineClock,
    /// The window to restore when the duplicate ACKs end, segments.
    deflated: Segments,
    changed: Time,
}

/// Round-trip samples of one round.
#[derive(Clone, Debug)]
struct Samples {
    sum: f64,
    count: u32,
    least: MinRtt,
    last: Option<Span>,
    smoothed: Smoothed,
}

/// Vegas's own retransmission clock: Jacobson's estimator with exact times, s.
#[derive(Clone, Debug, Default)]
struct FineClock {
    /// Eight times the mean, four times the deviation.
    mean8: f64,
    deviation4: f64,
    timeout: Option<f64>,
}

impl FineClock {
    fn begin(&mut self, rtt: f64) {
        self.mean8 = rtt * 8.0;
        self.deviation4 = rtt;
        self.timeout = Some((self.mean8 / 4.0 + self.deviation4) / 2.0);
    }
    fn update(&mut self, rtt: f64) {
        let error = rtt - self.mean8 / 8.0;
        self.mean8 += error;
        self.deviation4 += error.abs() - self.deviation4 / 4.0;
        let timeout = (self.mean8 / 4.0 + self.deviation4) / 2.0;
        self.timeout = Some(timeout + timeout / 16.0);
    }
}

impl Algorithm for Vegas {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "vegas",
        summary: "keeps alpha to beta segments queued; measures the queue by the round-trip time",
        source: "Brakmo and Peterson, IEEE JSAC 13(8), 1995; variants of ns-2.35 and Linux",
        family: Family::Delay,
        status: Status::Checked,
        params: &[
            number(
                "alpha",
                "1",
                [0.0, 1e6],
                "segments",
                "grow below this backlog (1 in the paper and in ns-2, 2 in Linux)",
            ),
            number(
                "beta",
                "3",
                [0.0, 1e6],
                "segments",
                "shrink above this backlog (3 in the paper and in ns-2, 4 in Linux)",
            ),
            number("gamma", "1", [0.0, 1e6], "segments", "leave slow start above this backlog"),
            choice!(
                "variant",
                ["profile", "ns2", "brakmo", "linux"],
                "variant of backlog, growth and loss rule; `profile`: `linux` in the profile linux and over QUIC, otherwise `ns2`"
            ),
            choice!(
                "rtt_stat",
                ["variant", "mean", "min", "srtt", "last"],
                "round-trip time of a round; the default depends on the variant (mean, mean, min)"
            ),
            choice!("decide", ["per_rtt", "per_ack"], "how often backlog and thresholds are compared"),
            switch("base_reset_on_loss", false, "reset the smallest round-trip time at every loss"),
        ],
        probes: &["base_rtt", "backlog", "fine_timeout"],
    };
    fn new(params: &Params, flow: &FlowInfo) -> Vegas {
        let variant = match params.choice("variant") {
            "brakmo" => Variant::Brakmo,
            "linux" => Variant::Linux,
            "profile" if flow.arithmetic.growth == Growth::Counted => Variant::Linux,
            _ => Variant::Ns2,
        };
        let statistic = match params.choice("rtt_stat") {
            "mean" => Statistic::Mean,
            "min" => Statistic::Min,
            "srtt" => Statistic::Smoothed,
            "last" => Statistic::Last,
            _ if variant == Variant::Linux => Statistic::Min,
            _ => Statistic::Mean,
        };
        Vegas {
            alpha: params.number("alpha"),
            beta: params.number("beta"),
            gamma: params.number("gamma"),
            variant,
            statistic,
            per_ack: params.choice("decide") == "per_ack",
            reset_base_on_loss: params.switch("base_reset_on_loss"),
            fine_clock: flow.fine_clock && variant != Variant::Linux,
            window: Window::new(flow),
            opened: Time::ZERO,
            base: MinRtt::default(),
            round: Round::default(),
            round_began: Time::ZERO,
            samples: Samples {
                sum: 0.0,
                count: 0,
                least: MinRtt::default(),
                last: None,
                smoothed: Smoothed::new(0.125),
            },
            increment: 0.0,
            doubling: true,
            state: State::Open,
            interrupted: false,
            backlog: f64::NAN,
            assumed_backlog: None,
            fine: FineClock::default(),
            deflated: 0.0,
            changed: Time::ZERO,
        }
    }
    tunable! { "alpha" => alpha, "beta" => beta, "gamma" => gamma }
}

impl Vegas {
    /// Sets the backlog that later ACKs use, segments; `None`: Vegas's own.
    pub(crate) fn set_backlog_source(&mut self, backlog: Option<f64>) {
        self.assumed_backlog = backlog;
    }

    /// Whether the window is below its threshold.
    pub(crate) fn slow_start(&self) -> bool {
        self.window.slow_start()
    }

    /// The backlog of the last decision, segments; NaN before the first.
    pub(crate) fn backlog(&self) -> f64 {
        self.backlog
    }

    /// The mean sample of the round so far.
    pub(crate) fn round_mean(&self) -> Option<f64> {
        (self.samples.count > 0).then(|| self.samples.sum / self.samples.count as f64)
    }

    /// The round-trip time of the round that ends at `now`.
    fn round_rtt(&self, now: Time) -> Span {
        let count = self.samples.count;
        let whole = now.since(self.round_began);
        let rtt = match self.statistic {
            Statistic::Mean if count > 0 => Some(Span::from_seconds(self.samples.sum / count as f64)),
            Statistic::Mean => None,
            Statistic::Min => self.samples.least.get(),
            Statistic::Smoothed => self.samples.smoothed.get().map(Span::from_seconds),
            Statistic::Last => self.samples.last,
        };
        rtt.unwrap_or(whole)
    }

    /// Forgets the samples of the round that ends, unless every ACK is a decision.
    fn clear_samples(&mut self) {
        if !self.per_ack {
            self.samples.sum = 0.0;
            self.samples.count = 0;
            self.samples.least.reset();
        }
    }

    /// Ends a round of `length` segments and decides the growth in the next round.
    fn decide(&mut self, ack: &Ack, length: u64) {
        let rtt = self.round_rtt(ack.now);
        self.clear_samples();
        if rtt == Span::ZERO {
            return;
        }
        let single = self.variant == Variant::Ns2 && length <= 1;
        if single || self.base.get().is_none_or(|base| rtt < base) {
            self.base.set(rtt);
        }
        let (base, rtt) = (self.base.get().map_or(0.0, Span::seconds), rtt.seconds());
        let cwnd = self.window.cwnd;
        self.backlog = match (self.assumed_backlog, self.variant) {
            (Some(backlog), _) => backlog,
            (None, Variant::Ns2) => {
                let expected = (ack.next - ack.acked_through) as f64 / base;
                // Truncated toward zero, as a C cast does.
                ((expected - length as f64 / rtt) * base + 0.5).trunc()
            }
            (None, Variant::Brakmo | Variant::Linux) => cwnd * (1.0 - base / rtt),
        };
        if self.window.slow_start() {
            self.decide_slow_start();
        } else if self.backlog > self.beta {
            self.window.set((cwnd - 1.0).max(2.0));
            self.increment = 0.0;
        } else if self.backlog < self.alpha {
            self.increment = 1.0 / cwnd;
            if self.variant != Variant::Ns2 {
                self.window.set(cwnd + 1.0);
                self.increment = 0.0;
            }
        } else {
            self.increment = 0.0;
        }
    }

    fn decide_slow_start(&mut self) {
        let cwnd = self.window.cwnd;
        self.doubling = !self.doubling;
        self.increment = 0.0;
        if self.doubling {
            if self.backlog > self.gamma {
                self.window.ssthresh = 2.0;
                self.window.set((cwnd - cwnd / 8.0).max(2.0));
            } else {
                self.increment = 1.0;
            }
        }
    }

    fn grow(&mut self, ack: &Ack) {
        if self.increment == 1.0 && !self.window.slow_start() {
            self.increment = 0.0; // the threshold was passed within the round
        }
        let used = (ack.next - ack.acked_through) as f64;
        if self.increment > 0.0 && self.window.cwnd - used <= 2.0 {
            self.window.set(self.window.cwnd + self.increment);
        }
    }

    fn sample(&mut self, ack: &Ack) {
        let Some(rtt) = ack.rtt else { return };
        // ns-2 takes a sending time of zero for "never sent", so the first packet gives no sample.
        if self.variant == Variant::Ns2 && ack.now.since(self.opened) == rtt {
            return;
        }
        self.samples.sum += rtt.seconds();
        self.samples.count += 1;
        self.samples.least.update(rtt);
        self.samples.last = Some(rtt);
        self.samples.smoothed.update(rtt.seconds());
        self.base.update(rtt);
        if self.fine.timeout.is_some() {
            self.fine.update(rtt.seconds());
        }
    }
}

/// The variant `linux`.
impl Vegas {
    /// Samples needed for a decision.
    const SAMPLES: u32 = 3;

    fn on_ack_linux(&mut self, ack: &Ack) {
        self.sample(ack);
        let may_grow = self.window.on_ack(ack);
        let state = State::of(ack.phase, ack.sender.disorder);
        if state != std::mem::replace(&mut self.state, state) {
            self.interrupted = state != State::Open;
            if !self.interrupted {
                self.clear_samples();
                self.round.begins = ack.next;
            }
        }
        if !ack.may_grow {
            return;
        }
        let ended = !self.interrupted
            && (self.per_ack || self.round.closed_by(ack.acked_through, ack.next).is_some());
        if ended && self.samples.count >= Vegas::SAMPLES {
            self.decide_linux(ack);
        } else if may_grow && (ended || self.interrupted) {
            self.window.grow(ack);
        } else if !(ended || self.interrupted) {
            self.window.slow_start_step(ack);
        }
        if ended {
            self.clear_samples();
            self.round_began = ack.now;
        }
    }

    fn interrupt(&mut self, state: State) {
        (self.state, self.interrupted) = (state, true);
    }

    fn decide_linux(&mut self, ack: &Ack) {
        // Microseconds plus one, so that no time is zero.
        let Some(base) = self.base.get().map(|base| base.ps() / PS_PER_US + 1) else { return };
        let rtt = self.round_rtt(ack.now).ps() / PS_PER_US + 1;
        let window = &mut self.window;
        let cwnd = window.cwnd;
        let queued = cwnd as u64 * (rtt - base.min(rtt)) / base;
        self.backlog = self.assumed_backlog.unwrap_or(queued as f64);
        if window.slow_start() {
            if self.backlog > self.gamma {
                window.set(cwnd.min((cwnd as u64 * base / rtt + 1) as f64).max(2.0));
                window.ssthresh = window.ssthresh.min(window.cwnd);
            } else {
                window.slow_start_step(ack);
            }
        } else if self.backlog > self.beta {
            window.set((cwnd - 1.0).max(2.0));
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if self.backlog < self.alpha {
            window.set(cwnd + 1.0);
        }
        let cwnd = window.cwnd as u64;
        window.ssthresh = window.ssthresh.max((cwnd / 2 + cwnd / 4) as f64).max(2.0);
    }
}

impl Controller for Vegas {
    fn needs(&self) -> Signals {
        if self.variant == Variant::Linux { Signals::NONE } else { Signals::FINE_CLOCK }
    }

    fn on_open(&mut self, now: Time) {
        self.opened = now;
        self.round_began = now;
        self.changed = now;
    }

    fn on_ack(&mut self, ack: &Ack) {
        if self.variant == Variant::Linux {
            return self.on_ack_linux(ack);
        }
        if self.fine.timeout.is_none() {
            let since_open = ack.now.since(self.opened);
            self.base.set(since_open);
            self.fine.begin(since_open.seconds());
        }
        if ack.newly_acked == 0 {
            if self.fine_clock && ack.dupacks > 3 {
                self.window.set(self.window.cwnd + 1.0);
            }
            return;
        }
        if self.fine_clock && ack.dupacks > 3 && self.window.cwnd > self.deflated {
            // ns-2 sets zero here if no loss was detected since the last timeout; Vegas's smallest window is two.
            self.window.set(self.deflated.max(2.0));
            self.window.ssthresh = 2.0;
        }
        // The `ns2` variant decides during recovery too.
        let decides = self.variant == Variant::Ns2 || ack.phase == Phase::Open;
        if decides && (self.per_ack || ack.acked_through >= self.round.begins) {
            let began = self.round.begins;
            let length =
                self.round.closed_by(ack.acked_through, ack.next).unwrap_or(ack.next.saturating_sub(began));
            self.decide(ack, length);
            self.round_began = ack.now;
        }
        if !decides {
            if self.window.on_ack(ack) {
                self.window.grow(ack); // as Reno
            }
        } else if ack.phase != Phase::Recovery {
            self.grow(ack);
        }
        self.sample(ack);
    }

    fn on_congestion(&mut self, event: &Congestion) {
        if self.reset_base_on_loss {
            self.base.reset();
        }
        if self.variant == Variant::Linux {
            self.window.reduce(event.window, 0.5);
            self.interrupt(if event.cause == Cause::Ecn { State::Cwr } else { State::Recovery });
            return;
        }
        if let Some(timeout) = &mut self.fine.timeout {
            *timeout = if event.retransmitted { *timeout * 2.0 } else { *timeout + *timeout / 8.0 };
        }
        if event.segment_sent.is_some_and(|sent| self.changed >= sent) {
            return; // the segment was sent before the last change, which already covers its loss
        }
        let window = detmath::floor(event.window);
        self.deflated = if window <= 3.0 {
            2.0
        } else if event.retransmitted {
            detmath::floor(window / 2.0)
        } else {
            window - detmath::floor(window / 4.0)
        };
        let inflation = if self.fine_clock { event.dupacks as f64 } else { 0.0 };
        self.window.set(self.deflated + inflation);
        if !self.fine_clock {
            self.window.ssthresh = 2.0;
        }
        self.changed = event.now;
    }

    fn on_rto(&mut self, event: &Timeout) {
        if self.reset_base_on_loss {
            self.base.reset();
        }
        self.window.timeout(event, 0.5);
        if self.variant == Variant::Linux {
            self.interrupt(State::Loss);
        } else {
            self.window.set(2.0);
        }
        self.deflated = 0.0;
        self.changed = event.now;
    }

    fn on_transmit_start(&mut self, _event: &TransmitStart) {
        if self.variant == Variant::Linux {
            self.base.reset();
            self.clear_samples();
            self.interrupted = false; // also after a timeout
            self.round.begins = 0; // the next ACK ends the round
        }
    }

    impl_window_accessors!(window);
    fn fine_timeout(&self) -> Option<Span> {
        self.fine.timeout.map(Span::from_seconds)
    }
    fn probe(&self, out: &mut [f64]) {
        out[0] = self.base.get().map_or(f64::NAN, Span::seconds);
        out[1] = self.backlog;
        out[2] = self.fine.timeout.unwrap_or(f64::NAN);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ParamValue;
    use crate::testing::{ack, congestion, linux_flow, ns2_flow, seconds, timeout};

    fn vegas(variant: &str, alpha: f64, beta: f64, cwnd: f64) -> Vegas {
        let values = [
            ("variant", ParamValue::Word(variant.into())),
            ("alpha", ParamValue::Number(alpha)),
            ("beta", ParamValue::Number(beta)),
        ];
        let mut algorithm =
            Vegas::new(&Params::new(Vegas::DESCRIPTOR.params, values).unwrap(), &ns2_flow(cwnd, 2.0));
        algorithm.on_open(Time::ZERO);
        algorithm.fine.begin(0.1);
        algorithm
    }

    /// One round with base and round-trip times given in seconds.
    fn round(algorithm: &mut Vegas, base: f64, rtt: f64, length: u64, outstanding: u64) {
        algorithm.base.set(seconds(base));
        algorithm.samples = Samples {
            sum: 3.0 * rtt,
            count: 3,
            least: MinRtt::default(),
            last: None,
            smoothed: Smoothed::new(0.125),
        };
        algorithm.samples.least.set(seconds(rtt));
        let ack = Ack { acked_through: 100, next: 100 + outstanding, ..ack(1) };
        match algorithm.variant {
            Variant::Linux => algorithm.decide_linux(&ack),
            _ => algorithm.decide(&ack, length),
        }
    }

    #[test]
    fn published_backlogs() {
        let mut algorithm = vegas("brakmo", 1.0, 3.0, 20.0);
        round(&mut algorithm, 0.1, 0.12, 20, 21);
        assert!((algorithm.backlog - 3.3333).abs() < 1e-4);
        assert_eq!(algorithm.cwnd(), 19.0);

        let mut algorithm = vegas("ns2", 1.0, 3.0, 20.0);
        round(&mut algorithm, 0.1, 0.12, 20, 21); // 4.333 rounds to 4
        assert_eq!((algorithm.backlog, algorithm.cwnd()), (4.0, 19.0));

        for (cwnd, rtt, backlog, after) in
            [(20.0, 0.120001, 3.0, 20.0), (20.0, 0.115001, 2.0, 20.0), (10.0, 0.105001, 0.0, 11.0)]
        {
            let mut algorithm = vegas("linux", 2.0, 4.0, cwnd);
            round(&mut algorithm, 0.100001, rtt, 20, 21);
            assert_eq!((algorithm.backlog, algorithm.cwnd()), (backlog, after), "cwnd {cwnd}, rtt {rtt}");
        }
    }

    #[test]
    fn linux_grows_as_reno_outside_the_phase_open_and_after_rounds_with_few_samples() {
        let mut vegas =
            Vegas::new(&Params::new(Vegas::DESCRIPTOR.params, []).unwrap(), &linux_flow(1.0, 2.0));
        vegas.base.set(Span::from_ms(40));
        let mut una = 0;
        // One ACK for the whole window, delayed by 200 ms.
        let mut next = |phase| {
            let acked = vegas.cwnd() as u32;
            una += acked as u64;
            let (rtt, next) = (Some(Span::from_ms(240)), una);
            vegas.on_ack(&Ack { acked_through: una - 1, next, rtt, phase, ..ack(acked) });
            vegas.cwnd()
        };
        assert_eq!([Phase::Loss, Phase::Loss, Phase::Loss].map(&mut next), [2.0, 3.0, 4.0]);
        assert_eq!([Phase::Open, Phase::Open, Phase::Open].map(&mut next), [4.0, 5.0, 6.0]);
    }

    #[test]
    fn linux_measures_the_base_anew_after_everything_was_acknowledged() {
        let mut vegas = vegas("linux", 1.0, 3.0, 10.0);
        vegas.base.set(seconds(0.04));
        let start = TransmitStart { now: Time::ZERO, idle: seconds(1.0), app_limited: true };
        vegas.on_transmit_start(&start);
        vegas.on_ack(&Ack { rtt: Some(seconds(0.05)), next: 20, ..ack(1) });
        assert_eq!(vegas.base.get(), Some(seconds(0.05)));
    }

    #[test]
    fn losses() {
        let mut algorithm = vegas("ns2", 1.0, 3.0, 10.0);
        algorithm.changed = Time::from_ps(100);
        algorithm.on_congestion(&Congestion { segment_sent: Some(Time::from_ps(50)), ..congestion(10.0) });
        assert_eq!(algorithm.cwnd(), 10.0); // sent before the last change
        algorithm.on_congestion(&Congestion { segment_sent: Some(Time::from_ps(150)), ..congestion(10.0) });
        assert_eq!(algorithm.cwnd(), 8.0); // 10 - 10/4
        algorithm.on_rto(&timeout(8.0, false));
        assert_eq!((algorithm.cwnd(), algorithm.ssthresh()), (2.0, 4.0));
    }
}
