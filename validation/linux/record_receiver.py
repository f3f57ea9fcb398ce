"""Plays scripts of arriving segments to the TCP receiver of this machine's kernel and writes down its ACKs. Needs root.

    unshare -n python3 record_receiver.py < scripts.jsonl > answers.jsonl

One process owns the receiving socket and the TUN device behind which it plays the sender, so the kernel has processed a
segment when the write of it returns. Between two events the application reads what has arrived, unless the script says
`"reads": false`. The forms are those of docs/replay.md, part Receivers.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import socket
import struct
import subprocess
import sys
import time
from typing import Any

TUNSETIFF, IFF_TUN, IFF_NO_PI, IFF_VNET_HDR = 0x400454CA, 1, 0x1000, 0x4000
KERNEL, SENDER, PORT = "10.9.0.1", "10.9.0.2", 8080
SYN, ACK, ECE, CWR = 0x02, 0x10, 0x40, 0x80
NO_HEADER = bytes(10)
"""A virtio header that says nothing."""
CLOCK = 5000
"""The sender's timestamp at time 0, milliseconds."""
Line = dict[str, Any]


def checksum(data: bytes) -> int:
    """The sum of the Internet checksum, not complemented."""
    data += bytes(len(data) % 2)
    total: int = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


class Device:
    """The TUN device. It has its own network namespace."""

    def __init__(self) -> None:
        """Create it."""
        self.fd = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self.fd, TUNSETIFF, struct.pack("16sH", b"tun0", IFF_TUN | IFF_NO_PI | IFF_VNET_HDR))
        for name in ("net/ipv6/conf/default/disable_ipv6", "net/ipv4/tcp_no_metrics_save"):
            with open(f"/proc/sys/{name}", "w", encoding="utf-8") as setting:
                setting.write("1")
        subprocess.run(f"ip addr add {KERNEL}/24 dev tun0".split(), check=True)
        self.port, self.mtu = 20000, 0

    def size(self, mtu: int) -> None:
        """Set the largest packet, from which the receiver's own segment size follows."""
        if mtu != self.mtu:
            subprocess.run(f"ip link set tun0 up mtu {mtu} txqueuelen 10000".split(), check=True)
            self.mtu = mtu


