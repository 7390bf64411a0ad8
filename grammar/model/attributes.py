"""What symbols of a grammar have beside their language: captures, budgets of tokens, temperatures.

A front end notes them in `Model.attributes`, by symbol; here they follow the symbols into the engine. None of them
changes what the sentences are. Captures are of nonterminals, budgets and temperatures of terminals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .analysis import nullable_symbols

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...earley._engine import Engine
    from ...earley._regex import Regexes
    from ..regex.ast import Node
    from .model import Model


class Ending(NamedTuple):
    """How the text of a rule with `stop` or `suffix` ends."""

    body: Node
    end: Node
    inside: bool
    """`end` belongs to the capture of the rule: `suffix`."""


class RuleAttributes(NamedTuple):
    """The attributes of one symbol; None where it has none of a kind."""

    capture: str | None = None
    end_capture: str | None = None
    """A name for what ended the text of the rule."""
    ending: Ending | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    is_ignored: bool = False
    """Ignored text that has productions (see `contexts`): a capture neither begins nor ends with it."""


def describe(attributes: RuleAttributes, engine: Engine, id_: int, lower: Callable[[Node], int]) -> None:
    """Give the attributes of a symbol to the engine, where it is `id_`. `lower` returns the regex node of a part of
    it."""
    ending = attributes.ending
    if attributes.capture is not None or attributes.end_capture is not None:
        body = end = None
        if ending is not None and (attributes.end_capture is not None or not ending.inside):
            body, end = lower(ending.body), lower(ending.end)
        inside = ending is None or ending.inside
        engine.add_capture(id_, attributes.capture, end_name=attributes.end_capture, body=body, end=end, inside=inside)
    if attributes.max_tokens is not None:
        shortest = 0 if ending is None else shortest_length(engine.regexes, lower(ending.end))
        engine.set_max_tokens(id_, attributes.max_tokens, shortest)
    if attributes.temperature is not None:
        engine.set_temperature(id_, attributes.temperature)
    if attributes.is_ignored:
        engine.set_ignored_text(id_)


def check_captures(model: Model, reached: list[int], nodes: dict[int, int], regexes: Regexes) -> None:
    """Refuse captured rules that may consist of themselves alone: a text would have them without end."""
    captured = [symbol for symbol in reached if is_captured(model.attributes.get(symbol))]
    if not captured:
        return
    nullable = nullable_symbols(model, {symbol for symbol, node in nodes.items() if regexes.is_nullable(node)})
    alone: dict[int, set[int]] = {}  # what a symbol may be, but for what is empty beside it
    for lhs in reached:
        for rhs in model.productions[lhs]:
            others = [part for part in rhs if part not in nullable]
            if len(others) < 2:
                alone.setdefault(lhs, set()).update(others or rhs)
    for goal in captured:
        agenda = [goal]
        seen: set[int] = set()
        for symbol in agenda:  # grows while it is read
            for part in alone.get(symbol, ()):
                if part not in seen:
                    seen.add(part)
                    agenda.append(part)
        if goal in seen:
            raise model.error(
                f"rule `{model.names[goal]}` is captured and may consist of itself alone",
                goal,
                "let it take some text beside itself, or capture a rule around it",
            )


def is_captured(attributes: Any) -> bool:
    return attributes is not None and (attributes.capture is not None or attributes.end_capture is not None)


def shortest_length(regexes: Regexes, node: int) -> int:
    """Bytes of the shortest text that the node matches. It matches some."""
    byte = regexes.byte_set(range(256))

    def matches(n: int) -> bool:
        return not regexes.is_empty(regexes.intersection([node, regexes.repeat(byte, 0, n)]))

    most = 1
    while not matches(most):
        most *= 2
    least = most // 2  # nothing is that short, but for the empty text
    while most - least > 1:
        middle = (least + most) // 2
        if matches(middle):
            most = middle
        else:
            least = middle
    return most
