"""Controllers of files: WebAssembly, native libraries, JavaScript, and modules of Linux."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

import ackclock
from ackclock import BadInput, Scenario, ScenarioError, Study
from ackclock.apps import kernel_module, share
from ackclock.apps.controls import is_pattern
from ackclock.apps.ranking import hand_ins
from ackclock.apps.what_if import World
from ackclock.base.assignment import Assignment, control_table
from ackclock.base.controllers import RESERVED
from ackclock.base.link import pack, unpack
from ackclock.cli.new import LANGUAGES
from ackclock.study import Store, sweep
from ackclock.study.executors import Local, Ray
from conftest import Command, Once
from tiny_kernel import tiny_kernel

INCLUDE = ackclock.include()
LIBRARY = "libexported.so"
MODULE = "exported.wasm"
NEEDS_LLD = "needs clang and lld"
VECTORS = Path(__file__).parent / "vectors" / "modules"
HAS_CLANG = shutil.which("clang") is not None and shutil.which("wasm-ld") is not None
NETWORK = """
duration = "12s"
tcp = { profile = "linux" }
link = [
  { name = "l", ends = ["a", "b"], rate = "20Mbps", delay = "20ms", queue = { kind = "droptail", limit = "100kB" } },
]
flow = [{ name = "f", from = "a", to = "b" }]
"""
SEVEN: dict[str, list[str]] = {
    "clean": [],
    "loss": ['link.l.loss={ kind = "bernoulli", rate = 0.001 }'],
    "small buffer": ['link.l.queue.limit="10kB"'],
    "10 ms": ['link.l.delay="5ms"', 'link.l.rate="50Mbps"'],
    "100 ms": ['link.l.delay="50ms"', 'link.l.rate="50Mbps"'],
    "slow": [
        'change=[{ at = "4s", set = { "link.l.rate" = "200kbps" } }, { at = "8s", set = { "link.l.rate" = "20Mbps" } }]'
    ],
    "outage": ['change=[{ at = "3s", do = "blackout", link = "l", duration = "2s" }]'],
}
"""Networks in which a controller in C must have the windows of the registered one."""


@pytest.fixture(scope="session")
def exported(root: Path, once: Once) -> Path:
    """A folder with controllers of ours, exported to ackclock.h: a library and a module."""

    def make(folder: Path) -> None:
        build = ["cargo", "build", "--quiet", "--locked", "--release", "--target-dir", str(root / "target/exported")]
        target = "wasm32-unknown-unknown"
        for more in ([], ["--target", target]):
            subprocess.run([*build, *more], cwd=root / "integrations/exported", check=True)
        shutil.copy(root / "target/exported/release" / LIBRARY, folder)
        shutil.copy(root / f"target/exported/{target}/release" / MODULE, folder)

    return once("exported", make)


@pytest.fixture
def command(ackclock: Command, tmp_path: Path) -> Command:
    """The command in an empty folder."""
    return partial(ackclock, cwd=tmp_path)


def fingerprint(control: str, overrides: list[str] = [], text: str = NETWORK, allow_code: bool = False) -> str:  # noqa: B006
    table = control_table(control)
    scenario = Scenario.parse(text, [*overrides], allow_code=allow_code)
    flow = scenario.network["flows"][0]
    key = ("flow", flow["name"], flow["kind"], "congestion_control")
    return scenario.with_overrides([Assignment(key, table, of_text=False)]).run(fingerprint=True).fingerprint


@pytest.mark.parametrize("control", ["reno", "cubic", "bbr", "vivace"])
@pytest.mark.parametrize("network", ["loss", "ns2", "quic"])
def test_an_exported_controller_gives_the_bits_of_the_registered_one(
    exported: Path, control: str, network: str
) -> None:
    text, overrides = NETWORK, SEVEN["loss"]
    if network == "ns2":
        text = NETWORK.replace('"linux"', '"ns2", recovery = "rack"')
    if network == "quic":
        text = NETWORK.replace('tcp = { profile = "linux" }', "").replace('to = "b" }', 'to = "b", quic = {} }')
    registered = fingerprint(control, overrides, text)
    assert fingerprint(f"{exported / MODULE}:{control}", overrides, text) == registered
    assert fingerprint(f"{exported / LIBRARY}:{control}", overrides, text, allow_code=True) == registered


def built(path: Path, root: Path, kind: str) -> Path:
    """The file that the build lines of a template make, run as they are written: `kind` is .wasm or .so."""
    comment = path.read_text(encoding="utf-8")
    wanted = f"{path.stem}.wasm" if kind == ".wasm" else f"lib{path.stem}.so"
    lines = re.sub(r" \\\n(?: \*|//!|//|)? *", " ", comment)
    build = re.search(rf"^[ */!\t]*(\S.*-o {re.escape(wanted)}.*)$", lines, re.MULTILINE)
    assert build is not None
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", build[1]], cwd=path.parent, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return path.parent / wanted


@pytest.mark.parametrize(
    ("suffix", "kind"),
    [
        pytest.param(".c", ".wasm", marks=pytest.mark.skipif(not HAS_CLANG, reason=NEEDS_LLD)),
        (".c", ".so"),
        (".rs", ".wasm"),
        (".rs", ".so"),
        pytest.param(
            ".go", ".so", marks=[pytest.mark.nightly, pytest.mark.skipif(not shutil.which("go"), reason="needs go")]
        ),
    ],
)
def test_the_templates_build_as_they_say_and_are_reno(
    command: Command, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command("new", f"reno2{suffix}").returncode == 0
    file = built(tmp_path / f"reno2{suffix}", root, kind)
    for overrides in SEVEN.values():
        assert fingerprint(str(file), overrides, allow_code=True) == fingerprint("reno", overrides)
    checked = command("check", str(file), "--allow-code", "--json")
    about = json.loads(checked.stdout)
    assert (checked.returncode, about["name"], about["state_size"], about["state"]) == (0, "reno2", 32, "block")
    assert [one["failure"] for one in about["checks"]] == [None] * 8
    assert about["parameters"][0]["range"] == [0.1, 0.9]


def test_the_example_of_the_page_is_the_template(root: Path) -> None:
    module = root / "web/src/core/mine.wasm"
    assert fingerprint(str(module)) == fingerprint("reno")
    described = ackclock.wasm(module).describe()
    text = (root / "python/ackclock/cli/templates" / LANGUAGES[".c"]).read_text(encoding="utf-8")
    assert f"summary = '{described['summary']}'" in text


def test_ackclock_h_is_c_and_cpp_and_has_eight_bytes_for_each_field(root: Path, tmp_path: Path) -> None:
    header = ackclock.include() / "ackclock.h"
    text = header.read_text(encoding="utf-8")
    structs = re.findall(r"typedef struct (\w+) \{(.*?)\n\} ", text, re.DOTALL)
    assert len(structs) == 13
    program = ['#include "ackclock.h"', '#include "ackclock_controllers.h"', "#include <stddef.h>"]
    for name, body in structs:
        fields = re.findall(r"^  \w+ (\w+);", body, re.MULTILINE)
        program += [
            f"typedef char {name}_{field}[offsetof({name}, {field}) == {8 * place} ? 1 : -1];"
            for place, field in enumerate(fields)
        ]
        program.append(f"typedef char {name}_whole[sizeof({name}) == {8 * len(fields)} ? 1 : -1];")
    source = tmp_path / "layout.c"
    source.write_text("\n".join([*program, "int main(void) { return 0; }"]) + "\n", encoding="utf-8")
    include = f"-I{header.parent}"
    for command in (["cc", "-std=c99", "-pedantic"], ["c++", "-x", "c++", "-std=c++17"]):
        subprocess.run(
            [*command, "-Wall", "-Wextra", "-Werror", include, "-c", source, "-o", tmp_path / "o"], check=True
        )
    if shutil.which("clang"):
        for target in ("wasm32", "aarch64-linux-gnu", "i386-linux-gnu"):
            options = [f"--target={target}", "-ffreestanding", "-nostdlibinc", include]
            subprocess.run(["clang", *options, "-fsyntax-only", source], check=True, capture_output=target == "x")


def test_the_layout_is_that_of_the_last_release(root: Path) -> None:
    """A field that moves needs another MAJOR; fields at the end another MINOR."""
    text = (ackclock.include() / "ackclock.h").read_text(encoding="utf-8")
    major, minor = (int(n) for n in re.findall(r"#define ACKCLOCK_ABI_(?:MAJOR|MINOR) (\d+)", text))
    structs = re.findall(r"typedef struct ackclock_(\w+) \{(.*?)\n\} ", text, re.DOTALL)
    now = {name: re.findall(r"^  (\w+ \w+);", body, re.MULTILINE) for name, body in structs}
    previous = json.loads((Path(__file__).parent / "vectors" / "abi.json").read_text(encoding="utf-8"))
    if previous["major"] == major:
        for name, fields in previous["structs"].items():
            assert now[name][: len(fields)] == fields, f"{name}: a field moved, so ACKCLOCK_ABI_MAJOR must grow"
        assert minor >= previous["minor"]
        assert now == previous["structs"] or minor > previous["minor"], "new fields need another ACKCLOCK_ABI_MINOR"
    rust = (root / "crates/foreign/src/lib.rs").read_text(encoding="utf-8")
    assert f"VERSION: (u32, u32) = ({major}, {minor})" in rust


@pytest.fixture
def library(exported: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(exported / LIBRARY, tmp_path / "libmine.so"))


def test_a_library_runs_with_permission_only(
    command: Command, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "n.toml").write_text(
        NETWORK.replace('to = "b"', 'to = "b", tcp = { congestion_control = { library = "libmine.so:reno" } }'),
        encoding="utf-8",
    )
    for arguments in (["n.toml"], ["@dumbbell", "--control", "libmine.so:reno"], ["n.toml", "--set", "duration=1s"]):
        refused = command("run", *arguments)
        assert refused.returncode == 2
        assert "names native code: it runs only with --allow-code" in refused.stderr
        assert len(refused.stderr.splitlines()) == 1
    assert command("check", "libmine.so").returncode == 2
    assert command("run", "n.toml", "--fingerprint", "--allow-code").stdout.strip() == fingerprint("reno")
    study = NETWORK + 'sweep = { "flow.f.tcp.congestion_control.library" = ["libmine.so:reno"] }\n'
    with pytest.raises((ScenarioError, BadInput), match="names native code"):
        Study.parse(study, file=str(tmp_path / "s.toml"))
    with pytest.raises(BadInput, match="a link cannot hold a native library"):
        share.link(Scenario.load(tmp_path / "n.toml", allow_code=True))
    with pytest.raises((ScenarioError, BadInput), match="no library"):
        Scenario.load(pack({"v": 1, "text": (tmp_path / "n.toml").read_text(encoding="utf-8")}), allow_code=True)


def test_a_library_runs_in_threads_of_studies(ackclock_process: Command, library: Path, tmp_path: Path) -> None:
    """Its path is printed once, and nothing else; a search of a shipped space takes the permission too."""
    (tmp_path / "n.toml").write_text(NETWORK + 'sweep = { seed = "1..4" }\n', encoding="utf-8")
    assign = 'flow.f.tcp.congestion_control={ library = "libmine.so:reno" }'
    for arguments in (
        ["sweep", "n.toml", "--set", assign, "--out", "out", "--jobs", "2"],
        ["compare", "@dumbbell", "--control", "reno,libmine.so:reno", "--seeds", "2", "--set", "duration=2s"],
        ["run", "@dumbbell", "--control", "libmine.so:reno"],
    ):
        done = ackclock_process(*arguments, "--allow-code", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("(native code)") == 1
    refused = ackclock_process("search", "@shrew", "--control", "libmine.so:reno", "--budget", "8", cwd=tmp_path)
    assert (refused.returncode, "--allow-code" in refused.stderr) == (2, True)


def test_what_is_no_library_is_refused_in_one_line(
    command: Command, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def refused(control: str) -> str:
        done = command("run", "@dumbbell", "--control", control, "--allow-code")
        assert done.returncode == 2
        lines = [line for line in done.stderr.splitlines() if not line.startswith("ackclock: runs ")]
        assert len(lines) == 1
        return lines[0].partition(f"ackclock: --control {control}: ")[2]

    assert refused("no.so").endswith("no.so: no such file")
    (tmp_path / "text.so").write_text("hello, this is a text", encoding="utf-8")
    assert "text.so is not a library of this machine (no ELF file)" in refused("text.so")
    other = bytearray(library.read_bytes())
    other[18:20] = (183).to_bytes(2, "little")
    (tmp_path / "arm.so").write_bytes(other)
    if os.uname().machine == "x86_64":
        assert "arm.so is not a library of this machine (aarch64; this is x86-64)" in refused("arm.so")
    assert "libmine.so has no controller renno; it has reno, cubic" in refused("libmine.so:renno")
    assert 'did you mean "reno"?' in refused("libmine.so:renno")
    assert command("new", "mine.c").returncode == 0
    text = Path("mine.c").read_text(encoding="utf-8")
    for number, (change, message) in enumerate(
        (
            (("mine_on_rto", "mine_other"), "lack0.so: controller mine has no mine_on_rto"),
            (("abi = '1.0'", "abi = '1.3'"), "lack1.so needs interface 1.3; this program has 1.1"),
        )
    ):
        Path("lack.c").write_text(text.replace(*change), encoding="utf-8")
        subprocess.run(["cc", "-shared", "-fPIC", f"-I{INCLUDE}", "-o", f"lack{number}.so", "lack.c"], check=True)
        assert message in refused(f"lack{number}.so")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("loop", "on_ack of loop.wasm did not end within 50,000,000 instructions"),
        ("recurse", "on_ack of recurse.wasm: call stack exhausted"),
        ("memory", "on_ack of memory.wasm: out of bounds memory access"),
        ("nan", "cwnd is nan after on_ack, not a number from 1 on"),
    ],
)
def test_a_hostile_module_ends_its_own_run_with_one_line(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, message: str
) -> None:
    """On the command line, and in a link, which needs no permission."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(VECTORS / f"{name}.wasm", tmp_path)
    Path("n.toml").write_text(
        NETWORK.replace('to = "b"', f'to = "b", tcp = {{ congestion_control = {{ wasm = "{name}.wasm" }} }}'),
        encoding="utf-8",
    )
    link = command("link", "n.toml").stdout.strip()
    assert base64.b64encode(b"\0asm").decode()[:5] in json.dumps(unpack(link))
    for source in ("n.toml", link):
        failed = command("run", source)
        assert failed.returncode == 1
        assert message in failed.stderr
        assert len(failed.stderr.splitlines()) == 1


