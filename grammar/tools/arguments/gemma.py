"""Arguments as Gemma writes them: JSON with keys without quotes, and strings between tokens of their own.

    city:<|"|>Paris<|"|>,days:3,units:[<|"|>C<|"|>]

Structural tags have no style for this notation, so a schema becomes a tree of formats here. Objects have the members
that their schema names, in its order. A keyword that these formats cannot express is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ....earley._meter import tick
from ...arguments.text import written_json
from ...errors import GrammarError, GrammarLimitError
from ...json_schema.grammar import read_schema
from ...json_schema.options import DEFAULT_OPTIONS
from .source import Source, json_text, literal, member_text, read_value, starts_with, until, white

if TYPE_CHECKING:
    from .notation import Reading

_KEY = re.compile(r"[^\s:{}\[\],<>\"']+")
_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_NOTES = frozenset(("title", "description", "$comment", "default", "examples", "deprecated", "readOnly", "writeOnly"))
_SAYING_NOTHING = _NOTES | {"$schema", "$id", "$defs", "definitions"}
_DEEPEST = 32  # levels of a schema; a recursive one is beyond any bound
_MOST_FORMS = 10_000
"""The most formats that a schema becomes: what several `$ref` lead to is written out for each of them. Beyond it,
GrammarLimitError is raised."""
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "array": (list,),
    "object": (dict,),
    "integer": (int,),
    "number": (int, float, Decimal),
    "boolean": (bool,),
    "null": (type(None),),
}
_ANY_OBJECT = r"""
root ::= (pair ("," pair)*)?
pair ::= Regex("[^\\s:{{}}\\[\\],<>\"']+") ":" value
value ::= string | number | "true" | "false" | "null" | "[" (value ("," value)*)? "]" | "{{" root "}}"
number ::= "-"? ("0" | [1-9] [0-9]*) ("." [0-9]+)? ([eE] [-+]? [0-9]+)?
string ::= {quote} Regex("(?:(?!{pattern})(?s:.))*") {quote}
"""


class _Document:
    """A schema as a whole, and how many formats it has become."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self.n_forms = 0


