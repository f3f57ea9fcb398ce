//! BBR version 3 (draft-ietf-ccwg-bbr, text of 2026-08-03): a model of the path from delivery rates, round-trip times and
//! losses; a state machine that probes for more.
//!
//! `model.rs` keeps the estimates, this file the states and the outputs. docs/specs/bbr.md lists the points that the draft
//! leaves open, with our readings. Not built: ECN, and the window in recovery of the variant of Google's kernel. Status:
//! draft; its pieces have the values of an independent model, no other implementation was compared.

mod model;
#[cfg(test)]
mod tests;

use crate::controllers::bbr::common::{MIN_WINDOW, PACING_MARGIN, PROBE_RTT_TIME, QUANTA, saved_window};
use crate::descriptor::{Descriptor, Family, Status};
use crate::detmath;
use crate::pacing_rate::pacing_rate;
use crate::parameters::{Params, choice, number};
use crate::{
    Ack, Algorithm, Congestion, Controller, FlowInfo, Lost, Phase, RateSample, Restart, Sample, Signals,
    Timeout, Transitions, TransmitStart,
};
use model::{Constants, Model};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{Rate, Segments, Span, Time};

/// The state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Doubles the rate each round until the path is full.
    Startup,
    /// Drains the queue that Startup has built.
    Drain,
    /// Probing for bandwidth: sends slower than the estimate.
    Down,
    /// Sends at the estimate, with headroom for others.
    Cruise,
    /// Fills the path for one round before it probes.
    Refill,
    /// Sends faster than the estimate.
    Up,
    /// Lets the queue run empty to measure the round-trip time.
    ProbeRtt,
}

impl State {
    /// The names, in the order of the states.
    const NAMES: [&str; 7] = ["startup", "drain", "down", "cruise", "refill", "up", "probe_rtt"];

    fn probes_bandwidth(self) -> bool {
        matches!(self, State::Down | State::Cruise | State::Refill | State::Up)
    }
    /// Whether losses are expected, because it looks for the limit.
    fn probes(self) -> bool {
        matches!(self, State::Startup | State::Refill | State::Up)
    }
}

/// Where the samples of a probe are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AckPhase {
    None,
    /// A probe has begun; its ACKs have not arrived.
    Starting,
    /// ACKs of the probe arrive.
    Feedback,
    /// The probe has ended; its ACKs still arrive.
    Stopping,
    Refilling,
}

/// What to go back to if a loss turns out to be spurious.
#[derive(Clone, Copy, Debug)]
struct Undo {
    /// The state that losses ended, Startup or Up.
    state: Option<State>,
    bandwidth: f64,
    inflight: f64,
    longterm: f64,
}

const STARTUP_GAIN: f64 = 2.77;
const PROBE_RTT_GAIN: f64 = 0.5;
/// Rounds of a Reno flow after which it probes again.
const MOST_ROUNDS: f64 = 63.0;

/// Bottleneck bandwidth and round-trip propagation time, version 3.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    constants: Constants,
    model: Model,
    state: State,
    transitions: Transitions,
    ack_phase: AckPhase,
    cwnd: Segments,
    prior_cwnd: Segments,
    max_window: Segments,
    initial_window: Segments,
    segment_bits: f64,
    quantum: f64,
    /// Pacing rate, segments/s; zero before the first round-trip sample.
    pacing: f64,
    seen_rtt: bool,
    drain_round: u64,
    /// The probe was too high; it ended as a precaution.
    too_high: bool,
    precautionary: bool,
    /// Samples belong to a probe.
    probe_sample: bool,
    cycle_began: Time,
    wait: Span,
    rounds_since_up: u64,
    /// Growth of the long-term bound in `Up`: segments acknowledged, needed for one more, and the exponent.
    up_acked: f64,
    up_needed: f64,
    up_exponent: u32,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    idle_restart: bool,
    last_phase: Phase,
    undo: Option<Undo>,
    saved_at: Option<Time>,
    /// Segments delivered so far, with those of the ACK that is processed.
    delivered: u64,
    random: Xoshiro256PlusPlus,
}

