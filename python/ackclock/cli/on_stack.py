"""Runs of `ackclock run --on stack:FILE`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ackclock import _core
from ackclock.base.files import BadInput, check_targets
from ackclock.base.si import value
from ackclock.base.table_files import check_table, write_frame
from ackclock.base.text import advise, fail, say

if TYPE_CHECKING:
    from pathlib import Path

    from ackclock.scenario import Scenario


def on_stack(on: str, scenario: Scenario, seed: int | None, as_json: bool, trace: Path | None) -> int:
    """Run a scenario with a stack at the ends of its TCP and QUIC flows, print and write; returns the exit status."""
    from ackclock.apps.reach.substrates import Refused, substrate

    if trace is not None:
        check_targets([trace])
        check_table(trace, "--trace")
    carrier = substrate(on)
    advise(scenario.advice)
    try:
        finished = carrier.run(scenario, scenario.seed if seed is None else seed)
    except Refused as error:
        raise BadInput(f"--on {on}: {error}") from None
    except _core.StackFailure as error:
        return fail(f"--on {on}: {error}", 4)
    for note in finished.notes:
        say(f"ackclock: --on {on}: {note}", error=True)
    if trace is not None:
        write_frame(finished.trace, trace)
    if as_json:
        print(json.dumps(finished.outcome, allow_nan=False))
        return 0
    outcome = finished.outcome
    title = f"{outcome['title']}: " if outcome["title"] else ""
    say(f"{title}{carrier.title}, seed {outcome['seed']}, {outcome['duration_s']:g} s")
    for flow in outcome["flows"]:
        line = (
            f"{flow['name']} ({flow['control'] or flow['kind']}): goodput {value(flow['goodput_bps'] * 1e-6, 4)} Mb/s"
        )
        for key, words in (("mean_delay_s", "mean delay"), ("p95_delay_s", "p95 delay")):
            if flow.get(key) is not None:
                line += f", {words} {value(flow[key] * 1e3, 4)} ms"
        drops = {reason: n for reason, n in (flow.get("dropped_packets") or {}).items() if n}
        if drops:
            line += f", dropped {', '.join(f'{n:,} {reason}' for reason, n in drops.items())}"
        say(line)
    return 0
