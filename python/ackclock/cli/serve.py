"""`ackclock serve`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ackclock.base.files import BadInput
from ackclock.base.text import say
from ackclock.cli import guard
from ackclock.cli.console import progress
from ackclock.cli.options import AllowCode, File, TimeLimit

if TYPE_CHECKING:
    from ackclock.apps.view.classroom import Classroom
    from ackclock.apps.view.opening import Page, Target

EXAMPLE = "ackclock serve --host 0.0.0.0 --lesson 3"
MOST_PORT = 65_535


def command(
    *files: Annotated[File, Parameter(name="FILES")],
    host: str = "127.0.0.1",
    port: int = 8000,
    lesson: int | None = None,
    time_limit: TimeLimit = None,
    allow_code: AllowCode = False,
) -> None:
    """Serve the laboratory and its lessons to a classroom.

    Other machines of the network open it in a browser, and install nothing. The server reads its pages once, at the
    start, and sends nothing else of the disk. Ctrl-C ends it.

    Parameters
    ----------
    files
        Scenarios and recorded runs to list on the first page; of a folder its scenarios. A scenario that a link cannot
        hold is run once, and its recording is served. Without any the first page is the laboratory.
    host
        Address on which it listens. 0.0.0.0: all networks of this machine; anyone in them can open the pages.
    port
        TCP port on which it listens. 0: a free one.
    lesson
        Lesson that the first page leads to, from 1 to 19.
    time_limit
        Longest time of the run of a scenario with a controller in Python, such as 60s. 0: no limit. Default: 10
        minutes.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder.

    """
    from ackclock.apps.view import classroom

    if not 0 <= port <= MOST_PORT:
        raise BadInput(f"--port {port}: is not a number from 0 to {MOST_PORT}")
    if lesson is not None and not 1 <= lesson <= classroom.LESSONS:
        raise BadInput(f"--lesson {lesson}: is not a number from 1 to {classroom.LESSONS}")
    with guard.time_limit(time_limit):
        pages = classroom.pages(
            files, _build, lesson or 1, allow_code=allow_code, tell=lambda text: say(f"ackclock: {text}", error=True)
        )
    server = classroom.Classroom(pages, host, port, lesson)
    try:
        _announce(server, lesson)
        server.run()
    except KeyboardInterrupt:
        say("ended", error=True)
    finally:
        server.close()


def _build(target: Target) -> Page:
    from ackclock.apps.view.opening import build

    with progress("simulating", quiet=False) as advance:
        return build(target, advance)


def _announce(server: Classroom, lesson: int | None) -> None:
    """Print the addresses that a browser opens."""
    from ackclock.apps.view import classroom
    from ackclock.apps.view.server import LOOPBACK

    host = classroom.network_address() if server.host == classroom.EVERY else server.host
    address = f"{server.origin(host or LOOPBACK)}/"
    say(f"serving {address}", error=True)
    say(f"a lesson: {address}{classroom.lesson(lesson or 1)}", error=True)
    if host is None:
        say("This machine has no network: other machines cannot open this address.", error=True)
    elif host.startswith("127."):
        say(f"Only this machine can open it. For a classroom: ackclock serve --host {classroom.EVERY}", error=True)
    else:
        say(f"If others cannot open it, let the firewall of this machine accept TCP port {server.port}.", error=True)
    say("Ctrl-C ends the server.", error=True)
