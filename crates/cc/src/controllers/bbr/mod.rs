//! BBR version 1 (Cardwell et al. 2016) as in Linux 6.x: the sending rate follows the largest delivery rate of ten round
//! trips, and the window is a multiple of that rate times the smallest round-trip time.
//!
//! `long_term.rs` finds policers. Differences from Linux: rates and windows are real numbers; the maximum over ten rounds is
//! exact (Linux keeps three samples); long-term sampling counts retransmission timeouts at the next ACK; the quantum does
//! not grow at round-trip times below 4 ms. Status: checked in total against recordings of Linux 6.18
//! (docs/validation-linux.md).

pub(crate) mod common;
mod long_term;
#[cfg(test)]
mod tests;

use crate::descriptor::{Descriptor, Family, Status};
use crate::detmath;
use crate::pacing_rate::pacing_rate;
use crate::parameters::{Params, number, switch};
use crate::{
    Ack, Algorithm, Congestion, Controller, FlowInfo, Handshake, Phase, RateSample, Restart, Signals,
    Timeout, Transitions, TransmitStart,
};
use common::{MIN_WINDOW, PACING_MARGIN, PROBE_RTT_TIME, QUANTA, saved_window};
use long_term::LongTerm;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::VecDeque;
use units::{Rate, Segments, Span, Time};

/// The state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Doubles the rate each round until the path is full.
    Startup,
    /// Drains the queue that Startup has built.
    Drain,
    /// Cycles through pacing gains around the estimated rate.
    ProbeBw,
    /// Lets the queue run empty to measure the round-trip time.
    ProbeRtt,
}

/// 2/ln(2), in 1/256 as in Linux.
const HIGH_GAIN: f64 = 739.0 / 256.0;
const DRAIN_GAIN: f64 = 88.0 / 256.0;
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Round trips over which the largest delivery rate counts.
const BANDWIDTH_ROUNDS: u64 = 10;
/// The quantum is what the pacing rate sends in a part of a second (Linux: sk_pacing_shift), below the size of the largest
/// packet that the host builds for segmentation (64 kB less headers), and two segments from this rate on, bit/s.
const BURSTS_PER_SECOND: f64 = 1024.0;
const LARGEST_BURST_BITS: f64 = 65_215.0 * 8.0;
const MOST_AT_ONCE: f64 = 127.0;
const TWO_AT_ONCE: f64 = 1.2e6;
/// Length of a window of the aggregation filter, rounds, and the longest time it may cover.
const AGGREGATION_ROUNDS: u64 = 5;
const AGGREGATION_TIME: f64 = 0.1;

/// The largest value of the last rounds.
#[derive(Clone, Debug, Default)]
struct MaxOverRounds(VecDeque<(u64, f64)>);

impl MaxOverRounds {
    fn add(&mut self, round: u64, value: f64) {
        while self.0.back().is_some_and(|(_, older)| *older <= value) {
            self.0.pop_back();
        }
        self.0.push_back((round, value));
        while self.0.front().is_some_and(|(at, _)| round - at >= BANDWIDTH_ROUNDS) {
            self.0.pop_front();
        }
    }
    fn get(&self) -> f64 {
        self.0.front().map_or(0.0, |(_, value)| *value)
    }
}

/// Bottleneck bandwidth and round-trip propagation time.
#[derive(Clone, Debug)]
pub struct Bbr {
    mode: Mode,
    transitions: Transitions,
    cwnd: Segments,
    ssthresh: Segments,
    max_window: Segments,
    initial_window: Segments,
    segment_bits: f64,
    /// The most segments that the host sends at once.
    largest_burst: f64,
    /// Pacing rate, segments/s; zero before the first round-trip sample.
    pacing: f64,
    pacing_gain: f64,
    cwnd_gain: f64,
    /// Delivery rates, segments/s.
    bandwidth: MaxOverRounds,
    /// None if it is off.
    long_term: Option<LongTerm>,
    rounds: u64,
    next_round: u64,
    round_start: bool,
    min_rtt: Option<Span>,
    min_rtt_at: Time,
    min_rtt_window: Span,
    /// The parameter `quantum`; zero: as in Linux.
    fixed_quantum: f64,
    seen_rtt: bool,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    prior_cwnd: Segments,
    full_bandwidth: f64,
    full_rounds: u32,
    full: bool,
    phase: usize,
    phase_began: Time,
    conserving: bool,
    last_phase: Phase,
    /// Segments acknowledged beyond the estimated rate, in the current and the last window of rounds.
    extra: [f64; 2],
    extra_rounds: u64,
    epoch_began: Time,
    epoch_acked: f64,
    random: Xoshiro256PlusPlus,
}

