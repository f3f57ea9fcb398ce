"""Results of runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from ackclock import _core
from ackclock.base.files import BadInput
from ackclock.base.si import quantity

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from matplotlib.figure import Figure

    from ackclock.explanation import Explanation

Trace = Literal["off", "changes", "ack"]
MOST_FLOWS = 4
"""Flows that the text of a result names."""


class Members(TypedDict):
    """The flows of a run with their ends and the payload of their segments (bytes, None for UDP), and its links."""

    flows: list[str]
    flow_ends: list[list[str]]
    segment_bytes: list[int | None]
    links: list[str]


class Result:
    """The result of a run. Its tables are polars data frames, created on first access."""

    def __init__(self, finished: _core.Finished, captures: Sequence[str] = ()) -> None:
        self._finished = finished
        self._places = captures

    def __repr__(self) -> str:
        outcome = self.outcome
        rates = [f"{flow['name']} {quantity(flow['goodput_bps'], 'b/s')}" for flow in outcome["flows"][:MOST_FLOWS]]
        more = len(outcome["flows"]) - len(rates)
        flows = ", ".join([*rates, *([f"and {more} more flows"] if more else [])])
        title = outcome["title"] or "no title"
        return f"<ackclock.Result {title}, {outcome['duration_s']:g} s, seed {outcome['seed']}: goodput {flows}>"

    @cached_property
    def outcome(self) -> dict[str, Any]:
        """The outcome as a dictionary: SI units, None for what does not apply.

        `ackclock.outcome.Outcome` is its type, docs/outcome-keys.md describes its keys.
        """
        parsed: dict[str, Any] = json.loads(self._finished.outcome)
        return parsed

    @property
    def json(self) -> str:
        """The outcome as one line of JSON."""
        return self._finished.outcome

    @property
    def fingerprint(self) -> str:
        """Hash of all packet events, if the run was made with `fingerprint=True`."""
        return self._finished.fingerprint

    @property
    def one_thread(self) -> str | None:
        """Why the run has used one thread, or has gone on on one, if it was to use several."""
        return self._finished.one_thread

    @property
    def members(self) -> Members:
        """The flows and links of the run in the order of their numbers, which traces use."""
        of = self._finished
        return {
            "flows": of.flow_names,
            "flow_ends": of.flow_ends,
            "segment_bytes": of.segment_bytes,
            "links": of.link_names,
        }

    @cached_property
    def capacities(self) -> dict[str, np.ndarray]:
        """The bits that each link whose rate varies could have sent until equal times, from the start to the end.

        Such rates are those of traces, files and steps, and those that change during the run. A medium (Wi-Fi, a
        cell) has none. Empty unless the run was made with `packets=True`.
        """
        import numpy as np

        return {link: np.frombuffer(bits) for link, bits in self._finished.capacities.items()}

    @property
    def violations(self) -> list[str]:
        """Messages about the first violations; empty if there are none or if the run was not audited."""
        return self._finished.violations

    @property
    def violation_count(self) -> int:
        """Number of violations."""
        return self._finished.violation_count

    @property
    def captures(self) -> dict[str, bytes]:
        """The requested captures by place, each as the contents of a pcapng file."""
        return dict(zip(self._places, self._finished.captured, strict=True))

    @property
    def qlogs(self) -> dict[str, tuple[str, str]]:
        """The qlogs of sender and receiver of each QUIC flow, JSON text sequences; empty without `qlog=True`."""
        return {flow: (sender, receiver) for flow, sender, receiver in self._finished.qlogs}

    @cached_property
    def causes(self) -> list[Explanation]:
        """The first reductions of windows with their causes, in the order of time; of a recovery its begin alone.

        Empty unless the run was made with `causes`; complete up to `causes_until_s`.
        """
        from ackclock.explanation import Explanation

        return [Explanation.from_json(text) for text in self._finished.causes]

    @property
    def causes_until_s(self) -> float:
        """The time up to which `causes` has all reductions, seconds."""
        return self._finished.causes_until_s

    @cached_property
    def limits(self) -> list[dict[str, float]]:
        """For each flow, the seconds for which each limit kept its sender from sending more; empty for UDP.

        The limits are handshake, congestion window, receive window, pacing and application (no data). Their sum is
        the time from the flow's start to its completion or the end of the run, without the warm-up.
        """
        names = _core.codes()["limit"]
        each = [dict(zip(names, times, strict=True)) for times in self._finished.limited_s]
        return [times if any(times.values()) else {} for times in each]

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row for each flow."""
        import polars as pl

        return pl.DataFrame(self.outcome["flows"], infer_schema_length=None)

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row for each link direction, with drops as columns `dropped_queue`, `dropped_loss`, `dropped_list`."""
        import polars as pl

        rows = [
            {k: v for k, v in link.items() if k != "dropped_packets"}
            | {f"dropped_{reason}": n for reason, n in link["dropped_packets"].items()}
            for link in self.outcome["links"]
        ]
        return pl.DataFrame(rows, infer_schema_length=None)

    @cached_property
    def trace(self) -> pl.DataFrame:
        """The window trace (docs/outcome.md); empty if the run was not traced."""
        from ackclock.base import frames

        return frames.windows(self._finished)

    @cached_property
    def states(self) -> pl.DataFrame:
        """The transitions of controllers that are state machines; empty if the run was not traced.

        Columns: time_s, flow, from, to (names of states), why. Several transitions can have one time.
        """
        from ackclock.base import frames

        return frames.states(self._finished)

    @cached_property
    def packets(self) -> pl.DataFrame:
        """Every packet event; empty if the run was made without `packets`."""
        from ackclock.base import frames

        return frames.packets(self._finished)

    @cached_property
    def transmissions(self) -> pl.DataFrame:
        """Every transmission on Wi-Fi channels and in cells; empty if the run was made without `packets`."""
        from ackclock.base import frames

        return frames.transmissions(self._finished)

    @cached_property
    def messages(self) -> pl.DataFrame:
        """Every message of the applications; empty if the run was made without `messages`.

        A message is what an application waits for: a response, an object of a page, a chunk of a video, a frame, a
        write. Columns: flow (its first connection), number, kind (of the application), connection (index), bytes,
        start_s (asked for, captured or written), first_s and end_s (first and last byte at the receiving
        application; null without), ideal_s (least time from start to end; null if the path changes), slowdown, state
        (finished, unfinished, cancelled, dropped; of frames on_time or late in place of finished), rate_bps (bytes
        over the time from start to end).
        """
        from ackclock.base import frames

        return frames.messages(self._finished, self.outcome)

    def packets_of(self, flow: str) -> pl.DataFrame:
        """The packet events of one flow: the rows of `packets`, without the memory for those of the others.

        Raises BadInput for a flow that the run does not have.
        """
        from ackclock.base import frames

        if flow not in self._finished.flow_names:
            raise BadInput(f"no flow {flow}; there are {', '.join(self._finished.flow_names)}")

        return frames.packets(self._finished, flow)

    def plot(
        self,
        y: str | Sequence[str] = (),
        *,
        flows: Sequence[str] = (),
        links: Sequence[str] = (),
        from_s: float | None = None,
        to_s: float | None = None,
        title: str = "",
        width: float | str | None = None,
        height: float | None = None,
        font_size: float | None = None,
        show_title: bool = True,
    ) -> Figure:
        """Draw values over time, a panel for each: by default window, round-trip time, queue and goodput.

        `width` and `height` are in inches ("column": 3.5, "page": 7.16), `font_size` in points.
        `y` names columns of the trace (`cwnd`, `rtt`, internals of controllers) or `queue` and `goodput`, which need
        packet events. The run must have been made with `trace="ack"`, and `packets=True` for those two. Raises
        BadInput for an unknown name, and for a run without a trace.
        """
        from ackclock.draw import notebook
        from ackclock.draw.runs import timelines
        from ackclock.draw.style import chosen_size, fitted

        notebook.show_figures()
        columns = [y] if isinstance(y, str) else list(y)
        return fitted(
            lambda: timelines(self, title=title, columns=columns, flows=flows, links=links, start_s=from_s, end_s=to_s),
            chosen_size(width, height, font_size, title=show_title),
        )

    def _repr_html_(self) -> str:
        """The flows, the links, and a figure."""
        from ackclock.draw import notebook

        return notebook.result_html(self)
