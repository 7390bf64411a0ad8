"""Counted repetitions take bounded space, even if a text can be counted in several ways."""

from __future__ import annotations

import itertools
import re
import time

import pytest

from earleymask import Grammar, Matcher, Vocabulary
from earleymask.earley._regex import Regexes
from earleymask.earley.errors import LimitError
from earleymask.grammar.errors import RegexSyntaxError
from earleymask.grammar.regex import parse_regex, whole_text
from earleymask.grammar.regex.lower import lower


def lowered(pattern: str) -> tuple[Regexes, int]:
    regexes = Regexes()
    return regexes, lower(whole_text(parse_regex(pattern)), regexes)


@pytest.mark.parametrize(
    "pattern",
    [
        "(?:a|aa){2,4}",
        "(?:a|aa){3}",
        "(?:a|aaa){2,5}b?",
        "(?:a|ab|b){2,5}",
        "(?:a|aba|ba){2,3}(?:ab){1,2}",
        "(?:(?:a|aa){1,2}b?){2,3}",
        "(?:(?:a|aa){2}|b){2,4}",
        "x?(?:a|aa){1,3}a{2,4}",
        "(?:a|aa){1,2}b|(?:a|aa){2,5}b|(?:a|aa){4}",
        "(?:a|b*){1,3}c?",
        "(?:a{1,2}){2,}",
    ],
)
def test_ambiguous_counts(pattern):
    regexes, root = lowered(pattern)
    for n in range(9):
        for letters in itertools.product("ab" if n > 6 else "abc", repeat=n):
            word = "".join(letters)
            assert regexes.matches(root, word.encode()) == bool(re.fullmatch(pattern, word)), word


@pytest.mark.parametrize(
    ("pattern", "n", "accepted"),
    [
        ("[a-z]{1,100000}", 100_000, True),
        ("[a-z]{1,100000}", 100_001, False),
        ("(?:a|aa){1,100000}", 2000, True),
        ("(?:a|aa){50000,100000}", 2000, False),
        ("(?:a|aa){100000}", 100_000, True),
        ("(?:a|aa){100000}", 99_999, False),
        ("(?:a|aa){100000}", 150_001, True),
        ("(?:a|aa){100000}", 200_001, False),
        ("(?:a|aa|aaa){900,1000}", 2999, True),
        ("(?:a|aa|aaa){900,1000}", 3001, False),
        ("(?:(?:a|aa){1,300}b?){1,300}", 2000, True),
        ("(?:a?){1000000000}", 2000, True),
    ],
)
def test_large_counts_take_bounded_space(pattern, n, accepted):
    regexes, root = lowered(pattern)
    assert regexes.matches(root, b"a" * n) == accepted
    # A few nodes for each byte read, for any number of ways to count.
    assert regexes.n_nodes < 40 * n + 100


@pytest.mark.parametrize("pattern", ["(a|aa){100000}", "(a|aa){1,100000}", "(a|aa|b){100000}"])
def test_masks_within_large_counts(pattern):
    """Long tokens over the whole text keep the state small, and the masks near the bounds are right."""
    tokens = [b"a" * n for n in (1, 100, 1000)] + [b"b"]
    vocabulary = Vocabulary.from_tokens([*tokens, b""], eos_token_id=4)
    matcher = Matcher(Grammar.from_regex(pattern), vocabulary)
    for n in range(200):
        least = 1 if "{1," in pattern else 100_000
        assert list(matcher.mask()) == [True, True, True, "b" in pattern, 1000 * n >= least], n
        assert matcher.accept(2)
    assert list(matcher.mask()) == [False, False, False, False, True]


def test_counts_with_gaps_are_alternatives():
    """In `a|aaa` the number of turns is the number of letters minus an even number."""
    regexes, root = lowered("(?:a|aaa){100000}")
    assert not regexes.matches(root, b"a" * 1000)
    with pytest.raises(LimitError, match="4096 alternatives"):
        regexes.matches(root, b"a" * 13_000)


@pytest.mark.parametrize(
    "pattern",
    [
        "(" * 90 + "a+" + ")+" * 90,
        "(?:a*)*" * 50 + "b",
        "(?:" + "|".join("a" * n for n in range(1, 200)) + ")*b",
        "(?:a|a|aa)*" * 20,
        "(?:x+x+)+y",
        "(?:a{1,1000000000}){1,1000000000}",
        "(?!(?:a*)*b)[ab]*",
        "(?:(?:(?:a?){50}){50}){50}",
        r"[\w\W]{1,1000}\p{L}{1,1000}[^\p{Lu}\p{Script=Han}]*",
        "(?=a*)" * 300 + "a*",
        "(?:(?>a*)b)*",
        "(?:a|(?:b|(?:c|d)*)*)*",
    ],
)
def test_hostile_patterns_take_bounded_time(pattern):
    """Each works in time linear in the text, or raises an error that names a limit."""
    begin = time.process_time()
    try:
        regexes, root = lowered(pattern)
        for text in (b"a" * 300, b"ab" * 150, b"x" * 300):
            regexes.matches(root, text)
        regexes.is_empty(root)
    except LimitError:
        pass
    assert time.process_time() - begin < 20


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("a{1,99999999999}", "repetition count"),
        ("(" * 200 + ")" * 200, "nested deeper"),
        ("(?>a{1,1000000000})b", "instructions"),
        ("a{40000}+", "instructions"),
        ("".join(f"(?<=a{i})" for i in range(40)), "lookbehinds"),
    ],
)
def test_limits_are_typed(pattern, message):
    with pytest.raises(LimitError, match=message):
        lowered(pattern)


def test_errors_have_a_place_and_a_way_out():
    for pattern, position in [(r"ab(a)\1", 5), (r"a(?P=x)", 1), ("a(?(1)b)", 1), (r"(?<=a+)b", 0), (r"[\p{Nope}]", 1)]:
        with pytest.raises(RegexSyntaxError) as caught:
            parse_regex(pattern)
        assert caught.value.position == position
        assert caught.value.hint


@pytest.mark.parametrize("bounded", [True, False])
def test_emptiness_is_decided_by_the_shortest_texts(bounded):
    """A search in an intersection of counts finds a short text without visiting the longest ones."""
    regexes = Regexes()
    text = lower(whole_text(parse_regex("[a-z]{2,2000}@[a-z]{3,2000}!")), regexes)
    other = lower(whole_text(parse_regex("[^0]{0,1500}" if bounded else "(?:[^0]b?)*")), regexes)
    assert not regexes.is_empty(regexes.intersection([text, other]))
    assert regexes.n_nodes < 200
    none = lower(whole_text(parse_regex("[^0]{0,5}")), regexes)
    assert regexes.is_empty(regexes.intersection([text, none]))
