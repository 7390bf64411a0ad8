"""Terminals with intersection and complement: for the engine by `Regexes`, for the twin by plain products of states.

A grammar is JSON: `{"rules": [[name, [symbol, ...]], ...], "terminals": {NAME: tree}, "ignored": [NAME, ...]}`, a tree
`["re", pattern]`, `["and", tree, ...]`, `["or", tree, ...]`, `["not", tree]`, `["cat", tree, ...]` or
`["many", tree, least, most or null]`. All trees denote sets of texts in UTF-8; `not` is relative to all of them.

The twin's state of a tree is made of the states of its parts and stepped with all of them, whatever they say: no
derivatives, no normal forms. Whether a state can still come to a match is a search over all states in reach.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Hashable
from functools import cache
from typing import Any

from twin import Rule, TooMuchWork, Twin
from twin_regex import TerminalTwin, boundaries, completions, representatives

from earleymask.earley import Engine, Regexes
from earleymask.grammar.regex_dialects import parse_regex
from earleymask.grammar.regex_lower import lower

Tree = list[Any]
MOST_STATES = 800
"""States that a search for a match may come by."""

COUNT_CAP = 12
"""Repetitions are counted up to here: trees ask for fewer."""


class BooleanTwin:
    """What `twin_regex.TerminalTwin` is to a pattern, for a tree; the two can stand in for each other."""

    def __init__(self, tree: Tree) -> None:
        self.leaves: list[TerminalTwin] = []
        self.tree = self._compiled(tree)
        classes = tuple(ranges for leaf in self.leaves for ranges in leaf.classes)
        self.boundaries = boundaries(classes)
        self.representatives = representatives(classes)
        self._alive: dict[Hashable, bool] = {}
        self._numbers: dict[tuple[bytes, Hashable], int] = {}
        self._states: list[tuple[bytes, Hashable]] = []
        self._steps: list[dict[int, int | None]] = []
        start = self._start(self.tree)
        self.nullable = self._accepting(self.tree, start)
        self.empty = not self._is_alive(start)
        self.start = self._number(b"", start)

    def _compiled(self, tree: Tree) -> tuple[Any, ...]:
        if tree[0] == "re":
            self.leaves.append(TerminalTwin(tree[1]))
            return ("re", self.leaves[-1])
        if tree[0] == "many":
            return ("many", self._compiled(tree[1]), tree[2], tree[3])
        return (tree[0], *(self._compiled(part) for part in tree[1:]))

    # The interface of TerminalTwin

    def step(self, state: int, byte: int) -> int | None:
        steps = self._steps[state]
        if byte not in steps:
            steps[byte] = self._step_byte(*self._states[state], byte)
        return steps[byte]

    def accepts(self, state: int) -> bool:
        pending, inner = self._states[state]
        return not pending and self._accepting(self.tree, inner)

    # States of trees, between two characters. None is the state from which nothing matches, of a leaf.

    def _start(self, tree: tuple[Any, ...]) -> Hashable:
        kind, *parts = tree
        if kind == "re":
            return None if parts[0].empty else parts[0].start
        if kind == "cat":
            return self._follow_cat(tree, [(0, self._start(parts[0]))])
        if kind == "many":
            return True, self._follow_many(tree, [(1, self._start(parts[0]))] if parts[2] != 0 else [])
        return tuple(self._start(part) for part in parts)

    def _read(self, tree: tuple[Any, ...], state: Any, data: bytes) -> Hashable:
        """After one more character."""
        kind, *parts = tree
        if kind == "re":
            return None if state is None else parts[0].run(data, state)
        if kind == "cat":
            return self._follow_cat(tree, [(i, self._read(parts[i], inner, data)) for i, inner in state])
        if kind == "many":
            return False, self._follow_many(tree, [(n, self._read(parts[0], inner, data)) for n, inner in state[1]])
        return tuple(self._read(part, inner, data) for part, inner in zip(parts, state, strict=True))

    def _follow_cat(self, tree: tuple[Any, ...], states: list[Any]) -> frozenset[Any]:
        """With the beginnings of the parts behind those that may be over. A state is (which part, the state in it)."""
        parts = tree[1:]
        found = set(states)
        agenda = list(states)
        while agenda:
            i, inner = agenda.pop()
            if i + 1 < len(parts) and self._accepting(parts[i], inner):
                following = (i + 1, self._start(parts[i + 1]))
                if following not in found:
                    found.add(following)
                    agenda.append(following)
        return frozenset(found)

    def _follow_many(self, tree: tuple[Any, ...], states: list[Any]) -> frozenset[Any]:
        """A state is (which iteration this is, the state in it); the whole also tells whether nothing was read yet."""
        _, body, _, most = tree
        found = set(states)
        agenda = list(states)
        while agenda:
            n, inner = agenda.pop()
            if self._accepting(body, inner) and (most is None or n < most):
                following = (min(n + 1, COUNT_CAP), self._start(body))
                if following not in found:
                    found.add(following)
                    agenda.append(following)
        return frozenset(found)

    def _accepting(self, tree: tuple[Any, ...], state: Any) -> bool:
        kind, *parts = tree
        if kind == "re":
            return state is not None and parts[0].accepts(state)
        if kind == "not":
            return not self._accepting(parts[0], state[0])
        if kind == "and":
            return all(self._accepting(part, inner) for part, inner in zip(parts, state, strict=True))
        if kind == "or":
            return any(self._accepting(part, inner) for part, inner in zip(parts, state, strict=True))
        if kind == "cat":
            return any(i == len(parts) - 1 and self._accepting(parts[i], inner) for i, inner in state)
        body, least, _ = parts
        untouched, iterations = state
        over = any(n >= least and self._accepting(body, inner) for n, inner in iterations)
        return over or (untouched and least == 0)

    # Search and UTF-8

    def _is_alive(self, state: Hashable) -> bool:
        if state in self._alive:
            return self._alive[state]
        reached = {state}
        agenda = [state]
        while agenda:
            current = agenda.pop()
            if self._accepting(self.tree, current) or self._alive.get(current):
                self._alive[state] = True
                return True
            if current in self._alive:
                continue
            for point in self.representatives:
                following = self._read(self.tree, current, chr(point).encode())
                if following not in reached:
                    reached.add(following)
                    agenda.append(following)
            if len(reached) > MOST_STATES:
                raise TooMuchWork
        for dead in reached:
            self._alive[dead] = False
        return False

    def _number(self, pending: bytes, state: Hashable) -> int:
        number = self._numbers.setdefault((pending, state), len(self._states))
        if number == len(self._states):
            self._states.append((pending, state))
            self._steps.append({})
        return number

    def _step_byte(self, pending: bytes, state: Hashable, byte: int) -> int | None:
        data = pending + bytes([byte])
        try:
            data.decode()
        except UnicodeDecodeError:
            interval = completions(data)
            if interval is None:
                return None
            low, high = interval
            inside = self.boundaries[bisect_right(self.boundaries, low) : bisect_right(self.boundaries, high)]
            for point in (low, *inside):
                if self._is_alive(self._read(self.tree, state, chr(point).encode())):
                    return self._number(data, state)
            return None
        following = self._read(self.tree, state, data)
        return self._number(b"", following) if self._is_alive(following) else None


def boolean_twin(text: str) -> Twin:
    grammar = json.loads(text)
    return Twin(
        [Rule(left, tuple(right)) for left, right in grammar["rules"]],
        {name: boolean_terminal(json.dumps(tree)) for name, tree in grammar["terminals"].items()},  # type: ignore[misc]
        ignored=grammar["ignored"],
    )


@cache
def boolean_terminal(tree: str) -> BooleanTwin:
    return BooleanTwin(json.loads(tree))


class BooleanGrammar:
    """What a matcher needs of a grammar."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine


def boolean_engine(text: str) -> BooleanGrammar:
    """The engine takes productive symbols alone; the twin has sorted that out."""
    grammar = json.loads(text)
    twin = boolean_twin(text)
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
