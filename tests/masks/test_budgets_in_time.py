"""Masks with a budget that are due: a part of the mask for so many tokens, with a token, and all of it in the end."""

from __future__ import annotations

import time
from collections.abc import Callable
from random import Random

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from earleymask import (
    BatchError,
    BudgetError,
    Grammar,
    GrammarError,
    LimitError,
    Limits,
    Matcher,
    Vocabulary,
    fill_bitmasks,
)
from support import vocabularies
from support.in_time import HARD, SECONDS, retried, slow_first_mask, stopped_walks
from support.mask_paths import all_strings, filled, go_on
from support.strategies import make_grammar

ALPHABETS = {
    "ambiguous": "abx+()",
    "unique": '{}[]"1:,',
    "unique numbers": "[],12",
    "words": "ab=1;!. ",
    "lookaheads": "ab!. ",
    "patterns": '{}"key7:a0',
    "any order": '{}"key7:a0',
}
MORE = [0, 0, 1, 2, 5, 1000]
"""How many tokens may come beyond those that are needed."""


def within(matcher: Matcher, n: int, seconds: float | None = None) -> tuple[npt.NDArray[np.bool_], bool | None]:
    """Return the mask for `n` tokens, and whether it is said to be complete."""
    row = np.full((matcher.vocabulary.size + 31) // 32 + 1, -1, dtype=np.int32)  # dirty, and a word too long
    is_complete = matcher.fill_bitmask(row, remaining=n, seconds=seconds)
    bits = np.unpackbits(row.view(np.uint8), bitorder="little").view(np.bool_)
    assert not bits[matcher.vocabulary.size :].any()
    return bits[: matcher.vocabulary.size], is_complete


def whole(matcher: Matcher, n: int) -> npt.NDArray[np.bool_]:
    """Return the complete mask for `n` tokens. One call makes so many rules at most; tokens that need more of them are
    allowed by a later one."""
    masks = [within(matcher, n)[0] for _ in range(6)]
    assert np.array_equal(masks[-1], masks[-2])
    return masks[-1]


def leaves_enough(matcher: Matcher, token: int, n: int) -> bool:
    """Return whether a sentence can be finished within `n` tokens of which this is the first, by this matcher's number.
    The numbers of two grammars may differ where objects must differ: each looks at the first kinds that it has made."""
    fork = matcher.fork()
    assert fork.accept(token)
    return fork.tokens_to_finish() < n


def check(matcher: Matcher, n: int, exact: npt.NDArray[np.bool_], seconds: float) -> int:
    """Ask for masks with a deadline until one is complete, and return how many were not."""
    before, n_partial, seen = matcher.tokens, 0, np.zeros_like(exact)
    while True:
        try:
            mask, is_complete = within(matcher, n, seconds)
        except LimitError:  # a step takes longer than that: making a rule, on a machine that is busy
            seconds = 2 * seconds + 0.001
            assert seconds < 1 and matcher.tokens == before
            continue
        assert mask.any() and not (seen & ~mask).any(), "what has been found is kept"
        assert all(leaves_enough(matcher, int(token), n) for token in (mask & ~exact & ~seen).nonzero()[0])
        assert matcher.tokens == before
        seen = mask
        if is_complete:
            missing = exact & ~mask
            assert not missing.any() or not (missing & whole(matcher, n)).any()
            return n_partial
        n_partial += 1
        if n_partial % 2000 == 0:  # as above
            seconds = 2 * seconds + 0.001
        assert n_partial < 20_000


def go_through(
    make: Callable[[], Grammar], vocabulary: Vocabulary, rng: Random, n_nodes: int, seconds: list[float], most: int = 8
) -> int:
    """Check masks along a random text of up to `most` tokens; return how many were partial."""
    matcher, twin, n_partial = Matcher(make(), vocabulary), Matcher(make(), vocabulary), 0
    for k in range(most):
        try:
            n = twin.tokens_to_finish() + rng.choice(MORE)
        except BudgetError:  # the vocabulary cannot spell what is needed
            break
        exact = whole(twin, n)
        with stopped_walks(n_nodes):
            n_partial += check(matcher, n, exact, seconds[k % len(seconds)])
        if not go_on(twin, rng, filled(twin)):
            break
        assert matcher.accept(twin.tokens[-1])
    return n_partial


@pytest.mark.parametrize("n_nodes", [1, 7, 50])
@pytest.mark.parametrize("name", ALPHABETS)
def test_a_walk_that_stops_anywhere(name: str, n_nodes: int) -> None:
    alphabet = ALPHABETS[name]
    vocabulary = all_strings(alphabet, 3 if len(alphabet) < 7 else 2)
    for seed in range(3):
        n_partial = go_through(HARD[name], vocabulary, Random(10 * seed + n_nodes), n_nodes, [0])
        assert n_partial or n_nodes > 1


@pytest.mark.parametrize("name", [*ALPHABETS, "json"])
def test_a_real_vocabulary(name: str) -> None:
    # Where lookaheads demand something, a search for the shortest ending is one step: it begins anew if it is not done.
    seconds = [0.2] if name in ("words", "lookaheads") else SECONDS
    go_through(HARD[name], vocabularies.load("tekken"), Random(name), 0xFFFFFFFF, seconds, most=6)


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_random_grammars(rng: Random) -> None:
    text = make_grammar(rng).text
    try:
        Grammar.from_lark(text)
    except (GrammarError, LimitError):
        assume(False)
    vocabulary = all_strings("ab ,", 3, [bytes([byte]) for byte in range(256)])
    go_through(lambda: Grammar.from_lark(text), vocabulary, rng, rng.choice([1, 20, 500]), [0], most=3)


def test_tokens_without_text_and_tokens_spelled_alike() -> None:
    """The grammar names special tokens, and ids; some tokens of a followed terminal are spelled as others are."""
    texts = [b"a", b"b", b"ab", b"a", b"<x>", b"<y>", b"</s>", b"ab", b"ba", b"b"]
    vocabulary = Vocabulary.from_tokens(texts, eos_token_id=6, special_tokens={"<x>": 4, "<y>": 5, "</s>": 6})
    text = 'start: "a"* <x> "b"~2..5 | <y> | <[1-3]> "ab" | "ab" start'
    for n_nodes in (1, 3, 50):
        assert go_through(lambda: Grammar.from_lark(text), vocabulary, Random(n_nodes), n_nodes, [0]) or n_nodes > 1
    pieces = [*b'[]1,"', b"1,1", b"1,", b",1", b"1", b",", b"1]", b"1,", b",1,", b"1,1", b",1", b"11", b"11,"]
    tokens = [piece if isinstance(piece, bytes) else bytes([piece]) for piece in pieces]
    vocabulary = Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens))
    for n_nodes in (1, 2, 3, 4, 50):
        assert go_through(HARD["unique numbers"], vocabulary, Random(n_nodes), n_nodes, [0]) or n_nodes > 2


