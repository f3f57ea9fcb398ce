"""Suites and their comparison."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from ackclock import stats
from ackclock.apps.suite.difference import changes_between
from ackclock.apps.suite.folder import Suite, find, known
from ackclock.apps.suite.measures import SUITE_METRICS
from ackclock.apps.suite.result import Measure, SuiteMetadata, SuiteResult, read
from ackclock.apps.suite.run import run
from ackclock.base.assignment import control_table
from ackclock.base.files import BadInput
from ackclock.base.names import folder_name
from ackclock.study import Study
from ackclock.study.executors import Local

SUITE = """
title    = "Two situations"
source   = "a test"
standard = "reno"
summary  = "For tests."
[[situation]]
id = "one"
title = "One"
place = "here"
question = "How much?"
metrics = ["goodput", "utilisation", "p95_queueing", "loss", "share", "rivals_kept", "completion", "finished",
    "timeouts"]
seeds = 4
quick = 3
bottleneck = "a->b"
rivals = "other"
[[situation]]
id = "two"
title = "Two"
place = "here"
question = "How much?"
metrics = ["goodput"]
seeds = 4
quick = 3
[[omitted]]
what = "three"
why = "no need"
"""
ONE = """
duration = "10s"
[tcp]
profile = "ns2"
receive_window = 100
[[link]]
name = "l"
ends = ["a", "b"]
rate = "2Mbps"
delay = "20ms"
queue = { kind = "droptail", limit = "15p" }
[[flow]]
name = "t"
from = "a"
to = "b"
start_jitter = "1s"
[[flow]]
name = "other"
from = "a"
to = "b"
tcp = { congestion_control = "reno" }
start_jitter = "1s"
[sweep]
"link.l.queue" = [{ kind = "droptail", limit = "5p" }, { kind = "droptail", limit = "40p" }]
"""
TWO = ONE.replace('"t"', '"t"\nbytes = "200kB"').split("[sweep]")[0].replace('"ns2"', '"linux"\ntimestamps = false')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "suite"
    made.mkdir()
    for name, text in (("suite", SUITE), ("one", ONE), ("two", TWO)):
        (made / f"{name}.toml").write_text(text)
    return made


def test_a_controller_through_a_suite(folder: Path, tmp_path: Path) -> None:
    made = run(Suite(folder), "reno", tmp_path / "reno", Local(2))
    e = made.estimates()
    assert made.metadata.runs == 2 * 4 * 2 + 4
    small, large = "droptail limit=5p", "droptail limit=40p"
    # The tested controller is the standard one: rivals_kept is 1, and the share is near 1.
    assert e["one", small, "rivals_kept"].value == 1
    assert e["one", large, "share"].value == pytest.approx(1, abs=0.5)
    # Forty packets of 1,040 bytes and the one being sent, at 2 Mb/s.
    assert 0.7 * 170 < e["one", large, "p95_queueing"].value < 171
    assert e["one", small, "p95_queueing"].value < 26
    assert 90 < e["one", large, "utilisation"].value <= 100
    assert ("one", small, "completion") not in e
    # No point is deterministic, because outcomes differ by seed; intervals stay within the possible values.
    assert made.deterministic == set()
    assert all(x.n > 1 for x in e.values())
    assert all(x.low is not None and x.low >= 0 for x in e.values())
    assert (e["one", large, "utilisation"].high or 101) <= 100
    again = read(tmp_path / "reno")
    assert again == made
    page = (tmp_path / "reno" / "index.html").read_text()
    assert "Two situations" in page
    assert "no need" in page
    kept = run(Suite(folder), "reno", tmp_path / "reno", Local(2))
    assert kept.values() == made.values()


def test_seeds_that_decide_nothing_are_said(folder: Path, tmp_path: Path) -> None:
    (folder / "two.toml").write_text(TWO.replace('start_jitter = "1s"', ""))
    made = run(Suite(folder), "reno", tmp_path / "reno", Local(2))
    assert made.deterministic == {("two", "")}
    assert all((x.n == 1) == (key[0] == "two") for key, x in made.estimates().items())
    assert (tmp_path / "reno" / "index.html").read_text().count("deterministic, n = 1") == 1


def test_compare_tells_a_broken_controller_and_nothing_else(folder: Path, tmp_path: Path, root: Path) -> None:
    suite, reno = Suite(folder), f"{root / 'examples' / 'reno.py'}:Reno"
    rust = run(suite, "reno", tmp_path / "rust", Local(2))
    python = run(suite, reno, tmp_path / "python", Local(2))
    assert all(change.verdict == "same" for change in changes_between(rust, python))
    broken = run(suite, f'{{ python = "{reno}", keep = 0.1 }}', tmp_path / "broken", Local(2))
    found = {(c.point, c.metric): c for c in changes_between(rust, broken)}
    worse = found["droptail limit=40p", "goodput"]
    assert worse.verdict == "worse"
    assert worse.b is not None
    assert worse.b < worse.a
    assert worse.difference.high is not None
    assert worse.difference.high < 0
    command = [sys.executable, "-m", "ackclock.cli", "compare", str(tmp_path / "rust")]
    for other, status in (("python", 0), ("broken", 1)):
        done = subprocess.run([*command, str(tmp_path / other)], capture_output=True, text=True, check=False)
        assert done.returncode == status, done.stdout + done.stderr
    assert "worse" in done.stdout


def fake(folder: Path, values: dict[str, list[float]], quick: bool = False, suite: str = "s") -> SuiteResult:
    measures = [Measure("one", "", m, seed, x) for m, xs in values.items() for seed, x in enumerate(xs, 1)]
    return SuiteResult(SuiteMetadata(suite, "", "c", quick, "e", 1), folder, measures, {}, [], set())


def test_verdicts_are_paired_corrected_and_tolerant() -> None:
    here = Path()
    before = fake(here, {"goodput": [10, 20, 30, 40, 50], "queueing": [5, 6, 7, 8, 9], "share": [1, 1, 1, 1, 1]})
    shift: dict[str, list[float]] = {
        "goodput": [10.5, 21, 31.4, 42, 52.6],
        "queueing": [5, 6.2, 6.9, 8.1, 8.8],
        "share": [2, 2, 2, 2, 2],
    }
    found = {c.metric: c for c in changes_between(before, fake(here, shift))}
    # An increase of 5 % for every seed is significant when paired, although the values differ far more between seeds.
    assert (found["goodput"].verdict, found["queueing"].verdict, found["share"].verdict) == ("better", "same", "other")
    raw = stats.p_value([0.5, 1, 1.4, 2, 2.6], 0.0)
    assert raw is not None
    assert found["goodput"].p == pytest.approx(3 * raw / 2)  # the second of three
    assert next(iter(changes_between(before, fake(here, shift), tolerance=0.1))).verdict == "same"
    few = {c.metric: c.verdict for c in changes_between(before, fake(here, {"goodput": [10, 20, 30]}))}
    assert few == {"goodput": "missing", "queueing": "missing", "share": "missing"}
    with pytest.raises(BadInput, match="run both with or both without --quick"):
        changes_between(before, fake(here, shift, quick=True))
    with pytest.raises(BadInput, match="is of the suite s"):
        changes_between(before, fake(here, shift, suite="other"))
    with pytest.raises(BadInput, match="no metric in common"):
        changes_between(before, fake(here, {"loss": [1.0]}))


def test_what_a_controller_needs_and_a_situation_lacks(folder: Path, tmp_path: Path) -> None:
    # SARBE reads the receiver's clock, and `two` has none.
    made = run(Suite(folder), "sarbe", tmp_path / "sarbe", Local(1), quick=True)
    assert list(made.refused) == ["two"]
    assert "Not tried: sarbe needs" in (tmp_path / "sarbe" / "index.html").read_text()
    (folder / "one.toml").write_text(TWO)
    with pytest.raises(BadInput, match="sarbe needs the receiver's clock"):
        run(Suite(folder), "sarbe", tmp_path / "sarbe", Local(1))


def test_every_situation_of_the_package_is_in_order() -> None:
    assert known() == [
        "bbr-draft",
        "c4-tests",
        "media",
        "ratelimited",
        "rfc9406",
        "rfc9438",
        "rfc9743",
        "startup",
        "tcpeval",
    ]
    suite = find("tcpeval")
    files = {path.stem for path in suite.folder.glob("*.toml")} - {"suite", "dumbbell", "bottleneck", "two-flows"}
    assert files == {situation.id for situation in suite.situations}
    for situation in suite.situations:
        study = Study.load(suite.path(situation), ["tcp.congestion_control=cubic"])
        scenario = study.scenario(0)
        assert scenario.duration_s > 0
        assert situation.seeds >= situation.quick >= 3
    assert {m for s in suite.situations for m in s.metrics} <= set(SUITE_METRICS)


def test_one_situation_of_the_package_end_to_end(tmp_path: Path) -> None:
    suite = find("tcpeval")
    suite.situations[:] = [s for s in suite.situations if s.id in {"against", "incast", "aqm"}]
    made = run(suite, '{ kind = "vegas", alpha = 1 }', tmp_path / "vegas", Local(2), quick=True)
    shares = [e.value for (s, _, metric), e in made.estimates().items() if (s, metric) == ("against", "share")]
    assert max(shares) < 0.9  # Vegas gets less than Reno and CUBIC
    deep = Suite(suite.folder)
    deep.situations[:] = [s for s in deep.situations if s.id == "bufferbloat"]
    reno = run(deep, "reno", tmp_path / "reno", Local(2), quick=True).estimates()
    # The buffer is 4 BDP of a 44 ms path. Reno fills it, and this standing queue counts despite the warm-up.
    assert 0.8 * 160 < reno["bufferbloat", "droptail limit=4bdp", "p95_queueing"].value < 1.1 * 176
    with open(tmp_path / "vegas" / "measures.csv", encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(made.measures)
    assert json.loads((tmp_path / "vegas" / "suite.json").read_text())["suite"] == "tcpeval"


def test_names_and_mistakes(tmp_path: Path, folder: Path) -> None:
    assert control_table("cubic") == {"kind": "cubic"}
    assert control_table("rcp_plus", {"rcp_plus": {"flows": 3}}) == {"kind": "rcp_plus", "flows": 3}
    assert folder_name('{ kind = "vegas", alpha = 1 }') == "kind-vegas-alpha-1"
    with pytest.raises(BadInput, match="did you mean tcpeval"):
        find("tcpevl")
    with pytest.raises(BadInput, match="no suite was run there"):
        read(tmp_path)
    (folder / "suite.toml").write_text(SUITE.replace('"timeouts"]', '"timeuots"]'))
    with pytest.raises(BadInput, match="there is no metric timeuots; did you mean timeouts"):
        Suite(folder)
    command = [sys.executable, "-m", "ackclock.cli", "suite", "tcpeval", "--control", "renno", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert 'unknown controller "renno"; did you mean "reno"' in done.stderr


def test_quic_flows_get_the_controller_and_published_values_are_shown(tmp_path: Path) -> None:
    text = """
