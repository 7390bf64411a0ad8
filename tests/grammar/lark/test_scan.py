"""The scanner finds the lexemes of Lark's own lexer; any other text is a typed error, in bounded time."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lark.exceptions import UnexpectedCharacters
from lark.lexer import LexerThread
from lark.load_grammar import _get_parser

from earleymask.grammar import Grammar, GrammarError
from earleymask.grammar.lark.scan import (
    BAR,
    DIRECTIVE,
    END,
    LINE,
    MARK,
    NOTHING,
    NUMBER,
    REGEXP,
    RULE,
    SPECIAL,
    STRING,
    TERMINAL,
    offsets,
    scan,
)
from support.effort import effort

# Lark splits these, and we do not: the modifiers of a rule, and directives, of which Lark has a fixed list.
FRAGMENTS = [
    "a",
    "_b1",
    "A",
    "_B1",
    '"x"',
    '"\\""',
    '"a\\\\"i',
    "/x/",
    "/a\\/b/is",
    "//c",
    "#c",
    "|",
    ":",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ".",
    "..",
    "~",
    "*",
    "+",
    "-1",
    "12",
    "->",
    '"',
    "/",
    "§",
]
fragments = st.sampled_from([*FRAGMENTS, "\n", "\r\n", "  ", "\t", "\f", "\\\n", "\\ \n"])


def lark_lexemes(text: str) -> list[tuple[int, str]]:
    """Return the offset and text of each of Lark's lexemes, up to the first place without one."""
    lexer = _get_parser().lexer
    lexemes = []
    try:
        for token in LexerThread.from_text(lexer, text).lex(None):
            lexemes.append((token.start_pos, str(token)))
    except UnexpectedCharacters as error:
        lexemes.append((error.pos_in_stream, END))
    return lexemes


@settings(max_examples=1000)
@given(st.lists(fragments, max_size=14).map("".join))
def test_lexemes_are_larks(text: str) -> None:
    assume(not re.search(r"[a-zA-Z0-9_]-[a-zA-Z0-9_]", text))  # only we allow hyphens in names
    assume("::" not in text)  # only we have this, too
    expected = lark_lexemes(text + "\n")
    lexemes, _ = scan(text + "\n")
    if expected[-1:] == [(expected[-1][0], END)] if expected else False:
        assert lexemes[-2:] == [END, END]
    else:
        assert lexemes[-2:-1] != [END]
    found = list(zip(offsets(text + "\n"), lexemes, strict=True))[:-1]
    # Without a later quote or slash, Lark tries an earlier one; the text is refused in either case.
    if found[-1:] != expected[-1:] and found[-1:] and found[-1][1] == END:
        assert found[:-1] == expected[: len(found) - 1]
    else:
        assert found == expected


# The slow twin of the scanner: the lexical rules as one expression. If no lexeme fits, the rest of the text is one
# lexeme "".
SKIPPED = r"[ \t]*(?:(?:\s*(?://|\#)[^\n]*|\\[ ]*\n)[ \t]*)*"
NAME = "_?[a-zé中](?:[_a-z0-9é中٥]|-(?=[_a-z0-9é中٥]))*"
LEXEMES = re.compile(
    rf"""{SKIPPED}(?:(
      {NAME}                                            # rule
    | "[^"\\\n]*(?:\\[^\n][^"\\\n]*)*"i?                # string
    | ::[_a-zA-Z0-9]*                                   # value of a rule
    | [:|()\[\]{{}},~*&=]
    | @(?:{NAME}|_?[A-ZÉ](?:[_A-Z0-9É中٥]|-(?=[_A-Z0-9É中٥]))*)
    | _?[A-ZÉ](?:[_A-Z0-9É中٥]|-(?=[_A-Z0-9É中٥]))*  # terminal
    | \r?\n\s*\|?                                       # end of a definition, or `|` going on with it
    | /(?!/)[^/\\]*(?:\\[\s\S][^/\\]*)*/[imslux]*       # regexp; it may span lines
    | (?:!\??|\?!?){NAME}                               # rule with its modifiers
    | [+-]?\d+
    | %[a-z]*                                           # directive
    | <[^<>\s]+>                                        # special token
    | -> | \.\.? | \+ | \?(?![a-z_])
    )|\Z|[\s\S]+)""",
    re.VERBOSE,
)
KINDS = [
    (RULE, rf"(?:!\??|\?!?)?{NAME}"),
    (TERMINAL, "_?[A-ZÉ][-_A-Z0-9É中٥]*"),
    (STRING, r'"[\s\S]*"i?'),
    (REGEXP, r"/[\s\S]*/[imslux]*"),
    (SPECIAL, "<.*>|@.*"),
    (NUMBER, r"[+-]?\d+"),
    (DIRECTIVE, "%[a-z]*"),
    (LINE, r"\r?\n\s*"),
    (BAR, r"(?:\r?\n\s*)?\|"),
    (NOTHING, ""),
    (MARK, r"[\s\S]*"),
]
MORE = [
    *FRAGMENTS,
    "::",
    "&",
    "=",
    "@",
    "@a",
    "a-",
    "-A",
    "é",
    "É",
    "中",
    *'?!_aZ9%<>i/\\"-.+|#\n\r \t\x1c\u2028\u0665\0\ud800',
    "//",
    "\\\n",
]


