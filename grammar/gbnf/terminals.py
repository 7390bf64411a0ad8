"""Choose the parts of a GBNF grammar that become terminals.

GBNF has no terminals: its rules go down to single characters. A parser that used the rules as they are would make a row
for each character of a string. But most of the rules are regular, and a regular expression can be one terminal, which a
lexer matches, without changing the language. So every expression is analysed from its parts up. It is a regular
expression if all its parts are; the name of a rule is one if the rule's expression is, and means that expression.

A recursive rule is not a regular expression, with one exception: if it names itself only at the end of alternatives, or
only at their beginning, as in `ws ::= ([ \\t\\n] ws)?`, it is a repetition. X = B X | A is B* A (Arden 1961), and
X = X B | A is A B*.

An expression that is too large (`MAX_SIZE`) stays a rule, with terminals as its parts, for two reasons. Writing
expressions in place of names can double the size at each step. And a terminal for an object with ten strings would have
the states of a string ten times, while rules have them once.

The cost is linear in the text, because expressions beyond MAX_SIZE are not built.
"""

from __future__ import annotations

from ...earley._meter import tick
from ..regex import codepoints
from ..regex.ast import Chars, Concat, Literal, Union
from ..regex.ast import Node as Regex
from ..regex.ast import Repeat as RegexRepeat
from .tree import Choice, Definition, Node, Reference, Repeat, Sequence, Text

MAX_SIZE = 100
"""The most strings and classes in one terminal, including those of the rules that it names. A larger expression stays a
rule."""

MAX_DEPTH = 300
"""The most nodes on a way down in a terminal's regular expression. A deeper expression stays a rule.
`regex.ast.MAX_DEPTH` allows more, so a terminal never reaches that limit."""

MAX_LINEAR = 50
"""A recursive rule stays a rule if its expression is higher than this: `linear` joins regexes anew at each level, so
its cost can grow with the square of the height."""

_EMPTY = Literal("")


def find_terminals(definitions: dict[str, Definition]) -> dict[str, Node]:
    """Return the rules without attributes that are terminals: by name, each with its tree, whose `regex` is set.

    Every name in `definitions` is a key of it. Sets `regex`, `size`, `depth` and `refers` of all nodes.
    """
    terminals: dict[str, Node] = {}
    # A rule waits for the rules that it names. `missing` counts those that are not known to be terminals yet. The loop
    # never reaches rules that wait for each other in a cycle.
    waiting: dict[str, list[Definition]] = {}
    missing: dict[str, int] = {}
    agenda: list[Definition] = []
    for definition in definitions.values():
        tick()
        names = {reference.name for reference in definition.references}
        names.discard(definition.name)
        missing[definition.name] = len(names)
        for name in names:
            waiting.setdefault(name, []).append(definition)
        if not names:
            agenda.append(definition)
    for definition in agenda:  # grows while it is read
        tree = definition.tree
        analyse(tree, terminals)
        if tree.regex is None:
            repetition(tree, definition.name)
        if tree.regex is not None and not definition.attributes:
            terminals[definition.name] = tree
            for other in waiting.get(definition.name, ()):
                tick()
                missing[other.name] -= 1
                if not missing[other.name]:
                    agenda.append(other)
    for definition in definitions.values():
        if missing[definition.name]:
            analyse(definition.tree, terminals)
    return terminals


def analyse(node: Node, terminals: dict[str, Node]) -> None:
    """Set `regex`, `size`, `depth` and `refers` of `node` and of every node in it.

    `terminals` are the rules that are known to be terminals.
    """
    if isinstance(node, Text):
        return
    tick()
    if isinstance(node, Reference):
        node.refers = True
        tree = terminals.get(node.name)
        if tree is not None:
            node.regex, node.size, node.depth = tree.regex, tree.size, tree.depth
    elif isinstance(node, Sequence):
        gather(node, node.items, terminals)
        if node.size:
            node.regex = concat([item.regex for item in node.items])
    elif isinstance(node, Choice):
        gather(node, node.alternatives, terminals)
        if node.size:
            node.regex = union([alternative.regex for alternative in node.alternatives])
    elif isinstance(node, Repeat):
        gather(node, [node.body], terminals)
        if node.size:
            assert node.body.regex is not None
            node.regex = RegexRepeat(node.body.regex, node.minimum, node.maximum, False)


