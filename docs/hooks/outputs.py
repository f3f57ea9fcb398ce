"""Files that the build of the site makes by running something: kept until what decides them changes.

A folder `out/site-cache/NAME-KEY` holds the files of one job. KEY covers the job, the engine, the Python package, the
scenarios, the papers and the examples, so a rebuild runs only what has changed.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mkdocs.exceptions import PluginError

ROOT = Path(__file__).parents[2]
CACHE = ROOT / "out" / "site-cache"
INPUTS = ("python/ackclock", "scenarios", "papers", "examples", "docs/hooks")
INPUT_ENDINGS = {".py", ".toml", ".csv", ".html", ".json", ".tle", ".txt", ".ipynb"}
LOG = logging.getLogger("mkdocs.plugins.outputs")
LINKED = ("scenarios", "papers", "examples")
"""Folders that a job finds in its working folder, under their names in the repository."""


@dataclass(frozen=True)
class Job:
    """Something to run: `build` writes files into a folder; `identity` is the text that decides them."""

    name: str
    identity: str
    build: Callable[[Path], None]


@cache
def _inputs() -> str:
    """A hash of the engine and of all files that a job can read."""
    from ackclock._core import ENGINE

    digest = hashlib.sha256(ENGINE.encode())
    for folder in INPUTS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in INPUT_ENDINGS and path.is_file():
                digest.update(str(path.relative_to(ROOT)).encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def make(jobs: Iterable[Job]) -> dict[str, Path]:
    """Run the jobs whose files are not kept; returns the folder of each job. Raises PluginError if one fails.

    Each line of progress is a message of MkDocs.
    """
    began = time.monotonic()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        waiting = {pool.submit(_make, job): job.name for job in jobs}
        for done, future in enumerate(as_completed(waiting), 1):
            future.result()
            left = (time.monotonic() - began) / done * (len(waiting) - done)
            LOG.info(f"{waiting[future]}: made ({done} of {len(waiting)}, about {left:.0f} s left)")
        return {name: future.result() for future, name in waiting.items()}


def _make(job: Job) -> Path:
    key = hashlib.sha256(f"{_inputs()}\n{job.identity}".encode()).hexdigest()[:16]
    kept = CACHE / f"{job.name}-{key}"
    if kept.is_dir():
        return kept
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE, prefix=".unfinished-") as folder:
        fresh = Path(folder) / "files"
        fresh.mkdir()
        job.build(fresh)
        for old in CACHE.glob(f"{job.name}-" + 16 * "[0-9a-f]"):
            shutil.rmtree(old, ignore_errors=True)
        try:
            fresh.rename(kept)
        except OSError:  # another build has made the same files
            if not kept.is_dir():
                raise
    return kept


def run(command: Sequence[str | Path], folder: Path, what: str) -> str:
    """Run a Python module or file in `folder`; returns standard output. Raises PluginError with its message.

    The command finds the folders scenarios, papers and examples in `folder` while it runs.
    """
    links = [folder / name for name in LINKED]
    for link in links:
        link.symlink_to(ROOT / link.name)
    environment = os.environ | {"COLUMNS": "100", "NO_COLOR": "1", "MPLBACKEND": "agg"}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH")]))
    done = subprocess.run(
        [sys.executable, *map(str, command)], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    for link in links:
        link.unlink()
    if done.returncode:
        raise PluginError(f"{what}: exit status {done.returncode}\n{done.stderr.strip()}")
    return done.stdout
