//! The counters of a sender.

use units::Span;

/// The counters of the sending end of a connection. Packets are those of the application data space that elicit an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ControllerStats {
    /// Packets sent.
    pub sent_packets: u64,
    /// Packets acknowledged.
    pub acked_packets: u64,
    /// Packets declared lost.
    pub lost_packets: u64,
    /// ACK frames that acknowledged something new.
    pub ack_frames: u64,
    /// The most packets that one of them acknowledged.
    pub most_acked: u64,
    /// Reductions of the window that were passed to the controller.
    pub cwnd_reductions: u64,
    /// Calls of the stack that reported losses; several can belong to one reduction.
    pub loss_events: u64,
    /// CE marks that ACK frames reported.
    pub ce_marks: u64,
    /// Probe timeouts (RFC 9002 section 6.2). After the handshake they are known by the IMMEDIATE_ACK frame that the stack
    /// puts into probes if the other end supports the ACK frequency extension, as this crate does.
    pub probe_timeouts: u64,
    /// Times of persistent congestion (RFC 9002 section 7.6).
    pub persistent_congestion: u64,
    /// ACKs of the stack for which no ACK frame was found. Always zero, unless the reader has an error.
    pub unmatched_acks: u64,
    /// Losses of the stack that match no packets sent: those of the handshake.
    pub unmatched_losses: u64,
    /// Sum of the round-trip samples, seconds.
    pub rtt_sum: f64,
    /// Number of round-trip samples.
    pub rtt_count: u64,
    /// Smallest round-trip sample; not valid if there was none.
    pub rtt_min: Span,
}
