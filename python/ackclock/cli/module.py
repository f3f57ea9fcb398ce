"""`ackclock module`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from ackclock.base.files import BadInput, check_targets
from ackclock.base.text import say

EXAMPLE = "ackclock module linux/net/ipv4/tcp_illinois.c --kernel linux --out illinois.wasm"


def command(
    source: Path,
    /,
    *sources: Path,
    out: Path,
    kernel: Path | None = None,
    hz: Annotated[int, Parameter()] = 1000,
) -> None:
    """Compile modules of Linux, unmodified, to controllers.

    The sources are yours; nothing of the kernel is in this program. A .wasm file needs clang and lld, and runs
    everywhere without a permission; a .so file needs a C compiler, and runs with --allow-code.

    Parameters
    ----------
    source
        Source of a module, such as net/ipv4/tcp_illinois.c.
    sources
        More modules for the same file. The first one is its default controller.
    out
        The file to write: .wasm, or .so for a native library.
    kernel
        Folder of the kernel's sources. Default: that in which the module lies.
    hz
        Jiffies per second, as the kernel's configuration HZ.

    """
    from ackclock.apps import kernel_module

    if out.suffix not in {".wasm", ".so"}:
        raise BadInput(f"--out {out}: must end in .wasm or .so")
    if hz not in {100, 250, 300, 1000}:
        raise BadInput(f"--hz {hz}: the kernel has 100, 250, 300 or 1000")
    check_targets([out])
    folder = kernel or source.resolve().parent.parent.parent
    modules = kernel_module.build([source, *sources], folder, out, hz)
    say(f"written: {out} ({out.stat().st_size:,} bytes): {', '.join(module.name for module in modules)}")
    say(f"{out} {kernel_module.LICENCE}")
    permission = "" if out.suffix == ".wasm" else " --allow-code"
    say(f"next: ackclock run @dumbbell --control {out}:{modules[0].function}{permission}")
