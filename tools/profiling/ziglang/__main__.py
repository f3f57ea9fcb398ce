"""Zig for a build that counts (`tools/wheels.py`): it takes the linker's option `-u SYMBOL` as `-Wl,-u,SYMBOL`."""

from __future__ import annotations

import os
import sys
from importlib.metadata import files

ZIG = next(file for file in files("ziglang") or () if file.name in {"zig", "zig.exe"}).locate()

arguments: list[str] = []
rest = iter(sys.argv[1:])
for argument in rest:
    arguments.append(f"-Wl,-u,{next(rest)}" if argument == "-u" else argument)
os.execv(ZIG, [os.fspath(ZIG), *arguments])
