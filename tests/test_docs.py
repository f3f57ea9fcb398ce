"""The site builds without a warning, loads nothing from another host and fits a phone; the tutorials run."""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ackclock.apps.reach.substrates import SUBSTRATES
from ackclock.apps.suite.folder import find as find_suite
from ackclock.base import shipped

TUTORIALS = {
    "first_steps": ("events, 0 violations", ["first_steps.svg"]),
    "explain_a_reduction": ("cwnd fell", []),
    "compare_two_controllers": ("CUBIC over Reno: 1.", []),
    "add_a_controller": ("share beside CUBIC: 0.", []),
    "should_we_turn_on_bbr": ("times that of CUBIC: ", []),
    "what_does_the_buffer_cost": ("FQ-CoDel", []),
    "would_bbr_have_helped": ("in truth", []),
    "pages_over_wifi": ("one queue  cubic", []),
    "call_beside_a_download": ("FQ-CoDel             adapting", []),
    "train_a_controller": ("our rule", []),
    "reproduce_a_figure": ("times Reno's goodput (claimed: 1.711)", ["sarbe_fig5.svg"]),
}
NUMBERS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
SHOWN = (
    *("index.html", "learn.html", "tutorials/first_steps.html", "gallery.html", "scenarios.html", "scenario-keys.html"),
    *("validation-linux.html", "validation.html", "speed.html", "reference/index.html", "reference/controller.html"),
    *("lessons/index.html", "lessons/03-bufferbloat.html", "tutorials/should_we_turn_on_bbr.html"),
    *("reference/commands.html", "specs/tcp-sender.html", "tree/CONTRIBUTING.html", "models.html", "faq.html"),
    *("research.html", "stack.html", "network.html", "teach.html", "platforms.html", "formats.html", "trust.html"),
)
MEASURE = """<!doctype html><body><script>
const found = [];
(async () => {
  for (const width of [390, 1440]) for (const page of PAGES) {
    const frame = document.createElement("iframe");
    frame.style.cssText = `width: ${width}px; height: 844px; border: 0`;
    frame.src = page;
    await new Promise(loaded => { frame.onload = loaded; document.body.append(frame); });
    await new Promise(settled => setTimeout(settled, 150));
    const requests = frame.contentWindow.performance.getEntriesByType("resource").map(entry => entry.name);
    const root = frame.contentDocument.documentElement;
    found.push({ page, width, scrolls: root.scrollWidth, title: frame.contentDocument.title, requests });
    frame.remove();
  }
  document.title = "measured";
  document.body.textContent = JSON.stringify(found);
})();
</script></body>"""
"""A page that opens others in frames and reports how wide they are and what they requested."""


@pytest.fixture
def site(root: Path, once: Callable[[str, Callable[[Path], None]], Path]) -> Path:
    """The site."""

    def build(folder: Path) -> None:
        command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
        environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
        done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, env=environment)
        assert done.returncode == 0, done.stderr
        assert "WARNING" not in done.stderr

    return once("site", build)


