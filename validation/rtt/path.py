"""The path of the recording: namespaces, links, bottlenecks. Sizes in the units that the names end with."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import fcntl
import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
from collections.abc import Iterator, Sequence

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
    """An error that ends the recording with one message."""


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
    """Enter a role's namespace for the duration of the block; sockets created in the block stay in it."""
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
    """Delete the namespaces of earlier runs of this script whose process no longer exists."""
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

    The routers have permanent ARP entries for each other, so that no ARP packet passes the bottleneck queues.
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
