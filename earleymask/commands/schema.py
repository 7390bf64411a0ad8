"""`earleymask schema`: load a JSON Schema, and show an example, a report, or where a document stops being valid."""

from __future__ import annotations

import argparse
import json
import random

from ..earley import Matcher
from ..grammar import Grammar
from ..grammar.errors import EXACT, IGNORED, NARROWED, WIDENED, Row
from ..trie import Vocabulary
from .instance import ORDER, narrowings_of, repeated_key
from .shared import (
    EXIT_NO,
    EXIT_OK,
    CommandError,
    describe_place,
    match,
    naming,
    printable,
    read_text,
    show_warnings,
)

MAX_FREE = 200
"""The number of bytes of an example that are chosen at random. After them, the document is ended as soon as
possible."""
MAX_EXAMPLE = 50_000
"""The number of bytes after which an example is given up: a schema may demand very long documents."""
QUOTE = ord('"')
MIN_IN_STRING = 20
"""If more letters than this are allowed, a string is being written. Elsewhere only a few keywords begin with
letters."""
MIN_OPEN = 8
"""If more bytes than this are allowed, a string is being written or a value begins."""
CLOSING = b'}]"'
# The order of preference for a document that should end soon: bytes that end something come first, those that begin an
# array or an object last.
PREFERRED = b'}]",:nft0123456789.eE+-'
LAST = b"[{\\ \t\n"
MAX_POINTER = 60
"""The width of the column of pointers in the report, in characters; longer pointers move the rest of their line."""
MEANINGS = {
    NARROWED: "some valid documents cannot be written",
    WIDENED: "the keyword is not enforced, so some invalid documents are allowed",
    IGNORED: "the keyword has no effect, although its author may expect one",
}


def run(given: argparse.Namespace) -> int:
    if given.schema == "-" and given.instance == "-":
        raise CommandError("the schema and the instance cannot both come from stdin")
    text = read_text(given.schema, "schema")
    with naming(given.schema):
        # The report shows what cannot be enforced, too, so the schema is read without those keywords.
        grammar = Grammar.from_json_schema(text, property_order=given.order, strict=not given.report)
        code = EXIT_OK
        show_warnings(grammar)
        if given.report:
            rows = grammar.report
            print(describe(rows))
            code = EXIT_NO if any(row.status == WIDENED for row in rows) else EXIT_OK
        if given.instance is not None:
            return max(code, check(grammar, text, read_text(given.instance, "instance")))
        if not given.report:
            print("The schema can be enforced. A document that it allows:")
            plain = Grammar.from_json_schema(text, property_order=given.order, whitespace="spaced", number_plain=True)
            print(example(plain, given.seed))
    return code


def describe(rows: tuple[Row, ...]) -> str:
    """Show the report as a table: how each keyword is enforced, its place, and why."""
    width = min(MAX_POINTER, max(len(row.pointer or "#") for row in rows))
    lines = [f"{row.status:9} {_pointer(row):{width}}  {row.why}".rstrip() for row in rows]
    counts = {status: sum(row.status == status for row in rows) for status in (EXACT, NARROWED, WIDENED, IGNORED)}
    found = [status for status, n in counts.items() if n]
    lines += ["", f"{len(rows)} rows: {', '.join([f'{counts[status]} {status}' for status in found])}"]
    lines += [f"{status}: {MEANINGS[status]}" for status in found if status in MEANINGS]
    return "\n".join([*lines, "Names with `=` are options of Grammar.from_json_schema."])


def _pointer(row: Row) -> str:
    return printable(row.pointer) or "#"


def check(grammar: Grammar, schema: str, text: str) -> int:
    """Say whether an instance is valid, and where it stops being so; return the exit code."""
    text = text.removeprefix("\ufeff").strip(" \t\r\n")  # not part of the document
    data = text.encode("utf-8")
    matcher = Matcher(grammar, Vocabulary.bytes())
    n_matched = match(matcher, data)
    if n_matched == len(data) and matcher.is_accepting():
        print("The instance is valid.")
        return EXIT_OK
    repeated = repeated_key(text)
    if repeated is not None:
        key, at = repeated
        shown = printable(json.dumps(key, ensure_ascii=False))
        print(f"The instance has the key {shown} twice in one object, which earleymask never allows:")
        print(describe_place(data, len(text[:at].encode())))
        return EXIT_NO
    narrowings = narrowings_of(grammar, schema, text)
    if narrowings is not None:
        if narrowings.kinds:
            print(f"The instance is valid, but the grammar writes it in another way ({', '.join(narrowings.kinds)}):")
        else:
            print("Cannot determine whether the instance is valid. The grammar rejects it, possibly because:")
        for row in narrowings.rows:
            print(f"{row.status} {_pointer(row)} {row.why}")
    elif n_matched == len(data):
        print("The instance ends too early: it is only the beginning of a document.")
    else:
        print("The instance is not valid: the schema does not allow the character at the caret.")
    print(describe_place(data, n_matched))
    print("\n".join(matcher.explain(data[n_matched:] or None).details()))
    if narrowings is not None and ORDER in narrowings.kinds:
        print("hint: --order any allows the keys in any order")
    return EXIT_NO


def example(grammar: Grammar, seed: int) -> str:
    """Write a document of the grammar, byte by byte, by its masks. The same seed gives the same document."""
    chance = random.Random(seed)
    vocabulary = Vocabulary.bytes()
    eos = vocabulary.eos_token_ids[0]
    matcher = Matcher(grammar, vocabulary)
    written = bytearray()
    while len(written) < MAX_EXAMPLE:
        allowed = matcher.mask().nonzero()[0].tolist()
        if eos in allowed:
            return written.decode("utf-8")
        token = _choice(allowed, chance, hasty=len(written) > MAX_FREE)
        if not matcher.accept(token):
            raise AssertionError("the mask allowed a byte that the matcher refuses; please report this")
        written.append(token)
    raise CommandError(f"found no document of at most {MAX_EXAMPLE} bytes; try another --seed")


def _choice(allowed: list[int], chance: random.Random, *, hasty: bool) -> int:
    """Choose the next byte at random, in a string a letter, a digit or the closing quote; if `hasty`, choose the one
    that ends the document soonest."""
    if not hasty:
        plain = [token for token in allowed if token < 128 and chr(token).isalnum()]
        if len(plain) > MIN_IN_STRING:
            return QUOTE if QUOTE in allowed and chance.random() < 0.2 else chance.choice(plain)
        closing = [token for token in allowed if token in CLOSING]
        if closing and chance.random() < 0.3:
            return chance.choice(closing)
        others = [token for token in allowed if token in b'",:{[ -']
        return chance.choice((others or plain if chance.random() < 0.5 else plain or others) or allowed)
    if QUOTE in allowed and len(allowed) > MIN_OPEN:
        return QUOTE  # PREFERRED would write brackets into the string
    return min(allowed, key=_rank)


def _rank(token: int) -> int:
    at = PREFERRED.find(token)
    if at >= 0:
        return at
    return 256 + LAST.find(token) if token in LAST else 128
