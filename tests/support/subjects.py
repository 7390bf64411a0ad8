"""Matchers beside the tokens that they must have accepted, for tests that call them in any order."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from random import Random

import numpy as np
import numpy.typing as npt

from earleymask import LimitError, Matcher
from support.strategies import choose_token
from support.worlds import Expected, World


class Subject:
    """A matcher, the history that it must have, and whether an error must have ended it."""

    def __init__(self, world: World, eos: tuple[int, ...]) -> None:
        self.world = world
        self.eos = eos
        self.matcher = world.matcher(eos)
        self.history: list[int] = []
        self.is_ended = False

    def like(self, matcher: Matcher) -> Subject:
        """Return another matcher that must be at the same place."""
        other = Subject.__new__(Subject)
        other.world, other.eos, other.matcher = self.world, self.eos, matcher
        other.history, other.is_ended = list(self.history), self.is_ended
        return other

    def pickled(self) -> Subject:
        """Return what comes out of a pickle, which does not have the error."""
        other = self.like(pickle.loads(pickle.dumps(self.matcher)))
        other.is_ended = False
        return other

    # -- what must be true

    def expected(self) -> Expected:
        if self.is_ended:
            return Expected(self.eos_alone(), False, True)
        return self.world.expected(self.history, self.eos)

    def eos_alone(self) -> npt.NDArray[np.bool_]:
        mask = np.zeros(self.world.vocabulary.size, np.bool_)
        mask[list(self.eos)] = True
        return mask

    def allows(self, path: Sequence[int], token: int) -> bool:
        """Tell whether a token may come after the history and these. Raises LimitError if that takes too much."""
        return not self.is_ended and self.world.allows([*self.history, *path], token, self.eos)

    def allowed(self, tokens: Sequence[int]) -> int:
        """Return how many of these tokens may come next, one after the other. Raises LimitError likewise."""
        for n, token in enumerate(tokens):
            if not self.allows(tokens[:n], token):
                return n
        return len(tokens)

    # -- what is chosen

    def some_tokens(self, rng: Random, n: int, share: float = 0.9) -> list[int]:
        """Choose at most n tokens, each with this probability one that is allowed after those before it, if there is
        one. After one that is not allowed there is none."""
        chosen: list[int] = []
        for _ in range(n):
            mask = self.world.expected([*self.history, *chosen], self.eos).mask
            allowed = [] if mask is None or rng.random() >= share else np.flatnonzero(mask).tolist()
            if allowed:
                some = rng.sample(allowed, min(20, len(allowed)))
                chosen.append(choose_token(rng, some, {token: self.world.tokens[token] for token in some}))
            else:
                chosen.append(rng.randrange(self.world.vocabulary.size))
                if mask is None or not mask[chosen[-1]]:
                    break
        return chosen

    # -- what is compared

    def check(self) -> None:
        """Compare everything but the mask."""
        expected, matcher = self.expected(), self.matcher
        assert matcher.tokens == self.history and matcher.n_tokens == len(self.history)
        assert matcher.eos_token_ids == self.eos
        assert (matcher.error is not None) == self.is_ended
        assert matcher.is_accepting() == expected.is_accepting, self
        assert matcher.is_finished() == expected.is_finished, self

    def check_row(self, row: npt.NDArray[np.int32], mask: npt.NDArray[np.bool_] | None) -> None:
        """Compare a row with a mask; None: all of its bits must be set."""
        bits = np.unpackbits(row.view(np.uint8), bitorder="little").view(np.bool_)
        size = self.world.vocabulary.size
        if mask is None:
            assert bits.all(), self
            return
        wrong = np.flatnonzero(bits[:size] != mask)
        assert not len(wrong), (self, [(int(token), self.world.tokens[token]) for token in wrong[:8]])
        assert not bits[size:].any(), self

    def check_mask(self) -> None:
        """Fill a row and compare it, also if an error has ended the sequence or will be raised."""
        row = np.full(-(-self.world.vocabulary.size // 32) + 1, -1, np.int32)
        mask = self.expected().mask
        try:
            self.matcher.fill_bitmask(row)
        except LimitError:
            assert mask is None, self
        else:
            assert mask is not None, self
            self.check_row(row, mask)

    def __repr__(self) -> str:
        ended = ", ended" if self.is_ended else ""
        return f"<{self.world.name} {[self.world.tokens[token] for token in self.history]}, eos {self.eos}{ended}>"
