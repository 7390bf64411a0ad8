"""Requests of mixed kinds for the loops of other packages, with validators that know nothing of earleymask."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import jsonschema
import lark

from earleymask import Grammar, GrammarError, Limits, VocabularyError

SCHEMA = {
    "type": "object",
    "properties": {"name": {"enum": ["Ada", "Bob"]}, "n": {"type": "integer", "minimum": -20, "maximum": 500}},
    "required": ["name", "n"],
    "additionalProperties": False,
}
LIST = 'start: "[" (ITEM ("," ITEM)~0..4)? "]"\nITEM: /[a-zé]{1,3}/'
DATE = r"(19|20)[0-9]{2}-(0[1-9]|1[0-2])"
WORDS = ["left", "right", "leftmost", "", "äöü"]
_ROWS = [f"r{number}" for number in range(60)]
LIMITED = f'start: "abc" ({" | ".join(_ROWS)})\n' + "\n".join([f'{row}: "x" "{row}"' for row in _ROWS])
"""A grammar that meets `row_items=30` after three characters, and no sooner."""


def _is_instance(text: str) -> bool:
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(json.loads(text))


def _is_list(text: str) -> bool:
    return lark.Lark(LIST, parser="earley", lexer="dynamic_complete").parse(text) is not None


VALIDATORS: dict[str, Callable[[str], bool]] = {
    "schema": _is_instance,
    "lark": _is_list,
    "regex": lambda text: re.fullmatch(DATE, text) is not None,
    "choices": lambda text: text in WORDS,
}
"""Whether a finished text is right, for each kind."""
KINDS = tuple(VALIDATORS)


@cache
def grammar_of(kind: str) -> Grammar:
    """Return the grammar of a kind of `KINDS`, or of "limited"."""
    if kind == "schema":
        return Grammar.from_json_schema(SCHEMA, whitespace="compact")
    if kind == "lark":
        return Grammar.from_lark(LIST)
    if kind == "regex":
        return Grammar.from_regex(DATE)
    if kind == "choices":
        return Grammar.from_choices(WORDS)
    assert kind == "limited"
    return Grammar.from_lark(LIMITED, limits=Limits(row_items=30))


def is_valid(kind: str, text: bytes | str) -> bool:
    """Return whether a text is a sentence of a kind, by a validator that is not earleymask's."""
    given: Any = text if isinstance(text, str) else text.decode("utf-8")
    try:
        return VALIDATORS[kind](given)
    except (ValueError, lark.exceptions.LarkError):
        return False


def check_refusals(make: Callable[[Any], object]) -> None:
    """Assert that an adapter refuses a wrong grammar with its place, and one that needs a token which is not there."""
    grammars: tuple[tuple[Any, type[Exception], str], ...] = (
        ('start: "a"\n    | item', GrammarError, "line 2, column 7"),
        ({"type": "strin"}, GrammarError, "#/type"),
        (Grammar.from_lark('start: "a" <|nothing|>'), VocabularyError, "<|nothing|>"),
    )
    for grammar, kind, message in grammars:
        refusal = None
        try:
            make(grammar)
        except kind as error:
            refusal = error
        assert refusal is not None and message in str(refusal), (grammar, refusal)
