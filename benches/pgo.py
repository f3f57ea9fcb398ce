"""Check that a profile applies to a core: `python benches/pgo.py PROFILE LIBRARY`.

LLVM applies the counts of a profile to the functions of the same name, and says nothing of the others. The names depend
on the compiler, the target, the features and the versions of the libraries.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

LEAST = 0.5
"""Least part of the library's functions with generated code that the profile has."""


def output(tool: str, *arguments: str) -> list[str]:
    """The lines that a tool of the compiler prints."""
    library = subprocess.run(["rustc", "--print", "target-libdir"], capture_output=True, text=True, check=True)
    path = Path(library.stdout.strip()).parent / "bin" / tool
    return subprocess.run([path, *arguments], capture_output=True, text=True, check=True).stdout.splitlines()


def main(profile: str, library: str) -> int:
    """Print how many functions of the core are in the profile; 2 if they are too few."""
    counted = {
        line.strip().rstrip(":").split(";")[-1] for line in output("llvm-profdata", "show", "--all-functions", profile)
    }
    symbols = {line.split()[-1] for line in output("llvm-nm", "--defined-only", library) if line.split()[-2] in "tT"}
    ours = {symbol for symbol in symbols if any(crate in symbol for crate in ("3lab", "3net", "9transport", "6engine"))}
    both = len(ours & counted)
    print(f"{both} of {len(ours)} functions of the event loop's crates are in the profile")
    if not ours or both < LEAST * len(ours):
        print(f"error: {profile} does not apply to {library}; remove it and run `make pgo` again", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
