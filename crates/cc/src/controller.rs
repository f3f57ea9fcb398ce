//! The trait, and a struct for each event.

use crate::params::{ParamError, Params};
use crate::registry::Descriptor;
use crate::window::Arithmetic;
use units::{Rate, Segments, Span, Time};

/// What a controller may want from below, as a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signals(u8);

impl Signals {
    /// Nothing but acknowledgements.
    pub const NONE: Signals = Signals(0);
    /// Delivery-rate samples.
    pub const RATE: Signals = Signals(1);
    /// The receiver's timestamps.
    pub const RECEIVER_TIME: Signals = Signals(2);
    /// A clock per segment that may cause retransmission before the third duplicate ACK (Vegas).
    pub const FINE_CLOCK: Signals = Signals(4);
    /// Paced sending: [`Controller::pacing`] is asked for.
    pub const PACING: Signals = Signals(8);
    /// A timer: [`Controller::wake_at`] is asked for.
    pub const TIMER: Signals = Signals(16);
    /// Rates granted by the routers of the path: [`Hint::RouterRate`] with every ACK that brings one.
    pub const ROUTER_RATE: Signals = Signals(32);
    /// How the routers of the path let the rate change: [`Hint::RouterFeedback`] with every ACK that brings it.
    pub const ROUTER_FEEDBACK: Signals = Signals(64);

    /// Whether every signal of `other` is among these.
    pub const fn has(self, other: Signals) -> bool {
        self.0 & other.0 == other.0
    }
    /// Both sets together.
    pub const fn and(self, other: Signals) -> Signals {
        Signals(self.0 | other.0)
    }
}

/// What is known of the flow when its controller is made.
#[derive(Clone, Copy, Debug)]
pub struct FlowInfo {
    /// Payload of a segment, bytes: rates are windows times this.
    pub packet: u32,
    /// Window before the first acknowledgement, segments.
    pub initial_window: Segments,
    /// Slow-start threshold at the start, segments; may be infinite.
    pub initial_ssthresh: Segments,
    /// The window never grows beyond this, segments; infinite for no bound.
    pub max_window: Segments,
    /// How windows are counted and rounded.
    pub arithmetic: Arithmetic,
    /// Whether the transport lets the controller's fine clock cause retransmissions; the controller then
    /// inflates its own window by the duplicate ACKs.
    pub fine_clock: bool,
    /// An ECN echo reduces the window less than a loss does (RFC 8511).
    pub abe: bool,
    /// A number of the flow's own, made from the run's seed, for a law that needs chance.
    pub seed: u64,
}

/// Where the sender stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is amiss.
    #[default]
    Open,
    /// Fast recovery: the window does not grow.
    Recovery,
    /// After a retransmission timeout, until everything sent before it is acknowledged.
    Loss,
}

impl Phase {
    /// Its name in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Open => "open",
            Phase::Recovery => "recovery",
            Phase::Loss => "loss",
        }
    }
}

/// One acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Segments newly acknowledged cumulatively; zero for a duplicate.
    pub newly_acked: u32,
    /// Duplicates in a row: including this one, or before this one if it acknowledges something new.
    pub dupacks: u32,
    /// Number of the highest segment acknowledged.
    pub acked_through: u64,
    /// Number of the segment to be sent next.
    pub next: u64,
    /// Segments outstanding after this ACK, before anything is sent in answer.
    pub in_flight: Segments,
    /// Round-trip time of the newest segment acknowledged, never from a retransmitted one.
    pub rtt: Option<Span>,
    /// The receiver's clock when it sent this ACK (only if [`Signals::RECEIVER_TIME`] was asked for).
    pub receiver_time: Option<Time>,
    /// The receiver echoes congestion (RFC 3168).
    pub ece: bool,
    /// Delivery rate (only if [`Signals::RATE`] was asked for).
    pub rate: Option<RateSample>,
    /// The phase that this ACK finds or brings: `Recovery` while the window must not grow.
    pub phase: Phase,
    /// Whether the window was what kept the sender from sending more.
    pub window_limited: bool,
}

/// A measurement of the delivery rate over about one round trip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Segments delivered in the interval.
    pub delivered: u64,
    /// The longer of the sending and the acknowledging interval.
    pub interval: Span,
    /// The sender had too little to send at some time in it.
    pub app_limited: bool,
}

/// Why the window must shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Loss told by duplicate ACKs or by SACK.
    FastRetransmit,
    /// An ECN echo.
    Ecn,
}

