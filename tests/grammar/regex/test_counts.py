"""Counted repetitions take bounded space, even if a text can be counted in several ways."""

from __future__ import annotations

import itertools
import random
import re
import time
from collections.abc import Callable

import pytest

from earleymask import Grammar, Matcher, Vocabulary
from earleymask.earley._regex import Regexes
from earleymask.earley.errors import LimitError
from earleymask.grammar.errors import RegexSyntaxError
from earleymask.grammar.regex import parse_regex, whole_text
from earleymask.grammar.regex.lower import lower
from support.effort import effort
from support.naive_regexes import NaiveRegexes


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
        "(?:a{2,3}){0,2}",
        "(?:a{2,3}){2,3}",
        "(?:a{2,}){0,2}b",
        "(?:(?:a{0,2}){1,2}b?){0,2}",
        "(?:a|){2,3}b?",
        "a?a?a{2,3}a*b?",
        "a{1,2}a{2}b*a?b?",
        "a*b*a*b*c?",
        "(?:a?b?){3}a?",
        "(?:a*b|a?b?c?)(?:a*b?c*)?",
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


def random_pattern(rng: random.Random, depth: int) -> str:
    kind = rng.random()
    if depth == 0 or kind < 0.2:
        return rng.choice(["a", "b", "[ab]", "ab", "a|b"])
    if kind < 0.5:
        return "".join(f"(?:{random_pattern(rng, depth - 1)})" for _ in range(rng.randint(2, 4)))
    if kind < 0.6:
        return f"{random_pattern(rng, depth - 1)}|{random_pattern(rng, depth - 1)}"
    least = rng.randint(0, 3)
    count = rng.choice(["*", "+", "?", "?", f"{{{least},{least + rng.randint(0, 3)}}}", f"{{{least},}}"])
    return f"(?:{random_pattern(rng, depth - 1)}){count}"


@pytest.mark.parametrize("seed", range(effort(150, 5000)))
def test_random_repetitions_of_repetitions(seed: int) -> None:
    """All short texts of random sequences, choices and counts within each other are judged as by naive derivatives."""
    tree = whole_text(parse_regex(random_pattern(random.Random(seed), 4)))
    regexes, naive = Regexes(), NaiveRegexes()
    root, expected = lower(tree, regexes), lower(tree, naive)
    for n in range(7):
        for letters in itertools.product("ab", repeat=n):
            word = "".join(letters).encode()
            assert regexes.matches(root, word) == naive.matches(expected, word), word


@pytest.mark.parametrize(
    "pattern",
    [
        lambda n: "a?" * n,
        lambda n: "[a-z]*" * n,
        lambda n: "[a-z]?[0-9a]?" * n,
        lambda n: "".join(f"[{chr(97 + i % 20)}-z]*" for i in range(n)),
        lambda n: "(?:a?b?c*)" * n,
        lambda n: "(?:" * (n // 20) + "a{0,5}" + "){0,5}" * (n // 20),
        lambda n: "(?:" * (n // 10) + "ab?|c{0,3}" + ")*" * (n // 10),
    ],
)
def test_sequences_and_nests_have_few_states(pattern: Callable[[int], str]) -> None:
    """Parts that may be skipped add to a state only what cannot be reached by skipping: a state is one place."""
    n_states = []
    for n in (50, 100, 200):
        regexes, root = lowered(pattern(n))
        before = regexes.n_nodes
        assert regexes.matches(root, b"acaab" * 7 if "c" in pattern(n) else b"a" * 35)
        n_states.append(regexes.n_nodes - before)
    assert n_states[2] <= 1.1 * n_states[1] + 20 <= 1.3 * n_states[0] + 60, n_states


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
