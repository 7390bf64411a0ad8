"""A proxy between a framework and a server. It notes what the framework sends, and with which status it is answered."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

SECONDS = 300  # for an answer
PIECE = 1 << 16


@dataclass(frozen=True)
class Exchange:
    """A request with a body, and what it was answered."""

    path: str
    body: Any
    status: int
    answer: str


@dataclass
class Recorder:
    """Where frameworks send their requests, and what has come so far."""

    address: str = ""
    exchanges: list[Exchange] = field(default_factory=list)

    def take(self) -> list[Exchange]:
        """Return what has come since the last call."""
        taken, self.exchanges = self.exchanges, []
        return taken


@contextmanager
def recording(server: str) -> Iterator[Recorder]:
    """Stand before a server, and yield the recorder."""
    target = urlsplit(server)
    recorder = Recorder()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *arguments: Any) -> None:
            pass

        def do_GET(self) -> None:
            self.forward("GET", None)

        def do_POST(self) -> None:
            self.forward("POST", self.rfile.read(int(self.headers.get("content-length", 0))))

        def forward(self, method: str, body: bytes | None) -> None:
            connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=SECONDS)
            sent = {
                name: self.headers[name] for name in ("content-type", "authorization", "accept") if name in self.headers
            }
            connection.request(method, self.path, body, sent)
            answer = connection.getresponse()
            self.send_response(answer.status)
            self.send_header("content-type", answer.getheader("content-type", "application/json"))
            self.end_headers()  # HTTP/1.0: the end of the connection ends the body
            pieces = []
            while piece := answer.read1(PIECE):
                pieces.append(piece)
                with suppress(OSError):  # a client may go away before the end
                    self.wfile.write(piece)
            connection.close()
            if body is not None:
                text = b"".join(pieces).decode()
                recorder.exchanges.append(Exchange(self.path, json.loads(body), answer.status, text))

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    recorder.address = f"http://127.0.0.1:{listener.server_address[1]}"
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    try:
        yield recorder
    finally:
        listener.shutdown()
        listener.server_close()
