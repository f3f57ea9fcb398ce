"""The outcome of a run as types. `make reference` writes this file from `ackclock schema outcome`."""

from __future__ import annotations

from typing import NotRequired, TypedDict


class Drops(TypedDict):
    """The outcome of a run."""

    queue: int
    """the queue was full or its discipline dropped the packet"""
    loss: int
    """lost on the link"""
    list: int
    """dropped by a scripted loss"""
    handoff: int
    """a terminal changed its satellite"""
    route: int
    """there was no path to its destination"""
    aqm: int
    """the queue discipline dropped it after the queue had accepted it"""
    policer: int
    """the policer had no tokens for it"""
    retry: int
    """its MPDU was lost in its last attempt (Wi-Fi)"""
    rlc: int
    """its transport block was lost in its last attempt (cell)"""
    handover: int
    """lost at a handover (cell)"""


class PhaseTimes(TypedDict):
    """When the phases of a start began, seconds since the start of the run; null for a phase that did not come."""

    reconnaissance: float | None
    """The initial window: the path is observed."""
    unvalidated: float | None
    """The packets of the jump are sent."""
    validating: float | None
    """They are sent, and not all of them are acknowledged."""
    retreat: float | None
    """A loss or a mark: the window falls below what was acknowledged."""
    normal: float | None
    """The controller alone decides."""


class SavedOutcome(TypedDict):
    """Saved values of a path."""

    cwnd_bytes: int
    """The window, bytes of payload."""
    rtt_s: float
    """The smallest round-trip time, seconds."""


class SizeBin(TypedDict):
    """Messages up to a size."""

    up_to_bytes: int | None
    """The largest size; null for no bound."""
    messages: int
    """How many."""
    p50_slowdown: float | None
    """Quantiles of their slowdowns."""
    p95_slowdown: float | None
    """The same at 95 %."""
    p99_slowdown: float | None
    """The same at 99 %."""
    p95_s: float | None
    """95 % quantile of their times, seconds."""
    slowdown_sketch: list[list[int | None]]
    """Counts of their slowdowns by buckets, as those of all messages."""


class ChunkRow(TypedDict):
    """A chunk of a video."""

    asked_s: float
    """When it was asked for, seconds since the start of the run."""
    end_s: float
    """When it was complete."""
    bitrate_bps: float
    """Its rate in the ladder, bit/s."""
    buffer_s: float
    """Playing time in the buffer when it was complete, seconds."""
    estimate_bps: float | None
    """The estimate of the throughput when it was asked for; null before the first."""


class LinkDelayOutcome(TypedDict):
    """The times from the arrival of a packet at the queue until it leaves the receiver, within 1 %."""

    p50_s: float
    """Median, seconds."""
    p95_s: float
    """95th percentile, seconds."""
    p99_s: float
    """99th percentile, seconds."""


class LowLatencyOutcome(TypedDict):
    """What the low-latency queue of DualPI2 has sent."""

    sent_packets: int
    """Packets that it sent."""
    marked_packets: int
    """Those that it marked (ECN)."""
    mean_sojourn_s: float | None
    """Mean time that they waited, seconds."""
    p99_sojourn_s: NotRequired[float | None]
    """99th percentile of these times, within 1 %; only with `delays = true`."""


class WifiCategoryOutcome(TypedDict):
    """The packets of an access category in one direction of a Wi-Fi link; the keys are those of all its packets."""

    access: str
    """`bk`, `be`, `vi` or `vo`."""
    airtime_share: float
    """Airtime of its transmissions, answers included, over duration."""
    ppdus: int
    """PPDUs that it sent, repetitions included."""
    mpdus: int
    """MPDUs in them."""
    mean_aggregation: float | None
    """MPDUs of a PPDU; null if there was none."""
    retry_rate: float | None
    """MPDUs that failed over MPDUs sent; null if there was none."""
    retry_drops: int
    """Packets that were lost after their last attempt."""
    collisions: int
    """PPDUs that collided."""
    mcs: list[int]
    """MPDUs by MCS, from 0."""
    mean_access_delay_s: float | None
    """Mean time from the begin of the contention to the transmission, of a TXOP to its first, seconds; null if
    there was none."""


