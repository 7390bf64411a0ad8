"""Parse GBNF, the grammars of llama.cpp, to definitions: the rules of a text, each with its expression tree.

The syntax is that of llama.cpp's own parser (`llama_grammar_parser` in its src/llama-grammar.cpp, and its
grammars/README.md). A hand-written parser reads it in one pass, with open groups on an explicit stack. It looks up no
names, so they may be undefined.

    rule     ::= name "::=" alternatives, then the end of the line
    item     ::= string | class | "." | token | name | "(" alternatives ")"
    operator ::= "*" | "+" | "?" | "{m}" | "{m,}" | "{m,n}", and "{,n}", which is ours

A line may break after `::=` and `|` and anywhere in a group. A rule also continues on a line that begins with `|`,
which is ours. `#` begins a comment. llama.cpp accepts an empty class, a range that ends before it begins and a raw NUL;
here they are errors. It reads a count above 2000 as no bound; here it is a count.
"""

from __future__ import annotations

import re

from ...earley._meter import keep, take, tick
from ...earley.limits import DEFAULT, Limits
from ..errors import GrammarError
from ..loading import PIECE
from ..regex import codepoints
from ..regex.ast import RANGE_BYTES, Chars, Literal
from ..source import BYTE_ORDER_MARK, SourceText
from .tree import Choice, Definition, Node, Reference, Repeat, Sequence, Text, Token

MAX_HEIGHT = 250
"""The most nodes (groups, sequences, repetitions) on a way down in a rule's expression. It bounds the recursion of
functions that walk trees. Beyond it, GrammarLimitError is raised."""

MACROS = {
    "Token": "write <[5]> for token 5, and <[5,7]> for one of two",
    "ExcludeToken": "write <[^5,7]> for any token but these two",
    "TagDispatch": "write a grammar in Lark's syntax, where a rule with `suffix` reads text up to a tag",
    "TokenTagDispatch": "write (<[^5]>* <[5]> call)* <[^5]>* for text in which token 5 begins a call",
    "Regex": "write classes and repetitions, or a grammar in Lark's syntax, which has /.../",
}
"""Macros of XGrammar's EBNF, which is otherwise GBNF, and what to write here in place of each."""

MAX_ERRORS = 100
"""At most so many errors of one text are collected, for `GrammarError.errors`. Others are not looked for."""

MAX_READ = 4
"""The search for errors ends when malformed rules have been read that are together so many times as long as the text.
A class that does not end is read up to the end of the text, and so are others in the rules after it."""

_RULE = re.compile(r"^[ \t]*([A-Za-z0-9_-]+)[ \t]*::=", re.MULTILINE)
"""The beginning of a rule, at which parsing continues after an error."""

_COMMENT_PIECE = re.compile(r"[^\r\n]*")
_NAME = re.compile(r"[A-Za-z0-9_-]+")
_PLAIN = re.compile(r'[^"\\\x00\ud800-\udfff]+')
_DIGITS = re.compile(r"[0-9]+")
_HEX = re.compile(r"[0-9a-fA-F]*")
_TOKEN_ID = re.compile(r"<\[[^\]>\n]*\]>")
_TOKEN_NAME = re.compile(r"<[^<>\n]+>")

_SIMPLE = {"n": 10, "r": 13, "t": 9, "\\": 92, '"': 34, "[": 91, "]": 93, "-": 45}
_HEX_LENGTHS = {"x": 2, "u": 4, "U": 8}

_ANY = Chars(codepoints.ALL)

_ESCAPE_HINT = 'the escapes are \\n \\r \\t \\\\ \\" \\[ \\] \\xHH \\uHHHH and \\UHHHHHHHH'
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
        self.skip(False)
        if not self.text.startswith("::=", self.at):
            raise self.missing_sign(begin, name)
        self.at += 3
        self.skip(True)
        self.references = []
        return Definition(begin, name, self.alternatives(), self.references)

    def alternatives(self) -> Node:
        """Read the expression up to the end of its rule."""
        text = self.text
        # The groups that are open, outermost first. For each: the offset of its `(`; and of the choice around it, the
        # offset, the complete alternatives, the items of the current alternative, and the offset of these.
        groups: list[tuple[int, int, list[Node], list[Node], int]] = []
        complete: list[Node] = []
        items: list[Node] = []
        inside = began = self.at
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
                if self.at < self.end and text[self.at] == "|":
                    continue
                complete.append(self.sequence(began, items))
                return self.choice(inside, complete)
            else:
                name = self.name()
                if name is None:
                    raise self.unexpected(groups[-1][0] if groups else -1)
                if name in MACROS:
                    self.check_macro(start, name)
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
        self.at = match.end()
        return match[0]

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
            code = self.character()
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
            first = last = self.character()
            if self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at):
                self.at += 1
                if self.at >= self.end:
                    continue  # to the error
                last = self.character()
                if last < first:
                    raise self.source.error(
                        f"the range {self.text[at : self.at]} is empty", at, "write the smaller character first"
                    )
            pairs.append((first, last))
        self.at += 1
        if not pairs:
            raise self.source.error(
                "this class of characters is empty", start, 'write "" for the empty text or `.` for any character'
            )
        ranges = codepoints.normalize(pairs)
        if negative:
            ranges = codepoints.complement(ranges)
        elif len(ranges) == 1 and ranges[0][0] == ranges[0][1] and not 0xD800 <= ranges[0][0] <= 0xDFFF:
            return Text(start, self.at, Literal(chr(ranges[0][0])))
        return Text(start, self.at, Chars(ranges))

    def character(self) -> int:
        """Read one character of a string or a class, or an escape. Return its code point."""
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
        simple = _SIMPLE.get(char)
        if simple is not None:
            return simple
        length = _HEX_LENGTHS.get(char)
        if length is None:
            raise self.source.error(f"unknown escape \\{char}", start, _ESCAPE_HINT)
        match = _HEX.match(self.text, self.at, self.at + length)
        digits = "" if match is None else match[0]
        if len(digits) < length:
            raise self.source.error(f"\\{char} needs {length} hexadecimal digits", start, _ESCAPE_HINT)
        self.at += length
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

    def check_macro(self, begin: int, name: str) -> None:
        """Raise the error about a macro of XGrammar: one of its names, a parenthesis, and no rule of that name."""
        if not self.text.startswith("(", self.at) or re.search(rf"^[ \t]*{name}[ \t]*::=", self.text, re.MULTILINE):
            return
        raise self.source.error(f"`{name}(...)` is a macro of XGrammar, which GBNF does not have", begin, MACROS[name])

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
            return self.source.error(
                "`(=...)` is a lookahead of XGrammar, which GBNF does not have",
                group,
                "remove it: masks know what follows a rule without it",
            )
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
