"""The dependency rule and other properties of the tree (docs/design.md)."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

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
    "ackclock-trace": set(),
    "ackclock-lab": {
        *(f"ackclock-{name}" for name in ("units", "params", "engine", "cc", "policy", "orbit", "net")),
        *("ackclock-transport", "ackclock-quic", "ackclock-trace"),
    },
    "ackclock-foreign": {f"ackclock-{name}" for name in ("units", "params", "cc", "lab")},
    "ackclock-reach": {f"ackclock-{name}" for name in ("units", "cc", "net", "transport", "lab", "quic")},
    "ackclock": {f"ackclock-{name}" for name in ("lab", "units", "params", "cc", "net")},
    "ackclock-py": {
        "ackclock",
        *(f"ackclock-{name}" for name in ("lab", "units", "cc", "policy", "reach", "foreign", "trace")),
    },
    "ackclock-capi": {"ackclock", "ackclock-cc", "ackclock-params"},
    "ackclock-web": {"ackclock-lab", "ackclock-trace", "ackclock-units", "ackclock-cc", "ackclock-foreign"},
}
# No dependency may bring num-traits or another source of floating-point variation into the core.
CORE_EXTERNAL = {
    "ackclock-units": set(),
    "ackclock-trace": {"libm"},
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


PACKAGE = [
    "cli",
    "gym",
    "apps",
    "study",
    "network",
    "scenario",
    "result",
    "explanation",
    "draw",
    "metrics",
    "foreign",
    "base",
    "controller stats outcome",
]
"""The folders and files of the Python package in layers, the highest first: one imports only from lower layers."""
CORE = {
    "cli": {"ENGINE", "ControllerError", "ScenarioError", "StackFailure"},
    "draw": {"layout"},
    "metrics": set(),
}
"""What these folders of the package use of the core; the others use what they need."""


APPS = [
    "view catalog",
    "report",
    "comparison papers ranking search",
    "conform suite trials why",
    "agree arima what_if",
    "controls kernel_module laboratory policy reach scenario_check score share",
    "bench controller_check division radio replay satellites sequential traces",
]
"""The same of the folder `apps`."""


def _imports(file: Path, package: str = "ackclock") -> set[tuple[str, str]]:
    """The modules of a package that a file imports, each with a name, also those inside functions."""
    pairs = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            pairs += [(f"{node.module}.{alias.name}", alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            pairs += [(alias.name, "") for alias in node.names]
    start = f"{package}."
    return {(path.removeprefix(start).split(".")[0], name) for path, name in pairs if path.startswith(start)}


def test_the_package_uses_lower_layers_only(root: Path) -> None:
    package = root / "python" / "ackclock"
    depth = {name: level for level, names in enumerate(PACKAGE) for name in names.split()}
    files = [path for name in depth for path in (package.glob(f"{name}.py"), (package / name).rglob("*.py"))]
    names = {path.stem for path in package.glob("*.py")} | {path.parent.name for path in package.glob("*/__init__.py")}
    assert names == {*depth, "__init__", "__main__", "entry"}
    for file in (file for group in files for file in group):
        layer = file.relative_to(package).parts[0].removesuffix(".py")
        used = _imports(file)
        upward = [other for other, _ in used if other in depth and depth[other] < depth[layer]]
        assert upward == [], f"{file.relative_to(package)} uses {upward}"
        beside = [other for other, _ in used if other != layer and depth.get(other) == depth[layer]]
        assert beside == [], f"{file.relative_to(package)} uses {beside}"


def test_apps_use_lower_apps_only(root: Path) -> None:
    apps = root / "python" / "ackclock" / "apps"
    depth = {name: level for level, names in enumerate(APPS) for name in names.split()}
    assert set(depth) == {path.stem for path in apps.iterdir() if not path.stem.startswith("__")}
    upward = []
    for file in apps.rglob("*.py"):
        app = file.relative_to(apps).parts[0].removesuffix(".py")
        used = {other for other, _ in _imports(file, "ackclock.apps")} - {app}
        upward += [f"{file.relative_to(apps)} uses {other}" for other in used if depth[other] <= depth[app]]
    assert upward == []


def test_few_folders_use_the_core(root: Path) -> None:
    package = root / "python" / "ackclock"
    for folder, allowed in CORE.items():
        for file in (package / folder).rglob("*.py"):
            used = set(re.findall(r"\b_core\.(\w+)", file.read_text(encoding="utf-8")))
            used |= {name for module, name in _imports(file) if module == "_core"} - {"_core"}
            assert used <= allowed, f"{file.relative_to(package)} uses {used - allowed} of the core"


def test_files_make_no_circles(root: Path) -> None:
    """`python tests/structure.py` prints them."""
    graph = structure.whole(root)
    circles = structure.circles(graph)
    assert not circles, [sorted(str(file.relative_to(root)) for file in circle) for circle in circles]


FOLDER_CIRCLES = {
    # A description of a discipline holds the functions that build its queue, and the queues of departures are a folder.
    Path("crates/net/src/qdisc"): [["discipline", "pie", "scheduled"]],
}


def test_folders_make_no_other_circles(root: Path) -> None:
    assert structure.folder_circles(structure.whole(root), root) == FOLDER_CIRCLES


LAYERS = {
    "cc": [
        "export factory with_window",
        "controllers",
        "dispatch",
        "boxed outside registry window",
        "controller estimators slow_start",
        "events noise transitions",
        "descriptor detmath flow pacing_rate parameters signals",
    ],
    "net": [
        "network",
        "links medium satellites",
        "cellular grants link wifi",
        "service turn",
        "qdisc",
        "impairment",
        "tap",
        "local next_hop quick_start radio rates rcp rule signal topology transmission xcp",
        "ids normal packet sojourn transmitter",
        "buckets counters",
    ],
    "transport": [
        "sender",
        "recovery",
        "connection",
        "receiver recording standards udp",
        "accurate_ecn start",
        "context ranges rtt",
        "blocks change options rate segments short",
    ],
    "lab": [
        "fuzzing",
        "study view",
        "catalog identify identity replay schema simulation",
        "scenario",
        "error",
        "files",
        "audit capture clock foreign layout",
    ],
    "quic": ["endpoint", "session", "observer", "control", "packets qlog signals", "clock config ecn frames numbered"],
    "reach": [
        "kernel quic_flow",
        "emulate live",
        "bridge namespaces network",
        "tun wall",
        "controller error ipv4 sys udp validity window",
    ],
}
"""The files and folders of a crate in layers, the highest first: one uses only those of lower layers."""


def test_folders_use_lower_layers_only(root: Path) -> None:
    graph = structure.whole(root)
    for crate, layers in LAYERS.items():
        source = root / "crates" / crate / "src"
        depth = {name: level for level, names in enumerate(layers) for name in names.split()}
        entries = {path.stem for path in source.iterdir() if path.is_dir() or path.suffix == ".rs"} - {"lib"}
        assert {entry for entry in entries if "test" not in entry} <= set(depth), crate
        upward = []
        for file, imports in graph.items():
            for other in imports:
                if source in file.parents and source in other.parents and "test" not in file.stem:
                    user, used = (path.relative_to(source).parts[0].removesuffix(".rs") for path in (file, other))
                    if user != used and used != "lib" and "test" not in used and depth[used] <= depth[user]:
                        upward.append(f"{file.relative_to(root)} uses {used}")
        assert upward == []


def _planted(tmp_path: Path) -> Path:
    """A crate and a package with a circle each."""
    source = tmp_path / "crates" / "c" / "src"
    (source / "inner").mkdir(parents=True)
    (source.parent / "Cargo.toml").touch()
    modules = "#[macro_use]\nmod list;\nmod a;\nmod inner;\n"
    uses = "pub use inner::deep::*;\npub use inner::Other;\nlist! {\n    Other,\n}\n"
    (source / "lib.rs").write_text(modules + uses)
    (source / "list.rs").write_text("macro_rules! list {\n    () => {\n        pub struct Listed;\n    };\n}\n")
    (source / "a.rs").write_text("use crate::{Deep, Listed, Other};\npub fn a() {}\n")
    (source / "inner" / "mod.rs").write_text("pub mod deep;\npub struct Other;\n")
    (source / "inner" / "deep.rs").write_text("named_values! {\n    Deep {\n    }\n}\nfn f() { crate::a::a() }\n")
    package = tmp_path / "python" / "ackclock"
    package.mkdir(parents=True)
    (package / "x.py").write_text("def f():\n    from ackclock.y import g\n")
    (package / "y.py").write_text("from ackclock import x\n")
    return source


def test_the_structure_is_read_right(tmp_path: Path) -> None:
    """Circles through a macro's type, a glob and a re-export are there."""
    _planted(tmp_path)
    cycles = structure.circles(structure.whole(tmp_path))
    assert [{file.name for file in circle} for circle in cycles] == [{"a.rs", "deep.rs"}, {"x.py", "y.py"}]


