"""Studies: the store survives kills and damage, and the table is always the same."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pytest

from ackclock.base.files import BadInput
from ackclock.base.table_files import write_frame
from ackclock.study import Run, Store, Study, Until, results, sweep
from ackclock.study.executors import Local
from ackclock.study.store import FILE

Command = Callable[..., "subprocess.CompletedProcess[str]"]

STUDY = """
title = "a small study"
duration = "1s"
sweep = { "link.l.rate" = ["1Mbps", "2Mbps"], "flow.f.tcp.congestion_control" = ["reno", "vegas"], seed = "1..5" }
[[link]]
name = "l"
ends = ["a", "b"]
rate = "1Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "7p" }
loss = { kind = "bernoulli", rate = 0.01 }
[[flow]]
name = "f"
from = "a"
to = "b"
start_jitter = "100ms"
tcp = { profile = "ns2", receive_window = 100 }
"""


@pytest.fixture
def study() -> Study:
    return Study.parse(STUDY)


def fill(study: Study, folder: Path, **options: object) -> pl.DataFrame:
    with Store.create(folder) as store:
        sweep(study, store, Local(2), **options)  # type: ignore[arg-type]
        return results.table(store)


def test_table_has_every_run_once_in_order(study: Study, tmp_path: Path) -> None:
    table = fill(study, tmp_path / "s")
    assert table.height == table["run_id"].n_unique() == 20
    assert table["seed"].to_list() == [1, 2, 3, 4, 5] * 4
    assert table["link.l.rate"].to_list() == ["1Mbps"] * 10 + ["2Mbps"] * 10
    row = table.row(6, named=True)
    alone = Study.parse(STUDY).scenario(1).run(seed=2).outcome
    assert row["f.goodput_bps"] == alone["flows"][0]["goodput_bps"]
    assert row["a->b.dropped_loss"] == alone["links"][0]["dropped_packets"]["loss"]
    assert row["jain"] == 1.0
    assert not {"cpu_s", "wall_s", "finished_at"} & set(table.columns)


def test_what_is_there_is_kept_and_more_seeds_are_added(study: Study, tmp_path: Path) -> None:
    with Store.create(tmp_path / "s") as store:
        assert vars_of(sweep(study, store, Local(2))) == (20, 0, 20, 0)
        before = list(store.runs())
        assert vars_of(sweep(study, store, Local(2))) == (20, 20, 0, 0)
        assert list(store.runs()) == before
        more = Study.parse(STUDY.replace("1..5", "1..7"))
        assert vars_of(sweep(more, store, Local(2))) == (28, 20, 8, 0)


def vars_of(summary: object) -> tuple[int, ...]:
    return tuple(getattr(summary, name) for name in ("runs", "kept", "done", "failed"))


def flip(file: Path, bit: int) -> None:
    """Flip one bit of a file."""
    content = bytearray(file.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    file.write_bytes(content)


def read(folder: Path) -> tuple[pl.DataFrame, list[str]]:
    """The table of results and the notes of the store."""
    try:
        with Store.open(folder) as store:
            return results.table(store), store.notes
    except BadInput as error:
        return pl.DataFrame(), [str(error)]


@pytest.mark.parametrize("first", [False, True])
def test_a_flipped_bit_is_never_shown(study: Study, tmp_path: Path, first: bool) -> None:
    """With any bit flipped, rows read are correct, missing runs are reported, and a sweep reruns few other runs."""
    whole = fill(study, tmp_path / "whole")
    original = (tmp_path / "whole" / FILE).read_bytes()
    bits = random.Random(1)
    for number in range(30):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / FILE).write_bytes(original)
        flip(folder / FILE, bits.randrange(8 * (4096 if first else len(original))))
        shown, notes = read(folder)
        assert shown.height == whole.height or notes
        if shown.height:
            same = whole.join(shown, on=shown.columns, how="semi", nulls_equal=True)
            assert same.height == shown.height
        with Store.create(folder) as store:
            summary = sweep(study, store, Local(2))
            assert summary.done <= 7
            assert results.table(store).equals(whole)
            assert not store.damaged


@pytest.mark.parametrize("damage", ["garbage", "cut", "empty", "wal"])
def test_a_broken_file_is_set_aside(study: Study, tmp_path: Path, damage: str) -> None:
    whole = fill(study, tmp_path / "s")
    file = tmp_path / "s" / FILE
    content = file.read_bytes()
    if damage == "wal":
        file.with_name(f"{FILE}-wal").write_bytes(b"no log" * 1000)
    else:
        file.write_bytes({"garbage": b"no database" * 1000, "cut": content[: len(content) // 2], "empty": b""}[damage])
    with Store.create(tmp_path / "s") as store:
        assert vars_of(sweep(study, store, Local(2)))[3] == 0
        assert results.table(store).equals(whole)
        assert bool(store.notes) == (damage in {"garbage", "cut"})


def test_a_full_disk_is_told_and_loses_nothing(study: Study, tmp_path: Path) -> None:
    whole = fill(study, tmp_path / "whole")
    with Store.create(tmp_path / "s") as store:
        pages = store._index.execute("PRAGMA page_count").fetchone()[0]
        store._index.execute(f"PRAGMA max_page_count = {pages + 3}")
        with pytest.raises(BadInput, match=r"the disk is full; finished runs are kept: make room"):
            sweep(study, store, Local(2))
    with Store.create(tmp_path / "s") as store:
        assert vars_of(sweep(study, store, Local(2)))[3] == 0
        assert results.table(store).equals(whole)


@pytest.mark.parametrize("first", [False, True])
def test_an_interrupt_of_the_plan_leaves_the_store(study: Study, tmp_path: Path, first: bool) -> None:
    """The plan of a million runs takes seconds to write."""

    class Interrupted(list[tuple[Run, dict[str, str]]]):
        def __iter__(self) -> Iterator[tuple[Run, dict[str, str]]]:
            yield self[0]
            raise KeyboardInterrupt

    before = pl.DataFrame() if first else fill(study, tmp_path)
    with Store.create(tmp_path) as store, pytest.raises(KeyboardInterrupt):
        store.set_plan(study, Interrupted((run, {}) for run in study.runs()))
    with Store.open(tmp_path) as store:
        assert store.notes == []
        assert results.table(store).equals(before)
        assert store.about("title") == (None if first else "a small study")


def test_a_finished_study_is_read_without_a_trace(study: Study, tmp_path: Path) -> None:
    fill(study, tmp_path / "s")
    before = sorted(path.name for path in (tmp_path / "s").iterdir())
    assert before == [".lock", FILE]
    with Store.open(tmp_path / "s") as store:
        assert results.table(store).height == 20
        assert sorted(path.name for path in (tmp_path / "s").iterdir()) == before


def test_an_earlier_layout_is_refused(study: Study, tmp_path: Path) -> None:
    index = sqlite3.connect(tmp_path / FILE)
    index.execute("CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL)")
    index.close()
    for opened in (Store.open, Store.create):
        with pytest.raises(BadInput, match="was made by an earlier version; give another folder"):
            opened(tmp_path)


def test_another_study_is_refused(study: Study, tmp_path: Path) -> None:
    fill(study, tmp_path / "s")
    other = Study.parse(STUDY.replace('"link.l.rate" = ["1Mbps", "2Mbps"], ', ""))
    with Store.create(tmp_path / "s") as store, pytest.raises(BadInput, match=r"holds .a small study. with the axes"):
        sweep(other, store, Local(2))
    with Store.open(tmp_path / "s") as store:
        assert len(list(store.runs())) == 20


def test_one_writer_at_a_time(study: Study, tmp_path: Path) -> None:
    with Store.create(tmp_path / "s"):
        with pytest.raises(BadInput, match="another process is running a sweep"):
            Store.create(tmp_path / "s")
        with Store.open(tmp_path / "s") as reader:  # reading is always allowed
            assert list(reader.runs()) == []


def test_a_reader_sees_a_sweep_that_starts_later(study: Study, tmp_path: Path) -> None:
    fill(study, tmp_path / "s")
    with Store.open(tmp_path / "s") as reader:
        assert len(list(reader.runs())) == 20
        more = Study.parse(STUDY.replace("1..5", "1..6"))
        with Store.create(tmp_path / "s") as store:
            assert vars_of(sweep(more, store, Local(2))) == (24, 20, 4, 0)
            assert len(list(reader.runs())) == 24
        assert results.table(reader).height == 24


def test_a_folder_without_write_permission_is_read(study: Study, tmp_path: Path) -> None:
    """Also if its file was left in the mode with a write-ahead log. Root, who may write anywhere, reads as nobody."""
    folder = tmp_path / "s"
    fill(study, folder)
    index = sqlite3.connect(folder / FILE)
    index.execute("PRAGMA journal_mode = WAL")
    index.close()
    for path in folder.parents:
        if path.stat().st_mode & 0o005 != 0o005:
            path.chmod(0o755)
    folder.chmod(0o555)
    script = (
        "import os, sys; from pathlib import Path; from ackclock.study import Store\n"
        "os.getuid() or os.setuid(65534)\n"
        "with Store.open(Path(sys.argv[1])) as store: print(len(list(store.runs())))"
    )
    shown = subprocess.run([sys.executable, "-c", script, str(folder)], capture_output=True, text=True)
    folder.chmod(0o755)
    assert shown.stdout == "20\n", shown.stderr


def test_sequential_stopping(study: Study, tmp_path: Path) -> None:
    with Store.create(tmp_path / "s") as store:
        sweep(study, store, Local(2), until=Until("f.goodput_bps", 0.02, least=5, most=60))
        rows = results.summary(store, ["f.goodput_bps"])
    assert len({row["runs"] for row in rows}) > 1
    for row in rows:
        mean = row["means"]["f.goodput_bps"]
        assert row["runs"] == 60 or mean.half_width <= 0.02 * mean.value
    with Store.open(tmp_path / "s") as store, pytest.raises(BadInput, match=r"there is no metric f\.speed"):
        results.summary(store, ["f.speed"])


def test_a_warm_up_is_left_out() -> None:
    text = STUDY.replace('duration = "1s"', 'duration = "10s"\nwarmup = "4s"').replace('start_jitter = "100ms"', "")
    result = Study.parse(text).scenario(0).run(seed=1, trace="changes", packets=True, audit=True)
    flow, link = result.outcome["flows"][0], result.outcome["links"][0]
    assert result.outcome["warmup_s"] == 4.0
    late = result.packets.filter(pl.col("time_s") > 4.0, pl.col("link") == "a->b")
    delivered = late.filter(pl.col("event") == "deliver")
    assert link["delivered_packets"] == delivered.height
    assert flow["throughput_bps"] == pytest.approx(float(delivered["size"].sum()) * 8 / 6.0)
    assert link["dropped_packets"]["loss"] == late.filter(pl.col("reason") == "loss").height
    sent = float(late.filter(pl.col("event") == "depart")["size"].cast(pl.Float64).sum())
    assert link["utilisation"] == pytest.approx(sent * 8 / 6e6, rel=3e-3)
    trace = result.trace.filter(pl.col("time_s") <= 4.0).tail(1).vstack(result.trace.filter(pl.col("time_s") > 4.0))
    times = [4.0, *trace["time_s"].to_list()[1:], 10.0]
    area = sum(w * (b - a) for w, a, b in zip(trace["cwnd"], times, times[1:], strict=False))
    assert flow["mean_cwnd"] == pytest.approx(area / 6.0)


@pytest.fixture
def own_cluster() -> Iterator[dict[str, str]]:
    """The environment in which Ray starts a cluster of its own, whatever other clusters run on this computer."""
    environment = {key: value for key, value in os.environ.items() if key != "RAY_ADDRESS"}
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp", ignore_cleanup_errors=True) as folder:  # short: sockets
        yield environment | {"RAY_TMPDIR": folder, "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


def kill_and_repeat(folder: Path, file: Path, engine: str, environment: dict[str, str]) -> dict[str, int]:
    """Start a sweep, kill it twice with SIGKILL, repeat it to the end. Returns the summary of the last sweep."""
    command = [str(Path(sys.executable).parent / "ackclock"), "sweep", str(file), "--out", str(folder), "--json"]
    command += ["--engine", engine, "--jobs", "2"]
    seen: set[str] = set()
    for part in (0.2, 0.6):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment)
        while process.poll() is None:
            if len(seen := finished(folder)) >= part * 1000:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert seen <= finished(folder)
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert seen <= finished(folder)
    summary: dict[str, int] = json.loads(done.stdout)
    return summary


def finished(folder: Path) -> set[str]:
    try:
        with Store.open(folder) as store:
            return {str(run["run_id"]) for run in store.runs()}
    except (BadInput, OSError):
        return set()


def test_a_cluster_gives_the_same_table(study: Study, tmp_path: Path, own_cluster: dict[str, str]) -> None:
    """`make nightly` also kills a sweep on a cluster."""
    file = tmp_path / "study.toml"
    file.write_text(STUDY)
    command = [str(Path(sys.executable).parent / "ackclock"), "sweep", str(file), "--out", str(tmp_path / "cluster")]
    done = subprocess.run([*command, "--engine", "ray", "--jobs", "2"], capture_output=True, text=True, env=own_cluster)
    assert done.returncode == 0, done.stderr
    with Store.open(tmp_path / "cluster") as store:
        assert results.table(store).equals(fill(study, tmp_path / "local"))


@pytest.mark.parametrize("engine", ["local", pytest.param("ray", marks=pytest.mark.nightly)])
def test_killed_twice_and_repeated(root: Path, tmp_path: Path, engine: str, own_cluster: dict[str, str]) -> None:
    text = (root / "scenarios" / "dumbbell.toml").read_text()
    file = tmp_path / "study.toml"
    text = text.replace('duration = "60s"', 'duration = "20s"')
    file.write_text(text.replace("duration", 'sweep = { seed = "1..1000" }\nduration', 1))
    whole = fill(Study.load(file), tmp_path / "whole")
    summary = kill_and_repeat(tmp_path / "killed", file, engine, own_cluster)
    assert (summary["runs"], summary["failed"]) == (1000, 0)
    assert summary["kept"] + summary["done"] == 1000
    assert summary["kept"] >= 600
    with Store.open(tmp_path / "killed") as store:
        table = results.table(store)
    assert table["run_id"].n_unique() == table.height == 1000
    assert table.equals(whole)


def test_commands(ackclock: Command, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    file.write_text(STUDY)
    assert "20 runs" in ackclock("check", file).stdout
    done = ackclock("sweep", file, "--out", tmp_path / "o", "--json")
    assert json.loads(done.stdout) == {"runs": 20, "kept": 0, "done": 20, "failed": 0}
    assert done.stderr == ""
    rows = [json.loads(line) for line in ackclock("results", tmp_path / "o", "--runs").stdout.splitlines()]
    assert len(rows) == 20
    assert list(rows[0]) == ["run_id", "finished_at", "seed", "axes"]
    assert rows[0]["axes"] == {"link.l.rate": "1Mbps", "flow.f.tcp.congestion_control": "reno"}
    shown = ackclock("results", tmp_path / "o", "--metric", "f.goodput_bps", "--where", "link.l.rate=2Mbps").stdout
    assert shown.count("2Mbps") == 2
    assert "[" in shown
    some = tmp_path / "some.csv"
    assert ackclock("results", tmp_path / "o", "--where", "link.l.rate=1Mbps", "--export", some).returncode == 0
    assert pl.read_csv(some).height == 10
    for bad, message in (("link.l.rate=9Mbps", "is never 9Mbps"), ("speed=1", "--where speed: there is no such axis")):
        for more in ([], ["--runs"], ["--export", some]):
            done = ackclock("results", tmp_path / "o", "--where", bad, *more)
            assert (done.returncode, message in done.stderr) == (2, True)
    assert "there is no metric f.control" in ackclock("results", tmp_path / "o", "--metric", "f.control").stderr
    for name in ("t.csv", "t.parquet"):
        assert ackclock("results", tmp_path / "o", "--export", tmp_path / name).returncode == 0
    assert pl.read_csv(tmp_path / "t.csv").columns == pl.read_parquet(tmp_path / "t.parquet").columns
    text = pl.read_csv(tmp_path / "t.csv")
    assert text.columns[:4] == ["run_id", "seed", "link.l.rate", "flow.f.tcp.congestion_control"]
    assert text.height == 20


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["sweep", "{file}"], "requires an argument"),
        (["sweep", "{file}", "--out", "{file}"], "is a file"),
        (["sweep", "{file}", "--out", "{folder}"], "holds s.toml and no study"),
        (["sweep", "{file}", "--out", "{folder}/o", "--jobs", "0"], "--jobs is a number from 1 to 1,024"),
        (["sweep", "{file}", "--out", "{folder}/o", "--until", "speed"], "must be METRIC:PERCENT"),
        (["sweep", "{file}", "--out", "{folder}/o", "--set", "flow.f.start=slow"], "flow.f.start"),
        (["sweep", "{folder}/none.toml", "--out", "{folder}/o"], "No such file"),
        (["results", "{folder}"], "there is no study here"),
        (["sweep", "{file}", "--out", "{folder}/o", "--jobs", "100000"], "--jobs is a number from 1 to 1,024"),
        (["check", "{file}", "--bogus"], "Unknown option"),
    ],
)
def test_bad_input(ackclock: Command, tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "s.toml").write_text(STUDY)
    filled = [a.replace("{file}", str(tmp_path / "s.toml")).replace("{folder}", str(tmp_path)) for a in arguments]
    done = ackclock(*filled)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["s.toml"]


def test_identity(study: Study) -> None:
    first = study.runs()
    assert first == Study.parse(STUDY + "\n# a remark\n").runs()
    assert isinstance(first[0], Run)
    assert len({run.run_id for run in first}) == 20
    assert not {r.run_id for r in first} & {r.run_id for r in Study.parse(STUDY.replace('"1s"', '"2s"')).runs()}


def test_an_axis_may_be_called_like_a_column(tmp_path: Path) -> None:
    text = STUDY.replace(
        'sweep = { "link.l.rate" = ["1Mbps", "2Mbps"], "flow.f.tcp.congestion_control" = ["reno", "vegas"], ',
        "sweep = { ",
    )
    names = ("run_id", "jain", "events", "f.goodput_bps")
    axes = ", ".join(f'"{name}" = {{ {n}x = {{ "link.l.delay" = "{n + 1}ms" }} }}' for n, name in enumerate(names))
    study = Study.parse(text.replace("sweep = {", f"sweep = {{ {axes},"))
    table = fill(study, tmp_path / "s")
    assert table["axis.jain"].to_list() == ["1x"] * 5
    assert table["jain"].to_list() == [1.0] * 5
    assert set(table["axis.run_id"]) == {"0x"}
    assert table["run_id"].n_unique() == 5


def test_parallel_links_have_columns_of_their_own(tmp_path: Path) -> None:
    link = STUDY[STUDY.index("[[link]]") : STUDY.index("[[flow]]")]
    table = fill(Study.parse(STUDY.replace("[[flow]]", link.replace('"l"', '"m"') + "[[flow]]", 1)), tmp_path / "s")
    assert {"a->b.utilisation", "a->b#2.utilisation", "b->a#2.utilisation"} <= set(table.columns)
    assert set(table["a->b#2.utilisation"]) == {0.0}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_low_latency_queue_has_columns_of_its_own(tmp_path: Path, ending: str) -> None:
    """Of the points with DualPI2; a point with another queue has none."""
    text = STUDY.replace('"link.l.rate" = ["1Mbps", "2Mbps"]', '"link.l.queue.kind" = ["droptail", "dualpi2"]')
    study = Study.parse(text.replace("1..5", "1..2").replace("7p", "70p"))
    fill(study, tmp_path / "s")
    file = tmp_path / f"s.{ending}"
    with Store.open(tmp_path / "s") as store:
        results.export(store, file)
        outcomes = store.outcomes().to_dicts()
    table = pl.read_csv(file) if ending == "csv" else pl.read_parquet(file)
    shown = table["a->b.low_latency.sent_packets"].to_list()
    links = [row["links"][0] for row in outcomes]
    assert shown == [(link["low_latency"] or {}).get("sent_packets") for link in links]
    assert None in shown
    assert 0 in shown
    assert not any(dtype.is_nested() for dtype in table.schema.values())


def test_seeds_that_decide_nothing_are_said(tmp_path: Path) -> None:
    """A point is deterministic if whole outcomes are equal, not if one metric is equal by chance."""
    quiet = STUDY.replace('loss = { kind = "bernoulli", rate = 0.01 }', "").replace('start_jitter = "100ms"', "")
    for text, folder in ((quiet, tmp_path / "quiet"), (STUDY, tmp_path / "random")):
        fill(Study.parse(text), folder)
        with Store.open(folder) as store:
            rows = results.summary(store, ["f.goodput_bps", "f.timeouts"])
        deterministic = text == quiet
        assert [row["deterministic"] for row in rows] == [deterministic] * 4
        assert {row["runs"] for row in rows} == {5}
        expected = (1, None) if deterministic else (5, 5)
        goodput = rows[0]["means"]["f.goodput_bps"]
        assert (goodput.n, goodput.low and goodput.n) == expected


def test_csv_has_lists_and_structures_as_json(tmp_path: Path) -> None:
    """The outcome of a Wi-Fi link has rows of access categories."""
    path = tmp_path / "x.csv"
    write_frame(pl.DataFrame({"n": [1, 2], "wifi": [{"rows": [1, 2]}, None]}), path)
    assert path.read_text(encoding="utf-8").splitlines() == ["n,wifi", '1,"{""rows"": [1, 2]}"', "2,"]
