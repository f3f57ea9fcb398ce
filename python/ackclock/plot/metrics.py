"""Metrics of a study's figures: short names for numbers of the outcome, with units."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.files import BadInput
from ackclock.plot.quantities import prefixed
from ackclock.study.results import bounds, numbers

Row = Mapping[str, Any]
"""The outcome of a run."""
Find = Callable[[Row], float | None]


@dataclass(frozen=True)
class Known:
    """A short name: what it says in a figure, its unit, how several flows are combined, and its value for one.

    `better`: 1 if more is better, -1 if less is, 0 if neither.
    """

    words: str
    unit: str
    combine: str
    find: Find
    better: int = 0


def _key(name: str) -> Find:
    return lambda one: None if one.get(name) is None else float(one[name])


def _above_base(name: str) -> Find:
    """A delay of a flow above that of an empty path; none if the path changes."""

    def find(flow: Row) -> float | None:
        delay, base = flow.get(name), flow.get("base_delay_s")
        return None if delay is None or base is None else max(0.0, float(delay) - float(base))

    return find


FLOW: dict[str, Known] = {
    "goodput": Known("goodput", "b/s", "sum", _key("goodput_bps"), 1),
    "throughput": Known("throughput", "b/s", "sum", _key("throughput_bps"), 1),
    "queueing": Known("mean queueing delay", "s", "mean", _above_base("mean_delay_s"), -1),
    "p95_queueing": Known("95th percentile of the queueing delay", "s", "mean", _above_base("p95_delay_s"), -1),
    "delay": Known("mean one-way delay", "s", "mean", _key("mean_delay_s"), -1),
    "p95_delay": Known("95th percentile of the one-way delay", "s", "mean", _key("p95_delay_s"), -1),
    "rtt": Known("mean round-trip time", "s", "mean", _key("mean_rtt_s"), -1),
    "completion": Known("completion time", "s", "mean", _key("completion_s"), -1),
    "cwnd": Known("mean cwnd", "segments", "mean", _key("mean_cwnd")),
    "retransmissions": Known("retransmitted packets", "", "sum", _key("retransmitted_packets"), -1),
    "timeouts": Known("retransmission timeouts", "", "sum", _key("timeouts"), -1),
    "reductions": Known("reductions of cwnd", "", "sum", _key("window_cuts")),
    "jitter": Known("mean change of delay between packets", "s", "mean", _key("jitter2_s"), -1),
    "delivery": Known("delivery ratio", "", "mean", _key("delivery_ratio"), 1),
}
LINK: dict[str, Known] = {
    "utilisation": Known("utilisation", "", "one", _key("utilisation"), 1),
    "queue": Known("mean queue", "packets", "one", _key("mean_queue_packets"), -1),
    "wait": Known("mean wait in the queue", "s", "one", _key("mean_sojourn_s"), -1),
    "drops": Known("packets dropped by the queue", "", "one", _key("queue_drops"), -1),
    "drop_rate": Known("fraction of packets dropped by the queue", "", "one", _key("drop_rate"), -1),
    "marks": Known("packets marked", "", "one", _key("marked_packets")),
}
WHOLE: dict[str, Known] = {
    "jain": Known("Jain's fairness index", "", "one", lambda row: row["fairness"]["jain"], 1),
}
ALIASES = {
    "queueing_delay": "queueing",
    "queuing": "queueing",
    "utilization": "utilisation",
    "fairness": "jain",
    "completion_time": "completion",
    "fct": "completion",
    "retransmits": "retransmissions",
    "rtx": "retransmissions",
    "loss": "drop_rate",
}
SHARES = {"utilisation", "drop_rate", "jain", "delivery"}


@dataclass(frozen=True)
class Metric:
    """A metric of the runs of a study, in SI units."""

    name: str
    words: str
    """What a figure says, without the unit."""
    unit: str
    each: Callable[[Row], list[float]]
    """The values of a run: one for each flow, or one."""
    combine: str
    """How the values of a run become one: sum, mean, or one if there is a single value."""
    limits: tuple[float, float]
    """Bounds of the possible values."""
    of: str = "runs"
    """What `each` lists: flows or runs."""
    better: int = 0
    """1 if more is better, -1 if less is, 0 if neither."""

    def value(self, row: Row) -> float | None:
        """The metric of a run; None if it does not apply."""
        found = self.each(row)
        if not found:
            return None
        return sum(found) if self.combine == "sum" else sum(found) / len(found)

    def scale(self, values: Sequence[float]) -> tuple[float, str]:
        """The factor to the unit in which these values are drawn, and the label of the axis."""
        factor, unit = prefixed(self.unit, values)
        return factor, f"{self.words} ({unit})" if unit else self.words


def metric(name: str, rows: Sequence[Row], *, flows: Sequence[str] = (), link: str = "") -> Metric:
    """A metric by its short name, by a key of flows or links, or by its full name in the outcome.

    `flows` restricts a metric of flows to those with these names; by default all TCP flows count, or all if there is
    none. `link` names the link of a metric of links, by default that with the highest utilisation. Raises BadInput.
    """
    first = rows[0]
    short = ALIASES.get(name, name)
    flow_keys = {key for row in rows[:1] for flow in row["flows"][:1] for key in flow}
    link_keys = {key for row in rows[:1] for one in row["links"][:1] for key in one}
    if short in FLOW or name in flow_keys - {"name", "kind", "control", "recovery"}:
        return _of_flows(short, FLOW.get(short) or _plain(name), rows, flows)
    if short in WHOLE:
        known = WHOLE[short]
        return Metric(short, known.words, known.unit, _one(known.find), "one", _limits(short), better=known.better)
    if short in LINK or name in link_keys - {"name", "dropped_packets", "low_latency"}:
        if first["links"]:
            return _of_links(short, LINK.get(short) or _plain(name), rows, link)
        raise BadInput(f"there is no metric {name} here: the study has no links")
    every = {key for row in rows for key in numbers(row)}
    if name not in every:
        there = [*FLOW, *LINK, *WHOLE]
        near = difflib.get_close_matches(name, [*there, *ALIASES, *sorted(every)], 1)
        hint = f"did you mean {near[0]}? There are" if near else "there are"
        raise BadInput(
            f"there is no metric {name}; {hint} {', '.join(there)}, and every number of the outcome, such as "
            f"{next(iter(numbers(first)), 'jain')}"
        )
    owner, _, key = name.rpartition(".")
    plain = _plain(key)
    words = f"{plain.words} of {owner}" if owner else plain.words

    def found(row: Row) -> float | None:
        value = numbers(row).get(name)
        return None if value is None else float(value)

    return Metric(name, words, plain.unit, _one(found), "one", bounds(name), better=plain.better)


def check_name(name: str) -> None:
    """Raise BadInput for a name that no outcome can have. A name with a dot is checked when there are runs."""
    from ackclock.models import schema

    definitions = schema("outcome")["$defs"]
    keys = (key for name in ("FlowOutcome", "LinkOutcome") for key in definitions[name]["properties"])
    known = {*FLOW, *LINK, *WHOLE, *ALIASES, *keys}
    if name not in known and "." not in name:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join([*FLOW, *LINK, *WHOLE])}"
        raise BadInput(f"there is no metric {name}; {hint}")


def _one(find: Find) -> Callable[[Row], list[float]]:
    def each(row: Row) -> list[float]:
        value = find(row)
        return [] if value is None else [float(value)]

    return each


def _limits(name: str) -> tuple[float, float]:
    return 0.0, 1.0 if name in SHARES else math.inf


def _plain(key: str) -> Known:
    """A key of the outcome that has no short name."""
    unit = "b/s" if key.endswith("_bps") else "s" if key.endswith("_s") else "B" if key.endswith("_bytes") else ""
    words = key.removesuffix("_bps").removesuffix("_s").removesuffix("_bytes").replace("_", " ")
    total = key.endswith(("_bps", "_packets", "_bytes")) and not key.startswith("mean_")
    better = {"goodput_bps": 1, "throughput_bps": 1, "delivered_bytes": 1, "delivery_ratio": 1}.get(key, 0)
    return Known(words, unit, "sum" if total else "mean", _key(key), better)


def _of_flows(name: str, known: Known, rows: Sequence[Row], flows: Sequence[str]) -> Metric:
    names = dict.fromkeys(flow["name"] for row in rows for flow in row["flows"])
    for flow in flows:
        if flow not in names:
            near = difflib.get_close_matches(flow, names, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(list(names)[:12])}"
            raise BadInput(f"--flow {flow}: there is no such flow; {hint}")
    kinds = {flow["kind"] for row in rows for flow in row["flows"]}
    only_tcp = not flows and len(kinds) > 1

    def each(row: Row) -> list[float]:
        its = [
            flow for flow in row["flows"] if (flow["name"] in flows if flows else not only_tcp or flow["kind"] != "udp")
        ]
        return [value for flow in its if (value := known.find(flow)) is not None]

    counts = {len([f for f in row["flows"] if not only_tcp or f["kind"] != "udp"]) for row in rows}
    what = "TCP flows" if only_tcp else "flows"
    if flows:
        words = f"{known.words} of {', '.join(flows)}"
    elif counts == {1}:
        words = known.words
    else:
        number = f"{next(iter(counts))} " if len(counts) == 1 else ""
        words = f"{'total' if known.combine == 'sum' else 'mean'} {known.words.removeprefix('mean ')} of {number}{what}"
    lower = -math.inf if name == "jitter1_s" else 0.0
    limits = (lower, _limits(name)[1])
    return Metric(name, words, known.unit, each, known.combine, limits, of="flows", better=known.better)


def _of_links(name: str, known: Known, rows: Sequence[Row], link: str) -> Metric:
    used: dict[str, float] = {}
    for row in rows:
        for one in row["links"]:
            used[one["name"]] = used.get(one["name"], 0.0) + (one["utilisation"] or 0.0)
    if link and link not in used:
        near = difflib.get_close_matches(link, used, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(list(used)[:12])}"
        raise BadInput(f"--link {link}: there is no such link; {hint}")
    chosen = link or max(used, key=lambda one: used[one])

    def find(row: Row) -> float | None:
        there = next((one for one in row["links"] if one["name"] == chosen), None)
        return None if there is None else known.find(there)

    words = f"{known.words} of {chosen}"
    return Metric(name, words, known.unit, _one(find), "one", _limits(name), better=known.better)
