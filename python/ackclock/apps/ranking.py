"""A ranking of controllers that others hand in: each is compared with the same reference, never with another one.

`ackclock compare --control 'handins/*.py:*' --against reference.py:Ref`. Every hand-in has processes of its own for its
runs. One that fails has its reason, and the others go on.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from glob import glob
from itertools import combinations, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from ackclock import ScenarioError, stats
from ackclock.apps.controls import check_controls, is_pattern
from ackclock.apps.score import REFERENCE, NoScore, Score
from ackclock.apps.trials import Network, Runs, Trials
from ackclock.base import controllers
from ackclock.base.files import BadInput, own_folder
from ackclock.base.languages import SANDBOXED, SUFFIXES, joined, language_of
from ackclock.base.names import folder_name
from ackclock.study.executors import UntilFailure
from ackclock.study.sweep import WITHOUT_RESULT, offset

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ackclock.study.sweep import Progress

Values = dict[str, dict[int, float]]
"""The values of metrics by seed."""
WHOLE_NAME = 40
"""Letters of a name that a figure shows whole."""
LONGEST_NAME = 60
"""Letters of the name of a folder of runs, which has at most 255 bytes. Two may share one: runs have identities."""


@dataclass(frozen=True)
class HandIn:
    """A controller that is ranked."""

    name: str
    """As `--control` names it: `handins/a.py:Mine`."""
    failed: str = ""
    """Why it cannot be run; empty if it can."""

    @property
    def file(self) -> str:
        """The file of a controller in a file; empty for another one."""
        named = None if self.name.startswith("{") else language_of(self.name)
        return named[1] if named else ""

    @property
    def key(self) -> str:
        """A hash of the file's content and the name: the order of pseudonyms."""
        try:
            content = Path(self.file).read_bytes() if self.file and Path(self.file).is_file() else b""
        except OSError:
            content = b""
        name = f"{Path(self.file).name}:{self.name.rpartition(':')[2]}"
        return hashlib.blake2b(content + b"\0" + name.encode("utf-8", "replace")).hexdigest()


WITHOUT_NAME = tuple(suffix for suffix, language in SUFFIXES.items() if language in SANDBOXED)
"""Suffixes of files whose controller needs no name."""


def hand_ins(named: Sequence[str], *, allow_code: bool = False) -> list[HandIn]:
    """The hand-ins of names and patterns. `FILES:*` stands for each controller of each file in Python.

    `FILES` alone stands for the controller of each page, each file in JavaScript and each WebAssembly module.

    Nothing is run. A file without one, or that cannot be read, is a hand-in that has failed. Raises BadInput for a
    pattern that no file matches, or without a class.
    """
    entries: list[HandIn] = []
    for text in named:
        files, _, class_name = text.rpartition(":")
        if is_pattern(text) and text.endswith(WITHOUT_NAME):
            files, class_name = text, ""
        if text.endswith(".py") and not text.startswith("{"):
            raise BadInput(f"--control {text}: names no class; for every controller write '{text}:*'")
        if not is_pattern(text):
            entries.append(_checked(text, allow_code=allow_code))
            continue
        paths = [files] if Path(files).exists() else sorted(glob(files, recursive=True))
        if not paths:
            raise BadInput(f"--control {text}: no file matches; a pattern is such as 'handins/*.py:*'")
        for path in paths:
            try:
                classes = controllers.classes_in(path) if class_name == "*" else [class_name]
                entries += [_checked(joined(path, name), allow_code=allow_code) for name in classes]
            except ValueError as error:
                entries.append(HandIn(path, str(error)))
    return list({entry.name: entry for entry in entries}.values())


def _checked(name: str, *, allow_code: bool) -> HandIn:
    """A hand-in, which has failed if no flow can have it."""
    try:
        check_controls([name], allow_code=allow_code)
    except ScenarioError as error:
        return HandIn(name, error.message)
    except BadInput as error:
        return HandIn(name, str(error).removeprefix(f"--control {name}: "))
    return HandIn(name)


@dataclass(frozen=True)
class Situation:
    """A hand-in in a network: its score, and the means of the metrics of the formula."""

    score: stats.Estimate
    metrics: dict[str, float]


