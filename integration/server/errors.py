"""What a request is refused or ended with, in the shape that OpenAI's clients read."""

from __future__ import annotations

from typing import Any

from ...errors import BudgetError, EarleymaskError, GrammarError, LimitError


class ApiError(Exception):
    """An error that is shown to the client.

    Attributes:
        status: the HTTP status.
        message: what is wrong, where, and what to do.
        param: the field of the body that is wrong, such as `tools[0].function.name`; None if no field is.
        code: a word for programs.
        limit: the field of `Limits` that was reached; "": none.
        kind: the `type` of OpenAI's errors.
    """

    def __init__(
        self, status: int, message: str, param: str | None = None, code: str | None = None, limit: str = ""
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = _writable(message)
        self.param = param and _writable(param)
        self.code = code
        self.limit = limit

    def __reduce__(self) -> Any:
        return ApiError, (self.status, self.message, self.param, self.code, self.limit)

    @property
    def kind(self) -> str:
        if self.status >= 500:
            return "server_error"
        return {401: "authentication_error", 429: "rate_limit_error"}.get(self.status, "invalid_request_error")

    def body(self) -> dict[str, Any]:
        return {"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}}


def _writable(text: str) -> str:
    """Return a text with lone surrogates escaped, which no answer could have."""
    return text.encode("utf-8", "backslashreplace").decode()


def bad(message: str, param: str | None = None, code: str | None = "invalid_value") -> ApiError:
    """Return the error of a body that cannot be served."""
    return ApiError(400, message, param, code)


def given_up() -> ApiError:
    """Return the error of an answer for which nobody waits any more. Nobody sees it."""
    return ApiError(499, "the answer has been given up", code="given_up")


def of_grammar(error: EarleymaskError, param: str | None) -> ApiError:
    """Return the error of a grammar that cannot be enforced. Its message has the line or the JSON pointer."""
    if isinstance(error, BudgetError):
        return bad(str(error), param, "budget_too_small")
    for each in error.errors if isinstance(error, GrammarError) else ():
        if each.option is not None:  # its hint names an option of a call in Python, which a client cannot give
            each.hint = None
    message = str(error)
    if isinstance(error, LimitError):
        return ApiError(400, message, param, "grammar_too_costly", error.limit)
    return bad(message, param, "invalid_grammar" if isinstance(error, GrammarError) else "cannot_be_enforced")


def stopping() -> ApiError:
    """Return the error of what the server cannot end, because it ends itself."""
    return ApiError(503, "the server is stopping", code="stopping")


def ours(error: BaseException) -> ApiError:
    """Return the error of something that went wrong here. Details are for the log, not for strangers."""
    return ApiError(500, f"the server failed: {type(error).__name__}", None, "internal_error")
