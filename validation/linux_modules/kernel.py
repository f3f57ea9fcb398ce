"""The congestion control modules of Linux: the sources of the Debian package, compiled as they are (`ackclock module`).

Nothing of the kernel is in the repository.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from ackclock import BadInput
from ackclock.apps import kernel_module

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
    """Compiles the modules to one WebAssembly module. Returns it. Raises `KernelError`."""
    out = to / "modules.wasm"
    try:
        kernel_module.build([folder / source for source in SOURCES[: len(MODULES) + 1]], folder, out, HZ)
    except BadInput as error:
        raise KernelError(str(error)) from None
    return out
