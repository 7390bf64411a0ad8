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
from operator import index
from typing import Any, SupportsIndex

from .bitmask import allocate_bitmask
from .earley import Matcher
from .grammar import Grammar
from .trie import Vocabulary


class _Place:
    """A grammar, or the place of one that is being loaded by the thread that has the lock."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.grammar: Grammar | None = None
        self.n_users = 0  # calls that have it


class MatcherPool:
    """Matchers over one vocabulary, by the content of their grammars. Threads may share it.

        pool = MatcherPool(vocabulary, warm=0.02)
        matcher = pool.matcher(Grammar.from_json_schema, schema_text, property_order="any")

    Args:
        vocabulary: the vocabulary of all matchers.
        capacity: grammars that are remembered. Beyond it, the one that was used least recently goes; matchers of it
            stay as they are.
        warm: seconds of processor time for which masks of likely texts are made in the background when a grammar is
            new, see `Grammar.warm`; 0: none.

    Raises ValueError if `capacity` is less than 1, or `warm` is negative.
    """

    def __init__(self, vocabulary: Vocabulary, *, capacity: int = 256, warm: float = 0.0) -> None:
        if capacity < 1 or warm < 0:
            raise ValueError(f"capacity={capacity} must be at least 1, and warm={warm} must not be negative")
        self.vocabulary = vocabulary
        self.capacity = capacity
        self.warm = warm
        self._lock = threading.RLock()
        self._places: OrderedDict[Hashable, _Place] = OrderedDict()
        self._n_loaded = self._n_found = 0
        _known.add(self)

    def matcher(
        self,
        make: Callable[..., Grammar],
        /,
        *arguments: Hashable,
        eos_token_ids: Iterable[SupportsIndex] | None = None,
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
        ends = None if eos_token_ids is None else sorted({index(token_id) for token_id in eos_token_ids})
        key = (make, arguments, tuple(sorted(options.items())))
        place = self._place(key)
        try:
            with place.lock:
                grammar = place.grammar
                if grammar is None:
                    grammar = place.grammar = self._loaded(make(*arguments, **options), ends)
                    with self._lock:
                        self._n_loaded += 1
                else:
                    with self._lock:
                        self._n_found += 1
        finally:
            self._leave(key, place)
        return Matcher(grammar, self.vocabulary, ends)

    def stats(self) -> dict[str, int]:
        """Return how many grammars are remembered (`grammars`), how many were `loaded`, and how often one was
        `found`."""
        with self._lock:
            return {"grammars": len(self._places), "loaded": self._n_loaded, "found": self._n_found}

    def clear(self) -> None:
        """Forget all grammars. Matchers of them stay as they are."""
        with self._lock:
            dropped, self._places = self._places, OrderedDict()
        del dropped  # here, because what is freed may run code

    def _place(self, key: Hashable) -> _Place:
        dropped = []
        with self._lock:
            place = self._places.get(key)
            if place is None:
                place = self._places[key] = _Place()
            place.n_users += 1
            self._places.move_to_end(key)
            while len(self._places) > self.capacity:
                dropped.append(self._places.popitem(last=False))
        return place

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


_known: weakref.WeakSet[MatcherPool] = weakref.WeakSet()


def _renew_all() -> None:
    for pool in list(_known):
        pool._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)
