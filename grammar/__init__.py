"""The grammar model and its front ends: what text or schema means, ending in one compiled form.

Front ends read grammar text and build productions and terminals out of the regex nodes of `earleymask.earley`. The
modules here are plain typed Python that Cython compiles as it stands; each also runs uncompiled.
"""

from .errors import GrammarError, GrammarLimitError
from .grammar import Grammar
from .source import GrammarWarning

__all__ = ["Grammar", "GrammarError", "GrammarLimitError", "GrammarWarning"]