@dataclass(frozen=True)
class GemmaText:
    """The notation with the text that stands before and after strings."""

    quote: str

    def form(self, schema: Any, pointer: str) -> Any:
        if schema == {"type": "object"}:  # nothing is demanded of the arguments
            pattern = re.escape(self.quote).replace("\\", "\\\\").replace('"', '\\"')
            return {"type": "grammar", "grammar": _ANY_OBJECT.format(quote=json.dumps(self.quote), pattern=pattern)}
        try:
            read_schema(schema, DEFAULT_OPTIONS)  # to refuse what is malformed, or has no document, with its place
        except GrammarError as error:
            for one in error.errors:
                one.pointer = pointer + (one.pointer or "")
            raise
        return self._members(schema, _Document(schema), pointer, 0)

    def text_form(self, form: Any) -> Any:
        if form is None:
            form = {"type": "any_text", "excludes": [self.quote]}
        return _sequence([_const(f"input:{self.quote}"), form, _const(self.quote)])

    def write(self, arguments: dict[str, Any], schema: Any) -> str:
        return self._text(arguments)[1:-1]

    def _text(self, value: Any) -> str:
        if isinstance(value, str):
            if self.quote in value:
                raise ValueError(f"a string has the text {self.quote!r}, which ends it")
            return f"{self.quote}{value}{self.quote}"
        if isinstance(value, (list, tuple)):
            return f"[{','.join([self._text(item) for item in value])}]"
        if isinstance(value, dict):
            for key in value:
                if not isinstance(key, str) or not _KEY.fullmatch(key):
                    raise ValueError(f"the key {key!r} cannot be written without quotes")
            return f"{{{','.join([f'{key}:{self._text(item)}' for key, item in value.items()])}}}"
        return written_json(value, f"a value of type {type(value).__name__}")

    # Formats

    def _form(self, schema: Any, root: _Document, pointer: str, depth: int) -> Any:
        tick()
        if depth > _DEEPEST:
            raise _refused("a recursive schema", pointer)
        root.n_forms += 1
        if root.n_forms > _MOST_FORMS:
            message = f"the schema becomes more than {_MOST_FORMS} formats in the notation of Gemma"
            raise GrammarLimitError(message, pointer=pointer, hint="simplify the schema, or use it in fewer places")
        schema = _resolved(schema, root, pointer)
        if not isinstance(schema, dict):
            raise _refused("a value of any type", pointer)
        depth += 1
        for key in ("enum", "const"):
            if key in schema:
                _check(schema, {key, "type"}, pointer)
                values = _of_type(schema[key] if key == "enum" else [schema[key]], schema.get("type"))
                if not values:
                    raise GrammarError(f"no value of {key!r} has the type", pointer=_at(pointer, key))
                try:
                    return _either([_const(self._text(value)) for value in values])
                except ValueError as error:
                    raise _refused(str(error), f"{pointer}/{key}") from None
        if "anyOf" in schema:
            _check(schema, {"anyOf"}, pointer)
            branches = enumerate(schema["anyOf"])
            return _either([self._form(branch, root, f"{pointer}/anyOf/{i}", depth) for i, branch in branches])
        if "allOf" in schema and len(schema["allOf"]) == 1:
            _check(schema, {"allOf"}, pointer)
            return self._form(schema["allOf"][0], root, f"{pointer}/allOf/0", depth)
        kind = schema.get("type")
        if isinstance(kind, list):
            return _either([self._form({**schema, "type": one}, root, pointer, depth) for one in kind])
        if kind == "string":
            return self._string(schema, pointer)
        if kind == "array":
            return self._array(schema, root, pointer, depth)
        if kind == "object":
            return _sequence([_const("{"), self._members(schema, root, pointer, depth), _const("}")])
        if kind in ("integer", "number", "boolean", "null"):
            _check(schema, {"type", *_NUMBERS}, pointer)
            plain = {key: schema[key] for key in ("type", *_NUMBERS) if key in schema}
            return {"type": "json_schema", "json_schema": plain, "style": "json"}
        raise _refused("a value of any type", pointer)

    def _string(self, schema: Any, pointer: str) -> Any:
        _check(schema, {"type", "minLength", "maxLength"}, pointer)
        least, most = _counts(schema, "minLength", "maxLength", pointer)
        form: Any = {"type": "any_text", "excludes": [self.quote]}
        if least or most is not None:
            other = f"(?:[^{re.escape(self.quote[0])}]|{re.escape(self.quote[0])}(?!{re.escape(self.quote[1:])}))"
            form = {"type": "regex", "pattern": f"{other}{{{least},{'' if most is None else most}}}"}
        return _sequence([_const(self.quote), form, _const(self.quote)])

    def _array(self, schema: Any, root: _Document, pointer: str, depth: int) -> Any:
        _check(schema, {"type", "items", "minItems", "maxItems"}, pointer)
        least, most = _counts(schema, "minItems", "maxItems", pointer)
        empty, opening, closing = _const("[]"), _const("["), _const("]")
        if most == 0:
            return empty
        item = self._form(schema.get("items", True), root, f"{pointer}/items", depth)
        others = {
            "type": "repeat",
            "min": max(0, least - 1),
            "max": -1 if most is None else most - 1,
            "content": _sequence([_const(","), item]),
        }
        full = _sequence([opening, item, others, closing])
        return full if least else _either([empty, full])

    def _members(self, schema: Any, root: _Document, pointer: str, depth: int) -> Any:
        schema = _resolved(schema, root, pointer)
        _check(schema, {"type", "properties", "required", "additionalProperties"}, pointer)
        if isinstance(schema.get("additionalProperties"), dict):
            raise _refused("keys that the schema does not name", f"{pointer}/additionalProperties")
        properties = schema.get("properties", {})
        required = schema.get("required", ())
        for key in required:
            if key not in properties:
                raise _refused(f"the required key {key!r} without a schema", f"{pointer}/required")
        members = []
        for key, own in properties.items():
            if not _KEY.fullmatch(key):
                raise _refused(f"the key {key!r}", _at(f"{pointer}/properties", key))
            form = self._form(own, root, _at(f"{pointer}/properties", key), depth + 1)
            members.append((_sequence([_const(f"{key}:"), form]), key in required))
        return _list_of(members)

    # Reading

    def read(self, source: Source, schema: Any, emit: Callable[[str], None]) -> Reading:
        found: dict[str, Any] = {}
        while True:
            yield from white(source)
            ends = yield from starts_with(source, "}")
            if ends:
                emit("}" if found else "{}")
                return found
            if found:
                yield from literal(source, ", ")
            key, value = yield from self._read_member(source)
            emit(member_text(key, value, not found))
            found[key] = value

    def _read_member(self, source: Source) -> Generator[None, None, tuple[str, Any]]:
        quoted = yield from starts_with(source, self.quote)
        if quoted:
            source.pos += len(self.quote)
            key = yield from until(source, self.quote)
            yield from literal(source, " :")
        else:
            key = yield from until(source, ":")
        value = yield from self._read_value(source)
        return key.strip(), value

    def _read_value(self, source: Source) -> Generator[None, None, Any]:
        yield from white(source)
        is_string = yield from starts_with(source, self.quote)
        if is_string:
            source.pos += len(self.quote)
            text = yield from until(source, self.quote)
            return text
        for opening, closing in ("{}", "[]"):
            opens = yield from starts_with(source, opening)
            if not opens:
                continue
            source.pos += 1
            pairs: list[tuple[str, Any]] = []
            while True:
                yield from white(source)
                ends = yield from starts_with(source, closing)
                if ends:
                    source.pos += 1
                    return dict(pairs) if opening == "{" else [item for _, item in pairs]
                if pairs:
                    yield from literal(source, ", ")
                if opening == "{":
                    pair = yield from self._read_member(source)
                    pairs.append(pair)
                else:
                    item = yield from self._read_value(source)
                    pairs.append(("", item))
        position = source.position
        text = yield from json_text(source)
        return read_value(text, "a number, true, false or null", position)


