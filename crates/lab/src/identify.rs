//! Which controller is this? Controllers follow the recording of a flow: each gets the ACKs, reductions and timeouts of the
//! recording, and its window is compared with what the sender kept in flight.
//!
//! The transmissions are those of the recording, so a difference at one ACK does not change what follows. A reduction starts
//! the comparison anew from the window that the recording shows after it; what a controller makes of the reduction is scored
//! by itself. Acknowledgements in a recovery are not scored: there the transport decides.

use crate::error::ScenarioError;
use crate::scenario::{FlowKind, Scenario};
use cc::{
    Ack, AnyController, Cause, Congestion, Controller, Handshake, Phase, RateSample, Sample, SenderState,
    Signals, Timeout,
};
use trace::record::{self, Event, Recording, Reduction, Row};
use units::{Segments, Span, Time};

/// The share of ACKs that a model of noise takes for outliers, and the scale of the others, segments.
const OUTLIERS: f64 = 0.02;
const SCALE: f64 = 0.5;
/// The standard deviation of the factor of a reduction.
const FACTOR_DEVIATION: f64 = 0.02;
/// A transmission so soon after an ACK answers it.
const AT_ONCE_NS: u64 = 1_000_000;
/// An ACK is explained if the window is within one segment, or this part of it.
const WITHIN: f64 = 0.02;

/// What a controller explains of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// Its name.
    pub control: String,
    /// ACKs that were scored.
    pub scored: u32,
    /// Of these, ACKs at which its window is what was in flight.
    pub within: u32,
    /// The logarithm of the likelihood, nats.
    pub likelihood: f64,
    /// The mean of the factors of its reductions; NaN without one.
    pub factor: f64,
    /// At each scored ACK: its time (ns), what was in flight, the window; segments.
    pub windows: Vec<(u64, f64, f64)>,
}

/// A recording as its senders' events, and what the controllers explain of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Identification {
    /// Reductions that were compared.
    pub reductions: u32,
    /// The mean of the factors that the recording shows; NaN without a reduction.
    pub factor: f64,
    /// The controllers, the most likely one first.
    pub explained: Vec<Explained>,
}

/// Controllers that may be asked for: those that need nothing of routers, of the receiver or of marks.
pub fn candidates() -> Vec<&'static str> {
    // Those of the Iridium paper count the links of the path, those of RCP read the routers' rates: a recording has neither.
    let unknown = ["bic_awi", "bic_dpe", "rcp_plus", "enhanced_rcp"];
    let refused = [
        Signals::ROUTER_RATE,
        Signals::ROUTER_FEEDBACK,
        Signals::RECEIVER_TIME,
        Signals::ECN_PER_PACKET,
        Signals::L4S,
        Signals::PACING,
        Signals::DELIVERIES,
        Signals::SENT,
        Signals::LOSSES,
        Signals::TIMER,
    ];
    let names = crate::controllers().map(|entry| entry.descriptor.name);
    let usable = |name: &&'static str| {
        flow(name, 1448).is_ok_and(|flow| !refused.iter().any(|signal| flow.needs.has(*signal)))
    };
    names.filter(|name| !unknown.contains(name)).filter(usable).collect()
}

/// A controller in the profile linux, what it needs, and the initial window.
struct Follower {
    controller: AnyController,
    needs: Signals,
    initial: Segments,
}

/// The controller with this name.
fn flow(control: &str, payload: u32) -> Result<Follower, ScenarioError> {
    let text = format!(
        "duration = \"1s\"\nlink = [{{ ends = [\"a\", \"b\"], rate = \"1Gbps\", delay = \"1ms\" }}]\n\
         flow = [{{ from = \"a\", to = \"b\", tcp = {{ congestion_control = \"{control}\", mss = {payload} }} }}]\n"
    );
    let scenario = Scenario::parse("identify", &text, &[])?;
    match scenario.flows.first().map(|flow| &flow.kind) {
        Some(FlowKind::Tcp(tcp)) => {
            let info = tcp.flow_info(1, 0);
            let (controller, needs) = (tcp.control.make(&info), tcp.control.needs(&info));
            Ok(Follower { controller, needs, initial: tcp.options.initial_window })
        }
        _ => unreachable!("the text has a TCP flow"),
    }
}

