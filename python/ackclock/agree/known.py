"""Known differences between substrates, and the signals that a substrate lacks or degrades: tables of data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ackclock.agree.compare import Row
from ackclock.files import BadInput
from ackclock.records import read_record, read_toml


@dataclass(frozen=True)
class Difference:
    """A property that some substrates have and others lack, and the differences of metrics that it explains.

    `on` names the substrates that have it. It concerns a comparison if exactly one side has it. `most` is the largest
    factor between the two sides that it explains; 0 for no bound (a value that is zero without it).
    """

    id: str
    title: str
    on: list[str]
    controllers: list[str]
    """Names of controllers; "*" for every one."""
    metrics: list[str]
    """The metrics that it can change; none if it changes none that is compared."""
    direction: str
    """Where the metric lies on a substrate that has it: "higher", "lower" or "either"."""
    most: float
    cause: str
    size: str
    """The measured size, with the network on which it was measured."""
    shown: str = ""
    """The number of each run, of `metrics.SHOWN`, that shows it in a report."""
    applies: str = ""
    """A condition of CONDITIONS on these numbers without which it explains nothing."""


Numbers = Mapping[str, float | None]
"""Means of `metrics.SHOWN` on a substrate, and `ns2`: 1 if the scenario has the profile ns2."""
CONDITIONS: dict[str, Callable[[Numbers], bool]] = {
    "": lambda _: True,
    "timeouts": lambda numbers: (numbers.get("timeouts") or 0) > 0,
    "ns2": lambda numbers: bool(numbers.get("ns2")),
    "small_window": lambda numbers: (numbers.get("smallest_cwnd") or 2) < 2,
}
"""Conditions on a substrate without the property."""


@dataclass(frozen=True)
class Signal:
    """A signal for controllers, and how each substrate provides it: "yes", or what is different, or "no"."""

    name: str
    controllers: list[str]
    """Registered controllers that use it; "*" for every one."""
    tcp: str
    quic: str
    kernel: str
    missing: str
    """The consequence where it is missing."""

    def on(self, substrate: str) -> str:
        """How a substrate provides it. The kernel's own algorithm does not use our signals."""
        column = {"tcp": self.tcp, "quic": self.quic, "udp": self.quic, "kernel": self.kernel}
        return column.get(substrate, "own")


@dataclass(frozen=True)
class Tables:
    """Both tables."""

    differences: list[Difference]
    signals: list[Signal]


@cache
def tables() -> Tables:
    """Read both tables. Raises BadInput if one is damaged."""
    file = Path(__file__).with_name("known.toml")
    data = read_toml(file)
    if unknown := data.keys() - {"difference", "signal"}:
        raise BadInput(f"{file}: {sorted(unknown)[0]}: unknown key")
    return Tables(
        [read_record(Difference, item, f"{file}: difference[{i}]") for i, item in enumerate(data["difference"])],
        [read_record(Signal, item, f"{file}: signal[{i}]") for i, item in enumerate(data["signal"])],
    )


def lacking(control: str, substrate: str) -> list[tuple[Signal, str]]:
    """The signals that a controller uses and that a substrate does not provide in full, with what it provides."""
    return [
        (signal, given)
        for signal in tables().signals
        if (given := signal.on(substrate)) not in {"yes", "own"} and {control, "*"} & set(signal.controllers)
    ]


def concerning(substrates: Sequence[str]) -> list[Difference]:
    """The known differences between the substrates of a report."""
    return [
        found for found in tables().differences if 0 < sum(name in found.on for name in substrates) < len(substrates)
    ]


def explanation(
    row: Row, control: str, substrates: tuple[str, str], numbers: tuple[Numbers, Numbers]
) -> Difference | None:
    """The known difference that explains a row, by metric, controller, direction, size and condition, or None.

    `substrates` are the reference and the compared one, `numbers` their means of `metrics.SHOWN`.
    """
    if row.reference is None or row.compared is None:
        return None
    distance = row.test == "distance"  # it has no direction
    for found in concerning(substrates):
        compared_has = substrates[1] in found.on
        has, lacks = (row.compared, row.reference) if compared_has else (row.reference, row.compared)
        factor = max(has, lacks) / min(has, lacks) if min(has, lacks) > 0 else math.inf
        if (
            row.metric in found.metrics
            and {control, "*"} & set(found.controllers)
            and CONDITIONS[found.applies](numbers[0 if compared_has else 1])
            and (distance or found.direction == "either" or (found.direction == "higher") == (has > lacks))
            and (distance or not found.most or factor <= found.most)
        ):
            return found
    return None
