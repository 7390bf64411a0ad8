"""Snapshots: a restored matcher equals the one that was taken, and no bytes do harm.

The twin of a restored matcher is one that has accepted the same tokens, with the same grammar loaded once more.
"""

from __future__ import annotations

import time
from binascii import crc32
from collections.abc import Callable
from random import Random
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from earleymask import (
    EarleymaskError,
    Grammar,
    GrammarError,
    LimitError,
    Limits,
    Matcher,
    RejectedTokenError,
    SnapshotError,
    Vocabulary,
    VocabularyError,
)
from earleymask.earley import Engine, Regexes
from support import vocabularies
from support.effort import effort
from support.grammar_texts import GRAMMARS
from support.mask_paths import cut, feed, filled, go_on, walked
from support.strategies import make_grammar

HEAD = 5 + 16 + 16
"""Bytes before the numbers: the letters, the version, and the halves of the fingerprints."""

PALINDROMES = 'start: "a" start "a" | "b" start "b" | "a" | "b" |'
"""A grammar of which a long text teaches very much."""

LIST = 'start: "[" (start ("," start)*)? "]"'


def compare(restored: Matcher, twin: Matcher) -> None:
    assert restored.tokens == twin.tokens and restored.n_tokens == twin.n_tokens
    assert restored.eos_token_ids == twin.eos_token_ids
    assert restored.is_accepting() == twin.is_accepting() and restored.is_finished() == twin.is_finished()
    assert restored.forced_bytes() == twin.forced_bytes()
    assert np.array_equal(filled(restored), filled(twin))


def check_along(make: Callable[[], Grammar], vocabulary: Vocabulary, rng: Random, most: int) -> None:
    """Restore at each place of a random text. Go back and on from there, also in forks, and compare with twins."""
    grammar = make()
    matcher = Matcher(grammar, vocabulary)
    for _ in range(most):
        taken = matcher.snapshot()
        restored, twin = Matcher.restore(taken, make(), vocabulary), Matcher(grammar, vocabulary)
        assert twin.accept_tokens(matcher.tokens) == matcher.n_tokens
        assert restored.snapshot() == taken
        mask = walked(matcher)
        assert np.array_equal(filled(restored), mask)
        compare(restored, twin)
        fork = restored.fork()
        n = rng.randint(0, matcher.n_tokens)
        restored.rollback(n)
        twin.rollback(n)
        compare(restored, twin)
        went_on = go_on(restored, rng, filled(restored))
        assert not went_on or twin.accept(restored.tokens[-1])
        compare(restored, twin)
        compare(fork, matcher)
        if not go_on(matcher, rng, mask):
            break


@pytest.mark.parametrize("name", GRAMMARS)
def test_restored_matchers_equal_their_twins(name: str) -> None:
    vocabulary = vocabularies.load("tekken")
    check_along(lambda: Grammar.from_lark(GRAMMARS[name]), vocabulary, Random(name), 12)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "^[a-z]{2,9}$"}}, "minProperties": 2},
        {"type": "array", "items": {"type": "integer"}, "uniqueItems": True, "minItems": 3},
        {"oneOf": [{"type": "number", "multipleOf": 0.5}, {"enum": ["x", None, [1]]}]},
    ],
)
def test_restored_matchers_of_schemas(schema: object) -> None:
    vocabulary = Vocabulary.from_tokens(cut("tekken", 4000), eos_token_id=4000)
    for seed in range(4):
        check_along(lambda: Grammar.from_json_schema(schema), vocabulary, Random(seed), 15)


@settings(deadline=None, max_examples=effort(40, 100))
@given(st.randoms(use_true_random=False))
def test_restored_matchers_of_random_grammars(rng: Random) -> None:
    text = make_grammar(rng).text
    try:
        Grammar.from_lark(text)
    except (GrammarError, LimitError):
        assume(False)
    vocabulary = Vocabulary.from_tokens(cut("tekken", 4000), eos_token_id=4000)
    check_along(lambda: Grammar.from_lark(text), vocabulary, rng, 6)


def test_budgets_of_rules_follow() -> None:
    """After two of its three tokens, the restored matcher allows one more, too."""
    grammar = Grammar.from_lark('start: w "."\nw[max_tokens=3]: /[a-z]+/')
    vocabulary = Vocabulary.bytes()
    matcher = Matcher(grammar, vocabulary)
    feed(matcher, b"ab")
    restored = Matcher.restore(matcher.snapshot(), grammar, vocabulary)
    assert restored.accept(ord("c")) and not restored.accept(ord("d")) and restored.accept(ord("."))


