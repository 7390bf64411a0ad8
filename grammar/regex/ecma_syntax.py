"""The patterns of ECMA-262 themselves as a language: what `format: regex` allows.

Patterns nest, so they are no regular language; but with a bound on how deep they nest they are one. The bound is that
of our own parser of patterns, and a level takes a few regex nodes: the patterns with at most n groups around each
character are built from those with at most n - 1.

The syntax is that of the `u` flag (ECMA-262, section 22.2.1), as JSON Schema asks for. These valid patterns are not in
the language, because a regular language cannot compare what they must compare, or can do so only at great length:

- more than one group with a name, since names must differ; names with characters beyond ASCII;
- references to groups, which must exist, but for `\\k<x>` somewhere after `(?<x>`, where x is one character;
- `{n,m}` with an n and m of three digits or more that have the same number of digits and the same first digit, and
  counts of more than nine digits or with leading zeros;
- ranges of characters that `_ranges` does not list;
- `\\0`, after which no digit may stand;
- modifiers such as `(?i:...)`, which not all implementations know.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from ...earley._meter import tick
from . import codepoints, unicode_properties
from .ast import Chars, Concat, Literal, Node, Repeat, Union
from .codepoints import MAX_CODE_POINT
from .python import MAX_NESTING, parse

if TYPE_CHECKING:
    from collections.abc import Callable

    from ...earley._regex import Regexes

_HEX = "[0-9a-fA-F]"
_SYNTAX = r"[\^$\\.*+?()\[\]{}|/]"
_CODE_POINT = rf"u\{{0*(?:{_HEX}{{1,5}}|10{_HEX}{{4}})\}}"
_CONTROL = "[fnrtv]|c[A-Za-z]"
_ASSERTION = r"\^|\$|\\[bB]"
_BEYOND_LATIN = f"(?:0[1-9a-fA-F]|[1-9a-cA-Ce-fE-F]{_HEX}|[dD][0-7])"
_ESCAPED = "$()*+-./?[\\]^{|}"
_UNESCAPED = codepoints.complement(tuple([(ord(char), ord(char)) for char in "-\\]"]))
"""Characters that may stand unescaped at the end of a range."""
_PLAIN_IN_CLASS = r"[^\\\]\-]"
"""Characters that stand for themselves in a class, also at its beginning: there, a `^` negates it."""

_BLOCKS = (
    (0x100, 0x300),
    *[(first, 0x400) for first in range(0x400, 0x3000, 0x400)],
    *[(first, 0x1000) for first in range(0x3000, 0x10000, 0x1000)],
    *[(first, 0x10000) for first in range(0x10000, 0x100000, 0x10000)],
)
"""Blocks of characters: where they begin, and how many characters they have."""

MAX_DIGITS = 9
"""The most digits of a count in braces."""


_NAME = "[A-Za-z_$][A-Za-z0-9_$]*"
_NAMES_OF_ONE_CHARACTER = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"


def lower_patterns(regexes: Regexes, lower: Callable[[Node], int]) -> int:
    """Return the regex node of all patterns. `lower` lowers the trees that they are made of."""
    return regexes.intersection([_lower_nested(regexes, lower), lower(_named())])


@cache
def _named() -> Node:
    """Return the texts in which at most one group has a name. References stand after it and have the same name."""
    in_class = r"\[(?:[^\\\]]|\\.)*\]"
    others = rf"(?:[^\\\[(]|\\[^k]|{in_class}|\(+(?:\?(?:[:=!]|<[=!])|[^\\\[(?]|\\[^k]|{in_class}))"
    named = [rf"{_NAME}>{others}*"]
    named += [rf"{name}>(?:{others}|\\k<{name}>)*" for name in _NAMES_OF_ONE_CHARACTER]
    return parse(rf"(?s:{others}*(?:\(+\?<(?:{'|'.join(named)}))?)")


def _lower_nested(regexes: Regexes, lower: Callable[[Node], int]) -> int:
    """Return the regex node of the patterns in which names have any number of groups and references."""
    atom = lower(_atom())
    quantifier = regexes.repeat(lower(_quantifier()), 0, 1)
    simple = regexes.union([regexes.concat([atom, quantifier]), lower(parse(rf"\||{_ASSERTION}"))])
    group = lower(parse(rf"\((?:\?:|\?<{_NAME}>)?"))
    look = lower(parse(r"\(\?<?[=!]"))
    close = lower(Literal(")"))
    found = regexes.repeat(simple, 0)
    for _ in range(MAX_NESTING):
        tick()
        grouped = regexes.concat([group, found, close, quantifier])
        found = regexes.repeat(regexes.union([simple, grouped, regexes.concat([look, found, close])]), 0)
    return found


@cache
def _atom() -> Node:
    """Return a character, an escape or a class."""
    escape = parse(rf"\\(?:{_CONTROL}|x{_HEX}{{2}}|u{_HEX}{{4}}|{_CODE_POINT}|{_SYNTAX}|[dDsSwW]|k<[A-Za-z_]>)")
    character = parse(r"[^\^$\\.*+?()\[\]{}|]|\.")
    return Union((character, escape, Concat((Literal("\\"), _property())), _class()))


def _property() -> Node:
    """Return `p{...}` and `P{...}` with the names that ECMA-262 gives to properties."""
    properties = unicode_properties.names()
    return Concat((parse(r"[pP]\{"), _one_of(properties), Literal("}")))


def _one_of(words: list[str]) -> Node:
    return Union(tuple([Literal(word) for word in words]))


@cache
def _quantifier() -> Node:
    count = f"(?:0|[1-9][0-9]{{0,{MAX_DIGITS - 1}}})"
    bounds = [parse(rf"{count}(?:,)?")]
    bounds.append(parse(f"0,{count}"))
    bounds += [parse(f"{n},[{n}-9]") for n in range(1, 10)]
    for n in range(10, 100):
        a, b = divmod(n, 10)
        more = f"|[{a + 1}-9][0-9]" if a < 9 else ""
        bounds.append(parse(f"{n},(?:{a}[{b}-9]{more})"))
    for length in range(1, MAX_DIGITS):
        rest = f"[0-9]{{{length - 1}}}"
        bounds.append(parse(f"[1-9]{rest},[1-9][0-9]{{{length},{MAX_DIGITS - 1}}}"))
        if length > 2:
            bounds += [parse(f"{n}{rest},[{n + 1}-9]{rest}") for n in range(1, 9)]
    return Union((parse(r"[*+?]\??"), Concat((Literal("{"), Union(tuple(bounds)), parse(r"\}\??")))))


def _class() -> Node:
    """Return a class in brackets. A hyphen stands for itself at the beginning, at the end, and after a range."""
    escape = parse(
        rf"\\(?:{_CONTROL}|b|-|x{_HEX}{{2}}|u{_HEX}{{4}}|{_CODE_POINT}|{_SYNTAX}|[dDsSwW])|{_PLAIN_IN_CLASS}"
    )
    hyphen = Repeat(Literal("-"), 0, 1)
    member = Union((escape, Concat((Literal("\\"), _property())), Concat((Union(tuple(_ranges())), hyphen))))
    return Concat((Literal("["), Repeat(Literal("^"), 0, 1), hyphen, Repeat(member, 0, None), hyphen, Literal("]")))


def _ranges() -> list[Node]:
    """Return ranges of characters whose first one is not after the last one.

    From each character up to U+00FF to any greater one; from others to any one of a later block (`_BLOCKS`); from
    `\\x..` to `\\x..`; and from `\\uabcd` to `\\uefgh` if `ab` is 00, or less than `ef`, or `ab` equals `ef` and `cd`
    is 00 or `gh` is ff.
    """
    found: list[Node] = []
    late = parse(rf"\\(?:x[89a-fA-F]{_HEX}|u(?:00[89a-fA-F]{_HEX}|{_BEYOND_LATIN}{_HEX}{{2}}))")
    for code in range(0x100):
        character = chr(code)
        starts: list[Node] = []
        if character not in "^-\\]":
            starts.append(Literal(character))
        if character in _ESCAPED:
            starts.append(Literal(f"\\{character}"))
        ends: list[Node] = [Chars(codepoints.intersection(_UNESCAPED, ((code, MAX_CODE_POINT),)))]
        escaped = [(ord(other), ord(other)) for other in _ESCAPED if other >= character]
        if escaped:
            ends.append(Concat((Literal("\\"), Chars(codepoints.normalize(escaped)))))
        if code < 0x80:
            ends.append(late)
        found.append(Concat((Union(tuple(starts)), Literal("-"), Union(tuple(ends)))))
    for first, size in _BLOCKS:
        after = codepoints.intersection(_UNESCAPED, ((first + size, MAX_CODE_POINT),))
        block = codepoints.intersection(_UNESCAPED, ((first, first + size - 1),))
        if block:
            found.append(Concat((Chars(block), Literal("-"), Chars(after))))
    found.append(Concat((Literal(r"\x"), _pairs(lambda pair: Concat((Literal(r"-\x"), _hex(pair, 0xFF)))))))
    found.append(Concat((Literal(r"\u00"), _pairs(lambda pair: Concat((Literal(r"-\u00"), _hex(pair, 0xFF)))))))
    found.append(Concat((Literal(r"\u"), _pairs(_later))))
    return found


def _pairs(after: Callable[[int], Node | None]) -> Node:
    """Return two hexadecimal digits, and what may stand after each pair."""
    found = []
    for first in range(16):
        rests = [(second, rest) for second in range(16) if (rest := after(16 * first + second)) is not None]
        second_digits = [Concat((_digit(second, second), rest)) for second, rest in rests]
        found.append(Concat((_digit(first, first), Union(tuple(second_digits)))))
    return Union(tuple(found))


def _later(pair: int) -> Node | None:
    """Return the rest of a range after `\\u` and two digits."""
    if 0xD8 <= pair <= 0xDF:
        return None
    same = _hex(pair, pair)
    ends: list[Node] = [Concat((same, _digit(15, 15), _digit(15, 15)))]
    for low, high in ((pair + 1, 0xD7), (max(pair + 1, 0xE0), 0xFF)):
        if low <= high:
            ends.append(Concat((_hex(low, high), _ANY_HEX, _ANY_HEX)))
    from_start = Concat((Literal(r"00-\u"), same, _ANY_HEX, _ANY_HEX))
    return Union((from_start, Concat((_ANY_HEX, _ANY_HEX, Literal(r"-\u"), Union(tuple(ends))))))


def _hex(low: int, high: int) -> Node:
    """Return two hexadecimal digits from `low` to `high`."""
    first, last = low >> 4, high >> 4
    if first == last:
        return Concat((_digit(first, first), _digit(low & 15, high & 15)))
    found: list[Node] = [Concat((_digit(first, first), _digit(low & 15, 15)))]
    if first + 1 < last:
        found.append(Concat((_digit(first + 1, last - 1), _ANY_HEX)))
    return Union((*found, Concat((_digit(last, last), _digit(0, high & 15)))))


@cache
def _digit(first: int, last: int) -> Node:
    """Return a hexadecimal digit from `first` to `last`, in either case."""
    codes = [ord(digit) for digit in "0123456789abcdef"[first : last + 1]]
    return Chars(codepoints.normalize([(code, code) for code in codes + [ord(chr(code).upper()) for code in codes]]))


_ANY_HEX = _digit(0, 15)