class Exchange:
    """One script, played once."""

    def __init__(self, device: Device, script: Line) -> None:
        """Open the listening socket."""
        self.device, self.options = device, script["options"]
        device.port += 1
        self.port = device.port
        self.mss: int = self.options["mss"]
        device.size(self.mss + 40 + (12 if self.options.get("timestamps", 0) else 0))
        self.stamped = bool(self.options.get("timestamps", 0))
        self.isn = 0
        self.stamps: list[tuple[int, int]] = []
        """When an ACK was sent, and its timestamp."""
        self.answers: list[Line] = []
        self.played = -1
        """The event that was played last."""
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((KERNEL, PORT))
        self.socket.listen(8)
        self.begin = time.monotonic_ns()

    def now(self) -> int:
        """Microseconds since the SYN."""
        return (time.monotonic_ns() - self.begin) // 1000

    def write(self, flags: int, seq: int, payload: int, options: bytes, ecn: int = 0, segments: int = 1) -> None:
        """Write a segment, or several as one packet with segmentation offload."""
        options += b"\1" * (-len(options) % 4)
        length = 20 + len(options) + payload
        header = struct.pack("!HHII", self.port, PORT, seq & 0xFFFFFFFF, (self.isn + 1) & 0xFFFFFFFF if self.isn else 0)
        header += struct.pack("!BBHHH", (5 + len(options) // 4) << 4, flags, 60000, 0, 0) + options
        addresses = socket.inet_aton(SENDER) + socket.inet_aton(KERNEL)
        pseudo = addresses + struct.pack("!BBH", 0, 6, length)
        total = checksum(pseudo) if segments > 1 else ~checksum(pseudo + header) & 0xFFFF  # the payload is zero
        tcp = header[:16] + struct.pack("!H", total) + header[18:] + bytes(payload)
        ip = struct.pack("!BBHHHBBH", 0x45, ecn, 20 + length, 0, 0x4000, 64, 6, 0) + addresses
        ip = ip[:10] + struct.pack("!H", ~checksum(ip) & 0xFFFF) + ip[12:]
        offload = NO_HEADER
        if segments > 1:
            # NEEDS_CSUM, TCPv4, header length, size of a segment, start and place of the checksum
            offload = struct.pack("<BBHHHH", 1, 1, 40 + len(options), payload // segments, 20, 16)
        os.write(self.device.fd, offload + ip + tcp)

    def stamp(self, at_ms: int, lag_us: int = 0) -> bytes:
        """The timestamp option of a segment: its time, and the echo of the newest ACK that is `lag_us` old."""
        if not self.stamped:
            return b""
        limit = self.now() - lag_us
        echo = next(
            (value for at, value in reversed(self.stamps) if at <= limit), self.stamps[0][1] if self.stamps else 0
        )
        return struct.pack("!BBBBII", 1, 1, 8, 10, CLOCK + at_ms, echo)

    def acks(self) -> list[list[Any]]:
        """The ACKs that the kernel has sent: next byte, blocks, flags, echo in ms (-1: none), window."""
        rows: list[list[Any]] = []
        while True:
            try:
                packet = os.read(self.device.fd, 70000)[10:]
            except BlockingIOError:
                return rows
            if packet[0] >> 4 != 4 or packet[9] != 6:
                continue
            _, to, seq, ack, offset, flags, window = struct.unpack_from("!HHIIBBH", packet, 20)
            if to != self.port:
                continue
            end, place, blocks, echo = (offset >> 4) * 4, 20, [], -1
            options = packet[20:]
            while place < end and options[place]:
                kind = options[place]
                if kind == 1:
                    place += 1
                    continue
                size = options[place + 1]
                if kind == 8:
                    value, echo = struct.unpack_from("!II", options, place + 2)
                    echo -= CLOCK
                    self.stamps.append((self.now(), value))
                elif kind == 3:
                    self.scale = options[place + 2]
                elif kind == 5:
                    edges = struct.unpack_from(f"!{(size - 2) // 4}I", options, place + 2)
                    blocks = [[a - 1, b - 1] for a, b in zip(edges[::2], edges[1::2], strict=True)]
                place += size
            if flags & SYN:
                self.isn, self.ecn = seq, bool(flags & ECE)
                continue
            rows.append([ack - 1, blocks, "e" if flags & ECE else "", echo, window << self.scale])

    def note(self, number: int, at: int, rows: list[list[Any]]) -> None:
        """Store an answer: to an event, or of a timer (-1) after one."""
        if rows:
            place = {"in": number} if number >= 0 else {"in": -1, "after": self.played}
            self.answers.append({**place, "t": [at, at], "acks": rows})

    def wait(self, until: int) -> None:
        """Wait for a time; note what timers send."""
        while (left := until - self.now()) > 0:
            ready, _, _ = select.select([self.device.fd], [], [], max(left - 40, 0) / 1e6)
            if ready:
                at = self.now()
                self.note(-1, min(at, until), self.acks())

    def read(self) -> None:
        """Let the application read everything."""
        try:
            while self.application.recv(1 << 20):
                pass
        except BlockingIOError:
            return

    def play(self, script: Line) -> list[Line]:
        """Play the script. Returns the answers."""
        options, handshake = self.options, self.options["handshake_us"]
        offer = struct.pack("!BBH", 2, 4, self.mss + (12 if self.stamped else 0))
        offer += b"\4\2" if options.get("sack", 1) else b""
        offer += self.stamp(0) + struct.pack("!BBBB", 1, 3, 3, 7)
        self.scale = 0
        self.write(SYN | (ECE | CWR if options.get("ecn", 0) else 0), 0, 0, offer)
        self.acks()
        if not self.isn:
            raise SystemExit("no SYN-ACK")
        if self.ecn != bool(options.get("ecn", 0)):
            raise SystemExit("ECN was not negotiated")
        self.wait(handshake)
        self.write(ACK, 1, 0, self.stamp(0, handshake))
        self.acks()
        self.application, _ = self.socket.accept()
        self.socket.close()
        self.application.setblocking(False)
        reads = options.get("reads", True)
        for number, event in enumerate(script["events"]):
            at = event["t"]
            self.wait(at)
            self.note(-1, at, self.acks())
            self.played = number
            if event["do"] == "read":
                self.read()
            else:
                segments = event.get("segments", 1)
                flags = ACK | (CWR if event.get("cwr") else 0)
                ecn = {"not": 0, "ect": 2, "ce": 3}[event.get("ecn", "ect" if self.ecn else "not")]
                stamp = self.stamp(event.get("sent_ms", at // 1000), handshake)
                self.write(flags, 1 + event["seq"], segments * self.mss, stamp, ecn, segments)
                if reads:
                    self.read()
            self.note(number, at, self.acks())
        self.wait(script["end"])
        self.application.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.application.close()
        self.acks()
        return self.answers


def untimed(answers: list[Line]) -> list[tuple[Any, ...]]:
    """The answers without the times of timers and without windows."""
    return [(answer["in"], answer.get("after"), [row[:4] for row in answer["acks"]]) for answer in answers]


def record(device: Device, script: Line, repeats: int = 3) -> Line:
    """A script with the answers of the kernel. It is exact if all repeats agree but for the times of timers."""
    takes = [Exchange(device, script).play(script) for _ in range(repeats)]
    exact = all(untimed(take) == untimed(takes[0]) for take in takes)
    return {**script, "exact": exact, "answers": takes[0], "kernel": os.uname().release}


def main() -> int:
    """Record every line of standard input."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(51))
    device = Device()
    for line in sys.stdin:
        if line.strip():
            print(json.dumps(record(device, json.loads(line)), separators=(",", ":")), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
