"""A slow reader and matcher of GBNF, for tests alone. It shares no code with the engine or its front end.

One regular expression splits the grammar, and recursive descent reads it into tuples. A text is matched with tables of
(rule, begin) -> ends that grow until nothing is new, so left recursion and cycles need no special treatment. Nothing
here is fast, and the reader does not check grammars: a malformed one may be read as anything.

Expressions: ("text", str) · ("class", negative, frozenset of (first, last)) · ("any",) · ("rule", name) ·
("sequence", parts) · ("choice", parts) · ("repeat", part, least, most or None)
"""

from __future__ import annotations

import re
from typing import Any

Expression = tuple[Any, ...]

_LEXEMES = re.compile(
    r"""(?P<blank>[ \t]+|\#[^\n]*) | (?P<line>\n) | (?P<sign>::=) | (?P<string>"(?:[^"\\]|\\.)*")
      | (?P<class>\[(?:[^\]\\]|\\.)*\]) | (?P<count>\{[ \d,]*\}) | (?P<name>[\w-]+) | (?P<mark>[()|*+?.])""",
    re.X | re.S | re.A,
)
_CHARACTERS = re.compile(
    r"\\x([0-9a-fA-F]{2})|\\u([0-9a-fA-F]{4})|\\U([0-9a-fA-F]{8})|\\([nrt\\\"\[\]-])|([^\\])", re.S
)


def characters(body: str) -> list[tuple[str, bool]]:
    """Return the characters that the inside of a string or class stands for, and whether each was escaped."""
    found = []
    for match in _CHARACTERS.finditer(body):
        code = match[1] or match[2] or match[3]
        if code:
            found.append((chr(int(code, 16)), True))
        elif match[4]:
            found.append(({"n": "\n", "r": "\r", "t": "\t"}.get(match[4], match[4]), True))
        else:
            found.append((match[5], False))
    return found


class Reader:
    def __init__(self, text: str) -> None:
        self.lexemes = [
            (match.lastgroup, match[0]) for match in _LEXEMES.finditer(text) if match.lastgroup not in ("blank", None)
        ]
        self.lexemes.append(("end", ""))
        self.i = 0

    def grammar(self) -> dict[str, Expression]:
        rules: dict[str, Expression] = {}
        while self.skip_lines() != "end":
            name = self.lexemes[self.i][1]
            assert self.lexemes[self.i + 1][0] == "sign"
            self.i += 2
            rules[name] = self.choice(nested=False)
        return rules

    def skip_lines(self) -> str | None:
        while self.lexemes[self.i][0] == "line":
            self.i += 1
        return self.lexemes[self.i][0]

    def choice(self, nested: bool) -> Expression:
        parts = []
        while True:
            self.skip_lines()
            parts.append(self.sequence(nested))
            rest = self.i
            self.skip_lines()
            if self.lexemes[self.i][1] != "|":
                if not nested:
                    self.i = rest
                return ("choice", tuple(parts))
            self.i += 1

    def sequence(self, nested: bool) -> Expression:
        parts: list[Expression] = []
        while True:
            if nested:
                self.skip_lines()
            kind, lexeme = self.lexemes[self.i]
            if kind in ("end", "line") or lexeme in (")", "|"):
                return ("sequence", tuple(parts))
            self.i += 1
            if lexeme == "(":
                parts.append(self.choice(nested=True))
                assert self.lexemes[self.i][1] == ")"
                self.i += 1
            elif lexeme in ("*", "+", "?"):
                parts.append(("repeat", parts.pop(), int(lexeme == "+"), 1 if lexeme == "?" else None))
            elif kind == "count":
                least, comma, most = lexeme[1:-1].replace(" ", "").partition(",")
                bound = int(most) if most else None if comma else int(least)
                parts.append(("repeat", parts.pop(), int(least or 0), bound))
            elif kind == "string":
                parts.append(("text", "".join(char for char, _ in characters(lexeme[1:-1]))))
            elif kind == "class":
                parts.append(self.char_class(lexeme[1:-1]))
            elif lexeme == ".":
                parts.append(("any",))
            else:
                assert kind == "name", lexeme
                parts.append(("rule", lexeme))

    def char_class(self, body: str) -> Expression:
        negative = body.startswith("^")
        members = characters(body[negative:])
        ranges = set()
        i = 0
        while i < len(members):
            first = last = members[i][0]
            if i + 2 < len(members) and members[i + 1] == ("-", False):
                last = members[i + 2][0]
                i += 2
            ranges.add((first, last))
            i += 1
        return ("class", negative, frozenset(ranges))


class Twin:
    """The language of a grammar, whose `rules` come from `Reader` or are made by hand."""

    def __init__(self, rules: dict[str, Expression]) -> None:
        self.rules = rules

    @classmethod
    def read(cls, text: str) -> Twin:
        return cls(Reader(text).grammar())

    def matches(self, text: str, start: str = "root") -> bool:
        table: dict[tuple[str, int], frozenset[int]] = {}
        while True:
            before = dict(table)
            for name, expression in self.rules.items():
                for begin in range(len(text) + 1):
                    table[name, begin] = frozenset(self.ends(expression, text, begin, before))
            if table == before:
                return len(text) in table[start, 0]

    def ends(
        self, expression: Expression, text: str, begin: int, table: dict[tuple[str, int], frozenset[int]]
    ) -> set[int]:
        """Return where a match that begins at `begin` may end."""
        kind = expression[0]
        if kind == "text":
            return {begin + len(expression[1])} if text.startswith(expression[1], begin) else set()
        if kind == "any":
            return {begin + 1} if begin < len(text) else set()
        if kind == "class":
            if begin == len(text):
                return set()
            inside = any(first <= text[begin] <= last for first, last in expression[2])
            return {begin + 1} if inside != expression[1] else set()
        if kind == "rule":
            return set(table.get((expression[1], begin), ()))
        if kind == "choice":
            return set().union(*[self.ends(part, text, begin, table) for part in expression[1]])
        places = {begin}
        if kind == "sequence":
            for part in expression[1]:
                places = set().union(*[self.ends(part, text, place, table) for place in places])
            return places
        _, part, least, most = expression
        for _ in range(least):
            places = set().union(*[self.ends(part, text, place, table) for place in places])
        found = set(places)
        turns = 0
        while places and (most is None or turns < most - least):
            places = set().union(*[self.ends(part, text, place, table) for place in places]) - found
            found |= places
            turns += 1
        return found
