//! The events of a flow: one struct for each event that a controller receives.

use units::{Rate, Segments, Span, Time};

/// The recovery phase of the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// No loss is under repair.
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
    /// Number of segments that the cumulative ACK newly acknowledges; zero for a duplicate ACK.
    pub newly_acked: u32,
    /// Number of duplicate ACKs in a row: with this one, or before this one if it acknowledges new data.
    pub dupacks: u32,
    /// Number of the highest segment acknowledged.
    pub acked_through: u64,
    /// Number of the next segment to send.
    pub next: u64,
    /// Segments in flight after this ACK, before the sender transmits in response.
    pub in_flight: Segments,
    /// Round-trip sample from the newest segment acknowledged, without ambiguity from retransmissions (Karn's
    /// algorithm); `None` if this ACK gives no sample.
    pub rtt: Option<Span>,
    /// The receiver's timestamp of this ACK (only with [`Signals::RECEIVER_TIME`]).
    pub receiver_time: Option<Time>,
    /// The ACK carries an ECN echo (RFC 3168).
    pub ece: bool,
    /// Delivery rate (only with [`Signals::RATE`]).
    pub rate: Option<RateSample>,
    /// The recovery phase before or after this ACK; `Recovery` if the window must not grow.
    pub phase: Phase,
    /// Whether the window limited what the sender had in flight.
    pub window_limited: bool,
}

/// A measurement of the delivery rate over about one round trip.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Segments delivered in the interval.
    pub delivered: u64,
    /// The longer of the sending and the acknowledging interval.
    pub interval: Span,
    /// The application had too little data at some time in the interval.
    pub app_limited: bool,
}

/// Why the window must shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Loss detected by duplicate ACKs or SACK.
    FastRetransmit,
    /// An ECN echo.
    Ecn,
}

/// The response to an ECN echo: whether the transport reduces the window, and whether it sets CWR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnResponse {
    /// The transport reduces the window as for a loss, once per window of data, and sets CWR (RFC 3168).
    Reduce,
    /// The controller processes [`Ack::ece`] itself. The transport sets CWR once per window of data.
    CwrOnly,
    /// The controller processes [`Ack::ece`] itself. The transport never sets CWR, so the receiver does not stop the
    /// echo.
    NoCwr,
}

/// A congestion event: at most one per window of data and cause.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// When.
    pub now: Time,
    /// Why.
    pub cause: Cause,
    /// The window to be reduced, segments; the profile defines how it is counted.
    pub window: Segments,
    /// Segments outstanding.
    pub in_flight: Segments,
    /// When the lost segment was last sent.
    pub segment_sent: Option<Time>,
    /// Whether the lost segment had been retransmitted before.
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
    /// The same segment timed out before, and nothing was acknowledged since.
    pub repeated: bool,
}

/// The first transmission after an idle period.
#[derive(Clone, Copy, Debug)]
pub struct Restart {
    /// When.
    pub now: Time,
    /// Time since the last transmission.
    pub idle: Span,
    /// The window that the transport profile sets, segments.
    pub window: Segments,
}

/// Information from lower layers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathHint {
    /// A hand-off begins.
    HandoffBegins,
    /// A hand-off has ended.
    HandoffEnds,
    /// The sending rate that the routers of the path grant.
    RouterRate(Rate),
    /// The change of the sending rate that the routers of the path permit, bytes per second.
    RouterFeedback(f64),
}
