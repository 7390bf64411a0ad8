"""`Constraint`: from the token ids generated so far to the mask of the next token.

It is for callers with a generation loop of their own. Each call gives the whole sequence, called *history*, so the
caller keeps no state. `Histories` finds the remembered matcher that is nearest to it.
"""

from __future__ import annotations

import os
import threading
from array import array
from collections.abc import Callable, Sequence
from functools import partial
from operator import index as as_index
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar
from weakref import WeakSet

import numpy as np

from .arguments import as_grammar, as_vocabulary
from .earley import Matcher
from .errors import RejectedTokenError
from .histories import KEY_BYTES, Histories, advance, history_key
from .trie import Vocabulary

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch

    from .arguments import GrammarLike

    TokenIds: TypeAlias = Sequence[int] | npt.NDArray[np.integer[Any]] | torch.Tensor

T = TypeVar("T")


class Constraint:
    """Masks for any history of one grammar.

    Args:
        grammar: a `Grammar`, or what one can be made of: the text of a grammar in Lark's syntax or in GBNF, a JSON
            Schema or a structural tag (a dict or its text), a type (as `Grammar.from_type` takes it), a compiled
            regular expression, a `lark.Lark`.
        vocabulary: the model's vocabulary; without one, the 256 single bytes and EOS (`Vocabulary.bytes()`).

    Several threads may use one. It can be pickled. It keeps a matcher at each of the 64 histories that were used last,
    so a call looks for the nearest of them and accepts the tokens that are new. A history that was dropped is matched
    from the nearest remembered one, or from its beginning.
    """

    def __init__(self, grammar: GrammarLike, vocabulary: Vocabulary | None = None) -> None:
        self.vocabulary = Vocabulary.bytes() if vocabulary is None else as_vocabulary(vocabulary)
        self.grammar = as_grammar(grammar, self.vocabulary)
        self._histories = Histories(Matcher(self.grammar, self.vocabulary))
        # Guards `_histories` only: no other thread has the matcher that was taken out, so its mask needs no lock.
        self._lock = threading.Lock()
        _known.add(self)

    def mask(self, tokens: TokenIds = ()) -> npt.NDArray[np.bool_]:
        """Return which tokens may come next: a new array of shape `(vocabulary.size,)`, True where allowed.

        Args:
            tokens: the ids generated so far, without prompt and BOS: a list, a tuple, a numpy array or a torch tensor.

        Raises:
            RejectedTokenError: the grammar does not allow `tokens`; `index` is that of the first token that it rejects.
                The constraint can still be used.
        """
        return self._at(tokens, lambda matcher: matcher.mask())

    def fill_bitmask(self, tokens: TokenIds, row: npt.NDArray[np.int32] | torch.Tensor) -> None:
        """Write the mask into `row` as packed bits; `row` has at least `ceil(vocabulary.size / 32)` int32 words.

        Bit `t & 31` of word `t >> 5` is set if token `t` is allowed. All other bits of the row are cleared.
        """
        self._at(tokens, lambda matcher: matcher.fill_bitmask(row))

    def matcher(self, tokens: TokenIds = ()) -> Matcher:
        """Return a new matcher that has accepted `tokens`."""
        return self._at(tokens, lambda matcher: matcher.fork())

    def _at(self, tokens: TokenIds, read: Callable[[Matcher], T]) -> T:
        """Call `read` with a matcher that has accepted `tokens`, and return its result."""
        ids = as_token_ids(tokens)
        outside = (ids < 0) | (ids >= self.vocabulary.size)
        n_known = int(outside.argmax()) if outside.any() else len(ids)
        key = history_key(ids[:n_known])
        with self._lock:
            matcher = self._histories.take(key)
        try:
            n_accepted = advance(matcher, ids[:n_known])
            if n_accepted < len(ids):
                error = self._rejected(n_accepted, int(tokens[n_accepted]))
                fork = matcher.fork()  # the matcher moves on
                raise error.explained_by(partial(fork.explain, error.token_id))
            return read(matcher)
        finally:
            # Also after an error: the tokens that were accepted before it are a history, too.
            with self._lock:
                self._histories.put(matcher, key[: matcher.n_tokens * KEY_BYTES])

    def _rejected(self, index: int, token_id: int) -> RejectedTokenError:
        if not 0 <= token_id < self.vocabulary.size:
            why = f"is outside the vocabulary, whose ids are 0 to {self.vocabulary.size - 1}"
        elif token_id in self.vocabulary.special_token_ids:
            why = "is a special token that the grammar does not allow there"
        elif spelled := self.vocabulary.token_bytes(token_id):
            why = f"spells {spelled!r}, which the grammar does not allow there"
        else:
            why = "has no bytes, so no grammar allows it"
        return RejectedTokenError(f"token {token_id} at index {index} {why}", index=index, token_id=token_id)

    def _renew(self) -> None:
        """Make it usable in a forked child, where a thread that changed the histories would never end doing so."""
        if self._lock.locked():
            self._histories = Histories(self._histories.root)
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[object, ...]:
        return Constraint, (self.grammar, self.vocabulary)

    def __repr__(self) -> str:
        return f"Constraint({self.grammar!r}, {self.vocabulary!r})"


_known: WeakSet[Constraint] = WeakSet()


def _renew_all() -> None:
    for constraint in list(_known):
        constraint._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_all)


def as_token_ids(tokens: TokenIds) -> npt.NDArray[np.integer[Any]]:
    """Return the ids as a one-dimensional integer array, a view of `tokens` if possible.

    Ids that no vocabulary can have become -1.
    """
    if isinstance(tokens, list | tuple):
        try:
            # PERF: 12 ns a token; `np.asarray` takes 21 and lets floats in.
            packed = np.frombuffer(array("q", tokens), np.int64) if tokens else np.empty(0, np.int64)
        except OverflowError:
            _refuse_bools(tokens)
            return np.array([token_id if 0 <= as_index(token_id) < 2**31 else -1 for token_id in tokens], np.int64)
        except TypeError as error:
            raise TypeError(f"token ids must be integers: {error}") from None
        if (packed <= 1).any():  # a bool is 0 or 1, so most sequences need no search
            _refuse_bools(tokens)
        return packed
    if hasattr(tokens, "detach"):  # a torch tensor, on any device; torch may not be imported here
        tokens = tokens.detach().cpu().numpy()
    ids = np.asarray(tokens)
    if ids.shape == (0,):
        return np.empty(0, np.int64)  # numpy makes floats of an empty list
    if ids.dtype.kind not in "iu":
        raise TypeError(f"token ids must be integers, got {type(tokens).__name__} of {ids.dtype}")
    if ids.ndim != 1:
        raise ValueError(f"token ids must be one sequence, got shape {ids.shape}; give one row at a time")
    return ids


def _refuse_bools(tokens: Sequence[object]) -> None:
    """Refuse bools, which Python takes for integers: the caller has given a mask instead of ids."""
    if any(isinstance(token_id, bool | np.bool_) for token_id in tokens):
        raise TypeError("token ids must be integers, got bools")
