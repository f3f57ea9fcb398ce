"""Known differences between substrates, and the signals that a substrate lacks or degrades: tables of data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ackclock.apps.agree.compare import Row
from ackclock.base.files import BadInput
from ackclock.base.records import read_record, read_toml

SLACK = 1.3
"""An entry explains up to this multiple of its measured size: of the logarithm of a ratio, or of a distance."""


@dataclass(frozen=True)
class Difference:
    """A property that some substrates have and others lack, and the differences of metrics that it explains.

    `on` names the substrates that have it. It concerns a comparison if exactly one side has it.
    """

    id: str
    title: str
    on: list[str]
    controllers: list[str]
    """Names of controllers; "*" for every one."""
    cause: str
    size: str
    """The measured size, with the network on which it was measured."""
    effects: dict[str, float] = field(default_factory=dict)
    """By metric, the measured ratio of a substrate that has the property to one that lacks it; of `cwnd_distance` the
    measured distance. None if it changes no metric that is compared, or if its size was not measured."""
    command: str = ""
    """The command that measured `effects`."""
    open: bool = False
    """Whether the cause has not been separated from others: the entry then describes a finding and explains nothing."""
    shown: str = ""
    """The number of each run, of `metrics.SHOWN`, that shows it in a report."""

    @property
    def metrics(self) -> list[str]:
        """The metrics that it can change."""
        return list(self.effects)

    def fits(self, row: Row, ratio: float) -> bool:
        """Whether a row has the direction and at most SLACK times the size that was measured.

        `ratio` is that of the substrate with the property to the one without it.
        """
        measured = self.effects.get(row.metric)
        if measured is None:
            return False
        if row.test == "distance":
            return row.value is not None and row.value <= SLACK * measured
        if not 0 < ratio < math.inf:
            return False
        size, log_ratio = math.log(measured), math.log(ratio)
        return (log_ratio > 0) == (size > 0) and abs(log_ratio) <= SLACK * abs(size)


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
    """What known.toml has: differences between substrates, and signals."""

    differences: list[Difference]
    signals: list[Signal]


@cache
def tables() -> Tables:
    """Read the file known.toml. Raises BadInput if it is damaged."""
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
        (signal, support)
        for signal in tables().signals
        if (support := signal.on(substrate)) not in {"yes", "own"} and {control, "*"} & set(signal.controllers)
    ]


def concerning(substrates: Sequence[str]) -> list[Difference]:
    """The known differences between the substrates of a report."""
    return [
        entry for entry in tables().differences if 0 < sum(name in entry.on for name in substrates) < len(substrates)
    ]


def explanation(row: Row, control: str, substrates: tuple[str, str]) -> Difference | None:
    """The entry that describes a row, by metric, controller, direction and size, or None.

    `substrates` are the reference and the compared one. Entries with `open`, which describe findings, come last.
    """
    if row.reference is None or row.compared is None:
        return None
    for entry in sorted(concerning(substrates), key=lambda one: one.open):
        compared_has = substrates[1] in entry.on
        has, lacks = (row.compared, row.reference) if compared_has else (row.reference, row.compared)
        ratio = has / lacks if lacks > 0 else math.inf
        if {control, "*"} & set(entry.controllers) and entry.fits(row, ratio):
            return entry
    return None
