"""What `Matcher.explain` returns, as data and as text."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Literal

SHOWN_BEFORE, SHOWN_AFTER = 60, 20
"""The text of an explanation shows at most so many characters of a line before and after the caret."""
SHOWN_RANGES = 12
"""At most so many ranges of characters are listed; the number of the others follows."""
SHOWN_EXPECTED = 6
"""At most so many lexemes that may come are listed with their rules; the number of the others follows."""
SHOWN_RULES = 8
"""At most so many rules of one lexeme are listed: the first ones and the last ones."""
FEW = 4
"""A set of characters is described by what is not in it if that is at most so many ranges."""
SURROGATES = (0xD800, 0xDFFF)
LAST = 0x10FFFF

_UNKNOWN = {
    "characters": "what is allowed there",
    "rules": "the rules",
    "keywords": "the keywords of the schema that refuse it",
    "nearest": "the nearest text",
}
"""What the names in `Explanation.unknown` stand for."""

Reason = Literal["allowed", "text", "end", "special token", "max_tokens", "finished", "unknown id"]


@dataclass(frozen=True)
class Expectation:
    """A lexeme that may begin or continue at the place of an explanation.

    Attributes:
        terminal: the name of the terminal, as the grammar gives it; or that of a special token.
        begin: the offset of the byte where the lexeme begins; the place itself if it has not begun.
        rules: the names of the rules that the lexeme is in, from the start rule down. Within a JSON Schema these are
            the JSON pointers of the schemas of the values. If there are more than 200, the first 100, "…" and the last
            100.
    """

    terminal: str
    begin: int
    rules: tuple[str, ...]


@dataclass(frozen=True)
class Nearest:
    """An allowed text that differs in as few characters as possible from the one that was asked about.

    Attributes:
        text: what may stand in the place of the text that was asked about; if the refused character began before that
            text, in the place of all from `Explanation.at` on.
        n_changed: the number of characters that were replaced, inserted or deleted.
    """

    text: bytes
    n_changed: int


@dataclass(frozen=True)
class Explanation:
    """Why a token or a text may not come next. `str()` of it is for people.

    Attributes:
        text: the accepted text, and the text that was asked about. Special tokens are not part of it.
        begin: the offset in `text` at which the text that was asked about begins.
        reason: "text" if a byte is refused; "end" if the text may not end there; "special token" if the special token
            may not come there; "max_tokens" if its rule has no tokens left; "finished" if EOS has been accepted, or an
            error has ended the sequence;
            "unknown id" if the vocabulary does not have the id; "allowed" if nothing is refused.
        offset: the offset in `text` of the byte that is refused; the length of `text` if no byte is. Every sentence
            that begins with `text[:offset]` continues in another way.
        at: the offset at which the character of that byte begins.
        refused: the refused character, or its bytes if they are not UTF-8; "" at the end.
        characters: the characters that may stand at `at`, as ascending ranges: pairs of the first and the last one.
        other_bytes: the bytes that may stand there and begin no such character.
        may_end: whether the text may end at `at`.
        special_tokens: names of the special tokens, and sets of token ids, that may come there.
        expected: the lexemes that may begin or continue there, with their rules.
        conflicts: for a JSON Schema, the JSON pointers of keywords that refuse the text. Those in one tuple refuse it
            together: without one of them, the others would not. Each tuple refuses it by itself.
        schemas: the JSON pointers of the schemas that the value at the place must satisfy.
        instance: the JSON pointer of that value in the document; None outside of JSON documents.
        hint: what to do about it, if that is known; or None.
        nearest: the nearest allowed text; None if nothing is refused or none was found.
        gave_up: whether the search for the nearest text was too much work and ended early. Then there may be a nearer
            one than `nearest`, which is mostly None.
        unknown: what is not, or not all, in the explanation, because a limit was met: "characters" (with `other_bytes`,
            `may_end` and `special_tokens`), "rules" (`expected`), "keywords" (`conflicts`), "nearest".
        limit: what the first of the limits says, as a LimitError does; if an error has ended the sequence, what that
            one says; None if none was met.
    """

    text: bytes
    begin: int
    reason: Reason
    offset: int
    at: int
    refused: str = ""
    characters: tuple[tuple[str, str], ...] = ()
    other_bytes: bytes = b""
    may_end: bool = False
    special_tokens: tuple[str, ...] = ()
    expected: tuple[Expectation, ...] = ()
    conflicts: tuple[tuple[str, ...], ...] = ()
    schemas: tuple[str, ...] = ()
    instance: str | None = None
    hint: str | None = None
    nearest: Nearest | None = None
    gave_up: bool = False
    unknown: tuple[str, ...] = ()
    limit: str | None = None

    @property
    def is_allowed(self) -> bool:
        """Whether nothing is refused."""
        return self.reason == "allowed"

    @property
    def pointers(self) -> tuple[str, ...]:
        """The JSON pointers of all keywords that refuse the text; if none is known, those of `schemas`."""
        return tuple(dict.fromkeys([each for one in self.conflicts for each in one])) or self.schemas

    @property
    def allowed(self) -> tuple[str, ...]:
        """What may stand at the place, in words: characters and ranges of them, special tokens, the end."""
        found = described([(ord(first), ord(last)) for first, last in self.characters])
        if self.other_bytes:
            found.append(f"the bytes {self.other_bytes!r}")
        found += [f"the token {name}" for name in self.special_tokens]
        return (*found, *(["the end of the text"] if self.may_end else []))

    def __str__(self) -> str:
        if self.reason == "allowed":
            return "It is allowed."
        lines = [f"{self._where()}: {self._what()}"]
        if self.reason not in ("unknown id", "finished"):
            lines += [*self._excerpt(), *self.details()]
        return "\n".join(lines)

    def details(self) -> list[str]:
        """Return the lines that say what may stand at the place, and why it may not be what was asked about."""
        lines = []
        allowed = self.allowed
        if "characters" not in self.unknown:
            lines.append(f"allowed there: {', '.join(allowed)}" if allowed else "nothing is allowed there")
        if self.instance is not None:
            lines.append(f"in the document at {printable(self.instance) or 'the root'}")
        expected = list(dict.fromkeys([_rules(each) for each in self.expected]))
        shown = expected[:SHOWN_EXPECTED]
        left = len(expected) - len(shown)
        lines += [f"  {printable(line)}" for line in shown] + ([f"  and {left} more"] if left else [])
        if self.conflicts:
            for pointers in self.conflicts:
                together = "refuse it together" if len(pointers) > 1 else "refuses it"
                lines.append(f"in the schema, {printable(_listed(pointers))} {together}")
        elif self.schemas:
            lines.append(f"it stands in a value of the schema {printable(_listed(self.schemas))}")
        if self.nearest is not None:
            n = self.nearest.n_changed
            new = self.nearest.text.decode("utf-8", "backslashreplace")
            written = repr(new) if new else "nothing"
            said = f"{n} character{'' if n == 1 else 's'} changed"
            said += "; the search gave up, there may be a nearer text" if self.gave_up else ""
            lines.append(f"nearest: {printable(written)} ({said})")
        elif self.gave_up and "nearest" not in self.unknown:
            lines.append("nearest: not found, the search gave up")
        if self.hint is not None:
            lines.append(f"hint: {self.hint}")
        if self.unknown:
            lines.append(f"not known: {', '.join([_UNKNOWN[each] for each in self.unknown])}; {self.limit}")
        return lines

    def _where(self) -> str:
        before = self.text[: self.at].decode("utf-8", "replace")
        return f"line {before.count(chr(10)) + 1}, column {len(before.rpartition(chr(10))[2]) + 1}, byte {self.offset}"

    def _what(self) -> str:
        if self.reason == "text":
            return f"{_quoted(self.refused)} is not allowed"
        if self.reason == "end":
            return "the text may not end here"
        if self.reason == "special token":
            return (
                f"the token {self.refused} is not allowed" if self.refused else "a token without bytes is not allowed"
            )
        if self.reason == "max_tokens":
            return f"{_quoted(self.refused)} is not allowed: the rule has no tokens left (max_tokens)"
        if self.reason == "finished" and self.limit is not None:
            return f"an error has ended the sequence: {self.limit}"
        if self.reason == "finished":
            return "the text has ended: an EOS token has been accepted"
        return "the vocabulary does not have this token id"

    def _excerpt(self) -> list[str]:
        head = self.text[: self.at].decode("utf-8", "replace").rpartition("\n")[2]
        tail = self.text[self.at :].decode("utf-8", "replace").partition("\n")[0]
        head = head if len(head) <= SHOWN_BEFORE else "…" + head[-SHOWN_BEFORE:]
        tail = tail if len(tail) <= SHOWN_AFTER else tail[:SHOWN_AFTER] + "…"
        under = "".join(["\t" if char == "\t" else " " for char in head])
        return [f"    {printable(head + tail)}", f"    {under}^"]


def described(ranges: list[tuple[int, int]]) -> list[str]:
    """Return ranges of characters in words: the ranges, or those that are not in them."""
    if not ranges:
        return []
    left = complement(ranges)
    if not left:
        return ["any character"]
    if len(left) <= FEW < len(ranges) + 2 and ranges[-1][1] == LAST:
        return [f"any character but {' and '.join([_range(each) for each in left])}"]
    found: list[str] = []
    if len(ranges) > SHOWN_RANGES:
        found, ranges = _classes(ranges)
    shown = [_range(each) for each in ranges[:SHOWN_RANGES]]
    n = len(ranges) - len(shown)
    return [*found, *shown, *([f"{n} more ranges of characters"] if n else [])]


_CLASSES = {
    "L": "letters",
    "N": "digits and other numbers",
    "M": "marks",
    "P": "punctuation",
    "S": "symbols",
    "Z": "spaces",
}
"""Classes of characters by the first letter of their category in Unicode."""


@cache
def _ranges_of_classes() -> dict[str, list[tuple[int, int]]]:
    """Return the ranges of each class. This takes some tenths of a second, once."""
    from unicodedata import category  # imported lazily: few explanations need it

    found: dict[str, list[tuple[int, int]]] = {}
    first, kind = 0, category("\0")[0]
    for point in range(1, LAST + 2):
        other = category(chr(point))[0] if point <= LAST else ""
        if other != kind:
            found.setdefault(kind, []).append((first, point - 1))
            first, kind = point, other
    return found


def _classes(ranges: list[tuple[int, int]]) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the names of the classes of which all characters are in the ranges, and the ranges of the others."""
    names = []
    covered: list[tuple[int, int]] = []
    outside = complement(ranges)
    for kind, name in _CLASSES.items():
        members = _ranges_of_classes()[kind]
        if not _common(members, outside):
            names.append(name)
            covered += members
    return names, _common(ranges, complement(covered)) if names else ranges