def test_an_ample_budget() -> None:
    """Once that is known, the mask is made, and remembered, as one without a budget."""
    matcher = Matcher(HARD["ambiguous"](), all_strings("ab+()", 3))
    plain = filled(matcher)
    mask, is_complete = within(matcher, 1000, 10)
    assert is_complete and np.array_equal(mask, plain)
    n_walked = matcher.stats()["masks_walked"]
    with stopped_walks(1):
        mask, is_complete = within(matcher, 900, 0)
    assert is_complete and np.array_equal(mask, plain) and matcher.stats()["masks_walked"] == n_walked


def test_other_numbers_do_not_mix() -> None:
    """A walk for another number of tokens, or for none, begins anew."""
    vocabulary = all_strings("ab+(x)", 3)
    matcher, twin, rng = Matcher(HARD["ambiguous"](), vocabulary), Matcher(HARD["ambiguous"](), vocabulary), Random(7)
    exact = {n: whole(twin, n) for n in (2, 3, 4, 9)}
    plain = filled(twin)
    with stopped_walks(30):
        for _ in range(60):
            n = rng.choice([2, 3, 4, 9, None])
            row = np.zeros((vocabulary.size + 31) // 32, dtype=np.int32)
            retried(lambda n=n, row=row: matcher.fill_bitmask(row, remaining=n, seconds=0))  # type: ignore[misc]
            mask = np.unpackbits(row.view(np.uint8), count=vocabulary.size, bitorder="little").view(np.bool_)
            assert mask.any() and not (mask & ~(plain if n is None else exact[n])).any()
    assert np.array_equal(within(matcher, 3)[0], exact[3])


def test_too_few_tokens() -> None:
    matcher = Matcher(Grammar.from_lark('start: "abc"'), Vocabulary.bytes())
    row = np.full(9, 7, dtype=np.int32)
    with pytest.raises(BudgetError, match="3 tokens may still come, and the sentence needs 4"):
        matcher.fill_bitmask(row, remaining=3, seconds=0)
    assert not row.any() and matcher.error is None and matcher.n_tokens == 0
    assert retried(lambda: within(matcher, 4, 0))[0].nonzero()[0].tolist() == [ord("a")]
    assert matcher.fill_bitmask(row, "end", 3, 0) is True
    assert isinstance(matcher.error, BudgetError) and row.view(np.uint32)[256 // 32] == 1
    with pytest.raises(ValueError, match="remaining must not be negative"):
        matcher.fill_bitmask(row, remaining=-1, seconds=0)


def test_a_sequence_that_has_ended() -> None:
    matcher = Matcher(Grammar.from_regex("a*"), Vocabulary.bytes())
    assert matcher.accept(256)
    mask, is_complete = retried(lambda: within(matcher, 0, 0))
    assert is_complete and mask.nonzero()[0].tolist() == [256]


def test_nothing_is_found_in_time() -> None:
    """Only a rule that takes long would say how many tokens are needed."""
    grammar, begun = slow_first_mask(0.2, Limits(seconds=10))
    matcher, row = Matcher(grammar, Vocabulary.bytes()), np.full(9, 7, dtype=np.int32)
    begin = time.perf_counter()
    with pytest.raises(LimitError, match=r"due after 0\.002 seconds") as caught:
        matcher.fill_bitmask(row, remaining=9, seconds=0.002)
    assert time.perf_counter() - begin < 0.15 and begun
    assert caught.value.limit == "seconds" and (row == 7).all() and matcher.tokens == []
    assert within(matcher, 4)[0].nonzero()[0].tolist() == [97]


def test_a_batch() -> None:
    """One deadline for all rows; a matcher that is listed twice has one row, which is copied."""
    vocabulary = all_strings("ab+()", 3)
    ambiguous, other = Matcher(HARD["ambiguous"](), vocabulary), Matcher('start: "a"* "b"', vocabulary)
    matchers = [ambiguous, None, other, ambiguous.fork(), ambiguous]
    remaining = [3, None, None, None, 3]
    exact = np.full((5, (vocabulary.size + 31) // 32), -1, np.int32)
    for matcher, n, row in zip(matchers, remaining, exact, strict=True):
        if matcher is not None:
            Matcher(matcher.grammar, vocabulary).fill_bitmask(row, remaining=n)
    n_partial = 0
    with stopped_walks(20):
        while True:
            rows = np.zeros_like(exact)
            complete = retried(lambda rows=rows: fill_bitmasks(matchers, rows, remaining=remaining, seconds=0))  # type: ignore[misc]
            assert complete is not None and complete.dtype == bool and complete.shape == (5,) and complete[1]
            assert rows.any(axis=1).all() and not (rows & ~exact).any()
            assert (rows[complete] == exact[complete]).all()
            assert (rows[0] == rows[4]).all() and complete[0] == complete[4]
            if complete.all():
                break
            n_partial += 1
            assert n_partial < 1000
    rows = np.zeros_like(exact)
    complete = fill_bitmasks(matchers, rows, remaining=remaining, seconds=10)
    assert complete is not None and complete.all() and (rows == exact).all()
    with pytest.raises(BatchError, match="BudgetError") as caught:
        fill_bitmasks(matchers, rows, remaining=[0, None, None, None, 3], seconds=10)
    assert list(caught.value.errors) == [0] and rows.any(axis=1).tolist() == [False, True, True, True, True]
    complete = fill_bitmasks(matchers, rows, remaining=[None, None, 0, None, None], seconds=10, on_error="end")
    assert complete is not None and complete.all() and isinstance(other.error, BudgetError)
    with pytest.raises(ValueError, match="seconds must be 0 or more"):
        fill_bitmasks(matchers, rows, seconds=-1)
    assert fill_bitmasks(matchers[3:], rows) is None
