"""The release build has the recorded fingerprints on eight threads, the debug build on two (lab/tests/fingerprints.rs).

`make nightly` adds one thread and two.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ackclock.study import Study


def fnv(outcome: str) -> int:
    """FNV-1a of an outcome, but for what the run cost."""
    value = 0xCBF29CE484222325
    for byte in outcome.split(',"engine"')[0].encode():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


@pytest.mark.parametrize("threads", [pytest.param(n, marks=pytest.mark.nightly) for n in (1, 2)] + [8])
def test_two_hundred_runs_have_the_recorded_fingerprints(root: Path, threads: int) -> None:
    folder = root / "crates" / "lab" / "tests" / "fingerprints"
    recorded = [line.split() for line in (folder / "list.txt").read_text().splitlines()]
    assert len(recorded) >= 200
    studies = {path.stem: Study.load(path) for path in sorted(folder.glob("*.toml"))}

    def fingerprint(name: str, point: str) -> list[str]:
        run = studies[name].scenario(int(point)).run(fingerprint=True)
        return [run.fingerprint[:24], f"{fnv(run.json):016x}"]

    with ThreadPoolExecutor(threads) as pool:
        now = list(pool.map(lambda line: fingerprint(line[0], line[1]), recorded))
    changed = [line for line, fingerprints in zip(recorded, now, strict=True) if line[2:] != fingerprints]
    assert not changed
