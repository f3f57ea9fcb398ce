//! C4, Christian's Congestion Control Code (draft-huitema-ccwg-c4-spec-00, November 2025): a nominal rate that delivery rates
//! can only raise, a nominal maximum of the round-trip time that includes jitter, and reactions to congestion that grow with
//! the rate, so that flows converge.
//!
//! `rules.rs` has the formulas, this file the states and the outputs. Later versions of the text have other states and are not
//! built, nor is the code of picoquic. Read differently from the text of version 00:
//! - A rate sample above the nominal rate replaces it (picoquic); the text prints the comparison the other way round, with
//!   which the rate would stay at zero.
//! - The reduction for delay is `(rtt - (M + threshold)) / threshold`; the text closes the parenthesis later.
//! - The sending times of a rate sample are those of draft-ietf-ccwg-bbr, the text has "the oldest delivered packet". An ACK
//!   without a round-trip time has the whole sample of that draft.
//! - In the initial state, growth is a quarter in an era (picoquic; the text: "does not increase"), and its end reduces nothing.
//! - A loss signal needs a lost packet: the smoothed loss is compared with its threshold at each loss. Losses that a timer
//!   finds do not count (the text: losses that acknowledgements show).
//! - An era is limited by the application if the sample of the packet that ends it is.
//! - ECN is "TBD" in the text: marks have no effect.
//!
//! After a timeout the window is two packets until the next ACK; rate and states remain ("Do not react to Probe Time Out").
//! Until there is a rate, the transport paces as for a controller without one. Status: draft; the formulas have the values of an
//! independent model. Compared with the author's code of November 2025 (private-octopus/c4 e3377b67 in the simulator of picoquic
//! 32f1b5cc, 60 runs in each of ten cases): completion within 8 % where code and text agree; where the code leaves the text, the
//! code changed to the text has our times. The code never reduces its rate for delay, which halves the time over bad Wi-Fi.

mod rules;
#[cfg(test)]
mod tests;

use crate::descriptor::{Descriptor, Family, Status};
use crate::pacing_rate::pacing_rate;
use crate::parameters::Params;
use crate::window::impl_owned_window;
use crate::{
    Ack, Algorithm, Congestion, Controller, EcnResponse, FlowInfo, Handshake, Restart, Signals, Timeout,
    Transitions,
};
use rules::{BETA, LOW_PUSH};
use units::{Rate, Segments, Span};

/// The state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Sends at twice the nominal rate until it no longer grows.
    Initial,
    /// Sends below the nominal rate for an era, in which the ACKs of the era before arrive.
    Recovery,
    /// Sends at the nominal rate.
    Cruising,
    /// Sends above the nominal rate for an era.
    Pushing,
}

impl State {
    /// The names, in the order of the states.
    const NAMES: [&str; 4] = ["initial", "recovery", "cruising", "pushing"];
}

/// A congestion signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Signal {
    Delay,
    Loss,
}

impl Signal {
    fn name(self) -> &'static str {
        match self {
            Signal::Delay => "delay",
            Signal::Loss => "loss",
        }
    }
}

const INITIAL_ALPHA: f64 = 2.0;
const RECOVERY_ALPHA: f64 = 15.0 / 16.0;
const CRUISING_ALPHA: f64 = 1.0;
const PUSHING_ALPHA: f64 = 5.0 / 4.0;
/// Eras without growth that end the initial state, and those after which a delay does.
const FULL_ERAS: u32 = 3;
const ERAS_BEFORE_DELAY: u32 = 2;
/// Packets of the initial state after which a loss ends it.
const PACKETS_BEFORE_LOSS: u32 = 20;
const CRUISING_ERAS: u32 = 4;
/// Successful pushes in a row after which the initial state begins again.
const SUCCESSES: u32 = 3;
/// High jitter: the running minimum is below this part of the nominal maximum.
const HIGH_JITTER: f64 = 2.0 / 5.0;
/// The smallest window, packets.
const LEAST: f64 = 2.0;

/// The nominal rate, the nominal maximum of the round-trip time, and the state.
#[derive(Clone, Debug)]
pub struct C4 {
    state: State,
    transitions: Transitions,
    cwnd: Segments,
    max_window: Segments,
    /// Payload of a segment, bytes.
    packet: f64,
    /// Pacing rate, bytes/s; zero before there is one.
    pacing: f64,
    /// Packets that leave at once.
    quantum: u32,
    /// Nominal rate, bytes/s.
    rate: f64,
    /// Nominal maximum and running minimum of the round-trip time, s; zero and infinite before the first sample.
    max_rtt: f64,
    min_rtt: f64,
    /// The sending rate in nominal rates, in this era and in the one before.
    alpha: f64,
    previous_alpha: f64,
    /// Segments delivered when the era began: a segment that was sent later belongs to it.
    era_begins: u64,
    /// Least and largest round-trip time of the era, s.
    era_min: f64,
    era_max: f64,
    /// Initial: the nominal rate when the era began. Then: the one when the last recovery ended.
    old_rate: f64,
    no_growth: u32,
    /// Packets delivered in the initial state.
    received: u32,
    cruising_eras: u32,
    /// The alpha of the push before this recovery.
    pushed: Option<f64>,
    /// Recovery: there was a congestion signal at its begin or since.
    congested: bool,
    /// Successful pushes in a row.
    successes: u32,
    last_push_succeeded: bool,
    /// High jitter has started the initial state again.
    restarted: bool,
    smoothed_loss: f64,
}

