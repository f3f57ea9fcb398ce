"""Notebooks: objects display themselves, and the notebook of the examples runs."""

from __future__ import annotations

import re
from pathlib import Path

import nbclient
import nbformat
import pytest
from matplotlib.figure import Figure

from ackclock import Scenario, Study
from ackclock.base.files import BadInput

TEXT = """
title = "<script>alert(1)</script> & more"
duration = "2s"
[[link]]
name = "l"
ends = ["a", "b<i>"]
rate = "2Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "10p" }
[[flow]]
name = "f<b>"
from = "a"
to = "b<i>"
start_jitter = "100ms"
"""
SWEEP = """
[sweep]
seed = "1..3"
"link.l.delay" = ["5ms", "20ms"]
"""


def tags(page: str) -> set[str]:
    return set(re.findall(r"<([a-zA-Z]+)", page))


def checked(page: str) -> str:
    """The page, after a check that texts from the scenario are no elements of it."""
    assert not tags(page) & {"script", "i", "b", "iframe", "object"}
    assert "&lt;script&gt;" in page
    assert "<svg" in page
    return page


def test_objects_display_themselves() -> None:
    scenario = Scenario.parse(TEXT)
    assert "f&lt;b&gt;" in checked(scenario._repr_html_())
    plain = scenario.run()
    page = checked(plain._repr_html_())
    mbps = plain.outcome["flows"][0]["goodput_bps"] / 1e6
    assert f">{mbps:.2f}".rstrip("0") in page
    traced = checked(scenario.run(trace="ack", packets=True)._repr_html_())
    assert len(traced) > len(page)
    study = Study.parse(TEXT + SWEEP)
    assert "The study has not run yet" in checked(study._repr_html_())
    finished = checked(study.run(jobs=2)._repr_html_())
    assert "95 % interval" in finished


def test_identifiers_of_two_pictures_differ() -> None:
    pages = [Scenario.parse(TEXT).run(seed=seed)._repr_html_() for seed in (1, 2)]
    first, second = (set(re.findall(r'\bid="([^"]+)"', page)) for page in pages)
    clips = {name for name in first & second if re.match(r"[pm][0-9a-f]{8}", name)}
    assert not clips


def test_plots_of_results_and_studies(tmp_path: Path) -> None:
    scenario = Scenario.parse(TEXT)
    assert isinstance(scenario.plot(), Figure)
    result = scenario.run(trace="ack", packets=True)
    figure = result.plot(["cwnd", "queue"], from_s=0.5, to_s=1.5)
    assert [axes.get_xlim() for axes in figure.axes] == [(0.5, 1.5)] * 2
    with pytest.raises(BadInput, match="the run was not traced"):
        scenario.run().plot()
    study = Study.parse(TEXT + SWEEP)
    with pytest.raises(BadInput, match="has not run yet"):
        study.plot()
    study.run(tmp_path / "study", jobs=1)
    assert study.plot(x="delay", y="rtt").axes[0].get_xlabel() == "l delay (ms)"
    assert study.table().height == 6
    again = Study.parse(TEXT + SWEEP).run(tmp_path / "study", jobs=1)
    assert again.table().equals(study.table())


def test_the_notebook_of_the_examples_runs(root: Path) -> None:
    notebook = nbformat.read(root / "examples" / "notebook.ipynb", 4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "outputs are made where the notebook is shown"
    nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    shown = [set(o["data"]) for cell in notebook.cells for o in cell.get("outputs", []) if "data" in o]
    assert sum("image/svg+xml" in kinds for kinds in shown) == 4
    assert sum("text/html" in kinds for kinds in shown) == 4
    assert not [o for cell in notebook.cells for o in cell.get("outputs", []) if o["output_type"] == "stream"]
