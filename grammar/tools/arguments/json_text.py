"""Arguments as a JSON object."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .source import Mismatch, Source, json_text, starts_with, white

if TYPE_CHECKING:
    from .notation import Reading


class JSONText:
    """JSON, as the schema's options have it written."""

    def form(self, schema: Any, pointer: str) -> Any:
        return {"type": "json_schema", "json_schema": schema, "style": "json"}

    def text_form(self, form: Any) -> Any:
        return None

    def write(self, arguments: dict[str, Any], schema: Any) -> str:
        return json.dumps(arguments, ensure_ascii=False)

    def read(self, source: Source, schema: Any, emit: Callable[[str], None]) -> Reading:
        yield from white(source)
        position = source.position
        opens = yield from starts_with(source, "{")
        if not opens:
            raise Mismatch("a JSON object", position)
        text = yield from json_text(source, emit)
        try:
            value = json.loads(text)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise Mismatch("a JSON object", position)
        return value


JSON = JSONText()
