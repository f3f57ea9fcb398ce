"""Shared by the tests of docs/security.md."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ackclock.base import controllers
from ackclock.cli.app import main

T = TypeVar("T")


def line(*names: str) -> Callable[[T], T]:
    """Mark a test as that of these lines of docs/security.md (`tests/test_security.py` compares them with the page)."""
    assert names
    return lambda test: test


NETWORK = """
duration = "0.5s"
[[link]]
name = "l"
ends = ["a", "b"]
rate = "5Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "20p" }
[[flow]]
name = "f"
from = "a"
to = "b"
tcp = { recovery = "newreno" }
"""
CODE = """
from pathlib import Path
Path({mark!r}).touch()
class X:
    cwnd, ssthresh = 2.0, 9.0
    def __init__(self, flow): ...
    def on_ack(self, ack): ...
    def on_congestion(self, event): ...
    def on_rto(self, event): ...
    def set_window(self, cwnd): ...
"""
PYTHON = "flow.f.tcp.congestion_control={{ python = '{}:X' }}"
TRACE = "".join(f"{t}\n" for t in range(3, 300, 3))
FILED = NETWORK.replace('rate = "5Mbps"', 'rate = { kind = "trace", file = "slow.txt" }\nback = { rate = "5Mbps" }')


class Place:
    """An empty folder for a test: it is the current folder, and code that is executed leaves a mark outside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "here"
        self.elsewhere = folder / "elsewhere"
        self.mark = folder / "executed"
        for path in (self.folder, self.elsewhere):
            path.mkdir()
            (path / "mine.py").write_text(CODE.format(mark=str(self.mark)))
        self.files()

    def files(self) -> set[str]:
        """The files that were written since the last call, and not the modules of the tests."""
        before = getattr(self, "_before", {})
        self._before = {str(p.relative_to(self.folder)): p.stat().st_mtime_ns for p in self.folder.rglob("*")}
        return {name for name, at in self._before.items() if before.get(name) != at and "__pycache__" not in name}

    def executed(self) -> bool:
        """Whether code was executed since the last call."""
        found = self.mark.exists()
        self.mark.unlink(missing_ok=True)
        controllers.forget({self.folder, self.elsewhere})
        return found

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.files()
        return path


def refused(capsys: pytest.CaptureFixture[str], *arguments: str, words: str = "") -> None:
    """The command ends with status 2 and one line."""
    capsys.readouterr()
    assert main(list(arguments)) == 2, arguments
    said = capsys.readouterr()
    assert len(said.err.strip().splitlines()) == 1, said.err
    assert words in said.err, said.err


def packed(**content: Any) -> str:
    """A link with any content."""
    text = json.dumps({"v": 1, "text": NETWORK} | content).encode()
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    data = base64.urlsafe_b64encode(deflate.compress(text) + deflate.flush())
    return f"lab.html#s={data.decode().rstrip('=')}"
