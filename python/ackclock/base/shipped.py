"""Scenarios, studies, examples and papers that the package ships.

`@dumbbell` names the scenario `dumbbell.toml`, `@studies/random_loss` the example of a study `random_loss.toml`, and
`@failures/reno` the smallest known failure of the controller `reno`.
"""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Literal

from ackclock import _core
from ackclock.base.files import BadInput

_PACKAGE = Path(__file__).parent.parent
_CHECKOUT = _PACKAGE.parents[1]


Kind = Literal["scenarios", "examples", "papers"]
_IN_PACKAGE: dict[Kind, str] = {"scenarios": "scenarios", "examples": "examples", "papers": "paper_folders"}


def folder(kind: Kind) -> Path:
    """The folder of the shipped files: that of the repository in an editable installation, else the package's."""
    checkout = _CHECKOUT / kind
    is_checkout = (_CHECKOUT / "pyproject.toml").is_file() and checkout.is_dir()
    return checkout if is_checkout else _PACKAGE / _IN_PACKAGE[kind]


def is_shipped(path: Path) -> bool:
    """Whether a path belongs to this program: to its package, or to the checkout from which it was installed."""
    roots = [_PACKAGE, *([_CHECKOUT] if (_CHECKOUT / "pyproject.toml").is_file() else [])]
    return any(path.resolve().is_relative_to(root.resolve()) for root in roots)


def scenarios() -> dict[str, Path]:
    """The shipped scenarios by name, in the order of the names."""
    return {path.stem: path for path in sorted(folder("scenarios").glob("*.toml"))}


def failures() -> Path:
    """The folder of the smallest known failures of the controllers, with their regression file."""
    return folder("scenarios") / "failures"


def examples() -> list[Path]:
    """The shipped example programs, in the order of their paths."""
    return sorted(folder("examples").rglob("*.py"))


def short(path: Path) -> Path:
    """The path relative to the current folder if it is below it, otherwise unchanged."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def argument(file: str) -> str:
    """What a command takes for a file: `@NAME` of a shipped scenario or study, otherwise the short path."""
    if file.startswith("@"):
        return file
    path = Path(file)
    groups = {"": folder("scenarios"), "studies/": folder("examples") / "studies", "failures/": failures()}
    for prefix, base in groups.items():
        if path.suffix == ".toml" and path.resolve().parent == base.resolve():
            return f"@{prefix}{path.stem}"
    return str(short(path))


def locate(text: str) -> str:
    """The file that a scenario argument names: the shipped file for `@NAME`, otherwise `text` itself.

    Raises BadInput if there is no shipped scenario of this name.
    """
    if not text.startswith("@"):
        return text
    files, name = scenarios(), text[1:].removesuffix(".toml")
    groups = {
        "failures": failures(),
        "studies": folder("examples") / "studies",
        "papers": folder("papers") / "comparison",
    }
    group = name.partition("/")[0]
    if "/" in name and group in groups:
        paths = sorted(groups[group].glob("*.toml"))
        files = {f"{group}/{path.stem}": path for path in paths if path.stem not in {"regression", "suite"}}
    if name in files:
        return str(short(files[name]))
    near = difflib.get_close_matches(name, files, 1) or [other for other in files if len(name) > 2 and name in other]
    listed = ", ".join(f"@{other}" for other in files)
    hint = f"did you mean {' or '.join(f'@{other}' for other in near[:3])}?" if near else f"there are {listed}"
    raise BadInput(f"there is no shipped scenario {text}; {hint}")


_core.set_shipped(str(folder("scenarios")))  # for `extends = "@NAME"`
