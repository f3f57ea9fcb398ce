"""`ackclock check mine.wasm`: a controller of a file, before it runs in a network."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ackclock import _core
from ackclock.base.files import BadInput
from ackclock.base.languages import language_of
from ackclock.base.text import say
from ackclock.foreign import ForeignController, native, wasm


def check(controller: str, *, as_json: bool, allow_code: bool) -> bool:
    """Load the controller of `FILE.wasm:NAME`, say what it is, and check what must hold for any events.

    Returns whether all of it holds. Raises BadInput if it cannot be loaded, or for a library without `allow_code`.
    """
    language, file, _ = language_of(controller) or ("", controller, None)
    if language not in {"library", "wasm"}:
        raise BadInput(f"{controller}: check takes scenarios, and controllers in .wasm and .so files")
    if language == "library" and not allow_code:
        raise BadInput(f"{Path(file).name} is native code: it runs only with --allow-code")
    loaded = native(controller) if language == "library" else wasm(controller)
    about = _described(loaded, Path(file))
    if as_json:
        print(json.dumps(about, allow_nan=False))
    else:
        _show(about)
    return all(one["failure"] is None for one in about["checks"])


def _described(loaded: ForeignController, file: Path) -> dict[str, Any]:
    """What `--json` prints: the file, what the controller says of itself, memory_bytes, warnings, checks."""
    content = file.read_bytes()
    about: dict[str, Any] = {"file": str(file), "name": loaded.name, "bytes": len(content), "warnings": []}
    about |= loaded.describe()
    if loaded.language == "wasm":
        _, memory, reads_bits = _core.module_facts(content, file.name)
        about["memory_bytes"] = memory
        if reads_bits:
            about["warnings"].append(
                "looks at the bits of numbers (i64.reinterpret_f64): those of NaN differ between browsers"
            )
    about["checks"] = [{"property": name, "failure": failure} for name, failure in loaded.core.check()]
    return about


def _show(about: dict[str, Any]) -> None:
    memory = f", memory {about['memory_bytes'] >> 10} KiB" if "memory_bytes" in about else ""
    say(f"{about['file']}: {about['name']}: {about['summary']}")
    say(f"  {about['bytes']:,} bytes{memory}, state of a flow {about['state_size']} bytes ({about['state']})")
    say(f"  functions   {', '.join(about['functions'])}")
    say(f"  needs       {', '.join(about['needs']) or 'no signals'}")
    for parameter in about["parameters"]:
        bounds = f" from {parameter['range'][0]:g} to {parameter['range'][1]:g}" if parameter["range"] else ""
        words = f" one of {', '.join(parameter['words'])}" if parameter["words"] else ""
        say(f"  parameter   {parameter['name']} = {parameter['default']}{bounds}{words}: {parameter['about']}")
    for one in about["checks"]:
        mark = "holds " if one["failure"] is None else "FAILS "
        say(f"  {mark}      {one['property']}" + (f": {one['failure']}" if one["failure"] else ""))
    for warning in about["warnings"]:
        say(f"  warning     {warning}")
    failed = sum(one["failure"] is not None for one in about["checks"])
    say(f"{about['name']}: {len(about['checks']) - failed} of {len(about['checks'])} checks hold")
