"""The paragraph on methods of a report, and the sources to cite. It says what the plan says, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ackclock.apps.report.document import Citation
from ackclock.apps.report.facts import StudyFacts
from ackclock.base.axes import axis_words
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
    """The networks of the points of a study: what a paragraph on methods says of them."""

    rates_bps: list[float]
    """The rates of the bottlenecks of the flows with a controller."""
    round_trips_s: list[float]
    """Round-trip times of empty paths."""
    controls: dict[str, list[str]]
    """The controllers of the flows of each kind (tcp, quic, udp)."""
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
    controls: dict[str, dict[str, None]] = {}
    profiles: dict[str, None] = {}
    queues: dict[str, None] = {}
    for point in points[::step]:
        scenario = study.scenario(point)
        resolved = scenario.resolved
        for flow in resolved["flows"]:
            of_kind = controls.setdefault(flow["kind"], {})
            if flow["control"]:
                of_kind[flow["control"]] = None
            if flow["path"] and flow["kind"] != "udp":
                rates.add(min(resolved["links"][link]["mean_rate_bps"] for link in flow["path"]))
            if flow["base_rtt_s"] is not None:
                trips.add(flow["base_rtt_s"])
        document = scenario.facts().document
        tcp = document.get("tcp")
        profiles[str(tcp.get("profile", "linux")) if isinstance(tcp, Mapping) else "linux"] = None
        queues |= dict.fromkeys(_queue_kinds(document.get("link")))
    first = study.scenario(points[0])
    return Networks(
        rates_bps=sorted(rates),
        round_trips_s=sorted(trips),
        controls={kind: list(names) for kind, names in controls.items()},
        profiles=list(profiles),
        queues=list(queues),
        warmup=str(first.facts().document.get("warmup", "")),
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


def of_study(facts: StudyFacts, of_points: Networks | None) -> str:
    """The paragraph for the runs of a study; without its networks, if its scenario cannot be read here."""
    sentences = [_carried(facts, of_points)]
    if of_points is not None:
        sentences += [_flows(of_points, facts), _design(facts, of_points)]
    else:
        sentences += ["Their scenario cannot be read here.", _design(facts, None)]
    if facts.missing:
        sentences.append(f"{facts.missing:,} planned runs have no outcome and are left out.")
    sentences.append(_intervals(facts))
    if facts.real_time:
        sentences.append("Runs in real time depend on the machine: no two are equal.")
    else:
        sentences.append("Study file, seeds and engine reproduce every number bit for bit.")
    return " ".join(filter(None, sentences))


def program(engine: str) -> str:
    """The program with its engine, in words."""
    version, _, build = engine.partition("+")
    return f"Ackclock {version} (engine {build})" if build else f"Ackclock {version}"


def _carried(facts: StudyFacts, of_points: Networks | None) -> str:
    """What ran, over what, with which program."""
    parts = []
    if of_points is not None and of_points.rates_bps:
        rates = [quantity(rate, "b/s") for rate in _ends(of_points.rates_bps)]
        parts.append(f"a bottleneck of {_span(rates)}")
    if of_points is not None and of_points.round_trips_s:
        times = [quantity(time, "s") for time in _ends(of_points.round_trips_s)]
        parts.append(f"a round-trip time without queues of {_span(times)}")
    path = f"paths with {' and '.join(parts)}" if parts else "the network"
    if facts.substrates == ["tcp"]:
        return f"We simulated {path} packet by packet with {program(facts.engine)}."
    words = {"tcp": "simulated TCP", "quic": "QUIC in virtual time", "udp": "QUIC over UDP sockets in real time"}
    ran = [words.get(substrate, f"{substrate} in real time") for substrate in facts.substrates]
    return (
        f"We ran {listed(ran)} over {path}, whose links are simulated packet by packet, with {program(facts.engine)}."
    )


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


def _flows(of_points: Networks, facts: StudyFacts) -> str:
    """The kinds of flows with their controllers, and what TCP follows."""
    words = {"tcp": "TCP", "quic": "QUIC", "udp": "UDP"}
    kinds = []
    for kind, names in of_points.controls.items():
        kinds.append(f"{words[kind]} with {listed(names, 'or')}" if names else words[kind])
    sentence = f"Flows are {listed(kinds)}." if kinds else ""
    profiles = {"linux": "Linux 6.18 (profile linux: RACK-TLP, PRR, delayed ACKs)", "ns2": "ns-2 (profile ns2)"}
    simulated = "tcp" in of_points.controls and "tcp" in facts.substrates
    if simulated and len(of_points.profiles) == 1 and of_points.profiles[0] in profiles:
        sentence += f" Simulated TCP follows {profiles[of_points.profiles[0]]}."
    return sentence.strip()


def _design(facts: StudyFacts, of_points: Networks | None) -> str:
    """The axes, the points, the seeds, the runs."""
    counts = [f"{count_of(len(labels))} labels of {axis_words(axis)}" for axis, labels in facts.axes.items()]
    counts += [f"{count_of(len(facts.substrates))} substrates"] if len(facts.substrates) > 1 else []
    numbers = [len(seeds) for seeds in facts.seeds.values()]
    few, many = min(numbers), max(numbers)
    each = f"{count_of(few)} seed{'' if few == 1 else 's'}" if few == many else f"{few} to {many} seeds"
    length = f" of {of_points.duration_s:g} s" if of_points is not None else ""
    left_out = of_points.warmup if of_points is not None else ""
    warmup = f"; the first {_time(left_out)} of each are left out" if left_out not in {"", "0s"} else ""
    runs = f"{facts.runs:,} run{'' if facts.runs == 1 else 's'}{length}{warmup}"
    if not counts:
        return f"We made {runs}, with {each}."
    text = listed(counts)
    points = len(facts.seeds)
    gave = f"{text[0].upper()}{text[1:]} gave {count_of(points)} point{'' if points == 1 else 's'}"
    return f"{gave}, each with {each} ({runs})."


def _time(text: str) -> str:
    return re.sub(r"(?<=\d)(?=[a-z])", " ", text)


def count_of(number: int) -> str:
    """A number as a word up to ten."""
    return NUMBERS[number] if number < len(NUMBERS) else f"{number:,}"


def networks_of(names: Sequence[str]) -> str:
    """How many networks, in words."""
    return f"{count_of(len(names))} network{'' if len(names) == 1 else 's'}"


def listed(texts: Sequence[str], last: str = "and") -> str:
    """Texts with commas, and with a word before the last."""
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} {last} {texts[-1]}"


def _intervals(facts: StudyFacts) -> str:
    if all(len(seeds) == 1 for seeds in facts.seeds.values()):
        return "Each value is that of one run; there are no intervals."
    return (
        "Values are means over the seeds with 95 % Student intervals; where all seeds gave the same outcome there is "
        "no interval."
    )


def citations(engine: str, controls: Iterable[str], queues: Iterable[str]) -> list[Citation]:
    """The program that made the runs, and the sources of the controllers and queues, as the catalog states them."""
    version, _, build = engine.partition("+")
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
        catalog = {model["name"]: model for model in models(kind)}
        for name in dict.fromkeys(names):
            entry = catalog.get(name)
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
