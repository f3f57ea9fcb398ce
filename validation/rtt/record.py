"""Record round-trip times of a real TCP flow over an asymmetric path with two-way traffic.

Run as root on Linux; needs only the Python standard library and the commands `ip` and `tc` (iproute2):

    python3 record.py --out .

The path is built from network namespaces (every link is a veth pair):

    client --- router1 === wire === router2 --- server

`router1` sends towards the server through the slow uplink, `router2` towards the client through the fast downlink:
each is a token bucket (tbf) over a drop-tail queue counted in packets (pfifo).  `wire` holds every frame for the
one-way delay in user space, so that the kernel needs no netem.  The server sends the forward flow to the client; its
acknowledgements share the uplink queue with a bulk upload from client to server (the reverse flow).  All times come
from kernel timestamps of one packet capture on the server's interface, upstream of the downlink queue.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import csv
import ctypes
import dataclasses
import fcntl
import json
import multiprocessing
import multiprocessing.process
import os
import pathlib
import platform
import select
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Self

PREFIX = "rttrec"
ROLES = ("client", "router1", "wire", "router2", "server")
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGALRM)
NETNS_DIR = pathlib.Path("/var/run/netns")
CLIENT_IP = "198.18.1.1"
SERVER_IP = "198.18.3.1"
FORWARD_PORT = 5001
REVERSE_PORT = 5002
PROBE_ID = 0x5254
PROBE_PAYLOAD = bytes(24)  # makes a probe 52 bytes of IP, the size of a bare ACK with the timestamp option
MAX_FRAME = 1514
DRAIN_S = 5.0
COMMAND_TIMEOUT_S = 10.0

# Linux constants that Python's modules do not name.
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
ETH_P_ALL = 0x0003
ETH_P_IP = 0x0800
SO_TIMESTAMPNS = 35
SOL_PACKET = 263
PACKET_ADD_MEMBERSHIP = 1
PACKET_STATISTICS = 6
PACKET_IGNORE_OUTGOING = 23
PACKET_MR_PROMISC = 1
SIOCETHTOOL = 0x8946
ETHTOOL_OFF = {"tx-checksum": 0x17, "tso": 0x1F, "gso": 0x24, "gro": 0x2C}

Sample = tuple[float, float]  # (time in seconds since the start, round-trip time in seconds)


class RecordError(Exception):
    """A problem that ends the recording with one message."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """What to build and record; the unit is the last part of each name."""

    out: pathlib.Path
    seconds: float
    interval_ms: float
    down_kbit: int
    up_kbit: int
    delay_ms: float
    queue_packets: int
    reverse_start_s: float
    congestion: str
    ack_rows: int

    @property
    def probes(self) -> int:
        """Number of probes to send."""
        return int(self.seconds * 1000 / self.interval_ms)


@dataclasses.dataclass
class Segment:
    """One data segment in flight: relative sequence numbers [start, end), time sent (ns), whether sent again."""

    start: int
    end: int
    sent_ns: int
    again: bool = False


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The two series, and figures that tell whether to trust them."""

    probes: list[Sample]
    acks: list[Sample]
    sent_probes: int
    probe_jitter_s: float
    retransmitted: int
    capture_drops: int
    largest_frame: int


# --- namespaces and links ---------------------------------------------------------------------------------------------


def run(*command: str) -> str:
    """Run one command, at most COMMAND_TIMEOUT_S seconds; return its output or raise RecordError."""
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=COMMAND_TIMEOUT_S,
            check=False,
            start_new_session=True,  # Ctrl-C is for this script, not for the command
        )
    except subprocess.TimeoutExpired as error:
        raise RecordError(f"`{' '.join(command)}` did not end within {COMMAND_TIMEOUT_S:g} s") from error
    if done.returncode:
        raise RecordError(f"`{' '.join(command)}` failed: {' '.join(done.stderr.split()) or done.returncode}")
    return done.stdout


def name_of(role: str) -> str:
    """Name of this run's namespace for a role."""
    return f"{PREFIX}-{os.getpid()}-{role}"


def ip_in(role: str, *words: str) -> None:
    """Run `ip` inside a role's namespace."""
    run("ip", "-n", name_of(role), *words)


def setns(descriptor: int) -> None:
    """Move the calling thread into the network namespace behind an open descriptor."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(descriptor, CLONE_NEWNET):
        raise RecordError(f"setns failed: {os.strerror(ctypes.get_errno())}")


@contextlib.contextmanager
def inside(role: str) -> Iterator[None]:
    """Be in a role's namespace for a while; sockets made there stay in it."""
    home = os.open("/proc/self/ns/net", os.O_RDONLY)
    try:
        there = os.open(NETNS_DIR / name_of(role), os.O_RDONLY)
        try:
            setns(there)
        finally:
            os.close(there)
        try:
            yield
        finally:
            setns(home)
    finally:
        os.close(home)


