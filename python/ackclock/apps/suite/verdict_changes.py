"""Changes of verdicts between two results of a suite."""

from __future__ import annotations

from dataclasses import dataclass

from ackclock.apps.suite.checks import BINDING, CheckResult
from ackclock.apps.suite.result import SuiteResult
from ackclock.base.files import BadInput

RANK = {"pass": 3, "fixed": 3, "known": 2, "fail": 1, "not shown": 1, "not observable": 0, "missing": 0}
"""Verdicts from the worst to the best: a check that is not shown any more is as bad as one that fails."""


@dataclass(frozen=True)
class VerdictChange:
    """A check whose verdict is another one."""

    situation: str
    check: str
    level: str
    before: str
    after: str
    reason: str
    """Value, demand and reason of the present verdict."""

    @property
    def is_worse(self) -> bool:
        """Whether a demand of the document is met no more, or shown no more."""
        return self.level in BINDING and RANK[self.after] < RANK[self.before]

    def __str__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.situation}.{self.check}: {self.before}, now {self.after}{reason}"


def changes(before: SuiteResult, after: SuiteResult) -> list[VerdictChange]:
    """The checks of either result whose verdict differs. Raises BadInput if the results are of two suites."""
    if before.metadata.suite != after.metadata.suite:
        raise BadInput(
            f"{before.folder} is of the suite {before.metadata.suite}, {after.folder} of {after.metadata.suite}"
        )
    old = {(one.situation, one.check): one for one in before.checks}
    new = {(one.situation, one.check): one for one in after.checks}
    changed = []
    for key in dict.fromkeys([*old, *new]):
        was, now = old.get(key), new.get(key)
        verdicts = (was.verdict if was else "missing", now.verdict if now else "missing")
        if verdicts[0] != verdicts[1]:
            shown = now or was
            assert shown is not None
            changed.append(VerdictChange(*key, shown.level, *verdicts, explained(now) if now else ""))
    return changed


def explained(check: CheckResult) -> str:
    """Value, demand and reason of a verdict in one line."""
    value = f"{check.value}, must be {check.demand}" if check.value else ""
    return "; ".join(filter(None, (value, check.reason)))
