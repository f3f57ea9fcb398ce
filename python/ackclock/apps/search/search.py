"""A search: explore a space, confirm failures, make them small, say why."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Self

from ackclock.apps.search.diagnose import Signature, diagnose, signature
from ackclock.apps.search.evaluate import Evaluator, runner, uses_python
from ackclock.apps.search.explore import ROUND, Explorer, Tried
from ackclock.apps.search.findings import BUDGET, Failure, Findings, Options
from ackclock.apps.search.map import Map
from ackclock.apps.search.objective import Objective, Role, names_code, parse, role
from ackclock.apps.search.report import write
from ackclock.apps.search.shrink import Shrinker
from ackclock.apps.search.space import Genome, Space, read_space
from ackclock.base.files import BadInput
from ackclock.base.source import Source, read_source
from ackclock.base.toml_text import inline
from ackclock.study.plan import ENGINE
from ackclock.study.store import Store

SPACES = Path(__file__).parent / "spaces"
MOST_FAILURES = 3
"""Failures of different signatures that are made small."""
CONFIRMED = 24
"""Candidates, of different cells of the map, whose signatures are looked at."""
DEFAULT_OBJECTIVE = "regret(utilisation, reno) >= 0.3"
Progress = Callable[[str, int, int], None]


class Search(Findings):
    """A search over a space of networks.

    >>> search = Search.load("@shrew").run("out/search/shrew")  # doctest: +SKIP
    >>> search.failures[0].why  # doctest: +SKIP
    """

    def __init__(self, source: Source, options: Options) -> None:
        self.source, self.options = source, options
        self.space, table = read_space(source, options.overrides)
        named = table.get("control") or ""
        of_file = inline(named) if isinstance(named, Mapping) else str(named)
        control: str | Role = options.control or of_file or _control_of(self.space)
        if isinstance(control, str):
            control = role(control, of_text=not options.control)
        text = options.objective or table.get("objective") or DEFAULT_OBJECTIVE
        place = "--objective" if options.objective else f"{source.file}: search.objective"
        against = options.against or table.get("against")
        self.objective: Objective = parse(str(text), control, against, place, of_text=False)
        _refuse_code(source.file, options, table)
        if self.objective.form == "scar":
            self.space.after_events = True
        self.seeds = _seeds(source.file, table.get("seeds", 3), self.space)
        self.map = Map(self.space, table.get("map"), f"{source.file}: search.map")
        self.runs, self.cpu_s = 0, 0.0
        self.tried: list[Tried] = []
        self.failures: list[Failure] = []
        self._check()

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        control: str | None = None,
        against: str | None = None,
        objective: str | None = None,
        budget: int = BUDGET,
        seed: int = 1,
        first: bool = False,
        overrides: Sequence[str] = (),
        allow_code: bool = False,
    ) -> Self:
        """Read a space file, a scenario, or a built-in space such as `@shrew`.

        `control` is the tested controller, `against` the reference of a regret, `objective` replaces that of the file;
        `first` ends the search after the first failure. Raises BadInput and ScenarioError.
        """
        options = Options(control, against, objective, budget, None, seed, first, False, tuple(overrides))
        return cls(space_source(path, allow_code=allow_code), options)

    def _check(self) -> None:
        """Raise BadInput if no network keeps the budget, or if the controllers cannot be run."""
        evaluator = Evaluator(self.space, self.objective, self.seeds, None, None)
        for one in self.objective.roles:
            evaluator.scenario(self.space.simplest(), one)
        if not Explorer(self.space, self.options.seed, ["sobol"]).ask(1):
            raise BadInput(
                f"{self.source.file}: search.budget: no network of the space keeps it; raise it, or shorten the events"
            )

    @property
    def identity(self) -> str:
        """A hash of what the result depends on."""
        options = asdict(self.options) | {"budget": 0, "time_s": None}
        parts = [self.source.file, self.source.text, json.dumps(options, sort_keys=True), ENGINE]
        return hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()

    def run(
        self,
        out: str | Path,
        *,
        jobs: int | None = None,
        engine: str = "local",
        time_limit_s: float | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Run the search; what an interrupted search in the same folder has run is not run again.

        Writes the report, the smallest failures and the regression file to `out`. Raises BadInput if the folder holds
        another search.
        """
        folder = Path(out)
        with Store.create(folder) as store:
            if (store.about("search") or self.identity) != self.identity:
                raise BadInput(f"{folder}: holds another search; give another folder with --out, or repeat its options")
            store.set_about(search=self.identity, title="search")
            python = uses_python(self.space, self.objective.roles)
            runs = runner(engine, jobs, time_limit_s, python=python)
            with Evaluator(self.space, self.objective, self.seeds, store, runs) as evaluator:
                self._explore(evaluator, progress)
                self._reduce(evaluator, progress)
                self.runs, self.cpu_s = evaluator.runs, evaluator.cpu_s
                write(self, evaluator, folder)
        return self

    def _explore(self, evaluator: Evaluator, progress: Progress | None) -> None:
        explorer, began = Explorer(self.space, self.options.seed), time.monotonic()
        budget, limit = self.options.budget, self.options.time_s
        while len(explorer.tried) < budget and (limit is None or time.monotonic() - began < limit):
            proposed = explorer.ask(min(ROUND, budget - len(explorer.tried)))
            if not proposed:
                break
            values = evaluator.confirmed([genome for _, genome, _ in proposed])
            self.map.add(explorer.tell(proposed, values))
            self.tried = explorer.tried
            if self.refused and all(one.value.objective is None and not one.value.fails for one in self.tried):
                raise BadInput(f"{self.source.file}: no network can be run: {self.refused[-1]}")
            if progress is not None:
                progress("networks", len(explorer.tried), budget)
            if self.options.first and any(self._real(evaluator, t) for t in explorer.tried[-len(proposed) :]):
                break

    def _real(self, evaluator: Evaluator, one: Tried) -> bool:
        """Whether a network is a failure that is not trivial: data was sent after the handshake."""
        return one.value.fails and signature(evaluator, one.genome, one.value)[0].limit != "handshake"

    def _reduce(self, evaluator: Evaluator, progress: Progress | None) -> None:
        """Make failures of different signatures small, the first one that was found first."""
        chosen: dict[Signature, Tried] = {}
        for one in self.map.failures(self.tried)[:CONFIRMED]:
            sign = signature(evaluator, one.genome, one.value)[0]
            if sign.limit != "handshake":
                chosen.setdefault(sign, one)
        order = sorted(chosen.items(), key=lambda item: item[1].number)[:MOST_FAILURES]
        documents: list[dict[str, Any]] = []
        for number, (sign, one) in enumerate(order):
            if progress is not None:
                progress("failures made small", number, len(order))
            failure = self._failure(evaluator, sign, one)
            if failure.document not in documents:  # two signatures can have one smallest network
                documents.append(failure.document)
                self.failures.append(failure)

    def _failure(self, evaluator: Evaluator, sign: Signature, one: Tried) -> Failure:
        def same(genome: Genome) -> bool:
            value = evaluator.values([genome])[0]
            now = signature(evaluator, genome, value)[0]
            return now.limit != "handshake" if self.options.any_cause else now == sign

        small = Shrinker(evaluator, same).shrink(one.genome, one.value)
        document = self.space.document(small.genome, evaluator.role_overrides(small.genome, self.objective.tested))
        cause = diagnose(evaluator, small.genome, small.value)
        return Failure(
            small.genome, one, small.value.objective, sign, small.evaluations, cause, small.value.error, document
        )


