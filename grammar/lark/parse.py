"""Lark grammar text to definitions: which rules, terminals and directives there are, each with its expression tree.

The grammar of grammars is that of Lark's loader (`RULES` in `load_grammar.py`), read by hand in one pass over the
lexemes. Nothing is looked up here: names may be undefined and strings malformed. What stands behind a colon is read by
`expressions`, errors are worded in `mistakes`.

Beyond Lark, there is what `docs/extensions.md` lists; `x{2}`, `x{2,}`, `x{,3}` and `x{2,3}` count as `x~2`, `x~2..3`
do, `<|name|>` is a special token, and what a template is used with may be any expression.
"""

from __future__ import annotations

from ...earley.limits import DEFAULT, Limits
from ..errors import GrammarError
from .expressions import IN_LIBRARY, ExpressionReader
from .mistakes import CHARACTER_HINTS, NEXT_LINE, missing_colon, not_a_directive
from .scan import DIRECTIVE, LINE, NOTHING, NUMBER, REGEXP, RULE, STRING, TERMINAL
from .tree import DECLARED, Attribute, Attributed, Change, Definition, Import, Node, Parametric, ParsedGrammar, Sequence

MAX_ERRORS = 100
"""So many errors are looked for in one text."""


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


class _Parser(ExpressionReader):
    """Reads the lexemes from left to right."""

    __slots__ = ()

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
        if name[0] == "_" and "?" in lexeme:
            raise self.parsed.error(
                f"`{name}` begins with an underscore and cannot have the modifier `?`", at, "remove the `?`"
            )
        self.i += 1
        params = self.parameters(is_terminal) if self.lexemes[self.i] == "{" else ()
        extras = self.extras(is_terminal) if self.lexemes[self.i] != ":" else None
        if self.lexemes[self.i] != ":":
            raise missing_colon(self.parsed, self.i, at, name)
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
        else:
            raise not_a_directive(self.parsed, at)

    def declaration(self) -> None:
        """`%declare NAME NAME`: names that stand for something only the caller knows."""
        while True:
            place = self.place()
            if self.kinds[self.i] == RULE:
                name = self.lexemes[self.i]
                hint = "declare a terminal, NAME; a rule that the caller gives is a grammar, written @name"
                raise self.parsed.error(f"`{name}` is a rule, and only terminals can be declared", self.i, hint)
            name = self.import_name("write `%declare NAME`")
            self.parsed.definitions.append(Definition(place, name, DECLARED, True))
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
