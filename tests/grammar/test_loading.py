"""Loading lets other threads run, keeps to `Limits.load_seconds`, and ends at Ctrl-C."""

import gc
import json
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from earleymask import Grammar, LimitError, Limits, Matcher, Vocabulary
from earleymask.earley._meter import Loading, tick
from earleymask.earley.freeing import forget_locals
from earleymask.grammar.errors import GrammarError, GrammarLimitError
from earleymask.grammar.loading import PIECE, distinct, frozen, in_order, loading, pieces
from support.freeing import collects_as, usual_thresholds

MOST_MS = 200
"""The most milliseconds that loading holds the lock in these tests: ten times the promise, for machines at work. Before
it was given away, each of these grammars took longer than that."""


def words(n: int) -> list[str]:
    return [f"w{(i * 7919) % 1_000_003}x{i}" for i in range(n)]


TEXTS: dict[str, Callable[[Limits], Any]] = {
    "lark": lambda limits: Grammar.from_lark(
        "start: r0\n" + "".join(f'r{i}: "k{i}" r{i + 1} | "x" [r{i // 2}]\n' for i in range(12_000)) + 'r12000: "e"',
        limits=limits,
    ),
    "gbnf": lambda limits: Grammar.from_gbnf(
        "root ::= r0\n" + "".join(f'r{i} ::= "k" r{i + 1} | "x" r{i // 2}\n' for i in range(40_000)) + 'r40000 ::= "e"',
        limits=limits,
    ),
    "regex": lambda limits: Grammar.from_regex("ab?" * 200_000, limits=limits),
    "choices": lambda limits: Grammar.from_choices(words(200_000), limits=limits),
    "schema": lambda limits: Grammar.from_json_schema(
        {
            "$ref": "#/$defs/0",
            "$defs": {str(i): {"properties": {"a": {"$ref": f"#/$defs/{(i + 1) % 20_000}"}}} for i in range(20_000)},
        },
        limits=limits,
    ),
    "JSON text": lambda limits: Grammar.from_json_schema('{"default": [' + "[1.5]," * 200_000 + "1]}", limits=limits),
}


def again_and_again(load: Callable[[Limits], Any]) -> None:
    for _ in range(200):
        load(Limits())


def longest_pause(load: Callable[[], Any]) -> float:
    """Return the longest time for which `load` keeps another thread from running, in milliseconds."""
    clock = time.pthread_getcpuclockid(threading.get_ident())
    pauses = [0.0]
    done = threading.Event()
    ready = threading.Event()

    def tick() -> None:
        wall, cpu = time.perf_counter(), time.clock_gettime(clock)
        while not done.wait(0.001):
            before = wall, cpu
            wall, cpu = time.perf_counter(), time.clock_gettime(clock)
            # Only time in which the loading thread works counts: the system may run others.
            pauses.append(1000 * min(wall - before[0], cpu - before[1]))
            ready.set()

    thread = threading.Thread(target=tick)
    gc.collect()
    gc.disable()  # a collection between two loadings takes as long as the heap is large
    thread.start()
    ready.wait()
    try:
        load()
    finally:
        done.set()
        thread.join()
        gc.enable()
    return max(pauses)


@pytest.mark.skipif(not hasattr(time, "pthread_getcpuclockid"), reason="the system has no clocks of threads")
@pytest.mark.parametrize("name", TEXTS)
def test_other_threads_run_while_a_grammar_is_loaded(name: str) -> None:
    # The least of several counts: on a busy machine the other thread may wait for a processor.
    assert any(longest_pause(lambda: TEXTS[name](Limits())) < MOST_MS for _ in range(5))


@pytest.mark.parametrize("name", TEXTS)
def test_the_limit_of_seconds_holds_for_each_kind_of_grammar(name: str) -> None:
    began = time.thread_time()
    with pytest.raises(GrammarLimitError) as caught:
        TEXTS[name](Limits(load_seconds=0.02))
    assert caught.value.limit == "load_seconds"
    assert time.thread_time() - began < 2  # with what makes the text


@pytest.mark.parametrize("name", TEXTS)
def test_what_was_loaded_is_freed_in_time_when_the_limit_is_met(name: str) -> None:
    text_alone = time.thread_time()
    with pytest.raises(GrammarLimitError):
        TEXTS[name](Limits(load_seconds=1e-9))
    text_alone = time.thread_time() - text_alone
    began = time.thread_time()
    with pytest.raises(GrammarLimitError) as caught:
        TEXTS[name](Limits(load_seconds=0.05))
    took = time.thread_time() - began
    assert caught.value.limit == "load_seconds"
    assert took - text_alone < 2  # on an idle machine 0.055, see `bench.pauses`


