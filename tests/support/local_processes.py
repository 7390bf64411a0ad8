"""The processes of the grammars of a server, in threads of this one, so that a test sees and changes what they do."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import Pipe
from typing import Any

from earleymask import Vocabulary
from earleymask.integration.server.grammar_process import GrammarProcesses, then
from earleymask.integration.server.link import Asker, unanswered
from earleymask.integration.server.options import Options
from earleymask.integration.server.preparing import Preparer
from earleymask.integration.server.served import Served
from support.tiny_server import tokenizer_with_template

PATIENCE = 120
BODY: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "user", "content": "hi"}],
    "max_tokens": 60,
    "temperature": 0,
}


def both(seconds: float) -> dict[str, float]:
    """Return options by which both processes that give up what is slow do so after these seconds."""
    return {"quick_seconds": seconds, "medium_seconds": seconds}


def wait_for(is_so: Any) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.001)


class Local:
    """Stands for a process, in threads of this one."""

    n_grammars = 0

    def __init__(self, preparer: Preparer, next: Local | None = None) -> None:
        self.next = next
        (bodies, their_bodies), (masks, their_masks) = Pipe(), Pipe()
        self.preparer = preparer
        self.served = Served(preparer, their_bodies, their_masks)
        self.bodies, self.masks = Asker(bodies, lambda: None), Asker(masks, lambda: None)
        self._pipes = their_bodies, their_masks
        self._threads = [threading.Thread(target=read) for read in (self.served.read_bodies, self.served.read_masks)]
        for thread in self._threads:
            thread.start()

    def ask(self, *what: Any) -> Any:
        future = unanswered()
        then(self.bodies.ask(*what), future, lambda counted: future.set_result((self, counted[0])))
        return future

    def tell(self, *what: Any) -> None:
        self.masks.tell(*what)

    def close(self) -> None:
        for pipe in self._pipes:
            with socket.socket(fileno=os.dup(pipe.fileno())) as end:
                end.shutdown(socket.SHUT_RDWR)  # as if the process had ended: `close` would not wake who reads
        for asker in (self.bodies, self.masks):
            asker.thread.join()
            asker.close()
        self.served.workers.close()
        for thread in self._threads:
            thread.join()


@contextmanager
def local_processes() -> Iterator[GrammarProcesses]:
    """All processes, in threads of this one."""
    tokenizer = tokenizer_with_template()
    given = Vocabulary.from_transformers(tokenizer), tokenizer, "hermes", Options(name="m", **both(10)), 4096
    made = GrammarProcesses(*given)
    here: Any = made
    next: Any = None
    for kind in ("slow", "medium", "quick", "long"):
        next = Local(Preparer(*given, kind=kind), next)
        setattr(here, kind, next)
    yield made
    for one in here._all():  # all that was told before has arrived
        one.tell("drop", -1)
        wait_for(lambda one=one: -1 in one.served._dropped)
        one.tell("forget", -1)
        wait_for(lambda one=one: not one.served._dropped and not one.served._matchings)
    made.close()
