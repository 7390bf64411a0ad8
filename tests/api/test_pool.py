"""Equal grammars are loaded once, and every request has a matcher of its own."""

from __future__ import annotations

import json
import threading
import time
from typing import Any

import numpy as np
import pytest

from earleymask import Grammar, GrammarError, LimitError, Limits, Matcher, MatcherPool, Vocabulary
from earleymask.grammar import grammar as grammar_module
from support.mask_paths import filled

VOCABULARY = Vocabulary.from_tokens([*(bytes([byte]) for byte in range(256)), b'{"', b"", b""], eos_token_id=257)
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
    assert pool.stats() == {"templates": 2, "loaded": 2, "found": 2}
    # What one of them accepts is nothing to the others, and its masks are those of a matcher made alone.
    plain = Matcher(Grammar.from_json_schema(SCHEMA), VOCABULARY)
    for byte in b'{"a": 12}':
        assert np.array_equal(filled(matchers[0]), filled(plain))
        assert matchers[0].accept(byte) and plain.accept(byte)
    assert matchers[1].n_tokens == 0 == pool.matcher(make, SCHEMA).n_tokens


def test_the_first_mask_is_made_already() -> None:
    matcher = MatcherPool(VOCABULARY).matcher(Grammar.from_json_schema, SCHEMA)
    before = matcher.stats()["masks_known"]
    filled(matcher)
    assert matcher.stats()["masks_known"] == before + 1


def test_each_choice_of_end_tokens_has_a_template() -> None:
    pool, make = MatcherPool(VOCABULARY), Counted()
    for ends in (None, [258], (257, 258), [258]):
        matcher = pool.matcher(make, "true", eos_token_ids=ends)
        assert matcher.accept_tokens(b"true") == 4
        assert list(np.flatnonzero(filled(matcher))) == list(ends or [257])
    assert pool.stats()["templates"] == make.n_calls == 3


def test_the_one_that_was_used_least_recently_goes() -> None:
    pool, make = MatcherPool(VOCABULARY, capacity=2), Counted()
    first = pool.matcher(make, ONLY[1])
    pool.matcher(make, ONLY[2])
    pool.matcher(make, ONLY[1])
    pool.matcher(make, ONLY[3])
    assert pool.stats()["templates"] == 2 and make.n_calls == 3
    pool.matcher(make, ONLY[1])
    assert make.n_calls == 3
    pool.matcher(make, ONLY[2])
    assert make.n_calls == 4
    pool.clear()
    assert pool.stats()["templates"] == 0
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


def test_grammars_are_loaded_in_other_threads() -> None:
    pool, make = MatcherPool(VOCABULARY, threads=2, warm=0.01), Counted(0.05)
    begin = time.perf_counter()
    futures = [pool.submit(make, ONLY[n], eos_token_ids=[258]) for n in (1, 2, 1)]
    assert time.perf_counter() - begin < 0.05
    assert [future.result().mask().argmax() for future in futures] == [ord("1"), ord("2"), ord("1")]
    assert make.n_calls == 2
    with pytest.raises(GrammarError):
        pool.submit(make, '{"type": "nothing"}').result()


def test_errors_are_raised_each_time() -> None:
    pool, make = MatcherPool(VOCABULARY), Counted()
    for n in (1, 2):
        with pytest.raises(GrammarError, match="nothing"):
            pool.matcher(make, '{"type": "nothing"}')
        assert make.n_calls == n and pool.stats()["templates"] == 0
    with pytest.raises(LimitError):
        pool.matcher(Grammar.from_lark, 'start: "a" | "b"', limits=Limits(productions=1))
    with pytest.raises(TypeError, match="hashable"):
        pool.matcher(make, {"type": "integer"})  # type: ignore[arg-type]
    assert pool.matcher(make, ONLY[1]).accept(ord("1"))
    for wrong in ({"capacity": 0}, {"threads": 0}, {"warm": -1}):
        with pytest.raises(ValueError, match="must be at least 1"):
            MatcherPool(VOCABULARY, **wrong)  # type: ignore[arg-type]


def test_an_interrupt_concerns_the_thread_that_it_met() -> None:
    begun, may_end = threading.Event(), threading.Event()
    pool = MatcherPool(VOCABULARY)
    errors: list[BaseException] = []

    def make(schema: str) -> Grammar:
        if not begun.is_set():
            begun.set()
            may_end.wait(10)
            raise KeyboardInterrupt
        return Grammar.from_json_schema(schema)

    def load() -> None:
        try:
            pool.matcher(make, SCHEMA)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=load) for _ in range(2)]
    threads[0].start()
    assert begun.wait(10)
    threads[1].start()
    while pool.stats()["found"] < 1:  # the second one waits
        time.sleep(0.001)
    may_end.set()
    for thread in threads:
        thread.join()
    assert [type(error) for error in errors] == [KeyboardInterrupt]
    assert pool.stats() == {"templates": 1, "loaded": 2, "found": 1}


def test_a_grammar_to_which_texts_have_added_much_is_loaded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grammar_module, "MAX_ADDED", 50)
    pool = MatcherPool(VOCABULARY)
    matcher = pool.matcher(Grammar.from_json_schema, json.dumps({"type": "object"}), closed=False)
    engine = matcher.grammar.engine
    text = json.dumps({f"key{n}": n for n in range(40)}).encode()
    assert matcher.accept_tokens(text) == len(text)
    again = pool.matcher(Grammar.from_json_schema, json.dumps({"type": "object"}), closed=False)
    assert again.grammar.engine is not engine and again.accept_tokens(text) == len(text)
    assert pool.stats()["templates"] == 1
