"""Equal grammars are loaded once, and every request has a matcher of its own."""

from __future__ import annotations

import gc
import json
import os
import signal
import threading
import time
from typing import Any

import numpy as np
import pytest

from earleymask import Grammar, GrammarError, LimitError, Limits, Matcher, MatcherPool, Vocabulary, VocabularyError
from earleymask.grammar import grammar as grammar_module
from support.mask_paths import filled

BYTES = [bytes([byte]) for byte in range(256)]
VOCABULARY = Vocabulary.from_tokens([*BYTES, b'{"', b"", b""], eos_token_id=257)
SCHEMA = '{"properties": {"a": {"type": "integer"}}, "required": ["a"]}'

ONLY = [json.dumps({"const": n}) for n in range(4)]


class Counted:
    """`Grammar.from_json_schema`, which counts its calls and takes its time."""

    def __init__(self, seconds: float = 0) -> None:
        self.n_calls = 0
        self.seconds = seconds

    def __call__(self, schema: str, **options: Any) -> Grammar:
        self.n_calls += 1
        time.sleep(self.seconds)
        return Grammar.from_json_schema(schema, **options)


def test_equal_grammars_are_loaded_once() -> None:
    pool, make = MatcherPool(VOCABULARY), Counted()
    matchers = [pool.matcher(make, SCHEMA) for _ in range(3)]
    assert make.n_calls == 1 and len({id(matcher) for matcher in matchers}) == 3
    assert pool.matcher(make, SCHEMA, whitespace="compact").grammar is not matchers[0].grammar
    assert make.n_calls == 2
    assert pool.stats() == {"grammars": 2, "loaded": 2, "found": 2}
    # What one of them accepts is nothing to the others, and its masks are those of a matcher made alone.
    plain = Matcher(Grammar.from_json_schema(SCHEMA), VOCABULARY)
    for byte in b'{"a": 12}':
        assert np.array_equal(filled(matchers[0]), filled(plain))
        assert matchers[0].accept(byte) and plain.accept(byte)
    assert matchers[1].n_tokens == 0 == pool.matcher(make, SCHEMA).n_tokens


def test_the_first_mask_is_made_already() -> None:
    matcher = MatcherPool(VOCABULARY).matcher(Grammar.from_json_schema, SCHEMA)
    filled(matcher)
    stats = matcher.stats()
    assert stats["masks"] == stats["masks_union_known"] == 1


def test_matchers_with_other_end_tokens_have_the_same_grammar() -> None:
    pool, make = MatcherPool(VOCABULARY, warm=0.001), Counted()
    for ends in (None, [258], (258, 257), np.array([258]), iter([257]), 258):
        matcher = pool.matcher(make, "true", eos_token_ids=ends)
        assert matcher.accept_tokens(b"true") == 4
        assert list(np.flatnonzero(filled(matcher))) == list(matcher.eos_token_ids)
    assert pool.stats()["grammars"] == make.n_calls == 1
    # The request's are enough, also for what is made ahead.
    without = MatcherPool(Vocabulary.from_tokens([*BYTES, b""], eos_token_id=None), warm=0.001)
    assert without.matcher(make, "true", eos_token_ids=[256]).eos_token_ids == (256,)
    with pytest.raises(VocabularyError, match="no EOS"):
        without.matcher(make, "true")


def test_the_one_that_was_used_least_recently_goes() -> None:
    pool, make = MatcherPool(VOCABULARY, capacity=2), Counted()
    first = pool.matcher(make, ONLY[1])
    pool.matcher(make, ONLY[2])
    pool.matcher(make, ONLY[1])
    pool.matcher(make, ONLY[3])
    assert pool.stats()["grammars"] == 2 and make.n_calls == 3
    pool.matcher(make, ONLY[1])
    assert make.n_calls == 3
    pool.matcher(make, ONLY[2])
    assert make.n_calls == 4
    pool.clear()
    assert pool.stats()["grammars"] == 0
    assert first.accept(ord("1"))


