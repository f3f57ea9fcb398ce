"""The JSON Schemas of scenarios and outcomes: shipped, documented, and true of the files and of the results."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from ackclock import Scenario, ScenarioError
from ackclock.apps.suite.folder import find
from ackclock.base.models import models, schema
from ackclock.study.schema import outcome_schema
from write import FILES

LINK = {"ends": ["a", "b"], "rate": "1Mbps", "delay": "1ms"}


@pytest.fixture(scope="module")
def of_scenarios() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(schema("scenario"))


@pytest.mark.parametrize("name", FILES)
def test_files_are_those_that_the_descriptions_give(root: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(root)
    assert Path(name).read_text(encoding="utf-8") == FILES[name](), "write it again: make reference"


def _files(root: Path) -> list[Path]:
    """Every scenario and study of the repository."""
    definitions = root / "python" / "ackclock" / "apps" / "suite" / "definitions"
    found = [*(root / "scenarios").glob("*.toml"), *(root / "papers").rglob("*.toml"), *definitions.rglob("*.toml")]
    names = {"paper.toml", "suite.toml", "known.toml", "calibration.toml", "page.toml"}
    return [path for path in found if path.name not in names and "link" in path.read_text()]


def test_every_scenario_of_the_repository_is_valid(root: Path, of_scenarios: jsonschema.Draft202012Validator) -> None:
    checked = 0
    for path in _files(root):
        text = path.read_text()
        if path.parent.parent.name == "definitions" and "{" in text and (situation := _situation(path)) is not None:
            text = situation
        document = tomllib.loads(text)
        if not {"duration", "extends"} & document.keys():
            continue  # no scenario
        problems = [f"{path.name}: {error.json_path}: {error.message}" for error in of_scenarios.iter_errors(document)]
        assert not problems
        checked += 1
    assert checked >= 60, checked


def _situation(path: Path) -> str | None:
    """The scenario of the first run of a situation of a suite, in which nothing in braces is left."""
    suite = find(path.parent.name)
    situation = next((one for one in suite.situations if one.id == path.stem), None)
    return None if situation is None else suite.checks(situation).template.without().text


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"durations": "1s"}, "$"),
        ({"tcp": {"min_rto": 0.2}}, "$.tcp.min_rto"),
        ({"tcp": {"recovery": "newrenno"}}, "$.tcp.recovery"),
        ({"tcp": {"congestion_control": {"kind": "vegas", "alhpa": 1}}}, "$.tcp.congestion_control"),
        ({"flow": [{"from": "a"}]}, "$.flow[0]"),
        ({"link": [{"ends": ["a", "b"], "delay": "1ms"}]}, "$.link[0]"),
        ({"radio": {"nodes": 2, "mobility": {"kind": "static"}, "mac": {"rts": 1}}}, "$.radio.mac"),
        ({"tcp": {"congestion_control": {"kind": "vegas", "alpha": True}}}, "$.tcp.congestion_control"),
        ({"tcp": {"congestion_control": 5}}, "$.tcp.congestion_control"),
        ({"link": [LINK | {"loss": {"kind": "bernoulli", "rate": 7}}]}, "$.link[0].loss"),
        ({"link": [LINK | {"loss": [{"kind": "bernoulli"}]}]}, "$.link[0].loss[0]"),
        ({"link": [LINK | {"queue": {"kind": "red"}}]}, "$.link[0].queue"),
        ({"link": [LINK | {"queue": {"kind": "droptail", "limit": 5}}]}, "$.link[0].queue"),
        ({"link": [LINK | {"back": {"ends": ["b", "a"]}}]}, "$.link[0].back"),
        ({"tcp": {"min_rto": "200msec"}}, "$.tcp.min_rto"),
    ],
)
def test_mistakes_are_found(change: dict[str, Any], place: str, of_scenarios: jsonschema.Draft202012Validator) -> None:
    good: dict[str, Any] = {"duration": "1s", "link": [LINK], "flow": [{"from": "a", "to": "b"}]}
    assert not list(of_scenarios.iter_errors(good))
    assert place in {error.json_path for error in of_scenarios.iter_errors(good | change)}


QUANTITIES = {
    "delay": "10ms|1.5 s| 2us |1e-3s|.5ms|5.ms|+1ms|1E+2us|2min|10|10msec|ms|1.2.3ms|-1ms|1e s|10Ms|infs|1,5ms|",
    "rate": "10Mbps|2.5 Gbps|1e6bps|80kbps|1Tbps|10Mb|10MBps|10 mbps|fast|10Mbps/s",
    "queue": "50p|64kB|1.5bdp|unlimited|1e3p|50|64kb|bdp|50 packets",
}
"""Texts that the reader takes, and texts that it refuses, by the key of a link."""


@pytest.mark.parametrize(
    ("key", "text"), [(key, text) for key, texts in QUANTITIES.items() for text in texts.split("|")]
)
def test_quantities_are_those_that_the_reader_takes(
    key: str, text: str, of_scenarios: jsonschema.Draft202012Validator
) -> None:
    value = {"kind": "droptail", "limit": text} if key == "queue" else text
    document = {"duration": "1s", "link": [LINK | {key: value}], "flow": [{"from": "a", "to": "b"}]}
    try:
        Scenario.build(document)
        taken = True
    except ScenarioError:
        taken = False
    assert of_scenarios.is_valid(document) == taken


@pytest.mark.parametrize("name", ["dumbbell", "gateway", "iridium"])
def test_outcomes_are_as_the_schema_says(root: Path, name: str) -> None:
    outcome = Scenario.load(root / "scenarios" / f"{name}.toml", ["duration=20s"]).run().outcome
    jsonschema.Draft202012Validator(schema("outcome")).validate(outcome)
    assert outcome.keys() <= outcome_schema().keys()


def test_every_option_is_listed() -> None:
    tables = {entry["name"]: {param["name"] for param in entry["params"]} for entry in models("keys")}
    assert len(tables["tcp"]) >= 30
    assert {"fast_retransmit_after_rto", "quick_start", "partial_deflation"} <= tables["tcp"]
