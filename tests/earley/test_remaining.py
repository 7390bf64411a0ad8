"""Budgets of tokens: how many a sequence still needs, and the masks of sequences that have only so many left.

The slow twin (`finishing_twin`) tries all sequences of tokens. In a vocabulary of single bytes, numbers and masks equal
its own. Elsewhere they keep to it: never too few tokens, never a token too many, and no walk is ever stuck.
"""

from __future__ import annotations

import json
import pickle
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from random import Random
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from campaign.demands import make_rules, make_tight_rules
from campaign.schema_random import random_schema
from earleymask import (
    BatchError,
    BudgetError,
    LimitError,
    Limits,
    Matcher,
    MatcherInUseError,
    Vocabulary,
    fill_bitmasks,
    start_bitmasks,
)
from earleymask.earley._engine import Engine
from earleymask.earley._regex import Regexes
from earleymask.grammar import Grammar, GrammarError
from earleymask.grammar.json.formats import NAMES, REFUSED
from earleymask.trie._build import is_debug
from support import commit_twin, vocabularies
from support.budget_twin import random_twin
from support.effort import EXHAUSTIVE, effort
from support.exhaustive import lark_text, random_grammar
from support.finishing_twin import allowed_within, by_tokens, fewest
from support.lexemes import Definition
from support.mask_paths import cut, limits
from support.schema_oracle import Oracle
from support.strategies import make_grammar, make_pattern, patterns

BYTES = Vocabulary.bytes()
AB = Vocabulary.from_tokens([b"a", b"b", b"</s>"], eos_token_id=2)
WORDS = Vocabulary.from_tokens([b"a", b"b", b"aa", b"ab", b"bab", b"abba", b"</s>"], eos_token_id=6)
MOST = 7
"""The most tokens of an ending that the twin looks for."""


@cache
def real(name: str) -> Vocabulary:
    """Return a real vocabulary. A debug build, in which masks take long, has its first 20,000 tokens."""
    if is_debug():
        return Vocabulary.from_tokens(cut(name, 20_000), eos_token_id=20_000)
    return vocabularies.load(name)


