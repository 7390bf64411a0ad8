"""Substrings of a text by chunk are all runs of chunks, and nothing else."""

from __future__ import annotations

import itertools
import random
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earleymask import LimitError, Matcher, Vocabulary
from earleymask.earley import Engine
from earleymask.earley._regex import Regexes
from earleymask.grammar import Grammar
from earleymask.grammar.errors import RegexSyntaxError
from earleymask.grammar.regex import substring
from earleymask.grammar.regex.ast import Concat, Literal, Repeat, Substring
from earleymask.grammar.regex.choices import single_terminal
from earleymask.grammar.regex.lower import lower

BYTES = Vocabulary.bytes()


def runs(chunks: list[str]) -> set[str]:
    return {"".join(chunks[n:m]) for n in range(len(chunks) + 1) for m in range(n, len(chunks) + 1)}


def grammar_of(engine: Engine) -> Grammar:
    return Grammar._make("lark", "", "start", engine, ())


@settings(max_examples=300)
@given(st.lists(st.sampled_from(["a", "b", "ab", "ba", "aab", "é", ""]), max_size=8))
def test_all_runs_and_nothing_else(chunks: list[str]) -> None:
    regexes = Regexes()
    node = lower(Substring(tuple(chunks)), regexes)
    expected = runs(chunks)
    for text in expected:
        assert regexes.matches(node, text.encode()), text
    for length in range(5):
        for letters in itertools.product("abé", repeat=length):
            text = "".join(letters)
            assert regexes.matches(node, text.encode()) == (text in expected), text


def test_every_word_over_two_letters() -> None:
    for length in range(8):
        for letters in itertools.product("ab", repeat=length):
            text = "".join(letters)
            regexes = Regexes()
            node = lower(Substring(tuple(text)), regexes)
            for other_length in range(length + 2):
                for other in map("".join, itertools.product("ab", repeat=other_length)):
                    assert regexes.matches(node, other.encode()) == (other in text), (text, other)


def test_masks_of_a_quotation() -> None:
    rng = random.Random(3)
    text = "".join(rng.choices("abcd ", k=300))
    regexes = Regexes()
    grammar = grammar_of(single_terminal("quote", lower(Substring(tuple(text)), regexes), regexes))
    tokens = [*{text[i : i + n] for i in range(0, 300, 3) for n in (1, 2, 3)}, "aaaaaa", "dddd", "e"]
    vocabulary = Vocabulary.from_tokens([*(token.encode() for token in tokens), b"</s>"], eos_token_id=len(tokens))
    for _ in range(20):
        matcher = Matcher(grammar, vocabulary)
        written = ""
        for _ in range(6):
            allowed = matcher.mask().nonzero()[0].tolist()
            assert allowed == [t for t in range(len(tokens)) if written + tokens[t] in text] + [len(tokens)]
            if len(allowed) == 1:
                break
            token = rng.choice(allowed[:-1])
            assert matcher.accept(token)
            written += tokens[token]


def test_parts_of_terminals() -> None:
    regexes = Regexes()
    quoted = Concat((Literal('"'), Substring(("one ", "two ", "three")), Literal('"')))
    node = lower(quoted, regexes)
    for inside, expected in [("", True), ("two three", True), ("one three", False), ("two", False), ("two ", True)]:
        assert regexes.matches(node, f'"{inside}"'.encode()) == expected, inside
    with pytest.raises(RegexSyntaxError, match="one terminal has a substring form beside a lazy quantifier"):
        lower(Concat((Repeat(Literal("a"), 0, None, True), Substring(("a",)))), regexes)


@pytest.mark.parametrize(
    ("fields", "chunks"),
    [
        ({"substring_chunks": ["abc", "de", "fg"]}, ["abc", "de", "fg"]),
        ({"substring_words": "foo bar. baz"}, ["foo", " ", "bar", ".", " ", "baz"]),
        ({"substring_words": "a_1  é?!\n", "substring_chunks": None}, ["a_1", "  ", "é", "?!", "\n"]),
        ({"substring_chars": "ab c"}, ["a", "b", " ", "c"]),
        ({"substring_chars": ""}, []),
        ({"substring_chunks": []}, []),
    ],
)
def test_the_three_forms(fields: dict[str, object], chunks: list[str]) -> None:
    node = substring.structured_regex(fields)
    assert node == Substring(tuple(chunks))
    regexes = Regexes()
    lowered = lower(node, regexes)
    for text in runs(chunks):
        assert regexes.matches(lowered, text.encode())


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ("abc", "%regex takes a JSON object"),
        ([], "%regex takes a JSON object"),
        ({}, "%regex must have one field, not 0"),
        ({"substring_chars": None}, "%regex must have one field, not 0"),
        ({"substring_chars": "a", "substring_words": "b"}, "%regex must have one field, not 2"),
        ({"substring_lines": "a"}, "%regex has no field 'substring_lines'"),
        ({"substring_chunks": "abc"}, "substring_chunks must be a list of strings"),
        ({"substring_chunks": ["a", 1]}, "substring_chunks must be a list of strings, but item 1 is not a string"),
        ({"substring_words": ["a"]}, "substring_words must be a string"),
    ],
)
def test_what_is_refused(fields: object, message: str) -> None:
    with pytest.raises(RegexSyntaxError, match=re.escape(message)):
        substring.structured_regex(fields)


def test_lone_surrogates_and_limits() -> None:
    with pytest.raises(RegexSyntaxError, match="lone surrogate"):
        lower(Substring(("a", "\ud800")), Regexes())
    with pytest.raises(LimitError, match=f"limits {substring.MAX_CHUNKS} and"):
        lower(Substring(("a",) * (substring.MAX_CHUNKS + 1)), Regexes())
    with pytest.raises(LimitError, match=f"and {substring.MAX_BYTES}"):
        lower(Substring(("a" * (substring.MAX_BYTES + 1),)), Regexes())
    rng = random.Random(1)
    chunks = [rng.choice("ab") * 3000 for _ in range(2000)]
    with pytest.raises(LimitError, match="bytes on the edges"):
        lower(Substring(tuple(chunk + str(i % 50) for i, chunk in enumerate(chunks))), Regexes())


def test_long_texts_are_linear_and_deep() -> None:
    """Long texts take linear time and no recursion: one of a single letter branches everywhere, random ones have most
    states."""
    rng = random.Random(2)
    for text in ("a" * 20_000, "".join(rng.choices("ab", k=20_000)), "".join(rng.choices("abcdefgh .,", k=20_000))):
        regexes = Regexes()
        began = time.process_time()
        node = lower(Substring(tuple(text)), regexes)
        assert time.process_time() - began < 5
        assert regexes.n_nodes < 8 * len(text)
        matcher = Matcher(grammar_of(single_terminal("quote", node, regexes)), BYTES)
        place = rng.randrange(10_000)
        for char in text[place : place + 200]:
            assert matcher.mask()[256]
            assert matcher.accept(ord(char))
        assert regexes.matches(node, text.encode())
