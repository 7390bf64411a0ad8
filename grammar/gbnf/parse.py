"""Parse GBNF, the grammars of llama.cpp, to definitions: the rules of a text, each with its expression tree.

The syntax is that of llama.cpp's own parser (`llama_grammar_parser` in its src/llama-grammar.cpp, and its
grammars/README.md). A hand-written parser reads it in one pass, with open groups on an explicit stack. It looks up no
names, so they may be undefined.

    rule     ::= name "::=" alternatives, then the end of the line
    item     ::= string | class | "." | token | name | "(" alternatives ")"
    operator ::= "*" | "+" | "?" | "{m}" | "{m,}" | "{m,n}", and "{,n}", which is ours

A line may break after `::=` and `|` and anywhere in a group. `#` begins a comment. llama.cpp accepts an empty class, a
range that ends before it begins and a raw NUL; here they are errors. It reads a count above 2000 as no bound; here it
is a count.

XGrammar's EBNF is read, too, where it is no GBNF:

    rule     ::= name attributes? "::=" alternatives lookahead?, up to a line that begins with a rule
    item     ::= macro, see `macros`; and "[^]", any character
    operator ::= "{m,-1}", which is "{m,}"

Its names may have dots. `.` is part of a name only if the text defines a rule of that name.
"""

from __future__ import annotations

import re

from ...earley._meter import keep, take, tick
from ...earley.limits import DEFAULT, Limits
from ..errors import GrammarError
from ..loading import PIECE
from ..other_syntax import windows
from ..regex import codepoints
from ..regex.ast import RANGE_BYTES, Chars, Literal
from ..source import BYTE_ORDER_MARK, SourceText
from .tree import Attribute, Choice, Definition, Node, Reference, Repeat, Sequence, Text, Token

MAX_HEIGHT = 250
"""The most nodes (groups, sequences, repetitions) on a way down in a rule's expression. It bounds the recursion of
functions that walk trees. Beyond it, GrammarLimitError is raised."""

MACROS = frozenset(("Token", "ExcludeToken", "TagDispatch", "TokenTagDispatch", "Regex", "Substring"))
"""The names of XGrammar's macros. Before a parenthesis they are macros, unless the text defines a rule of that name."""

MAX_DOTTED = 100
"""The most characters of a name with dots. It bounds what is read again at each of them. A longer name is read up to
its first dot."""

MAX_ERRORS = 100
"""At most so many errors of one text are collected, for `GrammarError.errors`. Others are not looked for."""

MAX_READ = 4
"""The search for errors ends when malformed rules have been read that are together so many times as long as the text.
A class that does not end is read up to the end of the text, and so are others in the rules after it."""

_SIGN = r"(?:\[(?:[^\]\"\n]|\"[^\"\n]*\")*\])?[ \t]*::="
"""What follows the name of a rule: its attributes, if any, and the sign."""

_HEAD = re.compile(rf"[A-Za-z0-9_.-]+{_SIGN}")
_RULE = re.compile(rf"^[ \t]*([A-Za-z0-9_.-]+){_SIGN}", re.MULTILINE)
"""The beginning of a rule, at which parsing continues after an error."""

_OWN = re.compile(rf"^[ \t]*({'|'.join(sorted(MACROS))}|[A-Za-z0-9_-]+\.[A-Za-z0-9_.-]*){_SIGN}", re.MULTILINE)
"""The beginning of a rule that is named like a macro or has a dot in its name."""

_COMMENT_PIECE = re.compile(r"[^\r\n]*")
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_DOTTED = re.compile(r"[A-Za-z0-9_.-]+")
_ATTRIBUTE = re.compile(r"[a-z_]+")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_PLAIN = re.compile(r'[^"\\\x00\ud800-\udfff]+')
_DIGITS = re.compile(r"[0-9]+")
_HEX = re.compile(r"[0-9a-fA-F]*")
_TOKEN_ID = re.compile(r"<\[[^\]>\n]*\]>")
_TOKEN_NAME = re.compile(r"<[^<>\n]+>")

