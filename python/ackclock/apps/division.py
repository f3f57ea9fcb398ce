"""How the network of a run is divided among threads (docs/speed.md)."""

from __future__ import annotations

import json
from typing import Any

from ackclock import _core
from ackclock._core import ScenarioError
from ackclock.base.refusal import refused
from ackclock.scenario import Scenario


def division(scenario: Scenario, most: int, *, seed: int | None = None) -> dict[str, Any]:
    """How `scenario.run(threads=most)` divides the network.

    `work` has the share of each thread; `cut_links` of `links` lead from one part to another (each direction counts);
    `lookahead_s` is the least delay of the links between parts, and `hops` the estimated packet-hops of the network in
    this time; `compared` is whether the run goes on without parts if that is faster. Raises ScenarioError with the
    reason if the run uses one thread.
    """
    if most < 2:
        raise refused("threads", "most: must be at least 2")
    try:
        return dict(json.loads(_core.explain_threads(scenario._parsed, most, seed=seed)))
    except ScenarioError:
        raise
    except ValueError as error:
        raise refused("threads", str(error)) from None
