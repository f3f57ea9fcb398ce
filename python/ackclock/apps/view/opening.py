"""What `ackclock view` opens: a scenario, a recorded run, a recording, a paper, or the list of what a folder has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ackclock.apps import share
from ackclock.apps.laboratory import page
from ackclock.apps.traces import Options, is_recording
from ackclock.apps.view import recorded
from ackclock.apps.view.recording import record
from ackclock.base.controllers import modules_in
from ackclock.base.files import BadInput
from ackclock.base.link import is_link
from ackclock.scenario import Scenario

Progress = Callable[[float], object]
RECORDED = (".parquet", ".csv", ".json")


@dataclass(frozen=True)
class Target:
    """What the user asks for."""

    path: Path | None = None
    """A scenario, a link, a recorded file, a capture, qlog or log, a folder, or the key of a paper; None: the empty
    laboratory."""
    seed: int | None = None
    overrides: Sequence[str] = ()
    point: int | None = None
    """Which point of a study, counted from 0."""
    run: str | None = None
    """Which run of a folder of `ackclock sweep`: the begin of its identity."""
    record: bool = False
    """Run the scenario here, and open the recording."""
    allow_code: bool = False
    """Scenarios may name code and base files outside their own folder, and stores code."""
    flow: Options = field(default_factory=Options)
    """Of a recording: which flow is opened, and how it is read."""
    addresses: bool = False
    """Of a recording: keep addresses, ports and names in the page."""


@dataclass(frozen=True)
class Page:
    """A page to be written, or one that is there (`at`)."""

    name: str
    text: str = ""
    at: Path | None = None
    watched: list[Path] = field(default_factory=list)
    """The files that it was made from."""
    links: bool = False
    """Its links lead to the laboratory, which must be in the same folder."""


def build(target: Target, progress: Progress | None = None) -> Page:
    """The page of a target. Raises BadInput, ScenarioError, OSError."""
    path = target.path
    if path is None:
        _no_options(target, "without a scenario")
        _no_flow(target, "without a recording")
        return Page("lab", page())
    if not is_link(str(path)) and path.is_file() and is_recording(path):
        return _transfer(path, target)
    _no_flow(target, f"{path}: is not a recording of another program")
    if is_link(str(path)) or path.suffix == ".toml" or (path.is_file() and path.suffix not in RECORDED):
        return _scenario(path, target, progress)
    if path.is_dir() and target.run is not None:
        return _stored(path, target, progress)
    _no_options(target, f"{path}: is not a scenario")
    if path.is_file():
        return Page(path.name.partition(".")[0], page(recording=recorded.of_file(path)), watched=[path])
    if path.is_dir():
        return _folder(path, allow_code=target.allow_code)
    return _paper(path)


def _no_options(target: Target, what: str) -> None:
    for option, value in (
        ("--seed", target.seed is not None),
        ("--set", bool(target.overrides)),
        ("--point", target.point is not None),
        ("--run", target.run is not None),
        ("--record", target.record),
    ):
        if value:
            raise BadInput(f"{what}, so {option} has no meaning")


def _no_flow(target: Target, what: str) -> None:
    for option, value in (
        ("--flow", target.flow.flow is not None),
        ("--at", target.flow.at is not None),
        ("--every", target.flow.every_s is not None),
        ("--addresses", target.addresses),
    ):
        if value:
            raise BadInput(f"{what}, so {option} has no meaning")


def _transfer(path: Path, target: Target) -> Page:
    """The page of a capture, qlog or log."""
    from ackclock.apps.view.transfer import record_transfer

    _no_options(target, f"{path}: is a recording of another program")
    content = record_transfer(path, target.flow, addresses=target.addresses)
    return Page(path.name.partition(".")[0], page(recording=content), watched=[path])


def _scenario(path: Path, target: Target, progress: Progress | None) -> Page:
    if target.run is not None:
        raise BadInput("--run: selects a run of a folder of ackclock sweep; a file of a study has --point")
    scenario = Scenario.load(path, target.overrides, allow_code=target.allow_code)
    if scenario.is_study and target.point is None:
        raise BadInput(f"{path}: is a study of many runs; select one with --point 0 (and --seed), or remove sweep")
    name = "lab" if is_link(str(path)) else path.stem
    shown = scenario if target.point is None else _at_point(scenario, target.point)
    return _page(shown, scenario, name, target, progress)


def _at_point(scenario: Scenario, point: int) -> Scenario:
    from ackclock.study import Study

    study = Study.read(scenario.source, scenario.overrides)
    if not 0 <= point < study.points:
        raise BadInput(f"--point {point}: the study has the points 0 to {study.points - 1}")
    return study.standalone(point)


def _stored(folder: Path, target: Target, progress: Progress | None) -> Page:
    """A run of a folder of `ackclock sweep`."""
    from ackclock.study import Store, run_of

    if target.seed is not None or target.overrides or target.point is not None:
        raise BadInput("--run: a run of a study has its seed and its values; omit --seed, --set and --point")
    with Store.open(folder) as store:
        study, point, seed = run_of(store, str(target.run), allow_code=target.allow_code)
    name = f"{folder.name}-{target.run}"
    return _page(study.standalone(point), study.scenario(point), name, replace(target, seed=seed), progress)


def _page(scenario: Scenario, written: Scenario, name: str, target: Target, progress: Progress | None) -> Page:
    """The page of a scenario, which is a point of `written` if that is a study.

    One with controllers in Python is run here, because the page cannot run them.
    """
    seed = target.seed
    if target.record or scenario.facts().controllers:
        text = page(recording=record(scenario, seed, progress))
    else:
        text = page(share.content(scenario, seed=seed))
    return Page(name, text, watched=_files(scenario, written))


def _files(scenario: Scenario, written: Scenario) -> list[Path]:
    """The files that a page was made from: the scenario, its bases (`extends`), the files that it names, and its
    controllers in Python with the modules beside them that they import.
    """
    if written.source.link is not None:
        return []
    file, facts = Path(written.file), scenario.facts()
    bases = [mention.path for mention in written.facts().mentions if mention.key == "extends"]
    code = [Path(controller.rpartition(":")[0]) for controller in facts.controllers]
    code = [file.parent / one if (file.parent / one).exists() else one for one in code]
    modules = modules_in({path.resolve().parent for path in code})
    files = [file, *bases, *(file.parent / name for name in facts.files), *code, *modules]
    return [path for path in dict.fromkeys(files) if path.is_file()]


def _folder(folder: Path, *, allow_code: bool) -> Page:
    """The recorded run, the paper, the report of a study or comparison, or the list of what can be opened."""
    from ackclock.apps.view.listing import has_report, of_folder, of_paper

    if (folder / "paper.toml").is_file():
        from ackclock.apps.papers.folder import Paper

        return Page(folder.resolve().name, of_paper(Paper(folder)), links=True)
    if (folder / "index.html").is_file() and (folder / "verdicts.json").is_file():
        page_file = folder / "index.html"
        if not allow_code:
            remedy = "open it in a browser if you trust where it comes from, or add --allow-code"
            raise BadInput(f"{page_file}: is a page that can run scripts; {remedy}")
        return Page(folder.name, at=page_file)
    files = recorded.logs(folder)
    if recorded.is_run(files):
        paths = [*files["trace"], *files["packets"]]
        return Page(folder.resolve().name, page(recording=recorded.of_folder(folder)), watched=paths)
    if has_report(folder):
        from ackclock.apps.report.folder import of_folder as report_of
        from ackclock.apps.report.writing import page as report_page

        report = report_of(folder, allow_code=allow_code)
        return Page(folder.resolve().name, report_page(report, linked=True, beside=False), links=True)
    return Page(folder.resolve().name, of_folder(folder), links=True)


def _paper(path: Path) -> Page:
    """The paper of a key such as ca-artt; an underscore counts as a hyphen. Raises BadInput if there is none."""
    from ackclock.apps.papers import find, known
    from ackclock.apps.view.listing import of_paper

    key = str(path).replace("_", "-")
    if key not in known():
        raise BadInput(f"{path}: there is no such file, folder or paper; papers: {', '.join(known()) or 'none here'}")
    return Page(key, of_paper(find(key)), links=True)
