"""Runs of controllers on several networks with the same seeds, for comparisons and rankings.

Each seed adds a random time to the start of the flows, up to one base round-trip time, so that also a network without
random elements gives a sample. Runs with the same seed are a pair.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import ScenarioError
from ackclock.apps.agree.perturb import START_S
from ackclock.apps.controls import Control, check_controls, control_place, controls, traffic_places
from ackclock.base.assignment import Assignment, Override, control_table, key_text
from ackclock.base.files import BadInput
from ackclock.base.names import network_names
from ackclock.base.shipped import argument
from ackclock.metrics import ALIASES, METRICS, RunMetric, check_name, metric
from ackclock.scenario import Scenario
from ackclock.study import Store, Study, sweep

if TYPE_CHECKING:
    from ackclock.study.executors import Executor
    from ackclock.study.sweep import Progress

CONTROL = "control"
"""The axis of the studies."""
ADDED = "beside"
"""The name of the flow that is added beside the only TCP flow of a network."""
RIVALS = "rivals_"
"""What precedes the name of a metric of the flows that are not tested."""


@dataclass(frozen=True)
class Trials:
    """Networks, and how controllers are run in them."""

    files: Sequence[str | Path]
    """Scenario files, or names such as `@cellular`."""
    out: Path
    """Folder of the runs; finished ones are kept."""
    executor: Executor
    seeds: int = 10
    overrides: Sequence[Override] = ()
    allow_code: bool = False
    flows: Sequence[str] = ()
    """The flows that get the controllers; of a counted flow, or of an application with several
    connections, also the name without a number. None: every TCP flow."""
    beside: str = ""
    """The controller of the other TCP and QUIC flows; empty: that of the scenario."""

    @property
    def apart(self) -> bool:
        """Whether some flows are tested and the others are not."""
        return bool(self.flows or self.beside)

    def check(self) -> None:
        """Raise BadInput for less than two seeds, and ScenarioError for a controller `beside` that no flow can have."""
        if self.seeds < 2:
            raise BadInput("--seeds: must be at least 2")
        check_controls([self.beside] if self.beside else [], "--beside", allow_code=self.allow_code)

    def check_metric(self, name: str) -> None:
        """Raise BadInput for a metric that no run has, and for one of the other flows if all flows are tested."""
        short = name.removeprefix(RIVALS)
        check_name(short)
        if short == name:
            return
        if not self.apart:
            raise BadInput(f"{name}: is of the flows beside the tested ones; name those with --flow or --beside")
        if (named := METRICS.get(ALIASES.get(short, short))) and named.of != "flow":
            raise BadInput(f"{name}: {short} is no metric of flows")

    def networks(self) -> list[Network]:
        """The networks. Raises BadInput for a study, or one without TCP, and ScenarioError."""
        return [self._network(file, name) for file, name in zip(self.files, network_names(self.files), strict=True)]

    def _network(self, file: str | Path, name: str) -> Network:
        scenario = Scenario.load(file, self.overrides, allow_code=self.allow_code)
        if scenario.is_study:
            raise BadInput(f"{argument(scenario.file)}: is a study; name a scenario without [sweep]")
        return self._divided(name, scenario) if self.apart else Network(name, scenario)

    def _divided(self, name: str, scenario: Scenario) -> Network:
        """A network in which some flows are tested, and the others get the controller `beside`."""
        flows = _responsive(scenario)
        if self.flows:
            tested = [flow["name"] for text in self.flows for flow in _named(text, flows, scenario)]
        else:
            tested = [flow["name"] for flow in flows if flow["kind"] == "tcp"][:1]
        if not tested:
            raise BadInput(f"{argument(scenario.file)}: there is no TCP flow, so there is no controller to compare")
        remark = "" if self.flows else f"{name}: the tested flow is {tested[0]}, the first one (--flow names another)"
        if self.beside and len(flows) == len(set(tested)) and not scenario.resolved["traffic"]:
            scenario = _with_rival(scenario, tested)
            remark += f"{'; ' if remark else f'{name}: '}the flow {ADDED} is added, a copy of it"
        if self.beside:
            beside = (flow for flow in _responsive(scenario) if flow["name"] not in tested)
            others = dict.fromkeys(control_place(flow, scenario) for flow in beside)
            table, told = control_table(self.beside), f"--beside {self.beside}"
            keys = [*others, *traffic_places(scenario)]
            scenario = scenario.with_overrides([Assignment(key, table, told, of_text=False) for key in keys])
        of_tested = list(dict.fromkeys(control_place(flow, scenario) for flow in flows if flow["name"] in tested))
        return Network(name, scenario, tuple(dict.fromkeys(tested)), of_tested, remark)


@dataclass(frozen=True)
class Network:
    """A network in which controllers are run."""

    name: str
    scenario: Scenario
    tested: Sequence[str] = ()
    """The names of the tested flows; none: all TCP flows."""
    places: Sequence[tuple[str, ...]] | None = None
    """The keys of their controllers; None: those of all TCP flows."""
    remark: str = ""
    """What was chosen here without being asked for."""

    def run(
        self,
        named: Sequence[str],
        trials: Trials,
        folder: Path,
        advance: Progress | None,
        seeds: Callable[[str], int] | None = None,
    ) -> Runs:
        """Run controllers, each with as many seeds as `trials` has, or `seeds` for its label.

        A controller is a name, `FILE.py:CLASS` or a table of TOML.
        """
        scenario, chosen = self.scenario, controls(self.scenario, named, self.places)
        study = Study.read(scenario.source, [*scenario.overrides, *_plan(scenario, chosen, trials.seeds)])
        refused = {
            study.labels(point)[CONTROL]: reason.rpartition("congestion_control: ")[2]
            for point, reason in study.refused
        }
        labels = {point: study.labels(point)[CONTROL] for point in range(study.points)}
        counts = {label: trials.seeds if seeds is None else seeds(label) for label in labels.values()}
        of_points = {point: range(1, counts[label] + 1) for point, label in labels.items()}
        with Store.create(folder) as store:
            sweep(study, store, trials.executor, seeds=of_points, progress=advance, replace=True)
            ids = {run.run_id: labels[run.point] for run in study.runs()}
            errors: dict[str, list[str]] = {}
            for run_id, error in store.failures():
                if ids[run_id] not in refused:
                    errors.setdefault(ids[run_id], []).append(error)
            rows = [row for row in store.outcomes().to_dicts() if _label(row) not in errors]
        return Runs(self, [control.label for control in chosen], rows, counts, refused, errors)


@dataclass(frozen=True)
class Runs:
    """The runs of controllers in a network."""

    network: Network
    labels: list[str]
    rows: list[dict[str, Any]]
    """The outcomes of the controllers of which no run failed."""
    seeds: dict[str, int]
    """The number of seeds of each controller."""
    refused: dict[str, str]
    """Why controllers cannot be run here."""
    errors: dict[str, list[str]]
    """How the runs of other controllers have failed."""

    @cached_property
    def rivals(self) -> list[str]:
        """The names of the TCP and QUIC flows beside the tested ones."""
        if not self.network.tested:
            return []
        flows = (flow for row in self.rows for flow in row["flows"] if flow["kind"] != "udp")
        return [name for name in dict.fromkeys(flow["name"] for flow in flows) if name not in self.network.tested]

    def metric(self, name: str) -> RunMetric | None:
        """A metric of the tested flows, or with `rivals_` of the others; None if there are none, or no outcome.

        Where the path changes, so that there is no queueing delay, the round-trip time instead.
        """
        short = name.removeprefix(RIVALS)
        flows = self.network.tested if short == name else self.rivals
        if not self.rows or (short != name and not flows):
            return None
        measured = metric(short, self.rows, flows=flows)
        if "queueing" in measured.name and not any(measured.each(row) for row in self.rows):
            measured = metric("rtt", self.rows, flows=flows)
        if short == name:
            return measured
        ending = f" of {', '.join(flows)}"
        words = f"{measured.words.removesuffix(ending)} of the other flows"
        return replace(measured, name=f"{RIVALS}{measured.name}", words=words)

    def values(self, measured: RunMetric) -> dict[str, dict[int, float]]:
        """The values of a metric by controller and seed."""
        values: dict[str, dict[int, float]] = {}
        for row in self.rows:
            if (value := measured.value(row)) is not None:
                values.setdefault(_label(row), {})[row["seed"]] = value
        return values


def _label(row: Mapping[str, Any]) -> str:
    return str(json.loads(row["axes"])[CONTROL])


def _responsive(scenario: Scenario) -> list[dict[str, Any]]:
    """The flows of a scenario that have a controller."""
    return [flow for flow in scenario.resolved["flows"] if flow["kind"] != "udp"]


def _named(text: str, flows: Sequence[dict[str, Any]], scenario: Scenario) -> list[dict[str, Any]]:
    """The flows with a name, or the numbered ones of a counted flow or an application. Raises BadInput without one."""
    exact = [flow for flow in flows if flow["name"] == text]
    counted = [flow for flow in flows if re.fullmatch(re.escape(text) + r"/?\d+", flow["name"])]
    if not exact and not counted:
        names = [flow["name"] for flow in flows]
        near = difflib.get_close_matches(text, names, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names[:12]) or 'none'}"
        raise BadInput(f"--flow {text}: {argument(scenario.file)} has no such TCP or QUIC flow; {hint}")
    return exact or counted


def _with_rival(scenario: Scenario, tested: Sequence[str]) -> Scenario:
    """The scenario with a copy of its only TCP flow. Raises BadInput if no copy can be made."""
    without = f"{argument(scenario.file)} has no other TCP flow than {', '.join(tested)}"
    refusal = BadInput(f"--beside: {without}; add one to the file ([[flow]])")
    if len(tested) > 1:
        raise refusal
    [name] = tested
    try:
        twice = scenario.with_overrides([Assignment(("flow", name, "count"), 2)])
        before = {flow["name"] for flow in scenario.resolved["flows"]} - {name}
        copies = [flow["name"] for flow in twice.resolved["flows"] if flow["name"] not in before]
        names = dict(zip(copies, (name, ADDED), strict=True))
        renamed = [Assignment(("flow", old, "name"), new) for old, new in names.items() if old != new]
        return twice.with_overrides(renamed)
    except (ScenarioError, ValueError):
        raise refusal from None


def _plan(scenario: Scenario, chosen: Sequence[Control], seeds: int) -> list[Assignment]:
    """The assignments that make a scenario a study of these controllers."""
    written = "start_jitter" in " ".join([scenario.text, *map(str, scenario.overrides)])
    starts = [
        Assignment(("flow", flow["name"], "start_jitter"), f"{round(1e9 * (flow['base_rtt_s'] or START_S))}ns")
        for flow in (() if written else scenario.resolved["flows"])
    ]
    axis = {control.label: {key_text(a.key): a.value for a in control.overrides} for control in chosen}
    return [
        Assignment(("delays",), True),
        *starts,
        Assignment(("sweep", "seed"), f"1..{seeds}"),
        Assignment(("sweep", CONTROL), axis, "--control", of_text=False),
    ]
