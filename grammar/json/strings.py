"""JSON strings as terminals: from sets of decoded texts to their spellings (RFC 8259, section 7).

A schema is about decoded texts, and a model writes one of the spellings of a text. `é` may also be written `\\u00e9` or
`\\u00E9`, `/` may be written `\\/`, and a character beyond U+FFFF may be written as a pair of surrogates. The regex
core has a node for all spellings of a regular language of texts (`Regexes.escaped`). Two frequent languages are written
as regexes over spellings instead, since masks of these are faster:

- any string, which may have lone surrogates, too;
- any string of a bounded length, in which a character is one turn of a counted repetition.

`Style` says which spellings are allowed. All functions return nodes of `regexes`, without the quotes.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from ..regex.ast import Node, Repeat
from ..regex.lower import lower
from ..regex.python import parse

if TYPE_CHECKING:
    from ...earley._regex import Regexes

EPSILON = 1  # `Regexes.EPSILON`


class Style(NamedTuple):
    """Which spellings of a character are allowed.

    shortest: only the spelling that `json.dumps` writes, with escapes where they are needed and in lower case.
    ascii: characters beyond ASCII are spelled as escapes only.
    """

    shortest: bool = False
    ascii: bool = False


# By style: the characters that stand for themselves, and those that may follow a backslash. The patterns that
# `earleymask/prepare` prepares are written in the same way, so that their masks serve schemas, too.
_ITSELF = {False: r'[^"\\\x00-\x1f]', True: r'[^"\\\x00-\x1f\x80-\U0010ffff]'}
_ITSELF_SHORTEST_ASCII = r'[^"\\\x00-\x1f\x7f-\U0010ffff]'  # `json.dumps` escapes DEL as well
_SHORT = {False: r'["\\\/bfnrt]', True: r'["\\bfnrt]'}
_HEX = {False: "[0-9a-fA-F]", True: "[0-9a-f]"}
_CONTROL = "u00(?:0[0-7be-f]|1[0-9a-f])"
"""The control characters that have no short escape such as `\\n`, as the shortest style writes them."""


def _itself(style: Style) -> str:
    return _ITSELF_SHORTEST_ASCII if style.shortest and style.ascii else _ITSELF[style.ascii]


@cache
def _any_text(style: Style) -> Node:
    """Return the texts between the quotes of any string."""
    if not style.shortest:
        digits = "u[0-9a-fA-F]{4}"
    elif style.ascii:
        digits = f"{_CONTROL}|u007f|u(?:00[89a-f]|0[1-9a-f][0-9a-f]|[1-9a-f][0-9a-f]{{2}})[0-9a-f]"
    else:
        digits = _CONTROL  # a lone surrogate has no such spelling
    return parse(f"(?:{_itself(style)}|\\\\(?:{_SHORT[style.shortest]}|{digits}))*")


@cache
def _character(style: Style) -> Node:
    """Return all spellings of any one character. A pair of surrogates is one character; a lone surrogate is none."""
    x = _HEX[style.shortest]
    d, high, low = ("d", "[89ab]", "[c-f]") if style.shortest else ("[dD]", "[89abAB]", "[c-fC-F]")
    pair = f"u{d}{high}{x}{{2}}\\\\u{d}{low}{x}{{2}}"
    if not style.shortest:
        digits = f"u(?:[0-9abcefABCEF]{x}{{3}}|{d}[0-7]{x}{{2}})|{pair}"
    elif style.ascii:
        digits = f"{_CONTROL}|u007f|u(?:00[89a-f]{x}|0[1-9a-f]{x}{{2}}|[1-9abcef]{x}{{3}}|d[0-7]{x}{{2}})|{pair}"
    else:
        digits = _CONTROL
    return parse(f"(?:{_itself(style)}|\\\\(?:{_SHORT[style.shortest]}|{digits}))")


def any_text(regexes: Regexes, style: Style) -> int:
    """Return the node of any string, lone surrogates included."""
    return lower(_any_text(style), regexes)


def text_of_length(least: int, most: int | None, regexes: Regexes, style: Style) -> int:
    """Return the node of any text of `least` to `most` code points; `most` None means no upper bound."""
    return lower(Repeat(_character(style), least, most), regexes)


def spelled_literal(text: str, regexes: Regexes, style: Style) -> int:
    """Return the node of all spellings of one text. Raises UnicodeEncodeError for a lone surrogate."""
    return regexes.escaped(regexes.literal(text.encode()), style.shortest, style.ascii)


def spelled_surrogates(text: str, regexes: Regexes, style: Style) -> int:
    """Return the node of all spellings of a text with lone surrogates, which are written as escapes.

    A high surrogate before a low one has no spelling, since it would be read as a pair.
    """
    parts = []
    for part in re.split("([\ud800-\udfff])", text):
        if "\ud800" <= part <= "\udfff":
            digits = f"{ord(part):04x}"
            upper = digits if style.shortest else digits.upper()
            parts.append(regexes.literal(b"\\u"))
            parts += [regexes.byte_set({ord(one), ord(other)}) for one, other in zip(digits, upper, strict=True)]
        elif part:
            parts.append(spelled_literal(part, regexes, style))
    is_pair = re.search("[\ud800-\udbff][\udc00-\udfff]", text)
    return regexes.union([]) if is_pair else regexes.concat(parts)


def spelled(node: int, regexes: Regexes, style: Style) -> int:
    """Return the node of all spellings of the texts that `node` matches."""
    return regexes.escaped(node, style.shortest, style.ascii)
