"""Measure how long a call waits for masks that are being made ahead of the same grammar.

    python -m bench.giving_way [--vocabulary llama3] [--schemas 200]

While `Grammar.warm` works in the background, a call that needs the grammar's lock and does hardly anything with it is
made at random times (`Matcher.is_accepting`). It takes the longer, the longer the background needs to give the lock
back. The same calls are made when the background has ended. The schemas are made up, so all that is made is new.
"""

from __future__ import annotations

import argparse
import random
import time

import numpy as np
from tqdm import tqdm

import earleymask
from earleymask import Grammar, Matcher, Vocabulary

from .batches import made_up
from .harness import vocabularies
from .harness.measure import no_garbage_collection

WARM_SECONDS = 0.1
MOST_PAUSE = 0.001
"""Seconds between two calls, at most."""
N_AFTER = 100
"""Calls for each schema when the background has ended."""


def calls(vocabulary: Vocabulary, n_schemas: int) -> tuple[list[float], list[float]]:
    """Return the microseconds of the calls while masks are made ahead, and of those afterwards."""
    rng = random.Random(11)
    during, after = [], []

    def call(matcher: Matcher) -> float:
        time.sleep(rng.random() * MOST_PAUSE)
        begin = time.perf_counter()
        matcher.is_accepting()
        return (time.perf_counter() - begin) * 1e6

    for _ in tqdm(range(n_schemas), unit="schema"):
        grammar = Grammar.from_json_schema(made_up(rng)[0])
        matcher = Matcher(grammar, vocabulary)
        with no_garbage_collection():
            warming = grammar.warm(vocabulary, seconds=WARM_SECONDS)
            while not warming.is_done:
                during.append(call(matcher))
            after += [call(matcher) for _ in range(N_AFTER)]
    return during, after


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.giving_way", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--vocabulary", default="llama3", choices=vocabularies.NAMES, help="(default: %(default)s)")
    parser.add_argument("--schemas", type=int, default=200, metavar="N", help="(default: %(default)s)")
    given = parser.parse_args()
    vocabulary, _ = vocabularies.load(given.vocabulary)
    earleymask.prepare(vocabulary)
    print("| microseconds of a call | calls | p50 | p90 | p99 | p99.9 | longest |")
    print("| --- | --: | --: | --: | --: | --: | --: |")
    for name, times in zip(
        ("masks are made ahead", "nothing else runs"), calls(vocabulary, given.schemas), strict=True
    ):
        shown = " | ".join(f"{value:.1f}" for value in np.percentile(times, [50, 90, 99, 99.9, 100]))
        print(f"| {name} | {len(times):,} | {shown} |")


if __name__ == "__main__":
    main()
