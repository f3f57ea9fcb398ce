"""Every command and snippet of the first pages runs in an empty folder, from an installed wheel.

The first pages are README, docs/index, docs/learn and the pages of the four paths.

The wheel is that of `make test-wheel`; its dependencies are those of this environment. A command that runs for long is
started, and interrupted once it has begun; `make nightly` runs it to its end.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FIRST = ("README.md", "docs/index.md", "docs/learn.md")
PAGES = (*FIRST, "docs/research.md", "docs/stack.md", "docs/network.md", "docs/teach.md")
WHEELS = ROOT / "out" / "test" / "wheel"
BEGIN_S = 6.0
"""After so long a command that was not refused has begun."""

PREPARED = {
    "mine": "ackclock new mine --python",
    "old.py": "cp mine.py old.py; cp mine.py new.py",
    "handins": "mkdir handins; cp mine.py handins",
    "study": "ackclock sweep mine.toml --set 'sweep.seed=[1,2]' --set duration=12s --out study",
    "failed": "ackclock search @shrew --budget 150 --out failed",
}
"""What the commands of a page need that a reader has: a scenario with a controller, a study, the folder of a search."""
PLACEHOLDERS = {
    "FILE": "mine.toml",
    "STUDY": "study",
    "DIR": "failed",
    "TIME": "11s",
    "KEY": "westwood",
    "https://SERVER": "https://example.org",
    "...": "@dumbbell --at 8s --cut",
}
"""Words in capitals of the pages, and what stands for them."""
SHOWN = {
    "new mine --python": "PREPARED runs it",
}
"""Commands that are not run here, and why."""
NAMES_ONLY = re.compile(r"^ackclock( [a-z-]+)?( --[a-z-]+)?$")
"""The name of a command, perhaps with an option, in a sentence: its help is shown in place of a run."""
LONG = ("suite ", "paper ", "gym bench")
"""Begins of commands that run for longer than half a minute."""
SERVES = ("view", "serve")
"""Commands that serve a page until they are interrupted."""
MACHINE = ("emulate ", "run @bufferbloat --on linux", "--on udp")
"""Parts of commands that need what a machine can lack; they may end with status 3 or, in real time, with status 4."""


@dataclass(frozen=True)
class Command:
    """A command of a page."""

    page: str
    text: str

    @property
    def after(self) -> str:
        """What follows the name of the program."""
        return self.text.removeprefix("ackclock").strip()


def commands(page: str) -> list[Command]:
    """The commands of a page that begin with `ackclock`, in code spans, lines of blocks and tables."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```", text, re.DOTALL)
    lines = [line.split("  #")[0].strip() for block in blocks for line in block.splitlines()]
    spans = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    candidates = [line.removeprefix(".venv/bin/") for line in [*lines, *spans]]
    every = dict.fromkeys(one for one in candidates if one == "ackclock" or one.startswith("ackclock "))
    return [Command(page, one) for one in every]


