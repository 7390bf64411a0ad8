"""`prepare`: make the parts of usual terminals when a server starts, instead of during its first requests.

A mask is composed of *parts*: what single terminals make of the tokens of the vocabulary. Parts are kept with the
vocabulary, for all grammars (`earley/_parts`). Most people write strings, numbers, names, white space and comments in
one of a few ways, so their terminals can be listed here and their parts made in advance. A terminal of a grammar is
found by its normal form, which has no names, no groups and no order of alternatives: `/[A-Za-z_]\\w*/` is the same as
`("_" | LETTER) /\\w/*`. The normal form does not factor. The parts of a terminal that is not listed are made when a
text first reaches it; the masks are the same.

The formats of JSON Schema are prepared, too. A URI has hundreds of states, so only those are that an example leads
through.
"""

from __future__ import annotations

import operator
import os
import warnings
from functools import cache
from itertools import product

from .earley import Engine, Matcher, Preparation
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

FORMATS = {
    "date": ("2024-02-29", "1999-12-31"),
    "time": ("10:30:59.25Z", "23:05:00+01:30"),
    "date-time": ("2024-02-29T10:30:59.25Z", "1999-12-31T23:05:00+01:30"),
    "duration": ("P1Y2M3DT4H5M6S", "P2W"),
    "email": ("ann.lee+news@mail-1.example.org",),
    "idn-email": ("ann.lee+news@mail-1.example.org",),
    "ipv4": ("192.168.10.255",),
    "ipv6": ("2001:db8:0:12:a:b:c:7f", "fe80::1:2"),
    "uri": ("https://ann@www.example.org:8080/a/b-c.html?d=e&f=%20#top", "urn:isbn:0451450523"),
    "uri-reference": ("https://ann@www.example.org:8080/a/b-c.html?d=e&f=%20#top", "/a/b?c#d", "a/b"),
    "iri": ("https://ann@www.example.org:8080/a/b-c.html?d=e&f=%20#top", "urn:isbn:0451450523"),
    "iri-reference": ("https://ann@www.example.org:8080/a/b-c.html?d=e&f=%20#top", "/a/b?c#d", "a/b"),
    "uri-template": ("https://example.org/{user}/b{?q,r*}",),
    "uuid": ("123e4567-e89b-12d3-a456-426614174000",),
    "json-pointer": ("/a/b~0c/0",),
    "relative-json-pointer": ("1/a/b~0c",),
}
"""Examples of the formats of JSON Schema. Two are missing: `hostname` counts the characters of each label and of the
whole, and would take 5 MB; `regex` would take 12, and as long as everything else."""


LEAST_MEMORY = 48 << 20
"""The least bytes of `memory`: what `prepare` makes takes more than half of it."""
MOST_MEMORY = 1 << 60


