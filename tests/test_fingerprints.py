"""The release build gives the fingerprints that the debug build gave, on one thread, two and eight."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ackclock.study import Study


@pytest.mark.parametrize("threads", [1, 2, 8])
def test_two_hundred_runs_are_the_same_in_release(root: Path, threads: int) -> None:
    folder = root / "crates" / "lab" / "tests" / "fingerprints"
    known = [line.split() for line in (folder / "list.txt").read_text().splitlines()]
    assert len(known) >= 200
    studies = {path.stem: Study.load(path) for path in sorted(folder.glob("*.toml"))}

    def fingerprint(name: str, point: str) -> str:
        return studies[name].scenario(int(point)).run(fingerprint=True).fingerprint[:24]

    with ThreadPoolExecutor(threads) as pool:
        found = list(pool.map(lambda line: fingerprint(line[0], line[1]), known))
    changed = [line for line, now in zip(known, found, strict=True) if line[2] != now]
    assert not changed
