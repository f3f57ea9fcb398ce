"""The imports between the files of a crate or package, and the import cycles among them.

    python tests/structure.py [--write]

prints the number of files, every import cycle of this checkout and the sizes of its Rust code; with `--write` the sizes
go into CONTRIBUTING.md.
"""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

Graph = dict[Path, set[Path]]

ITEM = re.compile(
    r"^(?:pub(?:\([^)]*\))? )?(?:const |unsafe )*fn (\w+)"
    r"|^\s*(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait|type|const|static|union|macro_rules!) (\w+)"
    r"|^(?:pub(?:\([^)]*\))? )?mod (\w+) \{",
    re.M,
)
"""An item; types and constants also in a macro, which defines them."""
MODULE = re.compile(r"^(?:#\[.*\bpath = \"(.*)\".*\]\n)?(?:pub(?:\([^)]*\))? )?mod (\w+);", re.M)
USE = re.compile(r"^\s*(pub(?:\([^)]*\))? )?use ([^;]+);", re.M)
TESTS = re.compile(r"^#\[cfg\(test\)\]\nmod \w+ \{", re.M)
PATH = re.compile(r"(?<!:)\b(?:crate|super|self)(?:::\w+)+")


MACRO = re.compile(r"^macro_rules! (\w+) \{\n(.*?)^\}", re.M | re.S)
EXPORTED = re.compile(r"^#\[macro_export\]\nmacro_rules! (\w+)", re.M)
CALL = re.compile(r"^(?:\w+::)*(\w+)! ?(\{\n.*?^\}|\()", re.M | re.S)
NAMED = re.compile(r"^ +([A-Z]\w+)", re.M)
"""A word at the start of a line in the call of a macro: it can be a type that the macro defines."""


class Unresolved(Exception):
    """Paths of a crate to nothing that the crate defines: the graph would lack their arrows."""


def items(text: str) -> set[str]:
    """The names of the items of a text."""
    return {name for groups in ITEM.findall(text) for name in groups if name}


@dataclass(eq=False)
class Module:
    """A module of a crate: its file, the items that it defines, and the sources of the names that it imports."""

    file: Path
    parent: Module | None
    items: set[str] = field(default_factory=set)
    children: dict[str, Module] = field(default_factory=dict)
    passes: dict[str, list[str]] = field(default_factory=dict)
    globs: list[list[str]] = field(default_factory=list)
    calls: set[str] = field(default_factory=set)
    exported: dict[str, Module] = field(default_factory=dict)


def names(use: str) -> list[list[str]]:
    """The paths of a `use` declaration, with braces expanded."""
    use = re.sub(r"\s+", " ", use.strip())
    opening = use.find("{")
    if opening < 0:
        return [[part.strip() for part in use.split(" as ")[0].split("::")]]
    found, depth, part = [], 0, ""
    for letter in use[opening + 1 : use.rindex("}")] + ",":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            if part.strip():
                found += names(use[:opening] + part.strip())
            part = ""
        else:
            part += letter
    return found


def read_module(file: Path, parent: Module | None, folder: Path) -> Module:
    text = TESTS.split(file.read_text(encoding="utf-8"))[0]
    calls = CALL.findall(text)
    named = {name for _, body in calls for name in NAMED.findall(body)}
    module = Module(file, parent, items(text) | named, calls={name for name, _ in calls})
    for place, name in MODULE.findall(text):
        for path in (folder / f"{name}.rs", folder / name / "mod.rs"):
            if path.exists():
                module.children[name] = read_module(path, module, folder / name)
        if place:  # a file that takes its place on some systems, or without a feature
            module.children[place] = read_module(file.parent / place, module, folder / name)
    for _, use in USE.findall(text):
        for path in names(use):
            if path[-1] == "*":
                module.globs.append(path[:-1])
            elif len(path) > 1:
                module.passes[path[-1]] = path
        for path, name in re.findall(r"([\w:]+) as (\w+)", use):
            module.passes[name] = path.split("::")
    # What a module imports is not defined by the macro that lists it.
    module.items -= (named - items(text)) & module.passes.keys()
    return module


def defined(module: Module, name: str, root: Module, visited: frozenset[Module]) -> Module | str | None:
    """The module that defines what `name` is in a module: itself, or where it imports the name from.

    The name of another crate; none if the name is not defined.
    """
    if module in visited:
        return None
    visited |= {module}
    if name in module.children:
        return module.children[name]
    if name in module.items:
        return module
    if name in module.exported:
        return module.exported[name]
    if name in module.passes:
        return follow(module, root, module.passes[name], visited)
    for path in module.globs:
        source = follow(module, root, path, visited) if path else None
        if isinstance(source, str):
            return source
        if source is not None and (place := defined(source, name, root, visited)) is not None:
            return place
    return None


