//! The structs of the events of a flow, and the types of their fields.
//!
//! Controllers outside Rust have the same fields, a time in seconds (`now_s`) and in picoseconds (`now_ps`), a rate in bits per
//! second (`_bps`). `outside/tables.rs` is made from these structs.

#[cfg(doc)]
use crate::Signals;
use units::{Rate, Segments, Span, Time};

/// The end of the handshake.
#[derive(Clone, Copy, Debug)]
pub struct Handshake {
    /// When.
    pub now: Time,
    /// Its round-trip time, none if its packets were sent again; for a controller that takes over, the smallest one of
    /// the connection.
    pub rtt: Option<Span>,
}

/// The measurements of one acknowledgement, before the sender draws conclusions from it.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// When the ACK arrived.
    pub now: Time,
    /// Segments that the cumulative ACK newly acknowledges; zero for a duplicate ACK.
    pub newly_acked: u32,
    /// Segments that it newly reports as delivered, cumulatively or by SACK.
    pub newly_delivered: u32,
    /// Its round-trip sample; none if it gives none.
    pub rtt: Option<Span>,
    /// It carries an ECN echo.
    pub ece: bool,
    /// Number of the highest segment acknowledged.
    pub acked_through: u64,
    /// Number of the next segment to send.
    pub next: u64,
    /// Segments in flight, before this ACK marks segments as lost.
    pub in_flight: Segments,
    /// The same before this ACK.
    pub prior_in_flight: Segments,
    /// Segments delivered since the newest segment that this ACK delivers was sent (only with [`Signals::RATE`]; recovery
    /// `rack`, QUIC).
    pub since_sent: Option<u64>,
    /// Segments outstanding that were reported by SACK, with those of this ACK (recovery `rack`).
    pub sacked: u32,
    /// The recovery phase before this ACK.
    pub phase: Phase,
    /// Segments were reported or repeated before this ACK, without a reduction: the state Disorder of Linux
    /// (recovery `rack`).
    pub disorder: bool,
    /// Marked packets that it reports, as [`Ack::ce`].
    pub ce: u32,
}

/// One acknowledgement.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When it arrived.
    pub now: Time,
    /// Number of segments that the cumulative ACK newly acknowledges; zero for a duplicate ACK.
    pub newly_acked: u32,
    /// Number of segments that this ACK newly reports as delivered, cumulatively or by SACK. Recoveries without a
    /// scoreboard of segments (all but `rack`) count cumulative ACKs only.
    pub newly_delivered: u32,
    /// Number of segments that the sender marked as lost while it processed this ACK (recovery `rack`, QUIC).
    pub newly_lost: u32,
    /// Number of segments delivered since the start, with this ACK (recovery `rack`, QUIC).
    pub delivered_total: u64,
    /// Number of segments marked as lost since the start; a lost retransmission counts again (recovery `rack`, QUIC).
    pub lost_total: u64,
    /// Number of duplicate ACKs in a row: with this one, or before this one if it acknowledges new data.
    pub dupacks: u32,
    /// Number of the highest segment acknowledged.
    pub acked_through: u64,
    /// Number of the next segment to send.
    pub next: u64,
    /// Segments in flight after this ACK, before the sender transmits in response: with a recovery that uses SACK
    /// the estimate of RFC 6675 ("pipe"), otherwise the segments outstanding.
    pub in_flight: Segments,
    /// The same before this ACK.
    pub prior_in_flight: Segments,
    /// Round-trip sample from the newest segment acknowledged, without ambiguity from retransmissions (Karn's
    /// algorithm); none if this ACK gives no sample.
    pub rtt: Option<Span>,
    /// The receiver's timestamp of this ACK (only with [`Signals::RECEIVER_TIME`]).
    pub receiver_time: Option<Time>,
    /// The ACK carries an ECN echo (RFC 3168), or reports marked packets (`ce`).
    pub ece: bool,
    /// Marked packets that the ACK reports: with accurate feedback the new CE packets of the receiver's counter (RFC 9768);
    /// otherwise the segments that an ACK with an echo newly delivers; over QUIC the new marks of the frame's count (RFC 9000
    /// section 19.3.2), at most `newly_delivered`.
    pub ce: u32,
    /// The recovery phase before or after this ACK; `recovery` if the window must not grow.
    pub phase: Phase,
    /// Whether the transport permits the window to grow on this ACK.
    pub may_grow: bool,
    /// Whether the transport paces the packets of this flow.
    pub paced: bool,
    /// Time until the pacer permits the next packet.
    pub pacing_wait: Span,
    /// Whether the window limited what the sender had in flight.
    pub window_limited: bool,
    /// Delivery rate (only with [`Signals::RATE`]).
    pub rate: Option<RateSample>,
    /// What the sender counts and estimates, after this ACK (recovery `rack`, QUIC).
    pub sender: SenderState,
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
    /// Segments in flight, counted as in [`Ack::in_flight`].
    pub in_flight: Segments,
    /// When the lost segment was last sent.
    pub segment_sent: Option<Time>,
    /// Whether the lost segment had been retransmitted before.
    pub retransmitted: bool,
    /// Duplicate ACKs so far.
    pub dupacks: u32,
}

