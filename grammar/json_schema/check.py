"""The check of a schema: each keyword that the root reaches must have a value that its draft allows, and each reference
must lead to a schema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...earley._meter import keep, tick
from ..errors import GrammarError, together
from ..loading import PIECE, pieces
from .documents import push
from .keywords import (
    ANY,
    DEFINITIONS,
    DEPENDENCIES,
    DRAFT_4,
    DRAFT_7,
    LAST_APPLICATOR,
    LIST,
    PATTERN_MAP,
    PLAIN_TYPES,
    REFERENCE,
    SCHEMA,
    SCHEMA_MAP,
    TYPE,
    TYPES,
    fault,
    is_number,
)
from .tree import at, dynamic_name

if TYPE_CHECKING:
    from collections.abc import Callable

    from .documents import Documents
    from .tree import Path, Place, Resource

    Visitor = Callable[[Place], None]

_BOOLEAN_IN_4 = ("additionalItems", "additionalProperties")
"""The keywords that could already be true or false in draft 4, where other schemas could not."""

_PLAIN = frozenset((str, int, bool, type(None)))
"""Types whose values are all values of JSON."""

MAX_ERRORS = 1000
"""The number of errors after which the check stops."""


def check_schema(documents: Documents, visit: Visitor | None = None) -> None:
    """Check the keywords and references of each schema that the root can reach, once.

    Call `visit` with the place of each that is a dict; what it raises is an error of the schema, too. Afterwards
    `documents.reached` has these places. Raises GrammarError, with all errors, in the order of the document.
    """
    root = documents.root.resource
    errors: list[GrammarError] = []
    dynamic: set[str] = set()
    reached: dict[Place, bool] = {}
    stack: list[tuple[Any, Resource, Path]] = [(root.schema, root, ())]
    keep(stack)
    keep(reached)
    while stack and len(errors) < MAX_ERRORS:
        _go_over(documents, stack, visit, errors, dynamic, reached)
        if dynamic:
            # A dynamic reference may mean any schema with such a name, anywhere.
            documents.is_dynamic = True
            documents.index_all()
            for resource in documents.resources():
                for name in dynamic & resource.dynamic:
                    schema, path = resource.anchors[name]
                    if documents.place(schema, resource, path) not in reached:
                        stack.append((schema, resource, path))
    for resource in dict.fromkeys(documents.resources()) if dynamic else ():
        for name in dynamic & resource.dynamic:
            try:
                documents.check_anchor(name, resource, resource.anchors[name][1], resource)
            except GrammarError as error:
                errors.append(error)
    if errors:
        # A schema that several references lead to may be found wrong several times.
        distinct = {(error.pointer, error.message): error for error in errors}
        raise together(in_order(list(distinct.values()), documents))
    documents.reached = reached


def _go_over(
    documents: Documents,
    stack: list[Any],
    visit: Visitor | None,
    errors: list[GrammarError],
    dynamic: set[str],
    reached: dict[Place, bool],
) -> None:
    while stack:
        tick()
        schema, resource, path = stack.pop()
        is_checked = True
        try:
            if type(schema) is not dict:
                if isinstance(schema, GrammarError):  # found when the schema around it was checked
                    raise schema
                if schema is not True and schema is not False:
                    raise _no_schema(schema, resource, path)
                if resource.draft == DRAFT_4 and not (path and path[1] in _BOOLEAN_IN_4):
                    raise _no_schema(schema, resource, path)
                continue
            if "$id" in schema or "id" in schema:
                resource = documents.entered(schema, resource, path)
            place = documents.place(schema, resource, path)
            if place in reached:
                continue
            reached[place] = True
            is_checked = False  # an error is about one keyword: others may be wrong, too
            _check(documents, schema, resource, path, stack, dynamic)
            is_checked = True
            if visit is not None:
                visit(place)
        except GrammarError as error:
            if is_checked:
                errors.extend(error.errors)
            else:
                errors.extend(_all_errors(documents, schema, resource, path, stack, dynamic))
            if len(errors) >= MAX_ERRORS:
                return


def _check(
    documents: Documents, schema: dict[str, Any], resource: Resource, path: Path, stack: list[Any], dynamic: set[str]
) -> None:
    known = resource.keywords
    alone = resource.draft <= DRAFT_7 and "$ref" in schema
    n_unknown = 0
    for keyword, value in schema.items():
        number = known.get(keyword)
        if number is None:
            if type(keyword) is not str:
                _check_name(keyword, resource, path)
            n_unknown += 1
            if not n_unknown & 0xFF:
                tick()
            continue
        kind = number
        if kind == ANY:
            if keyword == "const":
                check_value(value, resource, (path, keyword))
            continue
        if alone and keyword != "$ref":
            continue
        if kind == SCHEMA:
            if type(value) is list and keyword == "items":
                stack.append((_list_of_items(value, resource, (path, keyword)), resource, (path, keyword)))
                continue
            stack.append((value, resource, (path, keyword)))
            continue
        if kind >= DEFINITIONS and kind <= LAST_APPLICATOR:
            continue
        if kind == TYPE and type(value) is str and value in TYPES:
            continue
        if type(value) is not PLAIN_TYPES[kind] or not value:
            wrong = fault(kind, value, resource.draft)
            if wrong:
                raise at((path, keyword), resource, f"`{keyword}` {wrong}", value)
        if kind in (SCHEMA_MAP, PATTERN_MAP):
            where = (path, keyword)
            for name, one in value.items():
                if type(name) is not str:
                    _check_name(name, resource, where)
                stack.append((one, resource, (where, name)))
                if not len(stack) & 0xFFF:
                    tick()
        elif kind <= LAST_APPLICATOR:
            if kind == DEPENDENCIES:
                _check_dependencies(value, resource, (path, keyword))
            push(stack, kind, value, resource, (path, keyword))
        elif kind == LIST:
            check_value(value, resource, (path, keyword))
        elif kind == REFERENCE:
            if keyword == "$ref":
                stack.append(documents.resolve(value, resource, (path, keyword)))
                continue
            found = documents.resolve(value, resource, (path, keyword))
            target = found[1]
            documents.index(target.document)
            name = dynamic_name(keyword, value, found[0], target)
            if name is not None:
                dynamic.add(name)
            stack.append(found)


def _all_errors(
    documents: Documents, schema: dict[str, Any], resource: Resource, path: Path, stack: list[Any], dynamic: set[str]
) -> list[GrammarError]:
    """Return all errors of a schema that has one, keyword by keyword."""
    found: list[GrammarError] = []
    alone = resource.draft <= DRAFT_7 and "$ref" in schema
    for keyword, value in schema.items():
        tick()
        if alone and keyword not in ("$ref", "const"):
            continue
        try:
            _check(documents, {keyword: value}, resource, path, stack, dynamic)
        except GrammarError as error:
            found += error.errors
    return found


def _check_dependencies(value: dict[Any, Any], resource: Resource, path: Path) -> None:
    """Raise GrammarError unless names have schemas or lists of names."""
    for name, names in value.items():
        _check_name(name, resource, path)
        if type(names) is list and not all([isinstance(other, str) for other in names]):
            raise at((path, name), resource, "a dependency must be a schema or a list of strings", names)


def _check_name(name: Any, resource: Resource, path: Path) -> None:
    if not isinstance(name, str):
        raise at(path, resource, "the names in an object must be strings", name)


def check_value(value: Any, resource: Resource, path: Path) -> None:
    """Raise GrammarError unless a constant is made of JSON values."""
    kind = type(value)
    if kind in _PLAIN:
        return
    if kind is list:
        parts = [value] if len(value) <= PIECE else pieces(value)
        if all([_PLAIN.issuperset(map(type, part)) for part in parts]):
            return
    stack = [(value, path)]
    while stack:
        tick()
        value, path = stack.pop()
        if type(value) is list:
            stack += [(item, (path, index)) for index, item in enumerate(value)]
        elif type(value) is dict:
            for name, item in value.items():
                _check_name(name, resource, path)
                stack.append((item, (path, name)))
        elif not (value is None or isinstance(value, (str, bool)) or is_number(value)):
            raise at(path, resource, "must be a value of JSON", value)


def _list_of_items(value: list[Any], resource: Resource, path: Path) -> GrammarError:
    """Return the error about a list in `items`, which only drafts before 2020-12 allow."""
    hint = 'write "prefixItems" for a list with a schema for each item, or set "$schema" to a draft before 2020-12'
    return at(path, resource, "in draft 2020-12 `items` must be one schema", value, hint)


def _no_schema(schema: Any, resource: Resource, path: Path) -> GrammarError:
    if schema is True or schema is False:
        hint = 'write {} for true and {"not": {}} for false, or set "$schema" to a later draft'
        return at(path, resource, "in draft 4 a schema must be an object", schema, hint)
    return at(path, resource, "a schema must be an object, true or false", schema)


def in_order(errors: list[GrammarError], documents: Documents) -> list[GrammarError]:
    """Return the errors in the order of the places that they name; those in the given document come first."""
    uris = list(documents.remote)
    indexes: dict[int, dict[str, int]] = {}  # of the keys of objects, by `id`

    def rank(error: GrammarError) -> tuple[int, list[int]]:
        tick()
        pointer = error.pointer or ""
        # A pointer begins with a slash, and a URI does not.
        uri, _, pointer = ("", "", pointer) if pointer.startswith("/") else pointer.partition("#")
        value = documents.remote.get(uri) if uri else documents.root.schema
        found: list[int] = []
        for token in pointer.split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and key in value:
                if id(value) not in indexes:
                    own = indexes[id(value)] = {}
                    keep(own)
                    for index, name in enumerate(value):
                        own[str(name)] = index
                        if not index & 0xFF:
                            tick()
                found.append(indexes[id(value)][key])
                value = value[key]
            elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
                found.append(int(key))
                value = value[int(key)]
            else:
                break
        return uris.index(uri) + 1 if uri in uris else 0, found

    return sorted(errors, key=rank)
