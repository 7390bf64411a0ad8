"""What the modules that read parts of a Lark grammar ask of the loader.

`load` imports those modules. They use this protocol as the type of the loader, so they need not import `load`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .terminals import Context

if TYPE_CHECKING:
    from ..model.model import Model, Symbols
    from ..model.repetition import Alternatives
    from .modules import Module, Modules
    from .scope import Environment, Found, Scope
    from .terminals import TerminalBuilder
    from .tree import Definition, Node, ParsedGrammar, RuleName, TemplateUse, TerminalName


class GrammarLoader(Context, Protocol):
    """The loader of one grammar. `load.LarkLoader` explains its members."""

    parsed: ParsedGrammar
    modules: Modules
    model: Model
    terminals: TerminalBuilder
    top: Scope
    symbols: dict[str, int]
    environment: Environment | None
    pending: list[tuple[int, Definition, Scope, Environment | None]]
    extended: dict[object, int]
    has_value: bool

    def find(self, node: RuleName | TerminalName | TemplateUse) -> Found: ...

    def enter(self, scope: Scope, environment: Environment | None) -> None: ...

    def alternatives(self, tree: Node) -> Alternatives: ...

    def sequence(self, tree: Node) -> Symbols: ...

    def inner(self, parsed: ParsedGrammar, modules: Modules, module: Module) -> GrammarLoader: ...

    def read(self, start: str) -> int: ...