_SIMPLE = {"n": 10, "r": 13, "t": 9, "\\": 92, '"': 34, "[": 91, "]": 93, "-": 45,
           # XGrammar's:
           "0": 0, "a": 7, "b": 8, "e": 27, "f": 12, "v": 11, "'": 39, "?": 63, "/": 47}  # fmt: skip
_SIMPLE_IN_CLASS = _SIMPLE | {char: ord(char) for char in "^$.*+(){}|"}  # XGrammar's, too
_HEX_LENGTHS = {"x": 2, "u": 4, "U": 8}

_ANY = Chars(codepoints.ALL)

_ESCAPE_HINT = (
    'the escapes are \\n \\r \\t \\\\ \\" \\[ \\] \\xHH \\uHHHH \\UHHHHHHHH, and of XGrammar '
    "\\0 \\a \\b \\e \\f \\v \\' \\? \\/"
)
_GROUP_HINT = "put the rest of the rule into parentheses, or end the line with `|`"
_RULE_HINT = "write a rule as `name ::= ...`"
_FIRST_HINTS = {"<": "write the name of a rule without brackets: `name ::= ...`", "\ufeff": BYTE_ORDER_MARK}


def parse(source: SourceText, limits: Limits = DEFAULT) -> list[Definition]:
    """Return the definitions of the grammar, in order. Raises GrammarError at the first mistake."""
    return _Parser(source, limits).grammar()


def syntax_errors(source: SourceText, limits: Limits = DEFAULT) -> list[GrammarError]:
    """Return the syntax errors of a text, at most MAX_ERRORS. After each, parsing continues at the next rule."""
    return _Parser(source, limits).errors()


NODE_BYTES = 300
"""Memory of a node of the tree, and of what is made of it: an estimate."""


