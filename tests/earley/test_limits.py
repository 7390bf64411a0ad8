"""Each limit raises a typed error that names it, leaves the matcher unchanged, and bounds time and memory.

A limit of what is only remembered raises nothing, and something is forgotten instead. With bounds so small that this
happens all the time, masks and histories must still equal the twin's.
"""

from __future__ import annotations

import pickle
import threading
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from earleymask import Grammar, GrammarError, LimitError, Limits, Matcher, Vocabulary
from earleymask.earley._forget import forget_now
from support.compare import Loaded, Pair, Skipped, load
from support.mask_paths import SPLITS, agreed, all_strings, feed, filled, limits, pieces_of, walked
from support.strategies import SMALL, make_small_grammar
from support.twin import TooMuchWork, dict_trie

BYTES = Vocabulary.bytes()
EXPONENTIAL = 'start: /(a|b)*a(a|b){12}/ "c"'
"""Each byte of a text leads to another lexer state; there are more than 2¹²."""
PALINDROMES = 'start: "a" start "a" | "b" start "b" | "a" | "b" | "aa" | "bb"'
"""Its rows are as long as the text if all letters are alike."""
WIDE = "start: " + " | ".join(f"/(a[bc]{i}){{2,90}}/" for i in range(100))
"""The first byte leads into a hundred terminals."""
OPTIONS = "start: " + " ".join(f"x{i}?" for i in range(200)) + "".join(f'\nx{i}: "a" x{i} | "b"' for i in range(200))
"""Its first row has hundreds of items."""


def random_text(n: int, seed: int = 1) -> bytes:
    return bytes(Random(seed).choices(b"ab", k=n))


# --- the object ------------------------------------------------------------------------------------------------------


def test_it_is_a_value() -> None:
    assert Limits() == Limits() and Limits(seconds=0.5) != Limits()
    assert (Limits().load_seconds, Limits().seconds) == (2, 1)
    memory = (Limits().load_bytes, Limits().grammar_bytes, Limits().matcher_bytes)
    assert memory == (256 << 20, 64 << 20, 64 << 20)
    trusted = Limits(load_seconds=30, seconds=30, load_bytes=4 << 30, grammar_bytes=512 << 20, matcher_bytes=512 << 20)
    assert Limits.trusted() == trusted
    assert pickle.loads(pickle.dumps(Limits(row_items=9))) == Limits(row_items=9)
    with pytest.raises(AttributeError):
        Limits().row_items = 9  # type: ignore[misc]
    with pytest.raises(TypeError):
        Limits(5)  # type: ignore[misc]
    for wrong in (0, -1, 2**63):
        with pytest.raises(ValueError, match="row_items must be above 0"):
            Limits(row_items=wrong)
    for other in ("9", None, 1.5, True):
        with pytest.raises(TypeError, match="row_items must be a number"):
            Limits(row_items=other)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="limits must be Limits"):
        Grammar.from_lark('start: "a"', limits=9)  # type: ignore[arg-type]


def test_a_pickled_grammar_keeps_its_limits() -> None:
    given = Limits(row_items=100)
    for grammar in (
        Grammar.from_lark('start: "a"', limits=given),
        Grammar.from_gbnf('root ::= "a"', limits=given),
        Grammar.from_regex("a", limits=given),
        Grammar.from_choices(["a"], limits=given),
    ):
        again = pickle.loads(pickle.dumps(grammar))
        assert again.engine.limits == given and again == grammar
    assert Grammar.from_lark('start: "a"').engine.limits == Limits()


@pytest.mark.parametrize(
    ("make", "limit"),
    [
        (lambda: Grammar.from_regex("(" * 101 + "a" + ")" * 101), "nesting"),
        (lambda: Grammar.from_regex("(" * 101 + "a" + ")" * 101, dialect="ecma"), "nesting"),
        (lambda: Grammar.from_lark(f"start: /{'(' * 101}a{')' * 101}/"), "nesting"),
        (lambda: Grammar.from_regex("a{9999999999}"), "repetitions"),
        (lambda: Grammar.from_lark('start[stop=/a{9999999999}/]: "b"'), "repetitions"),
        (lambda: Grammar.from_lark("start: " + " | ".join(f"<[{n}-{n + 1}]>" for n in range(4097))), ""),
        (lambda: Grammar.from_regex("a" * (1 << 20) + "b"), ""),
    ],
)
def test_an_error_names_a_field_where_there_is_one(make: Callable[[], Grammar], limit: str) -> None:
    with pytest.raises(LimitError) as caught:
        make()
    assert isinstance(caught.value, GrammarError) and caught.value.limit == limit


