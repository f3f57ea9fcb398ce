"""The parts of a study: axes, points, seeds, and the identity of each run."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from ackclock import _core
from ackclock.base.assignment import Assignment, Override, Overrides, listed
from ackclock.base.controllers import file_of
from ackclock.base.files import BadInput
from ackclock.base.refusal import utf8
from ackclock.base.source import Source, read_source
from ackclock.foreign import ForeignController
from ackclock.scenario import Controllers, Scenario

ENGINE = _core.ENGINE
"""Version of the core with a hash of its sources."""
ON = "on"
"""The axis of a study on another substrate than simulated TCP."""
VIRTUAL = ("tcp", "quic")
"""Substrates in virtual time, where a scenario and a seed decide the result."""

MOST_EXAMINED = 300
"""Points of a study up to which each is examined for random numbers."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a study. `run_id` is a hash of everything that determines its result: scenario, seed, engine."""

    run_id: str
    point: int
    seed: int


class StudyPlan:
    """A scenario with axes (`sweep`), or a single run if it has none. docs/studies.md describes the format."""

    def __init__(self, parsed: _core.Study, source: Source, overrides: Sequence[Override], on: str = "tcp") -> None:
        self.core = parsed
        self.source = source
        self.overrides = list(overrides)
        self.on = on
        """The substrate, as in `ackclock run --on`; on another one than `tcp` it is an axis of the study."""

    @property
    def file(self) -> str:
        """The file in messages."""
        return self.source.file

    @property
    def text(self) -> str:
        """The text, without the changes by `overrides`."""
        return self.source.text

    @classmethod
    def load(
        cls,
        path: str | Path,
        overrides: Overrides = (),
        *,
        controllers: Controllers | None = None,
        allow_code: bool = False,
        on: str = "tcp",
    ) -> Self:
        """Read a file, a shipped scenario such as `@dumbbell`, or a link; every point is checked.

        Raises ScenarioError (with file, line, key) if one cannot be run, OSError if the file cannot be read, BadInput
        if no shipped scenario has the name, or if a link is damaged or names a controller in Python. `allow_code`: see
        `Scenario.load`. `controllers`, `on`: see `read`.
        """
        return cls.read(read_source(path, allow_code=allow_code), overrides, controllers=controllers, on=on)

    @classmethod
    def parse(
        cls,
        text: str,
        overrides: Overrides = (),
        *,
        file: str = "study",
        controllers: Controllers | None = None,
        allow_code: bool = False,
        on: str = "tcp",
    ) -> Self:
        """Create a study from TOML text."""
        source = Source(file, text, "anywhere" if allow_code else "folder", libraries=allow_code)
        return cls.read(source, overrides, controllers=controllers, on=on)

    @classmethod
    def read(
        cls,
        source: Source,
        overrides: Overrides = (),
        *,
        controllers: Controllers | None = None,
        most: int | None = None,
        on: str = "tcp",
    ) -> Self:
        """Create a study from its source. With `most`, of a study with more points only about so many are checked.

        `on` is the substrate of its runs, as in `ackclock run --on`; those in real time need the executor
        `ackclock.apps.reach.real_time.BySubstrate`. Raises BadInput if it is not `tcp` and the study has an axis `on`.
        `controllers` maps flow names to controllers, as in `Scenario.load`. Each run loads its controllers from their
        files: raises BadInput for one without a file.
        """
        entries = [*listed(overrides), *(_assigned(flow, c) for flow, c in (controllers or {}).items())]
        if any(isinstance(c, ForeignController) and c.language == "library" for c in (controllers or {}).values()):
            source = replace(source, libraries=True)  # the caller has loaded it
        utf8(*map(str, entries))
        study = cls(_core.parse_study(source, entries, most, on == "quic"), source, entries, on)
        if on != "tcp" and any(name == ON for name, _ in study.core.axes):
            raise BadInput(f"{source.file}: sweep.{ON}: is the axis of --on; give the axis another name")
        return study

    @classmethod
    def build(
        cls, document: Mapping[str, Any], overrides: Overrides = (), *, controllers: Controllers | None = None
    ) -> Self:
        """Create a study from a dictionary of the same structure as the TOML file."""
        import tomli_w

        return cls.parse(tomli_w.dumps(document), overrides, file="dictionary", controllers=controllers)

    @property
    def advice(self) -> list[str]:
        """Entries of the file that are accepted but should be written differently, each with its place."""
        return self.core.advice

    @property
    def title(self) -> str:
        """The title of the scenario."""
        return self.core.title

    @property
    def engine(self) -> str:
        """Version of the core with a hash of its sources."""
        return ENGINE

    @cached_property
    def axes(self) -> dict[str, list[str]]:
        """Labels of each axis, without the seeds."""
        return dict(self.core.axes) | ({} if self.on == "tcp" else {ON: [self.on]})

    @property
    def real_time(self) -> bool:
        """Whether its runs take place in real time, where no two are equal."""
        return self.on not in VIRTUAL

    @property
    def refused(self) -> list[tuple[int, str]]:
        """Points that cannot be run, with the reasons; at least one other point can be run."""
        return self.core.refused

    @property
    def is_sweep(self) -> bool:
        """Whether there is more than one run."""
        return self.points * len(self.seeds) > 1

    @property
    def seeds(self) -> list[int]:
        """The seeds of every point."""
        return self.core.seeds

    @property
    def points(self) -> int:
        """Number of combinations of the axes' labels, without the seeds."""
        return self.core.points

    @property
    def idle_seeds(self) -> str:
        """What to say of several seeds that change nothing at any point; empty if one may, or with many points."""
        if len(self.seeds) < 2 or self.on != "tcp" or self.points > MOST_EXAMINED:
            return ""
        refused = {point for point, _ in self.refused}
        if any(self.scenario(point).resolved["seed_matters"] for point in range(self.points) if point not in refused):
            return ""
        equal = f"the {len(self.seeds)} runs of a point are equal"
        return f"{self.file}: the seed changes nothing here, so {equal}: add start_jitter to a flow, or write one seed"

    def labels(self, point: int) -> dict[str, str]:
        """The label of each axis at a point."""
        names = (name for name, _ in self.core.axes)
        return dict(zip(names, self.core.labels(point), strict=True)) | ({} if self.on == "tcp" else {ON: self.on})

    def scenario(self, point: int) -> Scenario:
        """The scenario of a point, for a single run."""
        return Scenario(self.core.scenario(point), self.source, self.overrides)

    def document(self, point: int) -> dict[str, Any]:
        """The scenario of a point as a dictionary, without axes and base files; the changes are made."""
        return self.core.document(point)

    def standalone(self, point: int) -> Scenario:
        """The scenario of a point as one that is written out: without axes, changes and base files.

        Its text is the scenario, so that a link or a page can hold it. The files that it names are relative to the
        folder of the study's file. Its runs have the identities of the point's. Raises BadInput on another substrate
        than `tcp`, which a scenario does not contain.
        """
        import tomli_w

        if self.on != "tcp":
            raise BadInput(f"{self.file}: a scenario does not contain its substrate; use ackclock run --on {self.on}")
        document = self.document(point)
        labels = ", ".join(f"{axis} {label}" for axis, label in self.labels(point).items())
        if labels:
            document["title"] = f"{self.title}: {labels}"
        return Scenario.read(self.source.with_text(tomli_w.dumps(document)))

    def runs(self, seeds: Mapping[int, Iterable[int]] | None = None) -> list[Run]:
        """Every run; `seeds` gives the seeds of each point in place of the study's."""
        planned = []
        for point in range(self.points):
            of_point = self.seeds if seeds is None else list(seeds[point])
            ids = [identity_on(self.on, run_id) for run_id in self.core.run_ids(point, of_point)]
            planned += [Run(run_id, point, seed) for run_id, seed in zip(ids, of_point, strict=True)]
        return planned


def _assigned(flow: str, controller: type | ForeignController) -> Assignment:
    """The assignment of a controller to a flow, by its file. Raises BadInput if it has none, or is no controller."""
    place = f"controllers[{flow!r}]"
    if isinstance(controller, ForeignController):
        table = controller.table
    else:
        try:
            file, name = file_of(controller)
        except ValueError as error:
            raise BadInput(f"{place}: {error}") from None
        table = {"python": f"{file}:{name}"}
    return Assignment(("flow", flow, "tcp", "congestion_control"), table, place, of_text=False)


def identity_on(on: str, run_id: str) -> str:
    """The identity of a run on a substrate: in real time also of the substrate and of the kernel that it needs."""
    if on in VIRTUAL:
        return run_id
    parts = json.dumps([on, run_id, platform.release()])
    return hashlib.blake2b(parts.encode(), digest_size=16).hexdigest()
