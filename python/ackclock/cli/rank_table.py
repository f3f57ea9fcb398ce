"""The ranking of hand-ins, for `ackclock compare --control ... --against ...`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.table import Table

from ackclock.base import controllers, tables
from ackclock.base.files import check_folder
from ackclock.base.si import estimate
from ackclock.base.text import fail, interrupted, say
from ackclock.cli.console import counted_progress, wide_console

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ackclock.apps.ranking import Ranked, Ranking
    from ackclock.apps.trials import Trials
    from ackclock.cli.compare_networks import Outputs
    from ackclock.stats import Estimate


def rank_hand_ins(
    trials: Trials, named: Sequence[str], against: str, formula: Path | None, outputs: Outputs, *, pseudonyms: bool
) -> int:
    """Rank hand-ins against a reference; returns the exit status, which is 0 if at least one has a rank."""
    from ackclock.apps import ranking
    from ackclock.apps.score import DEFAULT, Score, read_score

    check_folder(trials.out)
    score = Score(DEFAULT) if formula is None else read_score(formula)
    entries = ranking.hand_ins(named, allow_code=trials.allow_code)
    controllers.on_load = None  # one line, not one for each process of each hand-in
    if coded := [entry for entry in entries if entry.file and not entry.failed]:
        say(f"ackclock: runs {len(coded)} classes of {', '.join(named)}, each in processes of its own", error=True)
    try:
        with counted_progress("hand-in", len(entries)) as progress:
            result = ranking.rank(trials, entries, against, score, progress=progress, pseudonyms=pseudonyms)
    except KeyboardInterrupt:
        return interrupted(trials.out)
    except ranking.ReferenceFailed as error:
        return fail(str(error), 1)
    shown = result.anonymous() if pseudonyms else result
    if outputs.export is not None:
        tables.write(_columns(shown), outputs.export)
    for remark in shown.remarks:
        say(remark, error=outputs.as_json)
    if outputs.as_json:
        print(json.dumps([_plain(hand_in, pseudonyms=pseudonyms) for hand_in in shown.every], allow_nan=False))
    else:
        _print(shown, trials)
    outputs.draw(lambda: ranking.draw(shown), "" if shown.ranked else "no hand-in has a score")
    return 0 if shown.ranked else fail("no hand-in has a score", 1)


def _print(ranking: Ranking, trials: Trials) -> None:
    """Print the ranking, then the hand-ins that have failed."""
    if ranking.ranked:
        networks = list(ranking.ranked[0].situations)
        table = Table(box=None, pad_edge=False)
        for head in ("rank", "hand-in", "score [95 %]", *networks):
            table.add_column(head, no_wrap=True)
        for hand_in in ranking.ranked:
            parts = (estimate(hand_in.situations[name].score) for name in networks)
            table.add_row(hand_in.rank_text, hand_in.name, estimate(hand_in.score), *parts)
        wide_console().print(table)
        say(f"score: {ranking.score.formula} (reference: {ranking.against}), the mean over the networks.")
        say("ranks: 1 and the number of better ones, to the number of those that are not worse: the 95 % interval")
        say(f"of the difference, paired by seed ({trials.seeds} seeds), excludes 0.")
    for hand_in in ranking.failed:
        say(f"failed: {hand_in.name}: {hand_in.failed}")


def _columns(ranking: Ranking) -> list[tables.Column]:
    """The ranking for a file; a hand-in that has failed has its reason in place of a score."""
    every = ranking.every
    return [
        tables.Column("rank", [hand_in.rank_text for hand_in in every]),
        tables.Column("hand-in", [hand_in.name for hand_in in every]),
        tables.Column("score", [hand_in.score if not hand_in.failed else None for hand_in in every]),
        *(
            tables.Column(name, [hand_in.situations[name].score if not hand_in.failed else None for hand_in in every])
            for name in (ranking.ranked[0].situations if ranking.ranked else ())
        ),
        tables.Column("failed", [hand_in.failed for hand_in in every]),
    ]


def _plain(hand_in: Ranked, *, pseudonyms: bool) -> dict[str, Any]:
    """A hand-in as JSON data. Without pseudonyms it has both names, which says whose a pseudonym is."""
    names = {"name": hand_in.name} if pseudonyms else {"name": hand_in.name, "pseudonym": hand_in.pseudonym}
    if hand_in.failed:
        return {
            **names,
            **{"score": None, "low": None, "high": None, "rank": None, "situations": {}, "failed": hand_in.failed},
        }
    situations = {
        name: {**_ends(situation.score), "metrics": situation.metrics} for name, situation in hand_in.situations.items()
    }
    return {**names, **_ends(hand_in.score), "rank": list(hand_in.rank), "situations": situations, "failed": None}


def _ends(e: Estimate) -> dict[str, float | None]:
    return {"score": e.value, "low": e.low, "high": e.high}
