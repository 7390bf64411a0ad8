"""Terminals with intersection and complement: for the engine as `Regexes` or Lark text, for the twin as products of
states.

A grammar is JSON: `{"rules": [[name, [symbol, ...]], ...], "terminals": {NAME: tree}, "ignored": [NAME, ...]}`. A tree
is `["re", pattern]`, `["and", tree, ...]`, `["or", tree, ...]`, `["not", tree]`, `["cat", tree, ...]` or
`["many", tree, least, most or null]`; it denotes a set of texts in UTF-8, and `not` is the complement within all texts
in UTF-8. Three more stand at the top only, for rules with attributes: `["lazy", tree]` is the tree's texts none of
whose proper prefixes is one; `["suffix", tree, end]` and `["stop", tree, end]` are a text of the tree followed by one
of `end`, such that no proper prefix of the whole ends with a text of `end`.

The twin's state of a tree consists of the states of its parts, and each step steps all of them: no derivatives, no
normal forms. Whether a match is still possible is found by a search over all states in reach.
"""

from __future__ import annotations

import json
from collections.abc import Hashable
from functools import cache
from typing import Any

from earleymask import GrammarError
from earleymask.earley import Engine, Regexes
from earleymask.grammar.regex import parse_regex
from earleymask.grammar.regex.lower import lower
from support.twin import EmptyLanguage, Rule, Twin
from support.twin_regex import Automaton, TerminalTwin

Tree = list[Any]
MOST_STATES = 800
"""How many states a search for a match may visit; what needs more is `TooMuchWork`."""

ANY = ["re", "(?s:.)*"]
MORE = ["re", "(?s:.)+"]
COUNT_CAP = 12
"""Repetitions are counted up to this number, which is larger than any count in a tree."""

RULES = ("lazy", "suffix", "stop")
"""Kinds of trees that are written as rules with an attribute."""


