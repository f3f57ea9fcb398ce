"""Ours beside the recorded modules: `python validation/linux_modules/module_pairs.py [MODULE...]` prints each run."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from module_networks import OURS, Run, document, play
from record_modules import recorded, runs


@dataclass(frozen=True)
class Pair:
    """A run of a module and ours in the same network."""

    name: str
    network: str
    seed: int
    linux: Run
    ours: Run

    @property
    def distance(self) -> float:
        """The mean distance of the windows, as a part of the mean window of the module."""
        return self.ours.distance(self.linux)

    @property
    def equal_until(self) -> int | None:
        """The first second whose rows differ; None if every row is equal."""
        return self.ours.equal_until(self.linux)

    @property
    def goodput(self) -> float:
        """The relative difference of the goodput."""
        return self.ours.goodput_bps / self.linux.goodput_bps - 1

    @property
    def rtt(self) -> float:
        """The relative difference of the mean round-trip time."""
        return self.ours.mean_rtt_s / self.linux.mean_rtt_s - 1


def pairs(names: tuple[str, ...] = tuple(OURS)) -> Iterator[Pair]:
    """Runs ours in each network of each module."""
    by_key = recorded()["runs"]
    for name, network, seed in runs(names):
        linux = Run(**by_key[f"{name}/{network}/{seed}"])
        ours = play(document(name, network), seed, control=OURS[name])
        yield Pair(name, network, seed, linux, ours)


if __name__ == "__main__":
    for pair in pairs(tuple(sys.argv[1:]) or tuple(OURS)):
        first = "equal" if pair.equal_until is None else f"from {pair.equal_until} s"
        linux, ours = pair.linux, pair.ours
        print(
            f"{pair.name:10} {pair.network:20} {pair.seed} {linux.goodput_bps / 1e6:6.2f} Mb/s {pair.goodput:+7.2%}, "
            f"RTT {pair.rtt:+7.2%}, retransmitted {linux.retransmitted:5} / {ours.retransmitted:5}, "
            f"timeouts {linux.timeouts} / {ours.timeouts}, cuts {linux.window_cuts} / {ours.window_cuts}, "
            f"distance {pair.distance:.2%}, {first}"
        )