impl Algorithm for Bbr {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "bbr",
        summary: "rate from the largest delivery rate, window from it and the smallest round-trip time (version 1)",
        source: "Cardwell et al. 2016; Linux 6.x",
        family: Family::Model,
        status: Status::Checked,
        params: &[
            number(
                "min_rtt_window",
                "10",
                [0.1, 1000.0],
                "s",
                "the smallest round-trip time is that of this time; then the window falls to 4 for 200 ms",
            ),
            number(
                "quantum",
                "0",
                [0.0, 64.0],
                "segments",
                "segments that a host sends at once (at most `gso_max_segs`), three times of which the window has to spare; 0: as in Linux, those of 1/1024 s at the pacing rate, at least 2, or 1 below 1.2 Mb/s",
            ),
            switch("lt", true, "long-term bandwidth sampling: finds a policer and sends at its rate"),
        ],
        probes: &["bandwidth", "min_rtt", "pacing_gain", "cwnd_gain", "mode", "lt_bandwidth"],
    };
    const STATES: &'static [&'static str] = &["startup", "drain", "probe_bw", "probe_rtt"];
    fn new(params: &Params, flow: &FlowInfo) -> Bbr {
        let segment_bits = flow.packet as f64 * 8.0;
        Bbr {
            mode: Mode::Startup,
            transitions: Transitions::new(Self::STATES),
            cwnd: flow.initial_window,
            ssthresh: f64::INFINITY,
            max_window: flow.max_window,
            initial_window: flow.initial_window,
            segment_bits,
            largest_burst: detmath::floor(LARGEST_BURST_BITS / segment_bits).min(MOST_AT_ONCE),
            pacing: 0.0,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            bandwidth: MaxOverRounds::default(),
            long_term: params.switch("lt").then(|| LongTerm::new(segment_bits)),
            rounds: 0,
            next_round: 0,
            round_start: false,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            min_rtt_window: Span::from_seconds(params.number("min_rtt_window")),
            fixed_quantum: params.number("quantum"),
            seen_rtt: false,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            prior_cwnd: 0.0,
            full_bandwidth: 0.0,
            full_rounds: 0,
            full: false,
            phase: 0,
            phase_began: Time::ZERO,
            conserving: false,
            last_phase: Phase::Open,
            extra: [0.0; 2],
            extra_rounds: 0,
            epoch_began: Time::ZERO,
            epoch_acked: 0.0,
            random: Xoshiro256PlusPlus::seed_from_u64(flow.seed),
        }
    }
}

impl Bbr {
    // ---- model --------------------------------------------------------------------------------------------

    /// The rate to send at: the largest delivery rate, or that of a policer.
    fn rate(&self) -> f64 {
        self.policed().unwrap_or_else(|| self.bandwidth.get())
    }

    fn policed(&self) -> Option<f64> {
        self.long_term.as_ref().and_then(LongTerm::bandwidth)
    }

    fn update_bandwidth(&mut self, ack: &Ack, sample: &RateSample) {
        if sample.interval == Span::ZERO {
            return;
        }
        if sample.prior_delivered >= self.next_round {
            self.next_round = ack.delivered_total;
            self.rounds += 1;
            self.round_start = true;
            self.conserving = false;
        }
        let probing = self.mode == Mode::ProbeBw;
        if let Some(long_term) = &mut self.long_term
            && long_term.update(ack, sample.app_limited, self.round_start, probing)
        {
            self.enter_probe_bw(ack.now, "policer");
        }
        let rate = sample.delivered as f64 / sample.interval.seconds();
        if !sample.app_limited || rate >= self.bandwidth.get() {
            self.bandwidth.add(self.rounds, rate);
        }
    }

