//! The structs of the events of a flow, made from the table [`crate::event_structs`], and the types of their fields.

use crate::Arithmetic;
use units::{Rate, Segments, Span, Time};

/// Defines the structs. `FlowInfo` is one of them.
macro_rules! define_structs {
    ($($(#[doc = $about:literal])+ $struct:ident {
        $($(#[doc = $doc:literal])+ $field:ident: $type:ty => $name:ident $($exact:ident)?,)+
    } {
        $($(#[doc = $inner_doc:literal])+ $inner:ident: $inner_type:ty,)*
    } { $($derived:tt)* })+) => {$(
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug)]
        pub struct $struct {
            $($(#[doc = $doc])+ pub $field: $type,)+
            $($(#[doc = $inner_doc])+ pub $inner: $inner_type,)*
        }
    )+};
}
event_structs!(define_structs);

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
            delivered: ack.delivered,
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
    /// The controller processes [`Ack::ece`] itself. The transport sets CWR once per window of data.
    CwrOnly,
    /// The controller processes [`Ack::ece`] itself. The transport never sets CWR, so the receiver does not stop the
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
