"""Force each way in which a mask can be made, and compare the masks.

`fill_bitmask` combines remembered answers (`earley/_masks`), `walk_bitmask` walks the whole trie, and the twin does
neither. With a small vocabulary the engine would never use remembered parts; the bounds that decide this are set here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import product
from random import Random

import numpy as np
import numpy.typing as npt

from earleymask import Grammar, Matcher, Vocabulary
from earleymask.earley._masks import set_limits
from support import vocabularies
from support.strategies import choose_token

USUAL = {**set_limits(), "split_nodes": 1000, "small_nodes": 200, "tried": 1024}
"""The bounds of a release build, unless something sets others."""
NEVER = 10**9
SPLITS = (1, 5, 50, NEVER)
"""Values of `split_nodes`, the number of trie nodes from which on each terminal is answered by itself: always, in a
small trie sooner or later, never."""
SMALLS = (0, 4, NEVER)
"""Values of `small_nodes`, the most descendants of a trie node below which bytes are looked up for all live pairs at
once: none, few, any number."""


@contextmanager
def limits(
    split_nodes: int | None = None,
    memory: int | None = None,
    budget: int | None = None,
    tried: int | None = None,
    small_nodes: int | None = None,
) -> Iterator[None]:
    """Set these bounds within the block. Answers remembered under others stay, so make grammars within it, too."""
    before = set_limits(split_nodes=split_nodes, memory=memory, budget=budget, tried=tried, small_nodes=small_nodes)
    try:
        yield
    finally:
        set_limits(**before)


def filled(matcher: Matcher) -> npt.NDArray[np.bool_]:
    """Return the mask by `fill_bitmask`."""
    return _mask(matcher, matcher.fill_bitmask)


def walked(matcher: Matcher) -> npt.NDArray[np.bool_]:
    """Return the mask by `walk_bitmask`."""
    return _mask(matcher, matcher.walk_bitmask)


def _mask(matcher, fill) -> npt.NDArray[np.bool_]:  # type: ignore[no-untyped-def]
    row = np.full((matcher.vocabulary.size + 31) // 32 + 1, -1, dtype=np.int32)  # dirty, and a word too long
    fill(row)
    bits = np.unpackbits(row.view(np.uint8), bitorder="little").view(np.bool_)
    assert not bits[matcher.vocabulary.size :].any()
    return bits[: matcher.vocabulary.size]


def explain(matcher: Matcher, mask: npt.NDArray[np.bool_], expected: npt.NDArray[np.bool_]) -> str:
    """Say where a mask is wrong, and after which tokens."""

    def some(ids: npt.NDArray[np.intp]) -> str:
        return f"{len(ids)}: " + ", ".join(f"{i} {matcher.vocabulary.token_bytes(int(i))!r}" for i in ids[:8])

    refused, allowed = np.flatnonzero(expected & ~mask), np.flatnonzero(mask & ~expected)
    tokens = [matcher.vocabulary.token_bytes(t) for t in matcher.tokens]
    return f"after {tokens}: wrongly refused {some(refused)}; wrongly allowed {some(allowed)}"


def agreed(matcher: Matcher, twin: Grammar | None = None) -> npt.NDArray[np.bool_]:
    """Return the mask, asserted to be the same by remembered answers and by the walk.

    `twin` is the same grammar loaded once more, for a third mask, by answers under the usual bounds: if `fill_bitmask`
    falls back on the walk, the first two compare the walk with itself.
    """
    mask, expected = filled(matcher), walked(matcher)
    assert np.array_equal(mask, expected), explain(matcher, mask, expected)
    if twin is not None:
        answered = elsewhere(matcher, twin)
        assert np.array_equal(mask, answered), explain(matcher, mask, answered)
    return expected


def elsewhere(matcher: Matcher, twin: Grammar) -> npt.NDArray[np.bool_]:
    """Return the mask by remembered answers of another grammar object, under the usual bounds, never by the walk."""
    with limits(**USUAL):
        other = Matcher(twin, matcher.vocabulary)
        assert all(other.accept(token) for token in matcher.tokens)
        mask = filled(other)
    assert other.stats()["masks_walked"] == 0
    return mask


def all_strings(alphabet: str, longest: int, more: Iterable[bytes] = ()) -> Vocabulary:
    """Return a vocabulary of every string over the alphabet up to this length, then `more`, then EOS."""
    tokens = ["".join(w).encode() for n in range(1, longest + 1) for w in product(alphabet, repeat=n)]
    tokens += [token for token in more if token not in tokens]
    return Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens))


def pieces_of(alphabet: str) -> list[bytes]:
    """Return all parts of the characters of several bytes, each alone and with an `a` before or after it."""
    spelled = [c.encode() for c in alphabet if len(c.encode()) > 1]
    pieces = [c[i:j] for c in spelled for i in range(len(c)) for j in range(i + 1, len(c) + 1)]
    return list(dict.fromkeys([*pieces, *(b"a" + p for p in pieces), *(p + b"a" for p in pieces)]))


@cache
def cut(name: str, n: int) -> list[bytes]:
    """Return the first `n` tokens of a real vocabulary that spell something, and then an empty one for EOS."""
    return [*_spelled(name)[:n], b""]


@cache
def _spelled(name: str) -> list[bytes]:
    vocabulary = vocabularies.load(name)
    special = vocabulary.special_token_ids
    spelled = (vocabulary.token_bytes(i) for i in range(vocabulary.size) if i not in special)
    return list(filter(None, spelled))


def go_on(matcher: Matcher, rng: Random, mask: npt.NDArray[np.bool_]) -> bool:
    """Accept a token of the mask, preferably a short or a long one; return False if there is only EOS."""
    eos = matcher.vocabulary.eos_token_ids
    allowed = [t for t in np.flatnonzero(mask).tolist() if t not in eos]
    if not allowed:
        return False
    some = rng.sample(allowed, min(40, len(allowed)))
    assert matcher.accept(choose_token(rng, some, {t: matcher.vocabulary.token_bytes(t) for t in some}))
    return True


def feed(matcher: Matcher, text: bytes) -> None:
    """Accept the text one byte at a time; each byte must be a token."""
    ids = vocabularies.ids(matcher.vocabulary)
    for i in range(len(text)):
        assert matcher.accept(ids[text[i : i + 1]]), (text[:i], text[i : i + 1])


def agree_along(grammar: str | Grammar, vocabulary: Vocabulary, texts: Iterable[bytes]) -> None:
    """Compare masks by both ways at every byte of these texts; all texts share the answers of one grammar."""
    loaded = Grammar.from_lark(grammar) if isinstance(grammar, str) else grammar
    for text in texts:
        matcher = Matcher(loaded, vocabulary)
        agreed(matcher)
        for i in range(len(text)):
            feed(matcher, text[i : i + 1])
            agreed(matcher)
        assert matcher.stats()["masks_walked"] == 0  # else the walk was compared with itself


def written_by_masks(
    matcher: Matcher, tokens: Sequence[bytes], most: int, choose: Callable[[npt.NDArray[np.bool_], int, bytes], int]
) -> bytes | None:
    """Return a text of at most `most` tokens, which all ways to make a mask allow; None if it does not end by then.

    choose: returns the next token for a mask, the number of tokens and the text. The token after `tokens` is EOS.
    """
    written = b""
    for n in range(most):
        mask = agreed(matcher)
        assert mask.any(), written
        token = choose(mask, n, written)
        assert matcher.accept(token)
        if token == len(tokens):
            return written
        written += tokens[token]
    return None
