"""What comes with a vocabulary: made once when a server starts, instead of by its first requests.

Masks are put together from what single terminals make of a vocabulary, and that is kept for all grammars over it
(`earley/_parts`). Terminals of a given kind are written alike by most people, so those listed here can be made before
anybody asks. A grammar need not use them by any name: its terminal is found by what it is, in a normal form that knows
neither names nor groups nor orders (`/[A-Za-z_]\\w*/` is `("_" | LETTER) /\\w/*`), but takes no factors out. What a
grammar has beyond the list is made when a text first comes to it, as ever; the masks are the same.
"""

from __future__ import annotations

import os
import warnings
from functools import cache

from .earley import Engine, Preparation
from .grammar import Grammar
from .trie import Vocabulary, VocabularyError

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


def prepare(vocabulary: Vocabulary, folder: str | os.PathLike[str] | None = None) -> dict[str, int]:
    """Make what masks of most grammars need of a vocabulary, before the first of them asks.

    Call it once when a server starts, for each vocabulary; masks are the same without. Several threads may call;
    another call costs a millisecond or two.

    With tekken or Llama 3 it takes about 50 ms and keeps 17 MB: 12 of parts, 5 of the quotient of the trie. From a file
    of 8 MB it takes 10 ms and keeps 13 MB. The first call of a process takes some 40 ms more: it imports what reads
    Lark grammars and JSON Schemas, reads the list of terminals, and computes the vocabulary's fingerprint. A terminal
    that is not listed costs the first masks that come to it 0.1 to 3 ms, whether `prepare` was called or not.
    docs/performance.md shows what `prepare` saves.

    Args:
        vocabulary: whose trie all grammars over it share.
        folder: where the vocabulary's file is. It is written if it is not there, and replaced, with a `RuntimeWarning`,
            if it is damaged or of another vocabulary. Only its owner should be able to write to the folder. None: no
            file is read or written.

    Returns:
        How many parts were `"built"`, how many `"taken"` from the file, and how many were `"known"` before.

    Raises:
        TypeError: `vocabulary` is no `Vocabulary`.
        OSError: the file cannot be written. Everything is prepared nevertheless.
    """
    if not isinstance(vocabulary, Vocabulary):
        raise TypeError(f"vocabulary must be a Vocabulary, not {type(vocabulary).__name__}")
    engine, trie = _grammar().engine, vocabulary.trie
    if folder is None:
        preparation = Preparation(engine, trie)
        preparation.make()
    else:
        preparation, damage = _from_folder(folder, vocabulary, engine)
        if damage:
            warnings.warn(f"{damage}; it was made anew and replaced", RuntimeWarning, stacklevel=2)
    return {"built": preparation.n_built, "taken": preparation.n_taken, "known": preparation.n_known}


def _from_folder(folder: str | os.PathLike[str], vocabulary: Vocabulary, engine: Engine) -> tuple[Preparation, str]:
    """What was prepared, by way of the vocabulary's file; and what was wrong with the file, "" if nothing was."""
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
        damage = f"{path}: damaged: not the parts of this vocabulary"
    if damage or preparation.n_built or not path.exists():
        prebuilt.save(folder, fingerprint, preparation.arrays())
    return preparation, damage


@cache
def _grammar() -> Grammar:
    Grammar.from_json_schema({"type": "object"})  # what reads schemas is imported, which takes longer than most of them
    names = ", ".join(terminal for terminal in TERMINALS if not terminal.startswith("/"))
    return Grammar.from_lark(f"start: {' | '.join(TERMINALS)}\n%import common ({names})\n")
