"""Documents that references lead to, out of what the caller gives as `registry`: a mapping from URIs to schemas, or a
`referencing.Registry`.

A document is read, and copied, when a reference first leads to it: a grammar reads its schemas while it is used, and
must not change when they do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import GrammarLimitError
from .errors import SHOWN_CHARS, Path, at, pointer_of
from .errors import shown as shown_value
from .places import Resource
from .read import copied

HINT = "a registry maps URIs to schemas: dicts, True or False (of a JSON text what json.loads makes of it)"


def check_registry(registry: Any) -> None:
    """Raises TypeError where it is no registry."""
    if hasattr(registry, "get_or_retrieve"):
        return
    if not isinstance(registry, Mapping):
        raise TypeError(
            f"registry must be a mapping from URIs to schemas, or a referencing.Registry, not {type(registry).__name__}"
        )
    for uri in registry:
        if not isinstance(uri, str):
            raise TypeError(f"the keys of registry must be URIs as strings, not {type(uri).__name__} {shown(uri)}")


def document(registry: Any, uri: str, path: Path, resource: Resource) -> Any:
    """The schema that the registry has for a URI without a fragment, copied, or a metaschema of the drafts; None if
    there is none. Raises GrammarError where it has something else there, at the reference: `path`, within `resource`.

    An empty fragment behind a URI says nothing (RFC 3986, 4.4; `referencing` removes it, too).
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
            raise at(path, resource, f"the registry has {shown_value(found)} for {uri}, which is no schema", hint=HINT)
        try:
            return copied(found, f"the schema at {uri}")
        except GrammarLimitError as error:
            error.pointer = pointer_of(path, resource)
            raise
    if failure is not None:
        cause = failure.__cause__ or failure
        raise at(
            path, resource, f"the registry did not retrieve {uri}: {type(cause).__name__}: {shown(cause)}"
        ) from failure
    return None


def shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}..."


def not_given(registry: Any, uri: str, path: Path, resource: Resource) -> Exception:
    """The error that a reference leads to a document that nobody has."""
    hint = (
        "give it in `registry`, a mapping from URIs to schemas or a referencing.Registry; "
        "nothing is read from the network"
    )
    if isinstance(registry, Mapping):
        for name in registry:
            if name.partition("#")[0] == uri:
                hint = f"the registry has {shown(name)}: a URI there is that of a whole document, without a fragment"
    return at(path, resource, f"the reference leads to a schema that was not given: {uri}", hint=hint)


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
