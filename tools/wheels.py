"""Build wheels for every system, check them and print their sizes: `python tools/wheels.py FOLDER [TARGET...]`.

Zig links them, so that this machine needs no other compiler; for Windows, whose library Zig does not link, Debian's
gcc-mingw-w64-x86-64 does. The wheel of x86-64 Linux has the core with profile-guided optimisation: both builds have the
same command, because a profile applies to functions of the same name. The other targets cannot run here, so they are
without it. Needs rustup, for the targets of the compiler.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sysconfig.get_path("scripts"))
LARGEST = 5_500_000
"""The aim for the size of a wheel, bytes."""
NEEDED = ("ackclock/web/lab.html", "ackclock/scenarios/dumbbell.toml", "ackclock/paper_folders/ca-artt/paper.toml")
"""Files that a wheel must have."""


@dataclass(frozen=True)
class Target:
    """A target of the compiler."""

    compatibility: str = ""
    """The oldest system, as the tag of a wheel; empty where the target says it."""
    profile: bool = False
    """Whether the core that counts can run here."""
    linker: str = ""
    """The program that links, in place of Zig."""


TARGETS = {
    "x86_64-unknown-linux-gnu": Target("manylinux_2_28", profile=True),
    "aarch64-unknown-linux-gnu": Target("manylinux_2_28"),
    "x86_64-unknown-linux-musl": Target("musllinux_1_2"),
    "aarch64-unknown-linux-musl": Target("musllinux_1_2"),
    "aarch64-apple-darwin": Target(),
    "x86_64-apple-darwin": Target(),
    "x86_64-pc-windows-gnu": Target(linker="x86_64-w64-mingw32-gcc"),
}


def build(name: str, folder: Path) -> None:
    """Build the wheel of a target. Raises CalledProcessError."""
    target = TARGETS[name]
    command = [str(BIN / "maturin"), "build", "--release", "--locked", "--quiet", "--strip", "--compression-level", "9"]
    command += ["--target", name, "--out", str(folder)]
    if not target.linker:
        command.append("--zig")
    if target.compatibility:
        command += ["--compatibility", target.compatibility]
    environment = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"}
    components = []
    if target.profile and os.uname().machine == name.partition("-")[0]:
        command.append("--pgo")
        components.append("llvm-tools")
        environment["PYTHONPATH"] = str(ROOT / "tools" / "profiling")  # Zig with an option more
    for kind, what in (("target", [name]), ("component", components)):
        for one in what:
            subprocess.run(["rustup", "--quiet", kind, "add", one], check=True)
    subprocess.run(command, cwd=ROOT, check=True, env=environment)


def check(wheel: Path) -> None:
    """Check the contents of a wheel, and print its size. Raises ValueError."""
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        missing = [name for name in NEEDED if name not in names]
        cores = [entry for entry in file.infolist() if Path(entry.filename).name.startswith("_core.abi3")]
        cores += [entry for entry in file.infolist() if entry.filename.endswith("_core.pyd")]
    if missing or len(cores) != 1:
        raise ValueError(f"{wheel.name}: {missing or 'a core'} is missing")
    size = wheel.stat().st_size
    remark = f", above the aim of {LARGEST / 1e6:g} MB" if size > LARGEST else ""
    print(f"{wheel.name}: {size / 1e6:.2f} MB, core {cores[0].file_size / 1e6:.1f} MB{remark}", flush=True)


def main(folder: Path, names: list[str]) -> int:
    """Build and check; returns the exit status."""
    unknown = [name for name in names if name not in TARGETS]
    if unknown:
        print(f"error: {unknown[0]}: the targets are {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    for name in names or list(TARGETS):
        if (linker := TARGETS[name].linker) and shutil.which(linker) is None:
            print(f"error: {name}: there is no {linker}; install it (Debian: gcc-mingw-w64-x86-64)", file=sys.stderr)
            return 2
    failed = []
    for name in names or list(TARGETS):
        print(f"building the wheel of {name}: two to ten minutes on two cores", flush=True)
        try:
            build(name, folder)
        except subprocess.CalledProcessError as error:
            failed.append(name)
            print(f"error: {name}: {Path(error.cmd[0]).name} ended with status {error.returncode}", file=sys.stderr)
    wheels = sorted(folder.glob("*.whl"))
    for wheel in wheels:
        check(wheel)
    if wheels:
        subprocess.run([str(BIN / "twine"), "check", "--strict", *map(str, wheels)], check=True)
    return 1 if failed else 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        print("error: write the folder of the wheels, such as out/wheels", file=sys.stderr)
        sys.exit(2)
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
