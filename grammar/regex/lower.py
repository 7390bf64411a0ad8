"""From the tree of a whole terminal to the node of the core (`Regexes`) that the engine takes derivatives of.

The constructs in a terminal decide what it denotes, and which file lowers it:

- A terminal without the constructs below denotes its `fullmatch` language: every string that some way of matching
  spells (`plain`).
- With a lazy quantifier or an atomic group anywhere in it, it denotes what `re` would match first,
  { w : re.match(T, w) consumes all of w }. It becomes one ordered program (`threads`).
- A lookbehind of one code point is worked into the parts before it, in either case (`lookbehind`). It is refused, with
  its position, if it could look at text before the terminal.
- Other lookarounds, and atomic groups, make the terminal a program with cuts (`cuts`).

Cost: one visit for each node, besides the constructors of `Regexes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...earley._adopt import Adopter
from ...earley._meter import keep, tick
from ...earley._regex import Regexes
from ...earley.errors import LimitError
from ..errors import RegexSyntaxError
from ..loading import pieces
from .ast import MAX_DEPTH, And, Atomic, Behind, Concat, Escaped, Look, Node, Not, Repeat, Substring, Union, Whole
from .lookbehind import without_lookbehind
from .plain import Plain
from .threads import compile_threads

if TYPE_CHECKING:
    from ...earley.limits import Limits
    from .cuts import Context

MAX_NODES = 1 << 20
"""The most nodes that one terminal may have. A node counts as often as it occurs. Beyond it, LimitError is raised."""

MAX_KEPT = 1 << 11
"""The most regex nodes that are kept with a tree, see `Lowered`."""

LEVELS = MAX_DEPTH // 100
"""Levels of a tree that `exceeded` allows for each group of `Limits.nesting`, whose default is 100. A group may become
a repetition of alternatives of sequences, and one level is to spare."""

_LAZY = 1
_BEHIND = 2
_SUBSTRING = 4
_LOOK = 8
_ATOMIC = 16
_WHOLE = 32
_SETS = 64

_SPLIT_HINT = "split it into two terminals and join them in a rule"


def lower(node: Node, regexes: Regexes, contexts: list[Context] | None = None, lazily: bool = False) -> int:
    """Return the id in `regexes` of the language that the terminal `node` denotes.

    If that depends on what follows the terminal, `contexts` receives the terminal's languages, each with what must
    follow it, and the result is their union. Without `contexts` such a terminal is refused. `lazily`: see
    `cuts.within`.

    Raises `RegexSyntaxError` for lookarounds that reach further out of the terminal, `LimitError` for trees that are
    deeper than MAX_DEPTH and for terminals that are too large or become too large when they are lowered.
    """
    found = _survey(node)
    if found & _SUBSTRING and found & ~(_SUBSTRING | _WHOLE | _SETS):
        raise RegexSyntaxError(
            "one terminal has a substring form beside a lazy quantifier, an atomic group or a lookaround",
            0,
            _SPLIT_HINT,
        )
    if found & _SETS and found & ~(_SETS | _SUBSTRING):
        raise RegexSyntaxError(
            "one terminal has an intersection or complement beside a lazy quantifier, an atomic group or a lookaround",
            0,
            _SPLIT_HINT,
        )
    if found & _WHOLE:
        assert isinstance(node, Whole)
        if not found & (_BEHIND | _LOOK | _ATOMIC):
            return Plain(regexes, lower).lower(node.body)
        from .anchors import without_anchors
        from .cuts import whole

        node = without_anchors(node.body)
        if _survey(node) & (_BEHIND | _LOOK | _ATOMIC):
            return whole(node, regexes)
    elif found & (_LOOK | _ATOMIC):
        from .conditions import ANYTHING
        from .cuts import within

        languages = within(
            node, regexes, found & (_LAZY | _ATOMIC) != 0, lower if lazily and contexts is not None else None
        )
        if len(languages) == 1 and languages[0].condition == ANYTHING:
            return languages[0].node
        if contexts is None:
            raise RegexSyntaxError(
                "whether the terminal matches depends on what follows it, which is not supported here",
                0,
                "remove the lookahead or the boundary at its end",
            )
        contexts += languages
        return regexes.union([language.node for language in languages])
    elif found & _LAZY:
        return compile_threads(node, regexes)
    elif found & _BEHIND:
        node = without_lookbehind(node)
    return Plain(regexes, lower).lower(node)


def lower_shared(node: Node, regexes: Regexes) -> int:
    """Return what `lower` returns for a plain tree, without visiting a part that occurs again.

    The trees of numbers repeat their parts so often that counting each occurrence takes too long. The caller must know
    that no part is a lookaround, a lazy quantifier or an atomic group: this function does not check it.
    """
    return Plain(regexes).lower(node)


class Lowered:
    """The tree of a plain terminal that many grammars have, as `lower_shared` takes it, and its regex nodes.

    The first grammar leaves the nodes in an arena of their own, and later ones adopt them. If the tree is a stranger's
    (`recurs` false), the second call does so.
    """

    __slots__ = ("_nodes", "_recurs", "tree")

    def __init__(self, tree: Node, recurs: bool) -> None:
        self.tree = tree
        self._recurs = recurs
        self._nodes: tuple[Regexes, int] | None = None

    def into(self, regexes: Regexes) -> int:
        """Return what `lower` returns for the tree."""
        nodes = self._nodes
        if nodes is not None:
            return int(Adopter(regexes).copy(*nodes))
        before = regexes.n_nodes
        made = lower_shared(self.tree, regexes)
        if self._recurs and regexes.n_nodes - before <= MAX_KEPT:
            arena = Regexes()
            self._nodes = arena, lower_shared(self.tree, arena)
        self._recurs = True
        return made


RECURRING: dict[Node, Lowered] = {}
"""Trees of terminals that many grammars have, such as the formats of JSON Schema, and what keeps their regex nodes."""


def is_lazy(node: Node) -> bool:
    """Tell whether the terminal has a lazy quantifier or an atomic group, and so the leftmost-first meaning."""
    return _survey(node) & (_LAZY | _ATOMIC) != 0


def has_lookaround(node: Node) -> bool:
    """Tell whether the terminal looks at text beside what it matches."""
    return _survey(node) & (_LOOK | _BEHIND) != 0


def exceeded(tree: Node, limits: Limits) -> str:
    """Return the field of `limits` that a terminal exceeds, or an empty string.

    This is for limits that the user has lowered: the parsers of regular expressions enforce the default ones, which
    cannot be raised. Linear in the size of the tree as written.
    """
    level = [tree]
    keep(level)
    depth = 0
    while level:
        if depth > limits.nesting * LEVELS:
            return "nesting"
        below: list[Node] = []
        keep(below)
        for index, node in enumerate(level):
            if not index & 0x3F:
                tick()
            if isinstance(node, Repeat) and max(node.minimum, node.maximum or 0) > limits.repetitions:
                return "repetitions"
            for field in node._fields():
                if isinstance(field, tuple):
                    for piece in pieces(field):
                        below += [part for part in piece if isinstance(part, Node)]
                elif isinstance(field, Node):
                    below.append(field)
        level = below
        depth += 1
    return ""


def _survey(node: Node) -> int:
    """Return the constructs that occur in the node, as a set of the bits above; check its depth and size."""
    found = 0
    n_nodes = 1
    level: list[Node] = [node]
    depth = 0
    if isinstance(node, Whole):
        found = _WHOLE
        level = [node.body]
    while level:
        below: list[Node] = []
        for i, node in enumerate(level):
            if not i & 0xFF:
                tick()
            if isinstance(node, Repeat):
                if node.lazy:
                    found |= _LAZY
                below.append(node.body)
            elif isinstance(node, Concat):
                below += node.parts
            elif isinstance(node, Union):
                below += node.alternatives
            elif isinstance(node, Behind):
                found |= _BEHIND
            elif isinstance(node, (And, Escaped, Not)):
                found |= _SETS  # its body is a terminal of its own
            elif isinstance(node, Substring):
                found |= _SUBSTRING
            elif isinstance(node, Look):
                found |= _LOOK
                below.append(node.body)
            elif isinstance(node, Atomic):
                found |= _ATOMIC
                below.append(node.body)
        level = below
        n_nodes += len(below)
        if n_nodes > MAX_NODES:
            raise LimitError(f"the terminal has more than {MAX_NODES} nodes; split it into several terminals")
        depth += 1
        if depth > MAX_DEPTH and level:
            raise LimitError(f"the terminal is nested deeper than {MAX_DEPTH} levels; use fewer groups within groups")
    return found
