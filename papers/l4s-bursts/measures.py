"""Shares of Prague and CUBIC, goodputs alone, delays: paired by seed. Claims take logarithms of ratios, one a seed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import polars as pl

from ackclock import stats
from ackclock.apps.papers.results import Cell, Results

Where = Mapping[str, str]
CALL_BPS = 2.3e6
"""Rate of the bursty traffic in the studies `cross` and `media`."""
BOTTLENECK = "m->b"


def _at(frame: pl.DataFrame, where: Where) -> pl.DataFrame:
    return frame.filter(*(pl.col(axis) == label for axis, label in where.items())).sort("seed")


def goodputs(results: Results, study: str, flow: str, where: Where) -> dict[int, float]:
    """Goodput of a flow by seed, Mb/s."""
    rows = _at(results.flows(study), {"name": flow, **where})
    return dict(zip(rows["seed"], (rows["goodput_bps"] / 1e6).to_list(), strict=True))


def ratios(results: Results, study: str, where: Where) -> list[float]:
    """The logarithm of Prague's goodput over that of the CUBIC flow beside it."""
    tested, cubic = (goodputs(results, study, flow, where) for flow in ("tested", "cubic"))
    return [math.log(tested[seed] / cubic[seed]) for seed in sorted(tested)]


def shares(results: Results, study: str, where: Where) -> list[float]:
    """The first flow's part of the goodput of both."""
    return [1 / (1 + math.exp(-ratio)) for ratio in ratios(results, study, where)]


def _change(results: Results, study: str, of: Where, to: Where) -> list[float]:
    """How the ratio of the two goodputs differs between two points."""
    return [a - b for a, b in zip(ratios(results, study, of), ratios(results, study, to), strict=True)]


def _shared(results: Results, rtt: str, bursts: str) -> list[float]:
    return ratios(results, "share", {"sender": "Prague", "rtt": rtt, "bursts": bursts})


def none_40(results: Results) -> list[float]:
    """Prague over CUBIC without bursts, 40 ms."""
    return _shared(results, "40 ms", "none")


def none_10(results: Results) -> list[float]:
    """The same at 10 ms."""
    return _shared(results, "10 ms", "none")


def none_10_2020(results: Results) -> list[float]:
    """The same with the Prague of 2020."""
    return ratios(results, "share", {"sender": "Prague of 2020", "rtt": "10 ms", "bursts": "none"})


def four_40(results: Results) -> list[float]:
    """Prague over CUBIC with bursts of 4 ms, 40 ms."""
    return _shared(results, "40 ms", "4 ms")


def eight_40(results: Results) -> list[float]:
    """The same with bursts of 8 ms."""
    return _shared(results, "40 ms", "8 ms")


def _falls(results: Results, rtt: str, bursts: str) -> list[float]:
    point = {"sender": "Prague", "rtt": rtt}
    return _change(results, "share", {**point, "bursts": bursts}, {**point, "bursts": "none"})


def falls_four_40(results: Results) -> list[float]:
    """The ratio with bursts of 4 ms over that without, 40 ms."""
    return _falls(results, "40 ms", "4 ms")


def falls_eight_40(results: Results) -> list[float]:
    """The same with bursts of 8 ms."""
    return _falls(results, "40 ms", "8 ms")


def falls_four_10(results: Results) -> list[float]:
    """The ratio with bursts of 4 ms over that without, 10 ms."""
    return _falls(results, "10 ms", "4 ms")


def falls_eight_10(results: Results) -> list[float]:
    """The same with bursts of 8 ms."""
    return _falls(results, "10 ms", "8 ms")


def undone(results: Results) -> list[float]:
    """The ratio with bursts and a step of 8 ms over that without bursts and with the default step."""
    return _change(results, "steps", {"bursts": "8 ms", "step": "8 ms"}, {"bursts": "none", "step": "1 ms"})


def prague_path(results: Results) -> list[float]:
    """The ratio with bursts of 8 ms on Prague's path alone over that without."""
    return _change(results, "where", {"path": "Prague", "bursts": "8 ms"}, {"path": "Prague", "bursts": "none"})


def cubic_path(results: Results) -> list[float]:
    """The ratio with bursts of 8 ms on CUBIC's path alone over that without."""
    return _change(results, "where", {"path": "CUBIC", "bursts": "8 ms"}, {"path": "CUBIC", "bursts": "none"})


def classic_traffic(results: Results) -> list[float]:
    """The ratio with bursty UDP in the classic queue over that without."""
    return _change(results, "cross", {"traffic": "5 ms of each 100 ms"}, {"traffic": "none"})


def _front(results: Results, front: str) -> list[float]:
    point = {"sender": "Prague"}
    return _change(results, "fronts", {**point, "front": front}, {**point, "front": "wire"})


def wifi(results: Results) -> list[float]:
    """The ratio over Wi-Fi beside a download over that over a wire."""
    return _front(results, "Wi-Fi beside a download")


