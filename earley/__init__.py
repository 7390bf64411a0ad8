"""The core: regex derivatives, the lexer, Earley rows and masks.

It works on bytes, terminals, items and rows. It knows the vocabulary as a trie (`earleymask.trie`), but neither the
syntax in which a grammar was written nor the framework that samples tokens.

Each module begins with what it computes. Read them in this order, the `.pxd` before the `.pyx`:

- parsing: `_tables` (interned sequences), `_nodes` and `_regex` (derivatives), `_lexer`, `_rules` (symbols and
  productions), `_skeletons` (rows without their stack), `_chart` (rows, continuations, positions);
- masks: `_walk` (the reference: a walk over the whole trie), `_automaton`, `_part`, `_builder` and `_parts` (one regex
  against the vocabulary), `_rests`, `_template`, `_answers`, `_masks`;
- what others use: `_engine` (front ends fill it), `_matcher` (one sequence of tokens), `_bounded` (masks with a
  deadline or a budget), `_snapshot` (matchers as bytes), `_batch` (many matchers), `_prepare` (parts in advance).
"""

from ._engine import Engine
from ._matcher import Matcher
from ._prepare import Preparation
from ._regex import Regexes
from .errors import (
    BudgetError,
    LimitError,
    MatcherCancelledError,
    MatcherInUseError,
    RejectedTokenError,
    SnapshotError,
)
from .limits import Limits

__all__ = [
    "BudgetError",
    "Engine",
    "LimitError",
    "Limits",
    "Matcher",
    "MatcherCancelledError",
    "MatcherInUseError",
    "Preparation",
    "Regexes",
    "RejectedTokenError",
    "SnapshotError",
]