# --- grammars --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("limit", "value"), [("source_characters", 20), ("symbols", 5), ("productions", 3)])
def test_a_grammar_that_is_too_large(limit: str, value: int) -> None:
    text = 'start: a "," b\na: "x" | "y"\nb: "z"'
    assert Grammar.from_lark(text, limits=Limits(**{limit: 1000}))
    assert_reaches(limit, value, lambda limits: Grammar.from_lark(text, limits=limits))


def assert_reaches(limit: str, value: float, make: Callable[[Limits], object]) -> GrammarError:
    """Load with the limit, assert that an error names it, soon and without much memory, and return the error."""
    began = time.process_time()
    tracemalloc.start()
    with pytest.raises(GrammarError) as caught:
        make(replace(Limits.trusted(), **{limit: value}))  # type: ignore[arg-type]  # the time must not come first
    assert tracemalloc.get_traced_memory()[1] < 200 << 20
    tracemalloc.stop()
    assert time.process_time() - began < 20
    error = caught.value
    assert isinstance(error, LimitError) and error.limit == limit
    assert f"limits=Limits({limit}=...)" in str(error) and str(value) in error.message
    again = pickle.loads(pickle.dumps(error))
    assert again.limit == limit and str(again) == str(error)
    return error


FRONT_ENDS: dict[str, Callable[..., Grammar]] = {
    "lark": Grammar.from_lark,
    "gbnf": Grammar.from_gbnf,
    "regex": Grammar.from_regex,
    "choices": Grammar.from_choices,
}
# By front end, limit and value: a text that reaches the limit, and one that just does not.
GRAMMAR_LIMITS: list[tuple[str, str, int, Any, Any]] = [
    ("lark", "nesting", 3, 'start: (((("a"))))', 'start: ((("a")))'),
    ("lark", "nesting", 3, 'start: [[[["a"] "b"] "c"] "d"]', 'start: [[["a"] "b"] "c"]'),
    ("lark", "nesting", 3, 'start: x{x{x{x{"a"}}}}\nx{y}: y', 'start: x{x{x{"a"}}}\nx{y}: y'),
    ("lark", "nesting", 3, 'start: %lark { start: (((("a")))) }', 'start: %lark { start: ((("a"))) }'),
    ("lark", "nesting", 3, "start: /" + "(a" * 20 + ")+b" * 20 + "/", "start: /" + "(a" * 3 + ")+b" * 3 + "/"),
    ("lark", "nesting", 100, "start: " + "(" * 100_000, 'start: ' + "(" * 100 + '"a"' + ")" * 100),
    ("gbnf", "nesting", 3, 'root ::= (((("a"))))', 'root ::= ((("a")))'),
    ("gbnf", "nesting", 100, "root ::= " + "(" * 100_000, "root ::= " + "(" * 100 + '"a"' + ")" * 100),
    ("regex", "nesting", 3, "(a" * 20 + ")+b" * 20, "(a" * 3 + ")+b" * 3),
    ("lark", "repetitions", 9, 'start: "a"~10', 'start: "a"~9'),
    ("lark", "repetitions", 9, 'start: ("a" "b"){2,10}', 'start: ("a" "b"){2,9}'),
    ("lark", "repetitions", 9, "start: /x(a{3,10})?/", "start: /x(a{3,9})?/"),
    ("lark", "repetitions", 9, 'start: A\nA: "b" | "a"~1..10', 'start: A\nA: "b" | "a"~1..9'),
    ("lark", "repetitions", 9, "start: ~/a{10}/ & /a+/", "start: ~/a{9}/ & /a+/"),
    ("lark", "repetitions", 2**31 - 1, 'start: "a"~2147483648', 'start: "a"~2147483647'),
    ("gbnf", "repetitions", 9, 'root ::= "a"{10}', 'root ::= "a"{9}'),
    ("gbnf", "repetitions", 2**31 - 1, 'root ::= "a"{0,99999999999}', 'root ::= "a"{0,2147483647}'),
    ("regex", "repetitions", 9, "(a|bc){10}", "(a|bc){9}"),
    ("lark", "terminal_pieces", 5, 'start: A\nA: B B\nB: "b" /c/ "d"', 'start: A B\nA: B "a"\nB: "b" /c/ "d"'),
    ("lark", "terminal_pieces", 5, 'start[lazy]: a a\na: "b" "c" "d"', 'start[lazy]: a\na: "b" "c"'),
    ("lark", "template_uses", 5, 'start: x{"a"}\nx{y}: y | x{z{y}}\nz{y}: y y', 'start: x{"a"} x{"b"}\nx{y}: y'),
    ("lark", "template_uses", 10_000, 'start: x{"a"}\nx{y}: y | x{z{y}}\nz{y}: y y', 'start: x{"a"}\nx{y}: y'),
    ("lark", "production_symbols", 20, 'start: x{"a"} x{"b"}\nx{y}:' + ' "x" y' * 6, 'start: "a"' + ' "b"' * 15),
    ("lark", "symbols", 50, 'start: ' + " ".join(f'"{i}"' for i in range(90)), 'start: "a"'),
    ("gbnf", "symbols", 3, 'root ::= a b c a\na ::= "(" root ")"\nb ::= root\nc ::= root', 'root ::= "a" | "(" root'),
    ("gbnf", "productions", 3, 'root ::= "a" root | "b" root "b" | "c" root "d" | root root "e" | "f"', 'root ::= "a"'),
    ("lark", "source_characters", 12, 'start: "abcd"', 'start: "abc"'),
    ("gbnf", "source_characters", 12, 'root ::= "ab"', 'root ::= "a"'),
    ("regex", "source_characters", 4, "abcde", "abcd"),
    ("choices", "source_characters", 8, ["abc", "defg"], ["abc", "def"]),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "limit", "value", "beyond", "within"), GRAMMAR_LIMITS)
