"""If memory runs out anywhere in a call, it raises MemoryError, and everything is as if it had not been made.

In a debug build the core's n-th allocation can be made to fail (`trie/_memory`). Each call below is made with
n = 0, 1, ... until no call needs more than n allocations. After a failure the matcher has the same tokens as before,
the same call succeeds, and masks equal those of a matcher that never failed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from earleymask import Grammar, Matcher, Vocabulary
from earleymask.earley._forget import forget_now
from earleymask.trie._build import is_debug
from earleymask.trie._memory import run_out
from support.mask_paths import all_strings, filled, limits, walked

pytestmark = pytest.mark.skipif(not is_debug(), reason="memory runs out on demand in debug builds alone")

CASES = {
    "lists": ('start: "[" [start ("," start)*] "]" | S\nS: /a+/\n%ignore / +/', "[],a ", b"[a, [aa ],a] "),
    "ambiguous": ('start: start start | "a" | "[" start "]" | S\nS: /a[a,]{0,3}/\n%ignore " "', "[],a ", b"a [a,a ]a"),
    "nullable tail": ('start: "a" start ws | "[" start "]" | "a"\nws: " "* ","?', "[],a ", b"aa[aaa  ,] , "),
    "counted": ("start: (STRING NAME)*\nSTRING: /,[^,]{0,9},/\nNAME: /[a-z]{1,4}/\n%ignore / +/", "ab, ", b",a b, ba"),
    "late exits": ('start: (NAME | "bb" | ",")+\nNAME: /[a-z]([a-z],[a-z])?/', "ab,", b"ab,aabb,abb,a"),
    "boolean": ('start: (WORD ","?)+\nWORD: /[ab]+/ & ~/.*bb.*/', "ab,", b"ab,aba,b,a"),
    "budgets": ('start: (word | ",")*\nword[max_tokens=2]: /[ab]{2,9}/\n%ignore / +/', "ab, ", b"aab, ab,baab"),
    "commit": ("start: (TEXT | tool)*\ntool[commit]: /aa/ /b/\nTEXT: /[ab,]/\n%ignore / +/", "ab,", b"ab,aab,a"),
    "search": ('start: %json {"type": "string", "pattern": "ab"}', '"ab', b'"bab"'),
    "lookahead": ('start: (IF | NAME | ",")+\nIF: /aa(?!\\w)/\nNAME: /(?!aa\\b)[ab]+?b/', "ab,", b"aa,ab,bb,aa"),
}


def failing(call: Callable[[], Any], after: int, lasting: bool) -> tuple[bool, Any]:
    """Return whether the call ran out of memory, and what it returned."""
    run_out(after, lasting=lasting)
    try:
        return False, call()
    except MemoryError:
        return True, None
    finally:
        run_out(None)


class Untouched:
    """Masks after any tokens, by the walk, from matchers that never failed."""

    def __init__(self, text: str, vocabulary: Vocabulary) -> None:
        self.matcher = Matcher(Grammar.from_lark(text), vocabulary)
        self.known: dict[tuple[int, ...], npt.NDArray[np.bool_]] = {}

    def mask(self, tokens: list[int]) -> npt.NDArray[np.bool_]:
        key = tuple(tokens)
        if key not in self.known:
            self.matcher.reset()
            assert all(self.matcher.accept(token) for token in tokens)
            self.known[key] = walked(self.matcher)
        return self.known[key]


def spelled(vocabulary: Vocabulary, text: bytes) -> list[int]:
    """Split the text into tokens of two bytes; the last one may have one."""
    by_bytes = {vocabulary.token_bytes(i): i for i in range(vocabulary.size)}
    return [by_bytes[text[i : i + 2]] for i in range(0, len(text), 2)]


def go_through(name: str, after: int, lasting: bool, untouched: Untouched) -> int:
    """Make all calls once, each with its allocation number `after` failing; return how many came that far."""
    text, alphabet, sentence = CASES[name]
    vocabulary = all_strings(alphabet, 3)
    tokens = spelled(vocabulary, sentence)
    grammar = Grammar.from_lark(text)
    n_failed = 0

    def tried(call: Callable[[], Any], before: list[int], matchers: list[Matcher]) -> Any:
        nonlocal n_failed
        failed, outcome = failing(call, after, lasting)
        if failed:
            n_failed += 1
            for matcher in matchers:
                assert matcher.tokens == before
                assert np.array_equal(filled(matcher.fork()), untouched.mask(before))
            outcome = call()
        return outcome

    def same(matcher: Matcher) -> None:
        expected = untouched.mask(matcher.tokens)
        assert np.array_equal(walked(matcher), expected)
        assert np.array_equal(filled(matcher), expected)

    matcher = tried(lambda: Matcher(grammar, vocabulary), [], [])
    for i, token in enumerate(tokens):
        assert matcher.tokens == tokens[:i]
        assert np.array_equal(tried(lambda: filled(matcher), tokens[:i], [matcher]), untouched.mask(tokens[:i]))
        assert tried(lambda token=token: matcher.accept(token), tokens[:i], [matcher])
    same(matcher)
    fork = tried(matcher.fork, tokens, [matcher])
    tried(lambda: fork.rollback(len(tokens) // 2), tokens, [matcher, fork])
    for keep in (None, 1):
        tried(lambda keep=keep: forget_now(grammar.engine, keep), tokens, [matcher])
        same(fork)
        same(matcher)
    tried(lambda: walked(matcher), tokens, [matcher])
    tried(lambda: matcher.rollback(3), tokens, [matcher])  # to a position that was forgotten
    same(matcher)
    assert tried(lambda: matcher.validate(tokens[-3:]), tokens[:-3], [matcher]) == 3
    tried(matcher.forced_bytes, tokens[:-3], [matcher])
    other = Matcher(grammar, vocabulary)
    same(other)
    return n_failed


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize("name", CASES)
def test_any_allocation_may_fail(name: str, lasting: bool) -> None:
    text, alphabet, _ = CASES[name]
    with limits(split_nodes=5):
        untouched = Untouched(text, all_strings(alphabet, 3))
        after = n_failed = 0
        while go_through(name, after, lasting, untouched):
            n_failed += 1
            after += 1 + after // 24  # most late allocations are of the same growing tables
    assert n_failed > 40


def test_the_first_allocation_of_a_matcher() -> None:
    """The allocation fails once, and the next matcher works."""
    vocabulary = all_strings("ab", 2)
    failed, _ = failing(lambda: Matcher(Grammar.from_lark('start: "a"'), vocabulary), 0, False)
    assert failed
    assert filled(Matcher(Grammar.from_lark('start: "a"'), vocabulary)).sum() == 1