def test_a_file_or_path_that_the_graph_lacks_is_an_error(tmp_path: Path) -> None:
    source = _planted(tmp_path)
    (source / "lost.rs").touch()
    with pytest.raises(structure.Unresolved, match=r"lost\.rs: no module has this file"):
        structure.whole(tmp_path)
    (source / "lost.rs").unlink()
    (source / "a.rs").write_text("use crate::inner::Absent;\npub fn a() {}\n")
    with pytest.raises(structure.Unresolved, match=r"a\.rs: crate::inner::Absent"):
        structure.whole(tmp_path)


def test_the_sizes_of_the_guide_are_those_of_the_code(root: Path) -> None:
    """Within a tenth; `make reference` writes them anew. No number is a bound: a reviewer decides."""
    text = (root / "CONTRIBUTING.md").read_text()
    written = text.split(structure.BEGIN)[1].split(structure.END)[0].splitlines()[2:]
    for row, (name, sizes) in zip(written, structure.sizes(root).items(), strict=True):
        cells = [cell.strip() for cell in row.split("|")[1:-1]]
        assert cells[0] == name
        numbers = [size.size for size in sizes]
        for cell, part in zip(cells[1:4], (0.5, 0.1, 0.01), strict=True):
            assert abs(numbers[int(len(numbers) * part)] - int(cell)) <= max(2, int(cell) / 10), name
        largest = int(cells[-1].split()[0])
        assert abs(sizes[0].size - largest) <= max(2, largest / 10), f"{name}: run `make reference`"


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
