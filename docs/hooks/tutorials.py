"""Tutorials (scripts with `# %%` cells) and notebooks as pages: text, code, and what the code shows when it is run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from outputs import ROOT, Job, run

RUNNER = Path(__file__).parent / "run_cells.py"


def sources() -> list[Path]:
    """The scripts of examples/tutorials, and the notebooks of examples."""
    examples = ROOT / "examples"
    return sorted((examples / "tutorials").glob("*.py")) + sorted(examples.glob("*.ipynb"))


def job(source: Path) -> Job:
    """Runs all cells in one process."""

    def build(folder: Path) -> None:
        work = folder / "work"
        work.mkdir()
        run([RUNNER, source, folder], work, str(source.relative_to(ROOT)))

    return Job(source.stem, source.read_text(encoding="utf-8"), build)


def page(source: Path, outputs: Path) -> tuple[str, list[tuple[str, Path]]]:
    """The page as Markdown, and its figures: names beside the page, files."""
    name, figures, parts = source.stem, [], []
    cells = json.loads((outputs / "cells.json").read_text(encoding="utf-8"))
    for number, cell in enumerate(cells):
        if cell["kind"] == "markdown":
            parts.append(cell["source"])
            if number == 0:
                parts.append(_origin(source))
            continue
        parts.append(_fenced(cell["source"], "python"))
        for output in cell["outputs"]:
            if output["kind"] == "figure":
                shown = f"{name}-{output['file']}"
                figures.append((shown, outputs / output["file"]))
                parts.append(figure(shown, output["words"]))
            else:
                parts.append(_output(output))
    return "\n\n".join(parts) + "\n", figures


def figure(file: str, words: str) -> str:
    """A picture with a description, which leads to the file."""
    safe = re.sub(r"[\[\]\n]", " ", words)
    return f"[![{safe}]({file}){{ .figure loading=lazy }}]({file}){{ .zoom }}"


def folded(title: str, scenario: str) -> str:
    """A scenario that opens by a click."""
    body = "\n".join(f"    {line}".rstrip() for line in ["```toml", *scenario.rstrip().splitlines(), "```"])
    return f'??? abstract "{title}"\n{body}'


def _origin(source: Path) -> str:
    path = source.relative_to(ROOT)
    return (
        f"*This page is [`{path}`](../tree/{path}), with the outputs of the version that this site describes.*"
        "{ .origin }"
    )


def _output(output: dict[str, Any]) -> str:
    if output["kind"] == "html":
        # Style sheets and classes of a table give way to those of the site.
        text = re.sub(r"<style\b.*?</style>", "", output["text"], flags=re.S)
        text = re.sub(r'<table border="1" class="dataframe">', "<table>", text)
        return f'<div class="output">{text.strip()}</div>'
    if output["kind"] == "markdown":
        return str(output["text"])
    return _fenced(output["text"], "{ .text .output }")


def _fenced(text: str, language: str) -> str:
    fence = "`" * max(3, 1 + max(map(len, re.findall(r"`+", text)), default=0))
    return f"{fence}{language}\n{text}\n{fence}"
