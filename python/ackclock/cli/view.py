"""`ackclock view`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from ackclock import ControllerError, ScenarioError
from ackclock.base.files import BadInput, check_targets, write_text
from ackclock.base.link import is_link
from ackclock.base.text import say
from ackclock.base.units import seconds
from ackclock.cli import guard
from ackclock.cli.console import progress
from ackclock.cli.options import AllowCode, File, Overrides, Seed, TimeLimit

if TYPE_CHECKING:
    from ackclock.apps.view.opening import Page, Target

EXAMPLE = "ackclock view scenarios/dumbbell.toml --watch"
FOLDER = Path("out/view")


def command(
    file: File | None = None,
    /,
    *,
    out: Path | None = None,
    no_open: Annotated[bool, Parameter(name="--no-open")] = False,
    watch: bool = False,
    record: bool = False,
    flow: int | None = None,
    at: Literal["sender", "receiver", "middle"] | None = None,
    every: str | None = None,
    addresses: bool = False,
    point: int | None = None,
    run: str | None = None,
    seed: Seed = None,
    set_: Overrides = None,
    time_limit: TimeLimit = None,
    allow_code: AllowCode = False,
) -> None:
    """Open the laboratory: one HTML page, with 19 lessons.

    The page has a scenario or a recorded run inside, and needs no server.

    Parameters
    ----------
    file
        Scenario file (TOML); capture, qlog or log of another program; file of `ackclock run --trace` or `--packets`, or
        a folder with both; paper (its key or folder); folder with scenarios and results, of which the page is a list.
        A scenario with a controller in Python is run first, and the page shows the recording. Without a file the page
        opens with its first scenario.
    out
        The page. Default: out/view/NAME.html.
    no_open
        Write the page only; with --watch, serve it only.
    watch
        Serve the page on 127.0.0.1 instead, and reload it when one of its files is saved. Ctrl-C ends the server.
    record
        Run the scenario now and show the recording, instead of a page that computes it.
    flow
        Recording: number of the flow that is opened. Default: the flow with the most data.
    at
        Recording: where a capture was taken, if its handshake does not show it.
    every
        Recording: time between the blocks of an ss log without times, such as 200ms.
    addresses
        Recording: keep addresses, ports and names in the page. Default: letters in place of addresses.
    point
        Study: the point that is opened, counted from 0.
    run
        Folder of a study: identity of the run that is opened, or its begin (`ackclock results STUDY --runs`).
    seed
        Seed of all random streams, instead of the file's.
    set_
        Replace one value first: KEY=VALUE. May be repeated.
    time_limit
        Longest time of the run of a scenario with a controller in Python, such as 60s. 0: no limit. Default: 10
        minutes. Not with --watch.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder, and stored runs to name
        code.

    """
    from ackclock.apps.laboratory import check_built
    from ackclock.apps.traces import Options
    from ackclock.apps.view.opening import Target

    check_built()
    options = Options(flow, at, None if every is None else seconds(every, "--every"))
    target = Target(file, seed, set_ or (), point, run, record, allow_code, options, addresses)
    if watch:
        if out is not None:
            raise BadInput("--watch: serves the page and writes no file; omit --out")
        if file is not None and is_link(str(file)):
            raise BadInput("--watch: needs a file; a link cannot be saved")
        return _serve(target, no_open=no_open)
    with guard.time_limit(time_limit):
        page = _build(target)
    path = page.at or _write(page, out)
    if not no_open:
        _open(path.resolve().as_uri())


def _build(target: Target) -> Page:
    from ackclock.apps.view.opening import build

    with progress("simulating", quiet=False) as advance:
        return build(target, advance)


def _write(page: Page, out: Path | None) -> Path:
    """Write the page, and the laboratory beside it if it is a list."""
    from ackclock.apps import laboratory
    from ackclock.base.link import PAGE

    if out is None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        out = FOLDER / f"{page.name}.html"
    if page.links and out.name == PAGE:
        raise BadInput(f"--out {out}: the list needs {PAGE} beside it; give it another name")
    check_targets([out])
    if page.links:
        laboratory.place(out.parent)
    write_text(out, laboratory.with_doors(page.text, {} if page.links else laboratory.doors_of(out)))
    say(f"written: {out}", error=True)
    return out


def _open(address: str) -> None:
    import webbrowser

    if not webbrowser.open(address):
        say("no browser was found on this machine; open the page by hand", error=True)


def _serve(target: Target, *, no_open: bool) -> None:
    import sys
    import time

    from ackclock.apps.view.serve import Server, Watched, watch
    from ackclock.base.controllers import forget

    sys.dont_write_bytecode = True  # it is stale if a module is saved twice in a second
    began = time.time_ns()
    page = _build(target)
    if not page.watched:
        raise BadInput("--watch: needs a scenario or a recorded run, whose files can be saved")
    shown = Watched(page.text)
    server = Server(shown)

    def update() -> list[Path]:
        nonlocal page
        forget({path.resolve().parent for path in page.watched if path.suffix == ".py"})
        try:
            page = _build(target)
        except (BadInput, ScenarioError, ControllerError, OSError) as error:
            say(f"ackclock: {error}", error=True)
            shown.refuse(str(error))
            return page.watched
        shown.show(page.text)
        say(f"saved: {', '.join(sorted({path.name for path in page.watched}))}", error=True)
        return page.watched

    say(f"serving {server.address}", error=True)
    say("The page reloads when a file is saved; Ctrl-C ends the server.", error=True)
    if not no_open:
        _open(server.address)
    try:
        watch(page.watched, began, update)
    except KeyboardInterrupt:
        say("ended", error=True)
    finally:
        server.close()