class CellLinkOutcome(TypedDict):
    """One direction of a link of a cell."""

    block_share: float
    """Resource blocks that it used, repetitions included, in whole slots of the cell over all slots of its
    direction, 0 to 1."""
    blocks: int
    """Transport blocks, without repetitions."""
    block_error_rate: float | None
    """Those whose first attempt failed, over all; null if there was none."""
    attempts: list[int]
    """Transport blocks that arrived in attempt 1 to 8, and those that were given up."""
    mcs: list[int]
    """Transport blocks by MCS, from 0."""
    mean_cqi: float | None
    """Mean CQI by which blocks were sent; null if there was none."""
    mean_order_wait_s: float | None
    """Mean time that a complete packet waits behind an unfinished one, seconds; null without packets."""
    lost_packets: int
    """Packets that were lost after their last attempt or at a handover; they are in `dropped_packets.rlc` and
    `dropped_packets.handover` too."""
    requests: int
    """Scheduling requests; uplink."""
    mean_grant_wait_s: float | None
    """Mean time from the need of a request to the transmission that it brings, seconds; null without one."""
    handovers: int
    """Handovers."""


class GrantsOutcome(TypedDict):
    """A direction that sends what it was granted."""

    requests: int
    """Requests."""
    grants: int
    """Intervals in which bytes left."""
    mean_grant_bytes: float | None
    """Mean number of bytes that left in them; null if there was none."""
    unsolicited_bytes: int
    """Bytes that left without a request."""
    unused_bytes: int
    """Bytes that were granted on request and for which there was no packet any more."""


class RadioOutcome(TypedDict):
    """The results of the radio network. Counts are of data packets, except for the counters of the MAC."""

    offered_packets: int
    """Data packets that were handed to the radio network."""
    received_packets: int
    """Distinct data packets that reached the end of their radio path."""
    delivery_ratio: float | None
    """Received over offered; null if none was offered."""
    routing_packets: int
    """Transmissions of routing messages, counted per hop."""
    routing_load: float | None
    """Routing messages over data packets received."""
    mean_hops: float | None
    """Mean number of hops of the received packets."""
    mac_drops: dict[str, int]
    """MAC counters: frames dropped after the retry limit, failed receptions, unanswered requests, duplicate
    frames."""
    dropped_packets: dict[str, int]
    """Data packets without a delivered copy, by the drop reason of the last copy."""


HandoffOutcome = TypedDict(
    "HandoffOutcome",
    {
        "terminal": "str",
        "time_s": "float",
        "from": "str | None",
        "to": "str | None",
    },
)
"""A hand-off: a change of a terminal's satellite."""


class WifiOutcome(TypedDict):
    """A Wi-Fi channel."""

    channel: str
    """Its name."""
    busy: float
    """Time in which it was busy, over duration."""
    accesses: int
    """Number of channel accesses."""
    collision_rate: float | None
    """Accesses in which several devices transmitted, over all; null if there was none."""


class CellOutcome(TypedDict):
    """A cell of a mobile network."""

    name: str
    """Its name."""
    block_use: list[float]
    """Resource blocks used over those that there were, down and up, 0 to 1."""
    slots: int
    """Slots in which something was sent."""


class Fairness(TypedDict):
    """Fairness between flows."""

    jain: float | None
    """Jain's index of the goodputs of the TCP and QUIC flows (of all flows where there are none); null if all are
    zero."""


class EngineCost(TypedDict):
    """What the run cost."""

    events: int
    """Events processed."""
    packet_hops: int
    """Packets that crossed a link, summed over links."""
    cpu_s: float
    """CPU time of the event loop."""
    wall_s: float
    """Elapsed time of the event loop."""


