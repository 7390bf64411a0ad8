"""Attributes of symbols: captures, budgets of tokens, temperatures. None of them changes the language of the grammar.

A front end puts them into `Model.attributes`, by symbol; `describe` gives them to the engine. Nonterminals have
captures, terminals have budgets and temperatures.
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
    """Whether `end` belongs to the capture of the rule: it does for `suffix`, and does not for `stop`."""


class RuleAttributes(NamedTuple):
    """The attributes of one symbol. None means that it has no such attribute."""

    capture: str | None = None
    end_capture: str | None = None
    """The name under which the end of the rule's text is captured."""
    ending: Ending | None = None
    max_tokens: int | None = None
    temperature: float | None = None
    is_ignored: bool = False
    """Whether this is ignored text that stands in productions (`contexts`, `lark/embedded`): a capture neither begins
    nor ends with it."""


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
    """Refuse captured rules that may derive themselves and nothing else: one text would have endlessly many
    captures."""
    captured = [symbol for symbol in reached if is_captured(model.attributes.get(symbol))]
    if not captured:
        return
    nullable = nullable_symbols(model, {symbol for symbol, node in nodes.items() if regexes.is_nullable(node)})
    alone: dict[int, set[int]] = {}  # by symbol: the symbols it may consist of, with only empty ones beside them
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
                f"rule `{model.names[goal]}` is captured, but it may consist of itself alone",
                goal,
                "let the rule match some text beside itself, or capture a rule around it",
            )


def is_captured(attributes: Any) -> bool:
    return attributes is not None and (attributes.capture is not None or attributes.end_capture is not None)


def shortest_length(regexes: Regexes, node: int) -> int:
    """Return the length in bytes of the shortest text that the node matches. The node must match some text."""
    byte = regexes.byte_set(range(256))

    def matches(n: int) -> bool:
        return not regexes.is_empty(regexes.intersection([node, regexes.repeat(byte, 0, n)]))

    most = 1
    while not matches(most):
        most *= 2
    least = most // 2  # all texts are longer than this, but for the empty one if this is 0
    while most - least > 1:
        middle = (least + most) // 2
        if matches(middle):
            most = middle
        else:
            least = middle
    return most
