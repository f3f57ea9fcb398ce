"""PragueCC of udp_prague, a second implementation of Prague, as a controller of this simulator.

    python validation/prague/udp_prague.py UDP_PRAGUE [SEEDS]    a minute; UDP_PRAGUE is a folder with its sources

Compiles it with shim.cpp, puts it and `prague` beside CUBIC and alone behind DualPI2, and prints the table of
docs/validation-queues.md.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from ackclock import Controller, Scenario, stats

HERE = Path(__file__).parent
RTTS_MS = (5, 10, 20, 50, 100)


def compiled(sources: Path, folder: Path) -> ctypes.CDLL:
    """The library."""
    out = folder / "prague.so"
    files = [str(HERE / "shim.cpp"), str(sources / "prague_cc.cpp")]
    subprocess.run(["g++", "-O2", "-shared", "-fPIC", f"-I{sources}", "-o", str(out), *files], check=True)
    loaded = ctypes.CDLL(str(out))
    number, pointer = ctypes.c_uint64, ctypes.c_void_p
    loaded.flow_open.argtypes, loaded.flow_open.restype = [number] * 3, pointer
    loaded.flow_ack.argtypes, loaded.flow_close.argtypes = [pointer, *[number] * 6], [pointer]
    loaded.flow_rate.argtypes, loaded.flow_rate.restype = [pointer, number], number
    for name in ("window", "alpha"):
        function = getattr(loaded, f"flow_{name}")
        function.argtypes, function.restype = [pointer], number
    return loaded


def controller(library: ctypes.CDLL) -> type[Controller]:
    """A class with the congestion controller of udp_prague, for TCP flows."""

    class UdpPrague(Controller):
        needs: ClassVar[tuple[str, ...]] = ("pacing", "sent", "segment_counts", "ecn_per_packet", "l4s")
        ecn_response = "confirm"
        owns_window = True

        def __init__(self, flow: Any) -> None:
            super().__init__(flow)
            self.packet, self.sent, self.marked, self.delivered = flow.packet, 0, 0, 0
            # The first rate is that of the initial window in 10 ms.
            self.flow = library.flow_open(flow.packet, int(flow.initial_window), 1000 * flow.packet)
            self.pacing_bps: float | None = 8000.0 * flow.packet

        def __del__(self) -> None:
            library.flow_close(self.flow)

        def on_sent(self, sent: Any) -> None:
            self.sent += 1

        def on_ack(self, ack: Any) -> None:
            us, new = ack.now_ps // 10**6, ack.delivered_total - self.delivered
            self.delivered = ack.delivered_total
            self.marked += new if ack.ece else 0
            rtt = (ack.rtt_ps or 0) // 10**6
            library.flow_ack(self.flow, us, rtt, self.delivered, self.marked, ack.lost_total, self.sent)
            self.pacing_bps = 8.0 * library.flow_rate(self.flow, us)
            self.cwnd = float(max(1, library.flow_window(self.flow)))

        def on_congestion(self, event: Any) -> None:
            """The counters say it."""

        def on_rto(self, event: Any) -> None:
            self.cwnd = 2.0

        def set_window(self, cwnd: float) -> None:
            self.cwnd = cwnd

    return UdpPrague


def measure(rtt_ms: int, control: type[Controller] | None, seed: int, *, alone: bool) -> tuple[float, float]:
    """Goodput of Prague (alone, Mb/s; beside CUBIC, over its goodput) and 99th percentile of its queueing delay, ms."""
    changes = [f"link.bottleneck.delay={rtt_ms / 2}ms", *(["flow.cubic.start=1000s"] if alone else [])]
    controllers = {"prague": control} if control else None
    outcome = Scenario.load("@l4s", changes, controllers=controllers).run(seed=seed).outcome
    prague, cubic = outcome["flows"]
    goodput = prague["goodput_bps"] / (1e6 if alone else cubic["goodput_bps"])
    return goodput, 1e3 * (prague["p99_delay_s"] - prague["base_delay_s"])


def main(sources: str, seeds: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        theirs = controller(compiled(Path(sources), Path(folder)))
        columns = [f"{what}, {who}" for what in ("alone Mb/s", "ratio", "delay ms") for who in ("here", "udp_prague")]
        print(f"| RTT, ms | {' | '.join(columns)} |")
        print("|---|---|---|---|---|---|---|")
        for rtt_ms in RTTS_MS:
            both = [
                [[measure(rtt_ms, one, seed, alone=alone) for seed in range(1, seeds + 1)] for one in (None, theirs)]
                for alone in (True, False)
            ]
            values = [(both[0], 0), (both[1], 0), (both[1], 1)]
            cells = [stats.mean([row[at] for row in each]).text(2) for rows, at in values for each in rows]
            print(f"| {rtt_ms} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5)
