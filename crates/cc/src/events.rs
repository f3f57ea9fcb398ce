//! What happens to a flow: one struct for each event that a controller receives.

use units::{Rate, Segments, Span, Time};

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
pub enum EcnResponse {
    /// It reduces the window like a loss, once a window of data (RFC 3168); the receiver is told.
    Reduce,
    /// The controller reads [`Ack::ece`] itself; the receiver is told once a window.
    CwrOnly,
    /// The same, and the receiver, never told of any reduction, echoes for ever.
    NoCwr,
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
pub enum PathHint {
    /// A hand-off begins.
    HandoffBegins,
    /// A hand-off has ended.
    HandoffEnds,
    /// A router says at what rate to send.
    RouterRate(Rate),
    /// Routers let the rate change by so much, bytes per second.
    RouterFeedback(f64),
}
