"""Reads the folder of a suite: suite.toml, and a scenario or study for each situation (docs/conformance.md)."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ackclock.apps.suite.checks import Check, Known, ParsedCheck, check_controllers, read_known, vocabulary
from ackclock.apps.suite.language import Expression
from ackclock.apps.suite.measures import SUITE_METRICS
from ackclock.apps.suite.situation import Situation
from ackclock.apps.suite.template import Template, parse_pilot
from ackclock.base.assignment import Assignment, key_names
from ackclock.base.files import BadInput
from ackclock.base.records import read_record, read_toml
from ackclock.base.source import read_source


@dataclass(frozen=True)
class Omitted:
    """A situation of the source that the suite omits, and the reason."""

    what: str
    why: str


@dataclass(frozen=True)
class Network:
    """Other values of the network, in which situations with `networks = true` are run too."""

    name: str
    set: dict[str, Any]

    def assignments(self) -> list[Assignment]:
        """What it assigns. Raises BadInput for what is no key."""
        place = f"network {self.name}"
        return [Assignment(key_names(key, place), value, f"{place}: {key}") for key, value in self.set.items()]


@dataclass(frozen=True)
class Checks:
    """The checks of a situation, its pilot times and its scenario."""

    checks: list[ParsedCheck]
    pilot: dict[str, Expression]
    template: Template

    @property
    def needs_trace(self) -> bool:
        """Whether the runs must be traced."""
        depends = bool(self.pilot) or not self.template.is_constant
        return depends or any(check.needs_trace for check in self.checks)


class Suite:
    """A suite's folder. Raises BadInput if its contents are invalid."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = folder.name
        file = folder / "suite.toml"
        about = read_toml(file)
        texts = ("title", "source", "summary")
        for key in about:
            if key not in {
                *texts,
                "standard",
                "status",
                "states",
                "controllers",
                "came_out",
                "reference",
                "network",
                "situation",
                "omitted",
            }:
                raise BadInput(f"{file}: {key}: unknown key")
        for key in texts:
            if not isinstance(about.get(key), str):
                raise BadInput(f"{file}: {key} is missing")
        self.title, self.source, self.summary = about["title"], about["source"], about["summary"].strip()
        self.came_out: str = about.get("came_out", "")
        """The result in words; `{SITUATION.METRIC.CONTROLLER}` is a value."""
        if not isinstance(about.get("reference", ""), str):
            raise BadInput(f"{file}: reference: must be a text")
        self.reference: str = about.get("reference", "")
        """Where the published values of its situations (`reference`) are from."""
        self.standard: str = about.get("standard", "")
        """The controller that `rivals_kept` is measured against."""
        if not isinstance(about.get("status", ""), str):
            raise BadInput(f"{file}: status: must be a text")
        self.status: str = about.get("status", "")
        """The document, its revision and its date."""
        states = about.get("states", [])
        if not isinstance(states, list) or not all(isinstance(name, str) and name.isidentifier() for name in states):
            raise BadInput(f"{file}: states: must be a list of words")
        self.states: list[str] = states
        """The states of a controller that its checks may name."""
        check_controllers(about.get("controllers", []), str(file))
        self.controllers: list[str] = about.get("controllers", [])
        """The controllers of the package that its document is about; none: every one."""
        for key in ("network", "situation", "omitted"):
            if not isinstance(about.get(key, []), list):
                raise BadInput(f"{file}: {key}: must be tables [[{key}]]")
        self.situations = [
            read_record(Situation, _renamed(item), f"{file}: situation[{i}]", {"check": Check})
            for i, item in enumerate(about.get("situation", []))
        ]
        self.networks = [
            read_record(Network, item, f"{file}: network[{i}]") for i, item in enumerate(about.get("network", []))
        ]
        self.omitted = [
            read_record(Omitted, item, f"{file}: omitted[{i}]") for i, item in enumerate(about.get("omitted", []))
        ]
        seen: set[str] = set()
        for situation in self.situations:
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", situation.id) or situation.id.endswith("-standard"):
                what = "must be letters, digits, '.', '_' and '-', and not end in -standard: it names files"
                raise BadInput(f"{file}: situation {situation.id}: an id {what}")
            if situation.id in seen:
                raise BadInput(f"{file}: situation {situation.id}: the id is used twice")
            seen.add(situation.id)
            if not all(isinstance(metric, str) for metric in situation.metrics):
                raise BadInput(f"{file}: {situation.id}: metrics: must be a list of names")
            if not all(isinstance(table, dict) for table in situation.parameters.values()):
                raise BadInput(f"{file}: {situation.id}: parameters: must be a table of tables, by controller")
            for metric in situation.metrics:
                if metric not in SUITE_METRICS:
                    near = difflib.get_close_matches(metric, SUITE_METRICS, 1)
                    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(SUITE_METRICS)}"
                    raise BadInput(f"{file}: {situation.id}: there is no metric {metric}; {hint}")
            if situation.transport not in {"tcp", "quic"}:
                raise BadInput(f"{file}: {situation.id}: transport: must be tcp or quic, not {situation.transport!r}")
            for metric in situation.reference:
                if metric not in situation.metrics:
                    raise BadInput(f"{file}: {situation.id}: reference: {metric} is not among its metrics")
            if not situation.bottleneck and any(SUITE_METRICS[metric].of_link for metric in situation.metrics):
                raise BadInput(f"{file}: {situation.id}: bottleneck is missing; name the link that is measured")
            if min(situation.seeds, situation.quick) < 1:
                raise BadInput(f"{file}: {situation.id}: seeds and quick must be at least 1")
            if "rivals_kept" in situation.metrics and not self.standard:
                raise BadInput(f"{file}: standard is missing; {situation.id} measures rivals_kept against it")
            if situation.source and not re.fullmatch(r"[a-z0-9-]+/[A-Za-z0-9._-]+", situation.source):
                raise BadInput(f"{file}: {situation.id}: from: must be SUITE/ID of a suite of the package")
            if not self.path(situation).is_file():
                name = situation.source or f"{situation.id}.toml"
                raise BadInput(f"{folder}: situation {situation.id} has no {name}")
        self.known = read_known(folder)
        self._checks = {one.id: self._parsed(one, f"{file}: {one.id}") for one in self.situations}
        for one in self.known:
            if one.situation not in self._checks or one.check not in {c.id for c in self._checks[one.situation].checks}:
                raise BadInput(f"{folder / 'known.toml'}: there is no check {one.situation}.{one.check}")

    def _parsed(self, situation: Situation, place: str) -> Checks:
        names = vocabulary(self.states, list(SUITE_METRICS))
        pilot = parse_pilot(situation.pilot, place, names)
        source = read_source(self.path(situation))
        with_times = replace(names, numbers=[*names.numbers, *pilot])
        template = Template(source, str(self.path(situation)), with_times)
        checks = [
            ParsedCheck(check, f"{place}: check {check.id}", situation.level, with_times) for check in situation.check
        ]
        twice = [check.id for i, check in enumerate(checks) if check.id in {c.id for c in checks[:i]}]
        if twice:
            raise BadInput(f"{place}: check {twice[0]}: the id is used twice")
        return Checks(checks, pilot, template)

    def checks(self, situation: Situation) -> Checks:
        """The checks of a situation, parsed."""
        return self._checks[situation.id]

    @property
    def place(self) -> str:
        """Its folder, if it is not of the package."""
        return "" if self.folder == _folder() / self.key else str(self.folder)

    @property
    def has_checks(self) -> bool:
        """Whether any situation has one."""
        return any(situation.check for situation in self.situations)

    def known_failure(self, situation: str, check: str, control: str, on: str) -> Known | None:
        """The known failure of a check with a controller, as it is written after --control, on a substrate."""
        for one in self.known:
            if (
                (one.situation, one.check) == (situation, check)
                and one.control in {control, "*"}
                and one.on in {on, "*"}
            ):
                return one
        return None

    def path(self, situation: Situation) -> Path:
        """The scenario or study of a situation."""
        if situation.source:
            suite, _, name = situation.source.partition("/")
            return _folder() / suite / f"{name}.toml"
        return self.folder / f"{situation.id}.toml"


def _renamed(item: Any) -> Any:
    """The table of a situation with the name that `from` has in the program."""
    if isinstance(item, dict) and "from" in item and "source" not in item:
        return {"source" if key == "from" else key: value for key, value in item.items()}
    return item


def _folder() -> Path:
    return Path(__file__).parent / "definitions"


def known() -> list[str]:
    """Names of the suites that come with the package."""
    return sorted(path.parent.name for path in _folder().glob("*/suite.toml"))


def find(name: str) -> Suite:
    """The suite of the package with this name, or the suite in this folder. Raises BadInput if there is none."""
    for folder in (_folder() / name, Path(name)):
        if (folder / "suite.toml").is_file():
            return Suite(folder)
    near = difflib.get_close_matches(name, known(), 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known())}, or a folder with a suite.toml"
    raise BadInput(f"no suite {name}; {hint}")
