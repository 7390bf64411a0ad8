"""Build one regex tree for each terminal, from strings, regular expressions and other terminals.

Lark builds the *text* of a regular expression (`TerminalTreeToPattern` in `load_grammar.py`), which has consequences:
`A: /a|b/ "c"` is `a|bc`; the alternatives of a terminal are sorted, longest first, which decides what a lazy quantifier
beside them matches; a piece may even begin with the quantifier of the piece before it. So there are two ways here:

- Usually every piece means the same alone as beside others, and nothing is lazy. Then neither order nor grouping
  matters, and the trees of the pieces are joined directly.
- Otherwise the text is built exactly as Lark builds it, and parsed once.

In both ways, flags apply only to the piece that they are written on. Terminals cannot be recursive.

Lark has no `&` (intersection), `~` (complement) and `%regex {...}`, and so no text for a terminal with one of them. In
such a terminal every piece beside an operator, and each side of one, is a language of its own: the one that Lark gives
to that piece alone, with its lazy quantifiers and lookarounds. `Composer` joins these languages. A complement contains
all other sequences of Unicode scalar values. `&` binds closer than `|` and less close than a sequence; `~` binds
closest: `A "x" & ~B+ | C` is `((A "x") & ((~B)+)) | C`. The automaton of an intersection or a complement is lazy like
any other. In the worst case it is exponential in the size of its nondeterministic parts. Whether it is empty is
searched within a limit.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ...earley._meter import tick
from ...earley._regex import Regexes
from ...earley.errors import LimitError
from ..errors import GrammarError, GrammarLimitError, RegexSyntaxError
from ..json.reader import loads
from ..loading import PIECE, pieces
from ..regex import python as regex_syntax
from ..regex.ast import And, Chars, Concat, Literal, Not, Union, widths
from ..regex.ast import Node as Regex
from ..regex.ast import Repeat as RegexRepeat
from ..regex.lower import lower
from .literals import LiteralError, range_ends, regexp_text, source_position, split, string_text
from .scope import Elsewhere, Found, Scope, special_of
from .tree import (
    Block,
    Choice,
    Complement,
    Extended,
    GrammarName,
    Indexed,
    Intersection,
    Node,
    Range,
    Regexp,
    Repeat,
    RuleName,
    Sequence,
    SpecialToken,
    String,
    TemplateUse,
    TerminalName,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ...earley.limits import Limits

MAX_DEPTH = 200
"""The most levels in the tree of a terminal, which includes the trees of the terminals in it. It bounds the recursion
of the functions here, and allows some hundred terminals within each other. Beyond it, GrammarLimitError is raised."""

MAX_PATTERN = 1_000_000
"""The most characters of the text that is built for a terminal. Pieces that are used often can make it grow
exponentially. Beyond it, GrammarLimitError is raised."""

# Finds pieces that may mean something else beside others than alone: an alternative without a group; a quantifier, a
# number or a brace at an end, which the neighbour could continue; a global flag. And pieces in which the order of
# alternatives matters.
_INTRICATE = re.compile(r"\||^[*+?{]|\\[0-9]+$|\{[0-9,]*$|\(\?[aiLmsux]+\)|[*+?}][?+]|\(\?>")


class Context(Protocol):
    """What this module asks of the loader: to find named terminals, and to know whose text is being read."""

    scope: Scope
    """The scope of the nodes that are being read: their names and their text."""

    def find_terminal(self, node: TerminalName) -> Found:
        """Return the definition of a terminal that is named in another one."""
        ...

    def move(self, scope: Scope) -> Scope:
        """Continue in the text of another scope. Return the scope before."""
        ...


class Pattern(NamedTuple):
    """What Lark calls a pattern: a text, its flags, and whether it is a plain string."""

    text: str
    flags: str
    is_string: bool

    def regexp(self) -> str:
        text = escaped(self.text) if self.is_string else self.text
        for flag in self.flags:
            text = f"(?{flag}:{text})"
        return text


def escaped(text: str) -> str:
    """Return the regular expression of a text."""
    return re.escape(text) if len(text) <= PIECE else "".join([re.escape(piece) for piece in pieces(text)])


class NoText(Exception):
    """Something in a terminal, such as an intersection, has no form as the text of a regular expression."""


class TerminalBuilder:
    """Makes the regex trees of one grammar's terminals; each named one is made once."""

    __slots__ = ("_context", "_known", "_most_pieces", "_open", "_pieces", "_syntax", "cycle")

    def __init__(self, context: Context, limits: Limits, *, posix_classes: bool = False) -> None:
        self._syntax = "p" if posix_classes else ""
        self._context = context
        self._most_pieces = limits.terminal_pieces
        # For named terminals: the tree, None if only the text says what it means, and the number of pieces.
        self._known: dict[Found, tuple[Regex | None, int]] = {}
        self._open: list[Found] = []  # the terminals that are being read, outermost first
        self._pieces = 0
        self.cycle: GrammarError | None = None  # the last error about a terminal that contains itself

    def build(self, tree: Node, found: Found | None = None) -> Regex:
        """Return the regex of one terminal's expression. `found` is its definition, if it has a name."""
        if isinstance(tree, Regexp):
            text, flags = self._regexp_text(tree)
            return self._parse(text, flags, tree)
        self._pieces = 0
        self._open.clear()
        if found is not None:
            self._open.append(found)
        regex = self.composed(tree, 0)
        if regex is None:
            self._pieces = 0
            regex = Composer(self, self._context).compose(tree, 0)
        self._open.clear()
        return regex

    def composed(self, tree: Node, depth: int) -> Regex | None:
        """Return the regex of `tree` as Lark composes it; None if something in it has no text."""
        scope = self._context.scope
        n_open = len(self._open)
        try:
            regex = self.compose(tree, depth)
            return self._parse(self.pattern(tree, depth).regexp(), "", tree) if regex is None else regex
        except NoText:
            self._context.move(scope)
            del self._open[n_open:]
            return None

    # The direct way.

    def compose(self, tree: Node, depth: int) -> Regex | None:
        """Return the regex of `tree`; None if the text that Lark builds from it has to be parsed."""
        tick()
        if isinstance(tree, String):
            self._count(tree, 1)
            text, flags = self._string_text(tree)
            return self._parse(escaped(text), flags, tree) if flags else Literal(text)
        if isinstance(tree, TerminalName):
            return self._compose_named(tree, depth)
        self._check_depth(tree, depth)
        if isinstance(tree, Sequence):
            parts = self._compose_all(tree.items, depth)
            return Concat(parts) if parts else None if parts is None else Literal("")
        if isinstance(tree, Choice):
            parts = self._compose_all(tree.alternatives, depth)
            return None if parts is None else Union(parts)
        if isinstance(tree, Repeat):
            body = self.compose(tree.body, depth + 1)
            return None if body is None else RegexRepeat(body, tree.minimum, tree.maximum, False)
        if isinstance(tree, Range):
            self._count(tree, 1)
            first, last = self._range_ends(tree)
            return Chars(((ord(first), ord(last)),)) if first.isalnum() and last.isalnum() else None
        if isinstance(tree, Regexp):
            self._count(tree, 1)
            text, flags = self._regexp_text(tree)
            if "x" in flags or _INTRICATE.search(text):
                return None
            try:
                return regex_syntax.parse(text, flags + self._syntax)
            except RegexSyntaxError:  # it may be correct together with its neighbours
                return None
        if isinstance(tree, Elsewhere):
            outer = self._context.move(tree.scope)
            regex = self.compose(tree.tree, depth + 1)
            self._context.move(outer)
            return regex
        if isinstance(tree, Extended):
            raise NoText
        raise self._not_here(tree)

    def _compose_all(self, trees: list[Node], depth: int) -> tuple[Regex, ...] | None:
        parts = []
        for tree in trees:
            part = self.compose(tree, depth + 1)
            if part is None:
                return None
            parts.append(part)
        return tuple(parts)

    def _compose_named(self, node: TerminalName, depth: int) -> Regex | None:
        found = self._context.find_terminal(node)
        known = self._known.get(found)
        if known is None:
            before = self._pieces
            definition = found[1]
            self._check_text(definition.tree, node)
            outer = self._enter(found, node, depth)
            regex = self.compose(definition.tree, depth + 1)
            self._leave(outer)
            self._known[found] = regex, self._pieces - before
            return regex
        self._count(node, known[1])
        return known[0]

    # Lark's way.

    def pattern(self, tree: Node, depth: int) -> Pattern:
        """Return what Lark's TerminalTreeToPattern makes of `tree`."""
        self._check_depth(tree, depth)
        tick()
        flags = ""
        if isinstance(tree, TerminalName):
            found = self._context.find_terminal(tree)
            self._check_text(found[1].tree, tree)
            outer = self._enter(found, tree, depth)
            pattern = self.pattern(found[1].tree, depth + 1)
            self._leave(outer)
            return pattern
        if isinstance(tree, Elsewhere):
            outer = self._context.move(tree.scope)
            pattern = self.pattern(tree.tree, depth + 1)
            self._context.move(outer)
            return pattern
        if isinstance(tree, String):
            return Pattern(*self._string_text(tree), True)
        if isinstance(tree, Regexp):
            return Pattern(*self._regexp_text(tree), False)
        if isinstance(tree, Range):
            return Pattern(f"[{'-'.join(self._range_ends(tree))}]", "", False)
        if isinstance(tree, Sequence):
            text = "".join([self.pattern(item, depth + 1).regexp() for item in tree.items])
        elif isinstance(tree, Choice):
            patterns = [self.pattern(alternative, depth + 1) for alternative in tree.alternatives]
            patterns.sort(key=lambda pattern: self._sort_key(pattern, tree))
            text = f"(?:{'|'.join([pattern.regexp() for pattern in patterns])})"
        elif isinstance(tree, Repeat):
            pattern = self.pattern(tree.body, depth + 1)
            text = f"(?:{pattern.regexp()}){tree.operator}"
            flags = pattern.flags
        elif isinstance(tree, Extended):
            raise NoText
        else:
            raise self._not_here(tree)
        if len(text) > MAX_PATTERN:
            raise self._limit_error(f"the pattern of a terminal has more than {MAX_PATTERN} characters", tree)
        return Pattern(text, flags, False)

    def _sort_key(self, pattern: Pattern, tree: Node) -> tuple[float, int, int]:
        """Return the key of Lark's order: longest match first, then the shortest match, then the length as written."""
        if pattern.is_string:
            shortest: int = len(pattern.text)
            longest: float = shortest
        else:
            shortest, longest = widths(self._parse(pattern.regexp(), "", tree))
        return -longest, -shortest, -len(pattern.text)

    # For both ways.

    def _enter(self, found: Found, node: TerminalName, depth: int) -> Scope:
        """Begin to read the definition of a named terminal. Give the result to `_leave` at its end."""
        if found in self._open:
            self.cycle = self._error(f"terminal `{node.name}` contains itself", node, "only rules can be recursive")
            raise self.cycle
        self._check_depth(node, depth)
        self._open.append(found)
        return self._context.move(found[0])

    def _leave(self, outer: Scope) -> None:
        self._open.pop()
        self._context.move(outer)

    def _error(self, message: str, node: Node, hint: str | None = None, shift: int = 0) -> GrammarError:
        return self._context.scope.error(message, node, hint, shift)

    def _limit_error(self, message: str, node: Node, hint: str | None = None) -> GrammarLimitError:
        return self._context.scope.limit_error(message, node, hint)

    def _string_text(self, node: String) -> tuple[str, str]:
        try:
            return string_text(node.raw)
        except LiteralError as error:
            raise self._error(error.message, node, error.hint, error.position) from error

    def _regexp_text(self, node: Regexp) -> tuple[str, str]:
        try:
            return regexp_text(node.raw)
        except LiteralError as error:
            raise self._error(error.message, node, error.hint, error.position) from error

    def _range_ends(self, node: Range) -> tuple[str, str]:
        try:
            first, last = range_ends(node.first, node.last)
        except LiteralError as error:
            raise self._error(error.message, node, error.hint) from error
        if first > last and first.isalnum() and last.isalnum():
            raise self._error(f"the range from {first!r} to {last!r} is empty", node, "exchange its ends")
        return first, last

    def _parse(self, pattern: str, flags: str, tree: Node) -> Regex:
        try:
            return regex_syntax.parse(pattern, flags + self._syntax)
        except RegexSyntaxError as error:
            raise self.regex_error(error, tree) from error
        except LimitError as error:
            raise self._limit_error(str(error), tree).copy_limit(error) from error

    def _count(self, node: Node, pieces: int) -> None:
        self._pieces += pieces
        most = self._most_pieces
        if self._pieces > most:
            message = f"a terminal has more than {most} pieces"
            raise self._limit_error(message, node, "make it a rule").set_limit("terminal_pieces")

    def _check_depth(self, node: Node, depth: int) -> None:
        if depth > MAX_DEPTH:
            raise self._limit_error(f"a terminal is more than {MAX_DEPTH} levels deep", node, "make it a rule")

    def _check_text(self, tree: Node, node: TerminalName) -> None:
        """Raise the error about the name `node` in a terminal, if it stands for a special token."""
        special = special_of(tree)
        if special is not None:
            message = f"special token `{special.name}` cannot be inside a terminal, where it is `{node.name}`"
            raise self._error(message, node, "use it in a rule")

    def _not_here(self, node: Node) -> GrammarError:
        if isinstance(node, SpecialToken):
            return self._error(f"special token `{node.name}` cannot be inside a terminal", node, "use it in a rule")
        assert isinstance(node, RuleName | TemplateUse)
        return not_a_terminal(self._context.scope, node, f"rule `{node.name}`")

    def regex_error(self, error: RegexSyntaxError, tree: Node) -> GrammarError:
        """Return the error about a regular expression in a terminal: at its literal, if one literal alone causes it."""
        if isinstance(tree, Regexp):
            return self._at_literal(error, tree)
        behind = None
        outer = self._context.scope
        for literal, scope in self._literals(tree, set()):
            if isinstance(literal, Regexp):
                try:
                    text, flags = self._regexp_text(literal)
                    regex_syntax.parse(text, flags + self._syntax)
                except RegexSyntaxError as own:
                    self._context.move(scope)
                    return self._at_literal(own, literal)
                if behind is None and scope is outer and "(?<" in literal.raw:
                    behind = literal
        self._open.clear()
        try:
            text = self.pattern(tree, 0).regexp()
        except NoText:
            self._context.move(outer)
            fault = faulty(self._literals(tree, set()))
            self._context.move(outer)
            return self._error(error.message, tree if fault is None else fault, error.hint)
        shown = text if len(text) <= 60 else text[:60] + "..."
        return self._error(f"{error.message}, in the composed pattern /{shown}/", behind or tree, error.hint)

    def _at_literal(self, error: RegexSyntaxError, node: Regexp) -> GrammarError:
        shift = 1 + source_position(split(node.raw)[0], error.position)
        return self._error(error.message, node, error.hint, shift)

    def _literals(self, tree: Node, seen: set[Found]) -> Iterator[tuple[Node, Scope]]:
        """Yield the literals of `tree` and of the terminals in it, each with the scope of its text. Read no terminal
        twice."""
        if isinstance(tree, TerminalName):
            found = self._context.find_terminal(tree)
            if found not in seen:
                seen.add(found)
                outer = self._context.move(found[0])
                yield from list(self._literals(found[1].tree, seen))
                self._context.move(outer)
        elif isinstance(tree, Elsewhere):
            outer = self._context.move(tree.scope)
            yield from list(self._literals(tree.tree, seen))
            self._context.move(outer)
        elif isinstance(tree, Sequence):
            for item in tree.items:
                yield from self._literals(item, seen)
        elif isinstance(tree, Choice):
            for alternative in tree.alternatives:
                yield from self._literals(alternative, seen)
        elif isinstance(tree, Repeat):
            yield from self._literals(tree.body, seen)
        elif isinstance(tree, Extended):
            for child in tree.children():
                yield from self._literals(child, seen)
        else:
            yield tree, self._context.scope


