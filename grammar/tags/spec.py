"""Read the JSON form of structural tags value by value, each checked and with its place.

The form is XGrammar's (0.2), with the older one of `structures` and `triggers`. A `Grammar` may stand wherever a format
stands. An error has the JSON pointer of the value that it is about.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ...earley.limits import Limits
from ..errors import GrammarError
from ..json_schema.read import copied, read_text
from ..json_schema.read import read as read_schema
from ..source import did_you_mean

FORMATS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "tag": (("begin", "content", "end"), ()),
    "const_string": (("value",), ()),
    "json_schema": (("json_schema",), ("style", "any_order", "max_whitespace_cnt", "excludes")),
    "grammar": (("grammar",), ()),
    "regex": (("pattern",), ()),
    "json_string": (("content",), ()),
    "any_text": ((), ("excludes", "max_tokens", "max_chars")),
    "token": (("token",), ()),
    "exclude_token": ((), ("exclude_tokens",)),
    "any_tokens": ((), ("exclude_tokens", "max_tokens")),
    "sequence": (("elements",), ()),
    "or": (("elements",), ()),
    "optional": (("content",), ()),
    "plus": (("content",), ()),
    "star": (("content",), ()),
    "repeat": (("min", "max", "content"), ()),
    "triggered_tags": (("triggers", "tags"), ("at_least_one", "stop_after_first", "excludes")),
    "token_triggered_tags": (
        ("trigger_tokens", "tags"),
        ("exclude_tokens", "at_least_one", "stop_after_first"),
    ),
    "tags_with_separator": (("tags", "separator"), ("at_least_one", "stop_after_first")),
    "dispatch": (("rules",), ("loop", "excludes")),
    "token_dispatch": (("rules",), ("loop", "exclude_tokens")),
    "qwen_xml_parameter": (("json_schema",), ()),
}
"""By type of format: the keys that it must have, and those that it may have."""

OLDER = "structural_tag"
"""The type of the older form, which is no format."""
_OLDER_KEYS = (("structures", "triggers"), ("at_least_one",))

SCHEMAS = ("json_schema", "schema")
"""The keys whose value is a JSON Schema."""

MAX_DEPTH = 100
"""The most formats within each other. They are read recursively. Beyond it, GrammarLimitError is raised."""

_GUESSED: tuple[str, ...] = (
    "tag",
    "repeat",
    "const_string",
    "json_schema",
    "grammar",
    "regex",
    "token",
    "sequence",
    "optional",
)
_GUESSED += ("triggered_tags", "token_triggered_tags", "tags_with_separator", "dispatch", "exclude_token")
"""The types that a format without a `type` may have, in the order in which they are tried."""


def pointer(path: str, *keys: str | int) -> str:
    """Return the JSON pointer of what `keys` lead to from `path`."""
    for key in keys:
        path += "/" + str(key).replace("~", "~0").replace("/", "~1")
    return path


def error(message: str, path: str, hint: str | None = None) -> GrammarError:
    return GrammarError(message, pointer=path, hint=hint)


def shown(value: Any) -> str:
    """Return a value as a message shows it."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def read(given: Any, limits: Limits) -> dict[str, Any]:
    """Return as values what a caller gives: a mapping, JSON text of one, or a pydantic model of one."""
    if isinstance(given, (bytes, bytearray)):
        try:
            given = bytes(given).decode()
        except UnicodeDecodeError as problem:
            byte = f"byte {problem.start} is {problem.object[problem.start]:#04x}"
            raise GrammarError(f"the structural tag is not UTF-8: {byte}") from None
    if isinstance(given, str):
        given = read_text(given, "structural tag")
    elif isinstance(given, Mapping):
        given = copied(given, "the structural tag", limits)
    elif hasattr(given, "model_dump"):
        given = copied(given.model_dump(by_alias=True), "the structural tag", limits)
    if not isinstance(given, dict):
        raise GrammarError(f"a structural tag is a JSON object, not {shown(given)}", pointer="")
    read_schemas(given, limits)
    return given


def read_schemas(given: dict[str, Any], limits: Limits) -> None:
    """Put the schemas of Python types, as JSON values, into their places in a structural tag."""
    stack: list[tuple[Any, str]] = [(given, "")]
    while stack:
        value, path = stack.pop()
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, each in items:
            if name not in SCHEMAS:
                if isinstance(each, (dict, list)):
                    stack.append((each, pointer(path, name)))
            elif not isinstance(each, (dict, str, bool)):
                try:
                    value[name] = read_schema(each, limits)
                except TypeError as problem:
                    raise error(str(problem), pointer(path, name)) from None
                except GrammarError as problem:
                    raise placed(problem, pointer(path, name)) from problem


def placed(problem: GrammarError, path: str) -> GrammarError:
    """Let an error about a schema say where in the structural tag it is."""
    for one in problem.errors:
        one.pointer = path + (one.pointer or "")
    return problem