impl Algorithm for C4 {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "c4",
        summary: "a nominal rate that pushes raise and delay or losses reduce, the more the higher it is",
        source: "draft-huitema-ccwg-c4-spec-00 (2025)",
        family: Family::Model,
        status: Status::Draft,
        params: &[],
        probes: &["nominal_rate", "nominal_max_rtt", "running_min_rtt", "alpha", "c4_state", "smoothed_loss"],
    };
    const STATES: &'static [&'static str] = &State::NAMES;
    fn new(_params: &Params, flow: &FlowInfo) -> C4 {
        C4 {
            state: State::Initial,
            transitions: Transitions::new(Self::STATES),
            cwnd: flow.initial_window,
            max_window: flow.max_window,
            packet: f64::from(flow.packet),
            pacing: 0.0,
            quantum: 1,
            rate: 0.0,
            max_rtt: 0.0,
            min_rtt: f64::INFINITY,
            alpha: INITIAL_ALPHA,
            previous_alpha: INITIAL_ALPHA,
            era_begins: 0,
            era_min: f64::INFINITY,
            era_max: 0.0,
            old_rate: 0.0,
            no_growth: 0,
            received: 0,
            cruising_eras: 0,
            pushed: None,
            congested: false,
            successes: 0,
            last_push_succeeded: false,
            restarted: false,
            smoothed_loss: 0.0,
        }
    }
}

impl C4 {
    // ---- transitions --------------------------------------------------------------------------------------

    /// Enters a state and begins an era. `why`: the reason, for the record.
    fn enter(&mut self, state: State, why: &'static str, ack: &Ack) {
        self.transitions.record(ack.now, self.state as u8, state as u8, why);
        let alpha = match state {
            State::Initial => {
                (self.no_growth, self.received, self.old_rate) = (0, 0, self.rate);
                INITIAL_ALPHA
            }
            State::Recovery => {
                self.pushed = (self.state == State::Pushing).then_some(self.alpha);
                self.congested = false;
                RECOVERY_ALPHA
            }
            State::Cruising => {
                (self.cruising_eras, self.old_rate) = (0, self.rate);
                CRUISING_ALPHA
            }
            State::Pushing if self.last_push_succeeded => PUSHING_ALPHA,
            State::Pushing => LOW_PUSH,
        };
        self.state = state;
        self.begin_era(alpha, ack);
    }

    fn begin_era(&mut self, alpha: f64, ack: &Ack) {
        (self.previous_alpha, self.alpha) = (self.alpha, alpha);
        self.era_begins = ack.delivered_total;
        (self.era_min, self.era_max) = (f64::INFINITY, 0.0);
    }

    /// The first packet of the era is acknowledged. `limited`: the application limited the sender.
    fn end_era(&mut self, limited: bool, ack: &Ack) {
        let at_most_nominal = self.previous_alpha <= 1.0 && self.state != State::Initial;
        if at_most_nominal && self.era_max > 0.0 {
            (self.min_rtt, self.max_rtt) =
                rules::round_trips(self.min_rtt, self.max_rtt, self.era_min, self.era_max);
        }
        match self.state {
            State::Initial => {
                if rules::grew(self.old_rate, self.rate, INITIAL_ALPHA) {
                    self.no_growth = 0;
                } else if !limited {
                    self.no_growth += 1;
                }
                self.old_rate = self.rate;
                if self.no_growth >= FULL_ERAS {
                    return self.enter(State::Recovery, "full", ack);
                }
                self.begin_era(self.alpha, ack);
            }
            State::Recovery => self.leave_recovery(ack),
            State::Cruising => {
                self.cruising_eras += 1;
                if self.cruising_eras >= CRUISING_ERAS && !limited {
                    return self.enter(State::Pushing, "eras", ack);
                }
                self.begin_era(self.alpha, ack);
            }
            State::Pushing => self.enter(State::Recovery, "era", ack),
        }
    }

    fn leave_recovery(&mut self, ack: &Ack) {
        let success = match self.pushed {
            Some(alpha) => {
                self.last_push_succeeded = !self.congested && rules::grew(self.old_rate, self.rate, alpha);
                self.last_push_succeeded
            }
            None => false,
        };
        self.successes = if success { self.successes + 1 } else { 0 };
        if self.successes >= SUCCESSES {
            self.successes = 0;
            self.enter(State::Initial, "pushes", ack);
        } else if !self.restarted && self.min_rtt < HIGH_JITTER * self.max_rtt {
            self.restarted = true;
            self.enter(State::Initial, "jitter", ack);
        } else {
            self.enter(State::Cruising, "era", ack);
        }
    }

