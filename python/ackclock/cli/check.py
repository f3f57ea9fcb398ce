"""`ackclock check`."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.table import Table

from ackclock._core import ScenarioError
from ackclock.base.files import BadInput, check_picture, save_figure
from ackclock.base.languages import language_of
from ackclock.base.si import quantity
from ackclock.base.source import read_source
from ackclock.base.text import advise, say
from ackclock.cli.console import wide_console
from ackclock.cli.options import AllowCode, File, Overrides

if TYPE_CHECKING:
    from ackclock.study import Study

EXAMPLE = "ackclock check @dumbbell --plot network.svg"

MOST_REFUSED = 10
"""Points of a study that `check` reports one by one."""
MOST_ROWS = 12
"""Flows and links that `check` shows."""


MOST_POINTS = 20_000
"""Points of a study that are checked; of larger studies a sample, so that the answer takes seconds."""


def command(
    file: File,
    /,
    *files: File,
    plot: Path | None = None,
    strict: bool = False,
    set_: Overrides = None,
    as_json: Annotated[bool, Parameter(name="--json")] = False,
    allow_code: AllowCode = False,
) -> int:
    """Validate scenarios, or a controller in .wasm or .so.

    Probable mistakes have warnings. Nothing is simulated, and the code of controllers is not executed. Of one
    scenario the paths, fair shares and queue limits are shown. A controller, FILE.wasm or FILE.wasm:NAME, is loaded
    and gets sequences of events: what it is, and whether it reduces, restarts, and answers equally to equal events.

    Parameters
    ----------
    file
        Scenario file (TOML), @NAME for a shipped scenario, or a controller such as mine.wasm.
    files
        More files.
    plot
        Draw the network to this file (.svg, .pdf, .png or .eps): nodes, links with rate, delay, queue and loss, flows.
        Only for a single scenario file.
    strict
        Exit with status 2 if there is a warning.
    set_
        Replace one value of each file first: KEY=VALUE. May be repeated.
    as_json
        Print one JSON object for each file and nothing else: file, valid, errors, title, duration_s, runs, links,
        flows, traffic, warnings.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder, and native code.

    """
    if plot is not None:
        check_picture(plot)
        if files:
            raise BadInput("--plot: needs exactly one scenario file")
    failed = False
    for name in (file, *files):
        if (code := language_of(str(name))) and code[0] != "python":
            from ackclock.cli.check_controller import check

            failed |= not check(str(name), as_json=as_json, allow_code=allow_code)
            continue
        about, study = _check(name, set_ or (), allow_code=allow_code)
        if as_json:
            print(json.dumps(about, allow_nan=False))
        refused = len(about["warnings"]) if strict else 0
        failed |= not about["valid"] or refused > 0
        for error in about["errors"]:
            say(f"ackclock: {error}", error=True)
        if refused:
            say(f"ackclock: {name}: --strict refuses {refused} warning{'' if refused == 1 else 's'}", error=True)
        if study is None or not about["valid"]:
            continue
        if plot is not None:
            from ackclock.draw import network

            save_figure(network.draw(study.scenario(0)), plot)
        if not as_json:
            _show(about, study, details=not files)
        if plot is not None:
            say(f"written: {plot}", error=True)
    return 2 if failed else 0


def _check(name: Path, overrides: Sequence[str], *, allow_code: bool) -> tuple[dict[str, Any], Study | None]:
    """What `--json` prints about a file, and the study unless it cannot be read."""
    from ackclock.apps import scenario_check
    from ackclock.study import Study

    about: dict[str, Any] = {"file": str(name), "valid": False, "errors": [], "warnings": []}
    try:
        study = Study.read(read_source(name, allow_code=allow_code), overrides, most=MOST_POINTS)
    except ScenarioError as error:
        return about | {"errors": [str(error), *error.others]}, None
    advise(study.advice)
    checked = min(study.points, MOST_POINTS)
    for point, message in study.refused[:MOST_REFUSED]:
        labels = ", ".join(f"{axis}={label}" for axis, label in study.labels(point).items())
        about["errors"].append(f"at {labels}: {message}")
    if study.refused:
        few = f"; the first {MOST_REFUSED} are listed above" if len(study.refused) > MOST_REFUSED else ""
        every = f"{study.points} points" if checked == study.points else f"about {checked} points that were checked"
        about["errors"].append(f"{study.file}: {len(study.refused)} of {every} cannot be run{few}")
        return about, study
    advise([idle] if (idle := study.idle_seeds) else [])
    scenario = study.scenario(0)
    runs = study.points * len(study.seeds) if study.is_sweep else 1
    values = {"title": study.title, "duration_s": scenario.duration_s, "runs": runs, "points": study.points}
    values["points_checked"] = checked
    return about | values | {"valid": True} | scenario_check.describe(scenario), study


def _show(about: dict[str, Any], study: Study, *, details: bool) -> None:
    """Print the result of a valid file: one line, then the derived values if `details`, then the warnings."""
    many = f"; {about['runs']} runs" if study.is_sweep else ""
    if study.points > MOST_POINTS:
        many += f"; {MOST_POINTS:,} of {study.points:,} points were checked; each value of each axis is among them"
    say(f"{study.file}: valid ({about['title'] or 'no title'}; {about['duration_s']:g} s{many})")
    if details:
        console = wide_console()
        if study.is_sweep:
            labels = ", ".join(f"{axis}={label}" for axis, label in study.labels(0).items())
            console.print(f"Values of the first point{f' ({labels})' if labels else ''}:", soft_wrap=True)
        for table, rest in (_flows(about), _links(about)):
            if table.row_count:
                console.print(table)
                if rest:
                    console.print(rest)
        for flow in about["flows"]:
            if (application := flow["application"]) is not None:
                console.print(_offers(flow["name"], application), soft_wrap=True)
        for source in about["traffic"]:
            size = quantity(source["mean_bytes"], "B")
            console.print(
                f"traffic {source['name']}: about {source['expected_flows']:,.0f} flows of {size} on average, "
                f"{quantity(source['load_bps'], 'b/s')}",
                soft_wrap=True,
            )
    for warning in about["warnings"]:
        say(f"warning: {warning['key']}: {warning['message']}; {warning['remedy']}")


def _offers(flow: str, application: dict[str, Any]) -> str:
    """What the application of a flow offers to the network."""
    offered = application["offered_bps"]
    load = "as much as the network carries" if offered is None else f"{quantity(offered, 'b/s')} in the mean"
    return f"application of {flow}: {application['kind']}, {load}"


def _flows(about: dict[str, Any]) -> tuple[Table, str]:
    table = Table(title="Flows", title_justify="left", box=None, pad_edge=False)
    for head in ("flow", "data from, to", "base RTT", "bottleneck", "fair share", "BDP", "window"):
        right = head in {"base RTT", "fair share", "BDP", "window"}
        table.add_column(
            head, justify="right" if right else "left", no_wrap=head not in {"data from, to", "bottleneck"}
        )
    for flow in about["flows"][:MOST_ROWS]:
        rtt, bdp, window = flow["base_rtt_s"], flow["bdp_packets"], flow["receive_window"]
        table.add_row(
            flow["name"],
            f"{flow['from']}, {flow['to']}",
            "varies" if not flow["path"] else "-" if rtt is None else quantity(rtt, "s"),
            flow["bottleneck"] or "-",
            "-" if flow["share_bps"] is None else quantity(flow["share_bps"], "b/s"),
            "-" if bdp is None else f"{math.ceil(bdp):,} p",
            "-" if window is None else f"{window:,} p",
        )
    more = len(about["flows"]) - MOST_ROWS
    return table, f"({more:,} more flows; --json prints all)" if more > 0 else ""


def _links(about: dict[str, Any]) -> tuple[Table, str]:
    """The links that limit a flow, have a queue limit or lose packets, on paths of data."""
    carrying = {index for flow in about["flows"] for index in flow["path"]}
    narrow = {flow["bottleneck"] for flow in about["flows"]}
    chosen = [
        (i, link)
        for i, link in enumerate(about["links"])
        if link["name"] in narrow or (i in carrying and (link["queue"] != "unlimited" or link["loss"]))
    ]
    table = Table(title="Links that data crosses", title_justify="left", box=None, pad_edge=False)
    for head in ("link", "rate", "delay", "queue", "holds", "losses"):
        right, long = head in {"rate", "delay", "holds"}, head in {"queue", "losses"}
        table.add_column(head, justify="right" if right else "left", no_wrap=not long)
    for _, link in chosen[:MOST_ROWS]:
        name = link["name"] + (f" ({link['given']})" if link["given"] else "")
        holds = "-" if link["limit_packets"] is None else f"{link['limit_packets']:,} p"
        if link["limit_s"] is not None:
            holds += f" = {quantity(link['limit_s'], 's')}"
        rate, delay = quantity(link["mean_rate_bps"], "b/s"), quantity(link["delay_s"], "s")
        table.add_row(name, rate, delay, link["queue"], holds, link["loss"] or "-")
    more = len(about["links"]) - min(len(chosen), MOST_ROWS)
    return table, f"({more:,} more link directions; --json prints all)" if more > 0 else ""