/// What an ECN echo does, and what the receiver is told of it (CWR).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EchoAnswer {
    /// It reduces the window like a loss, once a window of data (RFC 3168); the receiver is told.
    Reduce,
    /// The controller reads [`Ack::ece`] itself; the receiver is told once a window.
    Confirm,
    /// The same, and the receiver, never told of any reduction, echoes for ever.
    Ignore,
}

/// Congestion, told at most once per window of data and cause.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// When.
    pub now: Time,
    /// Why.
    pub cause: Cause,
    /// The window to be reduced, segments: what was in use, as the profile counts it.
    pub window: Segments,
    /// Segments outstanding.
    pub in_flight: Segments,
    /// When the lost segment was last sent.
    pub segment_sent: Option<Time>,
    /// Whether it had been retransmitted before.
    pub retransmitted: bool,
    /// Duplicate ACKs so far.
    pub dupacks: u32,
}

/// A retransmission timeout with data outstanding.
#[derive(Clone, Copy, Debug)]
pub struct Timeout {
    /// When.
    pub now: Time,
    /// The window that was in use, segments.
    pub window: Segments,
    /// The same segment timed out before and nothing was acknowledged since.
    pub repeated: bool,
}

/// The first sending after an idle time.
#[derive(Clone, Copy, Debug)]
pub struct Restart {
    /// When.
    pub now: Time,
    /// For how long nothing was sent.
    pub idle: Span,
    /// The window that the transport's profile gives, segments.
    pub window: Segments,
}

/// News from lower layers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hint {
    /// A hand-off begins.
    HandoffBegins,
    /// A hand-off has ended.
    HandoffEnds,
    /// A router says at what rate to send.
    RouterRate(Rate),
    /// Routers let the rate change by so much, bytes per second.
    RouterFeedback(f64),
}

/// A window law.
pub trait Controller {
    /// The signals that it cannot do without. A substrate that lacks one refuses the flow.
    fn needs(&self) -> Signals {
        Signals::NONE
    }
    /// The first packet is about to be sent.
    fn on_open(&mut self, _now: Time) {}
    /// Every ACK, also in recovery.
    fn on_ack(&mut self, ack: &Ack);
    /// Reduce the window, and the threshold with it.
    fn on_congestion(&mut self, event: &Congestion);
    /// What an ECN echo does.
    fn echo_answer(&self) -> EchoAnswer {
        EchoAnswer::Reduce
    }
    /// Start again from one segment.
    fn on_rto(&mut self, event: &Timeout);
    /// Fast recovery is over, or everything sent before an echo reduced the window is acknowledged.
    fn on_recovery_exit(&mut self, _now: Time) {}
    /// The last reduction was for nothing.
    fn on_undo(&mut self, _now: Time) {}
    /// The flow was idle.
    fn on_restart(&mut self, event: &Restart) {
        self.set_window(event.window);
    }
    /// The time asked for by [`Controller::wake_at`] has come.
    fn on_timer(&mut self, _now: Time) {}
    /// News from lower layers.
    fn on_hint(&mut self, _now: Time, _hint: &Hint) {}
    /// The transport moves the window: when the connection opens, when a partial ACK deflates it
    /// (RFC 6582), when recovery ends with little in flight, when Tahoe restarts.
    fn set_window(&mut self, cwnd: Segments);

    /// The congestion window, segments.
    fn cwnd(&self) -> Segments;
    /// The slow-start threshold, segments; infinite until set.
    fn ssthresh(&self) -> Segments;
    /// The rate at which to space packets; none: sent as acknowledgements clock them.
    fn pacing(&self) -> Option<Rate> {
        None
    }
    /// When to be woken by [`Controller::on_timer`].
    fn wake_at(&self) -> Time {
        Time::NEVER
    }
    /// Age at which the first unacknowledged segment counts as lost on any duplicate ACK.
    fn fine_timeout(&self) -> Option<Span> {
        None
    }
    /// Writes the internals named in [`Descriptor::probes`], in that order; NaN where there is no value yet.
    fn probe(&self, _out: &mut [f64]) {}
}

/// A controller that can be registered.
pub trait Law: Controller + Sized {
    /// Name, source, parameters, internals.
    const DESCRIPTOR: Descriptor;
    /// Refuses values that are allowed each by itself but not together.
    fn check(_params: &Params) -> Result<(), ParamError> {
        Ok(())
    }
    /// A fresh controller. `params` were made for this descriptor.
    fn new(params: &Params, flow: &FlowInfo) -> Self;
}
