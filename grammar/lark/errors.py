"""Collect the errors of a Lark grammar after loading it has failed.

Loading stops at the first error. Then the text is read again, more slowly, and all errors are collected, so grammars
without errors pay nothing for this. Malformed definitions hide the names that they define; so names are checked only if
the syntax is correct, and whether there is a sentence only if everything else is. Embedded grammars and schemas are
checked as well, each by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

from ...earley._engine import Engine
from ...earley._meter import tick
from ...earley._regex import Regexes
from ...earley.errors import LimitError
from ...trie.errors import EarleymaskError
from ..errors import GrammarError, GrammarLimitError, together
from ..model.compile import errors_at
from ..other_syntax import is_gbnf, pointed_to
from ..source import path_hint
from .load import LarkLoader
from .modules import Modules, Options
from .parse import MAX_ERRORS, syntax_errors
from .scope import Elsewhere, Environment, Found, Scope, special_of
from .tree import (
    DECLARED,
    Block,
    Choice,
    Definition,
    Extended,
    Node,
    Repeat,
    RuleName,
    Sequence,
    TemplateUse,
    TerminalName,
)


def explained(error: GrammarError, text: str, start: str, options: Options) -> GrammarError:
    """Return the error to raise in place of `error`, the first that loading `text` has met."""
    if isinstance(error, GrammarLimitError):
        return error
    hint = path_hint(text, "Grammar.from_lark_file")
    if hint is not None:
        error.hint = hint
        return error
    if is_gbnf(text):
        return pointed_to(error, "Grammar.from_gbnf")
    try:
        return all_errors(error, text, start, Modules(options))
    except LimitError:  # the time is used up
        return error


def all_errors(first: GrammarError, text: str, start: str, modules: Modules) -> GrammarError:
    """Return an error with all errors of `text` that can be found. `first` is among them."""
    errors = syntax_errors(text, modules.limits)
    if not errors and first.source is None:
        collector = _Collector(LarkLoader(modules.parse(text), modules), [])
        with suppress(EarleymaskError):  # a limit was reached; the errors collected before are correct
            collector.collect(start)
            collector.collect_made()
        errors = collector.errors
    known = {_key(error): error for error in errors if not isinstance(error, GrammarLimitError)}
    known.setdefault(_key(first), first)
    ordered = sorted(known.values(), key=_order)
    return together(ordered[:MAX_ERRORS]) if len(ordered) > 1 else first


def _key(error: GrammarError) -> tuple[object, ...]:
    return error.source, error.line, error.column, error.pointer, error.message


def _order(error: GrammarError) -> tuple[str, int, int]:
    return error.source or "", error.line or 0, error.column or 0


class _Collector:
    """Reads what loading reads, and continues after each error."""

    def __init__(self, loader: LarkLoader, errors: list[GrammarError]) -> None:
        self.errors = errors
        self.most = MAX_ERRORS  # no errors are added to `errors` beyond so many
        self.recursive = False
        self.checked: set[Found] = set()  # terminals whose errors have been collected
        self.loader = loader

    def collect(self, start: str) -> None:
        loader = self.loader
        top = loader.top
        top.collect(self.errors)
        if start not in top.failed:
            self.attempt(partial(loader.start_symbol, start))
        for _, definition, scope, environment in loader.pending:  # grows while it is read
            self.check_rule(scope, definition.tree, environment)
        # Errors about names have often been collected already. They count only once.
        self.most = len(self.errors) + MAX_ERRORS
        for definition in top.definitions.values():
            if definition.tree is not DECLARED:
                self.check_names(definition)
        self.most = len(self.errors) + MAX_ERRORS
        for tree in loader.parsed.ignored:
            self.check_terminal((top, Definition(tree.at, "", tree, True)))

    def collect_made(self) -> None:
        """Collect the errors of the JSON Schemas within the text, and of grammars within it that were given."""
        model = self.loader.model
        for symbol, make in model.makers.items():
            tick()
            try:
                make(Engine(Regexes()))
            except GrammarLimitError:
                break  # each of the others might take as long
            except GrammarError as error:
                self.errors += errors_at(model, symbol, error)

    def check_rule(self, scope: Scope, tree: Node, environment: Environment | None) -> None:
        for leaf, where in leaves(tree, scope):
            if len(self.errors) >= self.most:
                break
            tick()
            if self.is_failed(leaf, where):
                continue
            found = where.resolve(leaf.name) if isinstance(leaf, TerminalName) else None
            self.loader.enter(where, environment)
            before = len(self.errors)
            self.attempt(partial(self.loader.append, leaf, []))
            if found is not None and len(self.errors) > before and found[1].tree is not DECLARED:
                self.errors.pop()
                self.check_terminal(found)
            elif len(self.errors) > before and isinstance(leaf, Block) and leaf.raw.startswith("%lark"):
                self.check_inner(leaf)

    def check_inner(self, block: Block) -> None:
        """Collect the errors of a grammar in the text, `%lark {...}`, beside its first, which has been collected."""
        from .embedded import block_loader

        errors: list[GrammarError] = []
        with suppress(GrammarError):
            inner = block_loader(self.loader, block)
            assert isinstance(inner, LarkLoader)
            _Collector(inner, errors).collect("start")
        self.errors += [error for error in errors if error.line is not None]

    def check_names(self, definition: Definition) -> None:
        """Collect the errors about names without a meaning in a definition, wherever they stand in it."""
        top = self.loader.top
        is_reached = not definition.is_terminal and definition.name in top.symbols
        for leaf, where in leaves(definition.tree, top, deep=True):
            if len(self.errors) >= self.most:
                break
            tick()
            if not self.is_failed(leaf, where) and (where is top or not is_reached):
                self.loader.enter(where, None)
                alone = Definition(leaf.at, definition.name, leaf, definition.is_terminal, definition.params)
                self.attempt(partial(self.loader.check_names, alone))

    def check_terminal(self, found: Found) -> None:
        """Collect the errors of each name and literal in a terminal, or, if they have none, the error of the whole."""
        if found in self.checked:
            return
        self.checked.add(found)
        loader = self.loader
        scope, definition = found
        loader.enter(scope, None)
        before = len(self.errors)
        self.attempt(partial(loader.terminals.build, definition.tree, found))
        if len(self.errors) == before:
            return
        whole = self.errors.pop()
        if whole is loader.terminals.cycle:  # each terminal of the cycle would have this error
            if not self.recursive:
                self.recursive = True
                self.errors.append(whole)
            return
        told = False
        for leaf, where in leaves(definition.tree, scope):
            tick()
            if self.is_failed(leaf, where):
                told = True
            elif isinstance(leaf, TerminalName):
                loader.enter(where, None)
                inner = where.own(leaf.name)
                if inner is None or inner[1].tree is DECLARED:
                    self.attempt(partial(loader.find_terminal, leaf))
                elif special_of(inner[1].tree) is not None:  # correct in its definition, but not here
                    self.attempt(partial(loader.terminals.build, leaf))
                else:
                    told = told or inner in self.checked
                    self.check_terminal(inner)
            else:
                loader.enter(where, None)
                self.attempt(partial(loader.terminals.build, leaf))
        if len(self.errors) == before and not told:  # only the whole is wrong
            self.errors.append(whole)

    def is_failed(self, leaf: Node, scope: Scope) -> bool:
        """Return whether the name's own definition or import is an error, which has been collected."""
        return isinstance(leaf, (RuleName, TemplateUse, TerminalName)) and leaf.name in scope.failed

    def attempt(self, step: Callable[[], object]) -> None:
        if len(self.errors) >= self.most:
            return
        try:
            step()
        except GrammarError as error:
            self.errors.append(error)


def leaves(tree: Node, scope: Scope, *, deep: bool = False) -> Iterator[tuple[Node, Scope]]:
    """Yield the names, literals and uses of templates in `tree`, in order, with the scopes of their texts.

    An expression that Lark does not have is yielded as a whole. With `deep`, also what stands in it is yielded, and the
    arguments of templates.
    """
    if isinstance(tree, Sequence):
        for item in tree.items:
            yield from leaves(item, scope, deep=deep)
    elif isinstance(tree, Choice):
        for alternative in tree.alternatives:
            yield from leaves(alternative, scope, deep=deep)
    elif isinstance(tree, Repeat):
        yield from leaves(tree.body, scope, deep=deep)
    elif isinstance(tree, Elsewhere):
        yield from leaves(tree.tree, tree.scope, deep=deep)
    else:
        if deep and isinstance(tree, Extended):
            for child in tree.children():
                yield from leaves(child, scope, deep=True)
        elif deep and isinstance(tree, TemplateUse):
            for argument in tree.arguments:
                yield from leaves(argument, scope, deep=True)
        yield tree, scope