class Loads(HTMLParser):
    """The addresses that a page loads without a click, and its text."""

    ATTRIBUTES = (
        *(("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src"), ("video", "src"), ("embed", "src")),
        *(("img", "srcset"), ("object", "data"), ("input", "src"), ("audio", "src"), ("track", "src")),
    )
    LINKS = frozenset({"stylesheet", "icon", "preload", "prefetch", "preconnect", "dns-prefetch", "modulepreload"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.classes: set[str] = set()
        self.text = ""
        self._style = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.found += [given[name] for kind, name in self.ATTRIBUTES if kind == tag and name in given]
        if tag == "link" and self.LINKS & set(given.get("rel", "").split()):
            self.found.append(given["href"])
        if tag == "meta" and given.get("http-equiv", "").lower() == "refresh":
            self.found.append(given["content"].partition("url=")[2])
        self.found += loads_of_style(given.get("style", ""))
        self.classes |= set(given.get("class", "").split())
        self._style = tag == "style"

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._style:
            self.found += loads_of_style(data)


def loads_of_style(text: str) -> list[str]:
    """The addresses in url() and @import of a style sheet."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.findall(r"""url\(\s*["']?([^"')]+)""", text) + re.findall(r"""@import\s+["']([^"']+)""", text)


def elsewhere(addresses: list[str]) -> list[str]:
    return [address for address in addresses if re.match(r"\s*(?:[a-z]+:)?//", address, flags=re.I)]


def pages(site: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(site.rglob("*.html")):
        yield str(path.relative_to(site)), path.read_text(encoding="utf-8")


def test_elsewhere_finds_what_a_page_loads() -> None:
    """The scan below finds each kind of load; a plain link and inlined data are none."""
    for text in (
        '<script src="https://a.example/x.js"></script>',
        '<link rel="stylesheet" href="//a.example/x.css">',
        '<img src="HTTP://a.example/x.png">',
        '<link rel="preconnect" href="https://fonts.example" crossorigin>',
        '<style>@import "https://a.example/x.css";</style>',
        '<p style="background: url(https://a.example/x.png)"></p>',
    ):
        assert elsewhere(Loads(text).found), text
    assert not elsewhere(Loads('<a href="https://a.example"></a><img src="data:image/png;base64,AA">').found)
    assert not elsewhere(Loads('<link rel="next" href="https://a.example"><img src="../a//b.png">').found)


def test_nothing_is_loaded_from_another_host(site: Path) -> None:
    found = {name: Loads(text) for name, text in pages(site)}
    assert len(found) > 40
    for name, page in found.items():
        assert not elsewhere(page.found), name
        assert "mermaid" not in page.classes, f"{name}: the theme would load the program that draws the diagram"
    for path in site.rglob("*.css"):
        assert not elsewhere(loads_of_style(path.read_text(encoding="utf-8"))), path


class Quiet(SimpleHTTPRequestHandler):
    """Serves the site and the page that measures it."""

    def do_GET(self) -> None:
        if self.path != "/measure.html":
            super().do_GET()
            return
        body = MEASURE.replace("PAGES", json.dumps(SHOWN)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_pages_fit_their_window_and_request_nothing_elsewhere(site: Path, tmp_path: Path) -> None:
    """In a browser, 390 and 1440 pixels wide: no page scrolls sideways, every request goes to the site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    origin = f"http://127.0.0.1:{server.server_port}/"
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"]
    command += ["--window-size=1500,900", "--virtual-time-budget=60000", "--dump-dom", f"{origin}measure.html"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=180)
    finally:
        server.shutdown()
        server.server_close()
    body = re.search(r"<body>(\[.*\])</body>", done.stdout, re.S)
    assert body is not None, done.stdout[-2000:]
    found = json.loads(body[1].replace("&amp;", "&").replace("&gt;", ">").replace("&lt;", "<"))
    assert len(found) == 2 * len(SHOWN)
    for page in found:
        assert page["scrolls"] <= page["width"], page
        assert "404" not in page["title"], page
        assert len(page["requests"]) >= 4, page
        assert [address for address in page["requests"] if not address.startswith(origin)] == [], page


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_the_laboratory_and_the_documentation_lead_to_each_other(site: Path, tmp_path: Path) -> None:
    command = [str(BROWSER), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"]
    command += ["--virtual-time-budget=5000", "--dump-dom", (site / "lab.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout
    assert re.search(r'<a class="tab[^"]*" href="index\.html">Documentation</a>', shown)
    assert 'href="lab.html"' in (site / "index.html").read_text(encoding="utf-8")


@pytest.mark.skipif(BROWSER is None or shutil.which("node") is None, reason="needs Chromium and Node")
def test_axe_calls_nothing_serious(root: Path, site: Path) -> None:
    """The ten pages that are read most, in the light and in the dark scheme."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    pages = ["index.html", "learn.html", "tutorials/first_steps.html", "lessons/index.html", "gallery.html"]
    pages += ["scenarios.html", "reference/commands.html", "trust.html", "suites.html", "python-controllers.html"]
    command = ["node", "tests/page/site.mjs", f"http://127.0.0.1:{server.server_port}", *pages]
    try:
        done = subprocess.run(
            command, cwd=root / "web", capture_output=True, text=True, env=os.environ | {"CHROMIUM": str(BROWSER)}
        )
    finally:
        server.shutdown()
        server.server_close()
    assert done.returncode == 0, done.stdout + done.stderr


def test_answers_are_on_a_page_for_teachers_alone(root: Path, site: Path) -> None:
    sources = sorted((root / "web" / "lessons").glob("*.md"))
    # A begin of each answer without figures, which are inserted, and without marks.
    begins = [re.split(r"[{*`.]", path.read_text(encoding="utf-8").split("\n> Answer: ")[1])[0] for path in sources]
    teachers = {site / name for name in ("lessons/answers.html", "teach.html", "course.html")}
    answers = html.unescape((site / "lessons/answers.html").read_text(encoding="utf-8"))
    for begin in begins:
        assert begin in answers
    pages = [*(site / "lessons").glob("*.html"), *site.glob("*.html")]
    pages = [path for path in pages if path.name not in {"lab.html", "search.html"} and path not in teachers]
    assert len(pages) > len(sources) + 20
    for path in pages:
        text = html.unescape(path.read_text(encoding="utf-8"))
        assert "answers.html" not in text, path
        if path.parent.name == "lessons":
            assert [begin for begin in begins if len(begin) > 12 and begin in text] == [], path
    assert "answers.html" not in (site / "search/search_index.json").read_text(encoding="utf-8")


NAMED = r"(?<![\w./-])ackclock\.(?:apps\.|gym|study|stats|metrics|draw)[\w.]*"


def test_every_module_that_the_pages_name_has_a_page(site: Path, root: Path) -> None:
    """A name such as `ackclock.gym.make` in a page belongs to a module with a page of reference."""
    documented = {
        target: page.stem
        for page in (root / "docs" / "reference").glob("*.md")
        for target in re.findall(r"^::: (ackclock[\w.]*)", page.read_text(encoding="utf-8"), re.M)
    }
    modules = {".".join(name.split(".")[: 3 if name.startswith("ackclock.apps.") else 2]) for name in documented}
    package = root / "python" / "ackclock"
    apps = {path.stem for path in (package / "apps").iterdir() if not path.name.startswith("_")}
    internal = {"bench", "catalog", "controls", "division", "laboratory", "scenario_check", "score", "traces"}
    internal |= {"sequential", "trials", "view"}
    assert {f"ackclock.apps.{name}" for name in apps - internal} <= modules, "a page, or a name in `internal`"
    pages = [*(root / "docs").rglob("*.md"), *root.glob("*.md"), *(root / "examples").rglob("*.py")]
    named = {
        name
        for page in pages
        if page.parent.name not in {"reference", "adr"}
        for name in re.findall(NAMED, page.read_text(encoding="utf-8"))
    }
    named -= {"ackclock.apps"}  # a folder of modules
    missing = [name for name in named if not any(f"{name.rstrip('.')}.".startswith(f"{m}.") for m in modules)]
    assert missing == []
    for target, page in documented.items():
        text = (site / "reference" / f"{page}.html").read_text(encoding="utf-8")
        assert f'id="{target}' in text, (page, target)


def test_the_command_line_page_has_every_option(site: Path) -> None:
    from ackclock.cli.app import COMMANDS

    text = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    sections = dict(re.findall(r'<h2 id="([\w-]+)">(.*?)(?=<h2|</article>)', text, flags=re.S))
    assert tuple(sections) == COMMANDS
    for name in ("run", "sweep", "radio"):
        command = [sys.executable, "-m", "ackclock.cli", name, "--help"]
        said = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ | {"COLUMNS": "100"})
        options = set(re.findall(r"^│[ *]+(--[a-z-]+)", said.stdout, flags=re.M))
        assert options
        for option in options:
            assert option in sections[name], (name, option)


def test_tutorial_pages_show_outputs_and_figures(root: Path, site: Path) -> None:
    assert {path.stem for path in (root / "examples" / "tutorials").glob("*.py")} == set(TUTORIALS)
    for name, (says, _) in TUTORIALS.items():
        text = (site / "tutorials" / f"{name}.html").read_text(encoding="utf-8")
        assert says in Loads(text).text, name
        assert '<div class="output' in text, name
        figures = re.findall(rf'src="({name}-figure-\d\.svg)"', text)
        assert figures, name
        for figure in figures:
            assert (site / "tutorials" / figure).read_text(encoding="utf-8").count("<path") > 10


def test_the_gallery_has_every_picture_with_its_commands(root: Path, site: Path) -> None:
    """The build has run the commands: a picture that they do not write fails it."""
    data = tomllib.loads((root / "docs" / "gallery.toml").read_text(encoding="utf-8"))
    entries = [entry for section in data["section"] for entry in section["picture"]]
    text = (site / "gallery.html").read_text(encoding="utf-8")
    said = " ".join(Loads(text).text.split())
    for entry in entries:
        picture = site / "gallery" / f"{entry['name']}{Path(entry['file']).suffix}"
        assert picture.stat().st_size > 10_000, entry["name"]
        assert f'src="gallery/{picture.name}"' in text
        assert f'id="{entry["name"]}"' in text
        for line in entry["commands"]:
            assert line in said
        for source in entry["sources"]:
            assert any(source in line for line in entry["commands"]), "the page shows a file that no command reads"


def test_numbers_of_the_first_page_are_those_of_the_pages_it_names(root: Path) -> None:
    text = (root / "docs" / "index.md").read_text(encoding="utf-8")
    linux, ns2, speed = (
        (root / "docs" / f"{name}.md").read_text() for name in ("validation-linux", "validation", "speed")
    )
    assert "**496 of 496**" in text
    assert "| random networks | 496 | 496 (100.0 %) | 496 |" in linux
    assert "**68 of 70**" in text
    assert "**68 of 70 cases agree in every row and every total.**" in ns2
    assert "**6.5 times**" in text
    assert re.search(r"^\| 10 \|[^|]*\|[^|]*\| 6\.5 ", speed, flags=re.M)
    assert "5.0 times on another machine" in text
    assert "On another machine, idle, the ratios were 5.4, 5.0, 5.8 and 10" in speed
    readme = (root / "README.md").read_text()
    ratios = [float(ratio) for ratio in re.findall(r"^\| [\d,]+ \|[^|]*\|[^|]*\| ([\d.]+) \(", speed, flags=re.M)]
    assert len(ratios) == 4
    assert readme.count("5 to 11 times") == 1
    assert min(5.0, *ratios) == 5.0
    assert round(max(ratios)) == 11


@pytest.mark.nightly
@pytest.mark.parametrize("name", TUTORIALS)
def test_tutorials_run_as_programs(root: Path, tmp_path: Path, name: str) -> None:
    says, files = TUTORIALS[name]
    for folder in ("papers", "scenarios"):
        (tmp_path / folder).symlink_to(root / folder)
    script = shutil.copy(root / "examples" / "tutorials" / f"{name}.py", tmp_path)
    environment = os.environ | {"PYTHONWARNINGS": "error::DeprecationWarning:__main__"}
    done = subprocess.run(
        [sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    assert says in done.stdout
    for file in files:
        assert (tmp_path / "out" / "tutorials" / file).stat().st_size > 10_000


def test_guides_name_commands_and_files_that_exist(root: Path) -> None:
    """Every `ackclock COMMAND` in the guides is a command, every option of it is one of its own."""

    commands = _commands()
    used = set()
    for page in [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md"))]:
        used |= set(re.findall(r"(?:^|bin/|`)ackclock ([a-z][a-z-]*)", page.read_text(), flags=re.M))
    assert used
    assert used <= commands, used - commands


def _commands() -> set[str]:
    """The commands that `ackclock --help` lists."""
    known = subprocess.run([sys.executable, "-m", "ackclock.cli", "--help"], capture_output=True, text=True, check=True)
    return set(re.findall(r"^\s*│?\s*([a-z][a-z-]*)\s{2,}", known.stdout, flags=re.M))


def test_the_page_of_what_there_is_has_it(root: Path, site: Path) -> None:
    """docs/models.md names every command, network, controller, queue discipline and substrate; README leads to it."""
    text = (root / "docs/models.md").read_text(encoding="utf-8")
    assert _commands() <= set(re.findall(r"reference/commands\.md#([a-z-]+)\)", text))
    for kind in ("controllers", "recoveries", "queues", "losses", "suites", "papers"):
        for entry in _listed(kind):
            assert f"| `{entry['name']}` |" in text, entry["name"]
    for name in (*SUBSTRATES, *(f"@{name}" for name in shipped.scenarios())):
        assert f"`{name}`" in text or f"`--on {name}`" in text, name
    assert "](docs/models.md)" in (root / "README.md").read_text(encoding="utf-8")
    assert "](models.md)" in (root / "docs/index.md").read_text(encoding="utf-8")
    assert (site / "models.html").is_file()


def test_numbers_of_the_readme_are_those_of_the_program(root: Path) -> None:
    text = (root / "README.md").read_text(encoding="utf-8")
    lessons = len(list((root / "web/lessons").glob("[0-9]*.md")))
    papers = [tomllib.loads(path.read_text(encoding="utf-8")) for path in (root / "papers").glob("*/claims.toml")]
    situations = len(find_suite("tcpeval").situations)
    for said in (
        f"compare it with {len(_listed('controllers')) - 1} others",
        f"with {lessons} lessons",
        f"in {situations} situations",
        f"{NUMBERS[len(papers)]} papers, {sum(len(paper['claim']) for paper in papers)} published claims",
    ):
        assert said in text, said


def _listed(kind: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "ackclock.cli", "list", kind, "--json"]
    entries: list[dict[str, Any]] = json.loads(
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
    )
    return entries
