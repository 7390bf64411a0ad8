"""Resolve the names in a Lark grammar: definitions, imports, `%override`, `%extend` and `%declare`.

Lark copies all imports into one table, under mangled names. Here each imported text has a `Scope`: its definitions, the
scopes of its own imports, and a link to the scope of the importing text. Three rules of Lark's follow from its table,
and hold here, too:

- An imported name belongs to the importing text. If the imported text uses that name, the definition in the importing
  text is meant, so `%override` changes imported rules that use it.
- Terminals are composed before they are imported, so `%override` does not change an imported terminal that contains the
  name. Only `%extend` does, because it adds to the definition itself.
- A definition that an imported rule brings along has a name, too: `a__b__name` is `name` in the text `a.b`, and
  `_a__b__name` is `_name`.

If a text imports another one twice, that is one scope. If two texts import it, that is two scopes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from ...earley._meter import keep_circular, tick
from ..errors import GrammarError, GrammarLimitError
from ..source import did_you_mean
from .mistakes import MIXED_CASE_HINT, mixed_case
from .modules import MAX_CHAIN, Library, Module, ModuleError, Modules, library
from .parse import MAX_ERRORS
from .tree import (
    DECLARED,
    Attributed,
    Change,
    Choice,
    Definition,
    Import,
    Node,
    Parametric,
    ParsedGrammar,
    RuleName,
    Sequence,
    SpecialToken,
    TemplateUse,
    TerminalName,
    contents,
    with_contents,
)

if TYPE_CHECKING:
    from ..model.model import Symbols

MAX_CHANGES = 10_000
"""The most `%override` and `%extend` in one text. Beyond it, GrammarLimitError is raised. Between definitions the
changes that remain are copied, so the time grows with the square of their number."""

_REPLACE = "write `%override` to replace a definition"

Found = tuple["Scope", Definition]
"""A definition, and the scope that it is in."""


class Template(NamedTuple):
    """A template that is the argument of another one."""

    scope: Scope
    definition: Definition


Environment = dict[str, "Symbols | Template"]
"""What each parameter of a template stands for: one symbol, no symbol, or another template."""


class Elsewhere(Node):
    """An expression from another text than the one around it. Its names and places belong to `scope`."""

    __slots__ = ("scope", "tree")
    scope: Scope
    tree: Node

    def __init__(self, at: int, scope: Scope, tree: Node) -> None:
        self.at = at
        self.scope = scope
        self.tree = tree


class Scope:
    """The names of one text as one other text imports it.

    Attributes:
        definitions: the definitions of this text, after `%override` and `%extend`, by name.
        imported: the imports of this text, by alias.
        exported: the aliases that the importing text has given to names of this text, by name.
        children: the scopes of the imported texts, by module as written.
        symbols: symbols of the model, by name as used in this text.
        at: for a library, the lexeme of `parent` at which errors are shown.
    """

    __slots__ = (
        "at",
        "children",
        "definitions",
        "exported",
        "extended",
        "failed",
        "imported",
        "library",
        "module",
        "modules",
        "parent",
        "parsed",
        "symbols",
    )

    def __init__(self, modules: Modules, module: Module, parent: Scope | None = None, at: int = -1) -> None:
        self.modules = modules
        self.module = module
        self.parent = parent
        self.at = at
        self.parsed: ParsedGrammar | None = module.parsed
        self.library: Library | None = module.library
        self.definitions: dict[str, Definition] = {}
        self.imported: dict[str, Import] = {}
        self.exported: dict[str, str] = {}
        self.children: dict[str, Scope] = {}
        self.symbols: dict[str, int] = {}
        self.extended: dict[str, Choice] = {}  # the alternatives of definitions that `%extend` has changed, by name
        self.failed: set[str] = set()  # names whose definition or import is an error, if all errors are collected
        keep_circular(self)

    # Looking up.

    def resolve(self, name: str) -> Found | None:
        """Return the meaning of `name` in a rule of this text."""
        if self.parent is not None:
            alias = self.exported.get(name)
            if alias is not None:
                return self.parent.resolve(alias)
        return self.own(name)

    def own(self, name: str) -> Found | None:
        """Return the meaning of `name` in a terminal of this text, and for texts that import it."""
        definition = self.definitions.get(name)
        if definition is None and self.library is not None:
            definition = self.library.definition(name)
            if definition is not None and definition.tree is DECLARED:
                definition = self.definitions[name] = self._bound(definition)
        if definition is not None:
            return self, definition
        node = self.imported.get(name)
        if node is not None:
            child = self.children[node.module]
            child.at = node.at
            return child.own(node.name)
        return self._mangled(name) if "__" in name and self.children else None

    def _mangled(self, name: str) -> Found | None:
        """Return the definition that has the mangled name `name` in Lark."""
        for child, inner in self._within(name):
            if inner in child.exported:  # its name is the alias
                continue
            found = child.own(inner)
            if found is not None:
                return found
        return None

    def _hand_down(self, name: str) -> None:
        """Replace the definition that has the mangled name `name` in Lark by this text's definition of `name`.

        The text that defines it then uses this text's definition, as if it had been imported by name.
        """
        for child, inner in self._within(name):
            if child.own(inner) is not None:
                child.exported[inner] = name
                if inner not in child.definitions and inner not in child.imported:
                    child._hand_down(inner)
                return

    def _within(self, name: str) -> list[tuple[Scope, str]]:
        """Return the imported texts whose prefix the mangled `name` has, each with the name that remains."""
        underscore = "_" if name[0] == "_" else ""
        rest = name[len(underscore) :]
        found = []
        for module, child in self.children.items():
            prefix = module.lstrip(".").replace(".", "__") + "__"
            if rest.startswith(prefix):
                found.append((child, underscore + rest[len(prefix) :]))
        return found

    def names(self) -> Iterator[str]:
        """Return the names that can be used here, for hints."""
        return chain(self.definitions, self.imported, self.library.names() if self.library else ())

    # Filling.

    def collect(self, errors: list[GrammarError] | None = None) -> None:
        """Read the imports, definitions and changes of the text. Append up to MAX_ERRORS errors to `errors`."""
        imports = self.parsed.imports if self.parsed is not None else self.library.imports if self.library else ()
        for node in imports:
            self._try(self._import, node, errors)
        if self.parsed is None:
            if self.modules.unbound and self.library is not None:
                self.modules.unbound.difference_update(self.library.names())
            return
        changes = self.parsed.changes
        if len(changes) > MAX_CHANGES:
            raise self.limit_error(f"more than {MAX_CHANGES} definitions are changed", changes[MAX_CHANGES])
        for definition in self.parsed.definitions:
            if changes:
                changes = self._changed(changes, definition.at, errors)
            self._try(self._define, definition, errors)
        self._changed(changes, len(self.parsed.lexemes), errors)
        for definition in self.parsed.definitions:
            if definition.params:
                self._try(self._check_params, definition, errors)

    def _changed(self, changes: list[Change], end: int, errors: list[GrammarError] | None) -> list[Change]:
        """Apply the changes before lexeme `end`. Return the others."""
        n_made = 0
        while n_made < len(changes) and changes[n_made].at < end:
            self._try(self._change, changes[n_made], errors)
            n_made += 1
        return changes[n_made:] if n_made else changes

    def _try(self, step: Callable[[Any], None], node: Any, errors: list[GrammarError] | None) -> None:
        tick()
        try:
            step(node)
        except GrammarError as error:
            if errors is None or len(errors) >= MAX_ERRORS:
                raise
            errors.append(error)
            if isinstance(node, Change):
                node = node.definition
            self.failed.add(node.alias if isinstance(node, Import) else node.name)

    def _import(self, node: Import) -> None:
        before = self.imported.get(node.alias)
        if before is not None and (before.module, before.name) != (node.module, node.name):
            message = f"`{node.alias}` is imported twice, from different places"
            raise self.error(message, node, "give one an alias: -> name")
        child = self.children.get(node.module)
        if child is None:
            child = self.children[node.module] = self._child(node)
        self.imported[node.alias] = node
        child.exported[node.name] = node.alias

    def _child(self, node: Import) -> Scope:
        try:
            module = self.modules.find(self.module, node)
        except ModuleError as error:
            raise self.error(error.message, node, error.hint).set_option(error.option) from error
        chain: list[Scope] = [self]
        while chain[-1].parent is not None:
            chain.append(chain[-1].parent)
        if module in [scope.module for scope in chain]:
            names = [scope.module.name or "the grammar" for scope in reversed(chain)]
            raise self.error(
                f"`{module.name}` imports itself: {' -> '.join([*names, module.name or ''])}",
                node,
                "move what both need into a third text",
            )
        if len(chain) > MAX_CHAIN:
            raise self.limit_error(f"a chain of imports has more than {MAX_CHAIN} texts", node)
        self.modules.n_scopes += 1
        most = self.modules.limits.imports
        if self.modules.n_scopes > most:
            raise self.limit_error(f"more than {most} texts are imported", node).set_limit("imports")
        child = Scope(self.modules, module, self, node.at)
        child.collect()
        return child

    def _define(self, definition: Definition) -> None:
        name = definition.name
        if name in self.definitions:
            raise self.error(f"`{name}` is defined more than once", definition, _REPLACE)
        if name in self.imported:
            raise self.error(f"`{name}` is both imported and defined", definition, _REPLACE)
        if definition.is_terminal:
            tree = definition.tree
            if isinstance(tree, Sequence) and not tree.items:
                raise self.error(f"terminal `{name}` is empty", definition, "only a rule can be empty")
        if definition.tree is DECLARED:
            definition = self._bound(definition)
        self.definitions[name] = definition

    def _bound(self, definition: Definition) -> Definition:
        """Return the definition of a declared terminal, with the meaning that the caller gives, if any."""
        name = definition.name
        text = self.modules.declared.get(name)
        if text is None:
            return definition
        self.modules.unbound.discard(name)
        parsed = self.modules.parse(f"{name}: {text}", f"declared[{name!r}]")
        if len(parsed.definitions) != 1 or parsed.imports or parsed.changes or parsed.ignored:
            raise GrammarError(f"declared[{name!r}] must be one expression", hint="such as '<|name|>' or '/[a-z]+/'")
        scope = Scope(self.modules, Module(-1, parsed.source.name, parsed))
        tree = Elsewhere(definition.at, scope, parsed.definitions[0].tree)
        return Definition(definition.at, name, tree, definition.is_terminal)

    def _check_params(self, definition: Definition) -> None:
        for param in definition.params:
            if self.own(param) is not None:
                message = f"parameter `{param}` of `{definition.name}` has the name of a rule"
                raise self.error(message, definition, "rename the parameter")

    def _change(self, node: Change) -> None:
        operator, definition = node.operator, node.definition
        name = definition.name
        found = self.own(name)
        if found is None:
            hint = did_you_mean(name, self.names()) or "define or import it above this line"
            raise self.error(f"there is no `{name}` for `{operator}` to change", definition, hint)
        owner, before = found
        if operator == "%override":
            if owner is not self and name not in self.imported:
                self._hand_down(name)
            self.definitions[name] = definition
            return
        added, problem = self._added(before.tree, definition.tree)
        if problem:
            raise self.error(f"`{name}` {problem}", definition, _REPLACE)
        if definition.params != before.params:
            params = f"the parameters {', '.join(before.params)}" if before.params else "no parameters"
            raise self.error(f"`{name}` has {params}", definition, "write the same after `%extend`")
        if before.tree is DECLARED:
            raise self.error(f"`{name}` is only declared and cannot be extended", definition, "define it")
        owner.extend(before, [each if owner is self else Elsewhere(each.at, self, each) for each in added])

    def _added(self, before: Node, tree: Node) -> tuple[list[Node], str]:
        """Return the alternatives that `%extend` adds to a definition, and "", or the reason why it cannot."""
        if isinstance(before, Parametric) != isinstance(tree, Parametric):
            return [], "has a value, name::_, in its definition or in `%extend`, but not in both"
        if isinstance(tree, Parametric):
            # One by one, because each alternative has its own condition.
            tree = tree.body
            added = tree.alternatives if isinstance(tree, Choice) else [tree]
        else:
            added = [tree]
        if isinstance(tree, Attributed):
            return [], "cannot be given attributes by `%extend`, only by its definition"
        return added, ""

    def extend(self, definition: Definition, added: list[Node]) -> None:
        """Put `added` before the alternatives of a definition of this text. Lark uses that order, too."""
        name = definition.name
        before = contents(definition.tree)
        choice = self.extended.get(name)
        if choice is not None and choice is before:
            choice.alternatives[:0] = added
            return
        # A new definition, because other grammars may share what was read of an imported text.
        alternatives = before.alternatives if isinstance(before, Choice) else [before]
        choice = self.extended[name] = Choice(definition.at, [*added, *alternatives])
        tree = with_contents(definition.tree, choice)
        self.definitions[name] = Definition(definition.at, name, tree, definition.is_terminal, definition.params)

    # Errors about the text.

    def missing(self, node: Import) -> GrammarError:
        """Return the error about an imported name that does not exist. As in Lark, only its use is an error."""
        child = self.children[node.module]
        kind = "library" if child.library is not None else "module"
        message = f"{kind} `{node.module}` has no `{node.name}`"
        return self.error(message, node, did_you_mean(node.name, child.names()))

    def undefined(self, node: RuleName | TerminalName | TemplateUse) -> GrammarError:
        """Return the error about a name without a meaning here."""
        imported = self.imported.get(node.name)
        if imported is not None:
            return self.missing(imported)
        kind = "terminal" if isinstance(node, TerminalName) else "rule"
        params = ""
        if isinstance(node, TemplateUse):
            kind = "template"
            params = "{...}"
        if node.at >= 0:
            assert self.parsed is not None
            text = self.parsed.source.text
            begin = self.parsed.offset(node.at)
            end = begin + len(node.name)
            while begin and is_name_char(text[begin - 1]):
                begin -= 1
            while end < len(text) and is_name_char(text[end]):
                end += 1
            whole = text[begin:end].lstrip("?!")
            if whole != node.name and whole.lower() != whole and whole.upper() != whole:
                return self.parsed.source.error(mixed_case(whole), begin, MIXED_CASE_HINT)
        hint = did_you_mean(node.name, self.names())
        if hint is None:
            common = library("common") if kind == "terminal" else None
            known = common is not None and node.name in common.names()
            hint = f"write `%import common.{node.name}`" if known else f"define it: `{node.name}{params}: ...`"
        return self.error(f"{kind} `{node.name}` is not defined", node, hint)

    def error(self, message: str, node: Node, hint: str | None = None, shift: int = 0) -> GrammarError:
        parsed, at = self.place(node)
        offset = parsed.offset(at) + (shift if node.at >= 0 else 0)
        return parsed.source.error(message, offset, hint)

    def limit_error(self, message: str, node: Node, hint: str | None = None) -> GrammarLimitError:
        parsed, at = self.place(node)
        return parsed.limit_error(message, at, hint)

    def place(self, node: Node) -> tuple[ParsedGrammar, int]:
        """Return the text and the lexeme of `node`; for a node of a library, those of the import."""
        scope, at = self, node.at
        while scope.parsed is None:
            assert scope.parent is not None
            scope, at = scope.parent, scope.at
        return scope.parsed, at


def special_of(tree: Node) -> SpecialToken | None:
    """Return the special token that a terminal with this expression stands for; None if it does not."""
    if isinstance(tree, Elsewhere):
        tree = tree.tree
    return tree if isinstance(tree, SpecialToken) else None


def is_name_char(char: str) -> bool:
    return char.isalnum() or char == "_"
