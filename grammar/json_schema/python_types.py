"""The schemas of Python types, made by pydantic: models, dataclasses, and whatever a `TypeAdapter` takes.

pydantic is optional: it is imported only here, and only when a type needs it.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

from ...trie.errors import shortened
from ..errors import GrammarError

if TYPE_CHECKING:
    from collections.abc import Callable


def schema_of_model(given: Any) -> Any:
    """Return the schema of a pydantic model, a dataclass, an instance of either, or a `TypeAdapter`.

    Raises TypeError for any other value.
    """
    kind = given if isinstance(given, type) else type(given)
    if hasattr(kind, "model_json_schema"):
        return _made(kind, kind.model_json_schema)
    if is_adapter(given):
        return _made(given, given.json_schema)
    if hasattr(kind, "__dataclass_fields__"):
        return _adapted(kind)
    if isinstance(given, PathLike):
        raise TypeError(f"a schema must be a dict or JSON text, not {kind.__name__}; give its text, path.read_text()")
    if isinstance(given, (list, tuple)):  # of tools, mostly; the error about one of them leads to its schema
        raise TypeError(f"a schema must be one dict or JSON text, not a {kind.__name__}; give one of its items")
    raise TypeError(
        "a schema must be a dict, JSON text, True, False, a pydantic model or a dataclass, not "
        f"{type(given).__name__}; Grammar.from_type makes a grammar of other types"
    )


def schema_of_type(kind: Any) -> Any:
    """Return the schema of the values of a type: whatever `pydantic.TypeAdapter` takes. For a function, return that of
    its arguments by name."""
    if isinstance(kind, (str, bytes, bytearray, Mapping)) or kind is True or kind is False:
        raise TypeError(f"from_type takes a type, not a {type(kind).__name__}; Grammar.from_json_schema takes schemas")
    model = kind if isinstance(kind, type) else type(kind)
    if hasattr(model, "model_json_schema") or hasattr(model, "__dataclass_fields__") or is_adapter(kind):
        return schema_of_model(kind)
    return _adapted(kind)


def is_adapter(value: Any) -> bool:
    return type(value).__module__.startswith("pydantic.") and hasattr(value, "json_schema")


def _adapted(kind: Any) -> Any:
    """Return the schema of a type without one of its own."""
    try:
        from pydantic import TypeAdapter
    except ImportError as error:
        if error.name != "pydantic":
            raise
        raise GrammarError(
            f"the schema of {_shown(kind)} is made by pydantic, which is not installed",
            hint="pip install pydantic, or give a JSON Schema to Grammar.from_json_schema",
        ) from None
    # pydantic looks up names in annotations in the frame that made the adapter. That should be the caller's, as if the
    # caller had made it; so the frames of this package are skipped. Compiled functions have none.
    frame = sys._getframe(0)
    depth = 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "earleymask":
        frame = frame.f_back
        depth += 1
    try:
        adapter = TypeAdapter(kind, _parent_depth=depth)
    except Exception as error:
        raise _error(kind, error) from error
    return _made(kind, adapter.json_schema)


def _made(kind: Any, make: Callable[[], Any]) -> Any:
    try:
        return make()
    except Exception as error:
        raise _error(kind, error) from error


def _error(kind: Any, error: Exception) -> GrammarError:
    """Return the error to raise in place of one of pydantic's. It has many: for types without a schema, for names that
    are not defined, and others."""
    said = str(error).partition("\n\nFor further information")[0]
    hint = None
    if isinstance(error, NameError) or getattr(error, "code", "") == "class-not-fully-defined":
        hint = "make a pydantic.TypeAdapter where the names are defined, and give that"
    return GrammarError(f"pydantic makes no schema of {_shown(kind)}: {said}", hint=hint)


def _shown(kind: Any) -> str:
    name = getattr(kind, "__name__", None)
    return shortened(name if isinstance(name, str) and not getattr(kind, "__args__", None) else repr(kind))
