"""Regular expressions as trees: the parsers build them, and `lower` reads them.

A node denotes a language of Unicode text. The parser that builds a node resolves case folding, flags and escapes, so
terminals with different flags can be combined. Only lookarounds keep their position in the pattern, because whether one
is supported is not known before the whole terminal has been composed.

Nodes are immutable, are compared by content and hold nothing but data. The order of alternatives and the laziness of
quantifiers are kept: a terminal with a lazy quantifier or an atomic group anywhere in it is matched leftmost-first, see
`lower`. The empty string is `Literal("")`, and the empty language is `Chars(())`.

The classes are plain ones with slots, no frozen dataclasses: to make an object of those takes three times as long, and
the nodes of a terminal are made while a request waits. As compiled (`ast.pxd`) they are extension types with read-only
attributes.
"""

from __future__ import annotations

from ...earley._large import untrack
from ...earley._meter import tick

Ranges = tuple[tuple[int, int], ...]
"""Code points as inclusive (first, last) pairs: sorted, disjoint, not touching."""

MAX_DEPTH = 400
"""The most levels of nodes within nodes in one terminal. This bounds the recursion over nodes, also where modules are
not compiled. Beyond it, LimitError is raised."""

PART_BYTES = 350
"""Memory of a part of a pattern that is no plain text, with the nodes that are made of it: an estimate."""
RANGE_BYTES = 120
"""Memory of a range of a class of characters: an estimate."""

INFINITE = float("inf")
"""The greatest width of a node that matches texts of any length."""


class Node:
    """The base of all kinds of node."""

    __slots__ = ("_hash",)
    _hash: int

    def _fields(self) -> tuple[object, ...]:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        tick()
        return type(self) is type(other) and self._fields() == other._fields()  # type: ignore[attr-defined, unused-ignore]

    def __hash__(self) -> int:
        # Computed once: the tree of a pattern or a format is part of many keys.
        try:
            known = self._hash
        except AttributeError:  # in a compiled module it is 0 at first
            known = 0
        if not known:
            known = self._hash = hash((type(self).__name__, self._fields()))
        return known

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._fields()))})"


class Chars(Node):
    """Matches one code point out of `ranges`. Without ranges it matches nothing at all."""

    __slots__ = ("ranges",)
    ranges: Ranges

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges

    def _fields(self) -> tuple[object, ...]:
        return (self.ranges,)


class Literal(Node):
    """Matches exactly `text`, which may be empty."""

    __slots__ = ("text",)
    text: str

    def __init__(self, text: str) -> None:
        self.text = text

    def _fields(self) -> tuple[object, ...]:
        return (self.text,)


class Concat(Node):
    """Matches `parts` one after the other."""

    __slots__ = ("parts",)
    parts: tuple[Node, ...]

    def __init__(self, parts: tuple[Node, ...]) -> None:
        self.parts = parts

    def _fields(self) -> tuple[object, ...]:
        return (self.parts,)


class Union(Node):
    """Matches one of `alternatives`. If the terminal is matched leftmost-first, earlier ones are preferred."""

    __slots__ = ("alternatives",)
    alternatives: tuple[Node, ...]

    def __init__(self, alternatives: tuple[Node, ...]) -> None:
        self.alternatives = alternatives

    def _fields(self) -> tuple[object, ...]:
        return (self.alternatives,)


class Repeat(Node):
    """Matches `body` from `minimum` to `maximum` times; None means without end. If `lazy`, fewer times are preferred.

    One lazy Repeat gives its whole terminal the leftmost-first meaning, even one without a choice (`{3}?`).
    """

    __slots__ = ("body", "lazy", "maximum", "minimum")
    body: Node
    minimum: int
    maximum: int | None
    lazy: bool

    def __init__(self, body: Node, minimum: int, maximum: int | None, lazy: bool = False) -> None:
        self.body = body
        self.minimum = minimum
        self.maximum = maximum
        self.lazy = lazy

    def _fields(self) -> tuple[object, ...]:
        return (self.body, self.minimum, self.maximum, self.lazy)


class Behind(Node):
    """Matches the empty string after a code point in `chars` or, if `negative`, anywhere else.

    `position` is the place in the pattern, for the error if it could look at text before the terminal.
    """

    __slots__ = ("chars", "negative", "position")
    chars: Chars
    negative: bool
    position: int

    def __init__(self, chars: Chars, negative: bool, position: int) -> None:
        self.chars = chars
        self.negative = negative
        self.position = position

    def _fields(self) -> tuple[object, ...]:
        return (self.chars, self.negative, self.position)


class Look(Node):
    """Matches the empty string at a place after which (or before which, unless `ahead`) `body` matches or, if
    `negative`, does not match.

    A lookbehind of one code point is a `Behind`, which is cheaper. `position` is as there.
    """

    __slots__ = ("ahead", "body", "negative", "position")
    body: Node
    ahead: bool
    negative: bool
    position: int

    def __init__(self, body: Node, ahead: bool, negative: bool, position: int) -> None:
        self.body = body
        self.ahead = ahead
        self.negative = negative
        self.position = position

    def _fields(self) -> tuple[object, ...]:
        return (self.body, self.ahead, self.negative, self.position)