@dataclass(frozen=True)
class Ranked:
    """A hand-in with its score over all networks, or with the reason why it has none."""

    name: str
    pseudonym: str
    failed: str = ""
    by_seed: Mapping[int, float] = field(default_factory=dict)
    """The mean of the scores in all networks, by seed."""
    situations: Mapping[str, Situation] = field(default_factory=dict)
    rank: tuple[int, int] = (0, 0)
    """The first and the last rank that it can have, from 1; (0, 0) if it has failed."""

    @property
    def score(self) -> stats.Estimate:
        """The mean over the seeds with its 95 % interval."""
        return stats.mean(list(self.by_seed.values()))

    @property
    def rank_text(self) -> str:
        """The rank, or the first and the last; empty if it has failed."""
        first, last = self.rank
        return "" if self.failed else f"{first}" if first == last else f"{first} to {last}"

    def anonymous(self) -> Ranked:
        """The same under its pseudonym, also in the reason."""
        file, _, cls = self.name.rpartition(":")
        file = file or self.name
        names = sorted({self.name, file, str(Path(file).resolve()), Path(file).name}, key=len, reverse=True)
        pattern = "|".join([*map(re.escape, names), rf"\b{re.escape(cls)}\b"])
        reason = re.sub(pattern, self.pseudonym, self.failed)
        return replace(self, name=self.pseudonym, failed=reason)


@dataclass(frozen=True)
class Ranking:
    """Hand-ins in the order of their scores, and those that have failed."""

    against: str
    score: Score
    ranked: list[Ranked]
    failed: list[Ranked]
    remarks: list[str]
    """Which flows are tested where the user named none."""

    @property
    def every(self) -> list[Ranked]:
        """All hand-ins, those with a score first."""
        return [*self.ranked, *self.failed]

    def anonymous(self) -> Ranking:
        """The same with pseudonyms; hand-ins that have failed are in the order of these."""
        failed = sorted(
            (hand_in.anonymous() for hand_in in self.failed), key=lambda hand_in: int(hand_in.name.split()[-1])
        )
        return replace(self, ranked=[hand_in.anonymous() for hand_in in self.ranked], failed=failed)


class ReferenceFailed(Exception):
    """The reference cannot be run, or has no score."""


def rank(
    trials: Trials,
    entries: Sequence[HandIn],
    against: str,
    score: Score,
    *,
    progress: Callable[[str], Progress | None] | None = None,
    pseudonyms: bool = False,
) -> Ranking:
    """Run hand-ins (see `hand_ins`) on the networks, compare each with the reference, and rank them by the score.

    `progress` is called with the name of each, or with its pseudonym. Raises BadInput, ScenarioError, ReferenceFailed.
    """
    trials.check()
    score.check(trials.check_metric)
    check_controls([against], "--against", allow_code=trials.allow_code)
    order = {entry.name: number for number, entry in enumerate(sorted(entries, key=lambda e: e.key), 1)}
    networks = trials.networks()
    reference = {network.name: _reference(network, trials, against, score) for network in networks}
    careful = replace(trials, executor=UntilFailure(trials.executor))
    results: list[Ranked] = []
    for entry in entries:
        pseudonym = f"hand-in {order[entry.name]}"
        advance = progress(pseudonym if pseudonyms else entry.name) if progress is not None else None
        results.append(_ranked(entry, pseudonym, networks, careful, reference, score, advance))
    good = sorted((hand_in for hand_in in results if not hand_in.failed), key=lambda hand_in: -hand_in.score.value)
    ranked = [replace(hand_in, rank=between) for hand_in, between in zip(good, ranks(good), strict=True)]
    remarks = [network.remark for network in networks if network.remark]
    return Ranking(against, score, ranked, [hand_in for hand_in in results if hand_in.failed], remarks)


def _reference(network: Network, trials: Trials, against: str, score: Score) -> Values:
    """The metrics of the reference in a network. Raises ReferenceFailed."""
    folder = own_folder(trials.out, network.name, "reference")
    try:
        return _values(_run(network, against, trials, folder, None), score)
    except NoScore as error:
        raise ReferenceFailed(f"--against {against}: {network.name}: {error}") from None


def _ranked(
    entry: HandIn,
    pseudonym: str,
    networks: Sequence[Network],
    trials: Trials,
    reference: Mapping[str, Values],
    score: Score,
    advance: Progress | None,
) -> Ranked:
    """Run a hand-in on the networks, until it fails."""
    if entry.failed:
        return Ranked(entry.name, pseudonym, entry.failed)
    scores: dict[str, dict[int, float]] = {}
    situations: dict[str, Situation] = {}
    for number, network in enumerate(networks):
        folder = own_folder(trials.out, network.name, folder_name(entry.name)[-LONGEST_NAME:])
        part = advance and offset(advance, number * trials.seeds, len(networks) * trials.seeds)
        try:
            values = _values(_run(network, entry.name, trials, folder, part), score)
            scores[network.name] = _scores(values, reference[network.name], score, trials.seeds)
        except NoScore as error:
            return Ranked(entry.name, pseudonym, f"{network.name}: {error}")
        means = {name: sum(of.values()) / len(of) for name, of in values.items() if of}
        situations[network.name] = Situation(stats.mean(list(scores[network.name].values())), means)
    seeds = range(1, trials.seeds + 1)
    mean = {seed: sum(of[seed] for of in scores.values()) / len(scores) for seed in seeds}
    return Ranked(entry.name, pseudonym, "", mean, situations)


