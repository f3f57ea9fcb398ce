"""The page of a controller in a suite with checks: what holds first, then each situation with its curves."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from ackclock import Scenario
from ackclock._core import ScenarioError
from ackclock.apps import laboratory, share
from ackclock.apps.suite import curves
from ackclock.apps.suite.checks import VERDICTS
from ackclock.apps.suite.measures import SUITE_METRICS
from ackclock.base.controllers import short_names
from ackclock.base.files import BadInput
from ackclock.draw.page import environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ackclock.apps.suite.checks import CheckResult
    from ackclock.apps.suite.folder import Suite
    from ackclock.apps.suite.result import SuiteResult
    from ackclock.apps.suite.situation import Situation
    from ackclock.stats import Estimate

WORDS = {
    "pass": "hold",
    "fixed": "known failures that hold now",
    "fail": "fail",
    "differ": "fail, without being binding",
    "known": "known failures",
    "not shown": "not shown",
    "not observable": "not observable",
}
ORDER = ("pass", "fixed", "known", "fail", "not shown", "not observable")


def command_of(suite: Suite, result: SuiteResult) -> str:
    """The command that makes a result again."""
    about = result.metadata
    parts = ["ackclock", "suite", about.place or about.suite, "--control", about.control]
    parts += ["--on", about.on] if about.on != "tcp" else []
    parts += ["--quick"] if about.quick else []
    for text in about.overrides:
        parts += ["--set", text]
    return shlex.join(parts)


def render(suite: Suite, result: SuiteResult, laboratory_in: str = "") -> str:
    """The page as HTML. Its links to runs need the laboratory's page, in the same folder or in `laboratory_in`."""
    counts = [(verdict, result.count(verdict)) for verdict in ORDER if verdict != "fail"]
    binding = sum(one.failed for one in result.checks)
    counts[3:3] = [("fail", binding), ("differ", result.count("fail") - binding)]
    held = result.count("pass") + result.count("fixed")
    by_situation = {
        situation.id: [one for one in result.checks if one.situation == situation.id] for situation in suite.situations
    }
    parsed = {(s.id, c.id): c.check for s in suite.situations for c in suite.checks(s).checks}
    ranked = sorted(result.checks, key=lambda one: (VERDICTS.index(one.verdict), not one.binding))
    return (
        environment("ackclock.apps.suite")
        .get_template("checks.html")
        .render(
            suite=suite,
            made=result,
            control=short_names([result.metadata.control])[result.metadata.control],
            held=held,
            judged=held + result.count("fail") + result.count("known"),
            counts=counts,
            words=WORDS,
            wrong=[one for one in ranked if one.verdict in {"fail", "known", "fixed"}],
            titles={situation.id: situation.title for situation in suite.situations},
            says={key: check.say or check.value for key, check in parsed.items()},
            values={key: check.value for key, check in parsed.items()},
            situations=[
                (
                    situation,
                    by_situation[situation.id],
                    *_pictures(result, situation, laboratory_in),
                    _rows(result, situation),
                )
                for situation in suite.situations
            ],
            metrics=SUITE_METRICS,
            opened=_opened,
            kind=kind_of,
            board=bool(laboratory_in),
            command=command_of(suite, result),
        )
    )


def kind_of(check: CheckResult) -> str:
    """The class of a verdict in the page."""
    return "differ" if check.verdict == "fail" and not check.binding else check.verdict.replace(" ", "-")


def _opened(checks: Sequence[CheckResult]) -> bool:
    """Whether a situation is shown at once: a demand is not met."""
    return any(one.verdict == "fail" and one.binding for one in checks)


def _pictures(result: SuiteResult, situation: Situation, laboratory_in: str) -> tuple[str, str]:
    """The curves of the first run, and its address in the laboratory; empty if there is none."""
    stored = result.curves.get(situation.id)
    if stored is None:
        return "", ""
    href = ""
    try:
        picture = curves.svg(stored)
    except (KeyError, TypeError, ValueError, AttributeError):  # a stranger's result
        picture = ""
    if isinstance(stored, dict) and stored.get("scenario") and laboratory.is_built():
        try:
            href = laboratory_in + share.link(Scenario.parse(stored["scenario"]), seed=1)
        except (BadInput, ScenarioError, TypeError):  # a controller in a file, which a link does not hold
            href = ""
    return picture, href if len(href) <= share.LONGEST else ""


def _rows(
    result: SuiteResult, situation: Situation
) -> tuple[list[str], list[tuple[str, list[Estimate | None]]]] | None:
    """The metrics of a situation that were measured, and their values at each point."""
    estimates: dict[Any, Estimate] = result.estimates()
    points = list(dict.fromkeys(point for name, point, _ in estimates if name == situation.id))
    shown = [m for m in situation.metrics if any((situation.id, point, m) in estimates for point in points)]
    if not shown:
        return None
    return shown, [(point, [estimates.get((situation.id, point, metric)) for metric in shown]) for point in points]
