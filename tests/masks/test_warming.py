"""Masks that are made ahead are the same, are known when they are asked for, and are in nobody's way."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import numpy as np
import pytest

from earleymask import Grammar, Limits, Matcher, Vocabulary, VocabularyError, allocate_bitmask, fill_bitmasks
from earleymask.earley import _likely
from earleymask.earley import warming as warming_module
from earleymask.earley._forget import forget_now
from earleymask.earley._likely import LikelyTexts
from earleymask.earley._meter import masks_asked
from earleymask.earley.warming import MOST_THREADS, MOST_WAITING, Warming
from earleymask.trie._build import is_debug
from support import vocabularies
from support.grammar_texts import GRAMMARS
from support.mask_paths import agreed, all_strings, feed, filled, go_on, walked

BYTES = Vocabulary.bytes()
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "size": {"type": "integer"},
        "tags": {"type": "array", "items": {"enum": ["old", "new"]}},
        "home": {"$ref": "#/$defs/place"},
        "work": {"$ref": "#/$defs/place"},
        "when": {"type": "string", "format": "date"},
    },
    "$defs": {"place": {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "number"}}}},
}
DOCUMENT = {
    "name": "Ann",
    "size": 12,
    "tags": ["old", "new", "old"],
    "home": {"x": 1, "y": 2.5},
    "work": {"y": 3},
    "when": "2024-02-29",
}
ENDLESS = """
start: up::0
up::_: "a" "b" up::incr(_) | "," down::_
down::_: "c" down::decr(_) %if gt(_, 0) | "" %if eq(_, 0)
"""
"""Each count is a state of its own, and so a new place."""


def likely(matcher: Matcher, most_bytes: int) -> LikelyTexts:
    return LikelyTexts(matcher, most_bytes, 1000)


def completed(texts: LikelyTexts) -> LikelyTexts:
    while not texts.is_done:
        texts.work()
    return texts


@pytest.mark.parametrize("slice_ns", [1, 1_000_000])
@pytest.mark.parametrize("closed", [False, True])
def test_a_document_finds_all_answers_made(closed: bool, slice_ns: int) -> None:
    """All masks of a document are unions of answers that likely texts have found, at any token boundary, but those
    where a number has other digits."""
    schema: dict[str, Any] = {**SCHEMA, "additionalProperties": False} if closed else SCHEMA
    grammar = Grammar.from_json_schema(schema)
    _likely.set_slice(slice_ns)
    try:
        completed(likely(Matcher(grammar, BYTES), 4096))
    finally:
        _likely.set_slice(1_000_000)
    matcher = Matcher(grammar, BYTES)
    before = grammar.stats()["answers"]
    for byte in json.dumps(DOCUMENT).encode():
        filled(matcher)
        assert matcher.accept(byte)
    filled(matcher)
    n_known = grammar.stats()["answers"] - before
    cold = Grammar.from_json_schema(schema)
    matcher = Matcher(cold, BYTES)
    for byte in json.dumps(DOCUMENT).encode():
        filled(matcher)
        assert matcher.accept(byte)
    # (A debug build asks questions about smaller parts of the trie, and so more of them.)
    assert n_known < (0.5 if is_debug() else 0.2) * cold.stats()["answers"]


def test_keys_that_the_schema_does_not_name_are_not_written() -> None:
    """What follows them is any value: it would be most of the work, for keys that hardly anybody writes. An object of
    which no key is named has likely ones."""
    named: dict[str, Any] = {"type": "object", "properties": {"name": {"type": "string"}, "size": {"type": "boolean"}}}
    n_masks = []
    for schema in (
        {**named, "additionalProperties": False},
        named,
        {**named, "additionalProperties": {"type": "array"}},
    ):
        texts = completed(likely(Matcher(Grammar.from_json_schema(schema), BYTES), 4096))
        assert texts.is_complete
        n_masks.append(texts.n_masks)
    closed, open_, described = n_masks
    assert closed < open_ < 5 * closed
    assert described > 2 * open_
    anything = completed(likely(Matcher(Grammar.from_json_schema({"type": "object"}), BYTES), 4096))
    assert anything.n_masks > open_
    matcher = Matcher(Grammar.from_json_schema(named), BYTES)
    completed(likely(matcher.fork(), 4096))
    for byte in b'{"other": [{"size": 1}]}':
        agreed(matcher)
        assert matcher.accept(byte)


@pytest.mark.parametrize("name", GRAMMARS)
def test_masks_are_the_same_after_likely_texts(name: str) -> None:
    """Along random texts of a real vocabulary, in rounds of likely texts that end in the middle."""
    vocabulary = vocabularies.load("tekken")
    grammar, rng = Grammar.from_lark(GRAMMARS[name]), Random(name)
    texts = likely(Matcher(grammar, vocabulary), 300)
    n_compared = 0
    for _ in range(4):
        for _ in range(3):
            texts.work()
        matcher = Matcher(grammar, vocabulary)
        while matcher.n_tokens < 12 and go_on(matcher, rng, agreed(matcher)):
            n_compared += 1
    assert texts.n_masks and n_compared > 12


@pytest.mark.parametrize("ahead", [False, True], ids=["warm", "ahead"])
def test_masks_are_the_same_while_others_are_made(ahead: bool) -> None:
    """The background works on the grammar, and with `ahead` on the matcher's own chart, while masks are asked for."""
    vocabulary = all_strings('{}[]":,ab1 ', 2)
    rng = Random(ahead)
    n_made = 0
    for schema in (SCHEMA, {}, {"type": "array", "uniqueItems": True, "items": {"type": ["string", "integer"]}}):
        twin = Matcher(Grammar.from_json_schema(schema), vocabulary)
        grammar = Grammar.from_json_schema(schema)
        warmings = [] if ahead else [grammar.warm(vocabulary, seconds=0.2)]
        for _ in range(6):
            matcher = Matcher(grammar, vocabulary)
            twin.reset()
            while matcher.n_tokens < 12:
                mask = filled(matcher)
                assert np.array_equal(mask, walked(twin)), matcher.tokens
                if ahead:
                    warmings.append(matcher.ahead(seconds=0.002))
                if not go_on(matcher, rng, mask):
                    break
                assert twin.accept(matcher.tokens[-1])
            if not ahead and warmings[0].is_done:
                break
        for warming in warmings:
            warming.wait(2)  # it gives way all the time while masks are asked for
            warming.stop()
            assert warming.wait(60)
            assert warming.error is None
            n_made += warming.stats()["masks"]
    assert n_made > 20


