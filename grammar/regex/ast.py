"""Regular expressions as data: what the syntax front ends build and `lower` reads.

A node denotes a language of Unicode text. Case folding, flags and escapes are resolved by whoever
builds the node, so terminals with different flags compose freely; only lookarounds keep a position,
because whether they are supported is known once the whole terminal has been put together.

Nodes are immutable, compare by content and hold nothing but data. The order of alternatives and the
laziness of quantifiers are kept: a terminal with a lazy quantifier or an atomic group anywhere in it
is matched leftmost-first, see `lower`. There is no node for the empty string, it is `Literal("")`, and none
for the empty language, it is `Chars(())`.

Plain classes with slots rather than frozen dataclasses: making one of those costs three times as
much, and a terminal makes a dozen nodes while a request waits. As compiled (`regex/ast.pxd`) they
are extension types and their attributes read-only.
"""

from __future__ import annotations

Ranges = tuple[tuple[int, int], ...]
"""Code points as inclusive (first, last) pairs: sorted, disjoint, not touching."""

MAX_DEPTH = 400
"""Nodes inside nodes of one terminal: bounds the recursion over them, also of the uncompiled modules."""


class Node:
    """Base of the kinds of node."""

    __slots__ = ("_hash",)
    _hash: int

    def _fields(self) -> tuple[object, ...]:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(self) is type(other) and self._fields() == other._fields()  # type: ignore[attr-defined, unused-ignore]

    def __hash__(self) -> int:
        # Worked out once: the tree of a pattern or a format stands in many keys.
        try:
            known = self._hash
        except AttributeError:  # as compiled it is 0 at first
            known = 0
        if not known:
            known = self._hash = hash((type(self).__name__, self._fields()))
        return known

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self._fields()))})"


class Chars(Node):
    """One code point out of `ranges`. Without ranges it matches nothing at all."""

    __slots__ = ("ranges",)
    ranges: Ranges

    def __init__(self, ranges: Ranges) -> None:
        self.ranges = ranges

    def _fields(self) -> tuple[object, ...]:
        return (self.ranges,)


class Literal(Node):
    """Exactly `text`, which may be empty."""

    __slots__ = ("text",)
    text: str

    def __init__(self, text: str) -> None:
        self.text = text

    def _fields(self) -> tuple[object, ...]:
        return (self.text,)


class Concat(Node):
    """`parts` one after the other."""

    __slots__ = ("parts",)
    parts: tuple[Node, ...]

    def __init__(self, parts: tuple[Node, ...]) -> None:
        self.parts = parts

    def _fields(self) -> tuple[object, ...]:
        return (self.parts,)


class Union(Node):
    """One of `alternatives`, the earlier preferred where the terminal is matched leftmost-first."""

    __slots__ = ("alternatives",)
    alternatives: tuple[Node, ...]

    def __init__(self, alternatives: tuple[Node, ...]) -> None:
        self.alternatives = alternatives

    def _fields(self) -> tuple[object, ...]:
        return (self.alternatives,)


class Repeat(Node):
    """`body` from `minimum` to `maximum` times, None meaning without end; `lazy` prefers fewer.

    One lazy Repeat gives its whole terminal the leftmost-first meaning, even where it leaves no choice (`{3}?`).
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
    """Matches the empty string where the code point before it is in `chars` (or, `negative`, is not).

    `position` is where it was written, for the error when it would look at text before the terminal.
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
    """Matches the empty string where `body` matches ahead of it (or behind; or, `negative`, does not).

    One code point behind is the business of `Behind`, which is cheaper. `position` is as there.
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
    """What `body` matches first, and nothing else that it could match: `(?>...)`, and possessive quantifiers."""

    __slots__ = ("body",)
    body: Node

    def __init__(self, body: Node) -> None:
        self.body = body

    def _fields(self) -> tuple[object, ...]:
        return (self.body,)


class And(Node):
    """What all `parts` match, each a terminal of its own: of a part with lazy quantifiers, its leftmost-first language.

    With a single part, that part as a language, whatever stands beside it.
    """

    __slots__ = ("parts",)
    parts: tuple[Node, ...]

    def __init__(self, parts: tuple[Node, ...]) -> None:
        self.parts = parts

    def _fields(self) -> tuple[object, ...]:
        return (self.parts,)


class Not(Node):
    """All sequences of Unicode scalar values that `body` does not match, which is a terminal of its own as in `And`."""

    __slots__ = ("body",)
    body: Node

    def __init__(self, body: Node) -> None:
        self.body = body

    def _fields(self) -> tuple[object, ...]:
        return (self.body,)


class Escaped(Node):
    """The spellings of `body`'s texts within a JSON string, without the quotes.

    `body` is a terminal of its own as in `And`. `shortest`: only the escapes that are needed, in their shortest form;
    `ascii`: what is beyond ASCII is escaped.
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
    """Any run of `chunks`, none and all of them included: `"".join(chunks[n:m])` for some n <= m. See `substring`."""

    __slots__ = ("chunks",)
    chunks: tuple[str, ...]

    def __init__(self, chunks: tuple[str, ...]) -> None:
        self.chunks = chunks

    def _fields(self) -> tuple[object, ...]:
        return (self.chunks,)


class Automaton(Node):
    """What a deterministic automaton accepts that starts in state 0.

    A state is (whether it accepts, its edges); an edge is (the characters that it reads, the state it leads to). No
    two edges of a state read the same character. It stands in no terminal with lazy quantifiers or lookarounds.
    """

    __slots__ = ("states",)
    states: tuple[tuple[bool, tuple[tuple[Chars, int], ...]], ...]

    def __init__(self, states: tuple[tuple[bool, tuple[tuple[Chars, int], ...]], ...]) -> None:
        self.states = states

    def _fields(self) -> tuple[object, ...]:
        return (self.states,)


class Whole(Node):
    """The root of a terminal that is a text of its own: its language is what `fullmatch` accepts of `body`.

    Nothing precedes it and nothing follows it, so all lookarounds are decided, and no quantifier is preferred.
    """

    __slots__ = ("body",)
    body: Node

    def __init__(self, body: Node) -> None:
        self.body = body

    def _fields(self) -> tuple[object, ...]:
        return (self.body,)
