"""Engine and twin side by side: every step is made on both, and a disagreement raises a `Difference`.

Property tests and the campaign use this, so each of their examples also compares masks, `accept`, and the ends of
sequences, whatever else it is about.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import numpy as np
import numpy.typing as npt
from lark.exceptions import LarkError

from earleymask import Grammar, Matcher, Vocabulary
from support.mask_paths import filled, walked
from support.refusals import Skipped, general, loaded
from support.strategies import choose_token
from support.twin import EmptyLanguage, Node, Twin, TwinMatcher, Unsupported, dict_trie


@dataclass
class Difference(AssertionError):
    """A disagreement of engine and twin, with all that is needed to reproduce it."""

    what: str
    grammar: str
    tokens: tuple[bytes | str, ...] = ()

    def __str__(self) -> str:
        return f"{self.what}\nafter {list(self.tokens)}\nin the grammar\n{self.grammar}"


@dataclass
class Loaded:
    """A grammar, loaded by both sides."""

    text: str
    twin: Twin
    grammar: Grammar


def load(text: str, make: Callable[[], Grammar] | None = None, read: Callable[[], Twin] | None = None) -> Loaded:
    """Load a grammar on both sides, which must agree on whether it has any sentence.

    `make` and `read` load it for the engine and for the twin if `text` is not in Lark's syntax for that side.
    """
    try:
        twin = read() if read else Twin.from_lark(text)
    except (LarkError, Unsupported, AssertionError, KeyError) as error:
        raise Skipped(f"oracle: {general(str(error))}") from None
    except EmptyLanguage:
        twin = None
    try:
        grammar = loaded(make or (lambda: Grammar.from_lark(text)))
    except Skipped:
        raise
    except Exception as error:
        raise Difference(f"the engine does not load it: {error!r}", text) from error
    if twin is None and grammar is None:
        raise Skipped("no sentence: both sides say so")
    if twin is None:
        raise Difference("the engine loads a grammar without sentences", text)
    if grammar is None:
        raise Difference("the engine finds no sentence", text)
    return Loaded(text, twin, grammar)


class Pair:
    """A matcher of the engine and one of the twin, always at the same position."""

    def __init__(self, loaded: Loaded, vocabulary: Vocabulary, trie: Node | None = None) -> None:
        self.loaded = loaded
        self.vocabulary = vocabulary
        self.matcher = Matcher(loaded.grammar, vocabulary)
        self.twin = TwinMatcher(loaded.twin, vocabulary, trie if trie is not None else dict_trie(vocabulary))

    def fork(self) -> Pair:
        other = copy.copy(self)
        other.matcher, other.twin = self.matcher.fork(), self.twin.fork()
        return other

    def rollback(self, n: int) -> None:
        self.matcher.rollback(n)
        self.twin.rollback(n)
        self.check_ends()

    def spelled(self) -> tuple[bytes | str, ...]:
        names = {i: name for name, i in self.vocabulary.special_tokens.items()}
        return tuple(names[t] if t in names else self.vocabulary.token_bytes(t) for t in self.twin.tokens)

    def fail(self, what: str) -> Difference:
        return Difference(what, self.loaded.text, self.spelled())

    def mask(self) -> npt.NDArray[np.bool_]:
        """Return the mask, after a check that twin and engine agree: `mask`, `fill_bitmask` and `walk_bitmask`.

        It must not be empty if the vocabulary has every byte, for then any viable prefix can be continued.
        """
        expected = self.twin.mask()
        ways = {"mask": Matcher.mask, "fill_bitmask": filled, "walk_bitmask": walked}
        for name, way in ways.items():
            try:
                mask = way(self.matcher)
            except Exception as error:
                raise self.fail(f"{name}() raises {error!r}") from error
            if not np.array_equal(mask, expected):
                raise self.fail(f"{name}(): {self._explain(mask, expected)}")
        if not expected.any() and not self.vocabulary.missing_bytes:
            raise self.fail("an empty mask at a live position")
        return expected

    def _explain(self, mask: npt.NDArray[np.bool_], expected: npt.NDArray[np.bool_]) -> str:
        if mask.shape != expected.shape:
            return f"a mask of shape {mask.shape} for {expected.shape}"

        def some(ids: npt.NDArray[np.intp]) -> str:
            return f"{len(ids)}: " + ", ".join(f"{i} {self.vocabulary.token_bytes(int(i))!r}" for i in ids[:8])

        refused, allowed = np.flatnonzero(expected & ~mask), np.flatnonzero(mask & ~expected)
        return f"masks differ; wrongly refused {some(refused)}; wrongly allowed {some(allowed)}"

    def accept(self, token_id: int) -> bool:
        """Offer a token to both sides; return whether they accept it."""
        expected = self.twin.accept(token_id)
        if expected:
            self.twin.tokens.pop()  # a report shows the text before the token
            history = self.twin._history.pop()
        try:
            accepted = self.matcher.accept(token_id)
        except Exception as error:
            raise self.fail(f"accept({token_id}) raises {error!r}") from error
        if accepted != expected:
            data = self.vocabulary.token_bytes(token_id) if 0 <= token_id < self.vocabulary.size else b""
            raise self.fail(f"accept({token_id}), bytes {data!r}, says {accepted}")
        if expected:
            self.twin.tokens.append(token_id)
            self.twin._history.append(history)
        self.check_ends()
        return accepted

    def check_ends(self) -> None:
        for name in ("is_accepting", "is_finished"):
            ours, theirs = getattr(self.matcher, name)(), getattr(self.twin, name)()
            if ours != theirs:
                raise self.fail(f"{name}() says {ours}")
        if self.matcher.tokens != self.twin.tokens:
            raise self.fail(f"tokens {self.matcher.tokens}, expected {self.twin.tokens}")

    def next_token(self, rng: Random, mask: npt.NDArray[np.bool_]) -> int | None:
        """Choose a token of the mask that is not EOS; None if there is none."""
        allowed = [int(i) for i in np.flatnonzero(mask) if int(i) not in self.vocabulary.eos_token_ids]
        if not allowed:
            return None
        return choose_token(rng, allowed, {t: self.vocabulary.token_bytes(t) for t in allowed})


def walk(pair: Pair, rng: Random, n_tokens: int) -> int:
    """Walk at random for up to `n_tokens` tokens and compare every mask; return how many masks there were."""
    for n in range(n_tokens):
        token_id = pair.next_token(rng, pair.mask())
        if token_id is None:
            return n + 1
        pair.accept(token_id)
    return n_tokens