class _Parser:
    """One reading of one text. Invariant: `text[at]` is the first character not read yet."""

    def __init__(self, source: SourceText, limits: Limits) -> None:
        self.source = source
        self.limits = limits
        self.text = source.text
        self.end = len(source.text)
        self.at = 0
        self.references: list[Reference] = []  # of the rule being read
        self.ahead: list[Reference] = []  # in its lookahead
        self.own: frozenset[str] | None = None  # see `own_names`

    def grammar(self) -> list[Definition]:
        definitions: list[Definition] = []
        keep(definitions)
        self.skip(True)
        while self.at < self.end:
            tick()
            definitions.append(self.definition())
            self.skip(True)
        return definitions

    def errors(self) -> list[GrammarError]:
        found: list[GrammarError] = []
        self.skip(True)
        left = MAX_READ * self.end
        while self.at < self.end and len(found) < MAX_ERRORS and left >= 0:
            begin = self.at
            try:
                self.definition()
                self.skip(True)
            except GrammarError as error:
                found.append(error)
                left -= self.at - begin
                # A string or a class that does not end has taken the text up to its end, with all rules in it.
                line = 0 if self.at >= self.end else self.text.rfind("\n", 0, self.at) + 1
                match = _RULE.search(self.text, max(begin + 1, line))
                self.at = self.end if match is None else match.start(1)
        return sorted(found, key=_place)

    def definition(self) -> Definition:
        begin = self.at
        name = self.name()
        if name is None:
            raise self.no_rule()
        attributes: list[Attribute] = []
        if self.text.startswith("[", self.at) and _HEAD.match(self.text, begin) is not None:
            attributes = self.attributes()
        self.skip(False)
        if not self.text.startswith("::=", self.at):
            raise self.missing_sign(begin, name)
        self.at += 3
        self.skip(True)
        self.references = []
        self.ahead = []
        tree = self.alternatives()
        return Definition(begin, name, tree, self.references, attributes, self.ahead)

    def attributes(self) -> list[Attribute]:
        """Read the attributes of a rule, `[name, name=value]`. The text up to the end of the brackets is on one
        line."""
        found: list[Attribute] = []
        self.at += 1
        while True:
            self.skip(False)
            begin = self.at
            match = _ATTRIBUTE.match(self.text, begin)
            if match is None:
                raise self.source.error("the name of an attribute is expected here", begin)
            self.at = match.end()
            self.skip(False)
            value: str | float | None = None
            if self.text.startswith("=", self.at):
                self.at += 1
                self.skip(False)
                number = _NUMBER.match(self.text, self.at)
                if self.text.startswith('"', self.at):
                    value = self.string().regex.text  # type: ignore[union-attr]
                elif number is not None:
                    self.at = number.end()
                    value = float(number[0])
                else:
                    raise self.source.error("a number or a string is expected here", self.at)
                self.skip(False)
            found.append(Attribute(begin, match[0], value))
            sign = self.text[self.at : self.at + 1]
            self.at += 1
            if sign == "]":
                return found
            if sign != ",":
                raise self.source.error("`,` or `]` is expected here", self.at - 1)

    def alternatives(self) -> Node:
        """Read the expression up to the end of its rule."""
        text = self.text
        # The groups that are open, outermost first. For each: the offset of its `(`; and of the choice around it, the
        # offset, the complete alternatives, the items of the current alternative, and the offset of these.
        groups: list[tuple[int, int, list[Node], list[Node], int]] = []
        complete: list[Node] = []
        items: list[Node] = []
        inside = began = self.at
        before = 0  # the number of references before the lookahead
        lines = False
        while True:
            tick()
            take(NODE_BYTES)
            start = self.at
            char = text[start] if start < self.end else ""
            node: Node
            if char == '"':
                node = self.string()
            elif char == "[":
                node = self.char_class()
            elif char == ".":
                self.at += 1
                node = Text(start, self.at, _ANY)
            elif char == "<" or char == "!":
                node = self.token()
            elif char == "(":
                is_ahead = text.startswith("(=", start)
                if is_ahead:
                    if groups:
                        raise self.source.error("a lookahead `(=...)` can only be the end of a rule", start)
                    before = len(self.references)
                    self.at += 1
                self.check_nesting(len(groups))
                groups.append((start, inside, complete, items, began))
                complete = []
                items = []
                lines = True
                self.at += 1
                self.skip(lines)
                inside = began = self.at
                continue
            elif char == ")":
                if not groups:
                    raise self.source.error("`)` closes no open group", start)
                complete.append(self.sequence(began, items))
                node = self.choice(inside, complete)
                opener, inside, complete, items, began = groups.pop()
                if not groups:
                    lines = False
                self.at += 1
                if text.startswith("(=", opener):
                    self.ahead = self.references[before:]
                    del self.references[before:]
                    self.skip(True)
                    if self.at < self.end and not self.rule_begins():
                        raise self.source.error("a lookahead `(=...)` can only be the end of a rule", opener)
                    complete.append(self.sequence(began, items))
                    return self.choice(inside, complete)
                node.begin = opener
                node.end = self.at
            elif char == "|":
                complete.append(self.sequence(began, items))
                items = []
                self.at += 1
                self.skip(True)
                began = self.at
                continue
            elif char and char in "*+?{":
                if not items:
                    raise self.source.error(f"there is nothing before `{char}` to repeat", start)
                node = self.repeat(items.pop(), lines)
            elif not groups and (char == "\n" or char == "\r" or not char):
                self.skip(True)
                if self.at < self.end and not self.rule_begins():
                    continue
                complete.append(self.sequence(began, items))
                return self.choice(inside, complete)
            else:
                name = self.name()
                if name is None:
                    raise self.unexpected(groups[-1][0] if groups else -1)
                if name in MACROS and self.is_macro(name):
                    from . import macros  # imported lazily: only XGrammar's EBNF has them

                    node = macros.read(self, start, name)
                else:
                    reference = Reference(start, self.at, name)
                    self.references.append(reference)
                    node = reference
            items.append(node)
            self.skip(lines)

    def skip(self, lines: bool) -> None:
        """Skip blanks and comments and, with `lines`, line breaks."""
        text = self.text
        while self.at < self.end:
            char = text[self.at]
            if char == " " or char == "\t" or (lines and (char == "\n" or char == "\r")):
                self.at += 1
                if not self.at & 0xFFF:
                    tick()
            elif char == "#":
                while True:  # piece by piece, for `re` holds the interpreter's lock
                    tick()
                    match = _COMMENT_PIECE.match(text, self.at, self.at + PIECE)
                    assert match is not None
                    self.at = match.end()
                    if match.end() - match.start() < PIECE:
                        break
            else:
                break

    def name(self) -> str | None:
        match = _NAME.match(self.text, self.at)
        if match is None:
            return None
        if self.text.startswith(".", match.end()):
            longer = _DOTTED.match(self.text, self.at, self.at + MAX_DOTTED + 1)
            if longer is not None and longer[0] in self.own_names():
                match = longer
        self.at = match.end()
        return match[0]

    def rule_begins(self) -> bool:
        """Return whether a rule begins here."""
        return _HEAD.match(self.text, self.at) is not None

    def is_macro(self, name: str) -> bool:
        """Return whether `name`, which has just been read, is a macro here. If so, move to its parenthesis."""
        after = self.at
        self.skip(False)
        if self.text.startswith("(", self.at) and name not in self.own_names():
            return True
        self.at = after
        return False

    def own_names(self) -> frozenset[str]:
        """Return those names of rules that are names of macros or have a dot."""
        if self.own is None:
            found: list[str] = []
            for begin, end in windows(self.text):
                found += _OWN.findall(self.text, begin, end)
            self.own = frozenset(found)
        return self.own

    # Nodes.

    def sequence(self, begin: int, items: list[Node]) -> Node:
        if len(items) == 1:
            return items[0]
        return self.checked(Sequence(begin, items[-1].end if items else begin, items))

    def choice(self, begin: int, alternatives: list[Node]) -> Node:
        if len(alternatives) == 1:
            return alternatives[0]
        return self.checked(Choice(begin, max(begin, alternatives[-1].end), alternatives))

    def checked(self, node: Node) -> Node:
        if node.height > MAX_HEIGHT:
            raise self.source.limit_error(
                f"groups and repetitions are nested more than {MAX_HEIGHT} deep",
                node.begin,
                "make rules of the inner ones",
            )
        return node

    def check_nesting(self, depth: int) -> None:
        if depth == self.limits.nesting:
            message = f"groups are nested more than {depth} deep"
            raise self.source.limit_error(message, self.at, "make rules of the inner ones").set_limit("nesting")

    def repeat(self, body: Node, lines: bool) -> Node:
        """Read the operator that is here, and apply it to `body`."""
        start = self.at
        char = self.text[start]
        self.at += 1
        minimum = 1 if char == "+" else 0
        maximum: int | None = 1 if char == "?" else None
        if char == "{":
            minimum, maximum = self.count(start, lines)
        return self.checked(Repeat(body.begin, self.at, body, minimum, maximum))

    def count(self, start: int, lines: bool) -> tuple[int, int | None]:
        """Read the counts in braces. The opening brace, at `start`, has been read."""
        self.skip(lines)
        minimum = self.number(start)
        maximum = minimum
        self.skip(lines)
        if self.at < self.end and self.text[self.at] == ",":
            self.at += 1
            self.skip(lines)
            maximum = self.number(start)
            if maximum is None and minimum is not None and self.text.startswith("-1", self.at):
                self.at += 2
            self.skip(lines)
            if minimum is None and maximum is None:
                raise self.source.error("`{,}` has no count", start, "write {m}, {m,} or {m,n}")
        elif minimum is None:
            raise self.source.error("a number is expected here", self.at, "write {m}, {m,} or {m,n}")
        if self.at >= self.end or self.text[self.at] != "}":
            raise self.source.error("`}` is expected here", self.at, "write {m}, {m,} or {m,n}")
        self.at += 1
        if minimum is None:
            minimum = 0
        if maximum is not None and maximum < minimum:
            raise self.source.error(
                f"cannot repeat from {minimum} to {maximum} times", start, "write the smaller number first"
            )
        return minimum, maximum

    def number(self, start: int) -> int | None:
        match = _DIGITS.match(self.text, self.at)
        if match is None:
            return None
        self.at = match.end()
        digits = match[0].lstrip("0")
        most: int = self.limits.repetitions
        if len(digits) > 10 or int(digits or "0") > most:
            error = self.source.limit_error(f"a count is at most {most}", start, "use `*` or `+`")
            raise error.set_limit("repetitions")
        return int(digits or "0")

    # Characters.

    def string(self) -> Node:
        """Read `"..."`, which may contain line breaks."""
        start = self.at
        pieces = []
        self.at += 1
        while True:
            tick()
            match = _PLAIN.match(self.text, self.at, self.at + PIECE)
            if match is not None:
                pieces.append(match[0])
                self.at = match.end()
                continue
            if self.at >= self.end:
                raise self.source.error("this string does not end", start, 'write \\" for a quote in it')
            if self.text[self.at] == '"':
                self.at += 1
                return Text(start, self.at, Literal("".join(pieces)))
            at = self.at
            code = self.character(_SIMPLE)
            if 0xD800 <= code <= 0xDFFF:
                raise self.source.error("a surrogate is not a character", at, "write the character itself")
            pieces.append(chr(code))

    def char_class(self) -> Node:
        """Read `[a-z]` or `[^a-z]`."""
        start = self.at
        self.at += 1
        negative = self.text.startswith("^", self.at)
        if negative:
            self.at += 1
        pairs: list[tuple[int, int]] = []
        is_kept = False
        while True:
            at = self.at
            if len(pairs) > PIECE and not is_kept:
                keep(pairs)
                is_kept = True
            tick()
            if at >= self.end:
                raise self.source.error("this class of characters does not end", start, "write \\] for a bracket in it")
            if self.text[at] == "]":
                break
            take(RANGE_BYTES)
            first = last = self.character(_SIMPLE_IN_CLASS)
            if self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at):
                self.at += 1
                if self.at >= self.end:
                    continue  # to the error
                last = self.character(_SIMPLE_IN_CLASS)
                if last < first:
                    raise self.source.error(
                        f"the range {self.text[at : self.at]} is empty", at, "write the smaller character first"
                    )
            pairs.append((first, last))
        self.at += 1
        if not pairs and negative:
            return Text(start, self.at, _ANY)
        if not pairs:
            raise self.source.error(
                "this class of characters is empty",
                start,
                'write "" for the empty text, which it is in llama.cpp; in XGrammar it matches nothing',
            )
        ranges = codepoints.normalize(pairs)
        if negative:
            ranges = codepoints.complement(ranges)
        elif len(ranges) == 1 and ranges[0][0] == ranges[0][1] and not 0xD800 <= ranges[0][0] <= 0xDFFF:
            return Text(start, self.at, Literal(chr(ranges[0][0])))
        return Text(start, self.at, Chars(ranges))

    def character(self, simple: dict[str, int]) -> int:
        """Read one character of a string or a class, or an escape. Return its code point.

        `simple`: the code points of escapes of one letter."""
        start = self.at
        char = self.text[start]
        self.at += 1
        if char == "\0":
            raise self.source.error("the text has a NUL character", start, "write \\x00 for NUL")
        if char != "\\":
            return ord(char)
        if self.at >= self.end:
            raise self.source.error("the text ends in an escape", start, _ESCAPE_HINT)
        char = self.text[self.at]
        self.at += 1
        known = simple.get(char)
        if known is not None:
            return known
        length = _HEX_LENGTHS.get(char)
        if length is None:
            raise self.source.error(f"unknown escape \\{char}", start, _ESCAPE_HINT)
        match = _HEX.match(self.text, self.at, self.at + length)
        digits = "" if match is None else match[0]
        if len(digits) < length and (char != "x" or not digits):  # XGrammar reads \\xH, too
            raise self.source.error(f"\\{char} needs {length} hexadecimal digits", start, _ESCAPE_HINT)
        self.at += len(digits)
        code = int(digits, 16)
        if code > codepoints.MAX_CODE_POINT:
            raise self.source.error(f"there is no character \\{char}{digits}", start, "the last one is \\U0010FFFF")
        return code

    def token(self) -> Node:
        """Read `<name>` or `<[id]>`, one token of the vocabulary; after `!`, any token except that one."""
        start = self.at
        negative = self.text[start] == "!"
        if negative:
            self.at += 1
        match = _TOKEN_ID.match(self.text, self.at) or _TOKEN_NAME.match(self.text, self.at)
        if match is None:
            raise self.source.error("a token is expected here", self.at, 'write <name>; for the text "<", use quotes')
        self.at = match.end()
        return Token(start, self.at, match[0], negative)

    # Errors.

    def no_rule(self) -> GrammarError:
        """Return the error about a line that does not begin with a name."""
        char = self.text[self.at]
        if char == "|":
            return self.source.error("there is an alternative before the first rule", self.at, _RULE_HINT)
        if char in '"[(.*+?{)':
            return self.source.error("a rule is expected here", self.at, _GROUP_HINT)
        hint = _FIRST_HINTS.get(char, _RULE_HINT)
        return self.source.error(f"a rule is expected here, not {char!r}", self.at, hint)

    def missing_sign(self, begin: int, name: str) -> GrammarError:
        """Return the error about a name that begins a line and has no `::=`."""
        char = self.text[self.at] if self.at < self.end else "\n"
        if char in ":=":
            return self.source.error("`::=` is expected here", self.at, _RULE_HINT)
        shown = name if len(name) <= 40 else name[:40] + "..."
        return self.source.error(f"`{shown}` begins a line, but no `::=` follows it", begin, _GROUP_HINT)

    def unexpected(self, group: int) -> GrammarError:
        """Return the error about text that cannot continue an expression.

        `group` is the offset of the innermost open group, or -1.
        """
        if self.at >= self.end:
            return self.source.error("`(` is never closed", group)
        char = self.text[self.at]
        if self.text.startswith("::=", self.at):
            if group >= 0:
                return self.source.error("a rule begins inside this group, which is not closed", group)
            return self.source.error(
                "a rule begins inside another one",
                self.at,
                'a rule continues on the next line only after `::=` and `|`; write "" for an empty last alternative',
            )
        if char == "=" and group >= 0 and not self.text[group + 1 : self.at].strip():
            message = "XGrammar's lookahead begins with `(=`, without a blank"
            raise self.source.error(message, group)
        line = self.text[self.text.rfind("\n", 0, self.at) + 1 : self.at].strip()
        if char in ":=" and _NAME.fullmatch(line):
            return self.source.error("`::=` is expected here", self.at, _RULE_HINT)
        hints = {"/": "GBNF has no regular expressions: write classes and repetitions", "'": 'write "..."',
                 "]": 'write a bracket in quotes: "]"', "}": 'write a brace in quotes: "}"',
                 ">": 'write ">" or <name>', ",": "separate the parts of a sequence by blanks"}  # fmt: skip
        hint = hints.get(char)
        if char == "]":
            from ..regex.posix import posix_hint  # rare

            hint = posix_hint(self.source.text[: self.at]) or hint
        return self.source.error(f"unexpected character {char!r}", self.at, hint)


def _place(error: GrammarError) -> tuple[int, int]:
    return error.line or 0, error.column or 0
