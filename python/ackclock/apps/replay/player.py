"""Plays any line of a recording."""

from __future__ import annotations

from ackclock._core import ScenarioError
from ackclock.apps.replay.case import play_case
from ackclock.apps.replay.form import Line, identity, kind
from ackclock.apps.replay.receiver import ReceiverScript
from ackclock.apps.replay.script import Script
from ackclock.apps.replay.vector import play_vector
from ackclock.base.files import BadInput


def play(line: Line, *, guided: bool = False) -> Line:
    """Play one line against our sender or receiver. Returns its answers in the same form.

    `guided`: our timers wait for the recorded times of timers, so that later answers remain comparable.
    Raises BadInput if the line has an invalid form or an option that our sender does not have.
    """
    form = kind(line)
    try:
        match form:
            case "script":
                return Script(line, guided).play()
            case "receiver":
                return ReceiverScript(line, guided).play()
            case "vector":
                return play_vector(line)
            case _:
                return play_case(line)
    except ScenarioError as error:
        raise BadInput(f"{identity(line)}: {error.key}: {error.message}") from None
    except KeyError as error:
        raise BadInput(f"{identity(line)}: this {form} has no key {error} (docs/replay.md lists the keys)") from None
    except (TypeError, IndexError, AttributeError, ValueError, OverflowError, ZeroDivisionError) as error:
        raise BadInput(f"{identity(line)}: this {form} has a value that is not valid: {error}") from None
