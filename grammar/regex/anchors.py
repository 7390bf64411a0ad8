"""Remove the anchors at the ends of a regular expression that must match a whole text.

To search for `^[a-z]+$` in a text is to match `.*^[a-z]+$.*`, which only texts of `[a-z]+` do. Most patterns of JSON
Schema have such anchors. At the ends of a text `^` and `$` always hold, and no text stands beyond them. So an anchor
can be removed there, together with the "anything" beyond it. Most often the rest is a plain regex."""

from __future__ import annotations

from . import codepoints
from .ast import Behind, Chars, Concat, Literal, Look, Node, Repeat, Union

_EMPTY_TEXT = Literal("")


def without_anchors(node: Node) -> Node:
    """Return a node that matches the same texts, without the anchors at its ends that can be removed."""
    return _side(_side(node, False), True)


def few_words(node: Node, most: int) -> list[str] | None:
    """Return the texts of a node if it lists them, and if there are at most `most`; else None."""
    if isinstance(node, Literal):
        return [node.text]
    if isinstance(node, Chars):
        if sum([last + 1 - first for first, last in node.ranges]) > most:
            return None
        return [chr(code) for first, last in node.ranges for code in range(first, last + 1)]
    found: list[str]
    if isinstance(node, Union):
        found = []
        for part in node.alternatives:
            words = few_words(part, most)
            if words is None or len(found) + len(words) > most:
                return None
            found += words
        return found
    if isinstance(node, Concat):
        found = [""]
        for part in node.parts:
            words = few_words(part, most)
            if words is None or len(found) * len(words) > most:
                return None
            found = [begun + word for begun in found for word in words]
        return found
    return None


def _side(node: Node, last: bool) -> Node:
    """Return `node` without the anchors at its beginning, which is also the beginning of the text. If `last`, the same
    at its end."""
    if _is_anchor(node, last):
        return _EMPTY_TEXT
    if isinstance(node, Union):
        return Union(tuple([_side(part, last) for part in node.alternatives]))
    if not isinstance(node, Concat):
        return node
    parts = list(node.parts)
    if last:
        parts.reverse()
    # Flatten the outermost part: the anchor may stand in a group, as in `.*(^a|b)`.
    while parts and isinstance(parts[0], Concat):
        inner = list(parts[0].parts)
        parts[:1] = inner[::-1] if last else inner
    while parts and _is_anchor(parts[0], last):
        del parts[0]
    if len(parts) > 1 and _is_anything(parts[0]):
        parts = _after_anything(parts, last)
    elif parts:
        parts[0] = _side(parts[0], last)
    if last:
        parts.reverse()
    return parts[0] if len(parts) == 1 else Concat(tuple(parts))


def _after_anything(parts: list[Node], last: bool) -> list[Node]:
    """Return `parts`, which begin with `.*`; if an anchor follows it, without both."""
    anything, second, rest = parts[0], parts[1], parts[2:]
    if isinstance(second, Concat):
        inner = list(second.parts)
        return _after_anything([anything, *(inner[::-1] if last else inner), *rest], last) if inner else parts
    if _is_anchor(second, last):
        while rest and _is_anchor(rest[0], last):
            del rest[0]
        return rest
    if isinstance(second, Union) and True in [_begins_anchored(part, last) for part in second.alternatives]:
        alternatives = []
        for part in second.alternatives:
            line = _after_anything([anything, part], last)
            alternatives.append(Concat(tuple(line[::-1] if last else line)))
        return [Union(tuple(alternatives)), *rest]
    return parts


def _begins_anchored(node: Node, last: bool) -> bool:
    while isinstance(node, Concat) and node.parts:
        node = node.parts[-1 if last else 0]
    return _is_anchor(node, last)


def _is_anchor(node: Node, last: bool) -> bool:
    if last:
        return isinstance(node, Look) and node.ahead and node.negative and node.body == Chars(codepoints.ALL)
    return isinstance(node, Behind) and node.negative and node.chars.ranges == codepoints.ALL


def _is_anything(node: Node) -> bool:
    return (
        isinstance(node, Repeat) and node.minimum == 0 and node.maximum is None and node.body == Chars(codepoints.ALL)
    )
