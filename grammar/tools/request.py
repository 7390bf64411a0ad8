"""From a request with tools to a structural tag, and from errors about the tag to errors about the request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import GrammarError
from .definitions import Strict, Tool, read_choice, read_tools
from .style import Style, find
from .tag import Reasoning, structural_tag


class Request:
    """The structural tag of a request, and which of its values come from which definition.

    Attributes:
        tag: the structural tag, a dict. Custom tools with a grammar have a `Grammar` in it.
    """

    def __init__(
        self,
        tools: Iterable[Any],
        style: str | Style,
        tool_choice: Any,
        parallel: bool,
        strict: Strict,
        reasoning: Reasoning,
        make: Any,
    ) -> None:
        """`make(syntax, definition)` makes a `Grammar`."""
        found = find(style)
        known = read_tools(tools, strict, found)
        choice = read_choice(tool_choice, known)
        self._make = make
        self._grammars: dict[str, Any] = {}
        self._schemas = {id(tool.parameters): tool.schema_pointer for tool in choice.tools if tool.parameters}
        self.tag = structural_tag(found, choice, parallel, reasoning, self._input_form)

    def _input_form(self, tool: Tool, quoted: bool) -> Any:
        if tool.format is None:
            return {"type": "json_schema", "json_schema": {"type": "string"}, "style": "json"} if quoted else None
        grammar = self._grammars.get(tool.name)
        if grammar is None:
            try:
                grammar = self._make(tool.format.syntax, tool.format.definition)
            except GrammarError as error:
                for one in error.errors:
                    one.pointer = tool.format.pointer
                raise
            self._grammars[tool.name] = grammar
        return {"type": "json_string", "content": grammar} if quoted else grammar

    def placed(self, error: GrammarError) -> GrammarError:
        """Return an error about the tag, with the place in the request if the value comes from there."""
        for one in error.errors:
            one.pointer = self._place(one.pointer)
        return error

    def _place(self, pointer: str | None) -> str | None:
        if not pointer:
            return pointer
        value: Any = self.tag
        parts = pointer.split("/")[1:]
        for index, part in enumerate(parts):
            name = part.replace("~1", "/").replace("~0", "~")
            if isinstance(value, list) and name.isdigit() and int(name) < len(value):
                value = value[int(name)]
            elif isinstance(value, dict) and name in value:
                value = value[name]
            else:
                break
            place = self._schemas.get(id(value))
            if place is not None:
                return "".join([place, *[f"/{rest}" for rest in parts[index + 1 :]]])
        return pointer
