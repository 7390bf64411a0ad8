"""`&`, `~` and `%regex {...}` mean the sets of strings that Python computes for them."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from earleymask import Matcher, Vocabulary
from earleymask.grammar import Grammar, GrammarError
from support.lark_oracle import assert_refused, strings, we_accept

LONGEST = 4
UNIVERSE = frozenset(strings("ab", LONGEST))

Case = tuple[str, frozenset[str]]
"""An expression, in parentheses if it needs them, and the texts of `UNIVERSE` that it matches."""


def leaf(written: str, pattern: str, lazy: bool = False) -> Case:
    compiled = re.compile(pattern)
    if lazy:
        matches = [(text, compiled.match(text)) for text in UNIVERSE]
        return written, frozenset(text for text, match in matches if match is not None and match.end() == len(text))
    return written, frozenset(text for text in UNIVERSE if compiled.fullmatch(text))


LEAVES = [
    leaf('"a"', "a"),
    leaf('"ab"', "ab"),
    leaf('"B"i', "[bB]"),
    leaf("/(a|b)/", "a|b"),
    leaf("/[ab]*/", "[ab]*"),
    leaf("/(aa)+b?/", "(aa)+b?"),
    leaf("T", "b+|a"),
    leaf("S", "(a|b)(a|b)"),
]
# Leftmost-first or with lookarounds: as a side of an operator, each is a language of its own.
OPAQUE = [
    leaf("/a*?b/", "a*?b", lazy=True),
    leaf("/(a|ab)??b*?/", "(a|ab)??b*?", lazy=True),
    leaf("/a(?!b)[ab]+/", "a(?!b)[ab]+"),
    leaf("/a|bb/", "a|bb"),
]


def concat(first: frozenset[str], second: frozenset[str]) -> frozenset[str]:
    return frozenset(a + b for a in first for b in second if len(a) + len(b) <= LONGEST)


def repeat(body: frozenset[str], minimum: int, maximum: int | None) -> frozenset[str]:
    found: frozenset[str] = frozenset([""]) if minimum == 0 else frozenset()
    power = frozenset([""])
    for count in range(1, (LONGEST + minimum if maximum is None else maximum) + 1):
        power = concat(power, body)
        if count >= minimum:
            found |= power
    return found


def sequence(pair: tuple[Case, Case]) -> Case:
    return f"({pair[0][0]} {pair[1][0]})", concat(pair[0][1], pair[1][1])


def union(pair: tuple[Case, Case]) -> Case:
    return f"({pair[0][0]} | {pair[1][0]})", pair[0][1] | pair[1][1]


def intersection(pair: tuple[Case, Case]) -> Case:
    return f"({pair[0][0]} & {pair[1][0]})", pair[0][1] & pair[1][1]


def complement(case: Case) -> Case:
    return f"~{case[0]}", UNIVERSE - case[1]


def repeated(pair: tuple[Case, tuple[str, int, int | None]]) -> Case:
    (written, language), (operator, minimum, maximum) = pair
    return f"({written}{operator})", repeat(language, minimum, maximum)


OPERATORS: list[tuple[str, int, int | None]] = [
    ("*", 0, None),
    ("+", 1, None),
    ("?", 0, 1),
    ("~2", 2, 2),
    ("{1,3}", 1, 3),
]


def compound(inner: st.SearchStrategy[Case]) -> st.SearchStrategy[Case]:
    pairs = st.tuples(inner, inner)
    sides = st.one_of(inner, st.sampled_from(OPAQUE))
    return st.one_of(
        pairs.map(sequence),
        pairs.map(union),
        st.tuples(sides, sides).map(intersection),
        sides.map(complement),
        st.tuples(inner, st.sampled_from(OPERATORS)).map(repeated),
    )


cases = st.recursive(st.sampled_from(LEAVES), compound, max_leaves=6)


def loads(text: str) -> Grammar | None:
    try:
        return Grammar.from_lark(text)
    except GrammarError as error:
        if "the grammar has no sentence" not in error.message:
            raise
        return None


@settings(max_examples=400)
@given(cases, st.booleans())
def test_terminals_are_the_sets_that_are_written(case: Case, in_rule: bool) -> None:
    written, language = case
    body = f"(({written}) & /[ab]*/)"  # no letters but those of UNIVERSE
    text = f"start: {body}\n" if in_rule else f"start: A\nA: {body}\n"
    grammar = loads(text + "T: /b+/ | S1\nS1: /a/\nS: /(a|b)/~2\n")
    accepted = frozenset() if grammar is None else frozenset(text for text in UNIVERSE if we_accept(grammar, text))
    assert accepted == language, text


@settings(max_examples=150)
@given(cases)
def test_masks_have_no_dead_ends_and_miss_nothing(case: Case) -> None:
    """In a finite language a token is allowed exactly if some sentence continues so."""
    written, language = case
    grammar = loads(f'start: A "c"\nA: ({written}) & /[ab]{{0,{LONGEST}}}/\nT: /b+/ | "a"\nS: /(a|b)/~2\n')
    assert (grammar is None) == (not language)
    if grammar is None:
        return
    sentences = [text + "c" for text in language]
    tokens = [b"a", b"b", b"ab", b"ba", b"aa", b"c", b"bc", b"abc", b""]
    vocabulary = Vocabulary.from_tokens(tokens, eos_token_id=8)
    matcher = Matcher(grammar, vocabulary)
    for text in sorted({sentence[:n] for sentence in sentences for n in range(len(sentence))}):
        matcher.reset()
        assert all(matcher.accept(tokens.index(char.encode())) for char in text)
        mask = matcher.mask()
        for token_id, token in enumerate(tokens[:-1]):
            goes_on = text + token.decode()
            assert mask[token_id] == any(sentence.startswith(goes_on) for sentence in sentences), (text, token)


PRECEDENCE: list[tuple[str, Callable[[str], bool]]] = [
    ('"a" "b" & "ab"', lambda text: text == "ab"),
    ('"a" & "b" | "ab"', lambda text: text == "ab"),
    ('/[ab]*/ & ~"a"+', lambda text: repeats(text, {"a"})),
    ('/[ab]*/ & ~("a"+)', lambda text: set(text) != {"a"}),
    ('/[ab]*/ & ~~"a"', lambda text: text == "a"),
    ('"a"~2 & /[ab]*/', lambda text: text == "aa"),
    ('/[ab]*/ & ~"a"~2', lambda text: repeats(text, {"a"}, 2)),
    ('"a" ~["b"] & /[ab]*/', lambda text: text[:1] == "a" and text[1:] not in ("", "b")),
]


def repeats(text: str, excluded: set[str], count: int | None = None) -> bool:
    """Return whether `text` is a sequence of one or more (or `count`) texts that are not excluded."""
    if count is None:
        return any(repeats(text, excluded, n) for n in range(1, len(text) + 2))
    if count == 1:
        return text not in excluded
    return any(text[:n] not in excluded and repeats(text[n:], excluded, count - 1) for n in range(len(text) + 1))


@pytest.mark.parametrize(("written", "expected"), PRECEDENCE)
def test_precedence(written: str, expected: Callable[[str], bool]) -> None:
    for text in (f"start: A\nA: {written}", f"start: {written}"):
        grammar = Grammar.from_lark(text)
        for string in UNIVERSE:
            assert we_accept(grammar, string) == expected(string), (text, string)


def test_a_complement_is_text() -> None:
    matcher = Matcher(Grammar.from_lark('start: ~"a"'), Vocabulary.bytes())
    assert not matcher.mask()[0x80]  # no character in UTF-8 begins so
    assert matcher.accept(0xED)
    assert not matcher.mask()[0xA0]  # a surrogate
    assert we_accept(Grammar.from_lark('start: ~"a"'), "é\n")


def test_ignored_and_imported() -> None:
    grammar = Grammar.from_lark(
        'start: NAME+\nNAME: CNAME & ~KEYWORD\nKEYWORD: "if" | "else"\n%import common.CNAME\n%ignore / +/ & ~"  "'
    )
    assert we_accept(grammar, "ifs els")
    assert not we_accept(Grammar.from_lark('start: NAME\nNAME: /[a-z]+/ & ~("if" | "else")'), "if")
    assert not we_accept(Grammar.from_lark('start: "a" "b"\n%ignore / +/ & ~/ {2,}/ & ~" "i'), "a b")


def test_structured_regexes() -> None:
    chunks = ["ab", "a", "b"]
    runs = {"".join(chunks[n:m]) for n in range(4) for m in range(n, 4)}
    for text in (
        'start: %regex {"substring_chunks": ["ab", "a", "b"]}',
        'start: A\nA: %regex {"substring_chunks": ["ab", "a", "b"]}',
    ):
        grammar = Grammar.from_lark(text)
        assert {string for string in UNIVERSE if we_accept(grammar, string)} == runs
    grammar = Grammar.from_lark('start: A "."\nA: %regex {"substring_words": "a b, a"} & /(?s:.)+/')
    for string in strings("ab, ", 4):
        words = ["a", " ", "b", ",", " ", "a"]
        expected = string in {"".join(words[n:m]) for n in range(7) for m in range(n + 1, 7)}
        assert we_accept(grammar, string + ".") == expected
    assert we_accept(Grammar.from_lark('start: %regex {"substring_chars": "x}\\"{y"}'), '}"{')


ERRORS = {
    "nothing before": ('start: A\nA: & "a"', 2, 9, "on both sides of `&`"),
    "nothing behind": ('start: A\nA: "a" & | "b"', 2, 10, "on both sides of `&`"),
    "a rule": ('start: "a" & b\nb: "x"', 1, 14, "rule `b` cannot be inside a terminal"),
    "a special token": ('start: "a" & <|x|>', 1, 14, "special token `<|x|>` cannot be inside a terminal"),
    "itself": ("start: A\nA: ~B\nB: ~A", 3, 5, "contains itself"),
    "a malformed regexp": ('start: "a" & /(/', 1, 15, "unterminated subpattern"),
    "looking out": ('start: "a" & /b(?=cd)/', 1, 14, ""),
    "nothing is left": ('start: A\nA: "a" & "b"', 1, 1, "terminal `A` matches nothing"),
    "an unknown field": ('start: %regex {"x": 1}', 1, 8, "%regex has no field 'x'"),
    "no JSON": ('start: %regex {"substring_chars": "a",}', 1, 39, "this is not JSON"),
    "a field twice": ('start: "x" %regex {"a": 1, "a": 1}', 1, 12, "two fields 'a'"),
    "nested JSON": ("start: %regex " + '{"a": ' * 100_000 + "1" + "}" * 100_000, 1, 8, "nested too deeply"),
    "a block that does not end": ('start: %regex {"a": "}"', 1, 8, "does not end"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_show_their_place(name: str) -> None:
    assert_refused(*ERRORS[name])


def test_what_is_shared_is_counted() -> None:
    lines = "".join(f"A{n}: ~A{n + 1} ~A{n + 1}\n" for n in range(40))
    with pytest.raises(GrammarError, match="more than 100000 pieces"):
        Grammar.from_lark(f'start: A0\n{lines}A40: "x"')