    /// How much more was acknowledged in a short time than the estimated rate explains.
    fn update_aggregation(&mut self, ack: &Ack) {
        if ack.newly_delivered == 0 {
            return;
        }
        if self.round_start {
            self.extra_rounds += 1;
            if self.extra_rounds >= AGGREGATION_ROUNDS {
                self.extra_rounds = 0;
                self.extra = [0.0, self.extra[0]];
            }
        }
        let bandwidth = self.rate();
        let mut expected = bandwidth * ack.now.since(self.epoch_began).seconds();
        if self.epoch_acked <= expected || self.epoch_acked + ack.newly_delivered as f64 >= (1 << 20) as f64 {
            (self.epoch_acked, self.epoch_began, expected) = (0.0, ack.now, 0.0);
        }
        self.epoch_acked += ack.newly_delivered as f64;
        let extra = (self.epoch_acked - expected).min(self.cwnd);
        self.extra[0] = self.extra[0].max(extra);
    }

    /// Segments that the host sends at once: those of 1/1024 s at the pacing rate.
    fn quantum(&self) -> f64 {
        if self.fixed_quantum > 0.0 {
            return self.fixed_quantum;
        }
        let least = if self.pacing * self.segment_bits < TWO_AT_ONCE { 1.0 } else { 2.0 };
        detmath::floor(self.pacing / BURSTS_PER_SECOND).min(self.largest_burst).max(least)
    }

    /// The window that `gain` times the estimated rate needs.
    fn inflight(&self, bandwidth: f64, gain: f64) -> f64 {
        match self.min_rtt {
            None => self.initial_window,
            Some(rtt) => self.budget(detmath::ceil(bandwidth * rtt.seconds() * gain - 1e-9)),
        }
    }

    fn budget(&self, window: f64) -> f64 {
        let even = 2.0 * detmath::ceil((window + QUANTA * self.quantum()) / 2.0);
        if self.mode == Mode::ProbeBw && self.phase == 0 { even + 2.0 } else { even }
    }

    /// Segments in flight when the next one may leave; whole ones are delivered until then.
    fn in_flight_at_departure(&self, ack: &Ack, in_flight: f64) -> f64 {
        let delivered = detmath::floor(self.rate() * ack.pacing_wait.seconds());
        let at_departure = if self.pacing_gain > 1.0 { in_flight + self.quantum() } else { in_flight };
        (at_departure - delivered).max(0.0)
    }

    // ---- states -------------------------------------------------------------------------------------------

