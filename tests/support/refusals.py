"""What the engine may refuse: what meets a limit, what is "not supported" by name, and what has no sentence.

Everything else that it does not load, and the oracle does, is a difference. An oracle may refuse, too; why something
was not compared is counted, so reasons are general: names and numbers are taken out of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from earleymask import GrammarError, LimitError

Made = TypeVar("Made")
NO_SENTENCE = ("the grammar has no sentence", "the pattern matches nothing")


class Skipped(Exception):
    """There is nothing to compare, for the reason that the message gives: "whose fault: what"."""


def general(message: str) -> str:
    """What is said, without the names, patterns and numbers in it."""
    line = message.splitlines()[0] if message else ""
    return re.sub(r"`[^`]*`|'[^']*'|\"[^\"]*\"|/.*/|\d+", "…", line)[:100]


def loaded(make: Callable[[], Made]) -> Made | None:
    """What `make` makes; None where it is refused for having no sentence, which the oracle must then say as well.

    Raises `Skipped` where it is refused by name, and the engine's error where it is refused otherwise.
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