def test_the_end_is_kept() -> None:
    vocabulary = Vocabulary.bytes()
    grammar = Grammar.from_lark('start: "ab"')
    matcher = Matcher(grammar, vocabulary)
    assert matcher.accept_tokens([*b"ab", 256, 256]) == 4
    restored = Matcher.restore(matcher.snapshot(), grammar, vocabulary)
    assert restored.is_finished() and restored.tokens == [*b"ab", 256, 256]
    restored.rollback(2)
    assert not restored.is_finished() and restored.is_accepting()


def test_the_ids_that_end_are_kept() -> None:
    vocabulary = Vocabulary.from_tokens([b"a", b"", b"", b""], eos_token_id=1, special_token_ids=[2, 3])
    grammar = Grammar.from_regex("a+")
    matcher = Matcher(grammar, vocabulary, [3, 2])
    assert matcher.accept(0)
    restored = Matcher.restore(matcher.snapshot(), grammar, vocabulary)
    assert restored.eos_token_ids == (2, 3)
    assert filled(restored).tolist() == [True, False, True, True]


def test_a_matcher_of_eos_alone() -> None:
    vocabulary = Vocabulary.bytes()
    taken = Matcher.only_eos(vocabulary).snapshot()
    restored = Matcher.restore(taken, None, vocabulary)
    assert np.flatnonzero(filled(restored)).tolist() == [256] and restored.accept(256) and restored.is_finished()
    with pytest.raises(SnapshotError, match="give None") as caught:
        Matcher.restore(taken, Grammar.from_lark(LIST), vocabulary)
    assert caught.value.cause == "grammar"
    with pytest.raises(SnapshotError) as caught:
        Matcher.restore(Matcher(Grammar.from_lark(LIST), vocabulary).snapshot(), None, vocabulary)
    assert caught.value.cause == "grammar"


@pytest.mark.parametrize("error", [LimitError("too much").at_limit("row_items"), RuntimeError("a fault"), None])
def test_an_error_that_ended_the_sequence_is_kept(error: Exception | None) -> None:
    """Its class and its text, that is. The grammar's mask fails after each `a`, because `{` could follow."""

    def expand() -> list[list[int]]:
        assert error is not None
        raise error

    engine = Engine(Regexes())
    letter = engine.add_terminal("a", engine.regexes.literal(b"a"))
    start = engine.add_nonterminal("start")
    engine.add_production(start, [letter, start])
    engine.add_production(
        start, [letter, engine.add_terminal("{", engine.regexes.literal(b"{")), engine.add_lazy("x", expand)]
    )
    engine.finish(start)
    grammar, vocabulary = SimpleNamespace(engine=engine, fingerprint="ab" * 32), Vocabulary.bytes()
    matcher = Matcher(grammar, vocabulary)
    assert matcher.accept(ord("a"))
    if error is not None:
        matcher.fill_bitmask(np.zeros(9, dtype=np.int32), on_error="end")
        assert matcher.error is error
    restored = Matcher.restore(matcher.snapshot(), grammar, vocabulary)
    assert restored.tokens == [ord("a")] and restored.is_finished() == (error is not None)
    if error is None:
        assert restored.error is None and restored.accept(ord("a"))
        return
    if isinstance(error, LimitError):
        assert isinstance(restored.error, LimitError) and restored.error.limit == "row_items"
        assert str(restored.error) == "too much"
    else:
        assert type(restored.error) is EarleymaskError and str(restored.error) == "RuntimeError: a fault"
    assert not restored.accept(ord("a")) and np.flatnonzero(filled(restored)).tolist() == [256]
    assert restored.snapshot()[:HEAD] == matcher.snapshot()[:HEAD]
    restored.rollback(1)
    assert restored.error is None and restored.accept(ord("a"))


def test_an_error_stays_the_same_however_often_it_moves() -> None:
    grammar, vocabulary = Grammar.from_regex("abc"), Vocabulary.bytes()
    matcher = Matcher(grammar, vocabulary)
    matcher.fill_bitmask(np.zeros(9, np.int32), "end", remaining=2)
    taken, message = matcher.snapshot(), f"BudgetError: {matcher.error}"
    for _ in range(3):
        matcher = Matcher.restore(taken, grammar, vocabulary)
        assert type(matcher.error) is EarleymaskError and str(matcher.error) == message
        assert matcher.snapshot() == taken


