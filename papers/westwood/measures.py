"""The three kinds together, and the contradictions of Table 1."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import polars as pl

from ackclock import stats
from ackclock.apps.papers.results import Results


def _mixed(results: Results, error: str, rival: str = "f0") -> list[float]:
    rows = results.flows("mixed").filter((pl.col("control") == "mixed") & (pl.col("error") == error))
    found = []
    for _, one in sorted(rows.group_by("seed"), key=lambda group: group[0]):
        by_name = dict(zip(one["name"], one["throughput_bps"], strict=True))
        found.append(math.log(by_name["f2"] / by_name[rival]))
    return found


def mixed_clean(results: Results) -> list[float]:
    """Of each seed the logarithm of WestwoodNR's throughput over SACK's, the stronger of its rivals, no errors."""
    return _mixed(results, "none")


def mixed_lossy(results: Results) -> list[float]:
    """The same with 0.1 errors."""
    return _mixed(results, "0.1")


def mixed_clean_westwood(results: Results) -> list[float]:
    """Of each seed the logarithm of WestwoodNR's throughput over Westwood's, no errors."""
    return _mixed(results, "none", "f1")


def mixed_lossy_westwood(results: Results) -> list[float]:
    """The same with 0.1 errors."""
    return _mixed(results, "0.1", "f1")


def mixed_variation(results: Results) -> list[float]:
    """Of each seed the variation of WestwoodNR's rate less that of SACK's, after the first ten seconds."""
    found = []
    for seed in range(1, results.seeds("mixed") + 1):
        trace = results.trace("mixed", seed, {"control": "mixed", "error": "none"}).trace
        variation = {}
        for flow in ("f0", "f2"):
            rows = trace.filter(pl.col("flow") == flow).sort("time_s")
            through = [rows.filter(pl.col("time_s") <= second)["ack"].max() for second in range(10, 51)]
            rates = np.diff(np.array(through, dtype=float))
            variation[flow] = rates.std() / rates.mean()
        found.append(variation["f2"] - variation["f0"])
    return found


ERRORS = ("error rate 0.001", "error rate 0.01", "error rate 0.1")


def contradictions(results: Results) -> SimpleNamespace:
    """What each network gives beside what Table 1 prints."""
    printed = {(r["row"], r["column"]): float(r["value"]) for r in results.paper.published}
    published = [printed[error, "Average_throughput Reno"] for error in ERRORS]
    windows = [printed[error, "Average_cwnd Reno"] for error in ERRORS]
    networks = results.study("networks").axes["network"]
    rates = {n: [_mean(results, n, error, "f.throughput_bps") / 1e6 for error in ERRORS] for n in networks}
    rows = [["published", *(f"{rate:.2f} ({w:.0f})" for rate, w in zip(published, windows, strict=True))]]
    for network, found in rates.items():
        cwnd = [_mean(results, network, error, "f.mean_cwnd") for error in ERRORS]
        rows.append([network, *(f"{rate:.2f} ({w:.0f})" for rate, w in zip(found, cwnd, strict=True))])
    nearest = [min(rates, key=lambda n: abs(math.log(rates[n][i] / published[i]))) for i in range(len(ERRORS))]
    rising = [network for network, found in rates.items() if found[0] < found[1]]
    runs = results.flows("p2p")
    lowest = float(runs["mean_ssthresh"].min())  # type: ignore[arg-type]
    westwood = stats.mean(results.means("p2p", "f.mean_ssthresh", {"control": "Westwood", "error": ERRORS[0]}))
    wide = _mean(results, "receiver window 1000", ERRORS[0], "f.mean_ssthresh", "Westwood")
    text = [
        "Throughput of Reno in Mb/s and, in brackets, its average window, under each interpretation of the network. "
        f"A lower error rate gives less throughput, as Table 1 has it (2.60 at 0.001, 2.96 at 0.01), "
        f"in {_named(rising)}. "
        f"Nearest to the printed throughput are, from left to right, {', '.join(nearest)}. A source that is idle for "
        "half of the time halves the throughput and leaves the average window, which is taken while it sends: only so "
        "can a window of 45 packets and 2.6 Mb/s stand in one row. The sources of that row must have been idle most "
        "of the time, or the run over before the time by which it was divided; the other two rows need no such thing.",
        "An average threshold of 1 (SACK and Reno at 0.1) is below ns-2's floor of 2; the least "
        f"average of our runs, over the whole of each, is {lowest:.2f}. The printed one must have counted time without "
        "a value as zero, or been cut to an integer on the way.",
        "Westwood's threshold of 28 is 10 Mb/s times 22 ms over 8000 bits, headers and all: the estimate reached the "
        f"link. Ours is {westwood.value:.1f} packets of the calibrated size at 0.001. With a receiver window of 1000 "
        f"its mean is {wide:.1f}, "
        "of which the seconds before the first loss, at ns-2's initial threshold of 1000, make a part; what the "
        "published average counts of them is not known.",
    ]
    head = ["network", "0.001", "0.01", "0.1"]
    return SimpleNamespace(text=text, tables=[{"title": "", "head": head, "rows": rows}])


def _named(networks: list[str]) -> str:
    return ", ".join(networks) or "none of them"


def _mean(results: Results, network: str, error: str, column: str, control: str = "Reno") -> float:
    return stats.mean(results.means("networks", column, {"control": control, "network": network, "error": error})).value
