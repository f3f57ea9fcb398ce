"""The table of applications in the summary of a run, and the flows that are connections of one application."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from ackclock.base.plain_console import PlainConsole
from ackclock.base.si import digits_of, quantity
from ackclock.base.sketches import by_rank
from ackclock.base.text import shown
from ackclock.cli.tables import table_of
from ackclock.metrics.applications import Percentile, Share, application, families, message_counts
from ackclock.metrics.registry import METRICS, Metric

Flow = Mapping[str, Any]
DETAILS: dict[str, Sequence[tuple[str, str]]] = {
    "requests": (("requests", "{} responses a second"),),
    "page": (("page_load", "load {}"), ("byte_index", "byte index {}")),
    "video": (("bitrate", "mean bitrate {}"), ("rebuffer", "stalled {}"), ("startup", "started after {}")),
    "frames": (
        ("frames_on_time", "{} of the frames on time"),
        ("freeze_time", "frozen {}"),
        ("encoder_rate", "encoder {}"),
    ),
}
"""The metrics of each kind that are printed below the table, and what is written of them."""


def span(flows: Sequence[Flow]) -> str:
    """The names of connections as one text: `page/0..5`."""
    if len(flows) == 1:
        return str(flows[0]["name"])
    return f"{flows[0]['name']}..{str(flows[-1]['name']).rpartition('/')[2]}"


def percentile(flows: Sequence[Flow], part: float, of: Literal["s", "slowdown"]) -> str:
    """A percentile of the messages of flows; `> X` where it falls on a message without an end, all others took X."""
    value = Percentile(part, of).pooled(flows)
    if value is not None:
        return _number(value, of)
    counts = [pair for flow in flows for pair in message_counts(flow, of)]
    if by_rank(counts, part) is None:
        return "-"
    longest = max((x for x, _ in counts if math.isfinite(x)), default=None)
    return "> all" if longest is None else f"> {_number(longest, of)}"


def _number(value: float, of: Literal["s", "slowdown"]) -> str:
    return quantity(value, "s") if of == "s" else digits_of(value)


def print_applications(
    console: PlainConsole, flows: Sequence[Flow], sources: Mapping[str, Sequence[Flow]], most: int | None
) -> None:
    """Print a row for each application and traffic source, at most `most`, then what its kind has besides times."""
    with_app = ((name, [flow for flow in of if application(flow)]) for name, of in families(flows).items())
    rows = [(name, of[0]["app"]["kind"], of) for name, of in with_app if of]
    rows += [(name, "transfers", list(of)) for name, of in sources.items()]
    if not rows:
        return
    table = table_of("Applications", ("flow", "kind"), ("messages", "done", "p50", "p95", "p99", "p99\nslowdown"))
    for name, kind, of in rows[:most]:
        finished = Share("finished").pooled(of) or 0.0
        messages = sum(flow["app"]["messages"] if application(flow) else 1 for flow in of)
        table.add_row(
            name,
            kind.replace("_", "-"),
            f"{messages:,}",
            f"{round(finished * messages):,}",
            *(percentile(of, part, "s") for part in (0.5, 0.95, 0.99)),
            percentile(of, 0.99, "slowdown"),
        )
    console.print(table)
    for name, kind, of in rows[:most]:
        if details := _details(kind, of):
            console.print(f"  {shown(name)}: {details}", soft_wrap=True)


def _details(kind: str, flows: Sequence[Flow]) -> str:
    """The metrics of a kind in words."""
    said = []
    if kind == "page":
        pages = sum(flow["app"]["pages"] for flow in flows)
        said.append(f"{pages:,} page{'' if pages == 1 else 's'}")
    for name, words in DETAILS.get(kind, ()):
        metric = METRICS[name]
        value = metric.combined(flows)
        if value is not None:
            said.append(words.format(_shown(value, metric)))
    return ", ".join(said)


def _shown(value: float, metric: Metric) -> str:
    if metric.shown == "%":
        return f"{digits_of(100 * value)} %"
    return digits_of(value) if metric.unit == "1/s" else quantity(value, metric.unit)
