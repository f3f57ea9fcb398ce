"""`ackclock check`."""

from __future__ import annotations

from pathlib import Path

from ackclock._core import ScenarioError
from ackclock.cli.options import AllowCode, File
from ackclock.files import BadInput, check_picture, save_figure
from ackclock.text import advise, say

EXAMPLE = "ackclock check @dumbbell --plot network.svg"
MOST_REFUSED = 10
"""Points of a study that `check` reports one by one."""


def command(file: File, /, *files: File, plot: Path | None = None, allow_code: AllowCode = False) -> int:
    """Validate scenarios. Nothing is simulated, and the code of Python controllers is not executed.

    Parameters
    ----------
    file
        Scenario file (TOML), or @NAME for a shipped scenario.
    files
        More scenario files.
    plot
        Draw the network to this file (.svg, .png or .pdf): nodes, links with rate, delay, queue and loss, flows.
        Only for a single scenario file.
    allow_code
        Allow scenario files to name code and base files (`extends`) outside their own folder.

    """
    from ackclock.study import Study

    if plot is not None:
        check_picture(plot)
        if files:
            raise BadInput("--plot: needs exactly one scenario file")
    failed = False
    for name in (file, *files):
        try:
            study = Study.load(name)
        except ScenarioError as error:
            say(f"ackclock: {error}", error=True)
            failed = True
            continue
        advise(study.advice)
        for point, message in study.refused[:MOST_REFUSED]:
            labels = ", ".join(f"{axis}={label}" for axis, label in study.labels(point).items())
            say(f"ackclock: at {labels}: {message}", error=True)
        if study.refused:
            few = f"; the first {MOST_REFUSED} are listed above" if len(study.refused) > MOST_REFUSED else ""
            say(f"ackclock: {name}: {len(study.refused)} of {study.points} points cannot be run{few}", error=True)
            failed = True
        else:
            many = f"; {study.points * len(study.seeds)} runs" if study.is_sweep else ""
            duration = study.scenario(0).duration_s
            say(f"{name}: valid ({study.title or 'no title'}; {duration:g} s{many})")
            if plot is not None:
                from ackclock import topology

                save_figure(topology.draw(study.scenario(0)), plot)
                say(f"written: {plot}", error=True)
    return 2 if failed else 0
