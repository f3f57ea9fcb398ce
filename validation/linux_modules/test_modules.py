"""Our controllers against the recorded modules of Linux. Figures and causes are in docs/validation-modules.md."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import kernel
from module_networks import OURS, QUIC, Run, networks_of, seeds
from module_pairs import pairs
from modules_report import CAUSES, PAGE, summaries
from record_modules import recorded, run_module, runs

EQUAL = tuple(name for name in OURS if name not in CAUSES)
"""Modules whose window traces ours equal row by row."""


def test_every_module_has_a_run_in_every_network() -> None:
    content = recorded()
    expected = {"/".join(map(str, run)) for run in runs(tuple(OURS))}
    assert set(content["runs"]) == expected
    assert set(OURS) == {"reno", *kernel.MODULES}
    assert len([name for name in networks_of("reno") if not name.startswith(QUIC)]) >= 12
    assert content["kernel"].startswith(kernel.VERSION)
    assert all(len(seeds(name)) >= 1 for name in networks_of("reno"))


@pytest.mark.parametrize("name", EQUAL)
def test_the_windows_are_equal_row_by_row(name: str) -> None:
    """If Reno differs too, the transport has changed: record the modules again."""
    different = [(pair.network, pair.seed, pair.equal_until) for pair in pairs((name,)) if pair.equal_until is not None]
    assert different == []


def test_bbr_agrees_in_goodput_and_retransmissions() -> None:
    ((bbr, _),) = summaries(("bbr",))
    assert all(abs(pair.goodput) < 0.01 for pair in bbr.runs)
    linux, ours = (
        sum(run.retransmitted for run in side) for side in ((p.linux for p in bbr.runs), (p.ours for p in bbr.runs))
    )
    assert abs(ours / linux - 1) < 0.05


def test_the_page_names_every_module_with_its_figures() -> None:
    text = PAGE.read_text()
    rows = [line for line in text.splitlines() if line.startswith("| ") and "**" in line]
    assert [row.split(" | ")[0][2:] for row in rows] == list(OURS)
    for name in EQUAL:
        count = len([run for run in runs((name,)) if not run[1].startswith(QUIC)])
        row = next(row for row in rows if row.startswith(f"| {name} |"))
        assert f"**{count} of {count}**" in row


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "no sources of Linux (no Makefile)"),
        (
            {"Makefile": "VERSION = 6\nPATCHLEVEL = 1\nSUBLEVEL = 0\n"},
            "sources of Linux 6.1.0; kshim.h is written for 6.12",
        ),
        ({"Makefile": "VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\n"}, "net/ipv4/tcp_cong.c is missing"),
    ],
)
def test_sources_that_do_not_serve_are_one_line(tmp_path: Path, content: dict[str, str], message: str) -> None:
    for name, text in content.items():
        (tmp_path / name).write_text(text)
    command = [sys.executable, str(Path(__file__).parent / "record_modules.py"), "reno", "--kernel", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"record_modules.py: {tmp_path}: {message}\n"


@pytest.mark.parametrize("name", ["no.deb", "no.tar.xz"])
def test_a_broken_archive_is_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"neither")
    with pytest.raises(kernel.KernelError, match=r"(no Debian package|no archive|No such file).*") as raised:
        kernel.unpack(tmp_path, tmp_path / name)
    assert "\n" not in str(raised.value)


def test_sources_that_do_not_compile_are_one_line(tmp_path: Path) -> None:
    """The other messages are those of `ackclock module` (tests/test_foreign.py)."""
    (tmp_path / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 1\n")
    for name in (*kernel.SOURCES, *kernel.OWN_HEADERS):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("#include <net/tcp.h>\nint lacking = A_NAME_THAT_THE_HEADER_LACKS;\n")
    with pytest.raises(kernel.KernelError, match=r"tcp_cong.c: no congestion control module"):
        kernel.build(tmp_path, tmp_path)


@pytest.mark.skipif(not kernel.INSTALLED.exists(), reason="the sources of Linux 6.12 are not installed")
def test_the_modules_do_what_was_recorded(tmp_path: Path) -> None:
    library = kernel.build(kernel.unpack(tmp_path), tmp_path)
    recordings = recorded()["runs"]
    for name in ("cubic", "illinois"):
        for network in ("clean 20M/40ms/1bdp", "QUIC clean 20M/40ms/1bdp"):
            assert Run(**recordings[f"{name}/{network}/1"]) == run_module(library, name, network, 1)