impl Algorithm for Bbr3 {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "bbr3",
        summary: "rate and window from a model of the path that includes losses (version 3)",
        source: "draft-ietf-ccwg-bbr of 2026-08-03",
        family: Family::Model,
        status: Status::Draft,
        params: &[
            choice!(
                "variant",
                ["draft", "linux"],
                "constants: those of the draft, or of Google's kernel (Drain 0.35, Down 0.91)"
            ),
            number(
                "loss_threshold",
                "0.02",
                [0.0, 0.9],
                "",
                "part of the segments in flight whose loss shows that a probe was too high",
            ),
            number("beta", "0.7", [0.1, 1.0], "", "part of the bounds kept at a loss"),
            number("headroom", "0.15", [0.0, 0.9], "", "part of the long-term bound left to other flows"),
            number(
                "probe_rtt_interval",
                "5",
                [0.1, 1000.0],
                "s",
                "time between two measurements of the smallest round-trip time",
            ),
            number(
                "quantum",
                "1",
                [0.0, 64.0],
                "segments",
                "segments that a host sends at once, three times of which the window has to spare",
            ),
        ],
        probes: &[
            "bw",
            "max_bw",
            "min_rtt",
            "pacing_gain",
            "state",
            "round",
            "inflight_longterm",
            "inflight_shortterm",
            "extra_acked",
            "full_bw",
            "cwnd_gain",
            "full_bw_count",
            "full_bw_now",
            "full_bw_reached",
            "bw_shortterm",
            "bw_latest",
            "inflight_latest",
            "ack_phase",
            "prev_probe_too_high",
            "idle_restart",
            "undo_state",
            "cycle_wait",
        ],
    };
    const STATES: &'static [&'static str] = &State::NAMES;
    fn new(params: &Params, flow: &FlowInfo) -> Bbr3 {
        let linux = params.choice("variant") == "linux";
        let constants = Constants {
            drain_gain: if linux { 0.35 } else { 0.5 },
            down_gain: if linux { 0.91 } else { 0.9 },
            loss_threshold: params.number("loss_threshold"),
            beta: params.number("beta"),
            headroom: params.number("headroom"),
            probe_rtt_interval: Span::from_seconds(params.number("probe_rtt_interval")),
        };
        Bbr3 {
            constants,
            model: Model::new(constants, flow.initial_window),
            state: State::Startup,
            transitions: Transitions::new(Self::STATES),
            ack_phase: AckPhase::None,
            cwnd: flow.initial_window,
            prior_cwnd: 0.0,
            max_window: flow.max_window,
            initial_window: flow.initial_window,
            segment_bits: flow.packet as f64 * 8.0,
            quantum: params.number("quantum"),
            pacing: 0.0,
            seen_rtt: false,
            drain_round: 0,
            too_high: false,
            precautionary: false,
            probe_sample: false,
            cycle_began: Time::ZERO,
            wait: Span::ZERO,
            rounds_since_up: 0,
            up_acked: 0.0,
            up_needed: f64::INFINITY,
            up_exponent: 0,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            idle_restart: false,
            last_phase: Phase::Open,
            undo: None,
            saved_at: None,
            delivered: 0,
            random: Xoshiro256PlusPlus::seed_from_u64(flow.seed),
        }
    }
}

impl Bbr3 {
    // ---- transitions --------------------------------------------------------------------------------------

