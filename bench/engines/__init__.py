"""The engines that are compared, each behind the same two calls: fill a bitmask row, accept a token.

`engines(vocabulary)` readies every engine that is installed for one vocabulary: that is done once for a model. Each has
read a trivial grammar and filled one mask then, so that nobody's first call of all is in what is timed.
`Engine.open(grammar)` is what a request costs before its first mask: grammar text in, session out, with every cache of
compiled grammars off. `Session.again()` is the next request with the same grammar object. A `Session` holds plain
callables, so that what is timed is one call into the engine's own Python binding:

- earleymask: `Matcher.fill_bitmask(row)`, `Matcher.accept(token)`;
- llguidance: `LLMatcher.unsafe_compute_mask_ptr(address, n_bytes)`, `LLMatcher.consume_token(token)`. Its usual entry
  `llguidance.numpy.fill_next_token_bitmask` wraps that in about a microsecond of Python, which is left out;
- xgrammar: `GrammarMatcher.fill_next_token_bitmask(bitmask)`, `GrammarMatcher.accept_token(token)`; its compiler may
  use one thread, as everybody here.

All three write into the same kind of preallocated int32 row. Settings are the engines' defaults but for llguidance's
`no_forcing`: without it, a forced text is given as the one token that its tokenizer would choose, which is not the mask
of the grammar and cannot be compared. Its `allow_initial_skip` is Lark's meaning of `%ignore`.
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
    """Those of `names` that are installed, ready for this vocabulary; and why the others are missing."""
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