class FlowOutcome(TypedDict):
    """A flow's result."""

    name: str
    """Name in the scenario."""
    kind: str
    """`tcp`, `quic` or `udp`; `attached` if its ends were outside the simulation."""
    transport: NotRequired[str | None]
    """`quic`; absent for other flows."""
    control: str | None
    """Controller."""
    recovery: str | None
    """Loss recovery."""
    goodput_bps: float
    """Payload delivered in order, without duplicates, over the whole duration, whenever the flow started, bit/s."""
    throughput_bps: float
    """Bytes on the wire that reached the sink, duplicates included, without the SYN, over the whole duration,
    bit/s."""
    delivered_bytes: int
    """Payload delivered in order, without duplicates, bytes."""
    sent_packets: int
    """Data packets sent, retransmissions included, without the SYN; QUIC: datagrams sent, those of the handshake
    included."""
    acked_packets: int | None
    """Highest cumulative ACK, in data segments; QUIC: packets acknowledged."""
    retransmitted_packets: int | None
    """Data packets sent again; QUIC: packets declared lost. Null for UDP, as the other values of TCP below."""
    timeouts: int | None
    """Retransmission timeouts with data outstanding; QUIC: probe timeouts, which reduce no window (RFC 9002)."""
    window_cuts: int | None
    """Reductions of the window, timeouts included."""
    persistent_congestion: NotRequired[int | None]
    """Times of persistent congestion (RFC 9002 section 7.6); absent for flows without QUIC."""
    ce_marks: NotRequired[int | None]
    """CE marks that ACK frames reported; absent for flows without QUIC."""
    dropped_packets: NotRequired[Drops | None]
    """Datagrams of the source that links dropped, by reason; absent unless the flow is `attached`."""
    marked_packets: NotRequired[int | None]
    """Datagrams of the source that arrived with Congestion Experienced; absent unless the flow is `attached`."""
    back: NotRequired[BackOutcome | None]
    """The datagrams of the destination; absent unless the flow is `attached`."""
    connection_error: NotRequired[str | None]
    """How and when the connection was lost (RFC 9000 section 10), of the whole run also with a warm-up; null if it
    was not; absent for flows without QUIC."""
    connection_lost: NotRequired[bool | None]
    """True if the connection was lost; absent otherwise."""
    connection_lost_s: NotRequired[float | None]
    """When the connection was lost, seconds since the start of the run; absent if it was not."""
    resume: NotRequired[ResumeOutcome | None]
    """How the flow has started with `resume` or `jump`; absent for other flows."""
    observed: NotRequired[SavedOutcome | None]
    """What the flow has saved of its path, if another one starts with its values; absent for other flows, and if it
    is too little to be used."""
    mean_cwnd: float | None
    """Time integral of the congestion window over the flow's lifetime divided by the whole duration, segments:
    small for a flow that starts late."""
    mean_ssthresh: float | None
    """The same of the slow-start threshold, segments; null if it was infinite at any time."""
    final_cwnd: float | None
    """Congestion window at the end, segments."""
    final_ssthresh: float | None
    """Slow-start threshold at the end, segments."""
    mean_rtt_s: float | None
    """Mean of the round-trip samples that the controller receives, seconds: of the newest segment that an ACK
    covers, unless one of the covered segments was retransmitted; without the handshake."""
    min_rtt_s: float | None
    """Smallest of these samples, of the whole run also with a warm-up, seconds."""
    mean_delay_s: float | None
    """Mean one-way delay of data packets that arrived."""
    mean_gap_s: float | None
    """Mean time between arrivals of data packets."""
    jitter1_s: float | None
    """Sum of the signed delay differences over the number of arrivals, which equals (last - first) / arrivals."""
    jitter2_s: float | None
    """Sum of the absolute delay differences over the number of arrivals."""
    delivery_ratio: float | None
    """Distinct data packets that arrived, over data packets sent; after a warm-up, of the packets sent after it."""
    completion_s: float | None
    """Time from the flow's start to the ACK of its last byte, seconds; null without `bytes`, or if it did not
    end."""
    transfer_bytes: NotRequired[int | None]
    """`bytes` of the scenario; absent without."""
    ideal_s: NotRequired[float | None]
    """The least time of a transfer of `bytes` on the empty path, without a handshake or a window, seconds; absent
    without `bytes`, and if the path changes."""
    slowdown: NotRequired[float | None]
    """`completion_s` over `ideal_s`; absent without either."""
    app: NotRequired[AppOutcome | None]
    """What the application of the flow has done; absent without `app`."""
    active_s: float
    """Time from the flow's start to its completion, its stop or the end of the run, without the warm-up, seconds:
    delivered bytes over it are the goodput while the flow was there."""
    base_delay_s: float | None
    """One-way delay of a full packet on an empty path; null if the path changes (satellites, radio)."""
    min_delay_s: float | None
    """Smallest one-way delay of the whole run, with the warm-up; only with `delays = true`, like the quantiles."""
    p50_delay_s: float | None
    """Median of the one-way delays: a value that was measured, by rank."""
    p95_delay_s: float | None
    """The delay that 95 % of the packets do not exceed."""
    p99_delay_s: float | None
    """The delay that 99 % of the packets do not exceed."""
    limited_s: NotRequired[dict[str, float] | None]
    """Time for which each limit kept the sender from sending more, seconds, by the limit; absent for UDP."""


