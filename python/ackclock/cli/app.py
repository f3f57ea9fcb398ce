"""The command `ackclock`. Exit status: 0 done, 1 a run failed, 2 bad input, 3 not available here, 4 not valid.

Status 3 means that this machine or this build cannot do it, status 4 that a run in real time was too late.
"""

from __future__ import annotations

import io
import re
import sys
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from cyclopts import App, CycloptsError, Group, Parameter

from ackclock._core import ENGINE, ControllerError, ScenarioError
from ackclock.apps.reach.results import Unavailable
from ackclock.base import controllers
from ackclock.base.files import BadInput
from ackclock.base.text import fail, say
from ackclock.cli import guard

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


GROUPS = {
    "Run": ("new", "check", "run", "view", "serve", "plot"),
    "Compare": ("compare", "suite", "scoreboard", "sweep", "results", "report", "paper", "expect"),
    "Understand": ("read", "why", "model", "what-if", "search", "agree"),
    "Real programs": ("conform", "emulate"),
    "Tools": (
        *("list", "link", "module", "schema", "completion", "bench", "gym", "policy"),
        *("orbit", "radio", "identify", "replay"),
    ),
}
"""The commands in the groups of `ackclock --help`."""
COMMANDS = tuple(name for names in GROUPS.values() for name in names)
"""Names of the commands. Each is the function `command` in the module of the same name, with the text `EXAMPLE`."""
START = "Start: ackclock new mine --python\nLessons: ackclock view"
"""The last lines of the help."""


def _module(name: str) -> str:
    """The module of a command."""
    return name.replace("-", "_")


def application(arguments: Sequence[str]) -> App:
    """The application with the command that `arguments` name; with all commands if they name none."""
    app = App(
        name="ackclock",
        help="A laboratory for congestion control.",
        help_epilogue=START,
        version=ENGINE,
        version_flags=["--version"],
        help_format="plaintext",
        default_parameter=Parameter(negative=(), json_list=False, json_dict=False),
        suppress_keyboard_interrupt=False,
        result_action="return_value",
    )
    only = arguments[0] if arguments and arguments[0] in COMMANDS else None
    for place, (title, names) in enumerate(GROUPS.items()):
        group = Group(title, sort_key=place)
        for order, name in enumerate(names):
            if only in (None, name):
                module = import_module(f"ackclock.cli.{_module(name)}")
                example = f"Example: {module.EXAMPLE}"
                app.command(module.command, name=name, group=group, sort_key=order, help_epilogue=example)
    options = Group("Options", sort_key=len(GROUPS))
    for option in ("--help", "--version"):
        app[option].group = options
    return app


LINK = "--set link.NAME"
HINTS = {
    "cc": "write --control NAME",
    "congestion-control": "write --control NAME",
    "rtt": f"the round-trip time is that of the links: write {LINK}.delay=10ms",
    "delay": f"write {LINK}.delay=10ms",
    "latency": f"write {LINK}.delay=10ms",
    "loss": f"write {LINK}.loss=1%",
    "rate": f"write {LINK}.rate=10Mbps",
    "bandwidth": f"write {LINK}.rate=10Mbps",
    "bw": f"write {LINK}.rate=10Mbps",
    "buffer": f"write {LINK}.queue.limit=100p (or 64kB, 50ms, 1bdp)",
    "queue": f"write {LINK}.queue=codel",
    "aqm": f"write {LINK}.queue=codel",
    "time": "write --set duration=10s",
    "csv": "the ending of the name decides: --trace FILE.csv, --export FILE.csv",
    "quiet": "progress is not shown where standard error is no terminal",
    "repeat": "a scenario and a seed determine the result; several seeds: ackclock sweep",
}
"""What is meant by options of other programs."""
CLOSE = 2
"""Largest number of letters by which a mistyped option differs from the right one; less than half of its letters."""
TABLES = ("[table", "[array of tables")
"""What the descriptions of keys have that are tables, which --set does not take whole."""


def _distance(one: str, other: str) -> int:
    """The number of letters to insert, delete or replace (Levenshtein)."""
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


