"""The grammar files that come with Lark (`common`, `unicode`, `python`, `lark`), as far as grammars import from them.

They are read from the installed `lark` package, without importing it. A file is cut into its definitions when something
is first imported from it, and a definition is parsed when it is first used; both are kept for the process. `common` has
some forty definitions, of which a grammar uses two or three.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

from .parse import parse_library
from .tree import Definition, Import

LIBRARIES = ("common", "unicode", "python", "lark")

# Definitions begin at the beginning of a line and end where the next one, or a directive, begins.
_HEAD = re.compile(r"^(?:[!?]{0,2}(_?[A-Za-z][_A-Za-z0-9]*)[^:\n]*:|%)", re.MULTILINE)

_libraries: dict[str, Library] = {}


class Library:
    """One of the files. Definitions are made when first asked for; nodes in them have no place."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        heads = list(_HEAD.finditer(text))
        ends = [head.start() for head in heads[1:]] + [len(text)]
        pieces = [(head[1], text[head.start() : end]) for head, end in zip(heads, ends, strict=True)]
        self.texts = {name: piece for name, piece in pieces if name}
        directives = "".join([piece for name, piece in pieces if not name])
        parsed = parse_library(directives) if directives else None
        self.imports: list[Import] = [] if parsed is None else parsed.imports
        self._definitions: dict[str, Definition] = {}
        if parsed is not None:
            self._definitions.update({declared.name: declared for declared in parsed.definitions})

    def names(self) -> list[str]:
        return [*self.texts, *self._definitions]

    def definition(self, name: str) -> Definition | None:
        """The definition of `name`; None if the library has none of its own."""
        known = self._definitions.get(name)
        if known is None and name in self.texts:
            (known,) = parse_library(self.texts[name]).definitions
            known = self._definitions.setdefault(name, known)  # another thread may have been faster
        return known


def library(name: str) -> Library | None:
    """One of the libraries; None if there is none of that name, or the package `lark` is not installed."""
    known = _libraries.get(name)
    if known is None and name in LIBRARIES:
        spec = find_spec("lark")
        if spec is None or not spec.submodule_search_locations or spec.loader is None:
            return None
        path = Path(spec.submodule_search_locations[0]) / "grammars" / f"{name}.lark"
        text = spec.loader.get_data(str(path)).decode()  # type: ignore[attr-defined]
        known = _libraries[name] = Library(name, text)
    return known
