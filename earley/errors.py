"""Errors of matching: a limit was reached, or a sequence of tokens is not allowed."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

from ..trie.errors import EarleymaskError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .explanation import Explanation


class LimitError(EarleymaskError):
    """A call needs more work or memory than its limits allow; the message names the limit.

    The object that raised the error is as it was before the call.

    Attributes:
        limit: the field of `Limits` that was reached; "" if the limit is a constant (docs/limits.md lists these).
    """

    # No `__init__`: compiled code makes this error while it holds locks. In a function of Python the handler of a
    # signal could run, and wait for such a lock for ever.
    limit = ""

    def at_limit(self, limit: str) -> LimitError:
        """Set `limit`. Return this error."""
        self.limit = limit
        return self


def too_deep() -> LimitError:
    """Return the error for a call that meets Python's own limit of calls within each other (RecursionError)."""
    return LimitError(
        f"this takes more calls within each other than Python allows ({sys.getrecursionlimit():,}, see "
        "sys.setrecursionlimit): simplify the grammar, or make the call from a function that is called less deeply"
    )


class DeadlineError(EarleymaskError):
    """A mask is due before it is complete. Never raised to callers: `fill_bitmask` writes a partial mask then."""


class MatcherCancelledError(EarleymaskError):
    """Another thread has called `Matcher.cancel` while a call of the matcher was running.

    The matcher is as it was before the call, and can be used again.
    """


def ends_sequence(error: BaseException) -> bool:
    """Return whether an error of a mask ends the sequence if it is to (`on_error="end"`): not if it says nothing about
    the sequence, because another call caused it, or the handler of a signal has raised it."""
    is_of_others = isinstance(error, (MatcherInUseError, MatcherCancelledError)) or not isinstance(error, Exception)
    return not is_of_others and not getattr(error, "_is_of_handler", False) and not _is_of_handler(error)


def _is_of_handler(error: BaseException) -> bool:
    """Return whether the handler of a signal is among the calls that an error has ended: where a mask runs code in
    Python, Python calls handlers by itself."""
    handlers = {getattr(signal.getsignal(number), "__code__", None) for number in signal.valid_signals()}
    place = error.__traceback__
    while place is not None:
        if place.tb_frame.f_code in handlers:
            return True
        place = place.tb_next
    return False


class SnapshotError(EarleymaskError, ValueError):
    """No matcher can be made of a snapshot.

    Attributes:
        cause: "grammar" or "vocabulary" if the snapshot was taken with another one; "version" if another version of the
            format wrote it; "damaged" if it is no snapshot, or not whole, or was changed.
    """

    cause = ""


class BudgetError(EarleymaskError):
    """A sequence may have fewer tokens than it needs to be finished; the matcher is as it was before the call.

    Attributes:
        remaining: the tokens that may still come, EOS included; None if the call was not about a number.
        needed: the tokens with which a sentence can be finished, EOS included; None if no such number is known.
    """

    # No `__init__`: see `LimitError`.
    remaining: int | None = None
    needed: int | None = None


def beyond_budget(remaining: int | None, needed: int | None, missing: bytes) -> BudgetError:
    """Return the error of a sequence that needs `needed` tokens; there are no tokens for the bytes `missing`."""
    if needed is None:
        error = BudgetError(
            "no way to finish a sentence was found that is spelled in tokens of this vocabulary"
            + (f", which has no token for any of {len(missing)} bytes, such as {missing[:8]!r}" if missing else "")
            + "; give no budget, or a grammar that has a short sentence"
        )
    else:
        error = BudgetError(
            f"{remaining} tokens may still come, and the sentence needs {needed} to be finished, EOS included. Allow "
            f"at least {needed}, or give a budget from the first token on: at the start, tokens_to_finish() says how "
            "many that must be"
        )
    error.remaining, error.needed = remaining, needed
    return error


class MatcherInUseError(EarleymaskError, RuntimeError):
    """A matcher is called while another call of it has not returned: by another thread, or from within that call.

    Neither call has an effect on the other. Each thread needs a matcher of its own; `Matcher.fork` makes one.

    A finalizer (`__del__`) may make a call within a call of another matcher. Its call raises this error, too, if both
    matchers have the same grammar, or if the outer call is changing what all grammars over their vocabulary share.
    """


class RejectedTokenError(EarleymaskError, ValueError):
    """The grammar does not allow a given sequence of tokens.

    Attributes:
        index: position of the first token that is not allowed, within the given sequence.
        token_id: that token.
    """

    def __init__(self, message: str, *, index: int, token_id: int) -> None:
        super().__init__(message)
        self.index = index
        self.token_id = token_id
        self._explain: Callable[[], Explanation] | None = None
        self._explanation: Explanation | None = None

    def explained_by(self, explain: Callable[[], Explanation]) -> RejectedTokenError:
        """Set what makes the explanation. Return this error."""
        self._explain = explain
        return self

    @property
    def explanation(self) -> Explanation | None:
        """Why the token is not allowed, as `Matcher.explain` says it. It is computed when it is first read, from the
        tokens before this one: what has been done with a matcher since does not matter. None if the error was pickled
        before that."""
        if self._explanation is None and self._explain is not None:
            self._explanation = self._explain()
        return self._explanation

    def __reduce__(self) -> tuple[object, ...]:
        return _rejected, (str(self), self.index, self.token_id, self._explanation)


def _rejected(message: str, index: int, token_id: int, explanation: Explanation | None = None) -> RejectedTokenError:
    """Make the error from its pickle: `Exception` itself does not pickle keyword arguments."""
    error = RejectedTokenError(message, index=index, token_id=token_id)
    error._explanation = explanation
    return error