def delete_namespaces(names: Sequence[str]) -> None:
    """Delete the named namespaces that exist, going on after a failure."""
    for name in names:
        if (NETNS_DIR / name).exists():
            with contextlib.suppress(RecordError):
                run("ip", "netns", "del", name)


def delete_leftovers() -> None:
    """Delete namespaces of earlier runs of this script that were killed outright (their process is gone)."""
    for path in NETNS_DIR.glob(f"{PREFIX}-*-*"):
        owner = path.name.split("-")[1]
        if owner.isdigit() and not pathlib.Path("/proc", owner).exists():
            delete_namespaces([path.name])


@contextlib.contextmanager
def namespaces() -> Iterator[None]:
    """Make one namespace per role and delete them all at the end, whatever happens.

    Signals wait while the namespaces are deleted, so that a second Ctrl-C cannot leave some behind.
    """
    delete_leftovers()
    try:
        for role in ROLES:
            run("ip", "netns", "add", name_of(role))
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        delete_namespaces([name_of(role) for role in ROLES])
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)


def offloads_off(device: str) -> None:
    """Switch off checksum and segmentation offloads of a device of the current namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        for feature, command in ETHTOOL_OFF.items():
            value = ctypes.create_string_buffer(struct.pack("II", command, 0), 8)
            request = struct.pack("16sP16x", device.encode(), ctypes.addressof(value))
            try:
                fcntl.ioctl(handle, SIOCETHTOOL, request)
            except OSError as error:
                raise RecordError(f"cannot switch {feature} off on {device}: {error.strerror}") from error


def write_sysctl(path: str, value: str) -> None:
    """Write a setting below /proc/sys/net of the current namespace, if the kernel has it."""
    target = pathlib.Path("/proc/sys/net", path)
    if target.exists():
        target.write_text(value, encoding="ascii")


def link(left: str, left_device: str, right: str, right_device: str) -> None:
    """Join two roles by a veth pair."""
    run("ip", "link", "add", left_device, "netns", name_of(left), "type", "veth",
        "peer", "name", right_device, "netns", name_of(right))  # fmt: skip


def device_up(role: str, device: str, mac: str, address: str | None) -> None:
    """Give a device its MAC and (if any) IPv4 address with prefix length, no offloads, and bring it up."""
    with inside(role):
        write_sysctl("ipv6/conf/all/disable_ipv6", "1")
        offloads_off(device)
    ip_in(role, "link", "set", device, "address", mac)
    if address:
        ip_in(role, "addr", "add", address, "dev", device)
    ip_in(role, "link", "set", device, "up")


def build_path() -> None:
    """Make links, addresses and routes (no bottleneck yet).

    The routers know each other's MAC address for good, so that no ARP has to pass the bottleneck queues.
    """
    link("client", "eth0", "router1", "lan")
    link("router1", "wan", "wire", "west")
    link("wire", "east", "router2", "wan")
    link("router2", "lan", "server", "eth0")
    device_up("client", "eth0", "02:00:00:00:00:01", f"{CLIENT_IP}/24")
    device_up("router1", "lan", "02:00:00:00:00:02", "198.18.1.2/24")
    device_up("router1", "wan", "02:00:00:00:00:03", "198.18.2.1/24")
    device_up("wire", "west", "02:00:00:00:00:04", None)
    device_up("wire", "east", "02:00:00:00:00:05", None)
    device_up("router2", "wan", "02:00:00:00:00:06", "198.18.2.2/24")
    device_up("router2", "lan", "02:00:00:00:00:07", "198.18.3.2/24")
    device_up("server", "eth0", "02:00:00:00:00:08", f"{SERVER_IP}/24")
    ip_in("router1", "neigh", "add", "198.18.2.2", "lladdr", "02:00:00:00:00:06", "dev", "wan", "nud", "permanent")
    ip_in("router2", "neigh", "add", "198.18.2.1", "lladdr", "02:00:00:00:00:03", "dev", "wan", "nud", "permanent")
    ip_in("client", "route", "add", "default", "via", "198.18.1.2")
    ip_in("router1", "route", "add", "198.18.3.0/24", "via", "198.18.2.2")
    ip_in("router2", "route", "add", "198.18.1.0/24", "via", "198.18.2.1")
    ip_in("server", "route", "add", "default", "via", "198.18.3.2")
    for role in ("router1", "router2"):
        with inside(role):
            write_sysctl("ipv4/ip_forward", "1")


def add_bottleneck(role: str, rate_kbit: int, queue_packets: int) -> None:
    """Limit what a router sends on `wan` to a rate in kbit/s (1000 bit), with a drop-tail queue in packets."""
    add = ("tc", "-n", name_of(role), "qdisc", "add", "dev", "wan")
    try:
        run(*add, "root", "handle", "1:", "tbf", "rate", f"{rate_kbit}kbit", "burst", "1600", "limit", "10000000")
        run(*add, "parent", "1:1", "handle", "10:", "pfifo", "limit", str(queue_packets))
    except RecordError as error:
        raise RecordError(f"this kernel or `tc` lacks the tbf or pfifo queueing discipline ({error})") from error


def queue_drops(role: str) -> int:
    """Packets dropped so far by a router's bottleneck queue."""
    listed = json.loads(run("tc", "-n", name_of(role), "-s", "-j", "qdisc", "show", "dev", "wan"))
    return int(next(item["drops"] for item in listed if item["kind"] == "tbf"))


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
    """Take one frame and its kernel time (ns since the epoch) from a capture, or None when nothing waits."""
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
    """Open one end of the wire: takes every incoming frame, whoever it is for."""
    tap = packet_socket("wire", device, ETH_P_ALL)
    tap.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    with inside("wire"):
        index = socket.if_nametoindex(device)
    tap.setsockopt(SOL_PACKET, PACKET_ADD_MEMBERSHIP, struct.pack("iHH8s", index, PACKET_MR_PROMISC, 0, b""))
    return tap