def test_a_limit_of_grammars(kind: str, limit: str, value: int, beyond: Any, within: Any) -> None:
    make = FRONT_ENDS[kind]
    assert_reaches(limit, value, lambda limits: make(beyond, limits=limits))
    grammar = make(within, limits=Limits(**{limit: value}))  # type: ignore[arg-type]
    assert pickle.loads(pickle.dumps(grammar)) == grammar == make(within)
    assert grammar.warnings == make(within).warnings


@pytest.mark.parametrize(("field", "most"), [("nesting", 100), ("repetitions", 2**31 - 1)])
def test_what_can_only_be_lowered(field: str, most: int) -> None:
    assert getattr(Limits(**{field: most}), field) == most == getattr(Limits(), field)
    with pytest.raises(ValueError, match=f"{field} must be above 0 and at most {most}"):
        Limits(**{field: most + 1})


def test_all_texts_of_a_grammar_count() -> None:
    text = "start: a B C @d\n%import x.a\n%declare B C\n%import common.DIGIT"
    modules = {"x": 'a: "a"' + " " * 300}
    given: dict[str, Any] = {"loader": modules, "declared": {"B": '"b"' + " " * 300, "C": '"c"'}}
    given["grammars"] = {"d": 'start: "d"' + " " * 300}
    assert Grammar.from_lark(text, limits=Limits(source_characters=1100), **given)
    for value in (len(text), len(text) + 250, len(text) + 500, len(text) + 800):
        assert_reaches("source_characters", value, lambda limits: Grammar.from_lark(text, limits=limits, **given))


def test_files_are_not_read_beyond_the_limit(tmp_path: Path) -> None:
    (tmp_path / "big.lark").write_text('a: "a"\n' + "// x\n" * 1_000_000)

    def make(limits: Limits) -> Grammar:
        return Grammar.from_lark("start: a\n%import big.a", import_paths=[tmp_path], limits=limits)

    error = assert_reaches("source_characters", 1000, make)
    assert "has 1023 characters" in error.message  # only one character of the file beyond the limit is read
    assert make(Limits.trusted())  # a million lines take a debug build longer than two seconds


