"""What `help` and editors show of the public API: signatures with names, each argument on a line."""

from __future__ import annotations

import ast
import inspect
import pydoc
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest

import earleymask
from earleymask.grammar.json_schema import options
from earleymask.grammar.regex import Dialect
from support.paths import ROOT

WIDTH = 100
"""The most characters of one argument with its type and its default value."""


def callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield what users call: functions, classes, and the public methods of classes."""
    for name in earleymask.__all__:
        found = getattr(earleymask, name)
        if not callable(found):
            continue
        yield name, found
        for member in vars(found) if inspect.isclass(found) else ():
            if not member.startswith("_") and callable(getattr(found, member)):
                yield f"{name}.{member}", getattr(found, member)


@pytest.mark.parametrize(("name", "function"), list(callables()))
def test_help_shows_a_signature_of_one_line(name: str, function: Callable[..., Any]) -> None:
    if inspect.isclass(function) and issubclass(function, (Exception, tuple)):
        return  # users do not make these
    if name != "Grammar":  # which only says that its class methods make one
        parameters = inspect.signature(function).parameters.values()
        assert not {p.name for p in parameters} & {"args", "kwargs"}, "the names of the arguments are hidden"
        assert all(len(str(parameter)) <= WIDTH for parameter in parameters)
    lines = pydoc.plain(pydoc.render_doc(function)).splitlines()
    shown = [line for line in lines[1:] if f"{name.rpartition('.')[2]}(" in line]
    assert shown and shown[0].count("(") == shown[0].count(")"), "the signature has line breaks"


def test_limits_show_what_differs_from_the_default() -> None:
    limits = earleymask.Limits(seconds=2.5, nesting=10)
    assert repr(limits) == "Limits(nesting=10, seconds=2.5)"
    assert eval(repr(limits), {"Limits": earleymask.Limits}) == limits
    assert repr(earleymask.Limits()) == "Limits()"


def test_the_options_of_types_are_those_of_schemas() -> None:
    """`SchemaOptions` declares to type checkers what `from_json_schema` takes: the same names, with the same types."""
    parameters = inspect.signature(earleymask.Grammar.from_json_schema).parameters
    declared = {name: kind.__forward_arg__ for name, kind in options.SchemaOptions.__annotations__.items()}
    assert declared == {name: p.annotation for name, p in parameters.items() if p.kind == p.KEYWORD_ONLY}
    # Each option that is no argument of loading is a field of `Options`, with the same default.
    defaults = {name: p.default for name, p in parameters.items() if name in options.Options._fields}
    assert defaults == options.Options._field_defaults
    assert declared.keys() - defaults.keys() == {"registry", "limits"}


def test_words_that_types_allow_are_those_that_the_check_allows() -> None:
    words = {
        "whitespace": options.Whitespace,
        "property_order": options.PropertyOrder,
        "spellings": options.Spellings,
        "string_escapes": options.StringEscapes,
        "draft": options.Draft,
    }
    for name, alias in words.items():
        for word in get_args(alias):
            earleymask.Grammar.from_json_schema({}, **{name: word})
        known = ", ".join(map(repr, get_args(alias)))
        with pytest.raises(ValueError, match=rf"{name} must be one of {known}(, None)?, not 'pretty'"):
            earleymask.Grammar.from_json_schema({}, **{name: "pretty"})
    for dialect in get_args(Dialect):
        earleymask.Grammar.from_regex("a", dialect=dialect)
    with pytest.raises(ValueError, match="unknown dialect 'perl'"):
        earleymask.Grammar.from_regex("a", dialect="perl")  # type: ignore[arg-type]


def test_the_docstring_explains_every_option_of_schemas() -> None:
    tree = ast.parse((ROOT / "grammar" / "grammar.py").read_text(encoding="utf-8"))
    function = next(node for node in ast.walk(tree) if getattr(node, "name", "") == "from_json_schema")
    assert isinstance(function, ast.FunctionDef)
    said = ast.get_docstring(function) or ""
    for argument in function.args.kwonlyargs:
        assert f" {argument.arg}:" in said or f" {argument.arg}," in said, argument.arg
