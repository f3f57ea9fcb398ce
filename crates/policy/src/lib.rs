//! A trained policy: once an interval it observes what the sender measured, and a network chooses how the window or the rate
//! changes. The policy is a file ([`PolicyFile`]); without `file` it is the one that ships, `trained.policy`, whose record says
//! how it was trained. An environment ([`Policy::open`]) chooses the actions itself; both observe and act with the same code.
//!
//! The interval ends by the controller's timer. Between decisions nothing changes: a loss or an echo is only counted. An interval without an ACK has no
//! decision, and one that loses more than half of its segments halves the window or rate at least. After a
//! retransmission timeout the window is two segments until the next ACK. A policy that sets a rate has a window of 2.5 times
//! rate and round-trip time, so that a path that fails stops the sender. The first window is that of the transport, the first
//! rate this window in a round-trip time.
//!
//! With `controller` in `[action]`, that one decides between the actions (Orca): an action changes its window, or sets one of
//! its parameters. A policy can also observe a controller ([`Policy::observing`]): then that one alone decides, and its
//! decisions are recorded as actions. docs/gym.md. Status: draft.

#![forbid(unsafe_code)]

mod action;
mod feature;
mod file;
mod interval;
mod keys;
mod network;

pub use action::{ActionKind, tunable_parameters};
pub use feature::Feature;
pub use file::{PolicyFile, action_kinds};
use interval::Interval;
pub use interval::Measured;

use cc::parameters::{FileContent, Form, key};
use cc::{
    Ack, Algorithm, AnyController, BoxedController, Congestion, Controller, Delivered, Descriptor,
    EcnResponse, Family, FlowInfo, Growth, Handshake, Lost, ParamError, Params, PathHint, Phase,
    Registration, Restart, Sample, Sent, Signals, Status, Timeout, TransmitStart, pacing_rate,
};
use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};
use units::{Rate, Segments, Span, Time};

/// Window after a timeout, until the next ACK, and the smallest one of a paced flow, segments.
const LEAST: [f64; 2] = [2.0, 4.0];
/// Window of a paced flow over rate and round-trip time.
const ROOM: f64 = 2.5;

/// Part of lost segments in an interval above which the window or rate is halved at least, whatever the action: a network
/// was seldom trained on an overload, in which a wrong action does not end.
const MOST_LOSS: f64 = 0.5;

/// The policy that ships.
pub fn trained() -> Arc<PolicyFile> {
    static TRAINED: OnceLock<Arc<PolicyFile>> = OnceLock::new();
    let read = || {
        PolicyFile::read(include_str!("trained.policy"))
            .unwrap_or_else(|error| panic!("trained.policy: {error}"))
    };
    TRAINED.get_or_init(|| Arc::new(read())).clone()
}

/// The controller `policy`.
pub const REGISTRATION: Registration<AnyController> = Registration::of::<Policy>();

/// The policy of a controller with `params`.
fn file_of(params: &Params) -> Arc<PolicyFile> {
    params.file().unwrap_or_else(trained)
}

/// A window is a whole number of segments, at least one.
fn whole(window: Segments) -> Segments {
    window.floor().max(1.0)
}

/// The window or rate, and the measurements since the last decision.
#[derive(Clone, Debug)]
pub struct Policy {
    file: Arc<PolicyFile>,
    cwnd: Segments,
    max_window: Segments,
    segment_bits: f64,
    /// The window that was chosen, with its fraction.
    chosen: Segments,
    /// The same without: the window after the next ACK, different from `cwnd` after a timeout.
    target: Segments,
    /// Segments a second; 0 before the first round-trip sample.
    rate: f64,
    /// A first rate that replaces the usual one, segments a second.
    first: Option<f64>,
    interval: Interval,
    /// The last intervals, at most the history of the file.
    intervals: VecDeque<Measured>,
    /// The state of the recurrent layers of the file's network.
    state: Vec<f32>,
    /// The last interval, or what the first one follows.
    last: Measured,
    in_flight: Segments,
    /// The count of lost segments at the last ACK; `None` before the first.
    lost_total: Option<u64>,
    due: Time,
    /// Whether the interval that ends at `due` was measured, and the action that an environment has chosen.
    observed: bool,
    pending: Option<f64>,
    action: f64,
    /// The flow, for the controller between the actions; `None` for a policy that observes.
    flow: Option<FlowInfo>,
    /// The recovery phase at the last ACK.
    phase: Phase,
    /// The controller that decides between the actions, or instead of a policy that observes. All events and answers pass to it.
    inner: Option<Box<AnyController>>,
    /// Window or rate of an observed controller at the last decision.
    before: f64,
}

