"""The reference page of the metrics."""

from __future__ import annotations

from ackclock.metrics.registry import ALIASES, METRICS

KINDS = {
    "flow": "Of flows: of all TCP and QUIC flows, or of those that are named.",
    "link": "Of a link: the one with the highest utilisation, the bottleneck of a suite, or that which is named.",
    "run": "Of the whole run.",
}
BETTER = {1: "more", -1: "less", 0: ""}


def page() -> str:
    """The page as Markdown."""
    lines = [
        "# Metrics",
        "",
        "The metrics that `plot`, `results`, `compare`, `search` and suites know. All but suites also take every",
        "number of the [outcome](outcome-keys.md): a key of flows or links, or a full name such as `f.goodput_bps`.",
        "Percentiles of delays need `delays = true` in the scenario.",
    ]
    for kind, about in KINDS.items():
        lines += ["", f"## {about.partition(':')[0].removesuffix('.')}", "", about, ""]
        lines += ["| name | meaning | unit | better | several flows |", "|---|---|---|---|---|"]
        for name, metric in METRICS.items():
            if metric.of == kind:
                names = ", ".join(f"`{one}`" for one in (name, *(other for other, of in ALIASES.items() if of == name)))
                several = metric.combine if kind == "flow" else ""
                cells = [names, metric.words, metric.unit, BETTER[metric.better], several]
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