    /// Enters a state. `why`: the reason, for the record; `now`: time; `delivered`: segments delivered so far.
    fn enter(&mut self, state: State, why: &'static str, now: Time, delivered: u64) {
        self.transitions.record(now, self.state as u8, state as u8, why);
        match state {
            State::Drain => self.drain_round = self.model.rounds,
            State::Down => {
                self.model.forget_round();
                self.up_needed = f64::INFINITY;
                self.rounds_since_up = self.random.next_u64() & 1;
                let part = (self.random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
                self.wait = Span::from_seconds(2.0 + part);
                self.cycle_began = now;
                self.ack_phase = AckPhase::Stopping;
                self.model.start_round(delivered);
            }
            State::Refill => {
                self.model.reset_short_term();
                (self.up_exponent, self.up_acked) = (0, 0.0);
                self.precautionary = false;
                self.ack_phase = AckPhase::Refilling;
                self.model.start_round(delivered);
            }
            State::Up => {
                self.probe_sample = true;
                self.ack_phase = AckPhase::Starting;
                self.model.start_round(delivered);
                self.raise_slope();
            }
            State::ProbeRtt => {
                self.save_window();
                self.probe_rtt_done = None;
                self.ack_phase = AckPhase::Stopping;
                self.model.start_round(delivered);
            }
            State::Startup | State::Cruise => {}
        }
        self.state = state;
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => STARTUP_GAIN,
            State::Drain => self.constants.drain_gain,
            State::Down => self.constants.down_gain,
            State::Up => 1.25,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => 2.25,
            State::ProbeRtt => PROBE_RTT_GAIN,
            _ => 2.0,
        }
    }

    /// Each round in `Up` at the bound doubles the growth of the bound.
    fn raise_slope(&mut self) {
        self.up_needed = (self.cwnd / (1u64 << self.up_exponent) as f64).max(1.0);
        self.up_exponent = (self.up_exponent + 1).min(30);
    }

    fn target_inflight(&self) -> f64 {
        self.model.bdp(1.0).min(self.cwnd)
    }

    fn budget(&self, window: f64) -> f64 {
        window.max(QUANTA * self.quantum).max(MIN_WINDOW) + if self.state == State::Up { 2.0 } else { 0.0 }
    }

    // ---- states -------------------------------------------------------------------------------------------

    fn check_startup_and_drain(&mut self, ack: &Ack, sample: &RateSample, had_loss: bool) {
        if self.state == State::Startup {
            let lossy = self.model.lossy_startup(sample, had_loss);
            if lossy {
                self.note_ended_by_losses();
                self.model.full = true;
                self.model.longterm = self.model.bdp(1.0).max(self.model.inflight_latest);
            }
            if self.model.full {
                let why = if lossy { "loss" } else { "full" };
                self.enter(State::Drain, why, ack.now, ack.delivered_total);
            }
        }
        if self.state == State::Drain {
            let drained = ack.in_flight <= self.budget(self.model.bdp(1.0));
            if drained || self.model.rounds > self.drain_round + 3 {
                let why = if drained { "drained" } else { "rounds" };
                self.enter(State::Down, why, ack.now, ack.delivered_total);
            }
        }
    }

    fn cycle(&mut self, ack: &Ack, sample: &RateSample, rate: f64) {
        if !self.model.full {
            return;
        }
        let (now, total) = (ack.now, ack.delivered_total);
        if self.adapt_longterm(ack, sample) {
            return;
        }
        let waited = now.since(self.cycle_began) > self.wait;
        let due = waited || self.rounds_since_up as f64 >= self.target_inflight().min(MOST_ROUNDS);
        match self.state {
            State::Down | State::Cruise if due => {
                self.enter(State::Refill, if waited { "time" } else { "rounds" }, now, total);
            }
            State::Down => {
                let estimate = self.budget(self.model.bdp_of(self.model.max_bandwidth(), 1.0));
                if ack.in_flight <= self.model.with_headroom().min(estimate) {
                    self.enter(State::Cruise, "drained", now, total);
                }
            }
            State::Refill if self.model.round_start => {
                self.model.restart_full(rate);
                self.enter(State::Up, "round", now, total);
            }
            State::Up => {
                let precaution = self.too_high && ack.in_flight >= self.model.longterm;
                if !precaution && ack.window_limited && self.cwnd >= self.model.longterm {
                    self.model.restart_full(rate);
                } else if precaution || self.model.full_now {
                    self.precautionary |= precaution;
                    self.too_high = false;
                    self.enter(State::Down, if precaution { "loss" } else { "full" }, now, total);
                }
            }
            _ => {}
        }
    }

