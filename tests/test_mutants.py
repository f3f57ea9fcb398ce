"""Wrong versions of BBRv3 and CUBIC: each fails a check of the suite of its document.

Each is our controller with one edit, built as a library (integrations/exported), as a stranger's controller would be.
"""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from ackclock.apps.suite.folder import find
from ackclock.apps.suite.result import SuiteResult
from ackclock.apps.suite.run import run
from ackclock.study.executors import Local

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo"),
]

BBR3 = "controllers/bbr3/mod.rs"
MODEL = "controllers/bbr3/model.rs"
COMMON = "controllers/bbr/common.rs"
CUBIC = "controllers/cubic.rs"


@dataclass(frozen=True)
class Mutant:
    """An edit of one file of crates/cc/src."""

    name: str
    file: str
    before: str
    after: str


MUTANTS = {
    "bbr3": [
        Mutant("drain at 0.6", BBR3, "drain_gain: if linux { 0.35 } else { 0.5 }", "drain_gain: 0.6"),
        Mutant("full after two rounds", MODEL, "const FULL_ROUNDS: u32 = 3;", "const FULL_ROUNDS: u32 = 2;"),
        Mutant(
            "4 % of loss",
            BBR3,
            '"loss_threshold",\n                "0.02"',
            '"loss_threshold",\n                "0.04"',
        ),
        Mutant("ProbeRTT of 100 ms", COMMON, "Span::from_ms(200)", "Span::from_ms(100)"),
        Mutant(
            "no headroom",
            MODEL,
            "(self.longterm - (self.constants.headroom * self.longterm).max(1.0)).max(MIN_WINDOW)",
            "self.longterm.max(MIN_WINDOW)",
        ),
        Mutant(
            "no undo",
            BBR3,
            "let Some(undo) = self.undo.take() else { return };",
            "let Some(undo) = None::<Undo> else { return };",
        ),
        Mutant("window of two", COMMON, "MIN_WINDOW: f64 = 4.0", "MIN_WINDOW: f64 = 2.0"),
        Mutant("filter of one cycle", MODEL, "self.slots = [self.slots[1], 0.0];", "self.slots = [0.0, 0.0];"),
        Mutant(
            "no extra_acked",
            BBR3,
            "self.budget(self.model.bdp(self.cwnd_gain()) + self.model.extra_acked())",
            "self.budget(self.model.bdp(self.cwnd_gain()))",
        ),
        Mutant(
            "limited samples count",
            MODEL,
            "if self.full_now || !self.round_start || sample.app_limited {",
            "if self.full_now || !self.round_start {",
        ),
        Mutant(
            "ProbeRTT after 6 s",
            BBR3,
            '"probe_rtt_interval",\n                "5"',
            '"probe_rtt_interval",\n                "6"',
        ),
        Mutant("no Refill", BBR3, "State::Refill if self.model.round_start => {", "State::Refill => {"),
    ],
    "cubic": [
        Mutant("beta 0.8", CUBIC, '"beta",\n                "0.7"', '"beta",\n                "0.8"'),
        Mutant("C 0.3", CUBIC, '"c",\n                "0.4"', '"c",\n                "0.3"'),
        Mutant("no fast convergence", CUBIC, "self.fast_convergence && reached < self.w_max", "false"),
        Mutant("alpha 1", CUBIC, "3.0 * (1.0 - self.beta) / (1.0 + self.beta)", "1.0"),
        Mutant("alpha never 1", CUBIC, "if epoch.w_est < self.cwnd_prior {", "if epoch.w_est < f64::INFINITY {"),
        Mutant(
            "limited time counts",
            CUBIC,
            "epoch.start = (epoch.start + ack.now.since(last)).min(ack.now);",
            "let _ = last;",
        ),
        Mutant("K after a timeout", CUBIC, "self.w_max = 0.0;\n        self.epoch = None;", "self.epoch = None;"),
        Mutant("not below two", CUBIC, "self.window.set(1.0); // section 4.6", "// section 4.6"),
    ],
}
SUITES = {"bbr3": "bbr-draft", "cubic": "rfc9438"}


@pytest.fixture(scope="session")
def crate(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the crates that a library of controllers needs."""
    folder = tmp_path_factory.mktemp("mutants")
    for name in ("crates/cc", "crates/units", "crates/params", "integrations/exported"):
        shutil.copytree(root / name, folder / name, ignore=shutil.ignore_patterns("target", "tests", "benches"))
    shutil.copy(root / "README.md", folder / "README.md")
    text = (root / "Cargo.toml").read_text(encoding="utf-8")
    members = 'members = ["crates/cc", "crates/units", "crates/params"]'
    begin = text.index("members")
    (folder / "Cargo.toml").write_text(text[:begin] + members + text[text.index("]", begin) + 1 :], encoding="utf-8")
    manifest = folder / "crates/cc/Cargo.toml"
    manifest.write_text(manifest.read_text().split("[dev-dependencies]")[0], encoding="utf-8")
    return folder


def build(crate: Path, name: str) -> Path:
    """The library of the crates as they are now, under a name of its own."""
    options = ["--config", "profile.dev.opt-level=2", "--config", "profile.dev.debug=false"]
    command = [
        "cargo",
        "build",
        "--quiet",
        *options,
        "--manifest-path",
        str(crate / "integrations/exported/Cargo.toml"),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    library = crate / f"lib{name.replace(' ', '_')}.so"
    shutil.copy(crate / "integrations/exported/target/debug/libexported.so", library)
    return library


def judged(library: Path, control: str, out: Path) -> SuiteResult:
    table = f'{{ library = "{library}:{control}"'
    if control == "cubic":
        table += ', arithmetic = "rfc9438"'
    return run(find(SUITES[control]), table + " }", out, Local(), quick=True, page=False, allow_code=True)


def failures(result: SuiteResult) -> list[str]:
    return [f"{one.situation}.{one.check}" for one in result.checks if one.verdict == "fail"]


@pytest.mark.parametrize("control", list(MUTANTS))
def test_every_mutant_fails_a_check(crate: Path, tmp_path: Path, control: str) -> None:
    """The controller without an edit passes what is visible of it; each mutant fails something that it does not."""
    original = judged(build(crate, f"{control}-original"), control, tmp_path / "original")
    assert not original.failed
    assert not failures(original)
    visible = original.count("pass")
    print(f"{control}: {visible} of {len(original.checks)} checks are visible from outside")
    survivors = []
    for mutant in MUTANTS[control]:
        file = crate / "crates/cc/src" / mutant.file
        text = file.read_text(encoding="utf-8")
        assert text.count(mutant.before) == 1, (mutant.name, text.count(mutant.before))
        file.write_text(text.replace(mutant.before, mutant.after), encoding="utf-8")
        try:
            result = judged(build(crate, f"{control}-{mutant.name}"), control, tmp_path / mutant.name.replace(" ", "_"))
        finally:
            file.write_text(text, encoding="utf-8")
        failed = failures(result)
        lost = [
            f"{one.situation}.{one.check}"
            for one, was in zip(result.checks, original.checks, strict=True)
            if was.verdict == "pass" and one.verdict == "not shown"
        ]
        print(
            f"{control}: {mutant.name}: fails {', '.join(failed) or 'nothing'};",
            f"not shown any more: {', '.join(lost) or 'nothing'}",
        )
        if not failed:
            survivors.append(mutant.name)
    assert not survivors
