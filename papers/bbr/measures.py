"""Losses, queues and shares of BBR, paired by seed. Measures give a share or the logarithm of a ratio for each seed."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import polars as pl

from ackclock.apps.papers.results import Cell, Results

HERE = Path(__file__).parent


def _drops(results: Results, control: str) -> dict[int, float]:
    rows = results.links("alone").filter(
        (pl.col("control") == control) & (pl.col("buffer") == "0.8 BDP") & (pl.col("load") == "six")
    )
    rows = rows.filter(pl.col("name") == "a->b")
    return dict(zip(rows["seed"], rows["dropped_packets"].struct.field("queue"), strict=True))


def _ratio(above: dict[int, float], below: dict[int, float]) -> list[float]:
    return [math.log(above[seed] / below[seed]) for seed in sorted(above)]


def loss_v1(results: Results) -> list[float]:
    """Packets that six flows of version 1 lose in a shallow buffer, over those that six CUBIC flows lose."""
    return _ratio(_drops(results, "BBRv1"), _drops(results, "CUBIC"))


def loss_v3(results: Results) -> list[float]:
    """The same for version 3."""
    return _ratio(_drops(results, "BBRv3"), _drops(results, "CUBIC"))


def queue_v1(results: Results) -> list[float]:
    """Mean wait behind six flows of version 1 in a deep buffer, over that behind one."""

    def wait(flows: str) -> dict[int, float]:
        rows = results.links("alone").filter(
            (pl.col("control") == "BBRv1") & (pl.col("buffer") == "8 BDP") & (pl.col("load") == flows)
        )
        rows = rows.filter(pl.col("name") == "a->b")
        return dict(zip(rows["seed"], rows["mean_sojourn_s"], strict=True))

    return _ratio(wait("six"), wait("one"))


def _by_rtt(results: Results, control: str) -> list[float]:
    rows = results.flows("rtts").filter(pl.col("control") == control)

    def of(name: str) -> dict[int, float]:
        own = rows.filter(pl.col("name") == name)
        return dict(zip(own["seed"], own["goodput_bps"], strict=True))

    return _ratio(of("long"), of("short"))


def rtt_v1(results: Results) -> list[float]:
    """Goodput of the flow with 40 ms over that of the flow with 20 ms, version 1."""
    return _by_rtt(results, "BBRv1")


def rtt_v3(results: Results) -> list[float]:
    """The same for version 3."""
    return _by_rtt(results, "BBRv3")


def share_v1(results: Results) -> list[float]:
    """Goodput of one flow of version 1 beside ten CUBIC flows over that beside one."""
    rows = results.flows("beside").filter((pl.col("control") == "BBRv1") & (pl.col("name") == "bbr"))

    def beside(others: str) -> dict[int, float]:
        own = rows.filter(pl.col("others") == others)
        return dict(zip(own["seed"], own["goodput_bps"], strict=True))

    return _ratio(beside("10 CUBIC"), beside("1 CUBIC"))


def ware_shares(results: Results, others: str, depth: str) -> list[float]:
    """BBR's share of the goodput of all flows in the network of Ware et al., by seed."""
    rows = results.flows("ware").filter((pl.col("others") == others) & (pl.col("buffer") == depth))
    total = rows.group_by("seed").agg(pl.col("goodput_bps").sum().alias("total"))
    bbr = rows.filter(pl.col("name") == "bbr").join(total, on="seed").sort("seed")
    return (bbr["goodput_bps"] / bbr["total"]).to_list()


def ware_model(depth: float) -> float:
    """The share of one BBR flow by the model of Ware et al.: equations 9 to 11, packets of 1500 bytes."""
    rate, rtt_s = 10e6 / (8 * 1500), 0.04
    queue = depth * rate * rtt_s
    others = 1 / 2 - 1 / (2 * depth) - 4 / queue
    probing = (queue / rate + 0.2 + rtt_s) / 10
    return (1 - others) * (1 - probing)


def share_16_of_16(results: Results) -> list[float]:
    """The share beside 16 CUBIC flows behind 16 bandwidth-delay products."""
    return ware_shares(results, "16 CUBIC", "16")


def share_64_of_16(results: Results) -> list[float]:
    """The share beside 16 CUBIC flows behind 64 bandwidth-delay products."""
    return ware_shares(results, "16 CUBIC", "64")


def _over_model(results: Results, depth: str) -> list[float]:
    return [math.log(share / ware_model(float(depth))) for share in ware_shares(results, "1 CUBIC", depth)]


def over_model_8(results: Results) -> list[float]:
    """The share beside one CUBIC flow behind 8 bandwidth-delay products, over that of the model."""
    return _over_model(results, "8")


def over_model_16(results: Results) -> list[float]:
    """The same behind 16."""
    return _over_model(results, "16")


def over_model_32(results: Results) -> list[float]:
    """The same behind 32."""
    return _over_model(results, "32")


def over_model_64(results: Results) -> list[float]:
    """The same behind 64."""
    return _over_model(results, "64")


def kernel_shares() -> dict[str, float]:
    """The shares of BBR beside CUBIC in Linux 6.18, both flows of the kernel (reference/how.md), by depth."""
    with open(HERE / "reference" / "kernel.csv", newline="", encoding="utf-8") as file:
        return {row["buffer_bdp"]: float(row["share"]) for row in csv.DictReader(file)}


def shares(results: Results) -> list[Cell]:
    """The table of shares by depth: beside one and beside 16 CUBIC flows, and in the kernel."""
    kernel, cells = kernel_shares(), []
    for depth in results.study("ware").axes["buffer"]:
        row = f"{depth} BDP"
        for others in results.study("ware").axes["others"]:
            where = {"others": others, "buffer": depth}
            cells.append(Cell(row, "share", others, ware_shares(results, others, depth), study="ware", where=where))
        if depth in kernel:
            cells.append(Cell(row, "share", "Linux 6.18, 1 CUBIC", [kernel[depth]]))
    return cells
