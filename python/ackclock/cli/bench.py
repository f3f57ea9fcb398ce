"""`ackclock bench`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from ackclock.files import BadInput


def command(
    flows: Annotated[list[int] | None, Parameter(consume_multiple=True)] = None,
    *,
    repeat: int = 3,
    quick: bool = False,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Run the speed benchmark, beside ns-2 where it is installed.

    Parameters
    ----------
    flows
        Numbers of flows; by default 1, 10, 100, 1000 beside ns-2, then 10000 and 100000 alone.
    repeat
        Runs of each; ours and ns-2's take turns.
    quick
        A tenth of the simulated time.
    as_json
        Print the measurements as JSON.

    """
    from ackclock.bench import main as bench_main

    if repeat < 1 or any(n < 1 for n in flows or []):
        raise BadInput("flows and --repeat are numbers from 1 on")
    return bench_main(flows, repeat=repeat, quick=quick, as_json=as_json)
