"""The lexemes of a Lark grammar text.

One pass from left to right follows the lexical rules of Lark's own loader (`TERMINALS` in `load_grammar.py`). Three of
them may surprise:

- a comment includes the line breaks before it, so a commented line is no line at all;
- `|` at the beginning of a line continues the definition above it;
- `?` directly before a letter is the modifier of a rule, never the operator.

Lark does not have these lexemes:

- `<|name|>`, a special token, `&`, `=` and `@name`;
- `%word` for any word, so that an error can name the word;
- names with hyphens (`key-value`; but `->` is an arrow) and with letters beyond ASCII;
- lexemes that contain another syntax: `%lark {...}`, `%regex {...}`, `%json {...}` and `%llguidance {...}` up to the
  closing brace, `%if condition(...)` and `::value(...)`.

A lexeme is a string and a kind. Its offset is needed only for errors; a second pass finds it.

Time is linear in the text, whatever the text is. (Lark's regular expressions for strings and line breaks take
exponential and quadratic time on bad input.) Compiled (`lark/scan.pxd`), this scanner needs a quarter of the time of a
single regular expression in `re` for all lexemes.
"""

from __future__ import annotations

from ...earley._meter import keep, take, tick

# Kinds of lexemes. The first five are values, or begin one. Modules compare them by `<=`.
RULE = 0  # with modifiers, if any: ?name !name
TERMINAL = 1
STRING = 2  # with the `i` that may follow
REGEXP = 3  # with its flags; it may span lines
SPECIAL = 4  # <|name|>, <[5]> or @name
NUMBER = 5  # with its sign
DIRECTIVE = 6
LINE = 7  # the end of a definition
BAR = 8  # `|`, with the line breaks before it, if any
MARK = 9  # everything else
NOTHING = 10  # END

MAX_BLOCKS = 20
"""The most blocks `%lark {...}` within each other. It bounds the recursion of the scanner. A deeper one is a syntax
error."""

MANY = 0xFFFF
"""Loops over characters `tick` at each so-many-and-first one: these take less than a millisecond."""

LEXEME_BYTES = 150
"""Memory of a lexeme, and of what is made of it in the tree: an estimate."""

END = ""
"""The last lexeme of every text. If something in the text is no lexeme, END stands for the rest of the text, too: then
the last two lexemes are END."""


def scan(text: str) -> tuple[list[str], bytearray]:
    """Return the lexemes of `text`, with END as the last one, and the kind of each. `text` ends with a line break."""
    return _Scanner(text).all(None)


def offsets(text: str) -> list[int]:
    """Return the offsets of the lexemes of `text`."""
    begins: list[int] = []
    _Scanner(text).all(begins)
    return begins


