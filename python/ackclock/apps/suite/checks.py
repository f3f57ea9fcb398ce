"""Checks: assertions of a situation with a verdict, and known failures (docs/conformance.md)."""

from __future__ import annotations

import ast
import difflib
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from ackclock import stats
from ackclock.apps.suite.language import Expression, Missing, NotRecorded, Vocabulary, parse
from ackclock.apps.suite.record import COLUMNS, NUMBERS, PHASES, SERIES, Record
from ackclock.base.files import BadInput
from ackclock.base.frames import codes
from ackclock.base.models import models
from ackclock.base.records import read_record, read_toml
from ackclock.base.si import value as shown_value
from ackclock.outcome import FlowOutcome, LinkOutcome

Verdict = Literal["pass", "fail", "known", "fixed", "not shown", "not observable"]
VERDICTS: tuple[Verdict, ...] = ("fail", "fixed", "known", "not shown", "not observable", "pass")
"""All verdicts, those that need attention first."""
LEVELS = ("test", "must", "should", "may", "text")
"""What a document demands: a test case of it, a key word of RFC 2119, or a sentence without one."""
BINDING = ("test", "must")
"""The levels whose failures set the exit status."""
TOLERANCE = re.compile(r"([\d.]+)\s*(%|segments?|rounds?|rtt|ms|s)?")
FORMS = "a number, or one with segment, round, rtt, ms, s or %, such as '1 segment'"


@dataclass(frozen=True)
class Check:
    """A check as suite.toml has it. Bounds are numbers or expressions."""

    id: str
    value: str
    say: str = ""
    """What it says in words; default: the value."""
    least: float | str | None = None
    most: float | str | None = None
    equals: float | str | None = None
    tolerance: float | str = 0.0
    premise: str = ""
    """A condition without which the check shows nothing."""
    over: str = "each"
    """Over seeds and points: `each` of them, the `mean` with its 95 % interval, or a `share:0.9` of them."""
    level: str = ""
    """By default that of the situation."""
    controllers: list[str] = field(default_factory=list)
    """The controllers for which it makes sense; none: every one."""
    unit: str = ""


@dataclass(frozen=True)
class Bounds:
    """What a value must be at one seed of one point."""

    least: float | None
    most: float | None

    def hold(self, value: float) -> bool:
        """Whether a value is within them."""
        return (self.least is None or value >= self.least) and (self.most is None or value <= self.most)


@dataclass(frozen=True)
class Finding:
    """A check at one seed of one point: its value and bounds, or why there is none."""

    value: float | None = None
    bounds: Bounds = field(default_factory=lambda: Bounds(None, None))
    reason: str = ""
    recorded: bool = True
    """Whether the values that it needs are recorded."""
    failed: bool = False
    """Whether the run has failed."""

    @property
    def holds(self) -> bool:
        """Whether it has a value within the bounds."""
        return self.value is not None and self.bounds.hold(self.value)