def _unguessed(message: str) -> str:
    """The message without a guess that is far from what was written, or that is of another program's option."""
    guess = re.search(r'Unknown option: "?--([\w-]+)"?.*?( Did you mean "?--([\w-]+)"?\?)', message)
    if guess is None:
        return message
    distance, meant = _distance(guess[1], guess[3]), guess[1] in {*HINTS, "out", "output", "jobs", "verbose"}
    if distance <= CLOSE and 2 * distance < len(guess[1]) and not meant:
        return message
    return message.replace(guess[2], "")


FILES = ("--trace", "--packets", "--plot", "--export")
"""Options that name a file of results."""


def _options(command: str) -> set[str]:
    """The names of a command's options."""
    return {name for option in application([command])[command].assemble_argument_collection() for name in option.names}


def _hint(message: str, command: str) -> str:
    """What to write instead of an unknown option: another option, or a key of the scenario with --set."""
    written = re.match(r'Unknown option: "?--([a-z_-]+)', message)
    if written is None:
        return ""
    name = written[1]
    if name == "seeds" and command == "run":
        return " --seed N is one run; several seeds: ackclock sweep, ackclock compare"
    if name == "jobs" and command == "run":
        return " this is one run; many at once: ackclock sweep, ackclock compare"
    if name == "animate":
        return " ackclock view FILE plays it in the laboratory."
    if command not in COMMANDS:
        return ""
    options = _options(command)
    if name in {"out", "output"}:
        ways = [f"{option} FILE" for option in FILES if option in options]
        ways += ["--json (> FILE)"] if "--json" in options else []
        return f" write {', '.join(ways)}" if ways else ""
    if name == "verbose":
        return " --json prints all values" if "--json" in options else ""
    if name in HINTS:
        needed = next((option for option in ("--control", "--set") if option in HINTS[name]), None)
        return f" {HINTS[name]}" if needed is None or needed in options else ""
    if "--set" not in options:
        return ""
    from ackclock.base.models import models

    keys = {key["name"]: key["doc"] for entry in models("keys")[:1] for key in entry["params"]}
    if any(mark in keys.get(name, TABLES[0]) for mark in TABLES):
        return ""
    return f" {name} is a key of scenarios: write --set {name}=..."


def _begin(what: str) -> None:
    guard.begin()
    controllers.announce(what)


def guarded() -> int:
    """The command of this process; from its first controller in Python on it runs in a second process."""
    try:
        status = main(on_load=_begin)
    except Exception as error:
        if not guard.is_copy():
            raise
        what = f"{type(error).__name__}: {' '.join(str(error).split())}"
        status = fail(f"{what}; a controller in Python can cause this by changing the program", 1)
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    guard.done()
    return status


def main(argv: Sequence[str] | None = None, on_load: Callable[[str], object] = controllers.announce) -> int:
    """Run a command; returns the exit status. `on_load` is called before a controller in Python is run."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # for terminals that accept only ASCII
    controllers.on_load = on_load
    controllers.announced.clear()
    try:
        status = application(arguments)(arguments, exit_on_error=False, print_error=False, help_on_error=False)
    except CycloptsError as error:
        message = _unguessed(" ".join(str(error).split()))
        return fail(message + _hint(message, arguments[0] if arguments else ""), 2)
    except ScenarioError as error:
        for other in (str(error), *error.others):
            fail(other, 2)
        return 2
    except BadInput as error:
        return fail(str(error), 2)
    except Unavailable as error:
        return fail(str(error), 3)
    except BrokenPipeError:
        sys.stderr.close()  # the reader closed the pipe: print nothing more
        return 1
    except OSError as error:
        return fail(f"{error.filename}: {error.strerror}" if error.filename else str(error), 2)
    except MemoryError as error:
        return fail(str(error) or "out of memory", 1)
    except ControllerError as error:
        if error.traceback not in str(error):  # that of a class in Python
            say(error.traceback.rstrip("\n"), error=True)
        return fail(str(error), 1)
    except RuntimeError as error:
        return fail(str(error), 1)
    except KeyboardInterrupt:
        return fail("interrupted; nothing was written", 130)
    return status if isinstance(status, int) else 0
