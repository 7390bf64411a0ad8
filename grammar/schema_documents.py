"""From what the user gives to places in documents: drafts, identifiers, references.

A *document* is one JSON value that holds schemas: the one that was given, and those that references lead to elsewhere.
A *resource* is a part of one that has a URI of its own (the root, or a schema with `$id`); it has a draft, and names
its anchors. A *place* is one schema within a resource, as it is written, together with how it was reached: the dynamic
scope, which only `$dynamicRef` and `$recursiveRef` look at.

Nothing is copied and nothing is resolved before it is met. `Documents.scan` goes once over all that the root can
reach, checks the values of keywords (`schema_keywords`) and follows references. Identifiers and anchors of a whole
document are collected only when a reference asks for one by name (`Documents.index`): most are JSON pointers.

The sources are the core specifications of the drafts; sections are named where they are implemented.
Not here: what keywords mean (`schema_algebra`), reading JSON text or models (`schema_sources`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import GrammarError, together
from .schema_errors import Path, at, pointer_of, shown
from .schema_keywords import (
    ANY,
    DEFINITIONS,
    DEPENDENCIES,
    DRAFT_4,
    DRAFT_7,
    DRAFT_2019,
    DRAFT_2020,
    LAST_APPLICATOR,
    LIST,
    METASCHEMAS,
    PATTERN_MAP,
    PLAIN_TYPES,
    REFERENCE,
    SCHEMA,
    SCHEMA_LIST,
    SCHEMA_MAP,
    SCHEMA_OR_LIST,
    TYPE,
    TYPES,
    VOCABULARIES,
    fault,
    is_number,
    keywords,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Visitor = Callable[[dict[str, Any], "Resource", Path], None]
    Registry = Mapping[str, Any]  # or a `referencing.Registry`, which is one too

RECURSIVE = ""
"""The name under which `$recursiveAnchor: true` is kept among the dynamic anchors, which are never empty."""

_BOOLEAN_IN_4 = ("additionalItems", "additionalProperties")
"""The keywords that could be true or false before every schema could."""

_PLAIN = frozenset((str, int, bool, type(None)))
"""Types of which every value is one of JSON."""

MAX_ERRORS = 20
"""A scan gives up after so many errors."""

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
        """The keywords that count here: those that the draft knows; up to draft 7 `$ref` alone, if it is there.

        Only for a schema that is a dict.
        """
        schema: dict[str, Any] = self.schema
        known = self.resource.keywords
        if "$ref" in schema and self.resource.draft <= DRAFT_7:
            return {"$ref": schema["$ref"]}
        if schema.keys() <= known.keys():
            return schema
        return {name: value for name, value in schema.items() if name in known}

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


class Documents:
    """All that a schema can reach.

    Attributes:
        root: the place of the schema itself.
        remote: the documents found elsewhere, URI -> contents, as far as they were needed.
        is_dynamic: whether anything refers dynamically, so that scopes must be kept.
    """

    __slots__ = ("_by_uri", "_draft", "_embedded", "_registry", "_root", "_targets", "is_dynamic", "remote")

    def __init__(self, schema: Any, *, draft: int = DRAFT_2020, registry: Registry | None = None) -> None:
        """`schema`: a dict of JSON values, or a bool. `draft`: for schemas without `$schema`.

        `registry`: a mapping from URIs to schemas, or a `referencing.Registry`.
        """
        self._draft = draft
        self._registry = registry
        self._by_uri: dict[str, Resource] = {}
        # Resources within documents, by the `id` of their schema and that of the resource around it: the same Python
        # object may stand in two resources.
        self._embedded: dict[tuple[int, int], Resource] = {}
        self._targets: dict[tuple[int, str], tuple[Any, Resource, Path]] = {}  # what references were found to mean
        self.remote: dict[str, Any] = {}
        self.is_dynamic = False
        self._root = self._document(schema, "", draft)

    @property
    def root(self) -> Place:
        scope = widened((), self._root) if self.is_dynamic else ()
        return Place(self._root.schema, self._root, (), scope, self)

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
                root.uri = absolute(uri, name)
        if uri:
            self._by_uri.setdefault(uri, root)
        if root.uri:
            self._by_uri.setdefault(root.uri, root)
        return root

    def entered(self, schema: dict[str, Any], around: Resource, path: Path) -> Resource:
        """The resource that a schema is in, which may be one of its own."""
        if schema is around.schema:
            return around
        known = self._embedded.get((id(schema), id(around)))
        if known is not None:
            return known
        draft = around.draft
        if "$schema" in schema and isinstance(schema["$schema"], str):
            # Which keyword names it depends on its draft, and whether its draft counts on its having a name.
            draft = METASCHEMAS.get(schema["$schema"].removesuffix("#"), draft)
        name = identifier(schema, draft)
        if name is None:
            return around
        resource = Resource(absolute(around.uri, name), schema, path, around.document)
        self._embedded[id(schema), id(around)] = resource
        self._describe(resource, around.draft)
        if resource.keywords is keywords(around.draft):
            resource.keywords = around.keywords
            resource.asserts_format = around.asserts_format
        self._by_uri.setdefault(resource.uri, resource)
        return resource

    def _describe(self, resource: Resource, draft: int) -> None:
        """Find out a resource's draft and vocabularies (2020-12 core, 8.1.1 and 8.1.2)."""
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

    def _custom(self, resource: Resource, uri: str, path: Path) -> None:
        """The draft and the vocabularies that a metaschema of somebody's own gives."""
        met: set[str] = set()
        metaschema: Any = None
        name = uri
        draft = None
        while draft is None:
            name = name.removesuffix("#")
            found = self._fetch(name) if name not in met else None
            if type(found) is not dict or not isinstance(found.get("$schema"), str):
                raise at(
                    path,
                    resource,
                    f"`$schema` names a metaschema that is not known: {uri}",
                    hint='give the metaschema in `registry`, or leave out "$schema"',
                )
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
        """The schema that a reference within `resource` leads to, its resource and its path; remembered.

        `path`: of the reference, for errors.
        """
        key = (id(resource), reference)
        known = self._targets.get(key)
        if known is None:
            known = self._targets[key] = self._resolve(reference, resource, path)
        return known

    def _resolve(self, reference: str, resource: Resource, path: Path) -> tuple[Any, Resource, Path]:
        uri, _, fragment = reference.partition("#")
        target = resource if not uri else self._resource(absolute(resource.uri, uri), resource, path)
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
        return found[0], target, found[1]

    def _pointed(
        self, pointer: str, target: Resource, reference: str, resource: Resource, path: Path
    ) -> tuple[Any, Resource, Path]:
        """What a JSON pointer (RFC 6901) leads to from the root of a resource."""
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
                    f"the reference {reference!r} leads nowhere: there is no {token!r} at #{pointer_of(where, target)}",
                )
            where = (where, key)
            if type(value) is dict and ("$id" in value or "id" in value):
                target = self.entered(value, target, where)
        if type(value) is not dict and value is not True and value is not False:
            raise at(path, resource, f"the reference {reference!r} leads to something that is no schema", value)
        return value, target, where

    def _resource(self, uri: str, resource: Resource, path: Path) -> Resource:
        """The resource with this URI: in a document that is known, or one that the registry has."""
        uri = uri.partition("#")[0]
        found = self._by_uri.get(uri)
        if found is None:
            self._index_all()
            found = self._by_uri.get(uri)
        if found is None:
            schema = self._fetch(uri)
            if schema is None:
                raise at(
                    path,
                    resource,
                    f"the reference leads to a schema that was not given: {uri}",
                    hint="give it in `registry`, a mapping from URIs to schemas or a referencing.Registry; "
                    "nothing is read from the network",
                )
            found = self._document(schema, uri, resource.draft)
            self.remote[uri] = schema
        return found

    def _fetch(self, uri: str) -> Any:
        """The contents that a URI has in the registry, or those of a metaschema of the drafts; None without any."""
        registry = self._registry
        if registry is not None:
            if hasattr(registry, "get_or_retrieve"):
                from referencing.exceptions import NoSuchResource, Unretrievable

                for name in (uri, uri + "#"):
                    try:
                        return registry.get_or_retrieve(name).value.contents
                    except (NoSuchResource, Unretrievable):
                        continue
            else:
                for name in (uri, uri + "#"):
                    if name in registry:
                        return registry[name]
        if uri.partition("://")[2].startswith("json-schema.org/"):
            return _official(uri)
        return None

    def _resources(self) -> list[Resource]:
        return [self._root, *self._by_uri.values()]

    def _index_all(self) -> None:
        for resource in self._resources():
            self.index(resource.document)

    def index(self, document: Document) -> None:
        """Collect the identifiers and anchors of a whole document, once."""
        if document.indexed:
            return
        document.indexed = True
        for schema, resource, path in self._schemas(document):
            _note_anchors(schema, resource, path)

    def all_schemas(self) -> Iterator[tuple[dict[str, Any], Resource, Path]]:
        """All schemas of all documents that are known, whether something reaches them or not, but for bools."""
        for document in {id(resource.document): resource.document for resource in self._resources()}.values():
            yield from self._schemas(document)

    def _schemas(self, document: Document) -> Iterator[tuple[dict[str, Any], Resource, Path]]:
        root = self._by_uri[document.uri] if document.uri else self._root
        stack: list[tuple[Any, Resource, Path]] = [(root.schema, root, ())]
        seen: set[tuple[int, int]] = set()
        while stack:
            schema, resource, path = stack.pop()
            if type(schema) is not dict or (id(schema), id(resource)) in seen:
                continue
            if "$id" in schema or "id" in schema:
                resource = self.entered(schema, resource, path)
            seen.add((id(schema), id(resource)))
            yield schema, resource, path
            for keyword, value in schema.items():
                kind = resource.keywords.get(keyword, ANY)
                if kind <= LAST_APPLICATOR:
                    _push(stack, kind, value, resource, (path, keyword))

    # Errors.

    def scan(self, visit: Visitor | None = None) -> None:
        """Go over every schema that the root can reach, each once: check its keywords and its references.

        `visit(schema, resource, path)` is called for each that is a dict; what it raises is an error of the schema too.
        Raises GrammarError, with all that was found.
        """
        errors: list[GrammarError] = []
        dynamic: set[str] = set()
        seen: dict[int, set[int]] = {}  # by the `id` of a resource: those of the schemas in it that were met
        stack: list[tuple[Any, Resource, Path]] = [(self._root.schema, self._root, ())]
        while stack and len(errors) < MAX_ERRORS:
            self._scan(stack, visit, errors, dynamic, seen)
            if dynamic:
                # Whatever bears such a name anywhere may be what is meant.
                self.is_dynamic = True
                self._index_all()
                for resource in self._resources():
                    for name in dynamic & resource.dynamic:
                        schema, path = resource.anchors[name]
                        if id(schema) not in seen.get(id(resource), ()):
                            stack.append((schema, resource, path))
        if errors:
            raise together(errors)

    def _scan(
        self,
        stack: list[Any],
        visit: Visitor | None,
        errors: list[GrammarError],
        dynamic: set[str],
        seen: dict[int, set[int]],
    ) -> None:
        current: Resource | None = None
        here: set[int] = set()  # what was met in `current`
        while stack:
            schema, resource, path = stack.pop()
            try:
                if type(schema) is not dict:
                    if schema is not True and schema is not False:
                        raise _no_schema(schema, resource, path)
                    if resource.draft == DRAFT_4 and not (path and path[1] in _BOOLEAN_IN_4):
                        raise _no_schema(schema, resource, path)
                    continue
                if "$id" in schema or "id" in schema:
                    resource = self.entered(schema, resource, path)
                if resource is not current:
                    current = resource
                    here = seen.setdefault(id(resource), set())
                if id(schema) in here:
                    continue
                here.add(id(schema))
                self._check(schema, resource, path, stack, dynamic)
                if visit is not None:
                    visit(schema, resource, path)
            except GrammarError as error:
                errors.extend(error.errors)
                if len(errors) >= MAX_ERRORS:
                    return

    def _check(
        self, schema: dict[str, Any], resource: Resource, path: Path, stack: list[Any], dynamic: set[str]
    ) -> None:
        known = resource.keywords
        alone = resource.draft <= DRAFT_7 and "$ref" in schema
        for keyword, value in schema.items():
            number = known.get(keyword)
            if number is None:
                continue
            kind = number
            if kind == ANY:
                if keyword == "const":
                    check_value(value, resource, (path, keyword))
                continue
            if alone and keyword != "$ref":
                continue
            if kind == SCHEMA:
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
            elif kind <= LAST_APPLICATOR:
                if kind == DEPENDENCIES:
                    _check_dependencies(value, resource, (path, keyword))
                _push(stack, kind, value, resource, (path, keyword))
            elif kind == LIST:
                check_value(value, resource, (path, keyword))
            elif kind == REFERENCE:
                if keyword == "$ref":
                    stack.append(self.resolve(value, resource, (path, keyword)))
                    continue
                found = self.resolve(value, resource, (path, keyword))
                target = found[1]
                self.index(target.document)
                name = dynamic_name(keyword, value, found[0], target)
                if name is not None:
                    dynamic.add(name)
                stack.append(found)


