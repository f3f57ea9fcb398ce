"""What metrics take from the applications of flows, and from transfers of a size (flows with `bytes`).

Percentiles are by rank over messages: those of several flows are pooled by their sketches, and a transfer is a message
of its own. Messages without an end are longer than all others; a percentile that falls on one is None, as is one of
fewer than 1/(1 - part) messages.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ackclock.base.sketches import bucket_value, by_rank

Flow = Mapping[str, Any]
"""The object of a flow in an outcome."""
CONNECTION = re.compile(r"(.+)/\d+")
"""The name of a flow that is one of several connections of an application."""
SIZES: dict[str, int | None] = {"10kB": 10**4, "100kB": 10**5, "1MB": 10**6, "10MB": 10**7, "more": None}
"""The bins of sizes: their names, and the largest size in each, bytes."""


def application(flow: Flow) -> Mapping[str, Any] | None:
    """What the application of a flow has done; None for a flow without one, or a connection of another flow's."""
    app: Mapping[str, Any] | None = flow.get("app")
    return app if app and app.get("kind") else None


def families(flows: Sequence[Flow]) -> dict[str, list[Flow]]:
    """The flows by the name of their application in the scenario: several connections, or one flow by its own name."""
    with_app = {match[1] for flow in flows if application(flow) and (match := CONNECTION.fullmatch(flow["name"]))}
    by_name: dict[str, list[Flow]] = defaultdict(list)
    for flow in flows:
        match = CONNECTION.fullmatch(flow["name"])
        by_name[match[1] if match and match[1] in with_app else flow["name"]].append(flow)
    return dict(by_name)


def is_transfer(flow: Flow) -> bool:
    """Whether a flow transfers a number of bytes."""
    return flow.get("transfer_bytes") is not None


def size_name(size: int) -> str:
    """The bin of a size in bytes."""
    return next(name for name, most in SIZES.items() if most is None or size <= most)


def message_counts(flow: Flow, of: Literal["s", "slowdown"], size: str = "") -> list[tuple[float, int]]:
    """Completion times (seconds) or slowdowns of the messages of a flow with their counts, of one bin or of all.

    Those of applications are within 0.8 %. Messages without an end are infinite.
    """
    app = application(flow)
    if app is not None:
        source: Mapping[str, Any] = app
        if size:
            bins = (one for one in app.get("bins") or () if one["up_to_bytes"] == SIZES[size])
            source = next(bins, {})
        pairs = source.get("sketch" if of == "s" else "slowdown_sketch") or ()
        return [(bucket_value(bucket), count) for bucket, count in pairs]
    if not is_transfer(flow) or (size and size_name(flow["transfer_bytes"]) != size):
        return []
    if of == "slowdown" and flow.get("ideal_s") is None:
        return []
    value = flow["completion_s"] if of == "s" else flow.get("slowdown")
    return [(math.inf if value is None else float(value), 1)]


class OfApplications(ABC):
    """A value of the applications or transfers of flows."""

    @abstractmethod
    def applies(self, flow: Flow) -> bool:
        """Whether a flow counts."""

    @abstractmethod
    def __call__(self, flow: Flow) -> float | None:
        """The value of a flow, in SI units; None if it does not apply."""


class Pooled(OfApplications):
    """A value of all messages of several flows together."""

    @abstractmethod
    def of_all(self, flows: Sequence[Flow]) -> float | None:
        """The value of flows that count, in SI units; None without one."""

    def pooled(self, flows: Sequence[Flow]) -> float | None:
        """The value of the flows that count, in SI units; None if there is none."""
        counted = [flow for flow in flows if self.applies(flow)]
        return self.of_all(counted) if counted else None

    def __call__(self, flow: Flow) -> float | None:
        """The value of a flow, in SI units; None if it does not apply."""
        return self.pooled([flow])


@dataclass(frozen=True)
class Percentile(Pooled):
    """A percentile of completion times or slowdowns."""

    part: float
    of: Literal["s", "slowdown"]
    kind: str = ""
    """Of applications of this kind; empty: of all, and of transfers."""
    size: str = ""
    """Of the messages in this bin of sizes; empty: of all."""

    def applies(self, flow: Flow) -> bool:
        """Whether a flow has messages of the kind."""
        app = application(flow)
        return is_transfer(flow) and not self.kind if app is None else self.kind in {"", app["kind"]}

    def of_all(self, flows: Sequence[Flow]) -> float | None:
        """The percentile over the messages of flows: exact for a single one, otherwise within 0.8 %."""
        app = application(flows[0]) if len(flows) == 1 else None
        if app is not None:
            return self._exact(app)
        counts = (pair for flow in flows for pair in message_counts(flow, self.of, self.size))
        value = by_rank(counts, self.part)
        return None if value is None or math.isinf(value) else value

    def _exact(self, app: Mapping[str, Any]) -> float | None:
        source = app
        if self.size:
            source = next((one for one in app.get("bins") or () if one["up_to_bytes"] == SIZES[self.size]), {})
        value = source.get(f"p{round(100 * self.part)}_{self.of}")
        return None if value is None else float(value)


@dataclass(frozen=True)
class MeanSlowdown(Pooled):
    """The mean slowdown of the messages that ended."""

    def applies(self, flow: Flow) -> bool:
        """Whether a flow has messages."""
        return application(flow) is not None or is_transfer(flow)

    def of_all(self, flows: Sequence[Flow]) -> float | None:
        """The mean over the messages of flows."""
        total, count = 0.0, 0
        for flow in flows:
            app = application(flow)
            mean, ended = (flow.get("slowdown"), 1) if app is None else (app["mean_slowdown"], app["finished"])
            if mean is not None:
                total, count = total + mean * ended, count + ended
        return total / count if count else None


@dataclass(frozen=True)
class Share(Pooled):
    """The part of the messages that are counted under a key of the outcome."""

    key: str
    kind: str = ""
    """Of applications of this kind; empty: of all, and of transfers, which count if they ended."""

    def applies(self, flow: Flow) -> bool:
        """Whether a flow has messages of the kind."""
        app = application(flow)
        return is_transfer(flow) and not self.kind if app is None else self.kind in {"", app["kind"]}

    def of_all(self, flows: Sequence[Flow]) -> float | None:
        """The part of all messages of flows; None without messages."""
        counted = messages = 0
        for flow in flows:
            app = application(flow)
            counted += int(flow["completion_s"] is not None) if app is None else app[self.key]
            messages += 1 if app is None else app["messages"]
        return counted / messages if messages else None


@dataclass(frozen=True)
class AppValue(OfApplications):
    """A key of the outcome of applications of a kind."""

    kind: str
    key: str
    over_time: bool = False
    """Over the time for which the flow was there."""

    def applies(self, flow: Flow) -> bool:
        """Whether a flow has an application of the kind."""
        app = application(flow)
        return app is not None and app["kind"] == self.kind

    def __call__(self, flow: Flow) -> float | None:
        """The value of a flow, in SI units; None if it does not apply."""
        value = flow["app"].get(self.key) if self.applies(flow) else None
        if value is None:
            return None
        if not self.over_time:
            return float(value)
        active_s = flow.get("active_s") or 0.0
        return float(value) / active_s if active_s > 0 else None
