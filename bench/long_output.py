"""Measure whether masks take longer at the end of a long output, and how much memory the matcher keeps.

    python -m bench.long_output [--tokens 100000] [--texts json language sql] [--vocabulary llama3]

One matcher follows a text of at least `--tokens` tokens, and fills a mask at each. The last tenth of the text repeats
the first tenth: masks at different places of a text differ a hundredfold, so only equal text can be compared. The
report has the masks of both tenths, and the memory at the end of each, by `Matcher.stats()` and the system.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypedDict

from tqdm import tqdm

from earleymask.trie import Vocabulary

from .engines import Earleymask
from .harness import children, memory, vocabularies
from .harness.figures import Record, distribution
from .harness.measure import no_garbage_collection
from .texts import families

N_TOKENS = 100_000
"""The fewest tokens of a long output."""


class Job(TypedDict):
    vocabulary: str
    kind: str
    tokens: list[int]
    tenth: int
    """The number of tokens in the first tenth of the text, and in the last tenth, which repeats it."""


def work(job: Job) -> Record:
    vocabulary = vocabularies.load_saved(job["vocabulary"])
    engine, tokens = Earleymask(vocabulary), job["tokens"]
    tenth = job["tenth"]
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
    """Make a job: at least `n_tokens` tokens of an unfinished text whose last tenth repeats the first."""
    join = JOINS[kind]
    sample = families.generate(kind, 3, 5000)
    tenth = n_tokens * len(sample) // len(vocabularies.spelled(vocabulary, encode, sample)) // 10
    tokens: list[int] = []
    while len(tokens) < n_tokens:  # the sample only estimates the characters of a token
        tenth = tenth * max(n_tokens + n_tokens // 50, len(tokens)) // (len(tokens) or n_tokens) + 1
        repeated, between = families.generate(kind, 1, tenth), families.generate(kind, 2, 8 * tenth)
        tokens = vocabularies.spelled(vocabulary, encode, join(repeated, between, repeated))
    repeats = len(vocabularies.spelled(vocabulary, encode, join(repeated)))
    return {"vocabulary": str(file), "kind": kind, "tokens": tokens, "tenth": repeats}


# How several texts become one.
JOINS: dict[str, Callable[..., str]] = {
    "json": lambda *texts: "[" + ",\n".join(text[1:-1] for text in texts),
    "language": lambda *texts: "".join(texts),
    "sql": lambda *texts: "\n\n".join(texts),
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.long_output")
    parser.add_argument("--tokens", type=int, default=N_TOKENS)
    parser.add_argument("--texts", nargs="+", choices=sorted(JOINS), default=sorted(JOINS))
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
