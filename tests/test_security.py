"""The lines of docs/security.md: each has a test here or in another test_security_*.py, which names it."""

from __future__ import annotations

import http.client
import json
import os
import re
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ackclock import ScenarioError, _core
from ackclock.apps.view.serve import Server, Watched
from ackclock.base import files
from ackclock.base.files import BadInput
from ackclock.cli.app import COMMANDS, main
from ackclock.scenario import Scenario
from security import CODE, FILED, NETWORK, PYTHON, TRACE, Place, line, packed, refused

ROOT = Path(__file__).parents[1]
MOST_CALLS = 200_000
"""Calls of functions in Python in which a link is refused, whatever the machine; one call or two for a file of it."""
KEY = "flow.f.tcp.congestion_control"


def test_every_line_has_a_test() -> None:
    rows = re.findall(r"^\| (?:`([\w-]+)`|([A-Z]\d)) \|", (ROOT / "docs/security.md").read_text(), re.M)
    rules, commands = [rule for _, rule in rows if rule], [command for command, _ in rows if command]
    assert len(rules) == len(set(rules)) > 15
    assert commands == list(COMMANDS)
    tests = "\n".join(file.read_text() for file in Path(__file__).parent.glob("test_security*.py"))
    marks = " ".join(re.findall(r"^@line\((.*)\)$", tests, re.M))
    assert set(re.findall(r'[^", ]+', marks)) == {*rules, "paper", "serve", "*EXPECTED"}


# Trusted input.


@line("T1")
def test_the_command_line_names_any_code(place: Place) -> None:
    place.write("s.toml", NETWORK)
    assert main(["run", "s.toml", "--set", PYTHON.format(place.elsewhere / "mine.py")]) == 0
    assert place.executed()
    assert main(["run", packed(), "--set", PYTHON.format(place.elsewhere / "mine.py")]) == 0
    assert place.executed()
    assert main(["run", "s.toml", "--trace", str(place.elsewhere / "t.parquet")]) == 0
    assert (place.elsewhere / "t.parquet").is_file()


