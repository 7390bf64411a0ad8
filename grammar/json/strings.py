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

import json
import re
from functools import cache
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import TYPE_CHECKING, NamedTuple

from ...earley._meter import tick
from ..loading import PIECE, in_order, pieces
from ..regex.ast import Repeat
from ..regex.choices import node_of
from ..regex.lower import Lowered
from ..regex.python import parse
from .reader import loads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from ...earley._regex import Regexes

EPSILON = 1  # `Regexes.EPSILON`
_SURROGATE = re.compile("([\ud800-\udfff])")
_AS_IT_IS = re.compile(r"[ !#-\[\]-~]*")  # what has no other spelling in `json.dumps`, with or without `ensure_ascii`
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")

Own = dict[str, tuple[str, ...]]
"""Spellings that the text of a schema has for its strings, without quotes."""


class Style(NamedTuple):
    """How strings are spelled.

    shortest: a character has only the spelling that `json.dumps` writes, with escapes where they are needed and in
        lower case.
    ascii: characters beyond ASCII are spelled as escapes only.
    surrogates: a string about which nothing is demanded may have lone surrogates.
    dumped: words that the schema has are spelled as `json.dumps` or the schema writes them. Other strings, and the
        words that a string must not be, have all spellings that the other attributes allow.
    """

    shortest: bool = False
    ascii: bool = False
    surrogates: bool = True
    dumped: bool = False


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
def _any_text(style: Style) -> Lowered:
    """Return the texts between the quotes of any string."""
    if not style.surrogates:
        return Lowered(Repeat(_character(style).tree, 0, None), recurs=True)
    if not style.shortest:
        digits = "u[0-9a-fA-F]{4}"
    elif style.ascii:
        digits = f"{_CONTROL}|u007f|u(?:00[89a-f]|0[1-9a-f][0-9a-f]|[1-9a-f][0-9a-f]{{2}})[0-9a-f]"
    else:
        digits = _CONTROL  # a lone surrogate has no such spelling
    return Lowered(parse(f"(?:{_itself(style)}|\\\\(?:{_SHORT[style.shortest]}|{digits}))*"), recurs=True)


@cache
def _character(style: Style) -> Lowered:
    """Return all spellings of any one character. A pair of surrogates is one character; a lone surrogate is none."""
    # Each byte selects the alternative: then the engine counts characters (`earley/_families`).
    x = _HEX[style.shortest]
    d, high, low = ("d", "[89ab]", "[c-f]") if style.shortest else ("[dD]", "[89abAB]", "[c-fC-F]")
    beyond = f"{d}(?:[0-7]{x}{{2}}|{high}{x}{{2}}\\\\u{d}{low}{x}{{2}})"
    if not style.shortest:
        digits = f"u(?:[0-9abcefABCEF]{x}{{3}}|{beyond})"
    elif style.ascii:
        digits = f"u(?:00(?:0[0-7be-f]|1[0-9a-f]|7f|[89a-f]{x})|0[1-9a-f]{x}{{2}}|[1-9abcef]{x}{{3}}|{beyond})"
    else:
        digits = _CONTROL
    return Lowered(parse(f"(?:{_itself(style)}|\\\\(?:{_SHORT[style.shortest]}|{digits}))"), recurs=True)


def any_text(regexes: Regexes, style: Style) -> int:
    """Return the node of any string."""
    return _any_text(style).into(regexes)


def text_of_length(least: int, most: int | None, regexes: Regexes, style: Style) -> int:
    """Return the node of any text of `least` to `most` code points; `most` None means no upper bound."""
    return regexes.repeat(_character(style).into(regexes), least, most)


def spelled_literal(text: str, regexes: Regexes, style: Style) -> int:
    """Return the node of all spellings of one text. Raises UnicodeEncodeError for a lone surrogate."""
    return regexes.escaped(regexes.literal(text.encode()), style.shortest, style.ascii)


def is_dumped_as_it_is(word: str, own: Own) -> bool:
    """Return whether `json.dumps` and the schema write a word in one way only, without escapes."""
    return _AS_IT_IS.fullmatch(word) is not None and word not in own


def dumped_words(words: Iterable[str], own: Own, regexes: Regexes, style: Style) -> int:
    """Return the node of what `json.dumps` writes for the words, with and without `ensure_ascii`, and of what the
    schema itself writes. With `style.ascii`, all of it is ASCII."""
    found: set[str] = set()
    for word in words:
        tick()
        if is_dumped_as_it_is(word, own):
            found.add(word)
            continue
        if _PAIR.search(word):
            continue  # it has no spelling: two surrogates would be read as one character
        found.add(_dumped(word, encode_basestring_ascii))
        if not style.ascii:
            found.add(_dumped(word, encode_basestring))
        found.update([text for text in own.get(word, ()) if not style.ascii or text.isascii()])
    try:
        texts = [text.encode() for text in found]
    except UnicodeEncodeError:  # lone surrogates are written as escapes only
        texts = [text.encode() for text in found if not _SURROGATE.search(text)]
    return node_of(in_order(texts), regexes) if texts else regexes.union([])


def _dumped(word: str, encode: Callable[[str], str]) -> str:
    if len(word) <= PIECE:
        return encode(word)[1:-1]
    return "".join([encode(piece)[1:-1] for piece in pieces(word)])


def quoted_strings(text: str) -> Iterator[str]:
    """Yield the strings of a JSON text, with their quotes."""
    begin = text.find('"')
    while begin >= 0:
        end = begin
        n_backslashes = 1
        while n_backslashes & 1:  # an odd number of them escapes the quote
            tick()
            end = text.find('"', end + 1)
            if end < 0:
                return
            n_backslashes = 0
            while text[end - 1 - n_backslashes] == "\\":
                n_backslashes += 1
                if not n_backslashes & 0xFFF:
                    tick()
        yield text[begin : end + 1]
        begin = text.find('"', end + 1)


def own_spellings(text: str) -> Own:
    """Return the spellings of the strings of a JSON text that have escapes."""
    found: dict[str, set[str]] = {}
    if "\\" in text:
        for quoted in quoted_strings(text):
            if "\\" in quoted:
                word = loads(quoted) if len(quoted) > PIECE else json.loads(quoted, strict=False)
                found.setdefault(word, set()).add(quoted[1:-1])
    return {word: tuple(sorted(texts)) for word, texts in found.items()}


def spelled_surrogates(text: str, regexes: Regexes, style: Style) -> int:
    """Return the node of all spellings of a text with lone surrogates, which are written as escapes.

    A high surrogate before a low one has no spelling, since it would be read as a pair.
    """
    parts = []
    for part in _SURROGATE.split(text):
        if "\ud800" <= part <= "\udfff":
            digits = f"{ord(part):04x}"
            upper = digits if style.shortest else digits.upper()
            parts.append(regexes.literal(b"\\u"))
            parts += [regexes.byte_set({ord(one), ord(other)}) for one, other in zip(digits, upper, strict=True)]
        elif part:
            parts.append(spelled_literal(part, regexes, style))
    return regexes.union([]) if _PAIR.search(text) else regexes.concat(parts)


def spelled(node: int, regexes: Regexes, style: Style) -> int:
    """Return the node of all spellings of the texts that `node` matches."""
    return regexes.escaped(node, style.shortest, style.ascii)
