"""The paragraph on methods of a report, and the sources to cite. It says what the plan says, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock import _core
from ackclock.apps.report.document import Citation
from ackclock.base.models import models
from ackclock.base.si import quantity
from ackclock.study.plan import StudyPlan

SOURCE = re.compile(r"RFC|draft-|\b(19|20)\d\d\b")
"""What a source that can be cited has: an RFC, a draft, a year."""
MOST_POINTS = 400
"""Points whose networks are read for the ranges of rates and round-trip times."""
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class Networks:
    """The networks of the points of a study: what a methods paragraph says of them."""

    rates_bps: list[float]
    """The rates of the bottlenecks of the flows."""
    round_trips_s: list[float]
    """Round-trip times of empty paths."""
    controls: list[str]
    kinds: list[str]
    """tcp, quic and udp, as they occur."""
    profiles: list[str]
    queues: list[str]
    warmup: str
    duration_s: float


def networks(study: StudyPlan) -> Networks:
    """Read the networks of a study's points, of large studies a part of them."""
    refused = {point for point, _ in study.refused}
    points = [point for point in range(study.points) if point not in refused]
    step = -(-len(points) // MOST_POINTS)
    rates: set[float] = set()
    trips: set[float] = set()
    controls: dict[str, None] = {}
    kinds: dict[str, None] = {}
    profiles: dict[str, None] = {}
    queues: dict[str, None] = {}
    for point in points[::step]:
        scenario = study.scenario(point)
        resolved = scenario.resolved
        for flow in resolved["flows"]:
            kinds[flow["kind"]] = None
            if flow["control"]:
                controls[flow["control"]] = None
            if flow["path"] and flow["kind"] != "udp":
                rates.add(min(resolved["links"][link]["mean_rate_bps"] for link in flow["path"]))
            if flow["base_rtt_s"] is not None:
                trips.add(flow["base_rtt_s"])
        document = scenario.facts().document
        tcp = document.get("tcp")
        profiles[str(tcp.get("profile", "linux")) if isinstance(tcp, Mapping) else "linux"] = None
        queues |= dict.fromkeys(_queue_kinds(document.get("link")))
    first = study.scenario(points[0])
    warmup = str(first.facts().document.get("warmup", ""))
    return Networks(
        rates_bps=sorted(rates),
        round_trips_s=sorted(trips),
        controls=list(controls),
        kinds=list(kinds),
        profiles=list(profiles),
        queues=list(queues),
        warmup=warmup,
        duration_s=first.duration_s,
    )


def _queue_kinds(links: Any) -> list[str]:
    """The kinds of queues of links as they are written."""
    kinds = []
    for link in links if isinstance(links, Sequence) else []:
        queue = link.get("queue") if isinstance(link, Mapping) else None
        kind = queue.get("kind") if isinstance(queue, Mapping) else queue
        if isinstance(kind, str):
            kinds.append(kind)
    return kinds


def of_study(study: StudyPlan, axes: Mapping[str, Sequence[str]], runs: int, missing: int, tests: str = "") -> str:
    """The paragraph for the runs of a study; `tests` is the sentence on tests, if there were any."""
    made = networks(study)
    sentences = [_simulated(made), _transport(made, study.on), _design(axes, study, runs, made)]
    if missing:
        sentences.append(f"{missing:,} planned runs have no outcome and are left out.")
    sentences.append(_intervals(len(study.seeds)))
    sentences += [tests] if tests else []
    sentences.append("Study file, seeds and engine reproduce every number bit for bit.")
    return " ".join(filter(None, sentences))


def _simulated(made: Networks) -> str:
    parts = []
    if made.rates_bps:
        parts.append(f"a bottleneck of {_span([quantity(rate, 'b/s') for rate in _ends(made.rates_bps)])}")
    if made.round_trips_s:
        times = [quantity(time, "s") for time in _ends(made.round_trips_s)]
        parts.append(f"a round-trip time without queues of {_span(times)}")
    path = f"paths with {' and '.join(parts)}" if parts else "the network"
    version, _, build = _core.ENGINE.partition("+")
    return f"We simulated {path} packet by packet with Ackclock {version} (engine {build})."


def _ends(values: Sequence[float]) -> list[float]:
    return [values[0]] if len(values) == 1 else list(values) if len(values) == 2 else [values[0], values[-1]]


def _span(texts: Sequence[str]) -> str:
    """One text, or the two ends of a range with the unit once if it is the same."""
    if len(set(texts)) == 1:
        return texts[0]
    first, last = texts
    if first.partition(" ")[2] == last.partition(" ")[2]:
        first = first.partition(" ")[0]
    return f"{first} to {last}"


def _transport(made: Networks, on: str) -> str:
    if on != "tcp":
        return f"The flows ran on the substrate {on}."
    words = {"linux": "Linux 6.18 (profile linux: RACK-TLP, PRR, delayed ACKs)", "ns2": "ns-2 (profile ns2)"}
    if "tcp" in made.kinds and len(made.profiles) == 1 and made.profiles[0] in words:
        return f"TCP follows {words[made.profiles[0]]}."
    return ""


def _design(axes: Mapping[str, Sequence[str]], study: StudyPlan, runs: int, made: Networks) -> str:
    varying = {name: labels for name, labels in axes.items() if len(labels) > 1}
    counts = [
        f"{count_of(len(labels))} labels of {name.rpartition('.')[2].replace('_', ' ')}"
        for name, labels in varying.items()
    ]
    points = study.points
    seeds = len(study.seeds)
    length = f"{made.duration_s:g} s"
    warmup = f"; the first {_time(made.warmup)} of each are left out" if made.warmup not in {"", "0s"} else ""
    each = f"{count_of(seeds)} seed{'' if seeds == 1 else 's'}"
    if not counts:
        return f"We made {runs:,} run{'' if runs == 1 else 's'} of {length} with {each}{warmup}."
    text = listed(counts)
    return f"{text[0].upper()}{text[1:]} gave {points:,} points, each with {each} ({runs:,} runs of {length}{warmup})."


def _time(text: str) -> str:
    return re.sub(r"(?<=\d)(?=[a-z])", " ", text)


def count_of(number: int) -> str:
    """A number as a word up to ten."""
    return NUMBERS[number] if number < len(NUMBERS) else f"{number:,}"


def networks_of(names: Sequence[str]) -> str:
    """How many networks, in words."""
    return f"{count_of(len(names))} network{'' if len(names) == 1 else 's'}"


def listed(texts: Sequence[str]) -> str:
    """Texts with commas, and with "and" before the last."""
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _intervals(seeds: int) -> str:
    if seeds == 1:
        return "Each value is that of one run; there are no intervals."
    return (
        "Values are means over the seeds with 95 % Student intervals; where all seeds gave the same outcome there is "
        "no interval."
    )


def citations(controls: Iterable[str], queues: Iterable[str]) -> list[Citation]:
    """The program, and the sources of the controllers and queues that were used, as the catalog states them."""
    version, _, build = _core.ENGINE.partition("+")
    entries = [
        Citation(
            "ackclock",
            "software",
            {
                "author": "{The Ackclock authors}",
                "title": "Ackclock: a laboratory for congestion control",
                "version": version,
                "note": f"engine {build}",
                "license": "Apache-2.0 OR MIT",
            },
        )
    ]
    for kind, names, what in (("controllers", controls, "controller"), ("queues", queues, "queue")):
        known = {entry["name"]: entry for entry in models(kind)}
        for name in dict.fromkeys(names):
            entry = known.get(name)
            if entry is not None and SOURCE.search(entry.get("source") or ""):
                fields = {"title": f"{name} ({what} of Ackclock)", "howpublished": entry["source"]}
                if entry.get("year"):
                    fields["year"] = str(entry["year"])
                entries.append(Citation(f"ackclock-{name.replace('_', '-')}", "misc", fields))
    return entries


def bibtex(entries: Sequence[Citation]) -> str:
    """Entries as a file of BibTeX."""
    texts = []
    for entry in entries:
        fields = "".join(f"  {name} = {{{_escaped(value)}}},\n" for name, value in entry.fields.items())
        texts.append(f"@{entry.kind}{{{entry.key},\n{fields}}}\n")
    return "\n".join(texts)


def _escaped(text: str) -> str:
    return re.sub(r"([&%$#_])", r"\\\1", text)
