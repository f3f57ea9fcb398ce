// The structs of ackclock.h, for Rust. Made by `make reference` from the tables of the crate cc.
// Licence: Apache-2.0 OR MIT. Windows are in segments, times in picoseconds.

/// The properties of a flow at the creation of its controller.
#[repr(C)]
pub struct FlowInfo {
    pub size: u64,
    /// Payload of a segment, bytes. A rate is a window times this size over the round-trip time.
    pub packet: u64,
    /// The window before the first ACK, segments.
    pub initial_window: f64,
    /// Slow-start threshold at the start, segments; may be infinite.
    pub initial_ssthresh: f64,
    /// Upper bound of the window, segments; infinite for no bound.
    pub max_window: f64,
    /// Whether the transport retransmits by the controller's fine-grained clock. The controller then inflates its own window by the duplicate ACKs.
    pub fine_clock: u64,
    /// An ECN echo reduces the window less than a loss does (RFC 8511).
    pub abe: u64,
    /// A number that is derived from the run's seed and unique to the flow, for an algorithm with random numbers.
    pub seed: u64,
    /// Links of the path to the receiver; 0 if they are not known (satellites, radio, sockets, the kernel).
    pub hops: u64,
    /// The profile grows windows by the segments acknowledged and keeps them whole (linux); otherwise by ACKs (ns2).
    pub counts_segments: u64,
    /// Reductions truncate the window.
    pub integer_windows: u64,
    /// A repeated timeout of one segment reduces the threshold again (ns2).
    pub reduce_on_every_timeout: u64,
    /// Where a controller has a variant of Linux and one of an RFC, the one that follows the profile is that of the RFC (QUIC).
    pub rfc_variants: u64,
}

/// The end of the handshake.
#[repr(C)]
pub struct Handshake {
    pub size: u64,
    /// When. Picoseconds.
    pub now_ps: i64,
    /// Its round-trip time, none if its packets were sent again; for a controller that takes over, the smallest one of the connection. Picoseconds. -1: none.
    pub rtt_ps: i64,
}

/// The measurements of one acknowledgement, before the sender draws conclusions from it.
#[repr(C)]
pub struct Sample {
    pub size: u64,
    /// When the ACK arrived. Picoseconds.
    pub now_ps: i64,
    /// Segments that the cumulative ACK newly acknowledges; zero for a duplicate ACK.
    pub newly_acked: u64,
    /// Segments that it newly reports as delivered, cumulatively or by SACK.
    pub newly_delivered: u64,
    /// Its round-trip sample; none if it gives none. Picoseconds. -1: none.
    pub rtt_ps: i64,
    /// It carries an ECN echo.
    pub ece: u64,
    /// Number of the highest segment acknowledged.
    pub acked_through: u64,
    /// Number of the next segment to send.
    pub next: u64,
    /// Segments in flight, before this ACK marks segments as lost.
    pub in_flight: f64,
    /// The same before this ACK.
    pub prior_in_flight: f64,
    /// Segments delivered since the newest segment that this ACK delivers was sent (only with signal `rate`; recovery `rack`, QUIC). UINT64_MAX: none.
    pub since_sent: u64,
    /// Segments outstanding that were reported by SACK, with those of this ACK (recovery `rack`).
    pub sacked: u64,
    /// The recovery phase before this ACK. ACKCLOCK_PHASE_...
    pub phase: u64,
    /// Segments were reported or repeated before this ACK, without a reduction: the state Disorder of Linux (recovery `rack`).
    pub disorder: u64,
    /// Marked packets that it reports, as `Ack.ce`.
    pub ce: u64,
}