def _run(network: Network, name: str, trials: Trials, folder: Path, advance: Progress | None) -> Runs:
    """Run one controller. Raises NoScore if the network does not have what it needs, or its file is gone."""
    try:
        return network.run([name], trials, folder, advance)
    except ScenarioError as error:
        raise NoScore(error.message) from None


def _values(runs: Runs, score: Score) -> Values:
    """The metrics of the formula by seed, of a single controller. Raises NoScore if it was not run or has failed."""
    for reason in runs.refused.values():
        raise NoScore(reason)
    for errors in runs.errors.values():
        real = [error for error in errors if error != WITHOUT_RESULT] or errors
        reason = real[0].strip().partition("\n")[0].rstrip(": ")
        raise NoScore(f"{reason} (--memory-limit)" if reason.endswith("MemoryError") else reason)
    values: Values = {}
    for name in score.own:
        measured = runs.metric(name)
        if measured is None:
            raise NoScore(f"there is no TCP flow beside the tested ones, so there is no {name}")
        values[name] = next(iter(runs.values(measured).values()), {})
    return values


def _scores(values: Values, reference: Values, score: Score, seeds: int) -> dict[int, float]:
    """The score of each seed. Raises NoScore."""
    scores = {}
    for seed in range(1, seeds + 1):
        own = {name: of.get(seed) for name, of in values.items()}
        of_reference = {f"{REFERENCE}.{name}": of.get(seed) for name, of in reference.items()}
        try:
            scores[seed] = score.value(own | of_reference)
        except NoScore as error:
            raise NoScore(f"seed {seed}: {error}") from None
    return scores


def ranks(ordered: Sequence[Ranked]) -> list[tuple[int, int]]:
    """The first and the last rank of each of these, which are in the order of their scores.

    The first is 1 and the number of those that are better, the last the number of those that are not worse: the 95 %
    interval of the difference, paired by seed, excludes 0. So two neighbours that do not differ share both their ranks.
    """
    first, last = [1] * len(ordered), [len(ordered)] * len(ordered)
    for upper, lower in combinations(range(len(ordered)), 2):
        pairs = ((ordered[upper].by_seed[seed], ordered[lower].by_seed[seed]) for seed in ordered[upper].by_seed)
        difference = stats.mean([a - b for a, b in pairs])
        if difference.low is not None and difference.low > 0:
            first[lower] += 1
            last[upper] -= 1
    return list(zip(first, last, strict=True))


def draw(ranking: Ranking) -> Figure:
    """The scores with 95 % intervals, the best one on top."""
    from ackclock.base.text import drawn
    from ackclock.draw.style import SOFT, panels, point, pt, short, title

    if not ranking.ranked:
        raise BadInput("there is nothing to draw: no hand-in has a score")
    figure, (axes,) = panels(1, height=1.3 + 0.22 * len(ranking.ranked))
    for at, hand_in in enumerate(ranking.ranked):
        e = hand_in.score
        axes.plot([e.low or e.value, e.high or e.value], [at, at], color=point(0)["color"], linewidth=1.4)
        axes.plot([e.value], [at], linestyle="none", markersize=4, **point(0))
    for at, (before, after) in enumerate(pairwise(ranking.ranked)):
        if before.rank[1] < after.rank[0]:
            axes.axhline(at + 0.5, color=SOFT, linewidth=0.5)
    names = controllers.short_names([hand_in.name for hand_in in ranking.ranked])
    shown = [name if len(name) <= WHOLE_NAME else short(name) for name in names.values()]
    labels = [f"{hand_in.rank_text}  {name}" for hand_in, name in zip(ranking.ranked, shown, strict=True)]
    axes.set_yticks(range(len(labels)), list(map(drawn, labels)), fontsize=pt(8))
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlabel(drawn(f"score: {ranking.score.formula}"), fontsize=pt(9))
    title(figure, drawn(f"Hand-ins against {ranking.against}"))
    return figure