class Format:
    """One format of a structural tag, with its place. Its values are checked when they are asked for."""

    __slots__ = ("kind", "path", "value")
    kind: str

    def __init__(self, value: Any, path: str, must: str | None = None) -> None:
        """Check the type and the keys of a format. `must`: the type that it must have."""
        if not isinstance(value, Mapping):
            raise error(f"a format of type {must!r} must stand here, not {shown(value)}", path)
        self.value = value
        self.path = path
        found = value.get("type") if "type" in value else must or self.guessed()
        if not isinstance(found, str) or (found not in FORMATS and must != OLDER):
            meant = did_you_mean(found, FORMATS) if isinstance(found, str) else None
            hint = meant or f"the types are {', '.join(FORMATS)}"
            raise error(f"there is no format of type {shown(found)}", pointer(path, "type"), hint)
        self.kind = found
        if must is not None and self.kind != must:
            raise error(f"a format of type {must!r} must stand here, not {self.kind!r}", path)
        needed, others = _OLDER_KEYS if must == OLDER else FORMATS[self.kind]
        for name in needed:
            if name not in value:
                raise error(f"{self.kind!r} needs {name!r}", path)
        for name in value:
            if name != "type" and name not in needed and name not in others:
                near = did_you_mean(str(name), (*needed, *others))
                raise error(f"{self.kind!r} has no {name!r}", pointer(path, name), near)

    def guessed(self) -> str:
        """Return the type of a format that does not name its type."""
        for kind in _GUESSED:
            needed, others = FORMATS[kind]
            if all([name in self.value for name in needed or others[:1]]):
                return kind
        if "excludes" in self.value or "max_chars" in self.value:
            return "any_text"
        raise error("a format needs a 'type'", self.path, f"the types are {', '.join(FORMATS)}")

    def at(self, *keys: str | int) -> str:
        return pointer(self.path, *keys)

    def text(self, name: str) -> str:
        return text_of(self.value[name], self.at(name))

    def texts(self, name: str, empty: bool = True) -> list[str]:
        """Return a list of strings, none of which is empty. `empty`: whether the list may be missing, or empty."""
        found = [text_of(each, path) for each, path in self.items(name, empty)]
        if "" in found:
            raise error(f"{name!r} has an empty string", self.at(name, found.index("")), "remove it")
        return found

    def flag(self, name: str, default: bool = False) -> bool:
        found = self.value.get(name, default)
        if not isinstance(found, bool):
            raise error(f"{name!r} is true or false, not {shown(found)}", self.at(name))
        return found

    def number(self, name: str, least: int = 0) -> int | None:
        """Return a whole number of at least `least`, or None if it is missing or null."""
        found = self.value.get(name)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int) or not least <= found <= 2**31 - 1:
            raise error(f"{name!r} is a whole number from {least} to {2**31 - 1}, not {shown(found)}", self.at(name))
        return found

    def items(self, name: str, empty: bool = False) -> list[tuple[Any, str]]:
        """Return the items of a list, each with its place."""
        found = self.value.get(name, ())
        if not isinstance(found, (list, tuple)):
            raise error(f"{name!r} is a list, not {shown(found)}", self.at(name))
        if not found and not empty:
            raise error(f"{name!r} is empty", self.at(name), "give at least one item")
        return [(each, self.at(name, index)) for index, each in enumerate(found)]

    def tags(self) -> Iterator[Format]:
        for each, path in self.items("tags"):
            yield Format(each, path, "tag")

    def rules(self) -> Iterator[tuple[Any, str, Any, str]]:
        """Return, for each rule of a dispatch, what it begins with and its format, each with its place."""
        for each, path in self.items("rules"):
            if not isinstance(each, (list, tuple)) or len(each) != 2:
                raise error(f"a rule is a list of what it begins with and a format, not {shown(each)}", path)
            yield each[0], pointer(path, 0), each[1], pointer(path, 1)


def text_of(value: Any, path: str) -> str:
    """Return a value that must be a string of Unicode characters."""
    if not isinstance(value, str):
        raise error(f"a string must stand here, not {shown(value)}", path)
    try:
        value.encode()
    except UnicodeEncodeError as problem:
        raise error(f"the string has a lone surrogate, at {problem.start}", path, "UTF-8 has no such text") from None
    return value


def top(given: Mapping[str, Any]) -> tuple[Any, str]:
    """Return the outermost format of a structural tag, and its place. The older form becomes triggered tags."""
    kind = given.get("type", OLDER)
    if isinstance(kind, str) and kind in FORMATS:
        return given, ""
    if kind != OLDER:
        meant = did_you_mean(kind, (OLDER, *FORMATS)) if isinstance(kind, str) else None
        raise error(f"a structural tag has type 'structural_tag', not {shown(kind)}", "/type", meant)
    if is_older(given):
        return given, ""
    for name in given:
        if name not in ("type", "format"):
            raise error(f"a structural tag has no {name!r}", pointer("", name), did_you_mean(str(name), ("format",)))
    if "format" not in given:
        raise error("a structural tag needs 'format'", "", "or, in the older form, 'structures' and 'triggers'")
    return given["format"], "/format"


def is_older(given: Any) -> bool:
    return isinstance(given, Mapping) and "structures" in given


def dicts_within(given: Any) -> Iterator[dict[str, Any]]:
    """Return the objects in a structural tag, without those within schemas."""
    stack = [given]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            yield value
            stack += [each for name, each in value.items() if name not in SCHEMAS]
        elif isinstance(value, list):
            stack += value


def texts_within(given: Any) -> Iterator[str]:
    """Return the strings that stand in formats as constants, without those within schemas, grammars and patterns."""
    for each in dicts_within(given):
        for name in ("value", "begin", "end", "separator", "triggers", "rules"):
            stack = [each.get(name)]
            while stack:
                value = stack.pop()
                if isinstance(value, str):
                    yield value
                elif isinstance(value, list):
                    stack += value
