"""`ackclock expect`."""

from __future__ import annotations

from pathlib import Path

from ackclock.cli.options import AllowCode
from ackclock.files import BadInput
from ackclock.text import say

EXAMPLE = "ackclock expect out/search/shrew-reno"


def command(*targets: Path, allow_code: AllowCode = False) -> int:
    """Run known failures again. The exit status is 1 if one has changed: if it is fixed, milder or worse.

    Parameters
    ----------
    targets
        Files `regression.toml` of `ackclock search`, or folders with such files.
    allow_code
        Allow the files to name code outside their own folder.

    """
    from ackclock.search.expect import check, files

    if not targets:
        raise BadInput("expect needs a folder of ackclock search, or a file regression.toml")
    changed = 0
    for file in files(targets):
        for one in check(file, allow_code=allow_code):
            say(f"{one.state}: {one.scenario}: {one.text}")
            changed += one.state != "as known"
    return 1 if changed else 0