class BackOutcome(TypedDict):
    """What the destination of an attached flow has sent."""

    sent_packets: int
    """Datagrams."""
    delivered_bytes: int
    """Bytes of the distinct datagrams that arrived, without the header that the network adds."""
    delivery_ratio: float | None
    """Distinct datagrams that arrived, over datagrams sent."""
    dropped_packets: Drops
    """Datagrams that links dropped, by reason."""
    marked_packets: int
    """Datagrams that arrived with Congestion Experienced."""
    mean_delay_s: float | None
    """Mean one-way delay of those that arrived, seconds."""
    p50_delay_s: float | None
    """Quantiles of it, within 0.8 %, seconds."""
    p95_delay_s: float | None
    """The same at 95 %."""
    p99_delay_s: float | None
    """The same at 99 %."""


class ResumeOutcome(TypedDict):
    """How a flow with `resume` or `jump` has started (RFC 9959)."""

    why: str
    """Why the controller alone decides since then: `validated`, `rate_limited`, `retreated`, `congestion`,
    `timeout`, or what prevented the jump: `nothing_saved`, `expired`, `rtt_not_confirmed`, `small`; `not_yet` if it
    has not come to that."""
    phases_s: PhaseTimes
    """When each phase began, seconds since the start of the run."""
    jump: float
    """The window of the jump, segments; zero without one."""
    pipe: float
    """What was acknowledged of it, and what was in flight before it (PipeSize), segments."""
    saved: SavedOutcome | None
    """The saved values that it used; null without any."""


