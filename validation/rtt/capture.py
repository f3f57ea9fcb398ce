"""The emulated wire that delays frames, the packet capture, and the series derived from it."""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import multiprocessing
import os
import select
import socket
import struct
import time

from path import (
    ETH_P_ALL,
    ETH_P_IP,
    FORWARD_PORT,
    PACKET_ADD_MEMBERSHIP,
    PACKET_IGNORE_OUTGOING,
    PACKET_MR_PROMISC,
    PACKET_STATISTICS,
    PROBE_ID,
    SERVER_IP,
    SO_TIMESTAMPNS,
    SOL_PACKET,
    Sample,
    Settings,
    inside,
)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The two series, and numbers that show whether they are valid."""

    probes: list[Sample]
    acks: list[Sample]
    sent_probes: int
    probe_jitter_s: float
    retransmitted: int
    capture_drops: int
    largest_frame: int


@dataclasses.dataclass
class Segment:
    """One data segment in flight: relative sequence numbers [start, end), time sent (ns), whether sent again."""

    start: int
    end: int
    sent_ns: int
    again: bool = False


# --- packets ----------------------------------------------------------------------------------------------------------


def packet_socket(role: str, device: str, protocol: int) -> socket.socket:
    """Open a capture with kernel timestamps on a role's device."""
    with inside(role):
        tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(protocol))
        tap.bind((device, protocol))
    tap.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    tap.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    tap.setblocking(False)
    return tap


def receive(tap: socket.socket) -> tuple[bytes, int] | None:
    """Read one frame and its kernel timestamp (ns since the epoch) from a capture; None if no frame is queued."""
    try:
        frame, notes, _flags, _address = tap.recvmsg(65536, 128)
    except BlockingIOError:
        return None
    for level, kind, data in notes:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
            seconds, nanoseconds = struct.unpack("ll", data[: struct.calcsize("ll")])
            return frame, seconds * 1_000_000_000 + nanoseconds
    return frame, time.time_ns()


def wire_socket(device: str) -> socket.socket:
    """Open one end of the wire. It receives every incoming frame, whatever its destination."""
    tap = packet_socket("wire", device, ETH_P_ALL)
    tap.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    with inside("wire"):
        index = socket.if_nametoindex(device)
    tap.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, struct.pack("iHH8s", index, PACKET_MR_PROMISC, 0, b""))
    return tap


