"""Lark itself as the oracle for the Lark front end: the same grammar text, the same sentences."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from lark import Lark
from lark.exceptions import LarkError, UnexpectedInput

from earleymask.earley import Matcher
from earleymask.grammar import Grammar
from earleymask.trie import Vocabulary

BYTES = Vocabulary.from_tokens([bytes([i]) for i in range(256)], eos_token_id=256, size=257)


def lark_parser(grammar: str, start: str = "start", **options: Any) -> Lark:
    return Lark(grammar, parser="earley", lexer="dynamic_complete", start=start, **options)


def lark_loads(grammar: str, **options: Any) -> bool:
    """Whether Lark makes a parser of the text. It also raises KeyError, AssertionError and the errors of `re`."""
    try:
        lark_parser(grammar, **options)
    except Exception:
        return False
    return True


def lark_accepts(parser: Lark, text: str) -> bool:
    try:
        parser.parse(text)
    except UnexpectedInput:
        return False
    except LarkError as error:
        raise AssertionError(f"Lark fails on {text!r}: {error}") from error
    return True


def we_accept(grammar: Grammar, text: str) -> bool:
    """Whether `text` is a sentence, fed byte by byte."""
    matcher = Matcher(grammar, BYTES)
    return all(matcher.accept(byte) for byte in text.encode()) and matcher.is_accepting()


def strings(alphabet: str, length: int) -> Iterable[str]:
    """Every string over `alphabet` of at most `length` characters."""
    for n in range(length + 1):
        for chars in itertools.product(alphabet, repeat=n):
            yield "".join(chars)


def assert_same(text: str, sentences: Iterable[str], start: str = "start", **options: Any) -> None:
    """Lark and we accept the same of `sentences`, at least one of them and not all. `options` go to both."""
    parser = lark_parser(text, start, **options)
    grammar = Grammar.from_lark(text, start=start, **options)
    accepted = rejected = 0
    for sentence in sentences:
        expected = lark_accepts(parser, sentence)
        assert we_accept(grammar, sentence) == expected, f"Lark says {expected} to {sentence!r} under\n{text}"
        accepted += expected
        rejected += not expected
    assert accepted and rejected, "this case cannot fail: it needs sentences that are accepted and some that are not"
