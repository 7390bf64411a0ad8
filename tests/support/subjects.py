"""Matchers beside the tokens that they must have accepted, for tests that call them in any order."""

from __future__ import annotations

import pickle
import re
from collections.abc import Sequence
from random import Random

import numpy as np
import numpy.typing as npt
import pytest

from earleymask import BudgetError, LimitError, Matcher, VocabularyError
from support.strategies import choose_token
from support.worlds import Expected, Trap, World


def bits_of(row: npt.NDArray[np.int32]) -> npt.NDArray[np.bool_]:
    """Return the bits of a row, 32 of each word."""
    return np.unpackbits(row.view(np.uint8), bitorder="little").view(np.bool_)


def within(matcher: Matcher, n: int) -> npt.NDArray[np.bool_]:
    """Return the mask of a matcher that may accept `n` tokens more."""
    row = np.full(-(-matcher.vocabulary.size // 32) + 1, -1, np.int32)
    matcher.fill_bitmask(row, remaining=n)
    bits = bits_of(row)
    assert not bits[matcher.vocabulary.size :].any()
    return bits[: matcher.vocabulary.size]


class Subject:
    """A matcher, the history that it must have, and whether an error must have ended it."""

    def __init__(self, world: World, eos: tuple[int, ...]) -> None:
        self.world = world
        self.eos = eos
        self.matcher = world.matcher(eos)
        self.history: list[int] = []
        self.is_ended = False
        self.has_encode = True

    def like(self, matcher: Matcher) -> Subject:
        """Return another matcher that must be at the same place."""
        other = Subject.__new__(Subject)
        other.world, other.eos, other.matcher = self.world, self.eos, matcher
        other.history, other.is_ended = list(self.history), self.is_ended
        other.has_encode = self.has_encode
        return other

    def pickled(self) -> Subject:
        """Return what comes out of a pickle, which has neither the error nor the tokenizer."""
        other = self.like(pickle.loads(pickle.dumps(self.matcher)))
        other.is_ended = other.has_encode = False
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

    def replayed(self) -> Matcher:
        """Return a new matcher of another grammar object with this history, which no error has ended."""
        return self.world.replayed(self.history, self.eos)

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
        bits = bits_of(row)
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

    def check_budget(self, more: int, rng: Random) -> None:
        """Compare masks of `more` tokens than are needed, and of one less than these; finish a fork within them."""
        needed = self.check_needed()
        if needed is None:
            return
        n = needed + more
        if self.is_ended:
            assert np.array_equal(within(self.matcher, n), self.eos_alone())
            return
        try:
            expected = within(self.replayed(), n)
        except LimitError:  # a rule that no mask needs, but the count of a token of the mask
            assert isinstance(self.world, Trap)
            with pytest.raises(LimitError):
                within(self.matcher, n)
            return
        allowed, plain = within(self.matcher, n), self.expected().mask
        assert plain is not None and not (allowed & ~plain).any() and allowed.any(), self
        assert np.array_equal(allowed, expected), (self, n)
        if needed:
            with pytest.raises(BudgetError) as caught:
                within(self.matcher, needed - 1)
            assert (caught.value.remaining, caught.value.needed) == (needed - 1, needed)
        fork = self.matcher.fork()
        while not fork.is_finished():
            assert 0 < fork.tokens_to_finish() <= n, (self, fork.tokens)
            allowed = within(fork, n)
            assert allowed.any(), (self, fork.tokens)
            assert fork.accept(rng.choice(np.flatnonzero(allowed).tolist()))
            n -= 1
        assert n >= 0 and fork.is_accepting()

    def check_needed(self) -> int | None:
        """Compare the number of tokens that are needed, and return it; None if a replay has none."""
        if self.is_ended:
            assert self.matcher.tokens_to_finish() == 0
            return 0
        try:
            expected = self.replayed().tokens_to_finish()
        except (BudgetError, LimitError) as error:
            with pytest.raises(type(error), match=re.escape(str(error))):
                self.matcher.tokens_to_finish()
            return None
        assert self.matcher.tokens_to_finish() == expected, self
        return None if self.expected().mask is None else expected

    def end_by_budget(self) -> None:
        """Allow one token less than is needed, which ends the sequence."""
        needed = self.check_needed()
        if not needed:
            return
        row = np.full(-(-self.world.vocabulary.size // 32), -1, np.int32)
        self.matcher.fill_bitmask(row, "end", needed - 1)
        self.is_ended = True
        assert self.matcher.error is not None
        self.check_row(row, self.eos_alone())

    def check_part(self, seconds: float) -> None:
        """Compare a mask that is due after this time: a part of the mask, and the mask if it is said to be complete."""
        row = np.full(-(-self.world.vocabulary.size // 32) + 1, -1, np.int32)
        mask = self.expected().mask
        for _ in range(50):  # a machine that is busy may find nothing in time
            try:
                is_complete = self.matcher.fill_bitmask(row, seconds=seconds)
            except LimitError:
                assert (row == -1).all()
                if mask is None:
                    return
                continue
            assert mask is not None, self
            if is_complete:
                self.check_row(row, mask)
            found = bits_of(row)
            assert not found[len(mask) :].any()
            assert found.any() and not (found[: len(mask)] & ~mask).any(), self
            return
        raise AssertionError(f"nothing is found in time: {self!r}")

    def check_forced(self, rng: Random) -> None:
        """Compare the forced tokens with a replay's, and with the tokenizer's cut of a text that a fork finishes."""
        if not self.has_encode:
            with pytest.raises(VocabularyError, match="a pickle does not keep it"):
                self.matcher.forced_tokens()
            return
        if self.is_ended:
            assert self.matcher.forced_tokens() == []
            return
        try:
            expected = self.replayed().forced_tokens()
        except LimitError:
            with pytest.raises(LimitError):
                self.matcher.forced_tokens()
            return
        forced = self.matcher.forced_tokens()
        assert forced == expected, self
        if not forced:
            return
        assert self.matcher.validate(forced) == len(forced), (self, forced)
        fork = self.matcher.fork()
        assert fork.accept_tokens(forced) == len(forced)
        n = fork.tokens_to_finish() + rng.randrange(8)
        while not fork.is_finished():
            fork.accept(rng.choice(np.flatnonzero(within(fork, n)).tolist()))
            n -= 1
        # The piece of text that has the forced tokens: special tokens are no text.
        tokens, n_known = fork.tokens, len(self.history) + len(forced)
        silent = [at for at, token in enumerate(tokens) if not self.is_text(token)]
        begin = max((at + 1 for at in silent if at < n_known), default=0)
        end = min(at for at in silent if at >= n_known)
        encode = self.world.vocabulary.encode
        assert encode is not None
        cut = encode(b"".join(self.world.tokens[token] for token in tokens[begin:end]).decode())
        assert list(cut)[: n_known - begin] == tokens[begin:n_known], (self, forced, tokens[begin:end])

    def is_text(self, token: int) -> bool:
        return token not in self.eos and token not in self.world.vocabulary.special_token_ids

    def __repr__(self) -> str:
        ended = ", ended" if self.is_ended else ""
        return f"<{self.world.name} {[self.world.tokens[token] for token in self.history]}, eos {self.eos}{ended}>"
