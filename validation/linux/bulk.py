"""Bulk transfers of the kernel's TCP through `ackclock emulate`, with chosen controllers and receive buffers.

Run as a program it is one of the two ends, inside the network namespaces of the emulation.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

PORT = 5201
RECEIVE = {"default": "4096 131072 6291456", "large": "4096 8388608 67108864"}
"""`tcp_rmem` by name: least, initial and largest buffer. The default one grows with what is read."""
SEND = "4096 65536 67108864"


def enlarge_buffers(receive: str) -> None:
    """Set the limits of the socket buffers of this network namespace."""
    Path("/proc/sys/net/ipv4/tcp_rmem").write_text(RECEIVE[receive], encoding="utf-8")
    Path("/proc/sys/net/ipv4/tcp_wmem").write_text(SEND, encoding="utf-8")


def count(listener: socket.socket, begin_s: float, end_s: float, goodputs: dict[str, float], name: str) -> None:
    """Receive one flow; its goodput is measured from `begin_s` to `end_s` after the connection."""
    connection, _ = listener.accept()
    start, total = time.monotonic(), 0
    while data := connection.recv(1 << 16):
        total += len(data) if begin_s <= time.monotonic() - start < end_s else 0
    connection.close()
    goodputs[name] = round(8e-6 * total / (end_s - begin_s), 4)


def run_all(threads: Sequence[threading.Thread]) -> None:
    """Start threads and wait for them."""
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def serve(report: str, receive: str, begin_s: float, end_s: float, controls: list[str]) -> None:
    """Receive all flows and write their goodputs, Mb/s."""
    enlarge_buffers(receive)
    goodputs: dict[str, float] = {}
    listeners = [socket.create_server(("", PORT + number)) for number in range(len(controls))]
    flows = zip(listeners, controls, strict=True)
    run_all(
        [
            threading.Thread(target=count, args=(listener, begin_s, end_s, goodputs, control))
            for listener, control in flows
        ]
    )
    Path(report).write_text(json.dumps(goodputs), encoding="utf-8")


def send(remote: str, port: int, control: str, until: float) -> None:
    """Send one flow until a time, then wait until the receiver has everything and closes."""
    with socket.socket() as sender:
        sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, control.encode())
        sender.connect((remote, port))
        while time.monotonic() < until:
            sender.send(bytes(1 << 14))
        sender.shutdown(socket.SHUT_WR)
        sender.settimeout(20)
        sender.recv(1)


def send_all(remote: str, receive: str, end_s: float, controls: list[str]) -> None:
    """Send all flows; they start at once."""
    enlarge_buffers(receive)
    until = time.monotonic() + end_s
    run_all(
        [
            threading.Thread(target=send, args=(remote, PORT + number, control, until))
            for number, control in enumerate(controls)
        ]
    )
    time.sleep(2)  # the emulation ends with this program, and with it the receiver, which has its report to write


def emulate(
    scenario: str, controls: Sequence[str], receive: str, begin_s: float, end_s: float
) -> tuple[dict[str, float], Any]:
    """Goodputs by controller, Mb/s, and the outcome of the emulation; one flow for each controller of the kernel."""
    with tempfile.TemporaryDirectory() as folder:
        file, report = Path(folder, "scenario.toml"), Path(folder, "report.json")
        file.write_text(scenario, encoding="utf-8")
        program = [sys.executable, __file__]
        ends = [receive, str(begin_s), str(end_s), *controls]
        command = [str(Path(sys.executable).with_name("ackclock")), "emulate", str(file), "--json"]
        command += ["--for", f"{end_s + 30}s", "--at-to", " ".join([*program, "serve", str(report), *ends])]
        command += ["--", *program, "send", "{remote}", *ends]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not report.exists():
            raise SystemExit(f"no result: status {done.returncode}: {done.stderr.strip()[-300:]}")
        return json.loads(report.read_text(encoding="utf-8")), json.loads(done.stdout)


def main() -> None:
    """Be one of the two ends."""
    role, place, receive, begin_s, end_s, *controls = sys.argv[1:]
    if role == "serve":
        serve(place, receive, float(begin_s), float(end_s), controls)
    else:
        send_all(place, receive, float(end_s), controls)


if __name__ == "__main__":
    main()