def _push(stack: list[Any], kind: int, value: Any, resource: Resource, path: Path) -> None:
    """Put the schemas that a keyword holds on the stack."""
    if kind in (SCHEMA_MAP, PATTERN_MAP, DEFINITIONS):
        if type(value) is dict:
            for name, schema in value.items():
                stack.append((schema, resource, (path, name)))
    elif kind == DEPENDENCIES:
        if type(value) is dict:
            for name, schema in value.items():
                if type(schema) is not list:
                    stack.append((schema, resource, (path, name)))
    elif kind in (SCHEMA_LIST, SCHEMA_OR_LIST) and type(value) is list:
        for index, schema in enumerate(value):
            stack.append((schema, resource, (path, index)))
    else:
        stack.append((value, resource, path))


def _check_dependencies(value: dict[Any, Any], resource: Resource, path: Path) -> None:
    """Raise GrammarError unless names have schemas or lists of names."""
    for name, names in value.items():
        _check_name(name, resource, path)
        if type(names) is list and not all(isinstance(other, str) for other in names):
            raise at((path, name), resource, "a dependency must be a schema or a list of strings", names)


def _check_name(name: Any, resource: Resource, path: Path) -> None:
    if not isinstance(name, str):
        raise at(path, resource, "the names in an object must be strings", name)


