"""The table and the figure of docs/controllers.md: every controller in the same small networks.

    python validation/controllers/table.py    three minutes on two cores; needs valgrind

- alone: least utilisation of a path of 20 Mb/s and 40 ms, buffer of one bandwidth-delay product (tests/test_alone.py);
- bursts: least goodput after bursts of other traffic, of that of Reno, in 200 networks (tests/test_bursts.py);
- queue: mean queueing delay on that path with a buffer of four bandwidth-delay products, after 20 s;
- losses: goodput with random losses of 1 %, five seeds;
- instructions: those of an ACK with its segment (crates/cc/benches/per_ack.rs), less Reno's;
- lines: those of its files without comments and tests.
"""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ackclock import Scenario
from ackclock.apps import catalog

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from test_alone import NEEDS_RECEIVER_TIME, utilisation  # noqa: E402
from test_bursts import goodput, of_reno  # noqa: E402

PAGE = ROOT / "docs" / "controllers.md"
FIGURE = ROOT / "docs" / "figures" / "controllers.svg"
ROUTERS = ("rcp", "xcp")
RATE_BPS = 20e6
FEW_AND_MORE_ACKS = (50_000, 150_000)


def replaced(page: str, name: str, lines: list[str]) -> str:
    """The page with other lines between the marks of a table. Raises ValueError without them."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    if begin not in page or end not in page:
        raise ValueError(f"{PAGE}: {begin.strip()} or {end} is missing")
    return page.partition(begin)[0] + begin + "\n".join([*lines, ""]) + end + page.partition(end)[2]


def path(limit: str, loss: float = 0.0) -> dict[str, Any]:
    """One flow over a path of 20 Mb/s and 40 ms."""
    link: dict[str, Any] = {"ends": ["a", "b"], "rate": "20Mbps", "delay": "20ms", "back": {"loss": []}}
    link["queue"] = {"kind": "droptail", "limit": limit}
    if loss:
        link["loss"] = {"kind": "bernoulli", "rate": loss}
    return {
        "duration": "80s",
        "warmup": "20s",
        "tcp": {"timestamps": True, "receive_window": 10_000},
        "link": [link],
        "flow": [{"name": "f", "from": "a", "to": "b"}],
    }


def run(document: dict[str, Any], control: str, seed: int = 1) -> dict[str, Any]:
    """The outcome of a network with a controller."""
    return Scenario.build(document, [f"tcp.congestion_control={control}"]).run(seed=seed).outcome


def row(control: str) -> dict[str, float]:
    """The numbers of a controller; of routers' controllers there are none."""
    alone = min(
        utilisation(control, "linux", timestamps, delayed)
        for timestamps, delayed in itertools.product((False, True), repeat=2)
        if timestamps or control not in NEEDS_RECEIVER_TIME
    )
    bursts = min(goodput(control, number) / of_reno(number) for number in range(200))
    link = run(path("4bdp"), control)["links"][0]
    queue_s = link["mean_queue_packets"] * 12_000 / RATE_BPS
    lossy = statistics.mean(
        run(path("1bdp", 0.01), control, seed)["flows"][0]["goodput_bps"] / RATE_BPS for seed in range(1, 6)
    )
    return {"alone": alone, "bursts": bursts, "queue_ms": 1e3 * queue_s, "losses": lossy}


@cache
def benchmark() -> str:
    """The program of the benchmark per_ack, built."""
    command = ["cargo", "bench", "--quiet", "-p", "ackclock-cc", "--bench", "per_ack", "--no-run"]
    out = subprocess.check_output([*command, "--message-format=json"], cwd=ROOT, text=True, stderr=subprocess.DEVNULL)
    built = [json.loads(line) for line in out.splitlines()]
    return str(next(row["executable"] for row in built if row.get("executable") and row["target"]["name"] == "per_ack"))


