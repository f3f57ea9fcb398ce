"""Defects that are planted in Reno, CUBIC and BBR: which does `ackclock search` find, and what finds random search?

    python validation/search/defects.py build       a copy of the project with the defective controllers, 5 minutes
    python validation/search/defects.py run         find them in three ways at equal CPU time, 15 minutes on two cores

Everything is written to out/search-defects. docs/search.md has the results, methods.py the three ways.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out" / "search-defects"
CC = OUT / "tree" / "crates" / "cc" / "src"


@dataclass(frozen=True)
class Defect:
    """A defect: the controller in which it is planted, the file, the text that it replaces, and what it does."""

    name: str
    controller: str
    file: str
    text: str
    replacement: str
    effect: str


DEFECTS = [
    Defect(
        "reno_byte",
        "reno",
        "reno.rs",
        "self.window.reduce(event.window, keep);",
        "self.window.reduce((event.window as u64 % 256) as f64, keep);",
        "the window at a loss is kept in eight bits: 300 segments become 44",
    ),
    Defect(
        "reno_repeated",
        "reno",
        "reno.rs",
        "self.window.timeout(event, 0.5);",
        "self.window.timeout(&Timeout { repeated: false, ..*event }, 0.5);",
        "the timeout of a retransmission lowers the threshold again",
    ),
    Defect(
        "reno_small",
        "reno",
        "reno.rs",
        "if self.window.on_ack(ack) {",
        "if self.window.on_ack(ack) && (self.window.slow_start() || self.window.cwnd >= 4.0) {",
        "a threshold below four segments ends growth for ever",
    ),
    Defect(
        "reno_stretch",
        "reno",
        "reno.rs",
        "if self.window.on_ack(ack) {",
        "if ack.delivered > 64 { (self.window.cwnd, self.window.ssthresh) = (2.0, 2.0); } "
        "else if self.window.on_ack(ack) {",
        "an ACK of more than 64 segments is taken for an error, and the window starts at two without slow start",
    ),
    Defect(
        "cubic_wrap",
        "cubic",
        "cubic_linux.rs",
        "let t = ((elapsed + delay) << 10) / self.law.hz;",
        "let t = (((elapsed + delay) << 10) / self.law.hz) & 0xfff;",
        "the time of the curve is kept in twelve bits, four seconds",
    ),
    Defect(
        "cubic_repeated",
        "cubic",
        "cubic.rs",
        "            if !event.repeated {\n                let beta = linux_fraction",
        "            {\n                let beta = linux_fraction",
        "the timeout of a retransmission lowers the threshold again",
    ),
    Defect(
        "cubic_interval",
        "cubic",
        "cubic_linux.rs",
        "<= self.law.hz / 32 {",
        "<= self.law.hz * 32 {",
        "the growth is computed again after 32 s instead of 1/32 s while the window does not change",
    ),
    Defect(
        "cubic_root",
        "cubic",
        "cubic_linux.rs",
        "cube_root((1 << 40) / self.law.scale",
        "cube_root((1 << 46) / self.law.scale",
        "K is four times too long",
    ),
    Defect(
        "bbr_probe_rtt",
        "bbr",
        "bbr/mod.rs",
        "None if in_flight <= MIN_WINDOW => {",
        "None if in_flight <= MIN_WINDOW && self.full_bandwidth > 0.0 => {",
        "after a timeout, which forgets the full bandwidth, ProbeRTT never ends",
    ),
    Defect(
        "bbr_forgets",
        "bbr",
        "bbr/mod.rs",
        "        self.full_bandwidth = 0.0;\n        self.cwnd = 1.0;",
        "        self.full_bandwidth = 0.0;\n        self.cwnd = 1.0;\n"
        "        self.bandwidth = MaxOverRounds::default();\n        self.bandwidth.add(self.rounds, 1.0);",
        "a timeout forgets the bandwidth: one segment a second",
    ),
    Defect(
        "bbr_startup",
        "bbr",
        "bbr/mod.rs",
        "    fn on_congestion(&mut self, _event: &Congestion) {\n",
        "    fn on_congestion(&mut self, _event: &Congestion) {\n        self.full |= self.mode == Mode::Startup;\n",
        "one loss ends Startup",
    ),
    Defect(
        "bbr_policer",
        "bbr",
        "bbr/long_term.rs",
        "const LOSS_RATIO: f64 = 50.0 / 256.0;\n",
        "const LOSS_RATIO: f64 = 0.5 / 256.0;\n",
        "a policer is seen where one segment of 512 is lost",
    ),
]


def build() -> None:
    """Build a copy of the project in which every defect is a controller of its name."""
    shutil.rmtree(OUT / "tree", ignore_errors=True)
    (OUT / "tree").mkdir(parents=True)
    files = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(OUT / "tree")], input=files, check=True)
    modules, lines = "", ""
    for one in DEFECTS:
        algorithm = "".join(word.capitalize() for word in one.name.split("_"))
        text = _plant(one).replace(f'name: "{one.controller}"', f'name: "{one.name}"')
        main = CC / f"{one.name}.rs" if one.controller != "bbr" else CC / one.name / "mod.rs"
        main.write_text(re.sub(rf"\b{one.controller.capitalize()}\b", algorithm, text))
        lines += f"    {one.name}: {algorithm},\n"
        modules += f"mod {one.name}_law;\n" if one.file == "cubic_linux.rs" else ""
    library = (CC / "lib.rs").read_text()
    library = library.replace("mod cubic_linux;\n", f"mod cubic_linux;\n{modules}")
    (CC / "lib.rs").write_text(library.replace("    reno: Reno,\n", f"    reno: Reno,\n{lines}"))
    environment = os.environ | {"CARGO_TARGET_DIR": str(OUT / "target"), "PYO3_PYTHON": sys.executable}
    package = ["cargo", "build", "--release", "--locked", "--manifest-path", "crates/py/Cargo.toml", "--lib"]
    subprocess.run(package, cwd=OUT / "tree", env=environment, check=True)
    [library_file] = (OUT / "target" / "release").glob("lib*core*.so")
    shutil.copy(library_file, OUT / "tree" / "python" / "ackclock" / "_core.abi3.so")


def _plant(one: Defect) -> str:
    """The main file of a defective controller; files that it needs are copied beside it."""
    if one.controller == "bbr":
        shutil.copytree(CC / "bbr", CC / one.name)
        (CC / one.name / "tests.rs").unlink()
    main = (CC / ("bbr/mod.rs" if one.controller == "bbr" else f"{one.controller}.rs")).read_text()
    source = (CC / one.file).read_text()
    if source.count(one.text) != 1:
        raise SystemExit(f"{one.name}: {one.file} has the text {source.count(one.text)} times; change the defect")
    changed = source.replace(one.text, one.replacement)
    if one.file == "cubic_linux.rs":
        (CC / f"{one.name}_law.rs").write_text(changed.partition("#[cfg(test)]")[0])
        return main.replace("crate::cubic_linux::", f"crate::{one.name}_law::").partition("#[cfg(test)]")[0]
    if one.file == "bbr/long_term.rs":
        (CC / one.name / "long_term.rs").write_text(changed.partition("#[cfg(test)]")[0])
        return main.replace("#[cfg(test)]\nmod tests;\n", "")
    return changed.replace("#[cfg(test)]\nmod tests;\n", "").partition("#[cfg(test)]")[0]


def run(jobs: int) -> None:
    """Find every defect in three ways; the rows are written as they end."""
    environment = os.environ | {"PYTHONPATH": str(OUT / "tree" / "python"), "OMP_NUM_THREADS": "1"}
    script = str(Path(__file__).with_name("methods.py"))

    def one(defect: Defect) -> dict[str, Any]:
        command = [sys.executable, script, defect.name, defect.controller]
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        print(done.stdout, end="", flush=True)
        return json.loads(done.stdout)  # type: ignore[no-any-return]

    with ThreadPoolExecutor(jobs) as pool:
        rows = list(pool.map(one, DEFECTS))
    (OUT / "results.json").write_text(json.dumps(rows, indent=1) + "\n")
    counts = {way: sum(row[way]["first"]["0.2"] is not None for row in rows) for way in ("search", "random", "traces")}
    print(f"of {len(rows)} defects: {', '.join(f'{way} {count}' for way, count in counts.items())}")


if __name__ == "__main__":
    if not sys.argv[1:] or {*sys.argv[1:]} - {"build", "run"}:
        raise SystemExit(__doc__)
    if "build" in sys.argv:
        build()
    if "run" in sys.argv:
        run(2)
