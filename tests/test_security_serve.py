"""`ackclock serve`: what its server answers, and the lines of docs/security.md about it."""

from __future__ import annotations

import gzip
import http.client
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from ackclock import ScenarioError
from ackclock.apps.view import classroom, opening
from ackclock.apps.view.classroom import EVERY, LESSONS, Classroom
from ackclock.apps.view.server import LOOPBACK
from ackclock.base.files import BadInput
from ackclock.base.link import PAGE, unpack
from ackclock.cli.app import main
from security import NETWORK, Place, line, refused

PAGES = {PAGE: "<p>laboratory</p>" + "x" * 300_000, "own.html": "<p>own</p>"}


@contextmanager
def serving(pages: Mapping[str, str] = PAGES, host: str = LOOPBACK, first: int | None = None) -> Iterator[Classroom]:
    server = Classroom(pages, host, 0, first)
    thread = threading.Thread(target=server.run)
    thread.start()
    yield server
    server.stop()
    thread.join()
    server.close()


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    content: bytes


def ask(server: Classroom, path: str, method: str = "GET", **headers: str) -> Answer:
    connection = http.client.HTTPConnection(LOOPBACK, server.port, timeout=10)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    try:
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def test_pages_are_sent_compressed_and_once() -> None:
    with serving() as server:
        plain = ask(server, f"/{PAGE}")
        assert plain.status == 200
        assert plain.content == PAGES[PAGE].encode()
        assert plain.headers["content-type"] == "text/html; charset=utf-8"
        packed = ask(server, f"/{PAGE}", Accept_Encoding="br, gzip;q=0.8")
        assert packed.headers["content-encoding"] == "gzip"
        assert len(packed.content) < 2_000
        assert gzip.decompress(packed.content) == plain.content
        assert packed.headers["vary"] == plain.headers["vary"] == "Accept-Encoding"
        assert packed.headers["etag"] != plain.headers["etag"]
        assert "content-encoding" not in ask(server, f"/{PAGE}", Accept_Encoding="gzip;q=0, br").headers
        for tag in (packed.headers["etag"], f'"x", W/{packed.headers["etag"]}', "*"):
            again = ask(server, f"/{PAGE}", Accept_Encoding="gzip", If_None_Match=tag)
            assert (again.status, again.content) == (304, b"")
        assert ask(server, f"/{PAGE}", If_None_Match=packed.headers["etag"]).status == 200
        head = ask(server, f"/{PAGE}", "HEAD")
        assert (head.status, head.content) == (200, b"")
        assert head.headers["content-length"] == str(len(plain.content))
        assert head.headers["etag"] == plain.headers["etag"]


def test_the_first_page() -> None:
    with serving() as server:
        answer = ask(server, "/")
        assert (answer.status, answer.headers["location"]) == (302, f"/{PAGE}")
    with serving(first=3) as server:
        assert ask(server, "/?a").headers["location"] == f"/{PAGE}#lesson=3"
    with serving(PAGES | {"": "a list"}, first=3) as server:
        assert ask(server, "/").content == b"a list"


def test_many_browsers_at_once() -> None:
    with serving() as server, ThreadPoolExecutor(60) as browsers:
        statuses = list(browsers.map(lambda _: len(ask(server, f"/{PAGE}").content), range(240)))
    assert set(statuses) == {len(PAGES[PAGE])}


def test_a_browser_that_leaves_costs_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    with serving({PAGE: os.urandom(5_000_000).hex()}) as server:
        for _ in range(5):
            with socket.create_connection((LOOPBACK, server.port)) as gone:
                gone.sendall(f"GET /{PAGE} HTTP/1.1\r\nHost: {LOOPBACK}:{server.port}\r\n\r\n".encode())
                assert gone.recv(1000).startswith(b"HTTP/1.0 200")
        assert ask(server, "/").status == 302
    assert capfd.readouterr().err == ""


@line("O7", "serve")
def test_no_request_names_a_file(place: Place) -> None:
    (place.folder / "secret.html").write_text("secret")
    with serving() as server:
        for path in (
            *("/secret.html", "/./secret.html", "/../secret.html", f"/{PAGE}/../secret.html", "//secret.html"),
            *("/../../../../etc/passwd", "/..%2f..%2fetc/passwd", "/%2e%2e/secret.html", "/own.html/", "/%00", "/own"),
            *(f"/{place.folder}/secret.html", f"file://{place.folder}/secret.html"),
        ):
            answer = ask(server, path)
            assert (answer.status, answer.content) == (404, b"There is no such page here.\n"), path
        for name in ("X-Content-Type-Options", "X-Frame-Options", "Referrer-Policy", "Cross-Origin-Resource-Policy"):
            assert name.lower() in ask(server, f"/{PAGE}").headers, name
        assert ask(server, f"/{PAGE}", "POST").status == ask(server, "/new", "PUT").status == 501
        assert ask(server, f"/{PAGE}", Host=f"example.org:{server.port}").status == 403
        assert ask(server, f"/{PAGE}", Host=f"localhost:{server.port}").status == 200
        assert server._http.server_address[0] == LOOPBACK
    with serving(host="localhost") as server:
        assert (server.host, server._http.server_address[0]) == (LOOPBACK, LOOPBACK)
        assert ask(server, f"/{PAGE}", Host=f"example.org:{server.port}").status == 403
        assert ask(server, f"/{PAGE}", Host=f"localhost:{server.port}").status == 200
    with serving(host=EVERY) as server:
        assert ask(server, f"/{PAGE}", Host=f"teacher.local:{server.port}").status == 200


