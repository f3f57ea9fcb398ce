"""How a run is divided among threads: options of `ackclock run`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from ackclock import ScenarioError
from ackclock.apps.division import division
from ackclock.base.operating_system import cores
from ackclock.base.si import quantity
from ackclock.base.text import say
from ackclock.cli.options import at_most
from ackclock.scenario import Scenario


@Parameter(name="*", show_default=False)
@dataclass(frozen=True)
class Division:
    """How a run is divided among threads."""

    threads: Annotated[int, Parameter(validator=at_most("--threads", 1024))] = 1
    """Divide the network among at most so many threads, with the same results. Default: 1. If a run uses one thread
    instead, a line says why: it has a recording, or something that cannot be divided, or one thread is faster."""
    explain_threads: bool = False
    """Print how --threads (default here: all processors) divides the network, and do not run it."""


ONE_THREAD = Division()


def explain_threads(scenario: Scenario, threads: int, seed: int | None, *, recorded: bool) -> int:
    """Print how the network is divided among threads, or why it is not."""
    if recorded:
        say("one thread: a recording needs one thread")
        return 0
    try:
        parts = division(scenario, threads if threads > 1 else cores(), seed=seed)
    except ScenarioError as error:
        say(f"one thread: {error.message}")
        return 0
    shares = ", ".join(f"{100 * share:.0f} %" for share in parts["work"])
    say(f"{len(parts['work'])} threads, with {shares} of the estimated work")
    say(f"{parts['cut_links']} of {parts['links']} link directions lead from one part to another")
    if parts["compared"]:
        say("the run has few flows: after a trial at its begin it goes on without parts if that is faster")
    say(f"least delay between parts: {quantity(parts['lookahead_s'], 's')}, about {parts['hops']:.0f} packet-hops")
    return 0
