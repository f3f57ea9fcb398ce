"""The dependency rule and other properties of the tree (docs/design.md)."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import tomllib
from pathlib import Path

import structure

ALLOWED = {
    "ackclock-units": set(),
    "ackclock-params": {"ackclock-units"},
    "ackclock-engine": {"ackclock-units"},
    "ackclock-cc": {"ackclock-units", "ackclock-params"},
    "ackclock-policy": {"ackclock-units", "ackclock-params", "ackclock-cc"},
    "ackclock-orbit": {"ackclock-units", "ackclock-params"},
    "ackclock-net": {"ackclock-units", "ackclock-params", "ackclock-engine", "ackclock-orbit"},
    "ackclock-transport": {f"ackclock-{name}" for name in ("units", "params", "engine", "cc", "net")},
    "ackclock-quic": {"ackclock-units", "ackclock-params", "ackclock-cc", "ackclock-transport"},
    "ackclock-lab": {
        f"ackclock-{name}" for name in ("units", "params", "engine", "cc", "policy", "orbit", "net", "transport", "quic")
    },
    "ackclock-reach": {f"ackclock-{name}" for name in ("units", "cc", "net", "transport", "lab", "quic")},
    "ackclock": {"ackclock-lab", "ackclock-units", "ackclock-params", "ackclock-cc"},
    "ackclock-py": {"ackclock-lab", "ackclock-units", "ackclock-cc", "ackclock-policy", "ackclock-reach"},
    "ackclock-web": {"ackclock-lab", "ackclock-units", "ackclock-cc"},
}
# No dependency may bring num-traits or another source of floating-point variation into the core.
CORE_EXTERNAL = {
    "ackclock-units": set(),
    "ackclock-engine": {"rand_xoshiro", "rand_core", "rustix"},
    "ackclock-cc": {"libm", "rand_xoshiro", "rand_core"},
    "ackclock-policy": {"toml"},
    "ackclock-orbit": {"libm"},
    "ackclock-net": {"libm"},
    "ackclock-transport": {"smallvec"},
    # rcgen and rustls come with the feature `tls` only.
    "ackclock-quic": {"quinn-proto", "bytes", "rcgen", "rustls"},
}


def metadata(root: Path) -> dict[str, dict[str, object]]:
    command = ["cargo", "metadata", "--format-version", "1", "--no-deps", "--offline"]
    done = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    members = set(found["workspace_members"])
    return {package["name"]: package for package in found["packages"] if package["id"] in members}


def test_crates_depend_one_way(root: Path) -> None:
    packages = metadata(root)
    assert set(packages) == set(ALLOWED)
    for name, package in packages.items():
        dependencies = package["dependencies"]
        assert isinstance(dependencies, list)
        inner = {d["name"] for d in dependencies if d.get("path") and d["kind"] != "dev"}
        assert inner <= ALLOWED[name], f"{name} may not depend on {inner - ALLOWED[name]}"
        outer = {d["name"] for d in dependencies if not d.get("path") and d["kind"] is None}
        if name in CORE_EXTERNAL:
            assert outer <= CORE_EXTERNAL[name], f"{name} brings in {outer - CORE_EXTERNAL[name]}"
        assert ("pyo3" in outer) == (name == "ackclock-py")


def test_the_engine_is_named_by_every_crate(root: Path) -> None:
    """The identity of a run must cover every crate; otherwise stores would keep outcomes of an old version."""
    from ackclock import _core

    folders = {Path(str(package["manifest_path"])).parent.name for package in metadata(root).values()}
    assert set(_core.ENGINE_CRATES) == folders
    assert (root / "Cargo.lock").is_file()


def test_few_modules_touch_the_core(root: Path) -> None:
    """A few modules; everything else goes through them."""
    touching = set()
    for path in (root / "python" / "ackclock").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            if "_core" in names or any(name.endswith("._core") for name in names):
                touching.add(path.stem)
    assert touching <= {
        "__init__",
        "controller",
        "options",
        "experiment",
        "result",
        "what_if",
        "frames",
        "catalog",
        "models",
        "bench",
        "batch",
        "conventions",
        "files",
        "app",
        "assignment",
        "refusal",
        "shipped",
        "check",
        "entry",
        "plan",
        "executors",
        "script",
        "vector",
        "player",
        "receiver",
        "satellites",
        "topology",
        "radio_map",
        "why",
        "runs",
        "workers",
    }


def test_files_make_no_circles(root: Path) -> None:
    """`python tests/structure.py` prints them."""
    graph = structure.whole(root)
    assert len(graph) > 150
    circles = structure.circles(graph)
    assert not circles, [sorted(str(file.relative_to(root)) for file in circle) for circle in circles]


FOLDER_CIRCLES = {
    # A description of a discipline holds the functions that build its queue, and the queues of departures are a folder.
    Path("crates/net/src/qdisc"): [["discipline", "pie", "scheduled"]],
    # `.plot()` and the notebook's view of a result, a scenario and a study import what draws them when they are called.
    Path("python/ackclock"): [["experiment", "notebook", "plot", "result", "study", "topology", "what_if"]],
}


def test_folders_make_no_other_circles(root: Path) -> None:
    assert structure.folder_circles(structure.whole(root), root) == FOLDER_CIRCLES


def test_the_structure_is_read_right(tmp_path: Path) -> None:
    source = tmp_path / "crates" / "c" / "src"
    (source / "inner").mkdir(parents=True)
    (source.parent / "Cargo.toml").touch()
    (source / "lib.rs").write_text("mod a;\nmod inner;\npub use inner::deep::Deep;\n")
    (source / "a.rs").write_text("use crate::{Deep, inner::Other};\npub fn a() {}\n")
    (source / "inner" / "mod.rs").write_text("pub mod deep;\npub struct Other;\n")
    (source / "inner" / "deep.rs").write_text("pub struct Deep;\nfn f() { crate::a::a() }\n")
    package = tmp_path / "python" / "ackclock"
    package.mkdir(parents=True)
    (package / "x.py").write_text("def f():\n    from ackclock.y import g\n")
    (package / "y.py").write_text("from ackclock import x\n")
    found = structure.circles(structure.whole(tmp_path))
    assert [{file.name for file in circle} for circle in found] == [{"a.rs", "deep.rs"}, {"x.py", "y.py"}]


def test_one_version(root: Path) -> None:
    cargo = tomllib.loads((root / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]["version"]
    assert cargo == project
    assert f"## {cargo}" in (root / "CHANGELOG.md").read_text()


def test_links_between_pages_lead_somewhere(root: Path) -> None:
    """The build of the site checks links to what it makes: pictures of the gallery, lessons, commands, results."""
    made = re.compile(r"docs/gallery/|docs/lessons/|docs/reference/commands\.md|out/index\.html")
    pages = [*root.glob("*.md"), *root.glob("docs/**/*.md"), *root.glob("validation/**/*.md")]
    missing = []
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
            path = (page.parent / target).resolve()
            if "://" not in target and not path.exists() and not made.match(str(path.relative_to(root))):
                missing.append(f"{page.relative_to(root)}: {target}")
    assert missing == []


def test_ci_runs_the_test_command(root: Path) -> None:
    assert "make test" in (root / ".ci" / "run").read_text()
    assert "make test" in (root / "README.md").read_text()


CLOSED_CLASS = {"found", "own", "made", "given", "its", "there"}
"""Words that do not say what a name holds."""


def test_names_say_what_they_hold(root: Path) -> None:
    wrong = []
    for path in (root / "python" / "ackclock").rglob("*.py"):
        if "paper_folders" in path.parts:
            continue  # copies of papers/, which an installation makes
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.id] if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else []
            names += [node.arg] if isinstance(node, ast.arg) else []
            wrong += [f"{path.name}: {name}" for name in names if name in CLOSED_CLASS]
        wrong += [path.name] if path.stem in CLOSED_CLASS else []
    words = "|".join(CLOSED_CLASS | {"known", "again"})  # in Python `known` is a key of agree.json
    pattern = re.compile(rf"\b(?:let (?:mut )?|fn \w+\()({words})\b")
    for path in (root / "crates").glob("*/src/**/*.rs"):
        wrong += [f"{path.name}: {match[0]}" for match in pattern.finditer(path.read_text())]
    assert wrong == []
