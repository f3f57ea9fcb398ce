"""`ackclock check mine.wasm`: a controller of a file, before it runs in a network."""

from __future__ import annotations

import json
from typing import Any

from ackclock.apps import controller_check
from ackclock.base.text import say


def check(controller: str, *, as_json: bool, allow_code: bool) -> bool:
    """Print what the controller of `FILE.wasm:NAME` is, and what of it holds; returns whether all does."""
    about = controller_check.describe(controller, allow_code=allow_code)
    if as_json:
        print(json.dumps(about, allow_nan=False))
    else:
        _show(about)
    return all(one["failure"] is None for one in about["checks"])


def _show(about: dict[str, Any]) -> None:
    memory = f", memory {about['memory_bytes'] >> 10} KiB" if "memory_bytes" in about else ""
    say(f"{about['file']}: {about['name']}: {about['summary']}")
    say(f"  {about['bytes']:,} bytes{memory}, state of a flow {about['state_size']} bytes ({about['state']})")
    say(f"  functions   {', '.join(about['functions'])}")
    say(f"  needs       {', '.join(about['needs']) or 'no signals'}")
    for parameter in about["parameters"]:
        bounds = f" from {parameter['range'][0]:g} to {parameter['range'][1]:g}" if parameter["range"] else ""
        words = f" one of {', '.join(parameter['words'])}" if parameter["words"] else ""
        say(f"  parameter   {parameter['name']} = {_plain(parameter['default'])}{bounds}{words}: {parameter['about']}")
    for one in about["checks"]:
        mark = "holds " if one["failure"] is None else "FAILS "
        say(f"  {mark}      {one['property']}" + (f": {one['failure']}" if one["failure"] else ""))
    for warning in about["warnings"]:
        say(f"  warning     {warning}")
    failed = sum(one["failure"] is not None for one in about["checks"])
    say(f"{about['name']}: {len(about['checks']) - failed} of {len(about['checks'])} checks hold")


def _plain(value: bool | float | str) -> str:
    """A value of a parameter as a scenario has it."""
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else value
