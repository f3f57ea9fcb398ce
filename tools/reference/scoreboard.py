"""Runs controllers through the suites with checks, and keeps the results for the scoreboard: `make scoreboard`.

About two minutes on two cores. Stacks are not among them: their maintainers see a failure before it is published.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from ackclock.apps.suite.folder import find
from ackclock.apps.suite.run import run
from ackclock.apps.suite.scoreboard import pack
from ackclock.base.files import write_bytes
from ackclock.base.names import folder_name
from ackclock.study.executors import Local

KEPT = Path(__file__).parents[2] / "validation" / "scoreboard"
RFC_CUBIC = '{ kind = "cubic", arithmetic = "rfc9438" }'
OFTEN = ("reno", "cubic", "bbr", "bbr3", "vegas", "westwood", "copa", "prague")
RUNS: dict[str, list[tuple[str, str]]] = {
    "bbr-draft": [("bbr3", "tcp"), ("bbr3", "quic")],
    "rfc9438": [("cubic", "tcp"), (RFC_CUBIC, "tcp"), ("cubic", "quic")],
    "rfc9406": [(control, on) for control in ("reno", "cubic") for on in ("tcp", "quic")],
    "ratelimited": [*((control, "tcp") for control in OFTEN), *((control, "quic") for control in OFTEN[:4])],
    "rfc9743": [(control, "tcp") for control in OFTEN],
    "startup": [*((control, "tcp") for control in OFTEN), ("cubic", "quic")],
}
"""The controllers of each suite, with their substrates."""


def main() -> int:
    """Write a pack for each suite; returns the exit status."""
    KEPT.mkdir(exist_ok=True)
    status = 0
    for name, runs in RUNS.items():
        results = []
        for control, on in runs:
            with tempfile.TemporaryDirectory() as folder:
                out = Path(folder) / folder_name(control)
                result = run(find(name), control, out, Local(), quick=True, page=False, on=on)
            results.append(result)
            print(f"{name}: {control} on {on}: {result.count('pass')} of {len(result.checks)} pass", flush=True)
            for run_id, error in result.failed:
                print(f"  failed: {run_id}: {error.splitlines()[0]}")
                status = 1
        write_bytes(KEPT / f"{name}.json.gz", pack(results))
    return status


if __name__ == "__main__":
    sys.exit(main())
