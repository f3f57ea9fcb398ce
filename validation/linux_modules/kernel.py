"""The congestion control modules of Linux as a library: the sources of the Debian package, compiled as they are.

Nothing of the kernel is in the repository. `kshim.h` declares the names of the kernel that the modules use, and
`driver.c` calls them in the order of `tcp_ack()`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
PACKAGE = "linux-source-6.12"
INSTALLED = Path("/usr/src") / f"{PACKAGE}.tar.xz"
"""Where the package puts its archive."""
VERSION = "6.12"
"""The version of the kernel that `kshim.h` is written for."""
HZ = 1000
"""Jiffies per second of the compiled modules."""
MODULES = (
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
)
"""The modules; Reno is in `tcp_cong.c`."""
SOURCES = (
    *(f"net/ipv4/tcp_{name}.c" for name in ("cong", *MODULES)),
    "lib/math/int_sqrt.c",
    "lib/win_minmax.c",
)
OWN_HEADERS = ("net/ipv4/tcp_dctcp.h", "net/ipv4/tcp_vegas.h")
"""Headers that modules have beside them."""
HEADERS = (
    *(
        f"linux/{name}.h"
        for name in [
            "bitops",
            "btf",
            "btf_ids",
            "export",
            "gfp",
            "inet",
            "inet_diag",
            "jhash",
            "kernel",
            "limits",
            "list",
            "math",
            "math64",
            "mm",
            "module",
            "random",
            "sched/clock",
            "skbuff",
            "types",
            "win_minmax",
        ]
    ),
    "asm/div64.h",
    "net/tcp.h",
    "trace/events/tcp.h",
)
"""The headers that the sources include: each becomes one that includes `kshim.h`."""


class KernelError(Exception):
    """The sources of the kernel are missing, of another version, or do not compile: one line with the remedy."""


def unpack(to: Path, package: Path | None = None) -> Path:
    """The folder of the sources, unpacked below `to`.

    `package` is the `.deb`, the `.tar.xz` in it, or a folder; without it, the installed package, or one that apt
    downloads. Raises `KernelError`.
    """
    if package is not None and package.is_dir():
        return checked(package)
    archive = package or (INSTALLED if INSTALLED.exists() else download(to))
    if not archive.exists():
        raise KernelError(f"{archive}: no such file (--kernel takes a folder, a .deb or a .tar.xz)")
    if archive.suffix == ".deb":
        run(["dpkg-deb", "-x", str(archive), str(to)], f"{archive}: no Debian package (download it again)")
        archive = to / "usr" / "src" / f"{PACKAGE}.tar.xz"
    wanted = [f"{PACKAGE}/{name}" for name in ("Makefile", *SOURCES, *OWN_HEADERS)]
    run(["tar", "-C", str(to), "-xf", str(archive), *wanted], f"{archive}: no archive of {PACKAGE} (--kernel FOLDER)")
    return checked(to / PACKAGE)


def run(command: list[str], refused: str) -> None:
    """Runs a program. Raises `KernelError`: the program is missing, or `refused` with the first line that it wrote."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise KernelError(f"{command[0]}: {error.strerror} (install it, or --kernel FOLDER)") from None
    if done.returncode:
        raise KernelError(f"{refused}: {(done.stderr.strip().splitlines() or ['no message'])[0]}")


def download(to: Path) -> Path:
    """The Debian package, downloaded by apt into `to`. Raises `KernelError`."""
    if shutil.which("apt-get") is None:
        raise KernelError(f"no apt-get here: give the folder of {PACKAGE} with --kernel")
    done = subprocess.run(["apt-get", "download", PACKAGE], cwd=to, capture_output=True, text=True, check=False)
    packages = sorted(to.glob("*.deb"))
    if done.returncode or not packages:
        reason = (done.stderr.strip().splitlines() or ["no package"])[-1]
        raise KernelError(f"apt-get download {PACKAGE}: {reason} (apt-get update, or --kernel FOLDER)")
    return packages[-1]


def version(folder: Path) -> str:
    """The version of the sources in `folder`, such as 6.12.117. Raises `KernelError`."""
    makefile = folder / "Makefile"
    if not makefile.exists():
        raise KernelError(f"{folder}: no sources of Linux (no Makefile)")
    text = makefile.read_text(errors="replace")
    numbers = re.findall(r"^(?:VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)", text, re.MULTILINE)
    return ".".join(numbers)


def checked(folder: Path) -> Path:
    """The folder, if its sources are those of the version of `kshim.h`. Raises `KernelError`."""
    if not version(folder).startswith(f"{VERSION}."):
        raise KernelError(f"{folder}: sources of Linux {version(folder)}; kshim.h is written for {VERSION}")
    missing = [name for name in (*SOURCES, *OWN_HEADERS) if not (folder / name).exists()]
    if missing:
        raise KernelError(f"{folder}: {missing[0]} is missing")
    return folder


def build(folder: Path, to: Path) -> Path:
    """Compiles the modules with the driver. Returns the library. Raises `KernelError`."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    library = to / "modules.so"
    with tempfile.TemporaryDirectory() as temporary:
        for header in HEADERS:
            path = Path(temporary) / "include" / header
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text('#include "kshim.h"\n')
        options = ["-O2", "-fPIC", f"-DHZ={HZ}", "-I", str(HERE), "-I", f"{temporary}/include"]
        objects = []
        for source in (*(folder / name for name in SOURCES), HERE / "driver.c"):
            objects.append(f"{temporary}/{source.stem}.o")
            # The kernel is compiled with wrapping arithmetic and without aliasing rules; its warnings are not ours.
            flags = ["-Wall"] if source.parent == HERE else ["-w", "-fwrapv", "-fno-strict-aliasing"]
            compile_(compiler, [*options, *flags, "-c", str(source), "-o", objects[-1]], source)
        compile_(compiler, ["-shared", "-Wl,--no-undefined", "-o", str(library), *objects], library)
    return library


def compile_(compiler: list[str], arguments: list[str], what: Path) -> None:
    """Runs the compiler. Raises `KernelError` with its first error."""
    try:
        done = subprocess.run([*compiler, *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        raise KernelError(f"no C compiler: {' '.join(compiler)}: {error.strerror} (set CC)") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line or "undefined" in line]
        raise KernelError(f"{what.name} does not compile: {(lines or done.stderr.splitlines())[0]} (see kshim.h)")