def test_subclasses_are_kept() -> None:
    class Own(Matcher):
        pass

    vocabulary = Vocabulary.bytes()
    assert type(Own.restore(Matcher(LIST, vocabulary).snapshot(), Grammar.from_lark(LIST), vocabulary)) is Own


def test_what_a_matcher_has_forgotten() -> None:
    """It has the tokens nevertheless. The restored matcher may forget as much, and goes back over it all the same."""
    vocabulary = Vocabulary.bytes()
    grammar = Grammar.from_lark(PALINDROMES, limits=Limits(grammar_bytes=60_000))
    matcher = Matcher(grammar, vocabulary)

    def accept_all() -> None:
        for _ in range(5000):
            assert matcher.accept(ord("a"))

    with pytest.raises(LimitError, match="grammar_bytes"):
        accept_all()
    n = matcher.n_tokens // 10 * 9
    matcher.rollback(matcher.n_tokens - n)
    assert n > 50 and matcher.stats()["grammar_collections"] > 0
    restored = Matcher.restore(matcher.snapshot(), Grammar.from_lark(PALINDROMES), vocabulary)
    again = Matcher.restore(restored.snapshot(), grammar, vocabulary)
    for back in (n - 30, 20, 10):
        again.rollback(back)
        restored.rollback(back)
        compare(again, restored)
    assert again.n_tokens == 0


# ---- the format -----------------------------------------------------------------------------------------------------


def test_the_bytes() -> None:
    """Ids below 128 take one byte, 256 takes two: 0x80, 0x02."""
    vocabulary = Vocabulary.bytes()
    grammar = Grammar.from_lark('start: "ab"')
    matcher = Matcher(grammar, vocabulary)
    assert matcher.accept_tokens([97, 98, 256]) == 3
    body = b"EMsn\x01" + bytes.fromhex(grammar.fingerprint)[:16] + bytes.fromhex(vocabulary.fingerprint)[:16]
    body += b"\x00" + b"\x03ab\x80\x02" + b"\x00"
    assert matcher.snapshot() == body + crc32(body).to_bytes(4, "little")


def sealed(data: bytes) -> bytes:
    """Return the bytes with a right checksum in place of their last four."""
    return data[:-4] + crc32(data[:-4]).to_bytes(4, "little")


def test_what_is_not_for_this_matcher_is_refused() -> None:
    vocabulary, grammar = Vocabulary.bytes(), Grammar.from_lark(LIST)
    taken = Matcher(grammar, vocabulary).snapshot()
    other = Vocabulary.from_tokens([b"[", b"]", b",", b""], eos_token_id=3)
    for cause, arguments in {
        "grammar": (taken, Grammar.from_lark(LIST + " "), vocabulary),
        "vocabulary": (taken, grammar, other),
        "version": (sealed(taken[:4] + b"\x02" + taken[5:]), grammar, vocabulary),
        "damaged": (taken[:-1], grammar, vocabulary),
    }.items():
        with pytest.raises(SnapshotError, match=cause if cause != "damaged" else "whole") as caught:
            Matcher.restore(*arguments)
        assert caught.value.cause == cause
    with pytest.raises(TypeError, match="a snapshot is bytes, not int"):
        Matcher.restore(10**12, grammar, vocabulary)  # type: ignore[arg-type]
    assert Matcher.restore(memoryview(bytearray(taken)), Grammar.from_lark(LIST), vocabulary).n_tokens == 0  # type: ignore[arg-type]


@pytest.mark.parametrize("where", ["ends", "tokens", "text"])
def test_counts_are_compared_with_what_is_there(where: str) -> None:
    """Numbers up to 2^32 - 1 that say how much follows take no memory."""
    vocabulary, grammar = Vocabulary.bytes(), Grammar.from_lark(LIST)
    taken = Matcher(grammar, vocabulary).snapshot()
    most = b"\xff\xff\xff\xff\x0f"
    numbers = {"ends": most, "tokens": b"\x00" + most, "text": b"\x00\x00\x01" + most}[where]
    with pytest.raises(SnapshotError, match="more things") as caught:
        Matcher.restore(sealed(taken[:HEAD] + numbers + b"1234"), grammar, vocabulary)
    assert caught.value.cause == "damaged"


