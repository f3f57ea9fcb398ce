"""The release build gives the fingerprints that the debug build gave, on one thread, two and eight."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ackclock.study import Study


def fnv(outcome: str) -> int:
    """FNV-1a of an outcome, but for what the run cost."""
    found = 0xCBF29CE484222325
    for byte in outcome.split(',"engine"')[0].encode():
        found = ((found ^ byte) * 0x100000001B3) % 2**64
    return found


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_two_hundred_runs_are_the_same_in_release(root: Path, threads: int) -> None:
    folder = root / "crates" / "lab" / "tests" / "fingerprints"
    known = [line.split() for line in (folder / "list.txt").read_text().splitlines()]
    assert len(known) >= 200
    studies = {path.stem: Study.load(path) for path in sorted(folder.glob("*.toml"))}

    def fingerprint(name: str, point: str) -> list[str]:
        run = studies[name].scenario(int(point)).run(fingerprint=True)
        return [run.fingerprint[:24], f"{fnv(run.json):016x}"]

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(lambda line: fingerprint(line[0], line[1]), known))
    changed = [line for line, now in zip(known, found, strict=True) if line[2:] != now]
    assert not changed
