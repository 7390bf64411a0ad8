"""Places: schemas as they are written, what resource they are in, and how they were reached.

A *resource* is a part of a document that has a URI of its own (the root, or a schema with `$id`); it has a draft, and
names its anchors. A *place* is one schema within a resource, together with the dynamic scope, which only `$dynamicRef`
and `$recursiveRef` look at (2020-12 core, 4.3.5, 7.1 and 8.2.3.2).
"""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..errors import REFUSED, GrammarError, Reason, Row
from .keywords import DRAFT_7, DRAFT_2020

if TYPE_CHECKING:
    from .documents import Documents

SHOWN_CHARS = 60
"""A message shows no more than this many characters of a value."""

_NOTHING = object()

Path = tuple[Any, ...]
"""Where something is in its document: () for the root, else (path of what holds it, key or index)."""

RECURSIVE = ""
"""The name under which `$recursiveAnchor: true` is kept among the dynamic anchors, which are never empty."""

Scope = tuple[Any, ...]
"""The dynamic scope, as far as it matters: (name, outermost resource that has it) for each dynamic anchor, sorted."""


class Resource:
    """A schema with a URI of its own, and everything in it up to the next such schema.

    Attributes:
        uri: absolute and without a fragment; empty where nothing names it.
        schema, path: its root, and where that is in the document.
        draft: 4, 6, 7, 2019 or 2020.
        keywords: name -> kind of those that are known here, given the draft and the vocabularies of a metaschema.
        asserts_format: whether the metaschema says that `format` is asserted; None where it leaves that open.
        dynamic: the names of its dynamic anchors; complete once the document is indexed.

    It knows nothing of other resources, so that none refers to itself: what a request has made is freed with it.
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
    """One JSON value that holds schemas. `uri`: where it was found; empty for the one that was given."""

    __slots__ = ("indexed", "uri")

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.indexed = False


class Place:
    """One schema as it is written.

    Attributes:
        schema: a dict, or True or False.
        resource: what it is in.
        path: where it is in the document.
        scope: the dynamic scope; empty unless a `$dynamicRef` or `$recursiveRef` can be reached.
        keywords: those that count, once the algebra has found out.
    """

    __slots__ = ("documents", "keywords", "path", "resource", "schema", "scope")

    def __init__(self, schema: Any, resource: Resource, path: Path, scope: Scope, documents: Documents) -> None:
        self.schema = schema
        self.resource = resource
        self.path = path
        self.scope = scope
        self.documents = documents
        self.keywords: dict[str, Any] | None = None

    @property
    def draft(self) -> int:
        return self.resource.draft

    @property
    def pointer(self) -> str:
        """The JSON pointer of this place; after the URI of its document and `#` if that is another one."""
        return pointer_of(self.path, self.resource)

    def key(self) -> tuple[int, int, Scope]:
        """Equal for places that mean the same because they are the same."""
        return id(self.schema), id(self.resource), self.scope

    def child(self, keyword: str) -> Place:
        """The schema that is the value of a keyword."""
        return self._at(self.schema[keyword], (self.path, keyword))

    def grandchild(self, keyword: str, key: str | int) -> Place:
        """One of the schemas that a keyword holds, by name or index."""
        return self._at(self.schema[keyword][key], ((self.path, keyword), key))

    def applied(self) -> dict[str, Any]:
        """The keywords that count here, where the schema is a dict."""
        return counted(self.schema, self.resource)

    def ref(self) -> Place:
        """What `$ref` here leads to."""
        resource = self.resource
        schema, target, path = self.documents.resolve(self.schema["$ref"], resource, (self.path, "$ref"))
        return Place(schema, target, path, self._scope_in(target), self.documents)

    def dynamic_ref(self) -> Place:
        """What `$dynamicRef` here leads to, given how this place was reached (2020-12 core, 8.2.3.2)."""
        return self._dynamic("$dynamicRef")

    def recursive_ref(self) -> Place:
        """What `$recursiveRef` here leads to, given how this place was reached (2019-09 core, 8.2.4.2.1)."""
        return self._dynamic("$recursiveRef")

    def _dynamic(self, keyword: str) -> Place:
        documents = self.documents
        reference = self.schema[keyword]
        schema, resource, path = documents.resolve(reference, self.resource, (self.path, keyword))
        name = dynamic_name(keyword, reference, schema, resource)
        if name is not None:
            for known, outermost in self.scope:
                if known == name:
                    schema, path = outermost.anchors[name]
                    resource = outermost
        return Place(schema, resource, path, self._scope_in(resource), documents)

    def _at(self, schema: Any, path: Path) -> Place:
        resource = self.resource
        if type(schema) is dict and ("$id" in schema or "id" in schema):
            entered = self.documents.entered(schema, resource, path)
            if entered is not resource:
                return Place(schema, entered, path, self._scope_in(entered), self.documents)
        return Place(schema, resource, path, self.scope, self.documents)

    def _scope_in(self, resource: Resource) -> Scope:
        if not self.documents.is_dynamic or resource is self.resource:
            return self.scope
        return widened(self.scope, resource)


def counted(schema: dict[str, Any], resource: Resource) -> dict[str, Any]:
    """The keywords that count in a schema: those that the draft knows; up to draft 7 `$ref` alone, if it is there.
    What is not a keyword there may have any value."""
    known = resource.keywords
    if "$ref" in schema and resource.draft <= DRAFT_7:
        return {"$ref": schema["$ref"]}
    if schema.keys() <= known.keys():
        return schema
    return {name: value for name, value in schema.items() if name in known}


def is_reference(schema: Any) -> bool:
    """Whether a schema is a `$ref` and nothing else. (There are no circles of these: see `scan`.)"""
    return type(schema) is dict and len(schema) == 1 and "$ref" in schema


def dynamic_name(keyword: str, reference: str, schema: Any, resource: Resource) -> str | None:
    """The name to look for in the dynamic scope; None where the reference means just what it says.

    `schema` and `resource` are what it says, in an indexed document.
    """
    if keyword == "$recursiveRef":
        return RECURSIVE if RECURSIVE in resource.dynamic and schema is resource.schema else None
    name = reference.partition("#")[2]
    if name in resource.dynamic and type(schema) is dict and schema.get("$dynamicAnchor") == name:
        return name
    return None


def widened(scope: Scope, resource: Resource) -> Scope:
    """The dynamic scope once `resource` is entered: it stands for those of its names that nobody further out has."""
    names = {name for name, _ in scope}
    new = [(name, resource) for name in resource.dynamic if name not in names]
    return tuple(sorted([*scope, *new], key=lambda pair: pair[0])) if new else scope


# Errors.


def pointer_of(path: Path, resource: Resource) -> str:
    """A path as a JSON pointer (RFC 6901); after the URI of its document and `#`, if that is not the one given."""
    tokens: list[str] = []
    while path:
        path, token = path
        tokens.append(str(token).replace("~", "~0").replace("/", "~1"))
    pointer = "".join(f"/{token}" for token in reversed(tokens))
    uri = resource.document.uri
    return f"{uri}#{pointer}" if uri else pointer


def at(path: Path, resource: Resource, message: str, value: Any = _NOTHING, hint: str | None = None) -> GrammarError:
    """The error that something is wrong at a place in a schema, with the value that stands there if it is given."""
    if value is not _NOTHING:
        message = f"{message}, not {shown(value)}"
    return GrammarError(message, pointer=pointer_of(path, resource), hint=hint)


def refused(path: Path, resource: Resource, keyword: str, why: str) -> GrammarError:
    """The error that a keyword cannot be enforced, which has its row of the report."""
    hint = "strict=False leaves it out and reports it"
    error = at(path, resource, f"`{keyword}` cannot be enforced: {why}", hint=hint)
    error._rows = (Row(pointer_of(path, resource), keyword, REFUSED, why, reason=Reason.STRICT),)
    return error.set_option("strict")


def in_order(errors: list[GrammarError], documents: Documents) -> list[GrammarError]:
    """The errors in the order of the places that they name, those of the schema itself first."""
    uris = list(documents.remote)
    indexes: dict[int, dict[str, int]] = {}  # of the keys of objects, by `id`

    def rank(error: GrammarError) -> tuple[int, list[int]]:
        pointer = error.pointer or ""
        # A pointer begins with a slash, and a URI does not.
        uri, _, pointer = ("", "", pointer) if pointer.startswith("/") else pointer.partition("#")
        value = documents.remote.get(uri) if uri else documents.root.resource.schema
        found: list[int] = []
        for token in pointer.split("/")[1:]:
            key = token.replace("~1", "/").replace("~0", "~")
            if isinstance(value, dict) and key in value:
                if id(value) not in indexes:
                    indexes[id(value)] = {str(name): index for index, name in enumerate(value)}
                found.append(indexes[id(value)][key])
                value = value[key]
            elif isinstance(value, list) and key.isdigit() and int(key) < len(value):
                found.append(int(key))
                value = value[int(key)]
            else:
                break
        return uris.index(uri) + 1 if uri in uris else 0, found

    return sorted(errors, key=rank)


def shown(value: Any) -> str:
    """A value as JSON writes it, cut where it is long; or its Python type, where it is nothing that JSON has."""
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
