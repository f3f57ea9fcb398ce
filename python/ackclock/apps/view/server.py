"""What the two servers of pages share: `ackclock view --watch` and `ackclock serve`."""

from __future__ import annotations

import socketserver
import sys
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LOOPBACK = "127.0.0.1"
REQUEST_S = 10.0
"""The longest time in which a request must come, or a part of an answer must be taken, seconds."""
PART = 1 << 16
"""Bytes of an answer that are sent at a time."""
HEADERS = {
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""The headers of every answer."""


class LimitedServer(ThreadingHTTPServer):
    """Answers at most `most` connections at a time; another waits `wait_s` seconds for room, and is closed then."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], handler: type[Handler], most: int, wait_s: float = 0.0) -> None:
        self._room, self._wait_s = threading.BoundedSemaphore(most), wait_s
        super().__init__(address, handler)

    def server_bind(self) -> None:
        """Bind without a request for the name of the address, which can wait for a name server."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def process_request(self, request: Any, client_address: Any) -> None:
        """See socketserver."""
        if self._room.acquire(timeout=self._wait_s):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """See socketserver."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that has closed its connection, or that takes no data."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    """Sends pages with the headers of `HEADERS`, and writes nothing to the terminal."""

    server_version, sys_version = "ackclock", ""
    timeout = REQUEST_S

    def head(self, kind: str, status: int = 200, more: Mapping[str, str] | None = None) -> None:
        """Send the status and the headers, and leave the headers open."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        for name, value in (HEADERS | {"Cache-Control": "no-store"} | dict(more or {})).items():
            self.send_header(name, value)

    def send(self, kind: str, content: bytes, status: int = 200, more: Mapping[str, str] | None = None) -> None:
        """Send an answer; of a request HEAD its headers only."""
        self.head(kind, status, more)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            for at in range(0, len(content), PART):
                self.wfile.write(content[at : at + PART])

    def refuse(self, status: int, text: str) -> None:
        """Send a message instead of a page."""
        self.send("text/plain; charset=utf-8", f"{text}\n".encode(), status)

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing."""