/// Compares controllers with the recording of a flow whose full segments have `payload` bytes. Fails if a controller does not
/// exist.
pub fn identify(
    recording: &Recording,
    payload: u32,
    names: &[&str],
) -> Result<Identification, ScenarioError> {
    let steps = steps(recording, f64::from(payload));
    let mut explained = Vec::new();
    let mut shown = (0, f64::NAN);
    for name in names {
        let mut best: Option<Shadow> = None;
        for restart in [0.0, 1.0] {
            let mut shadow = Shadow::new(flow(name, payload)?, restart);
            for step in &steps {
                shadow.step(step);
            }
            if best.as_ref().is_none_or(|best| shadow.likelihood > best.likelihood) {
                best = Some(shadow);
            }
        }
        let Some(best) = best else { continue };
        shown = (best.reductions, best.observed / f64::from(best.reductions));
        explained.push(best.into_explained(name));
    }
    explained.sort_by(|a, b| b.likelihood.total_cmp(&a.likelihood));
    Ok(Identification { reductions: shown.0, factor: shown.1, explained })
}

/// An ACK of the recording, with what happened before and after it. Windows in segments.
#[derive(Clone, Debug)]
struct Step {
    at: u64,
    newly_acked: u32,
    newly_delivered: u32,
    delivered: u64,
    acked: u64,
    next: u64,
    /// In flight before and after the ACK, and after the transmissions that follow it.
    flight: [Segments; 3],
    rtt: Option<Span>,
    /// Segments that were delivered during the round trip of the sample; zero without a sample.
    sample: f64,
    phase: Phase,
    /// Transmissions answer it.
    answered: bool,
    /// A reduction begins with it, with what was in flight before, or at its time; a timeout before it.
    begins: Option<Segments>,
    timeouts: u32,
    ends: bool,
    lost: u64,
    marks: u32,
}

/// The ACKs of a recording.
fn steps(recording: &Recording, payload: f64) -> Vec<Step> {
    let segments = |bytes: f64| bytes / payload;
    let whole = |bytes: u64| (bytes as f64 / payload).round() as u64;
    let mut steps: Vec<Step> = Vec::new();
    let (mut una, mut delivered, mut next, mut lost, mut marks) = (0, 0, 0, 0, 0);
    let mut before = 0.0;
    for row in &recording.rows {
        match row.event {
            Event::Ack => {
                let (acked, total) = (whole(row.seq.saturating_sub(1)), whole(row.delivered));
                steps.push(Step {
                    at: row.at,
                    newly_acked: acked.saturating_sub(una) as u32,
                    newly_delivered: total.saturating_sub(delivered) as u32,
                    delivered: total.max(delivered),
                    acked: acked.max(una),
                    next,
                    flight: [before, segments(row.outstanding as f64), segments(row.outstanding as f64)],
                    rtt: (row.rtt_s > 0.0).then(|| Span::from_seconds(row.rtt_s)),
                    sample: segments((row.delivery_bps * row.rtt_s / 8.0).max(0.0)),
                    phase: phase_of(row),
                    answered: false,
                    begins: None,
                    timeouts: 0,
                    ends: false,
                    lost,
                    marks: row.marks.saturating_sub(marks),
                });
                (una, delivered, marks) = (acked.max(una), total.max(delivered), row.marks.max(marks));
            }
            Event::Sent | Event::SentAgain => {
                next = next.max(whole(row.seq.saturating_sub(1) + u64::from(row.bytes)));
                lost += u64::from(row.event == Event::SentAgain);
                if let Some(step) = steps.last_mut() {
                    step.flight[2] = segments(row.outstanding as f64);
                    step.answered |= row.event == Event::Sent
                        && row.at.checked_sub(step.at).is_some_and(|gap| gap <= AT_ONCE_NS);
                }
            }
            _ => {}
        }
        before = segments(row.outstanding as f64);
    }
    for reduction in &recording.reductions {
        place(&mut steps, reduction, payload);
    }
    steps
}

