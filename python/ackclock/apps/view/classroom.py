"""`ackclock serve`: the laboratory, its lessons and scenarios for a local network, from memory."""

from __future__ import annotations

import gzip
import hashlib
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from errno import EACCES, EADDRINUSE
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from ackclock import ScenarioError
from ackclock.apps import share
from ackclock.apps.laboratory import page
from ackclock.apps.view import recorded
from ackclock.apps.view.listing import Group, ListedItem, of_groups
from ackclock.apps.view.opening import Page, Target
from ackclock.apps.view.server import LOOPBACK, Handler, LimitedServer
from ackclock.base.files import BadInput
from ackclock.base.link import PAGE, is_link
from ackclock.base.text import say
from ackclock.scenario import Scenario

EVERY = "0.0.0.0"
"""The host that stands for all addresses of this machine."""
LESSONS = 19
"""Lessons of the laboratory (`web/lessons`)."""
TITLE = "Networks and lessons"
INTRO = "Each link opens a page in this browser. Nothing is installed."
MISSING = "There is no such page here."
MOST_CONNECTIONS = 256
WAIT_S = 10.0
"""The longest time that a connection waits while there are `MOST_CONNECTIONS` others, seconds."""
Build = Callable[[Target], Page]
"""Makes a page, as `ackclock view` does."""


def lesson(number: int) -> str:
    """The address of a lesson, relative to the server."""
    return f"{PAGE}#lesson={number}"


def pages(
    named: Sequence[Path],
    build: Build,
    first: int = 1,
    *,
    allow_code: bool = False,
    tell: Callable[[str], object] = say,
) -> dict[str, str]:
    """The pages that are served, by their names: the laboratory, and as the page "" the list of what was named.

    The list leads to the lesson `first`. A scenario is a link to the laboratory. One that a link cannot hold, and a
    recorded run, has a page of its own. `tell` is called with what of a folder is no scenario. Raises BadInput,
    ScenarioError, OSError.
    """
    served = {PAGE: page()}
    if not named:
        return served
    items: list[ListedItem] = []
    for path in (path for entry in named for path in _scenarios(entry, tell, allow_code=allow_code)):
        scenario = _scenario(path, allow_code=allow_code)
        title = path.stem if scenario is None else scenario.title
        link = "" if scenario is None else _link(scenario)
        if link and len(link) <= share.LONGEST:
            href = link
        else:
            own = build(Target(path, record=scenario is not None and not link, allow_code=allow_code))
            if own.links or own.at is not None:
                raise BadInput(f"{path}: serve takes scenarios, recorded runs, and folders of them")
            name = _free(own.name, served)
            served[name], href = own.text, quote(name)
        items.append(ListedItem("scenario" if is_link(str(path)) else path.name, title, href))
    always = [
        ListedItem("Laboratory", "edit a network, run it, see its packets", PAGE),
        ListedItem("Lessons", f"{LESSONS}, each with a question before its answer", lesson(first)),
    ]
    groups = [Group("Start", always), Group("Scenarios", items)]
    return served | {"": of_groups(TITLE, groups, INTRO)}


def _scenarios(path: Path, tell: Callable[[str], object], *, allow_code: bool) -> list[Path]:
    """The scenarios of a folder that are not studies; of anything else the path itself."""
    if not path.is_dir() or recorded.is_run(recorded.logs(path)):
        return [path]
    files = []
    for file in sorted(path.glob("*.toml")):
        try:
            if not Scenario.load(file, allow_code=allow_code).is_study:
                files.append(file)
        except ScenarioError as error:
            tell(f"not served: {str(error).partition(chr(10))[0]}")
    if not files:
        raise BadInput(f"{path}: has no scenario (.toml) to serve")
    return files


def _scenario(path: Path, *, allow_code: bool) -> Scenario | None:
    """The scenario of a path; None if it names something else. Raises BadInput for a study."""
    if is_link(str(path)) or path.suffix == ".toml":
        scenario = Scenario.load(path, allow_code=allow_code)
        if scenario.is_study:
            raise BadInput(f"{path}: is a study of many runs; serve a scenario without sweep")
        return scenario
    return None


def _link(scenario: Scenario) -> str:
    """The link to a scenario; empty if a link cannot hold it."""
    try:
        return share.link(scenario)
    except (BadInput, ScenarioError):
        return ""


def _free(stem: str, taken: Mapping[str, str]) -> str:
    """The name of a page that no other page has."""
    names: Iterator[str] = (f"{stem}{'' if n == 1 else f'-{n}'}.html" for n in range(1, len(taken) + 2))
    return next(name for name in names if name not in taken)


