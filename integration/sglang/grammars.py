"""Which reader gets which kind of constraint."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from ...grammar import Grammar

if TYPE_CHECKING:
    from ...trie import Vocabulary

__all__ = ["ANY_JSON", "read_grammar"]

ANY_JSON = "$$ANY$$"
"""What SGLang hands on in place of a schema that allows everything."""

_GBNF_RULE = re.compile(r"^\s*[\w.-]+\s*::=", re.MULTILINE)


def read_grammar(kind: str, spec: str, vocabulary: Vocabulary | None = None, **options: Any) -> Grammar:
    """Make the grammar of a request.

    Args:
        kind: what follows `dispatch_` in the name of the method that SGLang calls.
        spec: what it hands on. A text of the kind `ebnf` is GBNF if a line begins with a name and `::=`, else Lark.
        vocabulary: the vocabulary whose special tokens the texts of a structural tag may be.
        options: those of `Grammar.from_json_schema` for all schemas, and `limits`.
    """
    limits = {"limits": options["limits"]} if "limits" in options else {}
    if kind == "json":
        return Grammar.json(**options) if spec == ANY_JSON else Grammar.from_json_schema(spec, **options)
    if kind == "regex":
        return Grammar.from_regex(spec, **limits)
    if kind == "ebnf":
        return (Grammar.from_gbnf if _GBNF_RULE.search(spec) else Grammar.from_lark)(spec, **limits)
    if kind == "structural_tag":
        return Grammar.from_structural_tag(_with_schemas(spec), vocabulary, **options)
    raise ValueError(f"constraints of the kind {kind} are not known to this version of earleymask")


def _with_schemas(spec: str) -> Any:
    """Return a tag with the schemas that SGLang has left out: those of tools without parameters are null."""
    if "null" not in spec:
        return spec
    try:
        tag = json.loads(spec)
    except (ValueError, RecursionError):
        return spec  # the reader says where the mistake is
    nodes = [tag]
    while nodes:
        node = nodes.pop()
        if isinstance(node, dict):
            for name in ("json_schema", "schema"):
                if name in node and node[name] is None:
                    node[name] = {}
            nodes += (each for name, each in node.items() if name not in ("json_schema", "schema"))
        elif isinstance(node, list):
            nodes += node
    return tag
