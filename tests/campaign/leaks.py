"""Make and drop all kinds of objects; LeakSanitizer then reports what was not freed (`.ci/sanitize`)."""

from __future__ import annotations

import gc
from random import Random

from campaign.arms import small, walking
from campaign.cases import Wrong
from campaign.fronts import Source
from campaign.sessions import Session
from support.mask_paths import limits
from support.strategies import SMALL, make_small_grammar
from support.twin import TooMuchWork


def main(n: int = 15) -> None:
    for number in range(n):
        rng = Random(number)
        alphabet = rng.choice(list(SMALL))
        session = Session(
            tuple(Source.lark(make_small_grammar(rng, alphabet)) for _ in range(3)), small(alphabet), 300_000
        )
        with limits(split_nodes=rng.choice([1, 50, 1000])):
            try:
                for i in range(3):
                    session.do("new", i)
                for _ in range(30 if session.pairs else 0):
                    session.do(*walking(rng, session))
            except (TooMuchWork, Wrong) as error:
                print(type(error).__name__)
        del session
    small.cache_clear()
    gc.collect()


if __name__ == "__main__":
    main()
