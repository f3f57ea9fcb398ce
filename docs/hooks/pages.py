"""What the site has beside its pages: tutorials, pictures, the command line, and the files that pages link to.

A hook of MkDocs (mkdocs.yml). Links out of `docs` keep working: what they name becomes a file of the site.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import commands
import gallery
import lessons
import tutorials
from mkdocs.structure.files import File, Files
from outputs import ROOT, make

from ackclock.apps import laboratory

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

DOCS = ROOT / "docs"
LABORATORY = ROOT / "python" / "ackclock" / "web" / "lab.html"
OUT = ROOT / "out"
OF_RESULTS = ("index.html", "*/*.html", "comparison/*/*.html", "*/figures/*", "*/*.csv", "*/*.json")
"""The files of `make run` that the site has in its folder `results`."""
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)(#[^)\s]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the lessons into the navigation, below their page, in the order of their files."""
    every = {"Lessons": [lessons.PAGE, *({lesson.title: lesson.page} for lesson in lessons.lessons())]}
    for tab in config.nav or []:
        for name, pages in tab.items():
            if isinstance(pages, list):
                tab[name] = [every if page == {"Lessons": lessons.PAGE} else page for page in pages]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is made at build, and whatever is linked to outside `docs`, as often as new pages link to more."""
    waiting = [(path.read_text(encoding="utf-8"), path.parent) for path in sorted(DOCS.rglob("*.md"))]
    waiting += _add_made(files, config)
    seen = {LABORATORY, *tutorials.sources()}
    for path in tutorials.sources():
        files.append(File.generated(config, f"tree/{path.relative_to(ROOT)}", abs_src_path=str(path)))
    while waiting:
        for path in _outside(*waiting.pop()):
            if path in seen:
                continue
            seen.add(path)
            files.append(File.generated(config, f"tree/{path.relative_to(ROOT)}", abs_src_path=str(path)))
            if path.suffix == ".md":
                waiting.append((path.read_text(encoding="utf-8"), path.parent))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links out of `docs` lead to their copies in the site; links to folders become plain words."""
    uri = page.file.src_uri
    if uri == "index.md" and not _has_results():
        markdown = "\n".join(line for line in markdown.split("\n") if "](../out/index.html)" not in line)
    if uri == "gallery.md":
        return gallery.page(markdown)
    inside = uri.startswith("tree/")
    here = (ROOT / uri.removeprefix("tree/")).parent if inside else (DOCS / uri).parent
    here = next((source.parent for source in tutorials.sources() if uri == _page_of(source)), here)
    up = "../" * uri.count("/")

    def follow(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        path = (here / target).resolve()
        if path == LABORATORY:
            return f"]({up}lab.html{anchor})"
        if path == OUT / "index.html":
            return f"]({up}results/index.html{anchor})"
        if path in tutorials.sources():
            return f"]({up}{_page_of(path)})"
        if path.is_file() and path.is_relative_to(DOCS):
            return f"]({up}{path.relative_to(DOCS)}{anchor})"
        if path.is_file() and path.is_relative_to(ROOT):
            return f"]({up}tree/{path.relative_to(ROOT)}{anchor})"
        return f"]({target}{anchor})" if uri.startswith("tutorials/") else "]()" if path.is_dir() else match[0]

    return LINK.sub(follow, markdown).replace("]()", "]")


def _page_of(source: Path) -> str:
    """The page of a tutorial or notebook."""
    return f"tutorials/{source.stem}.md"


def _add_made(files: Files, config: MkDocsConfig) -> list[tuple[str, Path]]:
    """Add the pages and pictures that are made by running something.

    Returns the pages of the tutorials, each with the folder from which its links lead.
    """
    sources, pictures = tutorials.sources(), gallery.entries()
    taught = lessons.lessons()
    jobs = [tutorials.job(source) for source in sources] + [gallery.job(entry) for entry in pictures]
    outputs = make(jobs + [lessons.job(lesson) for lesson in taught])
    pages = []
    for source in sources:
        page, figures = tutorials.page(source, outputs[source.stem])
        pages.append((page, source.parent))
        files.append(File.generated(config, _page_of(source), content=page))
        for name, path in figures:
            files.append(File.generated(config, f"tutorials/{name}", abs_src_path=str(path)))
    for entry in pictures:
        name = gallery.picture_name(entry)
        path = outputs[f"gallery-{entry['name']}"] / name
        files.append(File.generated(config, f"gallery/{name}", abs_src_path=str(path)))
    for lesson in taught:
        files.append(File.generated(config, lesson.page, content=lessons.page(lesson)))
        drawn = outputs[f"lesson-{lesson.name}"] / lessons.FIGURE
        files.append(File.generated(config, f"lessons/{lesson.name}.svg", abs_src_path=str(drawn)))
    files.append(File.generated(config, lessons.PAGE, content=lessons.overview()))
    files.append(File.generated(config, lessons.ANSWERS, content=lessons.answers()))
    doors = {"Documentation": "index.html"} | ({"Results": "results/index.html"} if _has_results() else {})
    files.append(File.generated(config, "lab.html", content=laboratory.with_doors(laboratory.page(), doors)))
    _add_results(files, config)
    files.append(File.generated(config, "reference/commands.md", content=commands.page()))
    return pages


def _has_results() -> bool:
    """Whether `make run` has written its index."""
    return "Results" in laboratory.doors_of(OUT / "lab.html")


def _add_results(files: Files, config: MkDocsConfig) -> None:
    """Add the pages of `make run`, with links to the pages of this site."""
    if not _has_results():
        return
    doors = {"Documentation": "../index.html", "Results": "index.html"}
    files.append(File.generated(config, "results/lab.html", content=laboratory.with_doors(laboratory.page(), doors)))
    for path in sorted({path for pattern in OF_RESULTS for path in OUT.glob(pattern) if path.is_file()}):
        name = path.relative_to(OUT)
        if name.parts[0] in {"site", "site-cache"}:
            continue
        if path.suffix != ".html":
            files.append(File.generated(config, f"results/{name}", abs_src_path=str(path)))
            continue
        up = "../" * len(name.parts)
        link = f'<a href="{up}index.html">Documentation</a>'
        there = rf'<a href="[./]*{re.escape(laboratory.SITE)}">Documentation</a>'
        text = re.sub(there, laboratory.DOCUMENTATION, path.read_text())
        files.append(File.generated(config, f"results/{name}", content=text.replace(laboratory.DOCUMENTATION, link)))


def on_post_build(config: MkDocsConfig) -> None:
    """Let the pages of `make run` lead to the site that lies beside them."""
    if Path(config.site_dir).resolve() == OUT / "site":
        laboratory.link_documentation(OUT)
        if _has_results():
            laboratory.place(OUT)


def _outside(text: str, folder: Path) -> list[Path]:
    """Files outside `docs` that a page in this folder links to."""
    targets = [(folder / target).resolve() for target, _ in LINK.findall(text)]
    return [path for path in targets if path.is_file() and not path.is_relative_to(DOCS) and path.is_relative_to(ROOT)]