class BooleanTwin(Automaton):
    """The automaton of a tree: a state consists of the states of its parts."""

    most_states = MOST_STATES

    def __init__(self, tree: Tree) -> None:
        self.leaves: list[TerminalTwin] = []
        self.tree = self._compiled(tree)
        classes = tuple(ranges for leaf in self.leaves for ranges in leaf.classes)
        super().__init__(classes, self._start(self.tree))

    def _compiled(self, tree: Tree) -> tuple[Any, ...]:
        if tree[0] == "lazy":
            return self._compiled(["and", tree[1], ["not", ["cat", tree[1], MORE]]])
        if tree[0] in ("suffix", "stop"):
            return self._compiled(["and", ["cat", *tree[1:]], ["not", ["cat", ANY, tree[2], MORE]]])
        if tree[0] == "re":
            self.leaves.append(TerminalTwin(tree[1]))
            return ("re", self.leaves[-1])
        if tree[0] == "many":
            return ("many", self._compiled(tree[1]), tree[2], tree[3])
        return (tree[0], *(self._compiled(part) for part in tree[1:]))

    def _read(self, state: Any, code_point: int) -> Hashable:
        return self._after(self.tree, state, chr(code_point).encode())

    def _has_match(self, state: Any) -> bool:
        return self._ends(self.tree, state)

    # States of trees, between two characters. A leaf from which nothing matches is None.

    def _start(self, tree: tuple[Any, ...]) -> Hashable:
        kind, *parts = tree
        if kind == "re":
            return None if parts[0].empty else parts[0].start
        if kind == "cat":
            return self._follow_cat(tree, [(0, self._start(parts[0]))])
        if kind == "many":
            return True, self._follow_many(tree, [(1, self._start(parts[0]))] if parts[2] != 0 else [])
        return tuple(self._start(part) for part in parts)

    def _after(self, tree: tuple[Any, ...], state: Any, data: bytes) -> Hashable:
        """Return the state after one more character."""
        kind, *parts = tree
        if kind == "re":
            return None if state is None else parts[0].run(data, state)
        if kind == "cat":
            return self._follow_cat(tree, [(i, self._after(parts[i], inner, data)) for i, inner in state])
        if kind == "many":
            return False, self._follow_many(tree, [(n, self._after(parts[0], inner, data)) for n, inner in state[1]])
        return tuple(self._after(part, inner, data) for part, inner in zip(parts, state, strict=True))

    def _follow_cat(self, tree: tuple[Any, ...], states: list[Any]) -> frozenset[Any]:
        """Add the start of each part after a part that may end. A state is (number of the part, state in it)."""
        parts = tree[1:]
        found = set(states)
        agenda = list(states)
        while agenda:
            i, inner = agenda.pop()
            if i + 1 < len(parts) and self._ends(parts[i], inner):
                following = (i + 1, self._start(parts[i + 1]))
                if following not in found:
                    found.add(following)
                    agenda.append(following)
        return frozenset(found)

    def _follow_many(self, tree: tuple[Any, ...], states: list[Any]) -> frozenset[Any]:
        """Add the start of the next iteration after each that may end. A state is (iteration, state in it)."""
        _, body, _, most = tree
        found = set(states)
        agenda = list(states)
        while agenda:
            n, inner = agenda.pop()
            if self._ends(body, inner) and (most is None or n < most):
                following = (min(n + 1, COUNT_CAP), self._start(body))
                if following not in found:
                    found.add(following)
                    agenda.append(following)
        return frozenset(found)

    def _ends(self, tree: tuple[Any, ...], state: Any) -> bool:
        kind, *parts = tree
        if kind == "re":
            return state is not None and parts[0].accepts(state)
        if kind == "not":
            return not self._ends(parts[0], state[0])
        if kind == "and":
            return all(self._ends(part, inner) for part, inner in zip(parts, state, strict=True))
        if kind == "or":
            return any(self._ends(part, inner) for part, inner in zip(parts, state, strict=True))
        if kind == "cat":
            return any(i == len(parts) - 1 and self._ends(parts[i], inner) for i, inner in state)
        body, least, _ = parts
        untouched, iterations = state
        over = any(n >= least and self._ends(body, inner) for n, inner in iterations)
        return over or (untouched and least == 0)


def boolean_twin(text: str) -> Twin:
    grammar = json.loads(text)
    return Twin(
        [Rule(left, tuple(right)) for left, right in grammar["rules"]],
        {name: boolean_terminal(json.dumps(tree)) for name, tree in grammar["terminals"].items()},
        ignored=grammar["ignored"],
    )


@cache
def boolean_terminal(tree: str) -> BooleanTwin:
    return BooleanTwin(json.loads(tree))


class BooleanGrammar:
    """The part of a `Grammar` that a matcher needs."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine


def boolean_engine(text: str) -> BooleanGrammar:
    """Make an engine of the grammar. It must be given productive symbols alone; the twin knows which these are."""
    grammar = json.loads(text)
    try:
        twin = boolean_twin(text)
    except EmptyLanguage:
        raise GrammarError("the grammar has no sentence") from None
    regexes = Regexes()
    engine = Engine(regexes)
    symbols = {}
    used = {symbol for rule in twin.rules for symbol in rule.right}
    for name, tree in grammar["terminals"].items():
        node = boolean_node(regexes, tree)
        if regexes.is_empty(node) != twin.terminals[name].empty:
            raise AssertionError(f"is_empty() says {regexes.is_empty(node)} of {tree}")
        if name in used or name in twin.ignored:
            symbols[name] = engine.add_terminal(name, node, name in twin.ignored)
    for rule in twin.rules:
        if rule.left not in symbols:
            symbols[rule.left] = engine.add_nonterminal(rule.left)
    for rule in twin.rules:
        engine.add_production(symbols[rule.left], [symbols[part] for part in rule.right])
    engine.finish(symbols["$start"])
    return BooleanGrammar(engine)


def boolean_node(regexes: Regexes, tree: Tree) -> int:
    kind = tree[0]
    if kind == "re":
        return lower(parse_regex(tree[1]), regexes)
    if kind == "many":
        return regexes.repeat(boolean_node(regexes, tree[1]), tree[2], tree[3])
    parts = [boolean_node(regexes, part) for part in tree[1:]]
    if kind == "not":
        return regexes.complement(parts[0])
    if kind == "and":
        return regexes.intersection(parts)
    return regexes.union(parts) if kind == "or" else regexes.concat(parts)


def as_lark_reads(text: str) -> str:
    """Join patterns into terminals as Lark's syntax does, so that lazy quantifiers mean the same to both sides."""
    grammar = json.loads(text)
    grammar["terminals"] = {name: folded_rule(tree) for name, tree in grammar["terminals"].items()}
    return json.dumps(grammar)