def test_what_is_ahead_is_known() -> None:
    """The masks after the next likely tokens are remembered at the positions of the matcher itself."""
    grammar = Grammar.from_json_schema({**SCHEMA, "additionalProperties": False})
    matcher = Matcher(grammar, BYTES)
    filled(matcher)
    assert matcher.ahead(seconds=10).wait(60)
    before = matcher.stats()["masks_known"]
    for byte in b'{"name':
        assert matcher.accept(byte)
    filled(matcher)
    feed(matcher, b'": "')
    filled(matcher)
    assert matcher.stats()["masks_known"] - before >= 1


@pytest.fixture
def endless() -> Iterator[LikelyTexts]:
    """Texts of which one call of `work` writes the first one for ten seconds, unless something else ends it."""
    _likely.set_slice(1000 * 10**9)
    yield likely(Matcher(Grammar.from_lark(ENDLESS, limits=Limits.trusted()), BYTES), 1 << 20)
    _likely.set_slice(1_000_000)


def beginning(texts: LikelyTexts) -> threading.Thread:
    """Return a thread that works."""
    thread = threading.Thread(target=texts.work, daemon=True)
    thread.start()
    time.sleep(0.05)
    assert thread.is_alive()
    return thread


def test_it_gives_way(endless: LikelyTexts) -> None:
    """A mask that is asked for does not wait for a slice of the background to end."""
    thread = beginning(endless)
    began = time.monotonic()
    filled(Matcher(endless.grammar, BYTES))
    assert time.monotonic() - began < 2
    thread.join(2)
    assert not thread.is_alive()
    assert not endless.is_done