def test_a_link_carries_a_module_and_gives_the_same_bits(
    command: Command, exported: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(root / "web/src/core/mine.wasm", tmp_path)
    Path("n.toml").write_text(
        NETWORK.replace('to = "b"', 'to = "b", tcp = { congestion_control = { wasm = "mine.wasm:mine", beta = 0.5 } }'),
        encoding="utf-8",
    )
    link = command("link", "n.toml").stdout.strip()
    assert command("run", link, "--fingerprint").stdout.strip() == fingerprint("reno")


@pytest.mark.parametrize("engine", ["local", pytest.param("ray", marks=pytest.mark.nightly)])
def test_modules_run_in_threads_and_give_equal_outcomes(exported: Path, tmp_path: Path, engine: str) -> None:
    """The study of a module has the outcomes of the registered controller, with one thread and with four."""
    text = NETWORK + 'sweep = { "link.l.queue.limit" = ["20kB", "80kB"], seed = "1..3" }\n'
    module = f"{exported / MODULE}:cubic"
    outcomes = []
    for number, (control, jobs) in enumerate((("cubic", 2), (module, 1), (module, 4))):
        assign = Assignment(("tcp", "congestion_control"), control_table(control), of_text=False)
        study = Study.parse(text, [assign, *SEVEN["loss"]])
        assert not study.core.needs_processes
        with Store.create(tmp_path / str(number)) as store:
            sweep(study, store, Ray() if engine == "ray" else Local(jobs))
            documents = [json.loads(outcome) for outcome in store.texts().values()]
        outcomes.append(sorted(json.dumps(document["flows"]) for document in documents))
    assert len(outcomes[0]) == 6
    assert outcomes[0] == outcomes[1] == outcomes[2]


@pytest.mark.parametrize("control", ["wasm:cubic", "wasm:vivace", "library:vivace"])
def test_a_copy_of_a_run_goes_on_as_the_run(exported: Path, control: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Forks at five times: of a block, and of an instance (`vivace` allocates)."""
    language, name = control.split(":")
    file = exported / (MODULE if language == "wasm" else LIBRARY)
    text = NETWORK.replace('to = "b"', f'to = "b", tcp = {{ congestion_control = {{ {language} = "{file}:{name}" }} }}')
    scenario = Scenario.parse(text, SEVEN["loss"], allow_code=True)
    whole = scenario.run(fingerprint=True).fingerprint
    for at in (1, 2.5, 4, 7, 11):
        world = World(scenario, fingerprint=True)
        world.advance(at)
        assert world.fork().finish().fingerprint == whole
        assert world.finish().fingerprint == whole
    assert capsys.readouterr().err.count("\n") <= 1  # copies are copies, not runs from the start


def test_python_takes_loaded_controllers(exported: Path, root: Path, tmp_path: Path) -> None:
    module = root / "web/src/core/mine.wasm"
    for controller in (
        ackclock.wasm(module),
        ackclock.wasm(f"{module}:mine", beta=0.5),
        ackclock.wasm(module.read_bytes()),
        ackclock.native(f"{exported / LIBRARY}:reno"),
    ):
        scenario = Scenario.parse(NETWORK, controllers={"f": controller})
        assert scenario.run(fingerprint=True).fingerprint == fingerprint("reno")
    with pytest.raises(BadInput, match=r"beta: must be from 0\.1 to 0\.9, not 2"):
        ackclock.wasm(module, beta=2)
    with pytest.raises(BadInput, match="no such file"):
        ackclock.wasm(tmp_path / "no.wasm")
    with pytest.raises(BadInput, match="made from bytes"):
        Study.parse(NETWORK, controllers={"f": ackclock.wasm(module.read_bytes())})
    study = Study.parse(NETWORK, controllers={"f": ackclock.wasm(module)})
    assert study.scenario(0).resolved["flows"][0]["control"] == "mine"


def test_columns_of_the_trace_are_no_internal_values(command: Command, tmp_path: Path) -> None:
    for probe in ("rtt_s", "a\\nb", "counter', 'counter"):
        (tmp_path / "x.js").write_text(RENO.replace("['counter']", f"['{probe}']"), encoding="utf-8")
        refused = command("run", "@dumbbell", "--control", "x.js", "--trace", "t.csv")
        assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    for name in sorted(RESERVED):
        (tmp_path / "x.js").write_text(RENO.replace("['counter']", f"['{name}']"), encoding="utf-8")
        assert "is a column that the trace has already" in command("run", "@dumbbell", "--control", "x.js").stderr


# JavaScript


RENO = """
class MyReno {
  constructor(flow) {
    this.cwnd = flow.initialWindow;
    this.ssthresh = flow.initialSsthresh;
    this.counter = 0;
  }
  onAck(ack) {
    let acked = ack.newlyDelivered;
    if (!ack.mayGrow || !ack.windowLimited) return;
    if (this.cwnd < this.ssthresh) {
      const to = Math.min(this.cwnd + acked, this.ssthresh);
      acked -= to - this.cwnd;
      this.cwnd = to;
    }
    if (acked <= 0) return;
    if (this.counter >= this.cwnd) {
      this.counter = 0;
      this.cwnd += 1;
    }
    this.counter += acked;
    if (this.counter >= this.cwnd) {
      const steps = Math.trunc(this.counter / this.cwnd);
      this.counter -= steps * this.cwnd;
      this.cwnd += steps;
    }
  }
  onCongestion(event) { this.cwnd = this.ssthresh = Math.max(2, Math.floor(event.window / 2)); this.counter = 0; }
  onRto(event) {
    if (!event.repeated) this.ssthresh = Math.max(2, Math.floor(event.window / 2));
    this.cwnd = 1;
    this.counter = 0;
  }
  setWindow(cwnd) { this.cwnd = cwnd; }
}
MyReno.probes = ['counter'];
"""


def page_with(code: str) -> str:
    """A page as the laboratory saves it, with a class."""
    shared = {"v": 1, "text": NETWORK, "controller": {"code": code, "flows": {"f": "page"}}}
    content = json.dumps(shared).replace("<", "\\u003c")
    element = f'<script type="application/json" id="ackclock-scenario">{content}</script>'
    return f"<!doctype html>\n<html><body>{element}</body></html>"


def test_a_class_of_the_page_runs_on_the_command_line(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.js").write_text(RENO, encoding="utf-8")
    Path("student.html").write_text(page_with(RENO), encoding="utf-8")
    Path("two.js").write_text(RENO + RENO.replace("MyReno", "Other").replace("/ 2", "/ 3"), encoding="utf-8")
    Path("n.toml").write_text(NETWORK, encoding="utf-8")
    for control in ("mine.js", "student.html", "mine.js:MyReno", "two.js:MyReno"):
        ran = command("run", "n.toml", "--control", control, "--fingerprint")
        assert (ran.returncode, ran.stdout.strip()) == (0, fingerprint("reno"))
    assert command("run", "n.toml", "--control", "two.js", "--fingerprint").stdout.strip() != fingerprint("reno")
    compared = command("compare", "n.toml", "--control", "reno", "--control", "mine.js", "--seeds", "2", "--json")
    assert compared.returncode == 0, compared.stderr
    assert [is_pattern(text) for text in ("*.html", "mine.js", "*.js", "*.py")] == [True, False, True, False]
    assert [(one.name, one.failed) for one in hand_ins(["*.html", "m*.js"])] == [("student.html", ""), ("mine.js", "")]


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        (("onAck(ack) {", "onAck(ack) { for (;;) {}"), 1, "on_ack of x.js did not end within 50,000,000 instructions"),
        (
            ("onAck(ack) {", "onAck(ack) { this.onAck(ack);"),
            1,
            "on_ack of x.js did not end within",
        ),
        (("onAck(ack) {", "onAck(ack) { const a = []; for (;;) a.push(new Array(1e6).fill(1));"), 1, "on_ack of x.js"),
        (("onAck(ack) {", "onAck(ack) { nothing();"), 1, "on_ack of x.js: ReferenceError: nothing is not defined"),
        (("onAck(ack) {", "onAck(ack) { this.cwnd = NaN; return;"), 1, "on_ack of x.js: Error: cwnd is NaN"),
        (("onAck(", "onAc("), 2, "x.js: Error: MyReno has no method onAck"),
        (("class MyReno {", "class MyReno {{"), 2, "x.js: SyntaxError"),
        ((RENO, "let a = 1;"), 2, "x.js: Error: the code has no class"),
        ((RENO, "<p>no page</p>"), 2, "x.js holds no controller"),
        (("onAck(ack) {", "onAck(ack) { fetch('x');"), 1, "on_ack of x.js: ReferenceError: fetch is not defined"),
        (("constructor(flow) {", "constructor(flow) { if (Date.now() !== 0) throw new Error('clock');"), 0, ""),
    ],
)
def test_a_class_that_fails_ends_its_run_with_one_line(
    command: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: tuple[str, str],
    status: int,
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.js").write_text(RENO.replace(*change), encoding="utf-8")
    ran = command("run", "@dumbbell", "--control", "x.js")
    assert ran.returncode == status, ran.stderr
    assert message in ran.stderr


# Modules of Linux: a kernel of three files stands for the sources, which are the user's.


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    return tiny_kernel(tmp_path / "linux")


def test_a_module_of_the_kernel_becomes_a_controller(
    command: Command, kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = "linux/net/ipv4/tcp_tiny.c"
    outs = ["tiny.so", *(["tiny.wasm"] if HAS_CLANG else [])]
    prints = []
    for out in outs:
        made = command("module", source, "linux/net/ipv4/tcp_cong.c", "--out", out)
        assert made.returncode == 0, made.stderr
        assert f"{out} holds code of Linux (GPL-2.0): give it away only with its source" in made.stderr + made.stdout
        about = json.loads(command("check", out, "--allow-code", "--json").stdout)
        assert about["summary"] == "tcp_tiny of Linux 6.12"
        assert [(one["name"], one["default"]) for one in about["parameters"]] == [("step", 1.0)]
        key = "wasm" if out.endswith("wasm") else "library"
        first, second = (f'{{ {key} = "{tmp_path / out}:tiny", step = {step} }}' for step in (1, 3))
        # Two flows of one module have parameters of their own.
        both = NETWORK.replace('to = "b" }', 'to = "b" }, { name = "g", from = "a", to = "b" }')
        scenario = Scenario.parse(
            both, [f"flow.f.tcp.congestion_control={first}", f"flow.g.tcp.congestion_control={second}"], allow_code=True
        )
        result = scenario.run(fingerprint=True)
        assert result.outcome["flows"][0]["goodput_bps"] < result.outcome["flows"][1]["goodput_bps"]
        prints.append(result.fingerprint)
    assert len(set(prints)) == 1


def test_what_is_no_module_is_refused(
    command: Command, kernel: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tiny = kernel / "net/ipv4/tcp_tiny.c"

    def refused(*arguments: str | Path) -> str:
        done = command("module", *arguments)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
        assert not list(tmp_path.glob("*.partial"))
        return done.stderr

    assert "must end in .wasm or .so" in refused(tiny, "--out", "x.txt")
    assert "no sources of Linux (no Makefile); --kernel names their folder" in refused(
        tiny, "--kernel", tmp_path, "--out", "x.so"
    )
    assert "no.c: no such file or directory" in refused("no.c", "--kernel", kernel, "--out", "x.so")
    assert "no congestion control module" in refused(
        kernel / "lib/math/int_sqrt.c", "--out", "x.so", "--kernel", kernel
    )
    tiny.write_text(
        tiny.read_text(encoding="utf-8").replace("acked; tcp_sk", "acked; tcp_no_such_name; tcp_sk"),
        encoding="utf-8",
    )
    monkeypatch.setenv("CC", "cc -Werror=implicit-function-declaration")
    text = refused(tiny, "--out", "x.so")
    assert "tcp_tiny.c needs tcp_no_such_name" in text
    assert "add it to kshim.h (docs/linux-modules.md)" in text
    monkeypatch.setenv("CC", str(tmp_path))
    assert "no C compiler: " in (text := refused(tiny, "--out", "x.so"))
    assert "Permission denied (set CC)" in text
    (kernel / "Makefile").write_text("VERSION = 4\nPATCHLEVEL = 4\n", encoding="utf-8")
    assert "sources of Linux 4.4; modules of 6.1 to 6.19 are possible" in refused(tiny, "--out", "x.so")
    assert kernel_module.read_module(tiny).name == "tiny"