def real_time_priority() -> None:
    """Ask for real-time scheduling of this process; go on without it if refused."""
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))


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
    """Matches the forward flow's data segments to the ACKs that answer them.

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
        """Note a segment of the forward flow; others are passed over."""
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
        """Turn what was seen into series whose time starts at `zero_ns` (epoch); probes carry their planned time."""
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
    """Frames the capture lost for want of buffer since it was opened or last asked."""
    return int(struct.unpack("II", tap.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))[1])


# --- traffic ----------------------------------------------------------------------------------------------------------


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


def sleep_until(when_s: float) -> None:
    """Sleep until monotonic time `when_s`."""
    time.sleep(max(0.0, when_s - time.monotonic()))


def connect(port: int, congestion: str) -> tuple[socket.socket, socket.socket]:
    """Open a TCP connection from client to server `port` under a congestion control; return (client, server) ends."""
    with inside("server"):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with inside("client"):
        client = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    with listener:
        for end in (listener, client):
            end.settimeout(10.0)
            try:
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
            except OSError as error:
                raise RecordError(f"this kernel has no congestion control `{congestion}`") from error
        listener.bind((SERVER_IP, port))
        listener.listen(1)
        try:
            client.connect((SERVER_IP, port))
            server, _peer = listener.accept()
        except OSError as error:
            raise RecordError(f"no connection across the path: {error}") from error
    server.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, congestion.encode())
    for end in (client, server):
        end.settimeout(0.5)
    return client, server


def pour(end: socket.socket, start_s: float, stop_s: float) -> None:
    """Send as much as TCP takes from monotonic time `start_s` until `stop_s`."""
    sleep_until(start_s)
    block = bytes(16384)
    while time.monotonic() < stop_s:
        with contextlib.suppress(TimeoutError):
            end.send(block)


def drink(end: socket.socket, stop_s: float, count: DoubleCell) -> None:
    """Receive until monotonic time `stop_s`, keeping the number of bytes in `count`."""
    while time.monotonic() < stop_s:
        with contextlib.suppress(TimeoutError):
            got = len(end.recv(1 << 18))
            if not got:
                return
            count.value += got


def checksum(message: bytes) -> int:
    """Internet checksum of a message of even length."""
    total: int = sum(struct.unpack(f"!{len(message) // 2}H", message))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total


def echo_request(number: int) -> bytes:
    """ICMP echo request with the probe's number."""
    blank = struct.pack("!BBHHH", 8, 0, 0, PROBE_ID, number) + PROBE_PAYLOAD
    return blank[:2] + struct.pack("!H", checksum(blank)) + blank[4:]


def probe(sender: socket.socket, start_s: float, interval_s: float, count: int) -> None:
    """Send `count` echo requests to the client, one every `interval_s` from monotonic time `start_s`."""
    real_time_priority()
    for number in range(count):
        sleep_until(start_s + number * interval_s)
        sender.sendto(echo_request(number), (CLIENT_IP, 0))


