"""`ackclock plot` with the kinds of figures of applications."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.base.files import BadInput
from ackclock.base.text import say
from ackclock.base.units import seconds
from ackclock.draw import applications
from ackclock.metrics.applications import application, families

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ackclock.result import Result
    from ackclock.scenario import Scenario

DEADLINE_S = 0.15
"""The default `deadline` of frames."""


@dataclass(frozen=True)
class Choice:
    """What a figure of applications shows."""

    kind: str
    quantities: Sequence[str]
    flows: Sequence[str]
    start_s: float | None
    end_s: float | None
    title: str


def applications_choice(
    kind: str | None,
    quantities: Sequence[str] | None,
    flows: Sequence[str] | None,
    start_s: float | None,
    end_s: float | None,
    title: str,
) -> Choice:
    """What is drawn. Raises BadInput for an option that the kind does not have."""
    assert kind is not None
    if quantities and kind != "cdf":
        raise BadInput(f"--kind {kind}: has no --y; --kind cdf has completion and slowdown")
    if start_s is not None and kind in {*applications.OF_RUNS, "player"}:
        raise BadInput(f"--kind {kind}: draws whole runs, so --from has no meaning")
    if end_s is not None and kind != "frames":
        raise BadInput(f"--kind {kind}: has no --to; only --kind frames has")
    return Choice(kind, quantities or [], flows or [], start_s, end_s, title)


def figure_of_study(folder: Path, choice: Choice, by: str | None, where: Sequence[str]) -> Callable[[], Figure]:
    """What draws the messages of the runs of a study. Raises BadInput for a kind of a single run."""
    from ackclock.draw.quantities import readable
    from ackclock.study import Store
    from ackclock.study.results import points

    if choice.kind not in applications.OF_RUNS:
        raise BadInput(f"--kind {choice.kind}: draws one run; name a scenario instead of the study {folder}")
    with Store.open(folder) as store:
        table = points(store, where)
        for note in store.notes:
            say(f"ackclock: {folder}: {note}", error=True)
    panels = applications.study_panels(table, by=by, flows=choice.flows, words=readable)
    heading = choice.title or table.title
    if choice.kind == "cdf":
        return lambda: applications.cdf(panels, choice.quantities, heading=heading)
    if len(panels) > 1:
        raise BadInput(
            f"--kind bins: has one panel for each percentile; choose one label: --where (now {panels[0].words})"
        )
    return lambda: applications.bins(panels[0], heading=heading)


def figure_of_run(scenario: Scenario, result: Result, choice: Choice) -> Callable[[], Figure]:
    """What draws the applications of a run."""
    outcome = result.outcome
    heading = choice.title or outcome["title"]
    if choice.kind in applications.OF_RUNS:
        sources = [source["name"] for source in scenario.resolved["traffic"]]
        panel = applications.Panel("", applications.of_run(outcome["flows"], sources, choice.flows))
        if choice.kind == "bins":
            return lambda: applications.bins(panel, heading=heading)
        return lambda: applications.cdf([panel], choice.quantities, heading=heading)
    document = scenario.facts().document
    run = applications.RunOfApplications(
        result.messages, outcome["flows"], outcome["duration_s"], _deadlines(document, outcome["flows"])
    )
    return _figure(run, choice, heading, _objects(document, outcome["flows"]))


def figure_of_file(file: Path, choice: Choice) -> Callable[[], Figure]:
    """What draws the messages of a file of `ackclock run --messages`. Raises BadInput for another file."""
    from ackclock.draw.traces import read_messages

    if choice.kind in {"bins", "player"}:
        raise BadInput(f"--kind {choice.kind}: needs a scenario or a study, not a file of messages")
    messages = read_messages(file)
    heading = choice.title or file.name
    if choice.kind == "cdf":
        panel = applications.Panel("", applications.of_messages(messages, choice.flows))
        return lambda: applications.cdf([panel], choice.quantities, heading=heading)
    return _figure(applications.RunOfApplications(messages), choice, heading, {})


def _figure(
    run: applications.RunOfApplications, choice: Choice, heading: str, objects: dict[str, int]
) -> Callable[[], Figure]:
    start_s = choice.start_s or 0.0
    if choice.kind == "frames":
        end_s = math.inf if choice.end_s is None else choice.end_s
        return lambda: applications.frames(run, choice.flows, start_s=start_s, end_s=end_s, heading=heading)
    if choice.kind == "player":
        return lambda: applications.player(run, choice.flows, heading=heading)
    return lambda: applications.waterfall(run, choice.flows, objects=objects, start_s=start_s, heading=heading)


def _written(document: dict[str, Any], flows: Sequence[dict[str, Any]], kind: str) -> dict[str, dict[str, Any]]:
    """The tables `app` of a kind in a scenario, by the flows that have the application."""
    tables = {flow["name"]: flow["app"] for flow in document.get("flow", []) if isinstance(flow.get("app"), dict)}
    of = {}
    for name, together in families(flows).items():
        table = tables.get(name) or next((t for n, t in tables.items() if name.startswith(n)), None)
        for flow in together:
            if table is not None and (app := application(flow)) and app["kind"] == kind == table.get("kind"):
                of[flow["name"]] = table
    return of


def _deadlines(document: dict[str, Any], flows: Sequence[dict[str, Any]]) -> dict[str, float]:
    """The deadlines of frames by flow, seconds."""
    tables = _written(document, flows, "frames")
    return {
        name: seconds(str(table["deadline"]), "deadline") if "deadline" in table else DEADLINE_S
        for name, table in tables.items()
    }


def _objects(document: dict[str, Any], flows: Sequence[dict[str, Any]]) -> dict[str, int]:
    """The number of objects of pages whose objects are in the scenario, by flow."""
    tables = _written(document, flows, "page")
    return {name: len(table["objects"]) for name, table in tables.items() if "objects" in table}