class Composer:
    """Composes one terminal that contains something without a text: `&`, `~` or `%regex`."""

    def __init__(self, builder: TerminalBuilder, context: Context) -> None:
        self.builder = builder
        self.context = context
        self.known: dict[Found, tuple[Regex, int]] = {}
        self.n_pieces = 0  # of all that has been composed; those of named terminals count at each use

    def compose(self, tree: Node, depth: int) -> Regex:
        builder = self.builder
        builder._check_depth(tree, depth)
        tick()
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
        """Return the regex of `tree`, composed part by part."""
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
    """Return the regex of `%regex {...}`. Raise the error about anything else, which cannot be part of a terminal."""
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
    raise scope.error("a condition cannot be inside a terminal", node, "only rules have conditions: name::_ : ...")


def not_a_terminal(scope: Scope, node: Node, what: str) -> GrammarError:
    return scope.error(f"{what} cannot be inside a terminal", node, "use strings, regexps and terminals there")


def read_json(scope: Scope, node: Block, *, exact: bool = False) -> Any:
    """Return the JSON value in a block. Errors have their place in it. With `exact`, decimals keep all their digits."""
    import json
    from decimal import InvalidOperation

    from ..json_schema.read import Spelled

    begin = node.raw.index("{")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        for piece in pieces(pairs):
            fields.update(piece)
        if len(fields) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise scope.error(f"this JSON object has two fields {twice[:40]!r}", node)
        return fields

    try:
        return loads(node.raw[begin:], object_pairs_hook=unique, parse_float=Spelled if exact else None)
    except json.JSONDecodeError as error:
        raise scope.error(f"this is not JSON: {error.msg}", node, None, begin + error.pos) from None
    except RecursionError:
        raise scope.limit_error("this JSON is nested too deeply", node) from None
    except GrammarError:
        raise
    except (ValueError, InvalidOperation):
        raise scope.limit_error("a number in this JSON has too many digits", node) from None


def faulty(literals: Iterable[tuple[Node, Scope]]) -> Node | None:
    """Return the first regexp that cannot be a terminal by itself."""
    for literal, _ in literals:
        if isinstance(literal, Regexp):
            try:
                lower(regex_syntax.parse(*regexp_text(literal.raw)), Regexes())
            except (RegexSyntaxError, LimitError):
                return literal
    return None


def written(node: Node) -> str:
    """Return the name of an expression in messages: about its text, shortened."""
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
