"""Errors of matching: a limit was reached, or a sequence of tokens is not allowed."""

from ..trie.errors import EarleymaskError


class LimitError(EarleymaskError):
    """A call needs more work or memory than its limits allow; the message names the limit.

    The object that raised the error is as it was before the call.

    Attributes:
        limit: the field of `Limits` that was reached; "" if the limit is a constant (docs/limits.md lists these).
    """

    limit = ""

    def __init__(self, *args: object, limit: str = "") -> None:
        super().__init__(*args)
        if limit:
            self.limit = limit


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

    def __reduce__(self) -> tuple[object, ...]:
        return _rejected, (str(self), self.index, self.token_id)


def _rejected(message: str, index: int, token_id: int) -> RejectedTokenError:
    """Make the error from its pickle: `Exception` itself does not pickle keyword arguments."""
    return RejectedTokenError(message, index=index, token_id=token_id)
