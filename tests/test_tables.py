"""Tables in the terminal: SI units, sensible digits, heads that break between words only."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ackclock.base import si
from ackclock.cli.study_table import interval
from ackclock.stats import Estimate

Run = Callable[..., "subprocess.CompletedProcess[str]"]

STUDY = """
title = "Two controllers"
duration = "3s"
[[link]]
name = "bottleneck"
ends = ["left_router", "right_router"]
rate = "50Mbps"
delay = "20ms"
queue = { kind = "droptail", limit = "1bdp" }
loss = { kind = "bernoulli", rate = 0.002 }
[[flow]]
name = "first"
from = "left_router"
to = "right_router"
[[flow]]
name = "second"
from = "left_router"
to = "right_router"
[sweep]
seed = "1..3"
"flow.first.tcp.congestion_control" = ["reno", "bbr"]
"link.bottleneck.loss.rate" = [0, 0.002]
"link.bottleneck.delay" = ["20ms"]
"""


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (3_980_000, "b/s", "3.98 Mb/s"),
        (999_960, "b/s", "1 Mb/s"),
        (999_400, "b/s", "999 kb/s"),
        (17_000, "b/s", "17 kb/s"),
        (0.0695, "s", "69.5 ms"),
        (12e-6, "s", "12 us"),
        (0, "s", "0 ms"),
        (0, "b/s", "0 b/s"),
        (120, "s", "120 s"),
        (4.2e12, "b/s", "4,200 Gb/s"),
    ],
)
def test_quantities(value: float, unit: str, text: str) -> None:
    assert si.quantity(value, unit) == text


def test_digits() -> None:
    values = (0.0, 1.2345, 17_000.4, 0.00012345, -3.14159, math.inf)
    assert [si.digits_of(value) for value in values] == ["0", "1.23", "17,000", "0.000123", "-3.14", "inf"]
    assert [si.decimals(half) for half in (17.0, 3.3, 2.2, 0.58, 0.19, 0.0037, 0.0)] == [0, 0, 1, 1, 2, 3, 0]


def test_intervals() -> None:
    """The half-width decides the digits; an interval that ends at a bound has its ends."""
    cases = (
        (Estimate(30_735e3, 13_735e3, 47_735e3, 3), 1e6, "31 ± 17"),
        (Estimate(11.5581, 10.6362, 12.48, 4), 1.0, "11.6 ± 0.9"),
        (Estimate(101, 0, 229, 4), 1.0, "101 [0, 229]"),
        (Estimate(95.523761, 95.523531, 95.523991, 4), 1.0, "95.524 ± 0.00023"),
        (Estimate(67.784321, None, None, 4), 1.0, "67.78"),
        (Estimate(5, 5, 5, 4), 1.0, "5"),
        (Estimate(math.nan, None, None, 0), 1.0, "-"),
    )
    for estimate, factor, text in cases:
        assert interval(estimate, 4, factor).replace("+-", "±").split(" (n")[0] == text
    assert interval(Estimate(1, 0.5, 1.5, 3), 4, 1.0).endswith("(n = 3)")


@pytest.fixture
def folder(ackclock: Run, tmp_path: Path) -> Path:
    base = tmp_path / "study"
    base.mkdir()
    (base / "s.toml").write_text(STUDY)
    assert ackclock("sweep", base / "s.toml", "--out", base / "out").returncode == 0
    return base / "out"


def shown_in_a_terminal(folder: Path, columns: int, encoding: str = "utf-8") -> list[str]:
    """The lines of `ackclock results` in a terminal of this width."""
    environment = os.environ | {"COLUMNS": str(columns), "PYTHONIOENCODING": encoding, "NO_COLOR": "1", "TERM": "vt100"}
    code = f"import sys; from ackclock.cli.app import main; sys.exit(main(['results', {str(folder)!r}]))"
    code = f"import rich.console as c; c.Console.is_terminal = property(lambda self: True); {code}"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    return re.sub(r"\x1b\[[0-9;]*m", "", done.stdout.decode(encoding)).splitlines()


@pytest.mark.parametrize("columns", [80, 120])
def test_results_fit_the_terminal(folder: Path, columns: int) -> None:
    """No line is longer than the terminal, no word of a head is broken, each point and flow has its row."""
    lines = shown_in_a_terminal(folder, columns)[1:]
    assert all(len(line.rstrip()) <= columns for line in lines[:-1])
    heads = " ".join(lines[:3]).split()
    for word in (
        "congestion",
        "control",
        "bottleneck",
        "loss",
        "rate",
        "runs",
        "flow",
        "goodput",
        "(Mb/s)",
        "mean",
        "RTT",
    ):
        assert word in heads, heads
    text = "\n".join(lines)
    for word in ("utilisation", "queueing", "(%)", "Jain", "left_router"):
        assert word in text, text
    assert [sum(f" {flow} " in line for line in lines) for flow in ("first", "second")] == [4, 4]
    assert "±" in text
    assert "e+0" not in text


def test_results_in_ascii(folder: Path) -> None:
    text = "\n".join(shown_in_a_terminal(folder, 80, "ascii"))
    assert "+-" in text
    assert "\\xb1" not in text


def test_a_metric_of_choice(ackclock: Run, folder: Path) -> None:
    """A queueing delay in the unit of the column, for the points of choice; one row for each point."""
    link = "left_router->right_router.mean_sojourn_s"
    done = ackclock("results", folder, "--metric", link, "--where", "link.bottleneck.loss.rate=0")
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(("reno", "bbr"))]
    assert len(rows) == 2
    assert "(ms)" in done.stdout
    assert all(0.0 < float(row[5]) < 50.0 for row in rows), rows