/// A segment that the sender has given up.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// When.
    pub now: Time,
    /// Number of the segment.
    pub seq: u64,
    /// Segments in flight when it was last sent, with it.
    pub tx_in_flight: u32,
    /// Segments marked as lost since it was last sent, with it.
    pub lost: u64,
    /// Segments delivered since the start.
    pub delivered_total: u64,
    /// The application had too little data when it was last sent.
    pub app_limited: bool,
    /// The segment before it was not marked at the same time: it starts a run of lost segments.
    pub starts_range: bool,
}

/// A segment that an ACK newly reports as delivered, cumulatively or by SACK.
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    /// When its ACK arrived.
    pub now: Time,
    /// Number of the segment; of QUIC of the packet.
    pub seq: u64,
    /// When it was last sent.
    pub sent: Time,
    /// The time since then. If the segment was sent again, the ACK can be that of an earlier transmission.
    pub rtt: Span,
}

/// A data segment that the sender has transmitted.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When.
    pub now: Time,
    /// Number of the segment.
    pub seq: u64,
    /// Segments in flight, with it, counted as in [`Ack::in_flight`] (which leaves out tail loss probes).
    pub in_flight: u32,
    /// Whether it was sent before.
    pub retransmission: bool,
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

/// The first transmission after all data in flight was acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct TransmitStart {
    /// When.
    pub now: Time,
    /// Time since the last transmission.
    pub idle: Span,
    /// Whether the application had too little to send before it.
    pub app_limited: bool,
}

/// Information from lower layers.
#[derive(Clone, Copy, Debug)]
pub struct PathHint {
    /// When.
    pub now: Time,
    /// What.
    pub kind: Hint,
}

/// The recovery phase of the sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// No loss is under repair.
    #[default]
    Open,
    /// The sender reduces its window after an ECN echo; no loss is under repair. The window does not grow.
    Cwr,
    /// Fast recovery: the window does not grow.
    Recovery,
    /// After a retransmission timeout, until everything sent before it is acknowledged.
    Loss,
}

impl Phase {
    /// All phases.
    pub const ALL: [Phase; 4] = [Phase::Open, Phase::Cwr, Phase::Recovery, Phase::Loss];
    /// Its name in traces.
    pub const fn name(self) -> &'static str {
        match self {
            Phase::Open => "open",
            Phase::Cwr => "cwr",
            Phase::Recovery => "recovery",
            Phase::Loss => "loss",
        }
    }
}

