"""`ackclock view --watch`: serves one page on this machine alone, and sends it an event when its files were saved."""

from __future__ import annotations

import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ackclock.apps.view.server import LOOPBACK, Handler, LimitedServer
from ackclock.base.files import BadInput

POLL_S = 0.25
"""Seconds between two checks of the files."""
ALIVE_S = 15.0
"""Seconds after which an event is sent again; writing it fails if the browser has closed the connection."""
CLOSED = "connect-src 'none'"
HEAD = 2000
"""Characters in which the page states its policy; a scenario further on can have the same words."""
ENDED = "ackclock view --watch has ended; start it again"
REFUSED = "Open the address that ackclock view printed."
SCRIPT = """<script id="ackclock-watch">(() => {
  const seen = __VERSION__;
  const channel = new EventSource('events');
  let box = null;
  const show = (text) => {
    if (!box) {
      box = document.createElement('p');
      box.id = 'ackclock-problem';
      box.setAttribute('role', 'alert');
      box.style.cssText = 'position:fixed;inset:auto 1rem 1rem 1rem;z-index:99;margin:0;padding:.7rem 1rem;'
        + 'border-radius:6px;font:14px/1.45 system-ui,sans-serif;background:#7f1d17;color:#fff;'
        + 'white-space:pre-wrap;overflow-wrap:anywhere';
      document.body.append(box);
    }
    box.textContent = text;
  };
  channel.onmessage = (message) => {
    const state = JSON.parse(message.data);
    if (state.problem) show(state.problem);
    else if (state.version !== seen) location.reload();
    else if (box) { box.remove(); box = null; }
  };
  channel.onerror = () => show('__ENDED__');
})();</script>""".replace("__ENDED__", ENDED)


class Watched:
    """The current page, and the state that browsers are sent when it changes."""

    def __init__(self, text: str) -> None:
        self._changed = threading.Condition()
        self._text, self._version, self._problem, self._turn = text, 0, "", 0
        self.ended = False

    def show(self, text: str) -> None:
        """Replace the page; browsers that show it reload."""
        with self._changed:
            self._text, self._problem = text, ""
            self._version += 1
            self._turn += 1
            self._changed.notify_all()

    def refuse(self, problem: str) -> None:
        """Keep the page, and show a message on it."""
        with self._changed:
            self._problem = problem
            self._turn += 1
            self._changed.notify_all()

    def end(self) -> None:
        """End the connections that wait for a change."""
        with self._changed:
            self.ended = True
            self._changed.notify_all()

    def page(self, origin: str) -> bytes:
        """The page with the script that receives events; its policy allows a connection to this origin alone."""
        with self._changed:
            text, version = self._text, self._version
        if CLOSED not in text[:HEAD]:
            raise BadInput("the page of this installation is damaged; build it with: cd web && npm run build")
        text = text.replace(CLOSED, f"connect-src {origin}", 1)
        at = text.rindex("</body>")
        return (text[:at] + SCRIPT.replace("__VERSION__", str(version)) + text[at:]).encode()

    def state(self, after: int, timeout_s: float) -> tuple[int, str]:
        """The number of the latest change, and the state as JSON.

        Waits for a change later than `after`, at most `timeout_s` seconds, or until the end.
        """
        with self._changed:
            self._changed.wait_for(lambda: self.ended or self._turn > after, timeout_s)
            return self._turn, json.dumps({"version": self._version, "problem": self._problem})


MOST_CONNECTIONS = 64


class Server:
    """Serves `Watched` on a free port of 127.0.0.1 until it is closed. Its address has a secret token."""

    def __init__(self, watched: Watched) -> None:
        self.token = secrets.token_urlsafe(24)
        self._watched = watched
        self._http = LimitedServer((LOOPBACK, 0), _handler(self, watched), MOST_CONNECTIONS)
        self.origin = f"http://{LOOPBACK}:{self._http.server_port}"
        self.address = f"{self.origin}/{self.token}/"
        threading.Thread(target=self._http.serve_forever, daemon=True, name="ackclock-view").start()

    def close(self) -> None:
        """End the server and its connections."""
        self._watched.end()
        self._http.shutdown()
        self._http.server_close()


def _handler(server: Server, watched: Watched) -> type[Handler]:
    class OfWatched(Handler):
        def do_GET(self) -> None:
            # Another site's page can send requests here by a name that resolves to 127.0.0.1: its Host differs.
            if self.headers.get("Host") != server.origin.removeprefix("http://"):
                return self.refuse(403, REFUSED)
            token, *rest = self.path.removeprefix("/").split("/", 1)
            if not hmac.compare_digest(token.encode("utf-8", "replace"), server.token.encode()):
                return self.refuse(403, REFUSED)
            if rest == [""]:
                return self.send("text/html; charset=utf-8", watched.page(server.origin))
            return self._events() if rest == ["events"] else self.refuse(404, REFUSED)

        def _events(self) -> None:
            self.head("text/event-stream")
            self.end_headers()
            turn, state = watched.state(-1, 0.0)
            while not watched.ended:
                self.wfile.write(f"data: {state}\n\n".encode())
                self.wfile.flush()
                turn, state = watched.state(turn, ALIVE_S)

    return OfWatched


Stamp = list[tuple[int, int] | None]
COARSE_NS = 20_000_000
"""How much the times of files may lag behind the clock, nanoseconds."""


def stamp(paths: Sequence[Path], since_ns: int | None = None) -> Stamp:
    """What changes when one of these files is saved; None for a file that is missing, or saved after `since_ns`."""
    stamps: Stamp = []
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            stamps.append(None)  # an editor may replace the file at this moment
            continue
        late = since_ns is not None and status.st_mtime_ns > since_ns - COARSE_NS
        stamps.append(None if late else (status.st_mtime_ns, status.st_size))
    return stamps


def wait_for_save(paths: Sequence[Path], before: Stamp, poll_s: float = POLL_S) -> None:
    """Return when one of the files has changed since `before` and none has changed between two checks."""
    last = before
    while True:
        time.sleep(poll_s)
        now = stamp(paths)
        if now != before and now == last and None not in now:
            return
        last = now


def watch(paths: Sequence[Path], since_ns: int, update: Callable[[], Sequence[Path]]) -> None:
    """Call `update` at each save of the files; it returns the files to watch from then on. Ends with Ctrl-C.

    `since_ns` is the time at which the files were first read (time.time_ns): what was saved later counts.
    """
    watched = list(paths)
    before = stamp(watched, since_ns)
    while True:
        wait_for_save(watched, before)
        before, began = stamp(watched), time.time_ns()
        files = list(update())
        if files != watched:
            watched, before = files, stamp(files, began)
