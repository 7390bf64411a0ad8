"""Grammars within other grammars, whatever front end reads them: `@name` in a Lark grammar, formats of structural tags.

A grammar in Lark's syntax is not among them. It may ignore text, which concerns the grammars around it:
`lark/embedded` reads it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from .regex.ast import Literal, Union

if TYPE_CHECKING:
    from ..earley.limits import Limits
    from .lark.embedded import Embedded
    from .lark.modules import GivenGrammar


def symbol(grammar: GivenGrammar, embedded: Embedded, shown: str, origin: Any, limits: Limits) -> int:
    """Return the symbol of a grammar in the model of `embedded`. Errors call it `shown`."""
    kind = grammar.kind
    if kind == "gbnf":
        from .gbnf.load import embed

        return embed(grammar.source, grammar.start, embedded.model, shown)
    if kind == "structural_tag":
        from .tags.grammar import embed_tags

        return embed_tags(grammar._schema, embedded, limits)
    if kind == "json_schema":
        return embedded.documents(shown, grammar.source, grammar.options, origin, limits)
    if kind == "regex":
        from .regex import parse_regex, whole_text

        dialect, _, letters = grammar.options.partition(" ")
        return embedded.model.terminal(shown, whole_text(parse_regex(grammar.source, dialect, letters)), origin)
    texts = json.loads(grammar.source)  # of choices
    return embedded.model.terminal(shown, Union(tuple([Literal(text) for text in texts])), origin)