class _Scanner:
    """One reading of one text. Invariant: `text[at]` is the first character not read yet."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.end = len(text)
        self.n_open = 0  # blocks around the current place

    def all(self, begins: list[int] | None) -> tuple[list[str], bytearray]:
        """Return all lexemes with their kinds. Append their offsets to `begins`, if given."""
        lexemes: list[str] = []
        keep(lexemes)
        kinds = bytearray()
        nothing = NOTHING
        while True:
            before = self.at
            self.skip()
            begin = self.at
            kind = self.lexeme() if begin < self.end else nothing
            if begins is not None:
                begins.append(begin)
            lexemes.append(END if kind == nothing else self.text[begin : self.at])
            kinds.append(kind)
            if not len(kinds) & 0xFF:
                tick()
                take(256 * LEXEME_BYTES)
            if kind == nothing:
                if before == self.end:
                    return lexemes, kinds
                # No lexeme fits here, so the rest of the text is one END, and its offset is the place of the error.
                # (The rest may be empty, if the last line break was escaped.)
                self.at = self.end

    def skip(self) -> None:
        """Skip blanks, comments with the white space before them, and escaped line breaks."""
        while True:
            while self.peek(self.at) == " " or self.peek(self.at) == "\t":
                self.at += 1
                if not self.at & MANY:
                    tick()
            begin = self.at
            if "]" <= self.peek(begin) <= "z":  # most lexemes begin so, and nothing that is skipped does
                return
            at = self.space(begin)
            if self.peek(at) == "#" or (self.peek(at) == "/" and self.peek(at + 1) == "/"):
                tick()
                at = self.text.find("\n", at)
                self.at = self.end if at < 0 else at
                continue
            if self.peek(begin) != "\\":
                return
            at = begin + 1
            while self.peek(at) == " ":
                at += 1
            if self.peek(at) != "\n":
                return
            self.at = at + 1
            tick()

    def lexeme(self) -> int:
        """Skip the lexeme that begins here. Return its kind, or NOTHING if none begins. Frequent kinds come first."""
        at = self.at
        char = self.text[at]
        if "a" <= char <= "z":
            return self.name(at)
        if char == '"':
            return self.string(at + 1)
        if char == "|":
            return self.ends(at + 1, BAR)
        if char == ":" and self.peek(at + 1) == ":":
            return self.applied(at + 2, MARK)
        if char in ":()[]{},~*&=":
            return self.ends(at + 1, MARK)
        if char == "\n" or (char == "\r" and self.peek(at + 1) == "\n"):
            at = self.space(at + 1)
            return self.ends(at + 1, BAR) if self.peek(at) == "|" else self.ends(at, LINE)
        if char == "_" or "A" <= char <= "Z":
            return self.name(at)
        if char == "/":
            return self.regexp(at + 1)
        if char == "?" or char == "!":
            return self.modified(at, char)
        if char == "+" or char == "-" or char.isdecimal():
            return self.number(at, char)
        if char == "%":
            return self.directive(at)
        if char == "<":
            return self.special(at + 1)
        if char == ".":
            return self.ends(at + 2 if self.peek(at + 1) == "." else at + 1, MARK)
        if char == "@":
            return SPECIAL if self.name(at + 1) != NOTHING else NOTHING
        return self.name(at) if char >= "\x80" else NOTHING

    def directive(self, begin: int) -> int:
        """Read `%word`, and what follows it in a block or a condition."""
        at = begin + 1
        while "a" <= self.peek(at) <= "z":
            at += 1
        word = self.text[begin:at]
        if word == "%if":
            while self.peek(at) == " " or self.peek(at) == "\t":
                at += 1
            return self.applied(at, DIRECTIVE)
        if word == "%lark" or word == "%regex" or word == "%json" or word == "%llguidance":
            brace = self.space(at)
            if self.peek(brace) == "{":
                return self.grammar(brace) if word == "%lark" else self.json(brace)
        return self.ends(at, DIRECTIVE)

    def grammar(self, at: int) -> int:
        """Read `{...}` around a grammar, up to the closing brace."""
        if self.n_open == MAX_BLOCKS:
            return NOTHING
        self.n_open += 1
        self.at = at
        depth = 0
        while True:
            self.skip()
            begin = self.at
            if begin >= self.end or self.lexeme() == NOTHING:
                return NOTHING
            tick()
            if self.at == begin + 1:
                char = self.text[begin]
                if char == "{":
                    depth += 1
                elif char == "}":
                    depth -= 1
                    if depth == 0:
                        self.n_open -= 1
                        return DIRECTIVE

    def json(self, at: int) -> int:
        """Read `{...}`, a JSON object, up to the closing brace."""
        depth = 0
        while at < self.end:
            char = self.text[at]
            at += 1
            if not at & MANY:
                tick()
            if char == '"':
                while at < self.end and self.text[at] != '"':
                    at += 2 if self.text[at] == "\\" else 1
                    if not at & MANY:
                        tick()
                at += 1
            elif char == "{":
                depth += 1
            elif char == "}":
                depth -= 1
                if depth == 0:
                    return self.ends(at, DIRECTIVE)
        return NOTHING

    def applied(self, at: int, kind: int) -> int:
        """Read a word, and parentheses that follow it on the same line: `_`, `0x1f`, `and(bit_set(1), true)`."""
        while self.peek(at) == "_" or (self.peek(at) < "\x80" and self.peek(at).isalnum()):
            at += 1
        if self.peek(at) != "(":
            return self.ends(at, kind)
        depth = 0
        while at < self.end:
            char = self.text[at]
            at += 1
            if char == "(":
                depth += 1
            elif char == ")":
                depth -= 1
                if depth == 0:
                    return self.ends(at, kind)
            elif char == "\n":
                break
        return NOTHING

    def name(self, at: int) -> int:
        """Read the name of a rule, `_?[a-z][_a-z0-9]*`, or of a terminal, the same in upper case.

        Names may also have hyphens and letters of any script. If the first letter has no case, it is a rule.
        """
        char = self.peek(at)
        if char == "_":
            at += 1
            char = self.peek(at)
        if "a" <= char <= "z" or (char >= "\x80" and char.isalpha() and char == char.lower()):
            return self.ends(self.name_end(at, "a", "z"), RULE)
        if "A" <= char <= "Z" or (char >= "\x80" and char.isalpha() and char == char.upper()):
            return self.ends(self.name_end(at, "A", "Z"), TERMINAL)
        return NOTHING

    def name_end(self, at: int, first: str, last: str) -> int:
        """Return the end of the name around `at`. Its letters have the case of `first` and `last`."""
        while True:
            char = self.peek(at)
            if not _is_name(first, last, char) and not (char == "-" and _is_name(first, last, self.peek(at + 1))):
                return at
            at += 1

    def modified(self, at: int, first: str) -> int:
        """Read a rule with its modifiers, `?` and `!` in any order; or the operator `?`, if no name follows it."""
        begin = at + 1
        second = self.peek(begin)
        if (second == "?" or second == "!") and second != first:
            begin += 1
        kind = self.name(begin)
        if kind == RULE:
            return RULE
        if first == "?" and second != "_" and not "a" <= second <= "z":
            return self.ends(at + 1, MARK)
        return NOTHING

    def string(self, at: int) -> int:
        """Read a string: on one line, up to a quote that no backslash escapes."""
        while at < self.end:
            char = self.text[at]
            at += 1
            if not at & MANY:
                tick()
            if char == '"':
                return self.ends(at + 1 if self.peek(at) == "i" else at, STRING)
            if char == "\\":
                char = self.peek(at)
                at += 1
            if char == "\n":
                break
        return NOTHING

    def regexp(self, at: int) -> int:
        """Read a regular expression: up to a slash that no backslash escapes, and flags."""
        while at < self.end:
            char = self.text[at]
            at += 1
            if not at & MANY:
                tick()
            if char == "/":
                while self.peek(at) in "imslux":
                    at += 1
                return self.ends(at, REGEXP)
            if char == "\\":
                at += 1
        return NOTHING

    def number(self, at: int, first: str) -> int:
        """Read `[+-]?[0-9]+`, in digits of any script; or `+`; or `->`."""
        begin = at + 1
        at = begin
        while self.peek(at).isdecimal():
            at += 1
        if at > begin or first.isdecimal():
            return self.ends(at, NUMBER)
        if first == "+":
            return self.ends(at, MARK)
        return self.ends(at + 1, MARK) if self.peek(at) == ">" else NOTHING

    def special(self, at: int) -> int:
        """Read `<name>`. The name has neither brackets nor white space."""
        begin = at
        while at < self.end:
            char = self.text[at]
            if char == ">" and at > begin:
                return self.ends(at + 1, SPECIAL)
            if char == "<" or char == ">" or char.isspace():
                break
            at += 1
        return NOTHING

    def space(self, at: int) -> int:
        """Return the end of the white space, including line breaks, that begins at `at`."""
        while self.peek(at).isspace():
            at += 1
            if not at & MANY:
                tick()
        return at

    def peek(self, at: int) -> str:
        """Return the character at `at`; beyond the text NUL, which begins no lexeme and continues no name."""
        return self.text[at] if at < self.end else "\0"

    def ends(self, at: int, kind: int) -> int:
        """End the current lexeme at `at`. Return its kind."""
        self.at = at
        return kind


def _is_name(first: str, last: str, char: str) -> bool:
    if char < "\x80":
        return first <= char <= last or char == "_" or "0" <= char <= "9"
    return char.isalnum() and char == (char.lower() if first == "a" else char.upper())
