"""`ackclock bench`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from ackclock.base.files import BadInput

EXAMPLE = "ackclock bench 1 100 --quick"


def command(
    flows: Annotated[list[int] | None, Parameter(consume_multiple=True)] = None,
    *,
    repeat: int = 3,
    quick: bool = False,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
) -> int:
    """Run the speed benchmark.

    If ns-2 is installed, it runs the same networks for comparison.

    Parameters
    ----------
    flows
        Numbers of flows. Default: 1, 10, 100 and 1000 with ns-2, then 10000 and 100000 without ns-2.
    repeat
        Number of runs of each case. Runs of Ackclock and of ns-2 alternate.
    quick
        Simulate a tenth of the time.
    as_json
        Print the measurements as JSON.

    """
    from ackclock.apps.bench import main as bench_main

    if repeat < 1 or any(n < 1 for n in flows or []):
        raise BadInput("flows and --repeat: must be whole numbers of at least 1")
    return bench_main(flows, repeat=repeat, quick=quick, as_json=as_json)
