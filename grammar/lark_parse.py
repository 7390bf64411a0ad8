"""Lark grammar text to definitions: which rules, terminals and directives there are, each with its expression tree.

The grammar of grammars is that of Lark's loader (`RULES` in `lark/load_grammar.py`), read by hand in one pass over the
lexemes. Groups are kept on an explicit stack, so the depth of a grammar's nesting is a limit that we set and not one of
the interpreter. Nothing is looked up here: names may be undefined and strings malformed.

Beyond Lark, there is what `docs/extensions.md` lists; `x{2}`, `x{2,}`, `x{,3}` and `x{2,3}` count as `x~2`, `x~2..3`
do, `<|name|>` is a special token, and what a template is used with may be any expression.
"""

from __future__ import annotations

import re

from ..earley.limits import DEFAULT, Limits
from .errors import GrammarError, GrammarLimitError
from .lark_hints import CHARACTER_HINTS, DIRECTIVE_HINTS, MIXED_CASE_HINT, NEXT_LINE, mixed_case
from .lark_scan import (
    BAR,
    DIRECTIVE,
    END,
    LINE,
    MARK,
    NOTHING,
    NUMBER,
    REGEXP,
    RULE,
    SPECIAL,
    STRING,
    TERMINAL,
    offsets,
    scan,
)
from .lark_tree import (
    DECLARED,
    Attribute,
    Attributed,
    Block,
    Change,
    Choice,
    Complement,
    Condition,
    Definition,
    GrammarName,
    Guarded,
    Import,
    Indexed,
    Intersection,
    Node,
    Parametric,
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
from .source import GrammarWarning, SourceText

IN_LIBRARY = -1
"""Where nodes of Lark's libraries stand: errors about them are shown where the library is imported."""

MAX_ERRORS = 100
"""So many errors are looked for in one text."""

_DIGITS = re.compile("[+-]?[0-9]+")

# Operators among the items that they are about, until the sequence is made:
_AND = Node()
_NOT = Node()


class ParsedGrammar:
    """The definitions and directives of one text, in its order, and the way back into the text."""

    __slots__ = (
        "_base",
        "_inner",
        "_offsets",
        "changes",
        "definitions",
        "ignored",
        "imports",
        "kinds",
        "lexemes",
        "limits",
        "source",
    )

    def __init__(
        self,
        text: str,
        name: str | None = None,
        limits: Limits = DEFAULT,
        around: ParsedGrammar | None = None,
        base: int = 0,
    ) -> None:
        """With `around`, `text` is a part of that one's, from offset `base` on."""
        self.limits = limits
        self.source: SourceText = SourceText(text, name) if around is None else around.source
        self._inner: str | None = None if around is None else text
        self._base = base
        self.lexemes, self.kinds = scan(text + "\n")
        self.definitions: list[Definition] = []  # also those that are only declared
        self.changes: list[Change] = []
        self.ignored: list[Node] = []
        self.imports: list[Import] = []
        self._offsets: list[int] | None = None

    def offset(self, at: int) -> int:
        """Where lexeme `at` begins in the text. Found for all of them at once, when first asked."""
        text = self.source.text if self._inner is None else self._inner
        if self._offsets is None:
            self._offsets = offsets(text + "\n")
        return self._base + min(self._offsets[at], len(text))

    def error(self, message: str, at: int, hint: str | None = None) -> GrammarError:
        return self.source.error(message, self.offset(at), hint)

    def limit_error(self, message: str, at: int, hint: str | None = None) -> GrammarLimitError:
        return self.source.limit_error(message, self.offset(at), hint)

    def warning(self, message: str, at: int) -> GrammarWarning:
        return self.source.warning(message, self.offset(at))


def parse(text: str, name: str | None = None, limits: Limits = DEFAULT) -> ParsedGrammar:
    """Read a whole grammar text. `name` is what errors call it, where it is not the text that the caller gave."""
    parsed = ParsedGrammar(text, name, limits)
    _Parser(parsed, False).grammar()
    return parsed


def parse_inside(around: ParsedGrammar, text: str, base: int) -> ParsedGrammar:
    """Read a grammar that is a part of another text."""
    parsed = ParsedGrammar(text, None, around.limits, around, base)
    _Parser(parsed, False).grammar()
    return parsed


def syntax_errors(text: str, limits: Limits) -> list[GrammarError]:
    """The errors of a malformed text, up to MAX_ERRORS; after each, reading goes on with the next definition."""
    parsed = ParsedGrammar(text, None, limits)
    parser = _Parser(parsed, False)
    errors: list[GrammarError] = []
    while len(errors) < MAX_ERRORS:
        try:
            parser.grammar()
            break
        except GrammarError as error:
            errors.append(error)
        if not parser.recover():
            break
    return errors


def parse_library(text: str) -> ParsedGrammar:
    """Read a part of one of Lark's libraries: its nodes have no place."""
    parsed = ParsedGrammar(text)
    _Parser(parsed, True).grammar()
    return parsed


class _Parser:
    """Reads the lexemes from left to right; `i` is the next one."""

    __slots__ = ("has_operators", "i", "in_library", "kinds", "lexemes", "nesting", "parsed")

    def __init__(self, parsed: ParsedGrammar, in_library: bool) -> None:
        self.parsed = parsed
        self.lexemes = parsed.lexemes
        self.kinds = parsed.kinds
        self.in_library = in_library
        self.nesting: int = parsed.limits.nesting
        self.i = 0
        self.has_operators = False  # whether there has been an `&`, or a `~` before what it negates

    def grammar(self) -> None:
        """A sequence of definitions, directives and line ends."""
        while True:
            lexeme = self.lexemes[self.i]
            kind = self.kinds[self.i]
            if kind <= TERMINAL:
                self.parsed.definitions.append(self.definition(lexeme, kind == TERMINAL))
            elif kind == LINE:
                self.i += 1
            elif kind == DIRECTIVE:
                self.directive(lexeme)
            elif kind == NOTHING and self.i == len(self.lexemes) - 1:
                return
            else:
                raise self.unexpected(
                    "a definition `name: ...` or a directive is expected here", CHARACTER_HINTS.get(lexeme, NEXT_LINE)
                )

    def definition(self, lexeme: str, is_terminal: bool) -> Definition:
        place = self.place()
        at = self.i
        name = lexeme.lstrip("?!")
        if lexeme[0] == "?" and name[0] == "_":
            raise self.parsed.error(
                f"`{name}` begins with an underscore and cannot have the modifier `?`", at, "leave out the `?`"
            )
        self.i += 1
        params = self.parameters(is_terminal) if self.lexemes[self.i] == "{" else ()
        extras = self.extras(is_terminal) if self.lexemes[self.i] != ":" else None
        if self.lexemes[self.i] != ":":
            raise self.missing_colon(at, name)
        self.i += 1
        tree = self.expression(None if is_terminal else name)
        if extras is not None:
            attributes, is_parametric = extras
            if params and (attributes or is_parametric):
                raise self.parsed.error(f"template `{name}` has attributes or a value", at, "a rule has them")
            if attributes:
                tree = Attributed(place, name, attributes, tree)
            if is_parametric:
                tree = Parametric(place, tree)
        return Definition(place, name, tree, is_terminal, params)

    def extras(self, is_terminal: bool) -> tuple[list[Attribute], bool]:
        """What may stand between a name and its colon: a priority, attributes, and `::_`, which gives it a value."""
        attributes: list[Attribute] = []
        is_parametric = False
        while True:
            lexeme = self.lexemes[self.i]
            if lexeme == ".":
                self.i += 1
                self.number("a priority, a number, is expected after the dot")
            elif lexeme == "[" or lexeme[:2] == "::":
                if is_terminal:
                    what = "attributes" if lexeme == "[" else "values"
                    raise self.parsed.error(f"terminals have no {what}", self.i, "make it a rule")
                if lexeme == "[":
                    attributes += self.attributes(attributes)
                    continue
                if lexeme != "::_":
                    raise self.parsed.error(f"`{lexeme}` defines nothing", self.i, "write name::_ : ... for all values")
                is_parametric = True
                self.i += 1
            else:
                return attributes, is_parametric

    def attributes(self, before: list[Attribute]) -> list[Attribute]:
        """`[name, name=value]`"""
        attributes: list[Attribute] = []
        while self.lexemes[self.i] != "]":
            self.i += 1
            place = self.place()
            name = self.lexemes[self.i]
            if self.kinds[self.i] != RULE or name[0] in "?!":
                raise self.unexpected("an attribute is expected here", 'write name[lazy, suffix="..."]: ...')
            if name in [attribute.name for attribute in before + attributes]:
                raise self.parsed.error(f"`{name}` stands here twice", self.i)
            self.i += 1
            value: Node | None = None
            number = ""
            if self.lexemes[self.i] == "=":
                self.i += 1
                lexeme = self.lexemes[self.i]
                kind = self.kinds[self.i]
                if kind in (STRING, REGEXP, TERMINAL):
                    value = self.value(lexeme, kind)
                elif kind == NUMBER:
                    number = self.decimal()
                else:
                    raise self.unexpected("a string, a regexp, a terminal or a number is expected after `=`", None)
            attributes.append(Attribute(place, name, value, number))
            if self.lexemes[self.i] not in (",", "]"):
                raise self.unexpected("`,` or `]` is expected here", 'write name[lazy, suffix="..."]: ...')
        self.i += 1
        return attributes

    def decimal(self) -> str:
        """A number that may have a fraction, as written."""
        written = self.lexemes[self.i]
        self.i += 1
        if self.lexemes[self.i] == "." and self.kinds[self.i + 1] == NUMBER:
            written += "." + self.lexemes[self.i + 1]
            self.i += 2
        if len(written) > 30:
            raise self.parsed.limit_error("this number has more than 30 digits", self.i - 1)
        return written

    def parameters(self, is_terminal: bool) -> tuple[str, ...]:
        """`{a, b}` behind the name of a template."""
        if is_terminal:
            raise self.parsed.error("terminals have no parameters", self.i, "make it a rule: rules may be templates")
        params: list[str] = []
        while self.lexemes[self.i] != "}":
            self.i += 1
            name = self.lexemes[self.i]
            if self.kinds[self.i] != RULE or name[0] in "?!":
                raise self.unexpected("a parameter, a name in lower case, is expected here", "write name{a, b}: ...")
            if name in params:
                raise self.parsed.error(f"parameter `{name}` stands here twice", self.i, "give each a name of its own")
            params.append(name)
            self.i += 1
            if self.lexemes[self.i] not in (",", "}"):
                raise self.unexpected("`,` or `}` is expected here", "write name{a, b}: ...")
        self.i += 1
        return tuple(params)

    def directive(self, lexeme: str) -> None:
        at = self.i
        self.i += 1
        if lexeme == "%ignore":
            tree = self.expression(None)
            if isinstance(tree, Sequence) and not tree.items:
                raise self.parsed.error("`%ignore` names nothing to ignore", at, "write `%ignore WS`")
            self.parsed.ignored.append(tree)
        elif lexeme == "%import":
            self.import_statement(at)
        elif lexeme == "%override" or lexeme == "%extend":
            name = self.lexemes[self.i]
            kind = self.kinds[self.i]
            if kind > TERMINAL:
                raise self.unexpected(f"a definition is expected after `{lexeme}`", f"write `{lexeme} name: ...`")
            self.parsed.changes.append(Change(at, lexeme, self.definition(name, kind == TERMINAL)))
        elif lexeme == "%declare":
            self.declaration()
        elif lexeme in DIRECTIVE_HINTS:
            raise self.parsed.error(f"`{lexeme}` is not supported", at, DIRECTIVE_HINTS[lexeme])
        else:
            raise self.parsed.error(
                f"`{lexeme}` is no directive", at, "there are %ignore, %import, %override, %extend and %declare"
            )

    def declaration(self) -> None:
        """`%declare NAME NAME`: names that stand for something only the caller knows."""
        while True:
            place = self.place()
            kind = self.kinds[self.i]
            name = self.import_name("write `%declare NAME`")
            self.parsed.definitions.append(Definition(place, name, DECLARED, kind == TERMINAL))
            if self.kinds[self.i] in (LINE, NOTHING):
                return

    def import_statement(self, at: int) -> None:
        """`%import module.name`, `%import module.name -> alias` or `%import module (name, name)`.

        A dot before the module makes it relative to this text.
        """
        relative = ""
        if self.lexemes[self.i] == ".":
            relative = "."
            self.i += 1
        path = [self.import_name()]
        while self.lexemes[self.i] == ".":
            self.i += 1
            path.append(self.import_name())
        if self.lexemes[self.i] == "(":
            names = []
            while self.lexemes[self.i] in ("(", ","):
                self.i += 1
                names.append((self.i, self.import_name()))
            if self.lexemes[self.i] != ")":
                raise self.unexpected("`,` or `)` is expected here", "an import stands on one line")
            self.i += 1
            self.end_of_line()
            module = relative + ".".join(path)
            self.parsed.imports += [self.imported(place, module, name, name) for place, name in names]
            return
        if len(path) == 1:
            raise self.parsed.error(f"`%import {path[0]}` names nothing to import", at, "write `%import common.NAME`")
        name = alias = path.pop()
        if self.lexemes[self.i] == "->":
            self.i += 1
            alias = self.import_name()
            if alias.strip("_").isupper() != name.strip("_").isupper():
                kind = "terminal, so its alias must be in upper case" if name.isupper() else "rule, in lower case"
                raise self.parsed.error(f"`{name}` is a {kind}", self.i - 1)
        self.end_of_line()
        self.parsed.imports.append(self.imported(at, relative + ".".join(path), name, alias))

    def imported(self, at: int, module: str, name: str, alias: str) -> Import:
        return Import(IN_LIBRARY if self.in_library else at, module, name, alias)

    def import_name(self, hint: str = "write `%import common.NAME`") -> str:
        lexeme = self.lexemes[self.i]
        if self.kinds[self.i] > TERMINAL or lexeme[0] in "?!":
            raise self.unexpected("a name is expected here", hint)
        self.i += 1
        return lexeme

    def end_of_line(self) -> None:
        if self.kinds[self.i] not in (LINE, NOTHING):
            raise self.unexpected("the line should end here", "every definition and directive has a line of its own")

    def expression(self, rule: str | None) -> Node:
        """Alternatives up to the end of the definition. `rule` may have aliases; None: a terminal, which may not."""
        alternatives: list[Node] = []
        items: list[Node] = []
        # What the open groups are part of, where they opened, and what a template is used with as far as it was read.
        stack: list[tuple[list[Node], list[Node], int, list[Node]]] = []
        while True:
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
                raise self.misplaced(lexeme, bool(items))
        if stack:
            raise self.never_closed(stack[-1][2])
        alternatives.append(self.sequence(items))
        return choice(alternatives)

    def extension(self, lexeme: str, items: list[Node], in_group: bool) -> bool:
        """Read what goes on an expression beyond Lark; whether there is something like that."""
        at = self.i
        if lexeme == "&":
            items.append(_AND)
            self.has_operators = True
        elif lexeme == "~" and self.begins_item(at + 1):
            items.append(_NOT)
            self.has_operators = True
        elif lexeme[:3] == "%if" and self.kinds[at] == DIRECTIVE:
            if in_group:
                raise self.parsed.error("a condition stands behind a whole alternative, not inside a group", at)
            if self.kinds[at + 1] not in (BAR, LINE, NOTHING):
                self.i += 1
                raise self.unexpected("an alternative ends with its condition", "write `|` before the next one")
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
        """Whether the lexeme there begins something that can be negated."""
        kind = self.kinds[at]
        lexeme = self.lexemes[at]
        return kind <= SPECIAL or lexeme in ("(", "[", "~") or (kind == DIRECTIVE and lexeme[-1] == "}")

    def put(self, node: Node, items: list[Node]) -> None:
        """Append `node` with the operators around it. A `~` before it binds closer than what stands behind it."""
        if self.has_operators:
            while items and items[-1] is _NOT:
                items.pop()
                node = Complement(node.at, node)
        items.append(self.repeated(node))

    def intersection(self, items: list[Node]) -> Node:
        """`items` with `&` between some of them, which binds closer than `|` and less close than a blank."""
        parts: list[list[Node]] = [[]]
        for item in items:
            if item is _AND:
                parts.append([])
            else:
                parts[-1].append(item)
        if not all(parts):
            raise self.unexpected("something is expected on both sides of `&`", None)
        nodes = [part[0] if len(part) == 1 else Sequence(part[0].at, part) for part in parts]
        return Intersection(nodes[0].at, nodes)

    def uses_template(self) -> bool:
        """Whether the name here, with a brace behind it, is a template's: `x{2}` and `x{,2}` count."""
        return self.lexemes[self.i + 2] != "," and self.kinds[self.i + 2] != NUMBER

    def value(self, lexeme: str, kind: int) -> Node:
        """A name, a literal or a range."""
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
                hint = "write a blank after it if the `?` makes what is before it optional"
                raise self.parsed.error(f"`{lexeme}`: a modifier stands only where a rule is defined", self.i - 1, hint)
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
        """`node` with the operator that may follow it."""
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
        """Where a node stands that begins with the next lexeme."""
        return IN_LIBRARY if self.in_library else self.i

    def sequence(self, items: list[Node]) -> Node:
        """`items` as one node."""
        if self.has_operators and _AND in items:
            return self.intersection(items)
        if len(items) == 1:
            return items[0]
        return Sequence(items[0].at if items else self.place(), items)

    def alias(self, rule: str | None, in_group: bool) -> None:
        """`-> name` after an alternative. It names a node of Lark's trees and does not change the language."""
        at = self.i
        if rule is None:
            raise self.parsed.error("terminals have no aliases", at, "leave out `-> name`")
        if in_group:
            raise self.parsed.error("an alias stands after a whole alternative, not inside a group", at)
        if rule[0] == "_":
            raise self.parsed.error(f"`{rule}` begins with an underscore, so its alternatives have no aliases", at)
        self.i += 1
        name = self.lexemes[self.i]
        if self.kinds[self.i] != RULE or name[0] in "?!":
            raise self.unexpected("an alias is a name in lower case", None)
        self.i += 1
        if self.kinds[self.i] not in (BAR, LINE, NOTHING):
            raise self.unexpected("an alternative ends with its alias", "write `|` before the next one")

    def counted(self, body: Node) -> Node:
        """`~n` or `~n..m`."""
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
        """`{n}`, `{n,}`, `{,m}` or `{n,m}`."""
        at = self.i
        self.i += 1
        lexeme = self.lexemes[self.i]
        if lexeme != "," and self.kinds[self.i] != NUMBER:
            raise self.parsed.error("only a rule can be a template", at, "counts are written {n}, {n,}, {,m} or {n,m}")
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
                raise self.parsed.error("`{,}` counts nothing", at, "write {n}, {n,}, {,m} or {n,m}")
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
                f"cannot repeat from {minimum} to {maximum} times", at, "counts are not negative, the smaller one first"
            )
        most = self.parsed.limits.repetitions
        if max(minimum, maximum or 0) > most:
            raise self.parsed.limit_error(f"counts go up to {most}", at, "use `*` or `+`").of("repetitions")

    def check_nesting(self, depth: int) -> None:
        if depth == self.nesting:
            hint = "give inner groups names of their own"
            raise self.parsed.limit_error(f"groups are nested more than {depth} deep", self.i, hint).of("nesting")

    def check_closes(self, lexeme: str, opener: int) -> None:
        if opener < 0 or self.lexemes[opener] + lexeme not in ("()", "[]", "{}"):
            raise self.parsed.error(f"`{lexeme}` closes nothing that is open here", self.i)

    def check_argument(self, alternatives: list[Node], items: list[Node]) -> None:
        if not alternatives and not items:
            raise self.unexpected("a template is used with something here", "write () for nothing at all")

    def recover(self) -> bool:
        """Go to the next line that begins like a definition or a directive, after an error; False without one."""
        last = len(self.lexemes) - 1
        while self.i < last:
            kind = self.kinds[self.i]
            self.i += 1
            if kind == LINE:
                follower = self.kinds[self.i]
                behind = self.lexemes[self.i + 1] if follower <= TERMINAL else ""
                if follower == DIRECTIVE or behind in (":", ".", "{", "[", "::_"):
                    return True
        return False

    # Errors from here on. They may be slow.

    def never_closed(self, opener: int) -> GrammarError:
        """The error about a group that is open where the definition ends."""
        ends_text = self.i >= len(self.lexemes) - 2
        hint = None if ends_text else "a group may go on in the next line only before `|`"
        return self.parsed.error(f"`{self.lexemes[opener]}` is never closed", opener, hint)

    def misplaced(self, lexeme: str, follows_item: bool) -> GrammarError:
        """The error about a lexeme that cannot go on an expression."""
        if lexeme in ("*", "+", "?", "~", "{"):
            if follows_item:
                return self.parsed.error(f"`{lexeme}` follows another operator", self.i, "put parentheses around one")
            return self.parsed.error(f"there is nothing before `{lexeme}` that it could repeat", self.i)
        if lexeme == ":":
            return self.parsed.error("a definition begins inside another one", self.i, NEXT_LINE)
        if self.kinds[self.i] == DIRECTIVE:
            return self.parsed.error(f"`{lexeme}` must begin a line", self.i)
        if lexeme == ",":
            return self.unexpected("no comma belongs here", "what follows each other is written with blanks between")
        return self.unexpected("this cannot go on here", None)

    def missing_colon(self, at: int, name: str) -> GrammarError:
        """The error about `name` at the beginning of a line without its colon."""
        follower = self.lexemes[self.i]
        if self.kinds[self.i] <= TERMINAL:
            offset = self.parsed.offset(self.i)
            if offset == self.parsed.offset(at) + len(self.lexemes[at]):
                return self.parsed.error(mixed_case(name + follower), at, MIXED_CASE_HINT)
        if self.kinds[self.i] == LINE or (self.kinds[self.i] == BAR and follower != "|"):
            return self.parsed.error(f"`{name}` is not followed by a colon", at, "definitions are written `name: ...`")
        return self.unexpected(f"a colon is expected after `{name}`", "definitions are written `name: ...`")

    def unexpected(self, expected: str, hint: str | None) -> GrammarError:
        """The error about the next lexeme; `expected` says what would be right."""
        at = self.i
        lexeme = self.lexemes[at]
        if lexeme == END and at < len(self.lexemes) - 1:
            return self.unknown(at)
        kind = self.kinds[at]
        if kind in (LINE, NOTHING):
            shown = "the line ends"
        elif kind == BAR and lexeme != "|":
            shown = "`|` begins the next line"
        else:
            shown = f"`{lexeme if len(lexeme) <= 40 else lexeme[:40] + '...'}` stands"
        return self.parsed.error(f"{expected}, but {shown}", at, hint)

    def unknown(self, at: int) -> GrammarError:
        """The error about text that is no lexeme."""
        offset = self.parsed.offset(at)
        text = self.parsed.source.text
        character = text[offset : offset + 1]
        if character == '"':
            return self.parsed.source.error(
                "this string does not end on its line", offset, 'write \\" for a quote and \\\\ for a backslash in it'
            )
        if character == "/":
            return self.parsed.source.error(
                "this regular expression does not end", offset, "write \\/ for a slash in it"
            )
        if character == "%":
            return self.parsed.source.error(
                "this does not end, or is nested too deeply", offset, "its last character is the brace that closes it"
            )
        message = f"unexpected character {character!r}"
        hint = CHARACTER_HINTS.get(character)
        if hint is None and character.isalpha():
            hint = "names consist of letters, all in lower or all in upper case, of digits, `_` and `-`"
        return self.parsed.source.error(message, offset, hint)


def choice(alternatives: list[Node]) -> Node:
    """`alternatives` as one node."""
    return alternatives[0] if len(alternatives) == 1 else Choice(alternatives[0].at, alternatives)