class AppOutcome(TypedDict):
    """What an application has done. Messages that start in the warm-up or the cooldown do not count."""

    kind: str
    """`rate`, `on_off`, `requests`, `page`, `video` or `frames`."""
    messages: int
    """Messages: writes, periods, responses, objects, chunks, frames."""
    finished: int
    """Messages whose last byte has arrived."""
    unfinished: int
    """Messages that were under way at the end, or whose requests had no answer."""
    requests_repeated: int
    """Requests and opening packets that were sent again."""
    mean_s: float | None
    """Mean time from the start of a message to its last byte at the client, of those finished, seconds."""
    p50_s: float | None
    """Quantiles of it by rank, of all messages: those without an end are longer than all others, so a quantile that
    falls on one is null; also with fewer than 2, 20, 100 messages. Seconds."""
    p95_s: float | None
    """The same at 95 %."""
    p99_s: float | None
    """The same at 99 %."""
    mean_slowdown: float | None
    """Mean of the time over that on the empty path without windows; null if the path changes."""
    p50_slowdown: float | None
    """Quantiles of it, as of the time."""
    p95_slowdown: float | None
    """The same at 95 %."""
    p99_slowdown: float | None
    """The same at 99 %."""
    bins: list[SizeBin]
    """The messages by size."""
    sketch: list[list[int | None]]
    """Counts of times by buckets of 1/64 of their value, to be added to those of other flows: number of the bucket,
    count. The bucket null has the messages without an end."""
    slowdown_sketch: list[list[int | None]]
    """The same of slowdowns."""
    requests_per_s: NotRequired[float | None]
    """Requests: responses a second."""
    pages: NotRequired[int]
    """Pages that began."""
    p50_page_s: NotRequired[float | None]
    """Median of their load times, seconds."""
    p95_page_s: NotRequired[float | None]
    """95 % quantile of their load times, seconds."""
    byte_index_s: NotRequired[float | None]
    """Mean arrival of a byte after the start of its page, by whole objects, seconds."""
    startup_s: NotRequired[float | None]
    """From the start of the player to its first picture; null if it has none, seconds."""
    stalls: NotRequired[int]
    """How often playing stopped for want of data."""
    stall_s: NotRequired[float]
    """For how long, seconds."""
    rebuffer_ratio: NotRequired[float | None]
    """Stalls over stalls and playing; null before playing."""
    mean_bitrate_bps: NotRequired[float | None]
    """Mean rate of the chunks in the video, bit/s."""
    switches: NotRequired[int]
    """Changes of the rate from chunk to chunk."""
    mean_change_bps: NotRequired[float | None]
    """Mean of their sizes over all pairs of chunks, bit/s."""
    qoe: NotRequired[float | None]
    """Quality of experience of a chunk: its rate in Mb/s, less the change to it, less the stall times the largest
    rate of the ladder, in the mean (Yin et al. 2015)."""
    chunks: NotRequired[int]
    """Chunks that arrived."""
    chunk_log: NotRequired[list[ChunkRow]]
    """Each chunk."""
    on_time: NotRequired[int]
    """Frames whose last byte arrived before their deadline."""
    late: NotRequired[int]
    """Frames whose last byte arrived after it."""
    cancelled: NotRequired[int]
    """Frames whose stream was reset."""
    dropped: NotRequired[int]
    """Frames that were not written."""
    p50_frame_s: NotRequired[float | None]
    """Quantiles of the delay of frames from capture to the last byte; frames that did not arrive are later than all
    others."""
    p95_frame_s: NotRequired[float | None]
    """The same at 95 %."""
    p99_frame_s: NotRequired[float | None]
    """The same at 99 %."""
    freezes: NotRequired[int]
    """Gaps between frames that are shown of at least three times the mean gap, and 150 ms more than it."""
    freeze_s: NotRequired[float]
    """Their sum, seconds."""
    encoder_bps: NotRequired[float]
    """Mean rate of the encoders, bit/s."""
    audio_sent: NotRequired[int | None]
    """Audio packets sent; absent without audio."""
    audio_lost: NotRequired[int | None]
    """Those that did not arrive."""
    p95_mouth_to_ear_s: NotRequired[float | None]
    """Quantiles of 20 ms and the delay of an audio packet; lost ones are later than all others."""
    p99_mouth_to_ear_s: NotRequired[float | None]
    """The same at 99 %."""