def test_texts_that_import_many() -> None:
    """Each text imports the next one twice, which makes 2ⁿ scopes."""
    modules = {f"m{i}": f"a: b c\n%import .m{i + 1}.a -> b\n%import m{i + 1}.a -> c" for i in range(90)}
    modules["m90"] = 'a: "a"'

    def make(limits: Limits) -> Grammar:
        return Grammar.from_lark("start: a\n%import m0.a", loader=modules, limits=limits)

    assert_reaches("imports", 1000, make)
    assert_reaches("imports", 20, make)


def test_productions_of_templates_are_bounded_while_they_are_made() -> None:
    """One long body with many different uses is refused while it is expanded: all of it would fill the memory."""
    uses = "start: " + " | ".join(f'x{{"{i}"}}' for i in range(4000))
    long = uses + "\nx{y}: " + "y " * 10_000
    assert_reaches("production_symbols", 1_000_000, lambda limits: Grammar.from_lark(long, limits=limits))
    wide = uses + "\nx{y}: " + " | ".join(f'y "{i}"' for i in range(1000))
    assert_reaches("productions", 100_000, lambda limits: Grammar.from_lark(wide, limits=limits))


def test_loading_has_an_end() -> None:
    """Each of these terminals needs a long search for what it matches; the searches together have a limit."""
    text = 'start: "x"' + "".join(f" | T{i}" for i in range(500))
    text += "".join(f"\nT{i}: /(a|b)*a(a|b){{12}}_{i}/ & /(a|b)*b(a|b){{12}}_{i}/" for i in range(500))
    assert_reaches("load_seconds", 0.5, lambda limits: Grammar.from_lark(text, limits=limits))


def test_one_terminal_does_not_take_longer() -> None:
    text = 'start: a+\na[suffix="' + "ab" * 2000 + 'c"]: /(?s:.*)/'
    assert_reaches("load_seconds", 0.5, lambda limits: Grammar.from_lark(text, limits=limits))


# --- what one call may take ------------------------------------------------------------------------------------------

ONE_CALL = [
    (WIDE, b"a", "derivations", 50),
    (WIDE, b"a", "regex_nodes", 1),
    (OPTIONS, b"a", "row_items", 150),
    (PALINDROMES, b"a" * 400, "row_items", 100),
    (PALINDROMES, b"a" * 3000, "seconds", 1e-6),
    (OPTIONS, b"a", "grammar_bytes", 10_000),
    (PALINDROMES, b"a" * 3000, "grammar_bytes", 60_000),
    (PALINDROMES, b"a" * 2000, "matcher_bytes", 9_000),
    (EXPONENTIAL, random_text(100), "lexer_states", 3),
]


@pytest.mark.parametrize(("text", "sentence", "limit", "value"), ONE_CALL)
def test_a_limit_of_one_call(text: str, sentence: bytes, limit: str, value: float) -> None:
    """The error names the limit, nothing changes, and with a higher limit the same call succeeds."""
    began = time.monotonic()
    grammar = Grammar.from_lark(text)
    grammar.engine.set_limits(Limits(**{limit: value}))  # type: ignore[arg-type]  # loading may take longer
    usual = Matcher(Grammar.from_lark(text), BYTES)
    matcher = caught = None
    for byte in sentence:
        before = (matcher.tokens, matcher.is_accepting()) if matcher is not None else None
        try:
            matcher = matcher or Matcher(grammar, BYTES)
            assert matcher.accept(byte)
            filled(matcher)
        except LimitError as error:
            caught = error
            if before is not None and matcher is not None and matcher.n_tokens == len(before[0]):
                assert (matcher.tokens, matcher.is_accepting()) == before
            break
    assert caught is not None and caught.limit == limit and limit in str(caught)
    assert f"limits=Limits({limit}=...)" in str(caught)
    # The matcher still has the text accepted before, like a matcher with a higher limit.
    if matcher is not None:
        for token in matcher.tokens:
            assert usual.accept(token)
        assert matcher.is_accepting() == usual.is_accepting()
        matcher.reset()
        assert matcher.tokens == []
    assert usual.accept(sentence[usual.n_tokens])
    assert time.monotonic() - began < 20


def test_an_item_that_comes_in_many_ways_counts_once() -> None:
    """Rows of this grammar have three continuations for each letter; the ways to these grow with its square."""
    text = "start: r r\nr: | start /-+/*"
    few = Matcher(Grammar.from_lark(text, limits=Limits(row_items=300)), BYTES)
    many = Matcher(Grammar.from_lark(text), BYTES)
    for _ in range(40):
        assert few.accept(ord("-")) and many.accept(ord("-"))
        assert np.array_equal(filled(few), filled(many))


