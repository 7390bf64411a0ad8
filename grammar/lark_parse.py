"""Lark grammar text to definitions: which rules, terminals and directives there are, each with its expression tree.

The grammar of grammars is that of Lark's loader (`RULES` in `lark/load_grammar.py`), read by hand in one pass over the
lexemes. Groups are kept on an explicit stack, so the depth of a grammar's nesting is a limit that we set and not one of
the interpreter. Nothing is looked up here: names may be undefined and strings malformed.

Beyond Lark, `x{2}`, `x{2,}`, `x{,3}` and `x{2,3}` count as `x~2`, `x~2..3` do, and `<|name|>` is a special token.
Templates, `%extend`, `%override`, `%declare` and imports from files are refused by name.
"""

from __future__ import annotations

import re

from .errors import GrammarError, GrammarLimitError
from .lark_scan import END, offsets, scan
from .lark_tree import (
    Choice,
    Definition,
    Import,
    Node,
    Range,
    Regexp,
    Repeat,
    RuleName,
    Sequence,
    SpecialToken,
    String,
    TerminalName,
)
from .source import GrammarWarning, SourceText

MAX_NESTING = 100
"""Groups and options within each other. Expression trees are read recursively from here on."""

MAX_COUNT = 1_000_000_000
"""The largest count in `x~n`; the grammar grows with its logarithm only."""

_IN_LIBRARY = -1
"""Where nodes of an imported library stand: nowhere in the text that imports them."""

# What a lexeme is, by its first character; "_" is decided by the second one.
_RULE, _TERMINAL, _STRING, _REGEXP, _NUMBER, _SPECIAL, _DIRECTIVE, _LINE, _END, _MARK = range(10)
_KINDS = {
    "": _END,
    '"': _STRING,
    "/": _REGEXP,
    "<": _SPECIAL,
    "%": _DIRECTIVE,
    "\n": _LINE,
    "\r": _LINE,
    **dict.fromkeys("abcdefghijklmnopqrstuvwxyz?!", _RULE),
    **dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZ", _TERMINAL),
    **dict.fromkeys("0123456789", _NUMBER),
    **dict.fromkeys("|()[]{},:~*.", _MARK),
}

_NEXT_LINE = (
    "a definition ends with its line, unless the next one begins with `|`; to go on without, end the line with `\\`"
)
_CHARACTER_HINTS = {
    "'": 'strings stand in double quotes: "..."',
    ";": "a definition ends with its line; there are no semicolons",
    "=": "definitions are written `name: ...`",
    "$": "only a regular expression, /.../, has anchors",
    "^": "only a regular expression, /.../, has anchors and negated classes",
    "&": "intersection is not part of the syntax",
    "-": "difference is not part of the syntax; use a regular expression, /.../",
    "@": "Lark grammars have no annotations; `#` and `//` begin comments",
    "\\": "a backslash outside a string may only end a line",
    "?": "leave a blank between `?` and the name that follows",
    "!": "`!` stands only directly before the name of the rule that is being defined",
    "_": "names begin with a letter, or with one underscore and a letter",
    "\ufeff": "the text begins with a byte order mark; decode it with 'utf-8-sig'",
    "<": "special tokens are written <|name|>, without blanks",
}
_WITHOUT_TEMPLATES = "write the rule out for its arguments"
# Directives that exist, here or in relatives of Lark, and what to do without them.
_DIRECTIVE_HINTS = {
    "%extend": "write out the whole definition",
    "%override": "write the definition instead of importing it",
    "%declare": "define the terminal; there is no lexer of your own that could produce it",
    "%json": "write rules for the JSON that is wanted",
    "%regex": "write a regular expression, /.../",
    "%llguidance": "leave the line out",
}

_DIGITS = re.compile("[+-]?[0-9]+")


class ParsedGrammar:
    """The definitions, imports and ignored expressions of one text, in its order, and the way back into the text."""

    __slots__ = ("_offsets", "ignored", "imports", "lexemes", "rules", "source", "terminals")

    def __init__(self, text: str) -> None:
        self.source = SourceText(text)
        self.lexemes = scan(text + "\n")
        self.rules: list[Definition] = []
        self.terminals: list[Definition] = []
        self.ignored: list[Node] = []
        self.imports: list[Import] = []
        self._offsets: list[int] | None = None

    def offset(self, at: int) -> int:
        """Where lexeme `at` begins in the text. Found for all of them at once, when first asked."""
        text = self.source.text
        if self._offsets is None:
            self._offsets = offsets(text + "\n")
        return min(self._offsets[at], len(text))

    def error(self, message: str, at: int, hint: str | None = None) -> GrammarError:
        return self.source.error(message, self.offset(at), hint)

    def limit_error(self, message: str, at: int, hint: str | None = None) -> GrammarLimitError:
        return self.source.limit_error(message, self.offset(at), hint)

    def warning(self, message: str, at: int) -> GrammarWarning:
        return self.source.warning(message, self.offset(at))


