"""The result of `ackclock agree` as one JSON document (docs/agree.md): page, figures and tables are made from it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from ackclock import stats
from ackclock.apps.agree import known_differences
from ackclock.apps.agree.compare import Row, compare, compare_distributions, judge
from ackclock.apps.agree.equal import has_profile
from ackclock.apps.agree.execute import Combination, RunPlan, Samples
from ackclock.apps.agree.metrics import DISTANCE, DISTANCE_FLOOR, METRICS, SHOWN, Metric, Setting, windows
from ackclock.apps.agree.perturb import DELAY_PART
from ackclock.apps.agree.sample import Sample
from ackclock.base.files import BadInput
from ackclock.study.plan import ENGINE

FORMAT = 1
CURVE_POINTS = 1200
QUANTILES = 101

Document = dict[str, Any]


def build(plan: RunPlan, samples: Samples, command: Sequence[str]) -> Document:
    """Compare the runs of a plan and describe everything."""
    reference = plan.substrates[0].name
    names = [substrate.name for substrate in plan.substrates]
    document: Document = {
        "format": FORMAT,
        "title": plan.scenario.title,
        "scenario": plan.scenario.file,
        "set": list(plan.settings),
        "packets": list(plan.packets),
        "span": list(plan.span),
        "command": list(command),
        "engine": ENGINE,
        "duration_s": plan.scenario.duration_s,
        "reference": reference,
        "seeds": plan.seeds,
        "repeats": plan.repeats,
        "remarks": _remarks(plan),
        "perturbation": {"delay_part": DELAY_PART, "start": "up to one base round-trip time later"},
        "metrics": [_metric(metric) for metric in METRICS] + [_distance_metric()],
        "shown": [{"name": m.name, "words": m.words, "unit": m.unit} for m in SHOWN],
        "substrates": [{"name": s.name, "title": s.title, "real_time": s.real_time} for s in plan.substrates],
        "controllers": [_controller(plan, samples, control.label, control.name) for control in plan.controls],
        "known_differences": [{**asdict(one), "metrics": one.metrics} for one in known_differences.concerning(names)],
        "signals": [
            {"name": s.name, "controllers": s.controllers, "missing": s.missing, **{name: s.on(name) for name in names}}
            for s in known_differences.tables().signals
        ],
    }
    document["summary"] = summary(document)
    return document


def _remarks(plan: RunPlan) -> list[str]:
    """What concerns the whole report: a profile that only simulated TCP has."""
    names = [substrate.name for substrate in plan.substrates]
    if "tcp" in names and has_profile(plan.scenario, "ns2"):
        return [
            "The scenario has the profile ns2, whose windows grow by ACKs and are real numbers, and every packet is "
            "acknowledged. Only simulated TCP has it: differences may come from the profile. Repeat the report with "
            "--set tcp.profile=linux."
        ]
    return []


def _metric(metric: Metric) -> dict[str, Any]:
    return {
        "name": metric.name,
        "words": metric.words,
        "unit": metric.unit,
        "part": metric.part,
        "least": metric.least,
    }


def _distance_metric() -> dict[str, Any]:
    words = "distribution of the window, Kolmogorov and Smirnov's distance"
    return {"name": DISTANCE, "words": words, "unit": "", "part": None, "least": DISTANCE_FLOOR}


def _controller(plan: RunPlan, samples: Samples, label: str, name: str) -> Document:
    names = [substrate.name for substrate in plan.substrates]
    runs = {s: samples.runs.get(Combination(label, s), []) for s in names}
    bottleneck, settings = _settings(plan, runs)
    values = {s: _values(runs_of_substrate, settings) for s, runs_of_substrate in runs.items()}
    described = {}
    for substrate in plan.substrates:
        s = substrate.name
        combination = Combination(label, s)
        described[s] = {
            "refused": samples.refused.get(combination),
            "runs": len(runs[s]),
            "invalid": [_stamp(one) for one in samples.invalid.get(combination, [])],
            "validity": [_stamp(one) for one in runs[s] if one.validity is not None],
            "means": {m.name: _estimate(values[s], m.name) for m in (*METRICS, *SHOWN)},
            "values": {m.name: [values[s][m.name].get(x.seed) for x in runs[s]] for m in (*METRICS, *SHOWN)},
            "seeds": [x.seed for x in runs[s]],
            "curve": _curve(runs[s]),
            "distribution": _distribution(runs[s]),
            "notes": list(dict.fromkeys(note for one in runs[s] for note in one.notes)),
            "lacking": [
                {"signal": signal.name, "given": support} for signal, support in known_differences.lacking(name, s)
            ],
        }
    comparisons = [_comparison(plan, name, substrate.name, values, runs) for substrate in plan.substrates[1:]]
    return {
        "control": label,
        "name": name,
        "bottleneck": bottleneck,
        "substrates": described,
        "comparisons": comparisons,
    }


def _real(plan: RunPlan, *names: str) -> bool:
    return any(substrate.real_time for substrate in plan.substrates if substrate.name in names)


def _settings(plan: RunPlan, runs: Mapping[str, Sequence[Sample]]) -> tuple[str | None, dict[int, Setting]]:
    """The bottleneck (of the links with a fixed rate the one most used on the reference), and the setting by seed."""
    first = next((samples[0] for samples in runs.values() if samples and samples[0].links), None)
    rates = {link["name"]: link["mean_rate_bps"] for link in plan.scenario.resolved["links"]}
    used = {} if first is None else {n: link["utilisation"] for n, link in first.links.items() if n in rates}
    bottleneck = max(used, key=lambda n: used[n] or 0.0) if used else None
    by_seed: dict[int, Setting] = {}
    for sample in (sample for samples in runs.values() for sample in samples):
        rate = rates[bottleneck] if bottleneck is not None else None
        setting = by_seed.setdefault(sample.seed, Setting(rate, {}))
        for name, flow in sample.flows.items():
            if flow["min_delay_s"] is not None:
                setting.base_s[name] = min(setting.base_s.get(name, math.inf), flow["min_delay_s"])
    return bottleneck, by_seed


def _values(runs: Sequence[Sample], settings: Mapping[int, Setting]) -> dict[str, dict[int, float | None]]:
    values: dict[str, dict[int, float | None]] = {metric.name: {} for metric in (*METRICS, *SHOWN)}
    for sample in runs:
        shared = settings[sample.seed]
        base_s = {name: flow["base_delay_s"] for name, flow in sample.flows.items() if flow["base_delay_s"] is not None}
        setting = Setting(shared.rate_bps, {**shared.base_s, **base_s})
        for metric in (*METRICS, *SHOWN):
            values[metric.name][sample.seed] = metric.value(sample, setting)
    return values


def _estimate(values: Mapping[str, Mapping[int, float | None]], name: str) -> dict[str, Any] | None:
    present = [x for x in values[name].values() if x is not None]
    if not present:
        return None
    e = stats.within(present[:1] if stats.same(present) else present, 0.0)
    return {"value": e.value, "low": e.low, "high": e.high, "n": e.n}


def _comparison(
    plan: RunPlan,
    control: str,
    substrate: str,
    values: Mapping[str, Mapping[str, Mapping[int, float | None]]],
    runs: Mapping[str, Sequence[Sample]],
) -> Document:
    reference = plan.substrates[0].name
    paired = not _real(plan, reference, substrate)
    a, b = values[reference], values[substrate]
    rows = [compare(metric, a[metric.name], b[metric.name], paired=paired) for metric in METRICS]
    of = [{sample.seed: windows(sample) for sample in runs[name]} for name in (reference, substrate)]
    rows.append(compare_distributions(of[0], of[1], paired=paired))
    judged = []
    explained: dict[str, str] = {}
    for row in judge(rows):
        if row.test == "none" and row.reference is None and row.compared is None:
            continue  # the metric does not apply to this network
        cause = (
            known_differences.explanation(row, control, (reference, substrate)) if row.verdict == "differs" else None
        )
        if row.test == "distance" and cause is not None and explained.get("cwnd") != cause.id:
            cause = None  # a distance has no direction: the entry must explain the mean window as well
        if cause is not None:
            explained[row.metric] = cause.id
            row = replace(row, suspected=cause.id) if cause.open else replace(row, known=cause.id)
        judged.append(_plain(row))
    return {"substrate": substrate, "paired": paired, "rows": judged}


def _plain(row: Row) -> dict[str, Any]:
    plain = asdict(row)
    return {name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in plain.items()}


def _stamp(sample: Sample) -> dict[str, Any]:
    return {"seed": sample.seed, **(sample.validity or {})}


def _curve(runs: Sequence[Sample]) -> dict[str, Any] | None:
    """The window of the first flow in the first run, with at most 1,200 points, and its cuts."""
    if not runs or not runs[0].curves:
        return None
    flow, curve = next(iter(runs[0].curves.items()))
    stride = max(1, -(-len(curve.cwnd) // CURVE_POINTS))
    return {
        "flow": flow,
        "seed": runs[0].seed,
        "start_s": curve.start_s,
        "step_s": curve.step_s * stride,
        "cwnd": [round(x, 2) for x in curve.cwnd[::stride]],
        "cuts_s": curve.cuts_s,
    }


def _distribution(runs: Sequence[Sample]) -> dict[str, Any] | None:
    """Quantiles of the window over all runs, and for each quantile the least and the largest over the runs."""
    all_windows = [cwnd for sample in runs if len(cwnd := windows(sample))]
    if not all_windows:
        return None
    parts = np.linspace(0, 1, QUANTILES)
    each = np.array([np.quantile(one, parts, method="inverted_cdf") for one in all_windows])
    every = np.quantile(np.concatenate(all_windows), parts, method="inverted_cdf")
    return {
        "quantiles": [round(float(x), 3) for x in every],
        "low": [round(float(x), 3) for x in each.min(axis=0)],
        "high": [round(float(x), 3) for x in each.max(axis=0)],
    }


def rows_of(document: Mapping[str, Any]) -> list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]]:
    """Every row with its controller and its comparison."""
    return [
        (controller, comparison, row)
        for controller in document["controllers"]
        for comparison in controller["comparisons"]
        for row in comparison["rows"]
    ]


def summary(document: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers of verdicts, the findings, and one sentence."""
    every = rows_of(document)
    counts = {v: sum(row["verdict"] == v for _, _, row in every) for v in ("agrees", "differs", "undecided")}
    findings = [
        {
            "control": controller["control"],
            "substrate": comparison["substrate"],
            "metric": row["metric"],
            "suspected": row["suspected"],
        }
        for controller, comparison, row in every
        if row["verdict"] == "differs" and row["known"] is None
    ]
    return {**counts, "findings": findings, "sentence": _sentence(document, counts, findings)}