impl Sample {
    /// The measurements of an ACK whose conclusions did not change the phase.
    pub fn of(ack: &Ack) -> Sample {
        Sample {
            now: ack.now,
            newly_acked: ack.newly_acked,
            newly_delivered: ack.newly_delivered,
            rtt: ack.rtt,
            ece: ack.ece,
            acked_through: ack.acked_through,
            next: ack.next,
            in_flight: ack.in_flight,
            prior_in_flight: ack.prior_in_flight,
            since_sent: ack.rate.map(|rate| rate.delivered),
            sacked: ack.sender.sacked,
            phase: ack.phase,
            disorder: ack.sender.disorder,
            ce: ack.ce,
        }
    }
}

impl Ack {
    /// The one-way delay of the data, seconds, with an unknown constant offset: the clocks of the ends differ. `None` without
    /// a round-trip sample or the receiver's time.
    pub fn one_way_delay(&self) -> Option<f64> {
        let [received, now, rtt] = [self.receiver_time?.ps(), self.now.ps(), self.rtt?.ps()].map(i128::from);
        Some((received - now + rtt) as f64 / 1e12)
    }
}

/// A measurement of the delivery rate over about one round trip, taken from the delivered segment that was sent last
/// (draft-ietf-ccwg-bbr section 4.1).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSample {
    /// Segments delivered in the interval.
    pub delivered: u64,
    /// The longer of the sending and the acknowledging interval; zero if it is shorter than the smallest round-trip time,
    /// so that no rate follows from this sample.
    pub interval: Span,
    /// The application had too little data at some time in the interval.
    pub app_limited: bool,
    /// Segments delivered in total when the segment was sent.
    pub prior_delivered: u64,
    /// Segments in flight when the segment was sent, with the segment.
    pub tx_in_flight: u32,
    /// Segments marked as lost since the segment was sent.
    pub lost: u64,
    /// The time in which the segments were sent.
    pub send_interval: Span,
    /// The time in which they were acknowledged.
    pub ack_interval: Span,
    /// The segment was sent more than once.
    pub retransmission: bool,
}

/// What a sender counts and estimates. Fields that a transport does not have are zero or none.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SenderState {
    /// Smoothed round-trip time of the retransmission timer.
    pub srtt: Option<Span>,
    /// Smallest round-trip time of the last 300 s.
    pub min_rtt: Option<Span>,
    /// Segments outstanding that were reported by SACK, or counted by duplicate ACKs.
    pub sacked: u32,
    /// Segments outstanding that are marked as lost.
    pub lost_out: u32,
    /// Retransmissions in flight.
    pub retransmitted_out: u32,
    /// Segments delivered with an ECN mark since the start.
    pub ce_total: u64,
    /// Segments are reported or repeated, without a reduction (Linux: Disorder).
    pub disorder: bool,
}

/// Why the window must shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Loss detected by duplicate ACKs or SACK.
    FastRetransmit,
    /// An ECN echo.
    Ecn,
    /// The controller asked for it ([`crate::Controller::reduce_now`]).
    Controller,
}

/// The response to an ECN echo: whether the transport reduces the window, and whether it sets CWR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnResponse {
    /// The transport reduces the window as for a loss, once per window of data, and sets CWR (RFC 3168).
    Reduce,
    /// Outside Rust `confirm`. The controller processes [`Ack::ece`] itself. The transport sets CWR once per window of data.
    CwrOnly,
    /// Outside Rust `ignore`. The controller processes [`Ack::ece`] itself. The transport never sets CWR, so the receiver does not stop the
    /// echo.
    NoCwr,
}

/// The kind of information from lower layers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Hint {
    /// A hand-off begins.
    HandoffBegins,
    /// A hand-off has ended.
    HandoffEnds,
    /// The sending rate that the routers of the path grant.
    RouterRate(Rate),
    /// The change of the sending rate that the routers of the path permit, bytes per second.
    RouterFeedback(f64),
}

impl Hint {
    /// The rate, bits per second, or the feedback, bytes per second; `None` for hand-offs.
    pub fn amount(self) -> Option<f64> {
        match self {
            Hint::HandoffBegins | Hint::HandoffEnds => None,
            Hint::RouterRate(rate) => Some(rate.bps() as f64),
            Hint::RouterFeedback(feedback) => Some(feedback),
        }
    }
}
