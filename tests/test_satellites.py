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
from ackclock.apps.satellites import SatelliteView
from ackclock.apps.satellites.map import coastlines, draw, great_circle
from ackclock.apps.scenario_check import describe
from ackclock.base.files import BadInput
from ackclock.base.units import seconds

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


def test_two_terminals_are_the_ends_of_the_path(ackclock: Run) -> None:
    arguments = ("--until", "20s", "--every", "10s", "--json")
    named, usual = (ackclock("orbit", IRIDIUM, *arguments, *ends).stdout for ends in (ENDS, ()))
    assert named == usual
    assert '"path": ["berkeley"' in usual


NEVER = """
duration = "30s"
terminal = [{ name = "a", lat = 60, lon = 0 }, { name = "b", lat = 61, lon = 10 }]
flow = [{ from = "a", to = "b" }]
[constellation]
kind = "walker"
planes = 1
per_plane = 2
altitude = "550km"
inclination = "10deg"
bent_pipe = true
up = { rate = "10Mbps" }
down = { rate = "10Mbps" }
"""


def test_terminals_without_a_path_have_a_warning() -> None:
    warnings = describe(Scenario.parse(NEVER))["warnings"]
    assert [warning["message"] for warning in warnings] == ["there is no path from a to b for 30 of 30 s"]
    assert describe(Scenario.load("@iridium"))["warnings"] == []


def test_mistakes_are_told(ackclock: Run, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    three = tmp_path_factory.mktemp("three") / "three.toml"
    three.write_text(NEVER.replace('{ name = "b"', '{ name = "c", lat = 1, lon = 1 }, { name = "b"'))
    for arguments, expected in [
        ((IRIDIUM, "--from", "berkeley", "--to", "bosto"), 'did you mean "boston"?'),
        ((IRIDIUM, "--from", "berkeley"), "--from and --to: both or neither"),
        ((IRIDIUM, "--from", "boston", "--to", "boston"), "two different terminals"),
        ((IRIDIUM, "--positions"), "--positions: needs --json"),
        ((IRIDIUM, *ENDS, "--at", "3s"), "--at: needs --plot"),
        ((three,), "name two terminals"),
        ((IRIDIUM, *ENDS, "--every", "0s"), "--every: must be more than zero"),
        ((IRIDIUM, *ENDS, "--until", "10"), '"10" is not a'),
        ((IRIDIUM, *ENDS, "--plot", str(tmp_path / "sky.jpg")), "must end in .svg, .pdf, .png or .eps"),
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


def elements(planes: int, per_plane: int, inclination: float, revolutions: float) -> str:
    """Two-line elements of circular orbits in evenly spaced planes; every second plane is half a slot ahead."""

    def line(text: str) -> str:
        return f"{text}{sum(int(c) if c.isdigit() else c == '-' for c in text) % 10}"

    lines = []
    for i in range(planes * per_plane):
        plane, k = divmod(i, per_plane)
        node, anomaly = 360 * plane / planes, 360 * (k + plane % 2 / 2) / per_plane
        lines += [
            f"satellite {i}",
            line(f"1 {i + 1:05d}U 00000ABC 00001.00000000  .00000000  00000-0  00000+0 0    0"),
            line(
                f"2 {i + 1:05d} {inclination:8.4f} {node:8.4f} 0000001   0.0000 {anomaly:8.4f} {revolutions:11.8f}    0"
            ),
        ]
    return "\n".join(lines) + "\n"


def shell(folder: Path, per_plane: int, terminals: dict[str, tuple[float, float]], **keys: str) -> Path:
    """A scenario of the elements in `folder` with its terminals."""
    constellation = {"elevation_mask": '"25deg"', "handoff": '{ rule = "every" }', **keys}
    text = f'[constellation]\nkind = "tle"\nfile = "elements.tle"\nper_plane = {per_plane}\n'
    text += "".join(f"{key} = {value}\n" for key, value in constellation.items())
    text += "".join(f'{key} = {{ rate = "1Gbps" }}\n' for key in ("isl", "up", "down"))
    for name, (lat, lon) in terminals.items():
        text += f'[[terminal]]\nname = "{name}"\nlat = {lat}\nlon = {lon}\n'
    first, second = list(terminals)[:2]
    text += f'[[flow]]\nname = "f"\nfrom = "{first}"\nto = "{second}"\n'
    path = folder / "shell.toml"
    path.write_text(text)
    return path


KUIPER = {0: 29.4231378, 50: 41.1857987, 100: 42.7766263, 199.9: 41.2792185}
"""Hypatia's round-trip times from Manila to Dalian, ms, by time, s."""


def test_terminals_stand_on_the_ellipsoid_as_in_hypatia(tmp_path: Path) -> None:
    """Round trips of Hypatia (snkas/hypatia), which has ephem's ellipsoid: equal to its four decimals."""
    (tmp_path / "elements.tle").write_text(elements(72, 22, 53.0, 15.19))
    path = shell(tmp_path, 22, {"paris": (48.85341, 2.3488), "moscow": (55.754996, 37.621849)})
    view = SatelliteView(path, 30, ends=("paris", "moscow"))
    for at, published in ((0, 20.7217), (10, 20.6271), (29, 20.5599)):
        assert 2e3 * view.path_at(at)["delay_s"] == pytest.approx(published, abs=5e-5)


def test_a_shell_of_kuiper_as_in_hypatia(tmp_path: Path) -> None:
    """Manila to Dalian: round trips of `satgenpy/tests/data_to_match/kuiper_630/networkx_rtt_1173_to_1241.txt`.

    Hypatia bounds the slant range, 1260 km, where ours bounds the elevation; 25.2 degrees is that range at 630 km.
    """
    (tmp_path / "elements.tle").write_text(elements(34, 34, 51.9, 14.8))
    terminals = {"manila": (14.6042, 120.9822), "dalian": (38.913811, 121.602322)}
    view = SatelliteView(shell(tmp_path, 34, terminals, elevation_mask='"25.2deg"'), 200, ends=("manila", "dalian"))
    for at, published in KUIPER.items():
        assert 2e3 * view.path_at(at)["delay_s"] == pytest.approx(published, abs=5e-4), at


def test_kinds_of_constellations_have_their_earth(root: Path) -> None:
    """A Walker constellation over the ellipsoid and the same orbits of kind `iridium` over ns-2's sphere."""
    iridium = {"planes": 72, "per_plane": 22, "altitude": '"550km"', "inclination": '"53deg"', "phasing": 39}
    same = [f"constellation.{key}={value}" for key, value in iridium.items()]
    same += [
        'constellation.kind="iridium"',
        'constellation.elevation_mask="25deg"',
        'constellation.isl_latitude_limit="90deg"',
    ]
    delays = [
        SatelliteView(root / "scenarios" / "starlink.toml", 0, ends=("london", "new_york"), overrides=changes).path_at(
            0
        )
        for changes in ([], same)
    ]
    assert delays[0]["path"] == delays[1]["path"]
    assert 1e3 * (delays[0]["delay_s"] - delays[1]["delay_s"]) > 0.01


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
    text = (
        Path(IRIDIUM)
        .read_text(encoding="utf-8")
        .replace('kind = "iridium"', 'kind = "iridium"\nhandoff = { jitter = "5s" }')
    )
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
