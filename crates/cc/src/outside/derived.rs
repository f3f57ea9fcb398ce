//! Fields of events outside Rust that follow from a field which exists in Rust only.
//!
//! Each method is a field of its name, in the order of this file. `outside/tables.rs` is made from them.

#[cfg(doc)]
use crate::Signals;
use crate::{Ack, FlowInfo, Growth, PathHint};
use units::Span;

impl FlowInfo {
    /// The profile grows windows by the segments acknowledged and keeps them whole (linux); otherwise by ACKs (ns2).
    pub fn counts_segments(&self) -> bool {
        self.arithmetic.growth == Growth::Counted
    }
    /// Reductions truncate the window.
    pub fn integer_windows(&self) -> bool {
        self.arithmetic.integer_windows
    }
    /// A repeated timeout of one segment reduces the threshold again (ns2).
    pub fn reduce_on_every_timeout(&self) -> bool {
        self.arithmetic.reduce_on_every_timeout
    }
    /// Where a controller has a variant of Linux and one of an RFC, the one that follows the profile is that of the RFC (QUIC).
    pub fn rfc_variants(&self) -> bool {
        self.arithmetic.rfc_variants
    }
}

impl Ack {
    /// The delivery-rate sample (only with [`Signals::RATE`]): segments delivered in its interval.
    pub fn delivered(&self) -> Option<u64> {
        self.rate.map(|rate| rate.delivered)
    }
    /// The longer of its sending and its acknowledging interval; none if it is shorter than the smallest round-trip
    /// time.
    pub fn interval(&self) -> Option<Span> {
        self.rate.map(|rate| rate.interval).filter(|interval| *interval > Span::ZERO)
    }
    /// The application had too little data at some time in the interval.
    pub fn app_limited(&self) -> bool {
        self.rate.is_some_and(|rate| rate.app_limited)
    }
    /// Segments delivered in total when the segment of the sample was sent.
    pub fn prior_delivered(&self) -> Option<u64> {
        self.rate.map(|rate| rate.prior_delivered)
    }
    /// Segments in flight when that segment was sent, with it.
    pub fn tx_in_flight(&self) -> Option<u32> {
        self.rate.map(|rate| rate.tx_in_flight)
    }
    /// Segments marked as lost since that segment was sent.
    pub fn lost(&self) -> Option<u64> {
        self.rate.map(|rate| rate.lost)
    }
    /// The time in which the segments of the sample were sent.
    pub fn send_interval(&self) -> Option<Span> {
        self.rate.map(|rate| rate.send_interval)
    }
    /// The time in which they were acknowledged.
    pub fn ack_interval(&self) -> Option<Span> {
        self.rate.map(|rate| rate.ack_interval)
    }
    /// The segment of the sample was sent more than once.
    pub fn retransmission(&self) -> bool {
        self.rate.is_some_and(|rate| rate.retransmission)
    }
    /// Smoothed round-trip time of the retransmission timer (recovery `rack`, QUIC).
    pub fn srtt(&self) -> Option<Span> {
        self.sender.srtt
    }
    /// Smallest round-trip time, with recovery `rack` of the last 300 s, over QUIC of the connection.
    pub fn min_rtt(&self) -> Option<Span> {
        self.sender.min_rtt
    }
    /// Segments outstanding that were reported by SACK, or counted by duplicate ACKs (recovery `rack`).
    pub fn sacked(&self) -> u32 {
        self.sender.sacked
    }
    /// Segments outstanding that are marked as lost (recovery `rack`).
    pub fn lost_out(&self) -> u32 {
        self.sender.lost_out
    }
    /// Retransmissions in flight (recovery `rack`).
    pub fn retransmitted_out(&self) -> u32 {
        self.sender.retransmitted_out
    }
    /// Segments delivered with an ECN mark since the start (recovery `rack`: segments that ACKs with an echo delivered;
    /// QUIC: the receiver's count).
    pub fn ce_total(&self) -> u64 {
        self.sender.ce_total
    }
    /// Segments are reported or repeated, without a reduction: the state Disorder of Linux (recovery `rack`).
    pub fn disorder(&self) -> bool {
        self.sender.disorder
    }
    // Since version 1.1 of the interface; a later field follows it.
    /// Marked packets that the ACK reports: with accurate feedback the new CE packets of the receiver's counter (RFC 9768);
    /// otherwise the segments that an ACK with an echo newly delivers; over QUIC the new marks of the frame's count, at most
    /// `newly_delivered`.
    pub fn ce(&self) -> u32 {
        self.ce
    }
}

impl PathHint {
    /// Of `router_rate` the rate in bits per second, of `router_feedback` the change in bytes per second.
    pub fn value(&self) -> Option<f64> {
        self.kind.amount()
    }
}