def test_threads_wait_for_the_one_that_loads() -> None:
    pool, make = MatcherPool(VOCABULARY), Counted(0.05)
    found: list[Matcher] = []
    threads = [threading.Thread(target=lambda: found.append(pool.matcher(make, SCHEMA))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert make.n_calls == 1 and len(set(map(id, found))) == 8


def test_errors_are_raised_each_time() -> None:
    pool, make = MatcherPool(VOCABULARY), Counted()
    for n in (1, 2):
        with pytest.raises(GrammarError, match="nothing"):
            pool.matcher(make, '{"type": "nothing"}')
        assert make.n_calls == n and pool.stats()["grammars"] == 0
    with pytest.raises(LimitError):
        pool.matcher(Grammar.from_lark, 'start: "a" | "b"', limits=Limits(productions=1))
    assert pool.stats() == {"grammars": 0, "loaded": 0, "found": 0}
    with pytest.raises(
        TypeError, match=r"argument 1 of `make` is a dict that cannot be hashed.*give schemas as JSON text"
    ):
        pool.matcher(make, {"type": "integer"})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="registry of `make` is a dict"):
        pool.matcher(make, SCHEMA, registry={})
    with pytest.raises(TypeError, match="argument 1 of `make` is a tuple"):
        pool.matcher(make, ([],))  # type: ignore[arg-type]
    assert pool.matcher(make, ONLY[1]).accept(ord("1"))
    for wrong in ({"capacity": 0}, {"memory": 0}, {"warm": -1}, {"warm": float("nan")}, {"warm": float("inf")}):
        with pytest.raises(ValueError, match="must be at least 1"):
            MatcherPool(VOCABULARY, **wrong)  # type: ignore[arg-type]
    for wrong in ({"capacity": 1.5}, {"memory": "1"}, {"warm": None}):
        with pytest.raises(TypeError):
            MatcherPool(VOCABULARY, **wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="over a Vocabulary, not NoneType"):
        MatcherPool(None)  # type: ignore[arg-type]


def test_numbers_of_different_types_are_different_arguments() -> None:
    pool = MatcherPool(VOCABULARY)
    asked: list[object] = []

    def make(*arguments: object, **options: object) -> Grammar:
        asked.extend([*arguments, *options.values()])
        return Grammar.from_json_schema(ONLY[1])

    for value in (1, True, 1.0, 1, True, 1.0):
        pool.matcher(make, value)
        pool.matcher(make, option=value)
        pool.matcher(make, ("a", (value,)))
    assert pool.stats() == {"grammars": 9, "loaded": 9, "found": 9}
    assert [type(each) for each in asked if not isinstance(each, tuple)] == [int, int, bool, bool, float, float]


def test_what_the_grammars_take_is_bounded() -> None:
    def schema(n: int, n_keys: int = 1000) -> str:
        return json.dumps({"properties": {f"k{n}_{i}": {"type": "integer"} for i in range(n_keys)}})

    make = Counted()
    one = MatcherPool(VOCABULARY)
    one.matcher(make, schema(0))
    size = one.n_bytes
    assert 500_000 < size <= one.matcher(make, schema(0)).grammar.engine.n_bytes < size + 1000
    pool = MatcherPool(VOCABULARY, memory=3 * size + size // 2)
    first = pool.matcher(make, schema(0))
    for n in range(1, 8):
        pool.matcher(make, schema(n))
        assert pool.n_bytes <= pool.memory
        assert pool.stats()["grammars"] == min(n + 1, 3)
    assert first.accept(ord("{"))
    # The latest one stays, however large it is; the others go.
    small = MatcherPool(VOCABULARY, memory=size // 2)
    small.matcher(make, ONLY[1])
    for _ in range(2):
        small.matcher(make, schema(9))
    assert small.stats() == {"grammars": 1, "loaded": 2, "found": 1} and small.n_bytes > small.memory
    small.matcher(make, ONLY[1])
    assert small.stats()["grammars"] == 1 and 0 < small.n_bytes < size // 2
    small.clear()
    assert small.n_bytes == 0


def test_what_is_learned_counts() -> None:
    pool = MatcherPool(VOCABULARY)
    matcher = pool.matcher(Grammar.from_lark, 'start: (/[a-z]{1,40}x/ | /[0-9]{1,30}7/ | "{" start "}")*')
    loaded = pool.n_bytes
    for byte in (b"{" * 5 + b"abcdefghijklmnopqrstuvwx" + b"01234567" + b"}" * 5) * 20:
        assert matcher.accept(byte)
        filled(matcher)
    assert pool.n_bytes == loaded
    pool.matcher(make := Counted(), ONLY[1])
    assert pool.n_bytes > loaded + 1000 and make.n_calls == 1
    # When it is asked for again, it may be too large for others to stay.
    pool.memory = 1
    pool.matcher(Grammar.from_lark, 'start: (/[a-z]{1,40}x/ | /[0-9]{1,30}7/ | "{" start "}")*')
    assert pool.stats()["grammars"] == 1


def test_what_is_not_loaded_takes_the_place_of_no_grammar() -> None:
    pool, make, blocked = MatcherPool(VOCABULARY, capacity=1), Counted(), Blocked()
    pool.matcher(make, ONLY[1])
    with pytest.raises(GrammarError):
        pool.matcher(make, '{"type": "nothing"}')
    # Nor does one that is being loaded go before it can be found.
    thread = threading.Thread(target=lambda: pool.matcher(blocked, SCHEMA))
    thread.start()
    assert blocked.begun.wait(30)
    pool.matcher(make, ONLY[1])
    assert make.n_calls == 2 and pool.stats()["found"] == 1
    pool.matcher(make, ONLY[2])
    waiting = threading.Thread(target=lambda: pool.matcher(blocked, SCHEMA))
    waiting.start()
    blocked.may_end.set()
    thread.join()
    waiting.join()
    assert pool.stats() == {"grammars": 1, "loaded": 3, "found": 2}, "it was loaded once"


class Blocked:
    """A `make` whose first call waits until it is told to go on, and then raises an error, if there is one."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.begun, self.may_end = threading.Event(), threading.Event()

    def __call__(self, schema: str) -> Grammar:
        if not self.begun.is_set():
            self.begun.set()
            assert self.may_end.wait(30)
            if self.error is not None:
                raise self.error
        return Grammar.from_json_schema(schema)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), GrammarError("no")])
def test_an_error_concerns_the_thread_that_it_met(error: BaseException) -> None:
    pool, make = MatcherPool(VOCABULARY), Blocked(error)
    errors: list[BaseException] = []

    def load() -> None:
        try:
            pool.matcher(make, SCHEMA)
        except BaseException as caught:
            errors.append(caught)

    threads = [threading.Thread(target=load) for _ in range(3)]
    threads[0].start()
    assert make.begun.wait(30)
    for thread in threads[1:]:
        thread.start()
    make.may_end.set()
    for thread in threads:
        thread.join()
    assert errors == [error]
    assert pool.stats()["grammars"] == 1 and pool.matcher(make, SCHEMA).n_tokens == 0


def test_what_is_freed_may_use_the_pool() -> None:
    pool = MatcherPool(VOCABULARY, capacity=1)

    class Named(str):
        def __del__(self) -> None:
            used.append(pool.stats()["grammars"])

    used: list[int] = []
    pool.matcher(Grammar.from_json_schema, Named(ONLY[1]))
    pool.matcher(Grammar.from_json_schema, ONLY[2])
    gc.collect()
    assert used == [1]


def test_a_grammar_may_use_the_pool_while_it_is_loaded() -> None:
    pool, depth = MatcherPool(VOCABULARY), 0

    def make(schema: str) -> Grammar:
        nonlocal depth
        depth += 1
        return pool.matcher(make, schema).grammar if depth < 3 else Grammar.from_json_schema(schema)

    assert pool.matcher(make, SCHEMA).accept(ord("{"))
    assert pool.stats()["grammars"] == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_does_not_wait_for_a_thread_of_its_parent() -> None:
    pool, make = MatcherPool(VOCABULARY), Blocked()
    known = pool.matcher(Grammar.from_json_schema, ONLY[2])
    thread = threading.Thread(target=lambda: pool.matcher(make, SCHEMA))
    thread.start()
    assert make.begun.wait(30)
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        is_right = pool.matcher(make, SCHEMA).accept(ord("{"))
        is_right = is_right and pool.matcher(Grammar.from_json_schema, ONLY[2]).grammar is known.grammar
        os._exit(0 if is_right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    make.may_end.set()
    thread.join()


@pytest.mark.parametrize("most", [0, 50])
def test_a_grammar_to_which_texts_have_added_much_is_loaded_again(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(grammar_module, "MAX_ADDED", most)
    pool = MatcherPool(VOCABULARY)
    matcher = pool.matcher(Grammar.from_json_schema, json.dumps({"type": "object"}), closed=False)
    engine = matcher.grammar.engine
    text = json.dumps({f"key{n}": n for n in range(40)}).encode()
    assert matcher.accept_tokens(text) == len(text)
    again = pool.matcher(Grammar.from_json_schema, json.dumps({"type": "object"}), closed=False)
    assert again.grammar.engine is not engine and again.accept_tokens(text) == len(text)
    assert pool.stats()["grammars"] == 1