fn phase_of(row: &Row) -> Phase {
    match row.phase {
        record::Phase::Open => Phase::Open,
        record::Phase::Cwr => Phase::Cwr,
        record::Phase::Recovery => Phase::Recovery,
        record::Phase::Loss => Phase::Loss,
    }
}

/// Attaches a reduction to the ACK with which it begins, or after which its timeout comes, and to the ACK that ends it.
fn place(steps: &mut [Step], reduction: &Reduction, payload: f64) {
    let first = steps.partition_point(|step| step.at <= reduction.at);
    let Some(index) = first.checked_sub(1) else { return };
    if reduction.phase == record::Phase::Loss {
        if let Some(step) = steps.get_mut(first) {
            step.timeouts += 1;
        }
    } else {
        steps[index].begins = Some(reduction.before as f64 / payload);
    }
    if reduction.until > reduction.at {
        let end = steps.partition_point(|step| step.at < reduction.until);
        if let Some(step) = steps.get_mut(end) {
            step.ends = true;
        }
    }
}

/// Whether a window explains what is in flight.
fn within(flight: Segments, window: Segments) -> bool {
    (flight - window).abs() <= 1.0_f64.max(WITHIN * flight)
}

/// A controller that follows a recording.
struct Shadow {
    controller: AnyController,
    /// After a reduction the window becomes what is in flight if it differs from it by more than this. A sender may end its
    /// recovery a segment below its window: both 0 and 1 are tried.
    restart: Segments,
    needs: Signals,
    initial: Segments,
    opened: bool,
    phase: Phase,
    min_rtt: Option<Span>,
    srtt: Option<Span>,
    /// A reduction has ended: what was in flight before it, and the window that the controller made of it.
    reduced: Option<(Segments, Segments)>,
    largest: Segments,
    /// Reductions that were compared, and the sums of their factors: those of the controller, and of the recording.
    reductions: u32,
    factors: f64,
    observed: f64,
    likelihood: f64,
    windows: Vec<(u64, f64, f64)>,
}

impl Shadow {
    fn new(flow: Follower, restart: Segments) -> Shadow {
        Shadow {
            controller: flow.controller,
            restart,
            initial: flow.initial,
            needs: flow.needs,
            opened: false,
            phase: Phase::Open,
            min_rtt: None,
            srtt: None,
            reduced: None,
            largest: 1.0,
            reductions: 0,
            factors: 0.0,
            observed: 0.0,
            likelihood: 0.0,
            windows: Vec::new(),
        }
    }

