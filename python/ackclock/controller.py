"""The base class of controllers in Python. Made by `make reference` from the tables of the crate cc."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ackclock._core import (
    Ack,
    Congestion,
    Delivered,
    FlowInfo,
    Handshake,
    Lost,
    PathHint,
    Restart,
    Sample,
    Sent,
    Timeout,
    TransmitStart,
)


class Controller:
    """A congestion control algorithm. Derive from this class, or write a class with the same interface.

    A scenario names the class: `congestion_control = { python = "mine.py:Mine", gain = 2 }`. The other numbers,
    booleans and strings of that table are keyword arguments of `__init__`. Alternatively, pass the class to
    `Scenario.load(..., controllers={"flow": Mine})`. Each flow has its own object. The object must depend only on its
    events and on `FlowInfo.seed`; otherwise results cannot be reproduced.
    """

    needs: ClassVar[Sequence[str]] = ()
    """Required signals: rate, receiver_time, fine_clock, pacing, timer, router_rate, router_feedback, ecn_per_packet,
    l4s, losses, sent, deliveries, segment_counts, samples."""
    probes: ClassVar[Sequence[str]] = ()
    """Attributes that are written to the window trace, one column each; None or a missing attribute is null."""
    initial_window: ClassVar[float | None] = None
    """Initial window that the algorithm specifies, segments; a value in the scenario has precedence."""

    cwnd: float
    """The congestion window, segments, at least 1; the fractional part is kept."""
    ssthresh: float
    """The slow-start threshold, segments, at least 1; infinite until set."""
    pacing_bps: float | None = None
    """The pacing rate of the payload (`FlowInfo.packet`), bits per second; with signal `router_rate` that of whole
    packets. None if ACKs clock the packets. Read only if `needs` has pacing."""
    send_quantum: int = 1
    """The segments that the pacer releases at once (draft-ietf-ccwg-bbr: C.send_quantum), at least one. The option
    `gso_max_segs` limits it; QUIC sends one by one. Read only if `needs` has pacing."""
    wake_at_s: float | None = None
    """The time of the next call of `on_timer`, in the future; never if there is none. Read only if `needs` has
    timer."""
    fine_timeout_s: float | None = None
    """The age at which the first unacknowledged segment is lost if a duplicate ACK arrives (Vegas). Read only if
    `needs` has fine_clock."""
    ecn_response: str = "reduce"
    """How the transport responds to an ECN echo: `reduce` (as to a loss, RFC 3168), `confirm` (the controller
    processes `Ack.ece`; CWR is sent once per window), `ignore` (the same without CWR)."""
    owns_window: bool = False
    """Whether the controller sets its window also in recovery: then the transport does not reduce it ACK by ACK,
    restart it after an idle time or shrink it when it is unused (recovery `rack`, QUIC)."""
    limits_application: bool = False
    """Whether rate samples must count as limited by the application now; read after every ACK (recovery `rack`,
    QUIC)."""
    reduce_now: bool = False
    """Whether the transport must begin a reduction now, as after an ECN echo, but for the cause `controller`; read
    after every ACK, and without effect during a reduction (recovery `rack`, QUIC). Linux: `tcp_enter_cwr`."""

    def __init__(self, flow: FlowInfo) -> None:
        self.cwnd = flow.initial_window
        self.ssthresh = flow.initial_ssthresh

    def on_open(self, now_s: float) -> None:
        """Called before the first packet is sent."""

    def on_handshake(self, event: Handshake) -> None:
        """Called when the handshake is complete (recovery `rack`, QUIC). A controller that takes over in the middle
        of a run gets it with the smallest round-trip time of the connection, after the window.
        """

    def on_sample(self, sample: Sample) -> None:
        """Called with the measurements of an ACK before anything that follows from it: undo, end of recovery,
        reduction, and `on_ack` (only with signal `samples`). The modules of Linux process their samples here
        (`pkts_acked`). An ACK that arrives with nothing outstanding has none.
        """

    def on_ack(self, ack: Ack) -> None:
        """Called for every ACK, also during recovery."""
        raise NotImplementedError

    def on_lost(self, lost: Lost) -> None:
        """Called for each segment that the sender marks as lost, before `on_ack` of the same ACK (only with signal
        `losses`; recovery `rack`, QUIC).
        """

    def on_delivered(self, delivered: Delivered) -> None:
        """Called for each segment that an ACK newly reports as delivered, before `on_ack` of the same ACK (only
        with signal `deliveries`; recovery `rack`, QUIC).
        """

    def on_sent(self, sent: Sent) -> None:
        """Called at each transmission of a data segment, retransmissions included (only with signal `sent`)."""

    def on_congestion(self, event: Congestion) -> None:
        """Called on a loss or an ECN echo, at most once per window of data and cause: the window and the threshold
        must be reduced.
        """
        raise NotImplementedError

    def on_rto(self, event: Timeout) -> None:
        """Called at a retransmission timeout: the window restarts at one segment."""
        raise NotImplementedError

    def on_recovery_exit(self, now_s: float) -> None:
        """Called when fast recovery ends, or when everything sent before an ECN echo reduced the window is
        acknowledged.
        """

    def on_undo(self, now_s: float) -> None:
        """Called when the last reduction was spurious (recovery `rack`). The transport then restores the window and
        the threshold through `set_window` and `set_ssthresh`.
        """

    def on_restart(self, event: Restart) -> None:
        """Called when the connection was idle for longer than the retransmission timeout (RFC 5681 section 4.1):
        the window becomes that of the event, unless the controller defines the method (recovery `rack`).
        """
        self.set_window(event.window)

    def on_transmit_start(self, event: TransmitStart) -> None:
        """Called before a transmission with nothing in flight (recovery `rack`, QUIC)."""

    def on_timer(self, now_s: float) -> None:
        """Called at the time that `wake_at_s` returned."""

    def on_hint(self, hint: PathHint) -> None:
        """Called with information from lower layers: hand-offs and router feedback."""

    def set_window(self, cwnd: float) -> None:
        """Sets the window. The transport calls it when the connection opens, when a partial ACK deflates the window
        (RFC 6582), for every ACK of a proportional rate reduction (RFC 9937), when recovery ends, and when Tahoe
        restarts.
        """
        self.cwnd = cwnd

    def set_ssthresh(self, ssthresh: float) -> None:
        """Sets the slow-start threshold. The transport calls it when a reduction is undone and when the application
        did not use the window.
        """
        self.ssthresh = ssthresh
