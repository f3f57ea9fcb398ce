"""Skipped tests, and the reasons for which a test may be skipped (tests/skips.toml)."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Allowed:
    """A reason for which tests may be skipped: a pattern, why it is no failure, and the largest number of tests."""

    reason: str
    why: str
    most: int


@dataclass(frozen=True)
class Skips:
    """The skipped tests of a run: (test, reason), beside the reasons that are allowed."""

    allowed_reasons: list[Allowed]
    skipped: list[tuple[str, str]]

    @classmethod
    def load(cls, file: Path, skipped: list[tuple[str, str]]) -> Skips:
        """Read the list of reasons. Raises TypeError if an entry has other keys than `Allowed` has fields."""
        return cls([Allowed(**entry) for entry in tomllib.loads(file.read_text(encoding="utf-8"))["skip"]], skipped)

    def entry(self, reason: str) -> Allowed | None:
        """The entry of the list that allows a reason."""
        return next((entry for entry in self.allowed_reasons if re.match(entry.reason, reason)), None)

    def faults(self) -> list[str]:
        """What the list does not allow: reasons without an entry, and more tests than an entry permits."""
        entries = Counter(self.entry(reason) for _, reason in self.skipped)
        faults = [
            f"{test}: skipped for a reason that tests/skips.toml does not list: {reason}"
            for test, reason in self.skipped
            if self.entry(reason) is None
        ]
        return faults + [
            f'{count} tests were skipped for the reason "{entry.reason}"; tests/skips.toml permits {entry.most}'
            for entry, count in entries.items()
            if entry is not None and count > entry.most
        ]

    def allowed(self) -> bool:
        """Whether the list allows every skipped test."""
        return not self.faults()

    def lines(self, *, in_ci: bool = False) -> list[str]:
        """The report: each reason with its tests; in CI, where they are errors, then what is not allowed."""
        by_reason: dict[str, list[str]] = {}
        for test, reason in self.skipped:
            by_reason.setdefault(reason, []).append(test)
        count = len(self.skipped)
        required = sum(self.entry(reason) is None for _, reason in self.skipped)
        heading = f"not checked: {count} test{'' if count == 1 else 's'}" if count else "no test was skipped"
        if required:
            heading += f"; CI requires {'it' if count == 1 else f'{required} of them'}"
        return [
            heading,
            *(f"  {len(tests)} x {reason}: {', '.join(tests)}" for reason, tests in by_reason.items()),
            *(f"error: {fault}" for fault in self.faults() if in_ci),
        ]