def test_an_error_while_what_was_loaded_is_freed_ends_loading(monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(Exception):
        pass

    def interrupted(*_: object) -> None:
        raise Interrupted

    thresholds = usual_thresholds()
    monkeypatch.setattr("earleymask.earley.freeing.free", interrupted)
    with pytest.raises(Interrupted):
        TEXTS["lark"](Limits(load_seconds=0.1))
    monkeypatch.undo()
    assert collects_as(thresholds)
    assert_nothing_is_limited(0.15)


def assert_nothing_is_limited(seconds: float) -> None:
    """Check that the limit of a loading that has ended, of fewer seconds, is met by nothing else."""
    began = time.thread_time()
    while time.thread_time() - began < seconds:
        tick()


def test_an_error_at_the_end_of_a_block_ends_its_count() -> None:
    class Interrupted(Exception):
        pass

    class Block(Loading):
        def free(self, error: BaseException | None) -> None:
            raise Interrupted

    thresholds = usual_thresholds()
    with pytest.raises(Interrupted), Block(Limits(load_seconds=0.05)):
        assert_nothing_is_limited(0.03)
    assert collects_as(thresholds)
    assert_nothing_is_limited(0.1)
    assert loading.__exit__ is Loading.__exit__  # in Python, a handler of a signal could run before its first line


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers that send signals")
@pytest.mark.parametrize("name", TEXTS)
def test_an_interrupt_does_not_wait_until_all_is_freed(name: str) -> None:
    class Interrupted(Exception):
        pass

    took: list[float] = []

    def interrupt(*_: object) -> None:
        took.append(time.thread_time())
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2, 0.5)
        with pytest.raises(Interrupted):
            again_and_again(TEXTS[name])
        took.append(time.thread_time())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert took[-1] - took[-2] < 0.5  # on an idle machine 0.02


def test_waits_for_the_lock_hardly_count() -> None:
    def load(limits: Limits) -> float:
        began = time.thread_time()
        Grammar.from_lark(text, limits=limits)
        return time.thread_time() - began

    text = "start: r0\n" + "".join(f'r{i}: "k{i}" r{i + 1} | "x" [r{i // 2}]\n' for i in range(1000)) + 'r1000: "e"'
    alone = min(load(Limits()) for _ in range(3))
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            pass

    threads = [threading.Thread(target=work) for _ in range(10)]
    for thread in threads:
        thread.start()
    try:
        began = time.monotonic()
        load(Limits(load_seconds=100 * alone))
        waited = time.monotonic() - began
        # Each turn waits for ten others, and wakes up again and again in the meantime. That costs some time of its own.
        load(Limits(load_seconds=max(10 * alone, waited / 4)))
    finally:
        done.set()
        for thread in threads:
            thread.join()


def test_the_variables_of_an_error_that_is_being_handled_remain() -> None:
    def fail() -> None:
        kept = [1]
        raise KeyError(kept.pop())

    try:
        fail()
    except KeyError as error:
        with pytest.raises(GrammarLimitError) as caught:
            TEXTS["lark"](Limits(load_seconds=0.05))
        assert caught.value.__context__ is not None
        trace = error.__traceback__
        assert trace is not None and trace.tb_next is not None
        assert trace.tb_next.tb_frame.f_locals == {"kept": []}


def test_the_variables_of_an_error_are_kept_for_freeing_but_not_those_of_a_module() -> None:
    names: dict[str, Any] = {"GrammarError": GrammarError}

    def fail() -> None:
        large = {"a": [1]}
        exec("known = [2]\nraise GrammarError(str(known))", names)
        large.clear()

    kept: list[Any] = []
    try:
        fail()
    except GrammarError as error:
        forget_locals(error, None, kept)
        trace = error.__traceback__
        assert trace is not None and trace.tb_next is not None
        assert trace.tb_next.tb_frame.f_locals == {}
    assert {"a": [1]} in kept
    assert names["known"] == [2]


