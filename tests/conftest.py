"""Shared by the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def ackclock() -> Callable[..., subprocess.CompletedProcess[str]]:
    """The command, as a user runs it."""

    def run(*arguments: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"RUST_BACKTRACE": "0", "COLUMNS": "120"}
        command = [str(Path(sys.executable).parent / "ackclock"), *map(str, arguments)]
        return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)

    return run
