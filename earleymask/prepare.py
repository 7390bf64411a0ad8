"""`prepare`: make the parts of usual terminals when a server starts, instead of during its first requests.

A mask is composed of *parts*: what single terminals make of the tokens of the vocabulary. Parts are kept with the
vocabulary, for all grammars (`earley/_parts`). Most people write strings, numbers, names, white space and comments in
one of a few ways, so their terminals can be listed here and their parts made in advance. A terminal of a grammar is
found by its normal form, which has no names, no groups and no order of alternatives: `/[A-Za-z_]\\w*/` is the same as
`("_" | LETTER) /\\w/*`. The normal form does not factor. The parts of a terminal that is not listed are made when a
text first reaches it; the masks are the same.
"""

from __future__ import annotations

import operator
import os
import warnings
from functools import cache

from .earley import Engine, Preparation
from .grammar import Grammar
from .trie import Vocabulary, VocabularyError

__all__ = ["TERMINALS", "prepare"]

TERMINALS = (
    # Strings of JSON and of most programming languages: RFC 8259 in two ways, then common approximations.
    r'/"(?:[^"\\\x00-\x1f]|\\(?:["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/',
    r'/"(?:[^"\\\x00-\x1f]|\\["\\\/bfnrt]|\\u[0-9a-fA-F]{4})*"/',
    # Strings of JSON Schemas, without lone surrogates (`grammar/json/strings`).
    (
        r'/"(?:[^"\\\x00-\x1f]|\\(?:["\\\/bfnrt]|u(?:[0-9abcefABCEF][0-9a-fA-F]{3}|[dD](?:[0-7][0-9a-fA-F]{2}'
        r'|[89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}))))*"/'
    ),
    r'/"(?:[^"\\\x00-\x1f\x7f-\x9f]|\\["\\])*"/',
    r'/"(?:[^"\\\x00-\x1f\x7f]|\\(?:["\\\/bfnrt]|u[0-9a-fA-F]{4}))*"/',
    r'/"(?:[^"\\]|\\["\\\/bfnrtu])*"/',
    r'/"(?:[^"\\]|\\.)*"/',
    r'/"(?:[^"\\\n]|\\.)*"/',
    r'/"[^"]*"/',
    r'/"[^"\n]*"/',
    r'/"(?:[^"]|"")*"/',
    "ESCAPED_STRING",
    # Strings in single quotes; in SQL, two quotes stand for one.
    r"/'(?:[^'\\]|\\.)*'/",
    r"/'(?:[^'\\\n]|\\.)*'/",
    r"/'[^']*'/",
    r"/'[^'\n]*'/",
    r"/'(?:[^']|'')*'/",
    # Numbers: JSON's, decimals, integers, and those of lark's `common`.
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
    # Plain numbers and integers of JSON Schemas, finite in double precision (`grammar/json/number_spellings`).
    (
        r"/-?(?:(?:0|[1-9][0-9]{0,307})(?:\.[0-9]+)?|(?:0|[1-9][0-9]{0,7})(?:\.[0-9]+)?[eE](?:\+?(?:[0-9]{1,2}|300|[0-2]["
        r"0-9]{2})|-[0-9]{1,3})|[1-9](?:\.[0-9]+)?[eE]\+?30[1-7]|1(?:\.(?:[0-6][0-9]*|7(?:[0-8][0-9]*|9(?:[0-6][0-9]*|7("
        r"?:[0-5][0-9]*|6(?:[0-8][0-9]*|9(?:[0-2][0-9]*|3(?:0[0-9]*|1(?:[0-2][0-9]*|3(?:[0-3][0-9]*|4(?:[0-7][0-9]*|8(?:"
        r"[0-5][0-9]*|6(?:[0-1][0-9]*|2(?:[0-2][0-9]*|3(?:0[0-9]*|1(?:[0-4][0-9]*|5(?:[0-6][0-9]*|70*)?)?)?)?)?)?)?)?)?)"
        r"?)?)?)?)?)?))?[eE]\+?308)/"
    ),
    r"/-?(?:0|[1-9][0-9]{0,307})/",
    # Names of programming languages and of SQL, and words.
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
    # White space, also for `%ignore`.
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
    # Comments: to the end of the line, without and with the line feed, and between delimiters.
    "CPP_COMMENT",
    "SH_COMMENT",
    "SQL_COMMENT",
    "C_COMMENT",
    r"/\/\/[^\n]*\n/",
    r"/#[^\n]*\n/",
    r"/--[^\n]*\n/",
    r"/\/\*(?:[^*]|\*+[^*\/])*\*+\//",
    # Text up to a delimiter.
    r"/[^\n]+/",
    r"/[^<]+/",
    r"/[^<>]+/",
    r"/.+/",
    r"/[\s\S]+/",
)
"""Usual terminals, as alternatives in Lark's syntax. Names are those of lark's `common`. After its first character,
`x+` needs the parts of `x*`."""