    fn update_cycle(&mut self, ack: &Ack) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let bandwidth = self.bandwidth.get();
        let whole = self.min_rtt.is_some_and(|rtt| ack.now.since(self.phase_began) > rtt);
        let prior = self.in_flight_at_departure(ack, ack.prior_in_flight);
        let ends = if self.pacing_gain > 1.0 {
            whole && (ack.newly_lost > 0 || prior >= self.inflight(bandwidth, self.pacing_gain))
        } else if self.pacing_gain < 1.0 {
            whole || prior <= self.inflight(bandwidth, 1.0)
        } else {
            whole
        };
        if ends {
            self.next_phase(ack.now);
        }
    }

    fn next_phase(&mut self, now: Time) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_began = now;
    }

    fn check_full(&mut self, sample: Option<&RateSample>) {
        if self.full || !self.round_start || sample.is_none_or(|sample| sample.app_limited) {
            return;
        }
        let bandwidth = self.bandwidth.get();
        if bandwidth >= 1.25 * self.full_bandwidth {
            (self.full_bandwidth, self.full_rounds) = (bandwidth, 0);
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= 3;
    }

    fn check_drain(&mut self, ack: &Ack) {
        let bandwidth = self.bandwidth.get();
        if self.mode == Mode::Startup && self.full {
            self.enter(Mode::Drain, ack.now, "full");
            self.ssthresh = self.inflight(bandwidth, 1.0);
        }
        if self.mode == Mode::Drain
            && self.in_flight_at_departure(ack, ack.in_flight) <= self.inflight(bandwidth, 1.0)
        {
            self.enter_probe_bw(ack.now, "drained");
        }
    }

    fn enter(&mut self, mode: Mode, now: Time, why: &'static str) {
        self.transitions.record(now, self.mode as u8, mode as u8, why);
        self.mode = mode;
    }

    fn enter_probe_bw(&mut self, now: Time, why: &'static str) {
        self.enter(Mode::ProbeBw, now, why);
        // Any phase but that of 0.75, which would only drain what Drain has drained.
        self.phase = CYCLE.len() - 1 - (self.random.next_u64() % 7) as usize;
        self.next_phase(now);
    }

    fn update_min_rtt(&mut self, ack: &Ack, in_flight: f64) {
        let expired = self.min_rtt.is_some() && ack.now.since(self.min_rtt_at) > self.min_rtt_window;
        if let Some(rtt) = ack.rtt
            && (expired || self.min_rtt.is_none_or(|least| rtt < least))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), ack.now);
        }
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.enter(Mode::ProbeRtt, ack.now, "interval");
            self.save_window();
            self.probe_rtt_done = None;
        }
        if self.mode == Mode::ProbeRtt {
            match self.probe_rtt_done {
                None if in_flight <= MIN_WINDOW => {
                    self.probe_rtt_done = Some(ack.now + PROBE_RTT_TIME);
                    self.probe_rtt_round_done = false;
                    self.next_round = ack.delivered_total;
                }
                None => {}
                Some(done) => {
                    self.probe_rtt_round_done |= self.round_start;
                    if self.probe_rtt_round_done && ack.now > done {
                        self.leave_probe_rtt(ack.now);
                    }
                }
            }
        }
        if ack.newly_delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn leave_probe_rtt(&mut self, now: Time) {
        self.min_rtt_at = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        if self.full {
            self.enter_probe_bw(now, "done");
        } else {
            self.enter(Mode::Startup, now, "done");
        }
    }

    fn update_gains(&mut self) {
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw if self.policed().is_some() => (1.0, 2.0),
            Mode::ProbeBw => (CYCLE[self.phase], 2.0),
            Mode::ProbeRtt => (1.0, 1.0),
        };
    }

    // ---- outputs ------------------------------------------------------------------------------------------

    /// The pacing rate from the first round-trip time.
    fn first_pacing(&mut self, rtt: Span) {
        self.seen_rtt = true;
        self.pacing = HIGH_GAIN * self.cwnd / rtt.seconds() * PACING_MARGIN;
    }

    fn set_pacing(&mut self, ack: &Ack) {
        if let (false, Some(rtt)) = (self.seen_rtt, ack.rtt) {
            self.first_pacing(rtt);
        }
        let rate = self.pacing_gain * self.rate() * PACING_MARGIN;
        if self.full || rate > self.pacing {
            self.pacing = rate;
        }
    }

    fn save_window(&mut self) {
        self.prior_cwnd =
            saved_window(self.prior_cwnd, self.cwnd, self.last_phase, self.mode == Mode::ProbeRtt);
    }

    /// The window in and after recovery. Returns whether it is decided.
    fn conserve(&mut self, ack: &Ack) -> bool {
        if ack.newly_lost > 0 {
            self.cwnd = (self.cwnd - ack.newly_lost as f64).max(1.0);
        }
        let (before, now) = (self.last_phase, ack.phase);
        if now == Phase::Recovery && before != Phase::Recovery {
            self.conserving = true;
            self.next_round = ack.delivered_total;
            self.cwnd = ack.in_flight + ack.newly_delivered as f64;
        } else if before >= Phase::Recovery && now < Phase::Recovery {
            self.conserving = false;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
        self.last_phase = now;
        if self.conserving {
            self.cwnd = self.cwnd.max(ack.in_flight + ack.newly_delivered as f64);
        }
        self.conserving
    }

    fn set_cwnd(&mut self, ack: &Ack) {
        if ack.newly_delivered > 0 && !self.conserve(ack) {
            let delivered = ack.newly_delivered as f64;
            let bandwidth = self.rate();
            let extra = self.extra[0].max(self.extra[1]).min(bandwidth * AGGREGATION_TIME);
            let target = match self.min_rtt {
                None => self.initial_window,
                Some(rtt) => {
                    let bdp = detmath::ceil(bandwidth * rtt.seconds() * self.cwnd_gain - 1e-9);
                    self.budget(bdp + if self.full { detmath::floor(extra) } else { 0.0 })
                }
            };
            if self.full {
                self.cwnd = (self.cwnd + delivered).min(target);
            } else if self.cwnd < target || ack.delivered_total < self.initial_window as u64 {
                self.cwnd += delivered;
            }
            self.cwnd = self.cwnd.max(MIN_WINDOW);
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_WINDOW);
        }
        self.cwnd = self.cwnd.min(self.max_window);
    }
}

