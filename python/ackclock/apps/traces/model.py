"""A scenario of the path of a recording, and the check that says what it may be used for (docs/model.md)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ackclock import _core
from ackclock.apps.traces.reading import Recorded
from ackclock.base.files import BadInput
from ackclock.base.si import quantity
from ackclock.base.text import shown
from ackclock.base.toml_text import inline
from ackclock.scenario import Scenario

SEEDS = (1, 2, 3, 4, 5)
"""The seeds of the check."""
TRUSTED, USABLE = math.log(1.05), math.log(1.10)
"""Largest absolute logarithm of the ratio of goodput and of quantiles of the round-trip time: trusted, and trusted for
this controller."""
LOSS_BLIND = ("bbr", "bbr3", "vegas", "copa", "c4")
"""Controllers whose recordings do not tell an active queue management from random losses."""
ACCESS = "1Gbps"
OTHERS_SEEN = 0.02
"""The part of the rate that others must have taken to count as seen."""
Level = Literal["trusted", "trusted for this controller", "not trusted"]


@dataclass(frozen=True)
class Candidate:
    """A queue and losses that could be those of the path."""

    name: str
    kind: str
    """What it is: droptail, random, aqm, policer."""
    queue: str
    loss: str = ""


@dataclass(frozen=True)
class Tried:
    """A candidate with the figures of its runs."""

    candidate: Candidate
    figures: dict[str, float]
    distance: float
    """The largest absolute logarithm of a ratio of goodput, median or 95 % quantile of the round-trip time."""
    losses_agree: bool

    @property
    def percent(self) -> float:
        """The distance, per cent."""
        return 100.0 * math.expm1(self.distance)


@dataclass(frozen=True)
class Model:
    """The path of a recording as a scenario, with what the check says of it."""

    flow: str
    control: str
    path: dict[str, Any]
    recorded: dict[str, float]
    level: Level
    reasons: list[str]
    best: Tried
    tried: list[Tried]
    text: str
    """The scenario."""
    predictions: dict[str, dict[str, tuple[float, float, float]]] = field(default_factory=dict)
    """Of other controllers: mean, lowest and highest value over the seeds of goodput and quantiles."""


def candidates(path: dict[str, Any], control: str) -> list[Candidate]:
    """What the losses of a path leave open."""
    packets = max(4, round(path["buffer_packets"]))
    elsewhere = path["loss"][0]
    steps = path["rate_kind"] == "varies"
    drop_tail = f'{{ kind = "droptail", limit = "{packets}p" }}'
    more = f'{{ kind = "droptail", limit = "{2 * packets + 20}p" }}'

    def random(rate: float) -> str:
        return f'{{ kind = "bernoulli", rate = {rate:.7f} }}'

    choices = []
    if path["policer"]:
        policer = path["policer"]
        rate, burst = round(policer["rate_bps"]), round(policer["burst_bytes"])
        loss = f'{{ kind = "policer", rate = "{rate}bps", burst = "{burst}B" }}'
        choices.append(Candidate("policer", "policer", more, loss))
    if path["lost"] == 0:
        return [Candidate("drop-tail, at least", "droptail", more)]
    if not path["buffer_at_least"]:
        choices.append(Candidate("drop-tail", "droptail", drop_tail))
        if elsewhere > 0:
            choices.append(Candidate("drop-tail with random losses", "droptail", drop_tail, random(elsewhere)))
    everywhere = path["lost"] / max(1, path["sent"])
    choices.append(Candidate("random losses", "random", more, random(everywhere)))
    if path["full"] < 0.9:
        alone = path["empty"] * everywhere
        for kind in ("codel",) if steps else ("codel", "pie"):
            queue = f'{{ kind = "{kind}", limit = "1000p" }}'
            choices.append(Candidate(kind, "aqm", queue))
            if alone > 0:
                choices.append(Candidate(f"{kind} with random losses", "aqm", queue, random(alone)))
    return choices


def scenario(recorded: Recorded, path: dict[str, Any], control: str, candidate: Candidate, seconds: float) -> str:
    """The scenario of a path with a candidate."""
    payload, headers = recorded.reader.segment_bytes()
    wire = (payload + headers) * 8
    rate, low, high = path["rate_bps"]
    base_s = path["base_s"][0]
    delay_s = max(0.0, (base_s - wire / rate - 2 * wire / 1e9 - 2 * 64 * 8 / 1e9 - 64 * 8 / rate) / 2 - 1e-4)
    if path["rate_kind"] == "varies":
        steps = ", ".join(f'["{at:.3f}s", "{round(bps)}bps"]' for at, bps in path["steps"])
        rates = f'{{ kind = "steps", steps = [{steps}] }}'
    else:
        rates = f'"{round(rate)}bps"'
    said = "at least" if path["rate_kind"] == "at_least" else f"[{low / 1e6:.3f}, {(high or rate) / 1e6:.3f}] Mb/s"
    buffer = "at least" if path["buffer_at_least"] else f"{path['full']:.0%} of the losses came when it was full"
    lines = [
        f"title = {inline(f'path of {shown(recorded.file.name)}, flow {recorded.name}')}",
        f'duration = "{seconds:.3f}s"',
        "",
        "[[link]]",
        'ends = ["sender", "near"]',
        f'rate = "{ACCESS}"',
        'delay = "0.1ms"',
        "",
        "[[link]]",
        'ends = ["others", "near"]',
        f'rate = "{ACCESS}"',
        'delay = "0.1ms"',
        "",
        "[[link]]",
        'name = "path"',
        'ends = ["near", "receiver"]',
        f"rate = {rates}  # of {path['samples']} round trips, {path['busy']:.0%} with a queue: {said}",
        f'delay = "{delay_s * 1e3:.4f}ms"  # lowest round-trip time {base_s * 1e3:.3f} ms'
        + ("" if path["base_seen"] else ", an upper bound: the empty path was not seen"),
        f"queue = {candidate.queue}  # longest queue {path['queue_s'] * 1e3:.2f} ms; {buffer}",
    ]
    if candidate.loss:
        lines.append(f"loss = {candidate.loss}  # {path['lost']} of {path['sent']} packets were lost")
    lines += ['back = { loss = { kind = "none" } }', ""]
    lines += ["[[flow]]", 'name = "flow"', 'from = "sender"', 'to = "receiver"']
    size = "" if payload == 1448 else f", mss = {payload}"
    lines += [f"tcp = {{ congestion_control = {inline(control)}{size} }}"]
    if path["others_steps"] and (path["others"] or 0.0) >= OTHERS_SEEN:
        schedule = ", ".join(f'["{at:.3f}s", "{max(1000, round(bps))}bps"]' for at, bps in path["others_steps"])
        lines += ["", "# What others took. An elastic flow would yield; this one does not."]
        lines += ["[[flow]]", 'name = "others"', 'from = "others"', 'to = "receiver"']
        lines += [f"udp = {{ packet = 1500, schedule = [{schedule}] }}"]
    return "\n".join(lines) + "\n"


def _run(text: str, control: str | None, seed: int) -> dict[str, float]:
    """The figures of a run of a scenario, by the analysis that a recording gets."""
    overrides = {} if control is None else {"flow.flow.tcp.congestion_control": control}
    result = Scenario.parse(text, overrides).run(seed=seed, captures=["sender"])
    reader = _core.TraceReader(0, 0, "sender", None)
    reader.push(result.captures["sender"])
    reader.finish()
    return json.loads(reader.figures())  # type: ignore[no-any-return]


def _mean(figures: Sequence[dict[str, float]]) -> dict[str, float]:
    """The means over runs; a figure that a run does not have, such as a quantile of no round trip, is zero."""
    return {name: sum(each[name] or 0.0 for each in figures) / len(figures) for name in figures[0]}


def _compare(candidate: Candidate, figures: dict[str, float], recorded: dict[str, float]) -> Tried:
    names = ("goodput_bps", "rtt_p50_s")
    ratios = [(figures[name], recorded[name]) for name in names]
    # Where few round trips are much longer than the others, the 95 % quantile depends on how many they are: it has to
    # be within those of 93 and 97 %.
    late = recorded["rtt_p95_s"]
    ratios.append((min(max(late, figures["rtt_p93_s"]), figures["rtt_p97_s"]), late))
    distance = max(abs(math.log(max(ours, 1e-9) / max(theirs, 1e-9))) for ours, theirs in ratios)
    share, theirs = (each["lost"] / max(1.0, each["sent"]) for each in (figures, recorded))
    again = abs(share - theirs) <= max(0.35 * theirs, 0.002)
    alone, alone_theirs = figures["lost_without_queue"], recorded["lost_without_queue"]
    without = abs(alone - alone_theirs) <= max(0.5 * alone_theirs, 4.0)
    return Tried(candidate, figures, distance, again and without)


def _judge(
    path: dict[str, Any], control: str, ranked: Sequence[Tried], distrust: str | None
) -> tuple[Level, list[str]]:
    """The level of a model, and why it is not higher."""
    best = ranked[0]
    reasons: list[str] = []
    if distrust:
        reasons.append(distrust)
    if path["rate_kind"] == "at_least":
        reasons.append("the queue was hardly ever seen: the rate is a lower bound")
    if not path["base_seen"]:
        reasons.append("the empty path was not seen: the base round-trip time is an upper bound")
    if best.distance >= USABLE:
        reasons.append(
            f"the best candidate ({best.candidate.name}) differs by {best.percent:.0f} %: the path is another, or the "
            f"sender is not {control}"
        )
    elif not best.losses_agree:
        reasons.append(f"the losses of the best candidate ({best.candidate.name}) are others")
    if reasons:
        return "not trusted", reasons
    if best.distance >= TRUSTED:
        reasons.append(f"the model differs by {best.percent:.1f} %, and 5 % are permitted")
    if path["lost"] == 0 or (path["buffer_at_least"] and not path["marks"] and best.candidate.kind != "policer"):
        reasons.append("no loss came when the queue was full: its limit was not seen")
    if (path["others"] or 0.0) >= OTHERS_SEEN:
        reasons.append(f"others took {path['others']:.0%} of the rate, and how they would react is not known")
    others = [one for one in ranked[1:] if one.candidate.kind != best.candidate.kind and one.losses_agree]
    near = next((one for one in others if one.percent - best.percent < 5.0), None)
    if near is not None:
        reasons.append(f"{near.candidate.name} is nearly as good ({near.percent:.1f} %)")
    if control in LOSS_BLIND and best.candidate.kind in {"aqm", "random"}:
        reasons.append(f"a recording of {control} does not tell an active queue management from random losses")
    return ("trusted for this controller", reasons) if reasons else ("trusted", [])


def make(recorded: Recorded, control: str, progress: Callable[[float], object] | None = None) -> Model:
    """Estimate the path of a recording, try candidates, and judge the best. Raises BadInput if there is no path."""
    if recorded.about["form"] == "samples":
        raise BadInput(
            f"{recorded.file}: is {recorded.about['kind']}: samples show no buffer and no losses; a capture at the "
            "sender does"
        )
    if recorded.about["form"] == "capture" and recorded.flow["place"] != "sender":
        raise BadInput(
            f"{recorded.file}: was taken at: {recorded.flow['place']}; a model needs a capture at the sender "
            "(--at sender, if it was there)"
        )
    try:
        path = json.loads(recorded.reader.path())
    except ValueError as error:
        raise BadInput(f"{recorded.file}: {error}") from None
    figures = json.loads(recorded.reader.figures())
    seconds = figures["seconds"] or 0.0
    if not all(figures[name] for name in ("goodput_bps", "rtt_p50_s", "rtt_p95_s")):
        raise BadInput(f"{recorded.file}: the flow has no goodput or no round-trip times")
    if seconds < 1.0:
        raise BadInput(f"{recorded.file}: the flow lasts {quantity(seconds, 's')}; a model needs a second at least")
    trials, choices = [], candidates(path, control)
    for number, candidate in enumerate(choices):
        text = scenario(recorded, path, control, candidate, seconds)
        runs = [_run(text, None, seed) for seed in SEEDS]
        trials.append((_compare(candidate, _mean(runs), figures), text))
        if progress is not None:
            progress((number + 1) / len(choices))
    trials.sort(key=lambda trial: (not trial[0].losses_agree, trial[0].distance))
    ranked = [trial[0] for trial in trials]
    level, reasons = _judge(path, control, ranked, recorded.about.get("distrust"))
    head = [f"# {line}" for line in _header(recorded, level, reasons, ranked[0])]
    return Model(
        recorded.name,
        control,
        path,
        figures,
        level,
        reasons,
        ranked[0],
        ranked,
        "\n".join(head) + "\n" + trials[0][1],
    )


def _header(recorded: Recorded, level: Level, reasons: Sequence[str], best: Tried) -> list[str]:
    lines = [f"NOT TRUSTED: {'; '.join(reasons)}"] if level == "not trusted" else [f"{level}"]
    if level == "trusted for this controller":
        lines[0] += f": {'; '.join(reasons)}"
    lines.append(
        f"The path of {shown(recorded.file.name)}, flow {recorded.name}; "
        f"check: {best.candidate.name}, {best.percent:.1f} %."
    )
    return lines


def predict(model: Model, controls: Sequence[str]) -> dict[str, dict[str, tuple[float, float, float]]]:
    """What other controllers would have had: mean, lowest and highest over the seeds."""
    predictions = {}
    for control in controls:
        runs = [_run(model.text, control, seed) for seed in SEEDS]
        names = ("goodput_bps", "rtt_p50_s", "rtt_p95_s", "lost")
        values = {name: [run[name] for run in runs] for name in names}
        predictions[control] = {name: (sum(each) / len(each), min(each), max(each)) for name, each in values.items()}
    return predictions
