"""The figure of a run without and with a change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ackclock.draw.runs import Selection, time_series
from ackclock.draw.series import Recording

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ackclock.apps.what_if.world import WhatIf
    from ackclock.result import Result

MOST_FLOWS = 3
"""Flows of each run that are drawn."""


def figure(compared: WhatIf) -> Figure:
    """Draw window, round-trip time, queue and goodput of both runs; a line marks the time of the change.

    The flows are those whose goodput differs most.
    """
    base, changed = compared.base.outcome, compared.changed.outcome
    rates = {flow["name"]: flow["goodput_bps"] for flow in base["flows"]}
    far = {flow["name"]: abs(flow["goodput_bps"] - rates[flow["name"]]) for flow in changed["flows"]}
    flows = sorted(far, key=lambda name: -far[name])[:MOST_FLOWS]
    longest = max(base["links"], key=lambda link: float(link["mean_queue_packets"]))["name"] if base["links"] else None

    def recorded(label: str, result: Result) -> Recording:
        names = [flow["name"] for flow in result.outcome["flows"]]
        packets = result.packets if longest is not None else None
        trace = result.trace if len(result.trace) else None
        return Recording(label, trace, packets, float(result.outcome["duration_s"]), names, longest)

    both = [recorded("without", compared.base), recorded("with", compared.changed)]
    drawn = time_series(both, Selection(flows=flows), heading=f"{base['title']} (change at {compared.at_s:g} s)")
    for axes in drawn.axes:
        axes.axvline(compared.at_s, color="0.35", linewidth=0.9, linestyle=(0, (2, 2)), zorder=1)
    return drawn
