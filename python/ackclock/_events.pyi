# Made by `make reference` from the tables of the crate cc.
# A time `_s` is the nearest float in seconds, `_ps` the exact number of picoseconds.

class FlowInfo:
    """The properties of a flow at the creation of its controller."""

    packet: int
    """Payload of a segment, bytes. A rate is a window times this size over the round-trip time."""
    initial_window: float
    """The window before the first ACK, segments."""
    initial_ssthresh: float
    """Slow-start threshold at the start, segments; may be infinite."""
    max_window: float
    """Upper bound of the window, segments; infinite for no bound."""
    fine_clock: bool
    """Whether the transport retransmits by the controller's fine-grained clock. The controller then inflates its
    own window by the duplicate ACKs."""
    abe: bool
    """An ECN echo reduces the window less than a loss does (RFC 8511)."""
    seed: int
    """A number that is derived from the run's seed and unique to the flow, for an algorithm with random numbers."""
    hops: int
    """Links of the path to the receiver; 0 if they are not known (satellites, radio, sockets, the kernel)."""
    counts_segments: bool
    """The profile grows windows by the segments acknowledged and keeps them whole (linux); otherwise by ACKs
    (ns2)."""
    integer_windows: bool
    """Reductions truncate the window."""
    reduce_on_every_timeout: bool
    """A repeated timeout of one segment reduces the threshold again (ns2)."""
    rfc_variants: bool
    """Where a controller has a variant of Linux and one of an RFC, the one that follows the profile is that of the
    RFC (QUIC)."""

class Handshake:
    """The end of the handshake."""

    now_s: float
    """When."""
    now_ps: int
    rtt_s: float | None
    """Its round-trip time, none if its packets were sent again; for a controller that takes over, the smallest one
    of the connection."""
    rtt_ps: int | None

class Sample:
    """The measurements of one acknowledgement, before the sender draws conclusions from it."""

    now_s: float
    """When the ACK arrived."""
    now_ps: int
    newly_acked: int
    """Segments that the cumulative ACK newly acknowledges; zero for a duplicate ACK."""
    newly_delivered: int
    """Segments that it newly reports as delivered, cumulatively or by SACK."""
    rtt_s: float | None
    """Its round-trip sample; none if it gives none."""
    rtt_ps: int | None
    ece: bool
    """It carries an ECN echo."""
    acked_through: int
    """Number of the highest segment acknowledged."""
    next: int
    """Number of the next segment to send."""
    in_flight: float
    """Segments in flight, before this ACK marks segments as lost."""
    prior_in_flight: float
    """The same before this ACK."""
    since_sent: int | None
    """Segments delivered since the newest segment that this ACK delivers was sent (only with signal `rate`;
    recovery `rack`, QUIC)."""
    sacked: int
    """Segments outstanding that were reported by SACK, with those of this ACK (recovery `rack`)."""
    phase: str
    """The recovery phase before this ACK. One of open, cwr, recovery, loss."""
    disorder: bool
    """Segments were reported or repeated before this ACK, without a reduction: the state Disorder of Linux
    (recovery `rack`)."""
    ce: int
    """Marked packets that it reports, as `Ack.ce`."""

