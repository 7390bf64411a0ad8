"""What comes with a vocabulary: made once when a server starts, instead of by its first requests.

Masks are put together from what single terminals make of a vocabulary, and that is kept for all grammars over it
(`earley/_parts`). Terminals of a given kind are written alike by most people, so those listed here can be made before
anybody asks. A grammar need not use them by any name: its terminal is found by what it is, in a normal form that knows
neither names nor groups nor orders (`/[A-Za-z_]\\w*/` is `("_" | LETTER) /\\w/*`), but takes no factors out. What a
grammar has beyond the list is made when a text first comes to it, as ever; the masks are the same.
"""

from __future__ import annotations

from functools import cache

from .earley import Preparation
from .grammar import Grammar
from .trie import Vocabulary

__all__ = ["TERMINALS", "prepare"]

TERMINALS = (
    # Strings of JSON and of most programming languages: by RFC 8259, in two ways; by what people write in its place.
    r'/"(?:[^"\\\x00-\x1f]|\\(?:["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/',
    r'/"(?:[^"\\\x00-\x1f]|\\["\\\/bfnrt]|\\u[0-9a-fA-F]{4})*"/',
    r'/"(?:[^"\\\x00-\x1f\x7f-\x9f]|\\["\\])*"/',
    r'/"(?:[^"\\\x00-\x1f\x7f]|\\(?:["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/',
    r'/"(?:[^"\\]|\\["\\\/bfnrtu])*"/',
    r'/"(?:[^"\\]|\\.)*"/',
    r'/"(?:[^"\\\n]|\\.)*"/',
    r'/"[^"]*"/',
    r'/"[^"\n]*"/',
    r'/"(?:[^"]|"")*"/',
    "ESCAPED_STRING",
    # With single quotes; SQL doubles them, and names columns between double ones.
    r"/'(?:[^'\\]|\\.)*'/",
    r"/'(?:[^'\\\n]|\\.)*'/",
    r"/'[^']*'/",
    r"/'[^'\n]*'/",
    r"/'(?:[^']|'')*'/",
    # Numbers: of JSON, whole ones, decimal ones; lark's own.
    r"/-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/",
    r"/[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/",
    r"/-?[0-9]+(?:\.[0-9]+)?/",
    r"/[0-9]+(?:\.[0-9]+)?/",
    r"/-?(?:0|[1-9][0-9]*)/",
    r"/0|[1-9][0-9]*/",
    r"/-?[0-9]+/",
    r"/[1-9][0-9]*/",
    r"/\d+/",
    "INT",
    "SIGNED_INT",
    "DECIMAL",
    "FLOAT",
    "NUMBER",
    "SIGNED_NUMBER",
    # Names: of programming languages and of SQL, words.
    "CNAME",
    r"/[A-Za-z][A-Za-z0-9_]*/",
    r"/[A-Za-z_][A-Za-z0-9_-]*/",
    r"/[A-Za-z_$][A-Za-z0-9_$]*/",
    r"/[a-z_][a-z0-9_]*/",
    r"/[a-z][a-z0-9_]*/",
    r"/[A-Z][A-Z0-9_]*/",
    r"/[A-Za-z_]\w*/",
    r"/[^\W\d]\w*/",
    r"/\w+/",
    r"/[A-Za-z0-9_]+/",
    r"/[A-Za-z0-9]+/",
    r"/[a-z]+/",
    r"/[A-Z]+/",
    "WORD",
    # White space, by itself and for `%ignore`.
    r"/[ \t\n\r]+/",
    r"/[ \t\n\r]*/",
    r"/[ \t\n]+/",
    r"/[ \t\r]+/",
    r"/[ \t]*/",
    r"/ +/",
    r"/ */",
    r"/\n+/",
    r"/\s+/",
    r"/\s*/",
    "WS",
    "WS_INLINE",
    "NEWLINE",
    # Comments: to the end of the line, with and without it, and between brackets.
    "CPP_COMMENT",
    "SH_COMMENT",
    "SQL_COMMENT",
    "C_COMMENT",
    r"/\/\/[^\n]*\n/",
    r"/#[^\n]*\n/",
    r"/--[^\n]*\n/",
    r"/\/\*(?:[^*]|\*+[^*\/])*\*+\//",
    # Text up to what ends it.
    r"/[^\n]+/",
    r"/[^<]+/",
    r"/[^<>]+/",
    r"/.+/",
    r"/[\s\S]+/",
)
"""Usual terminals, as alternatives in Lark's syntax; names are those of lark's `common`. `x+` goes on like `x*`."""


def prepare(vocabulary: Vocabulary) -> dict[str, int]:
    """Make what masks of most grammars over this vocabulary need, before the first of them asks."""
    if not isinstance(vocabulary, Vocabulary):
        raise TypeError(f"vocabulary must be a Vocabulary, not {type(vocabulary).__name__}")
    preparation = Preparation(_grammar().engine, vocabulary.trie)
    preparation.make()
    return {"built": preparation.n_built, "known": preparation.n_known}


@cache
def _grammar() -> Grammar:
    names = ", ".join(terminal for terminal in TERMINALS if not terminal.startswith("/"))
    return Grammar.from_lark(f"start: {' | '.join(TERMINALS)}\n%import common ({names})\n")
