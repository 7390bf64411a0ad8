"""Our language is larger than lark's in a few ways, on purpose; each is shown on both sides.

Otherwise we accept exactly what lark accepts: `support/test_twin.py` compares the twin with lark, and other tests
compare the engine with the twin.
"""

from __future__ import annotations

import pytest
from lark import Lark
from lark.exceptions import GrammarError

from earleymask import Grammar
from support.lark_oracle import lark_parser, lark_says
from support.sentences import accepts
from support.twin import Twin


def lark_accepts(grammar: str, text: str) -> bool | None:
    return lark_says(lark_parser(grammar), text)


def engine_accepts(grammar: str, text: str) -> bool:
    return accepts(Grammar.from_lark(grammar), text)


def ours_accept(grammar: str, text: str) -> bool:
    """Return whether engine and twin, which must agree, accept the text."""
    accepted = engine_accepts(grammar, text)
    assert Twin.from_lark(grammar).is_sentence(text.encode()) == accepted
    return accepted


@pytest.mark.parametrize(
    ("grammar", "text"),
    [
        ("start: /a|ab/", "ab"),
        ("start: A\nA: /(?:a|ab)c?/", "abc"),
        ("start: /(?:a|ab)c?/ /d/", "abcd"),
    ],
)
def test_ordered_alternation_inside_one_regexp(grammar: str, text: str) -> None:
    assert not lark_accepts(grammar, text)
    assert ours_accept(grammar, text)


@pytest.mark.parametrize("text", ["aab", "aaab"])
def test_greedy_ignore(text: str) -> None:
    grammar = "start: A\nA: /ab/\n%ignore /a+/"
    assert not lark_accepts(grammar, text)
    assert ours_accept(grammar, text)


def test_what_both_ignore() -> None:
    for text in ("ab", "aba", "abaa"):
        assert lark_accepts("start: A\nA: /ab/\n%ignore /a+/", text)
        assert ours_accept("start: A\nA: /ab/\n%ignore /a+/", text)


@pytest.mark.parametrize("grammar", ["start: A\nA: /a*/", 'start: A "b"\nA: "a"?', 'start: "b"\n%ignore / */'])
def test_zero_width_terminals(grammar: str) -> None:
    with pytest.raises(GrammarError, match="zero-width"):
        Lark(grammar, parser="earley", lexer="dynamic_complete")
    text = "" if "A*" in grammar or "a*" in grammar else "b"
    assert ours_accept(grammar, text)


@pytest.mark.parametrize(
    ("grammar", "sentences", "others"),
    [
        ('start: A "b"\nA: /[a-z]+/', ["ab", "bb", "abab"], ["b", "a"]),
        ('start: ("foo"|"foobar") "bar"', ["foobar", "foobarbar"], ["foo", "foob"]),
        ("%import common.ESCAPED_STRING\nstart: ESCAPED_STRING", ['""', r'"\""', r'"a\\"'], [r'"\"', '"a"b"', "a"]),
        ("%import common.C_COMMENT\nstart: C_COMMENT", ["/**/", "/* * */"], ["/**/*/", "/*/"]),
        ('start: "a" "b"\n%ignore " "', [" a b ", "ab", "  ab"], ["a bb", "b"]),
        ("start: /a/i /b/\n", ["Ab", "ab"], ["aB"]),
        ("start: a\na: b | a\nb: a | /x/", ["x"], ["", "xx"]),
    ],
)
def test_where_all_agree(grammar: str, sentences: list[str], others: list[str]) -> None:
    for text in sentences + others:
        assert lark_accepts(grammar, text) == (text in sentences), text
        assert ours_accept(grammar, text) == (text in sentences), text
