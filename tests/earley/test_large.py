"""Large structures are freed in pieces: all of what nothing else refers to, and nothing else."""

import gc
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from earleymask.earley import Engine, Regexes
from earleymask.earley._large import Table, free, frozen_in_pieces, untrack
from support.freeing import becomes, n_freeing

MANY = 20_000


class Node:
    """An object that can be referred to weakly."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts


class Slotted:
    __slots__ = ("__weakref__", "part")

    def __init__(self, part: Any) -> None:
        self.part = part


def nested(inner: Any) -> list[Any]:
    """Return containers of each kind, large and small ones, around `inner`."""
    return [
        [inner],
        [[i] for i in range(MANY)] + [[inner]],
        {i: [i] for i in range(MANY)} | {"x": inner},
        {inner: 1},
        {*range(MANY), inner},
        frozenset([*range(MANY), inner]),
        tuple([[i] for i in range(MANY)] + [[inner]]),
        Node(inner, [Slotted((inner, {"a": inner}))]),
        (part for part in [inner]),
        lambda: inner,
    ]


@pytest.fixture(autouse=True)
def without_collector() -> Any:
    gc.disable()
    yield
    gc.enable()


def test_everything_is_freed_that_nothing_else_refers_to() -> None:
    inner = Node()
    given = nested(inner)
    watched = weakref.ref(inner)
    del inner
    free(given)
    assert given == []
    assert watched() is None


def test_what_something_else_refers_to_remains_as_it_was() -> None:
    inner = Node()
    kept = nested(inner)
    shown = repr(kept[1:7])
    given = [*kept, [kept[1], [kept[2], {"a": kept[6]}]]]
    free(given)
    assert repr(kept[1:7]) == shown
    assert kept[7].parts[0] is inner and next(kept[8]) is inner and kept[9]() is inner
    watched = weakref.ref(inner)
    del inner, kept
    assert watched() is None


def test_an_object_that_occurs_often_is_freed_once() -> None:
    inner = [Node()]
    watched = weakref.ref(inner[0])
    given = [inner, inner, [inner, inner], {"a": inner, "b": [inner] * MANY}]
    del inner
    free(given)
    assert watched() is None


def test_circles_are_broken_where_the_caller_says() -> None:
    first, second = Node(), Node()
    first.parts, second.parts = (second, [1]), (first,)
    watched = weakref.ref(first), weakref.ref(second)
    circular = [first]
    del first, second
    free([], circular)
    assert watched[1]() is None
    circular.clear()
    assert watched[0]() is None


def test_deep_structures_are_freed() -> None:
    inner = Node()
    watched = weakref.ref(inner)
    whole: Any = inner
    for _ in range(300_000):
        whole = (whole,)
    given = [whole]
    del whole, inner
    free(given)
    assert watched() is None


def test_finalizers_find_what_they_refer_to() -> None:
    seen = []

    class Final(Node):
        def __del__(self) -> None:
            seen.append(self.parts[0][0])

    given = [[Final([i], {"a": [i]})] for i in range(50)]
    free(given)
    assert sorted(seen) == list(range(50))


def n_wakings(work: Callable[[], object]) -> int:
    """Return how often another thread runs meanwhile."""
    n = 0
    done = threading.Event()

    def wake() -> None:
        nonlocal n
        while not done.wait(0.0005):
            n += 1

    thread = threading.Thread(target=wake)
    thread.start()
    n = 0
    work()
    found = n
    done.set()
    thread.join()
    return found


def test_other_threads_run_meanwhile() -> None:
    given = [[{i: [i]} for i in range(1_000_000)]]
    assert n_wakings(lambda: free(given)) > 3


def test_other_threads_run_while_the_rules_of_a_grammar_are_freed() -> None:
    """Nothing calls `free` for an engine whose last matcher is gone: the rules do it when they are finalized."""
    regexes = Regexes()
    engines = [Engine(regexes)]
    terminal = engines[0].add_terminal("a", regexes.literal(b"a"))
    symbols = [engines[0].add_lazy("lazy", list, [{j: [j]} for j in range(10)]) for _ in range(50_000)]
    start = engines[0].add_nonterminal("start")
    engines[0].add_production(start, [terminal])
    engines[0].finish(start)
    assert len(symbols) == 50_000 and n_wakings(engines.clear) > 3


class Interrupted(Exception):
    pass


@pytest.fixture
def interrupts() -> Iterator[Callable[[float], None]]:
    """Return a function: after so many seconds of processor time, a signal comes whose handler raises Interrupted."""
    if not hasattr(signal, "setitimer"):
        pytest.skip("the system has no timers that send signals")

    def interrupt(*_: object) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGVTALRM, interrupt)

    def later(seconds: float) -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds)

    yield later
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    signal.signal(signal.SIGVTALRM, before)


def test_finalized_rules_leave_signals_to_the_caller(interrupts: Callable[[float], None]) -> None:
    """An exception in a finalizer would be lost."""
    engines = [Engine(Regexes())]
    for _ in range(50_000):
        engines[0].add_lazy("lazy", list, [{j: [j]} for j in range(10)])
    with pytest.raises(Interrupted):  # noqa: PT012
        interrupts(0.01)
        engines.clear()
        until = time.monotonic() + 10
        while time.monotonic() < until:
            pass


def test_what_a_handler_raises_is_raised_and_a_thread_frees_the_rest(interrupts: Callable[[float], None]) -> None:
    inner = Node()
    watched = weakref.ref(inner)
    given = [[inner, *[{i: [i]} for i in range(300_000)]]]
    del inner
    with pytest.raises(Interrupted):  # noqa: PT012
        interrupts(0.005)
        free(given)
        while True:
            pass
    assert given == [] and becomes(lambda: watched() is None)


def test_a_thread_of_its_own_frees_what_the_caller_has_no_time_for() -> None:
    watched = []
    for nanoseconds in (0, -1, 2_000_000, 0, 1 << 70):  # some calls find a thread that still works for an earlier one
        parts = [Node({i: [i]}) for i in range(100_000)]
        watched += [weakref.ref(part) for part in parts]
        given = [parts, {"circular": Node(parts[0])}]
        circular = Node(given[1])
        del parts
        free(given, [circular], nanoseconds)
        assert given == []
        del circular
    assert becomes(lambda: all(one() is None for one in watched))


def test_several_callers_in_a_row_need_not_free_what_they_have_no_time_for() -> None:
    assert becomes(lambda: n_freeing() == 0)
    watched = []
    for _ in range(3):
        parts = [Node({i: [i]}) for i in range(200_000)]
        watched.append(weakref.ref(parts[0]))
        given: list[object] = [parts]
        del parts
        free(given, (), 0)
        assert given == [] and watched[-1]() is not None  # the last part is freed first
    assert becomes(lambda: all(one() is None for one in watched))


def test_not_many_threads_free_at_a_time() -> None:
    begin = threading.Barrier(16)
    seen: list[int] = []

    def work() -> None:
        parts = [Node({i: [i]}) for i in range(30_000)]
        given: list[object] = [parts]
        del parts
        begin.wait()
        free(given, (), 0)
        seen.append(n_freeing())
        assert given == []

    assert becomes(lambda: n_freeing() == 0)
    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        seen.append(n_freeing())
        time.sleep(0.001)
    assert 1 <= max(seen) <= 4


def test_full_collections_wait_until_another_thread_has_freed_the_rest() -> None:
    """They would visit everything that is left, with all threads stopped."""
    assert becomes(lambda: n_freeing() == 0)
    before = gc.get_threshold()
    given: list[object] = [[Node({i: [i]}) for i in range(100_000)]]
    free(given, (), 0)
    assert n_freeing() == 1 and gc.get_threshold()[2] > 10**9
    assert becomes(lambda: n_freeing() == 0)
    assert gc.get_threshold() == before


def test_without_another_thread_the_caller_frees_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    assert becomes(lambda: n_freeing() == 0)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    parts = [Node({i: [i]}) for i in range(100_000)]
    watched = [weakref.ref(part) for part in parts]
    given: list[object] = [parts]
    del parts
    free(given, (), 0)
    assert all(one() is None for one in watched)


def test_a_set_made_in_pieces() -> None:
    for n in (0, 1, MANY, 3 * MANY):
        items = [str(i % 30_000) for i in range(n)]
        found = frozen_in_pieces(items)
        assert type(found) is frozenset and found == frozenset(items)
    with pytest.raises(TypeError):
        frozen_in_pieces([[]])  # type: ignore[list-item]


def test_a_table_is_like_a_dict() -> None:
    table: Table[object, int] = Table()
    expected: dict[object, int] = {}
    for i in range(100_000):  # many more than the first dict holds
        key = (f"k{i * 7919 % 60_000}", i % 3, -i % 60_000)[i % 3]
        table[key] = expected[key] = i + 1
        if not i % 10_007:
            assert len(table) == len(expected)
    assert len(table) == len(expected)
    for key, value in expected.items():
        assert table.get(key) == value
    assert table.get("missing") is None
    with pytest.raises(TypeError):
        table[[]] = 1
    inner = Node()
    watched = weakref.ref(inner)
    given = [{"a": Table()} for _ in range(3)]
    given[0]["a"][inner] = 1
    del inner
    free(given)  # type: ignore[arg-type]
    assert watched() is None


def test_the_collector_does_not_visit_what_is_untracked() -> None:
    numbers = tuple(range(1000, 6000))
    listed = list(numbers)
    for items in (numbers, listed):
        untrack(items)
        untrack(items)
        assert not gc.is_tracked(items)
    given: list[object] = [numbers, listed]
    del numbers, listed
    free(given)
    assert given == []
