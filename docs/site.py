"""What the site needs beside its pages: the files of the repository that they link to, and the tutorials as pages.

A hook of MkDocs (mkdocs.yml). Links out of `docs` keep working: what they name becomes a file of the site.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def _outside(source: Path) -> list[Path]:
    """Files outside `docs` that a page links to."""
    found = [(source.parent / target).resolve() for target, _ in LINK.findall(source.read_text(encoding="utf-8"))]
    return [path for path in found if path.is_file() and not path.is_relative_to(DOCS) and path.is_relative_to(ROOT)]


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the tutorials, and whatever is linked to outside `docs`, as often as new pages link to more."""
    for script in sorted((ROOT / "examples" / "tutorials").glob("*.py")):
        files.append(File.generated(config, f"tutorials/{script.stem}.md", content=_tutorial(script)))
    waiting = sorted(DOCS.rglob("*.md"))
    seen: set[Path] = set()
    while waiting:
        for path in _outside(waiting.pop()):
            if path in seen:
                continue
            seen.add(path)
            files.append(File.generated(config, f"tree/{path.relative_to(ROOT)}", abs_src_path=str(path)))
            if path.suffix == ".md":
                waiting.append(path)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links out of `docs` lead to their copies in the site; links to folders become plain words."""
    uri = page.file.src_uri
    inside = uri.startswith("tree/")
    here = (ROOT / uri.removeprefix("tree/")).parent if inside else (DOCS / uri).parent
    up = "../" * uri.count("/")

    def follow(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        path = (here / target).resolve()
        if path.is_relative_to(ROOT / "examples" / "tutorials") and path.suffix == ".py":
            return f"]({up}tutorials/{path.stem}.md)"
        if path.is_file() and path.is_relative_to(DOCS):
            return f"]({up}{path.relative_to(DOCS)}{anchor})"
        if path.is_file() and path.is_relative_to(ROOT):
            return f"]({up}tree/{path.relative_to(ROOT)}{anchor})"
        return f"]({target}{anchor})" if uri.startswith("tutorials/") else "]()" if path.is_dir() else match[0]

    return LINK.sub(follow, markdown).replace("]()", "]")


def _tutorial(script: Path) -> str:
    """A script with `# %%` cells as a page: text as text, code as code."""
    parts = [f"*This page is `{script.relative_to(ROOT)}`; the tests run it.*\n"]
    for cell in re.split(r"^# %%", script.read_text(encoding="utf-8"), flags=re.M)[1:]:
        kind, _, body = cell.partition("\n")
        if "[markdown]" in kind:
            parts.append("\n".join(line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines()))
        elif body.strip():
            parts.append(f"```python\n{body.strip()}\n```")
    return "\n\n".join(parts) + "\n"
