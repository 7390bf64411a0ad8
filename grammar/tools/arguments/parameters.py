"""Arguments as a list of keys and values, each between tags.

Strings have no quotes and no escapes: they end at the first closing tag. All other values are JSON. Some notations say
of which type a value is; for the others, the schema says it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..style import fields
from .source import Source, json_text, literal, member_text, starts_with, until, white
from .typed import member, text_of, type_of, types, value_of

if TYPE_CHECKING:
    from .notation import Reading

_TYPE_NAMES = {"integer": "number"}  # the one number type of notations that name types


@dataclass(frozen=True)
class Parameters:
    """Tags around each key and value.

    Attributes:
        style: the style of `json_schema` in structural tags.
        template: template of one argument, with `${key}` and `${value}`, and with `${string}` (`true` or `false`) or
            `${type}` between them if the notation tells the type.
        pad: the text around each value, which does not belong to it.
        joint: the text between two arguments.
        end: the text after the last argument.
        escapes: texts that stand for characters in keys.
    """

    style: str
    template: str
    pad: str = ""
    joint: str = "\n"
    end: str = ""
    escapes: tuple[tuple[str, str], ...] = ()

    def form(self, schema: Any, pointer: str) -> Any:
        return {"type": "json_schema", "json_schema": schema, "style": self.style}

    def text_form(self, form: Any) -> Any:
        opening, closing = self.filled("input", "string").split("\0")
        opening = f"{opening}{self.pad}"
        if form is None:
            form = {"type": "any_text", "excludes": [closing]}
        closing = f"{self.pad}{closing}{self.end}"
        elements = [{"type": "const_string", "value": opening}, form, {"type": "const_string", "value": closing}]
        return {"type": "sequence", "elements": elements}

    def escaped(self, key: str) -> str:
        for char, escape in self.escapes:
            key = key.replace(char, escape)
        return key

    def filled(self, key: str, kind: str) -> str:
        """Return the text of an argument with the character NUL in place of its value."""
        told = {"type": _TYPE_NAMES.get(kind, kind), "string": json.dumps(kind == "string")}
        values = {"key": self.escaped(key), "value": "\0", **told}
        return "".join([part if not i % 2 else values[part] for i, part in enumerate(fields(self.template))])

    def write(self, arguments: dict[str, Any], schema: Any) -> str:
        found = []
        tells = "${type}" in self.template or "${string}" in self.template
        parts = fields(self.template)
        closing = parts[-1]
        for key, value in arguments.items():
            kind = type_of(value)
            if isinstance(value, float):
                kind = "number"
            if tells:
                text = value if kind == "string" else json.dumps(value, ensure_ascii=False)
            else:
                text = text_of(value, None if schema is None else member(schema, schema, key), schema)
            if kind == "string" and closing.strip() in text:
                raise ValueError(f"the value of {key!r} has the text {closing.strip()!r}, which ends it")
            opening, _ = self.filled(key, kind).split("\0")
            escaped = self.escaped(key)
            if not key or parts[2].partition("><")[0] in escaped:
                raise ValueError(f"the key {key!r} cannot be written")
            found.append(f"{opening}{self.pad}{text}{self.pad}{closing}")
        return self.joint.join(found) + (self.end if found else "")

    def read(self, source: Source, schema: Any, emit: Callable[[str], None]) -> Reading:
        parts = fields(self.template)
        found: dict[str, Any] = {}
        while True:
            yield from white(source)
            more = yield from starts_with(source, parts[0])
            if not more:
                emit("}" if found else "{}")
                return found
            source.pos += len(parts[0])
            key_end, _, rest = parts[2].partition("><")
            key = yield from until(source, f"{key_end}>" if rest else key_end)
            if rest:
                yield from literal(source, f" <{rest}")
            for char, escape in reversed(self.escapes):
                key = key.replace(escape, char)
            told = ""
            if len(parts) > 5:
                told = yield from until(source, parts[4])
            own = None if schema is None else member(schema, schema, key)
            value = yield from self._value(source, own, schema, told)
            emit(member_text(key, value, not found))
            found[key] = value

    def _value(self, source: Source, schema: Any, root: Any, told: str) -> Generator[None, None, Any]:
        closing = fields(self.template)[-1].strip()
        kinds = types(schema, root) if schema is not None else frozenset(("string",))
        if told:
            is_json = told not in ("string", "true")
        else:
            is_json = "string" not in kinds
        if is_json:
            position = source.position
            text = yield from json_text(source)
            yield from literal(source, f" {closing}")
            try:
                return json.loads(text)
            except ValueError:
                raise source.mismatch(f"a JSON value from character {position} on") from None
        text = yield from until(source, closing)
        if self.pad:
            text = text.removeprefix(self.pad).removesuffix(self.pad)
        return text if told else value_of(text, schema, root)


def _dsml(blank: str) -> str:
    return f'<｜DSML｜{blank}parameter name="${{key}}" string="${{string}}">${{value}}</｜DSML｜{blank}parameter>'


NOTATIONS = {
    "qwen_xml": Parameters("qwen_xml", "<parameter=${key}>${value}</parameter>", pad="\n"),
    "minimax_xml": Parameters("minimax_xml", '<parameter name="${key}">${value}</parameter>', end="\n"),
    "deepseek_xml": Parameters("deepseek_xml", _dsml(""), end="\n"),
    "deepseek_v4_1_xml": Parameters("deepseek_v4_1_xml", _dsml(" "), end="\n"),
    "glm_xml": Parameters("glm_xml", "<arg_key>${key}</arg_key><arg_value>${value}</arg_value>", joint=""),
    "kimi_k3_xml": Parameters(
        "kimi_k3_xml",
        '<|open|>argument key="${key}" type="${type}"<|sep|>${value}<|close|>argument<|sep|>',
        joint="",
        escapes=(("&", "&amp;"), ('"', "&quot;")),
    ),
}