class Crew:
    """Child processes; leaving the `with` block ends those that still run."""

    def __init__(self) -> None:
        """Start with no process."""
        self._members: list[multiprocessing.process.BaseProcess] = []

    def __enter__(self) -> Self:
        """Enter with no process yet."""
        return self

    def __exit__(self, *_: object) -> None:
        for member in self._members:
            member.terminate()
        for member in self._members:
            member.join(2.0)
            if member.is_alive():
                member.kill()
                member.join(2.0)

    def start(self, work: Callable[..., None], *arguments: object) -> None:
        """Run `work(*arguments)` in a process of its own, which dies with this one."""

        def body() -> None:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            signal.alarm(0)
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            work(*arguments)

        member = multiprocessing.get_context("fork").Process(target=body, name=work.__name__, daemon=True)
        member.start()
        self._members.append(member)

    def check(self) -> None:
        """Raise RecordError if a process has failed."""
        for member in self._members:
            if member.exitcode:
                raise RecordError(f"the process `{member.name}` ended early (exit status {member.exitcode})")


# --- the run ----------------------------------------------------------------------------------------------------------


def run_traffic(settings: Settings) -> Outcome:
    """Send both flows and the probes over the built path and return what was recorded."""
    last_s = time.monotonic() + settings.seconds + DRAIN_S + 20
    late, forward, reverse = DoubleCell(), DoubleCell(), DoubleCell()
    with Crew() as crew:
        crew.start(carry, (wire_socket("west"), wire_socket("east")), settings.delay_ms / 1000, last_s, late)
        tap = packet_socket("server", "eth0", ETH_P_ALL)
        recorder = Recorder()
        forward_client, forward_server = connect(FORWARD_PORT, settings.congestion)
        reverse_client, reverse_server = connect(REVERSE_PORT, settings.congestion)
        with inside("server"):
            pinger = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
        start_s = time.monotonic() + 0.5
        zero_ns = time.time_ns() + round((start_s - time.monotonic()) * 1e9)
        stop_s = start_s + settings.seconds
        crew.start(drink, forward_client, stop_s, forward)
        crew.start(drink, reverse_server, stop_s, reverse)
        crew.start(pour, forward_server, start_s, stop_s)
        crew.start(pour, reverse_client, start_s + settings.reverse_start_s, stop_s)
        crew.start(probe, pinger, start_s, settings.interval_ms / 1000, settings.probes)
        record(tap, recorder, stop_s)
        crew.check()
        print(f"forward goodput        {forward.value * 8 / settings.seconds / 1000:.0f} kb/s")
        upload_s = settings.seconds - settings.reverse_start_s
        print(f"reverse goodput        {reverse.value * 8 / upload_s / 1000:.0f} kb/s while it ran")
        print(f"drops down / up        {queue_drops('router2')} / {queue_drops('router1')} packets")
        record(tap, recorder, stop_s + DRAIN_S)
        print(f"largest wire lateness  {late.value * 1000:.3f} ms")
    return recorder.outcome(settings, zero_ns, drops_of(tap))


def check_outcome(outcome: Outcome, settings: Settings) -> None:
    """Raise RecordError if the series cannot be right."""
    floor_s = 2 * settings.delay_ms / 1000
    for name, series in (("probe", outcome.probes), ("ACK", outcome.acks)):
        if len(series) < 10:
            raise RecordError(f"only {len(series)} {name} samples were recorded")
        if min(rtt for _, rtt in series) < floor_s - 0.001:
            raise RecordError(f"a {name} sample lies below the propagation delay of {floor_s:g} s")
    if outcome.largest_frame > MAX_FRAME:
        raise RecordError(f"a frame of {outcome.largest_frame} bytes was seen: an offload is still on")
    if outcome.capture_drops:
        raise RecordError(f"the capture lost {outcome.capture_drops} frames: the series would have errors")


