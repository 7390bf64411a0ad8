"""Parse the expressions of Lark grammars: the alternatives of one definition become one tree.

Open groups are on an explicit stack, so the interpreter's recursion limit does not bound their depth; `Limits.nesting`
does. Nothing is looked up: names may be undefined and strings malformed.
"""

from __future__ import annotations

import re

from ...earley._meter import tick
from ..errors import GrammarError
from .mistakes import misplaced, never_closed, unexpected
from .scan import BAR, DIRECTIVE, LINE, MARK, NOTHING, NUMBER, REGEXP, RULE, SPECIAL, STRING, TERMINAL
from .tree import (
    Block,
    Choice,
    Complement,
    Condition,
    GrammarName,
    Guarded,
    Indexed,
    Intersection,
    Node,
    ParsedGrammar,
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

IN_LIBRARY = -1
"""The place of all nodes of Lark's libraries: errors about them are shown at the import of the library."""

_DIGITS = re.compile("[+-]?[0-9]+")

# Operators among the items of a sequence, until the sequence is made:
_AND = Node()
_NOT = Node()


class ExpressionReader:
    """Reads expressions from the lexemes of one text. `i` is the index of the next lexeme."""

    __slots__ = ("has_operators", "i", "in_library", "kinds", "lexemes", "nesting", "parsed")

    def __init__(self, parsed: ParsedGrammar, in_library: bool) -> None:
        self.parsed = parsed
        self.lexemes = parsed.lexemes
        self.kinds = parsed.kinds
        self.in_library = in_library
        self.nesting: int = parsed.limits.nesting
        self.i = 0
        self.has_operators = False  # whether the text has had an `&` yet, or a `~` in front of an item

    def expression(self, rule: str | None) -> Node:
        """Read alternatives up to the end of the definition. `rule` is its name; None for a terminal."""
        alternatives: list[Node] = []
        items: list[Node] = []
        # The open groups, outermost first. For each: the alternatives and the items before it, the lexeme that opened
        # it, and, if it is the use of a template, the arguments read so far.
        stack: list[tuple[list[Node], list[Node], int, list[Node]]] = []
        while True:
            if not self.i & 0x3F:
                tick()
            lexeme = self.lexemes[self.i]
            kind = self.kinds[self.i]
            if kind <= SPECIAL:
                if kind == RULE and self.lexemes[self.i + 1] == "{" and self.uses_template():
                    self.check_nesting(len(stack))
                    stack.append((alternatives, items, self.i + 1, []))
                    alternatives = []
                    items = []
                    self.i += 2
                else:
                    self.put(self.value(lexeme, kind), items)
            elif lexeme == "(" or lexeme == "[":
                self.check_nesting(len(stack))
                stack.append((alternatives, items, self.i, []))
                alternatives = []
                items = []
                self.i += 1
            elif lexeme == ")" or lexeme == "]" or lexeme == "}":
                self.check_closes(lexeme, stack[-1][2] if stack else -1)
                if lexeme == "}":
                    self.check_argument(alternatives, items)
                alternatives.append(self.sequence(items))
                node = choice(alternatives)
                alternatives, items, opener, arguments = stack.pop()
                if lexeme == "]":
                    node = Repeat(node.at, node, 0, 1, "?")
                elif lexeme == "}":
                    arguments.append(node)
                    place = IN_LIBRARY if self.in_library else opener - 1
                    node = TemplateUse(place, self.lexemes[opener - 1], arguments)
                self.i += 1
                self.put(node, items)
            elif lexeme == "," and stack and self.lexemes[stack[-1][2]] == "{":
                self.check_argument(alternatives, items)
                alternatives.append(self.sequence(items))
                stack[-1][3].append(choice(alternatives))
                alternatives = []
                items = []
                self.i += 1
            elif kind == BAR:
                alternatives.append(self.sequence(items))
                items = []
                self.i += 1
            elif kind == LINE or (kind == NOTHING and self.i == len(self.lexemes) - 1):
                break
            elif lexeme == "->":
                self.alias(rule, bool(stack))
            elif not self.extension(lexeme, items, bool(stack)):
                raise misplaced(self.parsed, self.i, bool(items))
        if stack:
            raise never_closed(self.parsed, self.i, stack[-1][2])
        alternatives.append(self.sequence(items))
        return choice(alternatives)

    def extension(self, lexeme: str, items: list[Node], in_group: bool) -> bool:
        """Read a part of an expression that Lark does not have. Return whether there is one here."""
        at = self.i
        if lexeme == "&":
            items.append(_AND)
            self.has_operators = True
        elif lexeme == "~" and self.begins_item(at + 1):
            items.append(_NOT)
            self.has_operators = True
        elif lexeme[:3] == "%if" and self.kinds[at] == DIRECTIVE:
            if in_group:
                raise self.parsed.error("a condition follows a whole alternative; it cannot be inside a group", at)
            if self.kinds[at + 1] not in (BAR, LINE, NOTHING):
                self.i += 1
                raise self.unexpected("the alternative should end after its condition", "write `|` before the next one")
            body = self.sequence(items[:])
            items[:] = [Guarded(body.at, body, Condition(self.place(), lexeme))]
        elif self.kinds[at] == DIRECTIVE and lexeme[-1] == "}":
            place = self.place()
            self.i += 1
            self.put(Block(place, lexeme), items)
            return True
        else:
            return False
        self.i += 1
        return True

    def begins_item(self, at: int) -> bool:
        """Return whether the lexeme `at` begins something that can be negated."""
        kind = self.kinds[at]
        lexeme = self.lexemes[at]
        return kind <= SPECIAL or lexeme in ("(", "[", "~") or (kind == DIRECTIVE and lexeme[-1] == "}")

    def put(self, node: Node, items: list[Node]) -> None:
        """Append `node` with the operators around it. A `~` in front binds closer than an operator that follows."""
        if self.has_operators:
            while items and items[-1] is _NOT:
                items.pop()
                node = Complement(node.at, node)
        items.append(self.repeated(node))

    def intersection(self, items: list[Node]) -> Node:
        """Return the node for `items` with `&` among them. `&` binds closer than `|` and less close than a blank."""
        parts: list[list[Node]] = [[]]
        for item in items:
            tick()
            if item is _AND:
                parts.append([])
            else:
                parts[-1].append(item)
        if not all(parts):
            raise self.unexpected("an expression is expected on both sides of `&`", None)
        nodes = [part[0] if len(part) == 1 else Sequence(part[0].at, part) for part in parts]
        return Intersection(nodes[0].at, nodes)

    def uses_template(self) -> bool:
        """Return whether the name here, which a brace follows, is a template. In `x{2}` and `x{,2}` it is not."""
        return self.lexemes[self.i + 2] != "," and self.kinds[self.i + 2] != NUMBER

    def value(self, lexeme: str, kind: int) -> Node:
        """Read a name, a literal or a range."""
        at = self.place()
        self.i += 1
        if kind == STRING:
            if self.lexemes[self.i] == "..":
                self.i += 1
                last = self.lexemes[self.i]
                if self.kinds[self.i] != STRING:
                    raise self.unexpected("a range ends with a string", 'write "a".."z"')
                self.i += 1
                return Range(at, lexeme, last)
            return String(at, lexeme)
        if kind == RULE:
            if lexeme[0] == "?" or lexeme[0] == "!":
                hint = f"if `{lexeme[0]}` is an operator, write a blank after it"
                raise self.parsed.error(f"`{lexeme}`: only the definition of a rule has modifiers", self.i - 1, hint)
            follower = self.lexemes[self.i]
            if follower[:2] == "::":
                self.i += 1
                return Indexed(at, lexeme, follower)
            return RuleName(at, lexeme)
        if kind == TERMINAL:
            return TerminalName(at, lexeme)
        if kind == REGEXP:
            return Regexp(at, lexeme)
        return GrammarName(at, lexeme[1:]) if lexeme[0] == "@" else SpecialToken(at, lexeme)

    def repeated(self, node: Node) -> Node:
        """Return `node` with the operator that may follow it."""
        if self.kinds[self.i] != MARK:
            return node
        lexeme = self.lexemes[self.i]
        if lexeme == "*":
            node = Repeat(node.at, node, 0, None, lexeme)
        elif lexeme == "?":
            node = Repeat(node.at, node, 0, 1, lexeme)
        elif lexeme == "+":
            node = Repeat(node.at, node, 1, None, lexeme)
        elif lexeme == "~":
            return node if self.begins_item(self.i + 1) else self.counted(node)
        elif lexeme == "{":
            return self.counted_in_braces(node)
        else:
            return node
        self.i += 1
        return node

    def place(self) -> int:
        """Return the place of a node that begins with the next lexeme."""
        return IN_LIBRARY if self.in_library else self.i

    def sequence(self, items: list[Node]) -> Node:
        """Return `items` as one node."""
        if self.has_operators and _AND in items:
            return self.intersection(items)
        if len(items) == 1:
            return items[0]
        return Sequence(items[0].at if items else self.place(), items)

    def alias(self, rule: str | None, in_group: bool) -> None:
        """Read `-> name` after an alternative. It names a node of Lark's trees and does not change the language."""
        at = self.i
        if rule is None:
            raise self.parsed.error("terminals have no aliases", at, "remove `-> name`")
        if in_group:
            raise self.parsed.error("an alias follows a whole alternative; it cannot be inside a group", at)
        if rule[0] == "_":
            raise self.parsed.error(f"`{rule}` begins with an underscore, so its alternatives have no aliases", at)
        self.i += 1
        name = self.lexemes[self.i]
        if self.kinds[self.i] != RULE or name[0] in "?!":
            raise self.unexpected("an alias, a name in lower case, is expected here", None)
        self.i += 1
        if self.kinds[self.i] not in (BAR, LINE, NOTHING):
            raise self.unexpected("the alternative should end after its alias", "write `|` before the next one")

    def counted(self, body: Node) -> Node:
        """Read `~n` or `~n..m`."""
        at = self.i
        self.i += 1
        minimum = self.number("a count, a number, is expected after `~`")
        if self.lexemes[self.i] != "..":
            self.check_counts(minimum, minimum, at)
            return Repeat(body.at, body, minimum, minimum, f"{{{minimum}}}")
        self.i += 1
        maximum = self.number("a count, a number, is expected after `..`")
        self.check_counts(minimum, maximum, at)
        return Repeat(body.at, body, minimum, maximum, f"{{{minimum},{maximum}}}")

    def counted_in_braces(self, body: Node) -> Node:
        """Read `{n}`, `{n,}`, `{,m}` or `{n,m}`."""
        at = self.i
        self.i += 1
        lexeme = self.lexemes[self.i]
        if lexeme != "," and self.kinds[self.i] != NUMBER:
            raise self.parsed.error("only a rule can be a template", at, "write counts as {n}, {n,}, {,m} or {n,m}")
        minimum = 0 if lexeme == "," else self.number("")
        maximum: int | None = minimum
        operator = f"{{{minimum}}}"
        if self.lexemes[self.i] == ",":
            self.i += 1
            maximum = None
            operator = f"{{{minimum},}}"
            if self.kinds[self.i] == NUMBER:
                maximum = self.number("")
                operator = f"{{{minimum},{maximum}}}"
            elif lexeme == ",":
                raise self.parsed.error("`{,}` has no count", at, "write {n}, {n,}, {,m} or {n,m}")
        if self.lexemes[self.i] != "}":
            raise self.unexpected("`}` is expected here", "write {n}, {n,}, {,m} or {n,m}")
        self.i += 1
        self.check_counts(minimum, maximum, at)
        return Repeat(body.at, body, minimum, maximum, operator)

    def number(self, expected: str) -> int:
        lexeme = self.lexemes[self.i]
        if not _DIGITS.fullmatch(lexeme):
            raise self.unexpected(expected, None)
        if len(lexeme) > 20:
            raise self.parsed.limit_error("this number has more than 20 digits", self.i)
        self.i += 1
        return int(lexeme)

    def check_counts(self, minimum: int, maximum: int | None, at: int) -> None:
        if minimum < 0 or (maximum is not None and maximum < minimum):
            raise self.parsed.error(
                f"cannot repeat from {minimum} to {maximum} times",
                at,
                "write the smaller count first, none negative",
            )
        most = self.parsed.limits.repetitions
        if max(minimum, maximum or 0) > most:
            raise self.parsed.limit_error(f"a count is at most {most}", at, "use `*` or `+`").set_limit("repetitions")

    def check_nesting(self, depth: int) -> None:
        if depth == self.nesting:
            message = f"groups are nested more than {depth} deep"
            hint = "make rules of the inner groups"
            raise self.parsed.limit_error(message, self.i, hint).set_limit("nesting")

    def check_closes(self, lexeme: str, opener: int) -> None:
        if opener < 0 or self.lexemes[opener] + lexeme not in ("()", "[]", "{}"):
            raise self.parsed.error(f"`{lexeme}` closes no open group", self.i)

    def check_argument(self, alternatives: list[Node], items: list[Node]) -> None:
        if not alternatives and not items:
            raise self.unexpected("an argument of the template is expected here", "write () for an empty one")

    def unexpected(self, expected: str, hint: str | None) -> GrammarError:
        """Return the error about the next lexeme. `expected` says what should be in its place."""
        return unexpected(self.parsed, self.i, expected, hint)


def choice(alternatives: list[Node]) -> Node:
    """Return `alternatives` as one node."""
    return alternatives[0] if len(alternatives) == 1 else Choice(alternatives[0].at, alternatives)
