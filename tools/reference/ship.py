"""Makes the results that come with the package: the quick form of each suite for well-known controllers.

    python tools/reference/ship.py

runs them and writes `suite/shipped/NAME.json.gz`. To be repeated when a suite or the core changes (`make baselines`).
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from ackclock.apps.suite.baselines import CONTROLLERS, FOLDER, pack
from ackclock.apps.suite.folder import find, known
from ackclock.apps.suite.run import run
from ackclock.base.files import write_bytes
from ackclock.study.executors import Local


def main() -> None:
    """Run the controllers through each suite of the package, and write the files."""
    FOLDER.mkdir(exist_ok=True)
    for name in known():
        suite = find(name)
        if suite.has_checks:  # its results are those of the scoreboard
            continue
        with tempfile.TemporaryDirectory() as folder:
            results = [
                run(suite, control, Path(folder) / control, Local(), quick=True, page=False) for control in CONTROLLERS
            ]
        failed = [f"{result.metadata.control}: {error}" for result in results for _, error in result.failed]
        if failed:
            raise SystemExit(f"{name}: {failed[0]}")
        target = FOLDER / f"{name}.json.gz"
        write_bytes(target, pack(suite, results))
        print(f"written: {target} ({target.stat().st_size // 1000} kB)")


if __name__ == "__main__":
    main()
