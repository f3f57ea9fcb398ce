"""Runs the cells of a tutorial or notebook and writes what they show.

    python run_cells.py SOURCE FOLDER

SOURCE is a script with `# %%` cells or a notebook (.ipynb). FOLDER receives `cells.json`, a list of cells with
`kind` (markdown, code), `source` and `outputs`, and the figures as SVG files. All cells share one namespace. An output
has a `kind`: text, html, markdown, or figure (`file`, `words`). A cell that raises ends the program with status 1.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import re
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any


def split(path: Path) -> list[dict[str, Any]]:
    """The cells of a script or notebook, without outputs; `line` is where a cell of a script begins."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells_of_file = [(cell["cell_type"], "".join(cell["source"]), 0) for cell in json.loads(text)["cells"]]
    else:
        cells_of_file = []
        for match in re.finditer(r"^# %%([^\n]*)\n(.*?)(?=^# %%|\Z)", text, flags=re.M | re.S):
            body, line = match[2], text[: match.start(2)].count("\n")
            if "[markdown]" in match[1]:
                lines = [line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines()]
                cells_of_file.append(("markdown", "\n".join(lines), line))
            else:
                cells_of_file.append(("code", body, line))
    return [
        {"kind": kind, "source": source.strip(), "line": line + len(source) - len(source.lstrip("\n")), "outputs": []}
        for kind, source, line in cells_of_file
        if source.strip() and kind in {"markdown", "code"}
    ]


class Display:
    """Collects what one cell shows, in order: printed text, values, figures."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.outputs: list[dict[str, str]] = []
        self.printed = io.StringIO()
        self._figures = 0

    def flush(self) -> None:
        """Keep the text printed so far as an output."""
        text = self.printed.getvalue().rstrip()
        self.printed.seek(0)
        self.printed.truncate()
        if text:
            self.outputs.append({"kind": "text", "text": text})

    def show(self, *values: object) -> None:
        """Show values as a notebook does: a figure, HTML or Markdown if the value has them, else its text."""
        for value in values:
            self.flush()
            self.outputs.append(self._output(value))

    def show_open_figures(self) -> None:
        """Show the figures that a cell made with pyplot, and close them."""
        if "matplotlib.pyplot" not in sys.modules:
            return
        from matplotlib import pyplot

        for number in pyplot.get_fignums():
            self.show(pyplot.figure(number))
            pyplot.close(number)

    def _output(self, value: object) -> dict[str, str]:
        from matplotlib.figure import Figure

        if isinstance(value, Figure):
            return self._figure(value)
        bundle = value._repr_mimebundle_() if hasattr(value, "_repr_mimebundle_") else {}
        bundle = bundle[0] if isinstance(bundle, tuple) else bundle
        for kind, mime, method in (("html", "text/html", "_repr_html_"), ("svg", "image/svg+xml", "_repr_svg_")):
            text = bundle.get(mime) or (getattr(value, method)() if hasattr(value, method) else None)
            if text and kind == "svg":
                return self._file(text, "figure")
            if text:
                return {"kind": kind, "text": text}
        if hasattr(value, "_repr_markdown_"):
            return {"kind": "markdown", "text": value._repr_markdown_()}
        return {"kind": "text", "text": bundle.get("text/plain") or repr(value)}

    def _figure(self, figure: Any) -> dict[str, str]:
        import matplotlib as mpl

        text = io.StringIO()
        with mpl.rc_context({"svg.hashsalt": "ackclock"}):
            figure.savefig(text, format="svg", metadata={"Date": None})
        titles = [figure.get_suptitle(), *(axes.get_title() for axes in figure.axes)]
        labels = [" against ".join(filter(None, (a.get_ylabel(), a.get_xlabel()))) for a in figure.axes]
        words = next(filter(None, titles), "") or "; ".join(filter(None, labels))
        return self._file(text.getvalue(), " ".join(words.split()))

    def _file(self, text: str, words: str) -> dict[str, str]:
        self._figures += 1
        name = f"figure-{self._figures}.svg"
        (self.folder / name).write_text(text, encoding="utf-8")
        return {"kind": "figure", "file": name, "words": words}


def execute(cell: dict[str, Any], display: Display, namespace: dict[str, Any], source: Path) -> None:
    """Execute a code cell; the value of a last expression is shown unless a semicolon follows it."""
    tree = ast.parse(cell["source"], str(source))
    ast.increment_lineno(tree, cell["line"])
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr):
        last = ast.Expression(tree.body[-1].value)
        del tree.body[-1]
    with contextlib.redirect_stdout(display.printed):
        exec(compile(tree, str(source), "exec"), namespace)
        value = eval(compile(last, str(source), "eval"), namespace) if last else None
        if value is not None and not cell["source"].endswith(";"):
            display.show(value)
    display.show_open_figures()
    display.flush()
    cell["outputs"], display.outputs = display.outputs, []


def main(source: Path, folder: Path) -> int:
    """Run all cells; returns the exit status."""
    warnings.filterwarnings("error", category=DeprecationWarning, module="__main__")
    display = Display(folder)
    namespace: dict[str, Any] = {"__name__": "__main__", "__file__": str(source), "display": display.show}
    sys.path.insert(0, str(source.parent))
    cells = split(source)
    for cell in cells:
        if cell["kind"] == "code":
            try:
                execute(cell, display, namespace, source)
            except Exception:
                print(f"{source}: this cell failed:\n{cell['source']}\n", file=sys.stderr)
                traceback.print_exc()
                return 1
    (folder / "cells.json").write_text(json.dumps(cells), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()))
