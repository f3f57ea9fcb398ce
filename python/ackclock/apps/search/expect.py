"""Known failures as regression files: what a search found, run again."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock import ControllerError
from ackclock.apps.search.evaluate import run_once
from ackclock.apps.search.objective import Objective, Role, measure, names_code, parse
from ackclock.base import si
from ackclock.base.files import BadInput, foreign
from ackclock.base.source import read_source
from ackclock.base.toml_text import inline
from ackclock.scenario import Scenario

CLOSE = 0.05
"""Largest relative change of a value that counts as the same: a new version of the engine moves packets."""


@dataclass(frozen=True)
class State:
    """A known failure now: "as known", "fixed" (the objective does not hold for every seed), "worse" or "milder"."""

    state: str
    scenario: Path
    text: str


def entry(
    scenario: str, objective: Objective, tested: Sequence[str], link: str, rate_bps: float, **more: Any
) -> dict[str, Any]:
    """An `[[expect]]` of a regression file: `more` has value, seeds, control and against."""
    named = {"objective": objective.text, "tested": list(tested), "bottleneck": link, "rate_bps": rate_bps}
    return {"scenario": scenario, **named, **more}


def regression_text(entries: Sequence[Mapping[str, Any]]) -> str:
    """A regression file."""
    tables = ("".join(f"{key} = {inline(value)}\n" for key, value in one.items()) for one in entries)
    return "".join(f"[[expect]]\n{table}\n" for table in tables)


def files(targets: Sequence[Path]) -> list[Path]:
    """The regression files of files and folders. Raises BadInput if one has none."""
    every: list[Path] = []
    for target in targets:
        here = sorted(target.rglob("*regression.toml")) if target.is_dir() else [target]
        if not here or not here[0].is_file():
            raise BadInput(f"{target}: there is no regression.toml; ackclock search writes one")
        every += here
    return every


def entries_of(file: Path) -> list[Any]:
    """The tables `[[expect]]` of a regression file, which `check_entry` has not checked. Raises BadInput."""
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{file}: {foreign(file, 'a list of expectations (TOML)') or error}") from None
    if document and "expect" not in document:
        raise BadInput(f"{file}: has no table [[expect]]; ackclock search writes such a file")
    entries = document.get("expect", [])
    if not isinstance(entries, list):
        raise BadInput(f"{file}: expect: must be tables [[expect]]")
    return entries


def check(file: Path, *, allow_code: bool = False) -> Iterator[State]:
    """Run what a file expects. Raises BadInput with the place."""
    for number, table in enumerate(entries_of(file)):
        try:
            yield _state(file, check_entry(table, f"{file}: expect[{number}]"), allow_code)
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"{file}: expect[{number}]: is not as ackclock search writes it ({error})") from None


ENTRY: dict[str, tuple[type, ...]] = {
    "scenario": (str,), "objective": (str,), "control": (str,), "against": (str,), "tested": (list,),
    "bottleneck": (str,), "rate_bps": (int, float), "seeds": (list,), "value": (int, float),
}  # fmt: skip
"""The keys of an `[[expect]]`, with the types of their values."""


def check_entry(one: Any, place: str) -> dict[str, Any]:
    """An entry whose values have the types of `ENTRY`. Raises BadInput with the place."""
    if not isinstance(one, Mapping):
        raise BadInput(f"{place}: must be a table")
    for key, types in ENTRY.items():
        if key not in one:
            if key in {"against", "value"}:
                continue
            raise BadInput(f"{place}.{key}: is missing")
        if not isinstance(one[key], types) or isinstance(one[key], bool):
            raise BadInput(f"{place}.{key}: must be {types[-1].__name__}, not {one[key]!r}")
    if Path(one["scenario"]).name != one["scenario"]:
        raise BadInput(f"{place}.scenario {one['scenario']}: must be a file of the same folder")
    if not all(isinstance(name, str) for name in one["tested"]):
        raise BadInput(f"{place}.tested: must be names of flows")
    if not all(isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < 2**63 for seed in one["seeds"]):
        raise BadInput(f"{place}.seeds: must be whole numbers from 0 to 2^63 - 1")
    return dict(one)


def _state(file: Path, one: dict[str, Any], allow_code: bool) -> State:
    place = f"{file}: objective"
    objective = parse(one["objective"], one["control"], one.get("against"), place)
    scenario = file.parent / one["scenario"]
    others = [role for role in objective.roles if role is not objective.tested or role.quic]
    if not allow_code and any(map(names_code, others)):
        raise BadInput(f"{file}: names a controller in Python besides that of the scenario; add --allow-code")
    source, value = read_source(scenario, allow_code=allow_code), one.get("value")
    flows = {flow["name"]: flow["kind"] for flow in Scenario.read(source).resolved["flows"]}
    errors: list[str] = []

    def metric(role: Role, seed: int, tested: bool) -> float | None:
        overrides = () if tested and not role.quic else role.overrides(one["tested"], flows)
        try:
            outcome = run_once(source, overrides, seed, quic=role.quic)
        except (ControllerError, RuntimeError) as error:
            errors.append(str(error))
            return None
        return measure(outcome, objective.metric, one["tested"], one["bottleneck"], one["rate_bps"])

    values = [
        objective.value([metric(role, seed, role is objective.tested) for role in objective.roles])
        for seed in one["seeds"]
    ]
    if value is None:
        fails = None in values
        return State(
            "as known" if fails else "fixed",
            scenario,
            "the controller raises an exception" if fails else "no exception",
        )
    if errors:
        return State("worse", scenario, f"{one['objective']}: {si.value(value)} known, now {errors[0]}")
    least = max(values, key=objective.fitness)
    text = f"{one['objective']}: {si.value(value)} known, {si.value(least)} now"
    if not objective.fails(least):
        return State("fixed", scenario, text)
    moved = objective.fitness(least) - objective.fitness(value)
    if abs(moved) <= CLOSE * max(abs(value), abs(objective.bound)):
        return State("as known", scenario, text)
    return State("worse" if moved < 0 else "milder", scenario, text)
