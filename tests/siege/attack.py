"""One attack: load a grammar, and make calls on matchers of it. Every call is measured.

A call may raise an `EarleymaskError`, and a call with a bad argument a TypeError or a ValueError; a refused call
changes nothing. No call may take longer than its limit allows, or let the process grow beyond its bound.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import cache
from random import Random
from typing import Any

import numpy as np

from campaign.cases import Case, Wrong
from earleymask import (
    Constraint,
    EarleymaskError,
    EmptyMaskError,
    Grammar,
    LimitError,
    Limits,
    Matcher,
    MatcherInUseError,
    Vocabulary,
    fill_bitmasks,
    prepare,
    start_bitmasks,
)
from earleymask.earley.warming import Warming
from earleymask.trie._build import is_debug
from siege.gauges import Bystander, MiB, begin_growth, growth
from siege.schemas import PYTHON, SCHEMAS
from siege.schemas import text as schema_text
from siege.texts import CHOICES, GBNF, LARK, REGEX
from support import vocabularies
from support.shrinking import fewer, shorter, smaller_grammar_texts

Call = list[Any]
FAMILIES: dict[str, dict[str, Callable[[Random, int], Any]]] = {
    "lark": {**LARK},
    "gbnf": {**GBNF},
    "regex": {**REGEX},
    "choices": {**CHOICES},
    "schema": {**SCHEMAS},
    "text": {"text": schema_text},
    "python": {**PYTHON},
}
"""The families of input, by front end: `schema` gives values, `text` JSON text, `python` what JSON cannot hold."""

LATE = 1.1, 0.005
"""A call may take this many times its limit, and a call with a low limit this many seconds more."""

MOST_HELD = 0.020
"""Seconds for which loading and calls may keep another thread from making masks."""

MOST_GROWTH = 1.2
"""The process may grow by this many times the bounds on memory together."""

MASKS = 64 * MiB
"""The bound on remembered masks, which is no field of `Limits`."""

is_measured = not is_debug() and os.environ.get("EARLEYMASK_SIEGE_MEASURED", "1") != "0"
"""Whether time and memory are judged. A debug build, which sanitizers need, changes both, and so do busy cores."""

MOST_LATE = 4
"""An attack ends when so many calls have used up their time: the others would, too."""

MOST_SECONDS = 20.0
"""The longest time of an attack, beside that of its last call."""

TELLING = 1.0
"""Seconds that the text of an explanation may take: the first one that names classes of characters looks at Unicode."""


@cache
def vocabulary(name: str) -> Vocabulary:
    """Return a vocabulary, prepared as a server does it."""
    made = Vocabulary.bytes() if name == "bytes" else vocabularies.load(name)
    prepare(made)
    return made


@dataclass(frozen=True)
class Attack(Case):
    """An input, made by a family from a seed and a size or given as it is, and the calls on its matchers."""

    kind = "attack"
    front: str
    family: str  # empty: the input is `source`
    seed: int
    size: int
    vocabulary: str
    options: dict[str, Any]
    limits: dict[str, Any]
    calls: tuple[Call, ...]
    source: Any = None

    def input(self) -> Any:
        return FAMILIES[self.front][self.family](Random(self.seed), self.size) if self.family else self.source

    def check(self) -> None:
        run(self, Counter())

    def smaller(self) -> Iterator[Attack]:
        for n in range(3, -1, -1):
            if self.family and self.size >> n > 1:
                yield replace(self, size=self.size - (self.size >> (3 - n)) if n else self.size - 1)
        yield from (replace(self, calls=tuple(calls)) for calls in fewer(self.calls))
        if self.vocabulary != "bytes":
            yield replace(self, vocabulary="bytes")
        source = self.input()
        if self.family and self.front != "python" and len(json.dumps(source)) < 5_000:
            yield replace(self, family="", seed=0, size=0, source=source)
        if not self.family and isinstance(source, str):
            texts = smaller_grammar_texts(source) if self.front in ("lark", "gbnf") else shorter(source)
            yield from (replace(self, source=text) for text in texts)
        if not self.family and isinstance(source, dict):
            yield from (replace(self, source=schema) for schema in smaller_schemas(source))

    def data(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, data: dict[str, Any]) -> Attack:
        return cls(**{**data, "calls": tuple(data["calls"])})

    def __str__(self) -> str:
        made = f"{self.family}({self.seed}, {self.size})" if self.family else repr(self.source)[:2000]
        return f"{self.front}: {made} {self.options or ''} {self.limits or ''} {self.vocabulary}"


def smaller_schemas(schema: Any) -> Iterator[Any]:
    """Yield the schema without one of its parts, or with a smaller part."""
    if isinstance(schema, dict):
        for key, part in schema.items():
            yield {name: value for name, value in schema.items() if name != key}
            yield from ({**schema, key: smaller} for smaller in smaller_schemas(part))
    elif isinstance(schema, list):
        for index, part in enumerate(schema):
            yield schema[:index] + schema[index + 1 :]
            yield from ([*schema[:index], smaller, *schema[index + 1 :]] for smaller in smaller_schemas(part))


def run(attack: Attack, counts: Counter[str]) -> None:
    """Do what the attack says. Raise `Wrong` if a call is late, grows too much, or raises what it should not."""
    made = attack.input()
    limits = Limits(**attack.limits)
    known = vocabulary(attack.vocabulary)
    with warnings.catch_warnings(), Bystander(known) as bystander:
        warnings.simplefilter("ignore")
        siege = Siege(attack, counts, limits, known, bystander)
        known_late = counts["out of time"]
        siege.load(made)
        ends = time.monotonic() + MOST_SECONDS
        for call in attack.calls if siege.matchers else ():
            if counts["out of time"] - known_late > MOST_LATE or time.monotonic() > ends:
                break
            siege.do(call)
        siege.end_warmings()
    longest = bystander.longest
    held = f"most ms held by {bystander.longest_in}"
    counts[held] = max(counts[held], round(longest * 1000))
    if bystander.collected_in:
        collected = f"most ms of a full collection in {bystander.collected_in}"
        counts[collected] = max(counts[collected], round(bystander.longest_collection * 1000))
    longest, name = max((longest, bystander.longest_in), (bystander.longest_collection, bystander.collected_in))
    if is_measured and longest > MOST_HELD and not siege.is_callers:
        raise Wrong(f"{name}: another thread waits {longest * 1000:.0f} ms\n{attack}")


class Siege:
    """The matchers of an attack."""

    def __init__(
        self, attack: Attack, counts: Counter[str], limits: Limits, vocabulary: Vocabulary, bystander: Bystander
    ) -> None:
        self.attack = attack
        self.bystander = bystander
        self.counts = counts
        self.limits = limits
        self.vocabulary = vocabulary
        self.matchers: list[Matcher] = []
        self.row = np.zeros((vocabulary.size + 31) // 32, dtype=np.int32)
        self.is_callers = attack.front == "python"  # iterating the caller's own objects may hold the lock
        self.rss = 0
        self.with_copies: set[str] = set()  # calls so far that load a grammar, or make a matcher, of their own
        self.warmings: list[Warming] = []

    def load(self, made: Any) -> None:
        front, options = self.attack.front, self.attack.options
        listed = made.split("\n") if front == "choices" else []  # which takes long, and is not the engine's time

        def make() -> Grammar:
            if front == "lark":
                return Grammar.from_lark(made, limits=self.limits, **options)
            if front == "gbnf":
                return Grammar.from_gbnf(made, limits=self.limits)
            if front == "regex":
                return Grammar.from_regex(made, limits=self.limits, **options)
            if front == "choices":
                return Grammar.from_choices(listed, limits=self.limits)
            return Grammar.from_json_schema(made, limits=self.limits, **options)

        if is_measured:
            self.rss = begin_growth()
            gc.freeze()  # full collections hold the lock while they visit all objects: those of this attack only
        bound = getattr(self.limits, "load_bytes", 256 * MiB)
        grammar = self.call("load", make, self.limits.load_seconds, bound)
        if isinstance(grammar, Grammar):
            self.counts["loaded"] += 1
            self.rss = begin_growth() if is_measured else 0
            self.call("matcher", lambda: self.matchers.append(Matcher(grammar, self.vocabulary)))

    def call(
        self, name: str, work: Callable[[], Any], seconds: float = 0.0, n_bytes: int = 0, misuse: bool = False
    ) -> Any:
        """Do one call, and return its result; None if it was refused."""
        seconds = seconds or self.limits.seconds
        if name in ("explain", "constraint", "warm"):
            self.with_copies.add(name)
        copies = 1 + len(self.with_copies)
        n_bytes = n_bytes or copies * (self.limits.grammar_bytes + self.limits.matcher_bytes) + MASKS
        self.counts["calls"] += 1
        found = None
        collected = self.bystander.in_collections()
        begin = time.thread_time()
        try:
            with self.bystander.call(name):
                found = work()
        except EarleymaskError as error:
            took = time.thread_time() - begin
            if not str(error):
                raise Wrong(f"{name}: an error without a message\n{self.attack}") from error
            if isinstance(error, EmptyMaskError) and self.attack.vocabulary == "bytes":
                raise Wrong(f"{name}: {error}\n{self.attack}") from error
            self.counts["limits" if isinstance(error, LimitError) else "refused"] += 1
            self.counts["out of time"] += isinstance(error, LimitError) and error.limit == "seconds"
        except (TypeError, ValueError) as error:
            took = time.thread_time() - begin
            if not misuse and not (self.is_callers and name == "load"):
                raise Wrong(f"{name}: {type(error).__name__}: {error}\n{self.attack}") from error
        except Exception as error:
            raise Wrong(f"{name}: {type(error).__name__}: {error}\n{self.attack}") from error
        else:
            took = time.thread_time() - begin
        took -= self.bystander.in_collections() - collected  # these are judged by `Bystander`
        grown = growth(self.rss)
        self.note(f"most ms {name}", took * 1000)
        self.note("most MB " + ("of a load" if name == "load" else "of calls"), grown / MiB)
        if is_measured and took > max(seconds * LATE[0], seconds + LATE[1]):
            raise Wrong(f"{name}: takes {took:.3f} s, the limit is {seconds} s\n{self.attack}")
        if is_measured and grown > MOST_GROWTH * n_bytes and self.matchers and name != "load":
            n_bytes += copies * self.matchers[0].stats()["rule_bytes"]  # what texts add counts for `load_bytes`
        if is_measured and grown > MOST_GROWTH * n_bytes:
            raise Wrong(f"{name}: the process grows by {grown / MiB:.0f} MB of {n_bytes / MiB:.0f}\n{self.attack}")
        return found

    def note(self, name: str, value: float) -> None:
        self.counts[name] = max(self.counts[name], round(value))

    # ---- calls of a matcher -----------------------------------------------------------------------------------------

    def do(self, call: Call) -> None:
        name, which, *rest = call
        matcher = self.matchers[which % len(self.matchers)]
        before = matcher.n_tokens
        refused = self.counts["limits"]
        getattr(self, f"do_{name}")(matcher, *rest)
        if self.counts["limits"] > refused and name in ("fill", "mask", "validate", "forced", "expected", "explain"):
            if matcher.n_tokens != before:
                raise Wrong(f"{name}: the matcher has moved by a call that met a limit\n{self.attack}")

    def allowed(self, matcher: Matcher) -> Any:
        """Return the allowed token ids; none if there is no mask."""
        if self.call("fill_bitmask", lambda: matcher.fill_bitmask(self.row) or True) is None:
            return ()
        bits = np.unpackbits(self.row.view(np.uint8), bitorder="little")[: self.vocabulary.size]
        found = np.nonzero(bits)[0]
        if not len(found):
            raise Wrong(f"fill_bitmask: the mask is empty\n{self.attack}")
        return found

    def do_fill(self, matcher: Matcher) -> None:
        self.allowed(matcher)

    def do_mask(self, matcher: Matcher) -> None:
        self.call("mask", matcher.mask)

    def do_step(self, matcher: Matcher, number: int, n: int) -> None:
        """Accept an allowed token, again and again while it is allowed, at most n times."""
        found = self.allowed(matcher)
        if len(found):
            ends = self.vocabulary.eos_token_ids
            some = [
                token for token in found[:: max(1, len(found) // 500)].tolist() if token not in ends
            ] or found.tolist()
            token = some[number % len(some)]
            ends = time.monotonic() + MOST_SECONDS / 4
            for index in range(n):
                answer = self.call("accept", lambda: matcher.accept(token))
                if answer is False and not index:
                    raise Wrong(f"accept: refuses token {token}, which the mask allows\n{self.attack}")
                if not answer or time.monotonic() > ends:
                    break

    def do_any(self, matcher: Matcher, token: int) -> None:
        self.call("accept", lambda: matcher.accept(token % (self.vocabulary.size + 2)))

    def do_odd(self, matcher: Matcher, number: int) -> None:
        """Call with arguments that are refused."""
        bad = [None, "a", -1, 2**40, 1.5, [1], b"a", True, 2**70][number % 9]
        calls: list[tuple[str, Callable[[], Any]]] = [
            ("accept", lambda: matcher.accept(bad)),
            ("validate", lambda: matcher.validate(bad)),
            ("validate", lambda: matcher.validate([bad, bad])),
            ("rollback", lambda: matcher.rollback(bad)),
            ("fill_bitmask", lambda: matcher.fill_bitmask(bad)),
            ("fill_bitmask", lambda: matcher.fill_bitmask(np.zeros(1, dtype=np.int32))),
            ("fill_bitmask", lambda: matcher.fill_bitmask(self.row[::2])),
            ("fill_bitmask", lambda: matcher.fill_bitmask(self.row.astype(np.int64))),
            ("explain", lambda: matcher.explain(bad)),
            ("fill_bitmasks", lambda: fill_bitmasks([matcher, bad], np.zeros((2, len(self.row)), dtype=np.int32))),
        ]
        name, work = calls[number % len(calls)]
        before = matcher.n_tokens
        rolled = name == "rollback" and bad is True
        self.call(name, work, misuse=True)
        if name != "accept" and not rolled and matcher.n_tokens != before:
            raise Wrong(f"{name}: the matcher has moved by a call with {bad!r}\n{self.attack}")

    def do_validate(self, matcher: Matcher, number: int, n: int) -> None:
        found = self.allowed(matcher)
        if len(found):
            tokens = [int(found[(number + i * i) % len(found)]) for i in range(n)]
            self.call("validate", lambda: matcher.validate(tokens))

    def do_rollback(self, matcher: Matcher, n: int) -> None:
        self.call("rollback", lambda: matcher.rollback(n % (matcher.n_tokens + 1)))

    def do_reset(self, matcher: Matcher) -> None:
        self.call("reset", matcher.reset)

    def do_fork(self, matcher: Matcher) -> None:
        fork = self.call("fork", matcher.fork)
        if fork is not None:
            self.matchers = [*self.matchers[-40:], fork]

    def do_drop(self, matcher: Matcher) -> None:
        if len(self.matchers) > 1:
            self.matchers.remove(matcher)

    def do_forced(self, matcher: Matcher) -> None:
        self.call("forced_bytes", matcher.forced_bytes)

    def do_expected(self, matcher: Matcher) -> None:
        self.call("expected", matcher.expected)

    def do_temperature(self, matcher: Matcher) -> None:
        self.call("temperature", matcher.temperature)

    def do_captures(self, matcher: Matcher) -> None:
        self.call("captures", matcher.captures)

    def do_accepting(self, matcher: Matcher) -> None:
        self.call("is_accepting", matcher.is_accepting)

    def do_explain(self, matcher: Matcher, what: Any) -> None:
        what = what % self.vocabulary.size if isinstance(what, int) else what
        found = self.call("explain", lambda: matcher.explain(what))
        if found is not None:
            self.call("str", lambda: str(found), TELLING)

    def do_describe(self, matcher: Matcher) -> None:
        self.call("repr", lambda: (repr(matcher), matcher.stats(), matcher.tokens))

    def do_batch(self, matcher: Matcher) -> None:
        rows = np.zeros((len(self.matchers), len(self.row)), dtype=np.int32)
        seconds = self.limits.seconds * len(self.matchers)
        self.call("fill_bitmasks", lambda: fill_bitmasks(self.matchers, rows), seconds)

    def do_start(self, matcher: Matcher) -> None:
        rows = np.zeros((len(self.matchers), len(self.row)), dtype=np.int32)
        filling = self.call("start_bitmasks", lambda: start_bitmasks(self.matchers, rows))
        if filling is not None:
            self.call("fill_bitmask", lambda: matcher.fill_bitmask(self.row))  # raises, for it is in use
            self.call("wait", filling.wait, self.limits.seconds * len(self.matchers))

    def do_warm(self, matcher: Matcher) -> None:
        """Make masks in the background while other calls are made."""
        self.note_warming(self.call("warm", lambda: matcher.grammar.warm(self.vocabulary, seconds=0.05)))

    def do_ahead(self, matcher: Matcher) -> None:
        self.note_warming(self.call("ahead", matcher.ahead))

    def note_warming(self, warming: Warming | None) -> None:
        if warming is not None:
            self.warmings.append(warming)

    def end_warmings(self) -> None:
        for warming in self.warmings:
            warming.stop()
            if not warming.wait(60):
                raise Wrong(f"warm: hangs\n{self.attack}")
            if warming.error is not None:
                raise Wrong(f"warm: {type(warming.error).__name__}: {warming.error}\n{self.attack}")
            self.counts["masks ahead"] += warming.stats()["masks"]

    def do_constraint(self, matcher: Matcher) -> None:
        tokens = matcher.tokens
        seconds = self.limits.load_seconds + self.limits.seconds * (len(tokens) + 1)  # it may load it again
        self.call("constraint", lambda: Constraint(matcher.grammar, self.vocabulary).mask(tokens), seconds)

    def do_deep(self, matcher: Matcher, left: int) -> None:
        """Make calls from within so many others that Python allows only `left` more."""
        frame, depth = sys._getframe(), 0
        while frame.f_back is not None:
            frame, depth = frame.f_back, depth + 1

        def deep(n: int, work: Callable[[], Any]) -> Any:
            return deep(n - 1, work) if n > 0 else work()

        n = sys.getrecursionlimit() - depth - left
        for name, work in (
            ("fill_bitmask", lambda: matcher.fill_bitmask(self.row)),
            ("explain", lambda: matcher.explain("x")),
            ("captures", matcher.captures),
            ("expected", matcher.expected),
        ):
            self.call(name, lambda work=work: deep(n, work))  # type: ignore[misc]

    def do_threads(self, matcher: Matcher, number: int) -> None:
        """Use one matcher in three threads at once: each call answers, or says that another one has not returned."""
        wrong: list[str] = []

        def work(index: int) -> None:
            rng = Random(number + index)
            row = self.row.copy()
            for _ in range(8):
                try:
                    rng.choice(
                        [
                            lambda: matcher.fill_bitmask(row),
                            lambda: matcher.accept(rng.randrange(self.vocabulary.size)),
                            lambda: matcher.fork().fill_bitmask(row),
                            matcher.expected,
                            matcher.forced_bytes,
                            lambda: matcher.validate([rng.randrange(self.vocabulary.size)]),
                            lambda: repr(matcher),
                            lambda: matcher.rollback(min(1, matcher.n_tokens)),
                        ]
                    )()
                except LimitError:
                    break
                except MatcherInUseError:
                    pass
                except ValueError as error:
                    if "roll" not in str(error):  # another thread has taken the last token back
                        wrong.append(f"{type(error).__name__}: {error}")
                except Exception as error:
                    wrong.append(f"{type(error).__name__}: {error}")

        threads = [threading.Thread(target=work, args=(index,)) for index in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.counts["calls"] += 24
        if wrong:
            raise Wrong(f"threads: {wrong[0]}\n{self.attack}")
