"""What is beyond Lark in the rules of a grammar: from the loader to the module that knows about it.

Only grammars that have something of the kind come here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .sets import written
from .tree import Attributed, Block, Complement, Extended, GrammarName, Guarded, Indexed, Intersection, Parametric

if TYPE_CHECKING:
    from .embedded import Embedded
    from .load import LarkLoader


class Extensions:
    """The extensions that one grammar uses."""

    def __init__(self, loader: LarkLoader, embedded: Embedded | None = None) -> None:
        self.loader = loader
        self.embedded = embedded  # grammars within this one, and the ones around it
        self.has_value = False  # whether a rule with a value is being read
        self.known: dict[object, int] = {}  # symbols, by what they stand for

    def append(self, node: Extended, symbols: list[int]) -> None:
        """Append what `node` becomes to `symbols`."""
        loader = self.loader
        if isinstance(node, (Intersection, Complement)) or (isinstance(node, Block) and node.raw[:6] == "%regex"):
            symbols.append(self.terminal(node))
        elif isinstance(node, Attributed):
            from . import attributes as lark_attributes

            lark_attributes.append(loader, node, symbols, self.known)
        elif isinstance(node, (Block, GrammarName)):
            if self.embedded is None:
                from .embedded import Embedded

                self.embedded = Embedded(loader.model)
            symbols.append(self.embedded.symbol(loader, node))
        else:
            from . import parametric as lark_parametric

            assert isinstance(node, (Parametric, Guarded, Indexed))
            lark_parametric.append(self, node, symbols)

    def terminal(self, node: Extended) -> int:
        """The symbol of an expression that is one terminal, though it stands in a rule."""
        symbol = self.known.get(node)
        if symbol is None:
            loader = self.loader
            regex = loader.terminals.build(node)
            symbol = self.known[node] = loader.model.terminal(written(node), regex, (loader.scope, node))
        return symbol
