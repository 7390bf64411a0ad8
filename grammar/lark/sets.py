"""Terminals with `&` and `~`, intersection and complement, and with `%regex {...}`.

Lark has nothing of that kind, and so no text that a terminal could be composed as. Here every piece beside such an
operator, and each side of one, is a language of its own: what Lark makes of that piece alone, with its lazy quantifiers
and lookarounds, and the languages are put together. The complement is taken of all sequences of Unicode scalar values.

`&` binds closer than `|` and less close than what stands side by side, `~` closest: `A "x" & ~B+ | C` is
`((A "x") & ((~B)+)) | C`.

Cost: the automaton of an intersection or a complement is made lazily like any other, and is at most exponential in the
size of what it is made of, where that is not deterministic. Whether it is empty is searched, within a limit.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from ...earley._regex import Regexes
from ...earley.errors import LimitError
from ..errors import GrammarError, RegexSyntaxError
from ..regex.ast import And, Chars, Concat, Literal, Not, Union
from ..regex.ast import Node as Regex
from ..regex.ast import Repeat as RegexRepeat
from ..regex.lower import lower
from ..regex.python import parse
from .literals import regexp_text
from .scope import Elsewhere, Found, Scope
from .terminals import TerminalBuilder
from .tree import (
    Block,
    Choice,
    Complement,
    Extended,
    GrammarName,
    Indexed,
    Intersection,
    Node,
    Regexp,
    Repeat,
    RuleName,
    Sequence,
    TemplateUse,
    TerminalName,
)

if TYPE_CHECKING:
    from .terminals import Context


class Composer:
    """Composes one terminal in which there is something that is no text."""

    def __init__(self, builder: TerminalBuilder, context: Context) -> None:
        self.builder = builder
        self.context = context
        self.known: dict[Found, tuple[Regex, int]] = {}
        self.n_pieces = 0  # of what has been composed, those of other terminals as often as they are used

    def compose(self, tree: Node, depth: int) -> Regex:
        builder = self.builder
        builder._check_depth(tree, depth)
        if isinstance(tree, Intersection):
            return And(tuple([self.compose(part, depth + 1) for part in tree.parts]))
        if isinstance(tree, Complement):
            return Not(self.compose(tree.body, depth + 1))
        if isinstance(tree, Extended):
            return structured(self.context.scope, tree)
        regex = builder.composed(tree, depth)
        if regex is None:
            return self.inside(tree, depth)
        self.count(tree, 1)
        return regex if isinstance(regex, (Chars, Literal)) else And((regex,))

    def inside(self, tree: Node, depth: int) -> Regex:
        """The regex of `tree`, part by part."""
        if isinstance(tree, TerminalName):
            found = self.context.find_terminal(tree)
            known = self.known.get(found)
            if known is None:
                before = self.n_pieces
                outer = self.builder._enter(found, tree, depth)
                regex = self.compose(found[1].tree, depth + 1)
                self.builder._leave(outer)
                self.known[found] = regex, self.n_pieces - before
                return regex
            self.count(tree, known[1])
            return known[0]
        if isinstance(tree, Sequence):
            return Concat(tuple([self.compose(item, depth + 1) for item in tree.items]))
        if isinstance(tree, Choice):
            return Union(tuple([self.compose(each, depth + 1) for each in tree.alternatives]))
        if isinstance(tree, Repeat):
            return RegexRepeat(self.compose(tree.body, depth + 1), tree.minimum, tree.maximum, False)
        assert isinstance(tree, Elsewhere)
        outer = self.context.move(tree.scope)
        regex = self.compose(tree.tree, depth + 1)
        self.context.move(outer)
        return regex

    def count(self, node: Node, pieces: int) -> None:
        self.n_pieces += pieces
        self.builder._count(node, pieces)


def structured(scope: Scope, node: Extended) -> Regex:
    """The regex of `%regex {...}`; the error about anything else that is no terminal."""
    if isinstance(node, Block) and node.raw.startswith("%regex"):
        from ..regex.substring import structured_regex

        try:
            return structured_regex(read_json(scope, node))
        except RegexSyntaxError as error:
            raise scope.error(error.message, node, error.hint) from error
    if isinstance(node, Block):
        raise not_a_terminal(scope, node, f"`{node.raw.split('{')[0].strip()}`")
    if isinstance(node, GrammarName):
        raise not_a_terminal(scope, node, f"grammar `@{node.name}`")
    if isinstance(node, Indexed):
        raise not_a_terminal(scope, node, f"rule `{node.name}`")
    raise scope.error("a condition stands inside a terminal", node, "conditions belong to rules: name::_ : ...")


def not_a_terminal(scope: Scope, node: Node, what: str) -> GrammarError:
    return scope.error(f"{what} stands inside a terminal", node, "terminals consist of terminals")


def read_json(scope: Scope, node: Block, *, exact: bool = False) -> Any:
    """The JSON value in a block. Errors are shown at their place in it. exact: decimals keep all their digits."""
    begin = node.raw.index("{")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(pairs)
        if len(fields) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise scope.error(f"field {twice[:40]!r} stands here twice", node)
        return fields

    try:
        return json.loads(node.raw[begin:], object_pairs_hook=unique, parse_float=Decimal if exact else None)
    except json.JSONDecodeError as error:
        raise scope.error(f"this is no JSON: {error.msg}", node, None, begin + error.pos) from None
    except RecursionError:
        raise scope.limit_error("this JSON is nested too deeply", node) from None
    except GrammarError:
        raise
    except (ValueError, InvalidOperation):
        raise scope.limit_error("a number in this JSON has too many digits", node) from None


def faulty(literals: Iterable[tuple[Node, Scope]]) -> Node | None:
    """The first regexp that is no terminal by itself."""
    for literal, _ in literals:
        if isinstance(literal, Regexp):
            try:
                lower(parse(*regexp_text(literal.raw)), Regexes())
            except (RegexSyntaxError, LimitError):
                return literal
    return None


def written(node: Node) -> str:
    """How an expression is called in messages: about as it is written, shortened."""
    if isinstance(node, Intersection):
        return " & ".join([written(part) for part in node.parts[:3]])
    if isinstance(node, Complement):
        return f"~{written(node.body)}"
    if isinstance(node, Block):
        return node.raw[:40]
    if isinstance(node, (TerminalName, RuleName, TemplateUse)):
        return node.name
    raw = getattr(node, "raw", None)
    return raw[:40] if isinstance(raw, str) else "(...)"
