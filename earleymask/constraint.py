"""`Constraint`: token ids generated so far in, the mask of the next token out.

The one object for those who keep their own generation loop. It has no position that a caller must keep in step: every
call names the whole history, and `Histories` finds the matcher that is nearest to it.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Sequence
from operator import index as as_index
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

from .arguments import as_grammar, as_vocabulary
from .earley import Matcher
from .errors import RejectedTokenError
from .grammar import Grammar
from .histories import KEY_BYTES, Histories, advance, history_key
from .trie import Vocabulary

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch

    TokenIds: TypeAlias = Sequence[int] | npt.NDArray[np.integer[Any]] | torch.Tensor

T = TypeVar("T")


class Constraint:
    """Masks for any history of one grammar.

    Args:
        grammar: Lark grammar text, or a `Grammar`.
        vocabulary: the model's vocabulary; without one, the 256 single bytes and EOS (`Vocabulary.bytes()`).

    Safe to use from several threads, and picklable. It remembers the 64 most recently asked histories, so a call
    costs one comparison of the history with those, plus what is new in it; what is forgotten only costs time.
    """

    def __init__(self, grammar: str | Grammar, vocabulary: Vocabulary | None = None) -> None:
        self.grammar = as_grammar(grammar)
        self.vocabulary = Vocabulary.bytes() if vocabulary is None else as_vocabulary(vocabulary)
        self._histories = Histories(Matcher(self.grammar, self.vocabulary))
        # Guards `_histories` alone: a matcher that was taken out belongs to its thread, so masks are walked without
        # the lock.
        self._lock = threading.Lock()

    def mask(self, tokens: TokenIds = ()) -> npt.NDArray[np.bool_]:
        """Which tokens may come next: a new array of shape `(vocabulary.size,)`, True where allowed.

        Args:
            tokens: the ids generated so far, without prompt and BOS: a list, a tuple, a numpy array or a torch tensor.

        Raises:
            RejectedTokenError: the grammar does not allow `tokens`; `index` says which is the first that it rejects.
                The constraint stays as usable as before.
        """
        return self._at(tokens, lambda matcher: matcher.mask())

    def fill_bitmask(self, tokens: TokenIds, row: npt.NDArray[np.int32] | torch.Tensor) -> None:
        """The same mask as packed bits, written into `row`: int32, at least `ceil(vocabulary.size / 32)` words.

        Bit `t & 31` of word `t >> 5` is set where token `t` is allowed; all others, tail bits included, are cleared.
        """
        self._at(tokens, lambda matcher: matcher.fill_bitmask(row))

    def matcher(self, tokens: TokenIds = ()) -> Matcher:
        """A matcher of the caller's own that stands at the end of `tokens`."""
        return self._at(tokens, lambda matcher: matcher.fork())

    def _at(self, tokens: TokenIds, read: Callable[[Matcher], T]) -> T:
        """What `read` makes of the matcher at the end of `tokens`."""
        ids = as_token_ids(tokens)
        outside = (ids < 0) | (ids >= self.vocabulary.size)
        n_known = int(outside.argmax()) if outside.any() else len(ids)
        key = history_key(ids[:n_known])
        with self._lock:
            matcher = self._histories.take(key)
        try:
            n_accepted = advance(matcher, ids[:n_known])
            if n_accepted < len(ids):
                raise self._rejected(n_accepted, int(tokens[n_accepted]))
            return read(matcher)
        finally:
            # Also after an error: what was accepted until then is a history like any other.
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
            why = "spells nothing, and is therefore never allowed"
        return RejectedTokenError(f"token {token_id} at index {index} {why}", index=index, token_id=token_id)

    def __reduce__(self) -> tuple[object, ...]:
        return Constraint, (self.grammar, self.vocabulary)

    def __repr__(self) -> str:
        return f"Constraint({self.grammar!r}, {self.vocabulary!r})"


def as_token_ids(tokens: TokenIds) -> npt.NDArray[np.integer[Any]]:
    """A one-dimensional integer array of the ids; a view of `tokens` where that is possible.

    Ids that no vocabulary can have come out as -1.
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
        if (packed <= 1).any():  # bools become 0 and 1; where there is neither, none need be looked for
            _refuse_bools(tokens)
        return packed
    if hasattr(tokens, "detach"):  # a torch tensor, of any device; torch itself need not be imported to tell
        tokens = tokens.detach().cpu().numpy()
    ids = np.asarray(tokens)
    if ids.shape == (0,):
        return np.empty(0, np.int64)  # numpy takes an empty list for floats
    if ids.dtype.kind not in "iu":
        raise TypeError(f"token ids must be integers, got {type(tokens).__name__} of {ids.dtype}")
    if ids.ndim != 1:
        raise ValueError(f"token ids must be one sequence, got shape {ids.shape}; ask for one row at a time")
    return ids


def _refuse_bools(tokens: Sequence[object]) -> None:
    """A mask given instead of ids is a mistake, though Python takes its bools for integers."""
    if any(isinstance(token_id, bool | np.bool_) for token_id in tokens):
        raise TypeError("token ids must be integers, got bools")
