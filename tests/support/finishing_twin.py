"""The fewest tokens with which a sentence can be finished, by trying all tokens: slow, for tests alone.

It is a plain search by breadth over all sequences of tokens. `same` says which sequences are alike: those of one text,
but where a rule has `max_tokens`, what may follow depends on the tokens, too.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np

from earleymask import Matcher


def by_text(matcher: Matcher) -> Hashable:
    """Sequences with the same text are alike."""
    return b"".join(matcher.vocabulary.token_bytes(token) for token in matcher.tokens), matcher.is_finished()


def by_tokens(matcher: Matcher) -> Hashable:
    """No two sequences are alike."""
    return tuple(matcher.tokens)


def fewest(matcher: Matcher, most: int, same: Callable[[Matcher], Hashable] = by_text) -> int | None:
    """Return the fewest tokens, EOS included, with which a sentence can be finished; None if more than `most`."""
    if matcher.is_finished():
        return 0
    front = [matcher]
    met = {same(matcher)}
    for n in range(1, most + 1):
        following = []
        for one in front:
            for token in np.flatnonzero(one.mask()).tolist():
                other = one.fork()
                assert other.accept(token), "a mask has a token that is not accepted"
                if other.is_finished():
                    return n
                key = same(other)
                if key not in met:
                    met.add(key)
                    following.append(other)
        front = following
    return None


def allowed_within(matcher: Matcher, n: int, same: Callable[[Matcher], Hashable] = by_text) -> list[int]:
    """Return the tokens after which a sentence can be finished within `n` tokens in all."""
    found = []
    for token in np.flatnonzero(matcher.mask()).tolist():
        other = matcher.fork()
        other.accept(token)
        if fewest(other, n - 1, same) is not None:
            found.append(token)
    return found
