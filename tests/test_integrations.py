"""Stacks outside over the network: the tests of integrations/, with the stacks fetched or installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

LINES = {"noq": 110, "quinn": 110, "smoltcp": 95, "sctp-proto": 140}
"""Most lines of code of an adapter, without comments; those of TLS and of the device are in files of their own."""


CONTROLLERS = {"exported", "picoquic", "quinn-controllers"}
"""Folders in which controllers of ours leave: to libraries and modules, and to other stacks."""


def rust_stacks(root: Path) -> list[str]:
    names = {path.parent.name for path in (root / "integrations").glob("*/Cargo.toml")}
    return sorted(names - CONTROLLERS)


def test_every_adapter_has_what_a_reader_needs(root: Path) -> None:
    """A scenario, a README of about 15 lines, a test; nothing of a stack is in the repository."""
    folders = [path for path in (root / "integrations").iterdir() if path.is_dir() and path.name != "target"]
    names = {folder.name for folder in folders}
    assert {"noq", "quinn", "smoltcp", "ngtcp2", "aioquic"} <= names
    assert names >= CONTROLLERS
    for folder in folders:
        if folder.name in CONTROLLERS:
            assert (folder / "README.md").is_file(), folder.name
            continue
        assert (folder / "scenario.toml").is_file(), folder.name
        assert (folder / "README.md").read_text().count("\n") <= 32, folder.name
        assert [*folder.glob("test_*.py"), *folder.glob("tests/*.rs")], folder.name
    for name in rust_stacks(root):
        text = (root / "integrations" / name / "src/lib.rs").read_text()
        code = [line for line in text.splitlines() if line.strip() and not line.strip().startswith("//")]
        assert len(code) <= LINES[name], name


def pytest_in(folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(folder), str(folder)],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["noq", "quinn", "smoltcp", "quinn-controllers"])
def test_a_stack_in_rust(root: Path, name: str) -> None:
    environment = os.environ | {"CARGO_TARGET_DIR": str(root / "out/integrations/rust")}
    command = ["cargo", "test", "--release", "--locked", "--quiet"]
    folder = root / "integrations" / name
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


@pytest.mark.nightly
def test_aioquic(root: Path) -> None:
    target, folder = root / "out/integrations/aioquic", root / "integrations/aioquic"
    install = [sys.executable, "-m", "pip", "install", "-q", "--upgrade", "--target", str(target)]
    subprocess.run([*install, "-r", str(folder / "requirements.txt")], check=True)
    pytest_in(folder, {"PYTHONPATH": str(target)})


@pytest.mark.nightly
def test_ngtcp2(root: Path) -> None:
    if shutil.which("pkg-config") is None or subprocess.run(["pkg-config", "libngtcp2"], check=False).returncode:
        pytest.skip(
            "ngtcp2 is not installed: apt-get install libngtcp2-dev libngtcp2-crypto-gnutls-dev libgnutls28-dev"
        )
    subprocess.run(["cargo", "build", "--release", "--locked", "-q", "-p", "ackclock-capi"], cwd=root, check=True)
    pytest_in(root / "integrations/ngtcp2", {})