def _sentence(document: Mapping[str, Any], counts: Mapping[str, int], findings: Sequence[Mapping[str, Any]]) -> str:
    reference = document["reference"]
    others = " and ".join(s["name"] for s in document["substrates"][1:])
    total = sum(counts.values())
    if not total:
        return f"Nothing could be compared: no controller ran on {reference} and on {others}."
    several = len(document["controllers"]) > 1
    of = (
        f" of {len(document['controllers'])} controllers" if several else f" of {document['controllers'][0]['control']}"
    )
    text = f"{counts['agrees']} of {total} metrics{of} on {others} agree with {reference}"
    rest = []
    if counts["undecided"]:
        rest.append(f"{counts['undecided']} {'is' if counts['undecided'] == 1 else 'are'} undecided")
    if counts["differs"]:
        explained = counts["differs"] - len(findings)
        is_open = sum(finding["suspected"] is not None for finding in findings)
        unknown = len(findings) - is_open
        parts = [f"{explained} by known differences"] if explained else []
        parts += [f"{is_open} by known differences whose cause is open"] if is_open else []
        how = ", ".join([*parts, *([f"{unknown} without a known cause"] if unknown else [])])
        rest.append(f"{counts['differs']} differ{'s' if counts['differs'] == 1 else ''} ({how})")
    return f"{text}; {', '.join(rest)}." if rest else f"{text}."


def text_of(document: Mapping[str, Any]) -> str:
    """The document as JSON text."""
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def read(path: Path) -> Document:
    """Read a document from a file, or from `agree.json` in a folder. Raises BadInput if it is none."""
    file = path / "agree.json" if path.is_dir() else path
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInput(f"{file}: there is no report here; create one with ackclock agree FILE --out DIR") from None
    except (UnicodeDecodeError, ValueError) as error:
        raise BadInput(f"{file}: cannot be read: {error}") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise BadInput(f"{file}: is no report of ackclock agree in format {FORMAT}")
    return document
