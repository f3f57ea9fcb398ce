"""`ackclock view`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ackclock.cli.options import AllowCode, File, Overrides, Seed
from ackclock.experiment import Scenario
from ackclock.files import check_targets, write_text
from ackclock.text import say

EXAMPLE = "ackclock view scenarios/dumbbell.toml"
FOLDER = Path("out/view")


def command(
    file: File | None = None,
    /,
    *,
    out: Path | None = None,
    no_open: Annotated[bool, Parameter(name="--no-open")] = False,
    seed: Seed = None,
    set_: Overrides = None,
    allow_code: AllowCode = False,
) -> None:
    """Write the laboratory as one HTML page, with a scenario inside if one is given, and open it in the browser.

    Parameters
    ----------
    file
        Scenario file (TOML). Without one the page opens with its first scenario.
    out
        The page. Default: out/view/NAME.html.
    no_open
        Write the page only.
    seed
        Seed of all random streams, instead of the file's.
    set_
        Replace one value first: KEY=VALUE. May be repeated.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder.

    """
    from ackclock import view

    shared = None if file is None else Scenario.load(file, set_ or ()).shared(seed=seed)
    text = view.page(shared)
    if out is None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        out = FOLDER / f"{'lab' if file is None or '#' in str(file) else Path(file).stem}.html"
    check_targets([out])
    write_text(out, text)
    say(f"written: {out}", error=True)
    if not no_open:
        import webbrowser

        if not webbrowser.open(out.resolve().as_uri()):
            say("no browser was found on this machine; open the page by hand", error=True)
