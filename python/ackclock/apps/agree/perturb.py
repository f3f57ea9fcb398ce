"""What a seed changes in a scenario for `ackclock agree`: the start of each flow and the delay of each link.

A scenario without random elements gives one result for all seeds. The perturbation makes its runs a sample. It depends
on the seed and on names alone, so that the same seed is the same network on every substrate. Losses and RED have
streams of their own, which the seed of the run determines.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ackclock.base.assignment import Assignment

DELAY_PART = 0.01
"""Largest relative change of a link's delay."""
START_S = 0.1
"""Largest addition to the start of a flow whose path has no base round-trip time, seconds."""


def uniform(seed: int, purpose: str, name: str) -> float:
    """A number from 0 to 1 that depends on the seed, the purpose and the name of the entity only."""
    digest = hashlib.blake2b(f"{seed}\0{purpose}\0{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") / 2.0**64


def overrides(resolved: Mapping[str, Any], seed: int) -> list[Assignment]:
    """Assignments for the seed: each start up to one base round trip later, each delay within 1 % of the given one.

    `resolved` is `Scenario.resolved`. Links without a name of their own are named by their ends; of several links
    with one name, none is changed, because an assignment cannot select one of them. Nor is a delay that varies.
    """
    assignments = []
    links = resolved["links"]
    names = [forward["given"] or forward["name"] for forward in links[::2]]
    counts = Counter(names)
    for name, forward, back in zip(names, links[::2], links[1::2], strict=True):
        varies = forward["delay_varies"] or back["delay_varies"]  # a constant would take the place of a file
        if counts[name] > 1 or not forward["delay_s"] or varies:
            continue
        factor = 1 + DELAY_PART * (2 * uniform(seed, "delay", name) - 1)
        assignments.append(Assignment(("link", name, "delay"), _time(factor * forward["delay_s"])))
        if back["delay_s"] and back["delay_s"] != forward["delay_s"]:
            assignments.append(Assignment(("link", name, "back", "delay"), _time(factor * back["delay_s"])))
    for flow in resolved["flows"]:
        most = flow["base_rtt_s"] or START_S
        start = flow["start_s"] + most * uniform(seed, "start", flow["name"])
        assignments.append(Assignment(("flow", flow["name"], "start"), _time(start)))
    return assignments


def _time(seconds: float) -> str:
    """A time in whole nanoseconds, as text with a unit."""
    return f"{round(seconds * 1e9)}ns"