def outputs(page: str) -> list[tuple[str, list[str]]]:
    """The outputs that a page shows: the last command of a block, and the lines of the block after it."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```sh\n(.*?)```\n+```text\n(.*?)```", text, re.DOTALL)
    return [(block.strip().splitlines()[-1], shown.splitlines()) for block, shown in blocks]


def snippets(page: str) -> list[str]:
    """The Python snippets of a page."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an installed wheel, with the program in `bin`."""
    wheels = sorted(WHEELS.glob("*.whl"))
    if not wheels:
        pytest.fail("there is no wheel: run make test-wheel")
    folder = tmp_path_factory.mktemp("wheel")
    with zipfile.ZipFile(wheels[0]) as wheel:
        wheel.extractall(folder)
    program = folder / "bin" / "ackclock"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\nimport sys\nfrom ackclock.entry import main\nsys.exit(main())\n")
    program.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def place(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder, in which a reader has what PREPARED makes."""
    folder = tmp_path_factory.mktemp("reader")
    for text in PREPARED.values():
        done = run(installed, folder, "bash", "-c", text)
        assert done.returncode == 0, f"{text}: {done.stderr}"
    return folder


def environment(installed: Path) -> dict[str, str]:
    """The environment in which `ackclock` and `import ackclock` are those of the wheel."""
    path = f"{installed / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    own = {"PYTHONPATH": str(installed), "PATH": path, "BROWSER": "true", "PYTHONDONTWRITEBYTECODE": "1"}
    return {**os.environ, **own}


def run(installed: Path, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, with the package of the wheel."""
    settings = environment(installed)
    return subprocess.run(command, cwd=folder, env=settings, capture_output=True, text=True, check=False)


def in_words(text: str) -> list[str]:
    """The arguments of a command, with what stands for the placeholders."""
    for name, value in PLACEHOLDERS.items():
        text = re.sub(rf"(?<![\w/@.-]){re.escape(name)}(?![\w/])", value, text)
    return shlex.split(text)


def ends(installed: Path, folder: Path, command: Command, *, whole: bool) -> None:
    """Run a command; one that serves or, unless `whole`, runs for long is interrupted once it has begun."""
    arguments = in_words(command.text)
    assert not re.search(r"\b[A-Z]{3,}\b", " ".join(arguments[1:]).replace("README", "")), (
        f"{command.page}: `{command.text}` has a word in capitals of which this test does not know what stands for it"
    )
    if command.after.startswith("serve"):
        arguments += ["--port", "0"]  # another program can use the usual one
    limit = BEGIN_S if command.after.startswith(SERVES if whole else (*SERVES, *LONG)) else 600
    process = subprocess.Popen(
        arguments, cwd=folder, env=environment(installed), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        out, error = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        assert limit == BEGIN_S, f"{command.page}: `{command.text}` takes longer than {limit} s"
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
        assert process.returncode in {0, 130, -signal.SIGINT}, f"{command.page}: `{command.text}`: {error}"
        return
    allowed = {0, 3, 4} if any(part in command.text for part in MACHINE) else {0}
    if command.after.startswith("search"):
        allowed = {0, 1}  # 1: no network breaks it
    assert process.returncode in allowed, f"{command.page}: `{command.text}`: {process.returncode} {out[-500:]} {error}"


def tried() -> list[Command]:
    return [command for page in PAGES for command in commands(page)]


@pytest.mark.parametrize("page", PAGES)
def test_commands(page: str, installed: Path, place: Path) -> None:
    every = commands(page)
    assert len(every) > 1
    for command in every:
        if command.after in SHOWN:
            continue
        if NAMES_ONLY.match(command.text) and not command.after.startswith("view "):
            command = Command(page, f"{command.text} --help".replace("--help --help", "--help"))
        elif "iperf3" in command.text and shutil.which("iperf3") is None:
            continue
        ends(installed, place, command, whole=False)


@pytest.mark.nightly
@pytest.mark.parametrize("page", PAGES)
def test_long_commands(page: str, installed: Path, place: Path) -> None:
    for command in commands(page):
        if command.after.startswith(LONG) and command.after not in SHOWN and not NAMES_ONLY.match(command.text):
            ends(installed, place, command, whole=True)


def test_what_is_not_run_is_there() -> None:
    there = {command.after for command in tried()}
    assert set(SHOWN) <= there


def test_snippets(installed: Path, place: Path) -> None:
    """Snippets run as programs, and a class in them as a controller: importing the file runs nothing else."""
    every = [(page, text) for page in PAGES for text in snippets(page)]
    assert len(every) >= 2
    for number, (page, text) in enumerate(every):
        file = place / f"snippet{number}.py"
        file.write_text(text)
        done = run(installed, place, sys.executable, file.name)
        assert done.returncode == 0, f"{page}: {done.stderr}"
        control = f"{file.name}:Mine"
        done = run(installed, place, "ackclock", "run", "@dumbbell", "--set", "duration=3s", "--control", control)
        assert done.returncode == 0, f"{page}: {done.stderr}"
        assert "goodput_bps" not in done.stdout


def test_the_first_controller_is_the_same_everywhere() -> None:
    pages = ("README.md", "docs/index.md", "docs/python-controllers.md")
    classes = [
        re.search(r"class Mine\(Controller\):.*?(?=\n\n\n|```)", (ROOT / page).read_text(), re.S) for page in pages
    ]
    assert len({shown[0].rstrip() for shown in classes if shown}) == 1
    assert None not in classes
    template = (ROOT / "python/ackclock/cli/templates/controller.txt").read_text()
    for line in (
        "if ack.may_grow:",
        "slow_start = self.cwnd < self.ssthresh",
        "+= ack.newly_delivered if slow_start else",
    ):
        assert line in template
        assert all(line in shown[0] for shown in classes if shown)


def test_what_the_pages_show_is_what_the_commands_print(installed: Path, place: Path) -> None:
    every = [(page, *output) for page in PAGES for output in outputs(page)]
    assert every
    for page, command, lines in every:
        done = run(installed, place, *in_words(command))
        assert done.returncode == 0, done.stderr
        printed = [" ".join(line.split()) for line in done.stdout.splitlines()]
        for line in lines:
            assert " ".join(line.split()) in printed, f"{page}: {command}: {line}"


def test_tutorials_run_where_learn_says(installed: Path, place: Path) -> None:
    """`docs/learn.md` runs tutorials as modules in any folder."""
    text = (ROOT / "docs" / "learn.md").read_text()
    [module] = re.findall(r"^python -m (\S+)$", text, re.MULTILINE)
    for name in (module.rpartition(".")[2], "explain_a_reduction"):
        done = run(installed, place, sys.executable, "-m", f"ackclock.examples.tutorials.{name}")
        assert done.returncode == 0, done.stderr


def test_the_package_is_that_of_the_wheel(installed: Path, place: Path) -> None:
    code = "import ackclock, ackclock._core as core; print(ackclock.__file__, core.__file__)"
    said = subprocess.check_output([sys.executable, "-c", code], cwd=place, env=environment(installed), text=True)
    assert all(Path(file).is_relative_to(installed) for file in said.split())