class Ack:
    """One acknowledgement."""

    now_s: float
    """When it arrived."""
    now_ps: int
    newly_acked: int
    """Number of segments that the cumulative ACK newly acknowledges; zero for a duplicate ACK."""
    newly_delivered: int
    """Number of segments that this ACK newly reports as delivered, cumulatively or by SACK. Recoveries without a
    scoreboard of segments (all but `rack`) count cumulative ACKs only."""
    newly_lost: int
    """Number of segments that the sender marked as lost while it processed this ACK (recovery `rack`, QUIC)."""
    delivered_total: int
    """Number of segments delivered since the start, with this ACK (recovery `rack`, QUIC)."""
    lost_total: int
    """Number of segments marked as lost since the start; a lost retransmission counts again (recovery `rack`,
    QUIC)."""
    dupacks: int
    """Number of duplicate ACKs in a row: with this one, or before this one if it acknowledges new data."""
    acked_through: int
    """Number of the highest segment acknowledged."""
    next: int
    """Number of the next segment to send."""
    in_flight: float
    """Segments in flight after this ACK, before the sender transmits in response: with a recovery that uses SACK
    the estimate of RFC 6675 ("pipe"), otherwise the segments outstanding."""
    prior_in_flight: float
    """The same before this ACK."""
    rtt_s: float | None
    """Round-trip sample from the newest segment acknowledged, without ambiguity from retransmissions (Karn's
    algorithm); none if this ACK gives no sample."""
    rtt_ps: int | None
    receiver_time_s: float | None
    """The receiver's timestamp of this ACK (only with signal `receiver_time`)."""
    receiver_time_ps: int | None
    ece: bool
    """The ACK carries an ECN echo (RFC 3168), or reports marked packets (`ce`)."""
    phase: str
    """The recovery phase before or after this ACK; `recovery` if the window must not grow. One of open, cwr,
    recovery, loss."""
    may_grow: bool
    """Whether the transport permits the window to grow on this ACK."""
    paced: bool
    """Whether the transport paces the packets of this flow."""
    pacing_wait_s: float
    """Time until the pacer permits the next packet."""
    pacing_wait_ps: int
    window_limited: bool
    """Whether the window limited what the sender had in flight."""
    delivered: int | None
    """The delivery-rate sample (only with signal `rate`): segments delivered in its interval."""
    interval_s: float | None
    """The longer of its sending and its acknowledging interval; none if it is shorter than the smallest round-trip
    time."""
    interval_ps: int | None
    app_limited: bool
    """The application had too little data at some time in the interval."""
    prior_delivered: int | None
    """Segments delivered in total when the segment of the sample was sent."""
    tx_in_flight: int | None
    """Segments in flight when that segment was sent, with it."""
    lost: int | None
    """Segments marked as lost since that segment was sent."""
    send_interval_s: float | None
    """The time in which the segments of the sample were sent."""
    send_interval_ps: int | None
    ack_interval_s: float | None
    """The time in which they were acknowledged."""
    ack_interval_ps: int | None
    retransmission: bool
    """The segment of the sample was sent more than once."""
    srtt_s: float | None
    """Smoothed round-trip time of the retransmission timer (recovery `rack`, QUIC)."""
    srtt_ps: int | None
    min_rtt_s: float | None
    """Smallest round-trip time, with recovery `rack` of the last 300 s, over QUIC of the connection."""
    min_rtt_ps: int | None
    sacked: int
    """Segments outstanding that were reported by SACK, or counted by duplicate ACKs (recovery `rack`)."""
    lost_out: int
    """Segments outstanding that are marked as lost (recovery `rack`)."""
    retransmitted_out: int
    """Retransmissions in flight (recovery `rack`)."""
    ce_total: int
    """Segments delivered with an ECN mark since the start (recovery `rack`: segments that ACKs with an echo
    delivered; QUIC: the receiver's count)."""
    disorder: bool
    """Segments are reported or repeated, without a reduction: the state Disorder of Linux (recovery `rack`)."""
    ce: int
    """Marked packets that the ACK reports: with accurate feedback the new CE packets of the receiver's counter (RFC
    9768); otherwise the segments that an ACK with an echo newly delivers; over QUIC the new marks of the frame's
    count, at most `newly_delivered`."""

class Lost:
    """A segment that the sender has given up."""

    now_s: float
    """When."""
    now_ps: int
    seq: int
    """Number of the segment."""
    tx_in_flight: int
    """Segments in flight when it was last sent, with it."""
    lost: int
    """Segments marked as lost since it was last sent, with it."""
    delivered_total: int
    """Segments delivered since the start."""
    app_limited: bool
    """The application had too little data when it was last sent."""
    starts_range: bool
    """The segment before it was not marked at the same time: it starts a run of lost segments."""

class Delivered:
    """A segment that an ACK newly reports as delivered, cumulatively or by SACK."""

    now_s: float
    """When its ACK arrived."""
    now_ps: int
    seq: int
    """Number of the segment; of QUIC of the packet."""
    sent_s: float
    """When it was last sent."""
    sent_ps: int
    rtt_s: float
    """The time since then. If the segment was sent again, the ACK can be that of an earlier transmission."""
    rtt_ps: int

class Sent:
    """A data segment that the sender has transmitted."""

    now_s: float
    """When."""
    now_ps: int
    seq: int
    """Number of the segment."""
    in_flight: int
    """Segments in flight, with it, counted as in `Ack.in_flight` (which leaves out tail loss probes)."""
    retransmission: bool
    """Whether it was sent before."""

class Congestion:
    """A congestion event: at most one per window of data and cause."""

    now_s: float
    """When."""
    now_ps: int
    cause: str
    """Why. One of fast_retransmit, ecn, controller."""
    window: float
    """The window to be reduced, segments; the profile defines how it is counted."""
    in_flight: float
    """Segments in flight, counted as in `Ack.in_flight`."""
    segment_sent_s: float | None
    """When the lost segment was last sent."""
    segment_sent_ps: int | None
    retransmitted: bool
    """Whether the lost segment had been retransmitted before."""
    dupacks: int
    """Duplicate ACKs so far."""

class Timeout:
    """A retransmission timeout with data outstanding."""

    now_s: float
    """When."""
    now_ps: int
    window: float
    """The window that was in use, segments."""
    repeated: bool
    """The same segment timed out before, and nothing was acknowledged since."""

class Restart:
    """The first transmission after an idle period."""

    now_s: float
    """When."""
    now_ps: int
    idle_s: float
    """Time since the last transmission."""
    idle_ps: int
    window: float
    """The window that the transport profile sets, segments."""

class TransmitStart:
    """The first transmission after all data in flight was acknowledged."""

    now_s: float
    """When."""
    now_ps: int
    idle_s: float
    """Time since the last transmission."""
    idle_ps: int
    app_limited: bool
    """Whether the application had too little to send before it."""

class PathHint:
    """Information from lower layers."""

    now_s: float
    """When."""
    now_ps: int
    kind: str
    """What. One of handoff_begins, handoff_ends, router_rate, router_feedback."""
    value: float | None
    """Of `router_rate` the rate in bits per second, of `router_feedback` the change in bytes per second."""
