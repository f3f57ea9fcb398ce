"""BBR written in Python gives the packets and the traces of the registered `bbr`, over TCP and over QUIC."""

from __future__ import annotations

from pathlib import Path

import pytest

from ackclock import Result, Scenario

NETWORK = """
duration = "{duration}"
seed = {seed}
[[link]]
name = "l"
ends = ["a", "b"]
rate = "8Mbps"
delay = "20ms"
queue = { kind = "droptail", limit = "1bdp" }
[[flow]]
name = "f"
from = "a"
to = "b"
start = "300ms"
"""
CUBIC = '[[flow]]\nname = "g"\nfrom = "a"\nto = "b"\nstart = "4s"\ntcp = { congestion_control = "cubic" }\n'
LONG_PAUSES = "flow.f.writes=[" + ", ".join(f'["{3 * n}s", "{300 * (n % 4 + 1)}kB"]' for n in range(8)) + "]"
SHORT_PAUSES = "flow.f.writes=[" + ", ".join(f'["{600 * n}ms", "40kB"]' for n in range(40)) + "]"
RANDOM = '{ kind = "bernoulli", rate = 0.02 }'
POLICER = '{ kind = "policer", rate = "3Mbps", burst = "20kB" }'
OUTAGES = '{ kind = "blackout", times = [["3s", "4s"], ["9s", "9200ms"], ["12s", "15s"]] }'
DELAY = '{ kind = "delay", steps = [["0s", "0ms"], ["6s", "700ms"], ["9s", "0ms"], ["16s", "40ms"]] }'
NETWORKS = {
    "a path alone": [],
    "a queue of four packets": ["link.l.queue.limit=4p"],
    "a deep queue": ["link.l.queue.limit=8bdp"],
    "CoDel with ECN": ['link.l.queue={ kind = "codel", ecn = true }'],
    "random losses": [f"link.l.loss={RANDOM}"],
    "bursts of losses": ['link.l.loss={ kind = "gilbert_elliott", p = 0.003, r = 0.2 }'],
    "a policer": [f"link.l.loss={POLICER}"],
    "outages": [f"link.l.loss={OUTAGES}"],
    "a policer and outages": [f"link.l.loss=[{POLICER}, {OUTAGES}]"],
    "reordering": ['link.l.loss={ kind = "reorder", rate = 0.05, by = "60ms" }', "link.l.queue.limit=8bdp"],
    "a path that changes": [f"link.l.loss={DELAY}"],
    "long pauses": [LONG_PAUSES],
    "short pauses": [SHORT_PAUSES, "flow.f.TRANSPORT.congestion_control.min_rtt_window=3"],
    "pauses and losses": [LONG_PAUSES, f"link.l.loss={RANDOM}"],
    "parameters": [
        "flow.f.TRANSPORT.congestion_control.min_rtt_window=3",
        "flow.f.TRANSPORT.congestion_control.quantum=1.5",
        "flow.f.TRANSPORT.congestion_control.lt=false",
        f"link.l.loss={POLICER}",
    ],
}


def both(
    root: Path, transport: str, changes: list[str], flows: str = "", seed: int = 5, duration: str = "25s"
) -> tuple[Result, Result]:
    """The run of the registered controller, and that of the class in Python."""
    changes = [change.replace("TRANSPORT", transport) for change in changes]
    runs = []
    for control in ('kind = "bbr"', f'python = "{root / "examples" / "bbr.py"}:Bbr"'):
        text = NETWORK.replace("{seed}", str(seed)).replace("{duration}", duration)
        text += f"{transport} = {{ congestion_control = {{ {control} }} }}\n{flows}"
        runs.append(Scenario.parse(text, changes).run(trace="ack", fingerprint=True, audit=True))
    return runs[0], runs[1]


def assert_equal(rust: Result, python: Result) -> None:
    assert rust.fingerprint == python.fingerprint
    assert rust.trace.equals(python.trace)
    assert {"bandwidth", "min_rtt", "pacing_gain", "cwnd_gain", "mode", "lt_bandwidth"} <= set(python.trace.columns)
    outcomes = [run.outcome["flows"][0] | {"control": ""} for run in (rust, python)]
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize("transport", ["tcp", "quic"])
@pytest.mark.parametrize("network", NETWORKS)
def test_bbr_in_python_is_bbr(root: Path, network: str, transport: str) -> None:
    """Every packet, and every row of the trace with the internal values, bit by bit."""
    rust, python = both(root, transport, NETWORKS[network])
    assert len(rust.trace) > 400
    assert_equal(rust, python)


def test_bbr_in_python_is_bbr_beside_another_flow(root: Path) -> None:
    rust, python = both(root, "tcp", [], CUBIC, duration="40s")
    assert_equal(rust, python)


def test_the_networks_reach_every_part_of_the_algorithm(root: Path) -> None:
    """Otherwise the comparison would say little."""
    alone = both(root, "tcp", [])[1]
    assert alone.trace["mode"].unique().sort().to_list() == [0.0, 1.0, 2.0, 3.0]
    policed = both(root, "tcp", NETWORKS["a policer and outages"])[1]
    assert policed.trace["lt_bandwidth"].drop_nulls().len() > 100
    assert policed.outcome["flows"][0]["timeouts"] > 4
    reordered = both(root, "tcp", NETWORKS["reordering"])[1].trace
    assert (reordered["cause"] == "undo").sum() > 10
    pauses = both(root, "tcp", NETWORKS["short pauses"])[1].trace
    assert (pauses["mode"] == 3.0).sum() > 10
