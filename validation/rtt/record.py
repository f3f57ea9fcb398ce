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
import contextlib
import csv
import ctypes
import multiprocessing
import multiprocessing.process
import os
import pathlib
import platform
import shutil
import signal
import socket
import statistics
import struct
import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Self

from capture import (
    DoubleCell,
    Outcome,
    Recorder,
    carry,
    drops_of,
    packet_socket,
    real_time_priority,
    record,
    wire_socket,
)
from path import (
    CLIENT_IP,
    DRAIN_S,
    ETH_P_ALL,
    FORWARD_PORT,
    MAX_FRAME,
    PR_SET_PDEATHSIG,
    PROBE_ID,
    PROBE_PAYLOAD,
    REVERSE_PORT,
    SERVER_IP,
    SIGNALS,
    RecordError,
    Sample,
    Settings,
    add_bottleneck,
    build_path,
    inside,
    namespaces,
    queue_drops,
)


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
        """Run `work(*arguments)` in a separate process, which ends when this one ends."""

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
    """Raise an exception for a signal, so that all resources are released."""
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
