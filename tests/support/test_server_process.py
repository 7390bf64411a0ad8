"""Servers are awaited until they are healthy, and end with the block."""

from __future__ import annotations

import os
import sys
import urllib.request
from pathlib import Path

import pytest

from support.server_process import is_healthy, running

SERVER = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

class Answers(BaseHTTPRequestHandler):
    n = 0

    def do_GET(self):
        Answers.n += 1
        self.send_response(503 if Answers.n < 3 else 200)  # at first it is still loading
        self.end_headers()

assert sys.argv[1:4:2] == ["--host", "--port"]
print("begins", flush=True)
HTTPServer((sys.argv[2], int(sys.argv[4])), Answers).serve_forever()
"""


def test_a_server_is_awaited_and_ended(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with running([sys.executable, "-c", SERVER], os.environ, log, 60) as address:
        with urllib.request.urlopen(f"{address}/health") as answer:
            assert answer.status == 200
        assert is_healthy(address)
    assert not is_healthy(address)
    assert log.read_text().startswith("begins")


def test_a_server_that_ends_does_not_start(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no model')"]
    with pytest.raises(RuntimeError, match="does not start; see"), running(command, os.environ, tmp_path / "log", 60):
        pass
    assert "no model" in (tmp_path / "log").read_text()