/// One acknowledgement.
#[repr(C)]
pub struct Ack {
    pub size: u64,
    /// When it arrived. Picoseconds.
    pub now_ps: i64,
    /// Number of segments that the cumulative ACK newly acknowledges; zero for a duplicate ACK.
    pub newly_acked: u64,
    /// Number of segments that this ACK newly reports as delivered, cumulatively or by SACK. Recoveries without a scoreboard of segments (all but `rack`) count cumulative ACKs only.
    pub newly_delivered: u64,
    /// Number of segments that the sender marked as lost while it processed this ACK (recovery `rack`, QUIC).
    pub newly_lost: u64,
    /// Number of segments delivered since the start, with this ACK (recovery `rack`, QUIC).
    pub delivered_total: u64,
    /// Number of segments marked as lost since the start; a lost retransmission counts again (recovery `rack`, QUIC).
    pub lost_total: u64,
    /// Number of duplicate ACKs in a row: with this one, or before this one if it acknowledges new data.
    pub dupacks: u64,
    /// Number of the highest segment acknowledged.
    pub acked_through: u64,
    /// Number of the next segment to send.
    pub next: u64,
    /// Segments in flight after this ACK, before the sender transmits in response: with a recovery that uses SACK the estimate of RFC 6675 ("pipe"), otherwise the segments outstanding.
    pub in_flight: f64,
    /// The same before this ACK.
    pub prior_in_flight: f64,
    /// Round-trip sample from the newest segment acknowledged, without ambiguity from retransmissions (Karn's algorithm); none if this ACK gives no sample. Picoseconds. -1: none.
    pub rtt_ps: i64,
    /// The receiver's timestamp of this ACK (only with signal `receiver_time`). Picoseconds. -1: none.
    pub receiver_time_ps: i64,
    /// The ACK carries an ECN echo (RFC 3168), or reports marked packets (`ce`).
    pub ece: u64,
    /// The recovery phase before or after this ACK; `recovery` if the window must not grow. ACKCLOCK_PHASE_...
    pub phase: u64,
    /// Whether the transport permits the window to grow on this ACK.
    pub may_grow: u64,
    /// Whether the transport paces the packets of this flow.
    pub paced: u64,
    /// Time until the pacer permits the next packet. Picoseconds.
    pub pacing_wait_ps: i64,
    /// Whether the window limited what the sender had in flight.
    pub window_limited: u64,
    /// The delivery-rate sample (only with signal `rate`): segments delivered in its interval. UINT64_MAX: none.
    pub delivered: u64,
    /// The longer of its sending and its acknowledging interval; none if it is shorter than the smallest round- trip time. Picoseconds. -1: none.
    pub interval_ps: i64,
    /// The application had too little data at some time in the interval.
    pub app_limited: u64,
    /// Segments delivered in total when the segment of the sample was sent. UINT64_MAX: none.
    pub prior_delivered: u64,
    /// Segments in flight when that segment was sent, with it. UINT64_MAX: none.
    pub tx_in_flight: u64,
    /// Segments marked as lost since that segment was sent. UINT64_MAX: none.
    pub lost: u64,
    /// The time in which the segments of the sample were sent. Picoseconds. -1: none.
    pub send_interval_ps: i64,
    /// The time in which they were acknowledged. Picoseconds. -1: none.
    pub ack_interval_ps: i64,
    /// The segment of the sample was sent more than once.
    pub retransmission: u64,
    /// Smoothed round-trip time of the retransmission timer (recovery `rack`, QUIC). Picoseconds. -1: none.
    pub srtt_ps: i64,
    /// Smallest round-trip time, with recovery `rack` of the last 300 s, over QUIC of the connection. Picoseconds. -1: none.
    pub min_rtt_ps: i64,
    /// Segments outstanding that were reported by SACK, or counted by duplicate ACKs (recovery `rack`).
    pub sacked: u64,
    /// Segments outstanding that are marked as lost (recovery `rack`).
    pub lost_out: u64,
    /// Retransmissions in flight (recovery `rack`).
    pub retransmitted_out: u64,
    /// Segments delivered with an ECN mark since the start (recovery `rack`: segments that ACKs with an echo delivered; QUIC: the receiver's count).
    pub ce_total: u64,
    /// Segments are reported or repeated, without a reduction: the state Disorder of Linux (recovery `rack`).
    pub disorder: u64,
    /// Marked packets that the ACK reports: with accurate feedback the new CE packets of the receiver's counter (RFC 9768); otherwise the segments that an ACK with an echo newly delivers; over QUIC the new marks of the frame's count, at most `newly_delivered`.
    pub ce: u64,
}

/// A segment that the sender has given up.
#[repr(C)]
pub struct Lost {
    pub size: u64,
    /// When. Picoseconds.
    pub now_ps: i64,
    /// Number of the segment.
    pub seq: u64,
    /// Segments in flight when it was last sent, with it.
    pub tx_in_flight: u64,
    /// Segments marked as lost since it was last sent, with it.
    pub lost: u64,
    /// Segments delivered since the start.
    pub delivered_total: u64,
    /// The application had too little data when it was last sent.
    pub app_limited: u64,
    /// The segment before it was not marked at the same time: it starts a run of lost segments.
    pub starts_range: u64,
}

/// A segment that an ACK newly reports as delivered, cumulatively or by SACK.
#[repr(C)]
pub struct Delivered {
    pub size: u64,
    /// When its ACK arrived. Picoseconds.
    pub now_ps: i64,
    /// Number of the segment; of QUIC of the packet.
    pub seq: u64,
    /// When it was last sent. Picoseconds.
    pub sent_ps: i64,
    /// The time since then. If the segment was sent again, the ACK can be that of an earlier transmission. Picoseconds.
    pub rtt_ps: i64,
}

