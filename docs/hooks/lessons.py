"""The lessons of the laboratory as pages of the site: text, figure, exercise, and a button that opens the lesson."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mkdocs.exceptions import PluginError
from outputs import ROOT, Job, run
from tutorials import figure, folded

FOLDER = ROOT / "web" / "lessons"
EXAMPLE = ROOT / "web/src/core/mine.wasm"
"""The controller in C of the page."""
FENCE = re.compile(r"^```(\w+)\n(.*?)^```\n?", re.S | re.M)
MEASURE = re.compile(r"^(\w+)(?: @\w+)? = .* -> (\S+)$", re.M)
LAB = "../lab.html"
FIGURE = "figure.svg"
PAGE = "lessons/index.md"
"""The page that lists the lessons."""
ANSWERS = "lessons/answers.md"
"""The page of the answers. Pages for teachers link to it; the navigation, the search and the lessons do not."""


@dataclass(frozen=True)
class Lesson:
    """A lesson: its number, title, text, question, answer and scenario."""

    number: int
    name: str
    title: str
    text: str
    question: str
    answer: str
    scenario: str

    @property
    def page(self) -> str:
        """Its page."""
        return f"lessons/{self.name}.md"


@cache
def lessons() -> list[Lesson]:
    """All lessons, in their order. Raises PluginError for one that is not complete."""
    return [_read(number, path) for number, path in enumerate(sorted(FOLDER.glob("*.md")), 1)]


def _shown(fence: re.Match[str]) -> str:
    """What the text keeps of a fenced block: a program."""
    return fence[0] if fence[1] == "c" else ""


def _read(number: int, path: Path) -> Lesson:
    source = path.read_text(encoding="utf-8")
    fences = dict(FENCE.findall(source))
    values = dict(MEASURE.findall(fences.get("measures", "")))
    prose = re.sub(r"\{(\w+)\}", lambda name: values[name[1]], FENCE.sub(_shown, source)).strip()
    title, _, text = prose.removeprefix("# ").partition("\n")
    question = re.search(r"^> (?!Answer: )(.*)$", text, re.M)
    answer = re.search(r"^> Answer: (.*)$", text, re.M)
    if question is None or answer is None or "scenario" not in fences:
        raise PluginError(f"{path}: a lesson needs a question, an answer and a scenario")
    text = re.sub(r"^> .*\n?", "", text, flags=re.M).strip()
    return Lesson(number, path.stem, title, text, question[1], answer[1], fences["scenario"].rstrip())


def job(lesson: Lesson) -> Job:
    """Runs the scenario of a lesson and draws it."""

    def build(folder: Path) -> None:
        work = folder / "work"
        work.mkdir()
        (work / "scenario.toml").write_text(lesson.scenario + "\n", encoding="utf-8")
        shutil.copy(EXAMPLE, work)  # which a lesson may name
        options = ["--width", "7.5in", "--no-title", "--out", str(folder / FIGURE)]
        run(["-m", "ackclock.cli", "plot", "scenario.toml", *options], work, f"{FOLDER}/{lesson.name}.md")

    return Job(f"lesson-{lesson.name}", lesson.scenario, build)


def page(lesson: Lesson) -> str:
    """A lesson as Markdown."""
    parts = [
        f"# {lesson.title}",
        f"[Open lesson {lesson.number} in the laboratory]({LAB}#lesson={lesson.number})"
        "{ .md-button .md-button--primary } There, knobs change the run, and its numbers are measured again.",
        lesson.text,
        figure(f"{lesson.name}.svg", f"{lesson.title}: the run as described"),
        f'!!! question "Exercise"\n    {lesson.question}',
        folded("The scenario", lesson.scenario),
    ]
    return "\n\n".join(parts) + "\n"


def overview() -> str:
    """The list of the lessons, and the exercise sheet."""
    rows = [f"{lesson.number}. [{lesson.title}]({Path(lesson.page).name})" for lesson in lessons()]
    parts = [
        "# Lessons",
        "Each lesson has a run, knobs and questions, and opens in the laboratory, which computes in the browser. A "
        "course page can link to a lesson: the address ends with `#lesson=` and its number.",
        *rows,
        "## Exercise sheet",
        "The questions of all lessons. Predict first, then turn the knobs: the laboratory shows the answer of a lesson "
        "after a prediction.",
        *(f"{_heading(lesson)}\n\n{lesson.question}" for lesson in lessons()),
    ]
    return "\n\n".join(parts) + "\n"


def answers() -> str:
    """The exercise sheet with the answers, for teachers."""
    parts = [
        "---\nsearch:\n  exclude: true\n---",
        "# Answers to the exercises",
        "For teachers. The navigation, the search and the pages of the lessons do not lead here.",
        *(f"{_heading(lesson)}\n\n{lesson.question}\n\n> {lesson.answer}" for lesson in lessons()),
    ]
    return "\n\n".join(parts) + "\n"


def _heading(lesson: Lesson) -> str:
    return f"**{lesson.number}. {lesson.title}** ([lesson]({LAB}#lesson={lesson.number}))"
