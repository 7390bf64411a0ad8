"""Front ends: from a grammar text or a schema to an `Engine` of `earleymask.earley`.

`lark` and `gbnf` read texts and fill a `model`, which becomes an engine; `json_schema` and `regex` add symbols to an
engine directly. The modules are plain typed Python. Cython compiles them unchanged, and each also runs uncompiled.
"""

from .errors import GrammarError, GrammarLimitError
from .grammar import Grammar
from .source import GrammarWarning

__all__ = ["Grammar", "GrammarError", "GrammarLimitError", "GrammarWarning"]
