"""Makes and drops all kinds of objects, for LeakSanitizer to look at what is left (`.ci/sanitize`)."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
sys.path[:] = [str(HERE), *(p for p in sys.path if Path(p or ".").resolve() not in (HERE, HERE.parent))]

from campaign_arms import small, walking  # noqa: E402
from campaign_cases import Wrong  # noqa: E402
from campaign_fronts import Source  # noqa: E402
from campaign_sessions import Session  # noqa: E402
from mask_paths import limits  # noqa: E402
from strategies import SMALL, make_small_grammar  # noqa: E402
from twin import TooMuchWork  # noqa: E402


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
