"""The core: regex derivatives, the lexer, Earley rows and the mask walk.

Speaks bytes, terminals, items and rows. Knows the vocabulary as a trie (`earleymask.trie`), and neither the syntax that
a grammar was written in nor the framework that samples tokens.

Read in this order: `_tables` (interned sequences), `_regex` (derivatives), `_lexer`, `_rules` (symbols and
productions), `_skeletons` (parsing without the stack), `_chart` (rows, continuations, positions), `_walk` (masks),
`_matcher`; `_engine` is what the front ends fill.
"""

from ._engine import Engine
from ._matcher import Matcher
from ._prepare import Preparation
from ._regex import Regexes
from .errors import LimitError, RejectedTokenError
from .limits import Limits

__all__ = ["Engine", "LimitError", "Limits", "Matcher", "Preparation", "Regexes", "RejectedTokenError"]