def follow(module: Module, root: Module, path: list[str], visited: frozenset[Module]) -> Module | str | None:
    """The module that defines what a path names, or the name of another crate."""
    at = module
    for i, part in enumerate(path):
        if part == "crate":
            at = root
        elif part == "super":
            at = at.parent or at
        elif part == "self":
            continue
        elif i == 0 and part not in at.children and part not in at.passes and part not in at.items:
            return part  # another crate
        else:
            place = defined(at, part, root, visited - {at} if i else visited - {module})
            if place is None or isinstance(place, str) or place is at or part not in at.children:
                return place  # an item: what follows in the path is part of it
            at = place
    return at


def rust(crate: Path) -> Graph:
    """The files of a crate, each with the files from which it uses items. Raises `Unresolved`."""
    root = read_module(crate / "src" / "lib.rs", None, crate / "src")
    files = list((crate / "src").rglob("*.rs"))
    macros = {name: items(body) for file in files for name, body in MACRO.findall(file.read_text())}
    graph: Graph = {}
    unresolved: list[str] = []

    def expand(module: Module) -> None:
        """Add the items that macros of the crate define in a module, and the macros that it exports to the root."""
        module.items |= {item for call in module.calls for item in macros.get(call, ())}
        root.exported |= dict.fromkeys(EXPORTED.findall(module.file.read_text()), module)
        for child in module.children.values():
            expand(child)

    def visit(module: Module) -> None:
        text = TESTS.split(module.file.read_text())[0]
        text = re.sub(r"//.*", "", text)
        uses = [(public, path) for public, use in USE.findall(text) for path in names(use)]
        uses += [("", path.split("::")) for path in PATH.findall(USE.sub("", text))]
        graph[module.file] = set()
        for public, path in uses:
            path = path[:-1] if path[-1] == "*" else path
            if not path or path[0] not in {"crate", "super", "self"} | module.children.keys():
                continue
            place = follow(module, root, path, frozenset())
            if place is None and path[0] == "super" and path[1] in module.items | module.passes.keys():
                place = module  # in a module within the file `super` is the file
            if place is None:
                unresolved.append(f"{module.file}: {'::'.join(path)}")
            elif isinstance(place, Module) and place is not module and not public:
                graph[module.file].add(place.file)
        for child in module.children.values():
            visit(child)

    expand(root)
    visit(root)
    unresolved += [f"{file}: no module has this file" for file in files if file not in graph]
    if unresolved:
        raise Unresolved("\n".join(sorted(unresolved)))
    return graph


def python(package: Path) -> Graph:
    """The modules of a package, each with the modules from which it imports."""
    files = {".".join(path.relative_to(package.parent).with_suffix("").parts): path for path in package.rglob("*.py")}
    graph: Graph = {}
    for file in files.values():
        graph[file] = set()
        for node in ast.walk(ast.parse(file.read_text())):
            wanted = []
            if isinstance(node, ast.ImportFrom) and node.module:
                wanted = [f"{node.module}.{alias.name}" for alias in node.names if alias.name != "_core"]
                wanted = [name if name in files else node.module for name in wanted]
            elif isinstance(node, ast.Import):
                wanted = [alias.name for alias in node.names]
            found = {files.get(name) or files.get(f"{name}.__init__") for name in wanted}
            graph[file] |= {other for other in found if other is not None and other != file}
    return graph


def circles(graph: Graph) -> list[list[Path]]:
    """The strongly connected sets of files: import cycles (Tarjan)."""
    index: dict[Path, int] = {}
    low: dict[Path, int] = {}
    stack: list[Path] = []
    found: list[list[Path]] = []

    def visit(file: Path) -> None:
        index[file] = low[file] = len(index)
        stack.append(file)
        for other in sorted(graph.get(file, ())):
            if other not in index:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], index[other])
        if low[file] == index[file]:
            place = stack.index(file)
            circle = stack[place:]
            del stack[place:]
            if len(circle) > 1:
                found.append(sorted(circle))

    for file in sorted(graph):
        if file not in index:
            visit(file)
    return found


def whole(root: Path) -> Graph:
    """Every crate and the package."""
    graph: Graph = {}
    for manifest in sorted((root / "crates").glob("*/Cargo.toml")):
        graph |= rust(manifest.parent)
    return graph | python(root / "python" / "ackclock")