LEAST_MEMORY = 32 << 20
"""The least bytes of `memory`: what `prepare` makes takes half of it."""
MOST_MEMORY = 1 << 60


def prepare(
    vocabulary: Vocabulary, folder: str | os.PathLike[str] | None = None, *, memory: int | None = None
) -> dict[str, int]:
    """Make the parts of a vocabulary that most grammars need, so that the first requests need not wait for them.

    Call it once per vocabulary when the server starts. The masks are the same without it. Several threads may call it;
    a repeated call takes a millisecond or two.

    With tekken or Llama 3 it takes about 50 ms and keeps 17 MB: 12 of parts, 5 of the quotient of the trie. From a file
    of 8 MB it takes 10 ms and keeps 13 MB. The first call of a process takes some 40 ms more: it imports what reads
    Lark grammars and JSON Schemas, reads the list of terminals, and computes the vocabulary's fingerprint. A terminal
    that is not listed adds 0.1 to 3 ms to the first masks that need it, whether `prepare` was called or not.
    docs/performance.md shows what `prepare` saves.

    Args:
        vocabulary: the vocabulary. All grammars that are used with it share the parts.
        folder: the folder of the vocabulary's file. If the file is missing, it is written. If it is damaged or belongs
            to another vocabulary, it is replaced, with a `RuntimeWarning`. Only its owner should be able to write to
            the folder. None: no file is read or written.
        memory: bytes that may be remembered of the vocabulary for all grammars together, at least 32 MiB; beyond it,
            what was not used for the longest time is discarded. None: as before; at first 64 MiB. A grammar that has
            been warmed takes one or two MiB, so a server with dozens of them in flight wants 256 MiB or more.

    Returns:
        The number of parts that were `"built"`, `"taken"` from the file, and `"known"` before the call.

    Raises:
        TypeError: `vocabulary` is no `Vocabulary`, or `memory` no integer.
        ValueError: `memory` is too little, or more than there can be.
        OSError: the file cannot be written. The vocabulary is prepared nevertheless.
    """
    if not isinstance(vocabulary, Vocabulary):
        raise TypeError(f"vocabulary must be a Vocabulary, not {type(vocabulary).__name__}")
    if memory is not None and not LEAST_MEMORY <= operator.index(memory) <= MOST_MEMORY:
        raise ValueError(f"memory must be from {LEAST_MEMORY} to {MOST_MEMORY} bytes, got {memory}")
    engine, trie = _grammar().engine, vocabulary.trie
    if folder is None:
        preparation = Preparation(engine, trie)
        preparation.make()
    else:
        preparation, damage = _from_folder(folder, vocabulary, engine)
        if damage:
            warnings.warn(f"{damage}; the file was replaced by a new one", RuntimeWarning, stacklevel=2)
    if memory is not None:
        trie.learned.set_memory(memory)
    return {"built": preparation.n_built, "taken": preparation.n_taken, "known": preparation.n_known}


def _from_folder(folder: str | os.PathLike[str], vocabulary: Vocabulary, engine: Engine) -> tuple[Preparation, str]:
    """Prepare with the vocabulary's file. Return also what was wrong with the file, or ""."""
    from .trie import prebuilt

    trie, fingerprint = vocabulary.trie, vocabulary.fingerprint
    path = prebuilt.path_of(folder, fingerprint)
    saved, damage = None, ""
    if trie.learned is None or Preparation(engine, trie).n_missing:
        try:
            saved = prebuilt.load(folder, fingerprint)
        except VocabularyError as error:
            damage = str(error).removesuffix(prebuilt.WAY_OUT)
    try:
        preparation = Preparation(engine, trie, saved)
    except VocabularyError as error:
        damage = f"{path}: {error}"
        preparation = Preparation(engine, trie)
    preparation.make()
    if preparation.damaged:
        damage = f"{path}: damaged: its parts are not those of this vocabulary"
    if damage or preparation.n_built or not path.exists():
        prebuilt.save(folder, fingerprint, preparation.arrays())
    return preparation, damage


@cache
def _grammar() -> Grammar:
    # Import what reads schemas, too: that takes longer than reading most schemas. Of what only some need, each module
    # takes 2 to 10 ms.
    Grammar.from_json_schema({"type": "object"})
    from .grammar.json_schema import clauses, closed, evaluated, followed_items, rehearsal  # noqa: F401
    from .grammar.regex import cuts, ecma  # noqa: F401

    names = ", ".join(terminal for terminal in TERMINALS if not terminal.startswith("/"))
    return Grammar.from_lark(f"start: {' | '.join(TERMINALS)}\n%import common ({names})\n")
