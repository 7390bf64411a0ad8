"""Parse Python's syntax of regular expressions to regex nodes: a pattern means here exactly what it means to `re`.

The parser descends recursively, as CPython's `re/_parser.py` (3.11) does, and follows its rules for literal braces,
octal escapes, verbose blanks and "nothing to repeat" exactly. It refuses everything that `re` refuses. Flags and case
folding are resolved while the pattern is read, so nodes have no flags.

Anchors and boundaries become lookarounds (`lookaround`), and `lower` decides whether these stay inside their terminal.
Backreferences and conditional groups are refused with their name and position. `\\p{...}`, which `re` lacks, is read as
the `regex` module reads it.

Cost: some 5 µs for a pattern of 30 characters as compiled (`python.pxd` has the types).
"""

from __future__ import annotations

from ...earley._meter import keep, take, tick
from ...earley.errors import LimitError
from ..errors import RegexSyntaxError
from ..loading import PIECE
from . import codepoints, lookaround
from .ast import (
    PART_BYTES,
    RANGE_BYTES,
    Atomic,
    Chars,
    Concat,
    Literal,
    Node,
    Ranges,
    Repeat,
    Union,
    one_code_point,
    widths,
)

MAX_NESTING = 100
"""The most levels of groups within groups. This bounds the recursion of the parser and of all functions that visit the
nodes. Beyond it, LimitError is raised."""
MAX_COUNT = 2**31 - 1
"""The largest number in a `{m,n}`. Beyond it, LimitError is raised."""

IGNORECASE = 1
MULTILINE = 2
DOTALL = 4
VERBOSE = 8
ASCII = 16
UNICODE = 32

POSIX = 64
"""Read POSIX classes such as `[[:alpha:]]`. It is the letter `p` of `parse` and no flag within patterns."""

_FLAGS = {"i": IGNORECASE, "m": MULTILINE, "s": DOTALL, "x": VERBOSE, "a": ASCII, "u": UNICODE}
_SIMPLE_ESCAPES = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92}
_HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
_BLANKS = " \t\n\r\v\f"
# What precedes a quantifier.
_NOTHING, _ATOM, _QUANTIFIED = 0, 1, 2
# The kinds of quantifiers.
_GREEDY, _LAZY, _POSSESSIVE = 0, 1, 2

_ANY = Chars(codepoints.ALL)
_NOT_NEWLINE = Chars(codepoints.NOT_NEWLINE)
_EMPTY_TEXT = Literal("")

_BACKREFERENCE_HINT = "repeat the pattern of the group; it may then match another text"
_CONDITIONAL_HINT = "write the two cases as alternatives"


def parse(pattern: str, flags: str = "", offset: int = 0) -> Node:
    """Return the node that `pattern` denotes under `flags`, letters out of "imsuxa", and "p" for POSIX classes.

    `offset` is added to every position, in errors and in nodes, so that positions can be those of a larger text. Raises
    `RegexSyntaxError` for a pattern that is malformed or not supported, `LimitError` for nesting and counts out of
    bounds."""
    bits = 0
    for letter in flags:
        if letter == "l":
            raise RegexSyntaxError(
                "flag 'l' (locale) is for bytes, not for text", offset, "remove it; classes are those of Unicode"
            )
        if letter == "p":
            bits |= POSIX
            continue
        if letter not in _FLAGS:
            raise RegexSyntaxError(f"unknown flag {letter!r}", offset, "the flags are i, m, s, u, x and a")
        bits |= _FLAGS[letter]
    if bits & ASCII and bits & UNICODE:
        raise RegexSyntaxError("flags 'a' and 'u' are incompatible", offset)
    parser = _Parser(pattern, bits, offset)
    node = parser.alternation()
    if parser.at < parser.end:
        raise parser.error("unbalanced parenthesis", parser.at)
    if parser.flags & ASCII and parser.flags & UNICODE:
        raise parser.error("flags 'a' and 'u' are incompatible", 0)
    return node


def literal(text: str, ignore_case: bool = False) -> Node:
    """Return a node that matches exactly `text` or, with `ignore_case`, what `re.escape(text)` matches under
    IGNORECASE."""
    if not ignore_case:
        return Literal(text)
    parts: list[Node] = []
    done = 0
    for place, char in enumerate(text):
        if not place & 0xFF:
            tick()
        node = _either_case(ord(char), False)
        if type(node) is not Literal:
            if done < place:
                parts.append(Literal(text[done:place]))
            parts.append(node)
            done = place + 1
    if done < len(text) or not parts:
        parts.append(Literal(text[done:]))
    return parts[0] if len(parts) == 1 else Concat(tuple(parts))


