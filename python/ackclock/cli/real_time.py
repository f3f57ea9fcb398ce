"""Runs in real time of `ackclock run --on`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.base.files import check_targets
from ackclock.base.si import value
from ackclock.base.table_files import check_table, write_frame
from ackclock.base.text import advise, lost_connections, say
from ackclock.cli.console import progress
from ackclock.cli.validity import INVALID, validity_lines

if TYPE_CHECKING:
    from ackclock.scenario import Scenario


def real_time(on: str, scenario: Scenario, seed: int | None, as_json: bool, trace: Path | None) -> int:
    """Run a scenario on a substrate in real time, print and write; returns the exit status."""
    from ackclock.apps.reach import runs
    from ackclock.apps.reach.substrates import RealTime, substrate

    check_targets([] if trace is None else [trace])
    if trace is not None:
        check_table(trace, "--trace")
    carrier = substrate(on)
    assert isinstance(carrier, RealTime)
    advise([*scenario.advice, *runs.advice(scenario)])
    with progress("running in real time", quiet=as_json) as advance:
        result = runs.run(
            carrier.kind,
            scenario,
            seed=seed,
            kernel_controller=carrier.algorithm,
            progress=advance,
            report=lambda text: say(f"ackclock: {text}", error=True),
        )
    if carrier.kind != "udp":  # on udp the outcome has these remarks
        for remark in carrier.ignored(scenario):
            say(f"ackclock: --on {on}: {remark}", error=True)
    if trace is not None:
        write_frame(result.trace, trace)
    if as_json:
        print(json.dumps(result.outcome, allow_nan=False))
    else:
        _show(result.outcome)
    for line in lost_connections(result.outcome):
        say(f"ackclock: {line}", error=True)
    return 0 if result.outcome["validity"]["valid"] else INVALID


def _show(outcome: dict[str, Any]) -> None:
    """Print the flow, the drops of the links and the validity."""
    flow = next(flow for flow in outcome["flows"] if flow["mean_cwnd"] is not None or flow["kind"] != "udp")
    title = f"{outcome['title']}: " if outcome["title"] else ""
    say(f"{title}{outcome['substrate']}, seed {outcome['seed']}, {outcome['duration_s']:g} s")

    def number(key: str, unit: float = 1.0) -> str:
        return "-" if flow.get(key) is None else value(flow[key] * unit, 4)

    say(
        f"{flow['name']} ({flow['control']}): goodput {number('goodput_bps', 1e-6)} Mb/s, "
        f"mean cwnd {number('mean_cwnd')}, "
        f"{number('window_cuts')} reductions, {number('retransmitted_packets')} retransmitted, "
        f"{number('timeouts')} timeouts, mean RTT {number('mean_rtt_s', 1e3)} ms"
    )
    for link in outcome["links"]:
        drops = {reason: n for reason, n in link["dropped_packets"].items() if n}
        if drops:
            say(f"{link['name']}: dropped {', '.join(f'{n:,} {reason}' for reason, n in drops.items())}")
    say("\n".join(validity_lines(outcome["validity"])))