    /// Follows the ACKs of probes, and raises the long-term bound. Returns whether a new probe has begun.
    fn adapt_longterm(&mut self, ack: &Ack, sample: &RateSample) -> bool {
        if self.model.round_start {
            match self.ack_phase {
                AckPhase::Starting => self.ack_phase = AckPhase::Feedback,
                AckPhase::Stopping => {
                    (self.probe_sample, self.ack_phase) = (false, AckPhase::None);
                    if self.state.probes_bandwidth() && !sample.app_limited {
                        self.model.advance_bandwidth();
                    }
                    if self.state.probes_bandwidth() && self.precautionary && !self.too_high {
                        self.enter(State::Refill, "precaution", ack.now, ack.delivered_total);
                        return true;
                    }
                }
                _ => {}
            }
        }
        let too_high = self.model.too_high(sample.lost as f64, sample.tx_in_flight as f64);
        if too_high || self.model.longterm == f64::INFINITY {
            return false;
        }
        self.model.longterm = self.model.longterm.max(sample.tx_in_flight as f64);
        if self.state == State::Up && ack.window_limited && self.cwnd >= self.model.longterm {
            self.up_acked += ack.newly_delivered as f64;
            if self.up_acked >= self.up_needed {
                let steps = detmath::floor(self.up_acked / self.up_needed);
                self.up_acked -= steps * self.up_needed;
                self.model.longterm += steps;
            }
            if self.model.round_start {
                self.raise_slope();
            }
        }
        false
    }

    fn probe_rtt_window(&self) -> f64 {
        self.model.bdp(PROBE_RTT_GAIN).max(MIN_WINDOW)
    }

    fn check_probe_rtt(&mut self, ack: &Ack) {
        if self.state != State::ProbeRtt && self.model.probe_rtt_expired && !self.idle_restart {
            self.enter(State::ProbeRtt, "interval", ack.now, ack.delivered_total);
        }
        if self.state == State::ProbeRtt {
            match self.probe_rtt_done {
                None if ack.in_flight <= self.probe_rtt_window() => {
                    self.probe_rtt_done = Some(ack.now + PROBE_RTT_TIME);
                    self.probe_rtt_round_done = false;
                    self.model.start_round(ack.delivered_total);
                }
                None => {}
                Some(done) => {
                    self.probe_rtt_round_done |= self.model.round_start;
                    if self.probe_rtt_round_done && ack.now > done {
                        self.leave_probe_rtt(ack.now, ack.delivered_total);
                    }
                }
            }
        }
        if ack.newly_delivered > 0 {
            self.idle_restart = false;
        }
    }

    fn leave_probe_rtt(&mut self, now: Time, delivered: u64) {
        self.model.probe_rtt_at = now;
        self.cwnd = self.cwnd.max(self.prior_cwnd);
        self.model.reset_short_term();
        if self.model.full {
            self.enter(State::Down, "done", now, delivered);
            self.enter(State::Cruise, "done", now, delivered);
        } else {
            self.enter(State::Startup, "done", now, delivered);
        }
    }

    // ---- outputs ------------------------------------------------------------------------------------------

    fn save_window(&mut self) {
        let in_probe_rtt = self.state == State::ProbeRtt;
        self.prior_cwnd = saved_window(self.prior_cwnd, self.cwnd, self.last_phase, in_probe_rtt);
    }

