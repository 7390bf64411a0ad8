"""The fixed work whose instructions are counted; `instructions.py` runs it under valgrind.

    python -m bench.instruction_work FILE       reads the job, which `job()` makes, as JSON

`mark()` ends one phase and begins the next. A phase has the instructions between its two marks.
"""

from __future__ import annotations

import gc
import json
import os
import sys
from pathlib import Path
from typing import Any

from earleymask.trie import Vocabulary

from .engines import Earleymask, Session
from .harness import vocabularies
from .texts import families

PHASES = ("vocabulary", "grammars", "cold masks", "second masks", "warm masks", "recurring masks", "accepts")
MARKER = "getppid"
"""A function of libc that nothing else calls here. Whenever it is called, valgrind writes its counts to a file."""
N_TOKENS = 120
"""The most tokens for which a text is followed: under valgrind, code runs tens of times slower."""
N_RECURRING = 200
"""The number of masks that the phase of recurring masks fills at one position."""


def job() -> dict[str, Any]:
    """Return the input of the work, which is not counted: the tokens of the vocabulary and of the texts."""
    vocabulary, encode = vocabularies.load("made-up")
    kinds = [*families.FIRST, *families.SECOND.values()]
    texts = {kind: list(encode(families.generate(kind, 1, 2000)))[:N_TOKENS] for kind in kinds}
    pieces = [vocabulary.token_bytes(token).hex() for token in range(vocabulary.size)]
    return {"pieces": pieces, "eos": vocabulary.eos_token_ids[0], "texts": texts}


def mark() -> None:
    """End a phase and begin the next."""
    os.getppid()


def work(pieces: list[bytes], eos: int, texts: dict[str, list[int]]) -> None:
    """Run the phases in the order of `PHASES`."""
    second = families.SECOND.values()
    Earleymask(Vocabulary.bytes()).open("start: A\n%import common.INT -> A")  # imports what the phases need
    mark()
    vocabulary = Vocabulary.from_tokens(pieces, eos_token_id=eos)
    _ = vocabulary.trie
    engine = Earleymask(vocabulary)
    grammars = {kind: engine.grammar(kind) for kind in texts}
    mark()
    sessions = {kind: engine.open(grammars[kind]) for kind in texts}
    mark()
    _follow({kind: sessions[kind] for kind in families.FIRST if kind in texts}, texts)
    mark()
    _follow({kind: sessions[kind] for kind in second if kind in texts}, texts)
    again = [session.again for session in sessions.values() if session.again is not None]
    sessions = dict(zip(texts, (reopen() for reopen in again), strict=True))
    mark()
    _follow(sessions, texts)
    mark()
    for session in sessions.values():
        for _ in range(N_RECURRING):
            session.fill()
    sessions = dict(zip(texts, (reopen() for reopen in again), strict=True))
    mark()
    for kind, session in sessions.items():
        for token in texts[kind]:
            assert session.accept(token)
    mark()


def _follow(sessions: dict[str, Session], texts: dict[str, list[int]]) -> None:
    for kind, session in sessions.items():
        for token in texts[kind]:
            session.fill()
            assert session.accept(token)


def main() -> None:
    given = json.loads(Path(sys.argv[1]).read_text(encoding="ascii"))
    pieces = [bytes.fromhex(piece) for piece in given["pieces"]]
    gc.collect()
    gc.disable()
    work(pieces, given["eos"], given["texts"])


if __name__ == "__main__":
    main()