def space_source(path: str | Path, *, allow_code: bool = False) -> Source:
    """A space: a file, a built-in space such as `@shrew`, or a scenario. Raises BadInput."""
    name = str(path).removeprefix("@").removesuffix(".toml")
    if str(path).startswith("@") and (SPACES / f"{name}.toml").is_file():
        return Source(f"@{name}", (SPACES / f"{name}.toml").read_text(encoding="utf-8"), "none", libraries=allow_code)
    try:
        return read_source(path, allow_code=allow_code)
    except BadInput as error:
        if str(path).startswith("@"):
            raise BadInput(f"{error}; the built-in spaces are {', '.join(built_in())}") from None
        raise


def built_in() -> list[str]:
    """The built-in spaces."""
    return [f"@{file.stem}" for file in sorted(SPACES.glob("*.toml"))]


def _refuse_code(file: str, options: Options, table: Mapping[str, Any]) -> None:
    """Raise BadInput if the table `[search]` names a controller in Python: only the user does that."""
    named = {name: table[name] for name in ("control", "against", "objective") if name in table}
    for name, text in named.items():
        if getattr(options, name):
            continue
        place = f"{file}: search.{name}"
        words = inline(text) if isinstance(text, Mapping) else str(text)
        roles = parse(words, "reno", None, place).roles if name == "objective" else (role(words),)
        if any(map(names_code, roles)):
            raise BadInput(f"{place}: names a controller in Python; name it with --{name}")


def _control_of(space: Space) -> Role:
    """The controller of the first tested flow as the base scenario has it, which needs no assignment."""
    first = next(flow for flow in space.base["flow"] if flow.get("name") == space.tested[0])
    for owner in (first, space.base):
        for transport in ("tcp", "quic"):
            control = owner.get(transport, {}).get("congestion_control")
            if control is not None:
                return Role(inline(control) if isinstance(control, Mapping) else str(control))
    return Role(next(one["control"] for one in space.scenario(space.simplest()).resolved["flows"]))


def _seeds(file: str, count: Any, space: Space) -> list[int]:
    if not isinstance(count, int) or not 1 <= count <= 100:
        raise BadInput(f"{file}: search.seeds: must be 1 to 100")
    first = int(space.base.get("seed", 1))
    return list(range(first, first + count))
