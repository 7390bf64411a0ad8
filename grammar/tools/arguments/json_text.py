"""Arguments as a JSON object."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...arguments.text import written_json
from .source import Mismatch, Source, json_text, read_value, starts_with, white

if TYPE_CHECKING:
    from .notation import Reading


class JSONText:
    """JSON, as the schema's options have it written."""

    def form(self, schema: Any, pointer: str) -> Any:
        return {"type": "json_schema", "json_schema": schema, "style": "json"}

    def text_form(self, form: Any) -> Any:
        return None

    def write(self, arguments: dict[str, Any], schema: Any) -> str:
        return written_json(arguments, "an object of arguments")

    def read(self, source: Source, schema: Any, emit: Callable[[str], None]) -> Reading:
        yield from white(source)
        position = source.position
        opens = yield from starts_with(source, "{")
        if not opens:
            raise Mismatch("a JSON object", position)
        text = yield from json_text(source, emit)
        found: dict[str, Any] = read_value(text, "a JSON object", position)
        return found


JSON = JSONText()
