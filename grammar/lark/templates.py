"""Templates: a rule for each different list of symbols that one is used with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.repetition import one
from .scope import Found, Template
from .tree import Definition, Node, RuleName, TemplateUse

if TYPE_CHECKING:
    from ..model.model import Symbols
    from .protocols import GrammarLoader

MAX_SHOWN_NAME = 80
"""Characters of the name of a used template, which names what it is used with."""


class Templates:
    """The templates of one grammar, as they are used."""

    __slots__ = ("known", "loader")

    def __init__(self, loader: GrammarLoader) -> None:
        self.loader = loader
        self.known: dict[object, int] = {}  # symbols, by template and what it is used with

    def symbol(self, node: TemplateUse) -> int:
        """The rule that a template is for what it is used with."""
        loader = self.loader
        found = self.find(node)
        arguments = [self.argument(argument) for argument in node.arguments]
        key = (found, *arguments)
        symbol = self.known.get(key)
        if symbol is None:
            most = loader.modules.limits.template_uses
            if len(self.known) == most:
                raise loader.scope.limit_error(
                    f"templates are used in more than {most} different ways, here `{node.name}`",
                    node,
                    "let a template that uses itself come to an end, or use itself with the same again",
                ).set_limit("template_uses")
            scope, definition = found
            name = self.shown(definition.name, arguments)
            symbol = self.known[key] = loader.model.rule(name, (scope, definition))
            loader.pending.append((symbol, definition, scope, dict(zip(definition.params, arguments, strict=True))))
        return symbol

    def find(self, node: TemplateUse) -> Found:
        """The template that is used, which may itself be what a parameter stands for."""
        loader = self.loader
        value = loader.environment.get(node.name) if loader.environment is not None else None
        if value is None:
            found: Found = loader.find(node)
        elif isinstance(value, Template):
            found = value
        else:
            raise loader.scope.error(f"what `{node.name}` stands for is no template", node)
        self.check(node, found[1])
        return found

    def check(self, node: TemplateUse, definition: Definition) -> None:
        """Raise the error about a use of something else, or with too few or too many arguments."""
        scope = self.loader.scope
        params = definition.params
        if not params:
            raise scope.error(f"`{node.name}` is a rule and no template", node, "leave out the braces")
        if len(node.arguments) != len(params):
            raise scope.error(
                f"template `{node.name}` is used with {len(node.arguments)} of its {len(params)} parameters",
                node,
                f"its definition begins with {definition.name}{{{', '.join(params)}}}",
            )

    def argument(self, node: Node) -> Symbols | Template:
        """What a parameter stands for: one symbol at most, so that no argument can grow."""
        loader = self.loader
        if isinstance(node, RuleName):
            name = node.name
            if loader.environment is not None and name in loader.environment:
                return loader.environment[name]
            if name not in loader.symbols:
                found = loader.find(node)
                if found[1].params:
                    return Template(*found)
        return one(loader.model, loader.sequence(node))

    def parameter(self, node: RuleName) -> Symbols:
        """What a parameter of the template that is being read stands for."""
        environment = self.loader.environment
        assert environment is not None
        value = environment[node.name]
        if isinstance(value, Template):
            name = value.definition.name
            raise self.loader.scope.error(
                f"`{node.name}` stands for the template `{name}` here", node, f"use {node.name}{{...}}"
            )
        return value

    def shown(self, name: str, arguments: list[Symbols | Template]) -> str:
        """`name{a,b}`, as Lark calls it, shortened."""
        parts = []
        for argument in arguments:
            if isinstance(argument, Template):
                parts.append(argument.definition.name)
            else:
                parts += [self.loader.model.names[symbol] for symbol in argument]
        shown = f"{name}{{{','.join(parts)}}}"
        return shown if len(shown) <= MAX_SHOWN_NAME else f"{name}{{...}}"