impl Algorithm for Policy {
    const DESCRIPTOR: Descriptor = Descriptor {
        name: "policy",
        summary: "a trained network chooses the window or the rate once an interval",
        source: "Jay et al. (Aurora), ICML 2019; docs/gym.md",
        family: Family::Learning,
        status: Status::Draft,
        params: &[key(
            "file",
            Form::File,
            "the policy that ships",
            "the policy file (`ackclock policy`); without it the policy that ships",
        )],
        probes: &["rate", "action", "rtt", "loss"],
    };
    fn check(params: &Params) -> Result<(), ParamError> {
        if file_of(params).is_open() {
            let reason = "the file has no [[layer]]; only an environment can use it";
            return Err(ParamError { name: "file".into(), reason: Some(reason.into()) });
        }
        Ok(())
    }
    fn read_file(text: &str) -> Result<FileContent, String> {
        PolicyFile::read(text).map(|file| FileContent::new(text, file))
    }
    fn new(params: &Params, flow: &FlowInfo) -> Policy {
        let mut policy =
            Policy::with_file(file_of(params), [flow.initial_window, flow.max_window], flow.packet);
        policy.flow = Some(*flow);
        policy.start_inner();
        policy
    }
}

impl From<Policy> for AnyController {
    fn from(policy: Policy) -> AnyController {
        BoxedController::new(Policy::DESCRIPTOR.name, policy).into()
    }
}

impl Policy {
    /// `segment`: its payload, bytes.
    fn with_file(file: Arc<PolicyFile>, [cwnd, max_window]: [Segments; 2], segment: u32) -> Policy {
        Policy {
            state: file.network.initial_state(),
            file,
            cwnd: whole(cwnd),
            max_window,
            segment_bits: segment as f64 * 8.0,
            chosen: cwnd,
            target: whole(cwnd),
            rate: 0.0,
            first: None,
            interval: Interval::default(),
            intervals: VecDeque::new(),
            last: Measured::default(),
            in_flight: 0.0,
            lost_total: None,
            due: Time::NEVER,
            observed: false,
            pending: None,
            action: 0.0,
            flow: None,
            phase: Phase::Open,
            inner: None,
            before: 0.0,
        }
    }

    /// The actions come from [`Policy::act`] from now on; observations are those of `file`. Before the first packet.
    /// `first`: the first rate, segments a second.
    pub fn open(&mut self, file: Arc<PolicyFile>, first: Option<f64>) {
        (self.state, self.file, self.first) = (file.network.initial_state(), file, first);
        self.start_inner();
    }

    /// The controller between the actions, as a new flow has it.
    fn start_inner(&mut self) {
        let named = self.file.action.controller.zip(self.flow);
        self.inner = named.map(|(name, flow)| {
            let controller = AnyController::with_defaults(name, &flow);
            Box::new(controller.unwrap_or_else(|| unreachable!("the file names a registered controller")))
        });
    }

    /// Whether another controller alone decides.
    fn observes(&self) -> bool {
        self.flow.is_none()
    }

    /// Measures the intervals of a flow whose controller is `observed`; `segment` is the payload of a segment, bytes.
    pub fn observing(file: Arc<PolicyFile>, observed: AnyController, segment: u32) -> Policy {
        let mut policy = Policy::with_file(file, [observed.cwnd(), f64::INFINITY], segment);
        policy.inner = Some(Box::new(observed));
        policy
    }

    /// When the interval ends; `Time::NEVER` before the first round-trip sample.
    pub fn due(&self) -> Time {
        self.due
    }

    /// The interval ends at `at` instead, which is later. The timer follows at the next event.
    pub fn postpone(&mut self, at: Time) {
        self.due = self.due.max(at);
    }

    /// Ends the interval and returns the observation.
    pub fn observe(&mut self, now: Time) -> Vec<f32> {
        let mut measured = self.interval.measure(now, &self.last);
        measured.rate = if self.file.action.kind.paces() { self.rate } else { 0.0 };
        if let Some(inner) = &self.inner {
            self.cwnd = inner.cwnd();
            measured.rate = inner.pacing().map_or(0.0, |rate| rate.bps() as f64 / self.segment_bits);
        }
        if self.observes() {
            let rtt = if measured.rtt > 0.0 { measured.rtt } else { measured.min_rtt };
            self.rate = if measured.rate > 0.0 { measured.rate } else { self.cwnd / rtt.max(1e-6) };
            let value = if self.file.action.kind.paces() { self.rate } else { self.cwnd };
            let before = std::mem::replace(&mut self.before, value);
            self.action = if before > 0.0 { self.file.action.between(before, value) } else { 0.0 };
        }
        (measured.in_flight, measured.cwnd, measured.action) = (self.in_flight, self.cwnd, self.action);
        self.last = measured;
        if self.intervals.len() == self.file.history {
            self.intervals.pop_front();
        }
        self.intervals.push_back(measured);
        self.observed = true;
        self.interval.restart(now);
        self.file.observe(&self.intervals)
    }

