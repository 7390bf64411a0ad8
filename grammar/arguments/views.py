"""Which types a schema allows for an argument, so that its text can be read.

In some styles the text `5` is the number 5 or the string "5". It is a number where the schema allows numbers, and a
string otherwise. So whoever reads a text, and the grammar that allows it, must agree on the types; both ask `Views`.

A view stands for all schemas that are applied to a value: one schema, several that all hold, or several of which one
holds. `Views` follows `properties`, `patternProperties`, `additionalProperties`, `items`, `allOf`, `anyOf`, `oneOf` and
references within the document. What it does not follow allows every type, so it never leaves out a type that the schema
allows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .styles import TYPES

if TYPE_CHECKING:
    from collections.abc import Iterable

LEAF, ALL_OF, ANY_OF = range(3)
View = tuple[int, Any]
"""A schema, by its number; or some views all of which hold, or one of which."""
ANYTHING: View = (ALL_OF, frozenset())
NOTHING: View = (ANY_OF, frozenset())
MAX_PARTS = 1000
"""The most views of which one is made. Beyond it, a view of anything is used."""


class Views:
    """The views of one schema and of what is in it."""

    def __init__(self, schema: Any) -> None:
        self.root_schema = schema
        self.schemas: list[dict[str, Any]] = []
        self.numbers: dict[int, int] = {}  # of schemas, by id
        self.known_types: dict[View, frozenset[str]] = {}
        self.known_parts: dict[tuple[View, str | None, bool], View] = {}
        self.has_own_ids = _has_ids(schema)
        self.root = self.place(schema)

    def place(self, schema: Any) -> View:
        if schema is False:
            return NOTHING
        if not isinstance(schema, dict) or not schema:
            return ANYTHING
        number = self.numbers.get(id(schema))
        if number is None:
            number = self.numbers[id(schema)] = len(self.schemas)
            self.schemas.append(schema)
        return (LEAF, number)

    def target(self, schema: dict[str, Any]) -> View | None:
        """Return where a reference leads; None if there is none."""
        if "$dynamicRef" in schema or "$recursiveRef" in schema:
            return ANYTHING
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return None
        if self.has_own_ids or not reference.startswith("#"):
            return ANYTHING
        found = self.root_schema
        for part in reference[1:].split("/")[1:] if reference != "#" else ():
            key = _unquoted(part).replace("~1", "/").replace("~0", "~")
            if isinstance(found, list) and key.isdigit() and int(key) < len(found):
                found = found[int(key)]
            elif isinstance(found, dict) and key in found:
                found = found[key]
            else:
                return ANYTHING
        return ANYTHING if reference[1:2] not in ("", "/") else self.place(found)

    def types(self, view: View) -> frozenset[str]:
        """Return the types of which values may be."""
        known = self.known_types.get(view)
        if known is None:
            self.known_types[view] = TYPES  # meanwhile, for schemas that refer to themselves
            known = self.known_types[view] = self.find_types(view)
        return known

    def find_types(self, view: View) -> frozenset[str]:
        kind, parts = view
        if kind == ALL_OF:
            return TYPES.intersection(*[self.types(part) for part in parts])
        if kind == ANY_OF:
            return frozenset().union(*[self.types(part) for part in parts])
        schema = self.schemas[parts]
        target = self.target(schema)
        if target is not None:
            return self.types(target)
        found = TYPES
        if "type" in schema:
            listed = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
            found &= frozenset(["number" if one == "integer" else one for one in listed])
        if isinstance(schema.get("enum"), list):
            found &= frozenset([type_of(value) for value in schema["enum"]])
        if "const" in schema:
            found &= frozenset((type_of(schema["const"]),))
        for one in _listed(schema, "allOf"):
            found &= self.types(self.place(one))
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                found &= frozenset().union(*[self.types(self.place(one)) for one in _listed(schema, keyword)])
        return found

    def member(self, view: View, name: str | None) -> View:
        """Return the view of a member of objects; name: None for one that no `properties` name."""
        return self.part(view, name, True)

    def item(self, view: View) -> View:
        """Return the view of any item of arrays."""
        return self.part(view, None, False)

    def part(self, view: View, name: str | None, is_member: bool) -> View:
        key = (view, name, is_member)
        known = self.known_parts.get(key)
        if known is None:
            self.known_parts[key] = ANYTHING
            known = self.known_parts[key] = self.find_part(view, name, is_member)
        return known

    def find_part(self, view: View, name: str | None, is_member: bool) -> View:
        if ("object" if is_member else "array") not in self.types(view):
            return NOTHING
        kind, parts = view
        if kind != LEAF:
            found = [self.part(one, name, is_member) for one in parts]
            return both(found) if kind == ALL_OF else either(found)
        schema = self.schemas[parts]
        target = self.target(schema)
        if target is not None:
            return self.part(target, name, is_member)
        found = [self.own_member(schema, name) if is_member else self.own_item(schema)]
        found += [self.part(self.place(one), name, is_member) for one in _listed(schema, "allOf")]
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                found.append(either([self.part(self.place(one), name, is_member) for one in _listed(schema, keyword)]))
        return both(found)

    def own_member(self, schema: dict[str, Any], name: str | None) -> View:
        properties = schema.get("properties")
        if name is not None and isinstance(properties, dict) and name in properties:
            return self.place(properties[name])
        patterns = schema.get("patternProperties")
        found = [self.place(one) for one in patterns.values()] if isinstance(patterns, dict) else []
        return either([*found, self.place(schema.get("additionalProperties", True))])

    def own_item(self, schema: dict[str, Any]) -> View:
        found = []
        for keyword in ("prefixItems", "items", "additionalItems"):
            value = schema.get(keyword)
            found += [self.place(one) for one in (value if isinstance(value, list) else [value]) if one is not None]
        return either(found) if "items" in schema and not isinstance(schema["items"], list) else ANYTHING

    def names(self, view: View) -> list[str]:
        """Return the names in all `properties` that a view applies, in the order of the document."""
        found: dict[str, bool] = {}
        self.add_names(view, found, set())
        return list(found)

    def add_names(self, view: View, found: dict[str, bool], met: set[View]) -> None:
        if view in met:
            return
        met.add(view)
        kind, parts = view
        if kind != LEAF:
            for part in sorted(parts):
                self.add_names(part, found, met)
            return
        schema = self.schemas[parts]
        target = self.target(schema)
        if target is not None:
            self.add_names(target, found, met)
            return
        if isinstance(schema.get("properties"), dict):
            found.update(dict.fromkeys(schema["properties"], True))
        for keyword in ("allOf", "anyOf", "oneOf"):
            for one in _listed(schema, keyword):
                self.add_names(self.place(one), found, met)


def both(views: Iterable[View]) -> View:
    return _joined(ALL_OF, views, NOTHING)


def either(views: Iterable[View]) -> View:
    return _joined(ANY_OF, views, ANYTHING)


def _joined(kind: int, views: Iterable[View], zero: View) -> View:
    parts: set[View] = set()
    for view in views:
        if view == zero:
            return zero
        if view[0] == kind:
            parts |= view[1]
        else:
            parts.add(view)
    if len(parts) > MAX_PARTS:
        return ANYTHING
    return next(iter(parts)) if len(parts) == 1 else (kind, frozenset(parts))


def type_of(value: Any) -> str:
    """Return the type of a JSON value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object"
    return "array" if isinstance(value, (list, tuple)) else "number"


def _listed(schema: dict[str, Any], keyword: str) -> list[Any]:
    value = schema.get(keyword)
    return value if isinstance(value, list) else []


def _unquoted(part: str) -> str:
    if "%" not in part:
        return part
    from urllib.parse import unquote  # rare

    return unquote(part)


def _has_ids(schema: Any) -> bool:
    """Whether a schema within the document has a URI of its own, to which references would be relative."""
    stack: list[tuple[Any, bool]] = [(schema, True)]
    while stack:
        value, is_root = stack.pop()
        if isinstance(value, dict):
            if not is_root and any([isinstance(value.get(keyword), str) for keyword in ("$id", "id", "$anchor")]):
                return True
            stack += [(one, False) for one in value.values()]
        elif isinstance(value, list):
            stack += [(one, False) for one in value]
    return False