@cache
def instructions(control: str) -> float:
    """Instructions of an ACK with its segment, with those of the benchmark."""
    counts = []
    for acks in FEW_AND_MORE_ACKS:
        command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", benchmark(), control, str(acks)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        counts.append(int(done.stderr.rpartition("Collected :")[2].split()[0]))
    return (counts[1] - counts[0]) / (FEW_AND_MORE_ACKS[1] - FEW_AND_MORE_ACKS[0])


def lines(control: str) -> int:
    """Lines of the files of a controller, without comments, empty lines and tests."""
    crate = ROOT / "crates" / "cc" / "src"
    files = [crate / f"{control}.rs", *sorted((crate / control).glob("*.rs"))]
    texts = [
        file.read_text(encoding="utf-8").partition("#[cfg(test)]\nmod tests {")[0] for file in files if file.is_file()
    ]
    code = [
        line.strip()
        for file, text in zip(files, texts, strict=False)
        for line in text.splitlines()
        if file.stem != "tests"
    ]
    return sum(bool(line) and not line.startswith("//") for line in code)


@contextmanager
def rows_of_dots(path: Path, titles: list[str], families: dict[str, str]) -> Iterator[list[Axes]]:
    """Panels of a figure with a row for each controller of `families`, in order; lines separate the families."""
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    mpl.rcParams |= {"svg.hashsalt": "ackclock", "font.size": 9, "font.family": "sans-serif"}
    names = list(families)
    figure, axes = plt.subplots(1, len(titles), figsize=(8.2, 0.235 * len(names) + 1.2), sharey=True)
    for title, axis in zip(titles, axes, strict=True):
        for at, (before, name) in enumerate(itertools.pairwise(names)):
            if families[name] != families[before]:
                axis.axhline(at + 0.5, color="0.6", linewidth=0.6)
        axis.set_title(title, fontsize=9)
        axis.spines[["top", "right"]].set_visible(False)
        axis.tick_params(length=2)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].set_ylim(len(names) - 0.4, -0.6)
    yield list(axes)
    figure.tight_layout(w_pad=1.8)
    figure.savefig(path, metadata={"Date": None})


def draw(families: dict[str, str], rows: dict[str, dict[str, float]]) -> None:
    """A row of three dots for each controller."""
    columns = {
        "queue_ms": "queueing delay, ms",
        "losses": "part of the link with 1 % losses",
        "bursts": "after bursts, of Reno's goodput",
    }
    with rows_of_dots(FIGURE, list(columns.values()), families) as axes:
        for key, axis in zip(columns, axes, strict=True):
            for at, name in enumerate(families):
                value = min(rows[name][key], 1.5) if key == "bursts" else rows[name][key]
                axis.plot([0, value], [at, at], color="0.85", linewidth=1, zorder=1)
                axis.plot(value, at, "o", color="tab:blue", markersize=5, zorder=2)
            axis.set_xlim(left=0)
        for axis in axes[1:]:
            axis.set_xticks([0, 0.5, 1])


def main() -> None:
    """Write the table and the figure."""
    entries = catalog.entries("controllers")
    names = [entry["name"] for entry in entries if entry["name"] not in ROUTERS]
    with ProcessPoolExecutor(2) as pool:
        rows = dict(zip(names, pool.map(row, names), strict=True))
    text = [
        "| controller | family | alone | bursts | queue, ms | losses | instructions | lines |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for entry in entries:
        name = entry["name"]
        cells = ["", "", "", ""]
        if name in rows:
            one = rows[name]
            cells = [f"{one['alone']:.2f}", f"{one['bursts']:.2f}", f"{one['queue_ms']:.0f}", f"{one['losses']:.2f}"]
        cells += [f"{instructions(name) - instructions('reno'):.0f}", str(lines(name))]
        text.append(f"| `{name}` | {entry['family']} | {' | '.join(cells)} |")
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), "table", text), encoding="utf-8")
    draw({entry["name"]: entry["family"] for entry in entries if entry["name"] in rows}, rows)


if __name__ == "__main__":
    main()
