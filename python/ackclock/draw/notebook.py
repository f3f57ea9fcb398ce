"""Scenarios, results and studies as HTML for notebooks: tables and a small figure. All text is escaped."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ackclock.base.files import svg_text
from ackclock.base.si import value
from ackclock.base.text import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ackclock.draw.network import HasNetwork
    from ackclock.draw.runs import Traced

MOST_ROWS = 12
"""Rows of a table."""
CELL = "padding:.15rem .7rem .15rem 0;text-align:{};vertical-align:top"


def show_figures() -> None:
    """Let the notebook show figures that are the value of a cell as SVG. Outside a notebook, nothing happens."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None:
        return
    from matplotlib.figure import Figure

    formatter = shell.display_formatter.formatters["image/svg+xml"]
    formatter.for_type(Figure, lambda figure: _svg(figure))


def scenario_html(title: str, duration_s: float, seed: int, scenario: HasNetwork) -> str:
    """The network of a scenario, its flows, and a picture of it."""
    network = scenario.network
    rows = [
        (flow["name"], f"{flow['from']} → {flow['to']}", flow["label"], f"{flow['start_s']:g}")
        for flow in network["flows"]
    ]
    head = _head(title or "scenario", f"{duration_s:g} s, seed {seed}, {len(rows)} flow{'' if len(rows) == 1 else 's'}")
    return _box(head, _table(("flow", "path", "control, recovery", "start (s)"), rows, numbers=3), _network(scenario))


def result_html(result: Traced) -> str:
    """The flows and the links of a run, and a figure: values over time if the run was traced, otherwise goodputs."""
    from ackclock.draw.runs import overview

    outcome = result.outcome
    flows = [
        (
            flow["name"],
            flow["control"] or flow["kind"],
            _scaled(flow["goodput_bps"], 1e-6),
            _scaled(flow["mean_rtt_s"], 1e3),
            _scaled(flow["retransmitted_packets"], 1),
            _scaled(flow["completion_s"], 1),
        )
        for flow in outcome["flows"]
    ]
    busy = sorted(outcome["links"], key=lambda link: -(link["utilisation"] or 0))
    links = [
        (
            link["name"],
            _scaled(link["utilisation"], 100),
            _scaled(link["mean_sojourn_s"], 1e3),
            _scaled(sum(link["dropped_packets"].values()), 1),
        )
        for link in busy
    ]
    said = f"{outcome['duration_s']:g} s, seed {outcome['seed']}"
    figure = overview(result)
    heads = ("flow", "control", "goodput (Mb/s)", "mean RTT (ms)", "retransmitted", "completed (s)")
    return _box(
        _head(outcome["title"] or "run", said),
        _table(heads, flows, numbers=2),
        _table(("link", "used (%)", "mean wait (ms)", "dropped"), links, numbers=1, most=5),
        _svg(figure),
    )


def study_html(
    title: str,
    axes: Mapping[str, Sequence[str]],
    seeds: Sequence[int],
    points: int,
    means: Sequence[Mapping[str, Any]],
    figure: Figure | None,
    scenario: HasNetwork,
) -> str:
    """The axes of a study; after it has run, means with 95 % intervals and a figure, otherwise its network."""
    said = f"{points * len(seeds)} runs: {points} points, {len(seeds)} seed{'' if len(seeds) == 1 else 's'} each"
    parts = [
        _head(title or "study", said),
        _table(("axis", "labels"), [(name, ", ".join(labels)) for name, labels in axes.items()]),
    ]
    if not means:
        return _box(*parts, _note("The study has not run yet: call run()."), _network(scenario))
    names = list(means[0]["means"])[:4]
    heads = (*means[0]["axes"], *(_metric(name)[1] for name in names))
    rows = [
        (*row["axes"].values(), *(_interval(row["means"][name], _metric(name)[0]) for name in names)) for row in means
    ]
    parts += [_table(heads, rows, numbers=len(means[0]["axes"])), _note("Means [95 % interval] over the seeds.")]
    return _box(*parts, "" if figure is None else _svg(figure))


def _metric(name: str) -> tuple[float, str]:
    """Factor and head of a metric of the outcome."""
    for ending, factor, unit in (("_bps", 1e-6, "Mb/s"), ("_s", 1e3, "ms"), ("_bytes", 1e-3, "kB")):
        if name.endswith(ending):
            return factor, f"{name.removesuffix(ending)} ({unit})"
    return 1.0, name


def _interval(e: Any, factor: float) -> str:
    if e.n == 0:
        return "-"
    ends = "" if e.low is None or e.high is None else f" [{value(e.low * factor)}, {value(e.high * factor)}]"
    return f"{value(e.value * factor)}{ends}"


def _scaled(number: float | None, factor: float) -> str:
    if number is None:
        return "-"
    return "< 0.001" if 0 < number * factor < 0.001 else value(number * factor)


def _box(*parts: str) -> str:
    return f'<div style="max-width:60rem;overflow-x:auto">{"".join(parts)}</div>'


def _head(title: str, said: str) -> str:
    return f"<p><strong>{escape(shown(title))}</strong><br><small>{escape(shown(said))}</small></p>"


def _note(text: str) -> str:
    return f"<p><small>{escape(text)}</small></p>"


def _table(heads: Iterable[str], rows: Sequence[Sequence[str]], numbers: int = 99, most: int = MOST_ROWS) -> str:
    """A table whose columns from `numbers` on are aligned to the right. At most `most` rows; the rest is counted."""

    def cells(row: Iterable[str], tag: str) -> str:
        cells_of_file = []
        for i, text in enumerate(row):
            style = CELL.format("left" if i < numbers else "right")
            cells_of_file.append(f'<{tag} style="{style}">{escape(shown(str(text)))}</{tag}>')
        return "".join(cells_of_file)

    if not rows:
        return ""
    body = "".join(f"<tr>{cells(row, 'td')}</tr>" for row in rows[:most])
    more = _note(f"and {len(rows) - most} more rows") if len(rows) > most else ""
    return f"<table><thead><tr>{cells(heads, 'th')}</tr></thead><tbody>{body}</tbody></table>{more}"


def _network(scenario: HasNetwork) -> str:
    from ackclock.draw import network

    return _svg(network.draw(scenario))


def _svg(figure: Figure) -> str:
    """A figure as SVG that fits its column. Identifiers are unique to the picture, because a page has several."""
    plain = svg_text(figure, "ackclock")
    name = "f" + hashlib.sha256(plain.encode()).hexdigest()[:12]
    return svg_text(figure, name).replace("<svg ", '<svg style="max-width:100%;height:auto" ', 1)
