"""The grammar files that come with Lark (`common`, `unicode`, `python`, `lark`), as far as grammars import from them.

They are read from the installed `lark` package, without importing it. A file is cut into its definitions when something
is first imported from it, and a definition is parsed when it is first used; both are kept for the process. `common` has
some forty definitions, of which a grammar uses two or three, and `python` uses features that we do not have yet.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from .errors import GrammarError
from .lark_parse import parse_library_definition
from .lark_tree import Definition

LIBRARIES = ("common", "unicode", "python", "lark")

# Definitions begin at the beginning of a line and end where the next one, or a directive, begins.
_HEAD = re.compile(r"^(?:[!?]{0,2}(_?[A-Za-z][_A-Za-z0-9]*)[^:\n]*:|%)", re.MULTILINE)

_texts: dict[str, dict[str, str]] = {}
_definitions: dict[str, Definition] = {}


class LibraryError(LookupError):
    """A library, or a definition in it, cannot be imported; the message says why."""


def definition_texts(library: str) -> dict[str, str]:
    """The definitions of a library, unparsed, by name."""
    known = _texts.get(library)
    if known is None:
        if library not in LIBRARIES:
            raise LibraryError(f"there is no library `{library}`")
        spec = find_spec("lark")
        if spec is None or not spec.submodule_search_locations or spec.loader is None:
            raise LibraryError("the package `lark`, which brings the libraries, is not installed")
        path = Path(spec.submodule_search_locations[0]) / "grammars" / f"{library}.lark"
        text = spec.loader.get_data(str(path)).decode()  # type: ignore[attr-defined]
        heads = list(_HEAD.finditer(text))
        ends = [head.start() for head in heads[1:]] + [len(text)]
        known = {head[1]: text[head.start() : end] for head, end in zip(heads, ends, strict=True) if head[1]}
        _texts[library] = known
    return known


def definition(qualified: str) -> Definition:
    """The definition of `library.name`; the names within it are qualified, too."""
    known = _definitions.get(qualified)
    if known is None:
        library, name = qualified.split(".", 1)
        text = definition_texts(library).get(name)
        if text is None:
            raise LibraryError(f"library `{library}` has no `{name}`")
        try:
            known = parse_library_definition(text, library)
        except GrammarError as error:
            raise LibraryError(f"`{qualified}` cannot be imported: {error.message}") from error
        _definitions[qualified] = known
    return known