def _common(left: list[tuple[int, int]], right: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges of the characters that are in both; each side ascends."""
    found = []
    i = j = 0
    while i < len(left) and j < len(right):
        first, last = max(left[i][0], right[j][0]), min(left[i][1], right[j][1])
        if first <= last:
            found.append((first, last))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return found


def complement(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the ranges of all other characters; surrogates are none."""
    found = []
    at = 0
    for first, last in sorted([*ranges, SURROGATES]):
        if first > at:
            found.append((at, first - 1))
        at = max(at, last + 1)
    return [*found, (at, LAST)] if at <= LAST else found


_NAMES = {" ": "a space", "\t": "a tab", "\n": "a line feed", "\r": "a carriage return", '"': "'\"'"}


def _quoted(text: str) -> str:
    if text in _NAMES:
        return _NAMES[text]
    if len(text) == 1 and not text.isprintable():
        return f"U+{ord(text):04X}"
    return f'"{printable(text)}"'


def _range(each: tuple[int, int]) -> str:
    first, last = chr(each[0]), chr(each[1])
    if first == last:
        return _quoted(first)
    if each[1] == each[0] + 1:
        return f"{_quoted(first)}, {_quoted(last)}"
    return f"{_quoted(first)} to {_quoted(last)}"


def _listed(pointers: tuple[str, ...]) -> str:
    return " and ".join([_shown_pointer(pointer) for pointer in pointers])


def _shown_pointer(pointer: str) -> str:
    return f"#{pointer}" if not pointer or pointer[0] == "/" else pointer


def _rules(each: Expectation) -> str:
    rules = [_shown_pointer(rule) if rule[:1] in ("", "/") else rule for rule in each.rules]
    if len(rules) > SHOWN_RULES:
        half = SHOWN_RULES // 2
        rules = [*rules[:half], "…", *rules[-half:]]
    # A lone mark of punctuation, as schemas have them, would be lost.
    is_mark = len(each.terminal) == 1 and not each.terminal.isalnum()
    return " > ".join([*rules, f'"{each.terminal}"' if is_mark else each.terminal])


def printable(text: str) -> str:
    """Replace control characters but tabs, which a text from elsewhere may have, by a visible character."""
    return "".join([char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text])