def _const(text: str) -> Any:
    return {"type": "const_string", "value": text}


def _sequence(elements: list[Any]) -> Any:
    return {"type": "sequence", "elements": elements}


def _either(elements: list[Any]) -> Any:
    return elements[0] if len(elements) == 1 else {"type": "or", "elements": elements}


def _list_of(members: list[tuple[Any, bool]]) -> Any:
    """Return the format of members in their order, with commas between those that are written; each may say that it is
    required."""
    after: list[Any] = []  # what follows a member that is written
    firsts: list[Any] = []  # each member that may be the first one, with what follows it
    may_be_none = True
    for form, required in reversed(members):
        with_comma = _sequence([_const(","), form])
        here = _sequence([form, *after])
        if required:
            firsts, may_be_none = [here], False
            after = [with_comma, *after]
        else:
            firsts = [here, *firsts]
            after = [{"type": "optional", "content": with_comma}, *after]
    if not firsts:
        return _const("")
    return {"type": "optional", "content": _either(firsts)} if may_be_none else _either(firsts)


def _resolved(schema: Any, document: _Document, pointer: str) -> Any:
    """Return the schema to which the `$ref` of a schema leads, if it is a pointer into the same document."""
    for _ in range(_DEEPEST):
        if not isinstance(schema, dict) or "$ref" not in schema:
            return schema
        reference = schema["$ref"]
        _check(schema, {"$ref"}, pointer)
        if not isinstance(reference, str) or (reference != "#" and not reference.startswith("#/")):
            raise _refused(f"the reference {reference!r}", _at(pointer, "$ref"))
        schema = document.root
        for part in reference.split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~")
            if isinstance(schema, list) and part.isdigit() and int(part) < len(schema):
                schema = schema[int(part)]
            elif isinstance(schema, dict) and part in schema:
                schema = schema[part]
            else:
                raise GrammarError(f"the reference {reference!r} leads nowhere", pointer=_at(pointer, "$ref"))
    raise _refused("a recursive schema", pointer)


def _check(schema: Any, known: set[str], pointer: str) -> None:
    for key in schema:
        if key not in known and key not in _SAYING_NOTHING:
            raise _refused(repr(key), _at(pointer, key))


def _of_type(values: list[Any], kind: Any) -> list[Any]:
    """Return the values that are of a type of JSON Schema, or of one of several; None: of any."""
    if kind is None:
        return values
    kinds = [kind] if isinstance(kind, str) else kind
    return [value for value in values if any([_is_of_type(value, one) for one in kinds])]


def _is_of_type(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, (float, Decimal)):
        return value == int(value)
    return isinstance(value, _TYPES[kind])


def _counts(schema: Any, least: str, most: str, pointer: str) -> tuple[int, int | None]:
    """Return two bounds, which JSON Schema lets be written as `2.0`."""
    low = int(schema.get(least, 0))
    high = int(schema[most]) if most in schema else None
    if high is not None and high < low:
        raise GrammarError(f"{most!r} is {high}, less than {least!r}, {low}", pointer=_at(pointer, most))
    return low, high


def _at(pointer: str, key: str) -> str:
    return f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}"


def _refused(what: str, pointer: str) -> GrammarError:
    hint = "change the schema, or do not enforce the arguments of this tool (strict=False)"
    return GrammarError(f"the notation of Gemma cannot enforce {what}", pointer=pointer, hint=hint).set_option("strict")


GEMMA = GemmaText('<|"|>')
FUNCTION_GEMMA = GemmaText("<escape>")
