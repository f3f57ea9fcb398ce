"""The smallest known failure of each registered controller over the built-in spaces.

    python validation/failures.py [NAME...]  all: ten minutes on two cores; `make nightly` calls it

Writes out/failures/NAME.toml, out/failures/regression.toml and the table of docs/search.md (out/failures/table.md).
With `--keep` they replace scenarios/failures and the table of the page.
"""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from ackclock.apps import catalog
from ackclock.apps.search import Search
from ackclock.apps.search.expect import regression_text
from ackclock.apps.search.search import built_in

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "out" / "failures"
NETWORKS = 160
ROUTERS = ("rcp", "xcp")
"""Controllers that need routers which the spaces do not have."""
PAGE = ROOT / "docs" / "search.md"
BEGIN, END = "<!-- failures -->", "<!-- end of failures -->"


def look(control: str) -> dict[str, Any]:
    """Search all spaces for failures of a controller: a cell of the table for each, and the CPU seconds of its runs."""
    row: dict[str, Any] = {"control": control, "cpu_s": 0.0, "cells": {}, "runs": 0}
    for space in built_in():
        folder = OUT / "searches" / control / space.removeprefix("@")
        shutil.rmtree(folder, ignore_errors=True)
        search = Search.load(space, control=control, budget=NETWORKS, first=True).run(folder, jobs=1)
        row["cpu_s"], row["runs"] = row["cpu_s"] + search.cpu_s, row["runs"] + search.runs
        if search.failures:
            first = search.failures[0]
            row["cells"][space] = f"{first.objective:.2g} ({first.first_seen.number})"
    return row


def smallest(control: str) -> Path | None:
    """The folder of the failure with the shortest scenario; a difference between TCP and QUIC counts last."""
    folders = [file.parent for file in (OUT / "searches" / control).glob("*/minimal.toml")]
    return min(folders, key=lambda one: (one.name == "quic-tcp", len(_code(one / "minimal.toml"))), default=None)


def _code(file: Path) -> str:
    """A scenario without its comments."""
    return "".join(line for line in file.read_text(encoding="utf-8").splitlines(True) if not line.startswith("#"))


def known() -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """The rows of the table on the page and the entries of scenarios/failures, by controller."""
    table = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    rows = {row.split("`")[1]: row for row in table.splitlines() if row.startswith("| `")}
    file = ROOT / "scenarios" / "failures" / "regression.toml"
    entries = tomllib.loads(file.read_text(encoding="utf-8"))["expect"] if file.is_file() else []
    return rows, {entry["control"]: entry for entry in entries}


def write(name: str, folder: Path) -> dict[str, Any]:
    """Write the smallest failure of a controller. Returns its entry of the regression file."""
    title = f'title = "A network in which {name} fails"\n'
    scenario = (folder / "minimal.toml").read_text(encoding="utf-8")
    (OUT / f"{name}.toml").write_text(scenario.replace("\nduration", f"\n{title}duration"), encoding="utf-8")
    [entry, *_] = tomllib.loads((folder / "regression.toml").read_text(encoding="utf-8"))["expect"]
    return {**entry, "scenario": f"{name}.toml", "space": f"@{folder.name}"}


def main(names: Sequence[str], *, keep: bool) -> None:
    """Search, and write the files and the table."""
    every = [one["name"] for one in catalog.entries("controllers") if one["name"] not in ROUTERS]
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    spaces = built_in()
    rows, failing = known() if names else ({}, {})
    with ProcessPoolExecutor(2) as pool:
        for row in pool.map(look, sorted(names or every)):
            name = row["control"]
            print(f"{name}: {row['runs']} runs, {row['cpu_s']:.1f} CPU s", flush=True)
            cells = [row["cells"].get(space, "none") for space in spaces]
            rows[name] = f"| `{name}` | {' | '.join(cells)} |"
            folder = smallest(name)
            failing.pop(name, None)
            if folder is not None:
                failing[name] = write(name, folder)
    head = [f"| controller | {' | '.join(f'`{space}`' for space in spaces)} |", "|---" * (len(spaces) + 1) + "|"]
    table = "\n".join([*head, *(rows[name] for name in sorted(rows))])
    (OUT / "table.md").write_text(table + "\n")
    (OUT / "regression.toml").write_text(regression_text([failing[name] for name in sorted(failing)]))
    print(f"{len(failing)} of {len(rows)} controllers fail")
    if keep:
        target = ROOT / "scenarios" / "failures"
        target.mkdir(exist_ok=True)
        for file in OUT.glob("*.toml"):
            shutil.copy(file, target)
        page = PAGE.read_text(encoding="utf-8")
        new = f"{BEGIN}\n{table}\n{END}"
        PAGE.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: new, page, flags=re.S), encoding="utf-8")


if __name__ == "__main__":
    main([name for name in sys.argv[1:] if name != "--keep"], keep="--keep" in sys.argv)
