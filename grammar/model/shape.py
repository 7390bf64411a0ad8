"""What the shape of a grammar's productions tells: which symbols can be empty, and which derive themselves.

For warnings only; nothing of this is needed to use a grammar. Everything is linear in its size.
"""

from __future__ import annotations

from .model import Model


def nullable_symbols(model: Model, terminals: set[int]) -> set[int]:
    """The symbols that derive the empty text, `terminals` (those that match it) included: the least fixpoint."""
    nullable = set(terminals)
    waiting: dict[int, list[list[int]]] = {}  # by symbol: the productions [symbols that are missing, left-hand side]
    agenda = list(nullable)
    for lhs, alternatives in enumerate(model.productions):
        for rhs in alternatives:
            entry = [len(rhs), lhs]
            for part in rhs:
                waiting.setdefault(part, []).append(entry)
            if not rhs and lhs not in nullable:
                nullable.add(lhs)
                agenda.append(lhs)
    for symbol in agenda:  # grows while it is read
        for entry in waiting.pop(symbol, ()):
            entry[0] -= 1
            if not entry[0] and entry[1] not in nullable:
                nullable.add(entry[1])
                agenda.append(entry[1])
    return nullable


def cycles(model: Model, nullable: set[int]) -> list[list[int]]:
    """The groups of symbols that derive each other with nothing beside them, such as `a` and `b` of `a: b` and `b: a`.

    These are the strongly connected components of the graph that leads from a left-hand side to each symbol of a right
    one in which all others can be empty (Tarjan 1972, without recursion).
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
    """The symbols of right-hand sides in which all others can be empty."""
    alone = []
    for rhs in alternatives:
        solid = [part for part in rhs if part not in nullable]
        if len(solid) == 1:
            alone += solid
        elif not solid:
            alone += rhs
    return list(dict.fromkeys(alone))
