"""Exact token masks for generation under a context-free grammar.

    constraint = earleymask.Constraint(lark_grammar, vocabulary)
    constraint.mask(tokens)           # which tokens may come next

`Constraint` gives the mask after any sequence of tokens; `Matcher` follows one sequence; `fill_bitmasks` and
`apply_bitmask` serve batches, and `start_bitmasks` fills them while a model computes. Call `prepare` once per
vocabulary when a server starts, so that its first requests are fast. `tools` reads and writes tool calls.
`GrammarLogitsProcessor` and `model_vocabulary` are for `transformers`; they are imported when first used.
"""

from typing import TYPE_CHECKING, Any

from . import interpreters as _interpreters  # noqa: F401  # first, for it may refuse to be imported
from .applying import apply_bitmask
from .bitmask import allocate_bitmask, fill_bitmasks, start_bitmasks
from .constraint import Constraint
from .drafts import fill_draft_bitmasks
from .earley import Limits, Matcher
from .errors import (
    BatchError,
    BudgetError,
    EarleymaskError,
    EmptyMaskError,
    GrammarError,
    LimitError,
    MatcherCancelledError,
    MatcherInUseError,
    RejectedTokenError,
    SnapshotError,
    VocabularyError,
)
from .grammar import Grammar, GrammarWarning
from .grammar.errors import Row
from .prepare import prepare
from .trie import Vocabulary, VocabularyWarning

if TYPE_CHECKING:
    from . import tools as tools
    from .earley.explanation import Explanation as Explanation
    from .integration.transformers import GrammarLogitsProcessor as GrammarLogitsProcessor
    from .integration.transformers import model_vocabulary as model_vocabulary
    from .pool import MatcherPool as MatcherPool

__version__ = "0.2.0"

__all__ = [
    "BatchError",
    "BudgetError",
    "Constraint",
    "EarleymaskError",
    "EmptyMaskError",
    "Explanation",
    "Grammar",
    "GrammarError",
    "GrammarWarning",
    "LimitError",
    "Limits",
    "Matcher",
    "MatcherCancelledError",
    "MatcherInUseError",
    "MatcherPool",
    "RejectedTokenError",
    "Row",
    "SnapshotError",
    "Vocabulary",
    "VocabularyError",
    "VocabularyWarning",
    "__version__",
    "allocate_bitmask",
    "apply_bitmask",
    "fill_bitmasks",
    "fill_draft_bitmasks",
    "prepare",
    "start_bitmasks",
]

_LATE = {
    "Explanation": "earley.explanation",
    "GrammarLogitsProcessor": "integration.transformers",
    "MatcherPool": "pool",
    "model_vocabulary": "integration.transformers",
}
"""Names that are imported when they are first used, and their modules. Those of `integration` are not in `__all__`:
torch and transformers take seconds to import, and need not be installed."""


if not TYPE_CHECKING:  # type checkers would take any name for one of this module

    def __getattr__(name: str) -> Any:
        if name not in _LATE and name != "tools":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        if name == "tools":  # a module, which importing it makes an attribute
            return import_module(".tools", __name__)

        try:
            found = getattr(import_module(f".{_LATE[name]}", __name__), name)
        except ImportError as error:
            if error.name not in ("torch", "transformers"):
                raise
            message = f"earleymask.{name} needs torch and transformers: pip install torch transformers"
            raise ImportError(message, name=error.name) from error
        globals()[name] = found
        return found
