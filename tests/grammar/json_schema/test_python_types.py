"""`Grammar.from_type`: its documents are the values of a Python type, as pydantic reads and writes them."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, NewType

import pytest

pydantic = pytest.importorskip("pydantic")

from pydantic import BaseModel, Field, TypeAdapter, ValidationError, validate_call  # noqa: E402
from typing_extensions import TypedDict  # noqa: E402

from campaign.schema_checks import accepts  # noqa: E402
from earleymask import Constraint, Grammar, GrammarError, Matcher, Vocabulary  # noqa: E402


class Colour(Enum):
    RED = "red"
    TWO = 2


class Point(NamedTuple):
    x: int
    label: str


class Movie(TypedDict):
    __pydantic_config__ = {"extra": "forbid"}  # type: ignore[misc]  # noqa: RUF012
    title: str
    year: int


@dataclass
class Box:
    side: int


class Model(BaseModel):
    name: str


UserId = NewType("UserId", int)

CASES: list[tuple[Any, list[str]]] = [
    (list[int], ["[]", "[1, 2]", '["a"]', "1", "[1.5]"]),
    (Literal["a", 1], ['"a"', "1", '"b"', "2"]),
    (int | None, ["1", "null", '"1"', "true"]),
    (dict[str, bool], ['{"a": true}', "{}", '{"a": 1}']),
    (tuple[int, str], ['[1, "a"]', "[1]", '["a", 1]']),
    (Colour, ['"red"', "2", '"blue"', "1"]),
    (Point, ['[1, "a"]', "[1]"]),
    (Movie, ['{"title": "M", "year": 1931}', '{"title": "M"}', '{"title": "M", "year": "x"}', "[]"]),
    (Box, ['{"side": 3}', '{"side": "x"}', "{}"]),
    (Model, ['{"name": "n"}', '{"name": 1}', "{}"]),
    (UserId, ["7", '"7"']),
    (Annotated[int, Field(gt=3)], ["4", "3"]),
    (list[Model], ['[{"name": "n"}]', "[{}]"]),
]


@pytest.mark.parametrize(("kind", "texts"), CASES, ids=lambda case: str(case)[:40])
def test_the_documents_are_those_that_pydantic_reads(kind: Any, texts: list[str]) -> None:
    adapter = TypeAdapter(kind)
    grammar = Grammar.from_type(kind)
    assert grammar == Grammar.from_json_schema(adapter.json_schema()) == Grammar.from_type(adapter)
    answers = set()
    for text in texts:
        try:
            adapter.validate_json(text, strict=True)
            is_read = True
        except ValidationError:
            is_read = False
        assert accepts(grammar, text) == is_read, text
        answers.add(is_read)
    assert answers == {True, False}


def paint(colour: Literal["red", "blue"], times: int = 1, *, where: list[str] | None = None) -> tuple[Any, ...]:
    return colour, times, where


def scale(by, to=1):  # type: ignore[no-untyped-def]
    return by * to


scale.__annotations__ = {"by": int, "to": int}  # as types: pydantic does not look up names for `partial`


class Painter:
    def paint(self, times: int) -> int:
        return times


@pytest.mark.parametrize(
    ("function", "texts"),
    [
        (paint, ['{"colour": "red"}', '{"colour": "blue", "times": 3, "where": ["x"]}', "{}", '{"colour": "pink"}']),
        (paint, ['{"colour": "red", "other": 1}', '{"colour": "red", "times": 1.5}', '{"colour": "red", "where": []}']),
        (Painter().paint, ['{"times": 2}', "{}", '{"self": 1, "times": 2}']),
        (partial(scale, 3), ["{}", '{"to": 2}', '{"to": "x"}']),
        (lambda x: x, ['{"x": [null]}', '{"y": 1}']),
    ],
)
def test_the_documents_of_a_function_are_its_arguments(function: Any, texts: list[str]) -> None:
    grammar = Grammar.from_type(function)
    for text in texts:
        try:
            validate_call(function, config={"strict": True})(**json.loads(text))
            fits = True
        except ValidationError:
            fits = False
        assert accepts(grammar, text) == fits, text


def test_names_in_annotations_are_those_of_the_caller() -> None:
    Side = Literal["left", "right"]

    def turn(side: "Side") -> None: ...  # noqa: UP037

    local = list["Side"]
    expected = Grammar.from_type(list[Side])
    assert Grammar.from_type(local) == expected == Matcher(local, Vocabulary.bytes()).grammar
    assert Constraint(local).grammar == expected
    assert accepts(Grammar.from_type(turn), '{"side": "left"}')


def test_options_are_those_of_schemas() -> None:
    grammar = Grammar.from_type(list[int], whitespace="compact")
    assert grammar == Grammar.from_json_schema(TypeAdapter(list[int]).json_schema(), whitespace="compact")
    assert accepts(grammar, "[1,2]") and not accepts(grammar, "[1, 2]")
    with pytest.raises(TypeError, match="unexpected keyword"):
        Grammar.from_type(int, start="x")  # type: ignore[call-arg, unused-ignore]


def test_what_has_no_schema_is_refused() -> None:
    class Plain:
        pass

    def mixed(a: int, /, *, b: int) -> None: ...

    for kind in (Plain, mixed, complex(1)):
        with pytest.raises(GrammarError, match="pydantic makes no schema of ") as caught:
            Grammar.from_type(kind)
        assert "For further information" not in str(caught.value)
    with pytest.raises(GrammarError, match=r"NotDefined") as caught:
        Grammar.from_type(list["NotDefined"])  # type: ignore[name-defined]  # noqa: F821
    assert "TypeAdapter where the names are defined" in (caught.value.hint or "")


@pytest.mark.parametrize("given", [{"type": "string"}, '{"type": "string"}', True, b"{}"])
def test_schemas_are_not_types(given: Any) -> None:
    with pytest.raises(TypeError, match=r"from_type takes a type, not .*from_json_schema takes schemas"):
        Grammar.from_type(given)


def test_without_pydantic_the_error_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pydantic", None)
    for make in (lambda: Grammar.from_type(list[int]), lambda: Matcher(list[int], Vocabulary.bytes())):
        with pytest.raises(
            GrammarError, match=r"the schema of list\[int\] is made by pydantic, which is not"
        ) as caught:
            make()
        assert "pip install pydantic" in (caught.value.hint or "")
