"""Matchers for requests, from grammars that are loaded once for equal contents.

Many requests of a server bring the same grammar again: the tools of an agent, the schema of an application. A pool
remembers one matcher for each, a template that has made its first mask, and hands out forks of it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import Any, NamedTuple, SupportsIndex

from .bitmask import allocate_bitmask
from .earley import Engine, Matcher
from .grammar import Grammar
from .trie import Vocabulary


class _Template(NamedTuple):
    """A matcher at the beginning of a text, and the engine of its grammar when it was made."""

    matcher: Matcher
    engine: Engine


class _Interrupted(Exception):
    """The thread that was loading a grammar was interrupted."""


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
        threads: threads in which `submit` loads grammars.

    Raises ValueError if `capacity` or `threads` is less than 1, or `warm` is negative.
    """

    def __init__(self, vocabulary: Vocabulary, *, capacity: int = 256, warm: float = 0.0, threads: int = 1) -> None:
        if capacity < 1 or threads < 1 or warm < 0:
            raise ValueError(
                f"capacity={capacity} and threads={threads} must be at least 1, and warm={warm} must not be negative"
            )
        self.vocabulary = vocabulary
        self.capacity = capacity
        self._warm = warm
        self._threads = threads
        self._executor: ThreadPoolExecutor | None = None
        self._lock = Lock()
        self._templates: OrderedDict[Hashable, Future[_Template]] = OrderedDict()
        self._n_found = self._n_loaded = 0

    def matcher(
        self,
        make: Callable[..., Grammar],
        /,
        *arguments: Hashable,
        eos_token_ids: Iterable[SupportsIndex] | None = None,
        **options: Any,
    ) -> Matcher:
        """Return a matcher of the grammar `make(*arguments, **options)`, at the beginning of its text.

        The grammar is loaded, and its first mask made, if no equal call is remembered. If another thread is loading it,
        this one waits. `eos_token_ids`: as for `Matcher`.

        Raises what `make` raises, and `LimitError` if the first mask takes too much: then nothing is remembered.
        TypeError if an argument cannot be hashed: give schemas as JSON text, for equal texts are the same grammar.
        """
        ends = None if eos_token_ids is None else tuple(eos_token_ids)
        key = (make, arguments, tuple(sorted(options.items())), ends)
        while True:
            with self._lock:
                known = self._templates.get(key)
                mine = known is None
                if known is None:
                    known = self._templates[key] = Future()
                    self._n_loaded += 1
                else:
                    self._n_found += 1
                self._templates.move_to_end(key)
                while len(self._templates) > self.capacity:
                    self._templates.popitem(last=False)
            if mine:
                self._load(key, known, make, arguments, options, ends)
            try:
                template = known.result()
            except _Interrupted:
                continue
            grammar: Grammar = template.matcher.grammar
            if grammar._renewed() is template.engine:
                return template.matcher.fork()
            self._forget(key, known)  # texts have added much to the grammar: begin anew

    def submit(
        self,
        make: Callable[..., Grammar],
        /,
        *arguments: Hashable,
        eos_token_ids: Iterable[SupportsIndex] | None = None,
        **options: Any,
    ) -> Future[Matcher]:
        """Do what `matcher` does in another thread, and return at once: the result is the matcher."""
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(self._threads, thread_name_prefix="earleymask-pool")
        return self._executor.submit(self.matcher, make, *arguments, eos_token_ids=eos_token_ids, **options)

    def stats(self) -> dict[str, int]:
        """Return how many grammars are remembered (`templates`), how many were `loaded`, and how often one was
        `found`."""
        with self._lock:
            return {"templates": len(self._templates), "loaded": self._n_loaded, "found": self._n_found}

    def clear(self) -> None:
        """Forget all grammars. Matchers of them stay as they are."""
        with self._lock:
            self._templates.clear()

    def _load(
        self,
        key: Hashable,
        future: Future[_Template],
        make: Callable[..., Grammar],
        arguments: tuple[Hashable, ...],
        options: dict[str, Any],
        ends: tuple[SupportsIndex, ...] | None,
    ) -> None:
        try:
            grammar = make(*arguments, **options)
            matcher = Matcher(grammar, self.vocabulary, ends)
            engine = grammar.engine
            matcher.fill_bitmask(allocate_bitmask(1, self.vocabulary)[0])
            if self._warm:
                grammar.warm(self.vocabulary, seconds=self._warm)
        except Exception as error:
            self._forget(key, future)
            future.set_exception(error)
        except BaseException:  # Ctrl-C: others begin anew
            self._forget(key, future)
            future.set_exception(_Interrupted())
            raise
        else:
            future.set_result(_Template(matcher, engine))

    def _forget(self, key: Hashable, future: Future[_Template]) -> None:
        with self._lock:
            if self._templates.get(key) is future:
                del self._templates[key]
