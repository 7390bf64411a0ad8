"""The reader of the tree: documents, drafts, identifiers, references, and the places of subschemas.

A *document* is one JSON value that holds schemas: the one that was given, and those that references lead to elsewhere.
`Documents` makes a place when it is first asked for, and resolves a reference when it is first followed. It collects
the identifiers and anchors of a whole document only when a reference names one (`Documents.index`): most references are
JSON pointers.

The sources are the core specifications of the drafts; sections are named where they are implemented.
Not here: what a place is (`tree`), whether keywords have good values (`check`), what they mean (`algebra`), reading
JSON text or models (`read`).
"""

from __future__ import annotations

import gc
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...earley._meter import keep, take, tick
from ...earley.limits import DEFAULT
from ..errors import GrammarError, GrammarLimitError, shown_pointer
from .keywords import (
    ANY,
    DEFINITIONS,
    DEPENDENCIES,
    DRAFT_4,
    DRAFT_7,
    DRAFT_2019,
    DRAFT_2020,
    LAST_APPLICATOR,
    METASCHEMAS,
    PATTERN_MAP,
    SCHEMA_LIST,
    SCHEMA_MAP,
    SCHEMA_OR_LIST,
    VOCABULARIES,
    keywords,
)
from .read import copied
from .tree import (
    RECURSIVE,
    SHOWN_CHARS,
    Document,
    Path,
    Place,
    Resource,
    at,
    counted,
    dynamic_name,
    pointer_of,
    shown,
    widened,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...earley.limits import Limits
    from ..json.strings import Own
    from .tree import Scope

    Registry = Mapping[str, Any]  # or a `referencing.Registry`, which is one too


_NO_KEYWORDS: dict[str, Any] = {}
"""Those of True and False."""

PLACE_BYTES = 500
"""Memory of a place, its path, and its entries in tables of all places: an estimate."""

_REGISTRY_HINT = "a registry maps URIs to schemas: dicts, True or False (of a JSON text what json.loads makes of it)"


class Documents:
    """All that a schema can reach.

    Attributes:
        reached: the places without a scope that the root reaches, in the order in which `check_schema` met them.
        remote: the documents found elsewhere that were needed, URI -> a copy of the contents.
        own: how the text of the schema spells its strings, see `json.strings.Own`.
        is_dynamic: whether something refers dynamically, so that scopes matter.
    """

    __slots__ = (
        "_by_uri",
        "_draft",
        "_elsewhere",
        "_embedded",
        "_limits",
        "_places",
        "_registry",
        "_root",
        "_scoped",
        "_targets",
        "_twice",
        "is_dynamic",
        "is_ours",
        "own",
        "reached",
        "remote",
    )

    def __init__(
        self,
        schema: Any,
        *,
        draft: int = DRAFT_2020,
        registry: Registry | None = None,
        remote: dict[str, Any] | None = None,
        own: Own | None = None,
        limits: Limits = DEFAULT,
    ) -> None:
        """`schema`: a dict of JSON values, or a bool. `draft`: for schemas without `$schema`.

        `registry`: a mapping from URIs to schemas, or a `referencing.Registry`. `remote`: what was read of it before.
        `own`: how the text of the schema spells its strings. `limits`: those of each document of the registry.
        """
        keep(self)
        if registry is not None:
            check_registry(registry)
        self._draft = draft
        self._registry = registry
        self._limits = limits
        self._by_uri: dict[str, Resource] = {}
        # Resources within documents, by the `id` of their schema and that of the resource around it: the same Python
        # object may stand in two resources.
        self._embedded: dict[tuple[int, int], Resource] = {}
        self._targets: dict[tuple[int, str], tuple[Any, Resource, Path]] = {}  # what references lead to
        # Where two schemas stand that have the same name: by the `id` of their resource and an anchor; by 0 and a URI.
        self._twice: dict[tuple[int, str], tuple[str, str]] = {}
        # Places, by the `id` of their schema. If one Python object stands in several resources, those of all but the
        # first one by the resource, too.
        self._places: dict[int, Place] = {}
        self._elsewhere: dict[tuple[int, Resource], Place] = {}
        self._scoped: dict[tuple[Place, Scope], Place] = {}
        self.reached: dict[Place, bool] = {}
        self.remote: dict[str, Any] = {} if remote is None else remote
        self.own = {} if own is None else own
        self.is_dynamic = False
        # Whether there is nothing of the caller's in the schema that could refer to what is made of it (`read.copied`).
        self.is_ours = not gc.is_tracked(schema)
        self._root = self._document(schema, "", draft)

    # Places.

    @property
    def root(self) -> Place:
        """The place of the schema itself."""
        return self.place(self._root.schema, self._root, (), widened((), self._root) if self.is_dynamic else ())

    def place(self, schema: Any, resource: Resource, path: Path, scope: Scope = ()) -> Place:
        """Return the place of a schema in a resource: the same one each time, unless the schema is True or False."""
        if type(schema) is not dict:
            return Place(schema, _NO_KEYWORDS, resource, path, scope, untracked=self.is_ours)
        key = id(schema)
        place = self._places.get(key)
        if place is None:
            tick()
            take(PLACE_BYTES)
            place = Place(schema, counted(schema, resource), resource, path, untracked=self.is_ours)
            self._places[key] = place
        elif place.resource is not resource:
            place = self._place_elsewhere(schema, resource, path)
        return self._in_scope(place, scope) if scope else place

    def _place_elsewhere(self, schema: dict[str, Any], resource: Resource, path: Path) -> Place:
        key = (id(schema), resource)
        place = self._elsewhere.get(key)
        if place is None:
            take(PLACE_BYTES)
            place = Place(schema, counted(schema, resource), resource, path, untracked=self.is_ours)
            self._elsewhere[key] = place
        return place

    def _in_scope(self, written: Place, scope: Scope) -> Place:
        place = self._scoped.get((written, scope))
        if place is None:
            take(PLACE_BYTES)
            place = Place(
                written.schema, written.keywords, written.resource, written.path, scope, written, untracked=self.is_ours
            )
            self._scoped[written, scope] = place
        return place

    def child(self, place: Place, keyword: str) -> Place:
        """Return the schema that is the value of a keyword."""
        return self._within(place, place.schema[keyword], (place.path, keyword))

    def grandchild(self, place: Place, keyword: str, key: str | int) -> Place:
        """Return one of the schemas that a keyword holds, by name or index."""
        return self._within(place, place.schema[keyword][key], ((place.path, keyword), key))

    def has_reached(self, place: Place) -> bool:
        """Whether the check has reached the schema of a place."""
        known = self._places.get(id(place.schema))
        return known is not None and known in self.reached

    def children(self, place: Place, keywords: dict[str, Any] | None = None) -> list[Place]:
        """Return the subschemas that a place holds directly, without a scope, whether something reaches them or not;
        but not True and False. `keywords`: only those in these.

        This reads no other document and enters no resource: nothing reaches one that has not been entered, so it
        counts as a part of the resource around it."""
        resource = place.resource
        known = resource.keywords
        held: list[tuple[Any, Resource, Path]] = []
        for keyword, value in (place.schema if keywords is None else keywords).items():
            kind = known.get(keyword, ANY)
            if kind <= LAST_APPLICATOR:
                push(held, kind, value, resource, (place.path, keyword))
        return [
            self.place(schema, self._embedded.get((id(schema), id(resource)), resource), path)
            for schema, _, path in held
            if type(schema) is dict
        ]

    def _within(self, place: Place, schema: Any, path: Path) -> Place:
        resource = place.resource
        if type(schema) is dict and ("$id" in schema or "id" in schema):
            entered = self.entered(schema, resource, path)
            if entered is not resource:
                return self.place(schema, entered, path, self._scope_in(place, entered))
        return self.place(schema, resource, path, place.scope)

    def target(self, place: Place, keyword: str) -> Place:
        """Return what a reference leads to: `$ref`, or `$dynamicRef` and `$recursiveRef` given the scope of the place
        (2020-12 core, 8.2.3.2; 2019-09 core, 8.2.4.2.1)."""
        reference = place.schema[keyword]
        schema, resource, path = self.resolve(reference, place.resource, (place.path, keyword))
        if keyword != "$ref":
            name = dynamic_name(keyword, reference, schema, resource)
            if name is not None:
                for known, outermost in place.scope:
                    if known == name:
                        schema, path = outermost.anchors[name]
                        resource = outermost
        return self.place(schema, resource, path, self._scope_in(place, resource))

    def _scope_in(self, place: Place, resource: Resource) -> Scope:
        if not self.is_dynamic or resource is place.resource:
            return place.scope
        return widened(place.scope, resource)

    def parents(self, place: Place) -> list[Place]:
        """Return the places that hold a place, outermost first, as far as something has asked for them."""
        tokens = []
        path = place.path
        while path:
            path, token = path
            tokens.append(token)
        value = self.root_of(place.resource.document).schema
        found = []
        while tokens:
            known = self._places.get(id(value))
            if known is not None:
                found.append(known)
            value = value[tokens.pop()]
        return found

    # What is where.

    def _document(self, schema: Any, uri: str, draft: int) -> Resource:
        if type(schema) is not dict and schema is not True and schema is not False:
            where = f"the schema at {uri}" if uri else "a schema"
            raise GrammarError(f"{where} must be an object, true or false, not {shown(schema)}")
        root = Resource(uri, schema, (), Document(uri))
        self._describe(root, draft)
        if type(schema) is dict:
            name = identifier(schema, root.draft)
            if name is not None:
                root.uri = absolute(uri, name, ((), _identifying(root.draft)), root)
        if uri:
            self._by_uri.setdefault(uri, root)
        if root.uri:
            self._by_uri.setdefault(root.uri, root)
        return root

    def entered(self, schema: dict[str, Any], around: Resource, path: Path) -> Resource:
        """Return the resource that a schema is in, which may be one of its own."""
        if schema is around.schema:
            return around
        known = self._embedded.get((id(schema), id(around)))
        if known is not None:
            return known
        draft = around.draft
        if "$schema" in schema and isinstance(schema["$schema"], str):
            # Which keyword names it depends on its draft; and `$schema` counts only in a schema that has a name.
            draft = METASCHEMAS.get(schema["$schema"].removesuffix("#"), draft)
        name = identifier(schema, draft)
        if name is None:
            return around
        uri = absolute(around.uri, name, (path, _identifying(draft)), around)
        resource = Resource(uri, schema, path, around.document)
        self._describe(resource, around.draft)
        self._embedded[id(schema), id(around)] = resource
        if resource.keywords is keywords(around.draft):
            resource.keywords = around.keywords
            resource.asserts_format = around.asserts_format
        other = self._by_uri.setdefault(resource.uri, resource)
        if other is not resource and other.document is around.document and "#" not in name_of(schema, draft)[:-1]:
            self._note_twice((0, resource.uri), (schema, path), (other.schema, other.path), resource)
        return resource

    def _describe(self, resource: Resource, draft: int) -> None:
        """Set a resource's draft and vocabularies (2020-12 core, 8.1.1 and 8.1.2)."""
        schema = resource.schema
        if type(schema) is dict and "$schema" in schema:
            path = (resource.path, "$schema")
            uri = schema["$schema"]
            if not isinstance(uri, str):
                raise at(path, resource, "`$schema` must be a string", uri)
            known = METASCHEMAS.get(uri.removesuffix("#"))
            if known is None:
                self._custom(resource, uri, path)
                return
            draft = known
        resource.draft = draft
        resource.keywords = keywords(draft)

    def _unknown_metaschema(self, uri: str, resource: Resource, path: Path) -> GrammarError:
        message = f"`$schema` names a metaschema that is not known: {uri}"
        meant = _meant(uri)
        if meant:
            return at(path, resource, message, hint=meant)
        hint = 'give the metaschema in `registry`, or leave out "$schema"'
        return at(path, resource, message, hint=hint).set_option("registry")

    def _custom(self, resource: Resource, uri: str, path: Path) -> None:
        """Set the draft and the vocabularies that a custom metaschema gives."""
        met: set[str] = set()
        metaschema: Any = None
        name = uri
        draft = None
        while draft is None:
            name = name.removesuffix("#")
            found = self._fetch(name, resource, path) if name not in met else None
            if type(found) is not dict or not isinstance(found.get("$schema"), str):
                raise self._unknown_metaschema(uri, resource, path)
            self.remote[name] = found
            metaschema = metaschema or found
            met.add(name)
            name = found["$schema"]
            draft = METASCHEMAS.get(name.removesuffix("#"))
        resource.draft = draft
        given = metaschema.get("$vocabulary")
        if draft < DRAFT_2019 or type(given) is not dict:
            resource.keywords = keywords(draft)
            return
        used = set()
        base = f"https://json-schema.org/draft/{'2019-09' if draft == DRAFT_2019 else '2020-12'}/vocab/"
        for vocabulary, required in given.items():
            short = vocabulary.removeprefix(base)
            if short in VOCABULARIES[draft] and short != vocabulary:
                used.add(short)
                if short == "format":
                    resource.asserts_format = required
                elif short == "format-assertion":
                    resource.asserts_format = True
            elif required:
                raise at(path, resource, f"the metaschema {uri} requires a vocabulary that is not known: {vocabulary}")
        if "format-annotation" in used and resource.asserts_format is None:
            resource.asserts_format = False
        resource.keywords = keywords(draft, frozenset(used))

    # References.

    def resolve(self, reference: str, resource: Resource, path: Path) -> tuple[Any, Resource, Path]:
        """Return the schema that a reference within `resource` leads to, its resource and its path.

        `path`: where the reference is, for errors.
        """
        key = (id(resource), reference)
        known = self._targets.get(key)
        if known is None:
            known = self._targets[key] = self._resolve(reference, resource, path)
        return known

    def _resolve(self, reference: str, resource: Resource, path: Path) -> tuple[Any, Resource, Path]:
        uri, _, fragment = reference.partition("#")
        target = resource if not uri else self._resource(absolute(resource.uri, uri, path, resource), resource, path)
        if "%" in fragment:
            from urllib.parse import unquote

            fragment = unquote(fragment)
        if not fragment:
            return target.schema, target, target.path
        if fragment[0] == "/":
            return self._pointed(fragment, target, reference, resource, path)
        self.index(target.document)
        found = target.anchors.get(fragment)
        if found is None:
            raise at(path, resource, f"the reference {reference!r} leads nowhere: there is no anchor {fragment!r}")
        self.check_anchor(fragment, target, path, resource)
        return found[0], target, found[1]

    def _pointed(
        self, pointer: str, target: Resource, reference: str, resource: Resource, path: Path
    ) -> tuple[Any, Resource, Path]:
        """Return what a JSON pointer (RFC 6901) leads to from the root of a resource."""
        value = target.schema
        where = target.path
        for token in pointer[1:].split("/"):
            if "~" in token:
                token = token.replace("~1", "/").replace("~0", "~")
            key: str | int = token
            if type(value) is dict and token in value:
                value = value[token]
            elif type(value) is list and _is_index(token) and int(token) < len(value):
                key = int(token)
                value = value[key]
            else:
                raise at(
                    path,
                    resource,
                    f"the reference {reference!r} leads nowhere: there is no {token!r} at "
                    + shown_pointer(pointer_of(where, target)),
                )
            where = (where, key)
            if type(value) is dict and ("$id" in value or "id" in value):
                target = self.entered(value, target, where)
        if type(value) is not dict and value is not True and value is not False:
            raise at(path, resource, f"the reference {reference!r} leads to {shown(value)}, which is no schema")
        return value, target, where

    def _resource(self, uri: str, resource: Resource, path: Path) -> Resource:
        """Return the resource with this URI: in a document that is known, or in one that the registry has."""
        uri = uri.partition("#")[0]
        found = self._by_uri.get(uri)
        if found is None:
            self.index_all()
            found = self._by_uri.get(uri)
        else:
            self.index(found.document)  # another one in it may have the same name
        self._check_once((0, uri), f"the identifier {uri}", path, resource)
        if found is None:
            schema = self._fetch(uri, resource, path)
            if schema is None:
                raise not_given(self._registry, uri, path, resource)
            found = self._document(schema, uri, resource.draft)
            self.remote[uri] = schema
        return found

    def _fetch(self, uri: str, resource: Resource, path: Path) -> Any:
        """Return the document with a URI that the reference at `path` names; None if there is none."""
        found = self.remote.get(uri)
        if found is None:
            found = from_registry(self._registry, uri, path, resource, self._limits)
            self.is_ours = self.is_ours and not gc.is_tracked(found)
        return found

    def root_of(self, document: Document) -> Resource:
        return self._by_uri[document.uri] if document.uri else self._root

    def resources(self) -> list[Resource]:
        return [self._root, *self._by_uri.values()]

    def index_all(self) -> None:
        for resource in self.resources():
            self.index(resource.document)

    def index(self, document: Document) -> None:
        """Collect the identifiers and anchors of a whole document, once."""
        if document.indexed:
            return
        document.indexed = True
        for schema, resource, path in self._schemas(document):
            self._note_anchors(schema, resource, path)

    def _note_anchors(self, schema: dict[str, Any], resource: Resource, path: Path) -> None:
        draft = resource.draft
        if draft <= DRAFT_7:
            name: Any = name_of(schema, draft)
            if "#" in name and "$ref" not in schema:
                self._note_anchor(name.partition("#")[2], schema, resource, path)
            return
        name = schema.get("$anchor")
        if type(name) is str:
            self._note_anchor(name, schema, resource, path)
        if draft == DRAFT_2019:
            if schema is resource.schema and schema.get("$recursiveAnchor") is True:
                resource.anchors[RECURSIVE] = (schema, path)
                resource.dynamic.add(RECURSIVE)
            return
        name = schema.get("$dynamicAnchor")
        if type(name) is str:
            self._note_anchor(name, schema, resource, path)
            resource.dynamic.add(name)

    def _note_anchor(self, name: str, schema: dict[str, Any], resource: Resource, path: Path) -> None:
        known = resource.anchors.setdefault(name, (schema, path))
        if known[0] is not schema:
            self._note_twice((id(resource), name), (schema, path), known, resource)

    def _note_twice(
        self, key: tuple[int, str], one: tuple[Any, Path], other: tuple[Any, Path], resource: Resource
    ) -> None:
        """Note that two schemas of a document have the same name, unless they are equal: then it does not matter which
        one is meant. Generators write a schema, with its name, wherever it is used."""
        if key not in self._twice and one[0] is not other[0] and _text(one[0]) != _text(other[0]):
            self._twice[key] = (pointer_of(one[1], resource), pointer_of(other[1], resource))

    def check_anchor(self, name: str, target: Resource, path: Path, resource: Resource) -> None:
        """Raise GrammarError, at `path`, if two different schemas have the anchor that is named there."""
        self._check_once((id(target), name), f"the anchor {name!r}", path, resource)

    def _check_once(self, key: tuple[int, str], what: str, path: Path, resource: Resource) -> None:
        if key in self._twice:
            first, second = self._twice[key]
            raise at(
                path,
                resource,
                f"{what} is that of two schemas, at {shown_pointer(first)} and at {shown_pointer(second)}",
                hint="rename one of them: nothing says which of them counts",
            )

    def all_places(self) -> Iterator[Place]:
        """Yield all schemas of all known documents except True and False, whether or not anything reaches them."""
        for document in dict.fromkeys([resource.document for resource in self.resources()]):
            for schema, resource, path in self._schemas(document, is_used=False):
                yield self.place(schema, resource, path)

    def _schemas(self, document: Document, *, is_used: bool = True) -> Iterator[tuple[dict[str, Any], Resource, Path]]:
        """Yield the schemas of a document. Unless `is_used`, a schema of an unknown draft is read as one of the draft
        around it."""
        root = self.root_of(document)
        stack: list[tuple[Any, Resource, Path]] = [(root.schema, root, ())]
        seen: set[tuple[int, int]] = set()
        while stack:
            tick()
            schema, resource, path = stack.pop()
            if type(schema) is not dict or (id(schema), id(resource)) in seen:
                continue
            if "$id" in schema or "id" in schema:
                try:
                    resource = self.entered(schema, resource, path)
                except GrammarError:
                    if is_used:
                        raise
            seen.add((id(schema), id(resource)))
            yield schema, resource, path
            for keyword, value in schema.items():
                kind = resource.keywords.get(keyword, ANY)
                if kind <= LAST_APPLICATOR:
                    push(stack, kind, value, resource, (path, keyword))


def push(stack: list[Any], kind: int, value: Any, resource: Resource, path: Path) -> None:
    """Push the schemas that a keyword holds onto the stack."""
    if kind in (SCHEMA_MAP, PATTERN_MAP, DEFINITIONS):
        if type(value) is dict:
            for name, schema in value.items():
                stack.append((schema, resource, (path, name)))
                if not len(stack) & 0xFFF:
                    tick()
    elif kind == DEPENDENCIES:
        if type(value) is dict:
            for name, schema in value.items():
                if type(schema) is not list:
                    stack.append((schema, resource, (path, name)))
    elif kind in (SCHEMA_LIST, SCHEMA_OR_LIST) and type(value) is list:
        for index, schema in enumerate(value):
            stack.append((schema, resource, (path, index)))
            if not index & 0xFFF:
                tick()
    else:
        stack.append((value, resource, path))


def identifier(schema: dict[str, Any], draft: int) -> str | None:
    """Return the URI reference by which a schema names itself, without its fragment; None if it does not.

    Up to draft 7 everything beside `$ref` is ignored (draft 7 core, 8.3). A mere fragment names an anchor there; in
    later drafts `$id` has no fragments, and a mere one names nothing.
    """
    if draft <= DRAFT_7 and "$ref" in schema:
        return None
    return name_of(schema, draft).partition("#")[0] or None


def name_of(schema: dict[str, Any], draft: int) -> str:
    """Return the `$id` of a schema, or what earlier drafts have for it; empty without one."""
    name = schema.get(_identifying(draft))
    return name if type(name) is str else ""


def _identifying(draft: int) -> str:
    """Return the keyword that gives a schema its URI."""
    return "id" if draft == DRAFT_4 else "$id"


def absolute(base: str, reference: str, path: Path, resource: Resource) -> str:
    """Return a URI reference made absolute with a base URI (RFC 3986). It stands at `path`, for the error."""
    if not base:
        return reference
    from urllib.parse import urljoin

    try:
        return urljoin(base, reference)
    except ValueError as error:
        raise at(path, resource, f"{shown(reference)} is no URI reference: {error}") from None


def _meant(uri: str) -> str:
    """Return the hint that names a known metaschema whose URI differs from this one only in its scheme, such as https:
    in place of http:; empty if there is none."""
    for known, draft in METASCHEMAS.items():
        if known.partition(":")[2] == uri.removesuffix("#").partition(":")[2]:
            return f'did you mean "{known}{"#" if draft <= DRAFT_7 else ""}"?'
    return ""


def _text(schema: Any) -> str:
    return json.dumps(schema, default=repr)


def _is_index(token: str) -> bool:
    """Whether a token of a JSON pointer is an index (RFC 6901, 4)."""
    return token.isascii() and token.isdigit() and (token == "0" or token[0] != "0")


# Registries: what the caller gives to find other documents in.


def check_registry(registry: Any) -> None:
    """Raise TypeError if the value is no registry."""
    if hasattr(registry, "get_or_retrieve"):
        return
    if not isinstance(registry, Mapping):
        raise TypeError(
            f"registry must be a mapping from URIs to schemas, or a referencing.Registry, not {type(registry).__name__}"
        )
    for uri in registry:
        if not isinstance(uri, str):
            raise TypeError(f"the keys of registry must be URIs as strings, not {type(uri).__name__} {_cut(uri)}")


def from_registry(registry: Any, uri: str, path: Path, resource: Resource, limits: Limits) -> Any:
    """Return a copy of the schema that the registry, or the drafts, have for a URI without a fragment; None if there is
    none. Raises GrammarError, at the reference (`path` in `resource`), if the registry has something else there.

    A URI in the registry may end with an empty fragment, which says nothing (RFC 3986, 4.4).
    """
    found: Any = None
    is_found = False
    failure: Exception | None = None
    if hasattr(registry, "get_or_retrieve"):
        from referencing.exceptions import NoSuchResource, Unretrievable

        try:
            found = registry.get_or_retrieve(uri).value
            is_found = True
        except NoSuchResource:
            pass
        except Unretrievable as error:
            failure = error
        if is_found:
            found = getattr(found, "contents", found)
    elif registry is not None:
        for name in (uri, uri + "#"):
            if name in registry:
                found = registry[name]
                is_found = True
                break
    if not is_found and uri.partition("://")[2].startswith("json-schema.org/"):
        found = _official(uri)
        is_found = found is not None
    if is_found:
        if not isinstance(found, (Mapping, bool)):
            raise at(
                path, resource, f"the registry has {shown(found)} for {uri}, which is no schema", hint=_REGISTRY_HINT
            )
        try:
            return copied(found, f"the schema at {uri}", limits)
        except GrammarLimitError as error:
            error.pointer = pointer_of(path, resource)
            raise
    if failure is not None:
        cause = failure.__cause__ or failure
        raise at(
            path, resource, f"the registry did not retrieve {uri}: {type(cause).__name__}: {_cut(cause)}"
        ) from failure
    return None


def _cut(value: object) -> str:
    text = str(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}..."


def not_given(registry: Any, uri: str, path: Path, resource: Resource) -> Exception:
    """Return the error that a reference leads to a document that is not there."""
    message = f"the reference leads to a schema that was not given: {uri}"
    if isinstance(registry, Mapping):
        for name in registry:
            if name.partition("#")[0] == uri:
                hint = f"the registry has {_cut(name)}: a URI there is that of a whole document, without a fragment"
                return at(path, resource, message, hint=hint)
    hint = (
        "give it in `registry`, a mapping from URIs to schemas or a referencing.Registry; "
        "nothing is read from the network"
    )
    return at(path, resource, message, hint=hint).set_option("registry")


def _official(uri: str) -> Any:
    """Return a metaschema of the drafts, if the package that holds them is installed."""
    try:
        from jsonschema_specifications import REGISTRY
    except ImportError:
        return None
    for name in (uri, uri + "#"):
        found = REGISTRY.get(name)
        if found is not None:
            return found.contents
    return None
