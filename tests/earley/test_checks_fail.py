"""If any check of a limit fails, the call raises LimitError, and the matcher is as if the call had not been made.

In a debug build the core's n-th check can be made to fail (`earley/_meter`), whatever it limits. Each call below is
made with n = 0, 1, ... After a failure the same call is repeated, and all answers must be those of a matcher that never
failed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from earleymask import Explanation, Grammar, LimitError, Matcher, Vocabulary
from earleymask.earley._forget import forget_now
from earleymask.earley._meter import fail_checks
from earleymask.trie._build import is_debug
from support.effort import effort
from support.mask_paths import all_strings, filled, limits, walked

pytestmark = pytest.mark.skipif(not is_debug(), reason="checks fail on demand in debug builds alone")

JSON = '{}[]":,ab12 '


class Case(NamedTuple):
    """A grammar and a sentence of it, or the beginning of one."""

    grammar: str | dict[str, Any]
    alphabet: str
    sentence: bytes

    def load(self) -> Grammar:
        if isinstance(self.grammar, str):
            return Grammar.from_lark(self.grammar)
        return Grammar.from_json_schema(self.grammar, strict=False, property_order="any")

    def vocabulary(self) -> Vocabulary:
        return all_strings(self.alphabet, 2)


OBJECTS = {"properties": {"a": {"type": "integer"}, "b": {"enum": [1, "a"]}}, "required": ["a"]}
CASES = {
    "ambiguous": Case(
        'start: start start | "a" | "[" start "]" | S\nS: /a[a,]{0,3}/\n%ignore " "', "[],a ", b"a [a,a ]a"
    ),
    "nullable tail": Case('start: "a" start ws | "[" start "]" | "a"\nws: " "* ","?', "[],a ", b"aa[aaa  ,] , "),
    "counted": Case("start: (STRING NAME)*\nSTRING: /,[^,]{0,9},/\nNAME: /[a-z]{1,4}/", "ab, ", b",a b,ba"),
    "commit": Case("start: (TEXT | tool)*\ntool[commit]: /aa/ /b/\nTEXT: /[ab,]/\n%ignore / +/", "ab,", b"ab,aab,a"),
    "lookahead": Case('start: (IF | NAME | ",")+\nIF: /aa(?!\\w)/\nNAME: /(?!aa\\b)[ab]+?b/', "ab,", b"aa,ab,bb,aa"),
    "keywords": Case(
        "start: (KW | NAME)+\nKW: /a+(?!\\w)/\nNAME: /(?!aa\\b)[ab]+/\n%ignore / +/", "ab ", b"ab a bb aaa"
    ),
    "boolean": Case('start: (WORD ","?)+\nWORD: /[ab]+/ & ~/.*bb.*/', "ab,", b"ab,aba,b,a"),
    "values": Case(
        'start: perm::0\nperm::_: "" %if is_ones([0:3]) | "a" perm::set_bit(0) %if bit_clear(0)\n'
        '  | "b" perm::set_bit(1) %if bit_clear(1) | "," perm::set_bit(2) %if bit_clear(2)',
        "ab,",
        b"b,a",
    ),
    "counting": Case(
        'start: up::0\nup::_: "a" up::incr(_) | "," down::_\ndown::_: "b" down::decr(_) %if gt(_, 0) | "" %if eq(_, 0)',
        "ab,",
        b"aaaa,bbbb",
    ),
    "budgets": Case('start: (word ",")+\nword[max_tokens=2]: /[ab]+/', "ab,", b"aba,bb,ab,"),
    "temperatures": Case(
        'start: ((word | num) ",")*\nword[temperature=0.5]: /[ab]+/\nnum[temperature=0.9]: /1+/', "ab,1", b"aba,11,b,1,"
    ),
    "captures": Case(
        'start: (pair ",")+\npair[capture]: key "1" key | key\nkey[capture]: /[ab1]+/', "ab,1", b"ab1a,b,11a1,"
    ),
    "embedded": Case(
        'start: "a" %json {"type": "object", "additionalProperties": {"type": "integer"}} "b"', JSON, b'a{"a":1,"b":2}b'
    ),
    "objects": Case(OBJECTS, JSON, b'{"a": 12, "b": 1, "12":[{"a":1}, ""], "": 2}'),
    "any order": Case(
        {**OBJECTS, "additionalProperties": {"type": "integer"}}, JSON, b'{"bb": 12, "b": 1,"a":2, "2": 1}'
    ),
    "keys by pattern": Case(
        {"patternProperties": {"a.$": {"minimum": 2}, "b..$": {"type": "array"}}, "minProperties": 2},
        JSON,
        b'{"ab": 12, "baa": [1,2], "bab": [], "": ""}',
    ),
    "choices": Case(
        {
            "anyOf": [
                {**OBJECTS, "type": "object"},
                {"type": "array", "items": {"not": {"multipleOf": 2}}},
                {"multipleOf": 3, "type": "integer"},
            ]
        },
        JSON,
        b"[1,11, 21]",
    ),
    "multiples": Case(
        {"type": "integer", "allOf": [{"not": {"multipleOf": p}} for p in (2, 3, 5, 7)]}, "-0123", b"12121"
    ),
    "different items": Case(
        {"type": "array", "uniqueItems": True, "items": {"enum": [1, 2, "a", [1, 2], {"a": 1}]}},
        JSON,
        b'[1, "a",{"a": 1},2, [1,2]]',
    ),
    "different objects": Case(
        {
            "type": "array",
            "uniqueItems": True,
            "items": {"type": "object", "additionalProperties": {"type": "integer"}},
        },
        JSON,
        b'[{}, {"a":1}, {"b":1,"a":2}, {"a":2}]',
    ),
    "recursive": Case(
        {
            "properties": {"a": {"$ref": "#"}, "b": {"type": "array", "items": {"$ref": "#"}}},
            "unevaluatedProperties": False,
        },
        JSON,
        b'{"a":{"b": [{}, 1]},"b":[]}',
    ),
    "contains": Case(
        {"type": "array", "contains": {"const": 1}, "minContains": 2, "items": {"maximum": 2}},
        JSON,
        b'[2, 1, "a",1, []]',
    ),
    "conditions": Case(
        {
            "if": {"required": ["a"]},
            "then": {"required": ["b"], "maxProperties": 3},
            "else": {"minProperties": 1},
            "dependentRequired": {"b": ["ab"]},
        },
        JSON,
        b'{"a": 1, "ab":[], "b":2}',
    ),
}


def due(matcher: Matcher) -> bytes:
    """Return the mask that masks with a deadline come to in the end."""
    row = np.zeros((matcher.vocabulary.size + 31) // 32, dtype=np.int32)
    for _ in range(10_000):
        try:
            if matcher.fill_bitmask(row, seconds=0):
                return np.unpackbits(row.view(np.uint8), count=matcher.vocabulary.size, bitorder="little").tobytes()
        except LimitError as error:
            if "was due" not in str(error):  # which happens if other processes keep this one from running
                raise
    raise AssertionError("calls with a deadline do not come to an end")


QUESTIONS: dict[str, Callable[[Matcher], Any]] = {
    "due": due,
    "restored": lambda m: filled(Matcher.restore(m.snapshot(), m.grammar, m.vocabulary)).tobytes(),
    "mask": lambda m: filled(m).tobytes(),
    "walk": lambda m: walked(m).tobytes(),
    "expected": lambda m: sorted(m.expected()),  # lazy symbols are numbered when they are first needed
    "forced_bytes": lambda m: m.forced_bytes(),
    "is_accepting": lambda m: m.is_accepting(),
    "captures": lambda m: m.captures(),
    "temperature": lambda m: m.temperature(),
    "fork": lambda m: m.fork().tokens,
    "explain": lambda m: str(m.explain()),
    "validate": lambda m: [m.validate([i, j]) for i, j in ((0, 0), (0, 1), (3, 2), (7, 5))],
}


class Untouched:
    """Answers after any tokens, from a matcher that never failed."""

    def __init__(self, case: Case) -> None:
        self.matcher = Matcher(case.load(), case.vocabulary())
        self.known: dict[tuple[str, tuple[int, ...]], Any] = {}

    def at(self, tokens: list[int]) -> Matcher:
        if self.matcher.tokens != tokens:
            self.matcher.reset()
            assert all(self.matcher.accept(token) for token in tokens)
        return self.matcher

    def answer(self, question: str, tokens: list[int]) -> Any:
        key = (question, tuple(tokens))
        if key not in self.known:
            self.known[key] = QUESTIONS[question](self.at(tokens))
        return self.known[key]

    def accepts(self, tokens: list[int], token: int) -> bool:
        return bool(self.answer("mask", tokens)[token])  # a byte for each token


def spelled(vocabulary: Vocabulary, text: bytes) -> list[int]:
    """Split the text into tokens of two bytes; the last one may have one."""
    by_bytes = {vocabulary.token_bytes(i): i for i in range(vocabulary.size)}
    return [by_bytes[text[i : i + 2]] for i in range(0, len(text), 2)]


def failing(call: Callable[[], Any], after: int, lasting: bool) -> tuple[bool, bool, Any]:
    """Return whether a check failed, whether the call raised LimitError, and what it returned."""
    raised, outcome = False, None
    fail_checks(after, lasting=lasting)
    try:
        outcome = call()
    except LimitError:
        raised = True
    finally:
        n_failed = fail_checks(None)
    return n_failed > 0, raised, outcome


ASKED = (
    "mask",
    "expected",
    "forced_bytes",
    "captures",
    "temperature",
    "fork",
    "is_accepting",
    "validate",
    "due",
    "restored",
)


def go_through(case: Case, vocabulary: Vocabulary, after: int, lasting: bool, untouched: Untouched) -> int:
    """Make all calls once, each with its check number `after` failing; return how many came that far."""
    tokens = spelled(vocabulary, case.sentence)
    grammar = case.load()
    n_failed = 0

    def tried(call: Callable[[], Any], matcher: Matcher | None = None) -> Any:
        nonlocal n_failed
        before = matcher.tokens if matcher is not None else []
        failed, raised, outcome = failing(call, after, lasting)
        n_failed += failed
        assert failed or not raised
        if raised:
            if matcher is not None:
                assert matcher.tokens == before
                if (n_failed + after) % 2:  # else the repeated call finds what the failed one has left
                    same(matcher, "mask")
            outcome = call()
        return outcome

    def same(matcher: Matcher, *questions: str) -> None:
        for question in questions:
            assert QUESTIONS[question](matcher) == untouched.answer(question, matcher.tokens), question

    matcher = tried(lambda: Matcher(grammar, vocabulary))
    for i, token in enumerate(tokens):
        question = ASKED[(i + after) % len(ASKED)]
        if (i + after) % 3:
            assert tried(lambda: QUESTIONS["mask"](matcher), matcher) == untouched.answer("mask", tokens[:i])
        else:
            assert tried(lambda: QUESTIONS["walk"](matcher), matcher) == untouched.answer("mask", tokens[:i])
        told, expected = tried(partial(QUESTIONS[question], matcher), matcher), untouched.answer(question, tokens[:i])
        assert told == expected, (question, told, expected)
        if i % 3 == 1:
            refused = (7 * i + after) % vocabulary.size
            if not untouched.accepts(tokens[:i], refused):
                assert not tried(lambda refused=refused: matcher.accept(refused), matcher)
        assert tried(lambda token=token: matcher.accept(token), matcher)
        assert matcher.tokens == tokens[: i + 1]
    same(matcher, "mask", "walk", "expected", "captures", "forced_bytes")
    fork = tried(matcher.fork, matcher)
    forget_now(grammar.engine, 1)
    tried(lambda: fork.rollback(len(tokens) // 2), fork)
    same(fork, "mask", "walk", "expected", "captures", "forced_bytes", "validate")
    assert tried(lambda: fork.validate(tokens[fork.n_tokens :]), fork) == len(tokens) - fork.n_tokens
    tried(fork.reset, fork)
    same(fork, "mask")
    same(matcher, "mask")
    other = Matcher(grammar, vocabulary)
    assert other.validate(tokens) == len(tokens)
    same(other, "mask")
    return n_failed


def sampled(n: int) -> int:
    """Return the check to fail after check n: the checks up to 1,000, or a sample of them, then ever fewer."""
    return n + 1 + n // effort(5, 1000)


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize("name", CASES)
def test_any_check_may_fail(name: str, lasting: bool) -> None:
    case = CASES[name]
    with limits(split_nodes=5):
        vocabulary = case.vocabulary()
        untouched = Untouched(case)
        after = n_failed = 0
        while go_through(case, vocabulary, after, lasting, untouched):
            n_failed += 1
            after = sampled(after)
    assert n_failed > 5


class Armed(Matcher):
    """The matcher of an explanation lets checks fail once the copy of its grammar is loaded. In a load that is not
    strict, a check that fails once makes a keyword count as too much, and the copy then allows more."""

    plan: tuple[int, bool] | None = None

    def __init__(self, grammar: Grammar, vocabulary: Vocabulary) -> None:
        if Armed.plan is not None:
            fail_checks(Armed.plan[0], lasting=Armed.plan[1])
        super().__init__(grammar, vocabulary)


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "for good"])
@pytest.mark.parametrize("name", CASES)
def test_any_check_of_an_explanation_may_fail(name: str, lasting: bool) -> None:
    """An explanation says what is missing, or raises LimitError. What it says is what it would have said."""
    case = CASES[name]
    matcher = Armed(case.load(), case.vocabulary())
    tokens = spelled(matcher.vocabulary, case.sentence)
    for token in tokens[: len(tokens) // 2]:
        assert matcher.accept(token)
    mask = filled(matcher).tobytes()
    for what in (None, "x"):
        whole = matcher.explain(what)
        after = 0
        while True:
            Armed.plan = after, lasting
            try:
                failed, raised, found = failing(partial(matcher.explain, what), 1 << 40, False)
            finally:
                Armed.plan = None
            if not failed:
                assert found == whole
                break
            if not raised:
                told = [part for part in ("characters", "rules", "keywords", "nearest") if part not in found.unknown]
                assert (found.reason, found.offset, found.at) == (whole.reason, whole.offset, whole.at)
                assert bool(found.unknown) == (found.limit is not None)
                for part in told:
                    same_part(part, found, whole)
            after += 1 + after // effort(2, 60)
        assert after > 20
        assert filled(matcher).tobytes() == mask
        assert matcher.explain(what) == whole


def same_part(part: str, found: Explanation, whole: Explanation) -> None:
    if part == "characters":
        assert (found.characters, found.other_bytes, found.may_end) == (
            whole.characters,
            whole.other_bytes,
            whole.may_end,
        )
        assert found.special_tokens == whole.special_tokens
    elif part == "rules":
        assert {(one.terminal, one.begin) for one in found.expected} == {
            (one.terminal, one.begin) for one in whole.expected
        }
    elif part == "keywords":
        assert (found.conflicts, found.schemas, found.instance) == (whole.conflicts, whole.schemas, whole.instance)
        assert found.hint == whole.hint
    elif not found.gave_up:  # if the search for an ending fails, another one finds as near a text, or none
        assert (found.nearest and found.nearest.n_changed) == (whole.nearest and whole.nearest.n_changed)
