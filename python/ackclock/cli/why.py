"""`ackclock why`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter

from ackclock.cli.options import AllowCode, File, Overrides, Seed, seconds
from ackclock.experiment import Scenario
from ackclock.files import BadInput
from ackclock.text import advise, say
from ackclock.why import explain

EXAMPLE = "ackclock why @dumbbell --at 8s --flow cubic --cut"


def command(
    file: File,
    /,
    *,
    at: str,
    flow: str | None = None,
    cut: bool = False,
    seed: Seed = None,
    set_: Overrides = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    allow_code: AllowCode = False,
) -> int:
    """Explain the last change of a window before a time: the event, the ACK or loss, the packet's fate, the queue.

    Parameters
    ----------
    file
        Scenario file (TOML), or @NAME for a shipped scenario. File and seed reproduce the run exactly.
    at
        Simulated time, such as 3.21s.
    flow
        Flow whose window is explained. Default: the flow whose window changed last.
    cut
        Explain the last reduction of the window instead of the last change.
    seed
        Seed of all random streams, instead of the file's.
    set_
        Replace one value first: KEY=VALUE. May be repeated.
    as_json
        Print one JSON object and nothing else.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder.

    """
    scenario = Scenario.load(file, set_ or ())
    advise(scenario.advice)
    if scenario.is_study:
        raise BadInput(
            f"{file}: sweep: the file is a study of many runs; remove sweep and select one run with --set and --seed"
        )
    found = explain(scenario, seconds(at, "--at"), flow=flow, seed=seed, cut=cut)
    if as_json:
        print(json.dumps(asdict(found), allow_nan=False))
    else:
        say("\n".join(found.sentences()))
    return 0
