"""Which grammars the engine may refuse: those that reach a limit, that use what is "not supported", or are empty.

Any other grammar that the oracle loads and the engine does not is a difference. An oracle may refuse grammars, too.
The campaign counts why something was not compared, so reasons are general: they contain no names and numbers.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from earleymask import GrammarError, LimitError

Made = TypeVar("Made")
NO_SENTENCE = ("the grammar has no sentence", "the pattern matches nothing")


class Skipped(Exception):
    """Nothing can be compared. The message says which side is the cause, and why: "oracle: too steep for re"."""


def general(message: str) -> str:
    """Return the message without the names, patterns and numbers in it."""
    line = message.splitlines()[0] if message else ""
    return re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"|/.*/|\d+", "…", line)[:100]


def loaded(make: Callable[[], Made]) -> Made | None:
    """Return what `make` makes; None if it has no sentence, which the oracle must then say as well.

    Raise `Skipped` for a limit or what is "not supported", and the engine's own error for any other refusal.
    """
    try:
        return make()
    except LimitError as error:
        raise Skipped(f"limit: {general(str(error))}") from None
    except GrammarError as error:
        if error.message.startswith(NO_SENTENCE):
            return None
        if all("not supported" in each.message for each in error.errors):
            raise Skipped(f"refused: {general(error.message)}") from None
        raise