    fn step(&mut self, step: &Step) {
        let now = Time::from_ns(step.at);
        self.largest = self.largest.max(step.flight[2]);
        if let Some(rtt) = step.rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
            self.srtt = Some(self.srtt.map_or(rtt, |srtt| Span::from_ps((srtt.ps() * 7 + rtt.ps()) / 8)));
        }
        if !self.opened {
            self.opened = true;
            self.controller.on_open(now);
            self.controller.set_window(self.initial);
            self.controller.on_handshake(&Handshake { now, rtt: step.rtt });
            if step.acked == 0 && step.newly_acked == 0 {
                return; // the ACK of the SYN, whose round trip has no data
            }
        }
        for _ in 0..step.timeouts {
            let window = self.controller.cwnd();
            self.controller.on_rto(&Timeout { now, window, repeated: self.phase == Phase::Loss });
            self.phase = Phase::Loss;
            self.reduced = None;
        }
        if step.ends && self.phase != Phase::Open {
            self.phase = Phase::Open;
            self.controller.on_recovery_exit(now);
        }
        if let Some(before) = step.begins {
            self.reduce(now, before, step);
        }
        let ack = self.ack(now, step);
        if self.needs.has(Signals::SAMPLES) {
            self.controller.on_sample(&Sample::of(&ack));
        }
        self.controller.on_ack(&ack);
        if self.phase == Phase::Open && step.answered {
            self.compare(step);
        }
    }

    /// The sender begins a reduction: the controller makes of its window what it does.
    fn reduce(&mut self, now: Time, before: Segments, step: &Step) {
        // What the controller remembers of the window is that of the sender.
        if !within(before, self.controller.cwnd()) {
            self.controller.set_window(before);
        }
        let window = self.controller.cwnd();
        let event = Congestion {
            now,
            cause: if step.phase == Phase::Cwr { Cause::Ecn } else { Cause::FastRetransmit },
            window,
            in_flight: before,
            segment_sent: None,
            retransmitted: false,
            dupacks: 3,
        };
        self.controller.on_congestion(&event);
        self.reduced = Some((before, before * self.controller.cwnd() / window.max(1.0)));
        self.phase = if step.phase == Phase::Cwr { Phase::Cwr } else { Phase::Recovery };
    }

    fn ack(&self, now: Time, step: &Step) -> Ack {
        let [before, flight, _] = step.flight;
        let rate = step.rtt.filter(|_| step.sample > 0.0).map(|rtt| {
            let delivered = (step.sample.round() as u64).max(1);
            RateSample {
                delivered,
                interval: rtt,
                send_interval: rtt,
                ack_interval: rtt,
                prior_delivered: step.delivered.saturating_sub(delivered),
                tx_in_flight: before as u32,
                ..RateSample::default()
            }
        });
        let slow_start = self.controller.cwnd() < self.controller.ssthresh();
        let limited = step.answered
            || before + 1.0 >= self.controller.cwnd().floor()
            || slow_start && self.controller.cwnd() < 2.0 * self.largest;
        Ack {
            now,
            newly_acked: step.newly_acked,
            newly_delivered: step.newly_delivered,
            newly_lost: 0,
            delivered_total: step.delivered,
            lost_total: step.lost,
            dupacks: u32::from(step.newly_acked == 0),
            acked_through: step.acked.wrapping_sub(1),
            next: step.next,
            in_flight: flight,
            prior_in_flight: before,
            rtt: step.rtt,
            receiver_time: None,
            ece: step.marks > 0,
            ce: step.marks,
            rate: rate.filter(|_| self.needs.has(Signals::RATE)),
            sender: SenderState { srtt: self.srtt, min_rtt: self.min_rtt, ..SenderState::default() },
            phase: self.phase,
            may_grow: step.newly_acked > 0 && matches!(self.phase, Phase::Open | Phase::Loss),
            paced: false,
            pacing_wait: Span::ZERO,
            window_limited: limited,
        }
    }

    /// Scores an ACK that the sender answered.
    fn compare(&mut self, step: &Step) {
        let flight = step.flight[2];
        if let Some((before, predicted)) = self.reduced.take() {
            let (shown, made) = (flight / before, predicted / before);
            self.reductions += 1;
            self.observed += shown;
            self.factors += made;
            let z = (shown - made) / FACTOR_DEVIATION;
            // A factor far off counts as an outlier of the same probability as a window.
            self.likelihood += libm::log((1.0 - OUTLIERS) * libm::exp(-0.5 * z * z) + OUTLIERS);
            if (flight - self.controller.cwnd().floor()).abs() > self.restart {
                self.controller.set_window(flight);
                if self.controller.ssthresh() > flight {
                    self.controller.set_ssthresh(flight);
                }
            }
            return;
        }
        let window = self.controller.cwnd().floor();
        let off = (flight - window).abs();
        let inside = (1.0 - OUTLIERS) * libm::exp(-off / SCALE) / (2.0 * SCALE);
        self.likelihood += libm::log(inside + OUTLIERS / self.largest);
        self.windows.push((step.at, flight, window));
    }

    fn into_explained(self, control: &str) -> Explained {
        let explained = self.windows.iter().filter(|(_, flight, window)| within(*flight, *window));
        Explained {
            control: control.to_owned(),
            scored: self.windows.len() as u32,
            within: explained.count() as u32,
            likelihood: self.likelihood,
            factor: self.factors / f64::from(self.reductions),
            windows: self.windows,
        }
    }
}
