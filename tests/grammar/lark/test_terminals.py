"""For composed terminals we build the same pattern as Lark, character by character, and trees of the same meaning."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lark.load_grammar import eval_escaping
from lark.utils import get_regexp_width

from earleymask.earley import Limits, Regexes
from earleymask.grammar import Grammar, GrammarError
from earleymask.grammar.lark import modules as lark_modules
from earleymask.grammar.lark.literals import LiteralError, source_position, unescape
from earleymask.grammar.lark.load import LarkLoader
from earleymask.grammar.lark.modules import NO_OPTIONS, Modules
from earleymask.grammar.lark.parse import parse
from earleymask.grammar.lark.terminals import widths
from earleymask.grammar.regex.lower import is_lazy, lower
from earleymask.grammar.regex.python import parse as parse_regex
from support.lark_oracle import lark_parser, strings


def loader_of(grammar: str) -> LarkLoader:
    loader = LarkLoader(parse(grammar), Modules(NO_OPTIONS))
    loader.collect()
    return loader


def lark_pattern(grammar: str, name: str) -> str:
    (terminal,) = [t for t in lark_parser(grammar).terminals if t.name == name]
    return terminal.pattern.to_regexp()


def our_pattern(grammar: str, name: str) -> str:
    loader = loader_of(grammar)
    return loader.terminals.pattern(loader.top.definitions[name].tree, 0).regexp()


pieces = st.sampled_from(
    ['"a"', '"ab"', '"b"i', '"a".."c"', "/a|b/", "/[ab]c/", "/a+/", "/a*?b/", "/(a|bc)/", "/b.c/s", "/A/i", "B", "C"]
)
operators = st.sampled_from(["", "", "", "*", "+", "?", "~2", "~1..3"])


def compound(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    several = st.lists(children, min_size=1, max_size=3)
    return st.one_of(
        several.map(" ".join),
        several.map(lambda parts: f"({' | '.join(parts)})"),
        several.map(lambda parts: f"[{' | '.join(parts)}]"),
        st.tuples(several.map(" ".join), operators).map(lambda pair: f"({pair[0]}){pair[1]}"),
    )


expressions = st.recursive(pieces, compound, max_leaves=8)


@settings(max_examples=300)
@given(expressions, expressions)
def test_composed_text_is_larks(first: str, second: str) -> None:
    if "B" in second:  # `B` would be recursive
        second = '"c"'
    # With these strings no terminal is zero-width, which Lark would refuse. The rule uses every terminal.
    grammar = f'start: A | B | C\nA: "x" {first}\nB: "b" {second} | "c"\nC: /c|d/\n'
    assert our_pattern(grammar, "A") == lark_pattern(grammar, "A")
    assert our_pattern(grammar, "B") == lark_pattern(grammar, "B")


@settings(max_examples=150)
@given(expressions)
def test_language_of_composed_terminals(expression: str) -> None:
    """A plain terminal is what `fullmatch` accepts; one with a lazy part, what `match` prefers."""
    grammar = f'start: A\nA: "x"? {expression} "x"\nB: "b" "c"? | "c"\nC: /c|d/\n'
    pattern = lark_pattern(grammar, "A")
    loader = loader_of(grammar)
    found = loader.top.own("A")
    tree = loader.terminals.build(found[1].tree, found)
    regexes = Regexes()
    node = lower(tree, regexes)
    compiled = re.compile(pattern)
    for text in strings("abx", 4):
        match = compiled.match(text)
        expected = match is not None and match.end() == len(text) if is_lazy(tree) else bool(compiled.fullmatch(text))
        assert regexes.matches(node, text.encode()) == expected, (pattern, text)


@pytest.mark.parametrize("library", ["common", "unicode"])
def test_every_definition_of_the_library(library: str) -> None:
    for name in lark_modules.library(library).names():
        if name.startswith("_STRING"):
            continue  # zero-width: Lark makes no parser of this one alone
        grammar = f"%import {library}.{name}\nstart: {name}"
        loader = loader_of(grammar)
        node = loader.top.definitions["start"]
        pattern = loader.terminals.pattern(node.tree, 0).regexp()
        assert pattern == lark_pattern(grammar, name)
        loader.terminals.build(node.tree)


@settings(max_examples=300)
@given(st.text(alphabet="\\\"nxu0a4'\n\r/é", max_size=12))
def test_escapes_are_resolved_as_lark_does(text: str) -> None:
    # The body of a literal as Lark's lexer finds it: each quote has a backslash before it, and no backslash is last.
    body = re.sub(r'\\.|"', lambda match: match[0] if len(match[0]) == 2 else "", text, flags=re.DOTALL)
    try:
        expected: str | None = eval_escaping(body)
    except Exception:
        expected = None
    try:
        result: str | None = unescape(body)
    except LiteralError:
        result = None
    if (len(body) - len(body.rstrip("\\"))) % 2:
        return  # the last backslash would escape the closing quote, so no literal has such a body
    assert result == expected
    if result is not None:
        for position in range(len(result)):
            place = source_position(body, position)
            assert body[place] == "\\" or body[place] == result[position] or "\r" in body


@pytest.mark.parametrize(
    "pattern", ["a*?|b{2,3}", "(?:ab)*c", "", "(?:)*", "a{3}b?", "[ab]{2,}", "(?:a*)*", "x|yz|(?:ab){2}"]
)
def test_widths_are_those_of_re(pattern: str) -> None:
    least, most = get_regexp_width(pattern)
    ours = widths(parse_regex(pattern))
    assert ours[0] == least
    assert ours[1] == most if most < 1 << 31 else ours[1] == float("inf")


def test_exponential_terminals_are_refused() -> None:
    lines = ["start: A0"]
    lines += [f"A{i}: A{i + 1} A{i + 1}" for i in range(60)]
    with pytest.raises(GrammarError, match="more than 100000 pieces"):
        Grammar.from_lark("\n".join([*lines, 'A60: "x"']))
    with pytest.raises(GrammarError, match="more than 1000000 characters"):
        Grammar.from_lark("\n".join([*lines, "A60: /a|b/"]), limits=Limits.trusted())  # takes three seconds


def test_deep_terminals_are_refused() -> None:
    lines = ["start: A0"]
    lines += [f'A{i}: "a" A{i + 1}' for i in range(500)]
    with pytest.raises(GrammarError, match="more than 200 levels deep"):
        Grammar.from_lark("\n".join([*lines, 'A500: "x"']))
