"""`earleymask schema`: can a JSON Schema be enforced, what becomes of its keywords, and is an instance valid?"""

from __future__ import annotations

import argparse
import json
import random

from ..earley import Matcher
from ..grammar import Grammar
from ..grammar.errors import EXACT, WIDENED, Row
from ..trie import Vocabulary
from .instance import narrowings_of, repeated_key
from .shared import EXIT_NO, EXIT_OK, CommandError, describe_expected, describe_place, match, naming, read_text

HEAD_FOR_THE_END = 200
"""Bytes after which an example takes the shortest way that can be seen."""
MAX_EXAMPLE = 50_000
QUOTE = ord('"')
STRUCTURAL = 8
"""More bytes than this are allowed within a string, or where a value may begin."""
CLOSING = b'}]"'
# What ends soonest first; a value that can hold others of its kind comes last.
PREFERRED = b'}]",:nft0123456789.eE+-'
LAST = b"[{\\ \t\n"
SHOWN_KEYS = 60
"""Characters of a pointer in the report before its column gives way."""


def run(given: argparse.Namespace) -> int:
    if given.schema == "-" and given.instance == "-":
        raise CommandError("the schema and the instance cannot both come from stdin")
    text = read_text(given.schema, "schema")
    with naming(given.schema):
        # The report also tells what is refused, so it is made of what is left without that.
        grammar = Grammar.from_json_schema(text, property_order=given.order, strict=not given.report)
        code = EXIT_OK
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
    """The report as a table: what became of each keyword, where it stands, and why."""
    width = min(SHOWN_KEYS, max(len(row.pointer or "#") for row in rows))
    lines = [f"{row.status:9} {_pointer(row):{width}}  {row.why}".rstrip() for row in rows]
    exact = sum(row.status == EXACT for row in rows)
    total = f"{len(rows)} rows, {exact} of them exact"
    return "\n".join([*lines, f"{total}; names with `=` are options of Grammar.from_json_schema"])


def _pointer(row: Row) -> str:
    return _printable(row.pointer) or "#"


def check(grammar: Grammar, schema: str, text: str) -> int:
    """Say whether an instance is one of the schema's documents, and where it ceases to be."""
    text = text.removeprefix("\ufeff").strip(" \t\r\n")  # what stands around a document is not part of it
    data = text.encode("utf-8")
    matcher = Matcher(grammar, Vocabulary.bytes())
    n_matched = match(matcher, data)
    if n_matched == len(data) and matcher.is_accepting():
        print("The instance is valid.")
        return EXIT_OK
    repeated = repeated_key(text)
    if repeated is not None:
        key, at = repeated
        shown = _printable(json.dumps(key, ensure_ascii=False))
        print(f"The instance has the key {shown} twice in one object, which no schema's grammar writes:")
        print(describe_place(data, len(text[:at].encode())))
        return EXIT_NO
    narrowings = narrowings_of(grammar, schema, text)
    if narrowings is not None:
        if narrowings.kinds:
            said = f"The instance is valid, but not written as the grammar has it ({', '.join(narrowings.kinds)}):"
        else:
            said = (
                "It is not known whether the instance is valid. The grammar does not write it, maybe because of this:"
            )
        print(said)
        for row in narrowings.rows:
            print(f"{row.status} {_pointer(row)} {row.why}")
    elif n_matched == len(data):
        print("The instance is not complete: it ends too early.")
    else:
        print("The instance is not valid, and nothing that begins like it is.")
    print(describe_place(data, n_matched))
    print(describe_expected(matcher, at_end=n_matched == len(data)))
    return EXIT_NO


def example(grammar: Grammar, seed: int) -> str:
    """A document of the grammar, by a walk through its masks. The same for the same seed."""
    chance = random.Random(seed)
    vocabulary = Vocabulary.bytes()
    eos = vocabulary.eos_token_ids[0]
    matcher = Matcher(grammar, vocabulary)
    written = bytearray()
    while len(written) < MAX_EXAMPLE:
        allowed = matcher.mask().nonzero()[0].tolist()
        if eos in allowed:
            return written.decode("utf-8")
        token = _choice(allowed, chance, hasty=len(written) > HEAD_FOR_THE_END)
        if not matcher.accept(token):
            raise AssertionError("the mask allowed a byte that the matcher refuses; please report this")
        written.append(token)
    raise CommandError(f"no example of less than {MAX_EXAMPLE} bytes was found; try another --seed")


def _choice(allowed: list[int], chance: random.Random, *, hasty: bool) -> int:
    """The byte to go on with: letters and whatever comes, or what ends soonest."""
    if not hasty:
        closing = [token for token in allowed if token in CLOSING]
        if closing and chance.random() < 0.3:
            return chance.choice(closing)
        plain = [token for token in allowed if token < 128 and chr(token).isalnum()]
        others = [token for token in allowed if token in b'",:{[ -']
        return chance.choice((others or plain if chance.random() < 0.5 else plain or others) or allowed)
    if QUOTE in allowed and len(allowed) > STRUCTURAL:
        return QUOTE  # within a string, where brackets would be part of it
    return min(allowed, key=_rank)


def _rank(token: int) -> int:
    at = PREFERRED.find(token)
    if at >= 0:
        return at
    return 256 + LAST.find(token) if token in LAST else 128


def _printable(text: str) -> str:
    """Control characters as one visible character each: a schema may come from anybody."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)
