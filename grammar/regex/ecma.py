"""Parse the regular expressions of ECMA-262 to regex nodes, with the meaning of the `u` flag. JSON Schema's `pattern`
has this dialect.

The parser follows ECMA-262, section 22.2 (Patterns), with four decisions:

- The text is a sequence of Unicode scalar values. `\\uD83D\\uDE00` is one of them; a lone surrogate matches nothing.
- An escaped character that need not be escaped stands for itself (`\\-`, `\\_`, `\\@`, `\\e`), as without the `u` flag
  (Annex B.1.2), since many real patterns have such escapes. Broken escapes are refused, although Annex B gives them a
  meaning: `\\c` without a letter, `\\x` and `\\u` without digits, `\\p` without a name, octal numbers.
- `]` and a brace that opens no count stand for themselves, too (Annex B.1.2). So does a hyphen beside `\\w` or the like
  in a class. It is an error, as under `u`, beside `\\p{...}`, which Annex B does not have, and before another hyphen,
  where flag `v` gives it a meaning.
- `\\p{...}` has the properties of `unicode_properties`.

Backreferences are refused with their name and position. Flag `i` uses simple case folding, as Canonicalize does under
`u`.
"""

from __future__ import annotations

from ...earley._meter import take, tick
from ...earley.errors import LimitError
from ..errors import RegexSyntaxError
from . import codepoints, lookaround
from .ast import PART_BYTES, RANGE_BYTES, Chars, Concat, Literal, Node, Ranges, Repeat, Union
from .python import MAX_NESTING, count

IGNORE_CASE = 1
MULTILINE = 2
DOT_ALL = 4

_FLAGS = {"i": IGNORE_CASE, "m": MULTILINE, "s": DOT_ALL, "u": 0}

SPACE: Ranges = (
    (9, 13), (32, 32), (0xA0, 0xA0), (0x1680, 0x1680), (0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F),
    (0x205F, 0x205F), (0x3000, 0x3000), (0xFEFF, 0xFEFF),
)  # fmt: skip
"""The code points of WhiteSpace and LineTerminator, sections 12.2 and 12.3."""
LINE_ENDS: Ranges = ((10, 10), (13, 13), (0x2028, 0x2029))
_NOT_LINE_END = codepoints.complement(LINE_ENDS)
_CATEGORIES = {"d": codepoints.ASCII_DIGIT, "s": SPACE, "w": codepoints.ASCII_WORD}
_CONTROLS = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_TURKISH: Ranges = ((0x130, 0x131),)
_EMPTY_TEXT = Literal("")
# No quantifier may follow these. A lookahead may be repeated (Annex B.1.2).
_PLACES = ("^", "$", "\\b", "\\B", "(?<=", "(?<!")
_HYPHEN_HINT = "write \\- for a hyphen; flag v, under which -- subtracts a set, is not supported"
_BACKREFERENCE_HINT = "repeat the pattern of the group; it may then match another text"


def parse(pattern: str, flags: str = "", offset: int = 0) -> Node:
    """Return the node that `pattern` denotes under `flags`, letters out of "imsu"; see `parse_regex`."""
    bits = 0
    for letter in flags:
        if letter == "v":
            raise RegexSyntaxError(
                "flag 'v' (sets of strings in classes) is not supported",
                offset,
                "use flag u, and alternatives in place of unions",
            )
        if letter not in _FLAGS:
            raise RegexSyntaxError(f"unknown flag {letter!r}", offset, "the flags are i, m, s and u")
        bits |= _FLAGS[letter]
    parser = _Parser(pattern, bits, offset)
    node = parser.disjunction()
    if parser.at < parser.end:
        raise parser.error("unbalanced parenthesis", parser.at)
    return node