def folder_circles(graph: Graph, root: Path) -> dict[Path, list[list[str]]]:
    """The import cycles among the files and folders that stand beside each other in a folder, by folder.

    A folder counts with the file of its name, and with everything in it. Tests do not count.
    """
    cycles: dict[Path, list[list[str]]] = {}
    folders = {parent for file in graph for parent in file.parents if root in parent.parents}
    for folder in sorted(folders):
        level: Graph = {}
        for file, imports in graph.items():
            for other in imports:
                if folder in file.parents and folder in other.parents and "test" not in file.stem:
                    one, two = (folder / path.relative_to(folder).parts[0] for path in (file, other))
                    one, two = one.with_suffix(""), two.with_suffix("")
                    if one != two:
                        level.setdefault(one, set()).add(two)
        if level_circles := circles(level):
            cycles[folder.relative_to(root)] = [[path.name for path in circle] for circle in level_circles]
    return cycles


BLOCK = re.compile(r"^impl(?:<[^>]*>)? (?:.* for )?(?:\w+::)*(\w+)")
FUNCTION = re.compile(r"^( *)(?:pub(?:\([^)]*\))? )?(?:const |unsafe )*fn (\w+)", re.M)


@dataclass
class Size:
    """A measured thing: its size, and where it is."""

    size: int
    place: str


def sizes(root: Path) -> dict[str, list[Size]]:
    """Lines of the files of the crates, methods of their types (without those of traits), lines and arguments of their
    functions; the largest first. Tests do not count."""
    names = ("lines of a file", "lines of a function", "methods of a type", "arguments of a function")
    measured: dict[str, list[Size]] = {name: [] for name in names}
    for crate in sorted((root / "crates").iterdir()):
        methods: dict[str, int] = {}
        for file in sorted((crate / "src").rglob("*.rs")):
            if "test" in file.stem:
                continue
            text = TESTS.split(file.read_text())[0]
            place = str(file.relative_to(root / "crates"))
            measured["lines of a file"].append(Size(text.count("\n"), place))
            kind = None
            for line in text.split("\n"):
                if block := BLOCK.match(line):
                    kind = None if " for " in line else block[1]
                elif line.startswith("}"):
                    kind = None
                elif kind and (function := FUNCTION.match(line)) and len(function[1]) == 4:
                    methods[kind] = methods.get(kind, 0) + 1
            for function in FUNCTION.finditer(text):
                end = re.search(rf"^{function[1]}}}", text[function.end() :], re.M)
                body = text[function.start() : function.end() + (end.end() if end else 0)]
                measured["lines of a function"].append(Size(body.count("\n") + 1, f"{place}: {function[2]}"))
                measured["arguments of a function"].append(Size(_arguments(body), f"{place}: {function[2]}"))
        measured["methods of a type"] += [Size(count, f"{crate.name}: {kind}") for kind, count in methods.items()]
    return {name: sorted(each, key=lambda size: (-size.size, size.place)) for name, each in measured.items()}


def _arguments(function: str) -> int:
    """The number of arguments of a function, `self` left out."""
    text = re.sub(r"->|//.*", "", function)
    text = text[re.search(r"fn \w+", text).end() :]  # type: ignore[union-attr]
    depth, in_list, parts = 0, False, [""]
    for letter in text:
        depth += (letter in "([{<") - (letter in ")]}>")
        if letter == "(" and depth == 1:
            in_list = True
        elif in_list and depth == 0:
            break
        elif in_list and letter == "," and depth == 1:
            parts.append("")
        elif in_list:
            parts[-1] += letter
    return sum(bool(part.strip()) and not re.fullmatch(r"\s*(&(mut )?|mut )?self\s*", part) for part in parts)


def table(root: Path) -> str:
    """The distributions of the sizes as a table in Markdown."""
    rows = ["| | median | 90 % | 99 % | largest |", "|---|---|---|---|---|"]
    for name, each in sizes(root).items():
        numbers = [size.size for size in each]
        quantiles = [numbers[int(len(numbers) * part)] for part in (0.5, 0.1, 0.01)]
        largest = ", ".join(f"{size.size} (`{size.place}`)" for size in each[:3])
        rows.append(f"| {name} | {' | '.join(map(str, quantiles))} | {largest} |")
    return "\n".join(rows) + "\n"


BEGIN, END = "<!-- sizes -->\n", "<!-- end of sizes -->"


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[1]
    graph = whole(root)
    cycles = circles(graph)
    print(f"{len(graph)} files, {sum(map(len, graph.values()))} arrows, {len(cycles)} circles")
    for circle in cycles:
        print("  " + ", ".join(str(file.relative_to(root)) for file in circle))
    for folder, level in folder_circles(graph, root).items():
        print(f"  folders of {folder}: {level}")
    print(table(root), end="")
    if "--write" in sys.argv:
        guide = root / "CONTRIBUTING.md"
        before, rest = guide.read_text().split(BEGIN)
        guide.write_text(before + BEGIN + table(root) + END + rest.split(END)[1])
