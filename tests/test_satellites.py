"""The user interface of satellites: `ackclock orbit`, maps, runs, and the paper's folder."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from ackclock import Scenario
from ackclock.cli.options import seconds
from ackclock.files import BadInput
from ackclock.satellite_map import coastlines, draw, great_circle
from ackclock.satellites import SatelliteView

Run = Callable[..., "subprocess.CompletedProcess[str]"]
IRIDIUM = "scenarios/iridium.toml"
ENDS = ("--from", "berkeley", "--to", "boston")


def test_orbit_prints_an_object_a_look(ackclock: Run) -> None:
    done = ackclock("orbit", IRIDIUM, *ENDS, "--every", "10s", "--until", "600s", "--json")
    looks = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert [look["time_s"] for look in looks] == [10.0 * i for i in range(61)]  # --until is inclusive
    assert all(list(look) == ["time_s", "path", "delay_s", "up", "down"] for look in looks)
    assert looks[0]["path"] == ["berkeley", "p2k4", "p3k4", "p4k4", "boston"]
    assert looks[0]["delay_s"] == pytest.approx(0.033881832, abs=1e-9)
    # A sample shows the state after all events at its time.
    assert [looks[i]["down"] for i in (38, 39)] == ["p4k4", "p4k3"]
    assert [looks[i]["up"] for i in (51, 52)] == ["p2k4", "p2k3"]


def test_orbit_without_json_is_a_table(ackclock: Run) -> None:
    done = ackclock("orbit", IRIDIUM, *ENDS, "--every", "10s")
    assert done.returncode == 0
    assert "berkeley - p2k4 - p2k3 - p3k3 - p4k3 - boston" in done.stdout
    assert "520" in done.stdout.split("Hand-offs")[1]


def test_positions(ackclock: Run) -> None:
    done = ackclock("orbit", IRIDIUM, "--positions", "--json", "--until", "0s")
    places = json.loads(done.stdout)["positions"]
    assert len(places) == 66
    assert places["p1k0"] == pytest.approx([16.326813, 32.655992, 780.0], abs=1e-5)


def test_two_line_elements_give_the_same_sky(ackclock: Run) -> None:
    """SGP4 orbits deviate from circles by kilometres: the paths are the same, delays agree within 0.2 ms."""
    arguments = (*ENDS, "--every", "30s", "--json")
    looks = [
        [json.loads(line) for line in ackclock("orbit", file, *arguments).stdout.splitlines()]
        for file in (IRIDIUM, "scenarios/iridium_tle.toml")
    ]
    assert len(looks[0]) == 21
    for circular, elements in zip(*looks, strict=True):
        assert circular["path"] == elements["path"]
        assert circular["delay_s"] == pytest.approx(elements["delay_s"], abs=2e-4)
    assert [look["delay_s"] for look in looks[0]] != [look["delay_s"] for look in looks[1]]


def test_mistakes_are_told(ackclock: Run, tmp_path: Path) -> None:
    for arguments, expected in [
        ((IRIDIUM, "--from", "berkeley", "--to", "bosto"), 'did you mean "boston"?'),
        ((IRIDIUM, "--from", "berkeley"), "--from and --to: both or neither"),
        ((IRIDIUM, "--from", "boston", "--to", "boston"), "two different terminals"),
        ((IRIDIUM, "--positions"), "--positions: needs --json"),
        ((IRIDIUM, *ENDS, "--at", "3s"), "--at: needs --plot"),
        ((IRIDIUM,), "name two terminals"),
        ((IRIDIUM, *ENDS, "--every", "0s"), "--every: must be more than zero"),
        ((IRIDIUM, *ENDS, "--until", "10"), '"10" is not a'),
        ((IRIDIUM, *ENDS, "--plot", str(tmp_path / "sky.jpg")), "must end in .svg, .png or .pdf"),
        (("scenarios/dumbbell.toml", *ENDS), "constellation: is missing"),
        ((IRIDIUM, *ENDS, "--set", "constellation.planes=0"), "0 is not between 1 and 1000"),
    ]:
        done = ackclock("orbit", *arguments)
        assert (done.returncode, done.stdout) == (2, ""), arguments
        assert expected in done.stderr, done.stderr
        assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_equal_maps_are_equal_files(ackclock: Run, tmp_path: Path) -> None:
    target, again = tmp_path / "sky.svg", tmp_path / "again.svg"
    done = ackclock("orbit", IRIDIUM, *ENDS, "--until", "20s", "--every", "10s", "--plot", target)
    assert done.returncode == 0, done.stderr
    assert target.read_text().count("<path") > 100
    ackclock("orbit", IRIDIUM, *ENDS, "--until", "0s", "--plot", again)
    strip = [line for line in target.read_text().splitlines() if "dc:date" not in line]
    assert strip == [line for line in again.read_text().splitlines() if "dc:date" not in line]


def test_a_map_of_any_moment(root: Path) -> None:
    figure = draw(SatelliteView(root / IRIDIUM, 400, ends=("berkeley", "boston")), 400)
    assert "47.50 ms over 5 links" in figure.axes[0].get_title()


def test_coastlines_and_great_circles() -> None:
    outlines = coastlines()
    assert len(outlines) > 100
    points = np.concatenate(outlines)
    assert np.abs(points[:, 1]).max() <= 90
    # Land: a point of the Sahara lies in some outline, one of the Pacific in none.
    from matplotlib.path import Path as Outline

    inside = [[Outline(ring).contains_point(point) for ring in outlines] for point in ((10.0, 22.0), (-150.0, 0.0))]
    assert [any(row) for row in inside] == [True, False]
    lines = great_circle((35.0, 170.0), (35.0, -170.0))
    assert len(lines) == 2  # cut where it leaves the map
    assert max(line[:, 1].max() for line in lines) > 35


def test_seconds() -> None:
    assert seconds("1.5s", "--at") == 1.5
    with pytest.raises(BadInput, match="--at"):
        seconds("soon", "--at")


def test_runs_over_satellites_say_what_happened(root: Path) -> None:
    scenario = Scenario.load(root / IRIDIUM, ["duration=400s", "tcp.congestion_control=bic_awi"])
    result = scenario.run(trace="changes")
    assert result.outcome["satellite"] == {
        "handoffs": [{"terminal": "boston", "time_s": 390.0, "from": "p4k4", "to": "p4k3"}]
    }
    names = {link["name"] for link in result.outcome["links"]}
    assert {"berkeley->*", "p2k4->p3k4", "p4k3->*"} <= names
    assert all(link["delivered_packets"] or any(link["dropped_packets"].values()) for link in result.outcome["links"])
    flags = result.trace.filter(pl.col("event") == "handoff")
    assert flags.group_by("flow").len()["len"].to_list() == [2, 2, 2]
    assert sorted(set(flags["time_s"].to_list())) == [389.5, 390.5]


def test_the_trace_has_a_row_for_each_change(ackclock: Run, tmp_path: Path) -> None:
    target = tmp_path / "trace.parquet"
    done = ackclock(
        "run", IRIDIUM, "--set", "duration=400s", "--set", "tcp.congestion_control=bic_dpe", "--trace", target
    )
    assert done.returncode == 0, done.stderr
    rows = pl.read_parquet(target).filter(pl.col("event") == "handoff")
    assert rows.select("time_s", "flow", "handoff").sort("time_s", "flow").rows() == [
        (at, flow, value) for at, value in ((389.5, 1.0), (390.5, 0.0)) for flow in ("f1", "f2", "f3")
    ]


def test_orbit_and_run_draw_the_same_jitter(ackclock: Run, tmp_path: Path) -> None:
    text = Path(IRIDIUM).read_text().replace('kind = "iridium"', 'kind = "iridium"\nhandoff = { jitter = "5s" }')
    path = tmp_path / "jitter.toml"
    path.write_text("seed = 7\n" + text.replace("300s", "600s"))
    table = ackclock("orbit", path, *ENDS, "--every", "100s").stdout
    outcome = json.loads(ackclock("run", path, "--json").stdout)
    times = [handoff["time_s"] for handoff in outcome["satellite"]["handoffs"]]
    assert times
    assert all(f"{at:g}" in table for at in times)


def test_starlink_from_six_numbers(root: Path) -> None:
    outcome = Scenario.load(root / "scenarios" / "starlink.toml", ["duration=40s"]).run(audit=True).outcome
    assert outcome["flows"][0]["goodput_bps"] > 10e6
    assert {h["terminal"] for h in outcome["satellite"]["handoffs"]} <= {"london", "new_york"}
