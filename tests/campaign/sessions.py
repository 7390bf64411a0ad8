"""Sequences of calls on matchers beside the twin: made, recorded, replayed and shrunk.

A `Session` has several grammars over one vocabulary, which share what is remembered for it, and makes calls on matchers
of them. Every call is made on both sides and compared at once (`compare.Pair`). Calls are lists such as
`["accept", 0, 97]`; the first number names a matcher, modulo their number, so that a sequence stays valid when some of
its calls are dropped. Calls with bad arguments are made, too: they must raise what is documented and change nothing.
"""

from __future__ import annotations

import gc
import pickle
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from campaign.cases import Case, Wrong
from campaign.fronts import Source
from earleymask import (
    Constraint,
    Grammar,
    LimitError,
    RejectedTokenError,
    Vocabulary,
    VocabularyError,
    fill_bitmasks,
    start_bitmasks,
)
from earleymask.earley._masks import set_limits
from support import vocabularies
from support.compare import Difference, Loaded, Pair
from support.mask_paths import limits, walked
from support.refusals import Skipped, general
from support.shrinking import fewer
from support.twin import Node, dict_trie, lacks

Call = list[Any]
MOST_PAIRS = 6
MOST_POSITIONS = 200_000
"""How many positions the twin may remember of a grammar before it drops all of them."""


# --- the vocabulary of a session -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tokens:
    """A vocabulary as data: the name of a real one, or bytes (latin-1), EOS ids and special tokens."""

    name: str = ""
    spelled: tuple[str, ...] = ()
    eos: tuple[int, ...] = ()
    special: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, tokens: list[bytes], eos: list[int], special: dict[str, int] | None = None) -> Tokens:
        return cls("", tuple(t.decode("latin-1") for t in tokens), tuple(eos), tuple((special or {}).items()))

    def make(self) -> tuple[Vocabulary, Node]:
        """Return a new vocabulary, for which nothing is remembered yet; real ones are made once for each process."""
        if self.name:
            return whole(self.name)
        named = dict(self.special)
        vocabulary = Vocabulary.from_tokens(
            [t.encode("latin-1") for t in self.spelled],
            eos_token_id=list(self.eos),
            special_tokens=named,
            special_token_ids=list(named.values()),
        )
        return vocabulary, dict_trie(vocabulary)

    def smaller(self) -> Iterator[Tokens]:
        """Yield the vocabulary with fewer tokens and the same ids. Single bytes stay, or masks could become empty."""
        long = [i for i, token in enumerate(self.spelled) if len(token) > 1]
        for kept in fewer(long):
            gone = set(long).difference(kept)
            yield replace(self, spelled=tuple("" if i in gone else t for i, t in enumerate(self.spelled)))


@lru_cache(maxsize=2)
def whole(name: str) -> tuple[Vocabulary, Node]:
    vocabulary = vocabularies.load(name)
    return vocabulary, dict_trie(vocabulary)


# --- making calls ----------------------------------------------------------------------------------------------------


