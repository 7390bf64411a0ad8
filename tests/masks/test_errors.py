"""If a mask is abandoned halfway, the call falls back on the walk or raises, and all later masks are right.

What the mask had begun stays in memory: half an answer, answers within it, parts, rows of templates. None of this may
change a later mask, of this grammar or of another one on the same vocabulary.
"""

from __future__ import annotations

from contextlib import suppress
from random import Random
from types import SimpleNamespace

import numpy as np
import numpy.typing as npt
import pytest

from earleymask import Grammar, LimitError, Limits, Matcher, Vocabulary
from earleymask.earley import Engine, Regexes
from support.mask_paths import NEVER, SPLITS, agreed, all_strings, feed, filled, go_on, limits, walked

BUDGETS = [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987]
TEXTS = [
    'start: "[" [start ("," start)*] "]" | S\nS: /a+/\n%ignore / +/',
    'start: start start | "a" | "[" start "]" | S\nS: /a[a,]{0,3}/\n%ignore " "',
    'start: "a" start "a" | "," start "," | S |\nS: /\\[[^\\[\\]]*\\]/',
]


@pytest.mark.parametrize("split_nodes", [6, 50, NEVER])  # nodes are visited only below smaller ones
@pytest.mark.parametrize("text", TEXTS)
def test_a_budget_that_ends_within_a_mask(text: str, split_nodes: int) -> None:
    """The budget may end anywhere; with a larger one, these and the next positions are answered without the walk."""
    rng = Random(split_nodes)
    vocabulary = all_strings("[],a ", 4)
    given_up, twin = 0, Grammar.from_lark(text)
    for budget in BUDGETS:
        with limits(split_nodes=split_nodes):
            matcher = Matcher(Grammar.from_lark(text), vocabulary)
            for _ in range(4):
                with limits(budget=budget):
                    mask = agreed(matcher, twin)
                    assert np.array_equal(filled(matcher.fork()), mask)
                given_up += (walks := matcher.stats()["masks_walked"])
                if not go_on(matcher, rng, mask):
                    break
                agreed(matcher, twin)
                if not go_on(matcher, rng, agreed(matcher, twin)):
                    break
                assert matcher.stats()["masks_walked"] == walks
    assert given_up > 0


def test_questions_nested_too_deep() -> None:
    """Each blank of a token may end a lexeme, so questions nest as deep as there are blanks; the depth has a bound.

    Digits may stand in place of the blanks: so many bytes continue these terminals that they are not walked by bytes.
    """
    tokens = [b" " * n for n in range(1, 600)] + [b"x", b" x", b"c", b"d"]
    vocabulary = Vocabulary.from_tokens([*tokens, b""], eos_token_id=len(tokens))
    text = 'start: A start "c" | A A start "d" | "x"\nA: /[ 0-9]/'
    twin = Grammar.from_lark(text)
    with limits(split_nodes=1):
        grammar = Grammar.from_lark(text)
        matcher = Matcher(grammar, vocabulary)
        agreed(matcher, twin)
        given_up = matcher.stats()["masks_walked"]
        for token in (b"     ", b" " * 400, b"x", b"c"):
            assert matcher.accept(tokens.index(token))
            agreed(matcher, twin)
        assert matcher.stats()["masks_walked"] > given_up > 0


def too_hard(regexes: Regexes) -> int:
    """Make a regex that matches nothing, which shows only after more than 2^18 derivatives."""
    letter = regexes.byte_set(b"ab")

    def late(text: bytes) -> int:
        return regexes.concat([regexes.repeat(letter, 0, None), regexes.literal(text), regexes.repeat(letter, 20, 20)])

    return regexes.intersection([late(b"a"), late(b"b")])


def grammar_of(regexes: Regexes, *alternatives: list[int]) -> SimpleNamespace:
    """Make `start: alternative | ...`, each a sequence of terminals with these regexes."""
    engine = Engine(regexes)
    start = engine.add_nonterminal("start")
    for nodes in alternatives:
        engine.add_production(start, [engine.add_terminal(f"T{node}", node) for node in nodes])
    engine.finish(start)
    return SimpleNamespace(engine=engine)


def test_what_one_part_takes_is_bounded() -> None:
    """Deciding whether a terminal matches anything would leave 200 MB in the parts. The walk fails instead."""
    vocabulary = all_strings("abxy", 4)
    r = Regexes()
    with limits(split_nodes=1):
        hard = r.concat([r.literal(b"x"), r.union([too_hard(r), r.literal(b"y")])])
        matcher = Matcher(grammar_of(r, [hard]), vocabulary)
        matcher.grammar.engine.set_limits(Limits(seconds=30))
        with pytest.raises(LimitError, match="grammar_bytes"):
            filled(matcher)
    assert 32 << 20 < vocabulary.stats()["part_bytes"] < 80 << 20