@pytest.mark.usefixtures("blank")
def test_what_is_named_is_listed(place: Place) -> None:
    place.write("plain.toml", NETWORK.replace("[[link]]", 'title = "A link"\n[[link]]'))
    place.write("s.toml", NETWORK.replace('recovery = "newreno"', 'congestion_control = { python = "mine.py:X" }'))
    place.write("more/s.toml", (place.folder / "s.toml").read_text())
    (place.folder / "more/mine.py").write_bytes((place.folder / "mine.py").read_bytes())
    place.write("more/study.toml", NETWORK + "[sweep]\nseed = [1, 2]\n")
    named = [Path("plain.toml"), Path("s.toml"), Path("more")]
    pages = classroom.pages(named, opening.build, 5)
    assert set(pages) == {"", PAGE, "s.html", "s-2.html"}
    links = re.findall(r'href="([^"]*)"', pages[""])
    assert [links[0], links[1], *links[3:]] == [PAGE, f"{PAGE}#lesson=5", "s.html", "s-2.html"]
    assert unpack(links[2])["text"] == (place.folder / "plain.toml").read_text()
    assert "A link" in pages[""]
    assert "ackclock-recording" in pages["s.html"]
    assert str(place.folder) not in pages[""]
    assert set(classroom.pages([], opening.build)) == {PAGE}
    for name, words in {
        "more/study.toml": "is a study of many runs; serve a scenario without sweep",
        "nosuch.toml": "No such file",
        "empty": "has no scenario",
    }.items():
        (place.folder / "empty").mkdir(exist_ok=True)
        with pytest.raises((BadInput, OSError), match=words):
            classroom.pages([Path(name)], opening.build)


@pytest.mark.usefixtures("blank")
def test_a_scenario_with_a_base_file_elsewhere_is_recorded(place: Place) -> None:
    (place.elsewhere / "base.toml").write_text(NETWORK)
    place.write("s.toml", "extends = '../elsewhere/base.toml'")
    with pytest.raises(ScenarioError, match="is outside the folder"):
        classroom.pages([Path("s.toml")], opening.build)
    pages = classroom.pages([Path("s.toml")], opening.build, allow_code=True)
    assert set(pages) == {"", PAGE, "s.html"}
    assert "ackclock-recording" in pages["s.html"]


@pytest.mark.usefixtures("blank")
def test_what_is_no_scenario_of_a_folder_is_not_served(place: Place) -> None:
    for name in ("a", "z"):
        place.write(f"more/{name}.toml", NETWORK.replace("[[link]]", f'title = "Network {name}"\n[[link]]'))
    place.write("more/score.toml", '[score]\nformula = "goodput"\n')
    told: list[str] = []
    pages = classroom.pages([Path("more")], opening.build, tell=told.append)
    assert "Network a" in pages[""]
    assert "Network z" in pages[""]
    [line] = told
    assert line.startswith("not served: more/score.toml:1: ")
    with pytest.raises(ScenarioError, match=r"score\.toml"):
        classroom.pages([Path("more/score.toml")], opening.build)


def test_the_number_of_lessons(root: Path) -> None:
    assert len(list((root / "web/lessons").glob("*.md"))) == LESSONS == 19
    places = [root / "README.md", root / "CHANGELOG.md", *(root / "docs").glob("*.md")]
    places += [root / "python/ackclock/cli" / name for name in ("view.py", "serve.py")]
    count = re.compile(r"\b(\d+|[a-z]+teen|eleven|twelve) (?:lessons|texts with runs)|from 1 to (\d+)\.$", re.I | re.M)
    counts = [match for path in places for match in count.findall(path.read_text(encoding="utf-8"))]
    assert len(counts) > 6
    assert {"".join(words).lower() for words in counts} == {"19", "nineteen"}


@pytest.mark.usefixtures("blank")
def test_what_cannot_be_served(capsys: pytest.CaptureFixture[str]) -> None:
    with serving() as server:
        refused(capsys, "serve", "--port", str(server.port), words=f"write another, such as --port {server.port + 1}")
    refused(capsys, "serve", "--port", "70000", words="is not a number from 0 to 65535")
    refused(capsys, "serve", "--host", "192.0.2.77", words="write 127.0.0.1 (this machine), 0.0.0.0")
    refused(capsys, "serve", "--lesson", str(LESSONS + 1), words=f"is not a number from 1 to {LESSONS}")
    assert main(["serve", "nosuch.toml"]) == 2


def test_it_says_its_addresses_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    def start(*arguments: str) -> tuple[subprocess.Popen[str], list[str]]:
        command = [sys.executable, "-m", "ackclock.cli", "serve", "--port", "0", *arguments]
        process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        lines: list[str] = []
        while "Ctrl-C" not in (text := process.stderr.readline()):
            assert text, "".join(lines)
            lines.append(text)
        return process, lines

    process, lines = start("--lesson", "3")
    address = re.fullmatch(r"serving (http://127\.0\.0\.1:\d+/)\n", lines[0])
    assert address is not None, lines
    assert lines[1] == f"a lesson: {address[1]}{PAGE}#lesson=3\n"
    assert lines[2].endswith("ackclock serve --host 0.0.0.0\n")
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=20)
    assert (process.returncode, error) == (0, "ended\n")
    process, lines = start("--host", EVERY)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=20)
    address = re.fullmatch(r"serving http://([\d.]+):(\d+)/\n", lines[0])
    assert address is not None, lines
    own = classroom.network_address()
    assert address[1] == (own or LOOPBACK)
    words = "has no network" if own is None else f"firewall of this machine accept TCP port {address[2]}"
    assert words in lines[2]