def test_time_is_of_one_call_and_not_of_all() -> None:
    grammar = Grammar.from_lark(PALINDROMES, limits=Limits(seconds=2.0))
    matcher = Matcher(grammar, BYTES)
    began = time.monotonic()
    while time.monotonic() - began < 3:
        for _ in range(20):
            assert matcher.accept(ord("a"))
        matcher.rollback(20 if matcher.n_tokens > 300 else 0)
    assert matcher.n_tokens > 0


def test_a_call_ends_soon_after_its_time() -> None:
    grammar = Grammar.from_lark(PALINDROMES, limits=Limits(seconds=0.2))
    matcher = Matcher(grammar, BYTES)
    began = time.monotonic()
    with pytest.raises(LimitError, match=r"seconds=0\.2") as caught:
        matcher.validate(b"a" * 50_000)
    assert caught.value.limit == "seconds"
    assert time.monotonic() - began < 5
    assert matcher.n_tokens == 0 and matcher.accept(ord("a"))


# --- what is forgotten -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentence", "small", "most_bytes"),
    [
        (EXPONENTIAL, random_text(2000), Limits(lexer_states=200), 600_000),
        (EXPONENTIAL, random_text(2000), Limits(regex_nodes=400), 900_000),
        (EXPONENTIAL, random_text(2000), Limits(grammar_bytes=120_000), 130_000),
        (PALINDROMES, b"a" * 500, Limits(grammar_bytes=700_000), 710_000),
        (PALINDROMES, b"a" * 500, Limits(matcher_bytes=200_000), 10_000_000),
    ],
)
def test_a_text_goes_on_whatever_was_learned(text: str, sentence: bytes, small: Limits, most_bytes: int) -> None:
    grammar = Grammar.from_lark(text, limits=small)
    matcher, usual = Matcher(grammar, BYTES), Matcher(Grammar.from_lark(text), BYTES)
    for i, byte in enumerate(sentence):
        assert matcher.accept(byte) and usual.accept(byte)
        assert matcher.is_accepting() == usual.is_accepting()
        if i % 50 == 0:
            assert np.array_equal(filled(matcher), walked(usual))
            assert grammar.stats()["grammar_bytes"] <= most_bytes
    stats = grammar.stats()
    assert stats["grammar_collections"] > 1
    assert stats["lexer_states"] <= small.lexer_states and stats["regex_nodes"] <= small.regex_nodes
    # Roll back to positions that were forgotten, and accept again.
    for n in (1, 17, 300, 5):
        matcher.rollback(n)
        usual.rollback(n)
        assert matcher.tokens == usual.tokens
        assert np.array_equal(filled(matcher), filled(usual))
    assert matcher.validate(sentence[-323:]) == usual.validate(sentence[-323:]) == 323


def test_a_grammar_recovers_from_a_matcher_that_was_too_much() -> None:
    grammar = Grammar.from_lark(PALINDROMES, limits=Limits(grammar_bytes=60_000))
    greedy = Matcher(grammar, BYTES)

    def fill() -> None:
        while greedy.n_tokens < 3000:
            assert greedy.accept(ord("a"))

    with pytest.raises(LimitError) as caught:
        fill()
    assert caught.value.limit == "grammar_bytes"
    n = greedy.n_tokens
    assert n > 50 and greedy.tokens == [ord("a")] * n
    greedy.rollback(n - 10)
    other = Matcher(grammar, BYTES)
    for matcher in (greedy, other):
        for byte in b"abaaba":
            assert matcher.accept(byte)
        assert filled(matcher).any()


ALPHABETS = {alphabet: all_strings(alphabet, 3, [*pieces_of(alphabet), b"b"]) for alphabet in SMALL}


