"""A server in a process of its own: `vllm serve`, SGLang's, `earleymask serve`. It must answer `GET /health`."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def running(command: Sequence[str], variables: Mapping[str, str], log: str | Path, seconds: float) -> Iterator[str]:
    """Run a server at a free port, which `--host` and `--port` tell it. Yield its address when it is healthy.

    variables: all variables of the environment. log: the file for what the server prints.

    Raises RuntimeError if the server ends, or is not healthy after so many seconds. At the end, the process and those
    that it started are told to end, and killed if they are still there 20 seconds later.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with open(log, "w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            env=dict(variables),
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        deadline = time.monotonic() + seconds
        while not is_healthy(address):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the server does not start; see {log}")
            time.sleep(0.5)
        yield address
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


def is_healthy(address: str, seconds: float = 30) -> bool:
    """Return whether the server says so within some seconds."""
    try:
        with urllib.request.urlopen(f"{address}/health", timeout=seconds) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