    /// Saves what an undo restores: at the first loss of a round, but not again in a recovery. The losses of one ACK can end
    /// Up, which forgets the losses of the round.
    fn save_state(&mut self, now: Time) {
        let repairs = self.last_phase >= Phase::Recovery && self.undo.is_some();
        if self.model.loss_in_round || repairs || self.saved_at == Some(now) {
            return;
        }
        self.saved_at = Some(now);
        self.save_window();
        self.undo = Some(Undo {
            state: None,
            bandwidth: self.model.bandwidth_shortterm,
            inflight: self.model.inflight_shortterm,
            longterm: self.model.longterm,
        });
    }

    /// Losses end the state.
    fn note_ended_by_losses(&mut self) {
        if let Some(undo) = &mut self.undo {
            undo.state = Some(self.state);
        }
    }

    fn set_pacing(&mut self, ack: &Ack) {
        if let (false, Some(rtt)) = (self.seen_rtt, ack.rtt) {
            self.seen_rtt = true;
            self.pacing = STARTUP_GAIN * self.cwnd / rtt.seconds();
        }
        let rate = self.pacing_gain() * self.model.bandwidth * PACING_MARGIN;
        if self.model.full || rate > self.pacing {
            self.pacing = rate;
        }
    }

    fn set_cwnd(&mut self, ack: &Ack) {
        if ack.phase < Phase::Recovery && self.last_phase >= Phase::Recovery {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
        self.last_phase = ack.phase;
        let delivered = ack.newly_delivered as f64;
        let limit = self.budget(self.model.bdp(self.cwnd_gain()) + self.model.extra_acked());
        if self.model.full {
            self.cwnd = (self.cwnd + delivered).min(limit);
        } else if self.cwnd < limit || ack.delivered_total < self.initial_window as u64 {
            self.cwnd += delivered;
        }
        self.cwnd = self.cwnd.max(MIN_WINDOW);
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_window());
        }
        let bound = match self.state {
            State::Down | State::Refill | State::Up => self.model.longterm,
            State::Cruise | State::ProbeRtt => self.model.with_headroom(),
            State::Startup | State::Drain => f64::INFINITY,
        };
        self.cwnd =
            self.cwnd.min(bound.min(self.model.inflight_shortterm).max(MIN_WINDOW)).min(self.max_window);
    }
}