def row_for(vocabulary: Vocabulary) -> np.ndarray:
    return np.zeros(-(-vocabulary.size // 32), np.int32)


def mask_within(matcher: Matcher, n: int) -> npt.NDArray[np.bool_]:
    """Return the mask for `n` tokens."""
    row = row_for(matcher.vocabulary)
    matcher.fill_bitmask(row, remaining=n)
    return np.unpackbits(row.view(np.uint8), count=matcher.vocabulary.size, bitorder="little").view(np.bool_)


def within(matcher: Matcher, n: int) -> list[int]:
    """Return the tokens that the mask for `n` tokens allows."""
    allowed: list[int] = np.flatnonzero(mask_within(matcher, n)).tolist()
    return allowed


def places(matcher: Matcher, rng: Random, n: int) -> Iterator[Matcher]:
    """Yield the matcher's places along a random walk of at most `n` tokens."""
    for _ in range(n):
        yield matcher
        allowed = np.flatnonzero(matcher.mask()).tolist()
        if not allowed:
            return
        matcher = matcher.fork()
        matcher.accept(rng.choice(allowed))
        if matcher.is_finished():
            yield matcher
            return


def finish(matcher: Matcher, n: int, rng: Random) -> bytes:
    """Choose tokens at random, of which `n` may come, until the sequence has ended. Return its text.

    On the way: the masks are parts of those without a budget, and some token leaves one token less than is needed.
    """
    matcher = matcher.fork()
    n_written = 0
    while not matcher.is_finished():
        needed = matcher.tokens_to_finish()
        assert 0 < needed <= n - n_written
        tight = mask_within(matcher, needed)
        assert tight.any(), f"none of {needed} tokens is allowed"
        allowed = mask_within(matcher, n - n_written)
        assert np.all(tight <= allowed) and np.all(allowed <= matcher.mask())
        assert matcher.accept(int(rng.choice(np.flatnonzero(allowed))))
        n_written += 1
    assert n_written <= n
    return b"".join(matcher.vocabulary.token_bytes(token) for token in matcher.tokens)


def loads(load: Callable[[], Grammar]) -> Grammar | None:
    """Return a grammar, or None if it has no sentence or is refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return load()
        except (GrammarError, LimitError):
            return None


# ---- numbers that are known beforehand ----


@pytest.mark.parametrize(
    ("source", "text", "needed"),
    [
        ('start: "abc"', "", 4),
        ('start: "abc"', "ab", 2),
        ('start: "(" start ")" | "x"', "(((", 5),
        ('start: "a"* "b"?', "", 1),
        ("start: /[a-z]{3,5}/", "a", 3),
        ('start: A B\nA: /a+b/\nB: "xyz"\n%ignore / +/', "aa ", None),
        ('start: A B\nA: /a+b/\nB: "xyz"\n%ignore / +/', "aab  ", 4),
        ('start: "é"', "", 3),
        ("start: /[^x]/", "\xc3", 2),
        ('start: "x" (start start)? ";"', "xx", 5),
        # Of two readings the shorter one: `ab` may be a whole `T`, or the beginning of a `U`.
        ('start: T | U "!"\nT: /ab/\nU: /abcdef/', "ab", 1),
        ('start: T | U "!"\nT: /ab/\nU: /abcdef/', "abc", 5),
    ],
)
def test_the_number_of_tokens_is_that_of_the_shortest_ending(source: str, text: str, needed: int | None) -> None:
    matcher = Matcher(Grammar.from_lark(source), BYTES)
    for byte in text.encode("latin-1"):
        if not matcher.accept(byte):
            assert needed is None
            return
    assert needed is not None
    assert matcher.tokens_to_finish() == needed


def test_tokens_of_several_bytes_count_as_one() -> None:
    grammar = Grammar.from_lark('start: "abba" "b"')
    assert Matcher(grammar, AB).tokens_to_finish() == 6
    assert Matcher(grammar, WORDS).tokens_to_finish() == 3  # abba, b, EOS


def test_a_schema_needs_what_is_required_of_it() -> None:
    schema = {
        "properties": {"name": {"type": "string", "minLength": 2}, "tags": {"type": "array"}, "not": {"type": "null"}},
        "required": ["name", "tags"],
        "type": "object",
    }
    matcher = Matcher(Grammar.from_json_schema(schema), BYTES)
    assert matcher.tokens_to_finish() == len('{"name":"  ","tags":[]}') + 1
    for byte in b'{"name": "Jo", "tags": [':
        assert matcher.accept(byte)
    assert matcher.tokens_to_finish() == len("]}") + 1


def test_keys_that_may_not_repeat_are_counted_as_they_must_be_written() -> None:
    """Two members are required, and an object has no key twice: the second key has a letter."""
    schema = {"type": "object", "minProperties": 2, "additionalProperties": {"type": "integer"}}
    matcher = Matcher(Grammar.from_json_schema(schema), BYTES)
    assert matcher.tokens_to_finish() == len('{"":0,"x":0}') + 1
    for byte in b'{"':
        assert matcher.accept(byte)
    assert matcher.tokens_to_finish() == len('":0,"x":0}') + 1


def test_a_finished_sequence_needs_nothing() -> None:
    matcher = Matcher(Grammar.from_lark('start: "a"'), AB)
    assert matcher.accept(0) and matcher.tokens_to_finish() == 1
    assert matcher.accept(2) and matcher.tokens_to_finish() == 0
    assert within(matcher, 0) == [2]


# ---- the twin ----


def test_numbers_and_masks_equal_the_twin_in_random_grammars() -> None:
    rng = Random(1)
    n_masks = n_narrower = 0
    while n_masks < effort(300, 3000):
        source = lark_text(random_grammar(rng))
        grammar = loads(lambda source=source: Grammar.from_lark(source))  # type: ignore[misc]
        if grammar is None:
            continue
        for matcher in places(Matcher(grammar, AB), rng, 5):
            needed = fewest(matcher, MOST)
            if needed is None:
                assert matcher.tokens_to_finish() > MOST
                break
            assert matcher.tokens_to_finish() == needed, source
            for n in range(needed, min(needed + 3, MOST + 1)):
                allowed = within(matcher, n)
                assert allowed == allowed_within(matcher, n), (source, matcher.tokens, n)
                n_masks += 1
                n_narrower += len(allowed) < matcher.mask().sum()
    assert n_narrower > n_masks // 10


def test_numbers_are_no_less_than_those_of_the_twin_with_longer_tokens() -> None:
    rng = Random(2)
    n_compared = n_equal = 0
    while n_compared < effort(150, 1500):
        source = lark_text(random_grammar(rng))
        grammar = loads(lambda source=source: Grammar.from_lark(source))  # type: ignore[misc]
        if grammar is None:
            continue
        for matcher in places(Matcher(grammar, WORDS), rng, 4):
            needed = fewest(matcher, MOST - 2)
            bound = matcher.tokens_to_finish()
            if needed is None:
                assert bound > MOST - 2
                break
            assert bound >= needed
            allowed = within(matcher, bound)
            assert allowed and set(allowed) <= set(allowed_within(matcher, bound))
            n_compared += 1
            n_equal += bound == needed
    assert n_equal > n_compared // 2


def test_budgets_of_rules_are_counted_in() -> None:
    rng = Random(3)
    letters = Vocabulary.from_tokens([b"a", b"b", b".", b"</s>"], eos_token_id=3)
    n_masks = 0
    while n_masks < effort(80, 800):
        source = random_twin(rng).lark_text()
        grammar = loads(lambda source=source: Grammar.from_lark(source))  # type: ignore[misc]
        if grammar is None:
            continue
        for matcher in places(Matcher(grammar, letters), rng, 4):
            needed = fewest(matcher, 5, by_tokens)
            if needed is None:
                assert matcher.tokens_to_finish() > 5
                break
            assert matcher.tokens_to_finish() == needed, source
            assert within(matcher, needed) == allowed_within(matcher, needed, by_tokens), (source, matcher.tokens)
            n_masks += 1


@pytest.mark.parametrize("make", [make_rules, make_tight_rules])
def test_lookaheads_are_counted_in(make: Callable[[Random], Any]) -> None:
    """The shortest text may be one that a lookahead refuses."""
    rng = Random(4)
    n_masks = 0
    while n_masks < effort(40, 400):
        source = Definition(*make(rng)).text()
        grammar = loads(lambda source=source: Grammar.from_lark(source))  # type: ignore[misc]
        if grammar is None:
            continue
        for matcher in places(Matcher(grammar, BYTES), rng, 3):
            needed = matcher.tokens_to_finish()
            if needed > 4:
                break
            assert fewest(matcher, needed) == needed, source
            n_masks += 1
            if needed < 4:
                assert within(matcher, needed) == allowed_within(matcher, needed), (source, matcher.tokens)


# ---- shortest texts ----


def some_node(rng: Random, regexes: Regexes, depth: int) -> int:
    """Make a regex node of any kind whose shortest text is short."""
    kind = rng.randrange(9)
    if depth == 0 or kind == 0:
        points = sorted(map(ord, rng.sample('aA/"\n\x7fé€😀', rng.randrange(1, 4))))
        return regexes.char_class([(point, point) for point in points])
    inner = some_node(rng, regexes, depth - 1)
    if kind == 1:
        return regexes.complement(inner)
    if kind == 2:
        least = rng.randrange(3)
        return regexes.repeat(inner, least, rng.choice([least + 1, None]))
    if kind == 3:
        texts = {"".join(rng.choices('aA"é', k=rng.randrange(1, 5))).encode() for _ in range(rng.randrange(2, 30))}
        return regexes.choices(sorted(texts))
    if kind == 4 and rng.random() < 0.5:
        marks = [regexes.literal(b"A"), regexes.repeat(regexes.literal(b"a"), 1)]
        return regexes.marked([b"\1", b"a\0a", b"aA"], marks)
    other = some_node(rng, regexes, depth - 1)
    if kind == 5:
        return regexes.union([inner, other])
    return regexes.intersection([inner, other]) if kind == 6 else regexes.concat([inner, other])


def shortest_length(regexes: Regexes, node: int) -> int | None:
    """Search by breadth first. Return the length of the shortest text, or None if the search is not worth it."""
    level, seen = [node], {node}
    for length in range(20):
        if any(regexes.is_nullable(node) for node in level):
            return length
        level = [target for node in level for target in regexes.derivatives(node)]
        level = [target for target in dict.fromkeys(level) if target not in seen]
        seen.update(level)
        if not level or len(seen) > 2000:
            return None
    return None


def matcher_of(regexes: Regexes, node: int) -> Matcher:
    engine = Engine(regexes)
    start = engine.add_nonterminal("start")
    engine.add_production(start, [engine.add_terminal("T", node)])
    engine.finish(start)
    return Matcher(SimpleNamespace(engine=engine), BYTES)  # type: ignore[arg-type]


def test_of_the_shortest_texts_the_first_one_is_chosen() -> None:
    """Though it is not obvious that nothing must follow it."""
    regexes = Regexes()
    first = regexes.concat([regexes.literal(b"aa"), regexes.complement(regexes.literal(b"x"))])
    matcher = matcher_of(regexes, regexes.union([first, regexes.literal(b"bb")]))
    assert matcher.tokens_to_finish() == 3
    assert within(matcher, 3) == [ord("a"), ord("b")]
    words = Vocabulary.from_tokens([b"a", b"aa", b"b", b""], eos_token_id=3)
    matcher = Matcher(matcher.grammar, words)
    assert matcher.tokens_to_finish() == 2
    assert within(matcher, 2) == [1]


def test_texts_of_regexes_are_the_shortest() -> None:
    """Wherever a text has led: also within an escape and within a character."""
    rng = Random(10)
    n_compared = n_long = 0
    while n_compared < effort(400, 8000):
        regexes = Regexes()
        node = some_node(rng, regexes, rng.randrange(1, 4))
        if rng.random() < 0.6:
            node = regexes.escaped(node, shortest=rng.random() < 0.3, ascii=rng.random() < 0.3)
        if regexes.is_empty(node) or regexes.is_nullable(node):
            continue
        matcher = matcher_of(regexes, node)
        for _ in range(8):
            length = shortest_length(regexes, node)
            if length is None:
                break
            assert matcher.tokens_to_finish() == length + 1
            n_compared += 1
            n_long += length > 3
            if length:
                assert within(matcher, length + 1)[0] == min(
                    byte
                    for target, found in regexes.derivatives(node).items()
                    if shortest_length(regexes, target) == length - 1
                    for byte in found
                )
            targets = [(target, byte) for target, found in regexes.derivatives(node).items() for byte in found]
            if not targets:
                break
            node, byte = rng.choice(targets)
            assert matcher.accept(byte)
    assert n_long > n_compared // 10


FORMATS = sorted(set(NAMES["2020-12"]) - set(REFUSED))
"""All that a schema may demand of a string."""


@pytest.mark.parametrize("name", ["bytes", "llama3"])
@pytest.mark.parametrize("format_", FORMATS)
def test_documents_with_formats_end_in_time(format_: str, name: str) -> None:
    """A format may have very many states, as that of times has, because of leap seconds."""
    vocabulary = BYTES if name == "bytes" else real(name)
    rng = Random(format_)
    text = {"type": "string", "format": format_}
    schemas: list[Any] = [
        {"type": "object", "required": ["at"], "properties": {"at": text}, "additionalProperties": False},
        {"type": "array", "items": text, "minItems": 2, "uniqueItems": True},
        {"type": "object", "required": ["x"], "additionalProperties": text},
        {"anyOf": [{**text, "minLength": 12}, {"const": {"a long name": "and a long value, not the shortest one"}}]},
        {**text, "pattern": "[1-9a-z]"},
        {**text, "not": {"pattern": "00"}},
    ]
    n_walks, most = 0, 6 if name == "bytes" else 3
    for schema in schemas:
        grammar = loads(lambda schema=schema: Grammar.from_json_schema(schema))  # type: ignore[misc]
        if grammar is None:  # no text is that long, for example
            continue
        oracle = Oracle(schema)
        matcher = Matcher(grammar, vocabulary)
        needed = matcher.tokens_to_finish()
        for more in (0, rng.choice([1, 3]), rng.choice([10, 30])) if n_walks < most or EXHAUSTIVE else (0,):
            document = finish(matcher, needed + more, rng).decode()
            assert oracle.accepts(document), (schema, document)
            n_walks += 1
    assert n_walks > most


def test_a_pattern_in_the_middle_of_a_text_is_found() -> None:
    """Before it and after it there may be any text, in any spelling: very many texts are as long."""
    grammar = Grammar.from_json_schema({"type": "string", "pattern": "rocket_font|mariadb\\.com", "minLength": 14})
    matcher = Matcher(grammar, BYTES)
    assert matcher.tokens_to_finish() == 14 + 2 + 1
    text = finish(matcher, matcher.tokens_to_finish(), Random(0))
    assert b"rocket_font" in text or b"mariadb.com" in text


def test_texts_that_are_too_many_to_search_are_refused_and_do_not_stop_a_mask() -> None:
    refused = Grammar.from_json_schema({"type": "string", "format": "date-time", "pattern": "[5-9]$"})
    with pytest.raises(BudgetError, match="no way to finish a sentence was found"):
        Matcher(refused, BYTES).tokens_to_finish()
    # A text is found at the start. From most places that the tokens lead to it takes a search as long as that.
    grammar = Grammar.from_json_schema({"type": "string", "format": "regex", "minLength": 40})
    matcher = Matcher(grammar, real("llama3"))
    text = finish(matcher, matcher.tokens_to_finish() + 3, Random(1))
    assert len(json.loads(text)) >= 40


# ---- rules that are made on the way ----


DIFFERENT = {"type": "array", "uniqueItems": True, "minItems": 3}


@pytest.mark.parametrize(
    ("schema", "needed"),
    [
        # The first key whose text decides what follows belongs to a rule that is made while the number is looked for.
        ({"type": "array", "items": {"type": "object", "minProperties": 1}, "minItems": 1}, len('[{"":0}]')),
        ({"type": "object", "required": ["v"], "properties": {"v": {"minProperties": 1, "type": "object"}}}, 12),
        ({"type": "array", "items": {"type": "object"}, "uniqueItems": True, "minItems": 2}, None),
        ({"type": "object", "additionalProperties": DIFFERENT, "minProperties": 2}, None),
        ({"type": "array", "items": {"enum": list(range(20))}, "uniqueItems": True, "minItems": 4}, len("[0,1,2,3]")),
    ],
)
def test_rules_that_are_made_on_the_way_are_counted(schema: Any, needed: int | None) -> None:
    """After each token, what was counted at the start must still be known."""
    rng = Random(11)
    for vocabulary in (BYTES, vocabularies.load("llama3")):
        matcher = Matcher(Grammar.from_json_schema(schema), vocabulary)
        n = matcher.tokens_to_finish()
        assert needed is None or vocabulary is not BYTES or n == needed + 1
        for more in (0, 3, 12) if EXHAUSTIVE else (0, rng.choice([3, 12])):
            assert Oracle(schema).accepts(finish(matcher, n + more, rng).decode())


@pytest.mark.parametrize("schema", [{"type": "object", "minProperties": 2}, DIFFERENT, {"type": "string"}])
def test_tokens_of_the_same_bytes_are_allowed_together(schema: Any) -> None:
    """Also where tokens are tried one by one."""
    texts = [bytes([byte]) for byte in range(256)]
    vocabulary = Vocabulary.from_tokens([*texts, b"</s>", *texts], eos_token_id=256)
    rng = Random(12)
    n_masks = 0
    for _ in range(effort(4, 40)):
        matcher = Matcher(Grammar.from_json_schema(schema), vocabulary)
        n = matcher.tokens_to_finish() + rng.choice([0, 2])
        while not matcher.is_finished():
            allowed = within(matcher, n)
            assert {token + 257 for token in allowed if token < 256} == {token for token in allowed if token > 256}
            matcher.accept(rng.choice(allowed))
            n -= 1
            n_masks += 1
    assert n_masks > 8


def test_chosen_texts_beyond_ascii_are_tried() -> None:
    """Two keys must differ, and begin with a letter of two bytes."""
    schema = {"type": "object", "minProperties": 2, "propertyNames": {"pattern": "^[é-ü]"}}
    for vocabulary in (BYTES, real("llama3")):
        matcher = Matcher(Grammar.from_json_schema(schema), vocabulary)
        for seed in range(4):
            text = finish(matcher, matcher.tokens_to_finish(), Random(seed)).decode()
            assert Oracle(schema).accepts(text)


def test_masks_are_right_when_the_first_key_that_decides_appears_later() -> None:
    """What was found of a place before a rule was made holds after it."""
    schemas: list[Any] = [
        {"properties": {"a": {"type": "string", "maxLength": 3}, "v": {"type": "object", "minProperties": 1}}},
        {"properties": {"a": {"type": "string"}, "w": {"type": "array", "uniqueItems": True, "minItems": 2}}},
    ]
    rng = Random(13)
    for schema in schemas:
        schema |= {"type": "object", "required": ["a"], "additionalProperties": False}
        matcher = Matcher(Grammar.from_json_schema(schema), BYTES)
        while not matcher.is_finished():
            for more in (0, 15, 60):
                within(matcher, matcher.tokens_to_finish() + more)
            matcher.accept(rng.choice(np.flatnonzero(matcher.mask()).tolist()))
        tokens = matcher.tokens
        matcher.reset()
        for n_tokens in range(len(tokens)):
            fresh = Matcher(Grammar.from_json_schema(schema), BYTES)
            fresh.accept_tokens(tokens[:n_tokens])
            needed = fresh.tokens_to_finish()
            assert matcher.tokens_to_finish() == needed
            for n in range(needed, needed + 20, 3):
                assert within(matcher, n) == within(fresh, n)
            assert matcher.accept(tokens[n_tokens])


def test_searches_keep_to_the_limits_of_the_call() -> None:
    few = Limits(derivations=40)  # of one byte of text; the search for the shortest text takes more
    matcher = Matcher(Grammar.from_json_schema({"type": "string", "format": "uuid"}, limits=few), BYTES)
    assert matcher.tokens_to_finish() == 36 + 2 + 1
    schema = {"type": "string", "format": "date-time", "pattern": "[5-9]$"}
    matcher = Matcher(Grammar.from_json_schema(schema, limits=Limits(seconds=0.001)), BYTES)
    with pytest.raises(LimitError, match=r"seconds=0\.001"):
        matcher.tokens_to_finish()


# ---- walks under a budget ----


@pytest.mark.parametrize("name", ["bytes", "tekken"])
def test_random_walks_end_in_time(name: str) -> None:
    """Grammars of all kinds: the text is a sentence when the last token is EOS, however tight the budget."""
    vocabulary = BYTES if name == "bytes" else real(name)
    rng = Random(5)
    makers: list[Callable[[], Grammar]] = [
        lambda: Grammar.from_lark(make_grammar(rng, plain=name != "bytes").text),
        lambda: Grammar.from_lark(commit_twin.lark_text(commit_twin.random_grammar(rng))),
        lambda: Grammar.from_lark(Definition(*make_rules(rng)).text()),
        lambda: Grammar.from_lark(random_twin(rng).lark_text()),
        lambda: Grammar.from_regex(make_pattern(rng, 3)),
    ]
    for number in range(effort(100, 1000) if name == "bytes" else effort(25, 250)):
        grammar = loads(makers[number % len(makers)])
        if grammar is None:
            continue
        matcher = Matcher(grammar, vocabulary)
        needed = matcher.tokens_to_finish()
        for more in (0, rng.choice([1, 2, 5]), rng.choice([10, 30])):
            finish(matcher, needed + more, rng)


@pytest.mark.parametrize("name", ["bytes", "llama3"])
def test_documents_of_random_schemas_are_complete_and_valid(name: str) -> None:
    vocabulary = BYTES if name == "bytes" else real(name)
    rng = Random(6)
    n_walks = 0
    for number in range(effort(150, 2000) if name == "bytes" else effort(40, 1000)):
        _, schema = random_schema(7, number, "2020-12")
        grammar = loads(lambda schema=schema: Grammar.from_json_schema(schema))  # type: ignore[misc]
        if grammar is None:
            continue
        oracle = Oracle(schema)
        matcher = Matcher(grammar, vocabulary)
        try:
            needed = matcher.tokens_to_finish()
        except BudgetError as error:
            if "`uniqueItems` that must not hold" in str(error):
                continue
            raise
        for more in (0, rng.choice([1, 3, 10, 40])):
            text = finish(matcher, needed + more, rng).decode()
            assert oracle.accepts(text), (schema, text)
            n_walks += 1
    assert n_walks > 40


@settings(deadline=None, max_examples=effort(30, 300))
@given(patterns(lazy=True), st.integers(0, 20), st.randoms(use_true_random=False))
def test_patterns_are_matched_in_time(pattern: str, more: int, rng: Random) -> None:
    grammar = loads(lambda: Grammar.from_regex(pattern))
    if grammar is None:
        return
    matcher = Matcher(grammar, BYTES)
    text = finish(matcher, matcher.tokens_to_finish() + more, rng)
    assert Matcher(grammar, BYTES).validate([*text, 256]) == len(text) + 1


_VALUES = st.recursive(
    st.sampled_from([{"type": "integer"}, {"type": "string", "minLength": 1}, {"enum": ["on", "off"]}, True]),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"type": st.just("array"), "items": inner, "minItems": st.integers(0, 2)}),
        st.builds(
            lambda names, value, required, other: {
                "type": "object",
                "properties": dict.fromkeys(names, value),
                "required": names[:required],
                "additionalProperties": other,
            },
            st.lists(st.sampled_from(["a", "b", "long name"]), unique=True),
            inner,
            st.integers(0, 3),
            st.sampled_from([False, True, {"type": "null"}]),
        ),
    ),
    max_leaves=6,
)


@settings(deadline=None, max_examples=effort(30, 300))
@given(_VALUES, st.integers(0, 20), st.randoms(use_true_random=False))
def test_documents_of_nested_schemas_are_valid(schema: Any, more: int, rng: Random) -> None:
    matcher = Matcher(Grammar.from_json_schema(schema), BYTES)
    assert Oracle(schema).accepts(finish(matcher, matcher.tokens_to_finish() + more, rng).decode())


def test_objects_of_a_thousand_names_end_in_time() -> None:
    """The name of a member decides which value follows, and some values are long."""
    names = {f"n{k}": {"type": "string", "minLength": k % 50} for k in range(1100)}
    schema = {"type": "object", "properties": names, "minProperties": 2, "additionalProperties": False}
    rng = Random(8)
    matcher = Matcher(Grammar.from_json_schema(schema), real("tekken"))
    for more in (0, 5, 20, 40, 80):
        text = finish(matcher, matcher.tokens_to_finish() + more, rng).decode()
        assert Oracle(schema).accepts(text), text


def test_items_that_must_not_all_differ_are_refused_by_name() -> None:
    grammar = Grammar.from_json_schema({"type": "array", "not": {"uniqueItems": True}})
    matcher = Matcher(grammar, BYTES)
    with pytest.raises(BudgetError, match="the schema has a `uniqueItems` that must not hold; give no budget"):
        matcher.fill_bitmask(row_for(BYTES), remaining=100)
    matcher.fill_bitmask(row_for(BYTES))


def test_tool_calls_between_text_end_in_time() -> None:
    """`commit` demands that what begins as a call is one; and the rule of the text has a budget of its own."""
    source = """
        start: (text | tool)*
        text: /(.|\\n)+/
        tool[commit]: "<tool>" %json {"type": "object", "required": ["city"], "properties": {"city": true}} "!"
    """
    for text in (source, source.replace("text: ", "text[max_tokens=9]: ")):
        matcher = Matcher(Grammar.from_lark(text), real("tekken"))
        assert matcher.tokens_to_finish() == 1
        rng = Random(9)
        texts = [matcher.vocabulary.token_bytes(token) for token in range(matcher.vocabulary.size)]
        for byte in b"<tool>":
            assert matcher.accept(texts.index(bytes([byte])))
        needed = matcher.tokens_to_finish()
        assert needed == len('{"city":0}!') + 1
        for more in (0, 4, 20):
            assert b'"city"' in finish(matcher, needed + more, rng)


# ---- special tokens ----


def test_special_tokens_and_sets_of_ids_are_counted() -> None:
    vocabulary = Vocabulary.from_tokens(
        [b"a", b"b", b"", b"", b""], eos_token_id=4, special_token_ids=[2, 3], special_tokens={"<|x|>": 2, "<|y|>": 3}
    )
    matcher = Matcher(Grammar.from_lark('start: <|x|> "a" | <[3]> "aaa"'), vocabulary)
    assert matcher.tokens_to_finish() == 3 == fewest(matcher, 5, by_tokens)
    assert within(matcher, 3) == [2] == allowed_within(matcher, 3, by_tokens)
    assert within(matcher, 5) == [2, 3] == allowed_within(matcher, 5, by_tokens)
    matcher.accept(3)
    assert matcher.tokens_to_finish() == 4


def test_an_eos_token_that_the_grammar_names_ends_the_sequence() -> None:
    vocabulary = Vocabulary.from_tokens(
        [b"a", b"", b""], eos_token_id=[1, 2], special_token_ids=[1, 2], special_tokens={"<|e|>": 1, "<|f|>": 2}
    )
    matcher = Matcher(Grammar.from_lark('start: "a" <|e|> | "a" <|f|> "a"'), vocabulary)
    rng = Random(0)
    for n in range(matcher.tokens_to_finish(), 6):
        finish(matcher, n, rng)


# ---- errors, batches ----


def test_too_few_tokens_are_an_error_that_changes_nothing() -> None:
    matcher = Matcher(Grammar.from_lark('start: "abc"'), BYTES)
    row = row_for(BYTES)
    with pytest.raises(BudgetError, match="3 tokens may still come, and the sentence needs 4") as caught:
        matcher.fill_bitmask(row, remaining=3)
    assert (caught.value.remaining, caught.value.needed) == (3, 4)
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (copy.remaining, copy.needed, str(copy)) == (3, 4, str(caught.value))
    assert matcher.n_tokens == 0 and matcher.error is None
    assert within(matcher, 4) == [ord("a")]
    with pytest.raises(ValueError, match="remaining must not be negative, got -1"):
        matcher.fill_bitmask(row, remaining=-1)
    with pytest.raises(TypeError):
        matcher.fill_bitmask(row, remaining="4")  # type: ignore[arg-type]
    matcher.fill_bitmask(row, "end", 3)
    assert isinstance(matcher.error, BudgetError) and matcher.tokens_to_finish() == 0
    assert row.view(np.uint32)[256 // 32] == 1


def test_a_vocabulary_without_the_bytes_is_named() -> None:
    matcher = Matcher(Grammar.from_lark('start: "abc"'), AB)
    with pytest.raises(BudgetError, match="no token for any of 254 bytes") as caught:
        matcher.tokens_to_finish()
    assert caught.value.needed is None
    # Tokens of several bytes may spell what single ones do not.
    pairs = Vocabulary.from_tokens([b"ab", b"c", b"</s>"], eos_token_id=2)
    assert Matcher(Grammar.from_lark('start: "abc" | "c"~4 "b"'), pairs).tokens_to_finish() == 3


def test_budgets_of_a_batch() -> None:
    matcher = Matcher(Grammar.from_lark('start: "a"* "b"'), BYTES)
    others = [matcher.fork(), matcher.fork()]
    rows = np.zeros((5, 9), np.int32)
    fill_bitmasks([matcher, None, others[0], matcher, others[1]], rows, remaining=[2, None, None, 3, 2])
    expected = row_for(BYTES)
    for at, n in ((0, 2), (3, 3), (4, 2)):
        matcher.fill_bitmask(expected, remaining=n)
        assert (rows[at] == expected).all()
    matcher.fill_bitmask(expected)
    assert (rows[2] == expected).all() and (rows[1] == -1).all()
    assert within(matcher, 2) == [ord("b")]
    with pytest.raises(ValueError, match="one entry for each of the 5 matchers, got 1"):
        fill_bitmasks([matcher, None, *others, matcher], rows, remaining=[1])
    with pytest.raises(ValueError, match=r"remaining\[1\] must not be negative"):
        fill_bitmasks(others, rows, remaining=[None, -1])
    with pytest.raises(BatchError, match="BudgetError") as caught:
        fill_bitmasks(others, rows, remaining=[1, 2])
    assert list(caught.value.errors) == [0] and not rows[0].any() and rows[1].any()
    fill_bitmasks(others, rows, remaining=[1, 2], on_error="end")
    assert isinstance(others[0].error, BudgetError) and others[1].error is None


def test_budgets_of_a_batch_in_the_background() -> None:
    """Also of a matcher that is listed with several numbers, and beside one that has too few."""
    grammars = [Grammar.from_lark(text) for text in ('start: "a"* "b"', 'start: "(" start ")" | "x"')]
    matchers = [Matcher(grammar, BYTES) for grammar in grammars] * 2
    remaining = [2, 4, 3, None]
    rows, expected = np.zeros((4, 9), np.int32), np.zeros((4, 9), np.int32)
    filling = start_bitmasks(matchers, rows, remaining=remaining, threads=2)
    with pytest.raises(MatcherInUseError):
        within(matchers[0], 2)
    filling.wait()
    for matcher, n, row in zip(matchers, remaining, expected, strict=True):
        matcher.fill_bitmask(row, remaining=n)
    assert (rows == expected).all() and (expected[0] != expected[2]).any()
    with pytest.raises(BatchError, match="BudgetError") as caught:
        start_bitmasks(matchers, rows, remaining=[1, 4, 3, 1]).wait()
    assert list(caught.value.errors) == [0, 3] and rows.any(axis=1).tolist() == [False, True, True, False]
    with pytest.raises(ValueError, match="one entry for each of the 4 matchers"):
        start_bitmasks(matchers, rows, remaining=[1])


def test_what_is_known_survives_collections() -> None:
    """Rows and positions get other numbers when a chart is collected, regex nodes when a grammar forgets."""
    matcher = Matcher(Grammar.from_lark('start: "[" (start ("," start)*)? "]"'), BYTES)
    assert matcher.tokens_to_finish() == 3
    for depth in range(1, effort(400, 4000)):
        assert matcher.accept(ord("["))
        matcher.mask()
        if depth % 40 == 0:
            assert matcher.tokens_to_finish() == depth + 1
            assert within(matcher, depth + 1) == [ord("]")]
    assert matcher.stats()["collections"] or matcher.stats()["rows"] < 10_000


def test_what_is_known_of_shortest_texts_is_counted_and_forgotten() -> None:
    """A pattern of many states and objects of many keys: each place leads to texts and rules of its own."""
    value = {"type": "string", "pattern": "^(ab?c?d?){20,60}e$"}
    schema = {"type": "object", "additionalProperties": value, "minProperties": 3}
    vocabulary = Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), b"ab", b"ac", b""], eos_token_id=258)
    grammar = Grammar.from_json_schema(schema)
    matcher = Matcher(grammar, vocabulary)
    numbers = []
    with limits(memory=1 << 30):
        n_bytes = grammar.stats()["mask_bytes"]
        for n_calls in range(effort(150, 500)):
            numbers.append(matcher.tokens_to_finish())
            allowed = within(matcher, numbers[-1] + 40)
            if n_calls == 0:
                n_before = grammar.stats()["mask_bytes"]
            matcher.accept(allowed[n_calls % len(allowed)])
            if matcher.is_finished():
                break
        most = grammar.stats()["mask_bytes"]
        assert n_bytes < n_before < most - 100_000
    tokens, n_flushes = matcher.tokens, matcher.stats()["mask_flushes"]
    matcher = Matcher(grammar, vocabulary)
    with limits(memory=1 << 16):  # nothing is kept longer than a call
        for token, number in zip(tokens, numbers, strict=False):
            assert matcher.tokens_to_finish() == number
            within(matcher, number + 40)
            assert grammar.stats()["mask_bytes"] < most // 3
            assert matcher.accept(token)
        assert matcher.stats()["mask_flushes"] > n_flushes + 2