def test_it_stops_within_a_slice(endless: LikelyTexts) -> None:
    thread = beginning(endless)
    endless.stop()
    thread.join(2)
    assert not thread.is_alive()
    assert endless.is_done
    assert not endless.is_complete
    agreed(Matcher(endless.grammar, BYTES))


def test_its_seconds_end_within_a_slice(endless: LikelyTexts) -> None:
    texts = LikelyTexts(Matcher(endless.grammar, BYTES), 1 << 20, 0.05)
    texts.work()
    assert 0.05e9 < texts.nanoseconds < 2e9
    assert texts.is_done
    assert not texts.is_complete


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_fork_does_not_wait_for_it(endless: LikelyTexts) -> None:
    """It gives way to a fork of the process, which therefore finds its lock free: the child can use the grammar."""
    thread = beginning(endless)
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if filled(Matcher(endless.grammar, BYTES)).any() else 2
        finally:
            os._exit(code)
    seconds = time.monotonic() - began
    assert os.waitpid(child, 0)[1] == 0
    assert seconds < 2, "it would wait for five seconds, and then lose the lock"
    thread.join(2)
    assert not thread.is_alive()


def test_a_grammar_without_end_ends() -> None:
    """A grammar with places without end ends by its bounds, and leaves room for what texts add."""
    grammar = Grammar.from_lark(ENDLESS)
    texts = completed(likely(Matcher(grammar, BYTES), 4096))
    assert grammar.stats()["mask_bytes"] < 10 << 20
    assert 1000 < grammar.engine.n_added < 5000 * 1.2
    assert texts.n_masks > 100
    agreed(Matcher(grammar, BYTES))


def test_it_ends_when_the_grammar_forgets() -> None:
    """Positions of likely texts are no longer what they were."""
    grammar = Grammar.from_lark(GRAMMARS["json"])
    texts = likely(Matcher(grammar, BYTES), 4096)
    texts.work()
    assert not texts.is_done
    forget_now(grammar.engine)
    texts.work()
    assert texts.is_done
    agreed(Matcher(grammar, BYTES))


def test_nothing_is_ahead_of_the_end() -> None:
    grammar = Grammar.from_regex("ab")
    matcher = Matcher(grammar, BYTES)
    feed(matcher, b"ab")
    assert matcher.accept(next(iter(BYTES.eos_token_ids)))
    warming = matcher.ahead()
    assert warming.wait(60)
    assert warming.stats() == {"masks": 0, "texts": 0, "nanoseconds": warming.stats()["nanoseconds"], "complete": 1}


def test_stopping_and_waiting() -> None:
    for _ in range(3):
        warming = Grammar.from_lark(ENDLESS).warm(BYTES, seconds=1000)
        warming.stop()
        assert warming.wait(60)
        assert warming.is_done
        assert not warming.stats()["complete"]


def test_only_the_latest_call_for_a_matcher_works() -> None:
    """What was to be made ahead at an earlier position is left when another call says that it has passed."""
    matcher = Matcher(Grammar.from_lark(ENDLESS), BYTES)
    first = matcher.ahead(seconds=1000)
    second = matcher.ahead(seconds=1000)
    assert first.wait(20)
    assert not second.is_done
    with pytest.raises(ValueError, match="seconds must be"):
        matcher.ahead(seconds=0)
    assert not second.is_done
    second.stop()
    assert second.wait(20)


def until(condition: Callable[[], bool]) -> None:
    ends = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < ends
        time.sleep(0.001)


