"""A long output: does a mask at the end cost what one at the beginning does, and what does the matcher keep?

    python -m bench.long_output [--tokens 100000] [--texts json language sql] [--vocabulary llama3]

One matcher follows one text of so many tokens, a mask at each. Reported: the masks of the first and of the last tenth;
what `Matcher.stats()` and the system say of memory at the end of each.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict

from tqdm import tqdm

from earleymask.trie import Vocabulary

from . import children, families, memory, vocabularies
from .engines import Earleymask
from .figures import Record, distribution
from .measure import no_garbage_collection

N_TOKENS = 100_000


class Job(TypedDict):
    vocabulary: str
    kind: str
    tokens: list[int]


def work(job: Job) -> Record:
    vocabulary = vocabularies.load_saved(job["vocabulary"])
    engine, tokens = Earleymask(vocabulary), job["tokens"]
    tenth = max(1, len(tokens) // 10)
    session = engine.open(engine.grammar(job["kind"]))
    masks: list[int] = []
    accepts: list[int] = []
    marks: list[Record] = []
    with no_garbage_collection():
        for position, token in enumerate(tqdm(tokens, desc=f"{job['kind']}, long", leave=False, mininterval=1.0)):
            start = time.perf_counter_ns()
            session.fill()
            filled = time.perf_counter_ns()
            accepted = session.accept(token)
            accepts.append(time.perf_counter_ns() - filled)
            masks.append(filled - start)
            if not accepted:
                raise AssertionError(f"position {position}: earleymask refuses a text of the bench")
            if position + 1 in (tenth, len(tokens)):
                stats = {name: n for name, n in session.stats().items() if name.endswith("bytes")}
                marks.append({"tokens": position + 1, "resident_bytes": memory.resident_bytes(), **stats})
    first, last = distribution(masks[:tenth]), distribution(masks[-tenth:])
    return {
        "tokens": len(tokens),
        "first_tenth_us": first,
        "last_tenth_us": last,
        "accept_first_tenth_us": distribution(accepts[:tenth]),
        "accept_last_tenth_us": distribution(accepts[-tenth:]),
        "median_ratio": round(last["median"] / first["median"], 3),
        "memory": marks,
    }


def job(vocabulary: Vocabulary, encode: vocabularies.Encode, file: Path, kind: str, n_tokens: int) -> Job:
    """A text of at least `n_tokens` tokens, cut there: what is followed need not end."""
    tokens: list[int] = []
    size = 3 * n_tokens
    while len(tokens) < n_tokens:
        tokens = vocabularies.spelled(vocabulary, encode, families.generate(kind, 1, size))
        size = size * 5 // 4
    return {"vocabulary": str(file), "kind": kind, "tokens": tokens[:n_tokens]}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.long_output")
    parser.add_argument("--tokens", type=int, default=N_TOKENS)
    parser.add_argument("--texts", nargs="+", choices=sorted(families.GENERATORS), default=["json", "language", "sql"])
    parser.add_argument("--vocabulary", choices=vocabularies.NAMES, default="llama3")
    options = parser.parse_args(arguments)
    vocabulary, encode = vocabularies.load(options.vocabulary)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "vocabulary"
        vocabularies.save(vocabulary, file)
        for kind in options.texts:
            figures: dict[str, Any] = children.run(
                "bench.long_output", job(vocabulary, encode, file, kind, options.tokens)
            )
            print(f"{kind}: {figures}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
