"""A metric of the runs of a study: which flows or which link it is computed from."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from ackclock.base.files import BadInput
from ackclock.metrics.numbers import TABLE_COLUMNS, TEXT_COLUMNS, numbers
from ackclock.metrics.registry import ALIASES, METRICS, Metric, Row, Value, bounds, by_logarithm, key_metric

if TYPE_CHECKING:
    from ackclock import stats


@dataclass(frozen=True)
class RunMetric:
    """A metric of the runs of a study, in SI units."""

    name: str
    words: str
    """What a figure says, without the unit."""
    unit: str
    each: Callable[[Row], list[float]]
    """The values of a run: one for each flow, or one."""
    combine: str
    """How the values of a run become one: sum, mean, pool, or one if there is a single value."""
    limits: tuple[float, float]
    """Bounds of the possible values."""
    of: str = "runs"
    """What `each` lists: flows or runs."""
    better: int = 0
    """1 if more is better, -1 if less is, 0 if neither."""
    pooled: Value | None = None
    """With `combine` pool, the value of all messages of the flows of a run."""
    by_logarithm: bool = False
    """Whether means and intervals over runs are those of the logarithms."""

    def estimate(self, values: Sequence[float], level: float = 0.95) -> stats.Estimate:
        """The mean of values of runs with its interval of this level, within the limits."""
        from ackclock import stats  # which needs numpy: a run does not

        return stats.over_runs(values, *self.limits, by_logarithm=self.by_logarithm, level=level)

    def value(self, row: Row) -> float | None:
        """The metric of a run; None if it does not apply."""
        if self.pooled is not None:
            return self.pooled(row)
        values = self.each(row)
        if not values:
            return None
        return sum(values) if self.combine == "sum" else sum(values) / len(values)


def metric(name: str, rows: Sequence[Row], *, flows: Sequence[str] = (), link: str = "") -> RunMetric:
    """A metric by its short name, by a key of flows or links, or by its full name in the outcome.

    `flows` restricts a metric of flows to those with these names; by default all TCP flows count, or all if there is
    none. `link` names the link of a metric of links, by default that with the highest utilisation. Raises BadInput.
    """
    first = rows[0]
    short = ALIASES.get(name, name)
    registered = METRICS.get(short)
    kind = registered.of if registered else _kind(name, rows)
    if kind == "flow":
        return _of_flows(short, registered or key_metric(name, "flow"), rows, flows)
    if kind == "link":
        if first["links"]:
            return _of_links(short, registered or key_metric(name, "link"), rows, link)
        raise BadInput(f"there is no metric {name} here: the study has no links")
    if registered:
        return RunMetric(
            short,
            registered.words,
            registered.unit,
            _one(registered.value),
            "one",
            bounds(short),
            better=registered.better,
        )
    every = {key for row in rows for key in numbers(row)}
    if name not in every:
        near = difflib.get_close_matches(name, [*METRICS, *ALIASES, *sorted(every)], 1)
        hint = f"did you mean {near[0]}? There are" if near else "there are"
        raise BadInput(
            f"there is no metric {name}; {hint} {', '.join(METRICS)}, and every number of the outcome, such as "
            f"{next(iter(numbers(first)), 'jain')}"
        )
    owner, _, key = name.rpartition(".")
    plain = key_metric(key, "run")
    words = f"{plain.words} of {owner}" if owner else plain.words

    def value(row: Row) -> float | None:
        number = numbers(row).get(name)
        return None if number is None else float(number)

    return RunMetric(
        name,
        words,
        plain.unit,
        _one(value),
        "one",
        bounds(name),
        better=plain.better,
        by_logarithm=by_logarithm(name),
    )


def _kind(name: str, rows: Sequence[Row]) -> Literal["flow", "link", "run"]:
    """Whether a name is a key of flows, a key of links, or neither."""
    if name in TEXT_COLUMNS | TABLE_COLUMNS:
        return "run"
    if name in _keys("flow") or any(name in flow for row in rows for flow in row["flows"]):
        return "flow"
    return "link" if name in _keys("link") or any(name in link for row in rows for link in row["links"]) else "run"


@cache
def _keys(of: Literal["flow", "link"]) -> frozenset[str]:
    """The keys of the objects of flows or links."""
    from ackclock.base.models import schema

    return frozenset(schema("outcome")["$defs"][{"flow": "FlowOutcome", "link": "LinkOutcome"}[of]]["properties"])


def check_name(name: str) -> None:
    """Raise BadInput for a name that no outcome can have. A name with a dot is checked when there are runs."""
    names = {*METRICS, *ALIASES, *_keys("flow"), *_keys("link")}
    if name not in names and "." not in name:
        near = difflib.get_close_matches(name, names, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(METRICS)}"
        raise BadInput(f"there is no metric {name}; {hint}")


def _one(value: Value) -> Callable[[Row], list[float]]:
    def each(row: Row) -> list[float]:
        number = value(row)
        return [] if number is None else [float(number)]

    return each


def _of_flows(name: str, entry: Metric, rows: Sequence[Row], flows: Sequence[str]) -> RunMetric:
    names = dict.fromkeys(flow["name"] for row in rows for flow in row["flows"])
    for flow in flows:
        if flow not in names:
            near = difflib.get_close_matches(flow, names, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(list(names)[:12])}"
            raise BadInput(f"--flow {flow}: there is no such flow; {hint}")
    named = set(flows)
    kinds = {flow["kind"] for row in rows for flow in row["flows"]}
    only_tcp = not flows and len(kinds) > 1

    def chosen(row: Row) -> list[Row]:
        """The flows that count: the named ones, or all; none to which the metric does not apply."""
        every = (flow for flow in row["flows"] if entry.applies(flow))
        return [flow for flow in every if (flow["name"] in named if named else not only_tcp or flow["kind"] != "udp")]

    def each(row: Row) -> list[float]:
        return [value for flow in chosen(row) if (value := entry.value(flow)) is not None]

    def pooled(row: Row) -> float | None:
        return entry.combined(chosen(row))

    counts = {len(chosen(row)) for row in rows}
    what = "TCP flows" if only_tcp else "flows"
    if flows:
        words = f"{entry.words} of {', '.join(flows)}"
    elif counts == {1}:
        words = entry.words
    else:
        number = f"{next(iter(counts))} " if len(counts) == 1 else ""
        words = f"{_combination(entry)}{entry.words.removeprefix('mean ')} of {number}{what}"
    return RunMetric(
        name,
        words,
        entry.unit,
        each,
        entry.combine,
        (entry.least, entry.most),
        of="flows",
        better=entry.better,
        pooled=pooled if entry.combine == "pool" else None,
        by_logarithm=entry.by_logarithm,
    )


def _combination(entry: Metric) -> str:
    """How the values of several flows become one, as the beginning of a label."""
    if entry.combine == "pool":
        return "mean " if entry.words.startswith("mean ") else ""
    return "total " if entry.combine == "sum" else "mean "


def _of_links(name: str, entry: Metric, rows: Sequence[Row], link: str) -> RunMetric:
    used: dict[str, float] = {}
    for row in rows:
        for one in row["links"]:
            used[one["name"]] = used.get(one["name"], 0.0) + (one["utilisation"] or 0.0)
    if link and link not in used:
        near = difflib.get_close_matches(link, used, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(list(used)[:12])}"
        raise BadInput(f"--link {link}: there is no such link; {hint}")
    chosen = link or max(used, key=lambda one: used[one])

    def value(row: Row) -> float | None:
        of_link = next((one for one in row["links"] if one["name"] == chosen), None)
        return None if of_link is None else entry.value(of_link)

    words = f"{entry.words} of {chosen}"
    return RunMetric(name, words, entry.unit, _one(value), "one", (entry.least, entry.most), better=entry.better)
