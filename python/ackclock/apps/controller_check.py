"""A controller of a library or a module, checked before it runs in a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ackclock import _core
from ackclock.base.files import BadInput
from ackclock.base.languages import language_of
from ackclock.foreign import native, wasm


def describe(controller: str, *, allow_code: bool = False) -> dict[str, Any]:
    """Load the controller that `FILE.wasm:NAME` names, pass events to it, and tell what it is and what of it holds.

    Returns the file, its bytes, what the controller says of itself, memory_bytes of a module, warnings, and checks:
    dictionaries with `property` and `failure`, None if it holds. Raises BadInput if it cannot be loaded, or for a
    library without `allow_code`.
    """
    language, file, _ = language_of(controller) or ("", controller, None)
    if language not in {"library", "wasm"}:
        raise BadInput(f"{controller}: check takes scenarios, and controllers in .wasm and .so files")
    if language == "library" and not allow_code:
        raise BadInput(f"{Path(file).name} is native code: it runs only with --allow-code")
    loaded = native(controller) if language == "library" else wasm(controller)
    content = Path(file).read_bytes()
    about: dict[str, Any] = {"file": file, "name": loaded.name, "bytes": len(content), "warnings": []}
    about |= loaded.describe()
    if language == "wasm":
        _, memory, reads_bits = _core.module_facts(content, Path(file).name)
        about["memory_bytes"] = memory
        if reads_bits:
            about["warnings"].append(
                "looks at the bits of numbers (i64.reinterpret_f64): those of NaN differ between browsers"
            )
    about["checks"] = [{"property": name, "failure": failure} for name, failure in loaded.core.check()]
    return about