    /// The observation of a flow without an interval, such as one that has not begun.
    pub fn observe_nothing(file: &PolicyFile) -> Vec<f32> {
        file.observe(&VecDeque::new())
    }

    /// The last interval that was observed.
    pub fn measured(&self) -> &Measured {
        &self.last
    }

    /// The action at the end of the interval that was observed.
    pub fn act(&mut self, action: f64) {
        self.pending = Some(action);
    }

    /// The first round-trip sample: the first interval begins.
    fn begin(&mut self, now: Time, rtt: Span) {
        if self.due != Time::NEVER {
            return;
        }
        (self.last.min_rtt, self.last.rtt) = (rtt.seconds(), 0.0);
        if self.inner.is_none() {
            let usual = if self.file.action.kind.paces() { self.cwnd / rtt.seconds() } else { self.cwnd };
            self.set(self.first.unwrap_or(usual));
        }
        self.interval.restart(now);
        self.schedule(now);
    }

    fn schedule(&mut self, now: Time) {
        let length = self.file.seconds(&self.last);
        self.due = length.map_or(Time::NEVER, |seconds| now + Span::from_seconds(seconds));
        self.observed = false;
    }

    /// Sets the rate, the window or the parameter that an action has chosen.
    fn set(&mut self, value: f64) {
        if let Some(inner) = &mut self.inner {
            if let Some(name) = self.file.action.parameter {
                return inner.tune(name, value);
            }
            let counts = self.flow.is_some_and(|flow| flow.arithmetic.growth == Growth::Counted);
            self.chosen = value.min(self.max_window);
            self.target = if counts { whole(self.chosen) } else { self.chosen.max(1.0) };
            if self.target != inner.cwnd() {
                inner.set_window(self.target);
            }
            return;
        }
        let window = if self.file.action.kind.paces() {
            self.rate = value;
            let rtt = if self.last.rtt > 0.0 { self.last.rtt } else { self.last.min_rtt };
            (ROOM * value * rtt).max(LEAST[1])
        } else {
            value
        };
        self.chosen = window.min(self.max_window);
        self.target = whole(self.chosen);
        self.cwnd = self.target;
    }

    /// Passes an event to the inner controller, if there is one.
    #[inline]
    fn forward(&mut self, event: impl FnOnce(&mut AnyController)) {
        if let Some(inner) = &mut self.inner {
            event(inner);
        }
    }

    /// The window or the rate that an action changes. The fraction of a window that was set counts until another controller
    /// changes it.
    fn current_value(&self) -> f64 {
        match &self.inner {
            _ if self.file.action.kind.paces() => self.rate,
            Some(inner) if inner.cwnd() != self.target => inner.cwnd(),
            _ => self.chosen,
        }
    }

    /// Whether an action has an effect: there was an ACK, and the sender does not set the window itself to repair losses.
    fn may_act(&self) -> bool {
        let repairs = matches!(self.phase, Phase::Cwr | Phase::Recovery);
        let of_sender = self.inner.as_ref().is_some_and(|inner| !inner.owns_window());
        self.last.acks > 0.0 && !(repairs && of_sender && self.file.action.parameter.is_none())
    }
}

