"""Matchers for requests, from grammars that are loaded once for equal contents.

Many requests of a server bring the same grammar again: the tools of an agent, the schema of an application. A pool
remembers the grammars, which have made their first mask; each request has a matcher of its own.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from math import inf
from operator import index
from typing import Any, SupportsIndex

from .bitmask import allocate_bitmask
from .earley import Matcher
from .earley.warming import loads
from .grammar import Grammar
from .trie import Vocabulary

COUNTED_EVERY = 32
"""After so many loads, the memory of all grammars is counted anew."""


class _Place:
    """A grammar, or the place of one that is being loaded by the thread that has the lock."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.grammar: Grammar | None = None
        self.n_users = 0  # calls that have it
        self.n_bytes = 0  # of the grammar, when it was asked for last


class MatcherPool:
    """Matchers over one vocabulary, by the content of their grammars. Threads may share it.

        pool = MatcherPool(vocabulary, warm=0.02)
        matcher = pool.matcher(Grammar.from_json_schema, schema_text, property_order="any")

    Args:
        vocabulary: the vocabulary of all matchers.
        capacity: grammars that are remembered. Beyond it, the one that was used least recently goes; matchers of it
            stay as they are.
        memory: bytes that the remembered grammars may take, by an estimate: what loading them took, and what was
            learned about them (`n_bytes`). Beyond it, those that were used least recently go. The latest one stays,
            even if it alone takes more; `Limits.load_bytes` and `grammar_bytes` bound it. What masks have taught about
            the vocabulary is not counted: `prepare(vocabulary, memory=)` bounds that.
        warm: seconds of processor time for which masks of likely texts are made in the background when a grammar is
            new, see `Grammar.warm`; 0: none.

    Raises ValueError if `capacity` or `memory` is less than 1, or `warm` is no time; TypeError if one of the arguments
    is of another type.
    """

    def __init__(
        self, vocabulary: Vocabulary, *, capacity: int = 256, memory: int = 1 << 30, warm: float = 0.0
    ) -> None:
        if not isinstance(vocabulary, Vocabulary):
            raise TypeError(f"a pool is over a Vocabulary, not {type(vocabulary).__name__}")
        if index(capacity) < 1 or index(memory) < 1 or not 0 <= warm < inf:
            raise ValueError(
                f"capacity={capacity} and memory={memory} must be at least 1, and warm={warm} a number of seconds, 0 "
                "or more"
            )
        self.vocabulary = vocabulary
        self.capacity = capacity
        self.memory = memory
        self.warm = warm
        self._lock = threading.RLock()
        self._places: OrderedDict[Hashable, _Place] = OrderedDict()
        self._n_loaded = self._n_found = self._n_bytes = 0
        _known.add(self)

    def matcher(
        self,
        make: Callable[..., Grammar],
        /,
        *arguments: Hashable,
        eos_token_ids: Iterable[SupportsIndex] | SupportsIndex | None = None,
        **options: Any,
    ) -> Matcher:
        """Return a matcher of the grammar `make(*arguments, **options)`, at the beginning of its text.

        The grammar is loaded, and its first mask made, if no equal call is remembered: call it in a thread for which no
        other request waits. A thread that asks for a grammar which another one is loading waits for that one.
        `eos_token_ids`: as for `Matcher`. Matchers with different ones have the same grammar.

        Raises what `make` and `Matcher` raise, and `LimitError` if the first mask takes too much; then nothing is
        remembered. TypeError if an argument cannot be hashed: give schemas as JSON text, for equal texts are the same
        grammar.
        """
        ends: list[int] | None = None
        if eos_token_ids is not None:
            given = eos_token_ids if isinstance(eos_token_ids, Iterable) else [eos_token_ids]
            ends = sorted({index(token_id) for token_id in given})
        key = (make, _typed(arguments), tuple((name, _typed(options[name])) for name in sorted(options)))
        _check_hashable(arguments, options)
        place = self._place(key)
        try:
            with place.lock:
                grammar = place.grammar
                is_new = grammar is None
                if grammar is None:
                    with loads:
                        grammar = self._loaded(make(*arguments, **options), ends)
                    place.grammar = grammar
            self._count(key, place, is_new=is_new)
        finally:
            self._leave(key, place)
        return Matcher(grammar, self.vocabulary, ends)

    @property
    def n_bytes(self) -> int:
        """The memory of the remembered grammars, by an estimate. What was learned about one of them since it was asked
        for last counts soon: all are counted after some more loads."""
        return self._n_bytes

    def stats(self) -> dict[str, int]:
        """Return how many grammars are remembered (`grammars`), how many were `loaded`, and how often one was
        `found`."""
        with self._lock:
            return {"grammars": len(self._places), "loaded": self._n_loaded, "found": self._n_found}

    def clear(self) -> None:
        """Forget all grammars. Matchers of them stay as they are."""
        with self._lock:
            dropped, self._places = self._places, OrderedDict()
            self._n_bytes = 0
        del dropped  # here, because what is freed may run code

    def _place(self, key: Hashable) -> _Place:
        with self._lock:
            place = self._places.get(key)
            if place is None:
                place = self._places[key] = _Place()
            place.n_users += 1
            self._places.move_to_end(key)
        return place

    def _count(self, key: Hashable, place: _Place, *, is_new: bool) -> None:
        """Count a use of a place whose grammar is loaded. Drop others, if it is new or has grown."""
        dropped: list[tuple[Hashable, _Place]] = []  # freed when the lock is not held, because that may run code
        with self._lock:
            self._n_loaded += is_new
            self._n_found += not is_new
            if self._places.get(key) is not place:
                return
            # PERF: to count all at each load took a millisecond for 512 grammars, as long as loading a small schema.
            counts_all = is_new and self._n_loaded % COUNTED_EVERY == 0
            for each in self._places.values() if counts_all else (place,):
                if each.grammar is not None:
                    n_bytes = each.grammar.engine.n_bytes
                    self._n_bytes += n_bytes - each.n_bytes
                    each.n_bytes = n_bytes
            if (is_new and len(self._places) > self.capacity) or self._n_bytes > self.memory:
                # Places whose grammars are being loaded stay: they may be in vain, and others may wait for them.
                others = [each for each in self._places.items() if each[1].grammar is not None and each[1] is not place]
                while others and (len(others) >= self.capacity or self._n_bytes > self.memory):
                    dropped.append(others.pop(0))
                    del self._places[dropped[-1][0]]
                    self._n_bytes -= dropped[-1][1].n_bytes

    def _loaded(self, grammar: Grammar, ends: list[int] | None) -> Grammar:
        """Return the grammar when its first mask has been made."""
        matcher = Matcher(grammar, self.vocabulary, ends)
        matcher.fill_bitmask(allocate_bitmask(1, self.vocabulary)[0])
        if self.warm:
            grammar.warm(self.vocabulary, seconds=self.warm, eos_token_ids=ends)
        return grammar

    def _leave(self, key: Hashable, place: _Place) -> None:
        """End the use of a place. It goes if its grammar could not be loaded, and nobody else is about to load it."""
        with self._lock:
            place.n_users -= 1
            if place.grammar is None and not place.n_users and self._places.get(key) is place:
                del self._places[key]

    def _renew(self) -> None:
        """Make it usable in a forked child: threads that had locks in the parent do not exist there."""
        self._lock = threading.RLock()
        for key, place in list(self._places.items()):
            place.lock = threading.RLock()
            place.n_users = 0
            if place.grammar is None:
                del self._places[key]


def _typed(value: Any) -> Hashable:
    """Return a value for a key, in which 1, 1.0 and True are different."""
    if isinstance(value, tuple):
        return tuple([_typed(each) for each in value])
    return (type(value), value) if isinstance(value, (int, float, complex)) else value


def _check_hashable(arguments: tuple[object, ...], options: dict[str, object]) -> None:
    """Raise TypeError, with what to do, if one of the arguments cannot be hashed."""
    for name, value in [*((f"argument {number}", each) for number, each in enumerate(arguments, 1)), *options.items()]:
        try:
            hash(value)
        except TypeError as error:
            raise TypeError(
                f"{name} of `make` is a {type(value).__name__} that cannot be hashed, so an equal one could not be "
                "found: give schemas as JSON text, and lists as tuples"
            ) from error


_known: weakref.WeakSet[MatcherPool] = weakref.WeakSet()


def _renew_all() -> None:
    for pool in list(_known):
        pool._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