def test_time_in_which_the_callers_function_sleeps_counts() -> None:
    def load(name: str) -> str:
        time.sleep(0.2)
        return 'a: "x"'

    text = "start: a\n%import m.a\n" + "".join(f'b{i}: "{i}"\n' for i in range(20_000))
    with pytest.raises(GrammarLimitError) as caught:
        Grammar.from_lark(text, loader=load, limits=Limits(load_seconds=0.15))
    assert caught.value.limit == "load_seconds"


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="the system has no timers that send signals")
@pytest.mark.parametrize("name", TEXTS)
def test_an_interrupt_ends_loading_and_leaves_everything_usable(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupted(Exception):
        pass

    def interrupt(*_: object) -> None:
        raise Interrupted

    # Python drops an exception that is raised within a callback of the garbage collector, and calls this hook. pytest's
    # own one takes so long on busy cores that the next signal comes within it.
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    before = signal.signal(signal.SIGALRM, interrupt)
    thresholds = usual_thresholds()
    try:
        for seconds in (0.005, 0.02, 0.05):
            # Again after a while, because of such exceptions.
            signal.setitimer(signal.ITIMER_REAL, seconds, 0.5)
            with pytest.raises(Interrupted):
                again_and_again(TEXTS[name])
            signal.setitimer(signal.ITIMER_REAL, 0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert collects_as(thresholds)
    matcher = Matcher(Grammar.from_lark("start: /[a-z]+/ [start]"), Vocabulary.bytes())
    assert matcher.validate(b"abc") == 3


def test_full_garbage_collections_wait_and_are_wanted_again() -> None:
    thresholds = usual_thresholds()
    seen = []
    text = "start: a\n%import m.a\n" + "".join(f'b{i}: "{i}"\n' for i in range(20_000))

    def load(name: str) -> str:
        seen.append(gc.get_threshold())
        return 'a: "x"'

    Grammar.from_lark(text, loader=load)
    assert seen[0][:2] == thresholds[:2] and seen[0][2] > thresholds[2]
    assert collects_as(thresholds)


def test_thresholds_that_the_program_sets_meanwhile_are_kept() -> None:
    thresholds = usual_thresholds()

    def loaded(set_meanwhile: tuple[int, ...]) -> tuple[int, int, int]:
        def load(name: str) -> str:
            gc.set_threshold(*set_meanwhile)
            return 'a: "x"'

        Grammar.from_lark("start: a\n%import m.a", loader=load)
        return usual_thresholds()

    try:
        assert loaded((701,)) == (701, *thresholds[1:])
        assert loaded((702, 11, 12)) == (702, 11, 12)
        gc.set_threshold(703, 13, 2**31 - 1)  # a program has saved the thresholds of such a moment, and restores them
        assert loaded((704,)) == (704, 13, thresholds[2])
    finally:
        gc.set_threshold(*thresholds)


def test_errors_of_the_core_are_errors_of_grammars() -> None:
    with pytest.raises(GrammarLimitError) as caught:
        Grammar.from_choices(["a" * 4_200_000], limits=Limits.trusted())  # its nodes take two seconds
    assert isinstance(caught.value, LimitError) and caught.value.limit == "regex_nodes"


@pytest.mark.parametrize(
    "load",
    [
        lambda: Grammar.from_regex("(?:" * 99 + "a" + "x?)*" * 99),
        lambda: Grammar.from_lark("start: /" + "(?:" * 99 + "a" + "x?)*" * 99 + "/"),
        lambda: Grammar.from_json_schema('{"items": ' * 400 + "{}" + "}" * 400),
        lambda: Grammar.from_json_schema('{"not": ' * 150 + "{}" + "}" * 150),
    ],
    ids=["regex", "lark", "nested schema", "applied schemas"],
)
def test_a_caller_that_is_called_deeply(load: Callable[[], Grammar]) -> None:
    def deep(calls: int) -> Grammar | GrammarLimitError:
        if calls:
            return deep(calls - 1)
        try:
            return load()
        except GrammarLimitError as error:
            return error

    found = deep(sys.getrecursionlimit() - 250)  # pytest makes calls, too
    if isinstance(found, GrammarLimitError):  # compiled code needs less
        assert "deeply" in str(found)
    else:
        assert found == load()


def test_the_callers_random_numbers_stay_as_they_are() -> None:
    before = random.getstate()
    Grammar.from_choices([f"word {number}" for number in range(2 * PIECE)])
    assert random.getstate() == before


def test_long_lists_in_pieces() -> None:
    choose = random.Random(1)
    for n in (0, 1, PIECE, PIECE + 1, 5 * PIECE):
        given = [choose.randrange(3 * n + 1) for _ in range(n)]
        assert [item for piece in pieces(given) for item in piece] == given
        assert distinct(given) == list(dict.fromkeys(given))
        assert frozen(given) == frozenset(given)
        assert in_order(set(given)) == sorted(set(given))
    text = "\n".join(map(str, range(3 * PIECE)))
    assert "".join(pieces(text)) == text and json.dumps(text)