def gather(node: Node, parts: list[Node], terminals: dict[str, Node]) -> None:
    """Analyse the parts of `node`. Set its `size`, which is 0 if it cannot be a terminal, its `depth`, and `refers`."""
    size = 1
    depth = 0
    for i, part in enumerate(parts):
        if not i & 0xFF:
            tick()
        analyse(part, terminals)
        node.refers |= part.refers
        if part.regex is None:
            size = MAX_SIZE + 1
        size += part.size
        depth = max(depth, part.depth)
    node.size = size if size <= MAX_SIZE and depth < MAX_DEPTH else 0
    node.depth = depth + 1


def repetition(tree: Node, name: str) -> None:
    """Set `tree.regex` if `tree`, the expression of the rule `name`, is regular although it names itself."""
    if tree.height > MAX_LINEAR:
        return
    for at_end in (True, False):
        found = linear(tree, name, at_end)
        if found is not None:
            loop, rest = found
            if rest is None or loop is None:
                return
            turns = RegexRepeat(loop, 0, None, False)
            regex = concat([turns, rest] if at_end else [rest, turns])
            size, depth = measure(regex, 1)
            if size <= MAX_SIZE and depth <= MAX_DEPTH:
                tree.regex, tree.size, tree.depth = regex, size, depth
            return


def linear(node: Node, name: str, at_end: bool) -> tuple[Regex | None, Regex | None] | None:
    """Return (B, A) if `node` is B name | A, or, if not `at_end`, name B | A.

    None in place of B or A stands for a regex that matches nothing. Return None for a `node` of any other form.
    """
    if node.regex is not None:
        return None, node.regex
    if isinstance(node, Reference):
        return (_EMPTY, None) if node.name == name else None
    if isinstance(node, Choice):
        loops: list[Regex | None] = []
        rests: list[Regex | None] = []
        for alternative in node.alternatives:
            tick()
            found = linear(alternative, name, at_end)
            if found is None:
                return None
            if found[0] is not None:
                loops.append(found[0])
            if found[1] is not None:
                rests.append(found[1])
        return union(loops) if loops else None, union(rests) if rests else None
    if isinstance(node, Sequence):
        last = node.items[-1] if at_end else node.items[0]
        others = node.items[:-1] if at_end else node.items[1:]
        regexes = [item.regex for item in others]
        found = linear(last, name, at_end)
        if found is None or None in regexes:
            return None
        parts = []
        for part in found:
            if part is not None:
                part = concat([*regexes, part] if at_end else [part, *regexes])
            parts.append(part)
        return parts[0], parts[1]
    if isinstance(node, Repeat) and node.minimum == 0 and node.maximum == 1:
        found = linear(node.body, name, at_end)
        if found is not None:
            return found[0], _EMPTY if found[1] is None else union([_EMPTY, found[1]])
    return None


def measure(regex: Regex, depth: int) -> tuple[int, int]:
    """Return size and depth of a regex that is itself `depth` nodes down. Nodes below MAX_DEPTH are not counted."""
    if depth > MAX_DEPTH:
        return 0, depth
    tick()
    parts: tuple[Regex, ...] = ()
    if isinstance(regex, Concat):
        parts = regex.parts
    elif isinstance(regex, Union):
        parts = regex.alternatives
    elif isinstance(regex, RegexRepeat):
        parts = (regex.body,)
    size = 1
    deepest = depth
    for part in parts:
        part_size, part_depth = measure(part, depth + 1)
        size += part_size
        deepest = max(deepest, part_depth)
    return size, deepest


def concat(parts: list[Regex | None]) -> Regex:
    """Return the concatenation of the regexes, none of which is None. Neighbouring literals become one."""
    joined: list[Regex] = []
    for part in parts:
        assert part is not None
        if type(part) is Literal:
            if not part.text:
                continue
            if joined and type(joined[-1]) is Literal:
                joined[-1] = Literal(joined[-1].text + part.text)
                continue
        joined.append(part)
    if len(joined) == 1:
        return joined[0]
    return Concat(tuple(joined)) if joined else _EMPTY


def union(parts: list[Regex | None]) -> Regex:
    """Return the union of the regexes, none of which is None. Classes and single characters become one class."""
    pairs: list[tuple[int, int]] = []
    others: list[Regex] = []
    for i, part in enumerate(parts):
        if not ~i & 0xFF:
            tick()
        assert part is not None
        if type(part) is Chars:
            pairs += part.ranges
        elif type(part) is Literal and len(part.text) == 1:
            pairs.append((ord(part.text), ord(part.text)))
        else:
            others.append(part)
    if pairs or not others:
        others.append(Chars(codepoints.normalize(pairs)))
    return others[0] if len(others) == 1 else Union(tuple(others))
