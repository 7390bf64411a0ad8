"""Errors of matching: a limit reached, a history that the grammar rejects."""

from ..trie.errors import EarleymaskError


class LimitError(EarleymaskError):
    """One call would need more work or memory than its limits allow; the message names the limit.

    The object that raised it is as it was before the call.

    Attributes:
        limit: the field of `Limits` that was met; "" where it is a constant (docs/limits.md lists them).
    """

    limit = ""

    def __init__(self, *args: object, limit: str = "") -> None:
        super().__init__(*args)
        if limit:
            self.limit = limit


class RejectedTokenError(EarleymaskError, ValueError):
    """A given sequence of tokens is no viable prefix of the grammar.

    Attributes:
        index: position in the given sequence of the first token that is not allowed.
        token_id: that token.
    """

    def __init__(self, message: str, *, index: int, token_id: int) -> None:
        super().__init__(message)
        self.index = index
        self.token_id = token_id

    def __reduce__(self) -> tuple[object, ...]:
        return _rejected, (str(self), self.index, self.token_id)


def _rejected(message: str, index: int, token_id: int) -> RejectedTokenError:
    """Rebuild the error from its pickle: `Exception` alone does not carry keyword arguments over."""
    return RejectedTokenError(message, index=index, token_id=token_id)
