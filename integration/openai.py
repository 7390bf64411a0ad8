"""Grammars for OpenAI's client: what it sends to servers that enforce them.

    client.chat.completions.create(..., extra_body=extra_body(grammar))

    @custom_tool('start: "print(" /[a-z]+/ ")"')
    def run(program: str) -> str: ...

    client.responses.create(..., tools=[run.definition])

`earleymask serve` and vLLM read `structured_outputs`. `earleymask serve` and OpenAI's own servers enforce the grammars
of custom tools. Neither torch nor the package `openai` is needed.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from ..arguments import as_grammar
from ..errors import GrammarError
from ..grammar import Grammar
from .server.constraints import grammar_of, read_structured
from .server.fields import Fields

__all__ = ["CustomTool", "custom_tool", "extra_body"]

_FIELDS = {
    "lark": "grammar",
    "gbnf": "grammar",
    "regex": "regex",
    "choices": "choice",
    "json_schema": "json",
    "structural_tag": "structural_tag",
}
"""The fields of `structured_outputs`, by the kinds of grammars."""


def extra_body(grammar: Any, *, fit_max_tokens: bool = False) -> dict[str, Any]:
    """Return fields of a request's body that demand an answer of a grammar.

    Args:
        grammar: a `Grammar`, or what `Constraint` makes one of.
        fit_max_tokens: whether the answer must be complete within `max_tokens`; `earleymask serve` alone knows it.

    Raises ValueError if the fields cannot say what the grammar is, because it has options such as flags of a regular
    expression, `property_order="any"`, or grammars that it names with `@` or has been made of (`Grammar.union`).
    """
    made = as_grammar(grammar)
    field = _FIELDS[made.kind]
    body: dict[str, Any] = {field: json.loads(made.source) if field == "choice" else made.source}
    options = json.loads(made.options) if made.kind == "json_schema" else {}
    if options.get("whitespace") == "compact":
        body["disable_any_whitespace"] = True
    if options.get("closed"):
        body["disable_additional_properties"] = True
    read = read_structured(Fields({**body}, "structured_outputs"))
    assert read is not None
    try:
        is_same = grammar_of(read).fingerprint == made.fingerprint
    except GrammarError:  # it has been made of other grammars
        is_same = False
    if not is_same:
        raise ValueError(
            "structured_outputs cannot say how this grammar is to be read; make it without options, and of one text "
            "rather than of other grammars"
        )
    return {"structured_outputs": body, **({"fit_max_tokens": True} if fit_max_tokens else {})}


@dataclass(frozen=True)
class CustomTool:
    """A function that a model calls with a text, and the grammar of that text. Calling it calls the function."""

    function: Callable[[str], Any]
    name: str
    description: str
    syntax: Literal["lark", "regex"]
    grammar: str

    def __call__(self, text: str) -> Any:
        return self.function(text)

    @property
    def definition(self) -> dict[str, Any]:
        """The tool as responses take it."""
        form = {"type": "grammar", "syntax": self.syntax, "definition": self.grammar}
        return {"type": "custom", "name": self.name, "description": self.description, "format": form}

    @property
    def chat_definition(self) -> dict[str, Any]:
        """The tool as chat completions take it."""
        form = {"type": "grammar", "grammar": {"syntax": self.syntax, "definition": self.grammar}}
        return {
            "type": "custom",
            "custom": {"name": self.name, "description": self.description, "format": form},
        }


def custom_tool(
    grammar: str, *, syntax: Literal["lark", "regex"] = "lark", name: str | None = None
) -> Callable[[Callable[[str], Any]], CustomTool]:
    """Return a decorator that makes a custom tool of a function of one text.

    Args:
        grammar: the grammar of the text.
        syntax: how it is written.
        name: the tool's name; None: that of the function. The function's docstring is the description.

    Raises GrammarError if the grammar is malformed, when the decorator is made.
    """
    Grammar.from_regex(grammar) if syntax == "regex" else Grammar.from_lark(grammar)

    def decorate(function: Callable[[str], Any]) -> CustomTool:
        about = inspect.getdoc(function) or ""
        return CustomTool(function, name or str(getattr(function, "__name__", "tool")), about, syntax, grammar)

    return decorate