def boolean_lark(text: str) -> str:
    """Write the grammar in Lark's syntax; `text` is what `as_lark_reads` returns."""
    grammar = json.loads(text)
    names = {name: name.lower() if tree[0] in RULES else name for name, tree in grammar["terminals"].items()}
    alternatives: dict[str, list[str]] = {}
    for left, right in grammar["rules"]:
        alternatives.setdefault(left, []).append(" ".join(names.get(symbol, symbol) for symbol in right))
    lines = [f"{left}: " + " | ".join(dict.fromkeys(bodies)) for left, bodies in alternatives.items()]
    for name, tree in grammar["terminals"].items():
        if tree[0] in RULES:
            attribute = tree[0] if len(tree) == 2 else f"{tree[0]}={boolean_expression(tree[2])}"
            lines.append(f"{names[name]}[{attribute}]: {boolean_expression(tree[1])}")
        else:
            lines.append(f"{name}: {boolean_expression(tree)}")
    return "\n".join([*lines, *(f"%ignore {name}" for name in grammar["ignored"])]) + "\n"


def boolean_expression(tree: Tree) -> str:
    kind, *parts = tree
    if kind == "re":
        return "/(?:" + parts[0].replace("/", r"\/") + ")/"
    if kind == "many":
        counts = f"{{{parts[1]},}}" if parts[2] is None else f"{{{parts[1]},{parts[2]}}}"
        return f"({boolean_expression(parts[0])}){counts}"
    if kind == "not":
        return f"~({boolean_expression(parts[0])})"
    return "(" + {"and": " & ", "or": " | ", "cat": " "}[kind].join(map(boolean_expression, parts)) + ")"


def folded_rule(tree: Tree) -> Tree:
    """Return `folded(tree)`, except that in a rule with attributes each terminal stays a language of its own."""
    if tree[0] in RULES:
        return [tree[0], folded_body(tree[1]), *map(folded, tree[2:])]
    return folded(tree)


def folded_body(tree: Tree) -> Tree:
    if tree[0] in ("and", "not"):
        return folded(tree)
    return [folded_body(part) if isinstance(part, list) else part for part in tree]


def folded(tree: Tree) -> Tree:
    """Make each part without `and` and `not` one pattern, for Lark joins terminals as text."""
    kind, *parts = tree
    if kind == "re":
        return tree
    if kind in ("and", "not"):
        return [kind, *map(folded, parts)]
    inner = [folded(part) if isinstance(part, list) else part for part in parts]
    patterns = [part[1] for part in inner if isinstance(part, list) and part[0] == "re"]
    if len(patterns) < sum(isinstance(part, list) for part in inner):
        return [kind, *inner]
    if kind == "many":
        most = "" if inner[2] is None else inner[2]
        return ["re", f"(?:{patterns[0]}){{{inner[1]},{most}}}"]
    return ["re", "|".join(f"(?:{p})" for p in patterns) if kind == "or" else "".join(f"(?:{p})" for p in patterns)]