    /// A congestion signal; `beta`: its reduction of the nominal rate.
    fn congestion(&mut self, signal: Signal, beta: f64, ack: &Ack) {
        let leaves = match (self.state, signal) {
            (State::Initial, Signal::Delay) => self.no_growth >= ERAS_BEFORE_DELAY,
            (State::Initial, Signal::Loss) => self.received > PACKETS_BEFORE_LOSS,
            (State::Recovery, _) => false,
            (State::Cruising, _) => {
                self.rate *= 1.0 - beta;
                true
            }
            (State::Pushing, _) => true,
        };
        if leaves {
            self.enter(State::Recovery, signal.name(), ack);
        }
        self.congested |= self.state == State::Recovery;
    }

    // ---- measurements -------------------------------------------------------------------------------------

    fn sample_rtt(&mut self, rtt: f64) {
        (self.era_min, self.era_max) = (self.era_min.min(rtt), self.era_max.max(rtt));
        if self.max_rtt == 0.0 {
            self.max_rtt = rtt;
        }
    }

    /// What was delivered since the packet was sent, over the longer of the time since then and the time in which it was
    /// sent. Without the round-trip time of the packet the first one is that since the delivery before.
    fn sample_rate(&mut self, ack: &Ack) {
        let Some(sample) = ack.rate else { return };
        let interval = ack.rtt.map_or(sample.interval, |rtt| rtt.max(sample.send_interval));
        if interval > Span::ZERO {
            let rate = sample.delivered as f64 * self.packet / interval.seconds();
            self.rate = self.rate.max(rate);
        }
    }

    /// Counts the packets that the ACK shows as lost and as delivered.
    fn count(&mut self, ack: &Ack) {
        for _ in 0..ack.newly_lost {
            self.smoothed_loss = rules::smooth_loss(self.smoothed_loss, true);
            if self.smoothed_loss > rules::loss_threshold(self.rate) {
                self.congestion(Signal::Loss, BETA, ack);
            }
        }
        for _ in 0..ack.newly_delivered {
            self.smoothed_loss = rules::smooth_loss(self.smoothed_loss, false);
        }
        self.received = self.received.saturating_add(ack.newly_delivered);
    }

    fn check_delay(&mut self, rtt: f64, ack: &Ack) {
        let threshold = rules::delay_threshold(self.rate, self.max_rtt);
        if rtt > self.max_rtt + threshold {
            let beta = rules::beta_delay(rtt, self.max_rtt, threshold);
            self.congestion(Signal::Delay, beta, ack);
        }
    }

    fn set_outputs(&mut self) {
        if self.rate > 0.0 && self.max_rtt > 0.0 {
            let (pacing, window, quantum) = rules::outputs(self.rate, self.max_rtt, self.alpha, self.packet);
            self.pacing = pacing;
            self.cwnd = (window / self.packet).min(self.max_window);
            self.quantum = (quantum / self.packet) as u32;
        }
    }
}

impl Controller for C4 {
    fn needs(&self) -> Signals {
        Signals::RATE.and(Signals::PACING).and(Signals::SEGMENT_COUNTS)
    }
    fn on_handshake(&mut self, event: &Handshake) {
        if let Some(rtt) = event.rtt {
            self.sample_rtt(rtt.seconds());
        }
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.count(ack);
        if !(self.state == State::Recovery && self.congested) {
            self.sample_rate(ack);
        }
        if let Some(rtt) = ack.rtt {
            self.sample_rtt(rtt.seconds());
            self.check_delay(rtt.seconds(), ack);
        }
        if let Some(sample) = ack.rate
            && sample.prior_delivered >= self.era_begins
        {
            self.end_era(sample.app_limited, ack);
        }
        self.set_outputs();
    }
    fn on_congestion(&mut self, _event: &Congestion) {}
    fn ecn_response(&self) -> EcnResponse {
        EcnResponse::CwrOnly
    }
    fn on_rto(&mut self, _event: &Timeout) {
        self.set_window(LEAST);
    }
    fn on_restart(&mut self, _event: &Restart) {}
    impl_owned_window!(cwnd, max_window);
    fn pacing(&self) -> Option<Rate> {
        pacing_rate(self.pacing * 8.0)
    }
    fn send_quantum(&self) -> u32 {
        self.quantum
    }
    fn transitions(&self) -> Option<&Transitions> {
        Some(&self.transitions)
    }
    fn probe(&self, out: &mut [f64]) {
        let known = |value: f64| if value > 0.0 && value.is_finite() { value } else { f64::NAN };
        (out[0], out[1]) = (known(self.rate * 8.0), known(self.max_rtt));
        (out[2], out[3]) = (known(self.min_rtt), self.alpha);
        (out[4], out[5]) = (f64::from(self.state as u8), self.smoothed_loss);
    }
}