@pytest.mark.parametrize("name", ["", "a b", "x: y", "\n"])
def test_errors_have_names(name: str) -> None:
    """A name that is none would be read as a part of the message, and another snapshot follow from it."""
    vocabulary, grammar = Vocabulary.bytes(), Grammar.from_lark(LIST)
    head = Matcher(grammar, vocabulary).snapshot()[:HEAD] + b"\x00\x00\x02"
    with pytest.raises(SnapshotError, match="no name") as caught:
        Matcher.restore(sealed(head + bytes([len(name)]) + name.encode() + b"\x01m" + b"1234"), grammar, vocabulary)
    assert caught.value.cause == "damaged"
    engine = Engine(Regexes())
    start, letter = engine.add_nonterminal("start"), engine.add_terminal("a", engine.regexes.literal(b"a"))

    def expand() -> list[list[int]]:
        raise type(name, (RuntimeError,), {})("a fault")

    engine.add_production(start, [letter, engine.add_lazy("x", expand)])
    engine.finish(start)
    odd = SimpleNamespace(engine=engine, fingerprint="ab" * 32)
    matcher = Matcher(odd, vocabulary)
    matcher.fill_bitmask(np.zeros(9, dtype=np.int32), on_error="end")
    taken = matcher.snapshot()
    assert Matcher.restore(taken, odd, vocabulary).snapshot() == taken


def test_tokens_that_nobody_accepted() -> None:
    vocabulary, grammar = Vocabulary.bytes(), Grammar.from_lark(LIST)
    head = Matcher(grammar, vocabulary).snapshot()[:HEAD]
    with pytest.raises(RejectedTokenError) as caught:
        Matcher.restore(sealed(head + b"\x00\x02[x\x00" + b"1234"), grammar, vocabulary)
    assert (caught.value.index, caught.value.token_id) == (1, ord("x")) and caught.value.explanation is not None
    with pytest.raises(RejectedTokenError):
        Matcher.restore(sealed(head + b"\x00\x01\xff\x7f\x00" + b"1234"), grammar, vocabulary)  # there is no such id
    with pytest.raises(VocabularyError, match="cannot end"):
        Matcher.restore(sealed(head + b"\x02a\x00\x00" + b"1234"), grammar, vocabulary)
    with pytest.raises(VocabularyError, match="empty"):
        Matcher.restore(sealed(head + b"\x01\x00\x00" + b"1234"), grammar, vocabulary)


def test_what_restoring_takes_is_bounded() -> None:
    vocabulary = Vocabulary.bytes()
    for limits in (Limits(seconds=0.02), Limits(matcher_bytes=1 << 20)):
        grammar = Grammar.from_regex("a*", limits=limits)
        head = Matcher(grammar, vocabulary).snapshot()[:HEAD]
        taken = sealed(head + b"\x00\x80\x89\x7a" + b"a" * 2_000_000 + b"\x00" + b"1234")  # 2,000,000 in LEB128
        begin = time.process_time()
        with pytest.raises(LimitError):
            Matcher.restore(taken, grammar, vocabulary)
        assert time.process_time() - begin < 2


@settings(deadline=None)
@given(st.data())
def test_mutated_snapshots(data: st.DataObject) -> None:
    """Any bytes make a matcher whose tokens the grammar accepts, or raise an error of this package."""
    vocabulary, grammar = Vocabulary.bytes(), Grammar.from_lark(LIST)
    matcher = Matcher(grammar, vocabulary)
    feed(matcher, b"[[],[[],["[: data.draw(st.integers(0, 9))])
    if data.draw(st.booleans()):
        matcher.fill_bitmask(np.zeros(9, dtype=np.int32), on_error="end")
    taken = bytearray(matcher.snapshot())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(taken)))
        end = data.draw(st.integers(at, min(at + 4, len(taken))))
        taken[at:end] = data.draw(st.binary(max_size=4))
    changed = bytes(taken)
    if data.draw(st.booleans()):
        changed = changed[: data.draw(st.integers(0, len(changed)))]
    if data.draw(st.booleans()):
        changed = sealed(changed)
    try:
        restored = Matcher.restore(changed, grammar, vocabulary)
    except (SnapshotError, RejectedTokenError, VocabularyError):
        return
    twin = Matcher(grammar, vocabulary, restored.eos_token_ids)
    assert twin.validate(restored.tokens) == restored.n_tokens == twin.accept_tokens(restored.tokens)
    if restored.error is None:
        compare(restored, twin)
