"""The tree of a schema: documents, resources in them, and places; and errors at a place.

A *resource* is a part of a document that has a URI of its own (the root, or a schema with `$id`). It has a draft, and
names its anchors. A *place* is one subschema in a resource: a node of the tree, with the keywords that count there. It
also has the dynamic scope in which it was reached; only `$dynamicRef` and `$recursiveRef` look at that (2020-12 core,
4.3.5, 7.1 and 8.2.3.2).

`Documents` makes the places, each when it is first asked for, and returns the same one every time. So everything that
reads a schema can keep what it knows by place. A place refers to nothing below it: nothing that is made of a schema
refers to itself, and all of it is freed with the last reference to its grammar and its matchers.
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from ...earley._large import untrack
from ...earley._meter import tick
from ..errors import REFUSED, GrammarError, Reason, Row
from ..loading import PIECE
from .keywords import DRAFT_7, DRAFT_2020

SHOWN_CHARS = 60
"""A message shows at most this many characters of a value."""

_NOTHING = object()

Path = tuple[Any, ...]
"""Where a value is in its document: () for the root, otherwise (path of what holds it, key or index)."""

RECURSIVE = ""
"""The name of `$recursiveAnchor: true` among the dynamic anchors. It is empty, and names of other anchors never are."""

Scope = tuple[Any, ...]
"""The part of the dynamic scope that matters: for each dynamic anchor its name and the outermost resource that has it,
sorted by name."""


class Resource:
    """A schema with a URI of its own, and everything in it up to the next such schema.

    Attributes:
        uri: absolute and without a fragment; empty if nothing names the resource.
        schema, path: its root, and where the root is in the document.
        draft: 4, 6, 7, 2019 or 2020.
        keywords: name -> kind for those that the draft and the vocabularies of the metaschema have.
        asserts_format: whether the metaschema says that `format` is asserted; None if it does not say.
        anchors: name -> schema and path; complete once the document is indexed.
        dynamic: the names of its dynamic anchors; complete once the document is indexed.
    """

    __slots__ = ("anchors", "asserts_format", "document", "draft", "dynamic", "keywords", "path", "schema", "uri")

    def __init__(self, uri: str, schema: Any, path: Path, document: Document) -> None:
        self.uri = uri
        self.schema = schema
        self.path = path
        self.document = document
        self.draft = DRAFT_2020
        self.keywords: dict[str, int] = {}
        self.asserts_format: bool | None = None
        self.anchors: dict[str, tuple[Any, Path]] = {}
        self.dynamic: set[str] = set()


class Document:
    """One JSON value that holds schemas. `uri`: where it was found; empty for the one that the user gave."""

    __slots__ = ("indexed", "uri")

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.indexed = False


class Place:
    """One subschema.

    Attributes:
        schema: as it is written: a dict, or True or False.
        keywords: those of the schema that count; none of True and False.
        resource: the resource that it is in.
        path: where it is in the document.
        scope: the dynamic scope; empty unless a `$dynamicRef` or `$recursiveRef` can be reached.
        written: the same place without a scope.

    untracked: whether garbage collections need not visit it, for its schema holds nothing of the caller's.
    """

    __slots__ = ("_written", "keywords", "path", "resource", "schema", "scope")

    def __init__(
        self,
        schema: Any,
        keywords: dict[str, Any],
        resource: Resource,
        path: Path,
        scope: Scope = (),
        written: Place | None = None,
        *,
        untracked: bool = False,
    ) -> None:
        self.schema = schema
        self.keywords = keywords
        self.resource = resource
        self.path = path
        self.scope = scope
        self._written = written
        if untracked:  # there may be many, and nothing in one could refer to it
            untrack(self)

    @property
    def written(self) -> Place:
        return self if self._written is None else self._written

    @property
    def draft(self) -> int:
        return self.resource.draft

    @property
    def pointer(self) -> str:
        """The JSON pointer of this place. In any document but the given one, its URI and `#` precede the pointer."""
        return pointer_of(self.path, self.resource)


def counted(schema: dict[str, Any], resource: Resource) -> dict[str, Any]:
    """Return the keywords that have a meaning in a schema: those that its draft knows. Up to draft 7, a `$ref` hides
    all others. Other names may have any value."""
    known = resource.keywords
    if "$ref" in schema and resource.draft <= DRAFT_7:
        return {"$ref": schema["$ref"]}
    are_known = True
    for name in schema:
        if name not in known:
            are_known = False
            break
    if are_known:
        return schema
    if len(schema) <= PIECE:
        return {name: value for name, value in schema.items() if name in known}
    found = {}
    for index, name in enumerate(schema):
        if name in known:
            found[name] = schema[name]
        if not index & 0xFF:
            tick()
    return found


def is_reference(schema: Any) -> bool:
    """Whether a schema is a `$ref` and nothing else. (There are no circles of these: see `Survey.find_circle`.)"""
    return type(schema) is dict and len(schema) == 1 and "$ref" in schema


def dynamic_name(keyword: str, reference: str, schema: Any, resource: Resource) -> str | None:
    """Return the name to look up in the dynamic scope; None if the reference means the schema that it names.

    That schema is `schema`, in `resource`, whose document is indexed.
    """
    if keyword == "$recursiveRef":
        return RECURSIVE if RECURSIVE in resource.dynamic and schema is resource.schema else None
    name = reference.partition("#")[2]
    if name in resource.dynamic and type(schema) is dict and schema.get("$dynamicAnchor") == name:
        return name
    return None


def widened(scope: Scope, resource: Resource) -> Scope:
    """Return the dynamic scope inside `resource`. A name in it means the outermost resource that has the name, so
    `resource` is added only for names that the scope does not have yet."""
    names = {name for name, _ in scope}
    new = [(name, resource) for name in resource.dynamic if name not in names]
    return tuple(sorted([*scope, *new], key=lambda pair: pair[0])) if new else scope


# Errors.


def pointer_of(path: Path, resource: Resource) -> str:
    """Return a path as a JSON pointer (RFC 6901). In any document but the given one, its URI and `#` precede it."""
    tokens: list[str] = []
    while path:
        path, token = path
        tokens.append(str(token).replace("~", "~0").replace("/", "~1"))
    pointer = "".join([f"/{token}" for token in reversed(tokens)])
    uri = resource.document.uri
    return f"{uri}#{pointer}" if uri else pointer


def at(path: Path, resource: Resource, message: str, value: Any = _NOTHING, hint: str | None = None) -> GrammarError:
    """Return the error that something is wrong at a place in a schema. `value`: what stands there, for the message."""
    if value is not _NOTHING:
        message = f"{message}, not {shown(value)}"
    return GrammarError(message, pointer=pointer_of(path, resource), hint=hint)


def refused(path: Path, resource: Resource, keyword: str, why: str) -> GrammarError:
    """Return the error that a keyword cannot be enforced, with its row of the report."""
    hint = "strict=False leaves it out and reports it"
    error = at(path, resource, f"`{keyword}` cannot be enforced: {why}", hint=hint)
    error._rows = (Row(pointer_of(path, resource), keyword, REFUSED, why, reason=Reason.STRICT),)
    return error.set_option("strict")


def shown(value: Any) -> str:
    """Return a value as JSON writes it, cut if it is long; or its Python type, if JSON has no such value."""
    if isinstance(value, Decimal):
        text = str(value)
    elif isinstance(value, (list, dict)):
        # A document may be large, nested deeply, or hold itself.
        kind = "list" if isinstance(value, list) else "object"
        return f"the empty {kind}" if not value else f"{'a' if kind == 'list' else 'an'} {kind} of {len(value)}"
    elif value is None or isinstance(value, (str, int, float)):
        text = json.dumps(value[: SHOWN_CHARS + 1] if isinstance(value, str) else value, ensure_ascii=False)
    else:
        return f"a Python {type(value).__name__}"
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}..."