impl Controller for Policy {
    fn needs(&self) -> Signals {
        let measures = Signals::TIMER.and(Signals::SEGMENT_COUNTS).and(Signals::SENT);
        measures.and(self.inner.as_ref().map_or(Signals::PACING, |inner| inner.needs()))
    }
    fn initial_window(&self) -> Option<Segments> {
        self.inner.as_ref().and_then(|inner| inner.initial_window())
    }
    fn on_open(&mut self, now: Time) {
        self.forward(|inner| inner.on_open(now));
    }
    fn on_handshake(&mut self, event: &Handshake) {
        self.forward(|inner| inner.on_handshake(event));
        if let Some(rtt) = event.rtt {
            self.begin(event.now, rtt);
        }
    }
    fn on_sample(&mut self, sample: &Sample) {
        self.forward(|inner| inner.on_sample(sample));
    }
    fn on_ack(&mut self, ack: &Ack) {
        self.cwnd = self.target;
        self.in_flight = ack.in_flight;
        let interval = &mut self.interval;
        interval.acks += 1;
        interval.marked += u64::from(ack.ece);
        interval.limited += u64::from(ack.window_limited);
        interval.delivered += u64::from(ack.newly_delivered);
        // A policy that takes over in a run does not count what was lost before it.
        let takes_over = ack.delivered_total > u64::from(ack.newly_delivered);
        let first = if takes_over { ack.lost_total.saturating_sub(u64::from(ack.newly_lost)) } else { 0 };
        let before = self.lost_total.unwrap_or(first);
        interval.lost += ack.lost_total - before;
        self.lost_total = Some(ack.lost_total);
        self.phase = ack.phase;
        self.forward(|inner| inner.on_ack(ack));
        if let Some(rtt) = ack.rtt {
            self.interval.sample(rtt);
            self.begin(ack.now, rtt);
        }
    }
    fn on_lost(&mut self, lost: &Lost) {
        self.forward(|inner| inner.on_lost(lost));
    }
    fn on_delivered(&mut self, delivered: &Delivered) {
        self.forward(|inner| inner.on_delivered(delivered));
    }
    fn on_sent(&mut self, sent: &Sent) {
        self.interval.sent += 1;
        self.forward(|inner| inner.on_sent(sent));
    }
    fn on_congestion(&mut self, event: &Congestion) {
        self.forward(|inner| inner.on_congestion(event));
    }
    fn ecn_response(&self) -> EcnResponse {
        self.inner.as_ref().map_or(EcnResponse::CwrOnly, |inner| inner.ecn_response())
    }
    fn on_rto(&mut self, event: &Timeout) {
        self.cwnd = LEAST[0].min(self.target);
        self.forward(|inner| inner.on_rto(event));
    }
    fn on_recovery_exit(&mut self, now: Time) {
        self.forward(|inner| inner.on_recovery_exit(now));
    }
    fn on_undo(&mut self, now: Time) {
        self.forward(|inner| inner.on_undo(now));
    }
    fn on_restart(&mut self, event: &Restart) {
        self.forward(|inner| inner.on_restart(event));
    }
    fn on_transmit_start(&mut self, event: &TransmitStart) {
        self.forward(|inner| inner.on_transmit_start(event));
    }
    fn on_hint(&mut self, hint: &PathHint) {
        self.forward(|inner| inner.on_hint(hint));
    }
    fn on_timer(&mut self, now: Time) {
        self.forward(|inner| {
            if now >= inner.wake_at() {
                inner.on_timer(now);
            }
        });
        if now < self.due {
            return;
        }
        let action = if self.file.is_open() {
            if !self.observed {
                self.observe(now);
            }
            self.pending.take().filter(|_| !self.observes())
        } else {
            let inputs = self.observe(now);
            self.file.action.chosen(&self.file.network.evaluate(&inputs, &mut self.state))
        };
        if let Some(action) = action.filter(|_| self.may_act()) {
            self.action = action;
            let value = self.current_value();
            let next = self.file.action.apply(value, action);
            let overload = self.last.loss() > MOST_LOSS && self.inner.is_none();
            self.set(if overload { next.min(0.5 * value) } else { next });
        }
        self.schedule(now);
    }
    fn set_window(&mut self, cwnd: Segments) {
        self.cwnd = whole(cwnd.min(self.max_window));
        if self.due == Time::NEVER {
            // A policy that takes over begins with the window of its predecessor.
            (self.chosen, self.target) = (self.cwnd, self.cwnd);
        }
        self.forward(|inner| inner.set_window(cwnd));
    }
    fn set_ssthresh(&mut self, ssthresh: Segments) {
        self.forward(|inner| inner.set_ssthresh(ssthresh));
    }
    fn reduce_now(&self) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.reduce_now())
    }
    fn owns_window(&self) -> bool {
        self.inner.as_ref().is_none_or(|inner| inner.owns_window())
    }
    fn cwnd(&self) -> Segments {
        self.inner.as_ref().map_or(self.cwnd, |inner| inner.cwnd())
    }
    fn ssthresh(&self) -> Segments {
        self.inner.as_ref().map_or(f64::INFINITY, |inner| inner.ssthresh())
    }
    fn pacing(&self) -> Option<Rate> {
        match &self.inner {
            Some(inner) => inner.pacing(),
            None if self.file.action.kind.paces() => pacing_rate(self.rate * self.segment_bits),
            None => None,
        }
    }
    fn send_quantum(&self) -> u32 {
        self.inner.as_ref().map_or(1, |inner| inner.send_quantum())
    }
    fn wake_at(&self) -> Time {
        self.inner.as_ref().map_or(self.due, |inner| self.due.min(inner.wake_at()))
    }
    fn limits_application(&self) -> bool {
        self.inner.as_ref().is_some_and(|inner| inner.limits_application())
    }
    fn fine_timeout(&self) -> Option<Span> {
        self.inner.as_ref().and_then(|inner| inner.fine_timeout())
    }
    fn probe(&self, out: &mut [f64]) {
        if let Some(inner) = self.inner.as_ref().filter(|_| self.observes()) {
            return inner.probe(out);
        }
        out[0] = match self.last.rate {
            _ if self.file.action.kind.paces() => self.rate,
            rate if rate > 0.0 => rate,
            _ => f64::NAN,
        };
        (out[1], out[2]) = (self.action, self.last.rtt);
        out[3] = f64::from(self.last.feature(Feature::Loss));
    }
}

#[cfg(test)]
mod tests;