def test_the_newest_work_comes_first_and_the_oldest_is_given_up() -> None:
    texts = [Failing(None) for _ in range(MOST_THREADS + MOST_WAITING + 3)]
    begun = [Warming(each) for each in texts[:MOST_THREADS]]  # type: ignore[arg-type]
    until(lambda: all(each.has_begun for each in texts[:MOST_THREADS]))
    waiting = [Warming(each) for each in texts[MOST_THREADS:]]  # type: ignore[arg-type]
    assert [each.is_done for each in waiting] == [True] * 3 + [False] * MOST_WAITING
    waiting[10].stop()
    assert waiting[10].is_done, "no thread has begun it"
    begun[0].stop()
    until(lambda: any(each.has_begun for each in texts[MOST_THREADS:]))
    assert [each.has_begun for each in texts[MOST_THREADS:]] == [False] * (MOST_WAITING + 2) + [True]
    for each in reversed([*waiting, *begun]):
        each.stop()
    assert all(each.wait(20) for each in [*waiting, *begun])


def test_a_thread_that_cannot_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work ends with the error, and the next one may have a thread."""
    workers = warming_module._Workers()
    monkeypatch.setattr(warming_module, "_workers", workers)
    with monkeypatch.context() as context:
        context.setattr(threading.Thread, "start", refused)
        failed = Warming(Failing(None))  # type: ignore[arg-type]
        assert failed.is_done
        assert "can't start new thread" in str(failed.error)
    warming = Grammar.from_regex("ab").warm(BYTES)
    assert warming.wait(20)
    assert warming.error is None


def refused(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_it_keeps_to_its_seconds() -> None:
    short = Grammar.from_lark(ENDLESS).warm(BYTES, seconds=0.003)
    assert short.wait(60)
    assert 0.003e9 < short.stats()["nanoseconds"] < 1e9
    assert not short.stats()["complete"]


def test_bad_arguments() -> None:
    grammar = Grammar.from_regex("ab")
    for seconds in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="seconds must be a positive number"):
            grammar.warm(BYTES, seconds=seconds)
        with pytest.raises(ValueError, match="seconds must be a positive number"):
            Matcher(grammar, BYTES).ahead(seconds=seconds)
    with pytest.raises(VocabularyError, match="no EOS"):
        grammar.warm(Vocabulary.from_tokens([b"a"], eos_token_id=[]))


def test_special_tokens_and_end_tokens_are_in_the_masks() -> None:
    """A mask that was made ahead at the matcher's own position has its special tokens and EOS."""
    vocabulary = Vocabulary.from_tokens([b"a", b"b", b"", b""], special_tokens={"<|go|>": 2}, eos_token_id=3)
    grammar = Grammar.from_lark('start: "a" <|go|>? "b"? | "a" "a"')
    matcher = Matcher(grammar, vocabulary)
    assert matcher.ahead(seconds=10).wait(60)
    assert matcher.accept(0)
    assert filled(matcher).tolist() == [True, True, True, True]


def test_limits_end_it_quietly() -> None:
    """A grammar that reaches a limit at once is warmed as far as it goes, and the matcher's error is its own."""
    grammar = Grammar.from_lark('start: (start start | "a" | "")', limits=Limits(row_items=5))
    warming = grammar.warm(BYTES)
    assert warming.wait(60)
    assert warming.error is None


class Failing:
    """Texts whose work ends with an error, or does not end before `stop` if that is None."""

    is_done = is_complete = has_begun = False
    nanoseconds = n_masks = n_texts = 0

    def __init__(self, error: BaseException | None) -> None:
        self.error = error

    def work(self) -> None:
        self.has_begun = True
        if self.error is not None:
            raise self.error
        time.sleep(0.001)

    def stop(self) -> None:
        self.is_done = True