def check_value(value: Any, resource: Resource, path: Path) -> None:
    """Raise GrammarError unless a constant is made of JSON values."""
    kind = type(value)
    if kind in _PLAIN or (kind is list and _PLAIN.issuperset(map(type, value))):
        return
    stack = [(value, path)]
    while stack:
        value, path = stack.pop()
        if type(value) is list:
            stack.extend((item, (path, index)) for index, item in enumerate(value))
        elif type(value) is dict:
            for name, item in value.items():
                _check_name(name, resource, path)
                stack.append((item, (path, name)))
        elif not (value is None or isinstance(value, (str, bool)) or is_number(value)):
            raise at(path, resource, "must be a value of JSON", value)


def identifier(schema: dict[str, Any], draft: int) -> str | None:
    """The URI reference by which a schema names itself, without its fragment; None if it does not.

    Up to draft 7 whatever stands beside `$ref` is ignored (draft 7 core, 8.3). A mere fragment names an anchor there;
    later drafts have none in `$id`, and it names nothing.
    """
    name = schema.get("id" if draft == DRAFT_4 else "$id")
    if type(name) is not str or (draft <= DRAFT_7 and "$ref" in schema):
        return None
    uri = name.partition("#")[0]
    return uri or None


def _note_anchors(schema: dict[str, Any], resource: Resource, path: Path) -> None:
    draft = resource.draft
    if draft <= DRAFT_7:
        name = schema.get("id" if draft == DRAFT_4 else "$id")
        if type(name) is str and "#" in name and "$ref" not in schema:
            resource.anchors.setdefault(name.partition("#")[2], (schema, path))
        return
    name = schema.get("$anchor")
    if type(name) is str:
        resource.anchors.setdefault(name, (schema, path))
    if draft == DRAFT_2019:
        if schema is resource.schema and schema.get("$recursiveAnchor") is True:
            resource.anchors[RECURSIVE] = (schema, path)
            resource.dynamic.add(RECURSIVE)
        return
    name = schema.get("$dynamicAnchor")
    if type(name) is str:
        resource.anchors.setdefault(name, (schema, path))
        resource.dynamic.add(name)


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


def absolute(base: str, reference: str) -> str:
    """A URI reference taken relative to a URI (RFC 3986)."""
    if not base:
        return reference
    from urllib.parse import urljoin

    return urljoin(base, reference)


def _is_index(token: str) -> bool:
    """Whether a token of a JSON pointer is an index (RFC 6901, 4)."""
    return token.isascii() and token.isdigit() and (token == "0" or token[0] != "0")


def _no_schema(schema: Any, resource: Resource, path: Path) -> GrammarError:
    if schema is True or schema is False:
        hint = 'write {} for true and {"not": {}} for false, or set "$schema" to a later draft'
        return at(path, resource, "in draft 4 a schema must be an object", schema, hint)
    return at(path, resource, "a schema must be an object, true or false", schema)


def _official(uri: str) -> Any:
    """A metaschema of the drafts, where the package that holds them is installed."""
    try:
        from jsonschema_specifications import REGISTRY
    except ImportError:
        return None
    for name in (uri, uri + "#"):
        found = REGISTRY.get(name)
        if found is not None:
            return found.contents
    return None