def prepare(
    vocabulary: Vocabulary, folder: str | os.PathLike[str] | None = None, *, memory: int | None = None
) -> dict[str, int]:
    """Make the parts of a vocabulary that most grammars need, so that the first requests need not wait for them.

    Call it once per vocabulary when the server starts. The masks are the same without it. Several threads may call it;
    a repeated call takes a millisecond or two.

    With tekken or Llama 3 it takes about 65 ms and keeps 28 MB: 22 of parts, 6 of the quotient of the trie. From a file
    of 11 MB it takes some 20 ms. The first call of a process takes some 40 ms more: it imports what reads Lark grammars
    and JSON Schemas, reads the lists of terminals and formats, and computes the vocabulary's fingerprint. A terminal
    that is not listed adds 0.1 to 3 ms to the first masks that need it, whether `prepare` was called or not.
    docs/performance.md shows what `prepare` saves.

    Args:
        vocabulary: the vocabulary. All grammars that are used with it share the parts.
        folder: the folder of the vocabulary's file. If the file is missing, it is written. If it is damaged or belongs
            to another vocabulary, it is replaced, with a `RuntimeWarning`. Only its owner should be able to write to
            the folder. None: no file is read or written.
        memory: bytes that may be remembered of the vocabulary for all grammars together, at least 48 MiB; beyond it,
            what was not used for the longest time is discarded, but for what is made here, unless it takes more than
            five eighths of them. None: as before; at first 64 MiB. A grammar that has
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
        preparation = Preparation(engine, trie, None, _examples())
        preparation.make()
    else:
        preparation, damage = _from_folder(folder, vocabulary, engine)
        if damage:
            warnings.warn(f"{damage}; the file was replaced by a new one", RuntimeWarning, stacklevel=2)
    _find_doubtful(vocabulary)
    if memory is not None:
        trie.learned.set_memory(memory)
    return {"built": preparation.n_built, "taken": preparation.n_taken, "known": preparation.n_known}


def _from_folder(folder: str | os.PathLike[str], vocabulary: Vocabulary, engine: Engine) -> tuple[Preparation, str]:
    """Prepare with the vocabulary's file. Return also what was wrong with the file, or ""."""
    from .trie import prebuilt

    trie, fingerprint = vocabulary.trie, vocabulary.fingerprint
    path = prebuilt.path_of(folder, fingerprint)
    saved, damage = None, ""
    if trie.learned is None or Preparation(engine, trie, None, _examples()).n_missing:
        try:
            saved = prebuilt.load(folder, fingerprint)
        except VocabularyError as error:
            damage = str(error).removesuffix(prebuilt.WAY_OUT)
    try:
        preparation = Preparation(engine, trie, saved, _examples())
    except VocabularyError as error:
        damage = f"{path}: {error}"
        preparation = Preparation(engine, trie, None, _examples())
    preparation.make()
    if preparation.damaged:
        damage = f"{path}: damaged: its parts are not those of this vocabulary"
    if damage or preparation.n_built or not path.exists():
        prebuilt.save(folder, fingerprint, preparation.arrays())
    return preparation, damage


def _find_doubtful(vocabulary: Vocabulary) -> None:
    """Find the tokens that are tried one by one where keys may have any name, or items must differ."""
    from .grammar.json_schema.doubtful import KEYS, NUMBER_ITEMS, TEXT_ITEMS, doubtful_nodes

    for items_differ, keys_may_run_out in product((False, True), repeat=2):
        described = (items_differ, False, False, keys_may_run_out, False, False, False)
        for kind in (KEYS, TEXT_ITEMS, NUMBER_ITEMS) if items_differ else (KEYS,):
            vocabulary.trie.learned.doubtful_tokens(doubtful_nodes, described, 1 + kind)
        vocabulary.trie.learned.doubtful_tokens(doubtful_nodes, described, 0)  # outside of them


@cache
def _grammar() -> Grammar:
    # Import what reads schemas, too: that takes longer than reading most schemas. Of what only some need, each module
    # takes 2 to 10 ms.
    Grammar.from_json_schema({"type": "object"})
    from .grammar.json_schema import clauses, closed, evaluated, followed_items, rehearsal  # noqa: F401
    from .grammar.regex import cuts, ecma  # noqa: F401

    names = ", ".join(terminal for terminal in TERMINALS if not terminal.startswith("/"))
    return Grammar.from_lark(f"start: {' | '.join(TERMINALS)}\n%import common ({names})\n")


@cache
def _examples() -> list[tuple[Engine, bytes]]:
    """Return an engine for each example of a format, with the example as a string of JSON."""
    found: list[tuple[Engine, bytes]] = []
    for name, texts in FORMATS.items():
        # A matcher lets the grammar make its first rules, and so its terminals.
        matcher = Matcher(Grammar.from_json_schema({"type": "string", "format": name}), Vocabulary.bytes())
        found += [(matcher.grammar.engine, f'"{text}"'.encode()) for text in texts]
    return found