/// A data segment that the sender has transmitted.
#[repr(C)]
pub struct Sent {
    pub size: u64,
    /// When. Picoseconds.
    pub now_ps: i64,
    /// Number of the segment.
    pub seq: u64,
    /// Segments in flight, with it, counted as in `Ack.in_flight` (which leaves out tail loss probes).
    pub in_flight: u64,
    /// Whether it was sent before.
    pub retransmission: u64,
}

/// A congestion event: at most one per window of data and cause.
#[repr(C)]
pub struct Congestion {
    pub size: u64,
    /// When. Picoseconds.
    pub now_ps: i64,
    /// Why. ACKCLOCK_CAUSE_...
    pub cause: u64,
    /// The window to be reduced, segments; the profile defines how it is counted.
    pub window: f64,
    /// Segments in flight, counted as in `Ack.in_flight`.
    pub in_flight: f64,
    /// When the lost segment was last sent. Picoseconds. -1: none.
    pub segment_sent_ps: i64,
    /// Whether the lost segment had been retransmitted before.
    pub retransmitted: u64,
    /// Duplicate ACKs so far.
    pub dupacks: u64,
}

/// A retransmission timeout with data outstanding.
#[repr(C)]
pub struct Timeout {
    pub size: u64,
    /// When. Picoseconds.
    pub now_ps: i64,
    /// The window that was in use, segments.
    pub window: f64,
    /// The same segment timed out before, and nothing was acknowledged since.
    pub repeated: u64,
}

/// The first transmission after an idle period.
#[repr(C)]
pub struct Restart {
    pub size: u64,
    /// When. Picoseconds.
    pub now_ps: i64,
    /// Time since the last transmission. Picoseconds.
    pub idle_ps: i64,
    /// The window that the transport profile sets, segments.
    pub window: f64,
}

/// The first transmission after all data in flight was acknowledged.
#[repr(C)]
pub struct TransmitStart {
    pub size: u64,
    /// When. Picoseconds.
    pub now_ps: i64,
    /// Time since the last transmission. Picoseconds.
    pub idle_ps: i64,
    /// Whether the application had too little to send before it.
    pub app_limited: u64,
}

/// Information from lower layers.
#[repr(C)]
pub struct PathHint {
    pub size: u64,
    /// When. Picoseconds.
    pub now_ps: i64,
    /// What. ACKCLOCK_KIND_...
    pub kind: u64,
    /// Of `router_rate` the rate in bits per second, of `router_feedback` the change in bytes per second. NaN: none.
    pub value: f64,
}

/// The answers of a controller, as it gave them last: a function changes what it wants to change.
#[repr(C)]
pub struct Decision {
    pub size: u64,
    /// The congestion window, segments, at least 1; the fractional part is kept.
    pub cwnd: f64,
    /// The slow-start threshold, segments, at least 1; infinite until set.
    pub ssthresh: f64,
    /// The pacing rate of the payload (`FlowInfo.packet`), bits per second; with signal `router_rate` that of whole packets. None if ACKs clock the packets. NaN: none.
    pub pacing_bps: f64,
    /// The segments that the pacer releases at once (draft-ietf-ccwg-bbr: C.send_quantum), at least one. The option `gso_max_segs` limits it; QUIC sends one by one.
    pub send_quantum: u64,
    /// The time of the next call of `on_timer`, in the future; never if there is none. Picoseconds. -1: none.
    pub wake_at_ps: i64,
    /// The age at which the first unacknowledged segment is lost if a duplicate ACK arrives (Vegas). Picoseconds. -1: none.
    pub fine_timeout_ps: i64,
    /// How the transport responds to an ECN echo: `reduce` (as to a loss, RFC 3168), `confirm` (the controller processes `Ack.ece`; CWR is sent once per window), `ignore` (the same without CWR). ACKCLOCK_ECN_RESPONSE_...
    pub ecn_response: u64,
    /// Whether the controller sets its window also in recovery: then the transport does not reduce it ACK by ACK, restart it after an idle time or shrink it when it is unused (recovery `rack`, QUIC).
    pub owns_window: u64,
    /// Whether rate samples must count as limited by the application now; read after every ACK (recovery `rack`, QUIC).
    pub limits_application: u64,
    /// Whether the transport must begin a reduction now, as after an ECN echo, but for the cause `controller`; read after every ACK, and without effect during a reduction (recovery `rack`, QUIC). Linux: `tcp_enter_cwr`.
    pub reduce_now: u64,
}
