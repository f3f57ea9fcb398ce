"""A user's first steps: a new scenario, shipped scenarios by name, help with examples, completion."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from ackclock import Scenario
from ackclock.base import shipped
from ackclock.base.files import BadInput
from ackclock.cli.app import COMMANDS, GROUPS, START, application, main
from ackclock.cli.list import KINDS
from ackclock.study import Study

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_a_new_scenario_is_valid_runs_and_explains_its_tables(ackclock: Run, tmp_path: Path) -> None:
    done = ackclock("new", "mine", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = (tmp_path / "mine.toml").read_text().splitlines()
    tables = [i for i, line in enumerate(lines) if line.startswith("[")]
    assert len(tables) >= 5
    for i in tables:
        assert lines[i - 1].startswith("#"), f"no comment before {lines[i]}"
    assert ackclock("check", "mine.toml", cwd=tmp_path).returncode == 0
    flows = json.loads(ackclock("run", "mine.toml", "--json", cwd=tmp_path).stdout)["flows"]
    assert [flow["control"] for flow in flows] == ["cubic", "reno"]
    # The commented-out lines are valid too: the traffic, the study and the loss.
    code = re.compile(r'# ((\[\[?\w+\]\]?|"?[\w.]+"? += .*)$)')
    active = "\n".join(found[1] if (found := code.match(line)) else line for line in lines)
    assert {"traffic", "sweep"} <= tomllib.loads(active).keys()
    study = Study.parse(active)
    assert (len(study.seeds), study.points) == (5, 3)


def test_a_new_scenario_with_a_controller_in_python(ackclock: Run, tmp_path: Path) -> None:
    assert ackclock("new", "mine.toml", "--python", cwd=tmp_path).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.py", "mine.toml"]
    done = ackclock("run", "mine.toml", "--json", cwd=tmp_path)
    flows = {flow["name"]: flow for flow in json.loads(done.stdout)["flows"]}
    assert flows["tested"]["control"] == "Mine"
    assert flows["tested"]["goodput_bps"] > 1e6


def test_a_new_scenario_replaces_nothing(ackclock: Run, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("precious")
    done = ackclock("new", "mine", "--python", cwd=tmp_path)
    assert (done.returncode, [path.name for path in tmp_path.iterdir()]) == (2, ["mine.py"])
    assert "mine.py: the file exists" in done.stderr
    assert ackclock("new", "mine", "--python", "--force", cwd=tmp_path).returncode == 0
    assert "class Mine" in (tmp_path / "mine.py").read_text()
    for name in ("", ".", "/", "a/b", "mine.txt", "a b"):
        done = ackclock("new", name, cwd=tmp_path)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), name


def test_shipped_scenarios_have_short_names(ackclock: Run, tmp_path: Path) -> None:
    """Every command that takes a scenario takes `@NAME`, in any folder."""
    commands = (
        ("check", "@dumbbell", "@cellular"),
        ("run", "@dumbbell", "--set", "duration=1s"),
        ("why", "@dumbbell", "--at", "1s"),
        ("sweep", "@dumbbell", "--set", "duration=1s", "--out", "out"),
        ("orbit", "@iridium", "--from", "berkeley", "--to", "boston", "--until", "1s"),
        ("radio", "@manet", "--plot", "map.svg"),
    )
    for command in commands:
        done = ackclock(*command, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert Scenario.load("@dumbbell").title == Scenario.load(shipped.scenarios()["dumbbell"]).title


def test_unknown_shipped_names_have_a_correction(ackclock: Run, tmp_path: Path) -> None:
    cases = {
        "@dumbell": "did you mean @dumbbell?",
        "@bbr": "did you mean @bbr_cubic?",
        "@wifi_": "did you mean @wifi?",
        "@x": "there are @asymmetric",
        "dumbbell": "is @dumbbell",
    }
    for name, remark in cases.items():
        done = ackclock("run", name, cwd=tmp_path)
        assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        assert remark in done.stderr
    with pytest.raises(BadInput, match="did you mean @dumbbell"):
        Scenario.load("@dumbell")


def test_lists(ackclock: Run, root: Path, tmp_path: Path) -> None:
    """Outside the repository the shipped scenarios have their short names; without a kind, the kinds are listed."""
    names = {entry["name"] for entry in json.loads(ackclock("list", "scenarios", "--json", cwd=tmp_path).stdout)}
    assert names == {f"@{path.stem}" for path in (root / "scenarios").glob("*.toml")}
    kinds = ackclock("list", cwd=tmp_path)
    assert kinds.returncode == 0
    assert [line.split()[2] for line in kinds.stdout.splitlines()] == list(KINDS)
    for kind in KINDS:
        entries = json.loads(ackclock("list", kind, "--json").stdout)
        assert entries or kind == "papers", kind
        assert all(entry["name"] for entry in entries)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_ends_with_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The example's command exists and takes its options; nothing of it is run."""
    assert main([name, "--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    _, _, example = shown.rpartition("Example: ")
    for line in example.split("; "):
        program, command, *rest = shlex.split(line.split(" > ")[0])
        assert (program, command) == ("ackclock", name)
        application([command]).parse_args([command, *rest], exit_on_error=False, print_error=False)


def test_the_help_has_every_command_in_a_group_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    groups = re.findall(r"^╭─ ([\w ]+) ─", shown, flags=re.M)
    assert groups == [*GROUPS, "Options"]
    lines = dict(re.findall(r"^│ ([a-z][a-z-]+) +(.*?) *│$", shown, flags=re.M))
    assert tuple(lines) == COMMANDS
    assert all(line.endswith(".") and len(line) <= 60 for line in lines.values())
    assert shown.split("\n")[-3:] == ["Start: ackclock new mine --python", "Lessons: ackclock view", ""]


def test_python_runs_the_package_as_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ackclock", "--version"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert said.stdout.startswith("0.")


def test_the_first_commands_lead_to_a_figure(ackclock: Run, tmp_path: Path) -> None:
    """The command with which the help begins names the next ones."""
    done = ackclock(*START.split("\n")[0].split()[2:], cwd=tmp_path)
    following = done.stdout.strip().split("next: ")[1]
    for line in following.split("; "):
        done = ackclock(*shlex.split(line)[1:], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "run.svg").is_file()


def test_completion_in_bash(ackclock: Run, tmp_path: Path) -> None:
    (tmp_path / "c.sh").write_text(ackclock("completion", "bash").stdout)
    (tmp_path / "mine.toml").touch()
    script = 'source c.sh; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _ackclock; echo "${COMPREPLY[*]}"'
    cases = (
        ("ackclock swe", "sweep"),
        ("ackclock run m", "mine.toml"),
        ("ackclock run mine.toml --trace-e", "--trace-every"),
        ("ackclock list pap", "papers"),
    )
    for words, found in cases:
        line = ["bash", "-c", script, "bash", *words.split()]
        assert subprocess.run(line, cwd=tmp_path, capture_output=True, text=True).stdout.split() == [found]
    for shell in ("zsh", "fish"):
        assert "sweep" in ackclock("completion", shell).stdout


def test_the_package_includes_scenarios_and_examples(root: Path) -> None:
    """The build script copies what `maturin` is told to include (`make wheel` tries the wheel itself)."""
    included = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["maturin"]["include"]
    folders = {entry["path"].split("/")[0] for entry in included if entry.get("from") == "out-dir"}
    assert folders == {"scenarios", "examples", "paper_folders"}
    build = (root / "crates" / "py" / "build.rs").read_text()
    assert all(f'"{folder}"' in build for folder in folders)
    assert set(shipped.scenarios()) == {path.stem for path in (root / "scenarios").glob("*.toml")}
    assert shipped.examples() == sorted((root / "examples").rglob("*.py"))
