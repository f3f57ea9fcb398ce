"""Congestion control modules of Linux as controllers: compiled as they are, from kernel sources of the user."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from os import environ
from pathlib import Path

from ackclock.base.files import BadInput
from ackclock.foreign import include

SHIM = Path(__file__).parent.parent / "linux"
"""The names of the kernel that modules use, and the functions that call a module in the order of `tcp_ack()`."""
SHARED = ("net/ipv4/tcp_cong.c", "lib/math/int_sqrt.c", "lib/win_minmax.c")
"""Sources of the kernel that modules call; the first one has Reno."""
HEADERS = (
    *(
        f"linux/{name}.h"
        for name in [
            *("bitops", "btf", "btf_ids", "export", "gfp", "inet", "inet_diag", "jhash", "kernel", "limits", "list"),
            *("math", "math64", "mm", "module", "random", "sched/clock", "skbuff", "types", "win_minmax"),
        ]
    ),
    *("asm/div64.h", "net/tcp.h", "trace/events/tcp.h", "linux/bpf.h", "linux/init.h", "linux/slab.h"),
)
"""The headers that the sources include: each becomes one that includes `kshim.h`."""
OLDEST, NEWEST = (6, 1), (6, 19)
"""Versions of the kernel for which `kshim.h` is written."""
LICENCE = "holds code of Linux (GPL-2.0): give it away only with its source"
UNKNOWN = (
    r"(?:undeclared identifier|implicit declaration of function|unknown type name|undefined symbol:?"
    r"|undefined reference to|no member named) *\W?(?P<name>\w+)|(?P<before>\w+)\W? undeclared"
)
"""What a compiler says of a name that the headers do not have."""
SIGNALS = {"pacing": r"\.cong_control\s*=", "receiver_time": r"\brcv_tsval\b", "ecn_per_packet": r"\bdelivered_ce\b"}
"""Signals that a module needs besides those of all, and what its source then has."""


@dataclass(frozen=True)
class KernelModule:
    """A module: its source, and the name of its operations, such as `cubic`."""

    source: Path
    name: str
    needs: tuple[str, ...]
    allocates: bool

    @property
    def function(self) -> str:
        """The beginning of the names of its functions."""
        return re.sub(r"\W", "_", self.name)


def version(kernel: Path) -> tuple[int, int]:
    """The version of the sources in a folder. Raises BadInput."""
    makefile = kernel / "Makefile"
    if not makefile.is_file():
        raise BadInput(f"{kernel}: no sources of Linux (no Makefile); --kernel names their folder")
    text = makefile.read_text(encoding="utf-8", errors="replace")
    numbers = [int(number) for number in re.findall(r"^(?:VERSION|PATCHLEVEL) = (\d+)", text, re.MULTILINE)]
    if len(numbers) < 2 or not OLDEST <= (numbers[0], numbers[1]) <= NEWEST:
        raise BadInput(
            f"{kernel}: sources of Linux {'.'.join(map(str, numbers))}; modules of {OLDEST[0]}.{OLDEST[1]} to "
            f"{NEWEST[0]}.{NEWEST[1]} are possible"
        )
    return numbers[0], numbers[1]


def read_module(source: Path) -> KernelModule:
    """What a source says of its module. Raises BadInput."""
    try:
        text = source.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise BadInput(f"{source}: {(error.strerror or 'cannot be read').lower()}") from None
    # Of several operations the last ones are those that the module registers first: dctcp has Reno's beside its own.
    names = re.findall(r"struct tcp_congestion_ops\s+\w+[^=]*=\s*\{(.*?)\n\}", text, re.DOTALL)
    algorithms = [named[1] for body in names if (named := re.search(r"\.name\s*=\s*\"([\w-]+)\"", body))]
    if not algorithms:
        raise BadInput(f"{source}: no congestion control module (no struct tcp_congestion_ops with a name)")
    stem = source.stem.removeprefix("tcp_")
    name = stem if stem in algorithms else algorithms[0]
    needs = tuple(signal for signal, pattern in SIGNALS.items() if re.search(pattern, text))
    return KernelModule(source, name, needs, bool(re.search(r"\bk[czm]alloc\w*\s*\(", text)))


def build(sources: Sequence[Path], kernel: Path, out: Path, hz: int = 1000) -> list[KernelModule]:
    """Compile modules to a WebAssembly module (`out` ends in .wasm) or a library. Returns them, the default first.

    Raises BadInput: no sources, another version, a module that does not compile, no compiler.
    """
    kernel_version = version(kernel)
    modules = [read_module(source) for source in sources]
    missing = [name for name in SHARED if not (kernel / name).is_file()]
    if missing:
        raise BadInput(f"{kernel}: {missing[0]} is missing")
    is_wasm = out.suffix == ".wasm"
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for header in HEADERS:
            path = folder / "include" / header
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text('#include "kshim.h"\n', encoding="utf-8")
        number = 100 * kernel_version[0] + kernel_version[1]
        options = ["-O2", "-I", str(SHIM), "-I", str(include()), "-I", str(folder / "include")]
        options += [f"-DHZ={hz}", f"-DKERNEL={number}", f'-DKERNEL_NAME="{kernel_version[0]}.{kernel_version[1]}"']
        options += ["-ffreestanding", "-I", str(SHIM / "wasm")] if is_wasm else ["-fPIC"]
        compiler = _compiler(is_wasm)
        own = [SHIM / "driver.c", *([SHIM / "wasm" / "libc.c"] if is_wasm else []), *_functions(modules, folder)]
        shared = (kernel / name for name in SHARED)
        theirs = dict.fromkeys(source.resolve() for source in (*(module.source for module in modules), *shared))
        # The kernel is compiled with wrapping arithmetic and without aliasing rules; its warnings are not ours.
        kernel_flags = ["-w", "-fwrapv", "-fno-strict-aliasing", *(f"-I{source.parent}" for source in sources[:1])]
        tasks = [(source, [] if source in own else kernel_flags) for source in (*own, *theirs)]
        objects = []
        for place, (source, flags) in enumerate(tasks):
            objects.append(str(folder / f"{place}.o"))
            _run([*compiler, *options, *flags, "-c", str(source), "-o", objects[-1]], source)
        partial = out.with_suffix(out.suffix + ".partial")
        link = ["-nostdlib", "-Wl,--no-entry,--export-dynamic,--strip-all", "-Wl,-z,stack-size=16384"]
        _run([*compiler, *(link if is_wasm else ["-shared", "-Wl,--no-undefined"]), "-o", str(partial), *objects], out)
        partial.replace(out)
    return modules


def _functions(modules: Sequence[KernelModule], folder: Path) -> list[Path]:
    """Files with the functions of the modules, and the list of their names."""
    files = []
    for module in modules:
        needs = ", ".join(f"'{signal}'" for signal in ("rate", "segment_counts", "samples", *module.needs))
        text = [
            f"#define NAME {module.function}",
            f'#define NAME_TEXT "{module.name}"',
            f'#define FILE_TEXT "{module.source.name}"',
            f'#define NEEDS "{needs}"',
            f'#define STATE "{"instance" if module.allocates else "block"}"',
            '#include "controller.h"',
        ]
        files.append(folder / f"controller_{module.function}.c")
        files[-1].write_text("\n".join(text) + "\n", encoding="utf-8")
    names = ",".join(module.function for module in modules)
    files.append(folder / "controllers.c")
    files[-1].write_text(
        f'#include "ackclock.h"\nACKCLOCK_EXPORT const char *ackclock_controllers(void) {{ return "{names}"; }}\n',
        encoding="utf-8",
    )
    return files


def _compiler(is_wasm: bool) -> list[str]:
    """The compiler and its target. Raises BadInput."""
    if not is_wasm:
        return shlex.split(environ.get("CC", "cc"))
    names = [environ["CLANG"]] if "CLANG" in environ else ["clang", *(f"clang-{n}" for n in range(22, 12, -1))]
    clang = next((path for name in names if (path := shutil.which(name))), None)
    if clang is None:
        raise BadInput("WebAssembly needs clang and lld (Debian: apt install clang lld); --out x.so needs cc only")
    # Debian's clang looks for the linker with its own number.
    linker = next(
        (f for n in ("wasm-ld", *(f"wasm-ld-{n}" for n in range(22, 12, -1))) if (f := shutil.which(n))), None
    )
    return [clang, "--target=wasm32", *([f"-fuse-ld={linker}"] if linker else [])]


def _run(command: list[str], what: Path) -> None:
    """Run the compiler. Raises BadInput with its first error."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BadInput(f"no C compiler: {command[0]}: {error.strerror} (set CC)") from None
    if done.returncode:
        words = ("error", "undefined", "multiple definition")
        lines = [line.strip() for line in done.stderr.splitlines() if any(word in line for word in words)]
        lines.sort(key=lambda line: "ld returned" in line)
        first = (lines or done.stderr.strip().splitlines() or ["no message"])[0]
        name = re.search(UNKNOWN, first)
        remedy = (
            f"; {what.name} needs {name['name'] or name['before']}, which the headers for modules do not have"
            if name
            else ""
        )
        raise BadInput(f"{what.name} does not compile: {first}{remedy}: add it to kshim.h (docs/linux-modules.md)")
