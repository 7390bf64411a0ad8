"""Exact token masks for generation under a context-free grammar.

    constraint = earleymask.Constraint(lark_grammar, vocabulary)
    constraint.mask(tokens)           # which tokens may come next

`Constraint` gives the mask after any sequence of tokens; `Matcher` follows one sequence; `fill_bitmasks` and
`apply_bitmask` serve batches. Call `prepare` once per vocabulary when a server starts, so that its first requests are
fast. `earleymask.integration` has the adapters to sampling loops of other packages.
"""

from .bitmask import apply_bitmask, fill_bitmasks
from .constraint import Constraint
from .earley import Limits, Matcher
from .errors import (
    BatchError,
    EarleymaskError,
    EmptyMaskError,
    GrammarError,
    LimitError,
    RejectedTokenError,
    VocabularyError,
)
from .grammar import Grammar
from .prepare import prepare
from .trie import Vocabulary

__version__ = "0.2.0"

__all__ = [
    "BatchError",
    "Constraint",
    "EarleymaskError",
    "EmptyMaskError",
    "Grammar",
    "GrammarError",
    "LimitError",
    "Limits",
    "Matcher",
    "RejectedTokenError",
    "Vocabulary",
    "VocabularyError",
    "__version__",
    "apply_bitmask",
    "fill_bitmasks",
    "prepare",
]