def count(digits: str, position: int) -> int:
    """Return the number of a repetition at `position`."""
    digits = digits.lstrip("0") or "0"
    if len(digits) > 10 or int(digits) > MAX_COUNT:
        digits = digits if len(digits) <= 20 else f"{digits[:20]}..."
        raise LimitError(
            f"repetition count {digits} at position {position}, limit {MAX_COUNT}; write {{n,}} without a bound"
        ).at_limit("repetitions")
    return int(digits)


class _Parser:
    """The state of parsing one pattern. Invariant: `pattern[at]` is the first character that has not been read."""

    def __init__(self, pattern: str, flags: int, offset: int) -> None:
        self.pattern = pattern
        self.at = 0
        self.end = len(pattern)
        self.flags = flags
        self.offset = offset
        self.depth = 0
        self.names: set[str] | None = None

    def error(self, message: str, position: int, hint: str | None = None) -> RegexSyntaxError:
        return RegexSyntaxError(message, self.offset + position, hint)

    # ---- structure ----------------------------------------------------------------------------------------------

    def alternation(self) -> Node:
        """Read `a|b|c` up to the end or a closing parenthesis. Neighbours of one code point each become one class."""
        first = self.sequence(self.depth == 0)
        if self.at >= self.end or self.pattern[self.at] != "|":
            return first
        alternatives: list[Node] = []
        # Sets that are read but not yet in `alternatives`: neighbours to be joined. The last of them is `single`.
        waiting: list[tuple[int, int]] = []
        n_waiting = 0
        node = first
        while True:
            ranges = one_code_point(node)
            if ranges is not None:
                waiting += ranges
                n_waiting += 1
                single = node
            if n_waiting and (ranges is None or self.at >= self.end or self.pattern[self.at] != "|"):
                alternatives.append(single if n_waiting == 1 else Chars(codepoints.normalize(waiting)))
                waiting = []
                n_waiting = 0
            if ranges is None:
                alternatives.append(node)
            if self.at >= self.end or self.pattern[self.at] != "|":
                return alternatives[0] if len(alternatives) == 1 else Union(tuple(alternatives))
            self.at += 1
            tick()
            node = self.sequence(False)

    def sequence(self, first: bool) -> Node:
        """Read atoms with their quantifiers, up to `|`, `)` or the end. If `first`, global flags are allowed here."""
        pattern = self.pattern
        parts: list[Node] = []
        # Characters that are read but not yet in `parts`. They become one Literal; a quantifier takes the last
        # character.
        text: list[str] = []
        state = _NOTHING
        while self.at < self.end:
            start = self.at
            char = pattern[start]
            if not start & 0x3F:
                tick()
            if char == "|" or char == ")":
                break
            node: Node | None = None
            if not _is_special(char) and not self.flags & (IGNORECASE | VERBOSE):
                self.skip_plain()
                text.append(pattern[start : self.at])
                state = _ATOM
                continue
            self.at = start + 1
            take(PART_BYTES)
            if char == "\\":
                node = self.escape(start)
            elif char == "[":
                node = self.char_class(start)
            elif char == ".":
                node = _ANY if self.flags & DOTALL else _NOT_NEWLINE
            elif char == "(":
                node = self.group(start, first and state == _NOTHING and not parts)
                if node is None:
                    continue  # a comment, or global flags
            elif char == "*" or char == "+" or char == "?" or (char == "{" and self.is_count()):
                minimum, maximum, mode = self.quantifier(start)
                if state == _NOTHING:
                    raise self.error("nothing to repeat", start)
                if state == _QUANTIFIED:
                    raise self.error("multiple repeat", start)
                if text:
                    last = text.pop()
                    if text or len(last) > 1:
                        text.append(last[:-1])
                        parts.append(Literal("".join(text)))
                        text = []
                    node = Literal(last[-1])
                else:
                    node = parts.pop()
                if mode == _POSSESSIVE:
                    # In `re`, each turn is atomic, too: `(?:a|ab){2}+` does not match "aba".
                    turn = node if type(node) is Chars or type(node) is Literal else Atomic(node)
                    parts.append(Atomic(Repeat(turn, minimum, maximum, False)))
                else:
                    parts.append(Repeat(node, minimum, maximum, mode == _LAZY))
                state = _QUANTIFIED
                continue
            elif char == "^":
                node = lookaround.line_start(self.flags & MULTILINE != 0, self.offset + start)
            elif char == "$":
                node = lookaround.line_end(self.flags & MULTILINE != 0, self.offset + start)
            elif self.flags & VERBOSE and char in _BLANKS:
                continue
            elif self.flags & VERBOSE and char == "#":
                self.skip_comment("\n")
                continue
            else:
                node = self.character(ord(char))
            state = _ATOM
            if char == "^" or char == "$" or (char == "\\" and pattern[start + 1] in "AZbB"):
                state = _NOTHING
            if type(node) is Literal and len(node.text) == 1:
                text.append(node.text)
                continue
            if text:
                parts.append(Literal("".join(text)))
                text = []
            parts.append(node)
        if text:
            parts.append(Literal("".join(text)))
        if len(parts) == 1:
            return parts[0]
        if len(parts) > PIECE:
            keep(parts)
        return Concat(tuple(parts)) if parts else _EMPTY_TEXT

    def skip_plain(self) -> None:
        """Skip to the next special character, or to the end."""
        while self.at < self.end and not _is_special(self.pattern[self.at]):
            self.at += 1
            if not self.at & 0xFFF:
                tick()

    def skip_comment(self, last: str) -> bool:
        """Skip to the place after the next `last` that has no backslash before it. If there is none, skip to the end
        and return False."""
        while self.at < self.end:
            char = self.pattern[self.at]
            if char == "\\" and self.at + 1 == self.end:
                raise self.error("bad escape (end of pattern)", self.at)
            self.at += 2 if char == "\\" else 1
            if char == last:
                return True
            if not self.at & 0xFFF:
                tick()
        return False

    def skip_digits(self) -> None:
        while self.at < self.end and "0" <= self.pattern[self.at] <= "9":
            self.at += 1

    def is_count(self) -> bool:
        """Tell whether the brace before `at` opens a count. `{}`, `{x}` and `{1` are plain text; `{,}` is a count."""
        start = self.at
        self.skip_digits()
        if self.at < self.end and self.pattern[self.at] == ",":
            self.at += 1
            self.skip_digits()
        found = start < self.at < self.end and self.pattern[self.at] == "}"
        self.at = start
        return found

    def quantifier(self, start: int) -> tuple[int, int | None, int]:
        """Read the quantifier at `start`, whose first character has been read: its minimum, its maximum and its
        kind."""
        char = self.pattern[start]
        minimum = 1 if char == "+" else 0
        maximum = 1 if char == "?" else None
        if char == "{":
            self.skip_digits()
            low = self.pattern[start + 1 : self.at]
            high = low
            if self.pattern[self.at] == ",":
                comma = self.at
                self.at += 1
                self.skip_digits()
                high = self.pattern[comma + 1 : self.at]
            self.at += 1
            minimum = count(low, self.offset + start) if low else 0
            maximum = count(high, self.offset + start) if high else None
            if maximum is not None and maximum < minimum:
                raise self.error("min repeat greater than max repeat", start)
        if self.at < self.end:
            if self.pattern[self.at] == "?":
                self.at += 1
                return minimum, maximum, _LAZY
            if self.pattern[self.at] == "+":
                self.at += 1
                return minimum, maximum, _POSSESSIVE
        return minimum, maximum, _GREEDY

    # ---- one code point -----------------------------------------------------------------------------------------

    def character(self, code: int) -> Node:
        """Return the node for a code point, with its other cases under IGNORECASE."""
        if self.flags & IGNORECASE:
            return _either_case(code, self.flags & ASCII != 0)
        return Literal(chr(code))

    def escape(self, start: int) -> Node:
        """Read the escape at `start`, outside a class. Its backslash has been read."""
        if self.at >= self.end:
            raise self.error("bad escape (end of pattern)", start)
        char = self.pattern[self.at]
        if char in "dDsSwW":
            self.at += 1
            return Chars(codepoints.category(char, self.flags & ASCII != 0))
        if char in "bBAZ":
            self.at += 1
            return self.place(char, self.offset + start)
        if char == "p" or char == "P":
            self.at += 1
            return Chars(self.property(start))
        if "1" <= char <= "9" and not self.is_octal():
            raise self.error("backreferences are not supported", start, _BACKREFERENCE_HINT)
        return self.character(self.escaped_code(start))

    def place(self, char: str, position: int) -> Node:
        """Return the node for `\\b`, `\\B`, `\\A` or `\\Z`."""
        if char == "A":
            return lookaround.line_start(False, position)
        if char == "Z":
            return lookaround.text_end(position)
        word = codepoints.category("w", self.flags & ASCII != 0)
        if char == "b":
            return lookaround.boundary(word, False, position)
        return lookaround.not_in_empty_text(lookaround.boundary(word, True, position), position)

    def property(self, start: int) -> Ranges:
        """Read `\\p{...}` or `\\P{...}` after its letter, and return its set. The escape is at `start`."""
        from . import unicode_properties  # tables that almost no pattern needs

        negative = self.pattern[self.at - 1] == "P"
        if self.at < self.end and self.pattern[self.at] != "{":  # \\pL
            name = self.pattern[self.at]
            self.at += 1
        else:
            close = self.pattern.find("}", self.at)
            if close < 0:
                raise self.error("missing }, unterminated property name", self.at)
            name = self.pattern[self.at + 1 : close]
            self.at = close + 1
        if name.startswith("^"):
            negative = not negative
            name = name[1:]
        try:
            ranges = unicode_properties.find(name, loose=True)
        except unicode_properties.UnknownProperty as error:
            raise self.error(error.args[0], start, error.args[1]) from None
        if self.flags & IGNORECASE:
            ranges = unicode_properties.ignoring_case(name, ranges)
        return codepoints.complement(ranges) if negative else ranges

    def is_octal(self) -> bool:
        """Tell whether three octal digits follow: these are a character, fewer are a backreference."""
        digits = self.pattern[self.at : self.at + 3]
        return len(digits) == 3 and _all_in(digits, "01234567")

    def escaped_code(self, start: int) -> int:
        """Read the escape at `start`, whose backslash has been read, and return its code point."""
        if self.at >= self.end:
            raise self.error("bad escape (end of pattern)", start)
        char = self.pattern[self.at]
        self.at += 1
        if "0" <= char <= "7":
            while self.at < self.end and self.at < start + 4 and "0" <= self.pattern[self.at] <= "7":
                self.at += 1
            code = int(self.pattern[start + 1 : self.at], 8)
            if code > 0o377:
                raise self.error(f"octal escape value {self.pattern[start : self.at]} outside of range 0-0o377", start)
            return code
        simple = _SIMPLE_ESCAPES.get(char)
        if simple is not None:
            return simple
        length = _HEX_DIGITS.get(char)
        if length is not None:
            digits = self.pattern[self.at : self.at + length]
            if len(digits) < length or not _all_in(digits, "0123456789abcdefABCDEF"):
                raise self.error(f"incomplete escape \\{char}{digits}", start)
            code = int(digits, 16)
            if code > codepoints.MAX_CODE_POINT:
                raise self.error(f"bad escape \\{char}{digits}", start)
            self.at += length
            return code
        if char == "N":
            return self.named_code(start)
        if char.isascii() and char.isalnum():
            raise self.error(f"bad escape \\{char}", start)
        return ord(char)

    def named_code(self, start: int) -> int:
        """Read the name of a code point, as in `\\N{EM DASH}`."""
        import unicodedata  # a shared library that almost no pattern needs

        if self.at >= self.end or self.pattern[self.at] != "{":
            raise self.error("missing {", self.at)
        close = self.pattern.find("}", self.at)
        if close < 0:
            raise self.error("missing }, unterminated name", self.at)
        name = self.pattern[self.at + 1 : close]
        if not name:
            raise self.error("missing character name", self.at)
        self.at = close + 1
        try:
            return ord(unicodedata.lookup(name))
        except (KeyError, TypeError, UnicodeError):  # TypeError: the name of a sequence; UnicodeError: a surrogate
            raise self.error(f"undefined character name {name!r}", start) from None

    def char_class(self, start: int) -> Node:
        """Read a class, `[...]`, whose bracket at `start` has been read."""
        pattern = self.pattern
        negative = self.at < self.end and pattern[self.at] == "^"
        if negative:
            self.at += 1
        pairs: list[tuple[int, int]] = []
        categories: list[tuple[int, int]] = []
        opening = self.at
        if self.flags & POSIX and pattern.startswith(":", opening):
            from .posix import refuse_single_brackets  # rare

            refuse_single_brackets(pattern, start, self.offset)
        is_kept = False
        while True:
            if len(pairs) > PIECE and not is_kept:
                keep(pairs)
                is_kept = True
            item = self.at
            if not item & 0x3F:
                tick()
            if item >= self.end:
                raise self.error("unterminated character set", start)
            if pattern[item] == "]" and item > opening:
                self.at += 1
                break
            take(RANGE_BYTES)
            first = self.class_member(categories)
            if self.at >= self.end or pattern[self.at] != "-":
                if first >= 0:
                    pairs.append((first, first))
                continue
            self.at += 1
            if self.at >= self.end:
                raise self.error("unterminated character set", start)
            if pattern[self.at] == "]":
                if first >= 0:
                    pairs.append((first, first))
                pairs.append((45, 45))
                self.at += 1
                break
            last = self.class_member(categories)
            if first < 0 or last < first:
                raise self.error(f"bad character range {pattern[item : self.at]}", item)
            pairs.append((first, last))
        ranges = codepoints.normalize(pairs)
        if self.flags & IGNORECASE:
            ranges = codepoints.fold(ranges, self.flags & ASCII != 0)
        if categories:
            ranges = codepoints.normalize(categories + list(ranges)) if ranges else codepoints.normalize(categories)
        if negative:
            ranges = codepoints.complement(ranges)
        if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
            return Literal(chr(ranges[0][0]))
        return Chars(ranges)

    def class_member(self, categories: list[tuple[int, int]]) -> int:
        """Read one member of a class. Return its code point, or -1 for a category, whose ranges go to `categories`."""
        start = self.at
        char = self.pattern[start]
        self.at = start + 1
        if char != "\\":
            if char == "[" and self.flags & POSIX and self.pattern.startswith(":", self.at):
                return self.posix_class(start, categories)
            return ord(char)
        if self.at < self.end and self.pattern[self.at] in "dDsSwW":
            categories += codepoints.category(self.pattern[self.at], self.flags & ASCII != 0)
            self.at += 1
            return -1
        if self.at < self.end and self.pattern[self.at] in "pP":
            self.at += 1
            categories += self.property(start)
            return -1
        return self.escaped_code(start)

    def posix_class(self, start: int, categories: list[tuple[int, int]]) -> int:
        """Read `[:alpha:]` or `[:^alpha:]` at `start` within a class. Its ranges go to `categories`. Return -1, or the
        code of the bracket if there is no such class."""
        from . import posix  # rare

        found = posix.read(self.pattern, start, self.offset)
        if found is None:
            return ord("[")
        ranges, negative, self.at = found
        if self.flags & IGNORECASE:
            ranges = codepoints.fold(ranges, self.flags & ASCII != 0)
        categories += codepoints.complement(ranges) if negative else ranges
        return -1

    # ---- groups -------------------------------------------------------------------------------------------------

    def group(self, start: int, first: bool) -> Node | None:
        """Read the group that the parenthesis at `start` opens. Return None for a comment and for global flags, which
        are allowed if `first`."""
        if self.at >= self.end or self.pattern[self.at] != "?":
            return self.contents(start, self.flags)
        self.at += 1
        char = self.next_character()
        if char == ":":
            return self.contents(start, self.flags)
        if char == "P":
            self.group_name()
            return self.contents(start, self.flags)
        if char == "#":
            if not self.skip_comment(")"):
                raise self.error("missing ), unterminated comment", start)
            return None
        if char == "<":
            return self.behind(start)
        if char == "=" or char == "!":
            return lookaround.ahead(self.contents(start, self.flags), char == "!", self.offset + start)
        if char == "(":
            raise self.error("conditional groups are not supported", start, _CONDITIONAL_HINT)
        if char == ">":
            return Atomic(self.contents(start, self.flags))
        if char == "-" or char == "L" or char in _FLAGS:
            return self.flag_group(start, char, first)
        raise self.error(f"unknown extension ?{char}", start + 1)

    def contents(self, start: int, flags: int) -> Node:
        """Read the inside of the group opened at `start`, under `flags`, and its closing parenthesis."""
        if self.depth >= MAX_NESTING:
            raise LimitError(
                f"groups are nested deeper than {MAX_NESTING} at position {self.offset + start}; use fewer levels"
            ).at_limit("nesting")
        outside = self.flags
        self.flags = flags
        self.depth += 1
        node = self.alternation()
        self.depth -= 1
        self.flags = outside
        if self.at >= self.end:
            raise self.error("missing ), unterminated subpattern", start)
        self.at += 1
        return node

    def next_character(self) -> str:
        if self.at >= self.end:
            raise self.error("unexpected end of pattern", self.at)
        self.at += 1
        return self.pattern[self.at - 1]

    def group_name(self) -> None:
        """Read the `<name>` of `(?P<name>...)`, and check it as `re` does. The name has no further use."""
        char = self.next_character()
        if char == "=":
            raise self.error("backreferences are not supported", self.at - 4, _BACKREFERENCE_HINT)
        if char != "<":
            raise self.error(f"unknown extension ?P{char}", self.at - 3)
        close = self.pattern.find(">", self.at)
        if close < 0:
            raise self.error("missing >, unterminated name", self.at)
        name = self.pattern[self.at : close]
        if not name:
            raise self.error("missing group name", self.at)
        if not name.isidentifier():
            raise self.error(f"bad character in group name {name!r}", self.at)
        if self.names is None:
            self.names = set()
        if name in self.names:
            raise self.error(f"redefinition of group name {name!r}", self.at)
        self.names.add(name)
        self.at = close + 1

    def behind(self, start: int) -> Node:
        """Read `(?<=...)` or `(?<!...)` after `(?<`."""
        char = self.next_character()
        if char != "=" and char != "!":
            raise self.error(f"unknown extension ?<{char}", start + 1, "a named group is written (?P<name>...)")
        body = self.contents(start, self.flags)
        shortest, longest = widths(body)
        if shortest != longest:
            raise self.error(
                "look-behind requires fixed-width pattern", start, "write one lookbehind for each width: (?<=a)|(?<=bc)"
            )
        return lookaround.behind(body, char == "!", self.offset + start)

    def flag_group(self, start: int, char: str, first: bool) -> Node | None:
        """Read `(?i)`, which holds to the end of the pattern, or `(?i-s:...)`, after `char`."""
        added = removed = 0
        while char != ")" and char != ":" and char != "-":
            added |= self.flag(char)
            if added & ASCII and added & UNICODE:
                raise self.error("bad inline flags: flags 'a', 'u' and 'L' are incompatible", self.at)
            char = self.flag_end("missing -, : or )")
        if char == ")":
            if not first:
                raise self.error(
                    "global flags not at the start of the expression",
                    start,
                    "write (?i:...) around a part of the pattern",
                )
            self.flags |= added
            return None
        if char == "-":
            char = self.flag_end("missing flag")
            if char == ":" or char == ")" or char == "-":
                raise self.error("missing flag", self.at - 1)
            while char != ":":
                if char == ")" or char == "-":
                    raise self.error("missing :", self.at - 1)
                removed |= self.flag(char)
                if removed & (ASCII | UNICODE):
                    raise self.error("bad inline flags: cannot turn off flags 'a', 'u' and 'L'", self.at)
                char = self.flag_end("missing :")
        if added & removed:
            raise self.error("bad inline flags: flag turned on and off", self.at - 1)
        flags = self.flags
        if added & (ASCII | UNICODE):
            flags &= ~(ASCII | UNICODE)
        return self.contents(start, (flags | added) & ~removed)

    def flag(self, char: str) -> int:
        if char == "L":
            raise self.error("bad inline flags: cannot use 'L' flag with a str pattern", self.at)
        return _FLAGS[char]

    def flag_end(self, missing: str) -> str:
        """Read the next character of a flag group."""
        if self.at >= self.end:
            raise self.error(missing, self.at)
        char = self.next_character()
        if char not in _FLAGS and char not in "):-L":
            raise self.error("unknown flag" if char.isalpha() else missing, self.at - 1)
        return char


def _is_special(char: str) -> bool:
    """Tell whether a character has a special meaning in a pattern, verbose mode aside."""
    return char in "\\[.(*+?{^$|)"


def _all_in(text: str, allowed: str) -> bool:
    for char in text:  # (a generator costs more than the loop)
        if char not in allowed:
            return False
    return True


def _either_case(code: int, ascii_only: bool) -> Node:
    """Return the node for `code` in any case. Nodes are cached, since a keyword asks for each of its letters."""
    key = -code - 1 if ascii_only else code
    node = _cases.get(key)
    if node is None:
        ranges = codepoints.fold_char(code, ascii_only)
        if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
            return Literal(chr(code))
        _cases[key] = node = Chars(ranges)
    return node


_cases: dict[int, Node] = {}
