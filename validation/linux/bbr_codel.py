"""BBR version 1 of the running kernel behind CoDel: twenty random networks, in real time.

`python validation/linux/bbr_codel.py` runs the kernel three times in each network, 15 s, and writes bbr_codel.json
(25 minutes; root, /dev/net/tun, the module tcp_bbr). Networks with long round-trip times are run again with a large
receive buffer. The report runs ours in the same networks.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from bulk import emulate

from ackclock import Scenario
from ackclock.apps.reach.substrates import substrate

STORED = Path(__file__).parent / "bbr_codel.json"
REPEATS = range(1, 4)
SEEDS = range(1, 11)
DURATION_S = 15
LONG_MS = 60
"""From this round-trip time on a network is run with a large receive buffer too."""


@dataclass(frozen=True)
class Network:
    """One flow over a link with CoDel."""

    rate_mbps: float
    rtt_ms: float

    @property
    def text(self) -> str:
        """The scenario. The start is random within 50 ms, so that seeds differ as repeats of the kernel do."""
        return f"""
duration = "{DURATION_S}s"
[[link]]
name  = "l"
ends  = ["a", "b"]
rate  = "{self.rate_mbps}Mbps"
delay = "{self.rtt_ms / 2}ms"
queue = {{ kind = "codel" }}
back  = {{ queue = {{ kind = "droptail", limit = "1000p" }} }}
[[flow]]
name = "f"
from = "a"
to   = "b"
start_jitter = "50ms"
tcp  = {{ congestion_control = "bbr" }}
"""


def networks() -> list[Network]:
    """Twenty networks: 4 to 80 Mb/s and 10 to 120 ms, drawn on a logarithmic scale."""
    draws = random.Random(65)
    return [Network(round(4 * 20 ** draws.random(), 1), round(10 * 12 ** draws.random(), 1)) for _ in range(20)]


def totals(outcome: Any) -> dict[str, float]:
    """What is compared."""
    flow, link = outcome["flows"][0], outcome["links"][0]
    return {
        "goodput_mbps": round(flow["goodput_bps"] / 1e6, 4),
        "dropped": sum(link["dropped_packets"].values()),
        "retransmitted": flow["retransmitted_packets"],
        "timeouts": flow["timeouts"],
        "sent": flow["sent_packets"],
        "wait_ms": round(1e3 * link["mean_sojourn_s"], 3),
    }


def ours(network: Network) -> list[dict[str, float]]:
    """Ours with ten seeds."""
    scenario = Scenario.parse(network.text)
    return [totals(scenario.run(seed=seed).outcome) for seed in SEEDS]


def kernel(network: Network, repeat: int) -> dict[str, Any]:
    """The kernel, once."""
    outcome = substrate("linux:bbr").run(Scenario.parse(network.text), repeat).outcome
    validity = outcome["validity"]
    late = round(1e3 * validity["lateness_s"]["p99"], 4)
    return totals(outcome) | {"valid": validity["valid"], "late_p99_ms": late, "kernel": validity["kernel"]}


def with_large_buffer(network: Network) -> dict[str, Any]:
    """The kernel with a receive buffer that never limits it, once."""
    _, outcome = emulate(network.text, ["bbr"], "large", 0, DURATION_S)
    dropped = sum(outcome["links"][0]["dropped_packets"].values())
    return {"dropped": dropped, "valid": outcome["validity"]["valid"]}


def record() -> None:
    """Record the kernel and write what it did."""
    rows = []
    for number, network in enumerate(networks()):
        for repeat in REPEATS:
            row = {"network": number, "rate_mbps": network.rate_mbps, "rtt_ms": network.rtt_ms, "repeat": repeat}
            rows.append(row | {"receive": "default"} | kernel(network, repeat))
            if network.rtt_ms >= LONG_MS:
                rows.append(row | {"receive": "large"} | with_large_buffer(network))
    write(rows)


def write(rows: list[dict[str, Any]]) -> None:
    """Write the file."""
    STORED.write_text("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


def recorded(number: int, receive: str = "default") -> list[dict[str, Any]]:
    """The kernel's runs in a network."""
    rows = json.loads(STORED.read_text())
    return [row for row in rows if (row["network"], row["receive"]) == (number, receive)]


REMARKS = """
- **Round-trip times of {long} ms and more**: the kernel drops fewer packets. While a lost segment is missing in Startup, the segments after it fill the receive buffer, which grows only when the application reads, and the receive window limits the sender for 0.2 s (`tcpi_rwnd_limited`). The queue drains in that time, and CoDel leaves its dropping state. The receive window that grows limits no sender in Ackclock (`moderate_rcvbuf` decides only which ACKs are delayed), so Startup lasts longer. With a receive buffer of 8 MB from the start, the kernel drops as many packets as ours, within {within} %.
- **Round-trip times of about 20 ms**: the probe for bandwidth builds a queue of a quarter of a round-trip time, 5 ms at 20 ms, which is CoDel's target. Some tenths of a millisecond decide whether CoDel drops: the kernel drops 45, 62 and 65 packets at 20.4 ms, ours 2 or 29, depending on the seed; the three repeats of the kernel at 30.1 ms drop 5, 70 and 7, ours always 5.
- **6.7 Mb/s, 29.1 ms**: ours has two modes. The segments that a delayed ACK combines decide how far Startup and the probes exceed the target: 110 drops in nine of ten seeds, 216 in one seed, and 252 to 271 with `delayed_ack = false`, where the kernel has 249 to 270. Which segments the live receiver combined is not recorded.
"""


def closed(summary: str, table: str) -> str:
    """A table that the page shows after a click."""
    return f"<details markdown><summary>{summary}</summary>\n\n{table}\n</details>\n"


def section() -> str:
    """The part of docs/validation-linux.md."""
    text = "## BBR version 1 behind CoDel\n\n"
    text += (
        f"A kernel sends one flow for {DURATION_S} s in real time through our link (`ackclock run --on linux:bbr`), "
    )
    text += (
        "in twenty random networks, three times each; all runs followed the clock. CoDel has its defaults. Ours are "
    )
    text += "the means of ten seeds. `validation/linux/bbr_codel.py` made the recording. "
    table = "| rate, Mb/s | RTT, ms | goodput, Mb/s | packets dropped: kernel | large receive buffer | ours |\n"
    table += "|---|---|---|---|---|---|\n"
    widest = nearness = 0.0
    for number, network in sorted(enumerate(networks()), key=lambda item: item[1].rtt_ms):
        live, model = recorded(number), ours(network)
        goodputs = [mean(row["goodput_mbps"] for row in rows) for rows in (live, model)]
        difference = 100 * (goodputs[1] / goodputs[0] - 1)
        widest = max(widest, abs(difference))
        counts = [", ".join(str(row["dropped"]) for row in recorded(number, name)) for name in ("default", "large")]
        drops = mean(row["dropped"] for row in model)
        if large := recorded(number, "large"):
            nearness = max(nearness, abs(drops / mean(row["dropped"] for row in large) - 1))
        table += (
            f"| {network.rate_mbps} | {network.rtt_ms} | {goodputs[0]:.2f} / {goodputs[1]:.2f} ({difference:+.2f} %) | "
        )
        table += f"{counts[0]} | {counts[1]} | {drops:.0f} |\n"
    text += f"Goodputs are equal within {widest:.2f} %. There are no timeouts.\n\n"
    text += closed("Goodput and drops in each network, kernel / ours", table)
    return text + "\nWhere the drops differ:\n" + REMARKS.format(long=LONG_MS, within=f"{100 * nearness:.0f}")


if __name__ == "__main__":
    record()