class LinkOutcome(TypedDict):
    """A link's result: one direction."""

    name: str
    """`from->to`."""
    delivered_packets: int
    """Packets that arrived at its end; `engine.packet_hops` is their sum."""
    dropped_packets: Drops
    """Packets dropped, by reason."""
    marked_packets: int
    """Packets marked (ECN)."""
    utilisation: float
    """Busy time over duration; with a rate that varies, bits sent over bits that the link could have sent."""
    mean_queue_packets: float
    """Time average of the number of packets waiting, without the one in transmission."""
    mean_sojourn_s: float | None
    """Mean time that a packet waits before its transmission, seconds; packets that the queue drops do not count."""
    queue_drops: int
    """Packets that the queue dropped, at their arrival or later: those with the reasons `queue` and `aqm`."""
    drop_rate: float | None
    """Packets that the queue dropped over those that it dropped or passed to the transmitter, 0 to 1; null if there
    are none."""
    p95_sojourn_s: NotRequired[float | None]
    """95th percentile of these times, within 1 %, with packets that the queue dropped later; only with `delays =
    true`."""
    delay: NotRequired[LinkDelayOutcome | None]
    """Delays over a link of Wi-Fi, of a cell or with grants; absent on other links, and without `delays = true`."""
    low_latency: NotRequired[LowLatencyOutcome | None]
    """The low-latency queue of DualPI2; absent without one."""
    wifi: NotRequired[WifiLinkOutcome | None]
    """What the direction has done on its Wi-Fi channel; absent on other links."""
    cell: NotRequired[CellLinkOutcome | None]
    """What the direction has done in its cell; absent on other links."""
    grants: NotRequired[GrantsOutcome | None]
    """What the direction was granted; absent on other links."""


class WifiLinkOutcome(TypedDict):
    """One direction of a Wi-Fi link."""

    airtime_share: float
    """Airtime of its transmissions, answers included, over duration."""
    ppdus: int
    """PPDUs that it sent, repetitions included."""
    mpdus: int
    """MPDUs in them."""
    mean_aggregation: float | None
    """MPDUs of a PPDU; null if there was none."""
    aggregation: list[int]
    """PPDUs with 1, 2, 3 to 4, 5 to 8, ..., 129 to 256 MPDUs."""
    retry_rate: float | None
    """MPDUs that failed over MPDUs sent; null if there was none."""
    retry_drops: int
    """Packets that were lost after their last attempt; they are in `dropped_packets.retry` too."""
    collisions: int
    """PPDUs that collided."""
    mcs: list[int]
    """MPDUs by MCS, from 0."""
    mean_access_delay_s: float | None
    """Mean time from the begin of the contention to the transmission, of a TXOP to its first, seconds; null if
    there was none."""
    categories: NotRequired[list[WifiCategoryOutcome]]
    """The same by access category, if flows of several cross the link."""


class SatelliteOutcome(TypedDict):
    """The results of the satellite network."""

    handoffs: list[HandoffOutcome]
    """Every change of a terminal's satellite after its first, in the order of time."""


class Outcome(TypedDict):
    """The result of a run. Values that do not apply are `null`."""

    title: str
    """The scenario's title."""
    seed: int
    """The seed that ran."""
    duration_s: float
    """Simulated time, seconds."""
    warmup_s: NotRequired[float | None]
    """Duration of the warm-up, which all values below exclude, seconds; the key is missing if there is no warm-
    up."""
    version: str
    """Version of engine and models."""
    substrate: str
    """What carried the flows: `tcp` (simulated, as the scenario describes them), `quic` (simulated; every flow with
    a controller is a QUIC flow); in real time `udp`, `linux`, `kernel`."""
    flows: list[FlowOutcome]
    """One per flow, in the order of the scenario."""
    links: list[LinkOutcome]
    """Two per link, forward then back, in the order of the scenario."""
    radio: RadioOutcome | None
    """The radio network, if there is one."""
    satellite: SatelliteOutcome | None
    """Satellites, if there are any."""
    wifi: NotRequired[list[WifiOutcome]]
    """Wi-Fi channels; absent without one."""
    cell: NotRequired[list[CellOutcome]]
    """Cells of mobile networks; absent without one."""
    fairness: Fairness
    """Fairness between flows."""
    engine: EngineCost
    """What the run cost."""