class Atomic(Node):
    """Matches what `body` matches first, and nothing else that it could match: `(?>...)`, and possessive
    quantifiers."""

    __slots__ = ("body",)
    body: Node

    def __init__(self, body: Node) -> None:
        self.body = body

    def _fields(self) -> tuple[object, ...]:
        return (self.body,)


class And(Node):
    """Matches what all `parts` match. Each part is a terminal of its own: if it has lazy quantifiers, its
    leftmost-first language counts.

    With a single part, it matches the language of this part, and lazy quantifiers beside it do not change that.
    """

    __slots__ = ("parts",)
    parts: tuple[Node, ...]

    def __init__(self, parts: tuple[Node, ...]) -> None:
        self.parts = parts

    def _fields(self) -> tuple[object, ...]:
        return (self.parts,)


class Not(Node):
    """Matches all sequences of Unicode scalar values that `body`, a terminal of its own as in `And`, does not match."""

    __slots__ = ("body",)
    body: Node

    def __init__(self, body: Node) -> None:
        self.body = body

    def _fields(self) -> tuple[object, ...]:
        return (self.body,)


class Escaped(Node):
    """Matches the spellings of `body`'s texts in a JSON string, without the quotes.

    `body` is a terminal of its own as in `And`. `shortest` allows only the escapes that are needed, in their shortest
    form. `ascii` demands that characters beyond ASCII are escaped.
    """

    __slots__ = ("ascii", "body", "shortest")
    body: Node
    shortest: bool
    ascii: bool

    def __init__(self, body: Node, shortest: bool = False, ascii: bool = False) -> None:
        self.body = body
        self.shortest = shortest
        self.ascii = ascii

    def _fields(self) -> tuple[object, ...]:
        return (self.body, self.shortest, self.ascii)


class Substring(Node):
    """Matches any run of `chunks`, also none or all of them: `"".join(chunks[n:m])` for some n <= m. See
    `substring`."""

    __slots__ = ("chunks",)
    chunks: tuple[str, ...]

    def __init__(self, chunks: tuple[str, ...]) -> None:
        self.chunks = chunks

    def _fields(self) -> tuple[object, ...]:
        return (self.chunks,)


class Automaton(Node):
    """Matches what a deterministic automaton accepts. State 0 is the first.

    A state is (whether it accepts, its edges). An edge is (the characters that it reads, the state to which it leads).
    No two edges of a state read the same character. A terminal with an automaton has no lazy quantifiers and no
    lookarounds.
    """

    __slots__ = ("states",)
    states: tuple[tuple[bool, tuple[tuple[Chars, int], ...]], ...]

    def __init__(self, states: tuple[tuple[bool, tuple[tuple[Chars, int], ...]], ...]) -> None:
        for state in states:  # numbers that are no multiples of some hundreds have a million edges
            tick()
            for edge in state[1]:
                untrack(edge)
            untrack(state[1])
            untrack(state)
        self.states = states

    def _fields(self) -> tuple[object, ...]:
        return (self.states,)


class EcmaPattern(Node):
    """Matches the regular expressions of ECMA-262 themselves, see `ecma_syntax`."""

    __slots__ = ()

    def _fields(self) -> tuple[object, ...]:
        return ()


class Multiples(Node):
    """Matches numbers by arithmetic on what has been read: `words` say which, see `earley/_multiples.pxd`. As the first
    part of an And, it stands beside Not nodes only."""

    __slots__ = ("words",)
    words: tuple[int, ...]

    def __init__(self, words: tuple[int, ...]) -> None:
        self.words = words

    def _fields(self) -> tuple[object, ...]:
        return (self.words,)


class Whole(Node):
    """The root of a terminal that is a whole text: it matches the texts that `fullmatch` accepts for `body`.

    Nothing precedes the text and nothing follows it, so every lookaround is decided, and lazy quantifiers mean what
    others mean.
    """

    __slots__ = ("body",)
    body: Node

    def __init__(self, body: Node) -> None:
        self.body = body

    def _fields(self) -> tuple[object, ...]:
        return (self.body,)


def one_code_point(node: Node) -> Ranges | None:
    """Return the set of code points if the node matches exactly one code point, else None."""
    if type(node) is Chars:
        return node.ranges
    if type(node) is Literal and len(node.text) == 1:
        code = ord(node.text)
        return ((code, code),)
    return None


def widths(node: Node) -> tuple[int, float]:
    """Return the least and the greatest number of characters that `node` matches, as `getwidth` of Python's `re`
    computes them."""
    if isinstance(node, Literal):
        return len(node.text), len(node.text)
    if isinstance(node, Chars):
        return 1, 1
    if isinstance(node, Concat):
        parts = [widths(part) for part in node.parts]
        return sum([part[0] for part in parts]), sum([part[1] for part in parts])
    if isinstance(node, Union):
        parts = [widths(alternative) for alternative in node.alternatives]
        return min([part[0] for part in parts]), max([part[1] for part in parts])
    if isinstance(node, Repeat):
        least, most = widths(node.body)
        if most:  # 0 times without end is 0
            most *= INFINITE if node.maximum is None else node.maximum
        return least * node.minimum, most
    if isinstance(node, Atomic):
        return widths(node.body)
    return 0, 0
