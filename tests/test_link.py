"""Links and the page: what `ackclock link` writes, `run`, `why` and the page read."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from ackclock.apps import laboratory, share
from ackclock.base import link
from ackclock.base.files import BadInput
from ackclock.scenario import Scenario

ROOT = Path(__file__).parents[1]
TRACED = """
title = "é < & \\u2028"
duration = "2s"
[[link]]
ends = ["a", "b"]
rate = { kind = "trace", file = "traces/slow.txt" }
delay = "5ms"
queue = { kind = "droptail", limit = "9p" }
back = { rate = "5Mbps" }
[[flow]]
name = "f"
from = "a"
to = "b"
"""


@pytest.fixture
def traced(tmp_path: Path) -> Path:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces/slow.txt").write_text("".join(f"{t}\n" for t in range(3, 300, 3)))
    path = tmp_path / "traced.toml"
    path.write_text(TRACED)
    return path


def test_a_link_gives_the_same_run_as_its_file(traced: Path) -> None:
    scenario = Scenario.load(traced, ["duration=1s"])
    again = Scenario.load(share.link(scenario, seed=9))
    assert (again.seed, again.duration_s, again.title) == (9, 1.0, scenario.title)
    prints = [s.run(seed=9, fingerprint=True).fingerprint for s in (scenario, again)]
    assert prints[0] == prints[1] != ""
    assert link.unpack(share.link(again)) == link.unpack(share.link(scenario, seed=9))
    assert Scenario.load(share.link(again), ["duration=0.5s"]).duration_s == 0.5


def test_a_link_has_the_files_of_bases_too(traced: Path) -> None:
    top = traced.parent / "top.toml"
    top.write_text('extends = "traced.toml"\nduration = "1s"\n')
    shared = link.unpack(share.link(Scenario.load(top)))
    assert set(shared["files"]) == {"traced.toml", "traces/slow.txt"}
    assert Scenario.load(link.pack(shared)).duration_s == 1.0


def test_a_link_has_the_files_of_values_that_are_set(traced: Path) -> None:
    (traced.parent / "other.txt").write_text("5\n20\n")
    top = traced.parent / "top.toml"
    top.write_text('extends = "traced.toml"\n[set]\n"link.a->b.rate.file" = "other.txt"\n')
    scenario = Scenario.load(top)
    again = Scenario.load(share.link(scenario))
    assert set(link.unpack(share.link(again))["files"]) == {"traced.toml", "traces/slow.txt", "other.txt"}
    prints = [s.run(fingerprint=True).fingerprint for s in (scenario, again, Scenario.load(traced))]
    assert prints[0] == prints[1] != prints[2]


def test_a_link_has_the_files_of_assignments_too(traced: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(traced.parent)
    Path("other.txt").write_text("5\n20\n", encoding="utf-8")
    for assignment in ("link.a->b.rate={ kind = 'trace', file = 'other.txt' }", "link.a->b.rate.file=other.txt"):
        scenario = Scenario.load(traced, [assignment])
        again = Scenario.load(share.link(scenario))
        assert set(link.unpack(share.link(again))["files"]) == {"traces/slow.txt", "other.txt"}
        prints = [s.run(fingerprint=True).fingerprint for s in (scenario, again, Scenario.load(traced))]
        assert prints[0] == prints[1] != prints[2]
    Path("traces").rename("first")
    (traced.parent / "sub").mkdir()
    monkeypatch.chdir("sub")
    Path("traces").mkdir()
    Path("traces/slow.txt").write_text("1\n", encoding="utf-8")
    (traced.parent / "first").rename(traced.parent / "traces")
    with pytest.raises(BadInput, match=r"--set names another traces/slow\.txt than the scenario"):
        share.link(Scenario.load(traced, ["link.a->b.rate.file=traces/slow.txt"]))


@pytest.mark.parametrize("seed", range(40))
def test_damaged_links_are_refused(traced: Path, seed: int) -> None:
    whole = share.link(Scenario.load(traced))
    draw = random.Random(seed)
    cut = list(whole[: draw.randrange(len("lab.html#s="), len(whole))])
    for _ in range(draw.randrange(3)):
        if len(cut) > 12:
            cut[draw.randrange(11, len(cut))] = draw.choice("AZaz09-_!%")
    with pytest.raises(BadInput, match="link"):
        link.unpack("".join(cut))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"v": 2}, "version 2"),
        ({"seed": -1}, "seed"),
        ({"seed": True}, "seed"),
        ({"set": [1]}, "set"),
        ({"files": {"../x": {"text": ""}}}, "files"),
        ({"files": {"/etc/x": {"text": ""}}}, "files"),
        ({"text": None}, "no scenario"),
        ({"controller": {"code": "", "flows": {}}}, "JavaScript"),
    ],
)
def test_impossible_contents_are_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        link.unpack(link.pack({"v": 1, "text": "", **change}))  # type: ignore[typeddict-item]


def test_a_link_that_the_page_wrote_is_read() -> None:
    page = "https://host/lab.html#s=q1YqU7Iy1FEqSa0oUbJSKsksyUlVsFWIUTq8MkZJSUepOBUoHK2UaGuoFAvipaYoWZnXAgA"
    assert link.unpack(page) == {"v": 1, "text": 'title = "é"', "set": ["a=1"], "seed": 7}


def test_a_link_is_not_inflated_without_bound() -> None:
    with pytest.raises(BadInput, match="more than"):
        link.unpack(link.pack({"v": 1, "text": "x" * 2_000_000}))


def test_files_outside_the_folder_and_python_are_refused(traced: Path) -> None:
    (traced.parent / "sub").mkdir()
    outside = traced.parent / "sub/outside.toml"
    outside.write_text(TRACED.replace("traces/slow.txt", "../traces/slow.txt"), encoding="utf-8")
    with pytest.raises(BadInput, match=r"outside\.toml: file = '\.\./traces/slow\.txt' is outside"):
        share.content(Scenario.load(outside))
    (traced.parent / "mine.py").write_text((ROOT / "examples/reno.py").read_text(encoding="utf-8"), encoding="utf-8")
    traced.write_text(TRACED + 'tcp = { congestion_control = { python = "mine.py:Reno" } }\n', encoding="utf-8")
    for overrides in ([], ["flow.f.tcp.congestion_control=reno"]):
        with pytest.raises(BadInput, match=r"traced\.toml: python = 'mine\.py:Reno': a link cannot hold"):
            share.content(Scenario.load(traced, overrides))


def test_a_page_holds_its_scenario(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web/lab.html").write_text(f"<body>{laboratory.START}</div></body>")
    monkeypatch.setattr("ackclock.apps.laboratory.resources.files", lambda _package: tmp_path)
    page = laboratory.page({"v": 1, "text": 'title = "</script><b>"'})
    inside = page.partition('type="application/json"')[2].partition(">")[2].partition("</script>")[0]
    assert json.loads(inside)["text"] == 'title = "</script><b>"'
    assert laboratory.page() == f"<body>{laboratory.START}</div></body>"


def test_without_a_built_page_the_message_says_how(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("ackclock.apps.laboratory.resources.files", lambda _package: tmp_path)
    with pytest.raises(BadInput, match="make web"):
        laboratory.page()