def cable(results: Results) -> list[float]:
    """The ratio behind a cable modem over that behind a wire."""
    return _front(results, "cable")


def modem(results: Results) -> list[float]:
    """The ratio with DualPI2 in a modem with grants every 2 ms."""
    return ratios(results, "modem", {"grants": "2 ms", "step": "1 ms"})


def modem_step(results: Results) -> list[float]:
    """The ratio in that modem with a step of 8 ms over that with 1 ms."""
    return _change(results, "modem", {"grants": "2 ms", "step": "8 ms"}, {"grants": "2 ms", "step": "1 ms"})


def rates(results: Results) -> list[float]:
    """Prague over CUBIC, each alone over the radio link: at 40 Mb/s over at 20 Mb/s."""

    def alone(rate: str) -> list[float]:
        where = {"rate": rate, "bursts": "4 ms"}
        prague, cubic = (goodputs(results, "near", "tested", {**where, "sender": s}) for s in ("Prague", "CUBIC"))
        return [math.log(prague[seed] / cubic[seed]) for seed in sorted(prague)]

    return [a - b for a, b in zip(alone("40 Mb/s"), alone("20 Mb/s"), strict=True)]


def _lost(results: Results, queue: str) -> list[float]:
    """What bursty traffic costs Prague over what it offers."""
    point = {"sender": "Prague"}
    alone, beside = (goodputs(results, "media", "tested", {**point, "traffic": t}) for t in ("none", queue))
    return [math.log((alone[seed] - beside[seed]) / (CALL_BPS / 1e6)) for seed in sorted(alone)]


def lost_in_l(results: Results) -> list[float]:
    """Goodput that Prague loses to bursty traffic in the low-latency queue, over the rate of that traffic."""
    return _lost(results, "in the low-latency queue")


def lost_in_c(results: Results) -> list[float]:
    """The same for the classic queue."""
    return _lost(results, "in the classic queue")


def radio(results: Results) -> list[Cell]:
    """The table of goodputs over radio links, one flow, by the length of the bursts."""
    cells = []
    for study, rtt in (("near", "7 ms"), ("far", "160 ms")):
        axes = results.study(study).axes
        for rate in axes["rate"]:
            for sender in axes["sender"]:
                for bursts in axes["bursts"]:
                    where = {"rate": rate, "sender": sender, "bursts": bursts}
                    values = list(goodputs(results, study, "tested", where).values())
                    row, reading = f"{rtt}, {rate}: {sender}", _bursts(bursts)
                    cells.append(Cell(row, "goodput", reading, values, study=study, where=where))
    return cells


def _bursts(label: str) -> str:
    return {"none": "no bursts", "TSO": "bursts of the sender, 1 ms"}.get(label, f"bursts of {label}")


def media(results: Results) -> list[Cell]:
    """The table of goodputs beside a video call."""
    words = {"none": " alone"}
    cells = []
    for sender in ("Prague", "CUBIC"):
        for traffic in results.study("media").axes["traffic"]:
            where = {"sender": sender, "traffic": traffic}
            row = sender + words.get(traffic, f" with a call {traffic}")
            values = list(goodputs(results, "media", "tested", where).values())
            cells.append(Cell(row, "goodput", "ours", values, study="media", where=where))
    return cells


def _mean(values: Sequence[float], digits: int = 1) -> str:
    return f"{stats.mean(list(values)).value:.{digits}f}"


def _ratio(logarithms: list[float]) -> str:
    """A geometric mean with its interval."""
    e = stats.geometric(logarithms)
    if e.low is None or e.high is None:
        return f"{e.value:.2f}"
    return f"{e.value:.2f} [{e.low:.2f}, {e.high:.2f}]"


def _pair(results: Results, study: str, where: Where) -> list[str]:
    """Both goodputs, their ratio, and how much of the bottleneck is used."""
    flows = [goodputs(results, study, flow, where).values() for flow in ("tested", "cubic")]
    used = _at(results.links(study), {"name": BOTTLENECK, **where})["utilisation"]
    mean = float(sum(used) / len(used))
    return [*(_mean(list(flow)) for flow in flows), _ratio(ratios(results, study, where)), f"{100 * mean:.0f}"]


SENDERS = (
    ("Prague", "Prague beside CUBIC"),
    ("Prague of 2020", "Prague of 2020 beside CUBIC"),
    ("CUBIC", "Control: CUBIC beside CUBIC"),
)
RTTS = {"Prague of 2020": ["10 ms"]}
"""At 40 ms Prague of 2020 is that of today."""


def _head(sender: str) -> list[str]:
    first = "first CUBIC" if sender == "CUBIC" else "Prague"
    second = "second CUBIC" if sender == "CUBIC" else "CUBIC"
    return ["", f"{first} (Mb/s)", f"{second} (Mb/s)", "ratio of the two", "link used (%)"]


