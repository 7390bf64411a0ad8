"""Objects of thousands of names: the key is one terminal for all of them, whose text decides what follows.

With a key for each name, each member leads to a state with thousands of members, and a lexer state has thousands of
terminals. Here the names are a sorted list, of which the parser follows a range. When it has read a key, it asks for
the value of that name, and for the members that may come after it (`Engine.add_followed`).

If names have an order, those after one that has been written remain; otherwise, all but those that have been written.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..loading import in_order

if TYPE_CHECKING:
    from .terms import Loader
    from .text_sets import Words

MIN_NAMES = 1024
"""The fewest names of an object that are listed. Fewer have keys of their own, which is faster for some hundreds."""
MAX_LISTED_VALUES = 1024
"""The most different values that listed names have. Masks are made of all of them, after any of the names. Names with
more have keys of their own."""


class ListedNames:
    """The listed names of one object, or some of them that come one after the other."""

    def __init__(self, loader: Loader, values: dict[str, int], end: int) -> None:
        """values: the term of each name. end: if names have an order, how many names have been passed after these."""
        self.loader = loader
        self.values = values
        self.end = end
        self.names: list[str] = list(values) if end else []
        self.places: dict[str, int] = {name: index for index, name in enumerate(values)} if end else {}
        self.all: int | None = None
        self.any: int | None = None

    def left(self, passed: int, written: Words) -> int | None:
        """Return the regex node of the keys, colon included, that may still come; None if there are none."""
        loader = self.loader
        regexes = loader.regexes
        engine = loader.engine
        if self.all is None:
            self.all = engine.add_terminal("name", regexes.choices(in_order([name.encode() for name in self.values])))
        if self.end:
            n = passed - (self.end - len(self.names))
            gone = self.names[:n]
        else:
            n = 0
            gone = [name for name in written if name in self.values]
        if 2 * n > len(self.names):
            node = regexes.choices(in_order([name.encode() for name in self.names[n:]]))
        else:
            node = engine.node_of(self.all)
            if gone:
                node = regexes.difference(node, regexes.choices(in_order([name.encode() for name in gone])))
        return loader.key_of(node)

    def after(self, name: str) -> int:
        """Return how many names have been passed after this one."""
        return self.end - len(self.names) + self.places[name] + 1

    def any_value(self) -> int:
        """Return the symbol of the values of all names."""
        if self.any is None:
            loader = self.loader
            alternatives = []
            for term in dict.fromkeys(self.values.values()):
                symbol = loader.value(term)
                assert symbol is not None  # the value surely exists
                alternatives.append([symbol])
            self.any = loader.engine.add_lazy("value", tuple, alternatives, witness=())
        return self.any
