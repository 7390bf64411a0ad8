"""The engines that are compared. Each offers the same two calls: fill a bitmask row, accept a token.

- `engines(vocabulary)` prepares each installed engine for a vocabulary, which a server does once per model. Each then
  reads a trivial grammar and fills one mask, so that the first call of a process is not timed.
- `Engine.open(grammar)` is the work of a request before its first mask: from grammar text to a session, without a cache
  of compiled grammars.
- `Session.again()` is the next request with the same grammar object.

A `Session` holds plain callables, so that one call into the engine's own Python binding is timed:

- earleymask: `Matcher.fill_bitmask(row)`, `Matcher.accept(token)`;
- llguidance: `LLMatcher.unsafe_compute_mask_ptr(address, n_bytes)`, `LLMatcher.consume_token(token)`. The usual
  function `llguidance.numpy.fill_next_token_bitmask` would add about a microsecond of Python;
- xgrammar: `GrammarMatcher.fill_next_token_bitmask(bitmask)`, `GrammarMatcher.accept_token(token)`. Its compiler uses
  one thread, as the other engines do.

All three write into the same kind of preallocated int32 row. Settings are the engines' defaults, with two exceptions
for llguidance. Without `no_forcing`, it replaces a forced text by the one token that its tokenizer would choose, which
is not the mask of the grammar and cannot be compared. `allow_initial_skip` gives `%ignore` Lark's meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from earleymask.trie import Vocabulary

from .llguidance import LLGuidance
from .ours import Earleymask
from .session import Engine, Row, Session, grammar_file, n_words, new_row
from .xgrammar import XGrammar

__all__ = [
    "Earleymask",
    "Engine",
    "LLGuidance",
    "Row",
    "Session",
    "XGrammar",
    "engines",
    "grammar_file",
    "n_words",
    "new_row",
]


def engines(vocabulary: Vocabulary, names: Sequence[str]) -> tuple[list[Engine], dict[str, str]]:
    """Return those of `names` that are installed, ready for a vocabulary, and why the others are missing."""
    makers: dict[str, Callable[[Vocabulary], Engine]] = {
        "earleymask": Earleymask,
        "llguidance": LLGuidance,
        "xgrammar": XGrammar,
    }
    found: list[Engine] = []
    missing: dict[str, str] = {}
    for name in names:
        try:
            engine = makers[name](vocabulary)
        except ImportError as error:
            missing[name] = str(error)
            continue
        engine.open(engine.trivial).fill()
        found.append(engine)
    return found, missing
