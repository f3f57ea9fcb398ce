"""`ackclock view --watch`: what its server answers, and how it sees that a file was saved."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ackclock.apps.view.serve import Server, Watched, stamp, wait_for_save


@pytest.fixture
def served() -> Iterator[tuple[Server, Watched]]:
    watched = Watched("<head><meta content=\"connect-src 'none'\"></head><body>first connect-src 'none'</body>")
    server = Server(watched)
    yield server, watched
    server.close()


def ask(server: Server, path: str, host: str | None = None, method: str = "GET") -> tuple[int, str]:
    port = int(server.origin.rpartition(":")[2])
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request(method, path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    found = answer.status, answer.read().decode()
    connection.close()
    return found


def test_the_server_answers_its_token_and_its_host_alone(served: tuple[Server, Watched]) -> None:
    server, _ = served
    own = f"/{server.token}/"
    status, text = ask(server, own)
    assert status == 200
    assert f"connect-src {server.origin}" in text
    assert text.count("connect-src 'none'") == 1, "the policy alone is changed"
    assert ask(server, "/")[0] == ask(server, "/x/")[0] == ask(server, f"/{server.token}x/")[0] == 403
    assert ask(server, own, host="example.org")[0] == ask(server, own, host="localhost:80")[0] == 403
    assert ask(server, f"{own}../../etc/passwd")[0] == ask(server, f"/{server.token}")[0] == 404
    assert ask(server, own, method="POST")[0] == 501
    other = Server(Watched("x"))
    assert other.token != server.token
    other.close()


def test_refusals_say_which_address_to_open(served: tuple[Server, Watched]) -> None:
    server, _ = served
    expected = "Open the address that ackclock view printed.\n"
    assert ask(server, "/") == (403, expected)
    assert ask(server, f"/{server.token}/", host="example.org") == (403, expected)
    assert ask(server, f"/{server.token}/other") == (404, expected)


def test_the_channel_says_what_was_saved(served: tuple[Server, Watched]) -> None:
    server, watched = served
    connection = http.client.HTTPConnection("127.0.0.1", int(server.origin.rpartition(":")[2]), timeout=10)
    connection.request("GET", f"/{server.token}/events")
    answer = connection.getresponse()

    def said() -> dict[str, Any]:
        line = answer.readline()
        assert answer.readline() == b"\n"
        found: dict[str, Any] = json.loads(line.removeprefix(b"data: "))
        return found

    assert said() == {"version": 0, "problem": ""}
    watched.refuse("line 3: no")
    assert said() == {"version": 0, "problem": "line 3: no"}
    watched.show("<head><meta content=\"connect-src 'none'\"></head><body>second</body>")
    assert said() == {"version": 1, "problem": ""}
    assert "second" in ask(server, f"/{server.token}/")[1]
    connection.close()


def test_a_save_is_seen_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("1")
    before = stamp([path])

    def save() -> None:
        time.sleep(0.05)
        path.unlink()  # as an editor that replaces the file
        time.sleep(0.05)
        path.write_text("22")

    thread = threading.Thread(target=save)
    thread.start()
    wait_for_save([path], before, poll_s=0.02)
    thread.join()
    assert path.read_text() == "22"


def test_a_save_while_the_files_are_read_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("1")
    began = time.time_ns()
    assert stamp([path], began + 10**9) != [None]
    assert stamp([path], began - 10**9) == [None]
    wait_for_save([path], stamp([path], began - 10**9), poll_s=0.01)  # does not wait for another save
