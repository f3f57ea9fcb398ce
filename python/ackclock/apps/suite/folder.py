"""Reads the folder of a suite: suite.toml, and a scenario or study for each situation (docs/suites.md)."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from pathlib import Path

from ackclock.apps.suite.measures import SUITE_METRICS
from ackclock.apps.suite.situation import Situation
from ackclock.base.files import BadInput
from ackclock.base.records import read_record, read_toml


@dataclass(frozen=True)
class Omitted:
    """A situation of the source that the suite omits, and the reason."""

    what: str
    why: str


class Suite:
    """A suite's folder. Raises BadInput if its contents are invalid."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = folder.name
        file = folder / "suite.toml"
        about = read_toml(file)
        texts = ("title", "source", "summary", "standard")
        for key in about:
            if key not in {*texts, "came_out", "situation", "omitted"}:
                raise BadInput(f"{file}: {key}: unknown key")
        for key in texts:
            if not isinstance(about.get(key), str):
                raise BadInput(f"{file}: {key} is missing")
        self.title, self.source, self.summary = about["title"], about["source"], about["summary"].strip()
        self.came_out: str = about.get("came_out", "")
        """The result in words; `{SITUATION.METRIC.CONTROLLER}` is a value."""
        self.standard: str = about["standard"]
        """The controller that `rivals_kept` is measured against."""
        for key in ("situation", "omitted"):
            if not isinstance(about.get(key, []), list):
                raise BadInput(f"{file}: {key}: must be tables [[{key}]]")
        self.situations = [
            read_record(Situation, item, f"{file}: situation[{i}]") for i, item in enumerate(about.get("situation", []))
        ]
        self.omitted = [
            read_record(Omitted, item, f"{file}: omitted[{i}]") for i, item in enumerate(about.get("omitted", []))
        ]
        seen: set[str] = set()
        for situation in self.situations:
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", situation.id) or situation.id.endswith("-standard"):
                what = "must be letters, digits, '.', '_' and '-', and not end in -standard: it names files"
                raise BadInput(f"{file}: situation {situation.id}: an id {what}")
            if situation.id in seen:
                raise BadInput(f"{file}: situation {situation.id}: the id is used twice")
            seen.add(situation.id)
            if not all(isinstance(metric, str) for metric in situation.metrics):
                raise BadInput(f"{file}: {situation.id}: metrics: must be a list of names")
            if not all(isinstance(table, dict) for table in situation.parameters.values()):
                raise BadInput(f"{file}: {situation.id}: parameters: must be a table of tables, by controller")
            for metric in situation.metrics:
                if metric not in SUITE_METRICS:
                    near = difflib.get_close_matches(metric, SUITE_METRICS, 1)
                    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(SUITE_METRICS)}"
                    raise BadInput(f"{file}: {situation.id}: there is no metric {metric}; {hint}")
            if not situation.bottleneck and any(SUITE_METRICS[metric].of_link for metric in situation.metrics):
                raise BadInput(f"{file}: {situation.id}: bottleneck is missing; name the link that is measured")
            if not self.path(situation).is_file():
                raise BadInput(f"{folder}: situation {situation.id} has no {situation.id}.toml")

    def path(self, situation: Situation) -> Path:
        """The scenario or study of a situation."""
        return self.folder / f"{situation.id}.toml"


def _folder() -> Path:
    return Path(__file__).parent / "definitions"


def known() -> list[str]:
    """Names of the suites that come with the package."""
    return sorted(path.parent.name for path in _folder().glob("*/suite.toml"))


def find(name: str) -> Suite:
    """The suite of the package with this name, or the suite in this folder. Raises BadInput if there is none."""
    for folder in (_folder() / name, Path(name)):
        if (folder / "suite.toml").is_file():
            return Suite(folder)
    near = difflib.get_close_matches(name, known(), 1)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known())}, or a folder with a suite.toml"
    raise BadInput(f"no suite {name}; {hint}")