@line("T2")
def test_a_file_names_code_in_its_folder(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    own = NETWORK.replace('recovery = "newreno"', 'congestion_control = { python = "mine.py:X" }')
    place.write("s.toml", own)
    assert main(["check", "s.toml"]) == 0
    assert not place.executed()
    assert main(["run", "s.toml"]) == 0
    assert place.executed()
    assert "ackclock: runs mine.py (class X)\n" in capsys.readouterr().err
    for name, text in {
        "code.toml": own.replace("mine.py", "../elsewhere/mine.py"),
        "base.toml": 'extends = "../elsewhere/s.toml"',
        "set.toml": f"extends = 's.toml'\n[set]\n'{KEY}.python' = '../elsewhere/mine.py:X'",
        "axis.toml": NETWORK + f"[sweep]\n'{KEY}.python' = ['../elsewhere/mine.py:X', 'mine.py:X']",
    }.items():
        place.write(name, text)
        (place.elsewhere / "s.toml").write_text(NETWORK)
        main(["check", name])
        assert "is outside the folder" in capsys.readouterr().err, name
    refused(capsys, "run", "code.toml", words="is outside the folder")
    assert not place.executed()


@line("T3")
def test_code_is_allowed_for_one_scenario(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.write(
        "s.toml", NETWORK.replace('recovery = "newreno"', 'congestion_control = { python = "../elsewhere/mine.py:X" }')
    )
    assert main(["run", "s.toml", "--allow-code"]) == 0
    assert place.executed()
    refused(capsys, "run", "s.toml", words="--allow-code")
    assert Scenario.load("s.toml", allow_code=True).run().outcome
    with pytest.raises(ScenarioError, match="is outside the folder"):
        Scenario.load("s.toml")


PAPER = {
    "paper.toml": 'title = "t"\nauthors = "a"\nvenue = "v"\nintro = "i"\nsummary = "s"\nstatus = "draft"\n'
    '[page]\nname = "n"\nwho = "w"\nquestion = "q"\nclaimed = "c"\ncame_out = "{C1}"\nwhy = "w"\nanswers = "{C1?}"\n'
    '[page.headline]\nclaim = "C1"\nlabel = "l"\n[page.figure]\nof = "o"\naxis = [0.5, 2.0]\nrows = [["C1", "l"]]\n'
    '[[study]]\nname = "one"\nseeds = 2\nquick = 2\n[[extra]]\nid = "e"\ntitle = "e"\ncode = "extra"\n',
    "studies/one.toml": NETWORK + "[sweep]\nseed = [1, 2]\n",
    "claims.toml": '[[claim]]\nid = "C1"\nshort = "s"\nplace = "p"\nquote = "q"\nmetric = "m"\ndirection = 1\n'
    'reference = 0.0\nmeasure = "mean"\nstudy = "one"\ncolumn = "f.goodput_bps"\n',
}


def paper(place: Place) -> Path:
    for name, text in PAPER.items():
        place.write(f"papers/mine/{name}", text)
    code = CODE.format(mark=str(place.mark)).partition("class")[0]
    return place.write(
        "papers/mine/measures.py", f"{code}\ndef extra(results):\n    return dict(text=[], tables=[])\n"
    ).parent


@line("T4", "P1", "paper")
@pytest.mark.usefixtures("blank")
def test_papers_from_elsewhere_execute_nothing(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = paper(place)
    command = ["paper", "mine", "--out", "out", "--quick"]
    refused(capsys, *command, words="give --allow-code if you trust it")
    for harmless in (["list", "papers"], ["view", "papers/mine", "--no-open", "--out", "page.html"]):
        assert main(harmless) == 0
    assert place.files() == {"page.html", "lab.html"}
    assert not place.executed()
    assert main([*command, "--allow-code"]) == 0
    assert place.executed()
    assert all(name == "out" or name.startswith("out/") for name in place.files())
    (folder / "measures.py").write_text((folder / "measures.py").read_text())
    monkeypatch.setattr("ackclock.base.shipped._CHECKOUT", place.folder)
    place.write("pyproject.toml", "")
    assert main(command) == 0
    assert place.executed()


# Links.

WAYS: dict[str, dict[str, Any]] = {
    "text": {"text": NETWORK.replace('recovery = "newreno"', 'congestion_control = { python = "mine.py:X" }')},
    "base": {
        "text": 'extends = "base.toml"',
        "files": {"base.toml": {"text": f'tcp = {{ congestion_control = {{ python = "mine.py:X" }} }}\n{NETWORK}'}},
    },
    "value that is set": {
        "text": f"extends = 'base.toml'\n[set]\n'{KEY}.python' = 'mine.py:X'",
        "files": {"base.toml": {"text": NETWORK}},
    },
    "set": {"set": [PYTHON.format("mine.py")]},
    "set of a key": {"set": [f"{KEY}.python=mine.py:X"]},
    "set elsewhere": {"set": [PYTHON.format("../elsewhere/mine.py")]},
    "axis": {"text": NETWORK + f"[sweep]\n'{KEY}' = ['reno', {{ python = 'mine.py:X' }}]"},
    "axis of keys": {"text": NETWORK + f"[sweep]\n'seed, {KEY}.\"python\"' = [[1, 'mine.py:X']]"},
    "set of an axis": {"set": [f"sweep.c.one={{ '{KEY}.python' = 'mine.py:X' }}"]},
}


@line("L1")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.usefixtures("blank")
def test_a_link_has_no_code(place: Place, capsys: pytest.CaptureFixture[str], way: str) -> None:
    carried = {"mine.py": {"text": CODE.format(mark=str(place.mark))}}
    content = {**WAYS[way], "files": {**WAYS[way].get("files", {}), **carried}}
    address = packed(**content)
    commands = [[name, address] for name in ("run", "check", "plot", "link", "emulate")]
    commands += [["why", address, "--at", "0.1s"], ["sweep", address, "--out", "out"], ["agree", address]]
    commands += [["view", address, "--no-open"], ["orbit", address, "--plot", "map.svg"]]
    commands += [["radio", address, "--plot", "map.svg"]]
    for command in commands:
        for more in ([], ["--allow-code"]):
            refused(capsys, *command, *more, words="has no controller in Python")
    for allowed in (False, True):
        with pytest.raises(BadInput, match="has no controller in Python"):
            Scenario.load(address, allow_code=allowed)
    assert place.files() == set()
    assert not place.executed()


@line("L2")
def test_a_link_names_only_what_it_carries(
    place: Place, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    place.write("slow.txt", "1\n")
    place.write("base.toml", NETWORK)
    fifo = place.elsewhere / "fifo"
    os.mkfifo(fifo)  # whoever opens it waits for ever

    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a link is not written to the disk")

    for name in ("mkdtemp", "mkstemp", "TemporaryDirectory", "NamedTemporaryFile"):
        monkeypatch.setattr(tempfile, name, fail)
    carried = {"./slow.txt": {"text": TRACE}, "parts/base.toml": {"text": FILED.replace("slow", "../slow")}}
    address = packed(text='extends = "parts/base.toml"', files=carried)
    on_disk = place.write("own/s.toml", FILED)
    (on_disk.parent / "slow.txt").write_text(TRACE)
    prints = [Scenario.load(one).run(fingerprint=True).fingerprint for one in (address, on_disk)]
    assert prints[0] == prints[1] != ""
    absent = "no such file comes with the scenario"
    trace = "link.l.rate={{ kind = 'trace', file = '{}' }}"
    for content in (
        {"text": FILED},
        {"text": 'extends = "base.toml"'},
        {"text": FILED.replace("slow.txt", str(fifo)), "files": carried},
        {"set": [trace.format("slow.txt")]},
        {"set": [trace.format(fifo)]},
        {"set": [f"flow.f.tcp.congestion_control={{ kind = 'ca_artt', fit = '{fifo}' }}"]},
        {"set": [f"flow.f.tcp.congestion_control.fit={fifo}", "flow.f.tcp.congestion_control.kind=ca_artt"]},
        {"text": NETWORK + f"[sweep]\n'link.l.rate' = [{{ kind = 'trace', file = '{fifo}' }}]"},
    ):
        if "sweep" not in content.get("text", ""):
            refused(capsys, "run", packed(**content), words=absent)
        refused(capsys, "check", packed(**content), words=absent)
    assert place.files() == {"own", "own/slow.txt"}


@line("L3")
@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"text": NETWORK + "# \ud800"}, "damaged"),
        ({"files": {"\ud800": {"text": ""}}}, "damaged"),
        ({"files": {"a": {"text": "\ud800"}}}, "damaged"),
        ({"set": ["a=\ud800"]}, "damaged"),
        ({"files": {"a": {"base64": "\u00e9"}}}, "the file a in the link is damaged"),
        ({"files": {"a": {"base64": "a"}}}, "the file a in the link is damaged"),
        ({"files": {"../a": {"text": ""}}}, "outside the scenario's folder"),
        ({"v": True}, "version True"),
        ({"v": 1e999}, "version inf"),
        ({"text": "x" * 2_000_000}, "more than 1,000,000 bytes"),
        ({"text": "x = " + "[" * 100_000}, ""),
        ({"set": [json.loads("[" * 400 + "]" * 400)]}, "not a list of KEY=VALUE"),
        ({"files": {"/".join([f"d{n}"] * 50): {"text": ""} for n in range(3000)}, "text": "duration ="}, ""),
    ],
)
def test_damaged_links_are_refused_at_once(
    place: Place, capsys: pytest.CaptureFixture[str], content: dict[str, Any], words: str
) -> None:
    refused(capsys, "run", packed(v=2), words="version 2")  # imports what a refusal needs
    address, before = packed(**content), sys.getprofile()
    calls: Counter[str] = Counter()
    sys.setprofile(lambda _frame, event, _argument: calls.update([event]))
    try:
        refused(capsys, "run", address, words=words)
    finally:
        sys.setprofile(before)
    assert calls["call"] < MOST_CALLS
    assert place.files() == set()


