"""`%llguidance {...}`: options of llguidance in a grammar's text.

A grammar that was written for llguidance may begin with such a line. It changes nothing here, so it is accepted if each
option asks for what holds here in any case. Any other option is an error that names it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ..source import did_you_mean

if TYPE_CHECKING:
    from .tree import ParsedGrammar

HERE = {
    "no_forcing": (True, "a mask holds every token that begins an allowed text"),
    "allow_initial_skip": (True, "ignored text may stand at the beginning"),
    "allow_invalid_utf8": (False, "a text is never invalid UTF-8"),
}
"""Options of llguidance: the value that holds here, and what it means."""


def check_options(parsed: ParsedGrammar, at: int) -> None:
    """Raise GrammarError if an option of `%llguidance {...}`, lexeme `at`, asks for what does not hold here."""
    lexeme = parsed.lexemes[at]
    try:
        options = json.loads(lexeme[lexeme.index("{") :])
    except (ValueError, RecursionError) as error:
        raise parsed.error(f"`%llguidance` is followed by no JSON object: {error}", at) from None
    for name, value in options.items():
        known = HERE.get(name)
        if known is None:
            hint = did_you_mean(name, HERE) or f"the options are {', '.join(HERE)}"
            raise parsed.error(f"`{name}` is not an option of `%llguidance`", at, hint)
        if value is not known[0]:
            shown = json.dumps(value)
            raise parsed.error(
                f"`%llguidance` asks for {name} {shown if len(shown) <= 40 else shown[:40] + '...'}, "
                f"which is not supported: {known[1]}",
                at,
                "remove the option",
            )
