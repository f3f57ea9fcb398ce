"""What the build of the site runs: cells of tutorials and notebooks, pictures of the gallery, the files it keeps."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mkdocs.exceptions import PluginError

HOOKS = Path(__file__).parents[1] / "docs" / "hooks"
sys.path.insert(0, str(HOOKS))

import gallery  # noqa: E402
import lessons  # noqa: E402
import outputs  # noqa: E402
import tutorials  # noqa: E402

SCRIPT = """# %% [markdown]
# # Title
#
# Text.

# %%
from matplotlib.figure import Figure

print("printed")
6 * 7

# %%
value = 1

# %%
value;

# %%
figure = Figure()
figure.subplots().set(xlabel="time (s)", ylabel="cwnd (segments)")
display("first")
figure
"""


def run_cells(source: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    folder.mkdir()
    command = [sys.executable, str(HOOKS / "run_cells.py"), str(source), str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def cells(source: Path, folder: Path) -> list[dict[str, Any]]:
    done = run_cells(source, folder)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads((folder / "cells.json").read_text())
    return found


def test_cells_show_what_a_notebook_shows(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    text, first, silent, ended, drawn = cells(script, tmp_path / "outputs")
    assert (text["kind"], text["source"]) == ("markdown", "# Title\n\nText.")
    assert first["outputs"] == [{"kind": "text", "text": "printed"}, {"kind": "text", "text": "42"}]
    assert silent["outputs"] == ended["outputs"] == []
    shown, figure = drawn["outputs"]
    assert shown == {"kind": "text", "text": "'first'"}
    assert figure["words"] == "cwnd (segments) against time (s)"
    assert (tmp_path / "outputs" / figure["file"]).read_text().startswith("<?xml")


def test_notebooks_are_executed(tmp_path: Path) -> None:
    class_ = "class Shown:\n    def _repr_html_(self):\n        return '<table><tr><td>7</td></tr></table>'\n"
    code = {"cell_type": "code", "source": [class_, "Shown()"], "outputs": [{"stale": True}], "metadata": {}}
    notebook = {"cells": [{"cell_type": "markdown", "source": ["# Title"], "metadata": {}}, code], "nbformat": 4}
    source = tmp_path / "notebook.ipynb"
    source.write_text(json.dumps(notebook))
    head, shown = cells(source, tmp_path / "outputs")
    assert head["source"] == "# Title"
    assert shown["outputs"] == [{"kind": "html", "text": "<table><tr><td>7</td></tr></table>"}]


def test_a_cell_that_raises_is_named_with_its_line(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("# %%\nx = 1\n\n# %%\n\nx / 0\n")
    done = run_cells(script, tmp_path / "outputs")
    assert done.returncode == 1
    assert f'"{script}", line 6' in done.stderr
    assert "ZeroDivisionError" in done.stderr
    assert not (tmp_path / "outputs" / "cells.json").exists()


def test_a_page_has_code_text_tables_and_figures(tmp_path: Path) -> None:
    frame = (
        '<div><style>\n.dataframe {}\n</style>\n<table border="1" class="dataframe"><tr><td>1</td></tr></table></div>'
    )
    outputs = [
        {"kind": "text", "text": "a ``` b"},
        {"kind": "html", "text": frame},
        {"kind": "figure", "file": "figure-1.svg", "words": "a [b]"},
    ]
    found: list[dict[str, Any]] = [{"kind": "markdown", "source": "# Title", "outputs": []}]
    found.append({"kind": "code", "source": "x", "outputs": outputs})
    (tmp_path / "cells.json").write_text(json.dumps(found))
    text, figures = tutorials.page(tutorials.sources()[0], tmp_path)
    name = tutorials.sources()[0].stem
    assert figures == [(f"{name}-figure-1.svg", tmp_path / "figure-1.svg")]
    assert "```python\nx\n```" in text
    assert "````{ .text .output }\na ``` b\n````" in text
    assert "<table><tr><td>1</td></tr></table>" in text
    assert "<style" not in text
    assert f"({name}-figure-1.svg)" in text
    assert text.index("# Title") < text.index("This page is") < text.index("```python")


def test_files_are_kept_until_what_decides_them_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "CACHE", tmp_path)
    runs = []

    def build(folder: Path) -> None:
        runs.append(folder)
        (folder / "file").write_text(str(len(runs)))

    def content(identity: str) -> str:
        return (outputs.make([outputs.Job("job", identity, build)])["job"] / "file").read_text()

    assert [content("a"), content("a"), content("b"), content("b")] == ["1", "1", "2", "2"]
    assert len(list(tmp_path.iterdir())) == 1, "files of the old identity stay"


def test_a_failed_job_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "CACHE", tmp_path)
    entry: dict[str, Any] = {
        "name": "n",
        "title": "t",
        "file": "a.svg",
        "commands": ["ackclock run scenarios/none.toml --plot a.svg"],
    }
    with pytest.raises(PluginError, match=r"scenarios/none\.toml.*exit status 2"):
        outputs.make([gallery.job(entry)])
    with pytest.raises(PluginError, match=r"the commands did not write a\.svg"):
        outputs.make([gallery.job(entry | {"commands": ["ackclock check scenarios/dumbbell.toml"]})])
    with pytest.raises(PluginError, match="the command must be ackclock"):
        outputs.make([gallery.job(entry | {"commands": ["rm a.svg"]})])
    assert list(tmp_path.iterdir()) == []


def test_the_gallery_refuses_an_entry_that_is_not_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = tmp_path / "gallery.toml"
    data.write_text('[[section]]\ntitle = "s"\n[[section.picture]]\ntitle = "half"\n')
    monkeypatch.setattr(gallery, "DATA", data)
    with pytest.raises(PluginError, match="half: needs the keys"):
        gallery.entries()


def test_answers_of_lessons_are_on_one_page() -> None:
    answers, sheet = lessons.answers(), lessons.overview()
    assert "exclude: true" in answers.partition("# ")[0], "the search does not have the page"
    for lesson in lessons.lessons():
        page = lessons.page(lesson)
        for part in (lesson.question, lesson.answer):
            assert part in answers
            assert (part in sheet) == (part in page) == (part == lesson.question), lesson.name
        assert "answers.md" not in page + sheet
