"""Results that a controller is compared with: those of the package (`make baselines`) and those beside its own."""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from ackclock.apps.suite.folder import Suite, known
from ackclock.apps.suite.result import Measure, SuiteMetadata, SuiteResult, read
from ackclock.base.files import BadInput

CONTROLLERS = ("reno", "cubic", "bbr", "bbr3")
FOLDER = Path(__file__).parent / "shipped"
DIGITS = 6
"""Significant digits of the values."""
MOST = 6
"""Baselines of a page."""


@dataclass(frozen=True)
class Baselines:
    """Results that a controller is compared with, by controller, and what limits the comparison."""

    results: dict[str, SuiteResult]
    warnings: list[str]

    @property
    def reference(self) -> SuiteResult | None:
        """The result that differences are listed against: CUBIC's, the default of today's hosts, or else the first."""
        return self.results.get("cubic") or next(iter(self.results.values()), None)


def definition(suite: Suite) -> str:
    """A hash of the files of a suite."""
    digest = hashlib.sha256()
    for path in sorted(suite.folder.glob("*.toml")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def shipped(suite: Suite) -> tuple[dict[str, SuiteResult], str]:
    """The results that come with the package for a suite, and the hash of the suite they were made with."""
    path = FOLDER / f"{suite.key}.json.gz"
    if not path.is_file() or suite.key not in known():
        return {}, definition(suite)
    document = json.loads(gzip.decompress(path.read_bytes()))
    results = {}
    for one in document["results"]:
        measures = [
            Measure(situation, point, metric, int(seed), value)
            for situation, point, metric, seeds in one["measures"]
            for seed, value in seeds.items()
        ]
        same = {(situation, point) for situation, point in one["deterministic"]}
        about = SuiteMetadata(**one["about"])
        results[about.control] = SuiteResult(about, path, measures, one["refused"], [], same)
    return results, document["definition"]


def beside(result: SuiteResult) -> dict[str, SuiteResult]:
    """Other results of the same suite in the folder that contains this one."""
    results = {}
    for path in sorted(result.folder.resolve().parent.glob("*/suite.json")):
        if path.parent == result.folder.resolve():
            continue
        try:
            other = read(path.parent)
        except BadInput:  # what cannot be read is no baseline
            continue
        if other.metadata.suite == result.metadata.suite:
            results[other.metadata.control] = other
    return results


def baselines(suite: Suite, result: SuiteResult) -> Baselines:
    """What there is to compare a result with: results in the same folder, then those of the package.

    Warnings name results of another engine or of another version of the suite.
    """
    packaged, version = shipped(suite)
    in_folder = beside(result)
    every = {**packaged, **in_folder}
    order = [name for name in (*CONTROLLERS, *every) if name in every and name != result.metadata.control]
    chosen = {name: every[name] for name in list(dict.fromkeys(order))[:MOST]}
    warnings = []
    other = {name: r.metadata.engine for name, r in chosen.items() if r.metadata.engine != result.metadata.engine}
    for engine in dict.fromkeys(other.values()):
        names = ", ".join(name for name in other if other[name] == engine)
        warnings.append(
            f"{names}: results of engine {engine}; {result.metadata.control} ran with {result.metadata.engine}. "
            "Differences can come from the engine."
        )
    if version != definition(suite) and set(chosen) - set(in_folder):
        warnings.append("The results of the package were made with another version of this suite.")
    return Baselines(chosen, warnings)


def pack(suite: Suite, results: list[SuiteResult]) -> bytes:
    """Results as the compressed file of the package. The same results give the same bytes."""
    document = {
        "definition": definition(suite),
        "results": [
            {
                "about": result.metadata.as_dict(),
                "refused": result.refused,
                "deterministic": sorted(result.deterministic),
                "measures": [
                    [*key, {str(seed): float(f"{value:.{DIGITS}g}") for seed, value in seeds.items()}]
                    for key, seeds in result.values().items()
                ],
            }
            for result in results
        ],
    }
    return gzip.compress(json.dumps(document, separators=(",", ":")).encode(), 9, mtime=0)
