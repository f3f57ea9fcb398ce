r"""TCP over Wi-Fi beside ns-3: a download, several with an upload, uploads of which one is slow, ten downloads.

    python validation/ns3/wifi_runs.py [BINARY [SEEDS]]    two CPU minutes a seed

Build BINARY first, with all libraries of ns-3 (Debian: apt-get install libns3-dev):
g++ -O1 -w -std=c++17 -o wifi validation/ns3/wifi.cc $(ls /usr/lib/*/libns3-*.so | sed 's/.*lib\(ns3-.*\).so/-l\1/')

Appends to wifi.jsonl what is not there yet, and prints the table of docs/specs/wifi.md, as it does without BINARY.
tests/test_ns3.py compares some of it.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

from ns3_runs import record, recorded

from ackclock import Scenario, stats

RESULTS = Path(__file__).with_name("wifi.jsonl")
TIMES = {"time": 60, "warmup": 10}
NETWORKS: dict[str, dict[str, Any]] = {
    "one download": {"down": 1, "up": 0, "standard": "ac", "mcs": 7, "slow": -1, "queue": 500},
    "one download, short queue": {"down": 1, "up": 0, "standard": "ac", "mcs": 7, "slow": -1, "queue": 60},
    "three downloads, one upload": {"down": 3, "up": 1, "standard": "ac", "mcs": 7, "slow": -1, "queue": 500},
    "three uploads, one slow": {"down": 0, "up": 3, "standard": "n", "mcs": 7, "slow": 0, "queue": 100},
    "ten downloads": {"down": 10, "up": 0, "standard": "ac", "mcs": 7, "slow": -1, "queue": 500},
}


def cases(seeds: int) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """All runs."""
    return [
        ({"network": network, "seed": seed}, values | TIMES | {"seed": seed})
        for network, values in NETWORKS.items()
        for seed in range(1, seeds + 1)
    ]


def theirs(network: str) -> list[dict[str, Any]]:
    """The recorded runs of ns-3; not those in which a station of it stopped before its flow began (see wifi.cc)."""
    return [row for row in recorded(RESULTS, network=network) if None not in row["mean_rtt_s"]]


def document(network: str, outside: tuple[int, int] = (0, 0)) -> dict[str, Any]:
    """The same network as a scenario, with the settings of docs/specs/wifi.md and one queue of the access point.

    The queues of the access point and of a station are shorter by `outside` packets: ns-3 counts those that it sends
    in its queue.
    """
    values = NETWORKS[network]
    down, stations = values["down"], values["down"] + values["up"]
    fixed = {"kind": "wifi", "medium": "cell", "errors": 0}
    links: list[dict[str, Any]] = [
        {"ends": ["server", "ap"], "rate": "1Gbps", "delay": "10ms", "queue": {"kind": "droptail", "limit": "10000p"}}
    ]
    flows = []
    for i in range(stations):
        mcs = values["slow"] if values["slow"] >= 0 and i + 1 == stations else values["mcs"]
        up = {"rate": fixed | {"rate_control": {"kind": "fixed", "mcs": mcs}}}
        up["queue"] = {"kind": "droptail", "limit": f"{values['queue'] - outside[1]}p"}
        rate = fixed | {"rate_control": {"kind": "fixed", "mcs": values["mcs"]}}
        links.append({"ends": ["ap", f"s{i}"], "rate": rate, "back": up})
        ends = ["server", f"s{i}"] if i < down else [f"s{i}", "server"]
        flows.append({"name": f"f{i}", "from": ends[0], "to": ends[1], "start": f"{0.1 * i:.1f}s"})
    cell_of_ns3 = {"standard": values["standard"], "width": "20MHz", "streams": 1, "eifs": False, "bar": True}
    queue = {"kind": "shared", "limit": f"{values['queue'] - outside[0]}p"}
    return {
        "duration": f"{TIMES['time']}s",
        "warmup": f"{TIMES['warmup']}s",
        "tcp": {"congestion_control": "reno", "timestamps": True, "delayed_ack": False},
        "wifi": [{"name": "cell", "ap": "ap", "ap_queue": queue} | cell_of_ns3],
        "link": links,
        "flow": flows,
    }


def ours(network: str, recordings: list[dict[str, Any]], outside: tuple[int, int] = (0, 0)) -> list[dict[str, Any]]:
    """Runs of this simulator with the seeds of the recorded ones, in the words of the recorder."""
    scenario = Scenario.build(document(network, outside))
    rows = []
    for recording in recordings:
        outcome = scenario.run(seed=recording["seed"]).outcome
        row: dict[str, Any] = {key: [flow[key] for flow in outcome["flows"]] for key in ("goodput_bps", "mean_rtt_s")}
        for name, links in (("ap", outcome["links"][2::2]), ("station", outcome["links"][3::2])):
            counts = [link["wifi"] for link in links]
            row[f"{name}_aggregation"] = sum(one["mpdus"] for one in counts) / sum(one["ppdus"] for one in counts)
        rows.append(row)
    return rows


def measures(network: str, rows: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Per seed: goodput (Mb/s) of downloads, uploads and the slow station, round-trip time (ms), MPDUs of an A-MPDU."""
    values = NETWORKS[network]
    down, slow = values["down"], values["slow"] >= 0
    of: dict[str, list[float]] = {}
    for row in rows:
        rates = [rate / 1e6 for rate in row["goodput_bps"]]
        measured = {"downloads, Mb/s": sum(rates[:down]), "uploads, Mb/s": sum(rates[down : len(rates) - slow])}
        measured["slow upload, Mb/s"] = rates[-1] if slow else 0
        measured["round-trip time, ms"] = 1e3 * sum(row["mean_rtt_s"]) / len(rates)
        measured["MPDUs of the access point"] = row["ap_aggregation"]
        measured["MPDUs of a station"] = row["station_aggregation"]
        for name, value in measured.items():
            of.setdefault(name, []).append(value)
    return {name: numbers for name, numbers in of.items() if any(numbers)}


def table() -> None:
    """Print each measure of ns-3, of this simulator, and of it with queues shorter by a mean A-MPDU of ns-3."""
    for network in NETWORKS:
        recordings = theirs(network)
        there, here = measures(network, recordings), measures(network, ours(network, recordings))
        sizes = [round(statistics.mean(row[f"{name}_aggregation"] for row in recordings)) for name in ("ap", "station")]
        shorter = measures(network, ours(network, recordings, (sizes[0], sizes[1])))
        for name, numbers in there.items():
            cells = [stats.mean(each).text(2) for each in (numbers, here[name], shorter[name])]
            print(f"| {network} | {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        record(sys.argv[1], RESULTS, cases(int(sys.argv[2]) if len(sys.argv) > 2 else 6))
    table()
