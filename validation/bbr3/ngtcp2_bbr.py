"""BBR of ngtcp2, a second implementation of version 3 of BBR, as a controller of this simulator.

    python validation/bbr3/ngtcp2_bbr.py NGTCP2 [SEEDS]    a few minutes; NGTCP2 is a folder with its sources

Compiles `lib` of ngtcp2 with shim.c, runs both controllers over QUIC in the networks below with equal seeds, and prints
the table of docs/validation-queues.md.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from ackclock import Controller, Scenario, stats

HERE = Path(__file__).parent
PROBES = ("bandwidth", "bw", "min_rtt", "longterm", "shortterm")
CLEARED = "    bbr->rst->is_cwnd_limited = 0;\n"
"""The line of ngtcp2_bbr.c that forgets at the first ACK of a round, before it is used, that the window was full."""


def compiled(sources: Path, folder: Path, *, keeps: bool) -> ctypes.CDLL:
    """The library; with `keeps`, without the line CLEARED."""
    copy, out = folder / f"lib-{keeps}", folder / f"bbr-{keeps}.so"
    shutil.copytree(sources / "lib", copy)
    version = (copy / "includes" / "ngtcp2" / "version.h.in").read_text(encoding="utf-8")
    for name in ("@PACKAGE_VERSION@", "@PACKAGE_VERSION_NUM@"):
        version = version.replace(name, "0")
    (copy / "includes" / "ngtcp2" / "version.h").write_text(version, encoding="utf-8")
    code = (copy / "ngtcp2_bbr.c").read_text(encoding="utf-8")
    if CLEARED not in code:
        raise SystemExit("this version of ngtcp2 has another ngtcp2_bbr.c; tried with the commit f3af8b14")
    if keeps:
        (copy / "ngtcp2_bbr.c").write_text(code.replace(CLEARED, "", 1), encoding="utf-8")
    macros = ["-DHAVE_UNISTD_H", "-DHAVE_ARPA_INET_H", "-DHAVE_NETINET_IN_H"]
    files = [str(HERE / "shim.c"), *map(str, sorted(copy.glob("*.c")))]
    command = ["gcc", "-O2", "-shared", "-fPIC", *macros, f"-I{copy}", f"-I{copy / 'includes'}", "-o", str(out), *files]
    subprocess.run(command, check=True)
    loaded = ctypes.CDLL(str(out))
    number, pointer = ctypes.c_uint64, ctypes.c_void_p
    loaded.flow_open.argtypes, loaded.flow_open.restype = [number] * 4, pointer
    for name, arguments in {"sent": 2, "lost": 1, "delivered": 2, "ack": 2, "close": 0}.items():
        getattr(loaded, f"flow_{name}").argtypes = [pointer, *[number] * arguments]
    for name in ("window", "pacing", *PROBES):
        function = getattr(loaded, f"flow_{name}")
        function.argtypes, function.restype = [pointer], number
    loaded.flow_state.argtypes = [pointer]
    return loaded


def controller(library: ctypes.CDLL) -> type[Controller]:
    """A class with the congestion controller of ngtcp2, for flows over QUIC."""

    class Ngtcp2Bbr(Controller):
        needs: ClassVar[tuple[str, ...]] = ("pacing", "sent", "losses", "deliveries", "segment_counts")
        probes: ClassVar[tuple[str, ...]] = ("state", *PROBES)
        owns_window = True

        def __init__(self, flow: Any) -> None:
            super().__init__(flow)
            self.packet = flow.packet
            self.flow = library.flow_open(flow.packet, int(flow.initial_window), flow.seed & (2**32 - 1), 0)
            self.pacing_bps: float | None = None
            self.state = 0

        def __del__(self) -> None:
            library.flow_close(self.flow)

        def on_sent(self, sent: Any) -> None:
            library.flow_sent(self.flow, sent.seq, sent.now_ps // 1000)

        def on_lost(self, lost: Any) -> None:
            library.flow_lost(self.flow, lost.seq)

        def on_delivered(self, delivered: Any) -> None:
            library.flow_delivered(self.flow, delivered.seq, delivered.now_ps // 1000)

        def on_ack(self, ack: Any) -> None:
            library.flow_ack(self.flow, ack.now_ps // 1000, (ack.rtt_ps or 0) // 1000)
            self.cwnd = max(1.0, library.flow_window(self.flow) / self.packet)
            interval = library.flow_pacing(self.flow)
            self.pacing_bps = 8e9 * 1024 / interval if interval else None
            self.state = library.flow_state(self.flow)
            for name in PROBES:
                setattr(self, name, float(getattr(library, f"flow_{name}")(self.flow)))

        def on_congestion(self, event: Any) -> None:
            """The other events say all."""

        def on_rto(self, event: Any) -> None:
            """A timeout of QUIC sends a probe and changes no window."""

        def set_window(self, cwnd: float) -> None:
            self.cwnd = cwnd

    return Ngtcp2Bbr


def network(rate: str, delay: str, limit: str, loss: float = 0.0, rival: str = "", step: str = "") -> dict[str, Any]:
    """One flow over QUIC behind a bottleneck; a rival starts with it."""
    link: dict[str, Any] = {"name": "b", "ends": ["a", "z"], "rate": rate, "delay": delay}
    link |= {
        "queue": {"kind": "droptail", "limit": limit},
        "back": {"loss": [], "queue": {"kind": "droptail", "limit": "10000p"}},
    }
    if loss:
        link["loss"] = {"kind": "bernoulli", "rate": loss}
    if step:
        link["rate"] = {"kind": "steps", "steps": [["0s", rate], ["20s", step], ["40s", rate]]}
    flows = [{"name": "f", "from": "a", "to": "z", "quic": {}}]
    flows += (
        [{"name": "g", "from": "a", "to": "z", "start": "100ms", "quic": {"congestion_control": rival}}]
        if rival
        else []
    )
    return {"duration": "60s", "warmup": "5s", "link": [link], "flow": flows}


NETWORKS = {
    "10 Mb/s, 40 ms, 1 BDP": network("10Mbps", "20ms", "1bdp"),
    "50 Mb/s, 20 ms, 4 BDP": network("50Mbps", "10ms", "4bdp"),
    "20 Mb/s, 80 ms, 0.5 BDP": network("20Mbps", "40ms", "0.5bdp"),
    "20 Mb/s, 40 ms, 1 BDP, losses 1 %": network("20Mbps", "20ms", "1bdp", 0.01),
    "20 Mb/s, 40 ms, 1 BDP, losses 5 %": network("20Mbps", "20ms", "1bdp", 0.05),
    "20 Mb/s, 40 ms, 1 BDP, beside Reno": network("20Mbps", "20ms", "1bdp", rival="reno"),
    "20 Mb/s, 40 ms, 4 BDP, beside CUBIC": network("20Mbps", "20ms", "4bdp", rival="cubic"),
    "20 Mb/s, 5 from 20 to 40 s, 40 ms": network("20Mbps", "20ms", "50p", step="5Mbps"),
}


def measure(document: dict[str, Any], control: type[Controller] | None, seed: int) -> tuple[float, float]:
    """Goodput of the flow, Mb/s, and mean queue of the link, packets; without a class of `bbr3`."""
    controllers = {"f": control} if control else None
    overrides = [] if control else ["flow.f.quic.congestion_control=bbr3"]
    outcome = Scenario.build(document, overrides, controllers=controllers).run(seed=seed).outcome
    return outcome["flows"][0]["goodput_bps"] / 1e6, outcome["links"][0]["mean_queue_packets"]


def main(sources: str, seeds: int) -> None:
    """Print the table."""
    with tempfile.TemporaryDirectory() as folder:
        theirs = [controller(compiled(Path(sources), Path(folder), keeps=keeps)) for keeps in (False, True)]
        columns = [f"{what}, {who}" for what in ("Mb/s", "queue") for who in ("here", "ngtcp2", "ngtcp2, mark kept")]
        print(f"| network | {' | '.join(columns)} |")
        print("|---|---|---|---|---|---|---|")
        for name, document in NETWORKS.items():
            rows = [[measure(document, one, seed) for seed in range(1, seeds + 1)] for one in (None, *theirs)]
            cells = [stats.mean([row[at] for row in each]).text(2) for at in (0, 1) for each in rows]
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 10)