def real_time_priority() -> None:
    """Request real-time scheduling for this process; ignore a refusal."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))


class DoubleCell:
    """A floating-point number shared between processes."""

    def __init__(self) -> None:
        """Start at zero."""
        self._cell = multiprocessing.get_context("fork").Value("d", 0.0)

    @property
    def value(self) -> float:
        """The number now."""
        return float(self._cell.value)

    @value.setter
    def value(self, number: float) -> None:
        self._cell.value = number


def carry(ends: tuple[socket.socket, socket.socket], delay_s: float, stop_s: float, latest: DoubleCell) -> None:
    """Pass frames between the two ends, each `delay_s` after its arrival, until monotonic time `stop_s`.

    `latest` is set to the largest lateness (s) of a frame beyond that delay.
    """
    real_time_priority()
    delay_ns = round(delay_s * 1e9)
    waiting: dict[socket.socket, collections.deque[tuple[int, bytes]]] = {end: collections.deque() for end in ends}
    across = {ends[0]: ends[1], ends[1]: ends[0]}
    while time.monotonic() < stop_s:
        due = min((line[0][0] for line in waiting.values() if line), default=None)
        pause_s = 0.1 if due is None else min(max(0, due - time.time_ns()) / 1e9, 0.1)
        for end in select.select(ends, [], [], pause_s)[0]:
            while (taken := receive(end)) is not None:
                waiting[end].append((taken[1] + delay_ns, taken[0]))
        for end, line in waiting.items():
            while line and line[0][0] <= (now := time.time_ns()):
                due, frame = line.popleft()
                latest.value = max(latest.value, (now - due) / 1e9)
                with contextlib.suppress(OSError):
                    across[end].send(frame)


class Flow:
    """Matches the forward flow's data segments with the ACKs that acknowledge them.

    An ACK gives a sample when it acknowledges new data of which nothing was sent more than once (Karn's rule): the
    time since the newest segment it covers was sent.  ACKs that repeat an old number give none.
    """

    def __init__(self) -> None:
        """Start with nothing in flight."""
        self.first: int | None = None
        self.flight: collections.deque[Segment] = collections.deque()
        self.highest = 0
        self.retransmitted = 0
        self.samples: list[tuple[int, int]] = []  # (time of the ACK, round-trip time), both ns

    def opened(self, sequence: int) -> None:
        """Note the sequence number of the sender's SYN."""
        self.first = sequence
        self.highest = 1

    def data(self, sequence: int, length: int, when_ns: int) -> None:
        """Note a data segment of `length` bytes sent at `when_ns`."""
        if self.first is None:
            return
        start = (sequence - self.first) % (1 << 32)
        end = start + length
        if start >= self.highest:
            self.flight.append(Segment(start, end, when_ns))
            self.highest = end
            return
        self.retransmitted += 1
        for segment in self.flight:
            if segment.start < end and start < segment.end:
                segment.again = True

    def acknowledged(self, number: int, when_ns: int) -> None:
        """Note an ACK that arrived at `when_ns`."""
        if self.first is None:
            return
        up_to = (number - self.first) % (1 << 32)
        covered = []
        while self.flight and self.flight[0].end <= up_to:
            covered.append(self.flight.popleft())
        if covered and covered[-1].end == up_to and not any(segment.again for segment in covered):
            self.samples.append((when_ns, when_ns - covered[-1].sent_ns))


class Recorder:
    """Reads frames of the capture and keeps what the two series need."""

    def __init__(self) -> None:
        """Start empty."""
        self.flow = Flow()
        self.probe_sent_ns: dict[int, int] = {}
        self.probe_back_ns: dict[int, int] = {}
        self.largest_frame = 0

    def frame(self, frame: bytes, when_ns: int) -> None:
        """Sort one Ethernet frame seen at `when_ns`."""
        if int.from_bytes(frame[12:14], "big") != ETH_P_IP:
            return
        self.largest_frame = max(self.largest_frame, len(frame))
        packet = frame[14:]
        header = (packet[0] & 15) * 4
        packet = packet[: int.from_bytes(packet[2:4], "big")]
        outgoing = packet[12:16] == socket.inet_aton(SERVER_IP)
        if packet[9] == socket.IPPROTO_ICMP:
            self.probe(packet[header:], outgoing, when_ns)
        elif packet[9] == socket.IPPROTO_TCP:
            self.tcp(packet[header:], outgoing, when_ns)

    def probe(self, message: bytes, outgoing: bool, when_ns: int) -> None:
        """Note an echo request on its way out or its reply on its way in."""
        kind, _code, _checksum, identity, number = struct.unpack("!BBHHH", message[:8])
        if identity != PROBE_ID:
            return
        if kind == 8 and outgoing:
            self.probe_sent_ns.setdefault(number, when_ns)
        elif kind == 0 and not outgoing:
            self.probe_back_ns.setdefault(number, when_ns)

    def tcp(self, segment: bytes, outgoing: bool, when_ns: int) -> None:
        """Record a segment of the forward flow; ignore others."""
        source, target, sequence, number, offset, flags = struct.unpack("!HHIIBB", segment[:14])
        if (source if outgoing else target) != FORWARD_PORT:
            return
        length = len(segment) - (offset >> 4) * 4
        if outgoing and flags & 0x02:
            self.flow.opened(sequence)
        elif outgoing and length > 0:
            self.flow.data(sequence, length, when_ns)
        elif not outgoing and flags & 0x10:
            self.flow.acknowledged(number, when_ns)

    def outcome(self, settings: Settings, zero_ns: int, capture_drops: int) -> Outcome:
        """Convert the records to series with times relative to `zero_ns` (epoch); a probe has its planned time."""
        interval_s = settings.interval_ms / 1000
        since_zero = [((when - zero_ns) / 1e9, rtt / 1e9) for when, rtt in self.flow.samples]
        probes = [
            (number * interval_s, (self.probe_back_ns[number] - sent) / 1e9)
            for number, sent in sorted(self.probe_sent_ns.items())
            if number in self.probe_back_ns
        ]
        off = [abs((sent - zero_ns) / 1e9 - number * interval_s) for number, sent in self.probe_sent_ns.items()]
        return Outcome(
            probes=probes,
            acks=[(when_s, rtt_s) for when_s, rtt_s in since_zero if 0 <= when_s <= settings.seconds],
            sent_probes=len(self.probe_sent_ns),
            probe_jitter_s=max(off, default=0.0),
            retransmitted=self.flow.retransmitted,
            capture_drops=capture_drops,
            largest_frame=self.largest_frame,
        )


def record(tap: socket.socket, recorder: Recorder, stop_s: float) -> None:
    """Feed captured frames to the recorder until monotonic time `stop_s`."""
    while (left := stop_s - time.monotonic()) > 0:
        if select.select([tap], [], [], min(left, 0.2))[0]:
            while (taken := receive(tap)) is not None:
                recorder.frame(*taken)


def drops_of(tap: socket.socket) -> int:
    """Number of frames that the capture lost to a full buffer since the last call or since it was opened."""
    return int(struct.unpack("II", tap.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1])