@pytest.mark.parametrize("seed", range(25))
def test_forgetting_at_any_time_against_the_twin(seed: int) -> None:
    """Matchers that fork, roll back and continue equal the twin's, while everything is forgotten again and again."""
    rng = Random(f"forget {seed}")
    for _ in range(8):
        alphabet = rng.choice(list(SMALL))
        vocabulary = ALPHABETS[alphabet]
        with limits(split_nodes=rng.choice(SPLITS)):
            try:
                loaded = load(make_small_grammar(rng, alphabet).text)
            except Skipped:
                continue
            loaded.twin.budget = 200_000
            trie = dict_trie(vocabulary)
            pairs = [Pair(loaded, vocabulary, trie)]
            try:
                for _ in range(14):
                    if rng.random() < 0.3:
                        forget_now(loaded.grammar.engine, rng.choice([None, 16, 2, 1]))
                    pair = rng.choice(pairs)
                    roll = rng.random()
                    if roll < 0.15 and len(pairs) < 5:
                        pairs.append(pair.fork())
                    elif roll < 0.25:
                        pairs.append(Pair(loaded, vocabulary, trie))
                    elif roll < 0.4 and pair.twin.tokens:
                        pair.rollback(rng.randint(1, len(pair.twin.tokens)))
                    token = pair.next_token(rng, pair.mask())
                    if token is not None:
                        pair.accept(token)
                    if len(pairs) > 4:
                        del pairs[0]  # what only this one needs may be dropped
            except TooMuchWork:
                continue


@pytest.mark.parametrize("seed", range(12))
def test_small_limits_against_the_twin(seed: int) -> None:
    """A call may reach a limit; any other call is right, and the limit does not affect later calls."""
    rng = Random(f"small {seed}")
    for _ in range(8):
        alphabet = rng.choice(list(SMALL))
        vocabulary = ALPHABETS[alphabet]
        try:
            loaded = load(make_small_grammar(rng, alphabet).text)
        except Skipped:
            continue
        loaded.twin.budget = 200_000
        small = Limits(lexer_states=rng.choice([12, 40, 1 << 17]), grammar_bytes=rng.choice([60_000, 200_000, 1 << 29]))
        grammar = Grammar.from_lark(loaded.text, limits=small)
        try:
            pair = Pair(Loaded(loaded.text, loaded.twin, grammar), vocabulary)
            for _ in range(12):
                expected = pair.twin.mask()
                try:
                    assert np.array_equal(filled(pair.matcher), expected)
                except LimitError as error:
                    if error.limit not in ("lexer_states", "grammar_bytes"):
                        raise
                assert pair.matcher.tokens == pair.twin.tokens
                token = pair.next_token(rng, expected)
                if token is None:
                    break
                try:
                    assert pair.matcher.accept(token)
                except LimitError:
                    assert pair.matcher.tokens == pair.twin.tokens
                    break
                pair.twin.accept(token)
        except (TooMuchWork, LimitError):
            continue


def test_forgetting_while_other_threads_read() -> None:
    """Reading remembered positions and masks takes no lock, and is right while other threads learn and forget."""
    grammar = Grammar.from_lark(
        'start: (NAME | "(" start ")" | /(a|b)*a(a|b){6}/)* \nNAME: /[a-c]+/\n%ignore " "',
        limits=Limits(lexer_states=400),
    )
    usual = Matcher(Grammar.from_lark(grammar.source), BYTES)
    text = b"(abc (ab a)ababbabaabb c(a)) aabbab"
    expected = []
    for byte in text:
        expected.append(filled(usual))
        assert usual.accept(byte)
    failures: list[object] = []
    ends = time.monotonic() + 3

    def work(seed: int) -> None:
        rng = Random(seed)
        matcher = Matcher(grammar, BYTES)
        try:
            while time.monotonic() < ends and not failures:
                matcher.rollback(rng.randint(0, matcher.n_tokens))
                if rng.random() < 0.1:
                    matcher = rng.choice([matcher.fork(), Matcher(grammar, BYTES)])
                while matcher.n_tokens < len(text):
                    if not np.array_equal(filled(matcher), expected[matcher.n_tokens]):
                        failures.append((seed, matcher.n_tokens))
                        return
                    assert matcher.accept(text[matcher.n_tokens])
                if seed == 0:
                    forget_now(grammar.engine, rng.choice([None, 16, 1]))
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert grammar.stats()["grammar_collections"] > 3


# --- grammars from strangers -----------------------------------------------------------------------------------------

