"""The engine equals the twin on grammars, vocabularies and walks that Hypothesis makes."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from earleymask import Constraint, Grammar, Matcher, RejectedTokenError
from support.compare import Loaded, Pair, Skipped, load, walk
from support.samples import SPECIAL_GRAMMARS, sample, within_budget
from support.strategies import GrammarSketch, grammars
from support.twin import Node

randoms = st.integers(0, 2**32 - 1).map(Random)  # a walk makes more choices than Hypothesis can record


def loaded_or_skip(sketch: GrammarSketch) -> Loaded:
    try:
        loaded = load(sketch.text)
    except Skipped:
        reject()
    loaded.twin.budget = 200_000
    return loaded


def pair_of(sketch: GrammarSketch, seed: int = 0) -> Pair:
    vocabulary, trie = sample(seed)
    return Pair(loaded_or_skip(sketch), vocabulary, trie)


def random_tokens(pair: Pair, rng: Random, n: int) -> list[int]:
    """Walk by the twin's masks, and return the tokens."""
    for _ in range(n):
        token_id = pair.next_token(rng, pair.twin.mask())
        if token_id is None:
            break
        pair.accept(token_id)
    return pair.matcher.tokens


@settings(max_examples=100)
@given(grammars(), randoms, st.integers(0, 2))
@within_budget
def test_masks_equal_the_twins(sketch: GrammarSketch, rng: Random, seed: int) -> None:
    """Masks equal the twin's, and none is empty, since the vocabulary has all bytes and EOS (see `Pair.mask`)."""
    walk(pair_of(sketch, seed), rng, 10)


@settings(max_examples=25)
@given(grammars(), randoms)
@within_budget
def test_accept_succeeds_exactly_for_tokens_in_the_mask(sketch: GrammarSketch, rng: Random) -> None:
    pair = pair_of(sketch)
    random_tokens(pair, rng, 5)
    mask = pair.mask()
    history = pair.matcher.tokens
    for token_id in [-1, *range(pair.vocabulary.size), pair.vocabulary.size, 1 << 40]:
        allowed = 0 <= token_id < pair.vocabulary.size and bool(mask[token_id])
        assert pair.matcher.validate([token_id]) == allowed
        assert pair.matcher.accept(token_id) == allowed, (sketch.text, history, token_id)
        if allowed:
            pair.matcher.rollback(1)
        assert pair.matcher.tokens == history
    pair.mask()


@settings(max_examples=30)
@given(grammars(), randoms)
@within_budget
def test_rollback_and_fork_equal_a_fresh_replay(sketch: GrammarSketch, rng: Random) -> None:
    pair = pair_of(sketch)
    for _ in range(3):
        random_tokens(pair, rng, 5)
        pair.mask()
        n = rng.randint(0, pair.matcher.n_tokens)
        fork = pair.matcher.fork()
        pair.rollback(n)
        pair.mask()
        fresh = Matcher(pair.loaded.grammar, pair.vocabulary)
        for token_id in fork.tokens:
            assert fresh.accept(token_id)
        assert np.array_equal(fresh.mask(), fork.mask())
        assert fresh.is_accepting() == fork.is_accepting() and fresh.is_finished() == fork.is_finished()
        fork.reset()
        assert fork.tokens == [] and np.array_equal(fork.mask(), Matcher(pair.loaded.grammar, pair.vocabulary).mask())


@settings(max_examples=25)
@given(grammars(), randoms)
@within_budget
def test_a_constraint_knows_any_history(sketch: GrammarSketch, rng: Random) -> None:
    """Masks are right for histories that grow, shrink and branch in any order; a rejected token is an error."""
    pair = pair_of(sketch)
    constraint = Constraint(pair.loaded.grammar, pair.vocabulary)
    histories: list[tuple[list[int], Any]] = []
    for _ in range(3):
        pair.rollback(rng.randint(0, pair.matcher.n_tokens))
        for _ in range(4):
            mask = pair.mask()
            histories.append((pair.matcher.tokens, mask))
            random_tokens(pair, rng, 1)
    for tokens, mask in rng.sample(histories, len(histories)):
        assert np.array_equal(constraint.mask(tokens), mask), (sketch.text, tokens)
        wrong = rng.randrange(pair.vocabulary.size)
        if not mask[wrong]:
            with pytest.raises(RejectedTokenError) as caught:
                constraint.mask([*tokens, wrong, 0])
            assert (caught.value.index, caught.value.token_id) == (len(tokens), wrong)