def test_a_terminal_that_is_too_hard() -> None:
    """Neither way can make a mask at this terminal; positions that do not reach it are answered as before."""
    vocabulary = all_strings("abxy", 4)
    r = Regexes()
    hard = r.concat([r.literal(b"x"), r.union([too_hard(r), r.literal(b"y")])])
    words = r.repeat(r.byte_set(b"aby"), 1, 3)
    with limits(split_nodes=1):
        matcher = Matcher(grammar_of(r, [hard], [r.literal(b"bb"), words, r.literal(b"y")]), vocabulary)
        other = Matcher(Grammar.from_lark('start: (W "x")+\nW: /[ab]{1,3}y*/\n%ignore /y/'), vocabulary)
        matcher.grammar.engine.set_limits(Limits(grammar_bytes=512 << 20, seconds=30))
        for way in (filled, walked):
            with pytest.raises(LimitError, match="regex states"):
                way(matcher)
            agreed(other)
        assert matcher.tokens == [] and not matcher.is_finished()
        feed(matcher, b"bb")
        for text in (b"a", b"y"):
            agreed(matcher)
            feed(matcher, text)
            feed(other, text)
            agreed(other)
        assert matcher.stats()["masks_walked"] == other.stats()["masks_walked"] == 0


def test_too_many_lexer_states() -> None:
    """`[ab]*a[ab]{40}` has 2^41 lexer states, and long tokens reach very many; then the grammar learns no more."""
    rng = Random(1)
    long = ["".join(rng.choices("ab", k=400)).encode() for _ in range(500)]
    tokens = [b"a", b"b", b"x", b"y", b"yy", b"xy"]
    tokens += [token for word in long for token in (word, b"x" + word, b"y" + word[:9])]
    vocabulary = Vocabulary.from_tokens([*dict.fromkeys(tokens), b""], eos_token_id=len(set(tokens)))
    text = 'start: "x" LATE | "y" WORD "y"\nLATE: /[ab]*a[ab]{40}/\nWORD: /[ab]+/'
    with limits(split_nodes=10, memory=1 << 30):
        matcher, other = (
            Matcher(Grammar.from_lark(t, limits=Limits(grammar_bytes=512 << 20, seconds=30)), vocabulary)
            for t in (text, text.replace("{40}", "{2}"))
        )

        def filled_at_last() -> npt.NDArray[np.bool_]:
            """Return the mask after some calls: one call may remember only so much, and the next continues there."""
            for _ in range(20):
                with suppress(LimitError):
                    return filled(matcher)
            raise AssertionError("no call came further")

        def along_words() -> None:
            one, two = matcher.fork(), other.fork()
            for letter in (b"y", b"a", b"b"):
                feed(one, letter)
                feed(two, letter)
                assert np.array_equal(agreed(one), agreed(two))

        along_words()
        with pytest.raises(LimitError, match="lexer states"):
            walked(matcher)
        along_words()
        assert np.array_equal(filled_at_last(), agreed(other))  # the parts know regexes without the lexer
        with limits(split_nodes=NEVER, small_nodes=NEVER):
            matcher.accept(tokens.index(b"x"))
            with pytest.raises(LimitError, match="lexer states"):
                filled(matcher)
        matcher.rollback(1)
        along_words()
        assert np.array_equal(filled_at_last(), agreed(other))


@pytest.mark.parametrize("error", [LimitError("no more"), ValueError("a bug")])
@pytest.mark.parametrize("n_failures", [1, 2, 3])
@pytest.mark.parametrize("split_nodes", SPLITS)
def test_productions_that_cannot_be_made_at_first(error: Exception, n_failures: int, split_nodes: int) -> None:
    """A mask is abandoned at a lazy symbol that cannot be expanded; once it can, the masks are right."""
    failures = [error] * n_failures

    def expand() -> list[list[int]]:
        if failures:
            raise failures.pop()
        return [[b, start, b], [c], [word]]

    r = Regexes()
    engine = Engine(r)
    b, c = (engine.add_terminal(x, r.literal(x.encode())) for x in "bc")
    word = engine.add_terminal("word", r.repeat(r.byte_set(b"ac"), 2, 3))
    engine.add_terminal("blank", r.repeat(r.literal(b" "), 1, None), True)
    start, lazy = engine.add_nonterminal("start"), engine.add_lazy("lazy", expand)
    engine.add_production(start, [engine.add_terminal("a", r.literal(b"a")), lazy, b])
    engine.add_production(start, [c])
    with limits(split_nodes=split_nodes):
        try:
            engine.finish(start)
        except type(error):
            pytest.skip("a lazy symbol is needed to open the grammar")
        matcher = Matcher(SimpleNamespace(engine=engine), all_strings("abc ", 4))
        while failures:
            try:
                filled(matcher)
            except type(error):
                continue
        agreed(matcher)
        for text in (b"a", b" ", b"b", b"a", b"ac", b" b", b"bb"):
            for letter in text:
                feed(matcher, bytes([letter]))
                agreed(matcher)
        assert matcher.is_accepting()
