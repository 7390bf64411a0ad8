"""Parse a Lark grammar: find the rules, terminals and directives of a text, each with its expression tree.

The grammar of grammars is that of Lark's loader (`RULES` in `load_grammar.py`). A hand-written parser reads it in one
pass over the lexemes. It looks nothing up, so names may be undefined and strings malformed. `expressions` reads what
follows a colon; `mistakes` words the errors.

Beyond Lark, texts may have what `docs/extensions.md` lists; counts in braces (`x{2}`, `x{2,}`, `x{,3}`, `x{2,3}`)
beside `x~2` and `x~2..3`; special tokens, `<|name|>`; and any expression as the argument of a template.
"""

from __future__ import annotations

from ...earley._meter import tick
from ...earley.limits import DEFAULT, Limits
from ..errors import GrammarError
from .expressions import IN_LIBRARY, ExpressionReader
from .llguidance import check_options
from .mistakes import CHARACTER_HINTS, NEXT_LINE, missing_colon, not_a_directive
from .scan import DIRECTIVE, LINE, NOTHING, NUMBER, REGEXP, RULE, STRING, TERMINAL
from .tree import DECLARED, Attribute, Attributed, Change, Definition, Import, Node, Parametric, ParsedGrammar, Sequence

MAX_ERRORS = 100
"""The most errors of one text that are collected for `GrammarError.errors`. Then the search for errors stops."""


def parse(text: str, name: str | None = None, limits: Limits = DEFAULT) -> ParsedGrammar:
    """Parse a whole grammar text. Errors give its `name`; it is None for the text that the caller gave."""
    parsed = ParsedGrammar(text, name, limits)
    _Parser(parsed, False).grammar()
    return parsed


def parse_inside(around: ParsedGrammar, text: str, base: int) -> ParsedGrammar:
    """Parse `text`, a grammar that is part of the text of `around`, beginning at offset `base`."""
    parsed = ParsedGrammar(text, None, around.limits, around, base)
    _Parser(parsed, False).grammar()
    return parsed


def syntax_errors(text: str, limits: Limits) -> list[GrammarError]:
    """Return the syntax errors of a text, at most MAX_ERRORS. After each, parsing continues at the next definition."""
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
    """Parse a part of one of Lark's libraries. Its nodes have no places."""
    parsed = ParsedGrammar(text)
    _Parser(parsed, True).grammar()
    return parsed


class _Parser(ExpressionReader):
    """Parses one text from left to right."""

    __slots__ = ()

    def grammar(self) -> None:
        """Read a sequence of definitions, directives and line ends."""
        while True:
            tick()
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
                raise self.parsed.error(f"template `{name}` has attributes or a value", at, "only plain rules do")
            if attributes:
                tree = Attributed(place, name, attributes, tree)
            if is_parametric:
                tree = Parametric(place, tree)
        return Definition(place, name, tree, is_terminal, params)

    def extras(self, is_terminal: bool) -> tuple[list[Attribute], bool]:
        """Read what may follow a name before its colon: a priority, attributes, and `::_`, which gives it a value."""
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
                    raise self.parsed.error(f"`{lexeme}` cannot be defined", self.i, "write name::_ for all values")
                is_parametric = True
                self.i += 1
            else:
                return attributes, is_parametric

    def attributes(self, before: list[Attribute]) -> list[Attribute]:
        """Read `[name, name=value]`. `before` are the attributes of the same rule that have been read."""
        attributes: list[Attribute] = []
        while self.lexemes[self.i] != "]":
            self.i += 1
            place = self.place()
            name = self.lexemes[self.i]
            if self.kinds[self.i] != RULE or name[0] in "?!":
                raise self.unexpected("an attribute is expected here", 'write name[lazy, suffix="..."]: ...')
            if name in [attribute.name for attribute in before + attributes]:
                raise self.parsed.error(f"attribute `{name}` is given twice", self.i)
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
        """Read a number that may have a fraction. Return it as written."""
        written = self.lexemes[self.i]
        self.i += 1
        if self.lexemes[self.i] == "." and self.kinds[self.i + 1] == NUMBER:
            written += "." + self.lexemes[self.i + 1]
            self.i += 2
        if len(written) > 30:
            raise self.parsed.limit_error("this number has more than 30 digits", self.i - 1)
        return written

    def parameters(self, is_terminal: bool) -> tuple[str, ...]:
        """Read `{a, b}` after the name of a template."""
        if is_terminal:
            raise self.parsed.error("terminals have no parameters", self.i, "make it a rule: a rule can be a template")
        params: list[str] = []
        while self.lexemes[self.i] != "}":
            self.i += 1
            name = self.lexemes[self.i]
            if self.kinds[self.i] != RULE or name[0] in "?!":
                raise self.unexpected("a parameter, a name in lower case, is expected here", "write name{a, b}: ...")
            if name in params:
                raise self.parsed.error(f"there are two parameters `{name}`", self.i, "rename one")
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
        elif lexeme.startswith("%llguidance") and lexeme[-1] == "}":
            check_options(self.parsed, at)
            self.end_of_line()
        else:
            raise not_a_directive(self.parsed, at)

    def declaration(self) -> None:
        """Read `%declare NAME NAME`: terminals whose meaning the caller gives."""
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
        """Read `%import module.name`, `%import module.name -> alias` or `%import module (name, name)`.

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
                raise self.unexpected("`,` or `)` is expected here", "write an import on one line")
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
                kind, case = ("terminal", "upper") if name.isupper() else ("rule", "lower")
                raise self.parsed.error(f"`{name}` is a {kind}, so its alias must be in {case} case", self.i - 1)
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
            raise self.unexpected("the line should end here", "begin each definition and directive on a new line")

    def recover(self) -> bool:
        """Skip to the next line that begins like a definition or a directive. Return False if there is none."""
        last = len(self.lexemes) - 1
        while self.i < last:
            kind = self.kinds[self.i]
            self.i += 1
            if not self.i & 0xFF:
                tick()
            if kind == LINE:
                follower = self.kinds[self.i]
                second = self.lexemes[self.i + 1] if follower <= TERMINAL else ""
                if follower == DIRECTIVE or second in (":", ".", "{", "[", "::_"):
                    return True
        return False
