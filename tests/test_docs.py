"""The site builds without a warning; the tutorials run and write their figures."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest


def test_the_site_builds_without_a_warning(root: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    site = tmp_path / "site"
    reference = (site / "reference" / "index.html").read_text()
    for name in ("ackclock.Controller", "ackclock.Scenario.load", "ackclock.stats.ratio", "ackclock._core.Ack"):
        assert f'id="{name}"' in reference, name
    assert (site / "tutorials" / "first_steps" / "index.html").is_file()
    assert (site / "tree" / "papers" / "westwood" / "index.html").is_file()


@pytest.mark.parametrize(
    ("name", "says", "files"),
    [
        ("first_steps", "cwnd fell", ["first_steps.png"]),
        ("add_a_controller", "share beside CUBIC: 0.", []),
        ("reproduce_a_figure", "times Reno's goodput (claimed: 1.711)", ["sarbe_fig5.png"]),
    ],
)
def test_tutorials_run(root: Path, tmp_path: Path, name: str, says: str, files: list[str]) -> None:
    (tmp_path / "papers").symlink_to(root / "papers")
    script = shutil.copy(root / "examples" / "tutorials" / f"{name}.py", tmp_path)
    environment = os.environ | {"PYTHONWARNINGS": "error::DeprecationWarning:__main__"}
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert says in done.stdout
    for file in files:
        assert (tmp_path / "out" / "tutorials" / file).stat().st_size > 10_000


def test_guides_name_commands_and_files_that_exist(root: Path) -> None:
    """Every `ackclock COMMAND` in the guides is a command, every option of it is one of its own."""

    known = subprocess.run([sys.executable, "-m", "ackclock.cli", "--help"], capture_output=True, text=True, check=True)
    commands = set(re.findall(r"^\s*│?\s*([a-z]+)\s{2,}", known.stdout, flags=re.M))
    used = set()
    for page in [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]:
        used |= set(re.findall(r"(?:^|bin/)ackclock ([a-z]+)", page.read_text(), flags=re.M))
    assert used
    assert used <= commands, used - commands