def parse(text: str) -> ParsedGrammar:
    """Read a whole grammar text."""
    parsed = ParsedGrammar(text)
    _Parser(parsed, "").grammar()
    return parsed


def parse_library_definition(text: str, library: str) -> Definition:
    """Read one definition cut out of a library; the names in it are qualified with the library's."""
    parsed = ParsedGrammar(text)
    _Parser(parsed, library + ".").grammar()
    (definition,) = parsed.rules + parsed.terminals
    return definition


class _Parser:
    """Reads the lexemes from left to right; `i` is the next one."""

    __slots__ = ("i", "lexemes", "parsed", "prefix")

    def __init__(self, parsed: ParsedGrammar, prefix: str) -> None:
        self.parsed = parsed
        self.lexemes = parsed.lexemes
        self.prefix = prefix
        self.i = 0

    def grammar(self) -> None:
        """A sequence of definitions, directives and line ends."""
        while True:
            lexeme = self.lexemes[self.i]
            kind = self.kind(lexeme)
            if kind in (_RULE, _TERMINAL):
                self.definition(lexeme, kind == _TERMINAL)
            elif kind == _LINE and lexeme[-1] != "|":
                self.i += 1
            elif kind == _DIRECTIVE:
                self.directive(lexeme)
            elif kind == _END and self.i == len(self.lexemes) - 1:
                return
            else:
                raise self.unexpected(
                    "a definition `name: ...` or a directive is expected here", _CHARACTER_HINTS.get(lexeme, _NEXT_LINE)
                )

    def kind(self, lexeme: str) -> int:
        first = lexeme[:1]
        if first == "_":
            return _RULE if lexeme[1].islower() else _TERMINAL
        if first == "+" or first == "-":
            return _NUMBER if lexeme[-1].isdecimal() else _MARK
        if (first == "?" or first == "!") and len(lexeme) == 1:
            return _MARK
        return _KINDS.get(first, _NUMBER)  # \d knows more digits than ten

    def definition(self, lexeme: str, is_terminal: bool) -> None:
        at = self.i
        name = lexeme.lstrip("?!")
        if lexeme[0] == "?" and name[0] == "_":
            raise self.parsed.error(
                f"`{name}` begins with an underscore and cannot have the modifier `?`", at, "leave out the `?`"
            )
        self.i += 1
        if self.lexemes[self.i] == "{":
            raise self.parsed.error(f"`{name}` is a template; templates are not supported yet", at, _WITHOUT_TEMPLATES)
        if self.lexemes[self.i] == ".":
            self.i += 1
            self.number("a priority, a number, is expected after the dot")
        if self.lexemes[self.i] != ":":
            raise self.missing_colon(at, name)
        self.i += 1
        tree = self.expression(None if is_terminal else name)
        node = Definition(_IN_LIBRARY if self.prefix else at, self.prefix + name, tree)
        if is_terminal:
            self.parsed.terminals.append(node)
        else:
            self.parsed.rules.append(node)

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
        elif lexeme in _DIRECTIVE_HINTS:
            raise self.parsed.error(f"`{lexeme}` is not supported yet", at, _DIRECTIVE_HINTS[lexeme])
        else:
            raise self.parsed.error(f"`{lexeme}` is no directive", at, "there are %ignore and %import")

    def import_statement(self, at: int) -> None:
        """`%import library.name`, `%import library.name -> alias` or `%import library (name, name)`."""
        if self.lexemes[self.i] == ".":
            raise self.parsed.error("imports from files are not supported yet", self.i, "copy the definitions")
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
            library = ".".join(path)
            self.parsed.imports += [Import(place, library, name, name) for place, name in names]
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
        self.parsed.imports.append(Import(at, ".".join(path), name, alias))

    def import_name(self) -> str:
        lexeme = self.lexemes[self.i]
        if self.kind(lexeme) not in (_RULE, _TERMINAL) or lexeme[0] in "?!":
            raise self.unexpected("a name is expected here", "write `%import common.NAME`")
        self.i += 1
        return lexeme

    def end_of_line(self) -> None:
        lexeme = self.lexemes[self.i]
        if self.kind(lexeme) not in (_LINE, _END) or lexeme[-1:] == "|":
            raise self.unexpected("the line should end here", "every definition and directive has a line of its own")

    def expression(self, rule: str | None) -> Node:
        """Alternatives up to the end of the definition. `rule` may have aliases; None: a terminal, which may not."""
        lexemes = self.lexemes
        i = self.i
        in_library = bool(self.prefix)
        alternatives: list[Node] = []
        items: list[Node] = []
        stack: list[tuple[list[Node], list[Node], int]] = []  # what the open groups are part of, and where they opened
        while True:
            lexeme = lexemes[i]
            kind = self.kind(lexeme)
            at = _IN_LIBRARY if in_library else i
            node: Node
            if kind == _STRING:
                if lexemes[i + 1] == "..":
                    if self.kind(lexemes[i + 2]) != _STRING:
                        self.i = i + 2
                        raise self.unexpected("a range ends with a string", 'write "a".."z"')
                    node = Range(at, lexeme, lexemes[i + 2])
                    i += 3
                else:
                    node = String(at, lexeme)
                    i += 1
            elif kind == _RULE:
                if lexeme[0] == "?" or lexeme[0] == "!":
                    raise self.parsed.error(
                        f"`{lexeme}`: a modifier stands only where a rule is defined",
                        i,
                        "write a blank after it if the `?` makes what is before it optional",
                    )
                node = RuleName(at, self.prefix + lexeme)
                i += 1
            elif kind == _TERMINAL:
                node = TerminalName(at, self.prefix + lexeme)
                i += 1
            elif kind == _REGEXP:
                node = Regexp(at, lexeme)
                i += 1
            elif kind == _SPECIAL:
                node = SpecialToken(at, lexeme)
                i += 1
            elif lexeme == "|" or (kind == _LINE and lexeme[-1] == "|"):
                alternatives.append(_sequence(items, at))
                items = []
                i += 1
                continue
            elif lexeme == "(" or lexeme == "[":
                if len(stack) == MAX_NESTING:
                    raise self.parsed.limit_error(
                        f"groups are nested more than {MAX_NESTING} deep", i, "give inner groups names of their own"
                    )
                stack.append((alternatives, items, i))
                alternatives = []
                items = []
                i += 1
                continue
            elif lexeme == ")" or lexeme == "]":
                if not stack or lexemes[stack[-1][2]] != ("(" if lexeme == ")" else "["):
                    raise self.parsed.error(f"`{lexeme}` closes nothing that is open here", i)
                alternatives.append(_sequence(items, at))
                node = _choice(alternatives)
                alternatives, items, _ = stack.pop()
                if lexeme == "]":
                    node = Repeat(at, node, 0, 1, "?")
                i += 1
            elif kind == _LINE or (kind == _END and i == len(lexemes) - 1):
                break
            elif lexeme == "->":
                i = self.alias(i, rule, bool(stack))
                continue
            else:
                self.i = i
                raise self.misplaced(lexeme, bool(items))

            follower = lexemes[i]
            if follower == "*":
                node = Repeat(at, node, 0, None, "*")
                i += 1
            elif follower == "?":
                node = Repeat(at, node, 0, 1, "?")
                i += 1
            elif follower == "+":
                node = Repeat(at, node, 1, None, "+")
                i += 1
            elif follower == "~" or follower == "{":
                self.i = i
                node = self.counted(node, at) if follower == "~" else self.counted_in_braces(node, at)
                i = self.i
            items.append(node)

        if stack:
            opener = stack[-1][2]
            hint = "a group may go on in the next line only before `|`" if i < len(lexemes) - 2 else None
            raise self.parsed.error(f"`{lexemes[opener]}` is never closed", opener, hint)
        self.i = i
        alternatives.append(_sequence(items, at))
        return _choice(alternatives)

    def alias(self, i: int, rule: str | None, in_group: bool) -> int:
        """`-> name` after an alternative. It names a node of Lark's trees and does not change the language."""
        if rule is None:
            raise self.parsed.error("terminals have no aliases", i, "leave out `-> name`")
        if in_group:
            raise self.parsed.error("an alias stands after a whole alternative, not inside a group", i)
        if rule[0] == "_":
            raise self.parsed.error(f"`{rule}` begins with an underscore, so its alternatives have no aliases", i)
        name = self.lexemes[i + 1]
        if self.kind(name) != _RULE or name[0] in "?!":
            self.i = i + 1
            raise self.unexpected("an alias is a name in lower case", None)
        follower = self.lexemes[i + 2]
        if follower != "|" and self.kind(follower) not in (_LINE, _END):
            self.i = i + 2
            raise self.unexpected("an alternative ends with its alias", "write `|` before the next one")
        return i + 2

    def counted(self, body: Node, at: int) -> Node:
        """`~n` or `~n..m`."""
        place = self.i
        self.i += 1
        minimum = self.number("a count, a number, is expected after `~`")
        if self.lexemes[self.i] != "..":
            self.check_counts(minimum, minimum, place)
            return Repeat(at, body, minimum, minimum, f"{{{minimum}}}")
        self.i += 1
        maximum = self.number("a count, a number, is expected after `..`")
        self.check_counts(minimum, maximum, place)
        return Repeat(at, body, minimum, maximum, f"{{{minimum},{maximum}}}")

    def counted_in_braces(self, body: Node, at: int) -> Node:
        """`{n}`, `{n,}`, `{,m}` or `{n,m}`."""
        place = self.i
        self.i += 1
        lexeme = self.lexemes[self.i]
        if lexeme != "," and self.kind(lexeme) != _NUMBER:
            raise self.parsed.error("templates are not supported yet", place, _WITHOUT_TEMPLATES)
        minimum = 0 if lexeme == "," else self.number("")
        maximum: int | None = minimum
        operator = f"{{{minimum}}}"
        if self.lexemes[self.i] == ",":
            self.i += 1
            maximum = None
            operator = f"{{{minimum},}}"
            if self.kind(self.lexemes[self.i]) == _NUMBER:
                maximum = self.number("")
                operator = f"{{{minimum},{maximum}}}"
            elif lexeme == ",":
                raise self.parsed.error("`{,}` counts nothing", place, "write {n}, {n,}, {,m} or {n,m}")
        if self.lexemes[self.i] != "}":
            raise self.unexpected("`}` is expected here", "write {n}, {n,}, {,m} or {n,m}")
        self.i += 1
        self.check_counts(minimum, maximum, place)
        return Repeat(at, body, minimum, maximum, operator)

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
        if max(minimum, maximum or 0) > MAX_COUNT:
            raise self.parsed.limit_error(f"counts go up to {MAX_COUNT}", at, "use `*` or `+`")

    # Errors from here on. They may be slow.

    def misplaced(self, lexeme: str, follows_item: bool) -> GrammarError:
        """The error about a lexeme that cannot go on an expression."""
        if lexeme in ("*", "+", "?", "~", "{"):
            if follows_item:
                return self.parsed.error(f"`{lexeme}` follows another operator", self.i, "put parentheses around one")
            return self.parsed.error(f"there is nothing before `{lexeme}` that it could repeat", self.i)
        if lexeme == ":":
            return self.parsed.error("a definition begins inside another one", self.i, _NEXT_LINE)
        if self.kind(lexeme) == _DIRECTIVE:
            return self.parsed.error(f"`{lexeme}` must begin a line", self.i)
        if lexeme == ",":
            return self.unexpected("no comma belongs here", "what follows each other is written with blanks between")
        return self.unexpected("this cannot go on here", None)

    def missing_colon(self, at: int, name: str) -> GrammarError:
        """The error about `name` at the beginning of a line without its colon."""
        follower = self.lexemes[self.i]
        if self.kind(follower) in (_RULE, _TERMINAL):
            offset = self.parsed.offset(self.i)
            if offset == self.parsed.offset(at) + len(self.lexemes[at]):
                return self.parsed.error(mixed_case(name + follower), at, MIXED_CASE_HINT)
        if self.kind(follower) == _LINE:
            return self.parsed.error(f"`{name}` is not followed by a colon", at, "definitions are written `name: ...`")
        return self.unexpected(f"a colon is expected after `{name}`", "definitions are written `name: ...`")

    def unexpected(self, expected: str, hint: str | None) -> GrammarError:
        """The error about the next lexeme; `expected` says what would be right."""
        at = self.i
        lexeme = self.lexemes[at]
        if lexeme == END and at < len(self.lexemes) - 1:
            return self.unknown(at)
        kind = self.kind(lexeme)
        if kind in (_LINE, _END):
            shown = "the line ends" if lexeme[-1:] != "|" else "`|` begins the next line"
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
        message = f"unexpected character {character!r}"
        hint = _CHARACTER_HINTS.get(character)
        if hint is None and character.isalpha():
            hint = "names consist of the letters a to z, or A to Z, of digits and underscores"
        return self.parsed.source.error(message, offset, hint)


MIXED_CASE_HINT = "names of rules are in lower case, of terminals in upper case, letters of ASCII both"


def mixed_case(name: str) -> str:
    """What to say about a name that Lark reads as two."""
    return f"`{name}` mixes lower and upper case"


def _sequence(items: list[Node], at: int) -> Node:
    """`items` as one node; `at` is where they ended, for lack of another place if there are none."""
    return items[0] if len(items) == 1 else Sequence(items[0].at if items else at, items)


def _choice(alternatives: list[Node]) -> Node:
    return alternatives[0] if len(alternatives) == 1 else Choice(alternatives[0].at, alternatives)