@line("L4")
@pytest.mark.parametrize("page", [False, True])
def test_code_of_a_link_in_javascript(place: Place, capsys: pytest.CaptureFixture[str], page: bool) -> None:
    code = (ROOT / "web/src/core/example.ts").read_text().partition("const SHORT = `")[2].partition("`")[0]
    address = packed(controller={"code": code, "flows": {"f": "page"}})
    if not page:
        for command in (["run"], ["check"], ["why", "--at", "0.1s"], ["view", "--no-open"], ["plot"]):
            refused(capsys, *command, address, words="a controller in JavaScript")
        assert place.files() == set()
        return
    built = ROOT / "python/ackclock/web/lab.html"
    if not (shutil.which("node") and Path("/usr/bin/chromium").exists() and (ROOT / "web/node_modules").exists()):
        pytest.skip("needs Node and Chromium")
    if not built.is_file():
        pytest.skip("needs the page")
    command = ["node", str(ROOT / "web/tests/page/confirm.mjs"), f"{built.as_uri()}#{address.partition('#')[2]}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["before"] not in {"ended", "error"}
    assert (found["after"], found["alert"]) == ("ended", 0)


@line("L5")
def test_a_link_is_made_of_what_it_can_hold(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    place.write("s.toml", NETWORK)
    place.write("code.toml", WAYS["text"]["text"])
    place.write("filed.toml", FILED.replace("slow.txt", "../elsewhere/slow.txt"))
    (place.elsewhere / "slow.txt").write_text(TRACE)
    python = "controller (written )?in Python"
    for command, words in (
        (["link", "code.toml"], python),
        (["link", "s.toml", "--set", PYTHON.format(place.elsewhere / "mine.py")], python),
        (["link", "filed.toml"], "outside the scenario's folder"),
        (
            ["link", "s.toml", "--set", "link.l.rate={ kind = 'trace', file = '../elsewhere/slow.txt' }"],
            "outside the current folder",
        ),
    ):
        capsys.readouterr()
        assert main(command) == 2, command
        assert re.search(words, capsys.readouterr().err)


@line("D1")
def test_data_are_regular_files(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """crates/lab/src/files.rs has the test of the limit."""
    os.mkfifo(place.folder / "fifo")
    place.write("s.toml", NETWORK)
    for name in ("fifo", "/dev/zero", "."):
        for value in (
            f"link.l.rate={{ kind = 'trace', file = '{name}' }}",
            f"flow.f.tcp.congestion_control={{ kind = 'ca_artt', fit = '{name}' }}",
            f"flow.f.tcp.congestion_control={{ python = '{name}:X' }}",
        ):
            capsys.readouterr()
            assert main(["run", "s.toml", "--set", value]) == 2
            assert "not a regular file" in capsys.readouterr().err


# Output.


@line("O1")
def test_files_are_written_whole(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda _: "guessed")
    target = place.folder / "t.csv"
    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", None)  # it is that of the whole process
        files.write_bytes(target, b"first")
        assert stat.S_IMODE(target.stat().st_mode) == 0o640
    finally:
        monkeypatch.undo()
        os.umask(before)

    def fail(file: Any) -> None:
        file.write(b"second")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        files.write(target, fail)
    assert target.read_bytes() == b"first"
    assert [path.name for path in place.folder.glob(".t.csv*")] == []
    monkeypatch.setattr("secrets.token_hex", lambda _: "guessed")
    (place.folder / ".t.csv.guessed").symlink_to(place.elsewhere / "victim")
    with pytest.raises(FileExistsError):
        files.write_bytes(target, b"third")
    assert not (place.elsewhere / "victim").exists()
    assert (place.folder / ".t.csv.guessed").is_symlink()


@line("O2")
@pytest.mark.parametrize(
    "option", ["--trace t.parquet", "--packets p.parquet", "--pcap c.pcapng", "--plot f.svg", "--export e.csv"]
)
def test_a_full_disk(place: Place, option: str) -> None:
    """No file may have more than 2,000 bytes."""
    name = option.split()[1]
    command = ["run", str(place.write("s.toml", NETWORK)), *option.split(), "--trace-every", "ack"]
    if "--export" in option:
        place.write("study.toml", NETWORK + "[sweep]\nseed = '1..9'\n")
        assert main(["sweep", "study.toml", "--out", "study"]) == 0
        place.files()
        command = ["results", "study", *option.split()]
    limit = (2000, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
    done = subprocess.run(
        [sys.executable, "-m", "ackclock.cli", *command],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2, done.stderr
    [said] = done.stderr.splitlines()
    assert said.startswith(f"ackclock: {name}: ")
    assert "File too large" in said
    assert place.files() == set()


@line("O3")
def test_text_has_no_effect(place: Place, capsys: pytest.CaptureFixture[str], blank: None) -> None:
    end = "</script><script>alert(1)</script>"
    title = f'title = "\\u001b[2J{end}"\n'
    place.write("s.toml", title + NETWORK.replace('"f"', '"f\\u001b[31m"'))
    for command in (["run"], ["check"], ["why", "--at", "0.1s"]):
        assert main([*command, "s.toml"]) == 0
        said = capsys.readouterr()
        assert "\x1b" not in said.out + said.err
    assert main(["view", "s.toml", "--no-open", "--out", "page.html"]) == 0
    page = (place.folder / "page.html").read_text()
    assert end not in page
    inside = page.partition('type="application/json"')[2].partition(">")[2].partition("</script>")[0]
    assert end in json.loads(inside)["text"]


@line("O5")
def test_the_server_answers_its_reader_alone() -> None:
    server = Server(Watched("<head><meta content=\"connect-src 'none'\"></head><body></body>"))
    host, _, port = server.origin.removeprefix("http://").partition(":")

    def ask(path: str, asked: str) -> int:
        connection = http.client.HTTPConnection(host, int(port), timeout=10)
        connection.request("GET", path, headers={"Host": asked})
        return connection.getresponse().status

    try:
        assert host == "127.0.0.1"
        assert server._http.server_address[0] == host
        assert len(server.token) >= 32
        assert ask(f"/{server.token}/", f"{host}:{port}") == 200
        assert ask(f"/{server.token}/", f"example.org:{port}") == 403
        assert ask(f"/{'x' * len(server.token)}/", f"{host}:{port}") == 403
    finally:
        server.close()


INSIDE = """
import os, socket
print(os.readlink("/proc/self/ns/uts"), os.readlink("/proc/self/ns/net"))
try:
    socket.create_connection(("192.0.2.1", 80), 5)
except OSError as error:
    print(error.errno)
"""


@line("E1")
@pytest.mark.skipif(not hasattr(_core, "emulate"), reason="runs in real time need Linux")
def test_programs_are_in_namespaces(place: Place) -> None:
    place.write("s.toml", NETWORK)
    command = [sys.executable, "-m", "ackclock.cli", "emulate", "s.toml", "--", sys.executable, "-c", INSIDE]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 3:
        pytest.skip(done.stderr.strip())
    names, error = done.stdout.splitlines()
    own = {os.readlink(f"/proc/self/ns/{kind}") for kind in ("uts", "net")}
    assert len(set(names.split()) - own) == 2
    assert error == "101"  # unreachable
