"""Grammars that Hypothesis makes out of every operator agree with Lark on all short strings."""

from __future__ import annotations

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from earleymask.grammar import Grammar, GrammarError
from support.effort import effort
from support.lark_oracle import TooLong, at_most, lark_accepts, lark_parser, strings, we_accept

SECONDS = 3
"""Time for one grammar: some are so ambiguous that Lark takes minutes. The shortest texts are compared first."""

# A callback of the garbage collector may swallow the exception; the next one comes a second later.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

atoms = st.sampled_from(['"a"', '"b"', '"ab"', "/[ab]/", "/a+/", '"a".."b"', "T", "x", "y", "_z"])
terminals = st.sampled_from(["/b+/", '"b" "a"?', '"aa" | "b"', '("a" | "b")~2'])
operators = st.sampled_from(["", "", "*", "+", "?", "~2", "~0..2", "~1..3"])


def compound(children: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sequence = st.lists(children, min_size=0, max_size=3).map(" ".join)
    choice = st.lists(sequence, min_size=1, max_size=3).map(" | ".join)
    grouped = st.tuples(choice, operators).map(lambda pair: f"({pair[0]}){pair[1]}")
    repeated = st.tuples(atoms, operators).map("".join)
    return st.one_of(repeated, grouped, choice.map(lambda inner: f"[{inner}]"))


bodies = st.lists(
    st.lists(st.recursive(atoms, compound, max_leaves=5), max_size=3).map(" ".join), min_size=1, max_size=3
).map(" | ".join)


@st.composite
def grammars(draw: st.DrawFn) -> str:
    lines = [f"start: {draw(bodies)}", f"x: {draw(bodies)}", f"?y: {draw(bodies)}", f"_z: {draw(bodies)}"]
    lines.append(f"T: {draw(terminals)}")
    if draw(st.booleans()):
        lines.append("%ignore /c/")
    return "\n".join(draw(st.permutations(lines)))


# Templates that use themselves only with their own arguments, and changes of rules above.
in_templates = st.lists(
    st.lists(
        st.one_of(atoms, st.sampled_from(["p", "q", "p*", "(p | q)+", "[q]", "t{p, q}", "t{q, p}"])), max_size=3
    ).map(" ".join),
    min_size=1,
    max_size=2,
).map(" | ".join)
uses = st.sampled_from(['t{"a", "b"}', "t{x, T}", 't{u{"b"}, "a"}', "t{u{x}, u{T}}", 'u{"ab"}', "u{/a+/}*"])


@st.composite
def grammars_with_templates(draw: st.DrawFn) -> str:
    start = " | ".join(draw(st.lists(uses, min_size=1, max_size=2)))
    lines = [f"start: {start} | {draw(bodies)}", f"x: {draw(bodies)}", f"?y: {draw(bodies)}", f"_z: {draw(bodies)}"]
    lines += [f"T: {draw(terminals)}", f"t{{p, q}}: {draw(in_templates)}", 'u{p}: p | "b" p']
    lines = draw(st.permutations(lines))
    for change in draw(st.lists(st.sampled_from(["%extend x", "%override ?y", "%extend _z"]), max_size=2)):
        lines.append(f"{change}: {draw(bodies)}")
    if draw(st.booleans()):
        lines.append(draw(st.sampled_from(["%extend t{p, q}: q p", "%override u{o}: o o", '%extend T: "bb" | "a"'])))
    return "\n".join(lines)


@settings(max_examples=effort(15, 40))
@given(grammars_with_templates())
def test_generated_templates_and_changes(text: str) -> None:
    assert_same_language(text)


@settings(max_examples=effort(40, 120))
@given(grammars())
def test_generated_grammars(text: str) -> None:
    assert_same_language(text)


def assert_same_language(text: str) -> None:
    try:
        with at_most(SECONDS):
            parser = lark_parser(text)
    except (Exception, TooLong):  # Lark says "defined twice", or multiplies out `((a | b)~1..3 | c)~1..3`
        assume(False)
    try:
        grammar = Grammar.from_lark(text)
    except GrammarError as error:
        if "no sentence" not in error.message:
            raise
        grammar = None
    try:
        with at_most(SECONDS):
            for sentence in strings("abc" if "%ignore" in text else "ab", 4):
                accepted = grammar is not None and we_accept(grammar, sentence)
                assert accepted == lark_accepts(parser, sentence), sentence
    except TooLong:
        event("cut short: Lark took too long")
