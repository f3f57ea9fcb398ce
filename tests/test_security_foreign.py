"""Lines of docs/security.md on controllers from outside: libraries, WebAssembly, modules of Linux."""

from __future__ import annotations

import base64
import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ackclock import BadInput, Scenario, Study, wasm
from ackclock.base.link import LARGEST, pack, unpack
from conftest import Command
from security import NETWORK, Place, line

VECTORS = Path(__file__).parent / "vectors" / "modules"
LIBRARY = """
#include <stdio.h>
static void __attribute__((constructor)) loaded(void) { fclose(fopen("loaded", "w")); }
const char *mine_describe(void) { return "x"; }
"""


def with_control(control: str) -> str:
    return NETWORK.replace('recovery = "newreno"', f"congestion_control = {control}")


@line("F1")
def test_a_library_is_loaded_with_permission_only(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    from ackclock.cli.app import main

    Path("mine.c").write_text(LIBRARY, encoding="utf-8")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "mine.so", "mine.c"], check=True)
    place.write("s.toml", with_control('{ library = "mine.so:mine" }'))
    place.write("axis.toml", NETWORK + "[sweep]\n'flow.f.tcp.congestion_control.library' = ['mine.so:mine']\n")
    commands = (
        ["run", "s.toml"],
        ["run", "@dumbbell", "--control", "mine.so:mine"],
        ["run", "@dumbbell", "--set", 'tcp.congestion_control={ library = "mine.so:mine" }'],
        ["check", "s.toml"],
        ["check", "mine.so:mine"],
        ["sweep", "axis.toml", "--out", "out"],
        ["what-if", "@dumbbell", "--at", "1s", "--control", "mine.so:mine"],
        ["compare", "@dumbbell", "--control", "reno,mine.so:mine"],
        ["suite", "tcpeval", "--control", "mine.so:mine", "--quick", "--out", "suite"],
    )
    for command in commands:
        assert main(command) == 2, command
        assert "--allow-code" in capsys.readouterr().err, command
        assert not Path("loaded").exists(), command
    with pytest.raises((BadInput, ValueError), match="allow-code"):
        Study.load("axis.toml")
    assert main(["run", "s.toml", "--allow-code"]) == 2  # it is no controller, and was loaded
    assert Path("loaded").exists()
    assert "ackclock: runs" in capsys.readouterr().err


@line("W1", "W4", "W5")
def test_a_module_needs_no_permission_and_sees_its_events_only(
    place: Place, capsys: pytest.CaptureFixture[str], root: Path
) -> None:
    from ackclock.cli.app import main

    module = (root / "web/src/core/mine.wasm").read_bytes()
    Path("mine.wasm").write_bytes(module)
    place.write("s.toml", with_control('{ wasm = "mine.wasm" }'))
    assert main(["link", "s.toml"]) == 0
    link = capsys.readouterr().out.strip()
    Path("mine.wasm").unlink()
    assert main(["run", link, "--fingerprint"]) == 0
    # The import section of a module that wants the file system, before anything of it runs.
    name, function = b"wasi", b"path_open"
    entry = b"\x01" + bytes([len(name)]) + name + bytes([len(function)]) + function + b"\0\0"
    wants = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x02" + bytes([len(entry)]) + entry
    with pytest.raises(BadInput, match=r"module.wasm imports wasi\.path_open"):
        wasm(wants)
    # A module of 1 MB is more than a link holds.
    large = module + b"\0\xfa\xff\x3f" + bytes(0x0F_FFFA)
    shared = {"v": 1, "text": with_control('{ wasm = "mine.wasm" }'), "files": {"mine.wasm": {"base64": ""}}}
    shared["files"]["mine.wasm"]["base64"] = base64.b64encode(large).decode()  # type: ignore[index]
    assert len(json.dumps(shared)) > LARGEST
    with pytest.raises(BadInput):
        unpack(pack(shared))  # type: ignore[arg-type]


@line("W2", "W3")
@pytest.mark.parametrize("name", ["loop", "recurse", "memory", "nan"])
def test_a_module_ends_within_its_limits(tmp_path: Path, name: str) -> None:
    """Within little time and memory, with one line and exit status 1, and twice equally."""
    shutil.copy(VECTORS / f"{name}.wasm", tmp_path)
    command = [str(Path(sys.executable).parent / "ackclock"), "run", "@dumbbell", "--control", f"{name}.wasm"]

    def limits() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

    said = [subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, preexec_fn=limits) for _ in range(2)]
    assert [done.returncode for done in said] == [1, 1]
    assert said[0].stderr == said[1].stderr
    assert said[0].stderr.count("\n") == 1


@line("W6")
def test_module_runs_a_compiler_and_nothing_that_it_makes(
    ackclock: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = tmp_path / "linux"
    for name in ("net/ipv4/tcp_cong.c", "lib/math/int_sqrt.c", "lib/win_minmax.c"):
        (kernel / name).parent.mkdir(parents=True, exist_ok=True)
        (kernel / name).write_text("int unused;\n", encoding="utf-8")
    (kernel / "Makefile").write_text("VERSION = 6\nPATCHLEVEL = 12\n", encoding="utf-8")
    source = kernel / "net/ipv4/tcp_x.c"
    source.write_text('struct tcp_congestion_ops x = {\n  .name = "x\\" -o /tmp/elsewhere", \n};\n', encoding="utf-8")
    compiler = tmp_path / "cc"
    compiler.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\necho stopped >&2\nexit 1\n', encoding="utf-8")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    done = ackclock("module", source, "--out", tmp_path / "x.so")
    assert done.returncode == 2
    assert not (tmp_path / "calls").exists()  # a name that is none is refused before the compiler runs
    source.write_text('struct tcp_congestion_ops x = {\n  .name = "x", \n};\n', encoding="utf-8")
    assert ackclock("module", source, "--out", tmp_path / "x.so").returncode == 2
    assert (tmp_path / "calls").read_text(encoding="utf-8").count("\n") == 1
    assert sorted(os.listdir(tmp_path)) == ["calls", "cc", "linux"]
    assert Scenario.parse(NETWORK).duration_s == 0.5
