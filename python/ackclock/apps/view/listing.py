"""Lists of what can be opened: the runs of a paper; the scenarios, recordings, studies and papers of a folder."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import ScenarioError
from ackclock.apps import share
from ackclock.apps.laboratory import page as lab
from ackclock.apps.view import recorded
from ackclock.base.files import BadInput
from ackclock.base.shipped import short
from ackclock.draw.page import environment
from ackclock.scenario import Scenario

if TYPE_CHECKING:
    from ackclock.apps.papers.folder import Paper
    from ackclock.apps.papers.runs import PaperRuns

REGRESSION = "regression.toml"
"""What a folder of `ackclock search` has."""
INTRO = (
    "What ackclock view can open here. A link opens the laboratory in this browser, which computes the run; "
    "a command writes a page of its own."
)
NOT_REGULAR = "not a regular file"
MOST_FILES = 200
"""Items of each other group that are listed."""


@dataclass(frozen=True)
class ListedItem:
    """Something that can be opened: by a link, or by a command."""

    name: str
    what: str
    href: str | None = None
    command: str = ""
    wrong: bool = False
    """It cannot be opened; `what` says why."""


@dataclass(frozen=True)
class Group:
    """A heading of the page, and the first items below it."""

    title: str
    items: list[ListedItem]
    truncated: bool = False
    """Others are left out."""
    left_out: str = ""
    """What is left out, in words."""


def of_paper(paper: Paper) -> str:
    """The page of a paper that lists its published cells, its figures and the points of its studies, with links.

    The interpretation is the calibrated one if `out` has the results of the paper, otherwise that of the studies'
    files.
    """
    from ackclock.apps.papers.results import Results
    from ackclock.apps.papers.runs import PaperRuns
    from ackclock.study.executors import Local

    lab()  # the links need it; says how to build it
    reading = _calibrated(paper)
    results = Results(paper, Path("out") / paper.key, Local(), reading=reading)
    runs = PaperRuns(results, None, "")
    done = Path("out") / paper.key / "index.html"
    template = environment("ackclock.apps.view").get_template("paper.html")
    return template.render(
        paper=paper,
        reading=results.reading.label,
        calibrated=reading is not None,
        results=done.resolve().as_uri() if done.is_file() else None,
        tables=[(table, _cells(paper, table.id, runs), runs.behind(table)) for table in paper.tables],
        figures=[(figure, runs.of_figure(figure).studies) for figure in paper.figures],
        studies=[(spec, results.study(spec.name), runs.points(spec.name)) for spec in paper.studies],
    )


def _calibrated(paper: Paper) -> Any:
    """The calibrated interpretation of the last `ackclock paper`; None if there is none."""
    from ackclock.apps.papers.readings import combination

    try:
        said = json.loads((Path("out") / paper.key / "calibration.json").read_text(encoding="utf-8"))
        [chosen] = [one for one in said["readings"] if one["name"] == said["chosen"]]
        return combination(paper, chosen["parameters"])
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        return None


def _cells(paper: Paper, table: str, runs: PaperRuns) -> list[tuple[str, str, str, str, Any]]:
    """Row, column, published number, interpretation and run of the cells of a table that have one."""
    printed = paper.printed(table)
    cells = []
    for (row, column, reading), run in runs.of_table(table).items():
        value, unit = printed.get((row, column), ("", ""))
        if value:
            cells.append((row, column, f"{value} {unit}".strip(), reading, run))
    return cells


def of_folder(folder: Path) -> str:
    """The page that lists what a folder has. Raises BadInput if it has nothing that can be opened."""
    groups = _groups(folder)
    groups = [group for group in groups if group.items]
    if not groups:
        raise BadInput(
            f"{folder}: has nothing to open: no scenario (.toml), no recorded run (.parquet of ackclock run --trace or "
            "--packets), no study of ackclock sweep, no paper"
        )
    return of_groups(str(folder), groups, INTRO)


def of_groups(title: str, groups: list[Group], intro: str) -> str:
    """The page that lists groups, below an introduction."""
    template = environment("ackclock.apps.view").get_template("list.html")
    return template.render(title=title, groups=groups, intro=intro)


def has_report(folder: Path) -> bool:
    """Whether a folder is of `ackclock sweep` or `ackclock compare`, whose page is a report."""
    from ackclock.apps.comparison import FILE as COMPARISON
    from ackclock.study.store import FILE

    return not _is_search(folder) and any((folder / name).is_file() for name in (FILE, COMPARISON))


def _is_search(folder: Path) -> bool:
    """A folder of `ackclock search`, which has its failures as scenarios."""
    return (folder / REGRESSION).is_file()


def _groups(folder: Path) -> list[Group]:
    files = recorded.logs(folder)
    logs = [*files["trace"], *files["packets"]]
    recordings = [ListedItem(path.name, str(recorded.kind(path)), command=_command(path)) for path in logs[:MOST_FILES]]
    scenarios = [path for path in sorted(folder.glob("*.toml")) if path.name != REGRESSION]
    special = [path for path in sorted(folder.glob("*.parquet")) if not path.is_file()]
    recordings += [ListedItem(path.name, NOT_REGULAR, wrong=True) for path in special[:MOST_FILES]]
    return [
        _group("Scenarios", [_scenario(path) for path in scenarios[:MOST_FILES]], len(scenarios)),
        _group("Recorded runs", recordings, len(logs) + len(special)),
        _folders(folder),
    ]


def _group(title: str, items: list[ListedItem], total: int) -> Group:
    return Group(title, items, len(items) < total, f"Left out: {total - len(items):,}")


def _command(path: Path, more: str = "") -> str:
    return f"ackclock view {shlex.quote(str(short(path)))}{more}"


def _scenario(path: Path) -> ListedItem:
    if not path.is_file():
        return ListedItem(path.name, NOT_REGULAR, wrong=True)
    try:
        scenario = Scenario.load(path)
        if scenario.is_study:
            return ListedItem(path.name, f"{scenario.title} (a study)", command=_command(path, " --point 0"))
        try:
            link = share.link(scenario)
        except BadInput as error:
            return ListedItem(path.name, f"{scenario.title} ({str(error).partition(': ')[2]})", command=_command(path))
    except (ScenarioError, OSError) as error:
        return ListedItem(path.name, str(error).removeprefix(f"{path}: "), wrong=True)
    return ListedItem(path.name, scenario.title, link if len(link) <= share.LONGEST else None, _command(path))


def _folders(folder: Path) -> Group:
    """Papers, results of papers, studies and recorded runs one level below."""
    paths = sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
    rest = iter(paths)
    items = list(islice(filter(None, map(_subfolder, rest)), MOST_FILES))
    unread = len(list(rest))
    return Group("Folders", items, unread > 0, f"Folders not examined: {unread:,}")


def _subfolder(path: Path) -> ListedItem | None:
    """A folder as an item; None if it has nothing that can be opened."""
    if (path / "paper.toml").is_file():
        return ListedItem(path.name, "paper", command=_command(path))
    if (path / "verdicts.json").is_file():
        return ListedItem(path.name, "results of a paper", f"{path.resolve().as_uri()}/index.html", _command(path))
    if has_report(path):
        return ListedItem(path.name, "study or comparison", command=_command(path))
    if _is_search(path):
        return ListedItem(path.name, "failures of a search", command=_command(path))
    if any(recorded.logs(path).values()):
        return ListedItem(path.name, "recorded run", command=_command(path))
    return None
