"""The page docs/applications.md: its commands run, and its numbers are those of the program."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from ackclock import Scenario, _core
from ackclock.base.shipped import scenarios
from ackclock.cli.app import main
from ackclock.metrics.registry import METRICS

SIZES = [
    (f"{words}, {queue}", control, queue)
    for control, words in (("cubic", "CUBIC"), ("bbr3", "BBRv3"))
    for queue in ("drop-tail", "FQ-CoDel")
]
KINDS = ("rate", "on_off", "requests", "page", "video", "frames")
RUNS: dict[str, list[tuple[str, str, list[str]]]] = {
    "requests": [
        ("no download", "requests", ["flow.download.start=59s"]),
        ("CUBIC download", "requests", []),
        ("BBRv3 download", "requests", ["flow.download.tcp.congestion_control=bbr3"]),
        ("CUBIC download, FQ-CoDel", "requests", ["link.line.queue=fq_codel"]),
    ],
    "page": [
        ("HTTP/2", "page_load", []),
        ("HTTP/1.1, six connections", "page_load", ["flow.page.app.protocol=http1"]),
        ("HTTP/2, 1 % loss", "page_load", ["link.line.loss={kind='bernoulli',rate=0.01}"]),
        (
            "HTTP/1.1, 1 % loss",
            "page_load",
            ["flow.page.app.protocol=http1", "link.line.loss={kind='bernoulli',rate=0.01}"],
        ),
        (
            "HTTP/2, BBRv3, 1 % loss",
            "page_load",
            ["tcp.congestion_control=bbr3", "link.line.loss={kind='bernoulli',rate=0.01}"],
        ),
    ],
    "video": [
        (algorithm, "video", [f"flow.player.app.algorithm={algorithm}"])
        for algorithm in ("dynamic", "throughput", "bola", "bba", "mpc")
    ],
    "frames": [
        ("drop-tail", "call", []),
        ("drop-tail, adapting", "call", ["flow.call.app.adapt=controller"]),
        ("FQ-CoDel", "call", ["link.line.queue=fq_codel"]),
        ("drop-tail, 2.5 Mb/s", "call", ["flow.call.app.rate=2.5Mbps"]),
        ("FQ-CoDel, 2.5 Mb/s", "call", ["link.line.queue=fq_codel", "flow.call.app.rate=2.5Mbps"]),
        ("QUIC, late frames cancelled", "call", ["flow.call.quic={}", "flow.call.app.late=cancel"]),
    ],
}
"""The rows of the tables of the page: a name, a shipped scenario, and what is changed in it."""


def outcome(name: str, settings: list[str]) -> dict[str, Any]:
    result: dict[str, Any] = Scenario.load(scenarios()[name], settings).run().outcome
    return result


def flows(name: str, settings: list[str]) -> list[dict[str, Any]]:
    """The applications of a run, in the order of the flows."""
    return [flow["app"] for flow in outcome(name, settings)["flows"] if flow.get("app")]


def median(values: list[float]) -> float:
    ordered = sorted(values)
    return (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2


def row(kind: str, name: str, settings: list[str]) -> str:
    """The numbers of a row, as the page has them."""
    if kind == "requests":
        apps = flows(name, settings)
        rate = sum(app["requests_per_s"] for app in apps)
        p50, p95 = (median([app[key] for app in apps]) for key in ("p50_s", "p95_s"))
        return f"{rate:.1f} | {1e3 * p50:.0f} ms | {p95:.2f} s"
    app = flows(name, settings)[0]
    if kind == "page":
        return f"{app['pages']} | {app['p50_page_s']:.2f} s | {app['byte_index_s']:.2f} s"
    if kind == "video":
        rate = app["mean_bitrate_bps"] / 1e6
        return f"{rate:.2f} Mb/s | {app['switches']} | {app['stall_s']:.1f} s | {app['qoe']:.2f}"
    other = app["messages"] - app["on_time"]
    tail = "-" if app["p95_frame_s"] is None else f"{1e3 * app['p95_frame_s']:.0f} ms"
    return f"{100 * app['on_time'] / app['messages']:.1f} % | {other} | {tail}"


def slowdowns(page: str, control: str, queue: str) -> str:
    """The row of a controller and a queue in the table of sizes, for the scenario of the page."""
    [text] = [one for one in re.findall(r"```toml\n(.*?)```", page, re.DOTALL) if "web_search" in one]
    settings = [f"tcp.congestion_control={control}", *(["link.line.queue=fq_codel"] if queue == "FQ-CoDel" else [])]
    transfers = Scenario.parse(text, settings).run().outcome["flows"]
    values = (METRICS[name].combined(transfers) for name in ("mean_slowdown", "p95_slowdown", "p99_slowdown"))
    return " | ".join(f"{value:.1f}" for value in values if value is not None)


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "applications.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("kind", "number"), [(kind, n) for kind, rows in RUNS.items() for n in range(len(rows))])
def test_the_tables_of_the_page_are_measured(page: str, kind: str, number: int) -> None:
    label, name, settings = RUNS[kind][number]
    assert f"| {label} | {row(kind, name, settings)} |" in page


@pytest.mark.parametrize(("label", "control", "queue"), SIZES)
def test_the_slowdowns_of_the_page_are_measured(page: str, label: str, control: str, queue: str) -> None:
    assert f"| {label} | {slowdowns(page, control, queue)} |" in page


def test_every_kind_is_on_the_page(page: str) -> None:
    for kind in KINDS:
        assert f"`{kind}`" in page


def test_every_command_of_the_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    lines = [line.split("  #")[0].strip() for block in blocks for line in block.splitlines()]
    commands = [shlex.split(line)[1:] for line in lines if line.startswith("ackclock ")]
    assert len(commands) >= 10
    for command in commands:
        if command[0] != "suite":  # tests/test_suite.py runs situations of it
            assert main(command) in (0, None), command


def test_every_scenario_of_the_page_is_valid(page: str) -> None:
    texts = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert texts
    ends = ('["server", "phone"]', '["server", "home"]')
    link = "".join(f'[[link]]\nends = {pair}\nrate = "10Mbps"\ndelay = "10ms"\n' for pair in ends)
    for text in texts:
        whole = text if "[[link]]" in text else f'title = "t"\nduration = "5s"\n{link}{text}'
        Scenario.parse(whole)


@pytest.mark.skipif(not hasattr(_core, "emulate"), reason="runs in real time need Linux")
def test_runs_in_real_time_refuse_applications(capsys: pytest.CaptureFixture[str]) -> None:
    """They would run as transfers without an end."""
    for on in ("udp", "linux:cubic"):
        assert main(["run", "@call", "--on", on]) == 2
        assert "flow.app: the first flow has an application" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--flow", "api", "--beside", "cubic"]])
def test_connections_of_an_application_get_one_controller(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], more: list[str]
) -> None:
    """They are flows NAME/0, NAME/1 and so on, and the file has one flow NAME."""
    monkeypatch.chdir(tmp_path)
    short = ["--set", "duration=8s", "--set", "flow.download.start_jitter=100ms"]
    command = ["compare", "--control", "bbr,reno", "--on", "@requests", "--seeds", "2", *short, *more]
    assert main(command) in (0, None)
    assert " completion" in capsys.readouterr().out
