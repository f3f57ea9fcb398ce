"""`ackclock kernel`."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ackclock.agree.controls import check_controls
from ackclock.assignment import Assignment, Override, control_table
from ackclock.cli.live import real_time
from ackclock.cli.options import AllowCode, File, Overrides, Seed
from ackclock.experiment import Scenario
from ackclock.files import BadInput
from ackclock.text import say

EXAMPLE = "ackclock kernel @dumbbell --control linux:cubic --set duration=10s"


def command(
    file: File,
    /,
    *,
    control: str | None = None,
    seed: Seed = None,
    set_: Overrides = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    trace: Path | None = None,
    allow_code: AllowCode = False,
) -> int:
    """Run the first flow as TCP of this machine's kernel, through the scenario's network in real time.

    The sender and the sink are sockets of this program in two network namespaces. With `linux:NAME` the kernel's own
    algorithm controls the sender, which needs user namespaces or root. With a controller of Ackclock this controller
    does, through BPF: it needs root, BTF, and a core that was built with `make kernel`.

    A run that did not follow the wall clock is repeated, at most three times. Exit status: 0; 4 if no attempt was
    valid; 3 if this machine or this build cannot do it.

    Parameters
    ----------
    file
        Scenario file (TOML), or @NAME for a shipped scenario. Its first flow is a TCP flow.
    control
        linux:NAME for an algorithm of the kernel (reno, cubic, bbr, ...), or a controller of Ackclock. Default: the
        controller of the flow, through BPF.
    seed
        Seed of losses and random queues, instead of the file's.
    set_
        Replace one value first: KEY=VALUE. May be repeated.
    as_json
        Print the outcome with `validity` as one JSON object and nothing else.
    trace
        Write the window trace of the flow to this file (.parquet or .csv); `ackclock plot` draws it.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder.

    """
    on = control if control is not None and control.startswith("linux:") else "kernel"
    overrides: list[Override] = list(set_ or ())
    if control is not None and on == "kernel":
        check_controls([control])
        key = ("flow", _first_flow(file, overrides, allow_code), "tcp", "congestion_control")
        overrides.append(Assignment(key, control_table(control), f"--control {control}", of_text=False))
    scenario = Scenario.load(file, overrides, allow_code=allow_code)
    more = "".join(f" --set {shlex.quote(str(one))}" for one in overrides[len(set_ or ()) :])
    say(f"ackclock: advice: ackclock run FILE --on {on}{more} does the same", error=True)
    return real_time(on, scenario, seed, as_json, trace)


def _first_flow(file: Path, overrides: Sequence[Override], allow_code: bool) -> str:
    """Name of the first flow. Raises BadInput if there is none."""
    flows = Scenario.load(file, overrides, allow_code=allow_code).network["flows"]
    if not flows:
        raise BadInput(f"{file}: --control needs a [[flow]]")
    return str(flows[0]["name"])
