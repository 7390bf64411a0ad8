"""For a text given to the wrong front end, the error says which one reads it."""

from __future__ import annotations

import pickle
import random
from pathlib import Path

import pytest

from earleymask import Grammar, GrammarError, Matcher, Vocabulary
from earleymask.grammar import other_syntax

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


@pytest.mark.parametrize(
    "options",
    [
        "{}",
        '{"no_forcing": true}',
        '{"allow_initial_skip":\n true, "allow_invalid_utf8": false}',
        ' \t{ "no_forcing": true }',
    ],
)
def test_options_of_llguidance_that_hold_here(options: str) -> None:
    """The line changes nothing, wherever it stands."""
    text = 'start: A\nA: "a"\n%ignore " "\n'
    for with_line in (f"%llguidance {options}\n{text}", f"{text}%llguidance{options}"):
        for sentence in (b"a", b" a", b"aa", b""):
            expected = Matcher(Grammar.from_lark(text), Vocabulary.bytes()).validate([*sentence, 256])
            assert Matcher(Grammar.from_lark(with_line), Vocabulary.bytes()).validate([*sentence, 256]) == expected


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('%llguidance {"no_forcing": false}', "no_forcing false, which is not supported"),
        ('%llguidance {"allow_invalid_utf8": true}', "allow_invalid_utf8 true, which is not supported"),
        ('%llguidance {"no_forcing": 1}', "no_forcing 1, which is not supported"),
        ('%llguidance {"no_forcin": true}', "did you mean no_forcing"),
        ("%llguidance {no_forcing}", "no JSON object"),
        ("%llguidance", "has no braces after it"),
        ('%llguidance {} other: "a"', "the line should end here"),
    ],
)
def test_options_of_llguidance_that_do_not_hold_here(line: str, message: str) -> None:
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark(f'start: "a"\n{line}')
    assert message in str(caught.value) and caught.value.line == 2


def test_rules_with_names_of_macros() -> None:
    """A group may follow a rule that is named like a macro."""
    grammar = Grammar.from_gbnf('root ::= Token("a")Regex\nToken ::= "t"\nRegex ::= "r"')
    assert Matcher(grammar, Vocabulary.bytes()).validate([*b"tar", 256]) == 4


def test_what_the_hint_about_tags_shows() -> None:
    """Tokens but token 5 are free text, and token 5 begins a call."""
    grammar = Grammar.from_gbnf('root ::= (<[^5]>* <[5]> call)* <[^5]>*\ncall ::= "()"')
    words = Vocabulary.from_tokens([b"a", b"b", b"(", b")", b"()", b"<call>", b"</s>"], eos_token_id=6)
    for tokens, ends in (
        ((0, 1), True),
        ((0, 5), False),
        ((0, 5, 4), True),
        ((5, 2, 3, 0, 5, 4), True),
        ((5, 0), None),
    ):
        matcher = Matcher(grammar, words)
        assert all(map(matcher.accept, tokens)) == (ends is not None)
        assert ends is None or matcher.is_accepting() == ends


@pytest.mark.parametrize("path", ["x.lark", "grammars/x.lark", "/a b/x.gbnf", "C:\\\\x.json", "../x.txt\n", "x.ebnf"])
def test_the_path_of_a_file_is_recognized(path: str) -> None:
    for make in (Grammar.from_lark, Grammar.from_gbnf, Grammar.from_json_schema):
        with pytest.raises(GrammarError) as caught:
            make(path)
        hint = caught.value.hint or ""
        assert hint.startswith("this looks like a path: ") and hint.endswith(f"Path({path.strip()!r}).read_text()")
        assert ("Grammar.from_lark_file(" in hint) == (make == Grammar.from_lark)


def test_what_only_contains_a_path_is_no_path() -> None:
    for make, text in (
        (Grammar.from_lark, 'start: x.lark\nb: "a.lark"'),
        (Grammar.from_lark, 'start: "a" x "b.json'),
        (Grammar.from_gbnf, "root ::= x\na.gbnf"),
        (Grammar.from_json_schema, '{"a": x.json'),
    ):
        with pytest.raises(GrammarError) as caught:
            make(text)
        assert "path" not in str(caught.value)


def test_a_path_object_leads_to_what_reads_files() -> None:
    with pytest.raises(TypeError, match=r"not \w+Path; Grammar\.from_lark_file reads a file"):
        Grammar.from_lark(Path("x.lark"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"not \w+Path; give its text, path\.read_text\(\)"):
        Grammar.from_json_schema(Path("x.json"))


def test_long_texts_are_searched_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    def both(text: str) -> tuple[bool, bool]:
        return other_syntax.is_gbnf(text), other_syntax.is_lark(text)

    choose = random.Random(1)
    lines = ['root ::= "a"', 'start: "b"', "", "|", "x" * 9, '"::="', "  a: b", "-- b ::= c", "%ignore x"]
    for _ in range(300):
        text = "\n".join(choose.choices(lines, k=choose.randrange(8)))
        at_once = both(text)
        for window in (9, 14, 30):  # no less than a name and the sign after it
            with monkeypatch.context() as patch:
                patch.setattr(other_syntax, "WINDOW", window)
                assert both(text) == at_once, text