title = "t"
source = "s"
summary = "s"
reference = "their table"
[[situation]]
id = "one"
title = "One"
group = "Kinds"
metrics = ["goodput"]
reference = { goodput = 1.5 }
transport = "quic"
"""
    (tmp_path / "suite.toml").write_text(text)
    flows = '[[flow]]\nname = "t"\nfrom = "a"\nto = "b"\nquic = {}\nstart_jitter = "1s"\n'
    link = '[[link]]\nends = ["a", "b"]\nrate = "2Mbps"\ndelay = "20ms"\n'
    (tmp_path / "one.toml").write_text(f'duration = "5s"\n{link}{flows}')
    results = {
        control: run(Suite(tmp_path), control, tmp_path / "out" / control, Local(1)) for control in ("cubic", "bbr")
    }
    goodputs = [result.measures[0].value for result in results.values()]
    assert goodputs[0] != goodputs[1]
    page = (tmp_path / "out" / "bbr" / "index.html").read_text(encoding="utf-8")
    assert "<em>their table</em>" in page
    assert "<em>1.5</em>" in page
    assert "<strong>Kinds</strong>" in page
    for old, new, message in (
        ('"quic"', '"udp"', "transport: must be tcp or quic"),
        ("{ goodput = 1.5 }", "{ jain = 1 }", "reference: jain is not among its metrics"),
    ):
        (tmp_path / "suite.toml").write_text(text.replace(old, new))
        with pytest.raises(BadInput, match=message):
            Suite(tmp_path)


@pytest.mark.parametrize("bad", ["../escaped", "a/b", "", ".hidden", "x-standard"])
def test_a_situation_cannot_name_files_elsewhere(tmp_path: Path, bad: str) -> None:
    text = f'title = "t"\nsource = "s"\nsummary = "s"\nstandard = "reno"\n[[situation]]\nid = "{bad}"\n'
    (tmp_path / "suite.toml").write_text(
        text + 'title = "t"\nplace = "p"\nquestion = "q"\nmetrics = ["goodput"]\nseeds = 2\nquick = 1\n'
    )
    with pytest.raises(BadInput, match="an id must be letters"):
        Suite(tmp_path)