impl Controller for Bbr {
    fn needs(&self) -> Signals {
        Signals::RATE.and(Signals::PACING).and(Signals::SEGMENT_COUNTS)
    }
    fn on_open(&mut self, now: Time) {
        (self.min_rtt_at, self.phase_began, self.epoch_began) = (now, now, now);
    }
    fn on_handshake(&mut self, event: &Handshake) {
        let Handshake { now, rtt: Some(rtt) } = *event else { return };
        (self.min_rtt, self.min_rtt_at) = (Some(rtt), now);
        self.first_pacing(rtt);
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.round_start = false;
        let sample = ack.rate.as_ref();
        if let Some(sample) = sample {
            self.update_bandwidth(ack, sample);
        }
        self.update_aggregation(ack);
        self.update_cycle(ack);
        self.check_full(sample);
        self.check_drain(ack);
        self.update_min_rtt(ack, ack.in_flight);
        self.update_gains();
        self.set_pacing(ack);
        self.set_cwnd(ack);
    }
    fn on_congestion(&mut self, _event: &Congestion) {
        self.save_window();
    }
    fn on_rto(&mut self, _event: &Timeout) {
        self.save_window();
        self.last_phase = Phase::Loss;
        self.full_bandwidth = 0.0;
        self.cwnd = 1.0;
        if let Some(long_term) = &mut self.long_term {
            long_term.on_rto();
        }
    }
    fn on_undo(&mut self, _now: Time) {
        (self.full_bandwidth, self.full_rounds) = (0.0, 0);
        if let Some(long_term) = &mut self.long_term {
            long_term.reset();
        }
    }
    fn on_restart(&mut self, _event: &Restart) {}
    fn on_transmit_start(&mut self, event: &TransmitStart) {
        if event.app_limited {
            self.idle_restart = true;
            (self.epoch_began, self.epoch_acked) = (event.now, 0.0);
            match self.mode {
                // After an idle time the pacing rate is the estimated rate: no burst.
                Mode::ProbeBw => self.pacing = self.rate() * PACING_MARGIN,
                Mode::ProbeRtt if self.probe_rtt_done.is_some_and(|done| event.now > done) => {
                    self.leave_probe_rtt(event.now);
                }
                _ => {}
            }
        }
    }
    fn owns_window(&self) -> bool {
        true
    }
    fn limits_application(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }
    fn set_window(&mut self, cwnd: Segments) {
        self.cwnd = cwnd;
        if !self.seen_rtt {
            self.initial_window = cwnd;
        }
    }
    fn set_ssthresh(&mut self, _ssthresh: Segments) {}
    fn cwnd(&self) -> Segments {
        detmath::floor(self.cwnd).max(1.0)
    }
    fn ssthresh(&self) -> Segments {
        self.ssthresh
    }
    fn pacing(&self) -> Option<Rate> {
        pacing_rate(self.pacing * self.segment_bits)
    }
    fn send_quantum(&self) -> u32 {
        self.quantum().max(1.0) as u32
    }
    fn transitions(&self) -> Option<&Transitions> {
        Some(&self.transitions)
    }
    fn probe(&self, out: &mut [f64]) {
        out[0] = self.bandwidth.get() * self.segment_bits;
        out[1] = self.min_rtt.map_or(f64::NAN, Span::seconds);
        (out[2], out[3]) = (self.pacing_gain, self.cwnd_gain);
        out[4] = self.mode as u8 as f64;
        out[5] = self.policed().map_or(f64::NAN, |rate| rate * self.segment_bits);
    }
}