N = 20_000
HOSTILE = {
    "nested quantifiers": "start: /(((a*)*)*)*b|(a+)+$|((a|a)*)*c/",
    "exponential alternation": EXPONENTIAL.replace("12", "40"),
    "ambiguous counts": 'start: /((a|aa){1,300}){1,300}/ "b"',
    "palindromes": PALINDROMES,
    "highly ambiguous": 'start: start start start | start start | "a" | "b" |',
    "huge classes": r"start: /[^\x00-\x7f]{0,1000}[\w&&[^a]]|([^a]|\w|\S){500}/".replace("&&[^a]", ""),
    "many rules": "start: r0\n" + "".join(f'r{i}: r{i + 1} | "a" r{i + 1}\n' for i in range(N)) + f'r{N}: "b"',
    "many nullable rules": "start: r0\n" + "".join(f"r{i}: r{i + 1} r{i + 1}\n" for i in range(N)) + f'r{N}: "b"?',
    "many alternatives": "start: (" + " | ".join(f'"{i:x}"' for i in range(N)) + ")*",
    "many terminals": "start: (" + " | ".join(f"/{i:x}+[ab]?/" for i in range(2000)) + ")*",
    "deep nesting": "start: " + "(" * 90 + '"a"' + ")*" * 90,
    "large counts": 'start: ("a"~0..1000000000 "b")~0..1000000 | /(a{0,30000}b){0,30000}/',
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_grammars(name: str) -> None:
    """Each is refused or used within its limits: no call takes long, and memory stays bounded."""
    small = Limits(grammar_bytes=64 << 20, matcher_bytes=32 << 20, seconds=2.0)
    began = time.monotonic()
    try:
        grammar = Grammar.from_lark(HOSTILE[name], limits=small)
    except GrammarError:
        return
    assert time.monotonic() - began < 20
    rng = Random(name)
    for text in (b"a" * 150, random_text(150), "é日😀".encode() * 20, b"0123456789abcdef" * 5):
        matcher = None
        for byte in text:
            began = time.monotonic()
            try:
                matcher = matcher or Matcher(grammar, BYTES)
                if not matcher.accept(byte):
                    break
                if rng.random() < 0.2:
                    assert filled(matcher).any()
            except LimitError as error:
                if not error.limit:
                    raise
                break
            finally:
                assert time.monotonic() - began < 12
    assert grammar.stats()["grammar_bytes"] < 70 << 20


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:(?!ab|ba)[ab]|x(?=[ab]{3})[abx])*c",
        r"(?>a|ab)*(?:b|c){2,9}(?<=bc)c*",
        r"(?:a(?!b{3})|b)*?c|(?:[ab]{2,7}x){1,9}",
        r"a(?:[ab]+\b[ xc])*",
    ],
)
def test_forgetting_within_terminals_that_look_around(pattern: str) -> None:
    rng = Random(pattern)
    grammar = Grammar.from_lark(f"start: (/{pattern}/ | /[a-c]+x/)*")
    usual = Grammar.from_lark(grammar.source)
    matcher, other = Matcher(grammar, BYTES), Matcher(usual, BYTES)
    for _ in range(150):
        mask = filled(matcher)
        assert np.array_equal(mask, filled(other))
        allowed = [token for token in np.flatnonzero(mask).tolist() if token != 256]
        if not allowed:
            break
        token = rng.choice(allowed)
        assert matcher.accept(token) and other.accept(token)
        if rng.random() < 0.5:
            forget_now(grammar.engine, rng.choice([None, 1]))
        if rng.random() < 0.1:
            n = rng.randint(1, matcher.n_tokens)
            matcher.rollback(n)
            other.rollback(n)
    assert grammar.stats()["grammar_collections"] > 20


def test_what_lazy_symbols_have_added_survives_forgetting() -> None:
    """The terminal of such a number is added when a text reaches it. Its program refers to regex nodes, which get other
    numbers."""
    schema = {"type": "integer", "allOf": [{"not": {"multipleOf": p}} for p in (2, 3, 5, 7)]}
    with limits(split_nodes=5):
        vocabulary = all_strings("-0123", 2)
        grammar = Grammar.from_json_schema(schema)
        matcher, twin = Matcher(grammar, vocabulary), Matcher(Grammar.from_json_schema(schema), vocabulary)
        for text in (b"", b"1", b"2", b"1"):
            feed(matcher, text)
            feed(twin, text)
            forget_now(grammar.engine, 1)
            assert np.array_equal(agreed(matcher), agreed(twin))
