"""Repeated emulations of `ackclock emulate`: one program several times, or A against B, with gates."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ackclock.apps.reach import gates
from ackclock.apps.reach.emulation import Programs
from ackclock.apps.reach.pairs import LETTERS
from ackclock.apps.reach.repeats import Results, Task
from ackclock.base.files import BadInput, check_targets, save_figure
from ackclock.base.names import network_names
from ackclock.base.text import fail, say
from ackclock.cli import emulate_verdicts
from ackclock.cli.console import counted_progress
from ackclock.cli.validity import FAILED, INVALID

if TYPE_CHECKING:
    from ackclock.draw.style import Size
    from ackclock.scenario import Scenario

REPEATS = 10
"""Repeats of A and B without --repeats."""
GATE_HELP = (
    "With --b: exit with status 1 if the ratio B/A of a value is certainly outside, such as 'goodput >= 0.95' or "
    "'p95_delay <= 1.1'. An interval that includes the bound decides nothing. May be repeated."
)


@Parameter(name="*", show_default=False)
@dataclass(frozen=True)
class Repeated:
    """Programs A and B, and how often they run."""

    a: Annotated[str | None, Parameter(name="--a")] = None
    """Program A at `from`, as one text that is split as a shell does. Default: the program after `--`."""
    b: Annotated[str | None, Parameter(name="--b")] = None
    """Program B at `from`: both run in the order A B B A, in pairs with equal seeds, and the ratio B/A is printed."""
    a_to: str | None = None
    """Program at `to` while A runs. Default: that of --at-to."""
    b_to: str | None = None
    """Program at `to` while B runs. Default: that of --at-to."""
    repeats: int | None = None
    """Number of pairs, or of runs of one program. Default: 10 with --b, otherwise 1."""
    gate: Annotated[list[str] | None, Parameter(consume_multiple=False, help=GATE_HELP)] = None
    strict: bool = False
    """Exit with status 1 if a gate is undecided, too."""
    junit: Path | None = None
    """Write the gates to this file as JUnit XML."""

    @property
    def asked(self) -> bool:
        """Whether there are several runs."""
        return self.b is not None or self.repeats is not None

    @property
    def number(self) -> int:
        """Repeats of each program."""
        return REPEATS if self.repeats is None else self.repeats

    @property
    def gates(self) -> list[gates.Gate]:
        """The gates. Raises BadInput."""
        return [gates.parse(text) for text in self.gate or ()]

    def sides(self, program: Sequence[str], at_to: str | None) -> list[Programs]:
        """A, or A and B; without any program a shell. Raises BadInput for options that do not go together."""
        self._check(program)
        first = list(program) if self.a is None else _split(self.a, "--a")
        a_to = at_to if self.a_to is None else self.a_to
        a = Programs(first or [os.environ.get("SHELL") or "/bin/sh"], _split_other(a_to, "--at-to, --a-to"))
        if self.b is None:
            return [a]
        b_to = at_to if self.b_to is None else self.b_to
        return [a, Programs(_split(self.b, "--b"), _split_other(b_to, "--at-to, --b-to"))]

    def task(
        self, scenarios: Sequence[Scenario], sides: Sequence[Programs], seed: int | None, limit_s: float | None
    ) -> Task:
        """What is to be run."""
        names = network_names([scenario.file for scenario in scenarios])
        return Task(scenarios, names, sides, self.number, self.gates, seed, limit_s)

    def _check(self, program: Sequence[str]) -> None:
        if self.a is not None and program:
            raise BadInput("--a: the program after -- is A already; write one of them")
        if self.asked and self.a is None and not program:
            raise BadInput("--b, --repeats: need program A: write --a 'PROGRAM ARGUMENTS', or it after --")
        if self.repeats is not None and not 1 <= self.repeats <= 1000:
            raise BadInput("--repeats: is a number from 1 to 1,000")
        for option, value in {"--b-to": self.b_to, "--gate": self.gate, "--strict": self.strict or None}.items():
            if value is not None and self.b is None:
                raise BadInput(f"{option}: needs --b, the program that is compared with A")
        if self.gate and self.number < 2:
            raise BadInput("--repeats: a gate needs at least 2")
        if self.junit is not None:
            if not self.asked:
                raise BadInput("--junit: needs --b or --repeats")
            check_targets([self.junit])
        for text in self.gate or ():
            gates.parse(text)


ONCE = Repeated()


def _split(text: str, option: str) -> list[str]:
    """The program and its arguments. Raises BadInput."""
    try:
        parts = shlex.split(text)
    except ValueError as error:
        raise BadInput(f"{option} {text}: {error}") from None
    if not parts:
        raise BadInput(f"{option}: names no program")
    return parts


def _split_other(text: str | None, options: str) -> list[str] | None:
    return None if text is None else _split(text, options)


def run_several(task: Task, repeated: Repeated, plot: Path | None, size: Size | None, *, as_json: bool) -> int:
    """Run the programs in turns, print values and verdicts, write files; returns the exit status."""
    from ackclock.apps.reach import repeats

    with counted_progress("network", len(task.scenarios)) as begin:
        results = repeats.run(task, begin)
    judged = results.judged() if results.complete else []
    if repeated.junit is not None and not results.interrupted:
        emulate_verdicts.write_junit(repeated.junit, results, judged, strict=repeated.strict)
    if plot is not None and results.complete and not results.invalid:
        from ackclock.apps.reach.figures import values_figure
        from ackclock.draw.style import fitted

        save_figure(fitted(lambda: values_figure(results), size), plot)
        say(f"ackclock: written: {plot}", error=True)
    if as_json:
        print(emulate_verdicts.as_json(results, judged))
    else:
        emulate_verdicts.print_values(results)
        emulate_verdicts.print_gates(judged)
    return _status(results, judged, strict=repeated.strict)


def _status(results: Results, judged: Sequence[gates.Judged], *, strict: bool) -> int:
    """The exit status, with its reasons."""
    if results.interrupted:
        return fail("interrupted; not all runs were made, and nothing was written", 130)
    if results.failed is not None:
        if results.failed.output:
            say(results.failed.output, error=True)
        return fail(f"{results.networks[-1].network}: {results.failed}", FAILED)
    for runs in results.networks:
        for trial in runs.missing:
            which = f"{runs.network}: {LETTERS[trial.job.side]}, repeat {trial.job.repeat + 1}"
            why = f"{trial.attempts} attempts were not valid, the last one because of: {'; '.join(trial.reasons)}"
            say(f"ackclock: {which} is missing: {why}", error=True)
    invalid = [runs.network for runs in results.invalid]
    undecided = [gate for gate in judged if gate.verdict == "undecided" and gate.test.network not in invalid]
    wrong = [*(gate for gate in judged if gate.verdict == "fail"), *(undecided if strict else ())]
    for gate in wrong:
        outcome = "fails" if gate.verdict == "fail" else "is undecided (--strict)"
        fail(f"--gate: {gate.test.network}: {gate.test.gate} {outcome}", 1)
    if wrong:
        return 1
    if invalid:
        return fail(f"{', '.join(invalid)}: too few valid runs; the machine is too busy", INVALID)
    return 0
