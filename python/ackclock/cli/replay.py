"""`ackclock replay`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from ackclock.base.files import BadInput, write_text
from ackclock.base.text import say

EXAMPLE = "ackclock replay cases.jsonl.gz --against expected.jsonl"


def command(
    file: Path,
    /,
    *,
    out: Annotated[Path | None, Parameter(name="--out")] = None,
    against: Path | None = None,
    guided: bool = False,
) -> int:
    """Play recorded exchanges against the TCP sender.

    The answers of the sender of this simulator are printed.

    Parameters
    ----------
    file
        Scripts, vectors or cases (docs/replay.md): JSON lines, .gz or not, or one JSON object.
    out
        File for the answers, in the recorded form. Default: standard output, unless --against is given.
    against
        File with expected answers: print `equal` or the first difference for each line. Exit status 1 if one differs.
    guided
        Let the sender's timers expire at the recorded times of timers, so that later answers remain comparable.

    """
    from ackclock.apps.replay.comparison import difference
    from ackclock.apps.replay.form import identity, read
    from ackclock.apps.replay.player import play

    expected: dict[str, dict[str, Any]] = {}
    for line in read(against) if against else ():
        if identity(line) in expected:
            raise BadInput(f"{against}: two lines are called {identity(line)}; give each an id")
        expected[identity(line)] = line
    answers: list[dict[str, Any]] = []
    differing = 0
    for line in read(file):
        answer = play(line, guided=guided)
        answers.append(answer)
        if against is None:
            continue
        name = identity(line)
        if name not in expected:
            raise BadInput(f"{against}: has no line {name}; --against needs the answers to every line of {file}")
        first = difference(expected[name], answer)
        differing += first is not None
        say(f"{name}: {first or 'equal'}")
    if not answers:
        raise BadInput(f"{file}: no lines to play")
    if against:
        say(f"{len(answers) - differing} of {len(answers)} equal")
    text = "".join(json.dumps(answer, allow_nan=False) + "\n" for answer in answers)
    if out:
        write_text(out, text)
    elif against is None:
        print(text, end="")
    return 1 if differing else 0