class ParsedCheck:
    """A check whose expressions are parsed. Raises BadInput with file, situation, check, position, nearest name."""

    def __init__(self, check: Check, place: str, level: str, vocabulary: Vocabulary) -> None:
        self.check = check
        self.id = check.id
        self.level = check.level or level
        if self.level not in LEVELS:
            raise BadInput(f"{place}: level: must be one of {', '.join(LEVELS)}, not {self.level}")

        def expression(key: str) -> Expression | None:
            text = getattr(check, key)
            if isinstance(text, float) and not math.isfinite(text):
                raise BadInput(f"{place}: {key}: must be a finite number or an expression")
            return None if text is None or text == "" else parse(str(text), f"{place}: {key}", vocabulary)

        value = expression("value")
        if value is None:
            raise BadInput(f"{place}: value: is empty")
        self.value = value
        self.premise = expression("premise")
        self.bounds = {key: expression(key) for key in ("least", "most", "equals")}
        if not any(self.bounds.values()):
            raise BadInput(f"{place}: needs least, most or equals")
        if self.bounds["equals"] and (self.bounds["least"] or self.bounds["most"]):
            raise BadInput(f"{place}: equals stands alone; omit least and most")
        if self.tolerance(1.0, {"rtt0": 1.0}) is None:
            raise BadInput(f"{place}: tolerance: must be {FORMS}, not {check.tolerance!r}")
        self.share = _share(check.over, place)
        check_controllers(check.controllers, place)

    def tolerance(self, bound: float, numbers: Mapping[str, float]) -> float | None:
        """The tolerance of a bound in the unit of the value; None if it cannot be read."""
        if isinstance(self.check.tolerance, (int, float)):
            return float(self.check.tolerance) if self.check.tolerance >= 0 else None
        match = TOLERANCE.fullmatch(self.check.tolerance.strip())
        if match is None:
            return None
        try:
            amount = float(match[1])
        except ValueError:
            return None
        factors = {"%": abs(bound) / 100, "rtt": numbers["rtt0"], "ms": 1e-3}
        return amount * factors.get(match[2] or "", 1.0)

    @property
    def expressions(self) -> list[Expression]:
        """All expressions of it."""
        return [one for one in (self.value, self.premise, *self.bounds.values()) if one is not None]

    @property
    def is_truth(self) -> bool:
        """Whether its value is true or false, which tables write as yes and no."""
        tree = self.value.tree
        called = tree.func.id if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) else ""
        if str(self.check.equals) not in {"0", "1"} and self.check.tolerance != 0:
            return False
        return called in {"next", "why", "isset"} or (
            self.check.equals is not None and isinstance(tree, (ast.Compare, ast.BoolOp))
        )

    @property
    def needs_trace(self) -> bool:
        """Whether it reads anything but the outcome and the metrics."""
        return any(one.names - set(NUMBERS) or one.functions - ARITHMETIC for one in self.expressions)

    def find(self, record: Record) -> Finding:
        """Its value and bounds in a run."""
        try:
            if self.premise is not None and not self.premise.number(record):
                return Finding(reason=f"the premise does not hold: {self.premise.text}")
            value = self.value.number(record)
            bounds = {key: None if one is None else one.number(record) for key, one in self.bounds.items()}
        except Missing as error:
            return Finding(reason=str(error))
        except NotRecorded as error:
            return Finding(reason=str(error), recorded=False)
        equals, least, most = bounds["equals"], bounds["least"], bounds["most"]
        if equals is not None:
            least = most = equals
        if "rtt" in str(self.check.tolerance) and math.isnan(record.numbers["rtt0"]):
            return Finding(reason="the round-trip time of the empty path is not known", recorded=False)
        return Finding(
            value,
            Bounds(
                None if least is None else least - (self.tolerance(least, record.numbers) or 0.0),
                None if most is None else most + (self.tolerance(most, record.numbers) or 0.0),
            ),
        )


ARITHMETIC = {"abs", "floor", "sqrt", "cbrt", "log2", "isset", "max", "min"}
"""Functions that need no trace."""


def _share(over: str, place: str) -> float | None:
    """The share of runs in which a check must hold; None for the mean. Raises BadInput."""
    kind, colon, number = over.partition(":")
    if over == "mean":
        return None
    if over == "each":
        return 1.0
    try:
        share = float(number) if kind == "share" and colon else 0.0
    except ValueError:
        share = 0.0
    if not 0 < share <= 1:
        raise BadInput(f"{place}: over: must be each, mean, or share:0.9, not {over}")
    return share


@dataclass(frozen=True)
class Known:
    """A failure that is known, in the file known.toml of a suite."""

    situation: str
    check: str
    control: str
    """The controller as it is written after --control, or `*`."""
    since: str
    why: str
    on: str = "*"
    """The substrate, such as `quic`, or `*`."""


def read_known(folder: Path) -> list[Known]:
    """The known failures of a suite; none without the file. Raises BadInput."""
    file = folder / "known.toml"
    if not file.is_file():
        return []
    tables = read_toml(file)
    if set(tables) - {"known"} or not isinstance(tables.get("known", []), list):
        raise BadInput(f"{file}: has tables [[known]] only")
    return [read_record(Known, table, f"{file}: known[{i}]") for i, table in enumerate(tables.get("known", []))]


