"""Analyses of the productions of a grammar: which symbols can be empty, which derive themselves, and which terminals
may follow a symbol.

Only grammars that need it are analysed: for warnings, captures, rules with values, and terminals that look ahead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...earley._meter import tick

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .model import Model, Symbols


def nullable_symbols(model: Model, terminals: set[int]) -> set[int]:
    """Return the symbols that derive the empty text, including `terminals`, those terminals that match it.

    This is a least fixpoint, found in time linear in the size of the grammar.
    """
    nullable = set(terminals)
    waiting: dict[
        int, list[list[int]]
    ] = {}  # by symbol: its productions, each [number of missing symbols, left-hand side]
    agenda = list(nullable)
    for lhs, alternatives in enumerate(model.productions):
        for rhs in alternatives:
            tick()
            entry = [len(rhs), lhs]
            for part in rhs:
                waiting.setdefault(part, []).append(entry)
            if not rhs and lhs not in nullable:
                nullable.add(lhs)
                agenda.append(lhs)
    for symbol in agenda:  # grows while it is read
        for i, entry in enumerate(waiting.pop(symbol, ())):
            if not i & 0xFF:
                tick()
            entry[0] -= 1
            if not entry[0] and entry[1] not in nullable:
                nullable.add(entry[1])
                agenda.append(entry[1])
    return nullable


def users_of(symbols: Iterable[int], productions: Iterable[tuple[int, list[Symbols]]]) -> set[int]:
    """Return `symbols` and all left-hand sides that derive something with one of them."""
    users: dict[int, list[int]] = {}
    for lhs, alternatives in productions:
        tick()
        for rhs in alternatives:
            for part in rhs:
                users.setdefault(part, []).append(lhs)
    agenda = list(symbols)
    found = set(agenda)
    for symbol in agenda:  # grows while it is read
        for lhs in users.get(symbol, ()):
            if lhs not in found:
                found.add(lhs)
                agenda.append(lhs)
    return found


def cycles(model: Model, nullable: set[int]) -> list[list[int]]:
    """Return the groups of symbols that derive each other with nothing beside them, such as `a` and `b` of `a: b` and
    `b: a`.

    They are the strongly connected components of a graph, found by Tarjan's algorithm (1972) without recursion, in
    linear time. The graph has an edge from the left-hand side of a production to each symbol of its right-hand side
    beside which all other symbols can be empty.
    """
    edges = [_alone(alternatives, nullable) for alternatives in model.productions]
    found: list[list[int]] = []
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for root in range(len(edges)):
        if root in order or not edges[root]:
            continue
        work = [(root, iter(edges[root]))]
        order[root] = low[root] = len(order)
        stack.append(root)
        on_stack.add(root)
        while work:
            tick()
            symbol, successors = work[-1]
            for successor in successors:
                if successor not in order:
                    order[successor] = low[successor] = len(order)
                    stack.append(successor)
                    on_stack.add(successor)
                    work.append((successor, iter(edges[successor])))
                    break
                if successor in on_stack:
                    low[symbol] = min(low[symbol], order[successor])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[symbol])
                if low[symbol] == order[symbol]:
                    component = [stack.pop()]
                    while component[-1] != symbol:
                        component.append(stack.pop())
                    on_stack.difference_update(component)
                    if len(component) > 1 or symbol in edges[symbol]:
                        found.append(sorted(component))
    return found


def _alone(alternatives: list[tuple[int, ...]], nullable: set[int]) -> list[int]:
    """Return the symbols that can stand alone: all other symbols of their right-hand side can be empty."""
    alone = []
    for rhs in alternatives:
        tick()
        solid = [part for part in rhs if part not in nullable]
        if len(solid) == 1:
            alone += solid
        elif not solid:
            alone += rhs
    return list(dict.fromkeys(alone))


def first_sets(
    productions: dict[int, list[Symbols]], first: dict[int, int], nullable: set[int]
) -> tuple[dict[int, int], set[int]]:
    """Return the FIRST sets of parsing theory (Aho, Sethi, Ullman 1986, section 4.4): by symbol, with which terminals
    it may begin, as a set of bits; and the symbols that can be empty.

    `first` has a bit for each terminal. `nullable` are the terminals that can be empty. The sets are least fixpoints,
    found in rounds. What a symbol derives mostly comes after it, so each round begins with the last symbols.
    """
    first = dict(first)
    nullable = set(nullable)
    changed = True
    while changed:
        changed = False
        for lhs, alternatives in reversed(productions.items()):
            found = first.get(lhs, 0)
            empty = lhs in nullable
            for rhs in alternatives:
                tick()
                for part in rhs:
                    found |= first.get(part, 0)
                    if part not in nullable:
                        break
                else:
                    empty = True
            if found != first.get(lhs, 0) or empty != (lhs in nullable):
                changed = True
                first[lhs] = found
                if empty:
                    nullable.add(lhs)
    return first, nullable


def followers(
    productions: dict[int, list[Symbols]], start: int, end: int, first: dict[int, int], nullable: set[int]
) -> dict[int, int]:
    """Return the FOLLOW sets of parsing theory: by symbol, which terminals may come next, as a set of bits.

    `first` and `nullable` as for `first_sets`; `end` is the bit for the end of the text.
    """
    first, nullable = first_sets(productions, first, nullable)
    follow = {start: end}
    lasts: dict[int, list[int]] = {}  # by symbol: those that may end its text
    for lhs, alternatives in productions.items():
        for rhs in alternatives:
            tick()
            after, is_last = 0, True
            for part in reversed(rhs):
                if is_last:
                    lasts.setdefault(lhs, []).append(part)
                if after:
                    follow[part] = follow.get(part, 0) | after
                if part in nullable:
                    after |= first.get(part, 0)
                else:
                    after, is_last = first.get(part, 0), False
    agenda = list(follow)
    while agenda:
        changed: dict[int, None] = {}
        for symbol in agenda:
            tick()
            for part in lasts.get(symbol, ()):
                known = follow.get(part, 0)
                if follow[symbol] & ~known:
                    follow[part] = known | follow[symbol]
                    changed[part] = None
        agenda = list(changed)
    return follow
