//! H-TCP in Linux: alpha and beta in 1/128, times in jiffies; one segment at most for each ACK, and alpha anew only then.

use super::{Change, Clock, Module, State, jiffies_up};
use crate::window::Window;
use crate::{Ack, Sample};
use units::{Span, Time};

const ONE: u64 = 128;
/// Bounds of beta.
const BETA: (u64, u64) = (64, 102);
/// Jiffies of a second.
const SECOND: u64 = 1000;
/// The most by which a sample exceeds the largest round-trip time that it replaces, and the smallest round-trip time above
/// which beta adapts, jiffies.
const RISE: u64 = 20;
const SHORT: u64 = 10;

/// The module `htcp`. Times in jiffies, throughputs in segments a second.
#[derive(Clone, Debug)]
pub struct Htcp {
    clock: Clock,
    scaling: bool,
    alpha: u64,
    beta: u64,
    /// A congestion event had a steady throughput: the next one adapts beta.
    adapts: bool,
    /// Segments that the next growth counts.
    acked: u64,
    /// The end of the last congestion event.
    since: u64,
    least: u64,
    longest: u64,
    segments: u64,
    began: u64,
    mean: u64,
    largest: u64,
    last_largest: u64,
    /// What a spurious reduction restores: during a congestion event.
    before: Option<(u64, u64, u64)>,
}

impl Htcp {
    /// `scaling`: the growth follows the round-trip time.
    pub fn new(scaling: bool) -> Htcp {
        Htcp {
            clock: Clock::default(),
            scaling,
            alpha: ONE,
            beta: BETA.0,
            adapts: false,
            acked: 1,
            since: 0,
            least: 0,
            longest: 0,
            segments: 0,
            began: 0,
            mean: 0,
            largest: 0,
            last_largest: 0,
            before: None,
        }
    }

    fn measure(&mut self, rtt: u64, state: State) {
        if self.least > rtt || self.least == 0 {
            self.least = rtt;
        }
        if state == State::Open {
            self.longest = self.longest.max(self.least);
            if self.longest < rtt && rtt <= self.longest + RISE {
                self.longest = rtt;
            }
        }
    }

    fn count(&mut self, now: u64, acked: u64, cwnd: u64) {
        self.segments += acked;
        let span = now - self.began;
        let growth = (self.alpha / ONE).max(1);
        if self.segments + growth < cwnd || span < self.least || self.least == 0 {
            return;
        }
        let sample = self.segments * SECOND / span;
        if (now - self.since) / self.least <= 3 {
            (self.mean, self.largest) = (sample, sample);
        } else {
            self.mean = (3 * self.mean + sample) / 4;
            self.largest = self.largest.max(self.mean);
        }
        (self.segments, self.began) = (0, now);
    }

    fn new_beta(&mut self) {
        let last = std::mem::replace(&mut self.last_largest, self.largest);
        if !(4 * last..=6 * last).contains(&(5 * self.largest)) {
            (self.beta, self.adapts) = (BETA.0, false);
        } else if self.adapts && self.least > SHORT && self.longest > 0 {
            self.beta = (self.least * ONE / self.longest).clamp(BETA.0, BETA.1);
        } else {
            (self.beta, self.adapts) = (BETA.0, true);
        }
    }

    fn new_alpha(&mut self, now: u64) {
        self.alpha = alpha(now - self.since, self.beta, if self.scaling { self.least } else { 0 });
    }
}

/// alpha in 1/128, for a time since the congestion event and a smallest round-trip time in ms; zero for none.
fn alpha(since: u64, beta: u64, rtt: u64) -> u64 {
    let mut factor = 1;
    if since > SECOND {
        let d = since - SECOND;
        factor = 1 + (10 * d + (d / 2) * (d / 2) / SECOND) / SECOND;
    }
    if rtt > 0 {
        let scale = (8 * SECOND / (10 * rtt)).clamp(4, 80);
        factor = (factor * 8 / scale).max(1);
    }
    2 * factor * (ONE - beta)
}

impl Module for Htcp {
    fn open(&mut self, now: Time) {
        self.clock = Clock { opened: now };
    }

    fn init(&mut self, _window: &mut Window, now: Time, _rtt: Option<Span>) {
        self.since = self.clock.jiffies(now);
    }

    fn sample(&mut self, window: &mut Window, sample: &Sample, state: State) {
        let now = self.clock.jiffies(sample.now);
        if state == State::Open {
            self.acked = sample.newly_acked.into();
        }
        if let Some(rtt) = sample.rtt {
            self.measure(jiffies_up(rtt), state);
        }
        if state > State::Disorder {
            (self.segments, self.began) = (0, now);
        } else {
            self.count(now, sample.newly_acked.into(), window.cwnd as u64);
        }
    }

    fn ssthresh(&mut self, cwnd: u64, _lost: bool, now: Time) -> u64 {
        self.new_beta();
        self.new_alpha(self.clock.jiffies(now));
        if self.longest > self.least {
            self.longest = self.least + (self.longest - self.least) * 95 / 100;
        }
        (cwnd * self.beta / ONE).max(2)
    }

    fn state(&mut self, _window: &mut Window, Change { to, now, .. }: Change) {
        let now = self.clock.jiffies(now);
        match to {
            State::Open => {
                if self.before.take().is_some() {
                    self.since = now;
                }
            }
            State::Disorder => {}
            State::Cwr | State::Recovery | State::Loss => {
                self.before = Some((self.since, self.longest, self.last_largest));
                self.since = now;
            }
        }
    }

    fn avoid(&mut self, window: &mut Window, ack: &Ack, limited: bool) {
        if !limited {
            return;
        }
        if window.slow_start() {
            window.slow_start_step(ack);
            return;
        }
        if (window.counter as u64 * self.alpha) / ONE >= window.cwnd as u64 {
            window.set(window.cwnd + 1.0);
            window.counter = 0.0;
            self.new_alpha(self.clock.jiffies(ack.now));
        } else {
            window.counter += self.acked as f64;
        }
        self.acked = 1;
    }

    fn undo(&mut self) {
        if let Some((since, longest, largest)) = self.before.take() {
            (self.since, self.longest, self.last_largest) = (since, longest, largest);
        }
    }

    fn probe(&self, out: &mut [f64]) {
        (out[0], out[1]) = (self.alpha as f64 / ONE as f64, self.beta as f64 / ONE as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_by_time_and_round_trip_time() {
        assert_eq!([500, 2000, 5000].map(|ms| alpha(ms, 64, 0)), [128, 1408, 5760]);
        assert_eq!([50, 100, 200].map(|rtt| alpha(5000, 64, rtt)), [2816, 5760, 11520]);
        assert_eq!(alpha(2000, 102, 100), 572);
    }

    #[test]
    fn beta_adapts_at_the_second_event_with_a_steady_throughput() {
        let mut module = Htcp { least: 100, longest: 150, ..Htcp::new(true) };
        let betas = [(1000, 64), (1000, 64), (1100, 85), (1400, 64)].map(|(largest, beta)| {
            (module.largest, module.longest) = (largest, 150);
            let reduced = module.ssthresh(128, true, Time::ZERO);
            assert_eq!(module.beta, beta);
            reduced
        });
        assert_eq!(betas, [64, 64, 85, 64]);
    }
}