def test_an_error_is_kept() -> None:
    for error in (MemoryError("no more"), SystemExit("of a finalizer")):
        warming = Warming(Failing(error))  # type: ignore[arg-type]
        assert warming.wait(60)
        assert warming.error is error
    assert Grammar.from_regex("ab").warm(BYTES).wait(60)  # the thread goes on


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_fork_while_work_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """The child knows of it: nothing waits for what no thread of the child will end."""
    is_ending = threading.Event()
    end = Warming._end

    def slowly(warming: Warming) -> None:
        is_ending.set()
        time.sleep(0.3)
        end(warming)

    monkeypatch.setattr(Warming, "_end", slowly)
    warming = Grammar.from_regex("ab").warm(BYTES)
    assert is_ending.wait(20)
    child = os.fork()
    if child == 0:
        os._exit(0 if warming.wait(5) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert warming.wait(20)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_begins_anew() -> None:
    """What the parent's threads have not done is over in the child, and the child can warm grammars itself."""
    grammar = Grammar.from_lark(ENDLESS)
    warming = grammar.warm(BYTES, seconds=1000)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            is_over = warming.wait(10)
            again = grammar.warm(BYTES, seconds=0.01)
            code = 0 if is_over and again.wait(30) and filled(Matcher(grammar, BYTES)).any() else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    warming.stop()
    assert warming.wait(60)


@pytest.mark.skipif(not is_debug(), reason="checks fail on demand in debug builds alone")
@pytest.mark.parametrize("name", GRAMMARS)
def test_any_check_may_fail(name: str) -> None:
    """Whatever limit is met while texts are written, the grammar's masks stay right."""
    from earleymask.earley._meter import fail_checks

    after = n_failed = 0
    while True:
        grammar = Grammar.from_lark(GRAMMARS[name])
        texts = likely(Matcher(grammar, BYTES), 60)
        fail_checks(after)
        try:
            for _ in range(3):
                texts.work()
        finally:
            failed = fail_checks(None)
        agreed(Matcher(grammar, BYTES))
        n_failed += failed
        if not failed or after > 100_000:
            break
        after += 1 + after // 3
    assert n_failed > 5


def test_loads_go_first_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming_module, "MOST_PATIENCE", 0.2)
    grammar, vocabulary = Grammar.from_json_schema({"type": "object"}), Vocabulary.bytes()
    with warming_module.loads:
        work = grammar.warm(vocabulary, seconds=5)
        assert not work.wait(0.05) and work.stats()["masks"] == 0, "a load is going on"
        time.sleep(0.3)
        work.stop()
        assert work.wait(5) and work.stats()["masks"] > 0, "its patience was at an end"
        work = grammar.warm(vocabulary, seconds=5)
        work.stop()
        assert work.wait(0.15), "stopping does not wait"
    monkeypatch.setattr(warming_module, "GAP", 60)
    assert warming_module.loads.go_on(), "the next load may follow"
    monkeypatch.setattr(warming_module, "GAP", 0)
    assert not warming_module.loads.go_on()
    with warming_module.loads:
        pid = os.fork()
        if not pid:
            os._exit(warming_module.loads.go_on())
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, "no load goes on in a child"


def test_masks_that_are_asked_for_go_first_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming_module, "MOST_PATIENCE", 60)
    grammar = Grammar.from_json_schema({"type": "object"})
    asked = iter(range(10**9))
    monkeypatch.setattr(warming_module, "masks_asked", lambda: next(asked))
    work = grammar.warm(BYTES, seconds=5)
    assert not work.wait(0.1) and work.stats()["masks"] == 0, "one mask after the other is asked for"
    monkeypatch.setattr(warming_module, "masks_asked", lambda: 0)
    assert work.wait(30) and work.stats()["masks"] > 0, "no more are"


@pytest.mark.parametrize("how", ["alone", "in a batch"])
def test_masks_that_are_asked_for_are_counted(how: str) -> None:
    matcher = Matcher(Grammar.from_regex("[ab]c"), BYTES)
    row = allocate_bitmask(1, BYTES)

    def fill() -> None:
        if how == "alone":
            matcher.fill_bitmask(row[0])
        else:
            fill_bitmasks([matcher], row)

    for text in (b"", b"a"):
        for byte in text:
            assert matcher.accept(byte)
        before = masks_asked()
        fill()
        assert masks_asked() == before + 1, "a new one"
        fill()
        assert masks_asked() == before + 1, "it is remembered"
    before = masks_asked()
    completed(likely(matcher, 16))
    assert masks_asked() == before, "made ahead"