@dataclass(frozen=True)
class Document:
    """A page as it is sent."""

    plain: bytes
    packed: bytes
    """The same, compressed with gzip."""
    tag: str
    """The begin of its hash."""

    @classmethod
    def of(cls, text: str) -> Document:
        """The document of a page."""
        plain = text.encode()
        return cls(plain, gzip.compress(plain, mtime=0), hashlib.sha256(plain).hexdigest()[:32])


class Classroom:
    """Serves pages until it is closed. A request names one of them, and no file of the disk."""

    def __init__(self, served: Mapping[str, str], host: str, port: int, first: int | None = None) -> None:
        """Raises BadInput if it cannot listen there. Without a page "" this address leads to the lesson `first`.

        A server on an address of the loopback answers only requests that have this address as `Host`: another site's
        page can send requests by a name that resolves to it.
        """
        documents = {name: Document.of(text) for name, text in served.items()}
        self._http = _listen(host, port, _handler(self, documents, PAGE if first is None else lesson(first)))
        self.host, self.port = str(self._http.server_address[0]), self._http.server_port
        """The address on which it listens, also if a name was given."""

    def origin(self, host: str) -> str:
        """The address of this server by one of its hosts."""
        return f"http://{host}:{self.port}"

    def run(self) -> None:
        """Answer requests until KeyboardInterrupt."""
        self._http.serve_forever()

    def close(self) -> None:
        """End the server. Call `stop` first if `run` is running in another thread."""
        self._http.server_close()

    def stop(self) -> None:
        """Let `run`, which is running in another thread, return."""
        self._http.shutdown()


def _listen(host: str, port: int, handler: type[Handler]) -> LimitedServer:
    try:
        return LimitedServer((host, port), handler, MOST_CONNECTIONS, WAIT_S)
    except OSError as error:
        if error.errno == EADDRINUSE:
            remedy = f"write another, such as --port {port + 1}, or --port 0 for a free one"
            raise BadInput(f"--port {port}: another program uses this port; {remedy}") from None
        if error.errno == EACCES:
            raise BadInput(f"--port {port}: ports below 1024 are for administrators; write --port 8000") from None
        remedy = f"write {LOOPBACK} (this machine), {EVERY} (its networks) or one of its addresses"
        raise BadInput(f"--host {host}: is no address of this machine; {remedy}") from None


def _handler(server: Classroom, documents: Mapping[str, Document], first: str) -> type[Handler]:
    class OfClassroom(Handler):
        def do_GET(self) -> None:
            hosts = {f"{name}:{server.port}" for name in (server.host, "localhost")}
            if ip_address(server.host).is_loopback and self.headers.get("Host") not in hosts:
                return self.refuse(403, f"Open {server.origin(server.host)}/")
            name = unquote(urlsplit(self.path).path).removeprefix("/")
            document = documents.get(name)
            if document is None and name == "":
                return self.send("text/plain; charset=utf-8", b"", 302, {"Location": f"/{first}"})
            return self.refuse(404, MISSING) if document is None else self._document(document)

        do_HEAD = do_GET

        def _document(self, document: Document) -> None:
            packed = _accepts_gzip(self.headers.get("Accept-Encoding", ""))
            tag = f'"{document.tag}{"-gzip" if packed else ""}"'
            more = {"ETag": tag, "Vary": "Accept-Encoding", "Cache-Control": "no-cache"}
            tags = [text.strip().removeprefix("W/") for text in self.headers.get("If-None-Match", "").split(",")]
            if tag in tags or "*" in tags:
                self.head("text/html; charset=utf-8", 304, more)
                return self.end_headers()
            encoding = {"Content-Encoding": "gzip"} if packed else {}
            content = document.packed if packed else document.plain
            return self.send("text/html; charset=utf-8", content, 200, more | encoding)

    return OfClassroom


def _accepts_gzip(header: str) -> bool:
    """Whether a browser reads gzip, by its header Accept-Encoding."""
    codings = [coding.replace(" ", "").lower().partition(";q=") for coding in header.split(",")]
    return any(name == "gzip" and (weight.strip("0.") or not weight) for name, _, weight in codings)


def network_address() -> str | None:
    """The address of this machine in the network of its default route; None if it has no network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # of documentation (RFC 5737); it sends nothing, and chooses a route
        except OSError:
            return None
        return str(probe.getsockname()[0])
