"""What a search writes: the smallest networks, the regression file, and the report, one self-contained page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock.apps.search.expect import entry, regression_text
from ackclock.apps.search.findings import Failure, Findings, file_name
from ackclock.apps.search.map import COLUMNS, ROWS, Map
from ackclock.apps.search.space import with_tables
from ackclock.base.files import BadInput, svg_text, write_bytes, write_text
from ackclock.base.languages import moved, named_in
from ackclock.base.si import value
from ackclock.base.text import drawn
from ackclock.base.toml_text import document_text
from ackclock.draw.page import environment

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ackclock.apps.search.evaluate import Evaluator


def write(search: Findings, evaluator: Evaluator, folder: Path) -> None:
    """Write everything into a folder; the files of an earlier result there are replaced."""
    for old in folder.glob("minimal*.toml"):
        old.unlink()
    copies = _Copies(Path(search.source.file).parent, folder)
    documents = [with_tables(one.document, copies.placed) for one in search.failures]
    for number, (one, document) in enumerate(zip(search.failures, documents, strict=True)):
        write_text(folder / file_name(number), document_text(document, _comments(search, one)))
    entries = [_expectation(search, evaluator, one, number) for number, one in enumerate(search.failures)]
    write_text(folder / "regression.toml", regression_text(entries) or "# no failure was found\n")
    write_text(folder / "report.html", render(search, evaluator, documents))


def _expectation(search: Findings, evaluator: Evaluator, one: Failure, number: int) -> dict[str, Any]:
    """The entry of a failure in the regression file."""
    about: dict[str, Any] = {"control": search.objective.tested.label, "seeds": evaluator.seeds}
    if len(search.objective.roles) > 1:
        about["against"] = search.objective.roles[1].label
    if one.objective is not None:
        about["value"] = one.objective
    tested, rate = search.space.flows_of(one.genome), evaluator.rate_bps(one.genome)
    return entry(file_name(number), search.objective, tested, evaluator.link, rate, **about)


def _comments(search: Findings, one: Failure) -> list[str]:
    """What a reader of the scenario wants to know first."""
    how = ["The tested flows run over QUIC: ackclock run FILE --on quic"] if search.objective.tested.quic else []
    if stack := search.objective.tested.stack:
        how = [f"A stack plays the tested flows: ackclock run FILE --on {stack}"]
    place = f"network {one.first_seen.number} of {search.evaluations}"
    return [one.why, *how, f"ackclock search {search.source.file}, {place}"]


class _Copies:
    """Files of a base scenario, copied beside the smallest networks, which may name those of their folder only."""

    def __init__(self, base: Path, folder: Path) -> None:
        self._base, self._folder = base, folder
        self._names: dict[Path, str] = {}

    def placed(self, table: dict[str, Any]) -> dict[str, Any]:
        """A table that names copies, which are made: of a controller in a file, or of a file of a trace."""
        if named_in(table):
            return moved(table, lambda file: self._copy(Path(file)))
        named = {
            key: table[key] for key in ("file", "fit", "sizes", "response", "har") if isinstance(table.get(key), str)
        }
        paths = {key: self._base / name for key, name in named.items()}
        return table | {key: self._copy(path) for key, path in paths.items() if path.is_file()}

    def _copy(self, file: Path) -> str:
        path = file.resolve()
        if path not in self._names:
            same = [one for one in self._names if one.name == path.name]
            copy = f"{path.stem}_{len(same) + 1}{path.suffix}" if same else path.name
            if path != (self._folder / copy).resolve():
                write_bytes(self._folder / copy, path.read_bytes())
            self._names[path] = copy
        return self._names[path]


def render(search: Findings, evaluator: Evaluator, documents: Sequence[dict[str, Any]]) -> str:
    """The report as HTML, with the scenarios of the failures."""
    pairs = zip(search.failures, documents, strict=True)
    failures = [_shown(search, evaluator, one, file_name(number), text) for number, (one, text) in enumerate(pairs)]
    nearest = search.nearest
    return (
        environment("ackclock.apps.search")
        .get_template("search.html")
        .render(
            search=search,
            title=search.space.base.get("title") or search.source.file,
            failures=failures,
            hits=sum(one.value.fails for one in search.tried),
            nearest=nearest,
            map=svg_text(draw_map(search.map), "map"),
            roles=[role.label for role in search.objective.roles],
            value=value,
        )
    )


def _shown(search: Findings, evaluator: Evaluator, one: Failure, file: str, document: dict[str, Any]) -> dict[str, Any]:
    """A failure for the template: the network, the two time series, the link."""
    from ackclock.apps import share
    from ackclock.draw import network
    from ackclock.scenario import Scenario

    pictures: dict[str, str | None] = {"series": None}
    # The picture needs only the name of the controller, so none in Python is loaded; its files are those of the base.
    plain = with_tables(one.document, lambda table: "reno" if named_in(table) else table)
    shown = Scenario.read(replace(search.source.with_text(document_text(plain)), file=search.source.file))
    tested = dict.fromkeys(search.space.flows_of(one.genome), search.objective.tested.label)
    pictures["network"] = svg_text(network.draw(shown, " ", tested), f"network-{Path(file).stem}")
    if not one.error:
        pictures["series"] = svg_text(_series(search, evaluator, one), f"series-{Path(file).stem}")
    try:
        link = share.link(shown)
    except BadInput:
        link = None
    return {
        "file": file,
        "failure": one,
        "text": document_text(document),
        "pictures": pictures,
        "link": link,
    }


def _series(search: Findings, evaluator: Evaluator, one: Failure) -> Figure:
    """Window and goodput of the slowest tested flow over time: tested and reference in the same network."""
    from matplotlib.figure import Figure as Made

    from ackclock.draw.style import COLOURS

    roles = list(search.objective.roles)
    start, end = search.space.measured(one.genome)
    figure = Made(figsize=(9, 4.6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    flows = search.space.flows_of(one.genome)
    for number, role in enumerate(roles):
        if role.stack:  # what it says of itself is in `ackclock run --on stack:FILE --trace`
            continue
        result = evaluator.scenario(one.genome, role).run(seed=evaluator.seeds[0], trace="ack")
        for k, flow in enumerate(flows):
            trace = result.trace.filter(result.trace["flow"] == flow)
            times = trace["time_s"].to_numpy()
            label = role.label if len(flows) == 1 else f"{role.label}, {flow}"
            style = {
                "color": COLOURS[(number + k) % len(COLOURS)],
                "linewidth": 1.1,
                "linestyle": "-" if number == 0 else "--",
            }
            above.plot(times, trace["cwnd"].to_numpy(), label=drawn(label), **style)
            _goodput(below, times, trace["ack"].to_numpy(), result.members, flow, end, style)
    above.set_ylabel("cwnd (segments)")
    above.set_ylim(bottom=0)
    below.set_ylabel("acknowledged (Mb/s)")
    below.set_xlabel("time (s)")
    below.set_ylim(bottom=0)
    for panel in (above, below):
        for p, events in search.space.pairs(one.genome):
            for event in events:
                for first_s, last_s in p.intervals(event, end):
                    panel.axvspan(first_s, last_s, color="#d9dee5", alpha=0.6, linewidth=0)
        if start > 0:
            panel.axvline(start, color="#5b6675", linewidth=0.8, linestyle=":")
        panel.set_xlim(0, end)
        panel.grid(visible=True, color="#e8ebef", linewidth=0.6)
    figure.legend(*above.get_legend_handles_labels(), frameon=False, ncols=4, fontsize=9, loc="outside upper right")
    return figure


def _goodput(panel: Any, times: Any, acks: Any, members: Any, flow: str, end: float, style: dict[str, Any]) -> None:
    """Segments that were acknowledged in each of 80 parts of the run, as a rate."""
    import numpy as np

    size = members["segment_bytes"][members["flows"].index(flow)] or 0
    if len(times) < 2:
        return
    edges = np.linspace(0.0, end, 81)
    highest = np.maximum.accumulate(acks.astype(float))
    at = np.interp(edges, times, highest)
    panel.plot((edges[1:] + edges[:-1]) / 2, np.diff(at) * size * 8 / np.diff(edges) / 1e6, **style)


def draw_map(cells: Map) -> Figure:
    """The worst network of each cell over two descriptors; failures are outlined."""
    from matplotlib.figure import Figure as Made
    from matplotlib.patches import Rectangle

    figure = Made(figsize=(7.2, 3.6), layout="constrained")
    panel = figure.subplots()
    x, y = cells.descriptors
    values = [t.value for t in cells.cells.values()]
    shown = [v.fitness for v in values if v.fitness > -1e6]
    widest = max([abs(v) for v in shown] or [1.0])
    for (column, row), one in sorted(cells.cells.items()):
        bad = one.value.fails
        part = 1.0 if one.value.error else min(1.0, abs(one.value.fitness) / widest)
        colour = (0.835, 0.369, 0.0, 0.25 + 0.7 * part) if bad else (0.0, 0.447, 0.698, 0.08 + 0.4 * part)
        panel.add_patch(Rectangle((column, row), 1, 1, facecolor=colour, edgecolor="white"))
        text = "error" if one.value.error else "-" if one.value.objective is None else f"{one.value.objective:.2g}"
        panel.text(column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=7.5)
    panel.set_xlim(0, COLUMNS)
    panel.set_ylim(0, ROWS)
    names = {
        "period": "period of the square wave",
        "start": "start of the first event",
        "budget": "perturbation: part of the rate, or events",
    }
    for axis, descriptor, count in ((panel.xaxis, x, COLUMNS), (panel.yaxis, y, ROWS)):
        ticks = range(0, count + 1, 2)
        axis.set_ticks(list(ticks), [_tick(descriptor.edge(t / count), descriptor.unit) for t in ticks])
        axis.set_label_text(drawn(names.get(descriptor.name, descriptor.name)))
    return figure


def _tick(number: float, unit: str) -> str:
    from ackclock.base.si import quantity

    if unit in {"s", "bps", "B"}:
        return quantity(number, {"bps": "b/s"}.get(unit, unit), 2)
    return f"{number:.2g}"