def thin(series: Sequence[Sample], rows: int) -> tuple[list[Sample], int]:
    """Keep every k-th sample with the smallest k that leaves at most `rows`; return them and k."""
    step = max(1, -(-len(series) // rows))
    return list(series[::step]), step


def write_csv(path: pathlib.Path, series: Sequence[Sample]) -> None:
    """Write a series in seconds, rounded to 1 microsecond."""
    with path.open("w", encoding="ascii", newline="") as handle:
        writer = csv.writer(handle, lineterminator="\n")
        writer.writerow(("time_s", "rtt_s"))
        writer.writerows((f"{when:.6f}", f"{rtt:.6f}") for when, rtt in series)


def describe(name: str, series: Sequence[Sample]) -> str:
    """One line about a series: rows, and mean, standard deviation, least and largest round-trip time in ms."""
    rtts = [rtt * 1000 for _, rtt in series]
    return (
        f"{name}: {len(rtts)} rows, RTT mean {statistics.fmean(rtts):.1f} ms, sd {statistics.pstdev(rtts):.1f} ms, "
        f"min {min(rtts):.3f} ms, max {max(rtts):.1f} ms"
    )


def check_machine() -> None:
    """Raise RecordError unless this is Linux, the user is root, and `ip` and `tc` are there."""
    if not sys.platform.startswith("linux"):
        raise RecordError("this needs Linux")
    if os.geteuid() != 0:
        raise RecordError("this needs root, to make network namespaces")
    missing = [tool for tool in ("ip", "tc") if shutil.which(tool) is None]
    if missing:
        raise RecordError(f"cannot find {' and '.join(f'`{tool}`' for tool in missing)}: install iproute2")


def interrupted(number: int, _frame: FrameType | None) -> None:
    """Turn a signal into an exception, so that everything is cleaned up."""
    if number == signal.SIGALRM:
        raise RecordError("the run took too long")
    raise RecordError(f"stopped by {signal.Signals(number).name}")


def positive(text: str) -> float:
    """Read a positive finite number."""
    number = float(text)
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"not a positive number: {text}")
    return number


def whole(text: str) -> int:
    """Read a positive whole number."""
    number = int(text)
    if not 0 < number < 10**9:
        raise argparse.ArgumentTypeError(f"not a positive whole number: {text}")
    return number


def read_arguments(arguments: Sequence[str] | None) -> Settings:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Record round-trip times of a TCP flow over an asymmetric path.")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("."), help="folder for the two CSV files")
    parser.add_argument("--seconds", type=positive, default=120.0, help="length of the recording, at most 600")
    parser.add_argument("--interval-ms", type=positive, default=100.0, help="time between probes (at least 5)")
    parser.add_argument("--down-kbit", type=whole, default=4000, help="downlink rate, kbit/s")
    parser.add_argument("--up-kbit", type=whole, default=256, help="uplink rate, kbit/s")
    parser.add_argument("--delay-ms", type=positive, default=50.0, help="one-way delay")
    parser.add_argument("--queue-packets", type=whole, default=50, help="length of either drop-tail queue")
    parser.add_argument("--reverse-start-s", type=positive, default=5.0, help="when the reverse flow starts")
    parser.add_argument("--congestion", default="reno", help="congestion control of both flows, e.g. reno, cubic")
    parser.add_argument("--ack-rows", type=whole, default=3000, help="thin the ACK series to at most this many rows")
    settings = Settings(**vars(parser.parse_args(arguments)))
    if settings.seconds > 600 or settings.interval_ms < 5 or not 1 <= settings.probes <= 65536:
        parser.error("--seconds must be at most 600, --interval-ms at least 5, and there can be 1 to 65536 probes")
    if settings.reverse_start_s >= settings.seconds:
        parser.error("--reverse-start-s must lie before the end of the recording")
    return settings


def make_recording(settings: Settings) -> None:
    """Build the path, run the traffic, write both series and print a summary."""
    settings.out.mkdir(parents=True, exist_ok=True)
    print(f"kernel                 Linux {platform.release().split('-')[0]}, TCP {settings.congestion}")
    with namespaces():
        build_path()
        add_bottleneck("router1", settings.up_kbit, settings.queue_packets)
        add_bottleneck("router2", settings.down_kbit, settings.queue_packets)
        outcome = run_traffic(settings)
    check_outcome(outcome, settings)
    acks, step = thin(outcome.acks, settings.ack_rows)
    write_csv(settings.out / "rtt-probes.csv", outcome.probes)
    write_csv(settings.out / "rtt-acks.csv", acks)
    print(f"retransmissions        {outcome.retransmitted} of the forward flow")
    print(f"probes sent, lost      {outcome.sent_probes}, {outcome.sent_probes - len(outcome.probes)}")
    print(f"probe send lateness    at most {outcome.probe_jitter_s * 1000:.3f} ms")
    print(f"ACK samples            {len(outcome.acks)}, 1 in {step} kept")
    print(describe("rtt-probes.csv", outcome.probes))
    print(describe("rtt-acks.csv", acks))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the script; return its exit status."""
    settings = read_arguments(arguments)
    try:
        check_machine()
        for number in SIGNALS:
            signal.signal(number, interrupted)
        signal.alarm(int(settings.seconds + DRAIN_S) + 60)
        make_recording(settings)
    except (RecordError, OSError) as error:
        print(f"record.py: error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