@dataclass(frozen=True)
class CheckResult:
    """The verdict of a check."""

    situation: str
    check: str
    level: str
    verdict: Verdict
    value: str
    """The value, or the range of values over seeds and points."""
    demand: str
    """The bounds, as numbers."""
    reason: str
    """Why it is not shown, not observable or known; of a failure where it fails."""
    runs: int
    """Runs in which it was shown."""

    @property
    def binding(self) -> bool:
        """Whether its failure sets the exit status."""
        return self.level in BINDING

    @property
    def failed(self) -> bool:
        """Whether it is a failure that sets the exit status."""
        return self.verdict == "fail" and self.binding

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def judge(
    check: ParsedCheck, situation: str, findings: Sequence[tuple[str, Finding]], known: Known | None
) -> CheckResult:
    """The verdict of a check over its runs, each with the name of its point and seed."""
    shown = [(where, finding) for where, finding in findings if finding.value is not None]
    values = [finding.value for _, finding in shown if finding.value is not None]
    unit = f" {check.check.unit}" if check.check.unit else ""
    about: dict[str, Any] = {
        "situation": situation,
        "check": check.id,
        "level": check.level,
        "runs": len(values),
    }
    broken = any(finding.failed for _, finding in findings)
    if not values or broken:
        reasons = list(dict.fromkeys(finding.reason for _, finding in findings if finding.reason))
        observable = any(finding.recorded for _, finding in findings)
        verdict: Verdict = "not shown" if observable else "not observable"
        return CheckResult(**about, verdict=verdict, value="", demand=_written(check), reason="; ".join(reasons))
    bounds = [finding.bounds for _, finding in shown]
    demand = _truths([b.least for b in bounds]) if check.is_truth else _demand(check.check, bounds)
    if check.share is None:
        estimate = stats.mean(values)
        ends = [x for x in (estimate.low, estimate.high) if x is not None] or [estimate.value]
        holds = all(finding.bounds.hold(x) for _, finding in shown for x in ends)
        text = shown_value(estimate.value, 4)
        if estimate.low is not None and estimate.high is not None and estimate.low < estimate.high:
            text += f" [{shown_value(estimate.low, 4)}, {shown_value(estimate.high, 4)}]"
        wrong = ""
    else:
        right = sum(finding.holds for _, finding in shown)
        holds = right >= check.share * len(shown)
        text = _truths(values) if check.is_truth else _range(values).strip("()")
        places = [where for where, finding in shown if not finding.holds and where]
        wrong = f"{len(shown) - right} of {len(shown)} runs" if len(shown) > 1 and right < len(shown) else ""
        wrong += f": {', '.join(places[:3])}" if wrong and places else ""
    reason = wrong if not holds else ""
    if len(shown) < len(findings):
        reason = "; ".join(filter(None, (reason, f"shown in {len(shown)} of {len(findings)} runs")))
    if known is not None:
        reason = f"{known.why} (since {known.since})"
    verdict = ("known", "fixed")[holds] if known is not None else ("fail", "pass")[holds]
    return CheckResult(**about, verdict=verdict, value=text + unit, demand=demand + unit, reason=reason)


def _demand(check: Check, bounds: Sequence[Bounds]) -> str:
    """The bounds as numbers: the range of them over the runs."""
    if check.equals is not None and check.tolerance in {0}:
        return _range([b.least for b in bounds if b.least is not None])
    parts = []
    lows = [b.least for b in bounds if b.least is not None]
    highs = [b.most for b in bounds if b.most is not None]
    if lows and highs:
        return f"{_range(lows)} to {_range(highs)}"
    if lows:
        parts.append(f"at least {_range(lows)}")
    if highs:
        parts.append(f"at most {_range(highs)}")
    return " and ".join(parts)


def _truths(values: Sequence[float | None]) -> str:
    """Truth values in words."""
    return " or ".join(word for word, truth in (("yes", True), ("no", False)) if truth in {bool(v) for v in values})


def _range(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return shown_value(low, 4) if low == high else f"({shown_value(low, 4)} to {shown_value(high, 4)})"


def _written(parsed: ParsedCheck) -> str:
    """The demand as it is written, of a check without a value."""
    check = parsed.check
    if parsed.is_truth and check.equals in {0, 1}:
        return _truths([float(check.equals)])
    words = {"equals": "", "least": "at least ", "most": "at most "}
    return " and ".join(f"{words[key]}{getattr(check, key)}" for key in words if getattr(check, key) is not None)


def vocabulary(states: Sequence[str], metrics: Sequence[str]) -> Vocabulary:
    """The names of a suite with these states."""
    tables: dict[str, Collection[str]] = {
        "outcome": list(FlowOutcome.__annotations__),
        "link": list(LinkOutcome.__annotations__),
    }
    return Vocabulary(
        [*SERIES, *probe_names()],
        NUMBERS,
        [*PHASES, *states],
        tables | {"metric": list(metrics)},
        {"cause": codes()["cause"], "phase": PHASES},
    )


def probe_names() -> frozenset[str]:
    """Names of the internal values of all registered controllers."""
    return frozenset(name for entry in models("controllers") for name in entry["trace"]) - set(COLUMNS)


def check_controllers(names: Any, place: str) -> None:
    """Raise BadInput unless it is a list of names of controllers of the package."""
    every = [entry["name"] for entry in models("controllers")]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise BadInput(f"{place}: controllers: must be a list of names")
    for name in names:
        if name not in every:
            near = difflib.get_close_matches(name, every, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise BadInput(f"{place}: controllers: there is no controller {name}{hint}")