@settings(max_examples=40)
@given(grammars(), randoms)
@within_budget
def test_any_sequence_of_calls(sketch: GrammarSketch, rng: Random) -> None:
    """Whatever one of several forks does, all of them stay where the twin's are."""
    pairs = [pair_of(sketch)]
    for _ in range(30):
        pair = rng.choice(pairs)
        call = rng.randrange(8)
        if call < 3:
            random_tokens(pair, rng, rng.randint(1, 3))
        elif call == 3:
            pair.mask()
        elif call == 4:
            pair.accept(rng.randrange(pair.vocabulary.size))
        elif call == 5:
            pair.rollback(rng.randint(0, pair.matcher.n_tokens))
        elif call == 6 and len(pairs) < 4:
            pairs.append(pair.fork())
        elif call == 7:
            tokens = [rng.randrange(256) for _ in range(3)]
            taken = pair.twin.fork()
            assert pair.matcher.validate(tokens) == next((i for i, t in enumerate(tokens) if not taken.accept(t)), 3)
    for pair in pairs:
        pair.check_ends()
        pair.mask()


def test_forks_survive_collections() -> None:
    """Deep brackets with a mask at every token fill and clean the tables; forks at old positions do not change."""
    vocabulary, _ = sample()
    grammar = Grammar.from_lark('start: e*\ne: "(" start ")" | "[" start "]" | /[a-c]+/ | "ab" start')
    rng = Random(7)
    matcher = Matcher(grammar, vocabulary)
    kept: list[Matcher] = []
    for n in range(30_000):
        if matcher.stats()["collections"] >= 3:
            break
        allowed = np.flatnonzero(matcher.mask())
        token_id = int(allowed[rng.randrange(len(allowed))])
        if token_id not in vocabulary.eos_token_ids:
            assert matcher.accept(token_id)
        if n % 500 == 499:
            kept = [*rng.sample(kept, min(3, len(kept))), matcher.fork()]
            matcher.rollback(rng.randint(0, 200))
    assert matcher.stats()["collections"] >= 3
    for other in [*kept, matcher]:
        fresh = Matcher(grammar, vocabulary)
        assert all(fresh.accept(t) for t in other.tokens)
        assert np.array_equal(fresh.mask(), other.mask())
        assert fresh.is_accepting() == other.is_accepting()


def cut(rng: Random, trie: Node, data: bytes) -> list[int]:
    """Split `data` into tokens at random."""
    tokens: list[int] = []
    place = 0
    while place < len(data):
        node, ways = trie, []
        for end in range(place, min(len(data), place + 12)):
            if data[end] not in node.children:
                break
            node = node.children[data[end]]
            ways += [(end + 1, token_id) for token_id in node.token_ids]
        place, token_id = rng.choice(ways)
        tokens.append(token_id)
    return tokens


@settings(max_examples=30)
@given(grammars(), randoms)
@within_budget
def test_the_cut_into_tokens_does_not_matter(sketch: GrammarSketch, rng: Random) -> None:
    pair = pair_of(sketch)
    assert pair.twin.trie is not None
    tokens = random_tokens(pair, rng, 6)
    data = b"".join(pair.vocabulary.token_bytes(t) for t in tokens)
    expected = pair.mask()
    for _ in range(3):
        other = Matcher(pair.loaded.grammar, pair.vocabulary)
        again = cut(rng, pair.twin.trie, data)
        assert other.validate(again) == len(again), (sketch.text, data)
        assert all(other.accept(t) for t in again)
        assert np.array_equal(other.mask(), expected), (sketch.text, data)
        assert other.is_accepting() == pair.twin.is_accepting()


