"""Templates: each different list of arguments makes one rule."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..model.repetition import one
from .scope import Found, Template
from .tree import Definition, Node, RuleName, TemplateUse

if TYPE_CHECKING:
    from ..model.model import Symbols
    from .protocols import GrammarLoader

MAX_SHOWN_NAME = 80
"""The most characters of the name `name{a,b}` that the rule for a use of a template gets. Beyond it, the rule is called
`name{...}`."""


class Templates:
    """The uses of templates in one grammar."""

    __slots__ = ("known", "loader")

    def __init__(self, loader: GrammarLoader) -> None:
        self.loader = loader
        self.known: dict[object, int] = {}  # symbols, by template and arguments

    def symbol(self, node: TemplateUse) -> int:
        """Return the symbol of the rule that a use of a template makes."""
        loader = self.loader
        found = self.find(node)
        arguments = [self.argument(argument) for argument in node.arguments]
        key = (found, *arguments)
        symbol = self.known.get(key)
        if symbol is None:
            most = loader.modules.limits.template_uses
            if len(self.known) == most:
                raise loader.scope.limit_error(
                    f"templates have more than {most} different lists of arguments, here for `{node.name}`",
                    node,
                    "a template that uses itself should do so with the same arguments",
                ).set_limit("template_uses")
            scope, definition = found
            name = self.shown(definition.name, arguments)
            symbol = self.known[key] = loader.model.rule(name, (scope, definition))
            loader.pending.append((symbol, definition, scope, dict(zip(definition.params, arguments, strict=True))))
        return symbol

    def find(self, node: TemplateUse) -> Found:
        """Return the template that is used. A parameter may stand for it."""
        loader = self.loader
        value = loader.environment.get(node.name) if loader.environment is not None else None
        if value is None:
            found: Found = loader.find(node)
        elif isinstance(value, Template):
            found = value
        else:
            raise loader.scope.error(f"the argument for `{node.name}` is not a template", node)
        self.check(node, found[1])
        return found

    def check(self, node: TemplateUse, definition: Definition) -> None:
        """Raise an error if what is used is no template, or if the number of arguments is wrong."""
        scope = self.loader.scope
        params = definition.params
        if not params:
            raise scope.error(f"`{node.name}` is a rule, not a template", node, "remove the braces")
        if len(node.arguments) != len(params):
            raise scope.error(
                f"wrong number of arguments for template `{node.name}`: {len(node.arguments)} instead of {len(params)}",
                node,
                f"it is defined as {definition.name}{{{', '.join(params)}}}: ...",
            )

    def argument(self, node: Node) -> Symbols | Template:
        """Return what a parameter stands for: a template, or at most one symbol, so that arguments cannot grow."""
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
        """Return the symbols for a parameter of the template that is being read."""
        environment = self.loader.environment
        assert environment is not None
        value = environment[node.name]
        if isinstance(value, Template):
            name = value.definition.name
            raise self.loader.scope.error(
                f"`{node.name}` is the template `{name}` here and needs arguments", node, f"write {node.name}{{...}}"
            )
        return value

    def shown(self, name: str, arguments: list[Symbols | Template]) -> str:
        """Return the name `name{a,b}` that Lark gives to a use, or a shorter one."""
        parts = []
        for argument in arguments:
            if isinstance(argument, Template):
                parts.append(argument.definition.name)
            else:
                parts += [self.loader.model.names[symbol] for symbol in argument]
        shown = f"{name}{{{','.join(parts)}}}"
        return shown if len(shown) <= MAX_SHOWN_NAME else f"{name}{{...}}"
