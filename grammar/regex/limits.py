"""Terminals held against limits that somebody has lowered.

The parsers of regular expressions know the usual limits, which nobody can raise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .ast import MAX_DEPTH, Node, Repeat

if TYPE_CHECKING:
    from ...earley.limits import Limits

LEVELS = MAX_DEPTH // 100
"""Nodes that one group may become: a repetition of alternatives of sequences, and one to spare."""


def exceeded(tree: Node, limits: Limits) -> str:
    """The field of `limits` that a terminal goes beyond, or an empty string. Linear in the tree as written."""
    agenda = [(tree, 0)]
    while agenda:
        node, depth = agenda.pop()
        if depth > limits.nesting * LEVELS:
            return "nesting"
        if isinstance(node, Repeat) and max(node.minimum, node.maximum or 0) > limits.repetitions:
            return "repetitions"
        for field in node._fields():
            parts = field if isinstance(field, tuple) else (field,)
            agenda += [(part, depth + 1) for part in parts if isinstance(part, Node)]
    return ""