@settings(max_examples=25)
@given(grammars(), randoms)
@within_budget
def test_after_eos_there_is_eos_alone(sketch: GrammarSketch, rng: Random) -> None:
    pair = pair_of(sketch)
    for _ in range(12):
        if pair.twin.is_accepting():
            break
        token_id = pair.next_token(rng, pair.twin.mask())
        if token_id is None:
            break
        pair.accept(token_id)
    eos = rng.choice(pair.vocabulary.eos_token_ids)
    assert pair.accept(eos) == pair.twin.is_finished()
    if pair.twin.is_finished():
        assert sorted(np.flatnonzero(pair.mask()).tolist()) == sorted(pair.vocabulary.eos_token_ids)
        assert not pair.accept(0) and pair.accept(eos)
        pair.mask()
        pair.rollback(2)
        pair.mask()


@settings(max_examples=25)
@given(grammars(), randoms)
@within_budget
def test_bitmasks_are_the_masks_and_leave_no_dirt(sketch: GrammarSketch, rng: Random) -> None:
    pair = pair_of(sketch)
    random_tokens(pair, rng, 4)
    words = (pair.vocabulary.size + 31) // 32
    row = np.full(words + 2, -1, dtype=np.int32)
    pair.matcher.fill_bitmask(row)
    bits = np.unpackbits(row.view(np.uint8), bitorder="little").astype(bool)
    assert np.array_equal(bits[: pair.vocabulary.size], pair.mask()) and not bits[pair.vocabulary.size :].any()
    with pytest.raises(ValueError, match=r"\d"):
        pair.matcher.fill_bitmask(np.zeros(words - 1, dtype=np.int32))


@settings(max_examples=25)
@given(grammars(), randoms)
@within_budget
def test_forced_bytes_are_what_every_sentence_goes_on_with(sketch: GrammarSketch, rng: Random) -> None:
    pair = pair_of(sketch)
    random_tokens(pair, rng, 4)
    position = pair.twin.position
    for byte in pair.matcher.forced_bytes()[:50]:
        ways = [b for b in range(256) if pair.loaded.twin.advance(position, b) is not None]
        assert ways == [byte] and not pair.loaded.twin.may_end(position)
        following = pair.loaded.twin.advance(position, byte)
        assert following is not None
        position = following
    if pair.matcher.forced_bytes()[50:] == b"":
        ways = [b for b in range(256) if pair.loaded.twin.advance(position, b) is not None]
        specials = {name for name in pair.loaded.twin.specials if position.row and name in position.row.waiting}
        assert len(ways) != 1 or specials or pair.loaded.twin.may_end(position)


# --- special tokens --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", SPECIAL_GRAMMARS)
@pytest.mark.parametrize("seed", range(4))
def test_special_tokens(text: str, seed: int) -> None:
    vocabulary, trie = sample()
    # The twin does not allow a special token's name within a string.
    loaded = load(text) if '"<|' not in text else None
    if loaded is None:
        matcher = Matcher(Grammar.from_lark(text), vocabulary)
        call = vocabulary.special_tokens["<|call|>"]
        spelled = cut(Random(seed), trie, b"<|call|>")
        assert not matcher.mask()[call] and matcher.validate([*spelled, call, *spelled]) == 2 * len(spelled) + 1
        assert matcher.validate([call]) == 0 and matcher.validate([*spelled, *spelled]) == len(spelled)
        return
    walk(Pair(loaded, vocabulary, trie), Random(seed), 12)


@pytest.mark.parametrize("text", SPECIAL_GRAMMARS[:3])
def test_every_token_at_every_position_of_a_special_grammar(text: str) -> None:
    vocabulary, trie = sample()
    pair = Pair(load(text), vocabulary, trie)
    rng = Random(1)
    for _ in range(4):
        for token_id in range(vocabulary.size):
            if pair.accept(token_id):
                pair.rollback(1)
        token_id = pair.next_token(rng, pair.mask())
        if token_id is None:
            break
        pair.accept(token_id)