impl Controller for Bbr3 {
    fn needs(&self) -> Signals {
        let reports = Signals::LOSSES.and(Signals::SAMPLES);
        Signals::RATE.and(Signals::PACING).and(Signals::SEGMENT_COUNTS).and(reports)
    }
    fn on_open(&mut self, now: Time) {
        self.model.begin(now);
        self.cycle_began = now;
    }
    fn on_lost(&mut self, lost: &Lost) {
        self.save_state(lost.now);
        self.model.count_loss(lost);
        if !self.probe_sample || !self.model.too_high(lost.lost as f64, lost.tx_in_flight as f64) {
            return;
        }
        (self.too_high, self.probe_sample) = (true, false);
        if !lost.app_limited {
            let crossing = self.model.crossing(lost.tx_in_flight as f64, lost.lost as f64);
            self.model.longterm = crossing.max(self.constants.beta * self.target_inflight());
        }
        if self.state == State::Up {
            self.note_ended_by_losses();
            self.enter(State::Down, "loss", lost.now, lost.delivered_total);
        }
    }
    fn on_sample(&mut self, sample: &Sample) {
        self.delivered += u64::from(sample.newly_delivered);
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.delivered = ack.delivered_total;
        if let Some(sample) = ack.rate {
            let (rate, had_loss) = self.model.update(ack, &sample, self.state.probes(), self.cwnd);
            self.rounds_since_up += self.model.round_start as u64;
            self.check_startup_and_drain(ack, &sample, had_loss);
            self.cycle(ack, &sample, rate);
            self.model.update_min_rtt(ack.now, ack.rtt);
            self.check_probe_rtt(ack);
            self.model.advance(&sample, rate);
        }
        self.set_pacing(ack);
        self.set_cwnd(ack);
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.save_window();
        self.save_state(event.now);
    }
    fn on_rto(&mut self, event: &Timeout) {
        self.save_window();
        self.save_state(event.now);
        self.last_phase = Phase::Loss;
        self.cwnd = 1.0;
    }
    fn on_undo(&mut self, now: Time) {
        self.model.loss_in_round = false;
        self.model.restart_full(0.0);
        let Some(undo) = self.undo.take() else { return };
        self.model.bandwidth_shortterm = self.model.bandwidth_shortterm.max(undo.bandwidth);
        self.model.inflight_shortterm = self.model.inflight_shortterm.max(undo.inflight);
        self.model.longterm = self.model.longterm.max(undo.longterm);
        if self.state != State::ProbeRtt && Some(self.state) != undo.state {
            match undo.state {
                Some(State::Startup) => {
                    self.model.full = false;
                    self.enter(State::Startup, "undo", now, self.delivered);
                }
                Some(State::Up) => self.enter(State::Refill, "undo", now, self.delivered),
                _ => {}
            }
        }
    }
    fn on_restart(&mut self, _event: &Restart) {}
    fn on_transmit_start(&mut self, event: &TransmitStart) {
        if !event.app_limited {
            return;
        }
        self.idle_restart = true;
        self.model.restart_aggregation(event.now);
        if self.state.probes_bandwidth() {
            self.pacing = self.model.bandwidth * PACING_MARGIN;
        } else if self.state == State::ProbeRtt && self.probe_rtt_done.is_some_and(|done| event.now > done) {
            self.leave_probe_rtt(event.now, self.model.delivered);
        }
    }
    fn owns_window(&self) -> bool {
        true
    }
    fn limits_application(&self) -> bool {
        self.state == State::ProbeRtt
    }
    fn set_window(&mut self, cwnd: Segments) {
        self.cwnd = cwnd;
        if !self.seen_rtt {
            self.initial_window = cwnd;
            self.model.initial_window = cwnd;
        }
    }
    fn set_ssthresh(&mut self, _ssthresh: Segments) {}
    fn cwnd(&self) -> Segments {
        detmath::floor(self.cwnd).max(1.0)
    }
    fn ssthresh(&self) -> Segments {
        f64::INFINITY
    }
    fn pacing(&self) -> Option<Rate> {
        pacing_rate(self.pacing * self.segment_bits)
    }
    fn transitions(&self) -> Option<&Transitions> {
        Some(&self.transitions)
    }
    fn probe(&self, out: &mut [f64]) {
        let finite = |x: f64| if x.is_finite() { x } else { f64::NAN };
        out[0] = self.model.bandwidth * self.segment_bits;
        out[1] = self.model.max_bandwidth() * self.segment_bits;
        out[2] = self.model.min_rtt.map_or(f64::NAN, Span::seconds);
        out[3] = self.pacing_gain();
        out[4] = self.state as u8 as f64;
        out[5] = self.model.rounds as f64;
        out[6] = finite(self.model.longterm);
        out[7] = finite(self.model.inflight_shortterm);
        out[8] = self.model.extra_acked();
        out[9] = self.model.full_bandwidth * self.segment_bits;
        out[10] = self.cwnd_gain();
        out[11] = self.model.full_rounds as f64;
        out[12] = f64::from(self.model.full_now);
        out[13] = f64::from(self.model.full);
        out[14] = finite(self.model.bandwidth_shortterm * self.segment_bits);
        out[15] = self.model.bandwidth_latest * self.segment_bits;
        out[16] = self.model.inflight_latest;
        out[17] = self.ack_phase as u8 as f64;
        out[18] = f64::from(self.too_high);
        out[19] = f64::from(self.idle_restart);
        let undo = self.undo.and_then(|undo| undo.state);
        out[20] = undo.map_or(f64::NAN, |state| state as u8 as f64);
        out[21] = self.wait.seconds();
    }
}