class Session:
    def __init__(self, sources: tuple[Source, ...], tokens: Tokens, budget: int) -> None:
        self.vocabulary, self.trie = tokens.make()
        self.sources = sources
        self.budget = budget
        self.loaded: list[Loaded | None] = [None] * len(sources)
        self.refused: dict[int, str] = {}  # number of a source -> why it cannot be compared
        self.pairs: list[Pair] = []
        self.calls: list[Call] = []
        self.n_masks = 0

    def do(self, *call: Any) -> Any:
        """Make one call on both sides; raise `Wrong` if they disagree."""
        name, *arguments = call
        self.calls.append([name, *arguments])
        if name == "new":
            loaded = self.grammar(arguments[0]) if arguments[0] < len(self.sources) else None
            if loaded is not None and len(self.pairs) < MOST_PAIRS:
                try:
                    self.pairs.append(Pair(loaded, self.vocabulary, self.trie))
                except VocabularyError as error:
                    if not any(lacks(name, self.vocabulary) for name in loaded.twin.specials if name[1] == "["):
                        raise Wrong(f"at {call}: {error}") from error
                    self.refused[arguments[0]] = "refused: the vocabulary lacks token ids"
            return None
        if not self.pairs:
            return None
        number = arguments[0] % len(self.pairs)
        pair = self.pairs[number]
        before = pair.matcher.tokens
        try:
            result = CALLS[name](self, pair, *arguments[1:])
            if name not in CHANGING and (self.pairs[number] is not pair or pair.matcher.tokens != before):
                raise pair.fail(f"{name} {arguments} left other tokens behind")
            pair.check_ends()
        except Difference as difference:
            if isinstance(difference.__cause__, LimitError):  # documented; the summary counts it
                raise Skipped(f"limit: {general(str(difference.__cause__))}") from None
            raise Wrong(f"at {call}: {difference}") from difference
        if pair.loaded.twin.n_remembered > MOST_POSITIONS:
            pair.loaded.twin.forget()
        return result

    def grammar(self, number: int) -> Loaded | None:
        """Return the grammar on both sides; None if it cannot be compared (see `refused`)."""
        loaded = self.loaded[number]
        if loaded is None and number not in self.refused:
            try:
                loaded = self.loaded[number] = self.sources[number].load()
                loaded.twin.budget = self.budget
            except Skipped as skipped:
                self.refused[number] = str(skipped)
            except Difference as difference:
                raise Wrong(str(difference)) from difference
        return loaded

    def mask(self, pair: Pair) -> npt.NDArray[np.bool_]:
        self.n_masks += 1
        return pair.mask()

    def accept(self, pair: Pair, token_id: int) -> bool:
        return pair.accept(token_id)

    def rollback(self, pair: Pair, n: int) -> None:
        pair.rollback(min(n, pair.matcher.n_tokens))

    def rollback_too_far(self, pair: Pair, n: int) -> None:
        self.must_raise(pair, ValueError, lambda: pair.matcher.rollback(pair.matcher.n_tokens + n if n > 0 else n - 1))

    def reset(self, pair: Pair) -> None:
        pair.matcher.reset()
        pair.twin.rollback(len(pair.twin.tokens))

    def fork(self, pair: Pair) -> None:
        if len(self.pairs) < MOST_PAIRS:
            self.pairs.append(pair.fork())

    def drop(self, pair: Pair) -> None:
        if len(self.pairs) > 1:
            self.pairs.remove(pair)

    def validate(self, pair: Pair, tokens: list[int]) -> None:
        taken = pair.twin.fork()
        expected = next((i for i, t in enumerate(tokens) if not taken.accept(t)), len(tokens))
        seen = pair.matcher.validate(tokens)
        if seen != expected:
            raise pair.fail(f"validate({tokens}) says {seen}, expected {expected}")

    def forced(self, pair: Pair) -> None:
        twin, position = pair.loaded.twin, pair.twin.position
        if pair.twin.finished:
            return
        forced = pair.matcher.forced_bytes()
        for place in range(min(len(forced), 40) + 1):
            ways = [b for b in range(256) if twin.advance(position, b) is not None]
            ends = twin.may_end(position)
            special = any(name in position.row.waiting for name in twin.specials) if position.row else False
            if place < len(forced) and place < 40:
                following = twin.advance(position, forced[place])
                if ways != [forced[place]] or ends or special or following is None:
                    raise pair.fail(f"forced_bytes() says {forced!r}; {place} bytes on, {bytes(ways)!r} may follow")
                position = following
            elif place == len(forced) and len(ways) == 1 and not ends and not special:
                raise pair.fail(f"forced_bytes() says {forced!r} and stops before {bytes(ways)!r}")

    def buffer(self, pair: Pair, shape: str) -> None:
        """Call `fill_bitmask` with a row of this shape: a good one is filled, a bad one is refused and not changed."""
        words = (self.vocabulary.size + 31) // 32
        make, error = BUFFERS[shape]
        row = make(words)
        if error is not None:
            before = bytes(row) if isinstance(row, bytearray) else None if row is None else row.tobytes()
            self.must_raise(pair, error, lambda: pair.matcher.fill_bitmask(row))
            after = bytes(row) if isinstance(row, bytearray) else None if row is None else row.tobytes()
            if before != after:
                raise pair.fail(f"fill_bitmask wrote into a buffer that it refused ({shape})")
            return
        pair.matcher.fill_bitmask(row)
        bits = np.unpackbits(np.ascontiguousarray(row).view(np.uint8), bitorder="little").view(np.bool_)
        if not np.array_equal(bits[: self.vocabulary.size], pair.twin.mask()) or bits[self.vocabulary.size :].any():
            raise pair.fail(f"fill_bitmask fills a row ({shape}) with something else")

    def must_raise(self, pair: Pair, kind: type[Exception], call: Callable[[], object]) -> None:
        try:
            call()
        except kind:
            return
        raise pair.fail(f"no {kind.__name__}")

    def odd_ids(self, pair: Pair) -> None:
        for bad in (-1, -(1 << 70), self.vocabulary.size, 1 << 31, 1 << 32, (1 << 32) + 97, 1 << 70):
            if pair.matcher.accept(bad) or pair.matcher.validate([bad]):
                raise pair.fail(f"accept({bad}) takes an id that is none")
        for wrong in ("a", None, 97.0, b"a"):
            self.must_raise(pair, TypeError, lambda wrong=wrong: pair.matcher.accept(wrong))
            self.must_raise(pair, TypeError, lambda wrong=wrong: pair.matcher.validate([wrong]))

    def pickled(self, pair: Pair) -> None:
        """Pickle the matcher: it comes back with its own grammar and vocabulary, at the same position."""
        if isinstance(pair.loaded.grammar, Grammar) and self.vocabulary.size < 5000:
            copy = pickle.loads(pickle.dumps(pair.matcher))
            if copy.tokens != pair.twin.tokens or not np.array_equal(copy.mask(), pair.twin.mask()):
                raise pair.fail("a pickled matcher comes back as another one")
            pair.matcher = copy

    def reload(self, pair: Pair) -> None:
        """Load the grammars anew for new matchers; present matchers keep the old ones."""
        self.loaded = [None] * len(self.sources)

    def collect(self, pair: Pair) -> None:
        gc.collect()

    def constraint(self, pair: Pair) -> None:
        tokens, size = pair.twin.tokens, self.vocabulary.size
        constraint = Constraint(pair.loaded.grammar, self.vocabulary)
        if not np.array_equal(constraint.mask(tokens), pair.twin.mask()):
            raise pair.fail("Constraint.mask() differs")
        bad = next((t for t in range(size) if pair.twin.after(t) is None), size)
        try:
            constraint.mask([*tokens, bad])
        except (RejectedTokenError, ValueError, IndexError):
            return
        raise pair.fail(f"Constraint.mask() takes the token {bad}")

    def batch(self, pair: Pair, n_threads: int) -> None:
        """Fill the masks of all matchers at once; with an even number of threads, in the background."""
        rows = np.full((len(self.pairs), (self.vocabulary.size + 31) // 32), -1, dtype=np.int32)
        matchers = [p.matcher for p in self.pairs]
        if n_threads % 2:
            fill_bitmasks(matchers, rows, threads=n_threads)
        else:
            start_bitmasks(matchers, rows, threads=n_threads).wait()
        self.check_rows(rows)

    def ahead(self, pair: Pair, ms: int) -> None:
        """Make the masks of likely texts, for so many milliseconds: of the whole grammar, or from here on."""
        grammar = pair.loaded.grammar
        if ms % 2 and isinstance(grammar, Grammar):
            warming = grammar.warm(self.vocabulary, seconds=ms / 1000)
        else:
            warming = pair.matcher.ahead(seconds=ms / 1000)
        if not warming.wait(60) or warming.error is not None:
            raise pair.fail(f"warming: {warming.error}")

    def threads(self, pair: Pair, n_rounds: int) -> None:
        """Use each matcher in its own thread, and make and drop forks there."""
        rows = np.full((len(self.pairs), (self.vocabulary.size + 31) // 32), -1, dtype=np.int32)
        failed: list[BaseException] = []

        def work(number: int) -> None:
            try:
                matcher = self.pairs[number].matcher
                for _ in range(n_rounds):
                    fork = matcher.fork()
                    for token_id in matcher.mask().nonzero()[0][:3].tolist():
                        if not fork.accept(token_id):
                            raise AssertionError(f"a thread's accept({token_id}) refuses what its mask allows")
                        fork.mask()
                        fork.rollback(1)
                    matcher.fill_bitmask(rows[number])
            except BaseException as error:
                failed.append(error)

        workers = [threading.Thread(target=work, args=(n,)) for n in range(len(self.pairs))]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        if failed:
            raise pair.fail(f"in a thread: {failed[0]!r}")
        self.check_rows(rows)

    def check_rows(self, rows: npt.NDArray[np.int32]) -> None:
        for row, other in zip(rows, self.pairs, strict=True):
            bits = np.unpackbits(row.view(np.uint8), bitorder="little").view(np.bool_)
            if not np.array_equal(bits[: self.vocabulary.size], other.twin.mask()):
                raise other.fail("a row of many differs")

    def bounds(self, pair: Pair, name: str, value: int) -> None:
        """Change a bound of what may be remembered or spent; masks must not depend on it."""
        set_limits(**{name: value})

    def look(self, pair: Pair) -> None:
        """Read what a matcher says about itself: names and numbers."""
        if not all(isinstance(name, str) for name in pair.matcher.expected()):
            raise pair.fail("expected() gives what is no name")
        numbers = {**pair.matcher.stats(), **pair.loaded.grammar.engine.stats()}
        if not all(value >= 0 for value in numbers.values()):
            raise pair.fail(f"negative numbers: {numbers}")
        if not np.array_equal(walked(pair.matcher), pair.twin.mask()):
            raise pair.fail("the walk's mask differs")


CALLS: dict[str, Callable[..., Any]] = {
    "mask": Session.mask,
    "accept": Session.accept,
    "rollback": Session.rollback,
    "rollback_too_far": Session.rollback_too_far,
    "reset": Session.reset,
    "fork": Session.fork,
    "drop": Session.drop,
    "validate": Session.validate,
    "forced": Session.forced,
    "buffer": Session.buffer,
    "odd_ids": Session.odd_ids,
    "pickled": Session.pickled,
    "reload": Session.reload,
    "collect": Session.collect,
    "constraint": Session.constraint,
    "batch": Session.batch,
    "ahead": Session.ahead,
    "threads": Session.threads,
    "bounds": Session.bounds,
    "look": Session.look,
}
CHANGING = {"accept", "rollback", "reset", "drop"}


def _misaligned(words: int) -> npt.NDArray[np.int32]:
    return np.zeros(4 * words + 1, dtype=np.int8)[1:].view(np.int32)


def _read_only(words: int) -> npt.NDArray[np.int32]:
    return np.frombuffer(bytes(4 * words), dtype=np.int32)


BUFFERS: dict[str, tuple[Callable[[int], Any], type[Exception] | None]] = {
    "exact": (lambda n: np.full(n, -1, dtype=np.int32), None),
    "long": (lambda n: np.full(n + 3, -1, dtype=np.int32), None),
    "a row of many": (lambda n: np.full((3, n), -1, dtype=np.int32)[1], None),
    "at an odd place": (lambda n: np.full(n + 3, -1, dtype=np.int32)[3:], None),
    "empty": (lambda n: np.zeros(0, dtype=np.int32), ValueError),
    "short": (lambda n: np.full(n - 1, 7, dtype=np.int32), ValueError),
    "strided": (lambda n: np.full(2 * n, 7, dtype=np.int32)[::2], ValueError),
    "backwards": (lambda n: np.full(n, 7, dtype=np.int32)[::-1], ValueError),
    "two dimensions": (lambda n: np.full((1, n), 7, dtype=np.int32), ValueError),
    "unsigned": (lambda n: np.full(n, 7, dtype=np.uint32), ValueError),
    "wide": (lambda n: np.full(n, 7, dtype=np.int64), ValueError),
    "other end first": (lambda n: np.full(n, 7, dtype=np.dtype(np.int32).newbyteorder()), ValueError),
    "read only": (_read_only, ValueError),
    "misaligned": (_misaligned, ValueError),
    "no array": (lambda n: bytearray(4 * n), TypeError),
    "nothing": (lambda n: None, TypeError),
}
"""Shape -> how a row for so many words is made, and the error that it raises (None: it is a good row)."""


# --- a session that can be kept --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Calls(Case):
    """The recorded calls of a session, repeated in order."""

    kind = "calls"
    sources: tuple[Source, ...]
    tokens: Tokens
    bounds: dict[str, int]
    calls: tuple[Call, ...]
    budget: int = 3_000_000

    def check(self) -> None:
        with limits(**self.bounds):
            session = Session(self.sources, self.tokens, self.budget)
            for call in self.calls:
                session.do(*call)

    def smaller(self) -> Iterator[Case]:
        for calls in fewer(list(self.calls)):
            yield replace(self, calls=tuple(calls))
        if self.tokens.name:
            yield from (self.written_out(step) for step in (4096, 256, 32))
        yield from (replace(self, bounds={k: v for k, v in self.bounds.items() if k != name}) for name in self.bounds)
        for i, source in enumerate(self.sources):
            for less in source.smaller():
                if len(less.text) < len(source.text):
                    yield replace(self, sources=(*self.sources[:i], less, *self.sources[i + 1 :]))
        if self.tokens.name:
            return
        yield from (replace(self, tokens=tokens) for tokens in self.tokens.smaller())
        if "" in self.tokens.spelled[:-1]:
            yield self.compact()

    def written_out(self, step: int) -> Calls:
        """Replace a real vocabulary by some of its tokens: those of the calls, all bytes, and every `step`-th."""
        vocabulary, _ = self.tokens.make()
        kept = {*range(0, vocabulary.size, step), *vocabulary.eos_token_ids}
        for name, *arguments in self.calls:
            if name in ("accept", "validate"):
                kept.update([arguments[1]] if name == "accept" else arguments[1])
        spelled = [vocabulary.token_bytes(i) for i in range(vocabulary.size)]
        spelled = [token if i in kept or len(token) == 1 else b"" for i, token in enumerate(spelled)]
        tokens = Tokens.of(spelled, list(vocabulary.eos_token_ids))
        return replace(self, tokens=tokens).compact()

    def compact(self) -> Calls:
        """Drop the tokens that spell nothing, except EOS and special ones, and number the others anew."""
        special = {*self.tokens.eos, *(i for _, i in self.tokens.special)}
        kept = [i for i, token in enumerate(self.tokens.spelled) if token or i in special]
        new = {old: i for i, old in enumerate(kept)}
        tokens = Tokens(
            "",
            tuple(self.tokens.spelled[i] for i in kept),
            tuple(new[i] for i in self.tokens.eos),
            tuple((name, new[i]) for name, i in self.tokens.special),
        )
        calls: list[Call] = []
        for name, *arguments in self.calls:
            if name == "accept":
                arguments[1] = new.get(arguments[1], -1)
            elif name == "validate":
                arguments[1] = [new.get(t, -1) for t in arguments[1]]
            calls.append([name, *arguments])
        return replace(self, tokens=tokens, calls=tuple(calls))

    def data(self) -> dict[str, Any]:
        used = sorted({call[1] for call in self.calls if call[0] == "new" and call[1] < len(self.sources)})
        renamed = {old: new for new, old in enumerate(used)}
        calls = [["new", renamed.get(c[1], len(used))] if c[0] == "new" else list(c) for c in self.calls]
        tokens = {"name": self.tokens.name} if self.tokens.name else vars(self.tokens)
        return {
            "sources": [[s.front, s.text, *[s.for_twin] * bool(s.for_twin)] for s in (self.sources[i] for i in used)],
            "tokens": tokens,
            "bounds": self.bounds,
            "calls": calls,
        }

    @classmethod
    def of(cls, data: dict[str, Any]) -> Calls:
        tokens = dict(data["tokens"])
        tokens["special"] = tuple(tuple(item) for item in tokens.get("special", ()))
        return cls(
            tuple(Source(*source) for source in data["sources"]),
            Tokens(**{k: tuple(v) if isinstance(v, list) else v for k, v in tokens.items()}),
            data["bounds"],
            tuple(data["calls"]),
        )
