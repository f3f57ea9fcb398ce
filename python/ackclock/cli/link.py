"""`ackclock link`."""

from __future__ import annotations

import os

from ackclock.base.text import say
from ackclock.cli.options import AllowCode, File, Overrides, Seed
from ackclock.scenario import Scenario

EXAMPLE = "ackclock link scenarios/dumbbell.toml --seed 7 --at https://example.org/ackclock"


def command(
    file: File,
    /,
    *,
    at: str | None = None,
    seed: Seed = None,
    set_: Overrides = None,
    allow_code: AllowCode = False,
) -> None:
    """Print a link that opens a scenario in the laboratory.

    `ackclock run` and `ackclock why` take the link too.

    Parameters
    ----------
    file
        Scenario file (TOML). The files that it names become part of the link.
    at
        Address of a web server that has the laboratory, such as https://example.org/ackclock (`make site` makes the
        folder that it serves). Default: the environment variable ACKCLOCK_SITE, or none: the link is then relative.
    seed
        Seed of all random streams, instead of the file's.
    set_
        Replace one value first: KEY=VALUE. May be repeated.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder.

    """
    from ackclock.apps import share

    scenario = Scenario.load(
        file, set_ or (), allow_code=allow_code
    )  # a link to a scenario that cannot run helps nobody
    text = share.at_site(share.link(scenario, seed=seed), at if at is not None else os.environ.get("ACKCLOCK_SITE", ""))
    print(text)
    if len(text) > share.LONGEST:
        say(
            f"ackclock: the link has {len(text):,} characters, more than mail and chat programs keep; "
            f"ackclock view {file} --out PAGE.html writes a page with the same content",
            error=True,
        )
