"""For a text given to the wrong front end, the error says which one reads it."""

from __future__ import annotations

import pickle

import pytest

from earleymask import Grammar, GrammarError

GBNF = [
    'root ::= "a"',
    '# a list\nroot ::= item ("," item)*\nitem ::= [0-9]+\n',
    'root  ::= object\nmy-object ::= "{" ws "}"\nws ::= | " " | "\\n" [ \\t]{0,20}',
    'root ::= (\n  "a" |\n  "b"\n)',
]
LARK = [
    'start: "a"',
    '// a list\nstart: item ("," item)*\nitem: /[0-9]+/\n%import common.WS\n%ignore WS',
    '?start: A\nA.2: "a" | "b"',
    "%import common.INT\nstart: INT",
]


@pytest.mark.parametrize("text", GBNF)
def test_gbnf_given_to_lark(text: str) -> None:
    with pytest.raises(GrammarError, match=r"hint: this looks like a text for Grammar\.from_gbnf") as caught:
        Grammar.from_lark(text)
    assert len(caught.value.errors) == 1 and caught.value.line is not None
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


@pytest.mark.parametrize("text", LARK)
def test_lark_given_to_gbnf(text: str) -> None:
    with pytest.raises(GrammarError, match=r"hint: this looks like a text for Grammar\.from_lark") as caught:
        Grammar.from_gbnf(text)
    assert caught.value.line is not None


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (Grammar.from_lark, 'start: "root ::= a" b'),
        (Grammar.from_lark, 'start: a\na ::= "x"'),
        (Grammar.from_lark, ""),
        (Grammar.from_lark, "?"),
        (Grammar.from_gbnf, 'root ::= "start: a" b'),
        (Grammar.from_gbnf, 'root ::= a\na: "x"'),
        (Grammar.from_gbnf, "?"),
    ],
)
def test_other_mistakes_are_not_about_it(make: object, text: str) -> None:
    with pytest.raises(GrammarError) as caught:
        make(text)  # type: ignore[operator]
    assert "looks like" not in str(caught.value)
