"""What can stand for a grammar: the same for `Constraint` and `Matcher`, and for the logits processor."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest

from earleymask import Constraint, Grammar, GrammarError, Matcher, Vocabulary
from earleymask.arguments import as_grammar, as_grammars

LARK = 'start: "a" | "b"'
GBNF = 'root ::= "a" | "b"'
SCHEMA = {"enum": ["a", "b"]}
VOCABULARY = Vocabulary.bytes()

GIVEN = [
    (LARK, Grammar.from_lark(LARK)),
    (GBNF, Grammar.from_gbnf(GBNF)),
    (SCHEMA, Grammar.from_json_schema(SCHEMA)),
    ('\n {"enum": ["a", "b"]}', Grammar.from_json_schema('\n {"enum": ["a", "b"]}')),
    (re.compile("[ab]", re.I), Grammar.from_regex("[ab]", flags=re.I)),
    (Grammar.from_choices(["a", "b"]), Grammar.from_choices(["a", "b"])),
]


@pytest.mark.parametrize(("given", "expected"), GIVEN, ids=lambda given: type(given).__name__)
def test_the_same_is_taken_everywhere(given: Any, expected: Grammar) -> None:
    assert as_grammar(given) == expected
    constraint = Constraint(given, VOCABULARY)
    matcher = Matcher(given, VOCABULARY)
    assert constraint.grammar == matcher.grammar == expected
    assert (constraint.mask() == matcher.mask()).all()
    assert matcher.fork().grammar is matcher.grammar


class Colour(Enum):
    red = "red"
    blue = "blue"


def paint(colour: Colour, times: int = 1) -> None: ...


@pytest.mark.parametrize("kind", [Colour, list[int], Literal["a", 1], int | None, paint, SimpleNamespace().__class__])
def test_types_are_taken_as_by_from_type(kind: Any) -> None:
    pytest.importorskip("pydantic")
    try:
        expected = Grammar.from_type(kind)
    except GrammarError as error:
        with pytest.raises(GrammarError, match=re.escape(error.message)):
            Matcher(kind, VOCABULARY)
    else:
        assert Constraint(kind).grammar == Matcher(kind, VOCABULARY).grammar == expected


def test_lark_objects_are_taken() -> None:
    lark = pytest.importorskip("lark")
    assert Matcher(lark.Lark(LARK), VOCABULARY).grammar == Grammar.from_lark(LARK)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (b"start: ", "not bytes; decode the text first"),
        (Path("x.lark"), "Path; give the text"),
        (["a", "b"], "not list; Grammar.from_choices"),
        (True, "not bool; Grammar.from_json_schema"),
        (None, "not NoneType$"),
        (3.5, "not float$"),
        (SimpleNamespace(engine="V8"), "not SimpleNamespace$"),
    ],
)
def test_other_values_are_refused(given: Any, said: str) -> None:
    for make in (Constraint, lambda value: Matcher(value, VOCABULARY)):
        with pytest.raises(TypeError, match=f"grammar must be a Grammar, the text of a grammar, .*{said}"):
            make(given)


def test_a_wrong_vocabulary_is_refused() -> None:
    for make in (Constraint, Matcher):
        with pytest.raises(TypeError, match="vocabulary must be a Vocabulary, not str; make one with"):
            make(LARK, "gpt2")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("start: x", "rule `x` is not defined"),  # Lark
        ("root ::= x", "rule `x` is not defined"),  # GBNF, read as such
        ('{"type": "text"}', "`type` must be one of"),
        ('{"type": ', "the schema is not JSON"),
        ('root ::= "a"\nstart: "a"', "line 1"),  # neither
    ],
)
def test_errors_of_texts_are_those_of_their_syntax(text: str, said: str) -> None:
    with pytest.raises(GrammarError, match=said):
        as_grammar(text)


def test_lists_are_grammars_of_several_prompts() -> None:
    one = Grammar.from_lark(LARK)
    assert as_grammars([LARK, one, SCHEMA]) == (one, one, Grammar.from_json_schema(SCHEMA))
    assert as_grammars(each for each in (LARK,)) == (one,)
    assert as_grammars(SCHEMA) == (Grammar.from_json_schema(SCHEMA),)
    assert as_grammars([]) == ()
    with pytest.raises(TypeError, match="not bytes"):
        as_grammars(b"start: ")


def test_types_that_can_be_iterated_are_one_grammar() -> None:
    pytest.importorskip("pydantic")
    for kind in (Colour, list[int], tuple[int, str]):
        assert as_grammars(kind) == (Grammar.from_type(kind),)


def test_forks_keep_the_engine_of_their_matcher() -> None:
    """A grammar makes a new engine for later matchers when matching has added much to the one before."""

    class Renewing:
        @property
        def engine(self) -> Any:
            return Grammar.from_lark(LARK).engine

    matcher = Matcher(Renewing(), VOCABULARY)
    matcher.mask()
    assert matcher.fork().stats() == matcher.stats()