class _Parser:
    """The state of parsing one pattern. Invariant: `pattern[at]` is the first character that has not been read."""

    def __init__(self, pattern: str, flags: int, offset: int) -> None:
        self.pattern = pattern
        self.at = 0
        self.end = len(pattern)
        self.flags = flags
        self.offset = offset
        self.depth = 0
        self.names: set[str] = set()

    def error(self, message: str, position: int, hint: str | None = None) -> RegexSyntaxError:
        return RegexSyntaxError(message, self.offset + position, hint)

    def peek(self) -> str:
        return self.pattern[self.at] if self.at < self.end else ""

    def skip(self, text: str) -> bool:
        if self.pattern.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    # ---- structure ----------------------------------------------------------------------------------------------

    def disjunction(self) -> Node:
        alternatives = [self.alternative()]
        while self.skip("|"):
            alternatives.append(self.alternative())
        return alternatives[0] if len(alternatives) == 1 else Union(tuple(alternatives))

    def alternative(self) -> Node:
        parts: list[Node] = []
        while self.at < self.end and self.peek() not in "|)":
            start = self.at
            if not start & 0x3F:
                tick()
            take(PART_BYTES)
            node = self.term(start)
            parts.append(self.quantified(node, not self.pattern.startswith(_PLACES, start)))
        if len(parts) == 1:
            return parts[0]
        return Concat(tuple(parts)) if parts else _EMPTY_TEXT

    def quantified(self, node: Node, quantifiable: bool) -> Node:
        """Return `node` with the quantifier that follows it, if there is one."""
        start = self.at
        bounds = self.quantifier()
        if bounds is None:
            return node
        if not quantifiable:
            raise self.error("nothing to repeat", start)
        lazy = self.skip("?")
        before = self.at
        if self.quantifier() is not None:
            raise self.error("multiple repeat", before, "there are no possessive quantifiers in ECMA-262")
        return Repeat(node, bounds[0], bounds[1], lazy)

    def quantifier(self) -> tuple[int, int | None] | None:
        char = self.peek()
        if char == "*" or char == "+" or char == "?":
            self.at += 1
            return (1 if char == "+" else 0), (1 if char == "?" else None)
        return self.braces() if char == "{" else None

    def braces(self) -> tuple[int, int | None] | None:
        """Read `{m}`, `{m,}` or `{m,n}`. Return None, and read nothing, if the brace stands for itself."""
        start = self.at
        self.at += 1
        low = self.digits()
        high = low
        if low and self.skip(","):
            high = self.digits()
        if not low or not self.skip("}"):
            self.at = start
            return None
        least = count(low, self.offset + start)
        most = count(high, self.offset + start) if high else None
        if most is not None and most < least:
            raise self.error("min repeat greater than max repeat", start)
        return least, most

    def digits(self) -> str:
        start = self.at
        while self.at < self.end and "0" <= self.pattern[self.at] <= "9":
            self.at += 1
        return self.pattern[start : self.at]

    def term(self, start: int) -> Node:
        char = self.pattern[start]
        if char in "*+?" or (char == "{" and self.quantifier() is not None):
            raise self.error("nothing to repeat", start)
        self.at = start + 1
        position = self.offset + start
        if char == "^":
            if self.flags & MULTILINE:
                return lookaround.behind(Chars(_NOT_LINE_END), True, position)
            return lookaround.line_start(False, position)
        if char == "$":
            if self.flags & MULTILINE:
                return lookaround.ahead(Chars(_NOT_LINE_END), True, position)
            return lookaround.text_end(position)
        if char == ".":
            return Chars(codepoints.ALL if self.flags & DOT_ALL else _NOT_LINE_END)
        if char == "[":
            return self.char_class(start)
        if char == "(":
            return self.group(start)
        if char == "\\":
            return self.escape(start)
        return self.character(ord(char))

    def group(self, start: int) -> Node:
        position = self.offset + start
        if not self.skip("?"):
            return self.contents(start)
        if self.skip(":"):
            return self.contents(start)
        for opening, ahead, negative in (
            ("=", True, False),
            ("!", True, True),
            ("<=", False, False),
            ("<!", False, True),
        ):
            if self.skip(opening):
                body = self.contents(start)
                return (lookaround.ahead if ahead else lookaround.behind)(body, negative, position)
        if self.skip("<"):
            self.names.add(self.group_name(start))
            return self.contents(start)
        rest = self.pattern[self.at : self.at + 1]
        hint = "a named group is written (?<name>...)" if rest == "P" else None
        raise self.error(f"unknown group (?{rest}", start, hint)

    def group_name(self, start: int) -> str:
        close = self.pattern.find(">", self.at)
        name = self.pattern[self.at : close] if close >= 0 else ""
        if not name.replace("$", "_").isidentifier():
            raise self.error("bad group name", start)
        if name in self.names:
            raise self.error(f"redefinition of group name {name!r}", start)
        self.at = close + 1
        return name

    def contents(self, start: int) -> Node:
        if self.depth >= MAX_NESTING:
            raise LimitError(
                f"groups are nested deeper than {MAX_NESTING} at position {self.offset + start}; use fewer levels"
            ).at_limit("nesting")
        self.depth += 1
        node = self.disjunction()
        self.depth -= 1
        if not self.skip(")"):
            raise self.error("missing ), unterminated group", start)
        return node

    # ---- one code point -----------------------------------------------------------------------------------------

    def character(self, code: int) -> Node:
        if self.flags & IGNORE_CASE:
            ranges = fold(((code, code),))
            if ranges != ((code, code),):
                return Chars(ranges)
        return Literal(chr(code))

    def escape(self, start: int) -> Node:
        char = self.peek()
        if char == "b" or char == "B":
            self.at += 1
            word = fold(codepoints.ASCII_WORD) if self.flags & IGNORE_CASE else codepoints.ASCII_WORD
            return lookaround.boundary(word, char == "B", self.offset + start)
        ranges = self.category(start)
        if ranges is not None:
            return Chars(ranges)
        if char == "k" and self.pattern.startswith("<", self.at + 1):
            raise self.error("backreferences are not supported", start, _BACKREFERENCE_HINT)
        if "1" <= char <= "9":
            raise self.error("backreferences are not supported", start, _BACKREFERENCE_HINT)
        return self.character(self.escaped_code(start, False))

    def category(self, start: int) -> Ranges | None:
        """Read `\\d`, `\\P{..}` and the like. Return None, and read nothing, for any other escape."""
        char = self.peek()
        ranges = _CATEGORIES.get(char.lower()) if char else None
        if ranges is not None:
            self.at += 1
            if self.flags & IGNORE_CASE and char in "wW":
                ranges = fold(ranges)
            return codepoints.complement(ranges) if char.isupper() else ranges
        if char == "p" or char == "P":
            return self.property(start)
        return None

    def property(self, start: int) -> Ranges:
        from . import unicode_properties  # tables that almost no pattern needs

        negative = self.peek() == "P"
        self.at += 1
        close = self.pattern.find("}", self.at)
        if not self.skip("{") or close < 0:
            raise self.error("\\p needs a property name in braces", start, "write \\p{L}")
        name = self.pattern[self.at : close]
        self.at = close + 1
        try:
            ranges = unicode_properties.find(name, loose=False)
        except unicode_properties.UnknownProperty as error:
            raise self.error(error.args[0], start, error.args[1]) from None
        if negative:
            ranges = codepoints.complement(ranges)
        # The complement comes first: if case is ignored, `\P{Lu}` matches "A", since it contains "a" (22.2.2.9; flag
        # `v` differs).
        return fold(ranges) if self.flags & IGNORE_CASE else ranges

    def escaped_code(self, start: int, in_class: bool) -> int:
        """Read the escape at `start`, whose backslash has been read, and return its code point."""
        if self.at >= self.end:
            raise self.error("\\ at the end of the pattern", start)
        char = self.pattern[self.at]
        self.at += 1
        if char in _CONTROLS:
            return _CONTROLS[char]
        if char == "0":
            if "0" <= self.peek() <= "9":
                raise self.error("octal escapes are not supported", start, "write \\x00")
            return 0
        if char == "c":
            letter = self.peek()
            if not (letter.isascii() and letter.isalpha()):
                raise self.error("\\c needs a letter", start)
            self.at += 1
            return ord(letter) % 32
        if char == "x":
            return self.hex_digits(2, start)
        if char == "u":
            return self.unicode_escape(start)
        if in_class and char == "b":
            return 8
        if "1" <= char <= "9":
            raise self.error(f"bad escape \\{char}", start)
        return ord(char)

    def hex_digits(self, length: int, start: int) -> int:
        digits = self.pattern[self.at : self.at + length]
        if len(digits) < length or not _are_hex(digits):
            raise self.error(f"incomplete escape {self.pattern[start : self.at]}{digits}", start)
        self.at += length
        return int(digits, 16)

    def unicode_escape(self, start: int) -> int:
        if self.skip("{"):
            close = self.pattern.find("}", self.at)
            digits = self.pattern[self.at : close] if close >= 0 else ""
            if not digits or not _are_hex(digits):
                raise self.error("incomplete escape \\u{", start)
            digits = digits.lstrip("0") or "0"
            if len(digits) > 6 or int(digits, 16) > codepoints.MAX_CODE_POINT:
                raise self.error("the code point is beyond U+10FFFF", start)
            self.at = close + 1
            return int(digits, 16)
        code = self.hex_digits(4, start)
        if 0xD800 <= code <= 0xDBFF and self.pattern.startswith("\\u", self.at):
            before = self.at
            self.at += 2
            if self.peek() != "{":
                low = self.hex_digits(4, before)
                if 0xDC00 <= low <= 0xDFFF:
                    return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
            self.at = before
        return code

    def char_class(self, start: int) -> Node:
        negative = self.skip("^")
        pairs: list[tuple[int, int]] = []
        while True:
            item = self.at
            if item >= self.end:
                raise self.error("unterminated character class", start)
            if not item & 0x3F:
                tick()
            if self.skip("]"):
                break
            take(RANGE_BYTES)
            first = self.class_atom(pairs)
            if not self.pattern.startswith("-", self.at) or self.pattern.startswith("-]", self.at):
                if first >= 0:
                    pairs.append((first, first))
                continue
            self.at += 1
            middle = self.at
            if middle >= self.end:
                raise self.error("unterminated character class", start)
            last = self.class_atom(pairs)
            if first < 0 or last < 0:
                ends = self.pattern[item : item + 2], self.pattern[middle : middle + 2]
                if "\\p" in ends or "\\P" in ends or ends[1].startswith("-"):
                    shown = self.pattern[item : self.at]
                    raise self.error(f"bad character range {shown}: an end is a set", item, _HYPHEN_HINT)
                # Annex B: beside a class, a hyphen stands for itself.
                pairs += [(code, code) for code in (first, last, ord("-")) if code >= 0]
            elif last < first:
                raise self.error(f"bad character range {self.pattern[item : self.at]}", item)
            else:
                pairs.append((first, last))
        ranges = codepoints.normalize(pairs)
        if self.flags & IGNORE_CASE:
            ranges = fold(ranges)
        if negative:
            ranges = codepoints.complement(ranges)
        if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
            return Literal(chr(ranges[0][0]))
        return Chars(ranges)

    def class_atom(self, pairs: list[tuple[int, int]]) -> int:
        """Read one member of a class. Return its code point, or -1 for a set, which goes to `pairs`."""
        start = self.at
        char = self.pattern[start]
        self.at += 1
        if char != "\\":
            return ord(char)
        ranges = self.category(start)
        if ranges is not None:
            pairs += ranges
            return -1
        return self.escaped_code(start, True)


def _are_hex(digits: str) -> bool:
    return not digits.strip("0123456789abcdefABCDEF")


def fold(ranges: Ranges) -> Ranges:
    """Return the set of code points that match a member of `ranges` under the flags `iu`: they have the same simple
    folding.

    This is Python's folding, except that simple folding leaves the dotted and the dotless i alone (tested with all code
    points).
    """
    others = codepoints.intersection(ranges, codepoints.complement(_TURKISH))
    folded = codepoints.intersection(codepoints.fold(others, False), codepoints.complement(_TURKISH))
    return codepoints.normalize(folded + codepoints.intersection(ranges, _TURKISH))
