"""The twin agrees with texts enumerated by brute force, with lark, and with plainer versions of itself."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark import Lark
from lark.exceptions import GrammarError, LarkError

from support import exhaustive
from support.effort import effort
from support.lark_oracle import lark_parser, lark_says
from support.strategies import GrammarSketch, TokenPool, grammars, make_grammar
from support.twin import EmptyLanguage, Item, Position, Row, Rule, Twin, TwinMatcher


@dataclass(frozen=True)
class PlainTokens:
    """A vocabulary of plain data: ids 0 to 255 are single bytes, EOS is 256."""

    tokens: tuple[bytes, ...]
    special_tokens: Mapping[str, int]

    @property
    def size(self) -> int:
        return len(self.tokens)

    @property
    def eos_token_ids(self) -> tuple[int, ...]:
        return (256,)

    def token_bytes(self, token_id: int) -> bytes:
        return self.tokens[token_id]


def plain_tokens(more: Iterable[bytes] = (), specials: Iterable[str] = ()) -> PlainTokens:
    tokens = [bytes([b]) for b in range(256)] + [b"", *more]
    names = list(specials)
    return PlainTokens((*tokens, *[b""] * len(names)), {name: len(tokens) + i for i, name in enumerate(names)})


class PlainerTwin(Twin):
    """The recogniser without its refinement: rows are closed by sweeping until nothing changes, also for completions
    that begin in the row itself, and ignored text is a part of the rules (`x: T blanks`) and not carried."""

    def __init__(
        self, rules: Iterable[Rule], terminals: Mapping, *, start: str = "start", ignored: Iterable[str] = (), **more
    ) -> None:  # type: ignore
        written = [Rule(r.left, tuple(s for x in r.right for s in self._spaced(x, terminals))) for r in rules]
        written += [Rule("$blanks", ()), *(Rule("$blanks", ("$blanks", name)) for name in ignored)]
        written += [Rule("$text", ("$blanks", start))]
        super().__init__(written, terminals, start="$text", **more)

    @staticmethod
    def _spaced(symbol: str, terminals: Mapping) -> tuple[str, ...]:  # type: ignore[type-arg]
        return (symbol, "$blanks") if symbol in terminals else (symbol,)

    def _close(self, row: Row, kernel: Iterable[Item]) -> None:
        items = set(kernel)
        while True:
            row.waiting = {}
            for number, dot, origin in items:
                for symbol in self.rules[number].right[dot : dot + 1]:
                    row.waiting.setdefault(symbol, []).append((number, dot, origin))
            found: set[Item] = set()
            for number, dot, origin in items:
                rule = self.rules[number]
                if dot == len(rule.right):
                    row.sentence = row.sentence or rule.left == "$start"
                    found.update((n, d + 1, o) for n, d, o in origin.waiting.get(rule.left, ()))
                else:
                    symbol = rule.right[dot]
                    found.update((n, 0, row) for n in self.by_left.get(symbol, ()))
                    if symbol in self.terminals and self.terminals[symbol].nullable:
                        found.add((number, dot + 1, origin))
            if found <= items:
                return
            items |= found


def twin_or_none(text: str, kind: type[Twin] = Twin, lexemes: str = "earleymask", remember: bool = True) -> Twin | None:
    """Return the twin, or None if the language is empty; reject the example if lark refuses the grammar."""
    try:
        return kind.from_lark(text, lexemes=lexemes, remember=remember)
    except EmptyLanguage:
        return None
    except GrammarError as error:
        if "defined twice" not in str(error):
            raise
        return None


def some_texts(rng: Random, twin: Twin, n: int, longest: int = 12) -> list[bytes]:
    """Return texts near the language: walks over viable bytes, whole, cut, or with a byte changed."""
    found = [b""]
    for _ in range(n):
        position: Position | None = twin.start
        text = bytearray()
        for _ in range(rng.randint(1, longest)):
            assert position is not None
            ways = [b for b in range(256) if twin.advance(position, b) is not None]
            if not ways or (twin.may_end(position) and rng.randrange(4) == 0):
                break
            ascii_ways = [b for b in ways if b < 0x80]
            byte = rng.choice(ascii_ways if ascii_ways and rng.randrange(4) else ways)
            text.append(byte)
            position = twin.advance(position, byte)
        found.append(bytes(text))
        if text and rng.randrange(3) == 0:
            text[rng.randrange(len(text))] = rng.choice(b"ab,~ ")
            found.append(bytes(text))
    return found


# --- by brute force --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [Twin, PlainerTwin])
def test_every_grammar_of_one_rule(kind: type[Twin]) -> None:
    for grammar in exhaustive.one_rule():
        check_exhaustively(grammar, kind, longest=6)


@pytest.mark.parametrize("kind", [Twin, PlainerTwin])
def test_a_slice_of_the_grammars_of_two_rules(kind: type[Twin]) -> None:
    for grammar in itertools.islice(exhaustive.two_rules(), 0, None, 97):
        check_exhaustively(grammar, kind, longest=5)


def check_exhaustively(grammar: exhaustive.Grammar, kind: type[Twin], longest: int) -> None:
    viable = exhaustive.viable_prefixes(grammar, longest)
    sentences = exhaustive.sentences(grammar, longest)
    twin = twin_or_none(exhaustive.lark_text(grammar), kind)
    if twin is None:
        assert not viable and not sentences, grammar
        return
    for n in range(longest + 1):
        for letters in itertools.product("ab", repeat=n):
            text = "".join(letters)
            assert twin.is_viable(text.encode()) == (text in viable), (grammar, text)
            assert twin.is_sentence(text.encode()) == (text in sentences), (grammar, text)


# --- against plainer versions ----------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(grammars(), st.integers(0, 2**32 - 1).map(Random))
def test_refinements_change_nothing(sketch: GrammarSketch, rng: Random) -> None:
    twin = twin_or_none(sketch.text)
    plainer = twin_or_none(sketch.text, PlainerTwin, remember=False)
    assert (twin is None) == (plainer is None)
    if twin is None or plainer is None:
        return
    for text in some_texts(rng, twin, 4, longest=8):
        for n in range(len(text) + 1):
            assert twin.is_viable(text[:n]) == plainer.is_viable(text[:n]), (sketch.text, text[:n])
            assert twin.is_sentence(text[:n]) == plainer.is_sentence(text[:n]), (sketch.text, text[:n])


@settings(max_examples=25)
@given(grammars(), st.integers(0, 2**32 - 1).map(Random))
def test_masks_are_those_of_the_definition(sketch: GrammarSketch, rng: Random) -> None:
    vocabulary = plain_tokens(
        [b"ab", b"a,", b"((", b"()", b"aa", b"a a", b"  ", "é".encode(), b"if", b"\xe6\x97", b'""']
    )
    shared, alone = twin_or_none(sketch.text), twin_or_none(sketch.text, remember=False)
    if shared is None or alone is None:
        return
    quick, slow = TwinMatcher(shared, vocabulary), TwinMatcher(alone, vocabulary)
    for _ in range(4):
        mask = quick.mask()
        assert np.array_equal(mask, slow.mask_by_definition()), (sketch.text, quick.tokens)
        assert mask.any()
        token_id = int(rng.choice(np.flatnonzero(mask).tolist()))
        assert quick.accept(token_id) and slow.accept(token_id)


# --- against lark ----------------------------------------------------------------------------------------------------


def lark_side(text: str) -> Lark:
    return lark_parser(text, ambiguity="forest")


def lark_on(parser: Lark, text: bytes) -> bool | None:
    """Return whether lark accepts the text; None if it cannot say."""
    try:
        return lark_says(parser, text.decode())
    except UnicodeDecodeError:
        return None


@settings(max_examples=effort(60, 150))
@given(grammars(plain=True), st.integers(0, 2**32 - 1).map(Random))
def test_sentences_are_those_of_lark(sketch: GrammarSketch, rng: Random) -> None:
    """With lark's reading of lexemes the sentences are equal; with ours, lark's are among them."""
    twin = twin_or_none(sketch.text, lexemes="lark")
    ours = twin_or_none(sketch.text)
    if twin is None or ours is None:
        return
    try:
        parser = lark_side(sketch.text)
    except LarkError as error:
        if "zero-width" not in str(error):
            raise
        return
    for text in some_texts(rng, twin, 5) + some_texts(rng, ours, 3):
        expected = lark_on(parser, text)
        if expected is None:
            continue
        assert twin.is_sentence(text) == expected, (sketch.text, text)
        assert ours.is_sentence(text) or not expected, (sketch.text, text)


def test_sentences_are_those_of_lark_in_every_small_grammar() -> None:
    for grammar in itertools.islice(exhaustive.one_rule(), 0, None, 5):
        twin = twin_or_none(exhaustive.lark_text(grammar))
        if twin is None:
            continue
        parser = lark_side(exhaustive.lark_text(grammar))
        for n in range(5):
            for letters in itertools.product("ab", repeat=n):
                text = "".join(letters).encode()
                assert twin.is_sentence(text) == lark_on(parser, text), (grammar, text)


# --- by hand ---------------------------------------------------------------------------------------------------------


def test_lexing_is_not_greedy() -> None:
    assert Twin.from_lark('start: A "b"\nA: /[a-z]+/').is_sentence(b"ab")
    assert Twin.from_lark('start: ("foo"|"foobar") "bar"').is_sentence(b"foobar")


def test_special_tokens_are_symbols_and_not_text() -> None:
    vocabulary = plain_tokens([b"CALL"], specials=["<|call|>", "<|other|>"])
    matcher = TwinMatcher(Twin.from_lark('start: "a" <|call|> "b" | "aCALLc"'), vocabulary)
    assert matcher.accept(ord("a"))
    mask = matcher.mask()
    call = vocabulary.special_tokens["<|call|>"]
    assert mask[call] and mask[257] and not mask[vocabulary.special_tokens["<|other|>"]]
    fork = matcher.fork()
    assert matcher.accept(call) and matcher.mask().nonzero()[0].tolist() == [ord("b")]
    assert fork.accept(257) and fork.mask().nonzero()[0].tolist() == [ord("c")]


def test_after_eos_there_is_eos_alone() -> None:
    matcher = TwinMatcher(Twin.from_lark('start: "a"+'), plain_tokens())
    assert not matcher.accept(256) and matcher.accept(ord("a")) and matcher.accept(256) and matcher.is_finished()
    assert matcher.mask().nonzero()[0].tolist() == [256]
    assert not matcher.accept(ord("a")) and matcher.accept(256)


@pytest.mark.parametrize("seed", range(3))
def test_a_sample_has_every_single_byte(seed: int) -> None:
    pool = TokenPool.of([b"ab", b"the quick brown fox", "日本".encode(), b"xyz"] * 100)
    tokens = pool.sample(Random(seed), 500)
    assert len(tokens) == 500 and {bytes([b]) for b in range(256)} <= set(tokens)
    assert make_grammar(Random(seed)).text