@settings(max_examples=3000)
@given(st.lists(st.sampled_from(MORE), max_size=12).map("".join))
def test_lexemes_are_those_of_the_expression(text: str) -> None:
    assume(not re.search(r"::[_a-zA-Z0-9]*\(", text))  # the scanner counts these parentheses
    text += "\n"
    lexemes, kinds = scan(text)
    assert lexemes == LEXEMES.findall(text)
    assert all(text.startswith(lexeme, begin) for begin, lexeme in zip(offsets(text), lexemes, strict=True))
    matching = [next(kind for kind, expression in KINDS if re.fullmatch(expression, lexeme)) for lexeme in lexemes]
    assert list(kinds) == matching


@settings(max_examples=500)
@given(st.one_of(st.text(max_size=60), st.lists(fragments, max_size=30).map("".join)))
def test_any_text_is_a_grammar_or_a_grammar_error(text: str) -> None:
    error = None
    try:
        Grammar.from_lark(text)
    except GrammarError as caught:
        error = caught
    if error is not None and error.line is not None:
        assert error.column is not None and error.text == text.split("\n")[error.line - 1].rstrip("\r")
        assert 1 <= error.column <= len(error.text) + 2  # a carriage return at the end of a line counts


LENGTH = effort(1 << 18, 1 << 20)

LONG = {
    "line breaks": "\n" * LENGTH,
    "blanks": " " * LENGTH,
    "vertical tabs": "\v" * LENGTH,
    "blank lines": " \n" * LENGTH,
    "backslashes": "\\" * LENGTH,
    "quotes": '"' * LENGTH,
    "backslashes in a string": 'start: "' + "\\" * LENGTH,
    "escaped quotes in a string": 'start: "' + '\\"' * LENGTH,
    "slashes": "start: /" + "\\/" * LENGTH,
    "comment": "//" * LENGTH,
    "parentheses": "start: " + "(" * LENGTH,
    "brackets closed": "start: " + "[" * 50 + "]" * LENGTH,
    "bars": "start: " + "|" * LENGTH + "x",
    "name": "a" * LENGTH,
    "number": "start." + "1" * LENGTH,
    "one string": 'start: "' + "x" * LENGTH,
    "letters": "é" * LENGTH,
    "nul": "\0" * LENGTH,
    "lone surrogates": "\ud800" * LENGTH,
    "operators": "start: " + "*" * LENGTH,
    "modifiers": "?" * LENGTH,
    "undefined": "start: " + "a " * (LENGTH // 2),
    "definitions": "".join(f'r{i}: "a"\n' for i in range(LENGTH // 16)),
    "too long": "x" * (9 << 20),
}


@pytest.mark.parametrize("name", LONG)
def test_long_texts_are_answered_in_time(name: str) -> None:
    begun = time.process_time()
    with pytest.raises(GrammarError) as caught:
        Grammar.from_lark(LONG[name])
    # Takes some hundred milliseconds for a megabyte; quadratic time would be minutes for a quarter of one.
    assert time.process_time() - begun < effort(5, 20)
    assert len(str(caught.value)) < 2000


def test_lone_surrogates_match_nothing() -> None:
    with pytest.raises(GrammarError, match="a lone surrogate is not a character"):
        Grammar.from_lark('start: "\ud800"')
    with pytest.raises(GrammarError, match="no sentence"):
        Grammar.from_lark("start: /\ud800/")
    assert Grammar.from_lark("start: /a\ud800?/ // \ud800").warnings == ()


def test_large_grammars_load() -> None:
    """A chain of 20,000 rules and a rule of 20,000 alternatives load."""
    rules = ["start: r0 | words"]
    rules += [f'r{i}: "a" r{i + 1}' for i in range(20_000)]
    rules += ['r20000: "b"', "words: " + " | ".join(f'"w{i}"' for i in range(20_000))]
    assert not Grammar.from_lark("\n".join(rules)).warnings


def test_many_warnings_are_cut_short() -> None:
    n = effort(5000, 20_000)
    rules = ['start: "a" | r0', *(f'r{i}: "a" r{i + 1}' for i in range(n)), f'r{n}: "b" r0']
    assert len(Grammar.from_lark("\n".join(rules)).warnings) == 101
    with pytest.raises(GrammarError, match="no sentence"):
        Grammar.from_lark("\n".join(["start: r0", *rules[1:]]))
    rules[0] = 'start: "a"'
    warnings = Grammar.from_lark("\n".join(rules)).warnings
    assert len(warnings) == 101 and warnings[-1].message == f"and {n - 99} more warnings"
