"""What a person sees in the terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from ackclock.experiment import Result
from ackclock.stats import Estimate
from ackclock.suite.measures import METRICS
from ackclock.text import PlainConsole, say, shown

if TYPE_CHECKING:
    from ackclock.arima import Identification
    from ackclock.papers.reproduce import Reproduction
    from ackclock.satellites import SatelliteView
    from ackclock.suite.compare import Change
    from ackclock.suite.result import SuiteResult

MOST_ROWS = 40


@contextmanager
def progress(doing: str, *, quiet: bool) -> Iterator[Callable[[float], None] | None]:
    """A bar on standard error while something lasts; none where that is no terminal."""
    console = PlainConsole(stderr=True)
    if quiet or not console.is_terminal:
        yield None
        return
    columns = (
        TextColumn(shown(doing), markup=False),
        BarColumn(),
        TextColumn("{task.percentage:.0f} %"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("run", total=1.0)
        yield lambda part: bar.update(task, completed=part)


LINES_EVERY_S = 30.0


def _lines(name: str) -> Callable[[int, int], None]:
    """What is done so far, a line on standard error every half minute: for logs."""
    last = time.monotonic()

    def advance(ended: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= LINES_EVERY_S:
            last = time.monotonic()
            say(f"ackclock: {name}: {ended:,} of {total:,} runs", error=True)

    return advance


def _wide() -> PlainConsole:
    """A console for wide tables: a file or a pipe has room."""
    console = PlainConsole()
    if not console.is_terminal:
        console.width = 240
    return console


@contextmanager
def study_progress(*, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A bar with rate and time left on standard error while a study runs; lines where that is no terminal."""
    console = PlainConsole(stderr=True)
    if quiet or not console.is_terminal:
        yield None if quiet else _lines("running")
        return
    columns = (
        TextColumn("running"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    began, first = time.monotonic(), -1
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("study", total=None, rate="")

        def advance(ended: int, total: int) -> None:
            nonlocal first
            first = ended if first < 0 else first
            elapsed = time.monotonic() - began
            rate = f"{(ended - first) / elapsed:.3g} runs/s" if elapsed > 0.5 else ""
            bar.update(task, completed=ended, total=total, rate=rate)

        yield advance


@contextmanager
def named_progress() -> Iterator[Callable[[str], Callable[[int, int], None] | None]]:
    """A bar for each of several studies; lines now and then where standard error is no terminal."""
    console = PlainConsole(stderr=True)
    if not console.is_terminal:
        yield _lines
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:

        def begin(name: str) -> Callable[[int, int], None]:
            task = bar.add_task(name, total=None)
            return lambda ended, total: bar.update(task, completed=ended, total=total)

        yield begin


def reproduction(made: Reproduction) -> None:
    """Print the verdicts of a paper and where its page lies."""
    console = _wide()
    table = Table(title=made.paper.title, title_justify="left", box=None, pad_edge=False)
    for head in ("claim", "direction", "size", "what", "value", "95 % interval", "n", "readings"):
        table.add_column(head, justify="right" if head in {"value", "95 % interval", "n"} else "left")
    for v in made.verdicts:
        j = v.taken
        shown = "" if j.low is None or j.high is None else f"{j.low:.3g} to {j.high:.3g}"
        value = "" if j.value is None else f"{j.value:.3g}"
        mark = " (weak)" if v.weak else ""
        table.add_row(v.claim.id, v.direction + mark, v.size or "", v.claim.metric, value, shown, str(j.n), v.strip)
    console.print(f"calibrated: {made.calibration.chosen.label}")
    console.print(table)
    if any(v.weak for v in made.verdicts):
        console.print("weak: not after Holm's correction over all claims")
    console.print(f"{made.runs:,} runs, {made.seconds:.0f} s")
    for run_id, error in made.failed[:5]:
        console.print(f"failed: run {run_id}: {error}")
    console.print(f"written: {made.folder / 'index.html'}", soft_wrap=True)


def study_results(title: str, rows: list[dict[str, Any]]) -> None:
    """Print a table of points: axes, runs, means with 95 % intervals."""
    console = _wide()
    if not rows:
        console.print(f"{title}: no run has finished yet")
        return
    table = Table(title=f"{title}: mean [95 % interval] over the seeds", title_justify="left", box=None, pad_edge=False)
    for axis in rows[0]["axes"]:
        table.add_column(axis, overflow="fold")
    table.add_column("runs", justify="right")
    for name in rows[0]["means"]:
        table.add_column(_headed(name), justify="right", overflow="fold")
    for row in rows:
        counted = 1 if row["deterministic"] else row["runs"]
        cells = [_interval(name, estimate, counted) for name, estimate in row["means"].items()]
        runs = f"{row['runs']}, deterministic (n = 1)" if row["deterministic"] else str(row["runs"])
        table.add_row(*row["axes"].values(), runs, *cells)
    console.print(table)
    if any(row["deterministic"] for row in rows):
        console.print("Deterministic: the seeds gave one outcome. The means are of that, without an interval.")


SCALES = {"_bps": (1e-3, "kb/s"), "_s": (1e3, "ms"), "_bytes": (1e-3, "kB")}
"""How quantities are shown: by the ending of their name, a factor and a unit."""


def _scale(name: str) -> tuple[float, str]:
    return next((scale for ending, scale in SCALES.items() if name.endswith(ending)), (1.0, ""))


def _headed(name: str) -> str:
    unit = _scale(name)[1]
    ending = next((ending for ending in SCALES if name.endswith(ending)), "")
    return f"{name.removesuffix(ending)} ({unit})" if unit else name


def _interval(name: str, e: Estimate, runs: int) -> str:
    """Mean and interval; n where not every run has the metric."""
    factor = _scale(name)[0]
    if e.n == 0:
        return "-"
    ends = "" if e.low is None or e.high is None else f" [{e.low * factor:.5g}, {e.high * factor:.5g}]"
    return f"{e.value * factor:.5g}{ends}" + (f" (n = {e.n})" if e.n < runs else "")


def rate(bps: float | None) -> str:
    """A rate with a unit that suits it."""
    if bps is None:
        return "-"
    for size, unit in ((1e9, "Gb/s"), (1e6, "Mb/s"), (1e3, "kb/s")):
        if bps >= size:
            return f"{bps / size:.3g} {unit}" if bps < 1e3 * size else f"{bps / size:.0f} {unit}"
    return f"{bps:.3g} b/s"


def milliseconds(seconds: float | None) -> str:
    """Seconds as milliseconds."""
    return "-" if seconds is None else f"{seconds * 1e3:.1f} ms"


def _number(value: float | None, digits: str = ".1f") -> str:
    return "-" if value is None else f"{value:{digits}}"


def summary(result: Result, written: list[str]) -> None:
    """Print flows, links and what was written."""
    outcome = result.outcome
    console = _wide()
    title = outcome["title"] or "run"
    console.print(Text(shown(title), "bold"), f" seed {outcome['seed']}, {outcome['duration_s']:g} s")
    console.print(_flows(outcome["flows"]))
    if outcome["links"]:
        console.print(_links(outcome["links"]))
    if outcome["radio"] is not None:
        _radio(console, outcome["radio"])
    _more(console, outcome)
    cost = outcome["engine"]
    speed = cost["packet_hops"] / cost["cpu_s"] / 1e6 if cost["cpu_s"] > 0 else 0.0
    jain = outcome["fairness"]["jain"]
    fairness = f"Jain {jain:.3f}   " if jain is not None and len(outcome["flows"]) > 1 else ""
    console.print(
        f"{fairness}{cost['packet_hops']:,} packet-hops in {cost['cpu_s']:.2f} s of CPU ({speed:.1f} million a second)",
        highlight=False,
    )
    for path in written:
        console.print(f"written: {path}", soft_wrap=True)


def _flows(flows: list[dict[str, Any]]) -> Table:
    table = Table(title="Flows", title_justify="left", box=None, pad_edge=False)
    table.add_column("flow", overflow="fold")
    table.add_column("control", overflow="fold")
    for name in ("goodput", "rtx", "timeouts", "mean cwnd", "mean RTT", "completed"):
        table.add_column(name, justify="right")
    for flow in flows[:MOST_ROWS]:
        kind = f"{flow['control']}/{flow['recovery']}" if flow["kind"] == "tcp" else "udp"
        table.add_row(
            flow["name"],
            kind,
            rate(flow["goodput_bps"]),
            _number(flow["retransmitted_packets"], "d"),
            _number(flow["timeouts"], "d"),
            _number(flow["mean_cwnd"]),
            milliseconds(flow["mean_rtt_s"]),
            "-" if flow["completion_s"] is None else f"{flow['completion_s']:.3f} s",
        )
    return table


def _links(links: list[dict[str, Any]]) -> Table:
    table = Table(title="Links", title_justify="left", box=None, pad_edge=False)
    table.add_column("link", overflow="fold")
    for name in ("delivered", "drops", "losses", "used", "mean queue", "mean wait"):
        table.add_column(name, justify="right")
    for link in links[:MOST_ROWS]:
        drops = link["dropped_packets"]
        table.add_row(
            link["name"],
            f"{link['delivered_packets']:,}",
            f"{drops['queue']:,}",
            f"{drops['loss'] + drops['list']:,}",
            f"{link['utilisation'] * 100:.1f} %",
            f"{link['mean_queue_packets']:.2f} p",
            milliseconds(link["mean_sojourn_s"]),
        )
    return table


def _radio(console: PlainConsole, radio: dict[str, Any]) -> None:
    ratio, load, hops = (radio[key] for key in ("delivery_ratio", "routing_load", "mean_hops"))
    said = [
        f"{radio['received_packets']:,} of {radio['offered_packets']:,} data packets received",
        "" if ratio is None else f"delivery ratio {ratio:.3f}",
        "" if load is None else f"routing load {load:.3f}",
        "" if hops is None else f"{hops:.2f} hops",
    ]
    console.print(f"Radio: {', '.join(part for part in said if part)}", soft_wrap=True)
    for head, key in (("dropped", "dropped_packets"), ("MAC", "mac_drops")):
        counts = ", ".join(f"{name} {count:,}" for name, count in radio[key].items() if count)
        console.print(f"  {head}: {counts or 'nothing'}", soft_wrap=True)


def _more(console: PlainConsole, outcome: dict[str, Any]) -> None:
    flows, links = len(outcome["flows"]) - MOST_ROWS, len(outcome["links"]) - MOST_ROWS
    if flows > 0 or links > 0:
        console.print(f"(and {max(flows, 0)} more flows, {max(links, 0)} more links; --json has all)")


def identification(name: str, found: Identification, written: list[str]) -> None:
    """Print correlations, candidates and diagnostics of an identification."""
    console = _wide()
    console.print(
        Text(shown(name), "bold"),
        f" {len(found.x)} samples, mean {found.x.mean() * 1e3:.2f} ms; "
        f"{found.n} differences (d = {found.d}); fitted by {found.method}",
        highlight=False,
    )
    full = " ".join(f"{value:+.3f}" for value in found.acf[:8])
    partial = " ".join(f"{value:+.3f}" for value in found.pacf[:8])
    console.print(f"ACF  lags 1-8  {full}   (white noise: ±{1.96 / found.n**0.5:.3f})")
    console.print(f"PACF lags 1-8  {partial}")
    table = Table(box=None, pad_edge=False)
    for head in ("model", "ar (s.e.)", "ma (s.e.)", "sd (ms)", "AIC, paper", "FPE (s²)", "AIC", "AICc", "BIC"):
        left = head.startswith(("model", "ar", "ma"))
        table.add_column(head, justify="left" if left else "right", no_wrap=head.startswith(("model", "sd", "AIC")))
    for candidate in found.candidates:
        mark = " *" if candidate is found.chosen else ""
        table.add_row(
            candidate.name + mark,
            _coefficients(candidate.ar, candidate.ar_se),
            _coefficients(candidate.ma, candidate.ma_se),
            f"{candidate.sigma2**0.5 * 1e3:.4g}",
            f"{candidate.aic_seed:.4f}",
            f"{candidate.fpe:.4g}",
            *(f"{value:.1f}" for value in (candidate.aic, candidate.aicc, candidate.bic)),
        )
    console.print(table)
    about = found.diagnostics()
    box = about["ljung_box"]
    console.print(
        f"* least AIC (and FPE). Its residuals: Ljung-Box Q({box['lag']}) = {box['q']:.1f}, p = {box['p']:.3f}; "
        f"normal probability plot r = {about['normal_plot_correlation']:.4f}",
        highlight=False,
    )
    for path in written:
        console.print(f"written: {path}", soft_wrap=True)


def _coefficients(values: list[float], errors: list[float]) -> str:
    return "  ".join(f"{v:+.4f} ({e:.4f})" for v, e in zip(values, errors, strict=True))


def listing(kind: str, entries: list[dict[str, Any]]) -> None:
    """Print what `ackclock list` found."""
    console = PlainConsole()
    if not entries:
        where = "here (run in a folder that has `scenarios/`)" if kind == "scenarios" else "yet"
        console.print(f"no {kind} {where}")
    for entry in entries:
        status = Text(f" ({entry['status']}) " if entry["status"] else "", "dim")
        console.print(Text(shown(entry["name"]), "bold"), status, entry["summary"])
        if entry["source"]:
            console.print(f"    source: {entry['source']}")
        for param in entry["params"]:
            usual = f"= {param['default']}" if param["default"] else "(required)"
            console.print(" ".join(filter(None, (f"    {param['name']}", usual, param["unit"]))) + f": {param['doc']}")
        if entry["trace"]:
            console.print(f"    in the trace: {', '.join(entry['trace'])}")
        for limit in entry["limits"]:
            console.print(f"    alone on an empty path below 90 % in profile {limit['profile']}: {limit['reason']}")


def passes(satellites: SatelliteView, every_s: float) -> None:
    """Paths with their delays, a row for each time that the path changes, then the hand-offs."""
    table = Table("from (s)", "path", "delay (ms)", "least", "most", title="Paths", title_justify="left", box=None)
    runs: list[tuple[float, list[str] | None, list[float]]] = []
    for look in satellites.instants(every_s):
        if not runs or runs[-1][1] != look["path"]:
            runs.append((look["time_s"], look["path"], []))
        if look["delay_s"] is not None:
            runs[-1][2].append(1e3 * look["delay_s"])
    for at, path, delays in runs:
        numbers = [f"{sum(delays) / len(delays):.2f}", f"{min(delays):.2f}", f"{max(delays):.2f}"] if delays else []
        table.add_row(f"{at:g}", " - ".join(path) if path else "none", *numbers)
    console = _wide()
    console.print(table)
    handoffs = Table("time (s)", "terminal", "from", "to", title="Hand-offs", title_justify="left", box=None)
    found = [handoff for handoff in satellites.handoffs() if handoff["time_s"] <= satellites.until_s]
    for handoff in found:
        places = (handoff["from"] or "none", handoff["to"] or "none")
        handoffs.add_row(f"{handoff['time_s']:g}", handoff["terminal"], *places)
    console.print(handoffs if found else "No hand-offs.")


def suite_results(made: SuiteResult) -> None:
    """Print what a controller came to in a suite: a line for each point, and where its page lies."""
    console = _wide()
    table = Table(
        title=f"{made.metadata.control}: {made.metadata.title}", title_justify="left", box=None, pad_edge=False
    )
    for head in ("situation", "point", "mean [95 % interval] of each metric"):
        table.add_column(head, overflow="fold")
    lines: dict[tuple[str, str], list[str]] = {}
    for (situation, point, metric), e in made.estimates().items():
        shown = "" if e.low is None else f" [{e.low:.3g}, {e.high:.3g}]"
        text = f"{metric} {e.value:.3g}{shown} {METRICS[metric].unit}".rstrip()
        lines.setdefault((situation, point), []).append(text)
    for (situation, point), metrics in lines.items():
        alone = " (deterministic, n = 1)" if (situation, point) in made.deterministic else ""
        table.add_row(situation, point + alone, "; ".join(metrics))
    console.print(table)
    for situation, reason in made.refused.items():
        console.print(f"{situation}: not tried: {reason}")
    for run_id, error in made.failed[:5]:
        console.print(f"failed: run {run_id}: {error}")
    console.print(f"{made.metadata.runs:,} runs")
    console.print(f"written: {made.folder / 'index.html'}", soft_wrap=True)


def changes(made: tuple[SuiteResult, SuiteResult], found: list[Change]) -> None:
    """Print which metrics changed between two runs of a suite."""
    console = _wide()
    a, b = made
    title = f"{a.metadata.control} ({a.folder}) against {b.metadata.control} ({b.folder})"
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for head in ("situation", "point", "metric", "before", "after", "difference [95 % interval]", "", "p"):
        left = head in {"situation", "point", "metric", ""}
        table.add_column(head, justify="left" if left else "right", overflow="fold")
    moved = [change for change in found if change.verdict != "same"]
    for c in moved:
        d, unit = c.difference, METRICS[c.metric].unit
        shown = "" if d.low is None else f" [{d.low:+.3g}, {d.high:+.3g}]"
        name = f"{c.metric} ({unit})" if unit else c.metric
        after = "-" if c.b is None else f"{c.b:.4g}"
        numbers = (f"{c.a:.4g}", after, "-" if c.b is None else f"{d.value:+.3g}{shown}")
        p = "-" if c.p is None else f"{c.p:.2g}"
        table.add_row(c.situation, c.point, name, *numbers, c.verdict, p)
    if moved:
        console.print(table)
    counts = {verdict: sum(c.verdict == verdict for c in found) for verdict in ("worse", "missing", "better", "other")}
    console.print(
        f"{len(found)} metrics compared: "
        + ", ".join(f"{number} {verdict}" for verdict, number in counts.items())
        + f"; {len(found) - len(moved)} show no difference",
        highlight=False,
    )
