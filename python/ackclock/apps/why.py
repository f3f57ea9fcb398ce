"""Explanation of a window change: the event, the ACK or loss, the packet and the rule that dropped it, the queue."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ackclock import _core
from ackclock.base.files import BadInput
from ackclock.explanation import Explanation
from ackclock.scenario import Scenario


@dataclass(frozen=True)
class Counterfactual:
    """A run without the drop or the mark that caused a change of a window, beside the run with it."""

    action: str
    """keep_next: without the drop; unmark_next: without the mark."""
    packet: int
    link: str
    decided_s: float
    """When the packet was dropped or marked; of a loss on the link, when the link accepted it."""
    at_s: float
    """The time of the windows."""
    cwnd: tuple[float, float]
    """The window of the flow at that time, segments: with the drop or mark and without it."""
    goodput_bps: tuple[float, float]
    """The goodput of the flow in the whole run: with the drop or mark and without it."""
    scenario: Scenario
    """The scenario without the drop or mark."""

    @property
    def sentence(self) -> str:
        """The result in words."""
        had, has = (f"{window:.6g}" for window in self.cwnd)
        change = (
            ""
            if self.goodput_bps[0] == 0
            else f", goodput {100 * (self.goodput_bps[1] / self.goodput_bps[0] - 1):+.1f} %"
        )
        what = "drop" if self.action == "keep_next" else "mark"
        return f"without this {what}: window {has} instead of {had} at {self.at_s:g} s{change}"


def counterfactual(
    scenario: Scenario, explanation: Explanation, at_s: float, *, seed: int | None = None
) -> Counterfactual:
    """Run a scenario without the drop or the mark that caused the change of `explanation`, and with it.

    Raises BadInput if no drop or mark of a packet at a link caused the change, or if it cannot be taken back.
    """
    from ackclock.apps.what_if import World, changed

    prevention = explanation.prevention
    if prevention is None:
        if any(step.event == "drop" for step in explanation.packet_events):
            raise BadInput(
                f"--counterfactual: the drop of packet {explanation.packet} cannot be taken back: a hand-off lost it, "
                "it had no path, its link is one of satellites, or the change is no reduction"
            )
        raise BadInput(
            "--counterfactual: no link dropped or marked a packet that caused this change; choose another time, "
            "or --cut"
        )
    decided_s = prevention.at_s
    change: dict[str, Any] = {"do": prevention.action, "link": prevention.link, "packet": prevention.packet}
    if any(flow["name"] == explanation.flow for flow in scenario.network["flows"]):
        change["flow"] = explanation.flow
    without = changed(scenario, decided_s, **change)
    world = World(scenario, seed=seed, changes=[without])
    world.advance(decided_s)
    branch = world.fork()
    branch.adopt(without)
    windows = []
    for run in (world, branch):
        run.advance(max(at_s, decided_s) + 1e-12)  # with the events at that time
        windows.append(run.windows[explanation.flow])
    rates = [
        next(flow["goodput_bps"] for flow in run.finish().outcome["flows"] if flow["name"] == explanation.flow)
        for run in (world, branch)
    ]
    return Counterfactual(
        prevention.action,
        prevention.packet,
        prevention.link,
        decided_s,
        at_s,
        (windows[0], windows[1]),
        (rates[0], rates[1]),
        without,
    )


def explain(
    scenario: Scenario, at_s: float, *, flow: str | None = None, seed: int | None = None, cut: bool = False
) -> Explanation:
    """Run a scenario up to `at_s` and explain the last change of a window; with `cut`, the last reduction.

    Parameters
    ----------
    scenario
        The scenario; it and the seed reproduce the run exactly.
    at_s
        Simulated time, seconds.
    flow
        The flow; default: the TCP flow whose window changed last.
    seed
        Seed of all random streams; default: the scenario's.
    cut
        Explain the last reduction instead of the last change.

    Raises
    ------
    BadInput
        If there is no such flow or change, or if the run does not last until `at_s`.

    """
    if not 0 <= at_s <= scenario.duration_s:
        raise BadInput(f"--at: the run lasts from 0 to {scenario.duration_s:g} s")
    try:
        answer = _core.explain(scenario._parsed, at_s, flow=flow, seed=seed, cut=cut)
    except ValueError as error:
        if len(error.args) != 2:
            raise
        part, message = error.args
        raise BadInput(f"--{part}: {message}" if part else message) from None
    return Explanation.from_json(answer)


@dataclass(frozen=True)
class MessageBudget:
    """Where the time of a message of an application went; the parts add up to it."""

    flow: str
    message: dict[str, Any]
    """The message: number, connection, bytes, times in seconds, state."""
    parts: tuple[tuple[str, float], ...]
    """What it was, and how long it took, seconds."""
    total_s: float
    """From the start of the message to its last byte at the client, seconds."""

    def sentences(self) -> list[str]:
        """The message, then a line for each part."""
        row = self.message
        head = (
            f"message {row['number']} of {self.flow}: {row['bytes']:,} bytes, from {row['start_s']:.6f} s to "
            f"{row['end_s']:.6f} s: {1e3 * self.total_s:.3f} ms ({row['state'].replace('_', ' ')})"
        )
        width = max((len(what) for what, _ in self.parts), default=0)
        share = 100 / self.total_s if self.total_s > 0 else 0.0
        return [
            head,
            *(f"  {what:{width}}  {1e3 * part:10.3f} ms  {share * part:5.1f} %" for what, part in self.parts),
        ]


def budget(scenario: Scenario, message: str, *, seed: int | None = None) -> MessageBudget:
    """Run a scenario and say where the time of a message went; `message` is FLOW:NUMBER.

    Raises BadInput for a text of another form, a message that does not exist, and one without an end.
    """
    flow, _, number = message.rpartition(":")
    if not flow or not number.isdecimal() or int(number) >= 2**32:
        raise BadInput(f"--message {message}: write the flow and the number of the message, such as call:213")
    try:
        answer = json.loads(_core.message_budget(scenario._parsed, flow, int(number), seed=seed))
    except ValueError as error:
        if len(error.args) != 2:
            raise
        part, reason = error.args
        raise BadInput(f"--{part} {message}: {reason}") from None
    parts = tuple((part["what"], part["seconds"]) for part in answer["parts"])
    return MessageBudget(answer["flow"], answer["message"], parts, answer["total_s"])
