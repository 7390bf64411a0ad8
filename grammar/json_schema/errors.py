"""Where in a schema something stands, and errors that say it."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..errors import GrammarError

if TYPE_CHECKING:
    from .documents import Documents
    from .places import Resource

SHOWN_CHARS = 60
"""A message shows no more than this many characters of a value."""

_NOTHING = object()

Path = tuple[Any, ...]
"""Where something is in its document: () for the root, else (path of what holds it, key or index)."""


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
    from .report import REFUSED, Row

    hint = "strict=False leaves it out and reports it"
    error = at(path, resource, f"`{keyword}` cannot be enforced: {why}", hint=hint)
    error._rows = (Row(pointer_of(path, resource), keyword, REFUSED, why),)
    return error


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