def by_bursts(results: Results) -> Any:
    """Goodputs of the two flows by the length of the bursts, with the controls of this study."""
    tables = []
    for sender, title in SENDERS:
        for rtt in RTTS.get(sender, results.study("share").axes["rtt"]):
            where = {"sender": sender, "rtt": rtt}
            rows = [
                [_bursts(bursts), *_pair(results, "share", {**where, "bursts": bursts})]
                for bursts in results.study("share").axes["bursts"]
            ]
            tables.append({"title": f"{title}, round-trip time {rtt}", "head": _head(sender), "rows": rows})
    text = [
        "Bottleneck of 40 Mb/s with DualPI2. Means over the seeds; the ratio is a geometric mean with its interval."
    ]
    return SimpleNamespace(text=text, tables=tables)


def controls(results: Results) -> Any:
    """What else bunches packets, and what undoes it."""
    parts: list[tuple[str, str, str, Where]] = [
        ("Whose path has bursts (of 8 ms)", "where", "path", {"bursts": "8 ms"}),
        ("The step, with bursts of 8 ms", "steps", "step", {"bursts": "8 ms"}),
        ("Bursty UDP in the classic queue, no bursts on the path", "cross", "traffic", {}),
        ("Links that group packets, in front of DualPI2", "fronts", "front", {"sender": "Prague"}),
        ("Control: the same links, CUBIC beside CUBIC", "fronts", "front", {"sender": "CUBIC"}),
        (
            "DualPI2 in a modem of 20 Mb/s, step of 1 ms, by the time between grants",
            "modem",
            "grants",
            {"step": "1 ms"},
        ),
        ("The same with a step of 8 ms", "modem", "grants", {"step": "8 ms"}),
    ]
    tables = []
    for title, study, axis, where in parts:
        rows = [[label, *_pair(results, study, {**where, axis: label})] for label in results.study(study).axes[axis]]
        tables.append({"title": title, "head": _head(where.get("sender", "")), "rows": rows})
    text = ["A round-trip time of 40 ms without queues. Means over the seeds."]
    return SimpleNamespace(text=text, tables=tables)


def lengths(results: Results) -> Any:
    """The length of the bursts at which one Prague flow has the goodput that l4s-tests measured."""
    rows = []
    for (row, _), (value, _) in results.paper.printed("radio").items():
        rtt, rate, sender = row.replace(": ", ", ", 1).split(", ", 2)
        if sender == "Prague":
            where = {"rate": rate, "sender": sender}
            found = _length(results, "near" if rtt == "7 ms" else "far", where, float(value))
            rows.append([f"{rtt}, {rate}", value, f"{found:.1f}"])
    head = ["", "measured (Mb/s)", "length of the bursts (ms)"]
    text = [
        "The goodput of one Prague flow falls with the length of the bursts; between the lengths that were run it is "
        "interpolated on logarithms of both. The text names up to 4 ms for Wi-Fi."
    ]
    return SimpleNamespace(text=text, tables=[{"title": "", "head": head, "rows": rows}])


def _length(results: Results, study: str, where: Where, goodput: float) -> float:
    points = [
        (math.log(float(bursts.split()[0])), math.log(stats.mean(list(values.values())).value))
        for bursts in results.study(study).axes["bursts"]
        if bursts != "none" and (values := goodputs(results, study, "tested", {**where, "bursts": bursts}))
    ]
    for (x, y), (further, lower) in pairwise(points):
        if lower <= math.log(goodput) <= y:
            return math.exp(x + (further - x) * (y - math.log(goodput)) / (y - lower))
    return math.nan


def delays(results: Results) -> Any:
    """99th percentiles of waits and delays by bursts and step."""
    [base] = set(_at(results.flows("steps"), {"name": "tested"})["base_delay_s"])
    tables = []
    for step in ("1 ms", "8 ms"):
        rows = []
        for bursts in results.study("steps").axes["bursts"]:
            where = {"bursts": bursts, "step": step}
            link = _at(results.links("steps"), {"name": BOTTLENECK, **where})["low_latency"].struct
            waits = (1e3 * link.field("p99_sojourn_s")).to_list()
            marked = (100 * link.field("marked_packets") / link.field("sent_packets")).to_list()
            ends = [
                (1e3 * _at(results.flows("steps"), {"name": flow, **where})["p99_delay_s"]).to_list()
                for flow in ("tested", "cubic")
            ]
            rows.append([_bursts(bursts), _mean(waits, 2), _mean(marked), *(_mean(end) for end in ends)])
        head = ["", "wait in the low-latency queue (ms)", "marked (%)", "Prague, one way (ms)", "CUBIC, one way (ms)"]
        tables.append({"title": f"Step of {step}", "head": head, "rows": rows})
    text = [
        "99th percentiles, two flows, a round-trip time of 40 ms without queues. The delays one way contain the wait "
        f"of up to a burst's length in front of the link that releases bursts; an empty path has {1e3 * base:.1f} ms."
    ]
    return SimpleNamespace(text=text, tables=tables)
