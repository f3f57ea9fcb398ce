"""Generated scenarios and command lines: each gives a result or one message, and no false violation.

`ACKCLOCK_GENERATED=20000 ACKCLOCK_LINES=3000 pytest tests/test_generated.py` tries more of them, of the same sequence.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from ackclock.base.assignment import key_text
from ackclock.cli.app import COMMANDS, main
from ackclock.result import Result
from generator import Attempt, elements, expected, run

COUNT = int(os.environ.get("ACKCLOCK_GENERATED", "300"))
LINES = int(os.environ.get("ACKCLOCK_LINES", "500"))


GAPS = "too many gaps in stream buffer"
"""The error with which quinn ends a connection whose receiver holds more than 1,024 separate pieces (docs/trust.md)."""


def flaws(result: Result) -> list[str]:
    """What no outcome may have: violations, shares above 1, a lost connection (except by quinn's limit of pieces)."""
    outcome = result.outcome
    found = [str(violation) for violation in result.violations if GAPS not in str(violation)]
    found += [f"utilisation of {link['name']}" for link in outcome["links"] if link["utilisation"] > 1]
    for flow in outcome["flows"]:
        found += [f"delivery ratio of {flow['name']}"] * ((flow["delivery_ratio"] or 0) > 1)
        error = flow.get("connection_error")
        found += [f"lost connection of {flow['name']}"] * (bool(error) and GAPS not in str(error))
    return found


def without_costs(outcome: dict[str, Any]) -> dict[str, Any]:
    """An outcome without the times that the run took."""
    engine = {key: value for key, value in outcome["engine"].items() if key not in {"cpu_s", "wall_s"}}
    return outcome | {"engine": engine}


def check(number: int, attempt: Attempt) -> None:
    """Check an attempt. A scenario that ran also runs without auditor and captures, with the same outcome."""
    text = f"{number}:\n{tomli_w.dumps(attempt.document)}"
    assert all(len(str(error).splitlines()) == 1 for error in attempt.refusals), text
    if attempt.scenario is not None and attempt.result is not None:
        assert not flaws(attempt.result), text
        plain = attempt.scenario.run(seed=number).outcome
        assert without_costs(plain) == without_costs(attempt.result.outcome), text


def test_generated_scenarios_run_clean_or_are_refused() -> None:
    """No panic, no false violation, the same outcome with and without auditor and captures; every element occurs."""
    counts: Counter[str] = Counter()
    ran = 0
    for number in range(COUNT):
        attempt = run(number)
        check(number, attempt)
        if attempt.result is not None:
            ran += 1
            counts.update(elements(attempt.document))
    assert ran > 0.8 * COUNT
    assert COUNT < 300 or expected() <= counts.keys(), expected() - counts.keys()


ODD = 'f "=.#ü\\ [0] <b>'
"""A name with signs that have a meaning in keys, in TOML or in HTML."""
ODD_KEY = key_text(("flow", ODD, "tcp", "congestion_control"))
WORDS = (
    *("good.toml", "good.toml", "good.toml", "bad.toml", "gone.toml", "out", "f0", "n0", "n1", "reno", "ca-artt", "@x"),
    *("duration=1s", "link.0.rate=fast", "flow.f0.tcp.congestion_control=cubic", "3", "-1", "0", "2", "0.5s", "soon"),
    *("x.svg", "x.doc", "t.parquet", "n0=c.pcapng", "nowhere=c.pcapng", "=", "a=b", "jain", "jain:2%", "", "--"),
    *("odd.toml", ODD, ODD_KEY, "--set", f"{ODD_KEY}=cubic", "--control", "reno,cubic", "mine.py:Mine", "c.pcapng"),
    *("\x1b[31m", "controllers", "scenario", "tcp,quic", "bash", "\udcff", "lab.html#s=AAAA"),
)
SLOW = {"--watch", "--engine", "--for"}
"""Options that serve pages without end, start a cluster or wait in real time."""


def options(command: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The options of a command, from its help."""
    main([command, "--help"])
    return sorted(set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out)) - SLOW)


def test_generated_command_lines_end_with_a_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command occurs; every line ends with a documented exit status; every error gives a message."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda *_: True)
    monkeypatch.setattr("ackclock.apps.view.classroom.Classroom.run", lambda _: None)  # it would serve without end
    link: dict[str, Any] = {"ends": ["n0", "n1"], "rate": "1Mbps", "delay": "1ms"}
    document = {"duration": "200ms", "link": [link]}
    good = document | {"flow": [{"name": "f0", "from": "n0", "to": "n1"}]}
    (tmp_path / "good.toml").write_text(tomli_w.dumps(good))
    odd: dict[str, Any] = document | {"flow": [{"name": ODD, "from": "n0", "to": "n1", "tcp": {}}]}
    odd["link"] = [link | {"name": ODD}]
    (tmp_path / "odd.toml").write_text(tomli_w.dumps(odd))
    (tmp_path / "bad.toml").write_text("duration = 3\n[[[")
    (tmp_path / "c.pcapng").write_bytes(b"\x0a\x0d\x0d\x0a\xff\x00")
    draw = random.Random(1)
    known = {command: options(command, capsys) for command in COMMANDS}
    statuses: Counter[int] = Counter()
    for number in range(LINES):
        command = (*COMMANDS, "nothing")[number % (len(COMMANDS) + 1)]
        choices = (*WORDS, *2 * known.get(command, []))
        line = [command, *(draw.choice(choices) for _ in range(draw.randrange(1, 5)))]
        try:
            status = main(line)
        except SystemExit as end:
            status = int(end.code or 0)
        printed = capsys.readouterr()
        assert "Traceback" not in printed.err + printed.out, line
        assert status in {0, 1, 2, 3, 4} or command == "emulate", line
        assert status != 2 or printed.err.startswith("ackclock:"), line
        statuses[status] += 1
    assert statuses[0] > 0
    assert statuses[2] > 0
