"""Controllers in C, C++, Rust and other languages: native libraries and WebAssembly modules.

docs/native-controllers.md is the guide.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ackclock import _core
from ackclock.base import controllers
from ackclock.base.files import BadInput
from ackclock.base.languages import joined, parted

Parameter = bool | float | str
"""The value of a parameter of a controller."""


@dataclass(frozen=True)
class ForeignController:
    """A controller of a library or a module, loaded, with its parameters: for the argument `controllers`."""

    language: Literal["library", "wasm"]
    file: Path | None
    """Its file; None if it was made from bytes."""
    name: str
    parameters: dict[str, Parameter]
    core: _core.ForeignController

    @property
    def table(self) -> dict[str, Any]:
        """The value of `congestion_control` that names it. Raises BadInput if it has no file."""
        if self.file is None:
            raise BadInput(f"{self.name}: was made from bytes; a study reads it from a file in each process")
        return {self.language: joined(self.file.resolve(), self.name), **self.parameters}

    def describe(self) -> dict[str, Any]:
        """What it says of itself: summary, needs, probes, initial_window, state, state_size, functions, parameters."""
        return self.core.describe()


def native(controller: str | Path, /, **parameters: Parameter) -> ForeignController:
    """The controller of a native library, `FILE.so:NAME` or `FILE.so` for its first one, with parameters.

    This runs code of the library. Raises BadInput.
    """
    file, name = parted(str(controller), "library")
    return _loaded("library", Path(file), None, name, parameters)


def wasm(controller: str | Path | bytes, /, *, name: str | None = None, **parameters: Parameter) -> ForeignController:
    """The controller of a WebAssembly module, `FILE.wasm:NAME`, `FILE.wasm` or its bytes, with parameters.

    It runs in a sandbox, with its events only. Raises BadInput.
    """
    if isinstance(controller, bytes):
        return _loaded("wasm", None, controller, name, parameters)
    path, named = parted(str(controller), "wasm")
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise BadInput(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None
    return _loaded("wasm", Path(path), content, name or named, parameters)


def include() -> Path:
    """The folder of `ackclock.h`, which declares the functions of a controller, and of `ackclock.rs`."""
    return Path(__file__).parent / "include"


def _loaded(
    language: Literal["library", "wasm"],
    file: Path | None,
    content: bytes | None,
    name: str | None,
    parameters: dict[str, Parameter],
) -> ForeignController:
    if language == "library":
        controllers.loads_library(str(file))
    try:
        core = _core.ForeignController(str(file or "module.wasm"), content, name, list(parameters.items()))
    except ValueError as error:
        raise BadInput(str(error)) from None
    return ForeignController(language, file, core.name, parameters, core)
